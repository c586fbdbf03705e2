/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_check_state.c - checks of what the services hold, as the world has them: state, relation, unchanged. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/world_check.h"

/* ---- state ------------------------------------------------------------------------------------------------------------ */

/* On the way the rows of a collection stand in no order that a list could be compared with. */
static int
check_whole(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *mode = cJSON_GetObjectItemCaseSensitive(v, "mode"),
			   *equals = cJSON_GetObjectItemCaseSensitive(v, "equals");
	const char *path = cJSON_GetObjectItemCaseSensitive(v, "path")->valuestring;
	size_t mark;
	int r;

	if (!mode || strcmp(mode->valuestring, "at_end") == 0 || !equals ||
	    cJSON_GetObjectItemCaseSensitive(v, "sum") || !*path || strchr(path + 1, '/'))
		return 0;
	mark = wr_enter(c, "mode");
	r = wr_fail(c, -EPROTO, "a whole collection is compared at the end only");
	diag_fix(c->d, "take \"mode\" out, or use \"count\", or name a row: \"%.100s/ID\"", path);
	wr_leave(c, mark);
	return r;
}

int
world_check_state(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "equals", "count", "exists", NULL };
	const struct cJSON *equals = cJSON_GetObjectItemCaseSensitive(v, "equals"),
			   *sum = cJSON_GetObjectItemCaseSensitive(v, "sum");
	int r = check_need_one(c, v, keys, "\"count\": 1");

	if (r == 0)
		r = check_whole(c, v);
	if (r < 0 || !sum || cJSON_IsNumber(equals))
		return r;
	r = wr_fail(c, -EPROTO, "\"sum\" needs a number to be equal to");
	diag_fix(c->d, "write \"sum\": \"FIELD\", \"equals\": 4200");
	return r;
}

/* ---- relation --------------------------------------------------------------------------------------------------------- */

static int
read_operator(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "==", "!=", "<", "<=", ">", ">=", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

/* A number, text, true, false or null: two lists, or two objects, are compared by `state`. */
static int
read_value(struct wr *c, const struct cJSON *v, void *arg)
{
	int r;

	(void)arg;
	if (!cJSON_IsObject(v) && !cJSON_IsArray(v))
		return 0;
	r = wr_fail(c, -EPROTO, "a relation is between numbers, texts, true, false and null, found %s", wr_type(v));
	diag_fix(c->d, "use a check of kind \"state\" with \"equals\"");
	return r;
}

static const struct wr_key value_keys[] = { { "value", read_value, WR_REQUIRED, NULL }, CHECK_END };
static const struct wr_key operand_keys[] = { { "service", check_read_field, WR_REQUIRED, "\"service\": \"NAME\"" },
					      { "path", check_read_pointer, WR_REQUIRED, "\"path\": \"/COLLECTION\"" },
					      { "sum", check_read_field, 0, NULL },
					      { "count", check_read_yes, 0, NULL },
					      { "sql", NULL, WR_LATER, NULL },
					      CHECK_END };

static int
read_operand(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *sql = cJSON_GetObjectItemCaseSensitive(v, "sql");
	size_t mark;
	int r;

	if (cJSON_GetObjectItemCaseSensitive(v, "value"))
		return wr_object(c, v, value_keys, "a value", arg);
	if (sql) { /* before "path" is missed */
		mark = wr_enter(c, "sql");
		r = wr_fail_later(c, "key \"sql\"");
		wr_leave(c, mark);
		return r;
	}
	r = wr_object(c, v, operand_keys, "one side of a relation", arg);
	if (r < 0 || !cJSON_GetObjectItemCaseSensitive(v, "sum") || !cJSON_GetObjectItemCaseSensitive(v, "count"))
		return r;
	r = wr_fail(c, -EPROTO, "\"sum\" stands beside \"count\"");
	diag_fix(c->d, "keep one of the two");
	return r;
}

int
world_check_relation(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *left = cJSON_GetObjectItemCaseSensitive(v, "left"),
			   *right = cJSON_GetObjectItemCaseSensitive(v, "right");
	int r;

	if (!cJSON_GetObjectItemCaseSensitive(left, "value") || !cJSON_GetObjectItemCaseSensitive(right, "value"))
		return 0;
	r = wr_fail(c, -EPROTO, "both sides are values: the check says nothing of the run");
	diag_fix(c->d, "name a \"service\" and a \"path\" on one side");
	return r;
}

/* ---- unchanged -------------------------------------------------------------------------------------------------------- */

static int
read_exception(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s, *colon;
	int r = wr_string(c, v, 1, 1024, &s);

	(void)arg;
	if (r < 0)
		return r;
	colon = strchr(s, ':');
	if (colon && colon > s && colon[1] == '/' && colon[2])
		return 0;
	r = wr_fail(c, -EPROTO, "an exception is SERVICE:/COLLECTION or a pointer below it");
	diag_fix(c->d, "write one such as \"shop:/orders/*/status\"; * stands for one name or id");
	return r;
}

static int
read_exceptions(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 0, 256, "exceptions", read_exception, arg);
}

const struct wr_key world_state_keys[] = { CHECK_COMMON,
					   { "service", check_read_field, WR_REQUIRED, "\"service\": \"NAME\"" },
					   { "path", check_read_pointer, WR_REQUIRED, "\"path\": \"/COLLECTION\"" },
					   { "equals", check_read_any, 0, NULL },
					   { "count", check_read_count, 0, NULL },
					   { "exists", check_read_yes_no, 0, NULL },
					   { "sum", check_read_field, 0, NULL },
					   CHECK_END };
const struct wr_key world_relation_keys[] = {
	CHECK_COMMON,
	{ "left", read_operand, WR_REQUIRED,
	  "\"left\": { \"service\": \"NAME\", \"path\": \"/COLLECTION\", \"count\": true }" },
	{ "op", read_operator, WR_REQUIRED, "\"op\": \"==\"" },
	{ "right", read_operand, WR_REQUIRED, "\"right\": { \"value\": 1 }" },
	CHECK_END
};
const struct wr_key world_unchanged_keys[] = { CHECK_COMMON, { "except", read_exceptions, 0, NULL }, CHECK_END };
