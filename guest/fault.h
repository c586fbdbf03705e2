/* SPDX-License-Identifier: GPL-2.0-or-later
 * fault.h - which fault a call meets: agenttwin-world(5), "Faults".
 *
 * A decision is a pure function of the world, the seed and the calls so far.  A draw depends on nothing but the seed, the fault,
 * the call's key and how often that key was met, so that calls which arrive in another order meet the same. */
#ifndef GUEST_FAULT_H
#define GUEST_FAULT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"
#include "guest/eval.h"

struct cJSON;
struct fault_seen;
struct mask;
struct reading;
struct service;

#define FAULTS_MAX 64u
#define FAULT_NTH_MAX 64u /* numbers in one nth */

enum fault_class { FAULT_TIMEOUT_AFTER_WRITE, FAULT_BLACKHOLE, FAULT_SERVER_ERROR, FAULT_DUPLICATE_WRITE };
enum fault_phase {
	FAULT_CONNECT,
	FAULT_ACCEPTED,
	FAULT_MID_REQUEST,
	FAULT_BEFORE_EFFECT,
	FAULT_AFTER_EFFECT,
	FAULT_MID_REPLY,
	FAULT_REDELIVER,
};
#define FAULT_BIT(phase) (1u << (phase))
enum fault_select { FAULT_NTH, FAULT_FIRST, FAULT_EVERY, FAULT_CHANCE };
enum fault_lasts { FAULT_ONE_CALL, FAULT_CALLS, FAULT_MS, FAULT_UNTIL, FAULT_TO_THE_END };
enum fault_end {
	FAULT_END_NONE,
	FAULT_END_STALL,
	FAULT_END_FIN,
	FAULT_END_RST,
	FAULT_END_CLEAN,
	FAULT_END_REFUSE,
	FAULT_END_DROP,
};
enum fault_body {
	FAULT_BODY_AS_IS,
	FAULT_BODY_GARBLE,
	FAULT_BODY_HTML,
	FAULT_BODY_WRONG_LENGTH,
	FAULT_BODY_NOT_HTTP,
	FAULT_BODY_BAD_CHUNK,    /* from here on: the framing, which only a reply with a body shows */
	FAULT_BODY_UNTERMINATED, /* chunks without the last */
	FAULT_BODY_NO_LENGTH,    /* the end of the connection is that of the body: nothing is wrong with it */
};
enum fault_inside { FAULT_INSIDE_BODY, FAULT_INSIDE_TEXT, FAULT_INSIDE_ARGUMENTS };
enum fault_spacing { FAULT_AFTER, FAULT_DURING, FAULT_SPACED };

struct fault {
	const char *id;
	size_t index; /* place in the file */
	enum fault_class class;
	enum fault_phase phase;
	const struct service *service; /* NULL: the triggers, whose ids are the routes */
	const char *route, *event;     /* NULL: every call of the service; an event is not a call */
	/* which calls */
	bool has_after, has_key;
	struct expr after, key;
	enum fault_select select;
	uint64_t count; /* of FIRST and EVERY */
	uint64_t nth[FAULT_NTH_MAX];
	size_t nth_len;
	double chance;
	/* how long */
	enum fault_lasts lasts;
	uint64_t length; /* calls or ms */
	struct expr until;
	/* what happens */
	enum fault_end end;
	bool has_bytes, has_at;
	enum fault_inside inside;
	uint64_t bytes;
	double at;
	int status;       /* 0: not said */
	const char *code; /* or NULL */
	bool has_retry_after;
	uint64_t retry_after;
	enum fault_body body;
	bool is_slow;
	uint64_t first_ms, chunk_ms, chunk_bytes;
	uint64_t times; /* deliveries in all */
	enum fault_spacing spacing;
	uint64_t spacing_ms;
	bool new_id; /* of an event: each time another one */
	/* so far */
	bool begun, active, over;
	uint64_t calls, left, until_ms;
};
struct fault_set {
	struct fault *list; /* owned array */
	size_t len;
	uint64_t seed;
	struct mask *mask;       /* borrowed */
	struct fault_seen *seen; /* private: how often each fault met each key, 24 bytes a key, at most half full */
	size_t seen_len, seen_size;
};
/* One call, or one delivery of an event. */
struct fault_call {
	const struct service *service;
	const char *route, *event; /* or NULL */
	const char *key;           /* what identifies it, secrets and all; key_len bytes */
	size_t key_len;
	struct eval *eval; /* of the service's state, and the request if there is one */
	uint64_t t_ms;
};
struct fault_verdict {
	const struct fault *hit; /* NULL: none */
	bool drawn;
	double draw;            /* of hit */
	struct buf passed_over; /* JSON strings joined by commas: faults that fitted too */
	struct buf draws;       /* JSON objects joined by commas: every draw made */
};
/* The world's member "faults", after its services.  0; -EPROTO or -ENOMEM with the problem noted. */
int faults_read(struct reading *g, const struct cJSON *array) __attribute__((warn_unused_result, nonnull));
void faults_wipe(struct fault_set *set) __attribute__((nonnull));
/* A fault of one of these phases could meet calls of this service. */
bool faults_concern(const struct fault_set *set, const struct service *s, unsigned phases) __attribute__((nonnull));
void fault_verdict_init(struct fault_verdict *v) __attribute__((nonnull));
void fault_verdict_wipe(struct fault_verdict *v) __attribute__((nonnull));
/* The first in the file that the call meets.  now: phases that it is in; later: phases that it will come to, whose faults go
 * before if they stand before, but are decided when it has come there.  Adds to *v.  0; -ENOMEM, -E2BIG. */
int faults_decide(struct fault_set *set, const struct fault_call *call, unsigned now, unsigned later,
		  struct fault_verdict *v) __attribute__((warn_unused_result, nonnull));
/* Whether the window of a fault that no call opens (refused or dropped connections) is open.  0; -ENOMEM, -E2BIG. */
int fault_is_open(struct fault *f, struct eval *e, uint64_t t_ms, bool *open)
	__attribute__((warn_unused_result, nonnull));
/* From 0 up to but not 1. */
double fault_draw(uint64_t seed, const char *fault, const uint8_t key[static 32], uint64_t ordinal)
	__attribute__((nonnull));
const char *fault_phase_name(enum fault_phase phase) __attribute__((returns_nonnull));
const char *fault_end_name(enum fault_end end); /* NULL of FAULT_END_NONE */

#endif
