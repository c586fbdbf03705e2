/* SPDX-License-Identifier: GPL-2.0-or-later
 * drive.c - see drive.h.  Triggers run one after the other, each once the one before is answered. */
#include "guest/drive.h"

#include <errno.h>
#include <string.h>

#include "guest/record.h"
#include "guest/service.h"
#include "guest/twin_http.h"
#include "guest/twin_records.h"

#define PROBE_EVERY_MS 20u
#define PROBE_MS 1000u

/* see drive.h */
void
drive_init(struct drive *d, struct http_core *core, struct records *records)
{
	*d = (struct drive){ .core = core, .records = records };
	events_init(&d->events, core);
	core->events = &d->events;
}

/* see drive.h */
void
drive_wipe(struct drive *d)
{
	if (d->probing)
		call_wipe(&d->probe);
	d->probing = false;
	if (d->event != NULL)
		events_release(&d->events, d->event);
	d->event = NULL;
	events_wipe(&d->events);
}

static void
note(struct drive *d, int r)
{
	if (d->failed == 0 && r < 0)
		d->failed = r;
}

static const struct workflow_spec *
spec(const struct drive *d)
{
	return &d->core->world->workflow;
}

static void
tell(struct drive *d, uint8_t type, const void *body, size_t len)
{
	note(d, records_send(d->records, type, body, len));
}

static void
ready(struct drive *d, uint64_t now)
{
	if (d->phase != DRIVE_STARTING)
		return;
	if (spec(d)->has_ready_port || spec(d)->ready_line != NULL)
		tell(d, RECORD_READY, NULL, 0);
	if (d->probing)
		call_wipe(&d->probe);
	d->probing = false;
	d->phase = DRIVE_RUNNING;
	d->ready_ms = d->done_ms = now;
	events_open(&d->events, now);
}

/* see drive.h */
void
drive_started(struct drive *d, uint64_t now)
{
	d->phase = DRIVE_STARTING;
	d->probe_ms = now;
	if (!spec(d)->has_ready_port && spec(d)->ready_line == NULL)
		ready(d, now);
}

/* see drive.h.  Each byte is compared a bounded number of times: only where a match could end in what is new. */
void
drive_output(struct drive *d, const char *data, size_t len, uint64_t now)
{
	const char *want = spec(d)->ready_line;
	size_t want_len = want == NULL ? 0 : strlen(want);

	while (len > 0 && want != NULL && d->phase == DRIVE_STARTING) {
		const char *end = memchr(data, '\n', len);
		size_t n = end == NULL ? len : (size_t)(end - data), room = DRIVE_LINE_MAX - d->line_len;
		size_t taken = n < room ? n : room, from = d->line_len < want_len ? 0 : d->line_len - want_len + 1;

		memcpy(d->line + d->line_len, data, taken);
		d->line_len += taken;
		if (taken > 0 && memmem(d->line + from, d->line_len - from, want, want_len) != NULL)
			ready(d, now);
		if (end != NULL)
			d->line_len = 0;
		n += end != NULL;
		data += n;
		len -= n;
	}
}

static void
probe(struct drive *d, const struct pollfd *p, uint64_t now)
{
	if (d->phase != DRIVE_STARTING || !spec(d)->has_ready_port)
		return;
	if (d->probing) {
		call_serve(&d->probe, p != NULL ? p->revents : 0, now);
		if (d->probe.end == CALL_ANSWERED) {
			ready(d, now);
			return;
		}
	}
	if (d->probing && d->probe.end != CALL_RUNS) {
		call_wipe(&d->probe);
		d->probing = false;
	}
	if (d->probing || now < d->probe_ms)
		return;
	d->probe_ms = now + PROBE_EVERY_MS;
	if (!call_start(&d->probe, &spec(d)->ready, NULL, 0, false, now, now + PROBE_MS))
		note(d, -ENOMEM);
	d->probing = true;
}

/* Whether an expression over state.SERVICE.COLLECTION is true. */
static bool
holds(struct drive *d, const struct expr *x)
{
	struct world *w = d->core->world;
	struct arena arena;
	struct eval e = { .services = w->services,
			  .services_len = w->services_len,
			  .state = w->services_len > 0 ? &w->services[0].state : NULL,
			  .arena = &arena,
			  .id = "", /* no effect is current */
			  .now = twin_clock_now(&w->clock, d->core->t_ms),
			  .seed = w->seed };
	bool yes;

	arena_init(&arena, 1u << 20);
	yes = eval_is_true(&e, x);
	arena_wipe(&arena);
	note(d, e.r);
	return yes;
}

/* ---- triggers --------------------------------------------------------------------------------------------------------- */

static void
record_signal(struct drive *d, const struct trigger_spec *t)
{
	const struct message m = { .method = "SIGNAL", .target = t->signal_name, .bytes = "" };
	const struct message_end end = { .service = "trigger",
					 .kind = "signal",
					 .route = t->id,
					 .resend_of = -1,
					 .t_ms = d->core->t_ms,
					 .told_ok = true };
	int64_t n = message_record(&d->core->ops, &m, &end);

	note(d, n == -ENOMEM ? -ENOMEM : 0);
}

static bool
is_due(const struct drive *d, const struct trigger_spec *t, uint64_t now)
{
	return now >= d->ready_ms + t->at_ms && now >= d->done_ms + t->after_ms && (!t->has_after || d->after_holds);
}

static void
trigger_over(struct drive *d, uint64_t now)
{
	d->done_ms = now;
	d->next++;
	d->looked = d->after_holds = false;
}

/* All that can be begun or is over now. */
static void
triggers(struct drive *d, uint64_t now)
{
	while (d->next < spec(d)->triggers_len && d->failed == 0) {
		const struct trigger_spec *t = &spec(d)->triggers[d->next];

		if (d->event != NULL) {
			if (!event_is_over(d->event))
				return;
			if (t->kind == TRIGGER_EVENT)
				event_record(&d->events, d->event);
			events_release(&d->events, d->event);
			d->event = NULL;
			trigger_over(d, now);
			continue;
		}
		if (!is_due(d, t, now))
			return;
		if (t->kind == TRIGGER_SIGNAL) {
			uint8_t number = (uint8_t)t->signal;

			tell(d, RECORD_SIGNAL, &number, 1);
			record_signal(d, t);
			trigger_over(d, now);
			continue;
		}
		d->event = events_trigger(&d->events, t);
		if (d->event == NULL) /* counted as lost */
			trigger_over(d, now);
	}
}

/* Conditions are looked at again when a state changed, and when another one is the next. */
static void
look(struct drive *d, bool *when)
{
	const struct trigger_spec *t = d->next < spec(d)->triggers_len ? &spec(d)->triggers[d->next] : NULL;

	if (d->looked && d->changes == d->core->changes)
		return;
	d->looked = true;
	d->changes = d->core->changes;
	if (t != NULL && t->has_after && !d->after_holds)
		d->after_holds = holds(d, &t->after);
	if (spec(d)->ends == ENDS_WHEN && d->phase == DRIVE_RUNNING)
		*when = holds(d, &spec(d)->when);
}

/* The end is due so long after this: of triggers when what they caused is delivered too. */
static bool
is_over(const struct drive *d, bool when)
{
	if (spec(d)->ends == ENDS_TRIGGERS)
		return d->next == spec(d)->triggers_len && events_are_idle(&d->events);
	return spec(d)->ends == ENDS_WHEN && when;
}

/* ---- the loop --------------------------------------------------------------------------------------------------------- */

/* see drive.h */
size_t
drive_polls(const struct drive *d, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = d->probing ? d->probe.fd : -1,
				.events = d->probing ? call_events(&d->probe) : 0 };
	return 1 + events_polls(&d->events, p + 1);
}

/* see drive.h */
void
drive_serve(struct drive *d, const struct pollfd *polls, size_t len, uint64_t now)
{
	bool when = false;

	if (d->phase == DRIVE_BEFORE)
		return;
	probe(d, len > 0 ? polls : NULL, now);
	events_serve(&d->events, len > 1 ? polls + 1 : NULL, len > 1 ? len - 1 : 0, now);
	if (d->phase == DRIVE_RUNNING || d->phase == DRIVE_SETTLING) {
		look(d, &when);
		triggers(d, now);
		look(d, &when);
	}
	if (d->phase == DRIVE_RUNNING && is_over(d, when)) {
		d->phase = DRIVE_SETTLING;
		d->settled_ms = now + spec(d)->settle_ms;
	}
	if (d->phase == DRIVE_SETTLING && now >= d->settled_ms && d->failed == 0) {
		d->phase = DRIVE_ENDED;
		tell(d, RECORD_END, NULL, 0);
	}
	note(d, d->events.failed);
}

static void
sooner(uint64_t *next, uint64_t at)
{
	if (at < *next)
		*next = at;
}

/* see drive.h */
int
drive_patience(const struct drive *d, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	int events = events_patience(&d->events, now);

	if (d->phase == DRIVE_BEFORE)
		return -1;
	if (d->phase == DRIVE_STARTING && spec(d)->has_ready_port)
		sooner(&next, d->probing ? d->probe.deadline_ms : d->probe_ms);
	if (d->phase == DRIVE_SETTLING)
		sooner(&next, d->settled_ms);
	if ((d->phase == DRIVE_RUNNING || d->phase == DRIVE_SETTLING) && d->next < spec(d)->triggers_len &&
	    d->event == NULL) {
		const struct trigger_spec *t = &spec(d)->triggers[d->next];
		uint64_t at = d->ready_ms + t->at_ms, after = d->done_ms + t->after_ms;

		if (!t->has_after || d->after_holds)
			sooner(&next, at > after ? at : after);
	}
	if ((d->phase == DRIVE_RUNNING || d->phase == DRIVE_SETTLING) && d->changes != d->core->changes)
		next = now;
	if (events >= 0)
		sooner(&next, now + (uint64_t)events);
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

/* see drive.h */
void
drive_finish(struct drive *d, uint64_t now)
{
	events_finish(&d->events, now);
	d->phase = DRIVE_ENDED;
	note(d, d->events.failed);
}
