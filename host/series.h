/* SPDX-License-Identifier: GPL-2.0-or-later
 * series.h - several runs of one world, one after the other: again with the same seed, or over many seeds.  Each has its own
 * sandbox and its own receipt. */
#ifndef HOST_SERIES_H
#define HOST_SERIES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/job.h"
#include "host/seeds.h"

struct series {
	bool sweep;         /* over seeds; else the same seed again */
	uint32_t repeat;    /* runs, without sweep; at most SEEDS_MAX */
	struct seeds seeds; /* of --seeds; n 0: the world's */
};
/* What is borrowed by j (options, backend, guest) is kept from run to run; j is used for each in turn and left wiped.  Prints
 * a line a run and a summary on stderr, with --json the summary as JSON on stdout.  The exit status: of all runs the first of
 * 130 143, 3, 4, 2, 5, 1, 0; a run that is not like the first one counts as failed. */
int series_run(const struct series *s, struct job *j) __attribute__((warn_unused_result, nonnull));
/* The worse of two exit statuses, in that order. */
int series_worse(int a, int b);
#endif
