/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_vacuous.c - refuses a world whose checks all hold already when nothing ran: its runs would pass whatever the
 * workflow does, even when it never starts. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/check.h"
#include "host/world_read.h"

/* Before anything ran the services hold what the world declares. */
static bool
state_holds(const struct wr *c, const struct world_check *k)
{
	struct check_view views[PLAN_SERVICES_MAX] = { 0 };
	const struct cJSON *name = cJSON_GetObjectItemCaseSensitive(k->json, "service");
	char none[1] = "";
	size_t i;

	for (i = 0; i < c->w->services_len; i++)
		views[i].collections = cJSON_GetObjectItemCaseSensitive(c->w->services[i].json, "state");
	if (k->kind == CHECK_RELATION)
		return check_relation_holds(k->json, c->w, views, none, 0);
	for (i = 0; i < c->w->services_len; i++)
		if (strcmp(c->w->services[i].name, name->valuestring) == 0)
			return check_state_holds(k->json, &views[i], none, 0);
	return false;
}

static bool
stream_holds(const struct cJSON *check)
{
	/* An empty stream has no line that could match, contains nothing and is no JSON. */
	const struct cJSON *equals = cJSON_GetObjectItemCaseSensitive(check, "equals");

	return equals && !*equals->valuestring;
}

static bool
calls_hold(const struct cJSON *check)
{
	const struct cJSON *exactly = cJSON_GetObjectItemCaseSensitive(check, "exactly"),
			   *low = cJSON_GetObjectItemCaseSensitive(check, "at_least"),
			   *high = cJSON_GetObjectItemCaseSensitive(check, "at_most");

	if (exactly)
		return exactly->valueint == 0;
	if (low)
		return low->valueint == 0;
	return high != NULL;
}

/* In every mode but `never`: that holds where the condition does not. */
static bool
condition_holds(const struct wr *c, const struct world_check *k)
{
	switch (k->kind) {
	case CHECK_EXIT: /* the code of a workflow that is ended for it is not judged */
		return c->w->ends && !cJSON_GetObjectItemCaseSensitive(c->w->ends, "exit") &&
		       cJSON_GetObjectItemCaseSensitive(k->json, "code");
	case CHECK_STDOUT:
	case CHECK_STDERR:
		return stream_holds(k->json);
	case CHECK_CALLS:
		return calls_hold(k->json);
	case CHECK_NEVER:
	case CHECK_NO_EGRESS:
	case CHECK_UNCHANGED:
	case CHECK_PROCESS:
	case CHECK_NO_DUPLICATES:
	case CHECK_NO_LOST:
	case CHECK_IDEMPOTENT:
	case CHECK_RECOVERS:
		return true;
	case CHECK_ORDER: /* of nothing there is no order */
	case CHECK_JQ:    /* of no receipt nothing is known */
		return false;
	case CHECK_STATE:
	case CHECK_RELATION:
		return state_holds(c, k);
	}
	return false;
}

static bool
holds_at_first(const struct wr *c, const struct world_check *k)
{
	return condition_holds(c, k) != (k->mode == MODE_NEVER);
}

/* A wanted outcome whose conditions all hold at first.  Those of jq are about a receipt, so nothing is known of them. */
static bool
outcome_at_first(const struct wr *c)
{
	size_t i, k;

	for (i = 0; i < c->w->outcomes_len; i++) {
		const struct world_outcome *o = &c->w->outcomes[i];

		for (k = 0; k < o->when_len; k++)
			if (o->when[k].expr || !holds_at_first(c, &c->w->checks[o->when[k].check]))
				break;
		if (o->passed && k == o->when_len)
			return true;
	}
	return false;
}

/* Only what is judged over a sweep: in a run nothing would be. */
static int
check_single(struct wr *c)
{
	size_t i;
	int r;

	for (i = 0; i < c->w->checks_len; i++)
		if (!c->w->checks[i].sweep)
			return 0;
	if (c->w->outcomes_len > 0)
		return 0;
	r = wr_fail_key(c, -EPROTO, "every check is judged over a sweep, so a single run would prove nothing");
	diag_fix(c->d, "add a check without \"over\": \"sweep\"");
	return r;
}

int
world_check_vacuous(struct wr *c)
{
	size_t i, mark = wr_enter(c, "checks");
	int r = check_single(c);

	for (i = 0; r == 0 && i < c->w->checks_len; i++) {
		const struct world_check *k = &c->w->checks[i];

		if (!k->sweep && !k->evidence && !holds_at_first(c, k))
			break;
	}
	if (r == 0 && i == c->w->checks_len && (c->w->outcomes_len == 0 || outcome_at_first(c))) {
		r = wr_fail_key(
			c, -EPROTO,
			"every check holds already when nothing has run, so a workflow that does nothing would pass");
		diag_fix(
			c->d,
			"add a check that only the workflow's work can make true, such as { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }");
	}
	wr_leave(c, mark);
	return r;
}
