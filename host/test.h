/* SPDX-License-Identifier: GPL-2.0-or-later
 * test.h - many worlds in many runs, several at once: what is asked, what runs, and what came of it. */
#ifndef HOST_TEST_H
#define HOST_TEST_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/seeds.h"
#include "host/sweep.h"
#include "host/world.h"

struct backend_ops;
struct diag;
struct job;
struct reference;

#define TEST_WORLDS_MAX 10000u
#define TEST_RUNS_MAX 100000u
#define TEST_JOBS_MAX 1000u
#define TEST_RETRY_MAX 100u
#define TEST_GROUPS_MAX 16u
#define TEST_RECORD_MAX (8u << 20) /* bytes of what a run's process hands back */
#define TEST_SAID_MAX 8192u        /* bytes kept of what it wrote on stderr: the last ones */

/* ---- what came of it ---------------------------------------------------------------------------------------------------- */

enum test_status {
	TEST_PASSED,
	TEST_FLAKY, /* failed, and passed when it was tried again: never a pass */
	TEST_FAILED,
	TEST_TIMEOUT,
	TEST_ERROR,
	TEST_ABORTED,
	TEST_CANCELLED,
	TEST_INVALID, /* the world, or a file that would enter, was refused */
	TEST_NOT_RUN, /* the whole was ended before its turn came */
	TEST_STATUS_COUNT
};
const char *test_status_name(enum test_status s) __attribute__((returns_nonnull));

enum test_held { TEST_NOT_HELD, TEST_HELD, TEST_UNJUDGED };
struct test_check { /* strings are borrowed from the record; NULL: none */
	const char *id, *kind, *because;
	const char *expected, *actual, *rests; /* of one that did not hold */
	enum test_held held;
	bool evidence; /* decides nothing by itself: it is asked for by outcomes */
	bool swept;    /* judged over the sweep; then what this run says, and what is wanted of all */
	enum sweep_said here;
	enum check_mode mode;
	uint32_t line; /* in the world file; 0 it is built in */
};
struct test_sweep {              /* a check over the sweep of a world */
	struct test_check check; /* expected and actual: of the verdict */
	struct sweep_verdict verdict;
	char expected[500]; /* the verdict's, and what the check expects of a run */
};
struct test_problem { /* why a world or a file was refused; strings as above */
	const char *file, *pointer, *problem, *fix;
	uint32_t line, column;
};
struct test_record { /* of one run */
	enum test_status status;
	int exit_code;
	bool compared, like; /* with another run of this seed */
	uint64_t started_unix_ms, ms;
	/* Borrowed from text; NULL: none. */
	const char *run_id, *fingerprint, *receipt, *why, *difference, *outcome;
	struct test_problem problem; /* of TEST_INVALID */
	size_t checks_len;
	struct test_check *checks; /* owned, as the next */
	size_t unmet_len;
	struct test_check *unmet; /* what stands between the run and an outcome; none has a kind */
	char *text;
};
/* Takes what a process handed back.  0, or -EPROTO and why[160]: it is no record, or contradicts itself. */
int test_record_take(const char *json, size_t len, struct test_record *out, char why[static 160])
	__attribute__((warn_unused_result, nonnull));
/* One that says why there is no record.  0 or -ENOMEM. */
int test_record_make(struct test_record *out, enum test_status status, int exit_code, const char *why)
	__attribute__((warn_unused_result, nonnull));
/* What job_prepare refused, or what the run came to.  Redacted.  0 or -errno. */
int test_record_write(FILE *f, const struct job *j, const struct test_record *base)
	__attribute__((warn_unused_result, nonnull));
void test_record_wipe(struct test_record *r) __attribute__((nonnull));

/* ---- what is asked ------------------------------------------------------------------------------------------------------ */

struct test_options {
	const char *const *paths; /* borrowed, as all here */
	size_t paths_len;
	const char *runtime, *node, *receipts, *junit, *tap, *ctrf; /* NULL: not given */
	bool json, quiet, fail_fast, seed_given;
	uint64_t seed;
	uint32_t timeout_ms; /* 0: the world's */
	uint32_t repeat;     /* runs for each seed; 0 is one, and nothing is compared */
	uint32_t retry, jobs /* 0: as many as fit */, shard /* from 1 */, shards /* 0: all worlds */;
	const struct backend_ops *ops;
	bool sandbox;
	const uint8_t *guest;
	size_t guest_len;
};

/* ---- what runs ---------------------------------------------------------------------------------------------------------- */

enum test_progress { TEST_WAITING, TEST_RUNNING, TEST_DONE };
struct test_run {
	uint32_t world;  /* index */
	uint32_t repeat; /* from 0 */
	uint64_t seed;
	enum test_progress progress;
	enum test_status status; /* after TEST_DONE, as the next */
	int exit_code;
	size_t tries_len;
	struct test_record *tries; /* owned; the last one decides */
	uint8_t group;             /* after test_sum: which of the world's groups, from 1; 0 none */
	char *said;                /* owned: what its process wrote, when it did not pass; may be NULL */
};
struct test_world {
	char *path;           /* owned; for people, and from the current folder */
	char name[65];        /* "" when it is invalid */
	struct diag *problem; /* owned; NULL: it can run */
	bool swept;           /* it has a key sweep */
	bool stopped;         /* no run of it starts any more */
	uint64_t first;       /* seed */
	uint32_t seeds;
	enum world_stop_on stop_on;
	uint64_t memory_bytes;   /* that its workflow may take */
	uint64_t bundle_bytes;   /* of its last run; 0 not known yet */
	size_t run, runs_len;    /* its runs stand together, by seed, then repeat */
	enum test_status status; /* after test_sum, as what follows */
	int exit_code;
	size_t groups_len, groups[TEST_GROUPS_MAX]; /* first runs of those that did not pass in the same way */
	size_t ungrouped;                           /* runs that did not pass in still other ways */
	size_t sweep_len, sweep_not_held;
	struct test_sweep *sweep; /* owned: its checks over the sweep */
};
struct tests {
	struct test_options o;
	size_t worlds_len;
	struct test_world *worlds; /* owned, by path */
	size_t others;             /* worlds of other shards */
	size_t runs_len;
	struct test_run *runs; /* owned */
	uint32_t jobs;         /* at once */
	uint64_t started_unix_ms, start_ms, ms;
	int signal;                             /* SIGINT, SIGTERM or SIGHUP came; 0 none */
	size_t counts[TEST_STATUS_COUNT];       /* of runs */
	size_t worlds_count[TEST_STATUS_COUNT]; /* of worlds */
	int worst;                              /* exit status of the whole */
};
/* Fills worlds and runs.  0; the exit status when nothing shall run (it was said). */
int test_plan(struct tests *t) __attribute__((warn_unused_result, nonnull));
struct test_signals {    /* SIGINT, SIGTERM and SIGHUP as a descriptor; they end nothing by themselves any more */
	int fd;          /* owned; -1 none */
	sigset_t before; /* what was blocked */
};
int test_signals_start(struct test_signals *s) __attribute__((warn_unused_result, nonnull)); /* 0 or -errno */
/* Runs them all.  0, or -errno when that was not possible. */
int test_pool(struct tests *t, const struct test_signals *signals) __attribute__((warn_unused_result, nonnull));
/* Sums up: statuses of worlds, counts, worst. */
void test_sum(struct tests *t) __attribute__((nonnull));
void test_wipe(struct tests *t) __attribute__((nonnull));
/* The try that decides; NULL: it never ran. */
const struct test_record *test_last(const struct test_run *r) __attribute__((nonnull));
/* "worlds/a/world.json", with its seed where the world has several, and which repetition. */
void test_run_name(const struct tests *t, const struct test_run *r, char *out, size_t size) __attribute__((nonnull));
/* Which runs of a world a group holds: " with seeds 3, 7-9", " in 2 of 5 runs", both, or "". */
void test_group_name(const struct tests *t, const struct test_world *w, size_t group, char *out, size_t size)
	__attribute__((nonnull));
/* One sentence: the checks that did not hold, or the receipt's.  "" when it passed. */
void test_run_why(const struct test_run *r, char *out, size_t size) __attribute__((nonnull));

/* ---- test_find.c -------------------------------------------------------------------------------------------------------- */

struct test_found {
	char *path;           /* owned */
	struct diag *problem; /* owned: a folder that could not be searched; NULL: a world */
};
/* The worlds at and below the paths (none: the current folder), sorted, each once.  0, or -errno and *d filled: a path that is
 * not there or without any world. */
int test_find(const char *const *paths, size_t paths_len, struct test_found **out, size_t *len, struct diag *d)
	__attribute__((warn_unused_result, nonnull(3, 4, 5)));
/* Which of n shards (from 1) a world belongs to: it depends on its path alone. */
uint32_t test_shard(const char *path, uint32_t n) __attribute__((nonnull));

/* ---- test_capacity.c ---------------------------------------------------------------------------------------------------- */

struct test_capacity {
	uint32_t cores;        /* that this process may use, at least 1 */
	uint64_t memory_bytes; /* that it could take without hurting others; UINT64_MAX not known */
};
/* root is put before every path ("" for this machine). */
void test_capacity(const char *root, struct test_capacity *c) __attribute__((nonnull));
#endif
