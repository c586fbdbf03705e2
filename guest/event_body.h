/* SPDX-License-Identifier: GPL-2.0-or-later
 * event_body.h - an event as its service words it: a seeded id, the JSON body, and the header fields of each attempt. */
#ifndef GUEST_EVENT_BODY_H
#define GUEST_EVENT_BODY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"

struct cJSON;
struct events_spec;
struct service;
struct world;

#define EVENT_BODY_MAX (4u << 20) /* bytes of one event */

struct event_body {
	char id[64];
	struct buf bytes;        /* what is signed and sent, the same in every attempt */
	uint8_t data_sha256[32]; /* over what of it is the same in every run: the event's name and data */
	char challenge[33];      /* of a url_verification */
};
/* data NULL: an empty object.  0; -EMSGSIZE; -ENOMEM.  b must be wiped in any case. */
int event_body_make(struct event_body *b, const struct world *w, struct service *s, const char *name,
		    const struct cJSON *data, bool challenge) __attribute__((warn_unused_result, nonnull(1, 2, 3, 4)));
/* Whole lines for message_put, the signature among them, NUL-terminated.  attempt from 0; reason: why the one before failed
 * ("http_timeout", "http_error", "connection_failed"), NULL the first.  NULL: no memory. */
const char *event_body_fields(const struct event_body *b, const struct events_spec *s, const char *name,
			      unsigned attempt, const char *reason, uint64_t seconds, struct buf *out)
	__attribute__((warn_unused_result, nonnull(1, 2, 3, 7)));
/* The answer to a challenge: its text, or JSON {"challenge": text}. */
bool event_body_is_proof(const struct event_body *b, const char *answer, size_t len) __attribute__((nonnull));
void event_body_wipe(struct event_body *b) __attribute__((nonnull));

#endif
