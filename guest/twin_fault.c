/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_fault.c - what faults do to a connection: replies that are cut, slow or never sent, requests that come once more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/events.h"
#include "guest/service.h"
#include "guest/twin_http.h"

struct http_again {
	struct http_again *next;
	uint64_t number, conn;
	struct service *service;
	struct request request; /* owned, as its body */
	struct buf body;
	const struct fault *fault;
	bool drawn;
	double draw;
	uint64_t copy; /* of the next one, from 1 */
	bool waits;    /* for the first reply to leave */
	uint64_t due_ms;
};

static enum http_end
end_of(const struct fault *f)
{
	return f->end == FAULT_END_FIN ? HTTP_END_FIN : f->end == FAULT_END_RST ? HTTP_END_RST : HTTP_END_STALL;
}

/* Not a byte of a reply leaves. */
static bool
is_silent(const struct fault *f)
{
	return f->phase <= FAULT_MID_REQUEST ||
	       (f->class == FAULT_TIMEOUT_AFTER_WRITE && f->phase == FAULT_AFTER_EFFECT);
}

static bool
is_cut(const struct fault *f)
{
	return f->phase == FAULT_MID_REPLY &&
	       (f->end == FAULT_END_STALL || f->end == FAULT_END_FIN || f->end == FAULT_END_RST);
}

/* see twin_http.h */
enum op_told
http_told(const struct answer *a)
{
	const struct fault *f = a->faults.hit;

	if (f != NULL && (is_silent(f) || is_cut(f) || a->is_unended))
		return OP_TOLD_NOTHING;
	return a->status < 400 && !a->tells_error ? OP_TOLD_OK : OP_TOLD_ERROR;
}

/* Where byte n of the body stands among the chunks.  The end of a frame is behind the whole chunk. */
static size_t
chunk_offset(const struct answer *a, size_t n)
{
	size_t at = 0, from = 0;

	for (size_t i = 0; i < a->frames_len && n > from; i++) {
		size_t len = a->frames[i] - from;

		if (len == 0)
			continue;
		for (size_t rest = len; rest > 0; rest >>= 4)
			at++;
		at += 2;
		if (n < a->frames[i])
			return at + n - from;
		at += len + 2;
		from = a->frames[i];
	}
	return at;
}

/* The body, of which a part of the framing is wrong, instead of what is there. */
static void
put_broken(struct http_conn *c, const struct answer *a, size_t body, bool bad_size)
{
	size_t len = bad_size ? a->body.len / 2 : a->body.len;

	c->out.len = body;
	buf_format(&c->out, "%zx\r\n", len);
	buf_add(&c->out, a->body.at, len);
	buf_text(&c->out, "\r\n");
	if (!bad_size)
		return;
	buf_text(&c->out, "size\r\n");
	buf_add(&c->out, a->body.at + len, a->body.len - len);
	buf_text(&c->out, "\r\n0\r\n\r\n");
}

/* see twin_http.h */
bool
http_fault_framing(const struct answer *a, struct buf *out)
{
	const struct fault *f = a->faults.hit;

	if (f == NULL || f->body < FAULT_BODY_BAD_CHUNK)
		return false;
	if (f->body != FAULT_BODY_NO_LENGTH)
		buf_text(out, "Transfer-Encoding: chunked\r\n");
	return true;
}

/* see twin_http.h */
void
http_fault_reply(struct http_conn *c, struct answer *a, size_t start, size_t body, bool chunked)
{
	const struct fault *f = a->faults.hit;
	size_t len = c->out.len - body;

	if (is_silent(f)) {
		c->out.len = start;
		c->tail = 0;
	} else if (f->body == FAULT_BODY_NOT_HTTP) { /* noise alone, no head before it */
		c->out.len = start;
		buf_add(&c->out, a->body.at, a->body.len);
	} else if (len > 0 && (f->body == FAULT_BODY_BAD_CHUNK || f->body == FAULT_BODY_UNTERMINATED)) {
		put_broken(c, a, body, f->body == FAULT_BODY_BAD_CHUNK);
	} else if (is_cut(f) && chunked) {
		c->out.len = body + chunk_offset(a, fault_cut(f, a, a->body.len));
		c->tail = 0;
	} else if (is_cut(f)) {
		c->out.len = len > 0 ? body + fault_cut(f, a, len) : start + (body - start) / 2;
	} else if (f->is_slow) {
		if (!c->slow.on) {
			c->slow.on = true;
			c->slow.open = c->out_end;
			c->slow.due_ms = c->core->t_ms + f->first_ms;
			c->slow.every_ms = f->chunk_ms;
			c->slow.bytes = f->chunk_bytes;
		}
		c->slow.end = c->out_end + (c->out.len - start);
	}
	if (is_silent(f) || is_cut(f)) {
		c->how = end_of(f);
		c->keep_alive = false;
	} else if (f->body >= FAULT_BODY_WRONG_LENGTH) {
		c->keep_alive = false; /* nobody knows where the next reply would start */
	}
	a->sent = c->out.len - start;
}

/* A fault before there is a whole request: it is recorded, and the connection at its end. */
static bool
meet_early(struct http_conn *c, enum fault_phase phase, const char *key, size_t key_len)
{
	struct world *w = c->core->world;
	struct eval e = { .state = &c->service->state,
			  .arena = &c->request.arena,
			  .now = twin_clock_now(&w->clock, c->core->t_ms),
			  .seed = w->seed,
			  .id = "" /* no effect is current */ };
	struct fault_call call = {
		.service = c->service, .key = key, .key_len = key_len, .eval = &e, .t_ms = c->core->t_ms
	};
	struct answer a;
	bool met = false;
	int r;

	if (!faults_concern(&w->faults, c->service, FAULT_BIT(phase)) || ops_is_full(&c->core->ops))
		return false;
	answer_init(&a);
	a.t_ms = c->core->t_ms;
	r = faults_decide(&w->faults, &call, FAULT_BIT(phase), 0, &a.faults);
	if (r < 0) {
		c->core->failed = r;
	} else if (a.faults.hit != NULL) {
		met = true;
		a.view = "not-reached";
		a.status = 0;
		c->how = end_of(a.faults.hit);
		c->keep_alive = false;
		http_record(c, &a, true, false);
	}
	answer_wipe(&a);
	return met;
}

/* see twin_http.h */
void
http_fault_dropped(struct http_core *core, const struct fault *f)
{
	struct http_conn c;
	struct answer a;

	if (ops_is_full(&core->ops)) {
		core->ops.refused++;
		return;
	}
	http_init(&c, core, &core->world->services[f->service->index]);
	answer_init(&a);
	a.view = "not-reached";
	a.status = 0;
	a.faults.hit = f;
	http_record(&c, &a, true, false);
	answer_wipe(&a);
	http_wipe(&c);
}

/* see twin_http.h */
void
http_begin(struct http_conn *c)
{
	if (meet_early(c, FAULT_CONNECT, "connect", 7))
		c->phase = HTTP_PHASE_CLOSING;
}

/* see twin_http.h */
bool
http_fault_head(struct http_conn *c)
{
	struct buf key;
	bool met;

	if (!faults_concern(&c->core->world->faults, c->service, FAULT_BIT(FAULT_MID_REQUEST)))
		return false;
	buf_init(&key, 65536);
	buf_format(&key, "%s %s", c->request.method, c->request.target);
	met = meet_early(c, FAULT_MID_REQUEST, key.at == NULL ? "" : key.at, key.len);
	buf_wipe(&key);
	return met;
}

/* see twin_http.h */
void
http_tick(struct http_conn *c)
{
	while (c->slow.on && c->core->t_ms >= c->slow.due_ms) {
		c->slow.open = c->slow.every_ms == 0 || c->slow.bytes >= c->slow.end - c->slow.open
				       ? c->slow.end
				       : c->slow.open + c->slow.bytes;
		c->slow.due_ms = c->core->t_ms + c->slow.every_ms;
		c->slow.on = c->slow.open < c->slow.end;
		if (c->slow.on)
			break; /* never two pieces at once, however late it is */
	}
}

/* see twin_http.h */
uint64_t
http_due(const struct http_conn *c)
{
	return c->slow.on ? c->slow.due_ms : UINT64_MAX;
}

/* ---- requests that come once more ---------------------------------------------------------------------------------- */

static void
drop(struct http_core *core, struct http_again **place)
{
	struct http_again *again = *place;

	*place = again->next;
	core->again_len--;
	core->memory -= again->body.size;
	request_wipe(&again->request);
	buf_wipe(&again->body);
	free(again);
}

/* see twin_http.h */
void
http_again_wipe(struct http_core *core)
{
	while (core->again != NULL)
		drop(core, &core->again);
}

/* One more arrival of the request.  Nobody waits for what it is answered. */
static void
bring(struct http_core *core, struct http_again *again)
{
	struct request *q = &again->request;
	struct op_input in = { .service = again->service,
			       .conn = again->conn,
			       .t_ms = core->t_ms,
			       .request = q,
			       .is_whole = true,
			       .is_head = strcmp(q->method, "HEAD") == 0 };
	struct answer a;
	struct op *op;
	int r;

	if (ops_is_full(&core->ops)) {
		core->ops.refused++;
		return;
	}
	answer_init(&a);
	a.t_ms = core->t_ms;
	a.copy = again->copy++;
	r = answer_request(core->world, again->service, q, twin_clock_call(&core->world->clock, core->t_ms), &a);
	a.faults.hit = again->fault;
	a.faults.drawn = again->drawn;
	a.faults.draw = again->draw;
	in.answer = &a;
	op = r < 0 ? NULL : ops_add(&core->ops, &in);
	if (op != NULL)
		op_settle(op, OP_TOLD_NOTHING);
	else
		core->failed = r < 0 ? r : -ENOMEM;
	core->changes += r == 0 && a.effects.len > 0;
	if (r == 0 && core->events != NULL && strcmp(a.view, "applied") == 0)
		events_take(core->events, again->service, &a);
	idempotency_release(a.key);
	answer_wipe(&a);
}

/* see twin_http.h */
uint64_t
http_fault_repeat(struct http_conn *c, const struct answer *a)
{
	const struct fault *f = a->faults.hit;
	struct http_core *core = c->core;
	struct http_again *again, **last = &core->again;

	if (f->phase != FAULT_REDELIVER || core->again_len >= HTTP_AGAIN_MAX || core->failed != 0)
		return 0;
	again = calloc(1, sizeof(*again));
	if (again == NULL) {
		core->failed = -ENOMEM;
		return 0;
	}
	*again = (struct http_again){ .number = c->number + 1,
				      .conn = c->number,
				      .service = c->service,
				      .request = c->request,
				      .body = c->body,
				      .fault = f,
				      .drawn = a->faults.drawn,
				      .draw = a->faults.draw,
				      .copy = 1,
				      .waits = f->spacing == FAULT_AFTER,
				      .due_ms = core->t_ms + f->spacing_ms };
	request_init(&c->request);
	buf_init(&c->body, HTTP_BODY_MAX);
	core->memory += again->body.size;
	while (*last != NULL)
		last = &(*last)->next;
	*last = again;
	core->again_len++;
	if (f->spacing != FAULT_DURING)
		return again->number;
	while (again->copy < f->times && core->failed == 0)
		bring(core, again);
	drop(core, last);
	return 0;
}

/* see twin_http.h */
void
http_again_left(struct http_core *core, uint64_t number)
{
	for (struct http_again *a = core->again; a != NULL && number != 0; a = a->next)
		if (a->number == number && a->waits) {
			a->waits = false;
			a->due_ms = core->t_ms;
			return; /* replies of one connection leave in their order */
		}
}

/* see twin_http.h */
void
http_again(struct http_core *core, bool all)
{
	struct http_again **place = &core->again;

	while (*place != NULL && core->failed == 0) {
		struct http_again *a = *place;

		while (a->copy < a->fault->times && core->failed == 0 &&
		       (all || (!a->waits && a->due_ms <= core->t_ms))) {
			bring(core, a);
			a->due_ms = core->t_ms + a->fault->spacing_ms;
		}
		if (a->copy >= a->fault->times)
			drop(core, place);
		else
			place = &a->next;
	}
}

/* see twin_http.h */
uint64_t
http_again_due(const struct http_core *core)
{
	uint64_t due = UINT64_MAX;

	for (const struct http_again *a = core->again; a != NULL; a = a->next)
		if (!a->waits && a->due_ms < due)
			due = a->due_ms;
	return due;
}
