/* SPDX-License-Identifier: GPL-2.0-or-later
 * series_checks.h - the checks of a world that are judged over a sweep, and what each run of it said of them. */
#ifndef HOST_SERIES_CHECKS_H
#define HOST_SERIES_CHECKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/sweep.h"
#include "host/world.h"

struct checks;
struct emit;

struct series_check {
	char *id, *because, *expected; /* owned; of the condition in a run, "" until one said it; because may be NULL */
	const char *kind;              /* static */
	enum check_mode mode;
	struct sweep_vote *votes; /* owned: one for each run that took place */
};
struct series_checks {
	size_t len;
	struct series_check *list; /* owned; in the order of the world */
	uint32_t asked, runs;      /* how many there should be, and were */
};
/* For so many runs, none of them made yet.  0 or -ENOMEM. */
int series_checks_init(struct series_checks *s, const struct world *w, uint32_t asked)
	__attribute__((warn_unused_result, nonnull));
/* What the next run says.  judged: it passed or failed; else nothing of it counts.  0 or -ENOMEM. */
int series_checks_take(struct series_checks *s, uint64_t seed, const struct checks *c, bool judged)
	__attribute__((warn_unused_result, nonnull));
/* How many do not hold, or nobody can tell. */
size_t series_checks_not_held(const struct series_checks *s) __attribute__((nonnull));
/* A line each on stderr, and of one that does not hold why. */
void series_checks_tell(const struct series_checks *s) __attribute__((nonnull));
/* The member `checks` of series/1. */
void series_checks_emit(const struct series_checks *s, struct emit *e) __attribute__((nonnull));
void series_checks_wipe(struct series_checks *s) __attribute__((nonnull));
#endif
