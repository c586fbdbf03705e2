/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_plan.c - which worlds run, how often and with which seeds; and what all of it came to.  See test.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/series.h"
#include "host/test.h"

static int
fail(struct diag *d, int status)
{
	log_diag(d);
	return status;
}

static int
out_of_memory(void)
{
	struct diag d = { 0 };

	diag_set(&d, -ENOMEM, "not enough memory");
	return fail(&d, 4);
}

/* Reads a world once, to know its seeds and its size; each of its runs reads it anew.  0 or -ENOMEM. */
static int
read_world(const struct test_options *o, struct test_world *tw)
{
	struct diag *d = calloc(1, sizeof(*d));
	struct world w;

	if (!d)
		return -ENOMEM;
	if (world_load(tw->path, &w, d) < 0) {
		tw->problem = d; /* moved */
		return 0;
	}
	snprintf(tw->name, sizeof(tw->name), "%s", w.name);
	tw->swept = w.sweep.n != 0;
	tw->seeds = tw->swept ? w.sweep.n : 1;
	tw->stop_on = w.stop_on;
	tw->first = o->seed_given ? o->seed : w.sweep.absolute ? w.sweep.first : w.seed;
	tw->memory_bytes = (uint64_t)w.limits.memory_mb << 20;
	if (tw->first > SEED_MAX - (tw->seeds - 1)) {
		world_place(&w, "/sweep", false, d);
		diag_set(d, -EINVAL, "%u seeds from %" PRIu64 " on go beyond 2^53-1", tw->seeds, tw->first);
		diag_fix(d, "give fewer, or a smaller first one");
		tw->problem = d; /* moved */
		d = NULL;
	}
	world_wipe(&w);
	free(d);
	return 0;
}

/* Takes the worlds of this shard. */
static int
take_worlds(struct tests *t, struct test_found *found, size_t len)
{
	size_t i;

	t->worlds = calloc(len, sizeof(*t->worlds));
	if (!t->worlds)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		struct test_world *w = &t->worlds[t->worlds_len];

		if (t->o.shards && test_shard(found[i].path, t->o.shards) != t->o.shard) {
			t->others++;
			continue;
		}
		w->path = found[i].path; /* moved, as the next */
		w->problem = found[i].problem;
		found[i].path = NULL;
		found[i].problem = NULL;
		t->worlds_len++;
		if (!w->problem && read_world(&t->o, w) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int
make_runs(struct tests *t)
{
	uint32_t repeat = t->o.repeat ? t->o.repeat : 1, s, k;
	struct diag d = { 0 };
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < t->worlds_len; i++)
		n += t->worlds[i].problem ? 0 : (uint64_t)t->worlds[i].seeds * repeat;
	if (n > TEST_RUNS_MAX) {
		diag_set(&d, -E2BIG, "%" PRIu64 " runs, and %u are the most", n, TEST_RUNS_MAX);
		diag_fix(&d, "name fewer worlds, or divide them with --shard 1/%" PRIu64, n / TEST_RUNS_MAX + 1);
		return fail(&d, 2);
	}
	t->runs = calloc(n ? n : 1, sizeof(*t->runs));
	if (!t->runs)
		return out_of_memory();
	for (i = 0; i < t->worlds_len; i++) {
		struct test_world *w = &t->worlds[i];

		w->run = t->runs_len;
		for (s = 0; !w->problem && s < w->seeds; s++)
			for (k = 0; k < repeat; k++)
				t->runs[t->runs_len++] = (struct test_run){ .world = (uint32_t)i,
									    .repeat = k,
									    .seed = w->first + s };
		w->runs_len = t->runs_len - w->run;
	}
	return 0;
}

/* see test.h */
int
test_plan(struct tests *t)
{
	struct test_found *found;
	struct diag d;
	size_t len, i;
	int r = test_find(t->o.paths, t->o.paths_len, &found, &len, &d);

	if (r < 0)
		return fail(&d, r == -ENOMEM ? 4 : 2);
	r = take_worlds(t, found, len);
	for (i = 0; i < len; i++) {
		free(found[i].path);
		free(found[i].problem);
	}
	free(found);
	return r < 0 ? out_of_memory() : make_runs(t);
}

/* ---- what all of it came to ------------------------------------------------------------------------------------------------- */

/* see test.h */
const struct test_record *
test_last(const struct test_run *r)
{
	return r->tries_len ? &r->tries[r->tries_len - 1] : NULL;
}

/* Of two statuses the one that a summary of both has. */
static enum test_status
worse(enum test_status a, enum test_status b)
{
	static const enum test_status order[] = { TEST_CANCELLED, TEST_ABORTED, TEST_ERROR,
						  TEST_INVALID,   TEST_TIMEOUT, TEST_FAILED,
						  TEST_FLAKY,     TEST_NOT_RUN, TEST_PASSED };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

/* They did not pass in the same way: the same status, and the same checks did not hold. */
static bool
is_alike(const struct test_run *a, const struct test_run *b)
{
	char x[600], y[600];

	test_run_why(a, x, sizeof(x));
	test_run_why(b, y, sizeof(y));
	return a->status == b->status && strcmp(x, y) == 0;
}

/* Runs that did not pass in the same way are told once.  Kinds are few; what is of none of the first ones is counted. */
static void
group(struct tests *t, struct test_world *w)
{
	size_t i, k;

	for (i = w->run; i < w->run + w->runs_len; i++) {
		struct test_run *r = &t->runs[i];

		if (r->status == TEST_PASSED || r->status == TEST_NOT_RUN)
			continue;
		for (k = 0; k < w->groups_len && !is_alike(&t->runs[w->groups[k]], r); k++)
			;
		if (k == TEST_GROUPS_MAX) {
			w->ungrouped++;
			continue;
		}
		if (k == w->groups_len)
			w->groups[w->groups_len++] = i;
		r->group = (uint8_t)(k + 1);
	}
}

/* The record that decides, of a run that has a verdict; NULL: it has none. */
static const struct test_record *
judged(const struct test_run *r)
{
	return r->status == TEST_PASSED || r->status == TEST_FLAKY || r->status == TEST_FAILED ? test_last(r) : NULL;
}

/* What all runs say of check i, number k of those over the sweep. */
static void
sweep_one(const struct tests *t, struct test_world *w, size_t i, struct sweep_vote *votes, struct test_sweep *out)
{
	const struct test_record *r;
	size_t k, n = 0;

	for (k = w->run; k < w->run + w->runs_len; k++) {
		if (t->runs[k].status == TEST_NOT_RUN)
			continue;
		r = judged(&t->runs[k]);
		votes[n].seed = t->runs[k].seed;
		votes[n++].said = r && i < r->checks_len && r->checks[i].swept ? r->checks[i].here : SWEEP_UNKNOWN;
	}
	sweep_judge(out->check.mode, votes, n, w->runs_len, &out->verdict);
	out->check.held = out->verdict.held ? TEST_HELD : TEST_NOT_HELD;
	snprintf(out->expected, sizeof(out->expected), "%s%s%.380s", out->verdict.expected,
		 out->check.expected ? ": " : "", out->check.expected ? out->check.expected : "");
	out->check.expected = out->expected;
	out->check.actual = out->verdict.actual;
	out->check.rests = NULL;
}

/* Checks over the sweep are those that any run with a verdict names; a single run is no sweep.  0 or -ENOMEM. */
static int
judge_sweep(const struct tests *t, struct test_world *w)
{
	const struct test_record *r = NULL;
	struct sweep_vote *votes;
	size_t i, n = 0;

	for (i = w->run; w->swept && !r && i < w->run + w->runs_len; i++)
		r = judged(&t->runs[i]);
	for (i = 0; r && i < r->checks_len; i++)
		n += r->checks[i].swept;
	if (n == 0)
		return 0;
	w->sweep = calloc(n, sizeof(*w->sweep));
	votes = calloc(w->runs_len, sizeof(*votes));
	for (i = 0; w->sweep && votes && i < r->checks_len; i++) {
		if (!r->checks[i].swept)
			continue;
		w->sweep[w->sweep_len].check = r->checks[i];
		sweep_one(t, w, i, votes, &w->sweep[w->sweep_len]);
		w->sweep_not_held += !w->sweep[w->sweep_len++].verdict.held;
	}
	i = w->sweep && votes;
	free(votes);
	return i ? 0 : -ENOMEM;
}

static void
sum_world(struct tests *t, struct test_world *w)
{
	size_t i;

	if (w->problem) {
		w->status = TEST_INVALID;
		w->exit_code = 2;
		return;
	}
	w->status = w->runs_len ? t->runs[w->run].status : TEST_NOT_RUN;
	for (i = w->run; i < w->run + w->runs_len; i++) {
		w->status = worse(w->status, t->runs[i].status);
		w->exit_code = series_worse(w->exit_code, t->runs[i].exit_code);
		t->counts[t->runs[i].status]++;
	}
	group(t, w);
	if (judge_sweep(t, w) < 0) {
		w->status = worse(w->status, TEST_ERROR);
		w->exit_code = series_worse(w->exit_code, 4);
	} else if (w->sweep_not_held) {
		w->status = worse(w->status, TEST_FAILED);
		w->exit_code = series_worse(w->exit_code, 1);
	}
}

/* see test.h */
void
test_sum(struct tests *t)
{
	size_t i;

	memset(t->counts, 0, sizeof(t->counts));
	memset(t->worlds_count, 0, sizeof(t->worlds_count));
	for (i = 0; i < t->worlds_len; i++) {
		sum_world(t, &t->worlds[i]);
		t->worlds_count[t->worlds[i].status]++;
		t->worst = series_worse(t->worst, t->worlds[i].exit_code);
	}
	if (t->signal)
		t->worst = series_worse(t->worst, t->signal == 2 ? 130 : 143);
	/* What did not run has no exit status of its own; there is a reason why it did not.  No way around this gives 0. */
	if (t->worst == 0 && t->counts[TEST_PASSED] != t->runs_len)
		t->worst = 4;
}

/* see test.h */
void
test_run_name(const struct tests *t, const struct test_run *r, char *out, size_t size)
{
	const struct test_world *w = &t->worlds[r->world];
	char seed[40] = "", repeat[40] = "";

	if (w->swept)
		snprintf(seed, sizeof(seed), " seed %" PRIu64, r->seed);
	if (t->o.repeat > 1)
		snprintf(repeat, sizeof(repeat), " run %u of %u", r->repeat + 1, t->o.repeat);
	snprintf(out, size, "%s%s%s", w->path, seed, repeat);
}

/* see test.h */
void
test_group_name(const struct tests *t, const struct test_world *w, size_t group, char *out, size_t size)
{
	uint64_t *seeds = calloc(w->runs_len, sizeof(*seeds));
	size_t k, n = 0, runs = 0;
	char list[300];
	int len = 0;

	out[0] = '\0';
	for (k = w->run; seeds && k < w->run + w->runs_len; k++) {
		if (t->runs[k].group != group + 1)
			continue;
		runs++;
		if (n == 0 || seeds[n - 1] != t->runs[k].seed)
			seeds[n++] = t->runs[k].seed;
	}
	if (seeds && w->swept) {
		seeds_list(seeds, n, list, sizeof(list));
		len = snprintf(out, size, " with seed%s %s", n == 1 ? "" : "s", list);
	}
	if (t->o.repeat > 1 && len >= 0 && (size_t)len < size)
		snprintf(out + len, size - (size_t)len, " in %zu of %zu runs", runs, w->runs_len);
	free(seeds);
}

/* see test.h */
void
test_run_why(const struct test_run *r, char *out, size_t size)
{
	const struct test_record *last = test_last(r);

	if (!last)
		snprintf(out, size, "%s", r->status == TEST_NOT_RUN ? "ended before its turn came" : "");
	else if (r->status == TEST_FLAKY)
		snprintf(out, size, "passed on try %zu; before: %s%s%.400s", r->tries_len,
			 test_status_name(r->tries[0].status), r->tries[0].why ? ", " : "",
			 r->tries[0].why ? r->tries[0].why : "");
	else
		snprintf(out, size, "%s", last->status != TEST_PASSED && last->why ? last->why : "");
}

/* see test.h */
void
test_wipe(struct tests *t)
{
	size_t i, k;

	for (i = 0; i < t->worlds_len; i++) {
		free(t->worlds[i].path);
		free(t->worlds[i].problem);
		free(t->worlds[i].sweep);
	}
	for (i = 0; i < t->runs_len; i++) {
		for (k = 0; k < t->runs[i].tries_len; k++)
			test_record_wipe(&t->runs[i].tries[k]);
		free(t->runs[i].tries);
		free(t->runs[i].said);
	}
	free(t->worlds);
	free(t->runs);
	memset(t, 0, sizeof(*t));
}
