/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare_state.c - see compare.h: the final states of two receipts, row by row. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "host/json.h"

struct named_row {
	char *id; /* owned: JSON */
	const cJSON *row;
	size_t index;
};

static int
by_id(const void *a, const void *b)
{
	const struct named_row *x = a, *y = b;
	int r = strcmp(x->id, y->id);

	return r ? r : x->index < y->index ? -1 : x->index > y->index;
}

static void
rows_free(struct named_row *list, size_t len)
{
	while (list && len-- > 0)
		free(list[len].id);
	free(list);
}

/* By id; owned by the caller.  NULL and c->error: no memory. */
static struct named_row *
rows_sorted(const cJSON *collection, size_t *len, struct compare *c)
{
	size_t n = (size_t)cJSON_GetArraySize(collection);
	struct named_row *list = calloc(n + 1, sizeof(*list));
	const cJSON *row, *id;

	*len = 0;
	cJSON_ArrayForEach(row, collection)
	{
		if (!list)
			break;
		id = json_get(row, "id");
		list[*len].id = id ? json_print(id) : strdup("");
		list[*len].row = row;
		list[*len].index = *len;
		if (!list[*len].id) {
			rows_free(list, *len);
			list = NULL;
			break;
		}
		(*len)++;
	}
	if (!list) {
		c->error = -ENOMEM;
		c->why = "not enough memory";
		return NULL;
	}
	qsort(list, *len, sizeof(*list), by_id);
	return list;
}

static void
place(struct compare *c, size_t item, const char *service, const char *collection, const struct named_row *x,
      const struct named_row *y)
{
	if (c->len == item)
		return; /* not kept */
	if (x)
		snprintf(c->items[item].before, sizeof(c->items[item].before), "/state/final/%.64s/%.64s/%zu", service,
			 collection, x->index);
	if (y)
		snprintf(c->items[item].now, sizeof(c->items[item].now), "/state/final/%.64s/%.64s/%zu", service,
			 collection, y->index);
}

static void
row_changed(struct compare *c, const char *service, const char *collection, const struct named_row *x,
	    const struct named_row *y)
{
	const char *id = x ? x->id : y ? y->id : "";
	const cJSON *f, *other;
	size_t before = c->len, n;
	char what[400];
	bool field = false;

	snprintf(what, sizeof(what), "the final state of %.64s, %.64s, row %.120s", service, collection,
		 *id ? id : "without an id");
	n = strlen(what);
	if (x && y && cJSON_IsObject(x->row) && cJSON_IsObject(y->row)) {
		cJSON_ArrayForEach(f, y->row)
		{
			other = json_get(x->row, f->string);
			if (json_equal(other, f))
				continue;
			snprintf(what + n, sizeof(what) - n, ", %.64s", f->string);
			before = c->len;
			field = compare_value(c, COMPARE_STATE, what, other, f) || field;
			place(c, before, service, collection, x, y);
		}
		cJSON_ArrayForEach(f, x->row)
		{
			if (json_get(y->row, f->string))
				continue;
			snprintf(what + n, sizeof(what) - n, ", %.64s", f->string);
			before = c->len;
			field = compare_value(c, COMPARE_STATE, what, f, NULL) || field;
			place(c, before, service, collection, x, y);
		}
	}
	what[n] = '\0';
	if (field)
		return;
	if (compare_value(c, COMPARE_STATE, what, x ? x->row : NULL, y ? y->row : NULL))
		place(c, before, service, collection, x, y);
}

static void
collection(struct compare *c, const char *service, const char *name, const cJSON *before, const cJSON *now)
{
	size_t a_len = 0, b_len = 0, i = 0, k = 0;
	struct named_row *a = NULL, *b = NULL;
	int order;

	if (!json_equal(before, now) && (a = rows_sorted(before, &a_len, c)) && (b = rows_sorted(now, &b_len, c))) {
		while (i < a_len || k < b_len) {
			order = i == a_len ? 1 : k == b_len ? -1 : strcmp(a[i].id, b[k].id);
			if (order != 0 || !json_equal(a[i].row, b[k].row))
				row_changed(c, service, name, order <= 0 ? &a[i] : NULL, order >= 0 ? &b[k] : NULL);
			i += order <= 0;
			k += order >= 0;
		}
	}
	rows_free(a, a_len);
	rows_free(b, b_len);
}

/* Of the collections of one side those that the other has too come once. */
static void
service(struct compare *c, const char *name, const cJSON *before, const cJSON *now)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, now)
	{
		if (v->string)
			collection(c, name, v->string, json_get(before, v->string), v);
	}
	cJSON_ArrayForEach(v, before)
	{
		if (v->string && !json_get(now, v->string))
			collection(c, name, v->string, v, NULL);
	}
}

void
compare_state(const cJSON *before, const cJSON *now, struct compare *c)
{
	const cJSON *a = json_at(before, "/state/final", false), *b = json_at(now, "/state/final", false), *v, *other;
	const cJSON *digests = json_at(now, "/state/final_sha256", false);
	struct compare_item *item;
	uint64_t found;

	cJSON_ArrayForEach(v, b)
	{
		if (!v->string)
			break;
		found = c->found[COMPARE_STATE];
		service(c, v->string, json_get(a, v->string), v);
		other = json_at(before, "/state/final_sha256", false);
		if (found != c->found[COMPARE_STATE] ||
		    (!json_get(digests, v->string) && !json_get(other, v->string)) ||
		    json_equal(json_get(digests, v->string), json_get(other, v->string)))
			continue;
		item = compare_add(c, COMPARE_STATE);
		if (item)
			snprintf(item->text, sizeof(item->text),
				 "the final state of %.64s, beyond its collections: its variables", v->string);
	}
	cJSON_ArrayForEach(v, a)
	{
		if (v->string && !json_get(b, v->string))
			service(c, v->string, v, NULL);
	}
}
