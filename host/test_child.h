/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_child.h - the process of one run.  It leads a process group of its own, so that a terminal's ^C reaches only the
 * program that started it; it is told to end when that program dies; what it writes and hands back comes through two pipes.
 *
 * Handed back: "begin RUNID BYTES MS\n" once the run is prepared (bytes of the bundle, and after how many milliseconds at the
 * latest it is over), then "record LEN\n" and that many bytes of JSON. */
#ifndef HOST_TEST_CHILD_H
#define HOST_TEST_CHILD_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "host/reproduce.h"
#include "host/test.h"

struct test_child {
	pid_t pid;
	int pidfd, record, said; /* owned; said: its stderr */
};
struct test_start {       /* what a new process needs to be as this one was started */
	sigset_t signals; /* blocked */
	struct rlimit files;
};
/* Starts run i.  reference: what it shall be like, or NULL.  0 or -errno. */
int test_child_run(const struct tests *t, size_t i, const struct reference *reference, const struct test_start *s,
		   struct test_child *out) __attribute__((warn_unused_result, nonnull(1, 4, 5)));
/* Starts a process that ends and removes what the dead process pid left behind; its exit status is 0 when nothing is left. */
int test_child_reap(pid_t pid, const struct test_start *s, struct test_child *out)
	__attribute__((warn_unused_result, nonnull));

/* What came through the pipe so far. */
struct test_inbox {
	char *text; /* owned */
	size_t len, size;
	bool broken, begun;
	uint64_t bundle_bytes, longest_ms; /* after begun */
};
/* Takes more.  False: nobody would send that. */
bool test_inbox_add(struct test_inbox *b, const char *data, size_t len) __attribute__((warn_unused_result, nonnull(1)));
/* The whole record, or NULL. */
const char *test_inbox_record(const struct test_inbox *b, size_t *len) __attribute__((nonnull));
void test_inbox_wipe(struct test_inbox *b) __attribute__((nonnull));
#endif
