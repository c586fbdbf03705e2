/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_vacuous.c - refuses a world whose checks all hold already when nothing ran: its runs would pass whatever the
 * workflow does, even when it never starts. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/json.h"
#include "host/world_read.h"
#include "proto/number.h"

static bool
state_holds(const struct wr *c, const struct cJSON *check)
{
	const char *service = cJSON_GetObjectItemCaseSensitive(check, "service")->valuestring;
	const struct cJSON *v = NULL, *equals = cJSON_GetObjectItemCaseSensitive(check, "equals"),
			   *count = cJSON_GetObjectItemCaseSensitive(check, "count"),
			   *sum = cJSON_GetObjectItemCaseSensitive(check, "sum"),
			   *exists = cJSON_GetObjectItemCaseSensitive(check, "exists");
	double total;
	size_t i;

	for (i = 0; i < c->w->services_len; i++)
		if (strcmp(c->w->services[i].name, service) == 0)
			v = json_at(cJSON_GetObjectItemCaseSensitive(c->w->services[i].json, "state"),
				    cJSON_GetObjectItemCaseSensitive(check, "path")->valuestring, true);
	if (exists)
		return cJSON_IsTrue(exists) == (v != NULL);
	if (!v)
		return false;
	if (count)
		return (cJSON_IsArray(v) || cJSON_IsObject(v)) && (double)cJSON_GetArraySize(v) == count->valuedouble;
	if (sum)
		return !json_sum(v, sum->valuestring, &total) && number_is_equal(total, equals->valuedouble);
	return json_equal(v, equals);
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

static bool
holds_at_first(const struct wr *c, const struct world_check *k)
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
		return true;
	case CHECK_STATE:
		return state_holds(c, k->json);
	}
	return false;
}

int
world_check_vacuous(struct wr *c)
{
	size_t i, mark;
	int r;

	for (i = 0; i < c->w->checks_len; i++)
		if (!holds_at_first(c, &c->w->checks[i]))
			return 0;
	mark = wr_enter(c, "checks");
	r = wr_fail_key(c, -EPROTO,
			"every check holds already when nothing has run, so a workflow that does nothing would pass");
	diag_fix(
		c->d,
		"add a check that only the workflow's work can make true, such as { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }");
	wr_leave(c, mark);
	return r;
}
