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
	bool drawn; /* by chance, with this draw */
	double draw;
};
struct service;
struct world;
/* Whether this event of a service, or this trigger (s NULL), is delivered again: one decision for each, taken when it is made.
 * key: the event's id, a trigger's.  *out has times 1 when it is not.  0; -ENOMEM, -E2BIG. */
int redelivery_decide(struct world *w, struct service *s, const char *name, const char *key, uint64_t t_ms,
		      struct redelivery *out) __attribute__((warn_unused_result, nonnull(1, 3, 4, 6)));

#endif
