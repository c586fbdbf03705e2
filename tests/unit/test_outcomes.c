// SPDX-License-Identifier: GPL-2.0-or-later
// test_outcomes.c - outcomes in a world, and the table of what they make of a run, over every combination of conditions that are
// met, not met or not judged: none of them is passed that could have been anything else.
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/check.h"
#include "host/diag.h"
#include "host/jq_run.h"
#include "host/outcome.h"
#include "host/series_checks.h"
#include "host/world.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/test-outcomes-XXXXXX";
static char path[256];

static int
load(const char *checks, const char *outcomes, struct world *w, struct diag *d)
{
	char text[8192];
	int fd, n;

	n = snprintf(text, sizeof(text),
		     "{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [],\n"
		     "\"services\": [ { \"name\": \"pay\", \"kind\": \"http\", \"hosts\": [\"pay.internal\"],\n"
		     "\"state\": {\"rows\":[]}, \"routes\": [ {\"resource\":\"rows\",\"path\":\"/rows\"} ] } ],\n"
		     "\"workflow\": { \"command\": [\"node\", \"a.mjs\"] },\n"
		     "\"checks\": [ %s ]%s%s }\n",
		     checks, outcomes ? ", \"outcomes\": " : "", outcomes ? outcomes : "");
	snprintf(path, sizeof(path), "%s/t.world.json", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		abort();
	close(fd);
	return world_load(path, w, d);
}

#define ABC \
	"{\"id\":\"a\",\"kind\":\"exit\",\"code\":0},{\"id\":\"b\",\"kind\":\"exit\",\"code\":1}," \
	"{\"id\":\"c\",\"kind\":\"stdout\",\"contains\":\"x\"},{\"id\":\"r\",\"kind\":\"stdout\",\"contains\":\"y\"}"
#define O(id, verdict, when) "{\"id\":\"" id "\",\"verdict\":\"" verdict "\",\"when\":[" when "]}"

// ---- the world --------------------------------------------------------------------------------------------------------------

static void
refuses(void)
{
	static const struct {
		const char *checks, *outcomes, *pointer, *problem, *fix;
	} bad[] = {
		{ ABC, "[]", "/outcomes", "too short", "at least 1" },
		{ ABC, "{}", "/outcomes", "expected an array", "[ ... ]" },
		{ ABC, "[" O("X", "passed", "\"a\"") "]", "/outcomes/0/id", "small letters", "refunded-once" },
		{ ABC, "[{\"id\":\"x\",\"when\":[\"a\"]}]", "/outcomes/0", "has no \"verdict\"", "add" },
		{ ABC, "[{\"id\":\"x\",\"verdict\":\"passed\"}]", "/outcomes/0", "has no \"when\"", "add" },
		{ ABC, "[" O("x", "pass", "\"a\"") "]", "/outcomes/0/verdict", "\"pass\"", "\"passed\"" },
		{ ABC, "[" O("x", "passed", "") "]", "/outcomes/0/when", "too short", "at least 1" },
		{ ABC, "[" O("x", "passed", "\"a\"") "," O("x", "failed", "\"b\"") "]", "/outcomes/1/id",
		  "has the id \"x\" already", "its own" },
		{ ABC, "[" O("x", "passed", "\"aa\"") "]", "/outcomes/0/when/0", "no check \"aa\"",
		  "did you mean \"a\"?" },
		{ ABC, "[" O("x", "passed", "\"no-unmatched\"") "]", "/outcomes/0/when/0", "required of every run",
		  "take it out" },
		{ ABC, "[" O("x", "passed", "\"a\",\"a\"") "]", "/outcomes/0/when/1", "twice", "take one out" },
		{ ABC, "[" O("x", "passed", "\"jq: .a\",{\"jq\":\".a\"}") "]", "/outcomes/0/when/1", "twice",
		  "take one" },
		{ ABC, "[" O("x", "passed", "7") "]", "/outcomes/0/when/0", "expected a string", "quotes" },
		{ ABC, "[" O("x", "passed", "{\"sql\":\"x\"}") "]", "/outcomes/0/when/0/sql", "unknown key",
		  "keys here: jq" },
		{ ABC, "[" O("x", "passed", "\"jq:  \"") "]", "/outcomes/0/when/0", "is empty", "write a condition" },
		{ ABC, "[" O("x", "passed", "\"a\",\"jq: .a |\"") "]", "/outcomes/0/when/1", "ends in the middle",
		  "jq(1)" },
		{ ABC, "[" O("x", "passed", "\"a\",{\"jq\":\".a ]\"}") "]", "/outcomes/0/when/1/jq",
		  "unexpected ']', at character 4", "jq(1)" },
		{ ABC, "[" O("x", "passed", "\"jq: env.HOME == 1\"") "]", "/outcomes/0/when/0",
		  "\"env\" at character 1 has no place", "sees the receipt" },
		{ ABC, "[" O("x", "failed", "\"a\"") "]", "/outcomes", "no outcome has the verdict \"passed\"",
		  "wanted" },
		{ ABC, "[" O("x", "passed", "\"a\"") "," O("y", "failed", "\"a\",\"b\"") "]", "/outcomes/1/when",
		  "\"y\" can never be told from \"x\"", "add to \"x\"" },
		{ ABC, "[" O("x", "passed", "\"a\",\"jq: .b\"") "," O("y", "failed", "{\"jq\":\".b\"}") "]",
		  "/outcomes/0/when", "\"x\" can never be told from \"y\"", "add to \"y\"" },
		{ ABC, "[" O("x", "passed", "\"a\"") "," O("y", "passed", "\"a\"") "]", "/outcomes/1/when",
		  "never be told", "alone" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"exit\",\"code\":0,\"over\":\"sweep\"}",
		  "[" O("x", "passed", "\"s\"") "]", "/outcomes/0/when/0", "judged over a sweep", "without \"over\"" },
		// vacuous: an outcome that is there before anything ran
		{ "{\"id\":\"a\",\"kind\":\"no-egress\"}", "[" O("x", "passed", "\"a\"") "]", "/checks",
		  "nothing has run", "add a check" },
		{ "{\"id\":\"a\",\"kind\":\"no-egress\"},{\"id\":\"e\",\"kind\":\"exit\",\"code\":0}",
		  "[" O("x", "passed", "\"a\"") "," O("y", "failed", "\"e\"") "]", "/checks", "nothing has run",
		  "add a check" },
		// over and mode
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"code\":0,\"over\":\"sweep\"}", NULL, "/checks", "over a sweep",
		  "without \"over\"" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"exit\",\"code\":0,\"over\":\"seeds\"}", NULL, "/checks/4/over",
		  "\"seeds\"", "sweep" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"exit\",\"code\":0,\"over\":\"sweep\",\"mode\":\"at_end\"}", NULL,
		  "/checks/4/mode", "always, never or sometimes", "sometimes" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"exit\",\"code\":0,\"over\":\"run\",\"mode\":\"never\"}", NULL,
		  "/checks/4/mode", "at the end", "take" },
		// jq
		{ ABC ",{\"id\":\"s\",\"kind\":\"jq\"}", NULL, "/checks/4", "has no \"expr\"", "add" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"jq\",\"expr\":\"\"}", NULL, "/checks/4/expr", "empty", "write" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"jq\",\"expr\":\"now > 1\"}", NULL, "/checks/4/expr", "\"now\"",
		  "times of" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"jq\",\"expr\":\"import \\\"a\\\" as $a; true\"}", NULL,
		  "/checks/4/expr", "\"import\"", "def f" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"jq\",\"expr\":\"true\",\"mode\":\"always\"}", NULL, "/checks/4/mode",
		  "at the end", "take" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"calls\",\"each\":\"true\",\"mode\":\"sometimes\"}", NULL,
		  "/checks/4/mode", "\"each\"", "two checks" },
		{ ABC ",{\"id\":\"s\",\"kind\":\"never\",\"each\":\"true\"}", NULL, "/checks/4/each", "unknown key",
		  "" },
	};
	struct world w;
	struct diag d;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(load(bad[i].checks, bad[i].outcomes, &w, &d), -EPROTO, "is refused");
		is_str(d.pointer, bad[i].pointer, "at its place");
		ok(strstr(d.problem, bad[i].problem) && strstr(d.fix, bad[i].fix), "%s: %s", d.problem, d.fix);
	}
}

static void
accepts(void)
{
	static const struct {
		const char *checks, *outcomes;
	} good[] = {
		{ ABC, "[" O("x", "passed", "\"a\"") "]" },
		{ ABC, "[" O("x", "passed", "\"a\",\"jq: .b == 1\"") "," O("y", "failed",
									   "\"a\",{\"jq\":\".b == 2\"}") "]" },
		{ "{\"id\":\"a\",\"kind\":\"no-egress\"}",
		  "[" O("x", "passed", "\"a\",\"jq: .outcome.exit.code == 0\"") "]" },
		{ "{\"id\":\"q\",\"kind\":\"jq\",\"expr\":\".outcome.exit.code == 0\"}", NULL },
		{ ABC ",{\"id\":\"s\",\"kind\":\"stdout\",\"contains\":\"x\",\"over\":\"sweep\",\"mode\":\"always\"}",
		  NULL },
		{ ABC ",{\"id\":\"s\",\"kind\":\"no-egress\",\"over\":\"sweep\",\"mode\":\"sometimes\"}", NULL },
		{ ABC ",{\"id\":\"s\",\"kind\":\"calls\",\"service\":\"pay\",\"each\":\".reply.status < 300\"}", NULL },
		{ ABC ",{\"id\":\"s\",\"kind\":\"calls\",\"each\":\".reply.status < 300\",\"mode\":\"always\"}", NULL },
	};
	struct world w;
	struct diag d;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ok(load(good[i].checks, good[i].outcomes, &w, &d) == 0, "accepted: %s %s", d.problem, d.pointer);
		world_wipe(&w);
	}
	is_int(load(good[1].checks, good[1].outcomes, &w, &d), 0, "accepted");
	ok(w.checks[0].evidence && !w.checks[1].evidence && !w.checks[3].evidence, "what an outcome names is evidence");
	ok(w.outcomes[0].passed && !w.outcomes[1].passed, "verdicts");
	is_str(w.outcomes[0].when[1].expr, ".b == 1", "without its mark");
	world_wipe(&w);
	is_int(load(good[4].checks, NULL, &w, &d), 0, "accepted");
	ok(w.checks[4].sweep && w.checks[4].sweep_mode == MODE_ALWAYS && w.checks[4].mode == MODE_AT_END,
	   "a mode over a sweep is not one within a run");
	world_wipe(&w);
}

// ---- the table --------------------------------------------------------------------------------------------------------------

enum { A, B, C, JQ, ITEMS }; // what the outcomes below rest on
static const struct {
	bool passed;
	unsigned needs; // bits of items
} oracle[] = {
	{ true, 1 << A | 1 << JQ }, { true, 1 << B | 1 << C }, { false, 1 << A | 1 << C }, { false, 1 << B | 1 << JQ }
};
#define OUTCOMES 4
static const char declared[] = "[" O("p", "passed", "\"a\",\"jq: .q\"") "," O("q", "passed", "\"b\",\"c\"") "," O(
	"f", "failed", "\"a\",\"c\"") "," O("g", "failed", "\"b\",{\"jq\":\".q\"}") "]";

// The table once more, written down differently, of conditions that are all known: the exit code.
static int
expected(unsigned met, bool required)
{
	size_t i, n = 0;
	bool passed = false;

	for (i = 0; i < OUTCOMES; i++)
		if ((oracle[i].needs & ~met) == 0) {
			n++;
			passed = oracle[i].passed;
		}
	return n == 1 && passed && required ? 0 : 1;
}

static void
judge(const struct world *w, const enum outcome_state *item, bool required, const struct run_facts *f,
      struct run_verdict *v, char *matched, char *nearest)
{
	struct check_result results[5] = {
		{ .id = "a", .role = "evidence" },
		{ .id = "b", .role = "evidence" },
		{ .id = "c", .role = "evidence" },
		{ .id = "r", .role = "required" },
		{ .id = "no-unmatched", .role = "required", .held = true },
	};
	struct check list[4] = {
		{ .def = &w->checks[0] }, { .def = &w->checks[1] }, { .def = &w->checks[2] }, { .def = &w->checks[3] }
	};
	struct checks c = { .w = w, .len = 4, .list = list, .results_len = 5, .results = results };
	struct jq_task tasks[2] = { { .expr = ".q" }, { .expr = ".q" } };
	struct run_outcome summary;
	struct outcomes o;
	size_t i;

	for (i = A; i <= C; i++) {
		results[i].held = item[i] == OUTCOME_MET;
		results[i].unknown = item[i] == OUTCOME_UNKNOWN;
	}
	results[3].held = required;
	for (i = 0; i < 2; i++)
		tasks[i].verdict = (enum jq_verdict)item[JQ] == (enum jq_verdict)OUTCOME_MET ? JQ_TRUE
				   : item[JQ] == OUTCOME_UNMET                               ? JQ_FALSE
											     : JQ_TROUBLE;
	if (outcomes_judge(&o, &c, tasks) < 0)
		abort();
	if (!run_is_judged(f))
		outcomes_forget(&o);
	outcomes_summary(&o, &summary);
	run_verdict(f, checks_required(&c), checks_not_held(&c), &summary, v);
	snprintf(matched, 8, "%s", o.match ? o.match->def->id : "");
	snprintf(nearest, 8, "%s", o.nearest ? o.nearest->def->id : "");
	outcomes_wipe(&o);
}

static const struct run_facts whole = {
	.sandbox = true, .opening = true, .closing = true, .started = true, .exited = true, .ended = true, .whole = true
};

// Every condition met, not met, unknown, with the required check or without: what is known follows the table; what is not is
// passed only if it would be whatever the unknown ones are.
static void
table(void)
{
	static const enum outcome_state states[] = { OUTCOME_UNMET, OUTCOME_UNKNOWN, OUTCOME_MET };
	unsigned combination, known = 0, unknown = 0, wrong = 0, reckless = 0, passed = 0, names = 0, fill, met, maybe;
	enum outcome_state item[ITEMS];
	char matched[8], nearest[8];
	struct run_verdict v;
	struct world w;
	struct diag d;
	bool always;
	size_t i;
	int want;

	if (load(ABC, declared, &w, &d) < 0)
		abort();
	for (combination = 0; combination < 81 * 2; combination++) {
		bool required = combination >= 81;

		for (met = maybe = 0, want = (int)(combination % 81), i = 0; i < ITEMS; i++, want /= 3) {
			item[i] = states[want % 3];
			met |= (unsigned)(item[i] == OUTCOME_MET) << i;
			maybe |= (unsigned)(item[i] == OUTCOME_UNKNOWN) << i;
		}
		judge(&w, item, required, &whole, &v, matched, nearest);
		passed += v.exit_code == 0;
		names += v.exit_code == 0 && matched[0] != 'p' && matched[0] != 'q';
		names += matched[0] && nearest[0];
		if (!maybe) {
			known++;
			wrong += v.exit_code != expected(met, required);
			continue;
		}
		unknown++;
		for (always = true, fill = 0; fill < 1u << ITEMS; fill++)
			if ((fill & ~maybe) == 0)
				always = always && expected(met | fill, required) == 0;
		reckless += v.exit_code == 0 && !always;
	}
	is_int(known, 32, "combinations without an unknown condition");
	is_int(wrong, 0, "follow the table");
	is_int(unknown, 130, "combinations with one");
	is_int(reckless, 0, "are never passed when they might not be");
	ok(passed > 0 && names == 0, "a pass names its outcome: %u", passed);
	world_wipe(&w);
}

// Nothing turns what is not judged into a pass, or into an outcome.
static void
unjudged(void)
{
	static const enum outcome_state best[ITEMS] = { OUTCOME_MET, OUTCOME_UNMET, OUTCOME_UNMET, OUTCOME_MET };
	char matched[8], nearest[8];
	struct run_verdict v;
	struct run_facts f;
	struct world w;
	struct diag d;
	unsigned bits, wrong = 0;

	if (load(ABC, declared, &w, &d) < 0)
		abort();
	judge(&w, best, true, &whole, &v, matched, nearest);
	is_str(v.why, "outcome p: all 2 required checks held", "the best there is");
	is_str(matched, "p", "matches");
	judge(&w, best, false, &whole, &v, matched, nearest);
	is_str(v.why, "outcome p, but 1 of 2 required checks did not hold", "a required check decides");
	is_str(matched, "p", "it matches all the same");
	for (bits = 1; bits < 1u << 10; bits++) {
		f = whole;
		f.cause[CAUSE_FIREWALL] = bits & 1;
		f.cause[CAUSE_SIGNAL] = bits & 2;
		f.cause[CAUSE_TIMEOUT] = bits & 4;
		f.cause[CAUSE_ERROR] = bits & 8;
		f.opening = !(bits & 16);
		f.closing = !(bits & 32);
		f.started = !(bits & 64);
		f.exited = !(bits & 128);
		f.ended = !(bits & 256);
		f.whole = !(bits & 512);
		judge(&w, best, true, &f, &v, matched, nearest);
		wrong += v.exit_code < 2 || v.status == STATUS_PASSED || v.status == STATUS_FAILED || *matched ||
			 *nearest;
	}
	is_int(wrong, 0, "no fact that is missing is made up for by an outcome");
	world_wipe(&w);
}

static void
sentences(void)
{
	static const struct {
		enum outcome_state item[ITEMS];
		const char *why, *matched, *nearest;
	} all[] = {
		{ { OUTCOME_MET, OUTCOME_UNMET, OUTCOME_MET, OUTCOME_UNMET },
		  "outcome f, whose verdict is failed",
		  "f",
		  "" },
		{ { OUTCOME_MET, OUTCOME_UNMET, OUTCOME_UNMET, OUTCOME_UNMET },
		  "no outcome matched; the nearest is p, with 1 of 2 conditions unmet: jq: .q",
		  "",
		  "p" },
		{ { OUTCOME_UNMET, OUTCOME_UNMET, OUTCOME_UNMET, OUTCOME_UNMET },
		  "no outcome matched; the nearest is p, with 2 of 2 conditions unmet: a, jq: .q",
		  "",
		  "p" },
		{ { OUTCOME_UNMET, OUTCOME_UNMET, OUTCOME_MET, OUTCOME_UNMET },
		  "no outcome matched; the nearest is q, with 1 of 2 conditions unmet: b",
		  "",
		  "q" },
		{ { OUTCOME_MET, OUTCOME_MET, OUTCOME_MET, OUTCOME_UNMET },
		  "2 outcomes matched, where one must: q, f",
		  "",
		  "" },
		{ { OUTCOME_MET, OUTCOME_MET, OUTCOME_MET, OUTCOME_MET },
		  "4 outcomes matched, where one must: p, q, f, g",
		  "",
		  "" },
		{ { OUTCOME_MET, OUTCOME_UNMET, OUTCOME_UNKNOWN, OUTCOME_MET },
		  "the outcome cannot be told: f hangs on c: not judged",
		  "",
		  "" },
	};
	char matched[8], nearest[8];
	struct run_verdict v;
	struct world w;
	struct diag d;
	size_t i;

	if (load(ABC, declared, &w, &d) < 0)
		abort();
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		judge(&w, all[i].item, true, &whole, &v, matched, nearest);
		is_int(v.exit_code, 1, "failed");
		is_str(v.why, all[i].why, "says why");
		is_str(matched, all[i].matched, "what matched");
		is_str(nearest, all[i].nearest, "what is nearest");
	}
	world_wipe(&w);
}

// ---- over a sweep -----------------------------------------------------------------------------------------------------------

// What the runs say of themselves; how they are judged together is in test_sweep.c.
static void
sweeps(void)
{
	struct world_check defs[2] = { { .id = "r" },
				       { .id = "s", .kind = CHECK_EXIT, .sweep = true, .sweep_mode = MODE_ALWAYS } };
	struct world w = { .checks = defs, .checks_len = 2 };
	struct check_result r[2] = { { .id = "s", .role = "sweep" },
				     { .id = "gone", .role = "sweep", .held_here = true } };
	struct checks c = { .results_len = 2, .results = r };
	char expected[] = "exit code 0";
	static const enum sweep_said said[] = { SWEEP_NOT_HELD, SWEEP_HELD, SWEEP_UNKNOWN, SWEEP_UNKNOWN,
						SWEEP_UNKNOWN };
	struct series_checks s;
	uint32_t i;

	r[0].expected = expected;
	r[0].held = true; // means nothing here
	is_int(series_checks_init(&s, &w, 5), 0, "begins");
	is_int((long long)s.len, 1, "with those over the sweep");
	for (i = 0; i < 5; i++) {
		r[0].held_here = i > 0;
		r[0].unknown = i == 3;
		r[0].id = i == 4 ? "other" : "s"; // the world was changed
		is_int(series_checks_take(&s, 7 + i, &c, i != 2), 0, "taken");
		ok(s.list[0].votes[i].said == said[i] && s.list[0].votes[i].seed == 7 + i, "run %u", i);
	}
	is_int(series_checks_take(&s, 12, &c, true), 0, "one too many is not taken");
	is_int((long long)series_checks_not_held(&s), 1, "not held");
	is_str(s.list[0].expected, "exit code 0", "what was expected");
	series_checks_wipe(&s);
	defs[1].sweep_mode = MODE_NEVER;
	r[0].id = "s";
	r[0].held_here = r[0].unknown = false;
	is_int(series_checks_init(&s, &w, 2), 0, "begins");
	is_int(series_checks_take(&s, 7, &c, true), 0, "taken");
	is_int((long long)series_checks_not_held(&s), 1, "one of two runs did not take place");
	is_int(series_checks_take(&s, 8, &c, true), 0, "taken");
	is_int((long long)series_checks_not_held(&s), 0, "both said so");
	series_checks_wipe(&s);
}

int
main(void)
{
	sweeps();
	if (!mkdtemp(folder))
		abort();
	refuses();
	accepts();
	table();
	unjudged();
	sentences();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
