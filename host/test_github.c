/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_github.c - for GitHub's runner, see test_report.h: annotations at the lines of worlds, and the table of a step. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/test_live.h"
#include "host/test_report.h"

#define ROWS_MAX 100u       /* of the table; the summary of a step holds 1 MiB */
#define ANNOTATIONS_MAX 50u /* it shows ten of a step */

/* ---- annotations -------------------------------------------------------------------------------------------------------- */

/* The escapes of a command's text, and of a property, which ends at ',' or ':' too. */
static void
put(FILE *f, const char *s, bool property)
{
	for (; *s; s++) {
		if (*s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ',')))
			fprintf(f, "%%%02X", (unsigned char)*s);
		else
			fputc(*s, f);
	}
}

/* From the repository's folder, which is what annotations are made for; else as it is. */
static void
put_path(FILE *f, const char *path)
{
	const char *workspace = getenv("GITHUB_WORKSPACE");
	char *real = realpath(path, NULL), *root = workspace ? realpath(workspace, NULL) : NULL;
	size_t n = root ? strlen(root) : 0;

	if (real && n > 1 && strncmp(real, root, n) == 0 && real[n] == '/')
		path = real + n + 1;
	put(f, path, true);
	free(real);
	free(root);
}

static void
annotate(FILE *f, const char *path, uint32_t line, uint32_t column, const char *title, const char *text)
{
	char shown[900];

	fputs("::error file=", f);
	put_path(f, path);
	if (line)
		fprintf(f, ",line=%u", line);
	if (line && column)
		fprintf(f, ",col=%u", column);
	escape_text(title, strlen(title), shown, sizeof(shown));
	fputs(",title=", f);
	put(f, shown, true);
	fputs("::", f);
	put(f, text, false);
	fputc('\n', f);
}

static void
annotate_world(FILE *f, const struct test_world *w)
{
	const struct diag *d = w->problem;
	char text[1800];

	snprintf(text, sizeof(text), "%.255s%s%.511s\nfix: %.511s", d->pointer, d->pointer[0] ? ": " : "", d->problem,
		 d->fix);
	annotate(f, w->path, d->line, d->column, "invalid world", text);
}

/* Runs that did not pass in the same way have one annotation. */
static void
annotate_group(FILE *f, const struct tests *t, const struct test_world *w, size_t group)
{
	const struct test_run *r = &t->runs[w->groups[group]];
	const struct test_record *last = r->status == TEST_FLAKY ? &r->tries[0] : test_last(r);
	char which[400], title[800], *text = test_details(r);
	uint32_t line = 0, column = 0;
	size_t i;

	for (i = 0; last && line == 0 && i < last->checks_len; i++)
		if (last->checks[i].held == TEST_NOT_HELD && !last->checks[i].evidence)
			line = last->checks[i].line;
	if (last && last->status == TEST_INVALID) {
		line = last->problem.line;
		column = last->problem.column;
	}
	test_group_name(t, w, group, which, sizeof(which));
	snprintf(title, sizeof(title), "%s %.300s%s", test_status_name(r->status), w->path, which);
	annotate(f, w->path, line, column, title, text ? text : "");
	free(text);
}

static void
annotate_sweep(FILE *f, const struct test_world *w)
{
	char title[800], *text = test_sweep_details(w);
	uint32_t line = 0;
	size_t i;

	for (i = 0; line == 0 && i < w->sweep_len; i++)
		if (!w->sweep[i].verdict.held)
			line = w->sweep[i].check.line;
	snprintf(title, sizeof(title), "failed %.300s over the sweep", w->path);
	annotate(f, w->path, line, 0, title, text ? text : "");
	free(text);
}

/* see test_report.h */
int
test_annotations(const struct tests *t, FILE *f)
{
	size_t i, k, n = 0;

	for (i = 0; i < t->worlds_len && n < ANNOTATIONS_MAX; i++) {
		const struct test_world *w = &t->worlds[i];

		if (w->problem) {
			annotate_world(f, w);
			n++;
		}
		for (k = 0; k < w->groups_len && n < ANNOTATIONS_MAX; k++, n++)
			annotate_group(f, t, w, k);
		if (w->sweep_not_held && n++ < ANNOTATIONS_MAX)
			annotate_sweep(f, w);
	}
	return fflush(f) == 0 && !ferror(f) ? 0 : -EIO;
}

/* ---- the summary of a step ---------------------------------------------------------------------------------------------- */

/* Foreign text in a cell: nothing of it is Markdown or HTML. */
static void
cell(FILE *f, const char *s)
{
	char shown[2100], *at;

	escape_text(s, strlen(s), shown, sizeof(shown));
	for (at = shown; *at; at++) {
		if (*at == '<')
			fputs("&lt;", f);
		else if (*at == '&')
			fputs("&amp;", f);
		else if (strchr("\\`*_{}[]()#+!|>~@:", *at))
			fprintf(f, "&#%d;", *at);
		else
			fputc(*at, f);
	}
}

static void
row(FILE *f, const char *status, const char *name, const char *time, const char *why)
{
	fputs("| ", f);
	cell(f, status);
	fputs(" | ", f);
	cell(f, name);
	fprintf(f, " | %s | ", time);
	cell(f, why);
	fputs(" |\n", f);
}

static void
row_of_run(FILE *f, const struct tests *t, const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	char name[4300], why[600], time[32] = "";

	test_run_name(t, r, name, sizeof(name));
	test_run_why(r, why, sizeof(why));
	if (last)
		test_time(last->ms, time);
	row(f, r->status == TEST_PASSED && !t->o.sandbox ? "passed, not sandboxed" : test_status_name(r->status), name,
	    time, why);
}

/* see test_report.h */
int
test_markdown(const struct tests *t, FILE *f)
{
	size_t i, k, n = 0;
	int pass;

	fputs("### AgentTwin\n\n", f);
	for (i = 0; i < TEST_STATUS_COUNT; i++)
		if (t->worlds_count[i])
			fprintf(f, "%s**%zu %s**", n++ ? ", " : "", t->worlds_count[i],
				test_status_name((enum test_status)i));
	fprintf(f, "%s of %zu worlds in %zu runs, %" PRIu64 ".%02u s\n\n", n ? "" : "nothing ran", t->worlds_len,
		t->runs_len, t->ms / 1000, (unsigned)(t->ms % 1000 / 10));
	fputs("| | world | time | |\n|---|---|---|---|\n", f);
	/* What did not pass comes first: there may be more than fits. */
	n = 0;
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < t->worlds_len; i++) {
			const struct test_world *w = &t->worlds[i];

			if (w->problem && pass == 0 && n++ < ROWS_MAX)
				row(f, "invalid", w->path, "", w->problem->problem);
			if (w->sweep_not_held && pass == 0 && n++ < ROWS_MAX)
				row(f, "failed", w->path, "", "over the sweep");
			for (k = w->run; k < w->run + w->runs_len; k++)
				if ((t->runs[k].status == TEST_PASSED) == (pass == 1) && n++ < ROWS_MAX)
					row_of_run(f, t, &t->runs[k]);
		}
	if (n > ROWS_MAX)
		fprintf(f, "\nand %zu more\n", n - ROWS_MAX);
	fputc('\n', f);
	return fflush(f) == 0 && !ferror(f) ? 0 : -EIO;
}
