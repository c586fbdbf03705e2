/* SPDX-License-Identifier: GPL-2.0-or-later
 * effects.c - the effects of a custom route in their order, then its reply. */
#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guest/answer.h"
#include "guest/eval.h"
#include "guest/object.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/number.h"

/* One pass over a route. */
struct pass {
	struct service *s;
	struct request *q;
	struct eval *e;
	struct answer *a;
	const struct cJSON *last; /* the row touched last, the default body */
	bool stopped;             /* a reply stands already */
};

static void
add_header(struct answer *a, const char *name, const char *value)
{
	a->has_type = a->has_type || strcasecmp(name, "content-type") == 0;
	buf_text(&a->headers, name);
	buf_text(&a->headers, ": ");
	for (const char *c = value; *c != '\0'; c++) {
		char safe = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c; /* no line of its own */

		buf_add(&a->headers, &safe, 1);
	}
	buf_text(&a->headers, "\r\n");
}

/* Text goes out as it is when the reply says that it is no JSON. */
static void
put_body(struct answer *a, const struct cJSON *body, const char *type)
{
	if (type != NULL && strcasestr(type, "json") == NULL && cJSON_IsString(body))
		buf_text(&a->body, body->valuestring);
	else
		buf_json(&a->body, body);
}

static int
render_reply(struct pass *p, const struct reply_spec *reply, int status, const struct cJSON *otherwise)
{
	struct cJSON *headers = NULL, *body = NULL;
	const char *type = NULL;

	p->e->id = NULL;
	if (reply != NULL && reply->code != NULL) { /* the profile's body; headers follow */
		struct buf effects = p->a->effects;
		const char *view = p->a->view;
		int wanted = reply->status != 0 ? reply->status : status;

		buf_init(&p->a->effects, 1u << 20); /* moved: what was done stays done */
		answer_profile_error(p->s, p->a, wanted < 400 ? 400 : wanted, reply->code, NULL);
		p->a->effects = effects;
		p->a->view = effects.len > 0 ? view : "rejected";
		status = p->a->status;
	} else {
		status = reply != NULL && reply->status != 0 ? reply->status : status;
	}
	p->a->status = status;
	if (reply != NULL && reply->headers != NULL)
		headers = template_render(p->e, reply->headers);
	for (const struct cJSON *h = headers == NULL ? NULL : headers->child; h != NULL; h = h->next) {
		struct value v = value_of_json(h);
		const char *text = eval_text(p->e, &v);

		if (text != NULL)
			add_header(p->a, h->string, text);
		if (text != NULL && strcasecmp(h->string, "content-type") == 0)
			type = text;
	}
	if (reply != NULL && reply->code != NULL) {
		/* it stands */
	} else if (reply != NULL && reply->body != NULL) {
		body = template_render(p->e, reply->body);
		if (body != NULL)
			put_body(p->a, body, type);
	} else if (otherwise != NULL) {
		buf_json(&p->a->body, otherwise);
	} else {
		buf_text(&p->a->body, "{}");
	}
	cJSON_Delete(headers);
	cJSON_Delete(body);
	return p->e->r;
}

/* find or require did not hold: its own reply, else one of the generic profile. */
static int
stop(struct pass *p, const struct effect *effect)
{
	const struct reply_spec *reply = effect->otherwise;
	int status = effect->kind == EFFECT_REQUIRE ? 409 : 404, r = 0;

	p->stopped = true;
	answer_error(p->a, reply != NULL && reply->status != 0 ? reply->status : status,
		     effect->kind == EFFECT_REQUIRE ? "a condition does not hold" : "not found");
	if (reply == NULL)
		return 0;
	if (reply->code != NULL) {
		p->a->body.len = 0;
		return render_reply(p, reply, status, NULL);
	}
	if (reply->body != NULL || reply->headers != NULL) {
		struct buf generic = p->a->body;

		buf_init(&p->a->body, ANSWER_BODY_MAX);
		r = render_reply(p, reply, status, NULL);
		if (reply->body == NULL) { /* headers only: the generic body stays */
			buf_wipe(&p->a->body);
			p->a->body = generic;
		} else {
			buf_wipe(&generic);
		}
	}
	return r;
}

static void
refuse(struct pass *p, int status, const char *text)
{
	p->stopped = true;
	answer_error(p->a, status, text);
}

static void
bind(struct pass *p, const struct effect *effect, const struct cJSON *row)
{
	p->last = row;
	if (effect->as != NULL)
		p->e->bound[p->e->bound_len++] = (struct bound){ .name = effect->as, .row = row };
}

/* The row that `id` names.  NULL: there is none, and the reply says so. */
static struct row *
row_of(struct pass *p, const struct effect *effect)
{
	struct value v = template_value(p->e, effect->id);
	const char *id = v.kind == VALUE_STRING || v.kind == VALUE_NUMBER ? eval_text(p->e, &v) : NULL;
	struct row *row = p->e->r == 0 && id != NULL ? collection_row(&p->s->state, effect->collection, id) : NULL;

	if (row == NULL && p->e->r == 0 && effect->kind != EFFECT_FIND)
		refuse(p, 404, "not found");
	return row;
}

static int
run_create(struct pass *p, const struct effect *effect)
{
	const struct cJSON *body = request_member(p->q, "body"), *form = request_member(p->q, "form");
	struct cJSON *json;
	const char *id = NULL;
	struct row *row;
	int r;

	if (effect->data != NULL)
		json = template_render(p->e, effect->data);
	else
		json = body == NULL && p->q->form_type ? object_of_form(form) : cJSON_Duplicate(body, true);
	if (p->e->r != 0)
		return p->e->r;
	if (json == NULL && (body != NULL || p->q->form_type))
		return -ENOMEM;
	if (!cJSON_IsObject(json)) {
		cJSON_Delete(json);
		refuse(p, 400, effect->data != NULL ? "the row is no JSON object" : "the body must be a JSON object");
		return 0;
	}
	if (effect->id != NULL) {
		struct value v = template_value(p->e, effect->id);

		id = v.kind == VALUE_NULL || p->e->r != 0 ? NULL : eval_text(p->e, &v);
		if (id != NULL && !is_row_id(id)) {
			cJSON_Delete(json);
			refuse(p, 400, "id must be a text of 1 to 255 bytes");
			return 0;
		}
	}
	if (id == NULL && p->e->r == 0)
		id = row_id(p->e, json, p->a);
	if (id == NULL || p->e->r != 0) {
		cJSON_Delete(json);
		p->stopped = true;
		return p->e->r;
	}
	r = row_create(p->s, effect->collection, id, json, p->a, &row);
	if (row != NULL)
		bind(p, effect, row->json);
	else
		p->stopped = true;
	return r;
}

/* Puts value under name into a copy of the row and the copy into the state. */
static int
change_field(struct pass *p, const struct effect *effect, struct row *row, struct cJSON *value)
{
	struct cJSON *copy = cJSON_Duplicate(row->json, true);
	int r;

	if (copy == NULL)
		cJSON_Delete(value);
	if (copy == NULL || !object_put(copy, effect->name, value)) {
		cJSON_Delete(copy);
		return -ENOMEM;
	}
	r = row_replace(p->s, effect->collection, row, copy, p->a);
	p->stopped = strcmp(p->a->view, "rejected") == 0;
	if (r == 0 && !p->stopped) {
		effect_note(p->a, effect->kind == EFFECT_INCREMENT ? "increment" : "append", effect->collection->name,
			    row->id, effect->name);
		bind(p, effect, row->json);
	}
	return r;
}

static int
run_increment(struct pass *p, const struct effect *effect)
{
	struct row *row = row_of(p, effect);
	struct value by = { .kind = VALUE_NUMBER, .number = 1 }, old;
	double sum;

	if (row == NULL)
		return p->e->r;
	if (effect->data != NULL)
		by = template_value(p->e, effect->data);
	old = value_of_json(cJSON_GetObjectItemCaseSensitive(row->json, effect->name));
	if (p->e->r != 0)
		return p->e->r;
	if (by.kind != VALUE_NUMBER || (old.kind != VALUE_NUMBER && old.kind != VALUE_NULL)) {
		refuse(p, 400,
		       by.kind != VALUE_NUMBER ? "the amount to add is no number" : "the field to add to is no number");
		return 0;
	}
	sum = by.number + (old.kind == VALUE_NUMBER ? old.number : 0);
	if (!isfinite(sum) || fabs(sum) > NUMBER_EXACT_MAX) {
		refuse(p, 400, "the sum is too large to be exact");
		return 0;
	}
	return change_field(p, effect, row, cJSON_CreateNumber(sum));
}

static int
run_append(struct pass *p, const struct effect *effect)
{
	struct row *row = row_of(p, effect);
	const struct cJSON *old;
	struct cJSON *list, *item;

	if (row == NULL)
		return p->e->r;
	old = cJSON_GetObjectItemCaseSensitive(row->json, effect->name);
	if (old != NULL && !cJSON_IsArray(old) && !cJSON_IsNull(old)) {
		refuse(p, 400, "the field to append to is no array");
		return 0;
	}
	item = template_render(p->e, effect->data);
	if (item == NULL)
		return p->e->r;
	list = cJSON_IsArray(old) ? cJSON_Duplicate(old, true) : cJSON_CreateArray();
	if (list == NULL || !cJSON_AddItemToArray(list, item)) {
		cJSON_Delete(item);
		cJSON_Delete(list);
		return -ENOMEM;
	}
	return change_field(p, effect, row, list);
}

static int
run_update(struct pass *p, const struct effect *effect)
{
	struct row *row = row_of(p, effect);
	struct cJSON *set, *copy, *id;
	int r;

	if (row == NULL)
		return p->e->r;
	set = template_render(p->e, effect->data);
	if (set == NULL)
		return p->e->r;
	id = cJSON_GetObjectItemCaseSensitive(set, "id");
	if (id != NULL && !(cJSON_IsString(id) && strcmp(id->valuestring, row->id) == 0)) {
		cJSON_Delete(set);
		refuse(p, 400, "a row's id never changes");
		return 0;
	}
	copy = object_merged(row->json, set);
	cJSON_Delete(set);
	if (copy == NULL)
		return -ENOMEM;
	r = row_replace(p->s, effect->collection, row, copy, p->a);
	p->stopped = strcmp(p->a->view, "rejected") == 0;
	if (r == 0 && !p->stopped) {
		effect_note(p->a, "update", effect->collection->name, row->id, NULL);
		bind(p, effect, row->json);
	}
	return r;
}

static int
run_delete(struct pass *p, const struct effect *effect)
{
	struct row *row = row_of(p, effect);
	int r;

	if (row == NULL)
		return p->e->r;
	r = state_delete(&p->s->state, effect->collection, row);
	if (r == 0)
		effect_note(p->a, "delete", effect->collection->name, row->id, NULL);
	return r;
}

static int
run_set(struct pass *p, const struct effect *effect)
{
	struct cJSON *value = template_render(p->e, effect->data);
	int r;

	if (value == NULL)
		return p->e->r;
	r = state_set(&p->s->state, effect->name, value);
	if (r == -ENOSPC || r == -EMSGSIZE) {
		refuse(p, r == -ENOSPC ? 507 : 400,
		       r == -ENOSPC ? "the run's limit of state is reached" : "nested too deep");
		return 0;
	}
	if (r == 0)
		effect_note(p->a, "set", effect->name, NULL, NULL);
	return r;
}

static int
run_effect(struct pass *p, const struct effect *effect)
{
	struct row *row;

	switch (effect->kind) {
	case EFFECT_FIND:
		row = row_of(p, effect);
		if (p->e->r != 0)
			return p->e->r;
		if (row == NULL)
			return stop(p, effect);
		bind(p, effect, row->json);
		return 0;
	case EFFECT_REQUIRE:
		if (eval_is_true(p->e, &effect->require))
			return 0;
		return p->e->r != 0 ? p->e->r : stop(p, effect);
	case EFFECT_CREATE:
		return run_create(p, effect);
	case EFFECT_UPDATE:
		return run_update(p, effect);
	case EFFECT_INCREMENT:
		return run_increment(p, effect);
	case EFFECT_APPEND:
		return run_append(p, effect);
	case EFFECT_DELETE:
		return run_delete(p, effect);
	case EFFECT_SET:
		return run_set(p, effect);
	}
	return 0;
}

/* see answer.h.  It is sent once the reply has left. */
int
emits_run(struct eval *e, struct answer *a)
{
	struct emitted **last = &a->emitted;

	for (size_t i = 0; i < a->route->emits_len && e->r == 0; i++) {
		const struct emit_spec *spec = &a->route->emits[i];
		struct emitted *made = calloc(1, sizeof(*made));

		if (made == NULL)
			return -ENOMEM;
		*last = made;
		last = &made->next;
		made->event = spec->event;
		e->id = NULL;
		if (spec->data != NULL)
			made->data = template_render(e, spec->data);
	}
	return e->r;
}

/* see answer.h */
int
effects_run(struct service *s, struct request *q, struct eval *e, struct answer *a)
{
	struct pass p = { .s = s, .q = q, .e = e, .a = a };
	int r = 0;

	for (size_t i = 0; i < a->route->effects_len && r == 0 && !p.stopped; i++) {
		e->id = NULL; /* a fresh one for each effect that asks */
		r = run_effect(&p, &a->route->effects[i]);
		if (r == 0)
			r = e->r;
	}
	if (r == 0 && !p.stopped) {
		r = render_reply(&p, a->route->reply, 200, p.last);
		a->executed = true;
		if (a->status >= 400 && a->effects.len == 0)
			a->view = "rejected";
		else if (r == 0)
			r = emits_run(e, a);
	}
	if (r == -EMSGSIZE) {
		answer_too_large(
			a, "a text of the reply or of a row is larger than 16 MiB, or its parts larger than 64 MiB");
		r = e->r = 0;
	}
	return r;
}
