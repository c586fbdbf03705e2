/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_fault_check.c - faults that contradict themselves: each an error, with its place and what to write instead. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/world_faults.h"

const char *const world_fault_classes[] = { "timeout-after-write", "blackhole", "server-error", "duplicate-write",
					    NULL };
const char *const world_fault_phases[] = { "connect",      "accepted",  "mid-request", "before-effect",
					   "after-effect", "mid-reply", "redeliver",   NULL };
const char *const world_fault_ends[] = { "stall", "fin", "rst", "clean", "refuse", "drop", NULL };

/* see world_faults.h */
int
world_fault_fail(struct wr *c, const char *name, const char *in, const char *fix, const char *format, ...)
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
check_phase(struct wr *c, struct world_fault *f)
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
	(void)snprintf(fix, sizeof(fix), "write %s",
		       name_set(world_fault_phases, legal[f->class], words, sizeof(words)));
	if (!(legal[f->class] >> f->phase & 1))
		return world_fault_fail(c, "phase", NULL, fix, "class \"%s\" has no phase \"%s\"",
					world_fault_classes[f->class], world_fault_phases[f->phase]);
	if (sent && f->class != DUPLICATE_WRITE)
		return world_fault_fail(c, "class", NULL, "write \"duplicate-write\", or name a route",
					"what a service or a trigger sends can only be delivered twice");
	if ((f->phase == CONNECT || f->phase == MID_REQUEST) && member(f->on, "route"))
		return world_fault_fail(c, "on", "route", "take the route out, or use another phase",
					"in phase \"%s\" the route of a call is not known yet",
					world_fault_phases[f->phase]);
	return 0;
}

static int
check_end(struct wr *c, const struct world_fault *f)
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
		return world_fault_fail(c, "how", "end", "take it out",
					"a fault of class \"%s\", phase \"%s\", ends no connection",
					world_fault_classes[f->class], world_fault_phases[f->phase]);
	(void)snprintf(fix, sizeof(fix), "write %s", name_set(world_fault_ends, legal, words, sizeof(words)));
	return world_fault_fail(c, "how", "end", fix, "\"%s\" is no end in phase \"%s\" of class \"%s\"",
				world_fault_ends[f->end], world_fault_phases[f->phase], world_fault_classes[f->class]);
}

static bool
is_llm(const struct world_fault *f)
{
	return f->service && strcmp(member(f->service->json, "kind")->valuestring, "llm") == 0;
}

/* A key of how that belongs to other classes or phases. */
static int
check_how_keys(struct wr *c, const struct world_fault *f)
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
			return world_fault_fail(c, "how", keys[i].key, "take it out, or change class or phase",
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
check_stream(struct wr *c, const struct world_fault *f)
{
	const struct cJSON *body = member(f->how, "body");

	if (f->end != NO_END)
		return world_fault_fail(c, "how", "end", "keep one of the two",
					"a stream with \"%s\" comes to its own end", body ? "body" : "code");
	if (member(f->how, "slow"))
		return world_fault_fail(c, "how", "slow", "keep one of the two", "a slow reply comes to its end");
	if (body && member(f->how, "code"))
		return world_fault_fail(c, "how", "code", "keep one of the two",
					"a frame is either broken (\"body\") or an error (\"code\")");
	if (body && strcmp(body->valuestring, "garble") != 0)
		return world_fault_fail(c, "how", "body", "write \"garble\"", "one frame of a stream cannot be \"%s\"",
					body->valuestring);
	return 0;
}

static int
check_how(struct wr *c, const struct world_fault *f)
{
	const struct cJSON *status = member(f->how, "status"), *body = member(f->how, "body");
	bool slow = member(f->how, "slow"), at = member(f->how, "at"), bytes = member(f->how, "bytes"),
	     inside = member(f->how, "inside"), code = member(f->how, "code");
	int r = check_end(c, f);

	if (r < 0 || (r = check_how_keys(c, f)) < 0)
		return r;
	if (bytes && (at || inside))
		return world_fault_fail(c, "how", "bytes", "keep one of the two",
					"\"bytes\" and \"%s\" both say where the reply ends", at ? "at" : "inside");
	if (slow && (f->end != NO_END || bytes || at || inside))
		return world_fault_fail(c, "how", "slow", "keep one of the two", "a slow reply comes to its end");
	if (f->phase == MID_REPLY && (body || code))
		return check_stream(c, f);
	if (f->class == SERVER_ERROR && f->phase == MID_REPLY && !slow && f->end == NO_END)
		return world_fault_fail(c, "phase", NULL,
					"add \"how\": { \"end\": \"fin\" } (or stall, rst, clean), or \"slow\"",
					"nothing says what happens in the middle of the reply");
	if (status && (status->valuedouble == 204 || status->valuedouble == 304))
		return world_fault_fail(c, "how", "status", "write 200 or 400 to 599", "status %d has no body",
					(int)status->valuedouble);
	if (status && status->valuedouble < 400 && !body && !member(f->how, "code"))
		return world_fault_fail(c, "how", "status",
					"write 400 to 599, or add a \"body\" that is broken or a \"code\"",
					"a status below 400 is no error");
	if (status && status->valuedouble < 400 && !member(f->how, "code") && body &&
	    strcmp(body->valuestring, "no-length") == 0)
		return world_fault_fail(
			c, "how", "status", "write 400 to 599, or add a \"code\"",
			"a body that ends with its connection is whole: a status below 400 is no error");
	if (body && strcmp(body->valuestring, "not-http") == 0 && (status || member(f->how, "retry_after")))
		return world_fault_fail(c, "how", status ? "status" : "retry_after", "take it out",
					"what is no HTTP has neither status nor headers");
	if (body && member(f->how, "code") && is_no_text(body->valuestring))
		return world_fault_fail(c, "how", "code", "take it out, or \"body\"",
					"body \"%s\" has no code of an error", body->valuestring);
	if (inside && !is_llm(f))
		return world_fault_fail(c, "how", "inside", "write \"at\" or \"bytes\"",
					"only the reply of a language model has texts and tool arguments");
	if (cJSON_IsFalse(member(f->how, "same_id")) && !member(f->on, "event"))
		return world_fault_fail(c, "how", "same_id", "take it out",
					"a request that comes again is the same request");
	return 0;
}

/* Refused and dropped connections are no calls: they cannot be counted, and the refused ones not even seen: the kernel answers
 * for a port where nobody listens, and keeps no count of it that the twins could read. */
static int
check_closed(struct wr *c, const struct world_fault *f)
{
	static const char *const counted[] = { "nth", "first", "every", "chance", "key" };
	size_t i;

	if (f->end != REFUSE && f->end != DROP)
		return 0;
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (member(f->call, counted[i]))
			return world_fault_fail(c, "call", counted[i], "take it out, or use \"end\": \"stall\"",
						"nobody counts connections that are not let in");
	if (member(f->lasts, "calls"))
		return world_fault_fail(c, "lasts", "calls", "write \"ms\", \"until\" or \"to the end\"",
					"nobody counts connections that are not let in");
	if (f->end == REFUSE && f->must_fire)
		return world_fault_fail(c, "how", "end",
					"add \"must_fire\": false, and a check of what the workflow did",
					"the kernel refuses connections by itself: whether one was is not seen");
	return 0;
}

static int
check_when(struct wr *c, const struct world_fault *f)
{
	const struct cJSON *chance = member(f->call, "chance");

	if (f->class == BLACKHOLE && !f->lasts)
		return world_fault_fail(
			c, "class", NULL,
			"add \"lasts\": { \"calls\": 1 }, { \"ms\": 4000 }, { \"until\": ... } or \"to the end\"",
			"a blackhole does not say how long it lasts");
	if (f->class == DUPLICATE_WRITE && f->lasts)
		return world_fault_fail(c, "lasts", NULL, "take it out; \"call\" says which ones",
					"what is delivered twice does not last");
	if (f->must_fire && chance && chance->valuedouble <= 0)
		return world_fault_fail(c, "call", "chance", "raise it, or add \"must_fire\": false",
					"a fault without a chance cannot fire");
	if ((f->phase == CONNECT || f->phase == MID_REQUEST) && member(f->call, "key"))
		return world_fault_fail(c, "call", "key", "take it out, or use another phase",
					"in phase \"%s\" there is no request yet", world_fault_phases[f->phase]);
	return check_closed(c, f);
}

/* see world_faults.h */
int
world_fault_check(struct wr *c, struct world_fault *f)
{
	int r = check_phase(c, f);

	if (r == 0)
		r = check_how(c, f);
	return r < 0 ? r : check_when(c, f);
}
