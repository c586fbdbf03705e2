/* SPDX-License-Identifier: GPL-2.0-or-later
 * attempt.h - ways out that no packet filter sees, tried by a child that is the workflow in everything but its program: each
 * must be refused before the workflow may start. */
#ifndef GUEST_ATTEMPT_H
#define GUEST_ATTEMPT_H
#include <stdbool.h>
#include <sys/types.h>

#define ATTEMPTS_MAX 16u

struct attempt {
	const char *what; /* static: "socket AF_VSOCK" */
	bool refused;
	int err; /* positive errno of the refusal */
};
typedef int attempt_enter_fn(void *arg); /* in the child, still root: become the workflow.  0 or -errno */

/* Tries all.  Returns their number, out filled; -EPERM when one was not refused (out filled too, *len set); -errno when the
 * child could not become the workflow or gave no answer. */
int attempt_all(attempt_enter_fn *enter, void *arg, struct attempt out[static ATTEMPTS_MAX], unsigned *len)
	__attribute__((warn_unused_result, nonnull(1, 3, 4)));

#endif
