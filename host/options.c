/* SPDX-License-Identifier: GPL-2.0-or-later
 * options.c - see options.h. */
#include "host/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend.h"
#include "host/diag.h"
#include "host/nearest.h"
#include "host/seeds.h"
#include "proto/limits.h"

int
options_complain(const char *problem, const char *fix)
{
	struct diag d = { 0 };

	diag_set(&d, -EINVAL, "%s", problem);
	diag_fix(&d, "%s", fix);
	log_diag(&d);
	return 2;
}

int
options_unknown(const char *command, const struct nearest *near)
{
	char problem[200], fix[200];

	snprintf(problem, sizeof(problem), "unknown option %.100s", near->word);
	snprintf(fix, sizeof(fix), "%s%s%sagenttwin-host %s --help lists all", near->best ? "did you mean " : "",
		 near->best ? near->best : "", near->best ? "?  " : "", command);
	return options_complain(problem, fix);
}

bool
options_number(const char *s, uint64_t max, uint64_t *out, const char **rest)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	*rest = end;
	return errno == 0 && *out <= max;
}

int
options_seed(const char *value, uint64_t *seed)
{
	const char *rest;

	if (options_number(value, SEED_MAX, seed, &rest) && !*rest)
		return 0;
	return options_complain("--seed wants a whole number from 0 to 9007199254740991 (2^53-1)",
				"write for example --seed 4211");
}

static bool
parse_timeout(const char *s, uint32_t *ms)
{
	const char *unit;
	uint64_t v, scale = 1000;

	if (!options_number(s, RUN_MS_MAX, &v, &unit))
		return false;
	if (strcmp(unit, "ms") == 0)
		scale = 1;
	else if (strcmp(unit, "m") == 0)
		scale = 60000;
	else if (strcmp(unit, "s") != 0)
		return false;
	if (v == 0 || v * scale > RUN_MS_MAX)
		return false;
	*ms = (uint32_t)(v * scale);
	return true;
}

int
options_timeout(const char *value, uint32_t *ms)
{
	if (parse_timeout(value, ms))
		return 0;
	return options_complain("--timeout wants a time from 1ms to 24h with its unit",
				"write for example --timeout 30s");
}

int
options_runtime(const char *name, const struct backend_ops **ops)
{
	static const char *const later[] = { "microvm", "docker", "e2b", "k8s" };
	char problem[160];
	size_t i;

	if (!name)
		name = "namespace";
	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(name, later[i]) == 0) {
			snprintf(problem, sizeof(problem), "runtime '%s' is not supported by this version", name);
			return options_complain(problem, "use --runtime namespace, or --runtime local");
		}
	*ops = backend_find(name);
	if (*ops)
		return 0;
	snprintf(problem, sizeof(problem), "unknown runtime '%.60s'", name);
	return options_complain(problem, "use --runtime namespace, or --runtime local");
}
