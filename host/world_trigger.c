/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_trigger.c - the keys `ready`, `trigger` and `ends` of `workflow`. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/json.h"
#include "host/nearest.h"
#include "host/world_read.h"

#define TRIGGERS_MAX 256u
#define LINE_MAX_LEN 4096u

/* ---- ready ------------------------------------------------------------------------------------------------------------ */

static int
read_port(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, 65535, &n);
}

static int
read_line(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, LINE_MAX_LEN, &s);

	(void)arg;
	if (r == 0 && strpbrk(s, "\r\n")) {
		r = wr_fail(c, -EPROTO, "a part of one line is looked for, and this has a line's end");
		diag_fix(c->d, "write what stands within the line");
	}
	return r;
}

int
world_read_ready(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "port", read_port, 0, NULL },
		{ "line", read_line, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	int r = wr_object(c, v, keys, "ready", arg);

	if (r < 0)
		return r;
	if (cJSON_GetArraySize(v) != 1) {
		r = wr_fail(c, -EPROTO, "ready is one of \"port\" and \"line\"");
		diag_fix(c->d,
			 "write { \"port\": 3000 }, or { \"line\": \"listening\" }: part of a line of its stdout");
		return r;
	}
	c->w->ready = v;
	return 0;
}

/* ---- trigger ---------------------------------------------------------------------------------------------------------- */

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *trigger = arg, *other, *id;
	const char *s;
	int r = wr_string(c, v, 1, 64, &s);

	if (r < 0)
		return r;
	if (!is_identifier(s, true)) {
		r = wr_fail(c, -EPROTO, "a trigger's id has letters, digits, '_' and '-' only, not a digit first");
		diag_fix(c->d, "write an id like \"ask\"");
		return r;
	}
	for (other = c->w->triggers->child; other && other != trigger; other = other->next) {
		id = cJSON_GetObjectItemCaseSensitive(other, "id");
		if (!cJSON_IsString(id) || strcmp(id->valuestring, s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "there is a trigger \"%s\" already", s);
		diag_fix(c->d, "give each trigger an id of its own");
		return r;
	}
	return 0;
}

static int
read_header(struct wr *c, const struct cJSON *v)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	static const char *const ours[] = { "host",   "content-length", "connection", "transfer-encoding",
					    "expect", "upgrade" };
	const char *s;
	size_t i;
	int r;

	if (!*v->string || strlen(v->string) > 100 || v->string[strspn(v->string, token)]) {
		r = wr_fail_key(c, -EPROTO, "this is not the name of an HTTP header");
		diag_fix(c->d, "write a name such as \"x-request-id\"");
		return r;
	}
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcasecmp(ours[i], v->string) != 0)
			continue;
		r = wr_fail_key(c, -EPROTO, "this header is set by the twins");
		diag_fix(c->d, "take it out");
		return r;
	}
	r = wr_string(c, v, 0, 8192, &s);
	if (r == 0 && strpbrk(s, "\r\n")) {
		r = wr_fail(c, -EPROTO, "a header's value is one line");
		diag_fix(c->d, "take the line's end out");
	}
	return r;
}

static int
read_headers(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark;
	int r = 0;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"headers\": { \"x-request-id\": \"1\" }");
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		r = read_header(c, m);
		wr_leave(c, mark);
	}
	return r;
}

static int
read_form(struct wr *c, const struct cJSON *v, void *arg)
{
	int r = 0;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object of fields, found %s", wr_type(v));
		diag_fix(c->d, "write \"form\": { \"order\": \"ord_7\" }");
	}
	return r;
}

static int
read_http(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "method", wr_method, 0, NULL },
		{ "url", world_read_endpoint, WR_REQUIRED, "\"url\": \"http://127.0.0.1:3000/refunds\"" },
		{ "headers", read_headers, 0, NULL },
		{ "json", NULL, 0, NULL },
		{ "form", read_form, 0, NULL },
		{ "body", wr_read_text, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const char *const bodies[] = { "json", "form", "body" };
	size_t i, n = 0;
	int r = wr_object(c, v, keys, "a trigger's request", arg);

	for (i = 0; i < 3; i++)
		n += cJSON_GetObjectItemCaseSensitive(v, bodies[i]) != NULL;
	if (r == 0 && n > 1) {
		r = wr_fail(c, -EPROTO, "a request has one body: \"json\", \"form\" or \"body\"");
		diag_fix(c->d, "keep one of them");
	}
	return r;
}

static int
read_event(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "service", wr_read_text, WR_REQUIRED, "\"service\": \"payments\"" },
		{ "event", world_read_event_name, WR_REQUIRED, "\"event\": \"charge.refunded\"" },
		{ "data", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "a trigger's event", arg);
}

static int
read_signal(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const signals[] = { "SIGHUP",  "SIGINT",  "SIGUSR1",  "SIGUSR2",
					       "SIGTERM", "SIGCONT", "SIGWINCH", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, signals, &which);
}

static int
read_at(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, RUN_MS_MAX, &n);
}

/* A condition is looked at when all services are read. */
static int
read_after(struct wr *c, const struct cJSON *v, void *arg)
{
	return cJSON_IsString(v) ? 0 : read_at(c, v, arg);
}

static int
read_trigger(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"ask\"" },
		{ "http", read_http, 0, NULL },
		{ "event", read_event, 0, NULL },
		{ "signal", read_signal, 0, NULL },
		{ "at", read_at, 0, NULL },
		{ "after", read_after, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const char *const kinds[] = { "http", "event", "signal" };
	union {
		const struct cJSON *in;
		void *out;
	} same = { .in = v };
	size_t i, n = 0;
	int r = wr_object(c, v, keys, "a trigger", same.out);

	(void)arg;
	for (i = 0; i < 3; i++)
		n += cJSON_GetObjectItemCaseSensitive(v, kinds[i]) != NULL;
	if (r == 0 && n != 1) {
		r = wr_fail(c, -EPROTO, "a trigger is one of \"http\", \"event\" and \"signal\"");
		diag_fix(c->d, "write \"http\": { \"url\": \"http://127.0.0.1:3000/\" }");
	}
	return r;
}

int
world_read_triggers(struct wr *c, const struct cJSON *v, void *arg)
{
	c->w->triggers = v;
	return wr_array(c, v, 0, TRIGGERS_MAX, "triggers", read_trigger, arg);
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

static int
read_true(struct wr *c, const struct cJSON *v, void *arg)
{
	bool yes = false;
	int r = wr_bool(c, v, &yes);

	(void)arg;
	if (r == 0 && !yes) {
		r = wr_fail(c, -EPROTO, "false says nothing here");
		diag_fix(c->d, "write true, or take the key out and name another end");
	}
	return r;
}

static int
read_settle(struct wr *c, const struct cJSON *v, void *arg)
{
	return read_at(c, v, arg);
}

int
world_read_ends(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "exit", read_true, 0, NULL }, { "triggers", read_true, 0, NULL },
		{ "when", NULL, 0, NULL },      { "settle_ms", read_settle, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	bool settles = cJSON_GetObjectItemCaseSensitive(v, "settle_ms") != NULL;
	size_t mark;
	int r = wr_object(c, v, keys, "ends", arg);

	if (r < 0)
		return r;
	if (cJSON_GetArraySize(v) - settles != 1) {
		r = wr_fail(c, -EPROTO, "a run has one end: \"exit\", \"triggers\" or \"when\"");
		diag_fix(
			c->d,
			"write { \"exit\": true }, { \"triggers\": true } or { \"when\": \"len(state.mail.sent) >= 1\" }");
		return r;
	}
	if (settles && cJSON_GetObjectItemCaseSensitive(v, "exit")) {
		mark = wr_enter(c, "settle_ms");
		r = wr_fail_key(c, -EPROTO, "after the workflow's own exit nothing settles");
		diag_fix(c->d, "take \"settle_ms\" out");
		wr_leave(c, mark);
		return r;
	}
	c->w->ends = v;
	return 0;
}

/* ---- when all is read -------------------------------------------------------------------------------------------------- */

/* Every string of a trigger may have the host's templates; none may have others. */
static int
check_strings(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *m;
	size_t mark, i = 0;
	int r = 0;

	if (cJSON_IsString(v))
		return world_check_host_template(c, v->valuestring, true);
	for (m = cJSON_IsObject(v) || cJSON_IsArray(v) ? v->child : NULL; m && r == 0; m = m->next, i++) {
		mark = m->string ? wr_enter(c, m->string) : wr_enter_index(c, i);
		r = check_strings(c, m);
		wr_leave(c, mark);
	}
	return r;
}

static int
check_event(struct wr *c, const struct cJSON *event)
{
	const char *name = cJSON_GetObjectItemCaseSensitive(event, "service")->valuestring;
	struct nearest n;
	size_t i, mark;
	int r;

	nearest_init(&n, name);
	for (i = 0; i < c->w->services_len; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(c->w->services[i].json, "events"))
			continue;
		if (strcmp(c->w->services[i].name, name) == 0)
			return 0;
		nearest_offer(&n, c->w->services[i].name);
	}
	mark = wr_enter(c, "service");
	r = wr_fail(c, -EPROTO, "no service \"%s\" sends events", name);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name a service that has \"events\"");
	wr_leave(c, mark);
	return r;
}

static int
check_trigger(struct wr *c, const struct cJSON *t)
{
	const struct cJSON *after = cJSON_GetObjectItemCaseSensitive(t, "after"),
			   *event = cJSON_GetObjectItemCaseSensitive(t, "event"),
			   *http = cJSON_GetObjectItemCaseSensitive(t, "http");
	const struct wr_scope scope = { .world = c->w, .path = "" };
	size_t mark;
	int r = 0;

	if (cJSON_IsString(after)) {
		mark = wr_enter(c, "after");
		r = wr_expr(c, after, &scope);
		wr_leave(c, mark);
	}
	mark = wr_enter(c, event ? "event" : "http");
	if (r == 0 && event)
		r = check_event(c, event);
	if (r == 0 && (event || http))
		r = check_strings(c, event ? event : http);
	wr_leave(c, mark);
	return r;
}

int
world_check_drive(struct wr *c)
{
	const struct cJSON *when = cJSON_GetObjectItemCaseSensitive(c->w->ends, "when"), *t;
	const struct wr_scope scope = { .world = c->w, .path = "" };
	size_t outer = wr_enter(c, "workflow"), inner, i = 0;
	int r = 0;

	inner = wr_enter(c, "trigger");
	for (t = c->w->triggers ? c->w->triggers->child : NULL; t && r == 0; t = t->next, i++) {
		size_t mark = wr_enter_index(c, i);

		r = check_trigger(c, t);
		wr_leave(c, mark);
	}
	wr_leave(c, inner);
	inner = wr_enter(c, "ends");
	if (r == 0 && when) {
		wr_enter(c, "when");
		r = wr_expr(c, when, &scope);
	} else if (r == 0 && cJSON_GetObjectItemCaseSensitive(c->w->ends, "triggers") &&
		   cJSON_GetArraySize(c->w->triggers) == 0) {
		wr_enter(c, "triggers");
		r = wr_fail_key(c, -EPROTO, "the workflow has no triggers, so it would end at once");
		diag_fix(c->d, "add \"trigger\": [ ... ], or name another end");
	}
	wr_leave(c, inner);
	wr_leave(c, outer);
	return r;
}

bool
world_is_driven(const struct world *w)
{
	size_t i;

	if (w->ready || cJSON_GetArraySize(w->triggers) > 0 ||
	    (w->ends && !cJSON_GetObjectItemCaseSensitive(w->ends, "exit")))
		return true;
	for (i = 0; i < w->services_len; i++)
		if (cJSON_GetObjectItemCaseSensitive(w->services[i].json, "events"))
			return true;
	return false;
}
