/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_outcome.c - what was asked of the run and what came of it: checks, and the outcomes of the world. */
#include <cJSON.h>
#include <string.h>

#include "host/emit.h"
#include "host/json.h"
#include "host/receipt.h"

/* ---- outcomes --------------------------------------------------------------------------------------------------------- */

static void
state(struct emit *e, const char *key, enum outcome_state s)
{
	if (s == OUTCOME_UNKNOWN)
		emit_null(e, key);
	else
		emit_bool(e, key, s == OUTCOME_MET);
}

/* Each condition as the world has it, whether it is met, and what there was instead. */
static void
conditions(struct emit *e, const struct outcome_result *o)
{
	const cJSON *when = json_get(o->def->json, "when"), *v;
	size_t i = 0;

	emit_open(e, "conditions", '[');
	cJSON_ArrayForEach(v, when)
	{
		emit_open(e, NULL, '{');
		if (o->def->when[i].expr)
			emit_text(e, "jq", o->def->when[i].expr);
		else
			emit_text(e, "check", o->items[i].name);
		state(e, "met", o->items[i].state);
		emit_text(e, "actual", o->items[i].actual);
		emit_close(e);
		i++;
	}
	emit_close(e);
}

static void
declared(struct emit *e, const struct receipt *r)
{
	const struct outcomes *o = r->outcomes;
	bool judged = r->verdict->status == STATUS_PASSED || r->verdict->status == STATUS_FAILED;
	size_t i;

	emit_open(e, "declared", '[');
	for (i = 0; i < r->world->outcomes_len; i++) {
		emit_open(e, NULL, '{');
		emit_text(e, "id", r->world->outcomes[i].id);
		emit_text(e, "verdict", r->world->outcomes[i].passed ? "passed" : "failed");
		emit_json(e, "when", json_get(r->world->outcomes[i].json, "when"));
		/* Where they could not be judged at all, or nothing may be concluded. */
		state(e, "matches", judged && i < o->len ? o->list[i].state : OUTCOME_UNKNOWN);
		if (i < o->len && o->list[i].items)
			conditions(e, &o->list[i]);
		emit_close(e);
	}
	emit_close(e);
}

void
receipt_outcomes(struct emit *e, const struct receipt *r)
{
	const struct outcomes *o = r->outcomes;

	if (r->world->outcomes_len == 0) {
		emit_null(e, "declared");
		emit_null(e, "matched");
		emit_null(e, "nearest");
		return;
	}
	declared(e, r);
	emit_text(e, "matched", o->match ? o->match->def->id : NULL);
	emit_text(e, "nearest", o->nearest ? o->nearest->def->id : NULL);
}

/* ---- checks ----------------------------------------------------------------------------------------------------------- */

static void
one(struct emit *e, const struct check_result *c)
{
	bool swept = strcmp(c->role, "sweep") == 0;
	size_t k;

	emit_open(e, NULL, '{');
	emit_text(e, "id", c->id);
	emit_text(e, "kind", c->kind);
	emit_text(e, "role", c->role);
	if (swept)
		emit_null(e, "held");
	else
		emit_bool(e, "held", c->held);
	if (swept && c->unknown)
		emit_null(e, "held_here");
	else if (swept)
		emit_bool(e, "held_here", c->held_here);
	if (c->unknown)
		emit_bool(e, "unknown", true);
	emit_text(e, "expected", c->expected);
	emit_text(e, "actual", c->actual);
	emit_open(e, "rests_on", '[');
	for (k = 0; k < c->rests_len; k++)
		emit_text(e, NULL, c->rests[k]);
	emit_close(e);
	if (c->idle)
		emit_bool(e, "rests_on_nothing", true);
	if (c->because)
		emit_text(e, "because", c->because);
	emit_close(e);
}

void
receipt_checks(struct emit *e, const struct receipt *r)
{
	const struct checks *c = r->checks;
	size_t i;

	emit_open(e, "checks", '[');
	for (i = 0; i < c->results_len; i++)
		if (!r->draft || i >= c->len || !check_has_jq(&c->list[i]))
			one(e, &c->results[i]);
	emit_close(e);
}
