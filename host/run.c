/* SPDX-License-Identifier: GPL-2.0-or-later
 * run.c - see run.h.  A false "passed" is the worst bug possible: whatever is not expected in a state becomes a cause,
 * and a run with a cause, or without any piece of the record, cannot pass. */
#include "host/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "proto/limits.h"
#include "proto/plan.h"

const char *
run_state_name(enum run_state s)
{
	switch (s) {
	case RUN_PROVISION:
		return "provisioning";
	case RUN_HELLO:
		return "waiting for the guest's hello";
	case RUN_BUNDLE:
		return "sending the bundle";
	case RUN_FIREWALL:
		return "proving the firewall";
	case RUN_START:
		return "starting";
	case RUN_RUNNING:
		return "running";
	case RUN_CLOSING:
		return "closing";
	case RUN_CANCELLING:
		return "cancelling";
	case RUN_ENDED:
		return "waiting for the end of the stream";
	case RUN_OVER:
		return "over";
	}
	return "?";
}

const char *
run_status_name(enum run_status s)
{
	switch (s) {
	case STATUS_PASSED:
		return "passed";
	case STATUS_FAILED:
		return "failed";
	case STATUS_ABORTED:
		return "aborted";
	case STATUS_CANCELLED:
		return "cancelled";
	case STATUS_TIMEOUT:
		return "timeout";
	case STATUS_ERROR:
		return "error";
	}
	return "error";
}

void
run_init(struct run *r, bool sandbox, uint64_t now_ms)
{
	memset(r, 0, sizeof(*r));
	r->facts.sandbox = sandbox;
	r->run_ms = RUN_MS_DEFAULT;
	r->start_ms = START_MS_DEFAULT;
	r->grace_ms = GRACE_MS_DEFAULT;
	r->bundle_ms = RUN_BUNDLE_MS;
	r->heard_ms = r->ping_ms = r->active_ms = now_ms;
	r->deadline_ms = now_ms + RUN_PROVISION_MS;
}

static void
cause(struct run *r, enum run_cause c, const char *why)
{
	if (r->facts.cause[c])
		return;
	r->facts.cause[c] = true;
	snprintf(r->facts.why[c], sizeof(r->facts.why[c]), "%s", why);
}

/* A limit that ran out, in words: "the workflow did not end within 1 s (--timeout)". */
static void
too_slow(struct run *r, const char *what, uint64_t ms, const char *limit, const char *who)
{
	char text[160];

	if (ms % 1000 == 0)
		snprintf(text, sizeof(text), "%s %" PRIu64 " s (%s%s)", what, ms / 1000, limit, who);
	else
		snprintf(text, sizeof(text), "%s %" PRIu64 " ms (%s%s)", what, ms, limit, who);
	cause(r, CAUSE_TIMEOUT, text);
}

static void
run_too_slow(struct run *r, const char *who)
{
	too_slow(r, "the workflow did not end within", r->run_ms, r->run_ms_given ? "--timeout" : "limits.run_ms", who);
}

static void
start_too_slow(struct run *r, const char *who)
{
	too_slow(r, "the workflow was not ready within", r->start_ms, "limits.start_ms", who);
}

static void
idle_too_long(struct run *r, const char *who)
{
	too_slow(r, "nothing happened for", r->idle_ms, "limits.idle_ms", who);
}

static void
enter(struct run *r, enum run_state s, uint64_t now_ms, uint64_t for_ms)
{
	r->state = s;
	r->deadline_ms = now_ms + for_ms;
}

static unsigned
over(struct run *r)
{
	r->state = RUN_OVER;
	return RUN_DO_DESTROY;
}

/* Ends the run before its time.  A started workflow is asked to end, so that its exit and the closing verification can
 * still be recorded; before that there is nothing to wait for. */
static unsigned
stop(struct run *r, unsigned cancel, uint64_t now_ms)
{
	if (r->state == RUN_OVER)
		return 0;
	if (r->state == RUN_CANCELLING || r->state == RUN_CLOSING || r->state == RUN_ENDED)
		return 0; /* its own deadline ends it */
	if (!r->sent || !r->facts.started)
		return over(r);
	enter(r, RUN_CANCELLING, now_ms, r->grace_ms + DRAIN_MS + RUN_CANCEL_MS);
	return cancel;
}

static unsigned
unexpected(struct run *r, const struct run_event *e)
{
	static const char *const names[] = {
		[RUN_EV_STARTED] = "a second start",    [RUN_EV_HELLO] = "HELLO", [RUN_EV_SENT] = "end of the bundle",
		[RUN_EV_OPENING] = "FIREWALL(opening)", [RUN_EV_READY] = "READY", [RUN_EV_EXIT] = "EXIT",
		[RUN_EV_CLOSING] = "FIREWALL(closing)", [RUN_EV_END] = "END",     [RUN_EV_TICK] = "?",
	};
	char text[128];

	snprintf(text, sizeof(text), "guest sent %s while %s", names[e->kind], run_state_name(r->state));
	cause(r, CAUSE_ERROR, text);
	return over(r);
}

static unsigned
take_signal(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	char text[96];

	r->signals++;
	if (!r->facts.cause[CAUSE_SIGNAL])
		r->facts.signal = e->value;
	snprintf(text, sizeof(text), "%s to the host while %s",
		 e->value == SIGINT   ? "SIGINT"
		 : e->value == SIGHUP ? "SIGHUP"
				      : "SIGTERM",
		 run_state_name(r->state));
	cause(r, CAUSE_SIGNAL, text);
	if (r->state == RUN_OVER)
		return 0;
	if (r->signals > 1 || r->state == RUN_ENDED)
		return over(r);
	return stop(r, RUN_DO_CANCEL_SIGNAL, now_ms);
}

static unsigned
take_exit(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	if (r->facts.exited || (r->state != RUN_RUNNING && r->state != RUN_START && r->state != RUN_CANCELLING))
		return unexpected(r, e);
	r->facts.exited = true;
	switch (e->value) {
	case ENDED_ITSELF:
	case ENDED_OUTPUT_LIMIT: /* judged by within-limits */
	case ENDED_OOM:
		break;
	case ENDED_WORLD: /* its code is not judged, so nobody but the world may say so */
		if (!r->world_ends)
			cause(r, CAUSE_ERROR, "the guest ended the workflow, which workflow.ends does not say");
		break;
	case ENDED_RUN_DEADLINE:
		run_too_slow(r, "");
		break;
	case ENDED_IDLE:
		idle_too_long(r, "");
		break;
	case ENDED_START_DEADLINE:
		start_too_slow(r, "");
		break;
	case ENDED_FIREWALL:
		cause(r, CAUSE_FIREWALL, "the boundary was lost while the workflow ran");
		break;
	case ENDED_CANCEL:
		if (!r->facts.cause[CAUSE_SIGNAL] && !r->facts.cause[CAUSE_TIMEOUT])
			cause(r, CAUSE_ERROR, "the guest ended the workflow as cancelled, which nobody asked for");
		break;
	case ENDED_TWINS:
		cause(r, CAUSE_ERROR, "the twins died while the workflow ran");
		break;
	default:
		cause(r, CAUSE_ERROR, "the guest ended the workflow because it had lost the host");
		break;
	}
	if (!e->ok)
		cause(r, CAUSE_ERROR, e->why ? e->why : "the workflow could not be started");
	/* Without READY there is nothing to judge: what it was to be asked was never asked. */
	if (r->state == RUN_START && e->value != ENDED_START_DEADLINE)
		cause(r, CAUSE_ERROR,
		      r->waits_ready ? "the workflow ended before it was ready (workflow.ready)"
				     : "guest sent EXIT without READY");
	enter(r, RUN_CLOSING, now_ms, RUN_CLOSING_MS + RUN_MARGIN_MS);
	return 0;
}

static unsigned
take_end(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	struct run_facts *f = &r->facts;

	if (f->ended)
		cause(r, CAUSE_ERROR, "guest sent END twice");
	f->ended = true;
	f->whole = e->ok;
	switch (e->value) {
	case END_OK:
		break;
	case END_FIREWALL: /* a FAIL before it said why */
		cause(r, CAUSE_FIREWALL,
		      f->cause[CAUSE_ERROR] ? f->why[CAUSE_ERROR] : "the guest ended the run because of the firewall");
		break;
	case END_TIMEOUT:
		cause(r, CAUSE_TIMEOUT, "the guest's deadline ended the run");
		break;
	case END_CANCELLED:
		if (!f->cause[CAUSE_SIGNAL] && !f->cause[CAUSE_TIMEOUT])
			cause(r, CAUSE_ERROR, "the guest ended the run as cancelled, which nobody asked for");
		break;
	default:
		cause(r, CAUSE_ERROR, "the guest ended the run as failed");
		break;
	}
	if (!e->ok)
		cause(r, CAUSE_ERROR, e->why ? e->why : "the record is not whole");
	if (!f->exited)
		cause(r, CAUSE_ERROR, "the run ended without the workflow's exit");
	if (f->sandbox && !f->closing)
		cause(r, CAUSE_ERROR, "the run ended without a closing verification of the boundary");
	enter(r, RUN_ENDED, now_ms, RUN_EOF_MS);
	return 0;
}

static unsigned
take_tick(struct run *r, uint64_t now_ms)
{
	unsigned actions = 0;
	char text[128];

	if (r->state == RUN_OVER)
		return 0;
	if (now_ms >= r->deadline_ms) {
		if (r->state == RUN_RUNNING) {
			run_too_slow(r, "; the host's clock");
			return stop(r, RUN_DO_CANCEL_DEADLINE, now_ms);
		}
		if (r->state == RUN_START) {
			start_too_slow(r, "; the host's clock");
			return stop(r, RUN_DO_CANCEL_DEADLINE, now_ms);
		}
		snprintf(text, sizeof(text), "time ran out while %s", run_state_name(r->state));
		cause(r, CAUSE_ERROR, text);
		return over(r);
	}
	if (r->state == RUN_PROVISION || r->state == RUN_HELLO || r->state == RUN_BUNDLE || r->state == RUN_ENDED)
		return 0; /* those have their deadlines; a guest laying out files need not talk */
	if (r->state == RUN_RUNNING && r->idle_ms && now_ms >= r->active_ms + r->idle_ms + RUN_MARGIN_MS) {
		idle_too_long(r, "; the host's clock");
		return stop(r, RUN_DO_CANCEL_DEADLINE, now_ms);
	}
	if (now_ms >= r->heard_ms + PING_LOST_MS) {
		cause(r, CAUSE_ERROR, "the guest was silent for 30 s");
		return over(r);
	}
	if (r->sent && now_ms >= r->ping_ms + PING_INTERVAL_MS) {
		r->ping_ms = now_ms;
		actions |= RUN_DO_PING;
	}
	return actions;
}

/* From START to READY, or to the exit of a workflow that never got ready. */
static uint64_t
start_wait(const struct run *r)
{
	return r->start_ms + RUN_MARGIN_MS + (r->waits_ready ? r->grace_ms + DRAIN_MS : 0);
}

static unsigned
take_opening(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	if (!e->ok) {
		cause(r, CAUSE_FIREWALL, e->why ? e->why : "the boundary was not proved");
		/* The guest sends FAIL and END after evidence of its own failure; nothing was started, nothing to wait for. */
		return over(r);
	}
	if (r->state != RUN_FIREWALL || r->facts.opening)
		return unexpected(r, e);
	r->facts.opening = true;
	r->facts.started = true;
	enter(r, RUN_START, now_ms, start_wait(r));
	return RUN_DO_START;
}

/* Local has no FIREWALL(opening): the host's START goes out as soon as the bundle is written. */
static unsigned
take_sent(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	if (r->state != RUN_BUNDLE)
		return unexpected(r, e);
	r->sent = true;
	r->heard_ms = r->ping_ms = now_ms;
	if (r->facts.sandbox) {
		enter(r, RUN_FIREWALL, now_ms, RUN_FIREWALL_MS + r->bundle_ms - RUN_BUNDLE_MS);
		return RUN_DO_PING;
	}
	r->facts.started = true;
	enter(r, RUN_START, now_ms, start_wait(r) + r->bundle_ms - RUN_BUNDLE_MS);
	return RUN_DO_START | RUN_DO_PING;
}

static unsigned
take_closing(struct run *r, const struct run_event *e)
{
	if (!e->ok) {
		cause(r, CAUSE_FIREWALL, e->why ? e->why : "the closing verification of the boundary differs");
		return 0; /* EXIT and states may still come; END or the deadline ends it */
	}
	if ((r->state != RUN_CLOSING && r->state != RUN_CANCELLING) || r->facts.closing || !r->facts.opening)
		return unexpected(r, e);
	r->facts.closing = true;
	return 0;
}

static unsigned
take(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	switch (e->kind) {
	case RUN_EV_STARTED:
		if (r->state != RUN_PROVISION)
			return unexpected(r, e);
		r->heard_ms = now_ms;
		enter(r, RUN_HELLO, now_ms, RUN_HELLO_MS);
		return 0;
	case RUN_EV_HELLO:
		if (r->state != RUN_HELLO)
			return unexpected(r, e);
		enter(r, RUN_BUNDLE, now_ms, r->bundle_ms);
		return RUN_DO_BUNDLE;
	case RUN_EV_SENT:
		return take_sent(r, e, now_ms);
	case RUN_EV_OPENING:
		return take_opening(r, e, now_ms);
	case RUN_EV_READY:
		if (r->state == RUN_CANCELLING)
			return 0;
		if (r->state != RUN_START)
			return unexpected(r, e);
		r->active_ms = now_ms;
		enter(r, RUN_RUNNING, now_ms, r->run_ms + r->grace_ms + DRAIN_MS + RUN_MARGIN_MS);
		return 0;
	case RUN_EV_EXIT:
		return take_exit(r, e, now_ms);
	case RUN_EV_CLOSING:
		return take_closing(r, e);
	case RUN_EV_CHANGED:
		cause(r, CAUSE_FIREWALL, e->why ? e->why : "the firewall was changed while the run lasted");
		return stop(r, RUN_DO_CANCEL_ERROR, now_ms);
	case RUN_EV_FAIL:
		cause(r, e->ok ? CAUSE_FIREWALL : CAUSE_ERROR, e->why ? e->why : "the guest failed");
		if (r->state != RUN_CANCELLING && r->state != RUN_CLOSING) /* FIREWALL(2) and END may follow */
			enter(r, RUN_CANCELLING, now_ms, RUN_CANCEL_MS);
		return 0;
	case RUN_EV_END:
		return take_end(r, e, now_ms);
	case RUN_EV_HEARD:
		return 0;
	case RUN_EV_BAD:
		cause(r, CAUSE_ERROR, e->why ? e->why : "guest sent something malformed");
		return over(r);
	case RUN_EV_EOF:
		if (r->state == RUN_ENDED)
			return over(r);
		cause(r, CAUSE_ERROR, e->why ? e->why : "the guest's stream ended without END");
		return over(r);
	case RUN_EV_SIGNAL:
		return take_signal(r, e, now_ms);
	case RUN_EV_TICK:
		return take_tick(r, now_ms);
	}
	return 0;
}

unsigned
run_step(struct run *r, const struct run_event *e, uint64_t now_ms)
{
	if (e->kind == RUN_EV_HEARD)
		r->heard_ms = now_ms;
	if (e->kind == RUN_EV_HEARD && e->ok)
		r->active_ms = now_ms;
	if (r->state == RUN_OVER && e->kind != RUN_EV_SIGNAL)
		return 0;
	return take(r, e, now_ms);
}

uint64_t
run_next_ms(const struct run *r)
{
	uint64_t next = r->deadline_ms;

	if (r->state == RUN_ENDED)
		return next;
	if (r->sent && r->ping_ms + PING_INTERVAL_MS < next)
		next = r->ping_ms + PING_INTERVAL_MS;
	if (r->sent && r->heard_ms + PING_LOST_MS < next)
		next = r->heard_ms + PING_LOST_MS;
	if (r->state == RUN_RUNNING && r->idle_ms && r->active_ms + r->idle_ms + RUN_MARGIN_MS < next)
		next = r->active_ms + r->idle_ms + RUN_MARGIN_MS;
	return next;
}

static void
say(struct run_verdict *out, enum run_status status, int exit_code, const char *why)
{
	out->status = status;
	out->exit_code = exit_code;
	snprintf(out->why, sizeof(out->why), "%s", why);
}

/* Rows 1 to 4 of the status table. */
static bool
say_unjudged(const struct run_facts *f, struct run_verdict *out)
{
	bool boundary = f->opening && f->closing;

	if (f->cause[CAUSE_FIREWALL])
		say(out, STATUS_ABORTED, 3, f->why[CAUSE_FIREWALL]);
	else if (f->cause[CAUSE_SIGNAL])
		say(out, STATUS_CANCELLED, f->signal == SIGINT ? 130 : 143, f->why[CAUSE_SIGNAL]);
	else if (f->cause[CAUSE_TIMEOUT])
		say(out, STATUS_TIMEOUT, 5, f->why[CAUSE_TIMEOUT]);
	else if (f->cause[CAUSE_ERROR])
		say(out, STATUS_ERROR, 4, f->why[CAUSE_ERROR]);
	else if (!f->ended || !f->whole)
		say(out, STATUS_ERROR, 4, "the guest's record is not whole");
	else if (!f->started || !f->exited)
		say(out, STATUS_ERROR, 4, "the workflow's end is not recorded");
	else if (f->sandbox && !boundary)
		say(out, STATUS_ERROR, 4, "the boundary was not verified both before and after the workflow");
	else
		return false;
	return true;
}

bool
run_is_judged(const struct run_facts *f)
{
	struct run_verdict unused;

	return !say_unjudged(f, &unused);
}

static void
say_required(const struct run_facts *f, size_t checks, size_t not_held, const char *before, const char *kind,
	     struct run_verdict *out)
{
	char text[400];

	if (not_held) {
		snprintf(text, sizeof(text), "%.300s%zu of %zu %schecks did not hold", before, not_held, checks, kind);
		say(out, STATUS_FAILED, 1, text);
	} else {
		snprintf(text, sizeof(text), "%.300sall %zu %schecks held%s", before, checks, kind,
			 f->sandbox ? "" : "; not sandboxed");
		say(out, STATUS_PASSED, 0, text);
	}
}

/* Exactly one, wanted, and known to be the only one: then the required checks decide.  All else has failed. */
static void
say_outcome(const struct run_facts *f, size_t checks, size_t not_held, const struct run_outcome *o,
	    struct run_verdict *out)
{
	char text[400];

	if (o->unknown == 0 && o->matched == 1 && o->passed) {
		snprintf(text, sizeof(text), "outcome %s%s", o->text, not_held ? ", but " : ": ");
		say_required(f, checks, not_held, text, "required ", out);
		return;
	}
	if (o->unknown)
		snprintf(text, sizeof(text), "the outcome cannot be told: %s", o->text);
	else if (o->matched == 1)
		snprintf(text, sizeof(text), "outcome %s, whose verdict is failed", o->text);
	else if (o->matched == 0)
		snprintf(text, sizeof(text), "no outcome matched; %s", o->text);
	else
		snprintf(text, sizeof(text), "%zu outcomes matched, where one must: %s", o->matched, o->text);
	say(out, STATUS_FAILED, 1, text);
}

void
run_verdict(const struct run_facts *f, size_t checks, size_t not_held, const struct run_outcome *outcome,
	    struct run_verdict *out)
{
	if (say_unjudged(f, out))
		return;
	if (checks == 0)
		say(out, STATUS_ERROR, 4, "no check was evaluated");
	else if (outcome)
		say_outcome(f, checks, not_held, outcome, out);
	else
		say_required(f, checks, not_held, "", "", out);
}
