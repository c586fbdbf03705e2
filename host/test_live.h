/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_live.h - what a person sees while many worlds run, on stderr: a line for each run that ended; on a terminal below them,
 * drawn anew, what runs just now. */
#ifndef HOST_TEST_LIVE_H
#define HOST_TEST_LIVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/test.h"

#define TEST_PHASE_MAX 24u

struct test_now {  /* a run that goes on */
	bool used; /* false: none does here */
	size_t run;
	uint64_t start_ms;
	char phase[TEST_PHASE_MAX]; /* the last one that it told, or "" */
};
struct test_live {
	const struct tests *t; /* borrowed */
	bool terminal;         /* stderr is one that can move its cursor */
	bool github;           /* lines must not look like commands of its runner */
	unsigned drawn;        /* lines that stand there now */
	uint64_t drawn_ms;
	size_t done, bad; /* runs that ended; those that did not pass */
};
void test_live_init(struct test_live *l, const struct tests *t) __attribute__((nonnull));
/* Run i ended: its line.  what: instead of its result, such as that it is tried again; or NULL. */
void test_live_ended(struct test_live *l, size_t i, const char *what) __attribute__((nonnull(1)));
/* Draws what goes on; at most ten times a second unless now. */
void test_live_draw(struct test_live *l, const struct test_now *list, size_t len, bool now) __attribute__((nonnull(1)));
/* Takes that away, before anything else is printed. */
void test_live_clear(struct test_live *l) __attribute__((nonnull));
/* One line of text on stderr.  Nothing in it is taken for a command, by a terminal or by the runner of GitHub. */
void test_say(bool github, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
/* "1.23 s", "2 min 3 s" */
void test_time(uint64_t ms, char out[static 32]);
/* The escape sequence of a status, or "". */
const char *test_colour(enum test_status s) __attribute__((returns_nonnull));

/* test_summary.c: what did not pass, explained, then all of it in numbers. */
void test_summary(const struct tests *t, bool github) __attribute__((nonnull));
#endif
