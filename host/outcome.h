/* SPDX-License-Identifier: GPL-2.0-or-later
 * outcome.h - which of the world's outcomes a run came to.  An outcome matches when all its conditions are met.  What could not
 * be judged is neither met nor unmet: an outcome that hangs on it is unknown, and a run with an unknown one does not pass, for
 * it may be the one that speaks against it. */
#ifndef HOST_OUTCOME_H
#define HOST_OUTCOME_H
#include <stdbool.h>
#include <stddef.h>

#include "host/run.h"
#include "host/world.h"

struct checks;
struct jq_task;

enum outcome_state { OUTCOME_UNMET, OUTCOME_UNKNOWN, OUTCOME_MET };
struct outcome_item {
	enum outcome_state state;
	const char *name;   /* borrowed: the check's id, or the expression */
	const char *actual; /* borrowed from the check's result, or owned by text; NULL: nothing to say */
	char *text;         /* owned */
};
struct outcome_result {
	const struct world_outcome *def;
	enum outcome_state state;
	size_t unmet;               /* conditions that are not met, or unknown */
	struct outcome_item *items; /* owned: def->when_len */
};
struct outcomes {
	size_t len;
	struct outcome_result *list; /* owned, one for each of the world's */
	size_t matched, unknown;
	const struct outcome_result *match; /* matched 1 and unknown 0; else NULL */
	const struct outcome_result
		*nearest; /* matched 0 and unknown 0: fewest unmet conditions, a wanted one first; else NULL */
};
/* After checks_jq_take.  tasks: those of the world's outcomes, in order.  0 or -ENOMEM. */
int outcomes_judge(struct outcomes *o, const struct checks *c, const struct jq_task *tasks)
	__attribute__((warn_unused_result, nonnull(1, 2)));
void outcomes_wipe(struct outcomes *o) __attribute__((nonnull));
/* For the table, in a world that has outcomes. */
void outcomes_summary(const struct outcomes *o, struct run_outcome *out) __attribute__((nonnull));
/* The run is not judged (rows 1 to 4 of the table): nothing matched, nothing is nearest. */
void outcomes_forget(struct outcomes *o) __attribute__((nonnull));
#endif
