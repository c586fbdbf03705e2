/* SPDX-License-Identifier: GPL-2.0-or-later
 * resource.c - routes that are a view of a collection: list, get, create, replace, merge, delete. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/eval.h"
#include "guest/object.h"
#include "guest/request.h"
#include "guest/service.h"

/* A field equals a query value: as text, since a query has nothing else. */
static bool
is_field(struct eval *e, const struct cJSON *row, const char *field, const struct cJSON *wanted)
{
	struct value v = value_of_json(cJSON_GetObjectItemCaseSensitive(row, field));
	const char *text;

	if (v.kind != VALUE_STRING && v.kind != VALUE_NUMBER && v.kind != VALUE_BOOL)
		return false;
	text = eval_text(e, &v);
	if (text == NULL)
		return false;
	if (!cJSON_IsArray(wanted))
		return strcmp(text, wanted->valuestring) == 0;
	for (const struct cJSON *w = wanted->child; w != NULL; w = w->next)
		if (strcmp(text, w->valuestring) == 0)
			return true;
	return false;
}

static bool
is_listed(const struct route *route, const struct cJSON *query, struct eval *e, const struct cJSON *row)
{
	for (size_t i = 0; i < route->filter_len; i++) {
		const struct cJSON *wanted = cJSON_GetObjectItemCaseSensitive(query, route->filter[i]);

		if (wanted != NULL && !is_field(e, row, route->filter[i], wanted))
			return false;
	}
	return true;
}

static int
list(const struct route *route, const struct request *q, struct eval *e, struct answer *a)
{
	const struct cJSON *query = request_member(q, "query");
	bool first = true;

	buf_text(&a->body, "[");
	for (const struct row *row = route->collection->first; row != NULL && e->r == 0; row = row->after) {
		struct arena own, *outer = e->arena;
		bool listed;

		arena_init(&own, outer->max); /* texts of one row at a time */
		e->arena = &own;
		listed = is_listed(route, query, e, row->json);
		e->arena = outer;
		arena_wipe(&own);
		if (!listed)
			continue;
		if (!first)
			buf_text(&a->body, ",");
		buf_json(&a->body, row->json);
		first = false;
	}
	buf_text(&a->body, "]");
	return e->r;
}

/* The body as an object that may become the row `id`, or any row when id is NULL.  NULL: refused, the answer says why. */
static struct cJSON *
body_row(const struct request *q, const char *id, struct eval *e, struct answer *a)
{
	const struct cJSON *body = request_member(q, q->form_type ? "form" : "body");
	struct value own;
	const char *text = NULL;

	if (!cJSON_IsObject(body)) {
		answer_error(a, 400, "the body must be a JSON object");
		return NULL;
	}
	own = value_of_json(cJSON_GetObjectItemCaseSensitive(body, "id"));
	if (id != NULL && own.kind != VALUE_NULL) {
		if (own.kind == VALUE_STRING || own.kind == VALUE_NUMBER)
			text = eval_text(e, &own);
		if (text == NULL || strcmp(text, id) != 0) {
			answer_error(a, 400, "a row's id never changes");
			return NULL;
		}
	}
	return cJSON_Duplicate(body, true);
}

static int
create(struct service *s, const struct request *q, struct eval *e, struct answer *a)
{
	struct cJSON *json = body_row(q, NULL, e, a);
	const char *id;
	struct row *row;
	int r;

	if (json == NULL)
		return a->status >= 400 ? 0 : -ENOMEM;
	id = row_id(e, json, a);
	if (id == NULL) {
		cJSON_Delete(json);
		return e->r;
	}
	r = row_create(s, a->route->collection, id, json, a, &row);
	if (row != NULL) {
		a->status = 201;
		buf_json(&a->body, row->json);
	}
	return r;
}

static int
update(struct service *s, const struct request *q, struct row *row, bool whole, struct eval *e, struct answer *a)
{
	struct cJSON *json = body_row(q, row->id, e, a);
	int r;

	if (json == NULL)
		return a->status >= 400 ? 0 : -ENOMEM;
	if (!whole) {
		struct cJSON *merged = object_merged(row->json, json);

		cJSON_Delete(json);
		json = merged;
	}
	r = row_replace(s, a->route->collection, row, json, a);
	if (r == 0 && a->status < 400) {
		effect_note(a, "update", a->route->collection->name, row->id, NULL);
		buf_json(&a->body, row->json);
	}
	return r;
}

/* see answer.h */
int
resource_run(struct service *s, struct request *q, struct eval *e, struct answer *a)
{
	const struct cJSON *id = cJSON_GetObjectItemCaseSensitive(request_member(q, "path"), "id");
	int verb = route_verb_of(a->route, q), r;
	struct row *row = NULL;

	if (verb == ROUTE_LIST)
		return list(a->route, q, e, a);
	if (verb == ROUTE_CREATE)
		return create(s, q, e, a);
	if (cJSON_IsString(id))
		row = collection_row(&s->state, a->route->collection, id->valuestring);
	if (row == NULL) {
		answer_error(a, 404, "not found");
		return 0;
	}
	if (verb == ROUTE_GET) {
		buf_json(&a->body, row->json);
		return 0;
	}
	if (verb == ROUTE_REPLACE || verb == ROUTE_MERGE)
		return update(s, q, row, verb == ROUTE_REPLACE, e, a);
	r = state_delete(&s->state, a->route->collection, row);
	a->status = 204;
	if (r == 0)
		effect_note(a, "delete", a->route->collection->name, row->id, NULL);
	return r;
}
