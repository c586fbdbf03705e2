/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_pick.c - see report_pick.h. */
#include "host/report_pick.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "host/receipt_read.h"
#include "host/trace.h"

#define SMALL 32768u     /* bytes of an operation that is kept as it is */
#define TEXT_KEPT 1000u  /* of a string of a larger one */
#define WANTED_MAX 2048u /* pointers of all checks together */
#define PATHS_MAX 256u
#define PENDING_MAX 64u /* faults whose next call is looked for */

struct wanted {
	uint64_t index; /* of an operation */
	unsigned check;
};
struct state_path {
	const char *service, *path; /* borrowed: both end at the end of the pointer, service at its slash */
	size_t service_len;
	unsigned check;
};
struct pending {
	uint64_t index, n;
	const char *service; /* borrowed from the list */
	bool next_seen;
};
struct search {
	struct pick *p;
	struct wanted wanted[WANTED_MAX];
	struct state_path paths[PATHS_MAX];
	struct pending pending[PENDING_MAX];
	struct picked last[PICK_LAST]; /* a ring; owned */
	uint64_t bytes[PICK_LAST];
	size_t last_at;
	size_t wanted_len, wanted_at, paths_len, pending_len;
	unsigned kept[PICK_CHECKS_MAX], first, odd;
};

/* ---- judgements ------------------------------------------------------------------------------------------------------- */

bool
check_failed(const cJSON *check)
{
	return !cJSON_IsTrue(json_get(check, "held")) && !cJSON_IsNull(json_get(check, "held"));
}

static bool
is(const cJSON *o, const char *name, const char *value)
{
	const char *text = json_get_text(o, name);

	return text && strcmp(text, value) == 0;
}

bool
views_fine(const cJSON *op)
{
	const cJSON *v = json_get(op, "views");

	return (is(v, "service", "applied") && is(v, "client", "told-ok")) ||
	       (is(v, "service", "rejected") && is(v, "client", "told-error"));
}

const char *
views_meaning(const cJSON *op)
{
	const cJSON *v = json_get(op, "views");

	if (is(v, "service", "applied") && is(v, "client", "told-nothing"))
		return "lost acknowledgement";
	if (is(v, "service", "not-reached") && is(v, "client", "told-nothing"))
		return "lost request";
	if (is(v, "service", "applied") && is(v, "client", "told-error"))
		return "done, but told an error";
	if (is(v, "service", "unknown"))
		return "nobody knows";
	return NULL;
}

/* ---- what is looked for --------------------------------------------------------------------------------------------------- */

static int
by_index(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* A pointer that a check rests on: to an operation, or into the final state. */
static void
want(struct search *s, const char *pointer, unsigned check, bool states)
{
	const char *slash;
	uint64_t index;
	char *end;

	if (!states && strncmp(pointer, "/operations/", 12) == 0 && pointer[12] >= '0' && pointer[12] <= '9') {
		errno = 0;
		index = strtoull(pointer + 12, &end, 10);
		if ((*end && *end != '/') || errno || s->wanted_len == WANTED_MAX)
			return;
		s->wanted[s->wanted_len++] = (struct wanted){ .index = index, .check = check };
	} else if (states && strncmp(pointer, "/state/final/", 13) == 0 && s->paths_len < PATHS_MAX) {
		slash = strchr(pointer + 13, '/');
		if (!slash || !slash[1])
			return;
		s->paths[s->paths_len++] = (struct state_path){ .service = pointer + 13,
								.service_len = (size_t)(slash - (pointer + 13)),
								.path = slash,
								.check = check };
	}
}

static void
look_for(struct search *s, const cJSON *checks)
{
	const cJSON *check, *rest;
	unsigned k = 0;
	size_t before;

	cJSON_ArrayForEach(check, checks)
	{
		if (!check_failed(check))
			continue;
		before = s->wanted_len;
		cJSON_ArrayForEach(rest, json_get(check, "rests_on"))
		{
			if (cJSON_IsString(rest))
				want(s, rest->valuestring, k, false);
		}
		cJSON_ArrayForEach(rest, json_get(check, "rests_on"))
		{
			if (cJSON_IsString(rest) && s->wanted_len == before)
				want(s, rest->valuestring, k, true);
		}
		s->p->derived[k] = s->wanted_len == before;
		if (++k == PICK_CHECKS_MAX)
			break;
	}
	qsort(s->wanted, s->wanted_len, sizeof(s->wanted[0]), by_index);
}

/* Is one path the other one, or beneath it? */
static bool
related(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (!*a && (!*b || *b == '/')) || (!*b && *a == '/');
}

static bool
touches(const cJSON *op, const struct state_path *path)
{
	const char *service = json_get_text(op, "service");
	const cJSON *effect, *v;

	if (!service || strlen(service) != path->service_len || memcmp(service, path->service, path->service_len) != 0)
		return false;
	cJSON_ArrayForEach(effect, json_get(op, "effects"))
	{
		cJSON_ArrayForEach(v, effect)
		{
			if (cJSON_IsString(v) && v->valuestring[0] == '/' && related(v->valuestring, path->path))
				return true;
		}
	}
	return false;
}

/* ---- keeping ---------------------------------------------------------------------------------------------------------------- */

static void
shorten(cJSON *o, const char *name)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	if (cJSON_IsString(v) && strlen(v->valuestring) > TEXT_KEPT)
		v->valuestring[TEXT_KEPT] = '\0';
	else if (cJSON_IsObject(v) || cJSON_IsArray(v))
		cJSON_DeleteItemFromObjectCaseSensitive(o, name);
}

/* A copy of what reports print of an operation, from one that is too large to be kept. */
static cJSON *
reduced(cJSON *op)
{
	static const char *const parts[] = { "request", "reply", "fault", "views", "event" };
	cJSON *part, *v, *next, *out;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		part = cJSON_GetObjectItemCaseSensitive(op, parts[i]);
		for (v = part ? part->child : NULL; v; v = next) {
			next = v->next;
			if (v->string && strcmp(v->string, "body") != 0)
				shorten(part, v->string);
		}
	}
	part = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(op, "request"), "body");
	for (v = part ? part->child : NULL; v; v = next) {
		next = v->next;
		if (v->string)
			shorten(part, v->string);
	}
	for (v = op->child; v; v = next) {
		next = v->next;
		for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && strcmp(v->string, parts[i]) != 0; i++)
			;
		if (i == sizeof(parts) / sizeof(parts[0]))
			shorten(op, v->string);
	}
	out = cJSON_Duplicate(op, true); /* strings that were cut still hold all their memory */
	cJSON_Delete(op);
	return out;
}

/* Takes op.  NULL: no memory. */
static struct picked *
keep(struct pick *p, cJSON *op, uint64_t index, uint64_t bytes)
{
	size_t size = p->size ? 2 * p->size : 64;
	struct picked *more = p->list;

	if (op && bytes > SMALL)
		op = reduced(op);
	if (op && p->len == p->size)
		more = realloc(p->list, size * sizeof(*more));
	if (!op || !more) {
		cJSON_Delete(op);
		return NULL;
	}
	if (p->len == p->size)
		p->size = size;
	p->list = more;
	p->list[p->len] = (struct picked){ .index = index, .op = op };
	return &p->list[p->len++];
}

void
pick_wipe(struct pick *p)
{
	size_t i;

	for (i = 0; i < p->len; i++)
		cJSON_Delete(p->list[i].op);
	free(p->list);
	memset(p, 0, sizeof(*p));
}

const struct picked *
pick_at(const struct pick *p, uint64_t index)
{
	size_t low = 0, high = p->len, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (p->list[mid].index < index)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->len && p->list[low].index == index ? &p->list[low] : NULL;
}

/* ---- the pass --------------------------------------------------------------------------------------------------------------- */

static bool
equal(const char *text, const char *value)
{
	return text && strcmp(text, value) == 0;
}

static void
count(struct pick *p, const cJSON *op)
{
	const cJSON *views = json_get(op, "views");
	const char *service = json_get_text(op, "service"), *kind = json_get_text(op, "kind"),
		   *did = json_get_text(views, "service"), *told = json_get_text(views, "client");

	if (equal(service, "trigger"))
		p->triggers++;
	else if (equal(kind, "webhook"))
		p->webhooks++;
	else if (equal(kind, "dns"))
		p->names++;
	else if (equal(kind, "tcp"))
		p->connections++;
	else
		p->calls++;
	p->resent += cJSON_IsNumber(json_get(op, "resend_of")) != 0;
	p->replayed += is(op, "idempotency", "replay");
	p->unmatched += json_get_true(op, "unmatched");
	if (equal(told, "told-nothing")) {
		p->lost_acknowledgements += equal(did, "applied");
		p->lost_requests += equal(did, "not-reached");
	}
	p->denied += equal(did, "applied") && equal(told, "told-error");
}

/* Perhaps one of the last; who stood there was not. */
static void
remember(struct search *s, cJSON *op, uint64_t index, uint64_t bytes, bool odd)
{
	struct picked *l = &s->last[s->last_at];

	cJSON_Delete(l->op);
	*l = (struct picked){ .index = index, .op = op, .odd = odd, .last = true };
	s->bytes[s->last_at] = bytes;
	s->last_at = (s->last_at + 1) % PICK_LAST;
}

static int
by_place(const void *a, const void *b)
{
	const struct picked *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static int
keep_last(struct search *s)
{
	struct picked *k;
	size_t i;
	int r = 0;

	for (i = 0; i < PICK_LAST; i++) {
		struct picked *l = &s->last[i];

		if (!l->op)
			continue;
		k = r == 0 ? keep(s->p, l->op, l->index, s->bytes[i]) : NULL;
		if (k) {
			k->odd = l->odd;
			k->last = true;
		} else {
			if (r < 0)
				cJSON_Delete(l->op);
			r = -ENOMEM;
		}
		l->op = NULL;
	}
	if (s->p->len)
		qsort(s->p->list, s->p->len, sizeof(s->p->list[0]), by_place);
	return r;
}

/* The checks that rest on it, as bits; those of whom enough are kept only count. */
static uint64_t
checks_of(struct search *s, const cJSON *op, uint64_t index)
{
	uint64_t bits = 0, keep_bits = 0;
	size_t i;

	for (; s->wanted_at < s->wanted_len && s->wanted[s->wanted_at].index <= index; s->wanted_at++)
		if (s->wanted[s->wanted_at].index == index)
			bits |= (uint64_t)1 << s->wanted[s->wanted_at].check;
	for (i = 0; i < s->paths_len; i++)
		if (!(bits >> s->paths[i].check & 1) && touches(op, &s->paths[i]))
			bits |= (uint64_t)1 << s->paths[i].check;
	for (i = 0; bits >> i && i < PICK_CHECKS_MAX; i++) {
		if (!(bits >> i & 1))
			continue;
		s->p->of_check[i]++;
		if (s->kept[i] < PICK_OF_CHECK) {
			s->kept[i]++;
			keep_bits |= (uint64_t)1 << i;
		}
		if (i == PICK_CHECKS_MAX - 1)
			break;
	}
	return keep_bits;
}

/* Is it what the client did after an odd one: the next call to the same service, or the same call again? */
static uint64_t
comes_after(struct search *s, const cJSON *op)
{
	const char *service = json_get_text(op, "service");
	uint64_t of = 0, found = 0;
	bool again = json_get_u64(op, "resend_of", UINT64_MAX, &of);
	size_t i, n = 0;

	for (i = 0; i < s->pending_len && !trace_is_sent(op); i++) {
		struct pending *p = &s->pending[i];

		if (!found && again && of == p->n) {
			found = p->index + 1;
			continue; /* no more is asked */
		}
		if (!found && !p->next_seen && service && p->service && strcmp(service, p->service) == 0) {
			found = p->index + 1;
			p->next_seen = true;
		}
		s->pending[n++] = *p;
	}
	s->pending_len = i ? n : s->pending_len;
	return found;
}

static int
look(struct search *s, cJSON *op, uint64_t index, uint64_t bytes)
{
	uint64_t checks = checks_of(s, op, index), after = comes_after(s, op), n = index;
	bool odd = trace_fault(op) || json_get_true(op, "unmatched") || (!views_fine(op) && json_get(op, "views"));
	struct picked *k;

	count(s->p, op);
	s->p->odd += odd;
	if (!checks && !after && index >= PICK_FIRST && (!odd || s->odd >= PICK_ODD)) {
		remember(s, op, index, bytes, odd);
		return 0;
	}
	s->odd += odd;
	k = keep(s->p, op, index, bytes);
	if (!k)
		return -ENOMEM;
	k->checks = checks;
	k->after = after;
	k->odd = odd;
	json_get_u64(k->op, "n", UINT64_MAX, &n);
	if (odd && s->odd <= PICK_ODD && !trace_is_sent(k->op) && s->pending_len < PENDING_MAX)
		s->pending[s->pending_len++] = (struct pending){ .index = index,
								 .n = n,
								 .service = json_get_text(k->op, "service") };
	return 0;
}

int
pick_operations(struct receipt_doc *doc, struct pick *p)
{
	struct search *s = calloc(1, sizeof(*s));
	struct receipt_cursor cursor = { 0 }, before;
	cJSON *op;
	int r;

	memset(p, 0, sizeof(*p));
	if (!s) {
		snprintf(doc->why, sizeof(doc->why), "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	s->p = p;
	look_for(s, json_get(doc->rest, "checks"));
	for (before = cursor; (r = receipt_next(doc, &cursor, &op)) == 1; before = cursor) {
		r = look(s, op, before.index, cursor.at - (before.at ? before.at : doc->list_at));
		if (r < 0)
			break;
	}
	if (keep_last(s) < 0)
		r = -ENOMEM;
	if (r == -ENOMEM)
		snprintf(doc->why, sizeof(doc->why), "%s", strerror(-r));
	free(s);
	return r;
}
