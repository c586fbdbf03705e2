/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_world_faults.c - the key `faults`: what is accepted, and each contradiction with its place and its fix. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/world_read.h"
#include "tests/lib/tap.h"

static struct diag d;

/* The world with these faults; 0 or the error. */
static int
load(const char *faults)
{
	static const char format[] =
		"{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [ \"a.mjs\" ],\n"
		"\"services\": [ { \"name\": \"s\", \"kind\": \"http\", \"hosts\": [ \"s.internal\" ], \"state\": { \"rows\": [] },\n"
		" \"routes\": [ { \"id\": \"row.add\", \"match\": { \"method\": \"POST\", \"path\": \"/rows/{kind}\" }, \"reply\": {} } ] },\n"
		" { \"name\": \"m\", \"kind\": \"llm\", \"hosts\": [ \"m.internal\" ], \"profile\": \"openai\", \"script\": [ { \"id\": \"say\", \"reply\": { \"text\": \"x\" } } ] } ],\n"
		"\"faults\": [ %s ],\n"
		"\"workflow\": { \"command\": [ \"node\", \"a.mjs\" ] },\n"
		"\"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }, { \"id\": \"c\", \"kind\": \"calls\", \"service\": \"s\" } ] }";
	struct world w;
	int r;

	memset(&w, 0, sizeof(w));
	memset(&d, 0, sizeof(d));
	if (asprintf(&w.text, format, faults) < 0)
		return -ENOMEM;
	w.text_len = strlen(w.text);
	r = world_read_text(&w, &d);
	world_wipe(&w);
	return r;
}

static void
accepted(const char *fault)
{
	int r = load(fault);

	ok(r == 0, "accepted: %s", fault);
	if (r < 0)
		printf("# %s: %s (%s)\n", d.pointer, d.problem, d.fix);
}

static void
refused(const char *fault, const char *pointer, const char *problem, const char *fix)
{
	int r = load(fault);

	if (!ok(r < 0 && strcmp(d.pointer, pointer) == 0 && strstr(d.problem, problem) && strstr(d.fix, fix) &&
			d.line > 0,
		"refused: %s", fault))
		printf("# %d %s: %s (%s)\n", r, d.pointer, d.problem, d.fix);
}

#define ON "\"on\": { \"service\": \"s\", \"route\": \"row.add\" }"
#define FAULT(class, more) "{ \"id\": \"f\", \"class\": \"" class "\", " ON more " }"
#define STREAM(how) \
	"{ \"id\": \"f\", \"class\": \"server-error\", \"on\": { \"service\": \"m\" }, \"phase\": \"mid-reply\", \"how\": { " how \
	" } }"
#define WIDE(class, more) "{ \"id\": \"f\", \"class\": \"" class "\", \"on\": { \"service\": \"s\" }" more " }"

static void
good(void)
{
	accepted(FAULT("timeout-after-write", ""));
	accepted(FAULT("timeout-after-write", ", \"call\": { \"nth\": [ 1, 3 ] }, \"how\": { \"end\": \"rst\" }"));
	accepted(FAULT("timeout-after-write",
		       ", \"phase\": \"mid-reply\", \"how\": { \"end\": \"fin\", \"bytes\": 10 }"));
	accepted(FAULT("timeout-after-write", ", \"call\": { \"chance\": 0.3, \"key\": \"request.path.kind\" }"));
	accepted(FAULT("timeout-after-write",
		       ", \"call\": { \"first\": 2, \"after\": \"count(state.rows, 'a', 1) > 2\" }"));
	accepted(FAULT("blackhole",
		       ", \"phase\": \"accepted\", \"how\": { \"end\": \"stall\" }, \"lasts\": { \"ms\": 4000 }"));
	accepted(FAULT("blackhole", ", \"lasts\": \"to the end\""));
	accepted(FAULT("server-error", ", \"how\": { \"status\": 200, \"code\": \"not_today\" }"));
	accepted(FAULT("server-error", ", \"how\": { \"status\": 200, \"body\": \"html\" }"));
	accepted(FAULT("server-error", ", \"how\": { \"body\": \"not-http\" }"));
	accepted(FAULT("server-error", ", \"how\": { \"body\": \"bad-chunk\" }"));
	accepted(STREAM("\"body\": \"garble\", \"inside\": \"text\", \"at\": 0.3"));
	accepted(STREAM("\"code\": \"overloaded\""));
	accepted(FAULT("server-error", ", \"phase\": \"after-effect\", \"how\": { \"body\": \"unterminated\" }"));
	accepted(FAULT("server-error",
		       ", \"how\": { \"body\": \"no-length\", \"status\": 502, \"code\": \"c\", \"retry_after\": 1 }"));
	accepted(WIDE(
		"blackhole",
		", \"phase\": \"connect\", \"how\": { \"end\": \"drop\" }, \"lasts\": { \"until\": \"count(state.rows, 'a', 1) > 0\" }"));
	accepted(WIDE(
		"blackhole",
		", \"phase\": \"connect\", \"how\": { \"end\": \"refuse\" }, \"lasts\": \"to the end\", \"must_fire\": false"));
	accepted(WIDE(
		"blackhole",
		", \"phase\": \"connect\", \"how\": { \"end\": \"refuse\" }, \"lasts\": { \"ms\": 500 }, \"must_fire\": false"));
	accepted(FAULT("server-error", ""));
	accepted(FAULT("server-error", ", \"how\": { \"status\": 429, \"code\": \"rate_limit\", \"retry_after\": 1 }"));
	accepted(FAULT("server-error", ", \"phase\": \"after-effect\", \"how\": { \"body\": \"garble\" }"));
	accepted(FAULT("server-error",
		       ", \"phase\": \"mid-reply\", \"how\": { \"slow\": { \"first_ms\": 100, \"chunk_ms\": 5 } }"));
	accepted(FAULT("server-error", ", \"phase\": \"mid-reply\", \"how\": { \"end\": \"clean\", \"at\": 0.6 }"));
	accepted(FAULT("duplicate-write", ", \"how\": { \"times\": 2, \"spacing\": \"during\" }"));
	accepted(FAULT("duplicate-write", ", \"how\": { \"spacing\": 250, \"same_id\": true }"));
}

static void
places(void)
{
	refused("{ \"class\": \"blackhole\", " ON " }", "/faults/0", "has no \"id\"", "\"id\"");
	refused(FAULT("timeout", ""), "/faults/0/class", "", "timeout-after-write");
	refused(FAULT("server-error", "") ", " FAULT("server-error", ""), "/faults/1/id", "already", "of its own");
	refused("{ \"id\": \"f\", \"class\": \"server-error\", \"on\": { \"service\": \"t\" } }",
		"/faults/0/on/service", "no service \"t\"", "did you mean");
	refused("{ \"id\": \"f\", \"class\": \"server-error\", \"on\": { \"service\": \"s\", \"route\": \"row.ad\" } }",
		"/faults/0/on/route", "no route \"row.ad\"", "did you mean \"row.add\"");
	refused("{ \"id\": \"f\", \"class\": \"duplicate-write\", \"on\": { \"service\": \"s\", \"event\": \"x\" } }",
		"/faults/0/on/event", "emits no event", "name an event");
	refused("{ \"id\": \"f\", \"class\": \"duplicate-write\", \"on\": { \"service\": \"trigger\", \"route\": \"x\" } }",
		"/faults/0/on/route", "no trigger", "workflow.trigger");
	refused(FAULT("server-error", ", \"call\": { \"after\": \"count(state.row, 'a', 1) > 0\" }"),
		"/faults/0/call/after", "row", "");
	refused(FAULT("server-error", ", \"call\": { \"after\": \"count(\" }"), "/faults/0/call/after", "", "");
	refused(FAULT("server-error", ", \"call\": { \"nth\": 1, \"chance\": 0.5 }"), "/faults/0/call/chance",
		"exclude", "keep one");
	refused(FAULT("server-error", ", \"call\": { \"nth\": 0 }"), "/faults/0/call/nth", "", "");
	refused(FAULT("server-error", ", \"call\": { \"chance\": 0 }"), "/faults/0/call/chance", "cannot fire",
		"must_fire");
}

static void
contradictions(void)
{
	refused(FAULT("timeout-after-write", ", \"phase\": \"connect\""), "/faults/0/phase", "no phase \"connect\"",
		"after-effect or mid-reply");
	refused(FAULT("timeout-after-write", ", \"phase\": \"after-commit\""), "/faults/0/phase", "not supported", "");
	refused(FAULT("timeout-after-write", ", \"how\": { \"end\": \"refuse\" }"), "/faults/0/how/end",
		"no end in phase", "stall, fin or rst");
	refused(FAULT("timeout-after-write", ", \"how\": { \"bytes\": 4 }"), "/faults/0/how/bytes", "mid-reply", "");
	refused(FAULT("timeout-after-write", ", \"how\": { \"status\": 500 }"), "/faults/0/how/status", "server-error",
		"");
	refused(FAULT("timeout-after-write", ", \"phase\": \"mid-reply\", \"how\": { \"bytes\": 4, \"at\": 0.5 }"),
		"/faults/0/how/bytes", "both say", "keep one");
	refused(FAULT("server-error", ", \"how\": { \"end\": \"rst\" }"), "/faults/0/how/end", "ends no connection",
		"take it out");
	refused(FAULT("server-error", ", \"how\": { \"status\": 200 }"), "/faults/0/how/status", "no error",
		"400 to 599");
	refused(FAULT("server-error", ", \"how\": { \"status\": 502, \"body\": \"not-http\" }"), "/faults/0/how/status",
		"no HTTP", "");
	refused(FAULT("server-error", ", \"how\": { \"retry_after\": 1, \"body\": \"not-http\" }"),
		"/faults/0/how/retry_after", "no HTTP", "");
	refused(FAULT("server-error", ", \"how\": { \"code\": \"c\", \"body\": \"not-http\" }"), "/faults/0/how/code",
		"\"not-http\" has no code", "take it out");
	refused(FAULT("server-error", ", \"how\": { \"code\": \"c\", \"body\": \"html\" }"), "/faults/0/how/code",
		"\"html\" has no code", "");
	refused(FAULT("server-error", ", \"how\": { \"code\": \"c\", \"body\": \"garble\" }"), "/faults/0/how/code",
		"\"garble\" has no code", "");
	refused(FAULT("server-error", ", \"how\": { \"body\": \"no-length\", \"status\": 200 }"),
		"/faults/0/how/status", "is whole", "400 to 599");
	refused(FAULT("server-error", ", \"how\": { \"code\": \"c\", \"status\": 204 }"), "/faults/0/how/status", "204",
		"200 or");
	refused(FAULT("server-error", ", \"phase\": \"mid-reply\", \"how\": { \"code\": \"c\" }"), "/faults/0/how/code",
		"kind \"llm\"", "");
	refused(STREAM("\"code\": \"c\", \"body\": \"garble\""), "/faults/0/how/code", "either", "keep one");
	refused(STREAM("\"code\": \"c\", \"end\": \"fin\""), "/faults/0/how/end", "its own end", "keep one");
	refused(STREAM("\"body\": \"html\""), "/faults/0/how/body", "\"html\"", "garble");
	refused(STREAM("\"code\": \"c\", \"slow\": { \"first_ms\": 1 }"), "/faults/0/how/slow", "to its end",
		"keep one");
	refused(STREAM("\"code\": \"c\", \"status\": 500"), "/faults/0/how/status", "before or after", "");
	refused(FAULT("blackhole", ", \"how\": { \"body\": \"bad-chunk\" }, \"lasts\": \"to the end\""),
		"/faults/0/how/body", "server-error", "");
	refused(FAULT("server-error", ", \"phase\": \"mid-reply\""), "/faults/0/phase", "nothing says", "\"end\"");
	refused(FAULT("server-error",
		      ", \"phase\": \"mid-reply\", \"how\": { \"end\": \"fin\", \"slow\": { \"first_ms\": 1 } }"),
		"/faults/0/how/slow", "comes to its end", "");
	refused(FAULT("server-error",
		      ", \"phase\": \"mid-reply\", \"how\": { \"end\": \"clean\", \"inside\": \"tool_arguments\" }"),
		"/faults/0/how/inside", "language model", "");
	refused(FAULT("blackhole", ""), "/faults/0/class", "how long it lasts", "\"lasts\"");
	refused(FAULT("blackhole", ", \"phase\": \"connect\", \"lasts\": \"to the end\""), "/faults/0/on/route",
		"not known yet", "");
	refused(FAULT("blackhole", ", \"lasts\": \"for ever\""), "/faults/0/lasts", "no length", "to the end");
	refused(WIDE("blackhole",
		     ", \"phase\": \"connect\", \"how\": { \"end\": \"refuse\" }, \"lasts\": \"to the end\""),
		"/faults/0/how/end", "not seen", "must_fire");
	refused(WIDE("blackhole",
		     ", \"phase\": \"connect\", \"how\": { \"end\": \"drop\" }, \"lasts\": { \"calls\": 5 }"),
		"/faults/0/lasts/calls", "nobody counts", "");
	refused(WIDE("blackhole",
		     ", \"phase\": \"mid-request\", \"call\": { \"key\": \"request.key\" }, \"lasts\": { \"calls\": 5 }"),
		"/faults/0/call/key", "no request yet", "");
	refused(FAULT("duplicate-write", ", \"lasts\": { \"calls\": 5 }"), "/faults/0/lasts", "does not last", "");
	refused(FAULT("duplicate-write", ", \"how\": { \"same_id\": false }"), "/faults/0/how/same_id", "same request",
		"");
	refused(FAULT("duplicate-write", ", \"how\": { \"times\": 1 }"), "/faults/0/how/times", "", "");
	refused(FAULT("server-error", ", \"how\": { \"sqlstate\": \"40001\" }"), "/faults/0/how/sqlstate",
		"not supported", "");
}

int
main(void)
{
	good();
	places();
	contradictions();
	return tap_done();
}
