/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_details.c - one run explained in a text of several lines, for reports, see test_report.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/test_report.h"

#define SAID_LINES 12u

/* Foreign text on a line of its own. */
static void
line(FILE *f, const char *label, const char *text, const char *more)
{
	char shown[8300];

	escape_text(text ? text : "?", strlen(text ? text : "?"), shown, sizeof(shown));
	fprintf(f, "%s%s", label, shown);
	escape_text(more ? more : "", strlen(more ? more : ""), shown, sizeof(shown));
	fprintf(f, "%s\n", shown);
}

static void
check(FILE *f, const struct test_check *c)
{
	fputs(c->id, f);
	if (c->because)
		line(f, ": ", c->because, NULL);
	else
		fputc('\n', f);
	line(f, "  expected ", c->expected, NULL);
	line(f, "  actual   ", c->actual, c->rests);
}

/* The last lines of what its process wrote. */
static void
said(FILE *f, const char *text)
{
	const char *at = text + strlen(text);
	char shown[2000];
	unsigned n = 0;
	size_t len;

	while (at > text && (n < SAID_LINES || at[-1] != '\n')) {
		at--;
		n += at[0] == '\n' && at[1] != '\0';
	}
	at += *at == '\n';
	for (; *at; at += len, at += *at == '\n') {
		len = strcspn(at, "\n");
		escape_text(at, len, shown, sizeof(shown));
		fprintf(f, "  | %s\n", shown);
	}
}

static void
problem(FILE *f, const struct test_problem *p)
{
	if (p->file && p->line)
		fprintf(f, "%s:%u:%u: ", p->file, p->line, p->column);
	else if (p->file)
		fprintf(f, "%s: ", p->file);
	if (p->pointer)
		fprintf(f, "at %s: ", p->pointer);
	line(f, "", p->problem, NULL);
	if (p->fix)
		line(f, "  fix: ", p->fix, NULL);
}

/* From the current folder, where it lies below. */
static const char *
shown_path(const char *path)
{
	static char here[4096];
	size_t n = getcwd(here, sizeof(here)) ? strlen(here) : 0;

	return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* see test_report.h */
char *
test_details(const struct test_run *r)
{
	const struct test_record *last = test_last(r);
	char why[600], *text = NULL;
	size_t len = 0, i, n = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	test_run_why(r, why, sizeof(why));
	if (last && last->unmet_len && r->status == TEST_FAILED) {
		line(f, "", why, NULL);
		n++;
	}
	/* What a flaky run explains is the try that failed. */
	if (r->status == TEST_FLAKY) {
		line(f, "", why, NULL);
		last = &r->tries[0];
	}
	for (i = 0; last && i < last->checks_len; i++)
		if (last->checks[i].held == TEST_NOT_HELD && !last->checks[i].evidence) {
			check(f, &last->checks[i]);
			n++;
		}
	for (i = 0; last && r->status == TEST_FAILED && i < last->unmet_len; i++)
		check(f, &last->unmet[i]);
	if (last && last->status == TEST_INVALID) {
		problem(f, &last->problem);
	} else if (n == 0 && r->status != TEST_FLAKY) {
		line(f, "", why, NULL);
		if (r->said && (r->status == TEST_ERROR || r->status == TEST_ABORTED))
			said(f, r->said);
	}
	if (last && last->compared && !last->like)
		line(f, "not reproduced: ", last->difference, NULL);
	if (last && last->receipt)
		line(f, "receipt: ", shown_path(last->receipt), NULL);
	return fclose(f) == 0 ? text : NULL;
}

/* see test_report.h */
char *
test_sweep_details(const struct test_world *w)
{
	char *text = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (i = 0; i < w->sweep_len; i++)
		if (!w->sweep[i].verdict.held)
			check(f, &w->sweep[i].check);
	return fclose(f) == 0 ? text : NULL;
}
