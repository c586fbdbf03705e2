/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_sweep.c - a check over a sweep: nothing that is missing is taken for a yes. */
#include <string.h>

#include "host/sweep.h"
#include "tests/lib/tap.h"

/* runs: a letter each: h held, n not held, ? could not be judged.  "h" held, "n" not, "?" nobody can tell. */
static const char *
judge(enum check_mode mode, const char *runs, size_t missing, struct sweep_verdict *v)
{
	struct sweep_vote votes[40];
	size_t i;

	for (i = 0; runs[i]; i++)
		votes[i] = (struct sweep_vote){
			.seed = 5 + i,
			.said = runs[i] == 'h'   ? SWEEP_HELD
				: runs[i] == 'n' ? SWEEP_NOT_HELD
						 : SWEEP_UNKNOWN,
		};
	sweep_judge(mode, votes, i, i + missing, v);
	return v->held ? "h" : v->unknown ? "?" : "n";
}

int
main(void)
{
	static const struct row {
		const char *runs;
		size_t missing;
		const char *always, *never, *sometimes;
	} rows[] = {
		{ "hhh", 0, "h", "n", "h" }, { "nnn", 0, "n", "h", "n" }, { "hnh", 0, "n", "n", "h" },
		{ "hh?", 0, "?", "n", "h" }, { "nn?", 0, "n", "?", "?" }, { "???", 0, "?", "?", "?" },
		{ "hh", 1, "?", "n", "h" },  { "nn", 1, "n", "?", "?" },  { "", 3, "?", "?", "?" },
		{ "", 0, "?", "?", "?" },    { "h", 0, "h", "n", "h" },   { "n", 0, "n", "h", "n" },
	};
	struct sweep_verdict v;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(judge(MODE_ALWAYS, rows[i].runs, rows[i].missing, &v), rows[i].always, "always");
		is_str(judge(MODE_NEVER, rows[i].runs, rows[i].missing, &v), rows[i].never, "never");
		is_str(judge(MODE_SOMETIMES, rows[i].runs, rows[i].missing, &v), rows[i].sometimes, "sometimes");
	}
	judge(MODE_ALWAYS, "hnhnn?", 2, &v);
	is_str(v.expected, "holds in every run of the sweep", "what is expected");
	is_str(v.actual,
	       "held in 2 runs (seeds 5, 7), did not hold in 3 runs (seeds 6, 8-9), could not be judged in 1 run (seed 10), "
	       "2 runs did not take place",
	       "what was found");
	judge(MODE_NEVER, "", 0, &v);
	is_str(v.actual, "there was no run", "of nothing nothing follows");
	return tap_done();
}
