/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare_ops.c - see compare.h: the operations of two receipts.  Of each only what it is sorted by, a digest of what the
 * fingerprint takes of it, and its place in the file are kept; those that differ are read again. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/trace.h"
#include "proto/sha256.h"

#define NO_SERVICE 1000000u /* DNS, triggers */
#define JOINED_MAX 50u      /* calls that are tried as partners: each is read for each */

struct seen {
	uint8_t content[16];
	uint64_t at : 63; /* where it starts in the file */
	uint64_t is_dns : 1;
};
struct side {
	struct receipt_doc *doc;
	struct trace_place *list; /* owned; origin is a struct seen */
	struct seen *seen;        /* owned */
	size_t len;
	const cJSON *services, *other_services;
};
struct difference {
	uint64_t n;               /* when: its number in the receipt that has it */
	const struct seen *a, *b; /* borrowed; NULL: only the other receipt has it */
};
struct first {                   /* those that happened first, by n */
	struct difference *list; /* owned */
	size_t len, limit;
	uint64_t found;
};

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

static size_t
place_of(const cJSON *services, const char *name)
{
	const cJSON *v;
	size_t i = 0;

	cJSON_ArrayForEach(v, services)
	{
		if (name && v->string && strcmp(v->string, name) == 0)
			return i;
		i++;
	}
	return NO_SERVICE;
}

/* The same for both receipts; what is no service, as the DNS stub, comes last. */
static size_t
service_index(const struct side *s, const char *name)
{
	size_t i = place_of(s->services, name), k;

	if (i != NO_SERVICE)
		return i;
	k = place_of(s->other_services, name);
	return k == NO_SERVICE ? NO_SERVICE : NO_SERVICE / 2 + k;
}

/* A question for a name: its group is all there is to it. */
static void
name_group(const cJSON *op, uint8_t out[static 32])
{
	static const char *const of[] = { "problem", "transport", "name", "type" };
	const char *route = json_get_text(op, "route"), *text;
	struct sha256 h;
	char lower;
	size_t i;

	sha256_init(&h);
	sha256_add(&h, route ? route : "", route ? strlen(route) + 1 : 1);
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		text = json_get_text(json_get(op, "request"), of[i]);
		for (; text && *text; text++) {
			lower = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
			sha256_add(&h, &lower, 1);
		}
		sha256_add(&h, "", 1);
	}
	sha256_get(&h, out);
}

/* How often a name is asked depends on time-outs: of equal ones only the first counts. */
static void
drop_repeated_names(struct side *s)
{
	const struct seen *seen;
	size_t i, n = 0;

	for (i = 0; i < s->len; i++) {
		seen = s->list[i].origin;
		if (n && seen->is_dns && s->list[n - 1].service == s->list[i].service &&
		    memcmp(s->list[n - 1].group, s->list[i].group, sizeof(s->list[i].group)) == 0)
			continue;
		s->list[n++] = s->list[i];
	}
	s->len = n;
}

static void
note(struct side *s, const cJSON *op, uint64_t at)
{
	const char *kind = json_get_text(op, "kind");
	struct trace_place *p = &s->list[s->len];
	struct seen *seen = &s->seen[s->len];
	struct trace_op t;

	trace_call(op, &t);
	seen->at = at & (UINT64_MAX >> 1);
	seen->is_dns = kind && strcmp(kind, "dns") == 0;
	if (seen->is_dns)
		name_group(op, t.group);
	memcpy(seen->content, t.content, sizeof(seen->content));
	p->service = service_index(s, json_get_text(op, "service"));
	memcpy(p->group, t.group, sizeof(t.group));
	memcpy(p->key, t.key, sizeof(t.key));
	if (!json_get_u64(op, "n", UINT64_MAX, &p->n))
		p->n = s->len;
	p->origin = seen;
	s->len++;
}

static int
read_side(struct side *s)
{
	struct receipt_cursor cursor = { 0 }, before;
	size_t n = (size_t)s->doc->operations;
	cJSON *op;
	int r;

	s->list = calloc(n + 1, sizeof(*s->list));
	s->seen = calloc(n + 1, sizeof(*s->seen));
	if (!s->list || !s->seen)
		return -ENOMEM;
	for (before = cursor; (r = receipt_next(s->doc, &cursor, &op)) == 1; before = cursor) {
		note(s, op, before.at ? before.at : s->doc->list_at);
		cJSON_Delete(op);
	}
	if (r < 0)
		return r;
	trace_sort(s->list, s->len);
	drop_repeated_names(s);
	return 0;
}

/* ---- pairing ------------------------------------------------------------------------------------------------------------ */

/* Kept in the order of n; enough of them are kept. */
static void
offer(struct first *f, uint64_t n, const struct seen *a, const struct seen *b)
{
	size_t low = 0, high = f->len, mid;

	f->found++;
	while (low < high) {
		mid = (low + high) / 2;
		if (f->list[mid].n <= n)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == f->limit)
		return;
	f->len += f->len < f->limit;
	memmove(&f->list[low + 1], &f->list[low], (f->len - 1 - low) * sizeof(*f->list));
	f->list[low] = (struct difference){ .n = n, .a = a, .b = b };
}

struct pairing {
	struct first changed, missing, added;
};

static void
pair(const struct side *a, const struct side *b, struct pairing *p)
{
	size_t i = 0, k = 0;
	int order;

	while (i < a->len || k < b->len) {
		const struct trace_place *x = &a->list[i], *y = &b->list[k];
		const struct seen *s = x->origin, *t = y->origin;

		if (i == a->len || k == b->len)
			order = i == a->len ? 1 : -1;
		else if (x->service != y->service)
			order = x->service < y->service ? -1 : 1;
		else
			order = memcmp(x->group, y->group, sizeof(x->group));
		if (order < 0)
			offer(&p->missing, x->n, s, NULL);
		else if (order > 0)
			offer(&p->added, y->n, NULL, t);
		else if (memcmp(s->content, t->content, sizeof(s->content)) != 0)
			offer(&p->changed, y->n, s, t);
		i += order <= 0;
		k += order >= 0;
	}
}

/* ---- telling ------------------------------------------------------------------------------------------------------------ */

static const cJSON *
at(const cJSON *doc, const char *pointer)
{
	return json_at(doc, pointer, false);
}

/* "payments: POST /refunds (refund.create)" */
static void
call_name(const cJSON *op, char *out, size_t size)
{
	const cJSON *request = json_get(op, "request");
	const char *service = json_get_text(op, "service"), *route = json_get_text(op, "route"),
		   *method = json_get_text(request, "method"), *target = json_get_text(request, "target"),
		   *name = json_get_text(request, "name");

	snprintf(out, size, "%.64s: %.16s %.160s (%.64s)", service ? service : "?", method ? method : "look-up of",
		 target ? target
		 : name ? name
			: "?",
		 route ? route : "no route");
}

static void
call_changed(const cJSON *a, const cJSON *b, char out[static COMPARE_TEXT_MAX])
{
	static const struct {
		const char *pointer, *what;
	} of[] = { { "/reply/status", "the reply's status" },
		   { "/effects", "the effects" },
		   { "/fault/id", "the fault" },
		   { "/reply/sha256", "the reply's body" },
		   { "/views/service", "the service's view" },
		   { "/views/client", "the client's view" } };
	char name[400], detail[COMPARE_TEXT_MAX];
	uint64_t n = 0;
	size_t i;

	call_name(b, name, sizeof(name));
	json_get_u64(b, "n", UINT64_MAX, &n);
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (trace_is_sent(b) && strcmp(of[i].pointer, "/reply/sha256") == 0)
			continue;
		if (!compare_text(of[i].what, at(a, of[i].pointer), at(b, of[i].pointer), detail, sizeof(detail)))
			continue;
		snprintf(out, COMPARE_TEXT_MAX, "%s, operation %" PRIu64 ": %.300s", name, n, detail);
		return;
	}
	snprintf(out, COMPARE_TEXT_MAX, "%s, operation %" PRIu64 " is another", name, n);
}

/* Two calls that differ in the body of the request alone. */
static void
body_changed(const cJSON *a, const cJSON *b, uint64_t n, char out[static COMPARE_TEXT_MAX])
{
	char name[400], detail[COMPARE_TEXT_MAX] = "another body";

	call_name(b, name, sizeof(name));
	if (!compare_text("the request's body", at(a, "/request/body/json"), at(b, "/request/body/json"), detail,
			  sizeof(detail)))
		compare_text("the request's body", at(a, "/request/body/sha256"), at(b, "/request/body/sha256"), detail,
			     sizeof(detail));
	snprintf(out, COMPARE_TEXT_MAX, "%s, operation %" PRIu64 ": %.300s", name, n, detail);
}

static bool
same_but_body(const cJSON *a, const cJSON *b)
{
	static const char *const of[] = { "/service", "/route", "/request/method", "/request/target" };
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!json_equal(at(a, of[i]), at(b, of[i])) && (at(a, of[i]) || at(b, of[i])))
			return false;
	return at(a, "/request/body/sha256") != NULL;
}

/* The operation, read once more; NULL: none is meant, or an error in c. */
static cJSON *
again(const struct side *s, const struct seen *seen, struct compare *c)
{
	struct receipt_cursor cursor = { .at = seen ? seen->at : 0, .index = seen ? (uint64_t)(seen - s->seen) : 0 };
	struct receipt_doc *doc = s->doc;
	cJSON *op = NULL;
	int r = seen ? receipt_next(doc, &cursor, &op) : 0;

	if (r < 0 && !c->error) {
		c->error = r;
		c->why = doc->why;
	}
	return op;
}

static void
tell(struct side *a, struct side *b, const struct difference *d, struct compare *c)
{
	cJSON *x = again(a, d->a, c), *y = again(b, d->b, c);
	struct compare_item *item = x || y ? compare_add(c, COMPARE_OPERATIONS) : NULL;
	char name[400];

	if (item && x && y && same_but_body(x, y) &&
	    !json_equal(at(x, "/request/body/sha256"), at(y, "/request/body/sha256")) &&
	    !cJSON_IsObject(json_get(y, "event"))) {
		body_changed(x, y, d->n, item->text);
	} else if (item && x && y) {
		call_changed(x, y, item->text);
	} else if (item) {
		call_name(x ? x : y, name, sizeof(name));
		snprintf(item->text, sizeof(item->text), "%s, operation %" PRIu64 "%s", name, d->n,
			 x ? " there, is missing" : ", is new");
	}
	if (item && x)
		snprintf(item->before, sizeof(item->before), "/operations/%" PRIu64, (uint64_t)(d->a - a->seen));
	if (item && y)
		snprintf(item->now, sizeof(item->now), "/operations/%" PRIu64, (uint64_t)(d->b - b->seen));
	cJSON_Delete(x);
	cJSON_Delete(y);
}

/* A call that is missing and the next one that is new and differs in its body alone are one that changed. */
static void
join(struct side *a, struct side *b, struct pairing *p, struct compare *c)
{
	struct difference *d, *e;
	size_t i, k;
	cJSON *x, *y;

	for (i = 0; i < p->missing.len && i < JOINED_MAX && !c->error; i++) {
		d = &p->missing.list[i];
		x = again(a, d->a, c);
		for (k = 0; x && k < p->added.len && k < JOINED_MAX && !d->b; k++) {
			e = &p->added.list[k];
			y = e->b ? again(b, e->b, c) : NULL;
			if (y && same_but_body(x, y)) {
				d->b = e->b;
				d->n = e->n;
				e->b = NULL; /* told with the other */
			}
			cJSON_Delete(y);
		}
		cJSON_Delete(x);
	}
}

static int
by_n(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return x->n < y->n ? -1 : x->n > y->n;
}

static void
tell_all(struct side *a, struct side *b, struct pairing *p, struct compare *c)
{
	struct difference *all = calloc(3 * c->limit, sizeof(*all));
	uint64_t found = p->changed.found + p->missing.found + p->added.found;
	size_t i, n = 0;

	if (!all) {
		c->error = -ENOMEM;
		c->why = "not enough memory";
		return;
	}
	join(a, b, p, c);
	for (i = 0; i < p->changed.len; i++)
		all[n++] = p->changed.list[i];
	for (i = 0; i < p->missing.len; i++) {
		found -= p->missing.list[i].b != NULL;
		all[n++] = p->missing.list[i];
	}
	for (i = 0; i < p->added.len; i++)
		if (p->added.list[i].b)
			all[n++] = p->added.list[i];
	qsort(all, n, sizeof(*all), by_n);
	for (i = 0; i < n && i < c->limit && !c->error; i++)
		tell(a, b, &all[i], c);
	c->found[COMPARE_OPERATIONS] = found;
	free(all);
}

void
compare_operations(struct receipt_doc *before, struct receipt_doc *now, struct compare *c)
{
	struct side a = { .doc = before }, b = { .doc = now };
	struct first *lists[3];
	struct pairing p = { 0 };
	size_t i;
	int r = 0;

	a.services = b.services = json_at(now->rest, "/state/final", false);
	a.other_services = b.other_services = json_at(before->rest, "/state/final", false);
	lists[0] = &p.changed;
	lists[1] = &p.missing;
	lists[2] = &p.added;
	for (i = 0; i < 3; i++) {
		lists[i]->limit = c->limit;
		lists[i]->list = calloc(c->limit + 1, sizeof(struct difference));
		r = lists[i]->list ? r : -ENOMEM;
	}
	if (r < 0 || (r = read_side(&a)) < 0) {
		c->why = before->why;
	} else if ((r = read_side(&b)) < 0) {
		c->why = now->why;
	} else {
		pair(&a, &b, &p);
		tell_all(&a, &b, &p, c);
	}
	if (r == -ENOMEM)
		c->why = "not enough memory";
	if (r < 0)
		c->error = r;
	for (i = 0; i < 3; i++)
		free(lists[i]->list);
	free(a.list);
	free(a.seen);
	free(b.list);
	free(b.seen);
}
