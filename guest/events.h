/* SPDX-License-Identifier: GPL-2.0-or-later
 * events.h - what the twins send to the workflow by themselves: signed webhooks with their retries, requests of triggers, and
 * second deliveries of both.  Each attempt is an operation.  Never blocks; the caller polls. */
#ifndef GUEST_EVENTS_H
#define GUEST_EVENTS_H
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct cJSON;
struct delivery;
struct http_core;
struct service;
struct trigger_spec;

#define EVENTS_FLYING_MAX 32u         /* connections at once */
#define EVENTS_WAITING_MAX 4096u      /* deliveries that are not done; more are lost, and counted */
#define EVENTS_MEMORY_MAX (64u << 20) /* bytes of their bodies */
#define EVENTS_HOLD_MS 100u           /* order reversed: what comes within so long of another is held */

/* One event or one trigger, however often it is delivered. */
struct event;
struct events {
	struct http_core *core; /* borrowed: operations, clock, world */
	uint64_t now;           /* of the last call, CLOCK_MONOTONIC ms */
	bool open;              /* the workflow is ready: deliveries may leave */
	bool dirty;             /* private: something changed for those that wait */
	uint64_t next_ms;       /* private: when one of them is due; UINT64_MAX none */
	struct delivery *first, *last;
	size_t len, flying, memory;
	int failed; /* -ENOMEM; sticks */
};
void events_init(struct events *v, struct http_core *core) __attribute__((nonnull));
void events_wipe(struct events *v) __attribute__((nonnull));
/* The workflow is ready: challenges first, then whatever waits. */
void events_open(struct events *v, uint64_t now) __attribute__((nonnull));
/* What the effects of an answered request let its service tell; takes the list out of the answer. */
void events_take(struct events *v, struct service *s, struct answer *a) __attribute__((nonnull));
/* A trigger's request or event.  The event is the caller's until events_release; NULL: it is lost, and counted. */
struct event *events_trigger(struct events *v, const struct trigger_spec *t) __attribute__((nonnull));
/* All deliveries of it are over. */
bool event_is_over(const struct event *e) __attribute__((nonnull));
/* What came of a trigger's event, as an operation of the trigger; after it is over. */
void event_record(struct events *v, const struct event *e) __attribute__((nonnull));
void events_release(struct events *v, struct event *e) __attribute__((nonnull));
bool events_are_idle(const struct events *v) __attribute__((nonnull)); /* nothing waits, nothing is on its way */
/* At most EVENTS_FLYING_MAX entries; their number. */
size_t events_polls(const struct events *v, struct pollfd *p) __attribute__((nonnull));
/* polls: as events_polls filled them. */
void events_serve(struct events *v, const struct pollfd *polls, size_t len, uint64_t now) __attribute__((nonnull(1)));
/* How long nothing needs to happen without a socket saying so, ms; -1 for ever. */
int events_patience(const struct events *v, uint64_t now) __attribute__((nonnull));
/* The workflow is dead: what is on its way or was never sent becomes an operation that says so. */
void events_finish(struct events *v, uint64_t now) __attribute__((nonnull));

#endif
