/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_test.c - `agenttwin-host test PATH...`: options, reports, and between them all runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/cmd.h"
#include "host/diag.h"
#include "host/loop.h"
#include "host/nearest.h"
#include "host/options.h"
#include "host/series.h"
#include "host/test_live.h"
#include "host/test_report.h"

extern const uint8_t guest_image[], guest_image_end[];

static const char usage[] = "usage: agenttwin-host test [OPTION...] [PATH...]\n"
			    "Runs every world at and below each PATH, several at once.  A world is a file\n"
			    "world.json or NAME.world.json; one with a sweep runs once for each of its seeds.\n"
			    "The default PATH is the current folder.\n"
			    "  -j, --jobs N       runs at once, instead of as many as processors and memory allow\n"
			    "  --junit FILE       writes a report as JUnit XML;  - is stdout, as of the next two\n"
			    "  --tap FILE         writes a report as TAP 14\n"
			    "  --ctrf FILE        writes a report as CTRF\n"
			    "  --json             prints a report as JSON on stdout\n"
			    "  --receipt FOLDER   where the receipts go, instead of ROOT/.agenttwin/receipts\n"
			    "  --fail-fast        after a run that did not pass no other starts\n"
			    "  --shard I/N        only the worlds of part I of N; each world is in exactly one\n"
			    "  --retry N          tries a run that did not pass up to N times more; when it\n"
			    "                     passes then, it is flaky, which is no pass\n"
			    "  --repeat N         N runs for each seed; each must be like the first\n"
			    "  --seed, --runtime, --timeout, --node: as of run, for every world\n"
			    "  -q, --quiet        no line a run, only what did not pass, and the summary\n"
			    "  -h, --help         this text\n"
			    "Exit status: of all runs the first of 130 143, 3, 4, 2, 5, 1, 0.\n";

static int
set_count(const char *name, const char *value, uint32_t least, uint32_t most, uint32_t *out)
{
	char problem[120], fix[60];
	const char *rest;
	uint64_t n;

	if (options_number(value, most, &n, &rest) && !*rest && n >= least) {
		*out = (uint32_t)n;
		return 0;
	}
	snprintf(problem, sizeof(problem), "%s wants a number from %u to %u", name, least, most);
	snprintf(fix, sizeof(fix), "write for example %s 4", name);
	return options_complain(problem, fix);
}

static int
set_shard(struct test_options *o, const char *value)
{
	uint64_t i, n;
	const char *at;

	if (options_number(value, TEST_WORLDS_MAX, &i, &at) && *at++ == '/' &&
	    options_number(at, TEST_WORLDS_MAX, &n, &at) && !*at && i >= 1 && i <= n) {
		o->shard = (uint32_t)i;
		o->shards = (uint32_t)n;
		return 0;
	}
	return options_complain("--shard wants a part and the number of parts",
				"write for example --shard 1/4, and 2/4, 3/4, 4/4 elsewhere");
}

static const char *const valued[] = { "--jobs",  "--junit",  "--tap",  "--ctrf",    "--receipt", "--shard",
				      "--retry", "--repeat", "--seed", "--runtime", "--timeout", "--node" };
static const char *const plain[] = { "--json", "--fail-fast", "--quiet", "--help" };

static int
set_option(struct test_options *o, const char *name, const char *value)
{
	if (strcmp(name, "--jobs") == 0)
		return set_count(name, value, 1, TEST_JOBS_MAX, &o->jobs);
	if (strcmp(name, "--retry") == 0)
		return set_count(name, value, 0, TEST_RETRY_MAX, &o->retry);
	if (strcmp(name, "--repeat") == 0)
		return set_count(name, value, 1, SEEDS_MAX, &o->repeat);
	if (strcmp(name, "--shard") == 0)
		return set_shard(o, value);
	if (strcmp(name, "--timeout") == 0)
		return options_timeout(value, &o->timeout_ms);
	if (strcmp(name, "--seed") == 0) {
		o->seed_given = true;
		return options_seed(value, &o->seed);
	}
	if (strcmp(name, "--junit") == 0)
		o->junit = value;
	else if (strcmp(name, "--tap") == 0)
		o->tap = value;
	else if (strcmp(name, "--ctrf") == 0)
		o->ctrf = value;
	else if (strcmp(name, "--receipt") == 0)
		o->receipts = value;
	else if (strcmp(name, "--runtime") == 0)
		o->runtime = value;
	else
		o->node = value;
	return 0;
}

static int
unknown(const char *name)
{
	struct nearest n;
	size_t i;

	nearest_init(&n, name);
	for (i = 0; i < sizeof(valued) / sizeof(valued[0]); i++)
		nearest_offer(&n, valued[i]);
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		nearest_offer(&n, plain[i]);
	return options_unknown("test", &n);
}

/* An option without a value.  False: it is none. */
static bool
set_plain(struct test_options *o, const char *a)
{
	if (strcmp(a, "--json") == 0)
		o->json = true;
	else if (strcmp(a, "--fail-fast") == 0)
		o->fail_fast = true;
	else if (strcmp(a, "--quiet") == 0 || strcmp(a, "-q") == 0)
		o->quiet = true;
	else
		return false;
	return true;
}

/* The name and value of an option at argv[*i].  0, or the exit status. */
static int
take_valued(struct test_options *o, int argc, char **argv, int *i)
{
	char name[64], problem[128];
	const char *a = argv[*i], *value = NULL;
	size_t k, len = strcspn(a, "=");

	snprintf(name, sizeof(name), "%.*s", (int)(len > 60 ? 60 : len), a);
	if (strncmp(a, "-j", 2) == 0) { /* -j4, -j 4 */
		snprintf(name, sizeof(name), "--jobs");
		value = a[2] ? a + 2 : NULL;
	} else if (a[len]) {
		value = a + len + 1;
	}
	for (k = 0; k < sizeof(plain) / sizeof(plain[0]); k++)
		if (strcmp(plain[k], name) == 0) {
			snprintf(problem, sizeof(problem), "%s takes no value", name);
			return options_complain(problem, "leave out what follows the name");
		}
	for (k = 0; k < sizeof(valued) / sizeof(valued[0]) && strcmp(valued[k], name) != 0; k++)
		;
	if (k == sizeof(valued) / sizeof(valued[0]))
		return unknown(name);
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value || !*value) {
		snprintf(problem, sizeof(problem), "%s wants a value", name);
		return options_complain(problem, "agenttwin-host test --help lists all options");
	}
	return set_option(o, name, value);
}

/* 0 go on, else the exit status + 1.  Paths are moved to the front of argv. */
static int
parse(struct test_options *o, int argc, char **argv)
{
	bool options = true;
	int i, r;

	for (i = 1; i < argc; i++) {
		char *a = argv[i];

		if (!options || a[0] != '-' || a[1] == '\0') {
			argv[o->paths_len++] = a;
		} else if (strcmp(a, "--") == 0) {
			options = false;
		} else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
			fputs(usage, stdout);
			return 1;
		} else if (!set_plain(o, a) && (r = take_valued(o, argc, argv, &i))) {
			return 1 + r;
		}
	}
	o->paths = (const char *const *)argv;
	return 0;
}

/* What does not fit together.  0, or 2. */
static int
check_asked(const struct test_options *o)
{
	const char *const files[] = { o->junit, o->tap, o->ctrf };
	int on_stdout = o->json, i, k;

	for (i = 0; i < 3; i++) {
		on_stdout += files[i] && strcmp(files[i], "-") == 0;
		for (k = 0; k < i; k++)
			if (files[i] && files[k] && strcmp(files[i], "-") != 0 && strcmp(files[i], files[k]) == 0)
				return options_complain("two reports in one file", "name another file for one of them");
	}
	if (on_stdout > 1)
		return options_complain("two reports on stdout", "name a file for one of them");
	if (o->retry && o->repeat > 1)
		return options_complain("--retry and --repeat at once",
					"--repeat alone shows what is not the same each time");
	return 0;
}

/* The folder for receipts; it is made where only the last part of it is missing. */
static int
make_folder(const char *path)
{
	struct diag d = { 0 };
	struct stat st;

	if (!path || ((mkdir(path, 0777) == 0 || errno == EEXIST) && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		      access(path, W_OK | X_OK) == 0))
		return 0;
	snprintf(d.file, sizeof(d.file), "%.500s", path);
	diag_set(&d, -errno, "receipts cannot go there: %s", errno ? strerror(errno) : "it is no folder");
	diag_fix(&d, "name a folder that can be written");
	log_diag(&d);
	return 2;
}

/* ---- reports ------------------------------------------------------------------------------------------------------------ */

enum { JUNIT, TAP, CTRF, JSON, REPORTS };
struct reports {
	struct test_file files[REPORTS];
};

static void
abandon(struct reports *r)
{
	size_t i;

	for (i = 0; i < REPORTS; i++)
		test_file_abandon(&r->files[i]);
}

/* Before anything runs: an hour later it would be too late to learn that one cannot be written. */
static int
open_reports(struct reports *r, const struct test_options *o)
{
	const char *const names[REPORTS] = {
		[JUNIT] = o->junit, [TAP] = o->tap, [CTRF] = o->ctrf, [JSON] = o->json ? "-" : NULL
	};
	struct diag d = { 0 };
	size_t i;

	for (i = 0; i < REPORTS; i++)
		if (test_file_open(&r->files[i], names[i], &d) < 0) {
			log_diag(&d);
			abandon(r);
			return 2;
		}
	return 0;
}

/* 0, or 4 when one could not be written. */
static int
write_reports(struct reports *r, const struct tests *t)
{
	int (*const write[REPORTS])(const struct tests *t, FILE *f) = {
		[JUNIT] = test_junit, [TAP] = test_tap, [CTRF] = test_ctrf, [JSON] = test_json
	};
	int status = 0, rc;
	size_t i;

	for (i = 0; i < REPORTS; i++) {
		const char *name = r->files[i].name;

		if (!r->files[i].f)
			continue;
		errno = 0;
		rc = write[i](t, r->files[i].f);
		if (rc == 0)
			rc = test_file_close(&r->files[i]);
		else if (rc == -EIO && errno)
			rc = -errno;
		if (rc < 0) {
			log_line(LOG_LEVEL_ERROR, "the report cannot be written: %s: %s",
				 strcmp(name, "-") == 0 ? "stdout" : name, strerror(-rc));
			test_file_abandon(&r->files[i]);
			status = 4;
		}
	}
	return status;
}

/* Annotations, and the table of the step where the runner keeps one.  That these could not be written changes no result. */
static void
tell_github(const struct tests *t)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	FILE *f;

	if (test_annotations(t, stderr) < 0)
		return;
	if (!path || !*path)
		return;
	f = fopen(path, "ae");
	if (!f || test_markdown(t, f) < 0)
		log_line(LOG_LEVEL_WARN, "GITHUB_STEP_SUMMARY: %s", strerror(errno));
	if (f)
		fclose(f);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------- */

static int
execute(struct tests *t, struct reports *reports)
{
	const char *actions = getenv("GITHUB_ACTIONS");
	bool github = actions && strcmp(actions, "true") == 0;
	struct test_signals signals;
	int r = test_signals_start(&signals);

	if (r < 0)
		return options_complain("signals cannot be caught", strerror(-r)) + 2;
	if ((r = open_reports(reports, &t->o)))
		return r;
	if (!t->o.sandbox)
		log_line(LOG_LEVEL_WARN, "the runtime 'local' is not a sandbox: workflows can do all that you can do");
	if ((r = test_pool(t, &signals)) < 0) {
		log_line(LOG_LEVEL_ERROR, "nothing can run: %s", strerror(-r));
		abandon(reports);
		return 4;
	}
	t->ms = loop_now_ms() - t->start_ms;
	test_sum(t);
	test_summary(t, github);
	r = series_worse(t->worst, write_reports(reports, t));
	if (github)
		tell_github(t);
	close(signals.fd);
	return r;
}

/* see cmd.h */
int
cmd_test(int argc, char **argv)
{
	struct reports reports = { 0 };
	struct tests t = { 0 };
	int r;

	if ((r = parse(&t.o, argc, argv)))
		return r - 1;
	if ((r = check_asked(&t.o)) || (r = options_runtime(t.o.runtime, &t.o.ops)))
		return r;
	t.o.sandbox = (t.o.ops->flags & BACKEND_SANDBOX) != 0;
	t.o.guest = guest_image;
	t.o.guest_len = (size_t)((uintptr_t)guest_image_end - (uintptr_t)guest_image);
	t.start_ms = loop_now_ms();
	t.started_unix_ms = loop_unix_ms();
	if ((r = test_plan(&t)) == 0 && (r = make_folder(t.o.receipts)) == 0)
		r = execute(&t, &reports);
	test_wipe(&t);
	return r;
}
