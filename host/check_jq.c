/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_jq.c - checks of kind jq, and `each` of calls: what is asked of the receipt draft, and what the answers mean. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/jq_run.h"

bool
check_has_jq(const struct check *c)
{
	return c->def->expr != NULL;
}

/* All that is known before the draft is there. */
int
check_jq_finish(const struct world_check *def, struct check_result *r)
{
	int rc = check_expected(r, "%.1000s", def->expr);

	return rc < 0 ? rc : check_unknown(r, "it was not evaluated");
}

int
checks_jq_tasks(const struct checks *c, struct jq_task **tasks, size_t *len)
{
	const struct world *w = c->w;
	size_t i, k, n = 0;
	struct jq_task *all;

	*tasks = NULL;
	*len = 0;
	if (w->jq_len == 0)
		return 0;
	all = calloc(w->jq_len, sizeof(*all)); /* each stands there once */
	if (!all)
		return -ENOMEM;
	for (i = 0; i < c->len && n < w->jq_len; i++) {
		const struct check *one = &c->list[i];

		if (!one->def->expr)
			continue;
		all[n] = (struct jq_task){ .expr = one->def->expr };
		if (one->def->kind == CHECK_CALLS) {
			all[n].each = true;
			all[n].ops = one->each;
			all[n].ops_len = one->each_len;
		}
		n++;
	}
	for (i = 0; i < w->outcomes_len; i++)
		for (k = 0; k < w->outcomes[i].when_len && n < w->jq_len; k++)
			if (w->outcomes[i].when[k].expr)
				all[n++] = (struct jq_task){ .expr = w->outcomes[i].when[k].expr };
	*tasks = all;
	*len = n;
	return 0;
}

static int
take_condition(const struct jq_task *t, struct check_result *r)
{
	if (t->verdict == JQ_TROUBLE)
		return check_unknown(r, "%.1000s", t->text ? t->text : "it was not evaluated");
	r->unknown = false;
	r->held = t->verdict == JQ_TRUE;
	r->held_here = false;
	return check_actual(r, "%s", r->held ? "true" : "false");
}

/* The number of calls may have been wrong already; that stays said.  It may also have been unknown. */
static int
take_each(const struct jq_task *t, const struct check *c, struct check_result *r)
{
	const char *text = t->text ? t->text : "it was not evaluated";
	bool counted = r->held_here;

	r->held_here = false;
	if (!counted)
		return 0;
	r->held = t->verdict == JQ_TRUE;
	r->unknown = false;
	if (r->held)
		return 0;
	if (t->op != UINT32_MAX)
		check_rests_first(r, t->op);
	r->idle = false;
	if (t->verdict == JQ_FALSE)
		return check_actual(r, "operation %" PRIu32 ", one of %zu, does not satisfy it", t->op, c->each_len);
	if (t->op != UINT32_MAX)
		return check_unknown(r, "operation %" PRIu32 ": %.1000s", t->op, text);
	return check_unknown(r, "%.1000s", text);
}

int
checks_jq_take(struct checks *c, const struct jq_task *tasks)
{
	struct check_result *r;
	size_t i, n = 0;
	int rc = 0;

	for (i = 0; rc == 0 && i < c->len; i++) {
		if (!check_has_jq(&c->list[i]))
			continue;
		r = &c->results[i];
		if (c->list[i].def->kind == CHECK_CALLS)
			rc = take_each(&tasks[n++], &c->list[i], r);
		else
			rc = take_condition(&tasks[n++], r);
		if (c->quiet && c->list[i].def->kind == CHECK_JQ)
			r->idle = r->held;
		check_set_aside(r);
	}
	return rc;
}
