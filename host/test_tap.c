/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_tap.c - TAP version 14, a test point a run, with diagnostics as YAML, see test_report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/test_report.h"

/* '#' begins a directive, so it is escaped, and so is the escape. */
static void
describe(FILE *f, const char *s)
{
	char shown[8300], *at;

	escape_text(s, strlen(s), shown, sizeof(shown));
	for (at = shown; *at; at++) {
		if (*at == '#' || *at == '\\')
			fputc('\\', f);
		fputc(*at, f);
	}
}

/* A double-quoted scalar of YAML: only \ and " mean anything in it, once there are no control characters. */
static void
value(FILE *f, const char *key, const char *s)
{
	char shown[8300], *at;

	escape_text(s, strlen(s), shown, sizeof(shown));
	fprintf(f, "  %s: \"", key);
	for (at = shown; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', f);
		fputc(*at, f);
	}
	fputs("\"\n", f);
}

/* A literal block: every line is indented, and the first one says how far, so it begins with no space. */
static void
block(FILE *f, const char *key, const char *text)
{
	size_t len;

	fprintf(f, "  %s: |\n", key);
	text += strspn(text, " \n");
	for (; *text; text += len, text += *text == '\n') {
		len = strcspn(text, "\n");
		fprintf(f, "    %.*s\n", (int)len, text);
	}
}

static void
diagnostics(FILE *f, const struct tests *t, const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	char why[600], *text;

	test_run_why(r, why, sizeof(why));
	fputs("  ---\n", f);
	value(f, "status", test_status_name(r->status));
	if (*why)
		value(f, "message", why);
	fprintf(f, "  exit: %d\n  seed: %" PRIu64 "\n", r->exit_code, r->seed);
	if (last)
		fprintf(f, "  duration_ms: %" PRIu64 "\n", last->ms);
	if (r->tries_len > 1)
		fprintf(f, "  tries: %zu\n", r->tries_len);
	value(f, "world", t->worlds[r->world].name);
	if (last && last->run_id)
		value(f, "run", last->run_id);
	if (last && last->receipt)
		value(f, "receipt", last->receipt);
	text = r->status == TEST_PASSED ? NULL : test_details(r);
	if (text)
		block(f, "details", text);
	free(text);
	fputs("  ...\n", f);
}

static void
put_run(FILE *f, const struct tests *t, const struct test_run *r, size_t number)
{
	char name[4300];

	test_run_name(t, r, name, sizeof(name));
	fprintf(f, "%sok %zu - ", r->status == TEST_PASSED || r->status == TEST_NOT_RUN ? "" : "not ", number);
	describe(f, name);
	if (r->status == TEST_PASSED && !t->o.sandbox)
		fputs(", not sandboxed", f);
	if (r->status == TEST_NOT_RUN)
		fputs(" # SKIP not run", f);
	fputc('\n', f);
	diagnostics(f, t, r);
}

static void
put_sweep(FILE *f, const struct test_world *w, size_t number)
{
	char *text = w->sweep_not_held ? test_sweep_details(w) : NULL;

	fprintf(f, "%sok %zu - ", w->sweep_not_held ? "not " : "", number);
	describe(f, w->path);
	fputs(" sweep\n  ---\n", f);
	value(f, "status", w->sweep_not_held ? "failed" : "passed");
	fprintf(f, "  checks: %zu\n  not_held: %zu\n", w->sweep_len, w->sweep_not_held);
	if (text)
		block(f, "details", text);
	free(text);
	fputs("  ...\n", f);
}

static void
put_invalid(FILE *f, const struct test_world *w, size_t number)
{
	const struct diag *d = w->problem;

	fprintf(f, "not ok %zu - ", number);
	describe(f, w->path);
	fputs("\n  ---\n  status: \"invalid\"\n", f);
	value(f, "message", d->problem);
	fputs("  exit: 2\n", f);
	value(f, "file", d->file);
	fprintf(f, "  line: %u\n  column: %u\n", d->line, d->column);
	value(f, "pointer", d->pointer);
	value(f, "fix", d->fix);
	fputs("  ...\n", f);
}

/* see test_report.h */
int
test_tap(const struct tests *t, FILE *f)
{
	size_t i, k, n = 0, points = t->runs_len;

	for (i = 0; i < t->worlds_len; i++)
		points += t->worlds[i].problem || t->worlds[i].sweep_len;
	fputs("TAP version 14\n", f);
	fprintf(f, "1..%zu%s\n", points, points ? "" : " # SKIP no world in this shard");
	for (i = 0; i < t->worlds_len; i++) {
		const struct test_world *w = &t->worlds[i];

		if (w->problem)
			put_invalid(f, w, ++n);
		for (k = w->run; k < w->run + w->runs_len; k++)
			put_run(f, t, &t->runs[k], ++n);
		if (w->sweep_len)
			put_sweep(f, w, ++n);
	}
	/* What was skipped because of it must not look like a choice. */
	if (t->signal)
		fprintf(f, "Bail out! SIG%s\n", sigabbrev_np(t->signal));
	return ferror(f) ? -EIO : 0;
}
