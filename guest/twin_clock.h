/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_clock.h - what time it is for the services: `now`, rate limits, the age of keys.  agenttwin-world(5), "clock". */
#ifndef GUEST_TWIN_CLOCK_H
#define GUEST_TWIN_CLOCK_H
#include <stdint.h>

struct reading;
struct cJSON;

enum twin_clock_mode { CLOCK_REAL, CLOCK_FIXED, CLOCK_VIRTUAL };
struct twin_clock {
	enum twin_clock_mode mode;
	double start; /* ms since the epoch, at the run's start */
	double step;  /* of CLOCK_VIRTUAL: ms that each call takes */
	uint64_t calls;
};
/* run.clock of the twins' JSON, which may be missing; start_ms: the run's own start.  0 or -EPROTO. */
int twin_clock_read(struct reading *g, const struct cJSON *json, double start_ms, struct twin_clock *out)
	__attribute__((warn_unused_result, nonnull(1, 4)));
/* The time at t_ms of the run; a virtual clock stands where the last call left it. */
double twin_clock_now(const struct twin_clock *c, uint64_t t_ms) __attribute__((nonnull));
/* The time of one more call. */
double twin_clock_call(struct twin_clock *c, uint64_t t_ms) __attribute__((nonnull));
#endif
