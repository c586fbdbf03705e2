/* SPDX-License-Identifier: GPL-2.0-or-later
 * events.c - see events.h.  One list in the order of what was asked for.  A delivery waits for a time, for another delivery, or
 * for the endpoint to prove itself; every attempt that ends is recorded at once. */
#include "guest/events.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guest/answer.h"
#include "guest/event_body.h"
#include "guest/redeliver.h"
#include "guest/service.h"
#include "guest/twin_http.h"
#include "proto/sha256.h"

struct event {
	unsigned refs;                      /* deliveries, and a caller of events_trigger */
	unsigned open;                      /* deliveries that are not over */
	struct service *service;            /* of a webhook, else NULL */
	const struct trigger_spec *trigger; /* what began it, or NULL */
	const char *name;
	struct cJSON *data; /* owned; or NULL */
	bool challenge;
	struct event_body body;
	size_t memory;
	int64_t op;       /* of the first attempt that was recorded, -1 none */
	struct call last; /* the end of the last attempt, without its bytes; started_ms 0: none was made */
	bool accepted;    /* an attempt was answered with success */
};
enum wait_for { WAIT_NOTHING, WAIT_SENT, WAIT_ENDED };
struct delivery {
	struct delivery *before, *next;
	struct event *event;
	struct redelivery fault; /* of a copy */
	unsigned copy, attempt;  /* from 0 */
	uint64_t due_ms;
	const struct delivery *after; /* with wait */
	enum wait_for wait;
	uint32_t delay_ms;  /* after what was waited for */
	bool held;          /* order reversed: the newest one, not started yet */
	bool sent, flying;  /* sent: the first attempt has left, and those that wait know */
	const char *reason; /* why the attempt before failed, in Slack's words */
	uint64_t t_ms;      /* when this attempt began, since the configuration */
	struct buf bytes;
	struct message message;
	struct call call;
};
/* How long a sender waits for an answer. */
static const uint32_t patience_ms[] = {
	[SIGN_STRIPE] = 10000, [SIGN_GITHUB] = 10000, [SIGN_SLACK] = 3000, [SIGN_STANDARD] = 15000
};

/* see events.h */
void
events_init(struct events *v, struct http_core *core)
{
	*v = (struct events){ .core = core, .next_ms = UINT64_MAX };
}

static void
event_drop(struct events *v, struct event *e)
{
	if (--e->refs > 0)
		return;
	v->memory -= e->memory;
	event_body_wipe(&e->body);
	cJSON_Delete(e->data);
	free(e);
}

static void
delivery_free(struct events *v, struct delivery *d)
{
	if (v->first == d)
		v->first = d->next;
	else
		d->before->next = d->next;
	if (v->last == d)
		v->last = d->before;
	else
		d->next->before = d->before;
	v->len--;
	if (d->flying) {
		v->flying--;
		call_wipe(&d->call);
	}
	buf_wipe(&d->bytes);
	d->event->open--;
	event_drop(v, d->event);
	free(d);
}

/* see events.h */
void
events_wipe(struct events *v)
{
	while (v->first != NULL)
		delivery_free(v, v->first);
}

/* In front: before all others.  NULL: no memory, or too many. */
static struct delivery *
add(struct events *v, struct event *e, bool front)
{
	struct delivery *d = v->len < EVENTS_WAITING_MAX ? calloc(1, sizeof(*d)) : NULL;

	if (d == NULL) {
		v->core->ops.refused++;
		return NULL;
	}
	d->event = e;
	e->refs++;
	e->open++;
	d->due_ms = v->now;
	buf_init(&d->bytes, EVENT_BODY_MAX + 65536u);
	d->next = front ? v->first : NULL;
	d->before = front ? NULL : v->last;
	if (d->next != NULL)
		d->next->before = d;
	else
		v->last = d;
	if (d->before != NULL)
		d->before->next = d;
	else
		v->first = d;
	v->len++;
	v->dirty = true;
	return d;
}

/* With one reference, the caller's; data is moved in.  NULL: it does not fit, and is counted. */
static struct event *
event_new(struct events *v, struct service *s, const char *name, struct cJSON *data, bool challenge)
{
	struct event *e = v->memory < EVENTS_MEMORY_MAX ? calloc(1, sizeof(*e)) : NULL;

	if (e == NULL) {
		v->core->ops.refused++;
		cJSON_Delete(data);
		return NULL;
	}
	*e = (struct event){ .refs = 1, .service = s, .name = name, .data = data, .challenge = challenge, .op = -1 };
	if (s != NULL && event_body_make(&e->body, v->core->world, s, name, data, challenge) < 0) {
		v->core->ops.refused++;
		event_drop(v, e);
		return NULL;
	}
	e->memory = e->body.bytes.size + (data == NULL ? 0 : json_heap(data));
	v->memory += e->memory;
	return e;
}

/* Order reversed: newest first, so the one that was to be the next waits for this one. */
static void
hold(struct events *v, struct delivery *d)
{
	for (struct delivery *other = v->first; other != NULL; other = other->next)
		if (other->held && other->event->service == d->event->service) {
			other->held = false;
			other->after = d;
			other->wait = WAIT_ENDED;
		}
	d->held = true;
	d->due_ms = v->now + EVENTS_HOLD_MS;
}

/* The event of a copy: the same, or one that only looks the same. */
static struct event *
event_of_copy(struct events *v, struct event *e, const struct redelivery *fault)
{
	if (fault->same_id || e->service == NULL) {
		e->refs++;
		return e;
	}
	return event_new(v, e->service, e->name, e->data == NULL ? NULL : cJSON_Duplicate(e->data, true), false);
}

/* The first delivery, and the copies that a fault asks for. */
static void
deliver(struct events *v, struct event *e)
{
	struct delivery *before = add(v, e, false), *copy;
	struct redelivery fault;
	int r;

	if (before == NULL)
		return;
	if (e->service != NULL && e->service->events->reversed)
		hold(v, before);
	r = redelivery_decide(v->core->world, e->service, e->name, e->service != NULL ? e->body.id : e->name,
			      v->core->t_ms, &fault);
	if (r < 0) {
		v->failed = r;
		return;
	}
	for (unsigned i = 1; i < fault.times && i < REDELIVER_TIMES_MAX; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): each delivery holds a reference to its event */
		struct event *other = event_of_copy(v, e, &fault);

		if (other == NULL)
			return;
		copy = add(v, other, false);
		event_drop(v, other);
		if (copy == NULL)
			return;
		copy->copy = i;
		copy->fault = fault;
		copy->after = before;
		copy->wait = fault.after ? WAIT_ENDED : WAIT_SENT;
		copy->delay_ms = fault.delay_ms;
		before = copy;
	}
}

/* see events.h */
void
events_take(struct events *v, struct service *s, struct answer *a)
{
	while (a->emitted != NULL) {
		struct emitted *next = a->emitted->next;
		struct event *e = event_new(v, s, a->emitted->event, a->emitted->data, false);

		free(a->emitted);
		a->emitted = next;
		if (e == NULL)
			continue;
		deliver(v, e);
		event_drop(v, e);
	}
}

/* see events.h */
struct event *
events_trigger(struct events *v, const struct trigger_spec *t)
{
	bool event = t->kind == TRIGGER_EVENT;
	struct cJSON *data = event && t->data != NULL ? cJSON_Duplicate(t->data, true) : NULL;
	struct event *e = event_new(v, event ? t->service : NULL, event ? t->event : t->id, data, false);

	if (e == NULL)
		return NULL;
	e->trigger = t;
	deliver(v, e);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the caller has one still */
	return e;
}

/* see events.h */
bool
event_is_over(const struct event *e)
{
	return e->open == 0;
}

/* see events.h */
void
events_release(struct events *v, struct event *e)
{
	event_drop(v, e);
}

static const struct endpoint *
endpoint_of(const struct event *e)
{
	return e->service != NULL ? &e->service->events->endpoint : &e->trigger->endpoint;
}

/* see events.h */
void
event_record(struct events *v, const struct event *e)
{
	const struct message m = { .method = "POST", .target = endpoint_of(e)->target, .bytes = "" };
	const struct message_end end = { .service = "trigger",
					 .kind = "event",
					 .route = e->trigger->id,
					 .resend_of = -1,
					 .t_ms = v->core->t_ms,
					 .call = e->last.started_ms == 0 ? NULL : &e->last,
					 .rejected = !e->accepted };

	if (message_record(&v->core->ops, &m, &end) == -ENOMEM)
		v->failed = -ENOMEM;
}

/* see events.h */
bool
events_are_idle(const struct events *v)
{
	return v->first == NULL;
}

/* see events.h */
void
events_open(struct events *v, uint64_t now)
{
	struct world *w = v->core->world;

	v->now = now;
	v->open = v->dirty = true;
	for (size_t i = w->services_len; i-- > 0;) {
		struct service *s = &w->services[i];
		struct event *e;

		if (s->events == NULL || !s->events->challenge)
			continue;
		e = event_new(v, s, "url_verification", NULL, true);
		if (e == NULL)
			continue;
		(void)add(v, e, true);
		event_drop(v, e);
	}
}

/* ---- one attempt ----------------------------------------------------------------------------------------------------- */

static uint64_t
seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec;
}

/* The bytes of the next attempt: a webhook is signed anew each time.  False: no memory. */
static bool
compose(struct delivery *d)
{
	const struct event *e = d->event;
	const char *fields;
	struct buf lines;
	bool done;

	if (e->service == NULL) {
		d->message = e->trigger->message;
		return true;
	}
	buf_init(&lines, 65536);
	fields = event_body_fields(&e->body, e->service->events, e->name, d->attempt, d->reason, seconds_now(), &lines);
	done = fields != NULL && message_put(&d->message, &d->bytes, "POST", endpoint_of(e), fields,
					     e->body.bytes.at == NULL ? "" : e->body.bytes.at, e->body.bytes.len);
	buf_wipe(&lines);
	return done;
}

static void
start(struct events *v, struct delivery *d)
{
	const struct event *e = d->event;
	uint64_t most = e->service != NULL ? patience_ms[e->service->events->scheme]
					   : v->core->world->workflow.trigger_ms;
	bool head;

	d->held = false;
	if (!compose(d)) {
		v->failed = -ENOMEM;
		return;
	}
	head = strcmp(d->message.method, "HEAD") == 0;
	d->t_ms = v->core->t_ms;
	if (!call_start(&d->call, endpoint_of(e), d->message.bytes, d->message.len, head, v->now, v->now + most)) {
		call_wipe(&d->call);
		v->failed = -ENOMEM;
		return;
	}
	d->flying = true;
	v->flying++;
}

/* {"id","name","attempt","copy","data_sha256"} */
static void
put_event(const struct delivery *d, struct buf *out)
{
	const struct event *e = d->event;
	char hex[65];

	sha256_hex(e->body.data_sha256, hex);
	buf_text(out, "{\"id\":");
	buf_json_text(out, e->body.id);
	buf_text(out, ",\"name\":");
	buf_json_text(out, e->name);
	buf_format(out, ",\"attempt\":%u,\"copy\":%u,\"data_sha256\":\"%s\"}", d->attempt + 1, d->copy + 1, hex);
}

static void
put_fault(const struct delivery *d, struct buf *out)
{
	buf_text(out, "{\"id\":");
	buf_json_text(out, d->fault.fault);
	buf_text(out, ",\"phase\":\"redeliver\",\"end\":null,\"draw\":");
	if (d->fault.drawn)
		buf_number(out, d->fault.draw);
	else
		buf_text(out, "null");
	buf_text(out, ",\"bytes\":null}");
}

/* call NULL: it was never begun. */
static void
record(struct events *v, const struct delivery *d, const struct call *call, bool rejected, const char *problem)
{
	struct event *e = d->event;
	struct message_end end = { .service = e->service != NULL ? e->service->name : "trigger",
				   .kind = e->service != NULL ? "webhook" : "http",
				   .route = e->name,
				   .key = e->service != NULL ? e->body.id : NULL,
				   .resend_of = e->op,
				   .t_ms = call == NULL ? v->core->t_ms : d->t_ms,
				   .call = call,
				   .problem = problem,
				   .rejected = rejected };
	struct buf event, fault;
	int64_t n;

	buf_init(&event, 65536);
	buf_init(&fault, 65536);
	if (e->service != NULL) {
		put_event(d, &event);
		end.event = buf_terminate(&event);
	}
	if (d->copy > 0 && call != NULL && call->end != CALL_REFUSED) { /* else it did not come twice */
		put_fault(d, &fault);
		end.fault = buf_terminate(&fault);
	}
	n = message_record(&v->core->ops, &d->message, &end);
	if (n == -ENOMEM)
		v->failed = -ENOMEM;
	else if (e->op < 0)
		e->op = n;
	buf_wipe(&event);
	buf_wipe(&fault);
}

/* Those that wait for d may go on. */
static void
release(struct events *v, const struct delivery *d, bool ended)
{
	for (struct delivery *o = v->first; o != NULL; o = o->next)
		if (o->wait != WAIT_NOTHING && o->after == d && (ended || o->wait == WAIT_SENT)) {
			o->wait = WAIT_NOTHING;
			o->after = NULL;
			o->due_ms = v->now + o->delay_ms;
			v->dirty = true;
		}
}

/* Whether the answer is what its sender takes for success. */
static bool
is_accepted(const struct delivery *d, const char **problem)
{
	const struct exchange *x = &d->call.exchange;

	if (d->call.end != CALL_ANSWERED)
		return false;
	if (d->event->service == NULL)
		return x->status < 400;
	if (x->status < 200 || x->status > 299)
		return false;
	if (!d->event->challenge ||
	    event_body_is_proof(&d->event->body, x->body.at == NULL ? "" : x->body.at, x->body.len))
		return true;
	*problem = "the answer does not have the challenge";
	return false;
}

/* An attempt is over: recorded, and either repeated later or the last. */
static void
finish(struct events *v, struct delivery *d)
{
	struct event *e = d->event;
	const struct events_spec *s = e->service != NULL ? e->service->events : NULL;
	const char *problem = NULL;
	bool accepted = is_accepted(d, &problem);
	/* an application that Slack is told to leave alone with this event, which is the answer's word whatever its status */
	bool unwanted = s != NULL && s->scheme == SIGN_SLACK && d->call.end == CALL_ANSWERED &&
			d->call.exchange.no_retry;

	record(v, d, &d->call, !accepted, problem);
	e->last = (struct call){ .fd = -1,
				 .end = d->call.end,
				 .started_ms = d->call.started_ms,
				 .ended_ms = d->call.ended_ms,
				 .problem = problem != NULL ? problem : d->call.problem,
				 .connected = d->call.connected,
				 .exchange = { .status = d->call.exchange.status, .out_at = d->call.exchange.out_at } };
	e->accepted = e->accepted || accepted;
	if (e->challenge && accepted && e->service != NULL)
		e->service->events_proved = true;
	d->reason = d->call.end == CALL_ANSWERED    ? "http_error"
		    : d->call.end == CALL_TIMED_OUT ? "http_timeout"
						    : "connection_failed";
	call_wipe(&d->call);
	d->flying = false;
	v->flying--;
	v->dirty = true;
	release(v, d, true);
	if (accepted || s == NULL || d->attempt >= s->retry_len || unwanted) {
		delivery_free(v, d);
		return;
	}
	d->due_ms = v->now + s->retry[d->attempt++];
}

/* ---- the loop --------------------------------------------------------------------------------------------------------- */

static bool
may_start(const struct events *v, const struct delivery *d)
{
	const struct service *s = d->event->service;

	return !d->flying && d->wait == WAIT_NOTHING &&
	       (s == NULL || !s->events->challenge || s->events_proved || d->event->challenge) &&
	       v->flying < EVENTS_FLYING_MAX;
}

static void
start_due(struct events *v)
{
	v->dirty = false;
	v->next_ms = UINT64_MAX;
	for (struct delivery *d = v->first; d != NULL && v->failed == 0; d = d->next) {
		if (!may_start(v, d))
			continue;
		if (d->due_ms <= v->now)
			start(v, d);
		else if (d->due_ms < v->next_ms)
			v->next_ms = d->due_ms;
	}
}

/* see events.h */
size_t
events_polls(const struct events *v, struct pollfd *p)
{
	size_t n = 0;

	for (const struct delivery *d = v->first; d != NULL && v->flying > n; d = d->next)
		if (d->flying)
			p[n++] = (struct pollfd){ .fd = d->call.fd, .events = call_events(&d->call) };
	return n;
}

/* see events.h */
void
events_serve(struct events *v, const struct pollfd *polls, size_t len, uint64_t now)
{
	struct delivery *next;
	size_t n = 0;

	v->now = now;
	for (struct delivery *d = v->first; d != NULL && (n < len || v->flying > 0); d = next) {
		next = d->next;
		if (!d->flying)
			continue;
		call_serve(&d->call, n < len ? polls[n].revents : 0, now);
		n++;
		if (d->call.sent && !d->sent) {
			d->sent = true;
			release(v, d, false);
		}
		if (d->call.end != CALL_RUNS)
			finish(v, d);
	}
	if (v->open && (v->dirty || now >= v->next_ms))
		start_due(v);
}

/* see events.h */
int
events_patience(const struct events *v, uint64_t now)
{
	uint64_t next = v->open ? v->next_ms : UINT64_MAX;

	if (v->open && v->dirty)
		return 0;
	for (const struct delivery *d = v->flying > 0 ? v->first : NULL; d != NULL; d = d->next)
		if (d->flying && (d->call.end != CALL_RUNS || d->call.deadline_ms < next))
			next = d->call.end != CALL_RUNS ? now : d->call.deadline_ms;
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

/* see events.h */
void
events_finish(struct events *v, uint64_t now)
{
	v->now = now;
	for (struct delivery *d = v->first; d != NULL && v->failed == 0; d = v->first) {
		const struct service *s = d->event->service;
		bool unproved = s != NULL && s->events->challenge && !s->events_proved && !d->event->challenge;

		if (d->flying) {
			const char *problem = NULL;

			call_serve(&d->call, POLLIN, now); /* it may have answered with its last breath */
			call_give_up(&d->call, now);
			record(v, d, &d->call, !is_accepted(d, &problem), problem);
		} else if (d->attempt == 0 && !compose(d)) {
			v->failed = -ENOMEM;
		} else if (d->attempt == 0) {
			record(v, d, NULL, true,
			       unproved ? "the endpoint did not answer the challenge"
					: "the run ended before it was sent");
		}
		delivery_free(v, d);
	}
}
