/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_effects.c - what a route does and replies.  As strict as the twins need: what is accepted here can be run without
 * a further look. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_route.h"

#define EFFECTS_MAX 64u

int
world_read_collection(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	const char *name;
	int r = wr_string(c, v, 1, 64, &name);

	return r < 0 ? r : wr_collection(c, &t->scope, name);
}

/* ---- reply ------------------------------------------------------------------------------------------------------------ */

static int
read_status(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 200, 599, &n);
}

static int
read_header(struct wr *c, const struct cJSON *v, const struct route *t)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	static const char *const ours[] = { "content-length", "transfer-encoding", "connection", "date",
					    "trailer",        "upgrade",           "keep-alive", NULL };
	const char *text;
	size_t i;
	int r;

	if (!*v->string || strlen(v->string) > 100 || v->string[strspn(v->string, token)]) {
		r = wr_fail_key(c, -EPROTO, "this is not the name of an HTTP header");
		diag_fix(c->d, "write a name such as \"x-request-id\"");
		return r;
	}
	for (i = 0; ours[i]; i++) {
		if (strcasecmp(ours[i], v->string) != 0)
			continue;
		r = wr_fail_key(c, -EPROTO, "the twin writes this header itself");
		diag_fix(c->d, "take it out");
		return r;
	}
	r = wr_string(c, v, 0, 8192, &text);
	for (i = 0; r == 0 && text[i]; i++) {
		if (((unsigned char)text[i] >= 0x20 && text[i] != 0x7f) || text[i] == '\t')
			continue;
		r = wr_fail(c, -EPROTO, "a header's value has no line break or other control character");
		diag_fix(c->d, "take it out");
	}
	return r < 0 ? r : wr_templates(c, v, &t->scope);
}

static int
read_headers(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r = 0;

	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"headers\": { \"name\": \"value\" }");
		return r;
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > 64)
			r = wr_fail_key(c, -EMSGSIZE, "more than 64 headers");
		else
			r = read_header(c, m, arg);
		wr_leave(c, mark);
	}
	return r;
}

static int
read_body(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_templates(c, v, &t->scope);
}

static int
read_code(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *s;
	int r = wr_string(c, v, 1, 100, &s);

	(void)arg;
	if (r == 0 && s[strspn(s, allowed)]) {
		r = wr_fail(c, -EPROTO, "a code has letters, digits, '_', '.' and '-' only");
		diag_fix(c->d, "write the service's own word, such as \"resource_missing\", or a whole \"body\"");
	}
	return r;
}

/* The profile's error body stands for a body, and for an error. */
static int
check_code(struct wr *c, const struct cJSON *v, const struct cJSON *status)
{
	size_t mark = wr_enter(c, "code");
	int r = 0;

	if (cJSON_GetObjectItemCaseSensitive(v, "body")) {
		r = wr_fail_key(c, -EPROTO,
				"\"code\" stands for the profile's error body, and there is a \"body\" too");
		diag_fix(c->d, "keep one of the two");
	} else if (status && status->valueint < 400) {
		r = wr_fail_key(c, -EPROTO, "\"code\" is of an error, and status %d is none", status->valueint);
		diag_fix(c->d,
			 "use a status from 400 on (a Slack-like service sends 200 by itself), or write a \"body\"");
	}
	wr_leave(c, mark);
	return r;
}

int
world_read_reply(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "status", read_status, 0, NULL }, { "headers", read_headers, 0, NULL },
		{ "body", read_body, 0, NULL },     { "code", read_code, 0, NULL },
		{ "stream", NULL, WR_LATER, NULL }, { NULL, NULL, 0, NULL },
	};
	const struct cJSON *status;
	size_t mark;
	int r = wr_object(c, v, keys, "a reply", arg);

	if (r < 0)
		return r;
	status = cJSON_GetObjectItemCaseSensitive(v, "status");
	if (cJSON_GetObjectItemCaseSensitive(v, "code"))
		return check_code(c, v, status);
	if (status && (status->valueint == 204 || status->valueint == 304) &&
	    cJSON_GetObjectItemCaseSensitive(v, "body")) {
		mark = wr_enter(c, "body");
		r = wr_fail_key(c, -EPROTO, "a reply with status %d has no body", status->valueint);
		diag_fix(c->d, "take \"body\" out, or use status 200");
		wr_leave(c, mark);
	}
	return r;
}

/* ---- effects ---------------------------------------------------------------------------------------------------------- */

static int
read_template(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_templates(c, v, &t->scope);
}

static int
read_row_id(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	const char *s;
	int r = wr_string(c, v, 1, 1024, &s);

	return r < 0 ? r : wr_templates(c, v, &t->scope);
}

static int
read_as(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const taken[] = { "request", "state", "vars", "id",   "now",   "seed", "event",
					     "and",     "or",    "not",  "true", "false", "null", "int",
					     "str",     "lower", "len",  "has",  "count", "sum",  NULL };
	const struct route *t = arg;
	const char *s;
	size_t i;
	int r = wr_string(c, v, 1, 64, &s);

	if (r < 0)
		return r;
	if (!is_identifier(s, false)) {
		r = wr_fail(c, -EPROTO, "this is not a name for a row");
		diag_fix(c->d, "use letters, digits and '_', not a digit first");
		return r;
	}
	for (i = 0; taken[i]; i++) {
		if (strcmp(taken[i], s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "\"%s\" is a word of the language", s);
		diag_fix(c->d, "choose another name for the row");
		return r;
	}
	for (i = 0; i < t->scope.bound_len; i++) {
		if (strcmp(t->scope.bound[i], s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "an earlier effect of this route calls its row \"%s\" already", s);
		diag_fix(c->d, "choose another name for the row");
		return r;
	}
	return 0;
}

int
world_read_guard(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_expr(c, v, &t->scope);
}

static int
read_create_row(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	int r;

	if (!cJSON_IsObject(v) && !is_one_template(v)) {
		r = wr_fail(c, -EPROTO, "a row is an object, or one template that gives an object");
		diag_fix(c->d, "write { \"field\": value }, or \"{{request.body}}\"");
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_set_fields(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	size_t mark;
	int r;

	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "\"set\" of an update is an object of fields, found %s", wr_type(v));
		diag_fix(c->d, "write { \"field\": value }");
		return r;
	}
	if (cJSON_GetObjectItemCaseSensitive(v, "id")) {
		mark = wr_enter(c, "id");
		r = wr_fail_key(c, -EPROTO, "a row keeps its id");
		diag_fix(c->d, "take \"id\" out; to rename a row, delete it and create another");
		wr_leave(c, mark);
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_field(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 128, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (strstr(s, "{{") || strcmp(s, "id") == 0) {
		r = wr_fail(c, -EPROTO,
			    strcmp(s, "id") == 0 ? "a row keeps its id" : "the name of a field cannot be a template");
		diag_fix(c->d, "name one field of the row");
	}
	return r;
}

static int
read_by(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	int r;

	if (!cJSON_IsNumber(v) && !is_one_template(v)) {
		r = wr_fail(c, -EPROTO, "\"by\" is a number, or one template that gives a number");
		diag_fix(c->d, "write 1, or \"{{request.body.amount}}\"");
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_variable(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 64, &s);

	(void)arg;
	if (r == 0 && !is_identifier(s, false)) {
		r = wr_fail(c, -EPROTO, "this is not a name for a variable");
		diag_fix(c->d, "use letters, digits and '_', not a digit first");
	}
	return r;
}

#define NEEDS_ID "\"id\": \"{{request.path.id}}\""
static const struct wr_key find_keys[] = {
	{ "find", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID }, { "as", read_as, 0, NULL },
	{ "else", world_read_reply, 0, NULL }, { NULL, NULL, 0, NULL },
}, require_keys[] = {
	{ "require", world_read_guard, WR_REQUIRED, NULL },
	{ "else", world_read_reply, 0, NULL }, { NULL, NULL, 0, NULL },
}, create_keys[] = {
	{ "create", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, 0, NULL }, { "row", read_create_row, 0, NULL },
	{ "as", read_as, 0, NULL }, { NULL, NULL, 0, NULL },
}, update_keys[] = {
	{ "update", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "set", read_set_fields, WR_REQUIRED, "\"set\": { \"field\": value }" }, { "as", read_as, 0, NULL }, { NULL, NULL, 0, NULL },
}, increment_keys[] = {
	{ "increment", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "field", read_field, WR_REQUIRED, "\"field\": \"NAME\"" }, { "by", read_by, WR_REQUIRED, "\"by\": 1" }, { NULL, NULL, 0, NULL },
}, append_keys[] = {
	{ "append", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "field", read_field, WR_REQUIRED, "\"field\": \"NAME\"" }, { "value", read_template, WR_REQUIRED, "\"value\": ..." },
	{ NULL, NULL, 0, NULL },
}, delete_keys[] = {
	{ "delete", world_read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID }, { NULL, NULL, 0, NULL },
}, set_keys[] = {
	{ "set", read_variable, WR_REQUIRED, NULL }, { "to", read_template, WR_REQUIRED, "\"to\": ..." }, { NULL, NULL, 0, NULL },
};

/* set stands last: it is also a key of update. */
static const struct {
	const char *verb;
	const struct wr_key *keys;
	bool changes;
} effects[] = {
	{ "find", find_keys, false },          { "require", require_keys, false },
	{ "create", create_keys, true },       { "update", update_keys, true },
	{ "increment", increment_keys, true }, { "append", append_keys, true },
	{ "delete", delete_keys, true },       { "set", set_keys, true },
};
#define EFFECTS (sizeof(effects) / sizeof(effects[0]))

static int
fail_no_verb(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *m;
	struct nearest n;
	size_t i;
	int r;

	r = wr_fail(c, -EPROTO, cJSON_IsObject(v) ? "the effect has no verb" : "an effect is an object");
	diag_fix(c->d, "write one of find, require, create, update, increment, append, delete, set");
	for (m = cJSON_IsObject(v) ? v->child : NULL; m; m = m->next) {
		nearest_init(&n, m->string);
		for (i = 0; i < EFFECTS; i++)
			nearest_offer(&n, effects[i].verb);
		if (n.best)
			diag_fix(c->d, "did you mean \"%s\" instead of \"%s\"?", n.best, m->string);
	}
	return r;
}

static int
find_verb(struct wr *c, const struct cJSON *v, size_t *out)
{
	size_t i, found = EFFECTS;
	int r;

	for (i = 0; i < EFFECTS; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(v, effects[i].verb))
			continue;
		if (found == EFFECTS) {
			found = i;
		} else if (i != EFFECTS - 1 || strcmp(effects[found].verb, "update") != 0) {
			r = wr_fail(c, -EPROTO, "one effect has two verbs, \"%s\" and \"%s\"", effects[found].verb,
				    effects[i].verb);
			diag_fix(c->d, "write two effects, in the order they shall happen");
			return r;
		}
	}
	if (found == EFFECTS)
		return fail_no_verb(c, v);
	*out = found;
	return 0;
}

static int
read_effect(struct wr *c, const struct cJSON *v, void *arg)
{
	struct route *t = arg;
	const struct cJSON *as, *row;
	char what[24];
	size_t verb = 0, mark;
	int r = find_verb(c, v, &verb);

	if (r < 0)
		return r;
	if (t->changed && !effects[verb].changes) {
		r = wr_fail(c, -EPROTO, "\"%s\" stands after an effect that changes something", effects[verb].verb);
		diag_fix(c->d,
			 "move every find and require before the first change, so that nothing is ever half done");
		return r;
	}
	(void)snprintf(what, sizeof(what), "\"%s\"", effects[verb].verb);
	r = wr_object(c, v, effects[verb].keys, what, t);
	if (r < 0)
		return r;
	t->changed |= effects[verb].changes;
	row = cJSON_GetObjectItemCaseSensitive(v, "row");
	if (row && cJSON_GetObjectItemCaseSensitive(row, "id") && cJSON_GetObjectItemCaseSensitive(v, "id")) {
		mark = wr_enter(c, "row");
		wr_enter(c, "id");
		r = wr_fail_key(c, -EPROTO, "the row's id stands both here and beside \"create\"");
		diag_fix(c->d, "keep one of the two");
		wr_leave(c, mark);
		return r;
	}
	as = cJSON_GetObjectItemCaseSensitive(v, "as");
	if (as)
		t->scope.bound[t->scope.bound_len++] = as->valuestring; /* at most EFFECTS_MAX of them */
	return 0;
}

int
world_read_effects(struct wr *c, const struct cJSON *v, void *arg)
{
	_Static_assert(EFFECTS_MAX <= SCOPE_BOUND_MAX, "every effect can bind a row");

	return wr_array(c, v, 0, EFFECTS_MAX, "effects", read_effect, arg);
}
