/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence.c - see evidence.h.  One function a frame type; each either fits what came before or makes the run an error. */
#include "host/evidence.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "host/trace.h"
#include "proto/cursor.h"

static int __attribute__((format(printf, 2, 3))) bad(struct evidence *e, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(e->why, sizeof(e->why), format, ap);
	va_end(ap);
	return -EPROTO;
}

static int
spool_trouble(struct evidence *e, int r)
{
	if (r == -ENOSPC && e->spool->error == 0)
		return 0; /* the spool's own bound: counted in lost, and judged by within-limits */
	if (r < 0)
		bad(e, "the event file could not be written: %s", strerror(-r));
	return r;
}

/* ---- output --------------------------------------------------------------------------------------------------------- */

/* Writes len bytes of what is pending; the rest stays. */
static int
pending_write(struct evidence_stream *s, size_t len)
{
	int r = 0;

	if (len)
		r = spool_bytes(s->owner->spool, s->event, s->owner->t_ms, s->pending, len);
	s->pending_len -= len;
	memmove(s->pending, s->pending + len, s->pending_len);
	return spool_trouble(s->owner, r);
}

static int
pending_flush(struct evidence_stream *s)
{
	return pending_write(s, s->pending_len);
}

static void
tail_add(struct evidence_stream *s, const uint8_t *data, size_t len)
{
	size_t at, n;

	s->tail_total += len;
	if (len > EVIDENCE_TAIL) {
		data += len - EVIDENCE_TAIL;
		len = EVIDENCE_TAIL;
	}
	/* The byte number k of the redacted stream lies at k % EVIDENCE_TAIL. */
	at = (size_t)((s->tail_total - len) % EVIDENCE_TAIL);
	n = EVIDENCE_TAIL - at < len ? EVIDENCE_TAIL - at : len;
	memcpy(s->tail + at, data, n);
	memcpy(s->tail, data + n, len - n);
}

static int
redacted(void *arg, const void *data, size_t len)
{
	struct evidence_stream *s = arg;
	const uint8_t *at = data;
	size_t n;
	int r;

	tail_add(s, data, len);
	while (len) {
		/* A character that is cut would make text look like something else. */
		if (s->pending_len == sizeof(s->pending) &&
		    (r = pending_write(s, spool_text_whole(s->pending, s->pending_len))) < 0)
			return r;
		n = sizeof(s->pending) - s->pending_len;
		if (n > len)
			n = len;
		memcpy(s->pending + s->pending_len, at, n);
		s->pending_len += n;
		at += n;
		len -= n;
	}
	return 0;
}

static int
take_output(struct evidence *e, struct evidence_stream *s, enum check_kind kind, const uint8_t *data, size_t len)
{
	int r;

	if (e->have_exit)
		return bad(e, "guest sent output after EXIT");
	sha256_add(&s->raw, data, len);
	s->bytes += len;
	if (s->bytes > e->w->limits.output_bytes)
		return bad(e, "guest sent more %s than output_bytes allows", s->event);
	checks_output(e->checks, kind, data, len);
	r = redact_stream_add(&s->redact, data, len);
	if (r < 0 && e->why[0] == '\0')
		bad(e, "%s could not be recorded: %s", s->event, strerror(-r));
	return r;
}

static int
stream_init(struct evidence *e, struct evidence_stream *s, const char *event)
{
	sha256_init(&s->raw);
	s->owner = e;
	s->event = event;
	return redact_stream_init(&s->redact, NULL, redacted, s);
}

int
evidence_init(struct evidence *e, const struct world *w, struct spool *spool, struct checks *checks, bool sandbox,
	      const char guest_sha256[static 65])
{
	int r;

	memset(e, 0, sizeof(*e));
	e->w = w;
	e->spool = spool;
	e->checks = checks;
	e->sandbox = sandbox;
	memcpy(e->guest_sha256, guest_sha256, 65);
	e->states = calloc(2 * w->services_len + 1, sizeof(*e->states));
	if (!e->states)
		return -ENOMEM;
	if ((r = evidence_faults_init(e)) < 0)
		return r;
	if ((r = stream_init(e, &e->out, "stdout")) < 0)
		return r;
	return stream_init(e, &e->err, "stderr");
}

int
evidence_redact(struct evidence *e, const struct redact *r)
{
	int rc;

	redact_stream_wipe(&e->out.redact);
	redact_stream_wipe(&e->err.redact);
	rc = redact_stream_init(&e->out.redact, r, redacted, &e->out);
	return rc < 0 ? rc : redact_stream_init(&e->err.redact, r, redacted, &e->err);
}

void
evidence_wipe(struct evidence *e)
{
	cJSON_Delete(e->hello);
	cJSON_Delete(e->opening);
	cJSON_Delete(e->closing);
	cJSON_Delete(e->changed);
	cJSON_Delete(e->denied);
	redact_stream_wipe(&e->out.redact);
	redact_stream_wipe(&e->err.redact);
	free(e->ops);
	evidence_names_wipe(&e->names);
	free(e->faults);
	free(e->states);
	if (e->record)
		explicit_bzero(e->record, e->record_size);
	free(e->record);
	memset(e, 0, sizeof(*e));
}

int
evidence_finish(struct evidence *e)
{
	struct evidence_stream *s[2] = { &e->out, &e->err };
	size_t i;
	int r, first = 0;

	for (i = 0; i < 2; i++) {
		r = redact_stream_finish(&s[i]->redact);
		if (r == 0)
			r = pending_flush(s[i]);
		first = first ? first : r;
	}
	r = spool_flush(e->spool);
	return first ? first : r;
}

/* ---- JSON records --------------------------------------------------------------------------------------------------- */

/* Writes a record's JSON to the spool on one line. */
static int
keep(struct evidence *e, const char *event, const char *key, const uint8_t *json, size_t len, struct spool_place *place,
     uint8_t digest[32])
{
	char *text = malloc(len + 1);
	int r;

	if (!text)
		return bad(e, "no memory for a record of %zu bytes", len);
	memcpy(text, json, len);
	len = json_minify(text, len);
	if (digest)
		sha256_of(text, len, digest);
	r = spool_event(e->spool, event, e->t_ms, key, text, len, place);
	free(text);
	if (r == -ENOSPC && place)
		place->len = 0;
	return spool_trouble(e, r);
}

static int
take_hello(struct evidence *e, const uint8_t *body, size_t len, struct run_event *ev)
{
	const char *sha;
	int r;

	if (e->hello)
		return bad(e, "guest sent HELLO twice");
	if ((r = evidence_parse_hello((const char *)body, len, &e->hello, e->why)) < 0)
		return r;
	sha = json_get_text(json_get(e->hello, "guest"), "sha256");
	if (strcmp(sha, e->guest_sha256) != 0)
		return bad(e, "the guest in the sandbox is not the one of this program (SHA-256 %.16s...)", sha);
	ev->kind = RUN_EV_HELLO;
	ev->ok = true;
	return keep(e, "hello", "hello", body, len, NULL, NULL);
}

static int
take_opening(struct evidence *e, cJSON *doc, struct run_event *ev)
{
	if (e->opening) {
		cJSON_Delete(doc);
		return bad(e, "guest sent FIREWALL(opening) twice");
	}
	e->opening = doc; /* moved */
	if (!e->sandbox)
		return 0; /* no boundary: nothing to judge and nothing to believe */
	ev->kind = RUN_EV_OPENING;
	ev->ok = gate_check(&e->gate, &e->want, 1, doc, e->why) == 0;
	return 0;
}

static int
take_closing(struct evidence *e, cJSON *doc, struct run_event *ev)
{
	if (e->closing) {
		cJSON_Delete(doc);
		return bad(e, "guest sent FIREWALL(closing) twice");
	}
	e->closing = doc; /* moved */
	if (!e->sandbox)
		return 0;
	ev->kind = RUN_EV_CLOSING;
	ev->ok = gate_check(&e->gate, &e->want, 2, doc, e->why) == 0;
	return 0;
}

static int
take_firewall(struct evidence *e, const uint8_t *body, size_t len, struct run_event *ev)
{
	static const char *const names[] = { "", "opening", "closing", "changed" };
	const cJSON *failure;
	char problem[160], name[32];
	cJSON *doc;
	int r;

	if (len < 1 || body[0] < 1 || body[0] > 3)
		return bad(e, "guest sent FIREWALL of no known phase");
	doc = json_take((const char *)body + 1, len - 1, GATE_BYTES_MAX, problem);
	if (!doc)
		return bad(e, "guest sent FIREWALL that is not JSON: %s", problem);
	if (!cJSON_IsObject(doc)) {
		cJSON_Delete(doc);
		return bad(e, "guest sent FIREWALL that is not an object");
	}
	snprintf(name, sizeof(name), "firewall-%s", names[body[0]]);
	if ((r = keep(e, name, "firewall", body + 1, len - 1, NULL, NULL)) < 0) {
		cJSON_Delete(doc);
		return r;
	}
	if (body[0] == 1)
		return take_opening(e, doc, ev);
	if (body[0] == 2)
		return take_closing(e, doc, ev);
	cJSON_Delete(e->changed);
	e->changed = doc; /* moved */
	failure = json_get(doc, "failure");
	snprintf(e->why, sizeof(e->why), "the firewall was changed while the run lasted: %.60s %.20s %.180s",
		 json_get_text(failure, "step") ? json_get_text(failure, "step") : "",
		 json_get_text(failure, "errno") ? json_get_text(failure, "errno") : "",
		 json_get_text(failure, "text") ? json_get_text(failure, "text") : "");
	ev->kind = RUN_EV_CHANGED;
	return 0;
}

struct copy {
	char *text;
	size_t len, size;
};

static int
to_copy(void *arg, const void *data, size_t len)
{
	struct copy *c = arg;
	size_t size = c->size;
	char *p;

	while (size - c->len < len)
		size = size ? 2 * size : 4096;
	if (size != c->size) {
		if (!(p = realloc(c->text, size)))
			return -ENOMEM;
		c->text = p;
		c->size = size;
	}
	memcpy(c->text + c->len, data, len);
	c->len += len;
	return 0;
}

/* To the checks as it stands in the receipt, as the operations do: with credentials named. */
static int
judge_state(struct evidence *e, unsigned phase, size_t service, const char *text, size_t len)
{
	struct copy c = { 0 };
	cJSON *doc;
	int r;

	if (!e->checks->model)
		return 0; /* nobody follows the states */
	if (e->spool->redact && (r = redact_json(e->spool->redact, text, len, to_copy, &c)) < 0) {
		free(c.text);
		return bad(e, "no memory for a state");
	}
	doc = c.text ? cJSON_ParseWithLength(c.text, c.len) : cJSON_ParseWithLength(text, len);
	r = doc ? 0 : bad(e, "no memory for a state");
	if (doc)
		checks_state(e->checks, phase, service, doc);
	cJSON_Delete(doc);
	free(c.text);
	return r;
}

static int
take_state(struct evidence *e, const uint8_t *body, size_t len)
{
	struct evidence_state *s;
	unsigned phase;
	cJSON *doc;
	int r;

	if (len < 2 || body[0] < 1 || body[0] > 2)
		return bad(e, "guest sent STATE of no known phase");
	phase = body[0] - 1u;
	if (phase == 1 && !e->have_exit)
		return bad(e, "guest sent STATE(final) before EXIT");
	if ((r = evidence_parse_state(e->w, body[1], (const char *)body + 2, len - 2, &doc, e->why)) < 0)
		return r;
	cJSON_Delete(doc);
	s = &e->states[phase * e->w->services_len + body[1]];
	if (s->have)
		return bad(e, "guest sent STATE of service %u twice", body[1]);
	if ((r = judge_state(e, phase, body[1], (const char *)body + 2, len - 2)) < 0)
		return r;
	s->have = true;
	return keep(e, phase ? "state-final" : "state-initial", "state", body + 2, len - 2, &s->place, s->digest);
}

/* Whether the twins sent it, and the workflow answered. */
static bool
is_sent(const struct evidence_op *o, const cJSON *op)
{
	return o->service == EVIDENCE_TRIGGER || strcmp(json_get_text(op, "kind"), "webhook") == 0;
}

/* For a person: the request, and what would have had to be different. */
static void
tell_unmatched(struct evidence *e, const cJSON *op)
{
	const cJSON *request = json_get(op, "request"), *nearest = json_get(op, "nearest");
	const char *method = json_get_text(request, "method"), *target = json_get_text(request, "target");
	const char *route = json_get_text(nearest, "route"), *difference = json_get_text(nearest, "difference");

	/* What was no request at all has no method. */
	if ((!method || !*method) && difference) {
		snprintf(e->unmatched_text, sizeof(e->unmatched_text), "%.64s was sent no request: %.160s",
			 json_get_text(op, "service") ? json_get_text(op, "service") : "?", difference);
		return;
	}
	snprintf(e->unmatched_text, sizeof(e->unmatched_text), "%.16s %.120s%s%.64s%s%.100s", method ? method : "?",
		 target ? target : "?", route ? "; nearest is " : "", route ? route : "", difference ? ": " : "",
		 difference ? difference : "");
}

/* The twins say so themselves, also of what "unmatched": "404" does not excuse, such as a request that cannot be read.
 * Where they do not, a request that they understood must have a route, or be excused. */
static bool
is_unmatched(const cJSON *service, const cJSON *op)
{
	const cJSON *policy = json_get(service, "unmatched");
	const char *view = json_get_text(json_get(op, "views"), "service");
	uint64_t number;

	if (json_get_true(op, "unmatched"))
		return true;
	if (json_get_text(op, "route") || (view && strcmp(view, "not-reached") == 0))
		return false;
	return !(cJSON_IsString(policy) && strcmp(policy->valuestring, "404") == 0) &&
	       !(json_as_u64(policy, 404, &number) && number == 404);
}

/* A trigger counts as made when the workflow answered it in any way, or when there is nothing to answer. */
static void
take_trigger(struct evidence *e, const struct evidence_op *o, const cJSON *op)
{
	const char *told = json_get_text(json_get(op, "views"), "client");
	uint8_t now = told && strcmp(told, "told-nothing") != 0 ? TRIGGER_ANSWERED : TRIGGER_UNANSWERED;
	size_t i;

	if (world_trigger_find(e->w, o->route, &i, NULL) && i < EVIDENCE_TRIGGERS_MAX && now > e->triggers[i])
		e->triggers[i] = now;
}

static int
take_call(struct evidence *e, struct evidence_op *o, const cJSON *op)
{
	struct trace_op t;

	trace_call(op, &t);
	memcpy(o->group, t.group, sizeof(o->group));
	memcpy(o->key, t.key, sizeof(o->key));
	memcpy(o->content, t.content, sizeof(o->content));
	if (o->service == EVIDENCE_TRIGGER)
		take_trigger(e, o, op);
	if (!is_sent(o, op) && is_unmatched(e->w->services[o->service].json, op)) {
		if (e->unmatched++ == 0) {
			e->first_unmatched = o->n;
			tell_unmatched(e, op);
		}
	}
	checks_operation(e->checks, o->n, op);
	return 0;
}

/* A name is no call, nor is a message to the stub that asks for none: `calls`, `never` and no-unmatched do not see it,
 * no-egress sees names. */
static int
take_name(struct evidence *e, struct evidence_op *o, const cJSON *op)
{
	if (!e->sandbox)
		return bad(e, "guest sent OP of kind dns where there is no DNS stub");
	if (evidence_names_add(&e->names, op, e->t_ms, o->content) < 0 ||
	    evidence_names_answered(&e->names, e->w, op) < 0)
		return bad(e, "no memory for a name");
	memcpy(o->group, o->content, sizeof(o->group));
	return 0;
}

static int add_op(struct evidence *e, const uint8_t *body, size_t len);

/* An operation is judged, and goes into the fingerprint, as it stands in the receipt: with credentials named. */
static int
take_op(struct evidence *e, const uint8_t *body, size_t len)
{
	struct copy c = { 0 };
	int r;

	if (!e->spool->redact)
		return add_op(e, body, len);
	r = redact_json(e->spool->redact, (const char *)body, len, to_copy, &c);
	r = r < 0 ? bad(e, "no memory for an operation") : add_op(e, (const uint8_t *)c.text, c.len);
	free(c.text);
	return r;
}

static int
add_op(struct evidence *e, const uint8_t *body, size_t len)
{
	struct evidence_op *o;
	size_t service, size;
	cJSON *op;
	void *p;
	int r;

	if (e->ops_len >= e->w->limits.operations)
		return bad(e, "guest sent more operations than the limit of %u", e->w->limits.operations);
	if (e->ops_len == e->ops_size) {
		size = e->ops_size ? 2 * e->ops_size : 256;
		p = reallocarray(e->ops, size, sizeof(*e->ops));
		if (!p)
			return bad(e, "no memory for the index of operations");
		e->ops = p;
		e->ops_size = size;
	}
	o = &e->ops[e->ops_len];
	memset(o, 0, sizeof(*o));
	if ((r = evidence_parse_op(e->w, (const char *)body, len, e->ops_len, &op, &service, &o->route, e->why)) < 0)
		return r;
	o->n = (uint32_t)e->ops_len;
	o->service = (uint8_t)service;
	r = service == EVIDENCE_DNS ? take_name(e, o, op) : take_call(e, o, op);
	if (r == 0 && evidence_faults_add(e, op, o->n) < 0)
		r = bad(e, "guest sent OP %u with a fault that the world does not have", o->n);
	cJSON_Delete(op);
	if (r < 0)
		return r;
	e->ops_len++;
	return keep(e, "operation", "op", body, len, &o->place, NULL);
}

static int
take_denied(struct evidence *e, const uint8_t *body, size_t len)
{
	uint64_t before, after;
	static const char *const names[] = { "workflow", "twins", "others", "kernel" };
	cJSON *doc;
	size_t i;
	int r;

	if ((r = evidence_parse_denied((const char *)body, len, &doc, e->why)) < 0)
		return r;
	for (i = 0; e->denied && i < sizeof(names) / sizeof(names[0]); i++)
		if (json_get_u64(json_get(e->denied, "total"), names[i], UINT64_MAX, &before) &&
		    json_get_u64(json_get(doc, "total"), names[i], UINT64_MAX, &after) && after < before)
			r = bad(e, "guest sent DENIED whose total.%s went back", names[i]);
	cJSON_Delete(e->denied);
	e->denied = doc; /* moved */
	e->denied_last = e->have_exit;
	return r < 0 ? r : keep(e, "denied", "denied", body, len, NULL, NULL);
}

/* ---- flat records ---------------------------------------------------------------------------------------------------- */

static int __attribute__((format(printf, 4, 5)))
note(struct evidence *e, const char *event, const char *key, const char *format, ...)
{
	char text[1024], json[6200];
	struct writer w;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	writer_init(&w, json, sizeof(json));
	json_text(&w, text);
	if (w.failed)
		return 0;
	return spool_trouble(e, spool_event(e->spool, event, e->t_ms, key, json, w.len, NULL));
}

static int
take_exit(struct evidence *e, const uint8_t *body, size_t len, struct run_event *ev)
{
	int r;

	if (e->have_exit)
		return bad(e, "guest sent EXIT twice");
	if (plan_exit_decode(body, len, &e->exit) < 0)
		return bad(e, "guest sent a malformed EXIT");
	e->have_exit = true;
	ev->kind = RUN_EV_EXIT;
	ev->ok = e->exit.stage == EXEC_OK;
	ev->value = e->exit.ended_by;
	if ((r = redact_stream_finish(&e->out.redact)) < 0 || (r = redact_stream_finish(&e->err.redact)) < 0 ||
	    (r = pending_flush(&e->out)) < 0 || (r = pending_flush(&e->err)) < 0)
		return e->why[0] ? r : bad(e, "output could not be recorded: %s", strerror(-r));
	r = note(e, "exit", "text", "code %d signal %u ended by %s", e->exit.code, e->exit.signal,
		 exit_ended_by_name(e->exit.ended_by));
	if (r == 0 && !ev->ok)
		snprintf(e->why, sizeof(e->why), "the workflow could not be started: %s failed with %s",
			 exec_stage_name(e->exit.stage), e->exit.errno_name);
	return r;
}

static int
take_truncated(struct evidence *e, const uint8_t *body, size_t len)
{
	struct plan_truncated t;

	if (plan_truncated_decode(body, len, &t) < 0 || t.what < TRUNCATED_STDOUT || t.what > TRUNCATED_DENIED)
		return bad(e, "guest sent a malformed TRUNCATED");
	if (e->truncated_len == EVIDENCE_TRUNCATED_MAX)
		return bad(e, "guest sent TRUNCATED too often");
	e->truncated[e->truncated_len++] = t;
	return note(e, "truncated", "text", "%s: %" PRIu64 " kept, %" PRIu64 " lost", truncated_what_name(t.what),
		    t.kept, t.lost);
}

/* Steps that belong to the boundary: their failure means that it was not up, which is "aborted", not "error". */
static bool
is_boundary_step(const char *step)
{
	static const char *const own[] = { "net.veth",   "features", "install", "readback",
					   "generation", "prove",    "watch",   "closing" };
	size_t i;

	if (strncmp(step, "firewall", 8) == 0)
		return true;
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(step, own[i]) == 0)
			return true;
	return false;
}

static int
take_fail(struct evidence *e, const uint8_t *body, size_t len, struct run_event *ev)
{
	struct plan_fail f;

	if (plan_fail_decode(body, len, &f) < 0)
		return bad(e, "guest sent a malformed FAIL");
	if (!e->have_fail) {
		snprintf(e->fail_step, sizeof(e->fail_step), "%s", f.step);
		snprintf(e->fail_errno, sizeof(e->fail_errno), "%s", f.errno_name);
		snprintf(e->fail_text, sizeof(e->fail_text), "%s", f.text);
	}
	e->have_fail = true;
	snprintf(e->why, sizeof(e->why), "step %.60s failed in the sandbox: %.20s%s%.200s", f.step, f.errno_name,
		 *f.errno_name ? ", " : "", f.text);
	ev->kind = RUN_EV_FAIL;
	ev->ok = is_boundary_step(f.step);
	return note(e, "fail", "text", "%s", e->why);
}

static int
take_log(struct evidence *e, const uint8_t *body, size_t len)
{
	if (len < 1 || body[0] < 1 || body[0] > 3 || len > 8192)
		return bad(e, "guest sent a malformed LOG");
	e->logs++;
	return note(e, "log", "text", "%.*s", (int)(len - 1 > 900 ? 900 : len - 1), (const char *)body + 1);
}

static bool
stream_is_whole(struct evidence *e, struct evidence_stream *s, uint64_t wrote, const uint8_t *sent, uint8_t what)
{
	uint8_t own[32];
	size_t i;

	sha256_get(&s->raw, own);
	if (memcmp(own, sent, 32) != 0) {
		bad(e, "%s is not whole: what arrived has another digest than EXIT states", s->event);
		return false;
	}
	if (wrote == s->bytes)
		return true;
	for (i = 0; i < e->truncated_len; i++)
		if (e->truncated[i].what == what && e->truncated[i].kept == s->bytes && wrote > s->bytes)
			return true;
	bad(e, "%s is not whole: %" PRIu64 " bytes arrived, EXIT states %" PRIu64, s->event, s->bytes, wrote);
	return false;
}

static bool
is_whole(struct evidence *e, const struct frame_chain *before)
{
	size_t i;

	if (e->end.frames != e->frames - 1 || memcmp(e->end.chain, before->value, 32) != 0) {
		bad(e, "the chain of frames is not the one that END states");
		return false;
	}
	if (!e->have_exit) {
		bad(e, "END without EXIT");
		return false;
	}
	if (!stream_is_whole(e, &e->out, e->exit.stdout_bytes, e->exit.stdout_sha256, TRUNCATED_STDOUT) ||
	    !stream_is_whole(e, &e->err, e->exit.stderr_bytes, e->exit.stderr_sha256, TRUNCATED_STDERR))
		return false;
	for (i = 0; i < 2 * e->w->services_len; i++)
		if (!e->states[i].have) {
			bad(e, "no %s state of service %s arrived", i < e->w->services_len ? "initial" : "final",
			    e->w->services[i % e->w->services_len].name);
			return false;
		}
	if (spool_flush(e->spool) < 0) {
		bad(e, "the event file could not be written: %s", strerror(-e->spool->error));
		return false;
	}
	return true;
}

static int
take_end(struct evidence *e, const uint8_t *body, size_t len, const struct frame_chain *before, struct run_event *ev)
{
	if (plan_end_decode(body, len, &e->end) < 0 || e->end.result > END_TIMEOUT)
		return bad(e, "guest sent a malformed END");
	e->have_end = true;
	ev->kind = RUN_EV_END;
	ev->value = e->end.result;
	ev->ok = is_whole(e, before);
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------------------------------- */

static int
take(struct evidence *e, uint8_t type, const uint8_t *body, size_t len, const struct frame_chain *before,
     struct run_event *ev)
{
	switch (type) {
	case FRAME_HELLO:
		return take_hello(e, body, len, ev);
	case FRAME_FIREWALL:
		return take_firewall(e, body, len, ev);
	case FRAME_STATE:
		return take_state(e, body, len);
	case FRAME_READY:
		ev->kind = RUN_EV_READY;
		return len == 0 ? 0 : bad(e, "guest sent READY with a body");
	case FRAME_STDOUT:
		return take_output(e, &e->out, CHECK_STDOUT, body, len);
	case FRAME_STDERR:
		return take_output(e, &e->err, CHECK_STDERR, body, len);
	case FRAME_OP:
		return take_op(e, body, len);
	case FRAME_DENIED:
		return take_denied(e, body, len);
	case FRAME_EXIT:
		return take_exit(e, body, len, ev);
	case FRAME_TRUNCATED:
		return take_truncated(e, body, len);
	case FRAME_PONG:
		return len == 16 ? 0 : bad(e, "guest sent a malformed PONG");
	case FRAME_LOG:
		return take_log(e, body, len);
	case FRAME_FAIL:
		return take_fail(e, body, len, ev);
	case FRAME_END:
		return take_end(e, body, len, before, ev);
	default:
		return bad(e, "guest sent a frame of the host");
	}
}

/* Collects the frames of one record.  1 when it is complete: *body and *len are it. */
static int
collect(struct evidence *e, const struct frame *f, const uint8_t **body, size_t *len)
{
	size_t size;
	void *p;

	*body = f->body;
	*len = f->len;
	/* Other types may stand between the frames of a record; the receiver checked which.  Output is never a record. */
	if (f->type != FRAME_FIREWALL && f->type != FRAME_STATE && f->type != FRAME_OP && f->type != FRAME_DENIED &&
	    f->type != FRAME_HELLO)
		return 1;
	if (e->record_type != f->type && e->record_type != 0)
		return f->flags & FRAME_MORE ? bad(e, "guest sent a record within a record") : 1;
	if (e->record_type == 0 && !(f->flags & FRAME_MORE))
		return 1;
	e->record_type = f->type;
	if (f->len > RECORD_MAX - e->record_len)
		return bad(e, "guest sent a record of more than %u bytes", RECORD_MAX);
	if (e->record_len + f->len > e->record_size) {
		for (size = e->record_size ? e->record_size : 131072; size < e->record_len + f->len; size *= 2)
			;
		p = realloc(e->record, size);
		if (!p)
			return bad(e, "no memory for a record");
		e->record = p;
		e->record_size = size;
	}
	if (f->len)
		memcpy(e->record + e->record_len, f->body, f->len);
	e->record_len += f->len;
	if (f->flags & FRAME_MORE)
		return 0;
	*body = e->record;
	*len = e->record_len;
	e->record_len = 0;
	e->record_type = 0;
	return 1;
}

void
evidence_frame(struct evidence *e, const struct frame *f, const struct frame_chain *chain,
	       const struct frame_chain *chain_before, uint64_t t_ms, struct run_event *ev)
{
	const uint8_t *body;
	size_t len;
	int r;

	memset(ev, 0, sizeof(*ev));
	ev->kind = RUN_EV_HEARD;
	ev->ok = f->type != FRAME_PONG && f->type != FRAME_LOG;
	e->why[0] = '\0';
	e->t_ms = t_ms;
	e->frames++;
	memcpy(e->chain, chain->value, 32);
	r = collect(e, f, &body, &len);
	if (r > 0)
		r = take(e, f->type, body, len, chain_before, ev);
	if (r < 0) {
		ev->kind = RUN_EV_BAD;
		ev->ok = false;
		if (e->why[0] == '\0')
			bad(e, "guest sent a malformed %s", frame_type_name(f->type));
	}
	ev->why = e->why[0] ? e->why : NULL;
}
