/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

/* see process.h */
uint64_t
process_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* see process.h */
ssize_t
process_read(const char *path, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < size - 1) {
		n = read(fd, out + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			close(fd);
			return n;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	out[len] = '\0';
	return (ssize_t)len;
}

/* see process.h */
int
process_read_line(int fd, char *out, size_t size, int timeout_ms)
{
	uint64_t until = process_clock_ms() + (uint64_t)timeout_ms, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < size - 1) {
		now = process_clock_ms();
		if (now >= until)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(until - now)) <= 0)
			continue;
		n = read(fd, out + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	out[len] = '\0';
	return n < 0 ? -EIO : 0;
}

/* The state letter and field 22; the name in field 2 may hold spaces and brackets, so count from the last bracket. */
static int
stat_fields(pid_t pid, char *state, uint64_t *ticks)
{
	char path[64], text[1024], *at, *end;
	ssize_t n;
	int field;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = process_read(path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return -EPROTO;
	at += 2;
	*state = *at;
	for (field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EPROTO;
		at++;
	}
	errno = 0;
	*ticks = strtoull(at, &end, 10);
	return errno || end == at ? -EPROTO : 0;
}

/* see process.h */
int
process_start_time(pid_t pid, uint64_t *ticks)
{
	char state;

	return stat_fields(pid, &state, ticks);
}

/* see process.h */
bool
process_is(pid_t pid, uint64_t start_time)
{
	uint64_t ticks;
	char state;

	return pid > 0 && stat_fields(pid, &state, &ticks) == 0 && ticks == start_time && state != 'Z' && state != 'X';
}

/* see process.h */
int
process_open(pid_t pid, uint64_t start_time)
{
	int fd;

	if (pid <= 0)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	/* In this order: what the descriptor names cannot change any more, so a match now is a match for good. */
	if (!process_is(pid, start_time)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

/* see process.h */
int
process_signal(int pidfd, int signal)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

/* see process.h */
int
process_wait(int pidfd, int timeout_ms)
{
	uint64_t until = process_clock_ms() + (uint64_t)timeout_ms, now;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int n;

	for (;;) {
		now = process_clock_ms();
		n = poll(&p, 1, now >= until ? 0 : (int)(until - now));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && process_clock_ms() >= until)
			return -ETIMEDOUT;
	}
}

/* see process.h */
int
process_end(int pidfd, int timeout_ms)
{
	int r;

	r = process_signal(pidfd, SIGKILL);
	if (r < 0 && r != -ESRCH)
		return r;
	return process_wait(pidfd, timeout_ms);
}

/* see process.h */
int
process_boot_id(char out[static 40])
{
	ssize_t n;

	n = process_read("/proc/sys/kernel/random/boot_id", out, 40);
	if (n < 36)
		return n < 0 ? (int)n : -EPROTO;
	out[36] = '\0';
	return 0;
}

/* see process.h */
int
process_image(const void *image, size_t len, int *fd_out)
{
	const char *at = image;
	int fd, r = 0;
	ssize_t n;

	fd = memfd_create("agenttwin-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) /* kernel before 6.3 */
		fd = memfd_create("agenttwin-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (len > 0 && r == 0) {
		n = write(fd, at, len);
		if (n < 0 && errno != EINTR)
			r = -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r < 0)
		close(fd);
	else
		*fd_out = fd;
	return r;
}

/* Between fork and exec: nothing of ours stays open but the three standard descriptors. */
static void
run_child(const char *const argv[], int out)
{
	char *envp[] = { NULL };
	sigset_t none;
	int null;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	/* CLOSE_RANGE_CLOEXEC; an older kernel refuses it, and all of ours are CLOEXEC anyhow. */
	(void)syscall(SYS_close_range, 3u, ~0u, 4u);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* execve promises not to change the strings. */
	execve(argv[0], (char *const *)(uintptr_t)argv, envp);
	_exit(127);
}

/* Reads until EOF or the deadline; what does not fit is read and forgotten, so that the writer never blocks. */
static int
drain(int fd, char *out, size_t size, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char waste[512];
	size_t len = 0;
	uint64_t now;
	ssize_t n;

	for (;;) {
		now = process_clock_ms();
		if (now >= until)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(until - now)) <= 0)
			continue;
		n = len < size - 1 ? read(fd, out + len, size - 1 - len) : read(fd, waste, sizeof(waste));
		if (n == 0)
			return 0;
		if (n > 0 && len < size - 1) {
			len += (size_t)n;
			out[len] = '\0';
		}
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* see process.h */
int
process_run(const char *const argv[], char *out, size_t size, int timeout_ms)
{
	uint64_t until = process_clock_ms() + (uint64_t)timeout_ms;
	int pipes[2], r, status = 0;
	pid_t pid;

	out[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		r = -errno;
		close(pipes[0]);
		close(pipes[1]);
		return r;
	}
	if (pid == 0)
		run_child(argv, pipes[1]);
	close(pipes[1]);
	r = drain(pipes[0], out, size, until);
	close(pipes[0]);
	if (r < 0)
		kill(pid, SIGKILL); /* our own unreaped child: the pid cannot be another's */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return r < 0 ? r : status;
}
