/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_match.c - what a route wants of query, headers and body.  guest/match.c reads the same forms. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/world_route.h"
#include "proto/regex.h"

#define FIELDS_MAX 64u

static int read_wanted(struct wr *c, const struct cJSON *v, bool text);

static int
read_regex(struct wr *c, const struct cJSON *v)
{
	static struct regex_build build;
	const char *s;
	int r = wr_string(c, v, 1, REGEX_LEN_MAX, &s);

	if (r < 0)
		return r;
	r = regex_compile(&build, s, strlen(s));
	if (r == 0)
		return 0;
	r = wr_fail(c, r, "not an expression: %s, at byte %zu", build.problem, build.at + 1);
	diag_fix(c->d, "write a POSIX extended regular expression, such as \"^ch_[a-z0-9]+$\"");
	return r;
}

/* { "not": x }, { "matches": e }, { "contains": x }, { "equals": x }; 1 when it was one of them. */
static int
read_operator(struct wr *c, const struct cJSON *v, bool text)
{
	const struct cJSON *only = v->child;
	size_t mark;
	int r = 0;

	if (!only || only->next)
		return 0;
	mark = wr_enter(c, only->string);
	if (strcmp(only->string, "matches") == 0)
		r = read_regex(c, only);
	else if (strcmp(only->string, "not") == 0 || (!text && strcmp(only->string, "contains") == 0))
		r = read_wanted(c, only, text);
	else if (text || strcmp(only->string, "equals") != 0)
		r = 1;
	wr_leave(c, mark);
	return r < 0 ? r : r == 0;
}

static int
read_members(struct wr *c, const struct cJSON *v, bool text)
{
	const struct cJSON *m;
	size_t mark, i = 0;
	int r = 0;

	for (m = v->child; m && r == 0; m = m->next, i++) {
		mark = m->string ? wr_enter(c, m->string) : wr_enter_index(c, i);
		r = read_wanted(c, m, text);
		wr_leave(c, mark);
	}
	return r;
}

/* text: of a query, headers or a form, where every value is a text. */
static int
read_wanted(struct wr *c, const struct cJSON *v, bool text)
{
	int r;

	if (cJSON_IsString(v) && strstr(v->valuestring, "{{")) {
		r = wr_fail(c, -EPROTO, "a template cannot stand here: what is wanted is written out");
		diag_fix(c->d, "compare in \"when\", such as \"request.body.id == state.things['a'].ref\"");
		return r;
	}
	if (cJSON_IsArray(v))
		return read_members(c, v, text);
	if (cJSON_IsObject(v)) {
		r = read_operator(c, v, text);
		if (r != 0)
			return r < 0 ? r : 0;
		if (!text)
			return read_members(c, v, text);
	} else if (!text || cJSON_IsString(v) || cJSON_IsNumber(v) || cJSON_IsBool(v)) {
		return 0;
	}
	r = wr_fail(c, -EPROTO, "expected a text, a number or a truth value, found %s", wr_type(v));
	diag_fix(c->d, "write \"value\", \"*\" (any), { \"matches\": \"^a\" } or { \"not\": ... }");
	return r;
}

static int
check_fields(struct wr *c, const struct cJSON *v)
{
	int r;

	if (cJSON_IsObject(v) && v->child && cJSON_GetArraySize(v) <= (int)FIELDS_MAX)
		return 0;
	if (cJSON_IsObject(v))
		r = wr_fail(c, v->child ? -EMSGSIZE : -EPROTO, "between 1 and %u names are wanted here", FIELDS_MAX);
	else
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
	diag_fix(c->d, "write { \"name\": \"value\" }, \"*\" for any value");
	return r;
}

int
world_read_match_query(struct wr *c, const struct cJSON *v, void *arg)
{
	int r = check_fields(c, v);

	(void)arg;
	return r < 0 ? r : read_members(c, v, true);
}

static int
check_header(struct wr *c, const struct cJSON *m, const struct cJSON *all)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_!#$%&'*+.^`|~";
	const struct cJSON *other;
	int r;

	if (!*m->string || strlen(m->string) > 100 || m->string[strspn(m->string, token)]) {
		r = wr_fail_key(c, -EPROTO, "this is not the name of an HTTP header");
		diag_fix(c->d, "write a name such as \"x-request-id\"");
		return r;
	}
	for (other = all->child; other != m; other = other->next) {
		if (strcasecmp(other->string, m->string) != 0)
			continue;
		r = wr_fail_key(c, -EPROTO, "\"%s\" is the same header: their names have no case", other->string);
		diag_fix(c->d, "keep one of the two");
		return r;
	}
	return 0;
}

int
world_read_match_headers(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark;
	int r = check_fields(c, v);

	(void)arg;
	for (m = r == 0 ? v->child : NULL; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		r = check_header(c, m, v);
		wr_leave(c, mark);
	}
	return r < 0 ? r : read_members(c, v, true);
}

static int
read_json(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	if (cJSON_IsObject(v) && cJSON_GetArraySize(v) > (int)FIELDS_MAX)
		return check_fields(c, v);
	return read_wanted(c, v, false);
}

int
world_read_match_body(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "json", read_json, 0, NULL },
		{ "form", world_read_match_query, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	int r = wr_object(c, v, keys, "the body of a match", arg);

	if (r < 0 || (v->child && !v->child->next))
		return r;
	r = wr_fail(c, -EPROTO,
		    v->child ? "a body is one of the two, JSON or a form" : "neither \"json\" nor \"form\"");
	diag_fix(c->d, "write \"body\": { \"json\": { ... } } or \"body\": { \"form\": { ... } }");
	return r;
}
