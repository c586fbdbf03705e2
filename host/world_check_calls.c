/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_check_calls.c - checks of what was asked of the services, as the world has them: calls, never, order, and the named
 * properties of writes. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/world_check.h"

/* ---- calls, never ----------------------------------------------------------------------------------------------------- */

static int
read_path(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 1024, &s);

	(void)arg;
	if (r < 0 || (*s == '/' && !strpbrk(s, "?#")))
		return r;
	r = wr_fail(c, -EPROTO, "the path of a call starts with a slash and has no query");
	diag_fix(c->d, "write a path such as \"/charges/ch_1\" or \"/charges/{id}\", or name the route");
	return r;
}

static int
read_status(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 100, 599, &n);
}

static int
read_verdict(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "first", "replay", "in-flight", "mismatch", "expired", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
read_count_of(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "deliveries", "effects", "keys", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

int
world_check_calls(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *exactly = cJSON_GetObjectItemCaseSensitive(v, "exactly"),
			   *low = cJSON_GetObjectItemCaseSensitive(v, "at_least"),
			   *high = cJSON_GetObjectItemCaseSensitive(v, "at_most");
	int r;

	if (exactly && (low || high)) {
		r = wr_fail(c, -EPROTO, "\"exactly\" stands beside \"%s\"", low ? "at_least" : "at_most");
		diag_fix(c->d, "keep \"exactly\" alone, or use at_least and at_most");
		return r;
	}
	if (low && high && low->valuedouble > high->valuedouble) {
		r = wr_fail(c, -EPROTO, "at_least is larger than at_most: this can never hold");
		diag_fix(c->d, "swap the two numbers");
		return r;
	}
	if (low && !high && low->valueint == 0) {
		r = wr_fail(c, -EPROTO, "at_least 0 always holds");
		diag_fix(c->d, "write at_least 1 or more, or an at_most");
		return r;
	}
	return 0;
}

/* ---- order ------------------------------------------------------------------------------------------------------------ */

static int
read_gap(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, 86400000, &n);
}

#define SELECTOR \
	{ "service", check_read_field, 0, NULL }, { "route", check_read_field, 0, NULL }, \
		{ "method", wr_method, 0, NULL }, { "path", read_path, 0, NULL }, { "status", read_status, 0, NULL }, \
	{ \
		"idempotency", read_verdict, 0, NULL \
	}
static const struct wr_key selector_keys[] = { SELECTOR, CHECK_END };
static const struct wr_key fault_keys[] = { { "fault", check_read_field, WR_REQUIRED, "\"fault\": \"ID\"" },
					    CHECK_END };

/* A selector, or the calls that met a fault.  Its names are looked up later: they may stand below. */
static int
read_point(struct wr *c, const struct cJSON *v, void *arg)
{
	int r;

	if (cJSON_GetObjectItemCaseSensitive(v, "fault"))
		return wr_object(c, v, fault_keys, "a fault to wait for", arg);
	r = wr_object(c, v, selector_keys, "a selector", arg);
	if (r < 0 || v->child)
		return r;
	r = wr_fail(c, -EPROTO, "an empty selector chooses every call");
	diag_fix(c->d, "name a \"service\", a \"path\" or a \"fault\"");
	return r;
}

const struct wr_key world_calls_keys[] = { CHECK_COMMON,
					   SELECTOR,
					   { "exactly", check_read_count, 0, NULL },
					   { "at_least", check_read_count, 0, NULL },
					   { "at_most", check_read_count, 0, NULL },
					   { "count", read_count_of, 0, NULL },
					   { "all_equal", check_read_pointer, 0, NULL },
					   { "each", check_read_jq, 0, NULL },
					   CHECK_END };
const struct wr_key world_never_keys[] = { CHECK_COMMON, SELECTOR, CHECK_END };
const struct wr_key world_order_keys[] = {
	CHECK_COMMON,
	{ "first", read_point, WR_REQUIRED, "\"first\": { \"service\": \"NAME\", \"route\": \"ID\" }" },
	{ "then", read_point, WR_REQUIRED, "\"then\": { \"service\": \"NAME\", \"route\": \"ID\" }" },
	{ "min_gap_ms", read_gap, 0, NULL },
	CHECK_END
};
/* The named properties may be narrowed to a service, or to one of its routes. */
const struct wr_key world_writes_keys[] = {
	CHECK_COMMON, { "service", check_read_field, 0, NULL }, { "route", check_read_field, 0, NULL }, CHECK_END
};
