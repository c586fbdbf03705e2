/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_clock.c - see twin_clock.h. */
#include "guest/twin_clock.h"

#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "guest/service.h"
#include "proto/number.h"

/* A whole number from 0 to 2^53, or fallback where there is none. */
static double
number(const struct cJSON *json, const char *name, double fallback)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(json, name);

	return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= NUMBER_EXACT_MAX ? v->valuedouble
											      : fallback;
}

/* see twin_clock.h */
int
twin_clock_read(struct reading *g, const struct cJSON *json, double start_ms, struct twin_clock *out)
{
	static const char *const modes[] = { "real", "fixed", "virtual" };
	const struct cJSON *mode = cJSON_GetObjectItemCaseSensitive(json, "mode");
	size_t i = 0;

	*out = (struct twin_clock){ .mode = CLOCK_REAL, .start = start_ms };
	if (json == NULL)
		return 0;
	while (i < 3 && !(cJSON_IsString(mode) && strcmp(mode->valuestring, modes[i]) == 0))
		i++;
	if (i == 3)
		return reading_fail(g, -EPROTO, "run.clock: one of real, fixed and virtual is wanted");
	out->mode = (enum twin_clock_mode)i;
	out->start = number(json, "start_ms", start_ms);
	out->step = number(json, "step_ms", 0);
	return 0;
}

/* see twin_clock.h */
double
twin_clock_now(const struct twin_clock *c, uint64_t t_ms)
{
	switch (c->mode) {
	case CLOCK_REAL:
		return c->start + (double)t_ms;
	case CLOCK_FIXED:
		return c->start;
	case CLOCK_VIRTUAL:
		return c->start + (double)c->calls * c->step;
	}
	return c->start;
}

/* see twin_clock.h */
double
twin_clock_call(struct twin_clock *c, uint64_t t_ms)
{
	double now = twin_clock_now(c, t_ms);

	c->calls++;
	return now;
}
