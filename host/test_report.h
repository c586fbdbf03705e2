/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_report.h - what came of many runs, for programs: files that are whole or not there, and what stands in them. */
#ifndef HOST_TEST_REPORT_H
#define HOST_TEST_REPORT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "host/test.h"

struct test_file {
	const char *name; /* as the user wrote it; borrowed; NULL: not asked for */
	FILE *f;          /* owned; NULL none */
	char *temporary;  /* owned: it lies there until it is whole; NULL: written in place, as a pipe */
	char *path;       /* owned: where it goes */
};
/* Opens a file, or "-" for stdout.  What lay there before is gone: an old report must not pass for the new one.  0, or -errno and
 * *d filled. */
int test_file_open(struct test_file *f, const char *name, struct diag *d)
	__attribute__((warn_unused_result, nonnull(1, 3)));
/* Puts it in place.  0 or -errno: then nothing is there. */
int test_file_close(struct test_file *f) __attribute__((warn_unused_result, nonnull));
void test_file_abandon(struct test_file *f) __attribute__((nonnull));

/* The reports.  0 or -errno. */
int test_junit(const struct tests *t, FILE *f) __attribute__((warn_unused_result, nonnull));
int test_tap(const struct tests *t, FILE *f) __attribute__((warn_unused_result, nonnull));
int test_ctrf(const struct tests *t, FILE *f) __attribute__((warn_unused_result, nonnull));
int test_json(const struct tests *t, FILE *f)
	__attribute__((warn_unused_result, nonnull)); /* docs/schema/tests.schema.json */
/* For GitHub: annotations as commands to its runner; and the summary of a step as Markdown. */
int test_annotations(const struct tests *t, FILE *f) __attribute__((warn_unused_result, nonnull));
int test_markdown(const struct tests *t, FILE *f) __attribute__((warn_unused_result, nonnull));

/* What did not hold of a run, or why it has no verdict: one text of several lines, which the caller frees; NULL: no memory. */
char *test_details(const struct test_run *r) __attribute__((warn_unused_result, nonnull));
/* The same of the checks over a sweep that did not hold. */
char *test_sweep_details(const struct test_world *w) __attribute__((warn_unused_result, nonnull));
#endif
