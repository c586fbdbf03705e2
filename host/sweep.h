/* SPDX-License-Identifier: GPL-2.0-or-later
 * sweep.h - a check over a sweep: what all its runs say together.  Pure. */
#ifndef HOST_SWEEP_H
#define HOST_SWEEP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/world.h"

enum sweep_said {
	SWEEP_UNKNOWN, /* the run has no verdict, or could not judge the check */
	SWEEP_NOT_HELD,
	SWEEP_HELD
};
struct sweep_vote { /* of one run */
	uint64_t seed;
	enum sweep_said said;
};
struct sweep_verdict {
	bool held;    /* false also of what nobody can tell */
	bool unknown; /* not held, but no run speaks against it: some are missing or could not judge it */
	char expected[100], actual[700]; /* one line each */
};
/* mode: MODE_ALWAYS, MODE_NEVER or MODE_SOMETIMES.  votes: of the runs, by seed; asked: how many there should have been. */
void sweep_judge(enum check_mode mode, const struct sweep_vote *votes, size_t len, size_t asked,
		 struct sweep_verdict *out) __attribute__((nonnull(5)));
#endif
