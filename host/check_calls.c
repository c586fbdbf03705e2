/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_calls.c - checks of kind calls and never: how often the workflow asked for something. */
#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/digest_map.h"
#include "host/jq_run.h"
#include "host/json.h"

/* Keys that are the same count once. */
static void
key_add(struct check *c, const char *key)
{
	uint32_t *at;
	bool added;

	at = digest_map_add(&c->keys, key, strlen(key), &added);
	if (!at)
		c->failed = true;
	else if (added)
		c->counted++;
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

/* Remembered for `each`, as far as anything is evaluated. */
static void
each_add(struct check *c, uint64_t n)
{
	size_t size;
	void *p;

	if (c->each_len > JQ_OPERATIONS_MAX)
		return;
	if (c->each_len == c->each_size) {
		size = c->each_size ? 2 * c->each_size : 64;
		p = reallocarray(c->each, size, sizeof(*c->each));
		if (!p) {
			c->failed = true;
			return;
		}
		c->each = p;
		c->each_size = size;
	}
	c->each[c->each_len++] = (uint32_t)n;
}

struct bounds {
	uint64_t low, high;
	char text[96];
};

static void
bounds_of(const cJSON *def, struct bounds *b)
{
	uint64_t v;
	bool least, most;

	b->low = 1;
	b->high = UINT64_MAX;
	if (json_get_u64(def, "exactly", UINT32_MAX, &v)) {
		b->low = b->high = v;
		snprintf(b->text, sizeof(b->text), "exactly %" PRIu64, v);
		return;
	}
	least = json_get_u64(def, "at_least", UINT32_MAX, &b->low);
	most = json_get_u64(def, "at_most", UINT32_MAX, &b->high);
	if (most && !least)
		b->low = 0;
	if (most && least)
		snprintf(b->text, sizeof(b->text), "%" PRIu64 " to %" PRIu64, b->low, b->high);
	else if (most)
		snprintf(b->text, sizeof(b->text), "at most %" PRIu64, b->high);
	else
		snprintf(b->text, sizeof(b->text), "at least %" PRIu64, b->low);
}

/* Over the calls so far. */
static bool
holds_now(const struct check *c)
{
	struct bounds b;

	bounds_of(c->def->json, &b);
	/* A write without a key may be one more of what `keys` counts, or none: it helps neither bound. */
	return !c->failed && !c->nothing && !c->differs && c->counted >= b.low && c->counted <= b.high &&
	       c->keyless <= b.high - c->counted;
}

void
check_calls_add(struct check *c, uint64_t n, const struct cJSON *op)
{
	const cJSON *def = c->def->json;
	const char *count = json_get_text(def, "count"), *equal = json_get_text(def, "all_equal"), *key;

	if (!check_is_call(op))
		return;
	c->near += check_is_near(def, op);
	if (!check_selects(def, op))
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
		else if (!check_is_reading(op))
			c->keyless++;
	}
	if (equal)
		equal_add(c, equal, op);
	if (c->def->expr)
		each_add(c, n);
	if (c->def->mode != MODE_AT_END && check_moment(c, holds_now(c), n))
		c->counted_then = c->counted;
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
expect(const struct check *c, struct check_result *r)
{
	char what[640];
	struct bounds b;

	check_describe(c->def->json, what, sizeof(what));
	if (c->def->kind == CHECK_NEVER)
		return check_expected(r, "no call of %s", what);
	bounds_of(c->def->json, &b);
	return check_expected(r, "%s%s %s%s of %s%s%.400s", check_mode_text(c->def->mode), b.text,
			      counted_word(json_get_text(c->def->json, "count")),
			      b.low == 1 && (b.high == 1 || b.high == UINT64_MAX) ? "" : "s", what,
			      c->def->expr ? ", each with: " : "", c->def->expr ? c->def->expr : "");
}

/* Why it does not hold, besides the number. */
static int
say(const struct check *c, struct check_result *r)
{
	const char *word = counted_word(json_get_text(c->def->json, "count")),
		   *pointer = json_get_text(c->def->json, "all_equal");

	if (c->nothing)
		return check_actual(r, "one of them has nothing at %s", pointer);
	if (c->differs)
		return check_actual(r, "%" PRIu64 " operations, not all equal at %s", c->matched, pointer);
	if (c->keyless)
		return check_actual(r, "%" PRIu64 ", and %" PRIu64 " writes without a key", c->counted, c->keyless);
	if (c->matched == 0)
		return check_actual(r, "0: the workflow made no such call");
	return check_actual(r, "%" PRIu64 " %s%s", c->counted, word, c->counted == 1 ? "" : "s");
}

/* Judged along the run. */
static int
say_moment(const struct check *c, struct check_result *r)
{
	const struct check_moments *m = &c->moments;
	const char *word = counted_word(json_get_text(c->def->json, "count"));

	if (m->seen == 1 && c->matched == 0)
		return check_actual(r, "0: the workflow made no such call");
	if (!m->marked)
		return check_actual(r,
				    r->held ? "so after each of %" PRIu64 " operations"
					    : "never so after %" PRIu64 " operations",
				    m->seen);
	check_rests_first(r, m->at);
	return check_actual(r, "%" PRIu64 " %s%s after operation %" PRIu64, c->counted_then, word,
			    c->counted_then == 1 ? "" : "s", m->at);
}

int
check_calls_finish(struct check *c, struct check_result *r)
{
	size_t i;
	int rc;

	if (c->def->mode != MODE_AT_END && c->matched == 0)
		(void)check_moment(c, holds_now(c), UINT64_MAX);
	for (i = 0; i < c->matched && i < CHECK_RESTS_MAX; i++)
		check_rests_on(r, "/operations/%" PRIu64, c->ops[i]);
	if (c->matched == 0)
		check_rests_on(r, "/operations");
	if ((rc = expect(c, r)) < 0)
		return rc;
	if (c->failed)
		return check_unknown(r, "the check could not be evaluated (memory)");
	if (c->def->mode != MODE_AT_END) {
		r->held = check_moments_hold(c->def->mode, &c->moments);
		r->idle = r->held && c->near == 0;
		return say_moment(c, r);
	}
	r->held = c->def->kind == CHECK_NEVER ? c->matched == 0 : holds_now(c);
	r->idle = r->held && c->near == 0;
	return say(c, r);
}
