/* SPDX-License-Identifier: GPL-2.0-or-later
 * local_watch.h - the watchdog of the local backend: a process between host and guest that outlives a killed host just long
 * enough to end the guest's tree and to remove its folder. */
#ifndef HOST_LOCAL_WATCH_H
#define HOST_LOCAL_WATCH_H
#include <stdint.h>
#include <sys/types.h>

struct local_watch {
	int go;                  /* read: 's' start the guest; end of file: end everything */
	int report;              /* write: int, errno of the start, 0 it runs */
	int guest, in, out, log; /* the program, its standard streams */
	uint64_t expires_ms;     /* CLOCK_MONOTONIC */
	const char *folder;      /* removed at the end */
};
/* Exit status: 0 nothing is left, 1 something is. */
_Noreturn void local_watch_main(struct local_watch *w) __attribute__((nonnull));
/* SIGKILL to every descendant of root, never to root itself, until none is left or timeout_ms is over.  Only by ancestry,
 * never by uid.  0 or -ETIMEDOUT. */
int local_watch_end_tree(pid_t root, int timeout_ms) __attribute__((warn_unused_result));
#endif
