/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_json.c - tests/1, what `test --json` prints; and CTRF, which tools for test results read; see test_report.h. */
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/emit.h"
#include "host/test_report.h"
#include "host/uuid.h"

/* ---- tests/1 ------------------------------------------------------------------------------------------------------------ */

static void
put_checks(struct emit *e, const struct test_record *r)
{
	size_t i;

	emit_open(e, "checks", '[');
	for (i = 0; i < r->checks_len; i++) {
		const struct test_check *c = &r->checks[i];

		emit_open(e, NULL, '{');
		emit_text(e, "id", c->id);
		emit_text(e, "kind", c->kind);
		emit_text(e, "role", c->swept ? "sweep" : c->evidence ? "evidence" : "required");
		if (c->held == TEST_UNJUDGED)
			emit_null(e, "held");
		else
			emit_bool(e, "held", c->held == TEST_HELD);
		if (c->swept && c->here == SWEEP_UNKNOWN)
			emit_null(e, "held_here");
		else if (c->swept)
			emit_bool(e, "held_here", c->here == SWEEP_HELD);
		if (c->held == TEST_NOT_HELD) {
			emit_text(e, "because", c->because);
			emit_text(e, "expected", c->expected);
			emit_text(e, "actual", c->actual);
		}
		emit_close(e);
	}
	emit_close(e);
}

static void
put_try(struct emit *e, const struct test_record *r)
{
	emit_open(e, NULL, '{');
	emit_text(e, "id", r->run_id);
	emit_text(e, "status", test_status_name(r->status));
	emit_i64(e, "exit_code", r->exit_code);
	emit_text(e, "why", r->why);
	if (r->started_unix_ms)
		emit_time(e, "started", r->started_unix_ms);
	else
		emit_null(e, "started");
	emit_u64(e, "duration_ms", r->ms);
	emit_text(e, "fingerprint", r->fingerprint);
	if (r->compared)
		emit_bool(e, "reproduced", r->like);
	else
		emit_null(e, "reproduced");
	emit_text(e, "difference", r->difference);
	emit_text(e, "outcome", r->outcome);
	emit_text(e, "receipt", r->receipt);
	put_checks(e, r);
	emit_close(e);
}

static void
put_run(struct emit *e, const struct test_run *r)
{
	char why[600];
	size_t i;

	test_run_why(r, why, sizeof(why));
	emit_open(e, NULL, '{');
	emit_u64(e, "seed", r->seed);
	emit_u64(e, "repeat", r->repeat + 1);
	emit_text(e, "status", test_status_name(r->status));
	emit_i64(e, "exit_code", r->exit_code);
	emit_text(e, "why", *why ? why : NULL);
	emit_open(e, "tries", '[');
	for (i = 0; i < r->tries_len; i++)
		put_try(e, &r->tries[i]);
	emit_close(e);
	emit_text(e, "said", r->said);
	emit_close(e);
}

static void
put_seeds(struct emit *e, const struct tests *t, const struct test_world *w)
{
	static const enum test_status order[] = { TEST_PASSED,  TEST_FAILED,    TEST_FLAKY,   TEST_TIMEOUT, TEST_ERROR,
						  TEST_ABORTED, TEST_CANCELLED, TEST_INVALID, TEST_NOT_RUN };
	uint64_t *seeds = calloc(w->runs_len + 1, sizeof(*seeds));
	char text[2000];
	size_t i, k, n;

	emit_open(e, "seeds", '{');
	for (k = 0; seeds && k < sizeof(order) / sizeof(order[0]); k++) {
		for (i = w->run, n = 0; i < w->run + w->runs_len; i++)
			if (t->runs[i].status == order[k] && (n == 0 || seeds[n - 1] != t->runs[i].seed))
				seeds[n++] = t->runs[i].seed;
		if (n == 0)
			continue;
		seeds_list(seeds, n, text, sizeof(text));
		emit_text(e, test_status_name(order[k]), text);
	}
	emit_close(e);
	free(seeds);
}

static void
put_sweep(struct emit *e, const struct test_world *w)
{
	static const char *const modes[] = { [MODE_AT_END] = "always",
					     [MODE_ALWAYS] = "always",
					     [MODE_NEVER] = "never",
					     [MODE_SOMETIMES] = "sometimes" };
	size_t i;

	emit_open(e, "sweep", '[');
	for (i = 0; i < w->sweep_len; i++) {
		const struct test_sweep *s = &w->sweep[i];

		emit_open(e, NULL, '{');
		emit_text(e, "id", s->check.id);
		emit_text(e, "kind", s->check.kind);
		emit_text(e, "mode", modes[s->check.mode]);
		emit_bool(e, "held", s->verdict.held);
		emit_bool(e, "unknown", s->verdict.unknown);
		emit_text(e, "because", s->check.because);
		emit_text(e, "expected", s->check.expected);
		emit_text(e, "actual", s->verdict.actual);
		emit_close(e);
	}
	emit_close(e);
}

static void
put_problem(struct emit *e, const struct tests *t, const struct test_world *w)
{
	const struct test_record *last = w->runs_len ? test_last(&t->runs[w->run]) : NULL;
	const struct diag *d = w->problem;
	struct test_problem p = { 0 };

	if (d)
		p = (struct test_problem){ d->file, d->pointer, d->problem, d->fix, d->line, d->column };
	else if (last && last->status == TEST_INVALID)
		p = last->problem;
	if (!p.problem) {
		emit_null(e, "problem");
		return;
	}
	emit_open(e, "problem", '{');
	emit_text(e, "file", p.file);
	emit_text(e, "pointer", p.pointer);
	emit_u64(e, "line", p.line);
	emit_u64(e, "column", p.column);
	emit_text(e, "problem", p.problem);
	emit_text(e, "fix", p.fix);
	emit_close(e);
}

static void
put_counts(struct emit *e, const char *key, const size_t counts[static TEST_STATUS_COUNT])
{
	char name[16], *at;
	size_t i;

	emit_open(e, key, '{');
	for (i = 0; i < TEST_STATUS_COUNT; i++) {
		snprintf(name, sizeof(name), "%s", test_status_name((enum test_status)i));
		if ((at = strchr(name, ' ')))
			*at = '_';
		emit_u64(e, name, counts[i]);
	}
	emit_close(e);
}

/* see test_report.h */
int
test_json(const struct tests *t, FILE *f)
{
	struct emit e;
	size_t i, k;
	int r = emit_init(&e, f, NULL);

	if (r < 0)
		return r;
	emit_open(&e, NULL, '{');
	emit_text(&e, "agenttwin", "tests/1");
	emit_i64(&e, "exit_code", t->worst);
	emit_time(&e, "started", t->started_unix_ms);
	emit_u64(&e, "duration_ms", t->ms);
	emit_bool(&e, "sandbox", t->o.sandbox);
	emit_u64(&e, "jobs", t->jobs);
	if (t->o.shards) {
		emit_open(&e, "shard", '{');
		emit_u64(&e, "number", t->o.shard);
		emit_u64(&e, "of", t->o.shards);
		emit_u64(&e, "worlds_in_others", t->others);
		emit_close(&e);
	} else {
		emit_null(&e, "shard");
	}
	put_counts(&e, "worlds_counted", t->worlds_count);
	put_counts(&e, "runs_counted", t->counts);
	emit_open(&e, "worlds", '[');
	for (i = 0; i < t->worlds_len; i++) {
		const struct test_world *w = &t->worlds[i];

		emit_open(&e, NULL, '{');
		emit_text(&e, "path", w->path);
		emit_text(&e, "name", w->name[0] ? w->name : NULL);
		emit_text(&e, "status", test_status_name(w->status));
		emit_i64(&e, "exit_code", w->exit_code);
		put_problem(&e, t, w);
		put_seeds(&e, t, w);
		put_sweep(&e, w);
		emit_open(&e, "runs", '[');
		for (k = w->run; k < w->run + w->runs_len; k++)
			put_run(&e, &t->runs[k]);
		emit_close(&e);
		emit_close(&e);
	}
	emit_close(&e);
	emit_close(&e);
	return emit_finish(&e);
}

/* ---- CTRF --------------------------------------------------------------------------------------------------------------- */

/* A flaky pass is no pass there either: its own word stands in rawStatus. */
static const char *
ctrf_status(enum test_status s)
{
	switch (s) {
	case TEST_PASSED:
		return "passed";
	case TEST_NOT_RUN:
		return "skipped";
	case TEST_FLAKY:
	case TEST_FAILED:
	case TEST_TIMEOUT:
	case TEST_ERROR:
	case TEST_ABORTED:
	case TEST_CANCELLED:
	case TEST_INVALID:
	case TEST_STATUS_COUNT:
		break;
	}
	return "failed";
}

static void
ctrf_times(struct emit *e, const struct test_record *r)
{
	emit_u64(e, "duration", r ? r->ms : 0);
	if (r && r->started_unix_ms) {
		emit_u64(e, "start", r->started_unix_ms);
		emit_u64(e, "stop", r->started_unix_ms + r->ms);
	}
}

static void
ctrf_tries(struct emit *e, const struct test_run *r)
{
	size_t i;

	emit_u64(e, "retries", r->tries_len - 1);
	emit_open(e, "retryAttempts", '[');
	for (i = 0; i < r->tries_len; i++) {
		emit_open(e, NULL, '{');
		emit_u64(e, "attempt", i + 1);
		emit_text(e, "status", ctrf_status(r->tries[i].status));
		ctrf_times(e, &r->tries[i]);
		if (r->tries[i].why)
			emit_text(e, "message", r->tries[i].why);
		emit_close(e);
	}
	emit_close(e);
}

static void
ctrf_suite(struct emit *e, const struct test_world *w)
{
	emit_open(e, "suite", '[');
	emit_text(e, NULL, w->path);
	emit_close(e);
	emit_text(e, "filePath", w->path);
}

static void
ctrf_run(struct emit *e, const struct tests *t, const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	char name[4300], why[600], *text = r->status == TEST_PASSED ? NULL : test_details(r);
	size_t i;

	test_run_name(t, r, name, sizeof(name));
	test_run_why(r, why, sizeof(why));
	emit_open(e, NULL, '{');
	emit_text(e, "name", name);
	emit_text(e, "status", ctrf_status(r->status));
	ctrf_times(e, last);
	ctrf_suite(e, &t->worlds[r->world]);
	emit_text(e, "rawStatus",
		  r->status == TEST_PASSED && !t->o.sandbox ? "passed, not sandboxed" : test_status_name(r->status));
	emit_text(e, "type", "e2e");
	if (*why)
		emit_text(e, "message", why);
	if (text)
		emit_text(e, "trace", text);
	free(text);
	for (i = 0; last && i < last->checks_len; i++)
		if (last->checks[i].held == TEST_NOT_HELD && !last->checks[i].evidence && last->checks[i].line) {
			emit_u64(e, "line", last->checks[i].line);
			break;
		}
	if (r->tries_len > 1)
		ctrf_tries(e, r);
	emit_bool(e, "flaky", r->status == TEST_FLAKY);
	emit_open(e, "parameters", '{');
	emit_u64(e, "seed", r->seed);
	emit_close(e);
	emit_open(e, "extra", '{');
	emit_text(e, "run", last ? last->run_id : NULL);
	emit_text(e, "receipt", last ? last->receipt : NULL);
	emit_close(e);
	emit_close(e);
}

static void
ctrf_sweep(struct emit *e, const struct test_world *w)
{
	char name[4300], *text = w->sweep_not_held ? test_sweep_details(w) : NULL;

	snprintf(name, sizeof(name), "%s sweep", w->path);
	emit_open(e, NULL, '{');
	emit_text(e, "name", name);
	emit_text(e, "status", w->sweep_not_held ? "failed" : "passed");
	emit_u64(e, "duration", 0);
	ctrf_suite(e, w);
	if (text) {
		emit_text(e, "message", "checks over the sweep did not hold");
		emit_text(e, "trace", text);
	}
	free(text);
	emit_close(e);
}

static void
ctrf_invalid(struct emit *e, const struct test_world *w)
{
	const struct diag *d = w->problem;

	emit_open(e, NULL, '{');
	emit_text(e, "name", w->path);
	emit_text(e, "status", "failed");
	emit_u64(e, "duration", 0);
	ctrf_suite(e, w);
	emit_text(e, "rawStatus", "invalid");
	emit_text(e, "message", d->problem);
	emit_text(e, "trace", d->fix);
	if (d->line)
		emit_u64(e, "line", d->line);
	emit_close(e);
}

static void
ctrf_summary(struct emit *e, const struct tests *t)
{
	size_t passed = t->counts[TEST_PASSED], skipped = t->counts[TEST_NOT_RUN], all = t->runs_len, i;

	for (i = 0; i < t->worlds_len; i++) {
		all += t->worlds[i].problem || t->worlds[i].sweep_len;
		passed += t->worlds[i].sweep_len && !t->worlds[i].sweep_not_held;
	}
	emit_open(e, "summary", '{');
	emit_u64(e, "tests", all);
	emit_u64(e, "passed", passed);
	emit_u64(e, "failed", all - passed - skipped);
	emit_u64(e, "skipped", skipped);
	emit_u64(e, "pending", 0);
	emit_u64(e, "other", 0);
	emit_u64(e, "flaky", t->counts[TEST_FLAKY]);
	emit_u64(e, "suites", t->worlds_len);
	emit_u64(e, "start", t->started_unix_ms);
	emit_u64(e, "stop", t->started_unix_ms + t->ms);
	emit_close(e);
}

/* see test_report.h */
int
test_ctrf(const struct tests *t, FILE *f)
{
	char id[UUID_TEXT_LEN + 1];
	struct emit e;
	size_t i, k;
	int r = emit_init(&e, f, NULL);

	if (r < 0)
		return r;
	emit_open(&e, NULL, '{');
	emit_text(&e, "reportFormat", "CTRF");
	emit_text(&e, "specVersion", "0.0.0");
	if (uuid_make(t->started_unix_ms, id) == 0)
		emit_text(&e, "reportId", id);
	emit_time(&e, "timestamp", t->started_unix_ms + t->ms);
	emit_text(&e, "generatedBy", "agenttwin-host " AGENTTWIN_VERSION);
	emit_open(&e, "results", '{');
	emit_open(&e, "tool", '{');
	emit_text(&e, "name", "agenttwin");
	emit_text(&e, "version", AGENTTWIN_VERSION);
	emit_close(&e);
	ctrf_summary(&e, t);
	emit_open(&e, "tests", '[');
	for (i = 0; i < t->worlds_len; i++) {
		const struct test_world *w = &t->worlds[i];

		if (w->problem)
			ctrf_invalid(&e, w);
		for (k = w->run; k < w->run + w->runs_len; k++)
			ctrf_run(&e, t, &t->runs[k]);
		if (w->sweep_len)
			ctrf_sweep(&e, w);
	}
	emit_close(&e);
	emit_close(&e);
	emit_close(&e);
	return emit_finish(&e);
}
