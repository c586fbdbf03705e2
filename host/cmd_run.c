/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_run.c - `agenttwin-host run [WORLD]` and `sweep [WORLD]`: options, then one job or a series of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cmd.h"
#include "host/job.h"
#include "host/nearest.h"
#include "host/options.h"
#include "host/reproduce.h"
#include "host/series.h"

extern const uint8_t guest_image[], guest_image_end[];

static const char usage[] = "usage: agenttwin-host run [OPTION...] [WORLD]\n"
			    "Runs the workflow of WORLD in a fresh sandbox and writes a receipt.  WORLD is a\n"
			    "file, or a folder with world.json; default: the current folder.\n"
			    "  --runtime NAME    namespace (default), or local: right here, not sandboxed\n"
			    "  --seed N          instead of the world's seed\n"
			    "  --repeat N        N runs, one after the other; each must be like the first\n"
			    "  --sweep           as the command sweep: a run for each seed of the world's sweep\n"
			    "  --reproduce FILE  runs that receipt's world again, with its seed, and compares;\n"
			    "                    or the id of a run, or latest\n"
			    "  --receipt FILE    where the receipt goes, instead of ROOT/.agenttwin/receipts;\n"
			    "                    of several runs a folder\n"
			    "  --json            prints the receipt on stdout; of several runs a summary\n"
			    "  --timeout TIME    instead of the world's run_ms: 30s, 1500ms, 2m\n"
			    "  --node PROGRAM    the Node program to use\n"
			    "  -q, --quiet       no line a phase, only the verdict\n"
			    "  -h, --help        this text\n"
			    "Exit status: 0 passed, 1 failed, 2 usage or world, 3 boundary, 4 error,\n"
			    "5 timeout, 130 or 143 cancelled; of several runs the worst.\n";
static const char sweep_usage[] = "usage: agenttwin-host sweep [OPTION...] [WORLD]\n"
				  "Runs the world once for each seed, one after the other, and writes a receipt\n"
				  "for each run.  Ends at once on SIGINT, after the sandbox is destroyed.\n"
				  "  --seeds A..B|N    from A to B, or N from the world's seed (or --seed) on,\n"
				  "                    instead of the world's sweep\n"
				  "  --receipt FOLDER  where the receipts go\n"
				  "  --json            prints a summary on stdout\n"
				  "  --runtime, --seed, --timeout, --node, --quiet, --help: as of run\n"
				  "Exit status: of all runs the first of 130 143, 3, 4, 2, 5, 1, 0.\n";

struct asked {
	struct series series;
	const char *reproduce; /* a receipt */
	const char *usage;
};

/* Options of several runs.  0, or the exit status; *taken false: it is none of them. */
static int
set_series(struct asked *a, const char *name, const char *value, bool *taken)
{
	const char *rest, *problem;
	uint64_t n;

	*taken = true;
	if (strcmp(name, "--reproduce") == 0) {
		a->reproduce = value;
	} else if (strcmp(name, "--repeat") == 0) {
		if (!options_number(value, SEEDS_MAX, &n, &rest) || *rest || n == 0)
			return options_complain("--repeat wants a number of runs from 1 to 10000",
						"write for example --repeat 20");
		a->series.repeat = (uint32_t)n;
	} else if (strcmp(name, "--seeds") == 0) {
		a->series.sweep = true;
		if (seeds_parse(value, &a->series.seeds, &problem) < 0)
			return options_complain("--seeds wants a number or a range", problem);
	} else {
		*taken = false;
	}
	return 0;
}

static int
set_option(struct job_options *o, struct asked *asked, const char *name, const char *value)
{
	bool taken;
	int r = set_series(asked, name, value, &taken);

	if (taken)
		return r;

	if (strcmp(name, "--runtime") == 0) {
		o->runtime = value;
	} else if (strcmp(name, "--receipt") == 0) {
		o->receipt = value;
	} else if (strcmp(name, "--node") == 0) {
		o->node = value;
	} else if (strcmp(name, "--seed") == 0) {
		o->seed_given = true;
		o->seed_from = "option";
		return options_seed(value, &o->seed);
	} else {
		return options_timeout(value, &o->timeout_ms);
	}
	return 0;
}

static int
unknown(const char *name)
{
	static const char *const later[] = { "--no-snapshot" };
	static const char *const all[] = { "--runtime", "--seed", "--receipt", "--json",  "--timeout",   "--node",
					   "--quiet",   "--help", "--repeat",  "--sweep", "--reproduce", "--seeds" };
	char problem[200];
	struct nearest n;
	size_t i;

	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(name, later[i]) == 0) {
			snprintf(problem, sizeof(problem), "%s is not supported by this version", name);
			return options_complain(problem, "leave it out");
		}
	nearest_init(&n, name);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		nearest_offer(&n, all[i]);
	return options_unknown("run", &n);
}

/* 0 go on, else the exit status + 1. */
static int
parse(struct job_options *o, struct asked *asked, int argc, char **argv)
{
	static const char *const valued[] = { "--runtime", "--seed",   "--receipt", "--timeout",
					      "--node",    "--repeat", "--seeds",   "--reproduce" };
	bool options = true;
	char name[64], problem[128];
	const char *value;
	size_t k, len;
	int i, r;

	for (i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (!options || a[0] != '-' || a[1] == '\0') {
			if (o->world)
				return 1 + options_complain("more than one world", "run them one after the other");
			o->world = a;
			continue;
		}
		if (strcmp(a, "--") == 0) {
			options = false;
			continue;
		}
		if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
			fputs(asked->usage, stdout);
			return 1;
		}
		if (strcmp(a, "--sweep") == 0) {
			asked->series.sweep = true;
			continue;
		}
		if (strcmp(a, "--json") == 0 || strcmp(a, "--quiet") == 0 || strcmp(a, "-q") == 0) {
			*(a[2] == 'j' ? &o->json : &o->quiet) = true;
			continue;
		}
		len = strcspn(a, "=");
		snprintf(name, sizeof(name), "%.*s", (int)(len > 60 ? 60 : len), a);
		for (k = 0; k < sizeof(valued) / sizeof(valued[0]) && strcmp(valued[k], name) != 0; k++)
			;
		if (strcmp(name, "--json") == 0 || strcmp(name, "--quiet") == 0 || strcmp(name, "--sweep") == 0) {
			snprintf(problem, sizeof(problem), "%s takes no value", name);
			return 1 + options_complain(problem, "leave out what follows the name");
		}
		if (k == sizeof(valued) / sizeof(valued[0]))
			return 1 + unknown(name);
		value = a[len] ? a + len + 1 : i + 1 < argc ? argv[++i] : NULL;
		if (!value || !*value) {
			snprintf(problem, sizeof(problem), "%s wants a value", name);
			return 1 + options_complain(problem, "agenttwin-host run --help lists all options");
		}
		if ((r = set_option(o, asked, name, value)))
			return 1 + r;
	}
	return 0;
}

/* What does not fit together.  0, or 2. */
static int
check_asked(const struct job_options *o, const struct asked *a)
{
	if (a->series.sweep && a->series.repeat)
		return options_complain("a sweep over seeds and --repeat at once",
					"sweep first; then repeat one of its seeds with --seed N --repeat N");
	if (a->reproduce && a->series.sweep)
		return options_complain("--reproduce runs with the seed of its receipt", "leave out the sweep");
	if (a->reproduce && o->seed_given)
		return options_complain("--reproduce runs with the seed of its receipt", "leave out --seed");
	return 0;
}

/* Takes from the receipt what the options do not say. */
static int
take_receipt(struct job_options *o, struct reproduce *p, const char *what)
{
	struct diag d = { 0 };

	if (reproduce_load(what, o->world, p, &d) < 0) {
		log_diag(&d);
		return 2;
	}
	o->world = p->world;
	o->seed = p->seed;
	o->seed_given = true;
	o->seed_from = "receipt";
	o->reproduce = p;
	o->reference = &p->reference;
	if (!o->runtime)
		o->runtime = p->runtime;
	if (strcmp(o->runtime, p->runtime) != 0) {
		snprintf(d.file, sizeof(d.file), "%.500s", p->reference.path);
		diag_set(&d, -EINVAL, "that run had the runtime '%.60s', not '%.60s'", p->runtime, o->runtime);
		diag_fix(&d, "leave out --runtime");
		log_diag(&d);
		return 2;
	}
	if (!o->timeout_ms)
		o->timeout_ms = p->run_ms;
	return 0;
}

/* One run.  Its own exit status, or 1 when it is not like the one that it was to be like. */
static int
run_one(struct job *j)
{
	char text[COMPARE_TEXT_MAX];
	int r, prepared = job_prepare(j);

	if (prepared) {
		r = loop_signal_take();
		/* nothing ran yet, so no receipt; but the signal was the reason */
		return r ? 128 + (r == 2 ? 2 : 15) : prepared;
	}
	job_execute(j);
	r = job_conclude(j);
	if (!j->o.reference)
		return r;
	if (reference_compare(j->o.reference, j->fingerprint, j->store.path, text)) {
		log_line(LOG_LEVEL_PHASE, "reproduced: the fingerprint %.12s is that of run %s", j->fingerprint,
			 j->o.reference->run_id);
		return r;
	}
	log_line(LOG_LEVEL_PHASE, "not reproduced: fingerprint %.12s, not %.12s as of run %s; %s", j->fingerprint,
		 j->o.reference->fingerprint, j->o.reference->run_id, text);
	return r ? r : 1;
}

static int
execute(int argc, char **argv, struct asked *asked)
{
	static struct reproduce reproduce;
	static struct job j;
	int r;

	memset(&j, 0, sizeof(j));
	if ((r = parse(&j.o, asked, argc, argv)))
		return r - 1;
	if ((r = check_asked(&j.o, asked)))
		return r;
	if (asked->reproduce && (r = take_receipt(&j.o, &reproduce, asked->reproduce)))
		goto out;
	if ((r = options_runtime(j.o.runtime, &j.ops)))
		goto out;
	j.sandbox = (j.ops->flags & BACKEND_SANDBOX) != 0;
	j.progress.quiet = j.o.quiet;
	j.guest = guest_image;
	j.guest_len = (size_t)((uintptr_t)guest_image_end - (uintptr_t)guest_image);
	r = loop_signals_start();
	if (r < 0) {
		r = options_complain("signals cannot be caught", strerror(-r)) + 2;
	} else if (asked->series.sweep || asked->series.repeat) {
		r = series_run(&asked->series, &j);
	} else {
		r = run_one(&j);
		job_wipe(&j);
	}
out:
	reproduce_wipe(&reproduce);
	return r;
}

int
cmd_run(int argc, char **argv)
{
	struct asked asked = { .usage = usage };

	return execute(argc, argv, &asked);
}

int
cmd_sweep(int argc, char **argv)
{
	struct asked asked = { .usage = sweep_usage, .series.sweep = true };

	return execute(argc, argv, &asked);
}
