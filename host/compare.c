/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare.c - see compare.h.  Goes through what entered and through the ingredients of the fingerprint in its order. */
#include "host/compare.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "host/receipt_read.h"

#define FILES_SHOWN 5u
#define VALUE_SHOWN 120

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

/* ---- items -------------------------------------------------------------------------------------------------------------- */

const char *
compare_part_name(enum compare_part part)
{
	static const char *const names[COMPARE_PARTS] = { "files", "world", "seed",   "policy", "runtime", "operations",
							  "exit",  "state", "checks", "egress", "verdict" };

	return names[part];
}

struct compare_item *
compare_add(struct compare *c, enum compare_part part)
{
	struct compare_item *more;
	size_t size;

	if (c->found[part]++ >= c->limit || c->error)
		return NULL;
	if (c->len == c->size) {
		size = c->size ? 2 * c->size : 16;
		more = realloc(c->items, size * sizeof(*more));
		if (!more) {
			c->error = -ENOMEM;
			c->why = "not enough memory";
			return NULL;
		}
		c->items = more;
		c->size = size;
	}
	memset(&c->items[c->len], 0, sizeof(c->items[0]));
	c->items[c->len].part = part;
	return &c->items[c->len++];
}

void
compare_wipe(struct compare *c)
{
	free(c->items);
	memset(c, 0, sizeof(*c));
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

/* The first member that differs, in the order of b, then of a; NULL: none. */
static const char *
first_member(const cJSON **a, const cJSON **b)
{
	const cJSON *x = (*a)->child, *y, *other;

	cJSON_ArrayForEach(y, *b)
	{
		other = x && strcmp(x->string, y->string) == 0 ? x : json_get(*a, y->string);
		x = x ? x->next : NULL;
		if (json_equal(other, y))
			continue;
		*a = other;
		*b = y;
		return y->string;
	}
	cJSON_ArrayForEach(x, *a)
	{
		if (json_get(*b, x->string))
			continue;
		*a = x;
		*b = NULL;
		return x->string;
	}
	return NULL;
}

/* Goes down to the first value that differs, as long as both are objects or both are lists; its pointer grows. */
static void
descend(const cJSON **a, const cJSON **b, char *pointer, size_t size)
{
	const cJSON *x, *y;
	const char *name;
	size_t n = 0, i;

	while (*a && *b && n < size) {
		if (cJSON_IsObject(*a) && cJSON_IsObject(*b)) {
			if (!(name = first_member(a, b)))
				return;
			n += (size_t)snprintf(pointer + n, size - n, "/%.60s", name);
		} else if (cJSON_IsArray(*a) && cJSON_IsArray(*b)) {
			i = 0;
			for (x = (*a)->child, y = (*b)->child; x && y && json_equal(x, y); x = x->next, y = y->next)
				i++;
			if (!x && !y)
				return;
			n += (size_t)snprintf(pointer + n, size - n, "/%zu", i);
			*a = x;
			*b = y;
		} else {
			return;
		}
	}
}

bool
compare_text(const char *what, const cJSON *before, const cJSON *now, char *out, size_t size)
{
	char x[VALUE_SHOWN + 8], y[VALUE_SHOWN + 8], pointer[200] = "";

	if ((!before && !now) || json_equal(before, now))
		return false;
	descend(&before, &now, pointer, sizeof(pointer));
	shown(before, x);
	shown(now, y);
	snprintf(out, size, "%s%s%s: %s, now %s", what, *pointer ? " at " : "", pointer, x, y);
	return true;
}

bool
compare_value(struct compare *c, enum compare_part part, const char *what, const cJSON *before, const cJSON *now)
{
	char text[COMPARE_TEXT_MAX];
	struct compare_item *item;

	if (!compare_text(what, before, now, text, sizeof(text)))
		return false;
	item = compare_add(c, part);
	if (item)
		memcpy(item->text, text, sizeof(text));
	return true;
}

/* A value at the same place of both. */
static void
value(struct compare *c, enum compare_part part, const char *what, const char *pointer, const cJSON *before,
      const cJSON *now)
{
	const cJSON *a = json_at(before, pointer, false), *b = json_at(now, pointer, false);
	size_t len = c->len;

	if (!compare_value(c, part, what, a, b) || c->len == len)
		return;
	snprintf(c->items[len].before, sizeof(c->items[len].before), "%s", a ? pointer : "");
	snprintf(c->items[len].now, sizeof(c->items[len].now), "%s", b ? pointer : "");
}

/* ---- what came of it ---------------------------------------------------------------------------------------------------- */

static const char *
held(const cJSON *check)
{
	const cJSON *v = json_get(check, "held");

	return cJSON_IsTrue(v) ? "held" : cJSON_IsFalse(v) ? "did not hold" : "was not judged";
}

static void
checks(struct compare *c, const cJSON *before, const cJSON *now)
{
	const cJSON *a = json_get(before, "checks"), *b = json_get(now, "checks");
	const cJSON *x = a ? a->child : NULL, *y = b ? b->child : NULL;
	const char *actual, *id, *before_id;
	struct compare_item *item;
	size_t i = 0;

	for (; x || y; x = x->next, y = y->next, i++) {
		id = json_get_text(y, "id");
		before_id = json_get_text(x, "id");
		if (!x || !y || strcmp(id ? id : "?", before_id ? before_id : "?") != 0) {
			item = compare_add(c, COMPARE_CHECKS);
			if (item)
				snprintf(item->text, sizeof(item->text), "there are other checks");
			return;
		}
		if (strcmp(held(x), held(y)) == 0 || !(item = compare_add(c, COMPARE_CHECKS)))
			continue;
		actual = json_get_text(y, "actual");
		snprintf(item->text, sizeof(item->text), "the check %.64s %s, now it %s: %.300s", id ? id : "?",
			 held(x),
			 cJSON_IsTrue(json_get(y, "held"))    ? "holds"
			 : cJSON_IsFalse(json_get(y, "held")) ? "does not"
							      : "is not judged",
			 actual ? actual : "?");
		snprintf(item->before, sizeof(item->before), "/checks/%zu", i);
		snprintf(item->now, sizeof(item->now), "/checks/%zu", i);
	}
}

/* "tcp 203.0.113.9 port 443 of workflow": which destinations were tried; how often depends on time-outs. */
static bool
has_row(const cJSON *list, const cJSON *row)
{
	static const char *const of[] = { "family", "protocol", "destination", "port", "owner" };
	const cJSON *v;
	size_t i;

	cJSON_ArrayForEach(v, list)
	{
		for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
			if ((json_get(v, of[i]) || json_get(row, of[i])) &&
			    !json_equal(json_get(v, of[i]), json_get(row, of[i])))
				break;
		if (i == sizeof(of) / sizeof(of[0]))
			return true;
	}
	return false;
}

static void
egress(struct compare *c, const cJSON *mine, const cJSON *other, bool now)
{
	const cJSON *list = json_at(mine, "/boundary/denied_egress", false),
		    *theirs = json_at(other, "/boundary/denied_egress", false), *row;
	const char *protocol, *destination;
	struct compare_item *item;
	uint64_t port;
	size_t i = 0;

	cJSON_ArrayForEach(row, list)
	{
		i++;
		if (has_row(theirs, row) || !(item = compare_add(c, COMPARE_EGRESS)))
			continue;
		port = 0;
		json_get_u64(row, "port", 65535, &port);
		protocol = json_get_text(row, "protocol");
		destination = json_get_text(row, "destination");
		snprintf(item->text, sizeof(item->text), "denied egress %.20s %.60s port %" PRIu64 " %s",
			 protocol ? protocol : "?", destination ? destination : "?", port,
			 now ? "is new" : "is missing");
		snprintf(now ? item->now : item->before, sizeof(item->now), "/boundary/denied_egress/%zu", i - 1);
	}
}

int
compare_all(struct receipt_doc *before, struct receipt_doc *now, struct compare *c)
{
	const cJSON *a = before->rest, *b = now->rest;
	char files[COMPARE_TEXT_MAX - 64];
	struct compare_item *item;

	/* What entered is not in the fingerprint, but explains more than what came of it. */
	if (compare_files(json_at(a, "/bundle/files", false), json_at(b, "/bundle/files", false), files,
			  sizeof(files)) &&
	    (item = compare_add(c, COMPARE_FILES))) {
		snprintf(item->text, sizeof(item->text), "other files entered: %s", files);
		snprintf(item->before, sizeof(item->before), "/bundle/files");
		snprintf(item->now, sizeof(item->now), "/bundle/files");
	}
	value(c, COMPARE_WORLD, "the world's digest", "/run/world/sha256", a, b);
	value(c, COMPARE_SEED, "the seed", "/run/seed", a, b);
	value(c, COMPARE_POLICY, "the policy of the boundary", "/boundary/policy/sha256", a, b);
	value(c, COMPARE_RUNTIME, "the runtime", "/runtime/backend", a, b);
	value(c, COMPARE_RUNTIME, "the guest", "/runtime/guest/sha256", a, b);
	value(c, COMPARE_RUNTIME, "Node", "/runtime/node/version", a, b);
	compare_operations(before, now, c);
	value(c, COMPARE_EXIT, "the exit code", "/outcome/exit/code", a, b);
	value(c, COMPARE_EXIT, "the signal", "/outcome/exit/signal", a, b);
	compare_state(a, b, c);
	checks(c, a, b);
	egress(c, a, b, false);
	egress(c, b, a, true);
	value(c, COMPARE_VERDICT, "the status", "/status", a, b);
	return c->error;
}

int
compare_receipts(struct receipt_doc *before, struct receipt_doc *now, char out[static COMPARE_TEXT_MAX])
{
	struct compare c = { .limit = 1 };
	int r = compare_all(before, now, &c);
	size_t i;

	out[0] = '\0';
	for (i = 0; r == 0 && i < c.len; i++) {
		if (c.items[i].part == COMPARE_RUNTIME || c.items[i].part == COMPARE_EGRESS ||
		    c.items[i].part == COMPARE_VERDICT)
			continue;
		memcpy(out, c.items[i].text, COMPARE_TEXT_MAX);
		r = 1;
	}
	if (r < 0)
		snprintf(out, COMPARE_TEXT_MAX, "%s", c.why ? c.why : strerror(-r));
	compare_wipe(&c);
	return r;
}
