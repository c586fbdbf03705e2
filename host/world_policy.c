/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_policy.c - what holds for every route of a service: its profile, its variables, which calls may be
 * sent again, how many come in a time. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/world_read.h"
#include "proto/duration.h"

#define VARIABLES_MAX 256u

/* guest/profile.c knows the same names. */
int
world_read_profile(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const names[] = { "generic",
					     "stripe/v1",
					     "github",
					     "slack",
					     "openai",
					     "openai/chat",
					     "openai/responses",
					     "openai/embeddings",
					     "anthropic",
					     "anthropic/messages",
					     NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, names, &which);
}

int
world_read_variables(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r = 0;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"variables\": { \"open\": true }");
		return r;
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > VARIABLES_MAX) {
			r = wr_fail_key(c, -EMSGSIZE, "more than %u variables", VARIABLES_MAX);
		} else if (!is_identifier(m->string, false)) {
			r = wr_fail_key(c, -EPROTO, "this is not a name for a variable");
			diag_fix(c->d, "use letters, digits and '_', not a digit first");
		}
		wr_leave(c, mark);
	}
	return r;
}

/* ---- idempotency ------------------------------------------------------------------------------------------------------ */

static int
read_method(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE", "GET", NULL };
	const struct cJSON *on = arg, *other;
	size_t which;
	int r = wr_word(c, v, methods, &which);

	for (other = r == 0 ? on->child : v; other != v; other = other->next) {
		if (strcmp(other->valuestring, v->valuestring) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "%s stands here twice", v->valuestring);
		diag_fix(c->d, "keep one of the two");
		return r;
	}
	return r;
}

static int
read_on(struct wr *c, const struct cJSON *v, void *arg)
{
	union {
		const struct cJSON *in;
		void *out;
	} same = { .in = v };

	(void)arg;
	return wr_array(c, v, 1, 5, "methods", read_method, same.out);
}

static int
read_keep(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	uint64_t ms;
	int r = wr_string(c, v, 1, 24, &s);

	(void)arg;
	if (r < 0 || duration_read(s, &ms) == 0)
		return r;
	r = wr_fail(c, -EPROTO, "\"%s\" is no length of time from 1ms to 3650d", s);
	diag_fix(c->d, "write a whole number and ms, s, m, h or d, such as \"24h\"");
	return r;
}

static int
read_form(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const forms[] = { "stripe", "ietf", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, forms, &which);
}

static int
read_required(struct wr *c, const struct cJSON *v, void *arg)
{
	bool yes;

	(void)arg;
	return wr_bool(c, v, &yes);
}

int
world_read_idempotency(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "on", read_on, 0, NULL },        { "keep", read_keep, 0, NULL },
		{ "profile", read_form, 0, NULL }, { "required", read_required, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "idempotency", arg);
}

/* ---- rate limit ------------------------------------------------------------------------------------------------------- */

static int
read_limit(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, 1000000000, &n);
}

static int
read_window(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, 86400000, &n);
}

static int
read_per(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "service", "route", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

int
world_read_rate_limit(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "limit", read_limit, WR_REQUIRED, "\"limit\": 100" },
		{ "window_ms", read_window, WR_REQUIRED, "\"window_ms\": 60000" },
		{ "per", read_per, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "rate_limit", arg);
}
