/* SPDX-License-Identifier: GPL-2.0-or-later
 * redeliver.h - duplicate-write, phase redeliver, for what the twins send: which event or trigger is delivered more than once. */
#ifndef GUEST_REDELIVER_H
#define GUEST_REDELIVER_H
#include <stdbool.h>
#include <stdint.h>

#define REDELIVER_TIMES_MAX 10u

struct redelivery {
	const char *fault; /* its id */
	unsigned times;    /* deliveries in all, the first among them */
	bool after;        /* each copy once the one before was answered; else once it has left ("during") */
	uint32_t delay_ms; /* and so long besides */
	bool same_id;
};
struct service;
struct world;
/* Whether this event of a service, or this trigger (s NULL), is delivered again: one decision for each, taken when it is made.
 * key: the event's id, "" a trigger's. */
bool redelivery_decide(struct world *w, const struct service *s, const char *name, const char *key,
		       struct redelivery *out) __attribute__((nonnull(1, 3, 4, 5)));

#endif
