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
	return q->form_type ? object_of_form(body) : cJSON_Duplicate(body, true);
}

/* What the service tells of a row that was made, changed or deleted. */
static int
tell(const struct row *row, struct eval *e, struct answer *a)
{
	int r;

	e->bound[0] = (struct bound){ .name = "row", .row = row->json };
	e->bound_len = 1;
	r = emits_run(e, a);
	if (r == -EMSGSIZE) {
		answer_too_large(a, "an event's data are larger than 16 MiB, or their parts larger than 64 MiB");
		r = e->r = 0;
	}
	return r;
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
		a->status = s->profile == PROFILE_STRIPE ? 200 : 201;
		buf_json(&a->body, row->json);
		r = tell(row, e, a);
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
		r = tell(row, e, a);
	}
	return r;
}

/* The journal has the row until the change is kept. */
static int delete (struct service *s, struct row *row, struct eval *e, struct answer *a)
{
	int r = state_delete(&s->state, a->route->collection, row);

	if (r < 0)
		return r;
	effect_note(a, "delete", a->route->collection->name, row->id, NULL);
	if (s->profile == PROFILE_STRIPE) {
		buf_text(&a->body, "{\"id\":");
		buf_json_text(&a->body, row->id);
		buf_text(&a->body, ",\"deleted\":true}");
	} else {
		a->status = 204;
	}
	return tell(row, e, a);
}

/* see answer.h */
int
resource_run(struct service *s, struct request *q, struct eval *e, struct answer *a)
{
	const struct cJSON *id = cJSON_GetObjectItemCaseSensitive(request_member(q, "path"), "id");
	int verb = route_verb_of(a->route, q);
	struct row *row = NULL;

	if (verb == ROUTE_LIST) {
		list_run(s, q, a);
		return 0;
	}
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
	return delete (s, row, e, a);
}
