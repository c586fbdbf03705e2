/* SPDX-License-Identifier: GPL-2.0-or-later
 * process.h - processes named so that a reused pid is never mistaken: start time, pidfd, bounded waits; what /proc says. */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Field 22 of /proc/PID/stat, in clock ticks since boot.  0, or -errno: -ESRCH no such process. */
int process_start_time(pid_t pid, uint64_t *ticks) __attribute__((warn_unused_result, nonnull));
/* The process exists, is no zombie and started at that time. */
bool process_is(pid_t pid, uint64_t start_time);
/* A pidfd of the process that has this start time, CLOEXEC.  -ESRCH when it is gone or the pid belongs to another. */
int process_open(pid_t pid, uint64_t start_time) __attribute__((warn_unused_result));
/* SIGKILL by pidfd, then at most timeout_ms until it is dead.  0 dead, -ETIMEDOUT, -EPERM, other -errno.  Does not reap. */
int process_end(int pidfd, int timeout_ms) __attribute__((warn_unused_result));
/* Waits for the end without a signal.  0 or -ETIMEDOUT. */
int process_wait(int pidfd, int timeout_ms) __attribute__((warn_unused_result));
int process_signal(int pidfd, int signal) __attribute__((warn_unused_result));
/* CLOCK_MONOTONIC. */
uint64_t process_clock_ms(void);
/* Reads at most size - 1 bytes of a small file and terminates them.  The length, or -errno. */
ssize_t process_read(const char *path, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* Reads a pipe to its end, at most size - 1 bytes, and terminates them.  0, -ETIMEDOUT, -EIO. */
int process_read_line(int fd, char *out, size_t size, int timeout_ms) __attribute__((warn_unused_result, nonnull));
/* 36 characters and NUL.  0 or -errno. */
int process_boot_id(char out[static 40]) __attribute__((warn_unused_result, nonnull));
/* A program as a file without a name, sealed: nothing to find, replace or leave behind.  0 and a CLOEXEC descriptor for
 * execveat(2), or -errno. */
int process_image(const void *image, size_t len, int *fd) __attribute__((warn_unused_result, nonnull));
/* Runs a program with an empty environment, stdin and stderr as given in what follows: its output (stdout and stderr
 * together, terminated) goes to out.  Returns the wait status, or -errno; -ETIMEDOUT after timeout_ms (killed). */
int process_run(const char *const argv[], char *out, size_t size, int timeout_ms)
	__attribute__((warn_unused_result, nonnull));
#endif
