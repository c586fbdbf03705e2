/* SPDX-License-Identifier: GPL-2.0-or-later
 * spawn.h - starts the workflow: from a root child to a program that can do nothing but run, in one fixed order, with a typed
 * answer when a step fails. */
#ifndef GUEST_SPAWN_H
#define GUEST_SPAWN_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/filter.h"

struct spawn_request {
	const char *const *argv;            /* NULL-terminated; argv[0] without '/' is looked up in the PATH of envp */
	const char *const *envp;            /* complete */
	int stdin_fd, stdout_fd, stderr_fd; /* borrowed */
	const char *root, *cwd;             /* absolute folder; folder below it, "" itself */
	bool sandbox;                       /* false: the caller's identity, no filter, no namespaces: not a sandbox */
	bool hide;                          /* own mount namespace, fresh /proc, empty /run */
	uint32_t uid, gid;
	uint64_t file_bytes;       /* RLIMIT_FSIZE; 0 as it is */
	uint32_t files, processes; /* RLIMIT_NOFILE, RLIMIT_NPROC; 0 as they are */
	const struct filter_program *filter;
};
struct spawn_failure {
	uint8_t stage; /* enum exec_stage */
	int err;       /* positive errno */
};
/* Forks and waits until the program runs.  0 and *pid (> 0); or -errno and *f, and then the program did not run a single
 * instruction and no child is left. */
int spawn_workflow(const struct spawn_request *r, pid_t *pid, struct spawn_failure *f)
	__attribute__((warn_unused_result, nonnull));
/* The limits that every unprivileged process of the guest gets: core exactly 1 (also stops piped core handlers), no realtime
 * or raised priority. */
int spawn_limits(uint64_t file_bytes, uint32_t files, uint32_t processes) __attribute__((warn_unused_result));
/* Who dies first when memory ends: -1000 never .. 1000 first.  A child inherits the monitor's place otherwise.  Ignored
 * where it may not be written. */
void spawn_oom_score(const char *score) __attribute__((nonnull));
/* Default signal actions and an empty mask, as a new program expects them. */
void spawn_signals_reset(void);

#endif
