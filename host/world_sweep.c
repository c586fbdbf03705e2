/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_sweep.c - the keys sweep and clock: over which seeds, and what time it is for the services. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "host/world_read.h"

#define CLOCK_MS_MAX 253402300799999u /* the last millisecond of the year 9999 */
#define STEP_MS_MAX 86400000u
#define STEP_MS_DEFAULT 1000u

/* ---- sweep ------------------------------------------------------------------------------------------------------------ */

static int
read_seeds(struct wr *c, const struct cJSON *v, void *arg)
{
	struct seeds *s = &c->w->sweep;
	const char *text, *problem;
	uint64_t n;
	int r;

	(void)arg;
	if (cJSON_IsNumber(v)) {
		if ((r = wr_integer(c, v, 1, SEEDS_MAX, &n)) == 0)
			*s = (struct seeds){ .n = (uint32_t)n };
		return r;
	}
	if (!cJSON_IsString(v)) {
		r = wr_fail(c, -EPROTO, "seeds is a number or text, not %s", wr_type(v));
		diag_fix(c->d, "write how many, as 20, or the first and the last one, as \"100..119\"");
		return r;
	}
	if ((r = wr_string(c, v, 1, 64, &text)) < 0)
		return r;
	if (seeds_parse(text, s, &problem) == 0)
		return 0;
	r = wr_fail(c, -EPROTO, "these are no seeds");
	diag_fix(c->d, "%s", problem);
	return r;
}

static int
read_stop_on(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "never", "failed", "error", NULL };
	size_t i = 0;
	int r = wr_word(c, v, words, &i);

	(void)arg;
	c->w->stop_on = (enum world_stop_on)i;
	return r;
}

static const struct wr_key sweep_keys[] = {
	{ "seeds", read_seeds, WR_REQUIRED, "\"seeds\": 20, or \"seeds\": \"100..119\"" },
	{ "stop_on", read_stop_on, 0, NULL },
	{ NULL, NULL, 0, NULL },
};

int
world_read_sweep(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_object(c, v, sweep_keys, "a sweep", arg);
}

/* ---- clock ------------------------------------------------------------------------------------------------------------ */

static int
read_mode(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "real", "fixed", "virtual", NULL };
	size_t i = 0;
	int r = wr_word(c, v, words, &i);

	(void)arg;
	c->w->clock.mode = (enum world_clock_mode)i;
	return r;
}

static int
digits(const char *s, size_t n)
{
	int v = 0;

	while (n--)
		v = v * 10 + (*s++ - '0');
	return v;
}

/* "2026-01-31T12:00:00Z" or "2026-01-31T12:00:00.250Z".  False: it is not. */
static bool
parse_time(const char *s, uint64_t *out)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd", fraction[] = ".ddd";
	struct tm tm = { 0 }, back;
	size_t i, k;
	int ms = 0;
	time_t t;

	for (i = 0; form[i]; i++)
		if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
			return false;
	tm.tm_year = digits(s, 4) - 1900;
	tm.tm_mon = digits(s + 5, 2) - 1;
	tm.tm_mday = digits(s + 8, 2);
	tm.tm_hour = digits(s + 11, 2);
	tm.tm_min = digits(s + 14, 2);
	tm.tm_sec = digits(s + 17, 2);
	if (s[i] == '.') {
		for (k = 0; fraction[k]; k++)
			if (fraction[k] == 'd' ? s[i + k] < '0' || s[i + k] > '9' : s[i + k] != fraction[k])
				return false;
		ms = digits(s + i + 1, 3);
		i += k;
	}
	if (strcmp(s + i, "Z") != 0)
		return false;
	back = tm;
	t = timegm(&back);
	if (t < 0 || back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday || back.tm_hour != tm.tm_hour ||
	    back.tm_min != tm.tm_min || back.tm_sec != tm.tm_sec)
		return false; /* 31 February, 25 o'clock */
	*out = (uint64_t)t * 1000 + (uint64_t)ms;
	return true;
}

static int
read_start(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *text;
	int r;

	(void)arg;
	c->w->clock.have_start = true;
	if (cJSON_IsNumber(v))
		return wr_integer(c, v, 0, CLOCK_MS_MAX, &c->w->clock.start_ms);
	if ((r = wr_string(c, v, 1, 64, &text)) < 0)
		return r;
	if (parse_time(text, &c->w->clock.start_ms))
		return 0;
	r = wr_fail(c, -EPROTO, "this is not a time in UTC");
	diag_fix(c->d, "write it as \"2026-01-31T12:00:00Z\", or as milliseconds since 1970");
	return r;
}

static int
read_step(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	c->w->clock.have_step = true;
	return wr_integer(c, v, 1, STEP_MS_MAX, &c->w->clock.step_ms);
}

static const struct wr_key clock_keys[] = {
	{ "mode", read_mode, 0, NULL },
	{ "start", read_start, 0, NULL },
	{ "step_ms", read_step, 0, NULL },
	{ NULL, NULL, 0, NULL },
};

int
world_read_clock(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_clock *k = &c->w->clock;
	int r = wr_object(c, v, clock_keys, "a clock", arg);

	if (r < 0)
		return r;
	if (k->mode != WORLD_CLOCK_REAL && !k->have_start) {
		r = wr_fail(c, -EPROTO, "a clock that is %s needs a start",
			    k->mode == WORLD_CLOCK_FIXED ? "fixed" : "virtual");
		diag_fix(c->d, "add \"start\": \"2026-01-31T12:00:00Z\"");
		return r;
	}
	if (k->have_step && k->mode != WORLD_CLOCK_VIRTUAL) {
		r = wr_fail(c, -EPROTO, "step_ms is of a virtual clock only");
		diag_fix(c->d, "leave it out, or write \"mode\": \"virtual\"");
		return r;
	}
	if (!k->have_step)
		k->step_ms = STEP_MS_DEFAULT;
	return 0;
}
