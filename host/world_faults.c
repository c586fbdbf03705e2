/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_faults.c - the key `faults`: what the services do wrong, and to which calls.  What contradicts itself is an error
 * (world_fault_check.c): a fault that cannot happen as it is written is never passed over in silence. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_faults.h"

#define FAULTS_MAX 64u
#define NTH_MAX 64u
#define NUMBER_MAX 9007199254740991u
#define MS_MAX 86400000u

/* ---- single values ---------------------------------------------------------------------------------------------------- */

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_fault *f = arg;
	const struct cJSON *other;
	int r = wr_string(c, v, 1, 64, &f->id);

	if (r < 0)
		return r;
	if (!is_identifier(f->id, true)) {
		r = wr_fail(c, -EPROTO, "a fault's id has letters, digits, '_' and '-' only, not a digit first");
		diag_fix(c->d, "write an id like \"lost-refund-reply\"");
		return r;
	}
	for (other = member(c->w->doc, "faults")->child; other && other != f->json; other = other->next) {
		if (strcmp(member(other, "id")->valuestring, f->id) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "there is a fault \"%s\" already", f->id);
		diag_fix(c->d, "give each fault an id of its own");
		return r;
	}
	return 0;
}

static int
read_class(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_fault *f = arg;

	return wr_word(c, v, world_fault_classes, &f->class);
}

static int
read_phase(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const sql[] = { "after-commit", "startup", "mid-query", "mid-rows", "before-execute", NULL };
	struct world_fault *f = arg;
	char what[64];
	size_t i;

	for (i = 0; sql[i] && cJSON_IsString(v); i++) {
		if (strcmp(v->valuestring, sql[i]) != 0)
			continue;
		(void)snprintf(what, sizeof(what), "phase \"%s\"", sql[i]);
		return wr_fail_later(c, what);
	}
	return wr_word(c, v, world_fault_phases, &f->phase);
}

static int
read_must_fire(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_fault *f = arg;

	return wr_bool(c, v, &f->must_fire);
}

static int
read_count(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, NUMBER_MAX, &n);
}

static int
read_nth(struct wr *c, const struct cJSON *v, void *arg)
{
	return cJSON_IsArray(v) ? wr_array(c, v, 1, NTH_MAX, "numbers", read_count, arg) : read_count(c, v, arg);
}

static int
read_part(struct wr *c, const struct cJSON *v, void *arg)
{
	int r;

	(void)arg;
	if (cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= 1)
		return 0;
	r = wr_fail(c, -EPROTO, "expected a number from 0 to 1");
	diag_fix(c->d, "0.5 is the half");
	return r;
}

static int
read_expr(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_fault *f = arg;

	return wr_expr(c, v, &f->scope);
}

static int
read_ms(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, MS_MAX, &n);
}

/* ---- on --------------------------------------------------------------------------------------------------------------- */

static int
read_statement(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)v;
	(void)arg;
	return wr_fail_later(c, "key \"statement\"");
}

static int
check_event(struct wr *c, const struct world_fault *f, const struct cJSON *event)
{
	struct nearest n;
	size_t mark;
	int r;

	nearest_init(&n, event->valuestring);
	if (f->service && world_event_find(c->w, f->service, event->valuestring, &n))
		return 0;
	mark = wr_enter(c, "event");
	r = wr_fail(c, -EPROTO, f->service ? "the service emits no event \"%s\"" : "triggers are not events: \"%s\"",
		    event->valuestring);
	if (!f->service)
		diag_fix(c->d, "write \"route\": the trigger's id");
	else if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name an event that one of its routes emits");
	wr_leave(c, mark);
	return r;
}

static int
check_trigger(struct wr *c, const struct cJSON *route)
{
	struct nearest n;
	size_t mark;
	int r;

	if (!route)
		return 0;
	nearest_init(&n, route->valuestring);
	if (world_trigger_find(c->w, route->valuestring, NULL, &n))
		return 0;
	mark = wr_enter(c, "route");
	r = wr_fail(c, -EPROTO, "there is no trigger \"%s\"", route->valuestring);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name a trigger of workflow.trigger");
	wr_leave(c, mark);
	return r;
}

/* What expressions of the fault may name. */
static void
set_scope(struct world_fault *f, const struct cJSON *route)
{
	const struct cJSON *r, *match;

	f->scope.path = "";
	if (!f->service)
		return;
	f->scope.state = member(f->service->json, "state");
	f->scope.variables = member(f->service->json, "variables");
	f->scope.routes = member(f->service->json, "routes");
	cJSON_ArrayForEach(r, f->scope.routes)
	{
		match = member(r, "match");
		if (route && match && strcmp(member(r, "id")->valuestring, route->valuestring) == 0)
			f->scope.path = member(match, "path")->valuestring;
	}
}

static int
read_on(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "service", wr_read_text, WR_REQUIRED, "\"service\": the name of a service" },
		{ "route", wr_read_text, 0, NULL },
		{ "event", wr_read_text, 0, NULL },
		{ "statement", read_statement, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	struct world_fault *f = arg;
	const struct cJSON *route, *event;
	size_t mark;
	int r = wr_object(c, v, keys, "on", f);

	if (r < 0)
		return r;
	route = member(v, "route");
	event = member(v, "event");
	f->on = v;
	if (strcmp(member(v, "service")->valuestring, "trigger") == 0)
		r = check_trigger(c, route);
	else if ((r = world_check_service(c, member(v, "service")->valuestring, &f->service)) == 0 && route)
		r = world_check_route(c, v, f->service);
	if (r == 0 && event)
		r = check_event(c, f, event);
	if (r == 0 && route && event) {
		mark = wr_enter(c, "event");
		r = wr_fail_key(c, -EPROTO, "\"route\" and \"event\" exclude each other");
		diag_fix(c->d, "a call has a route, a webhook an event: take one of the two out");
		wr_leave(c, mark);
	}
	set_scope(f, route);
	return r;
}

/* ---- call, how, lasts ------------------------------------------------------------------------------------------------- */

static int
read_call(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "nth", read_nth, 0, NULL },     { "first", read_count, 0, NULL }, { "every", read_count, 0, NULL },
		{ "chance", read_part, 0, NULL }, { "key", read_expr, 0, NULL },    { "after", read_expr, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const char *const selects[] = { "nth", "first", "every", "chance" };
	const char *seen = NULL;
	size_t i;
	int r = wr_object(c, v, keys, "call", arg);

	for (i = 0; i < sizeof(selects) / sizeof(selects[0]) && r == 0; i++) {
		if (!member(v, selects[i]))
			continue;
		if (seen)
			r = world_fault_fail(c, selects[i], NULL, "keep one of the two",
					     "\"%s\" and \"%s\" exclude each other", seen, selects[i]);
		seen = selects[i];
	}
	return r;
}

static int
read_slow(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "first_ms", read_ms, 0, NULL },
		{ "chunk_ms", read_ms, 0, NULL },
		{ "chunk_bytes", read_count, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	int r = wr_object(c, v, keys, "slow", arg);

	if (r < 0 || member(v, "first_ms") || member(v, "chunk_ms"))
		return r;
	r = wr_fail(c, -EPROTO, "this does not make anything slow");
	diag_fix(c->d, "add \"first_ms\": before the first byte, or \"chunk_ms\": between pieces of chunk_bytes");
	return r;
}

static int
read_end(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_fault *f = arg;

	return wr_word(c, v, world_fault_ends, &f->end);
}

static int
read_inside(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "text", "tool_arguments", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
read_bytes(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, NUMBER_MAX, &n);
}

static int
read_status(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 200, 599, &n);
}

static int
read_code(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 128, &s);
}

static int
read_body(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "garble",    "html",         "wrong-length", "not-http",
					     "bad-chunk", "unterminated", "no-length",    NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
read_times(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 2, 10, &n);
}

static int
read_spacing(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "during", "after", NULL };
	size_t which;

	return cJSON_IsNumber(v) ? read_ms(c, v, arg) : wr_word(c, v, words, &which);
}

static int
read_same_id(struct wr *c, const struct cJSON *v, void *arg)
{
	bool b;

	(void)arg;
	return wr_bool(c, v, &b);
}

static int
read_sqlstate(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)v;
	(void)arg;
	return wr_fail_later(c, "key \"sqlstate\"");
}

static int
read_how(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "end", read_end, 0, NULL },           { "bytes", read_bytes, 0, NULL },
		{ "at", read_part, 0, NULL },           { "inside", read_inside, 0, NULL },
		{ "status", read_status, 0, NULL },     { "code", read_code, 0, NULL },
		{ "retry_after", read_ms, 0, NULL },    { "body", read_body, 0, NULL },
		{ "slow", read_slow, 0, NULL },         { "times", read_times, 0, NULL },
		{ "spacing", read_spacing, 0, NULL },   { "same_id", read_same_id, 0, NULL },
		{ "sqlstate", read_sqlstate, 0, NULL }, { NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "how", arg);
}

static int
read_lasts(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "calls", read_count, 0, NULL },
		{ "ms", read_count, 0, NULL },
		{ "until", read_expr, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	int r;

	if (cJSON_IsString(v) && strcmp(v->valuestring, "to the end") == 0)
		return 0;
	if (cJSON_IsString(v)) {
		r = wr_fail(c, -EPROTO, "this is no length of time");
		diag_fix(c->d,
			 "write \"to the end\", { \"calls\": 3 }, { \"ms\": 4000 } or { \"until\": an expression }");
		return r;
	}
	r = wr_object(c, v, keys, "lasts", arg);
	if (r == 0 && cJSON_GetArraySize(v) != 1) {
		r = wr_fail(c, -EPROTO, "a fault lasts for one of calls, ms, until");
		diag_fix(c->d, "write one of them");
	}
	return r;
}

static int
read_fault(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key first[] = {
		{ "id", NULL, 0, NULL },
		{ "class", NULL, 0, NULL },
		{ "on", read_on, WR_REQUIRED, "\"on\": { \"service\": \"payments\", \"route\": \"refund.create\" }" },
		{ "call", NULL, 0, NULL },
		{ "phase", NULL, 0, NULL },
		{ "how", NULL, 0, NULL },
		{ "lasts", NULL, 0, NULL },
		{ "must_fire", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const struct wr_key keys[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"lost-refund-reply\"" },
		{ "class", read_class, WR_REQUIRED, "\"class\": \"timeout-after-write\"" },
		{ "on", NULL, 0, NULL },
		{ "call", read_call, 0, NULL },
		{ "phase", read_phase, 0, NULL },
		{ "how", read_how, 0, NULL },
		{ "lasts", read_lasts, 0, NULL },
		{ "must_fire", read_must_fire, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	struct world_fault f = { .json = v, .end = NO_END, .must_fire = true };
	int r;

	(void)arg;
	/* Twice: what expressions may name follows from `on`. */
	r = wr_object(c, v, first, "a fault", &f);
	if (r == 0)
		r = wr_object(c, v, keys, "a fault", &f);
	if (r < 0)
		return r;
	f.call = member(v, "call");
	f.how = member(v, "how");
	f.lasts = member(v, "lasts");
	return world_fault_check(c, &f);
}

int
world_check_faults(struct wr *c)
{
	const struct cJSON *v = member(c->w->doc, "faults");
	size_t mark;
	int r;

	if (!v)
		return 0;
	mark = wr_enter(c, "faults");
	r = wr_array(c, v, 0, FAULTS_MAX, "faults", read_fault, NULL);
	wr_leave(c, mark);
	c->w->faults = v;
	return r;
}
