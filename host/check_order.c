/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_order.c - checks of kind order: what comes after what. */
#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/json.h"

/* The earliest match.  Calls are numbered in the order in which they were answered.  What the twins sent is numbered when it
 * ended, so of that only the time of its beginning says when it was. */
struct earliest {
	bool have;
	uint64_t n, t_ms;
};
struct check_order {
	struct earliest first[2], then[2]; /* 0 calls, 1 sent */
	uint64_t thens;
};

struct check_order *
check_order_new(void)
{
	return calloc(1, sizeof(struct check_order));
}

void
check_order_free(struct check_order *o)
{
	free(o);
}

static bool
is_chosen(const cJSON *point, const cJSON *op)
{
	const char *fault = json_get_text(point, "fault"), *met = json_get_text(json_get(op, "fault"), "id");

	if (fault)
		return met && strcmp(fault, met) == 0;
	return check_is_call(op) && check_selects(point, op);
}

static bool
is_sent(const cJSON *op)
{
	const char *kind = json_get_text(op, "kind"), *service = json_get_text(op, "service");

	return (kind && strcmp(kind, "webhook") == 0) || (service && strcmp(service, "trigger") == 0);
}

static void
note(struct earliest *e, uint64_t n, uint64_t t_ms)
{
	if (e->have && (e->t_ms < t_ms || (e->t_ms == t_ms && e->n < n)))
		return;
	*e = (struct earliest){ .have = true, .n = n, .t_ms = t_ms };
}

void
check_order_add(struct check *c, uint64_t n, const struct cJSON *op)
{
	struct check_order *o = c->order;
	bool sent = is_sent(op);
	uint64_t t_ms = 0;

	(void)json_get_u64(op, "t_ms", UINT64_MAX, &t_ms);
	if (is_chosen(json_get(c->def->json, "first"), op))
		note(&o->first[sent], n, t_ms);
	if (!is_chosen(json_get(c->def->json, "then"), op))
		return;
	note(&o->then[sent], n, t_ms);
	o->thens++;
}

static void
point_text(const cJSON *point, char *out, size_t size)
{
	const char *fault = json_get_text(point, "fault");

	if (fault)
		snprintf(out, size, "fault %.100s", fault);
	else
		check_describe(point, out, size);
}

/* The earlier of the two; where that is not known the later number, which is harder to come after. */
static const struct earliest *
first_of(const struct earliest e[static 2], bool *sent)
{
	*sent = e[1].have && (!e[0].have || e[1].t_ms < e[0].t_ms || (e[1].t_ms == e[0].t_ms && e[1].n > e[0].n));
	return &e[*sent];
}

static int
judge(const struct check_order *o, uint64_t gap, struct check_result *r)
{
	bool first_sent;
	const struct earliest *first = first_of(o->first, &first_sent), *then, *closest = NULL;
	size_t i;

	for (i = 0; i < 2; i++) {
		then = &o->then[i];
		if (!then->have)
			continue;
		if (i == 0 && !first_sent ? then->n <= first->n : then->t_ms < first->t_ms || then->n == first->n) {
			check_rests_on(r, "/operations/%" PRIu64, then->n);
			if (then->n == first->n)
				return check_actual(
					r, "operation %" PRIu64 " matches both, and is not later than itself", then->n);
			return check_actual(r,
					    "operation %" PRIu64 " (then) came at %" PRIu64 " ms, operation %" PRIu64
					    " (first) only at %" PRIu64 " ms",
					    then->n, then->t_ms, first->n, first->t_ms);
		}
		if ((i == 1 || first_sent) && then->t_ms == first->t_ms) {
			check_rests_on(r, "/operations/%" PRIu64, then->n);
			return check_unknown(r,
					     "operations %" PRIu64 " and %" PRIu64 " began in the same millisecond: "
					     "which came first is not known",
					     first->n, then->n);
		}
		if (!closest || then->t_ms < closest->t_ms)
			closest = then;
	}
	if (!closest)
		return 0;
	check_rests_on(r, "/operations/%" PRIu64, closest->n);
	r->held = closest->t_ms - first->t_ms >= gap;
	return check_actual(r, "operation %" PRIu64 " came %" PRIu64 " ms after operation %" PRIu64, closest->n,
			    closest->t_ms - first->t_ms, first->n);
}

int
check_order_finish(struct check *c, struct check_result *r)
{
	const cJSON *def = c->def->json;
	const struct check_order *o = c->order;
	char first[640], then[640], wait[48] = "";
	uint64_t gap = 0;
	bool sent;
	int rc;

	point_text(json_get(def, "first"), first, sizeof(first));
	point_text(json_get(def, "then"), then, sizeof(then));
	if (json_get_u64(def, "min_gap_ms", UINT32_MAX, &gap))
		snprintf(wait, sizeof(wait), "at least %" PRIu64 " ms ", gap);
	if ((rc = check_expected(r, "every match of then (%s) is %slater than the first match of first (%s)", then,
				 wait, first)) < 0)
		return rc;
	if (!o->first[0].have && !o->first[1].have) {
		check_rests_on(r, "/operations");
		return check_actual(r, "nothing matched first (%s)", first);
	}
	check_rests_on(r, "/operations/%" PRIu64, first_of(o->first, &sent)->n);
	if (o->thens == 0)
		return check_actual(r, "nothing matched then (%s), and an order of nothing is not taken for kept",
				    then);
	return judge(o, gap, r);
}
