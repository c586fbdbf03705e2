/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare.c - see compare.h.  Goes through the ingredients of the fingerprint in its order; of operations, which have
 * none that means anything to a person, the difference that happened first is told. */
#include "host/compare.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "host/trace.h"
#include "proto/sha256.h"

#define FILES_SHOWN 5u
#define VALUE_SHOWN 120

static bool __attribute__((format(printf, 2, 3))) say(char *out, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(out, COMPARE_TEXT_MAX, format, ap);
	va_end(ap);
	return true;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static int
by_path(const void *a, const void *b)
{
	const char *x = json_get_text(*(const cJSON *const *)a, "path"),
		   *y = json_get_text(*(const cJSON *const *)b, "path");

	return strcmp(x ? x : "", y ? y : "");
}

/* By path; owned by the caller.  NULL: none, or no memory. */
static const cJSON **
sorted_files(const cJSON *list, size_t *len)
{
	size_t n = (size_t)cJSON_GetArraySize(list);
	const cJSON **out = n ? calloc(n, sizeof(cJSON *)) : NULL;
	const cJSON *f;

	*len = 0;
	if (!out)
		return NULL;
	cJSON_ArrayForEach(f, list) out[(*len)++] = f;
	qsort(out, *len, sizeof(*out), by_path);
	return out;
}

/* What is different of a file that is in both, or NULL. */
static const char *
file_change(const cJSON *a, const cJSON *b)
{
	static const struct {
		const char *member, *what;
	} of[] = { { "sha256", "is changed" },
		   { "kind", "is of another kind" },
		   { "target", "leads elsewhere" },
		   { "mode", "has another mode" } };
	const cJSON *x, *y;
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		x = json_get(a, of[i].member);
		y = json_get(b, of[i].member);
		if ((x || y) && !json_equal(x, y))
			return of[i].what;
	}
	return NULL;
}

bool
compare_files(const cJSON *before, const cJSON *now, char *out, size_t size)
{
	size_t a_len, b_len, i = 0, k = 0, found = 0, at = 0;
	const cJSON **a = sorted_files(before, &a_len), **b = sorted_files(now, &b_len);
	const char *what, *path;
	int order, n;

	out[0] = '\0';
	while (i < a_len || k < b_len) {
		order = i == a_len ? 1 : k == b_len ? -1 : by_path(&a[i], &b[k]);
		what = order < 0 ? "is missing" : order > 0 ? "is new" : file_change(a[i], b[k]);
		path = json_get_text(order <= 0 ? a[i] : b[k], "path");
		i += order <= 0;
		k += order >= 0;
		if (!what || found++ >= FILES_SHOWN || at >= size)
			continue;
		n = snprintf(out + at, size - at, "%s%.100s %s", at ? ", " : "", path ? path : "?", what);
		at += n > 0 ? (size_t)n : 0;
	}
	if (found > FILES_SHOWN && at < size)
		snprintf(out + at, size - at, " and %zu more", found - FILES_SHOWN);
	free(a);
	free(b);
	return found != 0;
}

/* ---- single values ------------------------------------------------------------------------------------------------------ */

/* Compact JSON, cut. */
static void
shown(const cJSON *v, char out[static VALUE_SHOWN + 8])
{
	char *text = v ? json_print(v) : NULL;
	size_t n = VALUE_SHOWN;

	if (!text) {
		snprintf(out, VALUE_SHOWN + 8, "none");
		return;
	}
	while (n > 0 && strlen(text) > n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(out, VALUE_SHOWN + 8, "%.*s%s", (int)n, text, strlen(text) > n ? "..." : "");
	free(text);
}

static bool
value(const char *what, const cJSON *a, const cJSON *b, char *out)
{
	char x[VALUE_SHOWN + 8], y[VALUE_SHOWN + 8];

	if ((!a && !b) || json_equal(a, b))
		return false;
	shown(a, x);
	shown(b, y);
	return say(out, "%s: %s, now %s", what, x, y);
}

static const cJSON *
at(const cJSON *doc, const char *pointer)
{
	return json_at(doc, pointer, false);
}

/* ---- operations --------------------------------------------------------------------------------------------------------- */

struct side {
	size_t len;
	struct trace_place *list; /* owned; origin is the operation */
};
struct first { /* of the differences that were found, the one that happened first */
	uint64_t n;
	const cJSON *before, *now; /* one of them NULL: only the other run has it */
};

/* The place of a service in the receipt; those that are none, as the DNS stub, come last. */
static size_t
service_index(const cJSON *doc, const char *name)
{
	const cJSON *v;
	size_t i = 0;

	cJSON_ArrayForEach(v, at(doc, "/state/final"))
	{
		if (name && v->string && strcmp(v->string, name) == 0)
			return i;
		i++;
	}
	return 1000;
}

/* How often a name is asked depends on time-outs: of equal ones only the first counts. */
static size_t
drop_repeated_names(struct trace_place *list, size_t len)
{
	const char *kind;
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		kind = json_get_text(list[i].origin, "kind");
		if (n && kind && strcmp(kind, "dns") == 0 && list[n - 1].service == list[i].service &&
		    memcmp(list[n - 1].group, list[i].group, sizeof(list[i].group)) == 0)
			continue;
		list[n++] = list[i];
	}
	return n;
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

static bool
side_make(const cJSON *doc, struct side *s)
{
	const cJSON *list = at(doc, "/operations"), *op;
	size_t n = (size_t)cJSON_GetArraySize(list);
	struct trace_place *p;
	struct trace_op t;

	s->len = 0;
	s->list = calloc(n + 1, sizeof(*s->list));
	if (!s->list)
		return false;
	cJSON_ArrayForEach(op, list)
	{
		p = &s->list[s->len++];
		trace_call(op, &t);
		if (json_get_text(op, "kind") && strcmp(json_get_text(op, "kind"), "dns") == 0)
			name_group(op, t.group);
		p->service = service_index(doc, json_get_text(op, "service"));
		memcpy(p->group, t.group, sizeof(t.group));
		memcpy(p->key, t.key, sizeof(t.key));
		if (!json_get_u64(op, "n", UINT64_MAX, &p->n))
			p->n = s->len;
		p->origin = op;
	}
	trace_sort(s->list, s->len);
	s->len = drop_repeated_names(s->list, s->len);
	return true;
}

static void
offer(struct first *f, uint64_t n, const void *before, const void *now)
{
	if ((f->before || f->now) && n >= f->n)
		return;
	f->n = n;
	f->before = before;
	f->now = now;
}

static bool
differ(const struct trace_place *a, const struct trace_place *b)
{
	struct trace_op x, y;

	trace_call(a->origin, &x);
	trace_call(b->origin, &y);
	return memcmp(x.content, y.content, sizeof(x.content)) != 0;
}

/* Finds the first call that was answered otherwise, the first that is missing, and the first that is new. */
static void
walk(const struct side *a, const struct side *b, struct first *changed, struct first *missing, struct first *added)
{
	size_t i = 0, k = 0;
	int order;

	while (i < a->len || k < b->len) {
		const struct trace_place *x = &a->list[i], *y = &b->list[k];

		if (i == a->len || k == b->len)
			order = i == a->len ? 1 : -1;
		else if (x->service != y->service)
			order = x->service < y->service ? -1 : 1;
		else
			order = memcmp(x->group, y->group, sizeof(x->group));
		if (order < 0)
			offer(missing, x->n, x->origin, NULL);
		else if (order > 0)
			offer(added, y->n, NULL, y->origin);
		else if (differ(x, y))
			offer(changed, y->n, x->origin, y->origin);
		i += order <= 0;
		k += order >= 0;
	}
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

static bool
call_changed(const cJSON *a, const cJSON *b, char *out)
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
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!(trace_is_sent(b) && strcmp(of[i].pointer, "/reply/sha256") == 0) &&
		    value(of[i].what, at(a, of[i].pointer), at(b, of[i].pointer), detail))
			return say(out, "%s, operation %" PRIu64 ": %.300s", name, n, detail);
	return say(out, "%s, operation %" PRIu64 " is another", name, n);
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

static bool
operations(const cJSON *before, const cJSON *now, char *out)
{
	struct first changed = { 0 }, missing = { 0 }, added = { 0 };
	struct side a, b = { 0 };
	char name[400], detail[COMPARE_TEXT_MAX];
	bool found = true;

	if (!side_make(before, &a) || !side_make(now, &b)) {
		free(a.list);
		free(b.list);
		return false;
	}
	walk(&a, &b, &changed, &missing, &added);
	if (missing.before && added.now && same_but_body(missing.before, added.now) &&
	    !(changed.now && changed.n < added.n)) {
		call_name(added.now, name, sizeof(name));
		if (!value("the request's body", at(missing.before, "/request/body/json"),
			   at(added.now, "/request/body/json"), detail))
			(void)value("the request's body", at(missing.before, "/request/body/sha256"),
				    at(added.now, "/request/body/sha256"), detail);
		say(out, "%s, operation %" PRIu64 ": %.300s", name, added.n, detail);
	} else if (changed.now && !(added.now && added.n < changed.n) && !(missing.before && missing.n < changed.n)) {
		call_changed(changed.before, changed.now, out);
	} else if (missing.before && !(added.now && added.n < missing.n)) {
		call_name(missing.before, name, sizeof(name));
		say(out, "%s, operation %" PRIu64 " there, is missing", name, missing.n);
	} else if (added.now) {
		call_name(added.now, name, sizeof(name));
		say(out, "%s, operation %" PRIu64 ", is new", name, added.n);
	} else {
		found = false;
	}
	free(a.list);
	free(b.list);
	return found;
}

/* ---- checks, state ------------------------------------------------------------------------------------------------------ */

static bool
checks(const cJSON *before, const cJSON *now, char *out)
{
	const cJSON *a = at(before, "/checks"), *b = at(now, "/checks");
	const cJSON *x = a ? a->child : NULL, *y = b ? b->child : NULL;
	const char *actual, *id, *before_id;

	for (; x || y; x = x->next, y = y->next) {
		id = json_get_text(y, "id");
		before_id = json_get_text(x, "id");
		if (!x || !y || strcmp(id ? id : "?", before_id ? before_id : "?") != 0)
			return say(out, "there are other checks");
		actual = json_get_text(y, "actual");
		if (json_get_true(x, "held") != json_get_true(y, "held"))
			return say(out, "the check %.64s %s, now it %s: %.300s", id ? id : "?",
				   json_get_true(x, "held") ? "held" : "did not hold",
				   json_get_true(y, "held") ? "holds" : "does not", actual ? actual : "?");
	}
	return false;
}

/* The first row or field. */
static bool
rows(const char *service, const cJSON *a, const cJSON *b, char *out)
{
	const cJSON *x = a ? a->child : NULL, *y = b ? b->child : NULL, *f;
	char what[400], id[VALUE_SHOWN + 8];

	for (; x || y; x = x ? x->next : NULL, y = y ? y->next : NULL) {
		if (json_equal(x, y))
			continue;
		shown(json_get(y ? y : x, "id"), id);
		snprintf(what, sizeof(what), "the final state of %.64s, %.64s, row %s", service,
			 a ? a->string : b->string, id);
		if (!x || !y || !json_equal(json_get(x, "id"), json_get(y, "id")))
			return value(what, x, y, out);
		cJSON_ArrayForEach(f, y)
		{
			size_t n = strlen(what);

			if (!f->string)
				break; /* a row that is none */
			snprintf(what + n, sizeof(what) - n, ", %.64s", f->string);
			if (value(what, json_get(x, f->string), f, out))
				return true;
			what[n] = '\0';
		}
		return value(what, x, y, out);
	}
	return false;
}

static bool
state(const cJSON *before, const cJSON *now, char *out)
{
	const cJSON *b, *c, *digests = at(now, "/state/final_sha256"), *d;

	cJSON_ArrayForEach(b, at(now, "/state/final"))
	{
		cJSON_ArrayForEach(c, b)
		{
			if (b->string && c->string &&
			    rows(b->string, json_get(json_get(at(before, "/state/final"), b->string), c->string), c,
				 out))
				return true;
		}
	}
	cJSON_ArrayForEach(d, digests)
	{
		if (d->string && !json_equal(d, json_get(at(before, "/state/final_sha256"), d->string)))
			return say(out, "the final state of %.64s, beyond its collections: its variables", d->string);
	}
	return false;
}

bool
compare_receipts(const cJSON *before, const cJSON *now, char out[static COMPARE_TEXT_MAX])
{
	char files[COMPARE_TEXT_MAX - 64];

	out[0] = '\0';
	/* What entered is not in the fingerprint, but explains more than what came of it. */
	if (compare_files(at(before, "/bundle/files"), at(now, "/bundle/files"), files, sizeof(files)))
		return say(out, "other files entered: %s", files);
	return value("the world's digest", at(before, "/run/world/sha256"), at(now, "/run/world/sha256"), out) ||
	       value("the seed", at(before, "/run/seed"), at(now, "/run/seed"), out) ||
	       value("the policy of the boundary", at(before, "/boundary/policy/sha256"),
		     at(now, "/boundary/policy/sha256"), out) ||
	       operations(before, now, out) ||
	       value("the exit code", at(before, "/outcome/exit/code"), at(now, "/outcome/exit/code"), out) ||
	       value("the signal", at(before, "/outcome/exit/signal"), at(now, "/outcome/exit/signal"), out) ||
	       state(before, now, out) || checks(before, now, out);
}
