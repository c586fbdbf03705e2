/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_doors.h - faults that keep connections out: refused (the port is closed) or dropped (its packets are).  No call opens or
 * ends such a fault, so it is looked at as time passes. */
#ifndef GUEST_TWIN_DOORS_H
#define GUEST_TWIN_DOORS_H
#include <stdbool.h>
#include <stdint.h>

#include "guest/fault.h"
#include "proto/limits.h"

struct http_core;

#define DOORS_MS 20        /* how often they are looked at while there is such a fault */
#define DOORS_WAIT_MS 1000 /* at most so long a door that is to be shut waits for those who came before to be taken */

struct doors {
	bool refused[PLAN_SERVICES_MAX]; /* nobody listens: not to be polled */
	bool dropped[PLAN_SERVICES_MAX];
	const struct fault *of[PLAN_SERVICES_MAX]; /* that holds the door; NULL: it is open */
	uint64_t due_ms[PLAN_SERVICES_MAX];        /* 0, or when it is shut whoever waits */
	uint32_t drops[PLAN_SERVICES_MAX];         /* the listener's count when it began to drop */
	bool seen[FAULTS_MAX];                     /* a packet met it, and an operation says so */
	const char *failed; /* the fault that cannot be had here: core->failed says why; NULL none */
};
/* The world has such a fault that is not over. */
bool doors_wait(const struct http_core *core) __attribute__((nonnull));
/* Opens and closes; listeners by service.  A failure is core->failed. */
void doors_tick(struct doors *d, struct http_core *core, const int *listeners) __attribute__((nonnull));

#endif
