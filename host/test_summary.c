/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_summary.c - the end of what a person sees, see test_live.h: what did not pass, explained once for all seeds that did not
 * pass in the same way; then all of it in numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/progress.h"
#include "host/test_live.h"
#include "host/test_report.h"
#include "host/wrap.h"

/* ---- what did not pass -------------------------------------------------------------------------------------------------- */

static void
explain_text(const char *text, bool github)
{
	unsigned width = isatty(STDERR_FILENO) == 1 ? wrap_width(STDERR_FILENO, 0) : 0;
	const char *at;
	size_t len, indent, n;

	for (at = text; *at; at += len, at += *at == '\n') {
		len = strcspn(at, "\n");
		indent = strspn(at, " ");
		/* on a terminal beneath the label "  expected " */
		n = indent == 2 && (strncmp(at, "  expected ", 11) == 0 || strncmp(at, "  actual   ", 11) == 0) ? 11
														: 0;
		if (width && n) {
			char label[16], value[4096];

			snprintf(label, sizeof(label), "  %.11s", at);
			snprintf(value, sizeof(value), "%.*s", (int)(len - n), at + n);
			progress_item(width, label, 13, "%s", value);
		} else {
			test_say(github, "  %.*s", (int)(len > 4000 ? 4000 : len), at);
		}
	}
}

static void
head(bool github, enum test_status status, const char *path, const char *which)
{
	const char *paint = test_colour(status);

	if (*paint && write(STDERR_FILENO, paint, strlen(paint)) < 0)
		return;
	test_say(github, "%s %s%s%s", test_status_name(status), path, which, *paint ? "" : ":");
	if (*paint && write(STDERR_FILENO, "\033[0m", 4) < 0)
		return;
}

static void
explain_problem(const struct diag *d, bool github)
{
	char place[sizeof(d->file) + 32] = "";

	if (d->line)
		snprintf(place, sizeof(place), "%s:%u:%u: ", d->file, d->line, d->column);
	else if (d->file[0])
		snprintf(place, sizeof(place), "%s: ", d->file);
	test_say(github, "  %s%s%s%s%s", place, d->pointer[0] ? "at " : "", d->pointer, d->pointer[0] ? ": " : "",
		 d->problem);
	if (d->fix[0])
		test_say(github, "    fix: %s", d->fix);
}

static void
explain_world(const struct tests *t, const struct test_world *w, bool github)
{
	char which[400], *text;
	size_t i;

	if (w->problem) {
		head(github, TEST_INVALID, w->path, "");
		explain_problem(w->problem, github);
		return;
	}
	for (i = 0; i < w->groups_len; i++) {
		const struct test_run *r = &t->runs[w->groups[i]];

		test_group_name(t, w, i, which, sizeof(which));
		head(github, r->status, w->path, which);
		text = test_details(r);
		explain_text(text ? text : "not enough memory to explain it", github);
		free(text);
	}
	if (w->sweep_not_held) {
		head(github, TEST_FAILED, w->path, " over the sweep");
		text = test_sweep_details(w);
		explain_text(text ? text : "not enough memory to explain it", github);
		free(text);
	}
	if (w->ungrouped)
		test_say(github, "%s: %zu more runs did not pass, in other ways", w->path, w->ungrouped);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

/* "3 passed, 1 flaky" */
static void
count(const size_t counts[static TEST_STATUS_COUNT], const char *after_passed, char *out, size_t size)
{
	static const enum test_status order[] = { TEST_PASSED,  TEST_FAILED,    TEST_FLAKY,   TEST_TIMEOUT, TEST_ERROR,
						  TEST_ABORTED, TEST_CANCELLED, TEST_INVALID, TEST_NOT_RUN };
	size_t i, n = 0;

	out[0] = '\0';
	for (i = 0; i < sizeof(order) / sizeof(order[0]) && n < size; i++)
		if (counts[order[i]] || order[i] == TEST_PASSED)
			n += (size_t)snprintf(out + n, size - n, "%s%zu %s%s", n ? ", " : "", counts[order[i]],
					      test_status_name(order[i]),
					      order[i] == TEST_PASSED && counts[order[i]] ? after_passed : "");
}

/* see test_live.h */
void
test_summary(const struct tests *t, bool github)
{
	const char *local = t->o.sandbox ? "" : " (not sandboxed)", *paint, *plain;
	char text[400], time[32];
	ssize_t n = 0;
	size_t i;

	for (i = 0; i < t->worlds_len; i++)
		if (t->worlds[i].status != TEST_PASSED && t->worlds[i].status != TEST_NOT_RUN)
			explain_world(t, &t->worlds[i], github);
	test_time(t->ms, time);
	count(t->worlds_count, local, text, sizeof(text));
	paint = test_colour(t->worst == 0 ? TEST_PASSED : TEST_FAILED);
	plain = *paint ? "\033[0m" : "";
	if (*paint)
		n = write(STDERR_FILENO, paint, strlen(paint));
	test_say(github, "%zu world%s: %s", t->worlds_len, t->worlds_len == 1 ? "" : "s", text);
	if (*plain)
		n = write(STDERR_FILENO, plain, strlen(plain));
	(void)n;
	if (t->runs_len != t->worlds_len) {
		count(t->counts, local, text, sizeof(text));
		test_say(github, "%zu run%s: %s", t->runs_len, t->runs_len == 1 ? "" : "s", text);
	}
	if (t->o.shards)
		test_say(github, "shard %u of %u; %zu world%s in others", t->o.shard, t->o.shards, t->others,
			 t->others == 1 ? "" : "s");
	test_say(github, "%s, %u at once", time, t->jobs);
	if (t->o.receipts && t->runs_len)
		test_say(github, "receipts: %s", t->o.receipts);
}
