/* SPDX-License-Identifier: GPL-2.0-or-later
 * sweep.c - see sweep.h. */
#include "host/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/seeds.h"

/* " 3 of 20 runs, seeds 3, 7-8" of those that said so; the number of them. */
static size_t
tell(const struct sweep_vote *votes, size_t len, enum sweep_said said, const char *word, char *out, size_t size)
{
	uint64_t *seeds = malloc((len + 1) * sizeof(*seeds));
	size_t i, n = 0, listed = 0, at = strlen(out);
	char list[160] = "";

	for (i = 0; i < len; i++) {
		if (votes[i].said != said)
			continue;
		n++;
		if (seeds && (listed == 0 || seeds[listed - 1] != votes[i].seed))
			seeds[listed++] = votes[i].seed;
	}
	if (seeds)
		seeds_list(seeds, listed, list, sizeof(list));
	free(seeds);
	if (n && at < size)
		snprintf(out + at, size - at, "%s%s in %zu run%s (seed%s %s)", at ? ", " : "", word, n,
			 n == 1 ? "" : "s", listed == 1 ? "" : "s", list);
	return n;
}

/* see sweep.h */
void
sweep_judge(enum check_mode mode, const struct sweep_vote *votes, size_t len, size_t asked, struct sweep_verdict *out)
{
	size_t held, not_held, open, at;

	memset(out, 0, sizeof(*out));
	held = tell(votes, len, SWEEP_HELD, "held", out->actual, sizeof(out->actual));
	not_held = tell(votes, len, SWEEP_NOT_HELD, "did not hold", out->actual, sizeof(out->actual));
	open = tell(votes, len, SWEEP_UNKNOWN, "could not be judged", out->actual, sizeof(out->actual));
	if (len < asked) {
		at = strlen(out->actual);
		snprintf(out->actual + at, sizeof(out->actual) - at, "%s%zu run%s did not take place", at ? ", " : "",
			 asked - len, asked - len == 1 ? "" : "s");
		open += asked - len;
	}
	if (len == 0 && asked == 0)
		snprintf(out->actual, sizeof(out->actual), "there was no run");
	snprintf(out->expected, sizeof(out->expected), "%s of the sweep",
		 mode == MODE_SOMETIMES ? "holds in some run"
		 : mode == MODE_NEVER   ? "holds in no run"
					: "holds in every run");
	switch (mode) {
	case MODE_SOMETIMES:
		out->held = held > 0;
		out->unknown = held == 0 && (open > 0 || asked == 0);
		break;
	case MODE_NEVER:
		out->held = held == 0 && open == 0 && not_held > 0;
		out->unknown = held == 0 && !out->held;
		break;
	case MODE_ALWAYS:
	case MODE_AT_END:
		out->held = not_held == 0 && open == 0 && held > 0;
		out->unknown = not_held == 0 && !out->held;
		break;
	}
}
