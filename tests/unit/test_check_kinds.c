/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_check_kinds.c - checks of kind order, relation, unchanged and process, holding and not. */
#include <signal.h>

#include "tests/unit/check_one.h"

#define CALL(t, service, route) \
	"{\"t_ms\":" t ",\"service\":\"" service "\",\"kind\":\"http\",\"route\":\"" route \
	"\",\"request\":{\"method\":\"POST\",\"target\":\"/x\"}}"
#define MET(t, fault) \
	"{\"t_ms\":" t \
	",\"service\":\"llm\",\"kind\":\"tcp\",\"route\":null,\"request\":{\"method\":\"\",\"target\":\"\"}," \
	"\"fault\":{\"id\":\"" fault "\"}}"
#define HOOK(t) \
	"{\"t_ms\":" t \
	",\"service\":\"pay\",\"kind\":\"webhook\",\"route\":\"paid\",\"request\":{\"method\":\"POST\"," \
	"\"target\":\"/h\"},\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}}"
#define ORDER "{\"first\":{\"route\":\"a\"},\"then\":{\"route\":\"b\"}}"

static void
orders(void)
{
	static const struct {
		const char *name, *json;
		const char *ops[6];
		bool held;
		const char *why;
	} all[] = {
		{ "after", ORDER, { CALL("1", "s", "a"), CALL("1", "s", "b") }, true, "1 came 0 ms after operation 0" },
		{ "before",
		  ORDER,
		  { CALL("1", "s", "b"), CALL("1", "s", "a") },
		  false,
		  "operation 0 (then) came at 1 ms, operation 1 (first) only at 1 ms" },
		{ "one of them before",
		  ORDER,
		  { CALL("1", "s", "b"), CALL("1", "s", "a"), CALL("2", "s", "b") },
		  false,
		  "" },
		{ "all after the first",
		  ORDER,
		  { CALL("1", "s", "a"), CALL("2", "s", "b"), CALL("3", "s", "a"), CALL("4", "s", "b") },
		  true,
		  "" },
		{ "nothing first", ORDER, { CALL("1", "s", "b") }, false, "nothing matched first" },
		{ "nothing then", ORDER, { CALL("1", "s", "a") }, false, "not taken for kept" },
		{ "nothing at all", ORDER, { NULL }, false, "nothing matched first" },
		{ "a call is not after itself",
		  "{\"first\":{\"service\":\"s\"},\"then\":{\"route\":\"b\"}}",
		  { CALL("1", "s", "b") },
		  false,
		  "operation 0" },
		{ "the first is no match of then",
		  "{\"first\":{\"service\":\"s\"},\"then\":{\"route\":\"b\"}}",
		  { CALL("1", "s", "a"), CALL("1", "s", "b") },
		  true,
		  "" },
		{ "a gap",
		  "{\"first\":{\"route\":\"a\"},\"then\":{\"route\":\"b\"},\"min_gap_ms\":1000}",
		  { CALL("5", "s", "a"), CALL("1005", "s", "b") },
		  true,
		  "1000 ms after" },
		{ "too small a gap",
		  "{\"first\":{\"route\":\"a\"},\"then\":{\"route\":\"b\"},\"min_gap_ms\":1000}",
		  { CALL("5", "s", "a"), CALL("1004", "s", "b"), CALL("2000", "s", "b") },
		  false,
		  "999 ms after" },
		{ "a fault",
		  "{\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"s\"}}",
		  { MET("3", "busy"), CALL("4", "s", "a") },
		  true,
		  "" },
		{ "another fault",
		  "{\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"s\"}}",
		  { MET("3", "dark"), CALL("4", "s", "a") },
		  false,
		  "nothing matched first (fault busy)" },
		{ "a fault afterwards",
		  "{\"first\":{\"route\":\"a\"},\"then\":{\"fault\":\"busy\"}}",
		  { MET("3", "busy"), CALL("4", "s", "a") },
		  false,
		  "" },
		{ "a webhook ended later than it began",
		  "{\"first\":{\"route\":\"paid\",\"service\":\"pay\"},\"then\":{\"route\":\"b\"}}",
		  { CALL("9", "s", "b"), HOOK("4") },
		  true,
		  "" },
		{ "a webhook began later",
		  "{\"first\":{\"route\":\"paid\",\"service\":\"pay\"},\"then\":{\"route\":\"b\"}}",
		  { CALL("9", "s", "b"), HOOK("10") },
		  false,
		  "" },
		{ "a webhook of the same millisecond",
		  "{\"first\":{\"route\":\"paid\",\"service\":\"pay\"},\"then\":{\"route\":\"b\"}}",
		  { CALL("9", "s", "b"), HOOK("9") },
		  false,
		  "is not known" },
		{ "the other way round",
		  "{\"first\":{\"route\":\"b\"},\"then\":{\"route\":\"paid\",\"service\":\"pay\"}}",
		  { CALL("9", "s", "b"), HOOK("9") },
		  false,
		  "is not known" },
		{ "a webhook after",
		  "{\"first\":{\"route\":\"b\"},\"then\":{\"route\":\"paid\",\"service\":\"pay\"}}",
		  { CALL("9", "s", "b"), HOOK("10") },
		  true,
		  "" },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		reset();
		if (!ok(holds(CHECK_ORDER, all[i].json, NULL, 1, all[i].ops) == all[i].held && strstr(said, all[i].why),
			"order: %s", all[i].name))
			printf("# %s\n", said);
	}
	reset();
	ok(holds(CHECK_ORDER, ORDER, NULL, 1, (const char *[]){ CALL("1", "s", "a"), CALL("1", "s", "b"), NULL }),
	   "order: it holds");
	is_str(rested, "/operations/0 /operations/1", "order: and rests on both");
	facts.truncated[TRUNCATED_OPERATIONS] = true;
	ok(!holds(CHECK_ORDER, ORDER, NULL, 1, (const char *[]){ CALL("1", "s", "a"), CALL("1", "s", "b"), NULL }),
	   "order: not when operations are missing");
}

#define SIDE(path, rest) "{\"service\":\"payments\",\"path\":\"" path "\"" rest "}"

static void
relations(void)
{
	static const char text[] =
		"{\"collections\":{\"charges\":[{\"id\":\"ch_1\",\"amount\":4200,\"refunded\":0,\"s\":\"2024-01-02\",\"b\":true,\"z\":null},"
		"{\"id\":\"ch_2\",\"amount\":300,\"refunded\":300,\"s\":\"2024-01-10\"}],\"refunds\":[{\"id\":\"r\",\"amount\":4500}]}}";
	static const struct {
		const char *left, *op, *right;
		bool held;
	} all[] = {
		{ SIDE("/charges", ",\"sum\":\"amount\""), "==", SIDE("/refunds", ",\"sum\":\"amount\""), true },
		{ SIDE("/charges", ",\"sum\":\"refunded\""), "==", SIDE("/refunds", ",\"sum\":\"amount\""), false },
		{ SIDE("/charges", ",\"sum\":\"refunded\""), "<=", SIDE("/charges", ",\"sum\":\"amount\""), true },
		{ SIDE("/charges", ",\"sum\":\"refnuded\""), "<=", SIDE("/charges", ",\"sum\":\"amount\""), false },
		{ SIDE("/charges", ",\"count\":true"), ">", SIDE("/refunds", ",\"count\":true"), true },
		{ SIDE("/charges", ",\"count\":true"), "==", "{\"value\":2}", true },
		{ "{\"value\":2}", "==", SIDE("/charges", ",\"count\":true"), true },
		{ SIDE("/charges", ",\"count\":true"), "==", "{\"value\":\"2\"}", false },
		{ SIDE("/charges", ",\"count\":true"), "!=", "{\"value\":3}", true },
		{ SIDE("/charges", ""), "==", SIDE("/charges", ""), false }, /* lists are no single values */
		{ SIDE("/charges", ""), "!=", SIDE("/refunds", ""), false },
		{ SIDE("/charges/ch_9/amount", ""), "!=", "{\"value\":1}", false }, /* nothing is not unequal either */
		{ SIDE("/charges/ch_9/amount", ""), "==", SIDE("/charges/ch_9/amount", ""), false },
		{ SIDE("/charges/ch_1/s", ""), "<", SIDE("/charges/ch_2/s", ""), true },
		{ SIDE("/charges/ch_1/s", ""), ">", "{\"value\":\"2023\"}", true },
		{ SIDE("/charges/ch_1/s", ""), ">", "{\"value\":5}", false },
		{ SIDE("/charges/ch_1/s", ""), "<=", "{\"value\":5}", false },
		{ SIDE("/charges/ch_1/s", ""), "!=", "{\"value\":5}", true },
		{ SIDE("/charges/ch_1/b", ""), "==", "{\"value\":true}", true },
		{ SIDE("/charges/ch_1/b", ""), "<=", "{\"value\":true}", false }, /* has no order */
		{ SIDE("/charges/ch_1/z", ""), "==", "{\"value\":null}", true },
		{ SIDE("/charges/ch_1/z", ""), "<=", "{\"value\":0}", false },
		{ SIDE("/charges/ch_1/amount", ""), ">=", "{\"value\":4200}", true },
		{ SIDE("/charges/ch_1/amount", ""), ">", "{\"value\":4200}", false },
		{ SIDE("/charges/ch_1/amount", ",\"count\":true"), "==", "{\"value\":0}", false },
	};
	char json[600];
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		reset();
		state_text = text;
		snprintf(json, sizeof(json), "{\"left\":%s,\"op\":\"%s\",\"right\":%s}", all[i].left, all[i].op,
			 all[i].right);
		if (!ok(holds(CHECK_RELATION, json, NULL, 1, NULL) == all[i].held, "relation %s %s %s", all[i].left,
			all[i].op, all[i].right))
			printf("# %s\n", said);
	}
	snprintf(json, sizeof(json), "{\"left\":%s,\"op\":\"==\",\"right\":{\"value\":1}}",
		 SIDE("/charges", ",\"sum\":\"amount\""));
	reset();
	state_text = text;
	ok(!holds(CHECK_RELATION, json, NULL, 1, NULL), "relation: it says both sides");
	is_str(said, "expected sum of amount in payments /charges == 1, actual 4500 on the left, 1 on the right", "so");
	is_str(rested, "/state/final/payments/charges", "and rests on the state");
	state_text = NULL;
	ok(!holds(CHECK_RELATION, json, NULL, 1, NULL), "relation: not without a state");
	state_text = text;
	facts.truncated[TRUNCATED_STATE] = true;
	ok(!holds(CHECK_RELATION, json, NULL, 1, NULL), "relation: not when it was cut off");
}

static void
unchanged(void)
{
	static const char before[] =
		"{\"collections\":{\"charges\":[{\"id\":\"a\",\"n\":1,\"deep\":{\"x\":1,\"l\":[1,2]}},"
		"{\"id\":\"b/c\",\"n\":2}],\"mails\":[]}}";
	static const struct {
		const char *after, *except;
		bool held;
		const char *why;
	} all[] = {
		{ before, "", true, "nothing else differs" },
		{ "{\"collections\":{\"charges\":[{\"id\":\"a\",\"deep\":{\"l\":[1,2],\"x\":1},\"n\":1},{\"id\":\"b/c\",\"n\":2}],\"mails\":[]}}",
		  "", true, "" },
#define AFTER(a, b, mails) \
	"{\"collections\":{\"charges\":[{\"id\":\"a\"," a "},{\"id\":\"b/c\"," b "}],\"mails\":[" mails "]}}"
#define DEEP "\"deep\":{\"x\":1,\"l\":[1,2]}"
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "", false, "payments:/charges/a/n was 1, is 7" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/a/n\"", true, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/*/n\"", true, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/a\"", true, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges\"", true, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/*/*/n\"", true, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/b\"", false, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/a/nn\"", false, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payments:/charges/a/n/x\"", false, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"payment:/charges\"", false, "" },
		{ AFTER("\"n\":7," DEEP, "\"n\":2", ""), "\"paymentss:/charges\"", false, "" },
		{ AFTER("\"n\":1,\"deep\":{\"x\":2,\"l\":[1,2]}", "\"n\":2", ""), "\"payments:/charges/a/deep/x\"",
		  true, "" },
		{ AFTER("\"n\":1,\"deep\":{\"x\":1,\"l\":[1,3]}", "\"n\":2", ""), "\"payments:/charges/a/deep/l/1\"",
		  true, "" },
		{ AFTER("\"n\":1,\"deep\":{\"x\":1,\"l\":[1,3]}", "\"n\":2", ""), "\"payments:/charges/a/deep/l/0\"",
		  false, "/charges/a/deep/l/1 was 2, is 3" },
		{ AFTER("\"n\":1,\"deep\":{\"x\":1,\"l\":[1]}", "\"n\":2", ""), "\"payments:/charges/a/deep/l/1\"",
		  false, "/charges/a/deep/l was [1,2], is [1]" },
		{ AFTER("\"n\":1,\"deep\":{\"x\":1,\"l\":[1]}", "\"n\":2", ""), "\"payments:/charges/a/deep/l\"", true,
		  "" },
		{ AFTER("\"n\":1,\"deep\":[1]", "\"n\":2", ""), "\"payments:/charges/a/deep/l\"", false, "" },
		{ AFTER("\"n\":1,\"more\":0," DEEP, "\"n\":2", ""), "", false, "/charges/a/more was nothing, is 0" },
		{ AFTER(DEEP, "\"n\":2", ""), "", false, "/charges/a/n was 1, is nothing" },
		{ AFTER("\"n\":1," DEEP, "\"n\":3", ""), "\"payments:/charges/b~1c/n\"", true, "" },
		{ AFTER("\"n\":1," DEEP, "\"n\":3", ""), "\"payments:/charges/b/c/n\"", false,
		  "/charges/b~1c/n was 2" },
		{ AFTER("\"n\":1," DEEP, "\"n\":2", "{\"id\":\"m\"}"), "", false, "/mails/m was nothing" },
		{ AFTER("\"n\":1," DEEP, "\"n\":2", "{\"id\":\"m\"}"), "\"payments:/mails\"", true, "" },
		{ AFTER("\"n\":1," DEEP, "\"n\":2", "{\"id\":\"m\"}"), "\"payments:/mails/*\"", true, "" },
		{ AFTER("\"n\":1," DEEP, "\"n\":2", "{\"id\":\"m\"}"), "\"payments:/mails/*/id\"", false, "" },
		{ "{\"collections\":{\"charges\":[{\"id\":\"b/c\",\"n\":2}],\"mails\":[]}}",
		  "\"payments:/charges/a/n\"", false, "/charges/a was" },
		{ "{\"collections\":{\"charges\":[{\"id\":\"b/c\",\"n\":2}],\"mails\":[]}}", "\"payments:/charges/*\"",
		  true, "" },
		{ "{\"collections\":{\"mails\":[]}}", "\"payments:/charges/a\"", false, "/charges/b~1c was" },
		{ NULL, "", false, "final state of payments was not recorded" },
	};
	char json[200];
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		reset();
		initial_text = before;
		state_text = all[i].after;
		snprintf(json, sizeof(json), "{\"except\":[%s]}", all[i].except);
		if (!ok(holds(CHECK_UNCHANGED, json, NULL, 1, NULL) == all[i].held && strstr(said, all[i].why),
			"unchanged: %zu but %s", i, all[i].except))
			printf("# %s\n", said);
	}
	reset();
	state_text = before;
	ok(!holds(CHECK_UNCHANGED, "{}", NULL, 1, NULL), "unchanged: not without an initial state");
	initial_text = before;
	ok(holds(CHECK_UNCHANGED, "{}", NULL, 1, NULL), "unchanged: nothing is excepted");
	facts.truncated[TRUNCATED_STATE] = true;
	ok(!holds(CHECK_UNCHANGED, "{}", NULL, 1, NULL), "unchanged: not when the state was cut off");
}

#define STACK "/app/a.js:1\nthrow x\n^\n\nError: boom\n    at f (/app/a.js:1:7) {\n  code: 'E'\n}\n\nNode.js v22.1.0\n"

static void
processes(void)
{
	static const struct {
		const char *err;
		int code, signal;
		bool held;
		const char *why;
	} all[] = {
		{ "", 0, 0, true, "none" },
		{ "Error: boom\n    at f (a.js:1)\n", 1, 0, true, "none" }, /* a program that handles it, and ends so */
		{ STACK, 1, 0, false, "uncaught exception: Error: boom" },
		{ STACK, 7, 0, false, "uncaught" },
		{ STACK, 0, 0, false, "uncaught" }, /* of a child */
		{ STACK "npm error code 1\n", 1, 0, false, "Error: boom" },
		{ "x\nNode.js v22.1.0", 1, 0, false, "uncaught" }, /* the last line has no end */
		{ "Node.js v20.20.2\r\n", 1, 0, false, "uncaught" },
		{ "Node.js v24.0.0-nightly2024\n", 1, 0, false, "uncaught" },
		{ "using Node.js v22.1.0\n", 0, 0, true, "" },
		{ "Node.js v22.1.0 is here\n", 0, 0, true, "" },
		{ "Node.js v22.1\n", 0, 0, true, "" },
		{ "(node:17) UnhandledPromiseRejectionWarning: Error: x\n", 0, 0, false, "nobody handles" },
		{ "(node:17) DeprecationWarning: x\n", 0, 0, true, "" },
		{ "<--- Last few GCs --->\nFATAL ERROR: Reached heap limit\n", -1, SIGABRT, false, "FATAL ERROR" },
		{ "", -1, SIGSEGV, false, "SIGSEGV" },
		{ "", 134, 0, false, "SIGABRT" },
		{ "", 13, 0, true, "" },
		{ "", -1, SIGTERM, true, "" },
	};
	size_t i, cut;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (cut = 1; cut < 100; cut += 98) {
			reset();
			ended.code = all[i].code;
			ended.signal = (uint8_t)all[i].signal;
			if (!ok(holds(CHECK_PROCESS, "{\"no_uncaught\":true}", all[i].err, cut, NULL) == all[i].held &&
					strstr(said, all[i].why),
				"process: %zu in pieces of %zu", i, cut))
				printf("# %s\n", said);
		}
	reset();
	ended.max_rss_kib = 65536;
	ok(holds(CHECK_PROCESS, "{\"max_rss_mb\":64}", "", 1, NULL), "process: 64 MiB are no more than 64");
	ended.max_rss_kib++;
	ok(!holds(CHECK_PROCESS, "{\"max_rss_mb\":64}", "", 1, NULL), "process: a bit more is: %s", said);
	ok(!holds(CHECK_PROCESS, "{\"max_rss_mb\":640,\"no_uncaught\":true}", STACK, 9, NULL),
	   "process: both must hold");
	ok(!holds(CHECK_PROCESS, "{\"max_rss_mb\":64,\"no_uncaught\":true}", "", 9, NULL), "process: either way");
	ended.max_rss_kib = 0;
	ok(!holds(CHECK_PROCESS, "{\"max_rss_mb\":64}", "", 1, NULL), "process: not when nobody measured");
	facts.truncated[TRUNCATED_STDERR] = true;
	ok(!holds(CHECK_PROCESS, "{\"no_uncaught\":true}", "", 1, NULL), "process: not when stderr was cut off");
	reset();
	ended.stage = EXEC_EXEC;
	ok(!holds(CHECK_PROCESS, "{\"no_uncaught\":true}", "", 1, NULL), "process: not when it never ran");
	facts.exit = NULL;
	ok(!holds(CHECK_PROCESS, "{\"no_uncaught\":true}", "", 1, NULL), "process: not without EXIT");
	secrets = redact_new();
	if (redact_add(secrets, "key", "at_test_0123456789abcdef0123456789abcdef", 40) < 0)
		return;
	reset();
	ended.code = 1;
	ok(!holds(CHECK_PROCESS, "{\"no_uncaught\":true}",
		  "Error: at_test_0123456789abcdef0123456789abcdef\n    at x\n\nNode.js v22.1.0\n", 7, NULL) &&
		   strstr(said, "{{secret") && !strstr(said, "at_te"),
	   "process: what is said hides secrets: %s", said);
	redact_free(secrets);
	secrets = NULL;
}

int
main(void)
{
	orders();
	relations();
	unchanged();
	processes();
	return tap_done();
}
