/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_model.c - see check_model.h.  A step costs what the rows cost that it touched, however many there are. */
#include "host/check_model.h"

#include <cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/grow.h"
#include "host/json.h"
#include "host/world.h"
#include "proto/number.h"

static void __attribute__((format(printf, 2, 3))) break_off(struct check_model *m, const char *format, ...)
{
	va_list ap;

	if (m->broken)
		return;
	m->broken = true;
	va_start(ap, format);
	vsnprintf(m->why, sizeof(m->why), format, ap);
	va_end(ap);
}

struct check_model *
check_model_new(const struct world *w)
{
	struct check_model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->w = w;
	m->now = calloc(w->services_len + 1, sizeof(*m->now));
	m->first = calloc(w->services_len + 1, sizeof(*m->first));
	if (m->now && m->first)
		return m;
	check_model_free(m);
	return NULL;
}

void
check_model_free(struct check_model *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->w->services_len; i++) {
		if (m->now)
			cJSON_Delete(m->now[i]);
		if (m->first)
			cJSON_Delete(m->first[i]);
	}
	for (i = 0; i < m->sums_len; i++)
		free(m->sums[i].field);
	free(m->now);
	free(m->first);
	free(m->rows);
	free(m->collections);
	free(m->sums);
	free(m->touched);
	digest_map_wipe(&m->row_map);
	digest_map_wipe(&m->collection_map);
	free(m);
}

/* The text that a collection, or a row of it, is known by. */
static size_t
name_of(size_t service, const char *collection, size_t collection_len, const char *id, char out[static 512])
{
	int n = snprintf(out, 512, "%zu%c%.*s%c%s", service, 0, (int)collection_len, collection, 0, id ? id : "");

	return n > 0 && n < 512 ? (size_t)n : 0;
}

/* The index of a collection, from 1; 0: no memory. */
static size_t
collection_of(struct check_model *m, size_t service, const char *collection, size_t len)
{
	char text[512];
	size_t n = name_of(service, collection, len, NULL, text);
	uint32_t *at;
	bool added;
	void *p;

	at = n ? digest_map_add(&m->collection_map, text, n, &added) : NULL;
	if (!at)
		return 0;
	if (added) {
		p = grow_by_one(m->collections, &m->collections_len, &m->collections_size, sizeof(*m->collections));
		if (!p)
			return 0;
		m->collections = p;
		m->collections[m->collections_len - 1].service = service;
		*at = (uint32_t)m->collections_len;
	}
	return *at;
}

/* The index of a row, from 1; 0: no memory, or a name that no row can have. */
static size_t
row_of(struct check_model *m, size_t collection, const char *name, const char *id)
{
	char text[512];
	size_t n = name_of(m->collections[collection - 1].service, name, strlen(name), id, text);
	uint32_t *at;
	bool added;
	void *p;

	at = n ? digest_map_add(&m->row_map, text, n, &added) : NULL;
	if (!at)
		return 0;
	if (added) {
		p = grow_by_one(m->rows, &m->rows_len, &m->rows_size, sizeof(*m->rows));
		if (!p)
			return 0;
		m->rows = p;
		m->rows[m->rows_len - 1].collection = collection;
		*at = (uint32_t)m->rows_len;
	}
	return *at;
}

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

bool
check_model_want(struct check_model *m, const char *service, const char *path, const char *field)
{
	size_t i, collection = 0;
	struct model_sum *p;

	for (i = 0; i < m->w->services_len; i++)
		if (strcmp(m->w->services[i].name, service) == 0)
			collection = collection_of(m, i, path + 1, strcspn(path + 1, "/"));
	p = reallocarray(m->sums, m->sums_len + 1, sizeof(*p));
	if (p)
		m->sums = p;
	if (!collection || !p)
		return false;
	m->sums[m->sums_len] = (struct model_sum){ .collection = collection, .field = strdup(field) };
	return m->sums[m->sums_len++].field != NULL;
}

static void
sum_row(struct model_sum *s, const cJSON *row, int sign)
{
	const cJSON *v = s->field[0] == '/' ? json_at(row, s->field, false) : json_get(row, s->field);

	if (!v)
		return;
	s->having += (uint64_t)(int64_t)sign;
	if (!cJSON_IsNumber(v))
		s->texts += (uint64_t)(int64_t)sign;
	else if (number_is_whole(v->valuedouble))
		s->whole += (__int128)sign * (int64_t)v->valuedouble;
	else
		s->parts += (uint64_t)(int64_t)sign;
}

static void
sum_change(struct check_model *m, size_t collection, const cJSON *row, int sign)
{
	size_t i;

	for (i = 0; i < m->sums_len; i++)
		if (row && m->sums[i].collection == collection)
			sum_row(&m->sums[i], row, sign);
}

bool
check_model_sum(const struct check_model *m, size_t service, const char *path, const char *field, double *out,
		const char **why)
{
	char text[512];
	size_t n = name_of(service, path + 1, strlen(path + 1), NULL, text), i;
	uint32_t *at = n ? digest_map_find(&m->collection_map, text, n) : NULL;
	const struct model_sum *s = NULL;

	for (i = 0; at && i < m->sums_len && !s; i++)
		if (m->sums[i].collection == *at && strcmp(m->sums[i].field, field) == 0)
			s = &m->sums[i];
	if (!s || s->parts)
		return false;
	*out = (double)s->whole;
	if (s->texts)
		*why = "values that are not numbers: no sum";
	else if (s->whole > (__int128)NUMBER_EXACT_MAX || s->whole < -(__int128)NUMBER_EXACT_MAX)
		*why = "too large to be exact: no sum";
	else
		*why = m->collections[*at - 1].len && !s->having ? "no row has that field: no sum" : NULL;
	return true;
}

/* ---- the states ------------------------------------------------------------------------------------------------------- */

static bool
id_text(const cJSON *row, char out[static 300])
{
	const cJSON *id = json_get(row, "id");
	uint64_t number;
	int n = -1;

	if (cJSON_IsString(id))
		n = snprintf(out, 300, "%s", id->valuestring);
	else if (json_as_u64(id, UINT64_MAX, &number))
		n = snprintf(out, 300, "%llu", (unsigned long long)number);
	return n > 0 && n < 300;
}

static void
begin_collection(struct check_model *m, size_t service, cJSON *rows, const cJSON *first)
{
	size_t c = collection_of(m, service, rows->string, strlen(rows->string)), i;
	const cJSON *at_first;
	char id[300];
	cJSON *row;

	if (!c) {
		break_off(m, "there is no memory for the states on the way");
		return;
	}
	m->collections[c - 1].rows = rows;
	at_first = first ? first->child : NULL;
	cJSON_ArrayForEach(row, rows)
	{
		if (!id_text(row, id) || !(i = row_of(m, c, rows->string, id))) {
			break_off(m, "the initial state of %s has a row that cannot be followed",
				  m->w->services[service].name);
			return;
		}
		m->rows[i - 1].now = row;
		m->rows[i - 1].at_first = at_first;
		m->collections[c - 1].len++;
		sum_change(m, c, row, 1);
		at_first = at_first ? at_first->next : NULL;
	}
}

void
check_model_begin(struct check_model *m, size_t service, const struct cJSON *doc)
{
	const cJSON *collections = json_get(doc, "collections");
	cJSON *rows;

	if (m->broken || m->now[service])
		return;
	m->now[service] = cJSON_Duplicate(collections, true);
	m->first[service] = cJSON_Duplicate(collections, true);
	if (!m->now[service] || !m->first[service]) {
		break_off(m, "there is no memory for the states on the way");
		return;
	}
	cJSON_ArrayForEach(rows, m->now[service])
	{
		begin_collection(m, service, rows, json_get(m->first[service], rows->string));
	}
}

void
check_model_start(struct check_model *m)
{
	size_t i;

	for (i = 0; i < m->w->services_len; i++)
		if (!m->now[i])
			break_off(m, "the initial state of %s was not recorded", m->w->services[i].name);
}

/* "/COLLECTION/ID", unescaped. */
static bool
split(const char *pointer, char collection[static 80], char id[static 300])
{
	char *out = collection;
	size_t n = 0, max = 80;
	const char *p;

	if (*pointer != '/')
		return false;
	for (p = pointer + 1; *p; p++) {
		char c = *p;

		if (c == '/' && out == collection) {
			out[n] = '\0';
			out = id;
			n = 0;
			max = 300;
			continue;
		}
		if (c == '/')
			return false;
		if (c == '~' && (p[1] == '0' || p[1] == '1'))
			c = *++p == '0' ? '~' : '/';
		if (n + 1 == max)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return out == id && n > 0;
}

/* Puts the row there, or takes it away; what was there is freed.  False: no memory. */
static bool
replace(struct check_model *m, size_t index, const cJSON *row)
{
	struct model_row *r = &m->rows[index - 1];
	struct model_collection *c = &m->collections[r->collection - 1];
	cJSON *copy = row ? cJSON_Duplicate(row, true) : NULL;

	if (row && !copy)
		return false;
	sum_change(m, r->collection, r->now, -1);
	sum_change(m, r->collection, copy, 1);
	if (r->now && copy) {
		cJSON_ReplaceItemViaPointer(c->rows, r->now, copy);
	} else if (r->now) {
		cJSON_Delete(cJSON_DetachItemViaPointer(c->rows, r->now));
		c->len--;
	} else if (copy) {
		cJSON_AddItemToArray(c->rows, copy);
		c->len++;
	}
	r->now = copy;
	return true;
}

static bool
step_row(struct check_model *m, size_t service, uint64_t n, const cJSON *told)
{
	const cJSON *row = json_get(told, "row");
	const char *at = json_get_text(told, "at"), *own = json_get_text(row, "id");
	char collection[80], id[300];
	struct model_touched *t;
	size_t c, i;
	void *p;

	if (!at || !split(at, collection, id) || !row || !(cJSON_IsNull(row) || (own && strcmp(own, id) == 0)))
		return false;
	c = collection_of(m, service, collection, strlen(collection));
	if (!c || !m->collections[c - 1].rows || !(i = row_of(m, c, collection, id)))
		return false;
	p = grow_by_one(m->touched, &m->touched_len, &m->touched_size, sizeof(*m->touched));
	if (!p)
		return false;
	m->touched = p;
	t = &m->touched[m->touched_len - 1];
	*t = (struct model_touched){ .service = service, .row = i - 1, .at = at };
	row = cJSON_IsNull(row) ? NULL : row;
	t->changed = row ? !json_equal(row, m->rows[i - 1].now) : m->rows[i - 1].now != NULL;
	m->rows[i - 1].last = m->collections[c - 1].last = (uint32_t)n + 1;
	return !t->changed || replace(m, i, row);
}

void
check_model_step(struct check_model *m, uint64_t n, const struct cJSON *op)
{
	const cJSON *rows = json_get(op, "rows"), *effects = json_get(op, "effects"), *told;
	const char *name = json_get_text(op, "service"), *view = json_get_text(json_get(op, "views"), "service");
	size_t s;

	m->touched_len = 0;
	if (m->broken)
		return;
	for (s = 0; s < m->w->services_len; s++)
		if (name && strcmp(m->w->services[s].name, name) == 0)
			break;
	if (s == m->w->services_len) /* a trigger */
		return;
	if (!cJSON_IsArray(rows)) {
		if (rows || (effects && effects->child && view && strcmp(view, "applied") == 0))
			break_off(m, "what operation %llu changed is larger than 64 KiB, or not recorded",
				  (unsigned long long)n);
		return;
	}
	if (!rows->child)
		return;
	if (!m->now[s]) {
		break_off(m, "the initial state of %s was not recorded", name);
		return;
	}
	if (m->ended) {
		break_off(m, "operation %llu came after the final state", (unsigned long long)n);
		return;
	}
	m->steps++;
	cJSON_ArrayForEach(told, rows)
	{
		if (step_row(m, s, n, told))
			continue;
		break_off(m, "what operation %llu changed cannot be followed", (unsigned long long)n);
		m->touched_len = 0;
		return;
	}
}

void
check_model_end(struct check_model *m, size_t service, const struct cJSON *doc)
{
	const cJSON *rows, *row;
	char id[300];
	size_t c, i;
	uint64_t n;

	m->ended = true;
	if (!m->now[service])
		break_off(m, "the initial state of %s was not recorded", m->w->services[service].name);
	cJSON_ArrayForEach(rows, json_get(doc, "collections"))
	{
		c = collection_of(m, service, rows->string, strlen(rows->string));
		n = 0;
		cJSON_ArrayForEach(row, rows)
		{
			n++;
			i = c && id_text(row, id) ? row_of(m, c, rows->string, id) : 0;
			if (!i || !json_equal(row, m->rows[i - 1].now))
				break_off(m, "what the operations changed does not lead to the final state of %s/%s/%s",
					  m->w->services[service].name, rows->string, i ? id : "?");
		}
		if (!c || m->collections[c - 1].len != n)
			break_off(m, "what the operations changed does not lead to the final state of %s/%s",
				  m->w->services[service].name, rows->string);
	}
}

const char *
check_model_trouble(const struct check_model *m)
{
	size_t i;

	if (m->broken)
		return m->why;
	for (i = 0; i < m->w->services_len; i++)
		if (!m->now[i])
			return "the initial state was not recorded";
	return m->ended || m->w->services_len == 0 ? NULL : "the final state was not recorded";
}

/* ---- asking ----------------------------------------------------------------------------------------------------------- */

/* The first tokens of a path: *len the bytes of the first, *row that of the row, -1 when there is none; the rest. */
static const char *
find(const struct check_model *m, size_t service, const char *path, const struct model_collection **c,
     const struct model_row **r)
{
	size_t len = *path ? strcspn(path + 1, "/") : 0, n;
	char text[512], collection[80], id[300], start[400];
	const char *rest;
	uint32_t *at;

	*c = NULL;
	*r = NULL;
	if (*path != '/' || len >= sizeof(collection))
		return NULL;
	rest = path + 1 + len;
	n = name_of(service, path + 1, len, NULL, text);
	at = n ? digest_map_find(&m->collection_map, text, n) : NULL;
	if (at)
		*c = &m->collections[*at - 1];
	if (!at || *rest != '/')
		return rest;
	len = strcspn(rest + 1, "/");
	snprintf(start, sizeof(start), "%.*s", (int)((size_t)(rest - path) + 1 + len), path);
	if (!split(start, collection, id))
		return NULL;
	n = name_of(service, collection, strlen(collection), id, text);
	at = n ? digest_map_find(&m->row_map, text, n) : NULL;
	if (at)
		*r = &m->rows[*at - 1];
	return rest + 1 + len;
}

const struct cJSON *
check_model_at(const struct check_model *m, size_t service, const char *path)
{
	const struct model_collection *c;
	const struct model_row *r;
	const char *rest = find(m, service, path, &c, &r);

	if (!rest || !c)
		return NULL;
	if (strchr(path + 1, '/') == NULL)
		return c->rows;
	return r && r->now ? json_at(r->now, rest, false) : NULL;
}

bool
check_model_count(const struct check_model *m, size_t service, const char *path, uint64_t *out)
{
	const struct model_collection *c;
	const struct model_row *r;

	if (!*path || strchr(path + 1, '/') || !find(m, service, path, &c, &r) || !c || !c->rows)
		return false;
	*out = c->len;
	return true;
}

uint32_t
check_model_last(const struct check_model *m, size_t service, const char *path)
{
	const struct model_collection *c;
	const struct model_row *r;

	if (!find(m, service, path, &c, &r))
		return 0;
	if (*path && strchr(path + 1, '/'))
		return r ? r->last : 0;
	return c ? c->last : 0;
}
