/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_test_report.c - reports of runs that ended in every way, with text that means something to those who read them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/test_live.h"
#include "host/test_report.h"
#include "tests/lib/tap.h"

#define NASTY "<a & \"b\">]]> \x1b[31m \xff \xef\xbf\xbe \x01 ::error::x ##[add-mask]y | `c` # \\ end"

static struct test_check checks[] = {
	{ .id = "held", .kind = "exit", .held = TEST_HELD, .line = 3 },
	{ .id = "broken",
	  .kind = "state",
	  .held = TEST_NOT_HELD,
	  .because = NASTY,
	  .expected = NASTY,
	  .actual = NASTY,
	  .rests = "  (operations 1)",
	  .line = 7 },
	{ .id = "proof", .kind = "jq", .held = TEST_NOT_HELD, .evidence = true, .expected = "x", .actual = "y" },
	{ .id = "later",
	  .kind = "calls",
	  .held = TEST_UNJUDGED,
	  .swept = true,
	  .here = SWEEP_HELD,
	  .mode = MODE_ALWAYS },
};

static struct test_record
record(enum test_status status, int exit_code, size_t checks_len)
{
	struct test_record r = { .status = status,
				 .exit_code = exit_code,
				 .ms = 1234,
				 .started_unix_ms = 1700000000000,
				 .run_id = "id",
				 .fingerprint = "f",
				 .receipt = "/r.json",
				 .why = NASTY,
				 .outcome = "refunded-once" };

	r.checks_len = checks_len;
	r.checks = checks_len ? malloc(sizeof(checks)) : NULL;
	if (r.checks)
		memcpy(r.checks, checks, sizeof(checks));
	return r;
}

/* One world for each status, and one that is invalid. */
static void
make(struct tests *t)
{
	static const int codes[TEST_STATUS_COUNT] = { 0, 1, 1, 5, 4, 3, 130, 2, 0 };
	struct diag *d = calloc(1, sizeof(*d));
	size_t i;

	*t = (struct tests){ .started_unix_ms = 1700000000000, .ms = 5000, .jobs = 2, .o.sandbox = true };
	t->worlds_len = TEST_STATUS_COUNT + 1;
	t->worlds = calloc(t->worlds_len, sizeof(*t->worlds));
	t->runs_len = TEST_STATUS_COUNT;
	t->runs = calloc(t->runs_len, sizeof(*t->runs));
	for (i = 0; i < t->runs_len; i++) {
		struct test_run *r = &t->runs[i];
		enum test_status s = (enum test_status)i;

		t->worlds[i] = (struct test_world){
			.path = strdup("a & b/world.json"), .name = "w", .seeds = 1, .run = i, .runs_len = 1
		};
		*r = (struct test_run){ .world = (uint32_t)i,
					.seed = 5,
					.progress = TEST_DONE,
					.status = s,
					.exit_code = codes[i],
					.said = s == TEST_ERROR ? strdup(NASTY "\nlast") : NULL };
		if (s == TEST_NOT_RUN)
			continue;
		r->tries = calloc(2, sizeof(*r->tries));
		r->tries_len = s == TEST_FLAKY ? 2 : 1;
		r->tries[0] = record(s == TEST_FLAKY ? TEST_FAILED : s, codes[i], s <= TEST_FAILED ? 4 : 0);
		if (s == TEST_PASSED)
			r->tries[0].checks[1].held = TEST_HELD;
		if (s == TEST_FLAKY) {
			r->tries[1] = record(TEST_PASSED, 0, 4);
			r->tries[1].checks[1].held = TEST_HELD;
		}
		if (s == TEST_INVALID)
			r->tries[0].problem = (struct test_problem){ "f", "/p", NASTY, "fix it", 3, 4 };
	}
	snprintf(d->file, sizeof(d->file), "w.json");
	snprintf(d->problem, sizeof(d->problem), "%s", NASTY);
	snprintf(d->fix, sizeof(d->fix), "mend it");
	t->worlds[i] = (struct test_world){ .path = strdup("invalid/world.json"), .problem = d, .run = t->runs_len };
	test_sum(t);
}

static char *
written(const struct tests *t, int (*write)(const struct tests *t, FILE *f))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	is_int(write(t, f), 0, "it is written");
	fclose(f);
	return text;
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* No byte that XML, a terminal or a runner of commands must not get. */
static int
forbidden(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text < 0x20 && *text != '\n') || (unsigned char)*text == 0xff ||
		     strncmp(text, "\xef\xbf\xbe", 3) == 0;
	return n;
}

static void
test_sums(const struct tests *t)
{
	size_t i;

	for (i = 0; i < TEST_STATUS_COUNT; i++)
		is_int((long long)t->counts[i], 1, test_status_name((enum test_status)i));
	is_int((long long)t->worlds_count[TEST_INVALID], 2, "the world that is invalid is a world, not a run");
	is_int(t->worst, 130, "the worst of all");
	is_int((long long)t->worlds[TEST_FAILED].groups_len, 1, "what did not pass is told");
	is_int((long long)t->worlds[TEST_PASSED].groups_len, 0, "what passed is not");
}

static void
test_xml(const struct tests *t)
{
	char *text = written(t, test_junit);

	is_int(forbidden(text), 0, "JUnit: nothing that XML forbids");
	ok(strstr(text, "&lt;a &amp; &quot;b&quot;&gt;]]&gt; \\x1b[31m \\xff \\xef\\xbf\\xbe \\x01 ::error::x") != NULL,
	   "the rest is there");
	ok(strstr(text, " tests=\"22\" failures=\"2\" errors=\"6\" time=\"5.000\"") != NULL, "numbers of all");
	is_int(count(text, "<testcase "), 22, "as many cases");
	is_int(count(text, "<failure "), 2, "as many failures: the check that failed, and the flaky run");
	is_int(count(text, "<error "), 6, "timeout, error, aborted, cancelled, and twice invalid");
	is_int(count(text, "<skipped "), 7, "evidence, what is judged over a sweep, and what did not run");
	is_int(count(text, "evidence that did not hold; outcome: refunded-once"), 3, "with the name of the outcome");
	is_int(count(text, "type=\"flaky\""), 1, "flaky has its own word");
	free(text);
}

static void
test_others(const struct tests *t)
{
	char *text = written(t, test_tap);

	is_int(forbidden(text), 0, "TAP: no control characters");
	is_int(count(text, "\nnot ok "), 8, "whatever did not pass is not ok");
	is_int(count(text, "\nok "), 2, "one passed, one is skipped");
	is_int(count(text, " # SKIP "), 1, "which is said");
	is_int(count(text, "\n  ---\n"), 10, "each with its diagnostics");
	is_int(count(text, "\n  ...\n"), 10, "which end");
	ok(strncmp(text, "TAP version 14\n1..10\n", 21) == 0, "version and plan");
	free(text);
	text = written(t, test_ctrf);
	is_int(count(text, "\"status\": \"passed\""), 2, "CTRF: one passed, and a try of the flaky one");
	is_int(count(text, "\"rawStatus\": \"flaky\""), 1, "flaky has its own word");
	ok(strstr(text, "\"passed\": 1,") && strstr(text, "\"failed\": 8,") && strstr(text, "\"skipped\": 1,"),
	   "numbers");
	free(text);
	text = written(t, test_annotations);
	is_int(count(text, "\n"), 8, "annotations: one line each");
	is_int(count(text, "::error file="), 8, "each a command, and none else");
	free(text);
	text = written(t, test_markdown);
	is_int(count(text, "\n| "), 11, "Markdown: a row each, and the head");
	ok(!strstr(text, "<a") && !strstr(text, "`c`"), "nothing of it is markup");
	free(text);
	text = written(t, test_json);
	is_int(count(text, "\"status\": \"passed\""), 4,
	       "JSON: the world, its run and its try, and one of the flaky one");
	free(text);
}

/* Three runs of a sweep, one of which says no. */
static void
test_sweep(void)
{
	struct tests t = { .ms = 5000, .o.sandbox = true, .worlds_len = 1, .runs_len = 3 };
	struct test_world *w = calloc(1, sizeof(*w));
	char *text;
	size_t i;

	*w = (struct test_world){
		.path = strdup("s/world.json"), .name = "s", .swept = true, .seeds = 3, .runs_len = 3
	};
	t.worlds = w;
	t.runs = calloc(3, sizeof(*t.runs));
	for (i = 0; i < 3; i++) {
		t.runs[i] = (struct test_run){ .seed = i, .progress = TEST_DONE, .tries_len = 1 };
		t.runs[i].tries = calloc(1, sizeof(struct test_record));
		t.runs[i].tries[0] = record(TEST_PASSED, 0, 4);
		t.runs[i].tries[0].checks[1].held = TEST_HELD;
		t.runs[i].tries[0].checks[3].here = i == 1 ? SWEEP_NOT_HELD : SWEEP_HELD;
	}
	test_sum(&t);
	ok(t.counts[TEST_PASSED] == 3 && w->status == TEST_FAILED && t.worst == 1, "all runs pass, the sweep does not");
	ok(w->sweep_len == 1 && w->sweep_not_held == 1, "one check over it");
	text = written(&t, test_junit);
	ok(strstr(text, "name=\"s/world.json sweep\"") && strstr(text, " tests=\"16\" failures=\"1\" errors=\"0\""),
	   "a suite of its own");
	free(text);
	text = written(&t, test_tap);
	ok(strstr(text, "1..4\n") && strstr(text, "not ok 4 - s/world.json sweep\n"), "a test point of its own");
	free(text);
	text = written(&t, test_annotations);
	is_int(count(text, "::error file="), 1, "an annotation");
	free(text);
	free(w->sweep);
	w->sweep = NULL;
	w->sweep_len = w->sweep_not_held = 0;
	t.worst = w->exit_code = 0;
	t.runs[1].tries[0].checks[3].here = SWEEP_HELD;
	test_sum(&t);
	ok(w->status == TEST_PASSED && t.worst == 0 && w->sweep_len == 1, "when all say yes it passes");
	free(w->sweep);
	w->sweep = NULL;
	w->sweep_len = w->sweep_not_held = 0;
	t.worst = w->exit_code = 0;
	t.runs[2].status = TEST_NOT_RUN;
	test_sum(&t);
	ok(w->status == TEST_FAILED && t.worst == 1, "one that did not take place is no yes");
	test_wipe(&t);
}

static void
test_nothing(void)
{
	struct tests t = { .o = { .shard = 2, .shards = 3, .sandbox = true }, .others = 5 };
	char *text;

	t.worlds = calloc(1, sizeof(*t.worlds));
	t.runs = calloc(1, sizeof(*t.runs));
	test_sum(&t);
	is_int(t.worst, 0, "a shard without worlds");
	text = written(&t, test_tap);
	is_str(text, "TAP version 14\n1..0 # SKIP no world in this shard\n", "says so");
	free(text);
	text = written(&t, test_junit);
	ok(strstr(text, "<testsuites name=\"agenttwin\" tests=\"0\"") != NULL, "likewise");
	free(text);
	t.runs_len = 1;
	t.worlds_len = 1;
	t.worlds[0] = (struct test_world){ .path = strdup("x"), .runs_len = 1 };
	t.runs[0] = (struct test_run){ .status = TEST_NOT_RUN };
	test_sum(&t);
	is_int(t.worst, 4, "a run that was not run, without a reason, is no success");
	test_wipe(&t);
}

int
main(void)
{
	struct tests t;

	make(&t);
	test_sums(&t);
	test_xml(&t);
	test_others(&t);
	test_wipe(&t);
	test_sweep();
	test_nothing();
	return tap_done();
}
