/* SPDX-License-Identifier: GPL-2.0-or-later
 * rate.h - how often a service may be called: agenttwin-world(5), "Rate limits".  Fixed windows by the twin clock, each
 * begun by its first call. */
#ifndef GUEST_RATE_H
#define GUEST_RATE_H
#include <stdbool.h>
#include <stdint.h>

struct answer;
struct service;

struct rate_window {
	double ends; /* ms since the epoch; 0: none has begun */
	uint64_t used;
};
struct rate_limit {
	uint64_t limit; /* 0: none */
	uint64_t window_ms;
	bool by_route;
	struct rate_window *windows; /* one, or one a route */
};
/* Counts a call of a->route.  False: one too many, and the answer says so in the service's form, with Retry-After.  What the
 * service tells of its limit on every reply is in a->rate. */
bool rate_take(struct service *s, double now, struct answer *a) __attribute__((nonnull));
/* Those headers. */
void rate_headers(const struct service *s, struct answer *a) __attribute__((nonnull));

#endif
