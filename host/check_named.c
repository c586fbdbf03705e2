/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_named.c - no-duplicate-effects, no-lost-writes, every-write-idempotent, recovers-from-faults: agenttwin-world(5), "Named
 * properties".  What they judge was gathered while the run lasted, check_writes.c. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check_writes.h"
#include "host/json.h"

/* What speaks against a property. */
struct charge {
	struct check_result *r;
	uint64_t judged, len;
	char first[500]; /* of the first one, for a person */
};

/* The first says why; each names its operation, and the one that it follows (from 1; 0 none). */
static void __attribute__((format(printf, 4, 5)))
against(struct charge *a, uint32_t n, uint32_t follows, const char *format, ...)
{
	va_list ap;

	if (a->len++ == 0) {
		va_start(ap, format);
		vsnprintf(a->first, sizeof(a->first), format, ap);
		va_end(ap);
	}
	if (follows && a->r->rests_len + 1 < CHECK_RESTS_MAX)
		check_rests_on(a->r, "/operations/%u", follows - 1);
	if (a->r->rests_len < CHECK_RESTS_MAX)
		check_rests_on(a->r, "/operations/%u", n);
}

static int
conclude(struct charge *a, const char *what, const char *nothing)
{
	struct check_result *r = a->r;

	r->held = a->len == 0;
	r->idle = r->held && a->judged == 0;
	if (r->rests_len == 0)
		check_rests_on(r, "/operations");
	if (r->idle)
		return check_actual(r, "%s", nothing);
	if (r->held)
		return check_actual(r, "so for each of %" PRIu64 " %s%s", a->judged, what, a->judged == 1 ? "" : "s");
	if (a->len > 1)
		return check_actual(r, "%s; and %" PRIu64 " more", a->first, a->len - 1);
	return check_actual(r, "%s", a->first);
}

/* "operation 4 (payments, refund.create)" */
static const char *
call_text(const struct check_writes *t, const struct call_seen *c, char out[static 200])
{
	const char *service = c->service < t->w->services_len ? t->w->services[c->service].name : "trigger",
		   *route = c->route < t->routes_len ? t->routes[c->route] : "";

	snprintf(out, 200, "operation %u (%.60s%s%.90s)", c->n, service, *route ? ", " : "", route);
	return out;
}

static bool
is_chosen(const struct check_writes *t, const cJSON *def, const struct call_seen *c)
{
	const char *service = json_get_text(def, "service"), *route = json_get_text(def, "route"),
		   *own = c->service < t->w->services_len ? t->w->services[c->service].name : "trigger";

	return (!service || strcmp(service, own) == 0) &&
	       (!route || strcmp(route, c->route < t->routes_len ? t->routes[c->route] : "") == 0);
}

static int
duplicates(const struct check_writes *t, const cJSON *def, struct charge *a)
{
	const struct call_seen *c;
	size_t i;

	for (i = 0; i < t->calls_len; i++) {
		c = &t->calls[i];
		if (!is_chosen(t, def, c) || !(c->flags & CALL_EFFECT))
			continue;
		a->judged++;
		if (c->flags & CALL_AGAIN)
			against(a, c->n, t->logical[c->logical].effect,
				"operation %u had an effect that operation %u, the same write, had had", c->n,
				t->logical[c->logical].effect - 1);
	}
	return conclude(a, "effective call", "no call had an effect");
}

/* ---- lost writes ------------------------------------------------------------------------------------------------------ */

/* Marks the rows of the final state that some call touched. */
static bool
rows_find(struct check_writes *t, const struct check_facts *f)
{
	const cJSON *collection, *row;
	const char *id;
	uint32_t at;
	cJSON *doc;
	size_t i;

	for (i = 0; i < t->rows_len; i++)
		t->rows[i].found = false;
	for (i = 0; i < t->w->services_len; i++) {
		if (!(doc = f->state(f->arg, i)))
			return false;
		cJSON_ArrayForEach(collection, json_get(doc, "collections"))
		{
			cJSON_ArrayForEach(row, collection)
			{
				id = json_get_text(row, "id");
				if (id && (at = check_writes_row(t, i, collection->string, id)))
					t->rows[at - 1].found = true;
			}
		}
		cJSON_Delete(doc);
	}
	return true;
}

static void
judge_write(const struct check_writes *t, const struct call_seen *c, struct charge *a)
{
	const struct logical_call *l = &t->logical[c->logical];
	char text[200];

	if ((c->flags & CALL_OK) && !(c->flags & CALL_APPLIED))
		against(a, c->n, 0, "%s was told ok, but the service did not do it", call_text(t, c, text));
	else if ((c->flags & CALL_APPLIED) && l->last_ok == 0 && !check_writes_read_after(t, c->row, c->n))
		against(a, c->n, 0,
			"%s was done, but its client was not told so, did not repeat it until it was, and did not look",
			call_text(t, c, text));
}

/* The call of an operation; NULL: it is none of those that are kept. */
static const struct call_seen *
call_of(const struct check_writes *t, uint32_t n)
{
	size_t low = 0, high = t->calls_len, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (t->calls[middle].n < n)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->calls_len && t->calls[low].n == n ? &t->calls[low] : NULL;
}

/* Each row is in the end what the last call that touched it made of it. */
static void
judge_rows(const struct check_writes *t, const cJSON *def, struct charge *a)
{
	const struct row_seen *row;
	const struct call_seen *c;
	char text[200];
	size_t i;

	for (i = 0; i < t->rows_len; i++) {
		row = &t->rows[i];
		if (!row->collection || !row->last || row->exists == row->found)
			continue;
		c = call_of(t, row->last - 1);
		if (c && is_chosen(t, def, c))
			against(a, c->n, 0, "%s %s a row that is %s the final state", call_text(t, c, text),
				row->exists ? "made or changed" : "deleted", row->exists ? "not in" : "still in");
	}
}

static int
lost(struct check_writes *t, const cJSON *def, const struct check_facts *f, struct charge *a)
{
	const struct call_seen *c;
	size_t i;

	if (f->truncated[TRUNCATED_STATE] || !rows_find(t, f)) {
		check_rests_on(a->r, "/state/final");
		return check_unknown(a->r, "the final state is not whole, so writes may be missing in it");
	}
	for (i = 0; i < t->calls_len; i++) {
		c = &t->calls[i];
		if (!is_chosen(t, def, c) || !(c->flags & CALL_WRITE) || (c->flags & CALL_COPY))
			continue;
		a->judged++;
		judge_write(t, c, a);
	}
	judge_rows(t, def, a);
	return conclude(a, "write", "the workflow made no write");
}

/* ---- keys ------------------------------------------------------------------------------------------------------------- */

static int
idempotent(const struct check_writes *t, const cJSON *def, struct charge *a)
{
	const struct call_seen *c;
	char text[200];
	size_t i;

	for (i = 0; i < t->calls_len; i++) {
		c = &t->calls[i];
		if (!is_chosen(t, def, c) || !(c->flags & CALL_WRITE) || (c->flags & CALL_COPY))
			continue;
		a->judged++;
		if (c->flags & CALL_KEYLESS)
			against(a, c->n, 0, "%s has no idempotency key", call_text(t, c, text));
		else if (c->flags & CALL_MISMATCH)
			against(a, c->n, 0, "%s has a key that was that of another request", call_text(t, c, text));
		else if (c->flags & CALL_UNKEPT)
			against(a, c->n, 0, "%s has a key that the service does not keep, or no longer kept",
				call_text(t, c, text));
		else if (c->flags & CALL_OTHER_KEY)
			against(a, c->n, t->logical[c->logical].first,
				"%s is operation %u again, which was not acknowledged, under another key",
				call_text(t, c, text), t->logical[c->logical].first - 1);
	}
	return conclude(a, "write", "the workflow made no write");
}

/* ---- faults ----------------------------------------------------------------------------------------------------------- */

/* The number, from 1, of the last call that was acknowledged and stands for this one; 0: none. */
static uint32_t
answered(const struct check_writes *t, const struct call_seen *c)
{
	uint32_t logical = t->logical[c->logical].last_ok;

	if (!(c->flags & (CALL_BARE | CALL_MODEL)))
		return logical;
	if (c->place)
		return t->places[c->place - 1].last_ok;
	return c->service < t->w->services_len && !(c->flags & CALL_SENT) ? t->service_ok[c->service] : logical;
}

static int
recovers(const struct check_writes *t, const cJSON *def, struct charge *a)
{
	const struct call_seen *c;
	char text[200];
	size_t i;

	for (i = 0; i < t->calls_len; i++) {
		c = &t->calls[i];
		if (!is_chosen(t, def, c) || !(c->flags & CALL_FAULT) || (c->flags & CALL_COPY))
			continue;
		a->judged++;
		if ((c->flags & CALL_OK) || answered(t, c) > c->n + 1 ||
		    ((c->flags & CALL_APPLIED) && check_writes_read_after(t, c->row, c->n)))
			continue;
		against(a, c->n, 0, "%s met a fault and was not made again with success%s", call_text(t, c, text),
			c->flags & CALL_APPLIED ? ", nor was its result read" : "");
	}
	return conclude(a, "call that met a fault", "no call met a fault");
}

int
check_named_finish(const struct world_check *def, struct check_writes *t, const struct check_facts *f,
		   struct check_result *r)
{
	struct charge a = { .r = r };
	int rc;

	switch (def->kind) {
	case CHECK_NO_DUPLICATES:
		rc = check_expected(r, "no write has its effect more than once");
		break;
	case CHECK_NO_LOST:
		rc = check_expected(r, "every write that was acknowledged is there, and of every one that was done the "
				       "workflow knows");
		break;
	case CHECK_IDEMPOTENT:
		rc = check_expected(r, "every write may be sent again without a second effect");
		break;
	case CHECK_RECOVERS:
		rc = check_expected(r, "every call that met a fault was made again with success, or its result read");
		break;
	default:
		return -EINVAL;
	}
	if (rc < 0)
		return rc;
	if (!t || t->failed)
		return check_unknown(r, "the check could not be evaluated (memory)");
	if (def->kind == CHECK_NO_DUPLICATES)
		return duplicates(t, def->json, &a);
	if (def->kind == CHECK_NO_LOST)
		return lost(t, def->json, f, &a);
	return def->kind == CHECK_IDEMPOTENT ? idempotent(t, def->json, &a) : recovers(t, def->json, &a);
}
