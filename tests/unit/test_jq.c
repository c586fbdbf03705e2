/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_jq.c - expressions: what they give, what they may not, and that none of them ends anything but its own process. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/jq_run.h"
#include "tests/lib/tap.h"

static const char doc[] =
	"{\"outcome\":{\"exit\":{\"code\":0}},\"operations\":[{\"n\":0,\"reply\":{\"status\":201}},"
	"{\"n\":2,\"reply\":{\"status\":200}},{\"n\":3,\"reply\":{\"status\":500}}],\"text\":\"\xc3\xa9\"}";

static const struct {
	const char *expr;
	enum jq_verdict verdict;
	const char *text; /* holds this */
} cases[] = {
	{ ".outcome.exit.code == 0", JQ_TRUE, "true" },
	{ ".outcome.exit.code == 1", JQ_FALSE, "false" },
	{ ".outcome.exit.code", JQ_TROUBLE, "0, which is neither true nor false" },
	{ ".nothing", JQ_TROUBLE, "null, which is neither" },
	{ "\"true\"", JQ_TROUBLE, "\"true\", which" },
	{ "[true]", JQ_TROUBLE, "[true], which" },
	{ "empty", JQ_TROUBLE, "it gives nothing" },
	{ ".operations[] | .reply.status == 200", JQ_TROUBLE, "more than one value" },
	{ "true, true", JQ_TROUBLE, "more than one value" },
	{ "true, error(\"late\")", JQ_TROUBLE, "error: late" },
	{ "error(\"no\")", JQ_TROUBLE, "error: no" },
	{ "error({\"a\":1})", JQ_TROUBLE, "error: {\"a\":1}" },
	{ ".outcome.exit.code[0]", JQ_TROUBLE, "Cannot index number with number" },
	{ ".text == \"\xc3\xa9\"", JQ_TRUE, "true" },
	{ "[.operations[].reply.status] | any(. == 500)", JQ_TRUE, "true" },
	{ "\"abc\" | test(\"^a.c$\")", JQ_TRUE, "true" },
	{ "nope(1)", JQ_TROUBLE, "nope/1 is not defined" },
	{ ".a ]", JQ_TROUBLE, "unexpected ']'" },
	{ "\"abc", JQ_TROUBLE, "a string is not closed" },
	/* shut in */
	{ "env == {}", JQ_TRUE, "" },
	{ "$ENV == {}", JQ_TRUE, "" },
	{ "[inputs] == []", JQ_TROUBLE, "no other input" },
	{ "input", JQ_TROUBLE, "no other input" },
	{ "import \"a\" as $a; true", JQ_TROUBLE, "" },
	{ "include \"a\"; true", JQ_TROUBLE, "" },
	{ "import \"/etc/passwd\" as $a; true", JQ_TROUBLE, "" },
	{ "halt", JQ_TROUBLE, "" },
	{ "true, halt", JQ_TROUBLE, "" },
	{ "true | halt_error", JQ_TROUBLE, "" },
	{ "\"x\" | stderr | true", JQ_TRUE, "" },
	{ "\"x\" | debug | true", JQ_TRUE, "" },
	/* too much */
	{ "def f: f; f", JQ_TROUBLE, "1000 ms of processor time" },
	{ "[range(1e9)] | true", JQ_TROUBLE, "" },
	{ "def f: 1 + f; f", JQ_TROUBLE, "" },
	{ "reduce range(1000000) as $i (null; [.]) | true", JQ_TROUBLE, "" },
	{ "[.] | until(false; . + .)", JQ_TROUBLE, "" },
	{ "\"\\(\"a\" * 1000000)\" | test(\"(a|aa)+$b\")", JQ_TROUBLE, "" },
	{ "def f(g): f(g | g); f(.)", JQ_TROUBLE, "" },
	{ "path(..)", JQ_TROUBLE, "more than one value" },
	{ "\xff\xfe", JQ_TROUBLE, "" },
	{ "\"\xff\" == .", JQ_FALSE, "" },
	{ "true", JQ_TRUE, "true" }, /* after all that */
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static void
test_cases(void)
{
	struct jq_task tasks[CASES];
	size_t i;

	memset(tasks, 0, sizeof(tasks));
	for (i = 0; i < CASES; i++)
		tasks[i].expr = cases[i].expr;
	is_int(jq_run_all(tasks, CASES, doc, strlen(doc)), 0, "all are evaluated");
	for (i = 0; i < CASES; i++) {
		is_int(tasks[i].verdict, cases[i].verdict, "verdict of a case");
		ok(tasks[i].text && strstr(tasks[i].text, cases[i].text), "%zu says %.80s", i,
		   tasks[i].text ? tasks[i].text : "nothing");
	}
	jq_run_wipe(tasks, CASES);
}

static void
test_each(void)
{
	static const uint32_t all[] = { 0, 2, 3 }, some[] = { 0, 2 }, gap[] = { 0, 1 }, none[] = { 4 };
	struct jq_task tasks[6] = {
		{ .expr = ".reply.status < 300", .each = true, .ops = some, .ops_len = 2 },
		{ .expr = ".reply.status < 300", .each = true, .ops = all, .ops_len = 3 },
		{ .expr = "true", .each = true, .ops = gap, .ops_len = 2 },
		{ .expr = "true", .each = true, .ops = none, .ops_len = 1 },
		{ .expr = "true", .each = true },
		{ .expr = ".reply.status", .each = true, .ops = all, .ops_len = 3 },
	};

	is_int(jq_run_all(tasks, 6, doc, strlen(doc)), 0, "evaluated");
	is_int(tasks[0].verdict, JQ_TRUE, "the first two");
	is_int(tasks[1].verdict, JQ_FALSE, "not the third");
	is_int(tasks[1].op, 3, "which is named");
	is_int(tasks[2].verdict, JQ_TROUBLE, "one that is not recorded");
	is_int(tasks[2].op, 1, "is named");
	is_int(tasks[3].verdict, JQ_TROUBLE, "beyond the last one");
	is_int(tasks[4].verdict, JQ_TRUE, "none at all");
	is_int(tasks[5].verdict, JQ_TROUBLE, "no condition");
	is_int(tasks[5].op, 0, "at the first");
	jq_run_wipe(tasks, 6);
	is_int(jq_run_all(tasks, 2, "{\"operations\":7}", 16), 0, "no operations");
	is_int(tasks[0].verdict, JQ_TROUBLE, "are trouble");
	jq_run_wipe(tasks, 6);
}

static void
test_document(void)
{
	static const char *const bad[] = { "", "{", "{\"a\":1} {\"b\":2}", "nul", "{\"a\":", "\xff" };
	struct jq_task tasks[2] = { { .expr = "true" }, { .expr = "1 == 1" } };
	char *deep;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(jq_run_all(tasks, 2, bad[i], strlen(bad[i])), 0, "comes back");
		ok(tasks[0].verdict == JQ_TROUBLE && tasks[1].verdict == JQ_TROUBLE, "%zu is no document: %.60s", i,
		   tasks[1].text);
	}
	deep = malloc(100000);
	memset(deep, '[', 100000);
	is_int(jq_run_all(tasks, 2, deep, 100000), 0, "comes back");
	is_int(tasks[1].verdict, JQ_TROUBLE, "too deep");
	free(deep);
	is_int(jq_run_all(tasks, 2, doc, (size_t)JQ_INPUT_MAX + 1), 0, "comes back without a look");
	is_int(tasks[0].verdict, JQ_TROUBLE, "too long");
	jq_run_wipe(tasks, 2);
}

static void
test_compile(void)
{
	static const struct {
		const char *expr, *text;
		uint32_t at;
	} wrong[] = {
		{ ".a ]", "unexpected ']'", 4 },
		{ ".a |\n {x: }", "unexpected '}'", 11 },
		{ "\"\xc3\xa9\" | ) ", "unexpected ')'", 7 },
		{ "foo(1)", "foo/1 is not defined", 1 },
		{ "1 + xfoo", "xfoo/0 is not defined", 5 },
		{ ".foo | foo", "foo/0 is not defined", 2 },
		{ "$foo", "$foo is not defined", 1 },
		{ "if 1 then 2", "it ends in the middle", 0 },
		{ "\"abc", "a string is not closed", 0 },
		{ ".a[", "it ends in the middle", 0 },
		{ ".a; .b", "unexpected ';'", 3 },
		{ ". as [$a] | if $a end", "unexpected end", 19 },
	};
	struct jq_task t = { 0 };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		t.expr = wrong[i].expr;
		is_int(jq_run_compile(&t, 1), 0, "comes back");
		is_int(t.verdict, JQ_TROUBLE, "is not compiled");
		ok(strstr(t.text, wrong[i].text) != NULL, "%s: %s", wrong[i].expr, t.text);
		is_int(t.at, wrong[i].at, "at its place");
	}
	t.expr = "def f(x): x | . + 1; f(2) == 3";
	is_int(jq_run_compile(&t, 1), 0, "comes back");
	is_int(t.verdict, JQ_TRUE, "this is");
	jq_run_wipe(&t, 1);
}

static void
test_forbidden(void)
{
	static const struct {
		const char *expr, *name;
		uint32_t at;
	} all[] = {
		{ "env.HOME", "env", 1 },
		{ "1 | $ENV.HOME", "ENV", 6 },
		{ "$ ENV", "ENV", 3 },
		{ "[inputs]", "inputs", 2 },
		{ "\"a\\(1 + env)\"", "env", 9 },
		{ "\"a\\(\"b\\(input)\")\"", "input", 9 },
		{ "{a: env}", "env", 5 },
		{ "{a: [1, env]}", "env", 9 },
		{ "{\"a\": 1, \"b\": (env)}", "env", 16 },
		{ "{a: f(1, now)}", "now", 10 },
		{ "# env\nenv", "env", 7 },
		{ "import \"a\" as $a; 1", "import", 1 },
		{ "\xc3\xa9 env", "env", 3 },
		{ ".env", NULL, 0 },
		{ ".a.input | .now", NULL, 0 },
		{ "{env: 1, input: 2}", NULL, 0 },
		{ "{env}", NULL, 0 },
		{ "\"env \\(1) env\"", NULL, 0 },
		{ "# env", NULL, 0 },
		{ ". as $input | $input", NULL, 0 },
		{ "environment", NULL, 0 },
		{ "a::env", NULL, 0 },
		{ "\"a\\\"env\"", NULL, 0 },
		{ "\"unclosed env", NULL, 0 },
		{ "\"\\", NULL, 0 },
		{ ")))]]}}", NULL, 0 },
		{ "", NULL, 0 },
	};
	const char *got;
	char deep[4000];
	uint32_t at;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		at = 0;
		got = jq_run_forbidden(all[i].expr, &at);
		if (all[i].name)
			is_str(got, all[i].name, all[i].expr);
		else
			ok(!got, "%s", all[i].expr);
		is_int(at, all[i].at, "at its place");
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	ok(!jq_run_forbidden(deep, &at), "deep");
	memcpy(deep + 3990, "env", 3);
	is_str(jq_run_forbidden(deep, &at), "env", "however deep");
}

/* Each task gets its answer, also when others kill the child; nothing is left behind. */
static void
test_neighbours(void)
{
	struct jq_task tasks[7] = { { .expr = "true" },
				    { .expr = "def f: f; f" },
				    { .expr = "false" },
				    { .expr = "[.] | until(false; . + .)" },
				    { .expr = ".text == \"\xc3\xa9\"" },
				    { .expr = "]" },
				    { .expr = "true" } };
	static const enum jq_verdict want[7] = {
		JQ_TRUE, JQ_TROUBLE, JQ_FALSE, JQ_TROUBLE, JQ_TRUE, JQ_TROUBLE, JQ_TRUE
	};
	size_t i;

	is_int(jq_run_all(tasks, 7, doc, strlen(doc)), 0, "comes back");
	for (i = 0; i < 7; i++)
		is_int(tasks[i].verdict, want[i], "each its own");
	jq_run_wipe(tasks, 7);
	ok(waitpid(-1, NULL, WNOHANG) < 0, "no child is left");
	is_int(jq_run_all(tasks, 0, doc, strlen(doc)), 0, "no task");
}

int
main(void)
{
	setenv("SECRET", "value", 1);
	test_cases();
	test_each();
	test_document();
	test_compile();
	test_forbidden();
	test_neighbours();
	return tap_done();
}
