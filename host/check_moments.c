/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_moments.c - state, relation and unchanged along the run: judged before the first operation, and after each that changed
 * something.  See check_model.h. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check_model.h"
#include "host/check.h"
#include "host/json.h"
#include "host/redact.h"
#include "proto/plan.h"

#define TEXT_SIZE 2048u

static bool
want(struct check_model *m, const cJSON *operand)
{
	const char *service = json_get_text(operand, "service"), *path = json_get_text(operand, "path"),
		   *field = json_get_text(operand, "sum");

	return !service || !path || !*path || !field || check_model_want(m, service, path, field);
}

int
check_moments_prepare(struct check_model *m, const struct world_check *def)
{
	if (def->kind == CHECK_RELATION)
		return want(m, json_get(def->json, "left")) && want(m, json_get(def->json, "right")) ? 0 : -ENOMEM;
	return want(m, def->json) ? 0 : -ENOMEM;
}

/* Of unchanged only the rows that the operation touched are looked at: what was wrong before has been seen before. */
static bool
is_unchanged(const struct world_check *def, const struct check_model *m, bool begins, char *text, size_t size)
{
	const struct model_touched *t;
	size_t i;

	for (i = 0; !begins && i < m->touched_len; i++) {
		t = &m->touched[i];
		if (check_unchanged_row(def, m->w->services[t->service].name, t->at, m->rows[t->row].at_first,
					m->rows[t->row].now, text, size))
			return false;
	}
	return true;
}

static bool
holds(const struct world_check *def, const struct check_model *m, bool begins, char *text, size_t size)
{
	struct check_view views[PLAN_SERVICES_MAX];
	const char *service = json_get_text(def->json, "service");
	size_t i;

	if (def->kind == CHECK_UNCHANGED)
		return is_unchanged(def, m, begins, text, size);
	for (i = 0; i < m->w->services_len; i++)
		views[i] = (struct check_view){ .model = m, .service = i };
	if (def->kind == CHECK_RELATION)
		return check_relation_holds(def->json, m->w, views, text, size);
	for (i = 0; service && i < m->w->services_len; i++)
		if (strcmp(m->w->services[i].name, service) == 0)
			return check_state_holds(def->json, &views[i], text, size);
	return false;
}

void
check_moments_add(struct check *c, const struct check_model *m, uint64_t n)
{
	bool begins = n == UINT64_MAX;
	char text[TEXT_SIZE] = "", none[1] = "";

	if (m->broken || !check_moment(c, holds(c->def, m, begins, none, 0), n))
		return;
	(void)holds(c->def, m, begins, text, sizeof(text));
	c->then = strdup(text);
	c->failed = c->failed || !c->then;
}

static int
expect(const struct world_check *def, struct check_result *r)
{
	return def->kind == CHECK_UNCHANGED  ? check_unchanged_expect(def, r)
	       : def->kind == CHECK_RELATION ? check_relation_expect(def, r)
					     : check_state_expect(def, r);
}

/* The last operation that touched what the check is about. */
static void
rests(const struct check *c, const struct check_model *m, struct check_result *r)
{
	const cJSON *sides[3] = { json_get(c->def->json, "left"), json_get(c->def->json, "right"), c->def->json };
	const char *service, *path;
	uint32_t last;
	size_t i, k;

	for (i = 0; i < 3; i++) {
		service = json_get_text(sides[i], "service");
		path = json_get_text(sides[i], "path");
		if (!service || !path)
			continue;
		check_rests_on(r, "/state/final/%s%s", service, path);
		for (k = 0; k < m->w->services_len; k++)
			if (strcmp(m->w->services[k].name, service) == 0 && (last = check_model_last(m, k, path)))
				check_rests_op(r, last - 1);
	}
}

int
check_moments_finish(struct check *c, const struct check_model *m, const struct redact *redact, struct check_result *r)
{
	const struct check_moments *a = &c->moments;
	const char *trouble = check_model_trouble(m);
	char text[TEXT_SIZE];
	int rc = expect(c->def, r);

	if (rc < 0)
		return rc;
	rests(c, m, r);
	if (r->rests_len == 0)
		check_rests_on(r, "/state/diff");
	if (trouble)
		return check_unknown(r, "it cannot be judged along the run: %s", trouble);
	if (c->failed || a->seen == 0)
		return check_unknown(r, "the check could not be evaluated (memory)");
	r->held = check_moments_hold(c->def->mode, a);
	r->idle = r->held && m->steps == 0;
	if (!a->marked)
		return check_actual(r,
				    r->held ? "so before the first operation and after each of %" PRIu64
					      " that changed something"
					    : "not so before the first operation, nor after any of %" PRIu64
					      " that changed something",
				    a->seen - 1);
	snprintf(text, sizeof(text), "%s", c->then);
	redact_text(redact, text, sizeof(text));
	if (a->at == UINT64_MAX)
		return check_actual(r, "before the first operation: %s", text);
	check_rests_first(r, a->at);
	return check_actual(r, "after operation %" PRIu64 ": %s", a->at, text);
}
