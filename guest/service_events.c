/* SPDX-License-Identifier: GPL-2.0-or-later
 * service_events.c - what the twins send by themselves, read from the TWINS JSON: webhooks of services, triggers, and when the
 * workflow is ready and ends. */
#include <cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guest/service.h"
#include "proto/limits.h"

#define EMITS_MAX 16u
#define MESSAGE_MAX (2u << 20) /* bytes of one trigger: a world has no more */

static int
read_text(struct reading *g, const struct cJSON *object, const char *name, const char **out)
{
	const struct cJSON *s = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsString(s) || s->valuestring[0] == '\0')
		return reading_fail(g, -EPROTO, "\"%s\" must be a string that is not empty", name);
	*out = s->valuestring;
	return 0;
}

/* An optional whole number; *out stays what it is without one. */
static int
read_ms(struct reading *g, const struct cJSON *object, const char *name, uint32_t *out)
{
	const struct cJSON *n = cJSON_GetObjectItemCaseSensitive(object, name);

	if (n == NULL)
		return 0;
	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0 && n->valuedouble <= RUN_MS_MAX))
		return reading_fail(g, -EPROTO, "\"%s\" must be a number of milliseconds", name);
	*out = (uint32_t)n->valuedouble;
	return 0;
}

static int
read_endpoint(struct reading *g, const char *url, struct endpoint *out)
{
	const char *problem;
	int r = endpoint_parse(url, &g->world->arena, out, &problem);

	return r == -EPROTO ? reading_fail(g, r, "%s", problem) : r;
}

static int
read_retry(struct reading *g, const struct cJSON *json, struct events_spec *s)
{
	const struct cJSON *retry = cJSON_GetObjectItemCaseSensitive(json, "retry"), *n;

	if (retry != NULL && (!cJSON_IsArray(retry) || cJSON_GetArraySize(retry) > (int)EVENTS_RETRIES_MAX))
		return reading_fail(g, -EPROTO, "retry is an array of at most %u numbers", EVENTS_RETRIES_MAX);
	for (n = retry == NULL ? NULL : retry->child; n != NULL; n = n->next) {
		if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0 && n->valuedouble <= RUN_MS_MAX))
			return reading_fail(g, -EPROTO, "retry holds milliseconds");
		s->retry[s->retry_len++] = (uint32_t)n->valuedouble;
	}
	return 0;
}

/* see service.h */
int
events_read(struct reading *g, const struct cJSON *service)
{
	const struct cJSON *json = reading_enter(g, service, "events");
	const char *url = "", *scheme = "", *order = NULL;
	char signature[SIGN_MAX];
	struct events_spec *s;
	int r;

	if (json == NULL)
		return 0;
	s = arena_alloc(&g->world->arena, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	if ((r = reading_check_keys(g, json, "endpoint scheme secret retry order challenge")) < 0 ||
	    (r = read_text(g, json, "endpoint", &url)) < 0 || (r = read_text(g, json, "scheme", &scheme)) < 0 ||
	    (r = read_text(g, json, "secret", &s->secret)) < 0 || (r = read_endpoint(g, url, &s->endpoint)) < 0 ||
	    (r = read_retry(g, json, s)) < 0)
		return r;
	if (sign_scheme_of(scheme, &s->scheme) < 0)
		return reading_fail(g, -EPROTO, "scheme must be stripe, github, slack or standard-webhooks");
	if (sign_text(s->scheme, s->secret, "", 0, "", 0, signature) < 0)
		return reading_fail(g, -EPROTO, "the secret of standard-webhooks is base64 of 24 to 64 bytes");
	if (cJSON_GetObjectItemCaseSensitive(json, "order") != NULL && (r = read_text(g, json, "order", &order)) < 0)
		return r;
	if (order != NULL && strcmp(order, "emitted") != 0 && strcmp(order, "reversed") != 0)
		return reading_fail(g, -EPROTO, "order must be emitted or reversed");
	s->reversed = order != NULL && strcmp(order, "reversed") == 0;
	s->challenge = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "challenge"));
	if (s->challenge && s->scheme != SIGN_SLACK)
		return reading_fail(g, -EPROTO, "only slack asks an endpoint for a challenge");
	g->service->events = s;
	return 0;
}

/* Whether an event of a resource's short form is one of this route, which is one of its verbs. */
static bool
is_of_verb(const char *on, enum route_verb verb)
{
	return (strcmp(on, "create") == 0 && verb == ROUTE_CREATE) ||
	       (strcmp(on, "update") == 0 && (verb == ROUTE_REPLACE || verb == ROUTE_MERGE)) ||
	       (strcmp(on, "delete") == 0 && verb == ROUTE_DELETE);
}

/* The next of emits, if it is one of this route.  A resource tells of its row, which templates call "row". */
static int
read_emit(struct reading *g, const struct cJSON *json, struct route *route, struct emit_spec *emits)
{
	static char name[] = "data", whole[] = "{{row}}";
	static struct cJSON data = { .type = cJSON_String, .string = name, .valuestring = whole };
	static const struct cJSON usual = { .type = cJSON_Object, .child = &data };
	static const struct effect row = { .as = "row" };
	bool resource = route->verb != ROUTE_CUSTOM, is_short = resource && route->verb != ROUTE_RESOURCE;
	struct emit_spec *emit = &emits[route->emits_len];
	const char *on = NULL;
	int r;

	if ((r = reading_check_keys(g, json, is_short ? "event data on" : "event data")) < 0 ||
	    (r = read_text(g, json, "event", &emit->event)) < 0 ||
	    (r = is_short ? read_text(g, json, "on", &on) : 0) < 0)
		return r;
	if (on != NULL && !is_of_verb(on, route->verb))
		return 0;
	if (resource) {
		g->bound = &row;
		g->bound_len = 1;
		if (cJSON_GetObjectItemCaseSensitive(json, "data") == NULL)
			json = &usual;
	}
	r = template_read(g, json, "data", &emit->data);
	g->bound_len = resource ? 0 : g->bound_len;
	route->emits_len += r == 0;
	return r;
}

/* see service.h */
int
emits_read(struct reading *g, const struct cJSON *json, struct route *route)
{
	size_t len = g->pointer.len, inner, i = 0;
	const struct cJSON *array = reading_enter(g, json, "emit");
	struct emit_spec *emits;

	if (array == NULL)
		return 0;
	if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > (int)EMITS_MAX)
		return reading_fail(g, -EPROTO, "emit is an array of at most %u events", EMITS_MAX);
	if (g->service->events == NULL)
		return reading_fail(g, -EPROTO, "the service has no \"events\" to send it by");
	emits = arena_alloc(&g->world->arena, ((size_t)cJSON_GetArraySize(array) + 1) * sizeof(*emits));
	if (emits == NULL)
		return -ENOMEM;
	route->emits = emits;
	inner = g->pointer.len;
	for (const struct cJSON *c = array->child; c != NULL; c = c->next, i++) {
		int r;

		buf_format(&g->pointer, "/%zu", i);
		if ((r = read_emit(g, c, route, emits)) < 0)
			return r;
		g->pointer.len = inner;
	}
	g->pointer.len = len;
	return 0;
}

/* ---- triggers -------------------------------------------------------------------------------------------------------- */

static bool
is_word(const char *s, const char *allowed)
{
	return s[0] != '\0' && s[strspn(s, allowed)] == '\0';
}

/* "Name: value" lines of the world's headers; *type: one of them is Content-Type. */
static int
put_headers(struct reading *g, const struct cJSON *headers, struct buf *out, bool *type)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	static const char *const ours[] = { "host",   "content-length", "connection", "transfer-encoding",
					    "expect", "upgrade" };

	if (headers != NULL && !cJSON_IsObject(headers))
		return reading_fail(g, -EPROTO, "headers must be an object");
	for (const struct cJSON *h = headers == NULL ? NULL : headers->child; h != NULL; h = h->next) {
		if (!is_word(h->string, token) || !cJSON_IsString(h) || strpbrk(h->valuestring, "\r\n") != NULL)
			return reading_fail(g, -EPROTO, "a header is a name and a text of one line");
		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			if (strcasecmp(h->string, ours[i]) == 0)
				return reading_fail(g, -EPROTO, "header \"%.60s\" may not be set", h->string);
		*type = *type || strcasecmp(h->string, "content-type") == 0;
		buf_format(out, "%s: %s\r\n", h->string, h->valuestring);
	}
	return 0;
}

/* application/x-www-form-urlencoded. */
static void
put_encoded(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*", c) != NULL)
			buf_add(out, s, 1);
		else if (c == ' ')
			buf_text(out, "+");
		else
			buf_format(out, "%%%02X", c);
	}
}

static int
put_form(struct reading *g, const struct cJSON *form, struct buf *out)
{
	if (!cJSON_IsObject(form))
		return reading_fail(g, -EPROTO, "form must be an object of fields");
	for (const struct cJSON *f = form->child; f != NULL; f = f->next) {
		struct buf text;

		buf_init(&text, 65536);
		if (cJSON_IsString(f))
			buf_text(&text, f->valuestring);
		else
			buf_json(&text, f);
		buf_text(out, out->len > 0 ? "&" : "");
		put_encoded(out, f->string);
		buf_text(out, "=");
		put_encoded(out, buf_terminate(&text) == NULL ? "" : text.at);
		buf_wipe(&text);
	}
	return 0;
}

/* The body and its type, of which there is at most one. */
static int
put_body(struct reading *g, const struct cJSON *http, struct buf *body, const char **type)
{
	const struct cJSON *json = cJSON_GetObjectItemCaseSensitive(http, "json"),
			   *form = cJSON_GetObjectItemCaseSensitive(http, "form"),
			   *text = cJSON_GetObjectItemCaseSensitive(http, "body");

	if ((json != NULL) + (form != NULL) + (text != NULL) > 1)
		return reading_fail(g, -EPROTO, "a request has json, form or body, not two of them");
	if (text != NULL && !cJSON_IsString(text))
		return reading_fail(g, -EPROTO, "body must be a string");
	*type = json != NULL ? "application/json" : form != NULL ? "application/x-www-form-urlencoded" : "text/plain";
	if (json != NULL)
		buf_json(body, json);
	else if (text != NULL)
		buf_text(body, text->valuestring);
	return form != NULL ? put_form(g, form, body) : 0;
}

static int
read_http(struct reading *g, const struct cJSON *http, struct trigger_spec *t)
{
	const char *method = "POST", *url = "", *type = "", *lines;
	struct buf headers, body, bytes;
	struct message *m = &t->message;
	bool has_type = false;
	char *copy;
	int r;

	if ((r = reading_check_keys(g, http, "method url headers json form body")) < 0 ||
	    (r = read_text(g, http, "url", &url)) < 0 || (r = read_endpoint(g, url, &t->endpoint)) < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(http, "method") != NULL && (r = read_text(g, http, "method", &method)) < 0)
		return r;
	if (!is_word(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		return reading_fail(g, -EPROTO, "a method has capital letters");
	buf_init(&headers, MESSAGE_MAX);
	buf_init(&body, MESSAGE_MAX);
	buf_init(&bytes, 3 * MESSAGE_MAX);
	r = put_headers(g, cJSON_GetObjectItemCaseSensitive(http, "headers"), &headers, &has_type);
	if (r == 0)
		r = put_body(g, http, &body, &type);
	if (r == 0 && !has_type && body.len > 0)
		buf_format(&headers, "Content-Type: %s\r\n", type);
	lines = buf_terminate(&headers);
	if (r == 0 && (lines == NULL || body.failed ||
		       !message_put(m, &bytes, method, &t->endpoint, lines, body.at == NULL ? "" : body.at, body.len)))
		r = reading_fail(g, -EMSGSIZE, "the request is too long");
	copy = r == 0 ? arena_copy(&g->world->arena, bytes.at, bytes.len) : NULL;
	if (r == 0 && copy == NULL)
		r = -ENOMEM;
	m->bytes = copy;
	buf_wipe(&headers);
	buf_wipe(&body);
	buf_wipe(&bytes);
	return r;
}

static int
read_event(struct reading *g, const struct cJSON *event, struct trigger_spec *t)
{
	const char *service = "";
	int r;

	if ((r = reading_check_keys(g, event, "service event data")) < 0 ||
	    (r = read_text(g, event, "service", &service)) < 0 || (r = read_text(g, event, "event", &t->event)) < 0)
		return r;
	t->data = cJSON_GetObjectItemCaseSensitive(event, "data");
	for (size_t i = 0; i < g->world->services_len; i++)
		if (strcmp(g->world->services[i].name, service) == 0)
			t->service = &g->world->services[i];
	if (t->service == NULL || t->service->events == NULL)
		return reading_fail(g, -EPROTO, "no service \"%.60s\" with \"events\"", service);
	return 0;
}

static int
read_signal(struct reading *g, const struct cJSON *json, struct trigger_spec *t)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = { { "SIGHUP", SIGHUP },   { "SIGINT", SIGINT },   { "SIGUSR1", SIGUSR1 },  { "SIGUSR2", SIGUSR2 },
			{ "SIGTERM", SIGTERM }, { "SIGCONT", SIGCONT }, { "SIGWINCH", SIGWINCH } };
	int r = read_text(g, json, "signal", &t->signal_name);

	for (size_t i = 0; r == 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(signals[i].name, t->signal_name) == 0)
			t->signal = signals[i].number;
	return r == 0 && t->signal == 0 ? reading_fail(g, -EPROTO, "this signal is none that a trigger may send") : r;
}

static int
read_expr(struct reading *g, const char *text, struct expr *out)
{
	struct lang_error e = { 0 };
	int r = expr_compile(text, NULL, NULL, &g->world->arena, out, &e);

	return r < 0 && r != -ENOMEM ? reading_fail(g, r, "%s at byte %zu", e.problem, e.offset) : r;
}

static int
read_trigger(struct reading *g, const struct cJSON *json, struct trigger_spec *t)
{
	const struct cJSON *http = cJSON_GetObjectItemCaseSensitive(json, "http"),
			   *event = cJSON_GetObjectItemCaseSensitive(json, "event"),
			   *sig = cJSON_GetObjectItemCaseSensitive(json, "signal"),
			   *after = cJSON_GetObjectItemCaseSensitive(json, "after");
	int r;

	if ((r = reading_check_keys(g, json, "id http event signal at after")) < 0 ||
	    (r = read_text(g, json, "id", &t->id)) < 0 || (r = read_ms(g, json, "at", &t->at_ms)) < 0)
		return r;
	t->has_after = cJSON_IsString(after);
	r = t->has_after ? read_expr(g, after->valuestring, &t->after) : read_ms(g, json, "after", &t->after_ms);
	if (r < 0)
		return r;
	if ((http != NULL) + (event != NULL) + (sig != NULL) != 1)
		return reading_fail(g, -EPROTO, "a trigger is one of http, event and signal");
	if (http != NULL) {
		t->kind = TRIGGER_HTTP;
		return read_http(g, http, t);
	}
	t->kind = event != NULL ? TRIGGER_EVENT : TRIGGER_SIGNAL;
	return event != NULL ? read_event(g, event, t) : read_signal(g, json, t);
}

/* ---- ready, ends ------------------------------------------------------------------------------------------------------ */

static int
read_ready(struct reading *g, const struct cJSON *json)
{
	struct workflow_spec *w = &g->world->workflow;
	const struct cJSON *port = cJSON_GetObjectItemCaseSensitive(json, "port");
	int r;

	if ((r = reading_check_keys(g, json, "port line")) < 0)
		return r;
	if (port == NULL)
		return read_text(g, json, "line", &w->ready_line);
	if (!cJSON_IsNumber(port) || !(port->valuedouble >= 1 && port->valuedouble <= 65535))
		return reading_fail(g, -EPROTO, "port must be a number from 1 to 65535");
	w->has_ready_port = true;
	w->ready = (struct endpoint){ .v4 = true, .v6 = true, .port = (uint16_t)port->valuedouble };
	return 0;
}

static int
read_ends(struct reading *g, const struct cJSON *json)
{
	struct workflow_spec *w = &g->world->workflow;
	const char *when = "";
	int r;

	if ((r = reading_check_keys(g, json, "exit triggers when settle_ms")) < 0 ||
	    (r = read_ms(g, json, "settle_ms", &w->settle_ms)) < 0)
		return r;
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "triggers")))
		w->ends = ENDS_TRIGGERS;
	if (cJSON_GetObjectItemCaseSensitive(json, "when") == NULL)
		return 0;
	w->ends = ENDS_WHEN;
	r = read_text(g, json, "when", &when);
	return r < 0 ? r : read_expr(g, when, &w->when);
}

static int
read_triggers(struct reading *g, const struct cJSON *array)
{
	struct workflow_spec *w = &g->world->workflow;
	size_t len = g->pointer.len;
	int r;

	if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > (int)TRIGGERS_MAX)
		return reading_fail(g, -EPROTO, "trigger is an array of at most %u triggers", TRIGGERS_MAX);
	w->triggers = arena_alloc(&g->world->arena, ((size_t)cJSON_GetArraySize(array) + 1) * sizeof(*w->triggers));
	if (w->triggers == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = array->child; c != NULL; c = c->next) {
		buf_format(&g->pointer, "/%zu", w->triggers_len);
		if ((r = read_trigger(g, c, &w->triggers[w->triggers_len])) < 0)
			return r;
		w->triggers_len++;
		g->pointer.len = len;
	}
	return 0;
}

/* see service.h */
int
workflow_read(struct reading *g)
{
	struct workflow_spec *w = &g->world->workflow;
	const struct cJSON *json = reading_enter(g, g->world->doc, "workflow"), *part;
	size_t len = g->pointer.len;
	int r;

	w->trigger_ms = TRIGGER_MS_DEFAULT;
	if (json == NULL)
		return 0;
	if ((r = reading_check_keys(g, json, "ready trigger ends trigger_ms")) < 0 ||
	    (r = read_ms(g, json, "trigger_ms", &w->trigger_ms)) < 0)
		return r;
	part = reading_enter(g, json, "ready");
	if (part != NULL && (r = read_ready(g, part)) < 0)
		return r;
	g->pointer.len = len;
	part = reading_enter(g, json, "trigger");
	if (part != NULL && (r = read_triggers(g, part)) < 0)
		return r;
	g->pointer.len = len;
	part = reading_enter(g, json, "ends");
	if (part != NULL && (r = read_ends(g, part)) < 0)
		return r;
	g->pointer.len = len;
	return 0;
}
