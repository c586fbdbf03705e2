/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_junit.c - JUnit XML, as Jenkins, GitLab, GitHub's actions and others read it, see test_report.h.  A run is a testsuite;
 * in it the run itself is a testcase, and so is each check.  Checks of evidence never fail by themselves. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/test_report.h"

struct totals {
	size_t tests, failures, errors, skipped;
};

/* ---- text --------------------------------------------------------------------------------------------------------------- */

/* One line, made what XML 1.0 allows: UTF-8 without control characters, which escape_text sees to. */
static void
put_line(FILE *f, const char *s, size_t len)
{
	char shown[4200], *at;

	escape_text(s, len, shown, sizeof(shown));
	for (at = shown; *at; at++) {
		if (*at == '&')
			fputs("&amp;", f);
		else if (*at == '<')
			fputs("&lt;", f);
		else if (*at == '>')
			fputs("&gt;", f);
		else if (*at == '"')
			fputs("&quot;", f);
		else
			fputc(*at, f);
	}
}

static void
put(FILE *f, const char *s)
{
	size_t len;

	for (; *s; s += len) {
		len = strcspn(s, "\n");
		put_line(f, s, len);
		if (s[len] == '\n') {
			fputc('\n', f);
			len++;
		}
	}
}

static void
attribute(FILE *f, const char *name, const char *value)
{
	fprintf(f, " %s=\"", name);
	put_line(f, value, strcspn(value, "\n"));
	fputc('"', f);
}

static void
seconds(FILE *f, uint64_t ms)
{
	fprintf(f, " time=\"%" PRIu64 ".%03u\"", ms / 1000, (unsigned)(ms % 1000));
}

/* ---- cases -------------------------------------------------------------------------------------------------------------- */

static void
open_case(FILE *f, const char *suite, const char *name, uint64_t ms)
{
	fputs("    <testcase", f);
	attribute(f, "classname", suite);
	attribute(f, "name", name);
	seconds(f, ms);
	fputs(">", f);
}

static void
verdict_open(FILE *f, const char *element, const char *type, const char *message)
{
	fprintf(f, "\n      <%s", element);
	attribute(f, "type", type);
	attribute(f, "message", message);
	fputs(">", f);
}

static void
verdict_close(FILE *f, const char *element)
{
	fprintf(f, "</%s>\n    ", element);
}

static void
verdict(FILE *f, const char *element, const char *type, const char *message, const char *text)
{
	verdict_open(f, element, type, message);
	put(f, text);
	verdict_close(f, element);
}

/* A label, and a text that may be NULL. */
static void
put_pair(FILE *f, const char *label, const char *between, const char *text, const char *after)
{
	put(f, label);
	put(f, between);
	put(f, text ? text : "");
	put(f, after);
}

static void
skipped(FILE *f, const char *message)
{
	fputs("\n      <skipped", f);
	attribute(f, "message", message);
	fputs("/>\n    ", f);
}

static void
close_case(FILE *f)
{
	fputs("</testcase>\n", f);
}

/* What a check is worth in a run: a case of its own only where the run has a verdict. */
static void
put_check(FILE *f, const char *suite, const char *outcome, const struct test_check *c)
{
	char message[200];

	open_case(f, suite, c->id, 0);
	if (c->held == TEST_UNJUDGED) {
		skipped(f, "judged over all seeds of the sweep");
	} else if (c->held == TEST_NOT_HELD && c->evidence) {
		snprintf(message, sizeof(message), "evidence that did not hold; outcome: %.100s",
			 outcome ? outcome : "none");
		skipped(f, message);
	} else if (c->held == TEST_NOT_HELD) {
		snprintf(message, sizeof(message), "%.190s", c->actual ? c->actual : "did not hold");
		verdict_open(f, "failure", c->kind, message);
		put_pair(f, c->id, c->because ? ": " : "", c->because, "\n");
		put_pair(f, "expected ", "", c->expected ? c->expected : "?", "\n");
		put_pair(f, "actual   ", "", c->actual ? c->actual : "?", "");
		put_pair(f, "", "", c->rests, "\n");
		verdict_close(f, "failure");
	}
	close_case(f);
}

/* A required check that did not hold is the failure; without one the run itself is. */
static bool
fails_by_check(const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	size_t i;

	for (i = 0; r->status == TEST_FAILED && last && i < last->checks_len; i++)
		if (last->checks[i].held == TEST_NOT_HELD && !last->checks[i].evidence)
			return true;
	return false;
}

static void
put_run_case(FILE *f, const char *suite, const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	char why[600], *text = test_details(r);

	test_run_why(r, why, sizeof(why));
	open_case(f, suite, "run", last ? last->ms : 0);
	if (r->status == TEST_NOT_RUN)
		skipped(f, why);
	else if (r->status == TEST_FLAKY || (r->status == TEST_FAILED && !fails_by_check(r)))
		verdict(f, "failure", test_status_name(r->status), why, text ? text : why);
	else if (r->status != TEST_PASSED && r->status != TEST_FAILED)
		verdict(f, "error", test_status_name(r->status), why, text ? text : why);
	close_case(f);
	free(text);
}

static void
count(const struct test_run *r, struct totals *n)
{
	const struct test_record *last = test_last(r);
	size_t i;

	n->tests++;
	if (r->status == TEST_NOT_RUN)
		n->skipped++;
	else if (r->status == TEST_FLAKY || (r->status == TEST_FAILED && !fails_by_check(r)))
		n->failures++;
	else if (r->status != TEST_PASSED && r->status != TEST_FAILED)
		n->errors++;
	for (i = 0; last && i < last->checks_len; i++) {
		const struct test_check *c = &last->checks[i];

		n->tests++;
		if (c->held == TEST_UNJUDGED || (c->held == TEST_NOT_HELD && c->evidence))
			n->skipped++;
		else if (c->held == TEST_NOT_HELD)
			n->failures++;
	}
}

/* ---- suites ------------------------------------------------------------------------------------------------------------- */

static void
property(FILE *f, const char *name, const char *value)
{
	fputs("      <property", f);
	attribute(f, "name", name);
	attribute(f, "value", value);
	fputs("/>\n", f);
}

/* id counts from 0. */
static void
open_suite(FILE *f, const char *name, const char *package, size_t id, const struct totals *n, uint64_t ms,
	   uint64_t unix_ms)
{
	time_t at = (time_t)(unix_ms / 1000);
	char text[40];
	struct tm tm;

	fputs("  <testsuite", f);
	attribute(f, "name", name);
	attribute(f, "package", package);
	fprintf(f, " id=\"%zu\" hostname=\"localhost\"", id);
	fprintf(f, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", n->tests, n->failures, n->errors,
		n->skipped);
	seconds(f, ms);
	if (gmtime_r(&at, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		attribute(f, "timestamp", text);
	fputs(">\n", f);
}

static void
close_suite(FILE *f, const char *out, const char *err)
{
	fputs("    <system-out>", f);
	put(f, out);
	fputs("</system-out>\n    <system-err>", f);
	put(f, err);
	fputs("</system-err>\n  </testsuite>\n", f);
}

static void
put_run(FILE *f, const struct tests *t, const struct test_run *r, size_t id)
{
	const struct test_record *last = test_last(r);
	struct totals n = { 0 };
	char name[4300], text[40];
	size_t i;

	test_run_name(t, r, name, sizeof(name));
	count(r, &n);
	open_suite(f, name, t->worlds[r->world].path, id, &n, last ? last->ms : 0,
		   last ? last->started_unix_ms : t->started_unix_ms);
	fputs("    <properties>\n", f);
	property(f, "world", t->worlds[r->world].name);
	property(f, "file", t->worlds[r->world].path);
	snprintf(text, sizeof(text), "%" PRIu64, r->seed);
	property(f, "seed", text);
	property(f, "status",
		 r->status == TEST_PASSED && !t->o.sandbox ? "passed, not sandboxed" : test_status_name(r->status));
	if (last && last->run_id)
		property(f, "run", last->run_id);
	if (last && last->receipt)
		property(f, "receipt", last->receipt);
	fputs("    </properties>\n", f);
	put_run_case(f, name, r);
	for (i = 0; last && i < last->checks_len; i++)
		put_check(f, name, last->outcome, &last->checks[i]);
	close_suite(f, last && last->receipt ? last->receipt : "", r->said ? r->said : "");
}

/* What holds over all seeds of a world. */
static void
put_sweep(FILE *f, const struct tests *t, const struct test_world *w, size_t id)
{
	struct totals n = { .tests = w->sweep_len, .failures = w->sweep_not_held };
	char name[4300];
	size_t i;

	snprintf(name, sizeof(name), "%s sweep", w->path);
	open_suite(f, name, w->path, id, &n, 0, t->started_unix_ms);
	fputs("    <properties>\n", f);
	property(f, "world", w->name);
	property(f, "file", w->path);
	fputs("    </properties>\n", f);
	for (i = 0; i < w->sweep_len; i++)
		put_check(f, name, NULL, &w->sweep[i].check);
	close_suite(f, "", "");
}

static void
put_invalid(FILE *f, const struct tests *t, const struct test_world *w, size_t id)
{
	const struct diag *d = w->problem;
	struct totals n = { .tests = 1, .errors = 1 };
	char text[2000];

	open_suite(f, w->path, w->path, id, &n, 0, t->started_unix_ms);
	fputs("    <properties>\n", f);
	property(f, "status", "invalid");
	fputs("    </properties>\n", f);
	open_case(f, w->path, "world", 0);
	snprintf(text, sizeof(text), "%s:%u:%u: %s%s%s\nfix: %s\n", d->file, d->line, d->column, d->pointer,
		 d->pointer[0] ? ": " : "", d->problem, d->fix);
	verdict(f, "error", "invalid", d->problem, text);
	close_case(f);
	close_suite(f, "", "");
}

/* see test_report.h */
int
test_junit(const struct tests *t, FILE *f)
{
	struct totals n = { 0 };
	size_t i, k, id = 0;

	for (i = 0; i < t->runs_len; i++)
		count(&t->runs[i], &n);
	for (i = 0; i < t->worlds_len; i++)
		if (t->worlds[i].problem) {
			n.tests++;
			n.errors++;
		} else {
			n.tests += t->worlds[i].sweep_len;
			n.failures += t->worlds[i].sweep_not_held;
		}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"agenttwin\"", f);
	fprintf(f, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", n.tests, n.failures, n.errors);
	seconds(f, t->ms);
	fputs(">\n", f);
	for (i = 0; i < t->worlds_len; i++) {
		const struct test_world *w = &t->worlds[i];

		if (w->problem)
			put_invalid(f, t, w, id++);
		for (k = w->run; k < w->run + w->runs_len; k++)
			put_run(f, t, &t->runs[k], id++);
		if (w->sweep_len)
			put_sweep(f, t, w, id++);
	}
	fputs("</testsuites>\n", f);
	return ferror(f) ? -EIO : 0;
}
