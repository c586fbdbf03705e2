/* SPDX-License-Identifier: GPL-2.0-or-later
 * outcome.c - see outcome.h. */
#include "host/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/jq_run.h"

static void
judge_check(const struct check_result *r, struct outcome_item *item)
{
	item->name = r->id;
	item->actual = r->actual;
	item->state = r->unknown ? OUTCOME_UNKNOWN : r->held ? OUTCOME_MET : OUTCOME_UNMET;
}

static int
judge_expr(const struct jq_task *t, struct outcome_item *item)
{
	item->name = t->expr;
	item->state = t->verdict == JQ_TRUE ? OUTCOME_MET : t->verdict == JQ_FALSE ? OUTCOME_UNMET : OUTCOME_UNKNOWN;
	item->text = strndup(t->text ? t->text : "it was not evaluated", 1000);
	item->actual = item->text;
	return item->text ? 0 : -ENOMEM;
}

/* How many of the world's expressions come before those of its outcomes. */
static size_t
first_task(const struct checks *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->len; i++)
		n += check_has_jq(&c->list[i]);
	return n;
}

static int
judge_one(struct outcome_result *r, const struct checks *c, const struct jq_task *tasks, size_t *next)
{
	bool unmet = false;
	size_t i;
	int rc = 0;

	r->items = calloc(r->def->when_len, sizeof(*r->items));
	if (!r->items)
		return -ENOMEM;
	for (i = 0; rc == 0 && i < r->def->when_len; i++) {
		const struct world_when *when = &r->def->when[i];

		if (when->expr)
			rc = judge_expr(&tasks[(*next)++], &r->items[i]);
		else
			judge_check(&c->results[when->check], &r->items[i]);
		r->unmet += r->items[i].state != OUTCOME_MET;
		unmet = unmet || r->items[i].state == OUTCOME_UNMET;
	}
	/* One condition that is not met is enough to know, whatever the others are. */
	r->state = unmet ? OUTCOME_UNMET : r->unmet ? OUTCOME_UNKNOWN : OUTCOME_MET;
	return rc;
}

static bool
is_nearer(const struct outcome_result *a, const struct outcome_result *b)
{
	if (!b || a->unmet != b->unmet)
		return !b || a->unmet < b->unmet;
	return a->def->passed && !b->def->passed;
}

int
outcomes_judge(struct outcomes *o, const struct checks *c, const struct jq_task *tasks)
{
	const struct world *w = c->w;
	size_t i, next = first_task(c);
	int r;

	memset(o, 0, sizeof(*o));
	if (w->outcomes_len == 0)
		return 0;
	o->list = calloc(w->outcomes_len, sizeof(*o->list));
	if (!o->list)
		return -ENOMEM;
	o->len = w->outcomes_len;
	for (i = 0; i < o->len; i++)
		o->list[i].def = &w->outcomes[i];
	for (i = 0; i < o->len; i++) {
		if ((r = judge_one(&o->list[i], c, tasks, &next)) < 0)
			return r;
		o->matched += o->list[i].state == OUTCOME_MET;
		o->unknown += o->list[i].state == OUTCOME_UNKNOWN;
		if (o->list[i].state == OUTCOME_MET)
			o->match = &o->list[i];
		if (is_nearer(&o->list[i], o->nearest))
			o->nearest = &o->list[i];
	}
	if (o->matched != 1 || o->unknown)
		o->match = NULL;
	if (o->matched || o->unknown)
		o->nearest = NULL;
	return 0;
}

void
outcomes_forget(struct outcomes *o)
{
	o->match = o->nearest = NULL;
}

void
outcomes_wipe(struct outcomes *o)
{
	size_t i, k;

	for (i = 0; i < o->len; i++) {
		for (k = 0; o->list[i].items && k < o->list[i].def->when_len; k++)
			free(o->list[i].items[k].text);
		free(o->list[i].items);
	}
	free(o->list);
	memset(o, 0, sizeof(*o));
}

/* "a, b", of the outcomes in one state. */
static void
name_all(const struct outcomes *o, enum outcome_state state, char *out, size_t size)
{
	size_t i, n = 0;

	*out = '\0';
	for (i = 0; i < o->len && n < size; i++)
		if (o->list[i].state == state)
			n += (size_t)snprintf(out + n, size - n, "%s%.64s", n ? ", " : "", o->list[i].def->id);
}

/* "(one-refund, jq: .a == 1)": the conditions of an outcome that are not met, the first ones. */
static void
name_unmet(const struct outcome_result *r, char *out, size_t size)
{
	size_t i, n = 0;

	*out = '\0';
	for (i = 0; i < r->def->when_len && n < size; i++)
		if (r->items[i].state != OUTCOME_MET)
			n += (size_t)snprintf(out + n, size - n, "%s%s%.80s", n ? ", " : "",
					      r->def->when[i].expr ? "jq: " : "", r->items[i].name);
}

void
outcomes_summary(const struct outcomes *o, struct run_outcome *out)
{
	char names[200];
	size_t i, k;

	memset(out, 0, sizeof(*out));
	out->matched = o->matched;
	out->unknown = o->unknown;
	out->passed = o->match && o->match->def->passed;
	if (o->unknown) {
		for (i = 0; o->list[i].state != OUTCOME_UNKNOWN; i++)
			;
		for (k = 0; o->list[i].items[k].state != OUTCOME_UNKNOWN; k++)
			;
		snprintf(out->text, sizeof(out->text), "%.64s hangs on %s%.80s: %.120s", o->list[i].def->id,
			 o->list[i].def->when[k].expr ? "jq: " : "", o->list[i].items[k].name,
			 o->list[i].items[k].actual ? o->list[i].items[k].actual : "not judged");
	} else if (o->matched) {
		name_all(o, OUTCOME_MET, out->text, sizeof(out->text));
	} else if (o->nearest) {
		name_unmet(o->nearest, names, sizeof(names));
		snprintf(out->text, sizeof(out->text), "the nearest is %.64s, with %zu of %zu conditions unmet: %.140s",
			 o->nearest->def->id, o->nearest->unmet, o->nearest->def->when_len, names);
	}
}
