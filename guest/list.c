/* SPDX-License-Identifier: GPL-2.0-or-later
 * list.c - the list of a resource route: narrowed by fields, whole, by cursor (starting_after, ending_before, limit) or by
 * pages (page, per_page and a Link header, RFC 8288).  An index over a field that the query names finds its rows, so a page
 * costs what it shows. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/eval.h"
#include "guest/index.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"

#define PAGE_MAX 100u
#define CURSOR_DEFAULT 10u
#define PAGES_DEFAULT 30u

/* The rows that a list is made of: those of a bucket, or all; a query may still leave some of them out. */
struct source {
	const struct route *route;
	const struct cJSON *query;
	const struct index_bucket *bucket; /* NULL: all */
	bool empty;                        /* an index knows that there are none */
	bool exact;                        /* no row is left out */
	struct row *row;                   /* where it stands without a bucket; NULL at the end */
	size_t rank;                       /* where it stands in a bucket */
};

static bool
is_one_of(const struct cJSON *wanted, const char *text)
{
	if (!cJSON_IsArray(wanted))
		return strcmp(text, wanted->valuestring) == 0;
	for (const struct cJSON *w = wanted->child; w != NULL; w = w->next)
		if (strcmp(text, w->valuestring) == 0)
			return true;
	return false;
}

/* A field equals a query value: as text, since a query has nothing else. */
static bool
is_listed(const struct source *from, const struct row *row)
{
	char number[NUMBER_TEXT_SIZE + 1];
	enum index_kind kind;

	for (size_t i = 0; i < from->route->filter_len && !from->exact; i++) {
		const char *field = from->route->filter[i], *text;
		const struct cJSON *wanted = cJSON_GetObjectItemCaseSensitive(from->query, field);

		if (wanted == NULL)
			continue;
		text = index_text(cJSON_GetObjectItemCaseSensitive(row->json, field), number, &kind);
		if (text == NULL || !is_one_of(wanted, text))
			return false;
	}
	return true;
}

/* The smallest of the buckets that the query names; ranked: one is wanted in any case, to count by. */
static void
open_source(struct service *s, const struct route *route, const struct cJSON *query, bool ranked, struct source *from)
{
	size_t named = 0, found = 0;

	*from = (struct source){ .route = route, .query = query };
	for (size_t i = 0; i < route->filter_len; i++) {
		const struct cJSON *wanted = cJSON_GetObjectItemCaseSensitive(query, route->filter[i]);
		const struct index_bucket *b;
		const struct index *x;

		named += wanted != NULL;
		if (wanted == NULL || !cJSON_IsString(wanted) ||
		    (x = index_get(&s->state, route->collection, route->filter[i])) == NULL)
			continue;
		b = index_find(&s->state, x, wanted->valuestring);
		from->empty = from->empty || b == NULL;
		found++;
		if (b != NULL && (from->bucket == NULL || bucket_len(b) < bucket_len(from->bucket)))
			from->bucket = b;
	}
	from->exact = named == 0 || (named == 1 && found == 1);
	if (named == 0 && ranked) {
		const struct index *x = index_get(&s->state, route->collection, NULL);

		from->bucket = x == NULL ? NULL : index_find(&s->state, x, "");
		from->empty = route->collection->rows_len == 0;
	}
}

/* Puts it at the first row (back: the last), or next to `row` in that direction. */
static void
stand(struct source *from, const struct row *row, bool back)
{
	size_t rank;

	if (from->bucket == NULL) {
		const struct collection *c = from->route->collection;

		from->row = row == NULL ? (back ? c->last : c->first) : back ? row->before : row->after;
		return;
	}
	rank = row == NULL ? (back ? bucket_len(from->bucket) : 0)
			   : bucket_rank(from->bucket, row->number + (back ? 0 : 1));
	from->rank = back ? rank - 1 : rank; /* before the first: SIZE_MAX, which is no rank */
}

/* The row where it stands, or the next one that is listed; steps on.  NULL: the end. */
static struct row *
next_row(struct source *from, bool back)
{
	struct row *row;

	if (from->empty)
		return NULL;
	for (;;) {
		if (from->bucket == NULL) {
			row = from->row;
			if (row != NULL)
				from->row = back ? row->before : row->after;
		} else {
			row = from->rank < bucket_len(from->bucket) ? bucket_at(from->bucket, from->rank) : NULL;
			from->rank = back ? from->rank - 1 : from->rank + 1;
		}
		if (row == NULL || is_listed(from, row))
			return row;
	}
}

static void
put_row(struct answer *a, const struct row *row, bool first)
{
	if (!first)
		buf_text(&a->body, ",");
	buf_json(&a->body, row->json);
}

/* The target without its query. */
static size_t
path_of(const struct request *q, const char **path)
{
	const char *target = q->target;

	if (*target != '/' && strstr(target, "://") != NULL) {
		target = strstr(target, "://") + 3;
		target += strcspn(target, "/?#");
	}
	*path = target;
	return strcspn(target, "?#");
}

/* ---- cursor ------------------------------------------------------------------------------------------------------------ */

static const char *
text_of(const struct cJSON *query, const char *name)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(query, name);

	return cJSON_IsString(v) ? v->valuestring : cJSON_IsArray(v) ? v->child->valuestring : NULL;
}

/* Digits only; SIZE_MAX for anything else, and 1e9 for all that is more. */
static size_t
number_of(const char *text)
{
	size_t n = 0;

	if (*text == '\0')
		return SIZE_MAX;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return SIZE_MAX;
		n = n >= 100000000 ? 1000000000 : n * 10 + (size_t)(*text - '0');
	}
	return n;
}

/* The row that a cursor names.  False: refused. */
static bool
cursor_row(struct service *s, const struct route *route, const char *name, const char *id, struct row **row,
	   struct answer *a)
{
	char text[160];

	*row = NULL;
	if (id == NULL)
		return true;
	*row = collection_row(&s->state, route->collection, id);
	if (*row != NULL)
		return true;
	snprintf(text, sizeof(text), "No such row for '%s'.", name);
	answer_profile_error(s, a, 400, "resource_missing", text);
	return false;
}

static void
cursor(struct service *s, const struct request *q, struct answer *a)
{
	const struct cJSON *query = request_member(q, "query");
	const char *after = text_of(query, "starting_after"), *before = text_of(query, "ending_before"), *path;
	const char *text = text_of(query, "limit");
	size_t limit = text == NULL ? CURSOR_DEFAULT : number_of(text), n = 0, len;
	struct row *rows[PAGE_MAX], *row, *anchor;
	bool newest_first = s->profile == PROFILE_STRIPE, back, more;
	struct source from;

	if (limit == 0 || limit > PAGE_MAX) {
		answer_profile_error(s, a, 400, "parameter_invalid_integer", "'limit' must be a number from 1 to 100.");
		return;
	}
	if (after != NULL && before != NULL) {
		answer_profile_error(s, a, 400, "parameters_exclusive",
				     "You may only specify one of 'starting_after' and 'ending_before'.");
		return;
	}
	if (!cursor_row(s, a->route, before != NULL ? "ending_before" : "starting_after",
			before != NULL ? before : after, &anchor, a))
		return;
	back = newest_first != (before != NULL);
	open_source(s, a->route, query, false, &from);
	stand(&from, anchor, back);
	while (n < limit && (row = next_row(&from, back)) != NULL)
		rows[n++] = row;
	more = n == limit && next_row(&from, back) != NULL;
	len = path_of(q, &path);
	buf_text(&a->body, "{\"object\":\"list\",\"data\":[");
	for (size_t i = 0; i < n; i++)
		put_row(a, rows[before != NULL ? n - 1 - i : i], i == 0);
	buf_text(&a->body, more ? "],\"has_more\":true,\"url\":" : "],\"has_more\":false,\"url\":");
	buf_json_string(&a->body, path, len);
	buf_text(&a->body, "}");
}

/* ---- pages ------------------------------------------------------------------------------------------------------------- */

static void
put_encoded(struct buf *b, const char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c))
			buf_add(b, s, 1);
		else
			buf_format(b, "%%%02X", c);
	}
}

static void
put_link(const struct service *s, const struct request *q, struct buf *b, size_t page, const char *rel)
{
	const char *host = request_header(q, "host"), *path;
	const struct cJSON *query = request_member(q, "query");
	size_t len = path_of(q, &path);

	buf_format(b, "%s<%s://", b->len > 0 ? ", " : "", s->tls ? "https" : "http");
	for (const char *c = host == NULL ? s->hosts[0] : host; *c != '\0'; c++)
		if (strchr("<>\", ", *c) == NULL)
			buf_add(b, c, 1);
	for (size_t i = 0; i < len; i++)
		if (strchr("<>\"", path[i]) == NULL)
			buf_add(b, path + i, 1);
	buf_text(b, "?");
	for (const struct cJSON *f = query == NULL ? NULL : query->child; f != NULL; f = f->next) {
		if (strcmp(f->string, "page") == 0)
			continue;
		for (const struct cJSON *v = cJSON_IsArray(f) ? f->child : f; v != NULL; v = v == f ? NULL : v->next) {
			put_encoded(b, f->string);
			buf_text(b, "=");
			put_encoded(b, v->valuestring);
			buf_text(b, "&");
		}
	}
	buf_format(b, "page=%zu>; rel=\"%s\"", page, rel);
}

static void
put_links(const struct service *s, const struct request *q, struct answer *a, size_t page, size_t last)
{
	struct buf b;

	buf_init(&b, 4 * 60000u);
	if (page > 1)
		put_link(s, q, &b, page - 1 < last ? page - 1 : last, "prev");
	if (page < last)
		put_link(s, q, &b, page + 1, "next");
	if (page < last)
		put_link(s, q, &b, last, "last");
	if (page > 1)
		put_link(s, q, &b, 1, "first");
	if (b.len > 0 && buf_terminate(&b) != NULL)
		answer_header(a, "Link", b.at);
	buf_wipe(&b);
}

/* Numbers that make no sense are the default, as GitHub does. */
static size_t
page_number(const struct cJSON *query, const char *name, size_t otherwise)
{
	const char *text = text_of(query, name);
	size_t n = text == NULL ? otherwise : number_of(text);

	return n == 0 || n == SIZE_MAX ? otherwise : n;
}

static void
pages(struct service *s, const struct request *q, struct answer *a)
{
	const struct cJSON *query = request_member(q, "query");
	size_t page = page_number(query, "page", 1), per = page_number(query, "per_page", PAGES_DEFAULT);
	size_t total = 0, first, shown = 0;
	struct source from;
	struct row *row;

	if (per > PAGE_MAX)
		per = PAGE_MAX;
	first = (page - 1) * per;
	open_source(s, a->route, query, true, &from);
	buf_text(&a->body, "[");
	if (from.exact && from.bucket != NULL && !from.empty) {
		total = bucket_len(from.bucket);
		for (size_t i = first; i < total && shown < per; i++)
			put_row(a, bucket_at(from.bucket, i), shown++ == 0);
	} else {
		stand(&from, NULL, false);
		for (; (row = next_row(&from, false)) != NULL; total++)
			if (total >= first && shown < per)
				put_row(a, row, shown++ == 0);
	}
	buf_text(&a->body, "]");
	put_links(s, q, a, page, total == 0 ? 1 : (total + per - 1) / per);
}

/* see answer.h */
void
list_run(struct service *s, const struct request *q, struct answer *a)
{
	struct source from;
	struct row *row;
	bool first = true;

	if (a->route->page == PAGE_CURSOR) {
		cursor(s, q, a);
		return;
	}
	if (a->route->page == PAGE_PAGES) {
		pages(s, q, a);
		return;
	}
	open_source(s, a->route, request_member(q, "query"), false, &from);
	stand(&from, NULL, false);
	buf_text(&a->body, "[");
	while ((row = next_row(&from, false)) != NULL) {
		put_row(a, row, first);
		first = false;
	}
	buf_text(&a->body, "]");
}
