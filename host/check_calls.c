/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_calls.c - checks of kind calls and never: what the workflow asked of the services. */
#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/check.h"
#include "host/json.h"
#include "proto/frame.h"

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The next byte of a segment, percent-decoded as the twins decode it; -1 at its end. */
static int
next_byte(const char **at, const char *end)
{
	const char *p = *at;
	int high, low;

	if (p == end)
		return -1;
	if (*p == '%' && end - p > 2 && (high = hex_digit(p[1])) >= 0 && (low = hex_digit(p[2])) >= 0) {
		*at = p + 3;
		return high << 4 | low;
	}
	*at = p + 1;
	return (unsigned char)*p;
}

static bool
segment_is(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const char *a_end = a + a_len, *b_end = b + b_len;
	int c;

	do
		if ((c = next_byte(&a, a_end)) != next_byte(&b, b_end))
			return false;
	while (c >= 0);
	return true;
}

/* A path of the selector: segment by segment, "{name}" and "*" stand for any one segment; the query is not looked at, nor
 * the authority of "http://payments.internal/refunds".  "/%72efunds" is /refunds: the twins take it for that. */
static bool
path_matches(const char *pattern, const char *target)
{
	size_t p, t;

	if (strncasecmp(target, "http://", 7) == 0) {
		target += 7 + strcspn(target + 7, "/?#");
		if (*target != '/')
			target = "/";
	}
	for (;;) {
		p = strcspn(pattern, "/");
		t = strcspn(target, "/?#");
		if (!(p == 1 && pattern[0] == '*' && t) &&
		    !(p > 1 && pattern[0] == '{' && pattern[p - 1] == '}' && t) && !segment_is(pattern, p, target, t))
			return false;
		pattern += p;
		target += t;
		if (*pattern != '/' || *target != '/')
			return *pattern == '\0' && *target != '/';
		pattern++;
		target++;
	}
}

static bool
text_is(const cJSON *def, const char *name, const char *value)
{
	const char *want = json_get_text(def, name);

	return !want || (value && strcmp(want, value) == 0);
}

/* A check is about what the workflow asked, unless it names what the twins sent: the service "trigger", a webhook's event.  Of
 * that only counts what reached the workflow: a webhook that was never sent was not delivered. */
static bool
is_meant(const cJSON *def, const cJSON *op)
{
	const char *kind = json_get_text(op, "kind"), *service = json_get_text(op, "service"),
		   *view = json_get_text(json_get(op, "views"), "service");
	bool webhook = kind && strcmp(kind, "webhook") == 0, trigger = service && strcmp(service, "trigger") == 0;

	if ((webhook || trigger) && view && strcmp(view, "not-reached") == 0)
		return false;
	if (webhook)
		return json_get_text(def, "route") != NULL;
	return !trigger || json_get_text(def, "service") != NULL;
}

/* What the service answered, or the workflow for a trigger and a webhook. */
static bool
status_is(const cJSON *def, const cJSON *op)
{
	const cJSON *want = json_get(def, "status"), *status = json_get(json_get(op, "reply"), "status");

	return !want || (cJSON_IsNumber(status) && status->valuedouble == want->valuedouble);
}

static bool
selects(const cJSON *def, const cJSON *op)
{
	const cJSON *request = json_get(op, "request");
	const char *path = json_get_text(def, "path"), *target = json_get_text(request, "target");

	return is_meant(def, op) && text_is(def, "service", json_get_text(op, "service")) &&
	       text_is(def, "route", json_get_text(op, "route")) &&
	       text_is(def, "method", json_get_text(request, "method")) &&
	       text_is(def, "idempotency", json_get_text(op, "idempotency")) && status_is(def, op) &&
	       (!path || (target && path_matches(path, target)));
}

static void
key_add(struct check *c, const char *key)
{
	if (c->keys_len == c->keys_size) {
		size_t size = c->keys_size ? 2 * c->keys_size : 64;
		void *p = reallocarray(c->keys, size, 32);

		if (!p) {
			c->failed = true;
			return;
		}
		c->keys = p;
		c->keys_size = size;
	}
	sha256_of(key, strlen(key), c->keys[c->keys_len++]);
}

static int
key_order(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static uint64_t
keys_distinct(struct check *c)
{
	uint64_t n = c->keys_len != 0;
	size_t i;

	if (c->keys_len)
		qsort(c->keys, c->keys_len, 32, key_order);
	for (i = 1; i < c->keys_len; i++)
		n += memcmp(c->keys[i - 1], c->keys[i], 32) != 0;
	return n;
}

/* Nothing, and null, are equal to nothing: a pointer that leads nowhere must not hold. */
static void
equal_add(struct check *c, const char *pointer, const cJSON *op)
{
	const cJSON *v = json_at(op, pointer, false);

	if (!v || cJSON_IsNull(v))
		c->nothing = true;
	else if (!c->first)
		c->failed = !(c->first = cJSON_Duplicate(v, true)) || c->failed;
	else if (!json_equal(c->first, v))
		c->differs = true;
}

static bool
is_reading(const cJSON *op)
{
	const char *method = json_get_text(json_get(op, "request"), "method");

	return method && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0);
}

void
check_calls_add(struct check *c, uint64_t n, const struct cJSON *op)
{
	const cJSON *def = c->def->json;
	const char *count = json_get_text(def, "count"), *equal = json_get_text(def, "all_equal"), *key;

	/* a connection that a fault met before there was a request is no call */
	if (!selects(def, op) || strcmp(json_get_text(op, "kind") ? json_get_text(op, "kind") : "", "tcp") == 0)
		return;
	if (c->matched < CHECK_RESTS_MAX)
		c->ops[c->matched] = n;
	c->matched++;
	if (!count || strcmp(count, "deliveries") == 0) {
		c->counted++;
	} else if (strcmp(count, "effects") == 0) {
		c->counted += json_get(op, "effects") ? (uint64_t)cJSON_GetArraySize(json_get(op, "effects")) : 0;
	} else {
		key = json_get_text(op, "key");
		if (key)
			key_add(c, key);
		else if (!is_reading(op))
			c->keyless++;
	}
	if (equal)
		equal_add(c, equal, op);
}

static void
describe(const cJSON *def, char *out, size_t size)
{
	static const char *const names[] = { "service", "route", "method", "path", "idempotency" };
	const char *v;
	size_t i, n = 0;

	out[0] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && n < size; i++)
		if ((v = json_get_text(def, names[i])))
			n += (size_t)snprintf(out + n, size - n, "%s%s %.100s", n ? ", " : "", names[i], v);
	if (json_get(def, "status") && n < size)
		n += (size_t)snprintf(out + n, size - n, "%sstatus %d", n ? ", " : "",
				      json_get(def, "status")->valueint);
	if (n == 0)
		snprintf(out, size, "any operation");
}

/* What is counted, in the singular. */
static const char *
counted_word(const char *count)
{
	return !count || strcmp(count, "deliveries") == 0 ? "call"
	       : strcmp(count, "keys") == 0               ? "idempotency key"
							  : "effect";
}

static int
bounds(struct check *c, struct check_result *r, const char *what)
{
	const cJSON *def = c->def->json;
	const char *count = json_get_text(def, "count");
	uint64_t v, low = 1, high = UINT64_MAX;
	char text[96];

	if (json_get_u64(def, "exactly", UINT32_MAX, &v)) {
		low = high = v;
		snprintf(text, sizeof(text), "exactly %" PRIu64, v);
	} else {
		bool least = json_get_u64(def, "at_least", UINT32_MAX, &low),
		     most = json_get_u64(def, "at_most", UINT32_MAX, &high);

		if (most && !least)
			low = 0;
		if (most && least)
			snprintf(text, sizeof(text), "%" PRIu64 " to %" PRIu64, low, high);
		else if (most)
			snprintf(text, sizeof(text), "at most %" PRIu64, high);
		else
			snprintf(text, sizeof(text), "at least %" PRIu64, low);
	}
	/* A write without a key may be one more of what `keys` counts, or none: it helps neither bound. */
	r->held = c->counted >= low && c->counted <= high && c->keyless <= high - c->counted;
	return check_expected(r, "%s %s%s of %s", text, counted_word(count),
			      low == 1 && (high == 1 || high == UINT64_MAX) ? "" : "s", what);
}

int
check_calls_finish(struct check *c, struct check_result *r)
{
	char what[640];
	size_t i;
	int rc;

	describe(c->def->json, what, sizeof(what));
	if (c->keys_len)
		c->counted = keys_distinct(c);
	for (i = 0; i < c->matched && i < CHECK_RESTS_MAX; i++)
		check_rests_on(r, "/operations/%" PRIu64, c->ops[i]);
	if (c->matched == 0)
		check_rests_on(r, "/operations");
	if (c->def->kind == CHECK_NEVER) {
		r->held = c->matched == 0;
		rc = check_expected(r, "never %s", what);
	} else {
		rc = bounds(c, r, what);
	}
	if (rc < 0)
		return rc;
	if (c->failed) {
		r->held = false;
		return check_actual(r, "the check could not be evaluated (memory)");
	}
	if (c->nothing) {
		r->held = false;
		return check_actual(r, "an operation has nothing at %s", json_get_text(c->def->json, "all_equal"));
	}
	if (c->differs) {
		r->held = false;
		return check_actual(r, "%" PRIu64 " operations, not all equal at %s", c->matched,
				    json_get_text(c->def->json, "all_equal"));
	}
	if (c->keyless)
		return check_actual(r, "%" PRIu64 ", and %" PRIu64 " writes without a key", c->counted, c->keyless);
	return check_actual(r, "%" PRIu64, c->def->kind == CHECK_NEVER ? c->matched : c->counted);
}
