/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_faults.c - the key `faults`: what the services do wrong, and to which calls.  What contradicts itself is an error here:
 * a fault that cannot happen as it is written is never passed over in silence. */
#include <cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"

#define FAULTS_MAX 64u
#define NTH_MAX 64u
#define NUMBER_MAX 9007199254740991u
#define MS_MAX 86400000u

enum { TIMEOUT_AFTER_WRITE, BLACKHOLE, SERVER_ERROR, DUPLICATE_WRITE };
enum { CONNECT, ACCEPTED, MID_REQUEST, BEFORE_EFFECT, AFTER_EFFECT, MID_REPLY, REDELIVER };
static const char *const classes[] = { "timeout-after-write", "blackhole", "server-error", "duplicate-write", NULL };
static const char *const phases[] = { "connect",      "accepted",  "mid-request", "before-effect",
				      "after-effect", "mid-reply", "redeliver",   NULL };
static const char *const ends[] = { "stall", "fin", "rst", "clean", "refuse", "drop", NULL };
enum { STALL, FIN, RST, CLEAN, REFUSE, DROP, NO_END };

struct fault {
	const struct cJSON *json, *on, *call, *how, *lasts;
	const char *id;
	size_t class, phase, end;
	bool must_fire;
	const struct world_service *service; /* NULL: the triggers */
	struct wr_scope scope;
};

static const struct cJSON *
member(const struct cJSON *object, const char *name)
{
	return object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

/* The error at a member of the fault ("how", "end"); in NULL: the member itself. */
static int __attribute__((format(printf, 5, 6)))
fail_at(struct wr *c, const char *name, const char *in, const char *fix, const char *format, ...)
{
	char problem[256];
	size_t mark = wr_enter(c, name);
	va_list ap;
	int r;

	if (in)
		wr_enter(c, in);
	va_start(ap, format);
	(void)vsnprintf(problem, sizeof(problem), format, ap);
	va_end(ap);
	r = wr_fail_key(c, -EPROTO, "%s", problem);
	diag_fix(c->d, "%s", fix);
	wr_leave(c, mark);
	return r;
}

/* ---- single values ---------------------------------------------------------------------------------------------------- */

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	struct fault *f = arg;
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
	struct fault *f = arg;

	return wr_word(c, v, classes, &f->class);
}

static int
read_phase(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const sql[] = { "after-commit", "startup", "mid-query", "mid-rows", "before-execute", NULL };
	struct fault *f = arg;
	char what[64];
	size_t i;

	for (i = 0; sql[i] && cJSON_IsString(v); i++) {
		if (strcmp(v->valuestring, sql[i]) != 0)
			continue;
		(void)snprintf(what, sizeof(what), "phase \"%s\"", sql[i]);
		return wr_fail_later(c, what);
	}
	return wr_word(c, v, phases, &f->phase);
}

static int
read_must_fire(struct wr *c, const struct cJSON *v, void *arg)
{
	struct fault *f = arg;

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
	struct fault *f = arg;

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
check_event(struct wr *c, const struct fault *f, const struct cJSON *event)
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
set_scope(struct fault *f, const struct cJSON *route)
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
	struct fault *f = arg;
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
			r = fail_at(c, selects[i], NULL, "keep one of the two", "\"%s\" and \"%s\" exclude each other",
				    seen, selects[i]);
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
	struct fault *f = arg;

	return wr_word(c, v, ends, &f->end);
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

/* ---- contradictions --------------------------------------------------------------------------------------------------- */

/* The words of a set, for a fix: "after-effect or mid-reply". */
static const char *
name_set(const char *const *words, unsigned set, char *out, size_t size)
{
	size_t i, at = 0, left = (size_t)__builtin_popcount(set);

	out[0] = '\0';
	for (i = 0; words[i] && at < size; i++) {
		if (!(set >> i & 1))
			continue;
		left--;
		at += (size_t)snprintf(out + at, size - at, "%s%s", words[i],
				       left > 1    ? ", "
				       : left == 1 ? " or "
						   : "");
	}
	return out;
}

static int
check_phase(struct wr *c, struct fault *f)
{
	static const unsigned legal[] = {
		[TIMEOUT_AFTER_WRITE] = 1u << AFTER_EFFECT | 1u << MID_REPLY,
		[BLACKHOLE] = 1u << CONNECT | 1u << ACCEPTED | 1u << MID_REQUEST | 1u << MID_REPLY,
		[SERVER_ERROR] = 1u << BEFORE_EFFECT | 1u << AFTER_EFFECT | 1u << MID_REPLY,
		[DUPLICATE_WRITE] = 1u << REDELIVER,
	};
	static const size_t usual[] = { AFTER_EFFECT, ACCEPTED, BEFORE_EFFECT, REDELIVER };
	char words[120], fix[200];
	bool sent = !f->service || member(f->on, "event");

	if (!member(f->json, "phase"))
		f->phase = usual[f->class];
	(void)snprintf(fix, sizeof(fix), "write %s", name_set(phases, legal[f->class], words, sizeof(words)));
	if (!(legal[f->class] >> f->phase & 1))
		return fail_at(c, "phase", NULL, fix, "class \"%s\" has no phase \"%s\"", classes[f->class],
			       phases[f->phase]);
	if (sent && f->class != DUPLICATE_WRITE)
		return fail_at(c, "class", NULL, "write \"duplicate-write\", or name a route",
			       "what a service or a trigger sends can only be delivered twice");
	if ((f->phase == CONNECT || f->phase == MID_REQUEST) && member(f->on, "route"))
		return fail_at(c, "on", "route", "take the route out, or use another phase",
			       "in phase \"%s\" the route of a call is not known yet", phases[f->phase]);
	return 0;
}

static int
check_end(struct wr *c, const struct fault *f)
{
	unsigned all = 1u << STALL | 1u << FIN | 1u << RST, legal = 0;
	char words[120], fix[200];

	if (f->class <= BLACKHOLE)
		legal = f->phase == CONNECT ? 1u << STALL | 1u << REFUSE | 1u << DROP : all;
	else if (f->class == SERVER_ERROR && f->phase == MID_REPLY)
		legal = all | 1u << CLEAN;
	if (f->end == NO_END || legal >> f->end & 1)
		return 0;
	if (legal == 0)
		return fail_at(c, "how", "end", "take it out",
			       "a fault of class \"%s\", phase \"%s\", ends no connection", classes[f->class],
			       phases[f->phase]);
	(void)snprintf(fix, sizeof(fix), "write %s", name_set(ends, legal, words, sizeof(words)));
	return fail_at(c, "how", "end", fix, "\"%s\" is no end in phase \"%s\" of class \"%s\"", ends[f->end],
		       phases[f->phase], classes[f->class]);
}

static bool
is_llm(const struct fault *f)
{
	return f->service && strcmp(member(f->service->json, "kind")->valuestring, "llm") == 0;
}

/* A key of how that belongs to other classes or phases. */
static int
check_how_keys(struct wr *c, const struct fault *f)
{
	bool cuts = f->phase == MID_REPLY, words = f->class == SERVER_ERROR && f->phase != MID_REPLY;
	bool stream = f->class == SERVER_ERROR && cuts && is_llm(f);
	const struct {
		const char *key;
		bool fits;
		const char *belongs;
	} keys[] = {
		{ "bytes", cuts, "phase mid-reply" },
		{ "at", cuts, "phase mid-reply" },
		{ "inside", cuts, "phase mid-reply" },
		{ "slow", cuts && f->class == SERVER_ERROR, "class server-error, phase mid-reply" },
		{ "status", words, "class server-error, before or after the effect" },
		{ "code", words || stream,
		  "class server-error, or in the middle of a reply of a service of kind \"llm\"" },
		{ "retry_after", words, "class server-error, before or after the effect" },
		{ "body", words || stream,
		  "class server-error, or in the middle of a reply of a service of kind \"llm\"" },
		{ "times", f->class == DUPLICATE_WRITE, "class duplicate-write" },
		{ "spacing", f->class == DUPLICATE_WRITE, "class duplicate-write" },
		{ "same_id", f->class == DUPLICATE_WRITE, "class duplicate-write" },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!keys[i].fits && member(f->how, keys[i].key))
			return fail_at(c, "how", keys[i].key, "take it out, or change class or phase",
				       "\"%s\" belongs to %s", keys[i].key, keys[i].belongs);
	return 0;
}

/* A body of which nothing is left to say what went wrong. */
static bool
is_no_text(const char *body)
{
	return strcmp(body, "garble") == 0 || strcmp(body, "html") == 0 || strcmp(body, "not-http") == 0;
}

/* One frame of a stream says what is wrong, and the stream leaves in order. */
static int
check_stream(struct wr *c, const struct fault *f)
{
	const struct cJSON *body = member(f->how, "body");

	if (f->end != NO_END)
		return fail_at(c, "how", "end", "keep one of the two", "a stream with \"%s\" comes to its own end",
			       body ? "body" : "code");
	if (member(f->how, "slow"))
		return fail_at(c, "how", "slow", "keep one of the two", "a slow reply comes to its end");
	if (body && member(f->how, "code"))
		return fail_at(c, "how", "code", "keep one of the two",
			       "a frame is either broken (\"body\") or an error (\"code\")");
	if (body && strcmp(body->valuestring, "garble") != 0)
		return fail_at(c, "how", "body", "write \"garble\"", "one frame of a stream cannot be \"%s\"",
			       body->valuestring);
	return 0;
}

static int
check_how(struct wr *c, const struct fault *f)
{
	const struct cJSON *status = member(f->how, "status"), *body = member(f->how, "body");
	bool slow = member(f->how, "slow"), at = member(f->how, "at"), bytes = member(f->how, "bytes"),
	     inside = member(f->how, "inside"), code = member(f->how, "code");
	int r = check_end(c, f);

	if (r < 0 || (r = check_how_keys(c, f)) < 0)
		return r;
	if (bytes && (at || inside))
		return fail_at(c, "how", "bytes", "keep one of the two",
			       "\"bytes\" and \"%s\" both say where the reply ends", at ? "at" : "inside");
	if (slow && (f->end != NO_END || bytes || at || inside))
		return fail_at(c, "how", "slow", "keep one of the two", "a slow reply comes to its end");
	if (f->phase == MID_REPLY && (body || code))
		return check_stream(c, f);
	if (f->class == SERVER_ERROR && f->phase == MID_REPLY && !slow && f->end == NO_END)
		return fail_at(c, "phase", NULL,
			       "add \"how\": { \"end\": \"fin\" } (or stall, rst, clean), or \"slow\"",
			       "nothing says what happens in the middle of the reply");
	if (status && (status->valuedouble == 204 || status->valuedouble == 304))
		return fail_at(c, "how", "status", "write 200 or 400 to 599", "status %d has no body",
			       (int)status->valuedouble);
	if (status && status->valuedouble < 400 && !body && !member(f->how, "code"))
		return fail_at(c, "how", "status", "write 400 to 599, or add a \"body\" that is broken or a \"code\"",
			       "a status below 400 is no error");
	if (status && status->valuedouble < 400 && !member(f->how, "code") &&
	    strcmp(body->valuestring, "no-length") == 0)
		return fail_at(c, "how", "status", "write 400 to 599, or add a \"code\"",
			       "a body that ends with its connection is whole: a status below 400 is no error");
	if (body && strcmp(body->valuestring, "not-http") == 0 && (status || member(f->how, "retry_after")))
		return fail_at(c, "how", status ? "status" : "retry_after", "take it out",
			       "what is no HTTP has neither status nor headers");
	if (body && member(f->how, "code") && is_no_text(body->valuestring))
		return fail_at(c, "how", "code", "take it out, or \"body\"", "body \"%s\" has no code of an error",
			       body->valuestring);
	if (inside && !is_llm(f))
		return fail_at(c, "how", "inside", "write \"at\" or \"bytes\"",
			       "only the reply of a language model has texts and tool arguments");
	if (cJSON_IsFalse(member(f->how, "same_id")) && !member(f->on, "event"))
		return fail_at(c, "how", "same_id", "take it out", "a request that comes again is the same request");
	return 0;
}

/* Refused and dropped connections are no calls: they cannot be counted, and the refused ones not even seen: the kernel answers
 * for a port where nobody listens, and keeps no count of it that the twins could read. */
static int
check_closed(struct wr *c, const struct fault *f)
{
	static const char *const counted[] = { "nth", "first", "every", "chance", "key" };
	size_t i;

	if (f->end != REFUSE && f->end != DROP)
		return 0;
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (member(f->call, counted[i]))
			return fail_at(c, "call", counted[i], "take it out, or use \"end\": \"stall\"",
				       "nobody counts connections that are not let in");
	if (member(f->lasts, "calls"))
		return fail_at(c, "lasts", "calls", "write \"ms\", \"until\" or \"to the end\"",
			       "nobody counts connections that are not let in");
	if (f->end == REFUSE && f->must_fire)
		return fail_at(c, "how", "end", "add \"must_fire\": false, and a check of what the workflow did",
			       "the kernel refuses connections by itself: whether one was is not seen");
	return 0;
}

static int
check_when(struct wr *c, const struct fault *f)
{
	const struct cJSON *chance = member(f->call, "chance");

	if (f->class == BLACKHOLE && !f->lasts)
		return fail_at(
			c, "class", NULL,
			"add \"lasts\": { \"calls\": 1 }, { \"ms\": 4000 }, { \"until\": ... } or \"to the end\"",
			"a blackhole does not say how long it lasts");
	if (f->class == DUPLICATE_WRITE && f->lasts)
		return fail_at(c, "lasts", NULL, "take it out; \"call\" says which ones",
			       "what is delivered twice does not last");
	if (f->must_fire && chance && chance->valuedouble <= 0)
		return fail_at(c, "call", "chance", "raise it, or add \"must_fire\": false",
			       "a fault without a chance cannot fire");
	if ((f->phase == CONNECT || f->phase == MID_REQUEST) && member(f->call, "key"))
		return fail_at(c, "call", "key", "take it out, or use another phase",
			       "in phase \"%s\" there is no request yet", phases[f->phase]);
	return check_closed(c, f);
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
	struct fault f = { .json = v, .end = NO_END, .must_fire = true };
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
	r = check_phase(c, &f);
	if (r == 0)
		r = check_how(c, &f);
	return r < 0 ? r : check_when(c, &f);
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
