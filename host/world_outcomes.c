/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_outcomes.c - the key `outcomes`: the ends that a run may come to, each with the conditions that tell it from the
 * others.  Checks that an outcome names are evidence, all others are required. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_check.h"

#define OUTCOMES_MAX 64u
#define WHEN_MAX 64u

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_outcome *o = arg;
	size_t i;
	int r = wr_string(c, v, 1, 64, &o->id);

	if (r < 0)
		return r;
	if (o->id[0] < 'a' || o->id[0] > 'z' || o->id[strspn(o->id, "abcdefghijklmnopqrstuvwxyz0123456789-")]) {
		r = wr_fail(c, -EPROTO, "an outcome's id has small letters, digits and '-' only, a letter first");
		diag_fix(c->d, "write an id like \"refunded-once\"");
		return r;
	}
	for (i = 0; i < c->w->outcomes_len; i++) {
		if (strcmp(c->w->outcomes[i].id, o->id) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "outcome %zu has the id \"%s\" already", i, o->id);
		diag_fix(c->d, "give each outcome an id of its own");
		return r;
	}
	return 0;
}

static int
read_verdict(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "failed", "passed", NULL };
	struct world_outcome *o = arg;
	size_t which;
	int r = wr_word(c, v, words, &which);

	if (r == 0)
		o->passed = which == 1;
	return r;
}

/* ---- when ------------------------------------------------------------------------------------------------------------- */

static int
name_check(struct wr *c, const char *id, struct world_when *when)
{
	static const char *const built_in[] = { "faults-fired", "no-unmatched", "within-limits", "twins-answered",
						"triggers-answered" };
	struct nearest near;
	size_t i;
	int r;

	nearest_init(&near, id);
	for (i = 0; i < c->w->checks_len; i++) {
		nearest_offer(&near, c->w->checks[i].id);
		if (strcmp(c->w->checks[i].id, id) != 0)
			continue;
		if (!c->w->checks[i].sweep) {
			when->check = i;
			c->w->checks[i].evidence = true;
			return 0;
		}
		r = wr_fail(c, -EPROTO, "\"%s\" is judged over a sweep, so it tells nothing of one run", id);
		diag_fix(c->d, "name a check without \"over\": \"sweep\"");
		return r;
	}
	for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (strcmp(built_in[i], id) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "\"%s\" is required of every run, so it tells no outcome from another", id);
		diag_fix(c->d, "take it out: without it no run passes anyway");
		return r;
	}
	r = wr_fail(c, -EPROTO, "there is no check \"%.64s\"", id);
	if (near.best)
		diag_fix(c->d, "did you mean \"%s\"?", near.best);
	else
		diag_fix(c->d, "name the id of a check, or write { \"jq\": \"EXPRESSION\" }");
	return r;
}

static int
read_expr(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_when *when = arg;
	int r = wr_string(c, v, 1, WORLD_BYTES_MAX, &when->expr);

	return r < 0 ? r : wr_jq(c, v, when->expr);
}

static bool
is_same(const struct world_when *a, const struct world_when *b)
{
	if (!a->expr != !b->expr)
		return false;
	return a->expr ? strcmp(a->expr, b->expr) == 0 : a->check == b->check;
}

/* A check's id, "jq: EXPRESSION" or { "jq": EXPRESSION }. */
static int
read_condition(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "jq", read_expr, WR_REQUIRED, "\"jq\": \".outcome.exit.code == 0\"" },
		{ NULL, NULL, 0, NULL },
	};
	struct world_outcome *o = arg;
	struct world_when *when = &o->when[o->when_len];
	const char *text;
	size_t i;
	int r;

	memset(when, 0, sizeof(*when));
	if (cJSON_IsObject(v)) {
		r = wr_object(c, v, keys, "a condition", when);
	} else if ((r = wr_string(c, v, 1, WORLD_BYTES_MAX, &text)) == 0 && strncmp(text, "jq:", 3) == 0) {
		when->expr = text + 3 + strspn(text + 3, " ");
		r = wr_jq(c, v, when->expr);
	} else if (r == 0) {
		r = name_check(c, text, when);
	}
	for (i = 0; r == 0 && i < o->when_len; i++) {
		if (!is_same(when, &o->when[i]))
			continue;
		r = wr_fail(c, -EPROTO, "the same condition stands here twice");
		diag_fix(c->d, "take one out");
	}
	if (r == 0)
		o->when_len++;
	return r;
}

static int
read_when(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_outcome *o = arg;

	o->when = calloc(WHEN_MAX, sizeof(*o->when));
	if (!o->when)
		return diag_set(c->d, -ENOMEM, "not enough memory");
	return wr_array(c, v, 1, WHEN_MAX, "conditions", read_condition, o);
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

/* Every condition of a is one of b too. */
static bool
is_part_of(const struct world_outcome *a, const struct world_outcome *b)
{
	size_t i, k;

	for (i = 0; i < a->when_len; i++) {
		for (k = 0; k < b->when_len && !is_same(&a->when[i], &b->when[k]); k++)
			;
		if (k == b->when_len)
			return false;
	}
	return true;
}

/* Where all conditions of one are met those of the other are, too, the first can never be the only one. */
static int
check_apart(struct wr *c)
{
	const struct world_outcome *all = c->w->outcomes;
	size_t i, k, mark;
	int r;

	for (i = 0; i < c->w->outcomes_len; i++)
		for (k = 0; k < c->w->outcomes_len; k++) {
			if (i == k || !is_part_of(&all[i], &all[k]))
				continue;
			mark = wr_enter_index(c, k);
			wr_enter(c, "when");
			r = wr_fail(c, -EPROTO,
				    "\"%s\" can never be told from \"%s\": where it matches, that one does, too",
				    all[k].id, all[i].id);
			diag_fix(c->d, "add to \"%s\" a condition that holds in it alone", all[i].id);
			wr_leave(c, mark);
			return r;
		}
	return 0;
}

static int
read_outcome(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"what-it-is-called\"" },
		{ "verdict", read_verdict, WR_REQUIRED, "\"verdict\": \"passed\" or \"failed\"" },
		{ "when", read_when, WR_REQUIRED, "\"when\": [ \"CHECK\", { \"jq\": \"EXPRESSION\" } ]" },
		{ NULL, NULL, 0, NULL },
	};
	struct world_outcome *o = &c->w->outcomes[c->w->outcomes_len];
	int r;

	(void)arg;
	o->json = v;
	r = wr_object(c, v, keys, "an outcome", o);
	c->w->outcomes_len++; /* also of one that is wrong: it owns memory */
	return r;
}

int
world_check_outcomes(struct wr *c)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(c->w->doc, "outcomes");
	size_t i, mark;
	int r;

	if (!v)
		return 0;
	c->w->outcomes = calloc(OUTCOMES_MAX, sizeof(*c->w->outcomes));
	if (!c->w->outcomes)
		return diag_set(c->d, -ENOMEM, "not enough memory");
	mark = wr_enter(c, "outcomes");
	r = wr_array(c, v, 1, OUTCOMES_MAX, "outcomes", read_outcome, NULL);
	for (i = 0; i < c->w->outcomes_len && !c->w->outcomes[i].passed; i++)
		;
	if (r == 0 && i == c->w->outcomes_len) {
		r = wr_fail_key(c, -EPROTO, "no outcome has the verdict \"passed\", so no run could pass");
		diag_fix(c->d, "add the outcome that is wanted");
	}
	if (r == 0)
		r = check_apart(c);
	wr_leave(c, mark);
	return r;
}
