/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_world_llm.c - services of kind llm in a world: what is accepted, and each mistake with its place and its fix. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/world_read.h"
#include "tests/lib/tap.h"

static struct diag d;

/* The world with a service that has these members, and these faults; 0 or the error. */
static int
load(const char *members, const char *faults)
{
	static const char format[] =
		"{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [ \"a.mjs\" ],\n"
		"\"env\": { \"KEY\": \"{{secret.k}}\", \"URL\": \"{{service.s.url}}\" },\n"
		"\"services\": [ { \"name\": \"s\", \"kind\": \"llm\", \"hosts\": [ \"s.internal\" ],"
		" \"auth\": { \"scheme\": \"bearer\", \"accept\": \"{{secret.k}}\" }, %s } ],\n"
		"\"faults\": [ %s ],\n"
		"\"workflow\": { \"command\": [ \"node\", \"a.mjs\" ] },\n"
		"\"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }, { \"id\": \"c\", \"kind\": \"calls\", "
		"\"service\": \"s\" } ] }";
	struct world w;
	int r;

	memset(&w, 0, sizeof(w));
	memset(&d, 0, sizeof(d));
	if (asprintf(&w.text, format, members, faults) < 0)
		return -ENOMEM;
	w.text_len = strlen(w.text);
	r = world_read_text(&w, &d);
	world_wipe(&w);
	return r;
}

static void
accepted(const char *members, const char *faults)
{
	int r = load(members, faults);

	ok(r == 0, "accepted: %s %s", members, faults);
	if (r < 0)
		printf("# %s: %s (%s)\n", d.pointer, d.problem, d.fix);
}

static void
refused(const char *members, const char *pointer, const char *problem, const char *fix)
{
	int r = load(members, "");

	if (!ok(r < 0 && strcmp(d.pointer, pointer) == 0 && strstr(d.problem, problem) && strstr(d.fix, fix) &&
			d.line > 0,
		"refused: %s", members))
		printf("# %d %s: %s (%s)\n", r, d.pointer, d.problem, d.fix);
}

#define OPENAI "\"profile\": \"openai\", "
#define TURN(more) OPENAI "\"script\": [ { \"id\": \"a\", " more " } ]"
#define TEXT "\"reply\": { \"text\": \"x\" }"
#define S "/services/0"

static void
good(void)
{
	accepted(TURN(TEXT), "");
	accepted(TURN(TEXT ", \"stream\": { \"chunk\": 1 }"), "");
	accepted(OPENAI "\"script\": [], \"unmatched\": \"404\"", "");
	accepted("\"profile\": \"anthropic\", \"script\": [ { \"id\": \"a\", "
		 "\"when\": { \"turn\": 2, \"last_role\": \"tool\", \"tool_result_for\": \"f\", \"contains\": \"x\" }, "
		 "\"reply\": { \"text\": \"x\", \"tool_calls\": [ { \"name\": \"f\", \"arguments\": {} } ], "
		 "\"finish\": \"length\", \"usage\": { \"input\": 1, \"output\": 0 } } } ], "
		 "\"validate\": { \"tool_messages_answer_calls\": false, \"models\": [ \"c*\" ] }",
		 "");
	accepted(
		TURN("\"reply\": { \"tool_calls\": [ { \"name\": \"f\", \"arguments\": {} } ] }"),
		"{ \"id\": \"f\", \"class\": \"server-error\", \"on\": { \"service\": \"s\", \"route\": \"a\" }, "
		"\"phase\": \"mid-reply\", \"how\": { \"end\": \"clean\", \"inside\": \"tool_arguments\", \"at\": 0.6 } }");
	accepted(
		TURN(TEXT),
		"{ \"id\": \"f\", \"class\": \"server-error\", \"on\": { \"service\": \"s\", \"route\": \"embeddings\" } }");
}

static void
mistakes(void)
{
	refused("\"script\": []", S, "profile that says whose API", "openai");
	refused("\"profile\": \"stripe/v1\", \"script\": []", S, "profile that says whose API", "anthropic");
	refused("\"profile\": \"openai\"", S, "needs a script", "\"script\"");
	refused(OPENAI "\"script\": [], \"routes\": []", S "/routes", "has no \"routes\"", "take it out");
	refused(OPENAI "\"script\": [], \"state\": {}", S "/state", "has no \"state\"", "");
	refused(OPENAI "\"script\": {}", S "/script", "", "");
	refused(OPENAI "\"script\": [ { \"id\": \"a\" } ]", S "/script/0", "reply", "");
	refused(OPENAI "\"script\": [ { " TEXT " } ]", S "/script/0", "id", "");
	refused(OPENAI "\"script\": [ { \"id\": \"a b\", " TEXT " } ]", S "/script/0/id", "letters", "");
	refused(OPENAI "\"script\": [ { \"id\": \"models\", " TEXT " } ]", S "/script/0/id", "is taken", "another");
	refused(OPENAI "\"script\": [ { \"id\": \"a\", " TEXT " }, { \"id\": \"a\", " TEXT " } ]", S "/script/1/id",
		"already", "of its own");
	refused(TURN("\"reply\": {}"), S "/script/0/reply", "says nothing", "tool_calls");
	refused(TURN("\"reply\": { \"text\": \"x\", \"finish\": \"tool_calls\" }"), S "/script/0/reply", "has none",
		"take \"finish\" out");
	refused(TURN("\"reply\": { \"text\": \"x\", \"finish\": \"end\" }"), S "/script/0/reply/finish", "", "");
	refused(TURN("\"reply\": { \"text\": 7 }"), S "/script/0/reply/text", "", "");
	refused(TURN("\"reply\": { \"tool_calls\": [] }"), S "/script/0/reply/tool_calls", "", "");
	refused(TURN("\"reply\": { \"tool_calls\": [ { \"name\": \"a b\", \"arguments\": {} } ] }"),
		S "/script/0/reply/tool_calls/0/name", "letters", "declares");
	refused(TURN("\"reply\": { \"tool_calls\": [ { \"name\": \"f\", \"arguments\": \"{}\" } ] }"),
		S "/script/0/reply/tool_calls/0/arguments", "expected an object", "the text of it");
	refused(TURN("\"reply\": { \"text\": \"x\", \"usage\": { \"input\": -1 } }"), S "/script/0/reply/usage/input",
		"", "");
	refused(TURN("\"when\": { \"turn\": 0 }, " TEXT), S "/script/0/when/turn", "", "turn 1 answers the first");
	refused(TURN("\"when\": { \"last_role\": \"king\" }, " TEXT), S "/script/0/when/last_role", "", "");
	refused(TURN("\"when\": { \"says\": \"x\" }, " TEXT), S "/script/0/when/says", "", "");
	refused(TURN(TEXT ", \"stream\": { \"chunk\": 0 }"), S "/script/0/stream/chunk", "", "");
	refused(TURN(TEXT ", \"stream\": {}"), S "/script/0/stream", "chunk", "");
	refused(TURN(TEXT) ", \"validate\": { \"models\": [] }", S "/validate/models", "", "");
	refused(TURN(TEXT) ", \"validate\": { \"tool_messages_answer_calls\": 1 }",
		S "/validate/tool_messages_answer_calls", "", "");
}

int
main(void)
{
	good();
	mistakes();
	return tap_done();
}
