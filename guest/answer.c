/* SPDX-License-Identifier: GPL-2.0-or-later
 * answer.c - one request from arrival to reply.  Everything that it changes is kept at the end or not at all, and nothing
 * else runs in between: matching, guard and effects are one step. */
#include "guest/answer.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/eval.h"
#include "guest/llm.h"
#include "guest/object.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/frame.h"
#include "proto/utf8.h"

#define ID_LEN 14u

/* see answer.h */
void
answer_init(struct answer *a)
{
	*a = (struct answer){ .status = 200, .view = "applied" };
	buf_init(&a->headers, 65536);
	buf_init(&a->body, ANSWER_BODY_MAX);
	buf_init(&a->effects, 1u << 20);
	buf_init(&a->rows, ANSWER_ROWS_MAX);
	fault_verdict_init(&a->faults);
}

/* see answer.h */
void
answer_wipe(struct answer *a)
{
	fault_verdict_wipe(&a->faults);
	while (a->emitted != NULL) {
		struct emitted *next = a->emitted->next;

		cJSON_Delete(a->emitted->data);
		free(a->emitted);
		a->emitted = next;
	}
	buf_wipe(&a->headers);
	buf_wipe(&a->body);
	buf_wipe(&a->effects);
	buf_wipe(&a->rows);
	free(a->frames);
	free(a->marks);
	a->frames = NULL;
	a->marks = NULL;
	a->frames_len = a->marks_len = 0;
}

/* see answer.h */
void
answer_error(struct answer *a, int status, const char *text)
{
	static const struct service nobody = { .profile = PROFILE_GENERIC };

	answer_profile_error(a->service == NULL ? &nobody : a->service, a, status, NULL, text);
}

/* see answer.h */
void
answer_too_large(struct answer *a, const char *text)
{
	answer_error(a, 500, text);
	a->unmatched = true;
	a->nearest = a->route;
	snprintf(a->difference, sizeof(a->difference), "%s", text);
}

/* see answer.h */
void
effect_note(struct answer *a, const char *verb, const char *collection, const char *id, const char *field)
{
	const char *parts[3] = { collection, id, field };
	struct buf pointer;

	buf_init(&pointer, 4096);
	for (size_t i = 0; i < 3 && parts[i] != NULL; i++) {
		buf_text(&pointer, "/");
		for (const char *c = parts[i]; *c != '\0'; c++) {
			if (*c == '~' || *c == '/')
				buf_text(&pointer, *c == '~' ? "~0" : "~1");
			else
				buf_add(&pointer, c, 1);
		}
	}
	buf_text(&a->effects, a->effects.len > 0 ? ",{" : "{");
	buf_json_text(&a->effects, verb);
	buf_text(&a->effects, ":");
	buf_json_string(&a->effects, pointer.at == NULL ? "" : pointer.at, pointer.len);
	buf_text(&a->effects, "}");
	buf_wipe(&pointer);
}

/* see answer.h */
bool
is_row_id(const char *id)
{
	size_t len = strlen(id);

	return len > 0 && len <= STATE_ID_MAX && utf8_is_valid(id, len);
}

/* see answer.h */
const char *
row_id(struct eval *e, const struct cJSON *json, struct answer *a)
{
	struct value v = value_of_json(cJSON_GetObjectItemCaseSensitive(json, "id"));
	const char *id = NULL;

	if (v.kind == VALUE_NULL) {
		if (e->id == NULL)
			e->id = e->draw(e->draw_arg);
		return e->id;
	}
	if (v.kind == VALUE_STRING || v.kind == VALUE_NUMBER)
		id = eval_text(e, &v);
	if (id != NULL && is_row_id(id)) {
		id = arena_copy(e->arena, id, strlen(id)); /* json's own is about to be replaced */
		if (id == NULL && e->r == 0)
			e->r = -ENOMEM;
		return id;
	}
	answer_error(a, 400, "id must be a text of 1 to 255 bytes");
	return NULL;
}

/* What the state says of a change, as a reply.  0 when that is all; -ENOMEM. */
static int
refused(int r, struct answer *a)
{
	if (r == -EEXIST)
		answer_error(a, 409, "a row with this id exists");
	else if (r == -ENOSPC)
		answer_error(a, 507, "the run's limit of state is reached");
	else if (r == -EMSGSIZE)
		answer_error(a, 400, "nested too deep");
	else
		return r;
	return 0;
}

/* see answer.h */
int
row_create(struct service *s, struct collection *c, const char *id, struct cJSON *json, struct answer *a,
	   struct row **row)
{
	int r;

	*row = NULL;
	if (json == NULL || !object_set_id(json, id)) {
		cJSON_Delete(json);
		return -ENOMEM;
	}
	r = state_create(&s->state, c, id, json, row);
	if (r < 0) {
		*row = NULL;
		return refused(r, a);
	}
	effect_note(a, "create", c->name, id, NULL);
	return 0;
}

/* see answer.h */
int
row_replace(struct service *s, struct collection *c, struct row *row, struct cJSON *json, struct answer *a)
{
	int r;

	if (json == NULL || !object_set_id(json, row->id)) {
		cJSON_Delete(json);
		return -ENOMEM;
	}
	r = state_replace(&s->state, c, row, json);
	return r < 0 ? refused(r, a) : 0;
}

struct drawing {
	struct world *world;
	struct service *service;
	const struct request *request;
	struct draw_call *call;
	uint64_t n; /* ids drawn for this call */
	int failed; /* -ENOMEM */
	char id[ID_LEN + 1];
};

/* In base 36.  The same call gets the same ids in the next run, whatever the clock says and whatever came before it. */
static const char *
draw(void *arg)
{
	struct drawing *d = arg;
	uint8_t digest[32];
	size_t n = 0;

	d->id[0] = '\0';
	if (d->failed == 0)
		d->failed = draw_enter(d->world, d->service, d->request, d->call);
	if (d->failed < 0)
		return d->id;
	for (unsigned again = 0; n < ID_LEN; again++) {
		draw_take(d->world, d->call, "agenttwin-id/2", d->n * 256 + again, digest);
		for (size_t i = 0; i < 32 && n < ID_LEN; i++)
			if (digest[i] < 252) /* 7 times 36: no character is likelier than another */
				d->id[n++] = "abcdefghijklmnopqrstuvwxyz0123456789"[digest[i] % 36];
	}
	d->id[ID_LEN] = '\0';
	d->n++;
	return d->id;
}

static void
no_route(const struct service *s, const struct request *q, struct answer *a)
{
	char text[400];

	if (!s->unmatched_fails) {
		answer_error(a, 404, "not found");
		return;
	}
	a->unmatched = true;
	snprintf(text, sizeof(text), "no route matches %s %.300s", q->method, q->target);
	answer_error(a, 404, text);
	if (a->body.failed)
		return;
	a->body.len--; /* its closing brace */
	buf_text(&a->body, ",\"nearest\":");
	buf_json_text(&a->body, a->nearest == NULL ? NULL : a->nearest->id);
	buf_text(&a->body, ",\"difference\":");
	buf_json_text(&a->body, a->difference);
	buf_text(&a->body, "}");
}

static void
wrong_host(const struct service *s, const struct request *q, struct answer *a)
{
	a->unmatched = true;
	snprintf(a->difference, sizeof(a->difference), "the host is '%.100s', the service's is '%.100s'", q->host,
		 s->hosts[0]);
	answer_error(a, 421, "this service does not answer for that host");
}

static bool
is_body_valid(const struct request *q, struct answer *a)
{
	char text[160];

	if (!q->json_type || q->body_problem[0] == '\0')
		return true;
	snprintf(text, sizeof(text), "the body is not valid JSON: %s", q->body_problem);
	answer_error(a, 400, text);
	return false;
}

/* The key keeps the reply of a route that came to its own; *kept. */
static int
settle_key(struct service *s, struct answer *a, bool *kept)
{
	int r;

	*kept = false;
	if (a->key == NULL || !a->executed || a->unmatched)
		return 0;
	r = idempotency_store(s, a);
	*kept = r == 0;
	if (r != -ENOSPC)
		return r;
	answer_error(a, 507, "the run's limit of state is reached");
	return 0;
}

/* The effects are kept, or nothing of them is. */
static int
apply(struct service *s, struct request *q, struct eval *e, struct answer *a, const struct llm_call *call)
{
	int r = s->llm != NULL                   ? llm_run(s, q, e, a, call)
		: a->route->verb == ROUTE_CUSTOM ? effects_run(s, q, e, a)
						 : resource_run(s, q, e, a);
	bool kept = false;

	a->executed = a->executed || (a->route->verb != ROUTE_CUSTOM && strcmp(a->view, "rejected") != 0);
	if (r == 0 && (a->body.failed || a->headers.failed || a->effects.failed))
		answer_too_large(a, "the reply is larger than 16 MiB");
	if (r == 0)
		r = settle_key(s, a, &kept);
	if (r == 0 && strcmp(a->view, "rejected") != 0) {
		if (s->records_rows)
			state_changes(&s->state, &a->rows);
		state_keep(&s->state);
	} else {
		state_undo(&s->state);
	}
	if (!kept)
		idempotency_drop(s, a); /* after the accounts are what they were when it was reserved */
	return r;
}

static bool
has_credential(const struct service *s, const struct request *q)
{
	const char *own = request_header(q, s->auth == AUTH_HEADER ? s->auth_header : "authorization");

	return own != NULL || (s->profile == PROFILE_ANTHROPIC &&
			       (request_header(q, "authorization") != NULL || request_header(q, "x-api-key") != NULL));
}

/* The host is right. */
static int
serve(struct world *w, struct service *s, struct request *q, struct eval *e, struct answer *a)
{
	struct llm_call call = { 0 };
	bool go;
	int r = s->llm != NULL ? llm_find(s, q, a, &call) : route_find(s, q, e, a);

	if (r < 0)
		return r;
	if (!credential_is_accepted(s, q)) {
		a->unmatched = a->route == NULL && s->unmatched_fails;
		profile_unauthorized(s, a, !has_credential(s, q));
		return 0;
	}
	if (a->route == NULL) {
		/* a body that nobody can read fits no route that wants one: the real service would say what is wrong with it */
		if (s->llm != NULL || a->nearest == NULL || !route_is_at(a->nearest, q) || is_body_valid(q, a))
			no_route(s, q, a);
		return 0;
	}
	if (!rate_take(s, e->now, a) || !is_body_valid(q, a))
		return 0;
	if (call.status != 0) { /* as the service itself would */
		answer_profile_error(s, a, call.status, call.code, call.refusal);
		return 0;
	}
	r = fault_before(w, s, q, e, a, &go);
	if (r < 0 || !go)
		return r;
	r = idempotency_begin(s, q, e->now, a, &go);
	if (r == 0 && go)
		r = apply(s, q, e, a, &call);
	return r < 0 ? r : fault_after(w, s, q, e, a);
}

/* see answer.h */
int
answer_request(struct world *w, struct service *s, struct request *q, double now, struct answer *a)
{
	struct drawing d = { .world = w, .service = s, .request = q, .call = &a->call };
	struct bound bound[EVAL_BOUND_MAX];
	struct eval e = { .request = q->json,
			  .state = &s->state,
			  .bound = bound,
			  .arena = &q->arena,
			  .now = now,
			  .seed = w->seed,
			  .draw = draw,
			  .draw_arg = &d };
	int r;

	if (q->host != NULL && !host_is_of(s, q->host)) {
		wrong_host(s, q, a);
		return 0;
	}
	a->service = s;
	r = profile_request_id(w, s, q, a);
	if (r == 0)
		r = serve(w, s, q, &e, a);
	if (r == 0)
		r = d.failed;
	if (r < 0)
		return r;
	a->tells_error = a->status >= 400 || (s->profile == PROFILE_SLACK && a->body.len > 11 &&
					      memcmp(a->body.at, "{\"ok\":false", 11) == 0);
	profile_headers(s, q, a);
	rate_headers(s, a);
	fault_shape(w, q, a);
	return 0;
}
