/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_run.c - `agenttwin-host run [WORLD]`: options, then one job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cmd.h"
#include "host/job.h"
#include "host/nearest.h"

extern const uint8_t guest_image[], guest_image_end[];

static const char usage[] = "usage: agenttwin-host run [OPTION...] [WORLD]\n"
			    "Runs the workflow of WORLD in a fresh sandbox and writes a receipt.  WORLD is a\n"
			    "file, or a folder with world.json; default: the current folder.\n"
			    "  --runtime NAME    namespace (default), or local: right here, not sandboxed\n"
			    "  --seed N          instead of the world's seed\n"
			    "  --receipt FILE    where the receipt goes, instead of ROOT/.agenttwin/receipts\n"
			    "  --json            prints the receipt on stdout\n"
			    "  --timeout TIME    instead of the world's run_ms: 30s, 1500ms, 2m\n"
			    "  --node PROGRAM    the Node program to use\n"
			    "  -q, --quiet       no line a phase, only the verdict\n"
			    "  -h, --help        this text\n"
			    "Exit status: 0 passed, 1 failed, 2 usage or world, 3 boundary, 4 error,\n"
			    "5 timeout, 130 or 143 cancelled.\n";

static int
complain(const char *problem, const char *fix)
{
	struct diag d = { 0 };

	diag_set(&d, -EINVAL, "%s", problem);
	diag_fix(&d, "%s", fix);
	log_diag(&d);
	return 2;
}

static bool
number(const char *s, uint64_t max, uint64_t *out, const char **rest)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	*rest = end;
	return errno == 0 && *out <= max;
}

static int
set_timeout(struct job_options *o, const char *s)
{
	const char *unit;
	uint64_t v, scale = 1000;

	if (!number(s, RUN_MS_MAX, &v, &unit))
		return -EINVAL;
	if (strcmp(unit, "ms") == 0)
		scale = 1;
	else if (strcmp(unit, "m") == 0)
		scale = 60000;
	else if (strcmp(unit, "s") != 0)
		return -EINVAL;
	if (v == 0 || v * scale > RUN_MS_MAX)
		return -EINVAL;
	o->timeout_ms = (uint32_t)(v * scale);
	return 0;
}

static int
set_option(struct job_options *o, const char *name, const char *value)
{
	const char *rest;

	if (strcmp(name, "--runtime") == 0) {
		o->runtime = value;
	} else if (strcmp(name, "--receipt") == 0) {
		o->receipt = value;
	} else if (strcmp(name, "--node") == 0) {
		o->node = value;
	} else if (strcmp(name, "--seed") == 0) {
		o->seed_given = true;
		if (!number(value, (1ull << 53) - 1, &o->seed, &rest) || *rest)
			return complain("--seed wants a whole number from 0 to 9007199254740991 (2^53-1)",
					"write for example --seed 4211");
	} else if (set_timeout(o, value) < 0) {
		return complain("--timeout wants a time from 1ms to 24h with its unit",
				"write for example --timeout 30s");
	}
	return 0;
}

static int
unknown(const char *name)
{
	static const char *const later[] = { "--repeat", "--sweep", "--reproduce", "--no-snapshot" };
	static const char *const all[] = { "--runtime", "--seed", "--receipt", "--json",
					   "--timeout", "--node", "--quiet",   "--help" };
	char problem[200], fix[200];
	struct nearest n;
	size_t i;

	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(name, later[i]) == 0) {
			snprintf(problem, sizeof(problem), "%s is not supported by this version", name);
			return complain(problem, "leave it out");
		}
	nearest_init(&n, name);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		nearest_offer(&n, all[i]);
	snprintf(problem, sizeof(problem), "unknown option %.100s", name);
	snprintf(fix, sizeof(fix),
		 n.best ? "did you mean %s?  agenttwin-host run --help lists all"
			: "agenttwin-host run --help lists all",
		 n.best);
	return complain(problem, fix);
}

/* 0 go on, else the exit status + 1. */
static int
parse(struct job_options *o, int argc, char **argv)
{
	static const char *const valued[] = { "--runtime", "--seed", "--receipt", "--timeout", "--node" };
	bool options = true;
	char name[64], problem[128];
	const char *value;
	size_t k, len;
	int i, r;

	for (i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (!options || a[0] != '-' || a[1] == '\0') {
			if (o->world)
				return 1 + complain("more than one world", "run them one after the other");
			o->world = a;
			continue;
		}
		if (strcmp(a, "--") == 0) {
			options = false;
			continue;
		}
		if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
			fputs(usage, stdout);
			return 1;
		}
		if (strcmp(a, "--json") == 0 || strcmp(a, "--quiet") == 0 || strcmp(a, "-q") == 0) {
			*(a[2] == 'j' ? &o->json : &o->quiet) = true;
			continue;
		}
		len = strcspn(a, "=");
		snprintf(name, sizeof(name), "%.*s", (int)(len > 60 ? 60 : len), a);
		for (k = 0; k < sizeof(valued) / sizeof(valued[0]) && strcmp(valued[k], name) != 0; k++)
			;
		if (strcmp(name, "--json") == 0 || strcmp(name, "--quiet") == 0) {
			snprintf(problem, sizeof(problem), "%s takes no value", name);
			return 1 + complain(problem, "leave out what follows the name");
		}
		if (k == sizeof(valued) / sizeof(valued[0]))
			return 1 + unknown(name);
		value = a[len] ? a + len + 1 : i + 1 < argc ? argv[++i] : NULL;
		if (!value || !*value) {
			snprintf(problem, sizeof(problem), "%s wants a value", name);
			return 1 + complain(problem, "agenttwin-host run --help lists all options");
		}
		if ((r = set_option(o, name, value)))
			return 1 + r;
	}
	return 0;
}

static int
find_backend(struct job *j)
{
	static const char *const later[] = { "microvm", "docker", "e2b", "k8s" };
	const char *name = j->o.runtime ? j->o.runtime : "namespace";
	char problem[160];
	size_t i;

	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(name, later[i]) == 0) {
			snprintf(problem, sizeof(problem), "runtime '%s' is not supported by this version", name);
			return complain(problem, "use --runtime namespace, or --runtime local");
		}
	j->ops = backend_find(name);
	if (!j->ops) {
		snprintf(problem, sizeof(problem), "unknown runtime '%.60s'", name);
		return complain(problem, "use --runtime namespace, or --runtime local");
	}
	j->sandbox = (j->ops->flags & BACKEND_SANDBOX) != 0;
	return 0;
}

int
cmd_run(int argc, char **argv)
{
	static struct job j;
	int r, prepared;

	memset(&j, 0, sizeof(j));
	if ((r = parse(&j.o, argc, argv)))
		return r - 1;
	if ((r = find_backend(&j)))
		return r;
	j.progress.quiet = j.o.quiet;
	j.guest = guest_image;
	j.guest_len = (size_t)((uintptr_t)guest_image_end - (uintptr_t)guest_image);
	r = loop_signals_start();
	if (r < 0)
		return complain("signals cannot be caught", strerror(-r)) + 2;
	prepared = job_prepare(&j);
	if (prepared == 0) {
		job_execute(&j);
		r = job_conclude(&j);
	} else if ((r = loop_signal_take())) {
		r = 128 + (r == 2 ? 2 : 15); /* nothing ran yet, so no receipt; but the signal was the reason */
	} else {
		r = prepared;
	}
	job_wipe(&j);
	return r;
}
