/* SPDX-License-Identifier: GPL-2.0-or-later
 * answer.h - from a request to what the service does and says: host and credential, route, effects, reply. */
#ifndef GUEST_ANSWER_H
#define GUEST_ANSWER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"
#include "guest/draw.h"
#include "guest/fault.h"

struct cJSON;
struct answer_mark;
struct idempotency_key;
struct request;
struct route;
struct service;
struct world;

#define ANSWER_BODY_MAX (16u << 20) /* bytes of one reply */
#define ANSWER_ROWS_MAX 65536u      /* bytes of the rows that one call leaves, as JSON */

struct emitted {
	struct emitted *next;
	const char *event;
	struct cJSON *data; /* owned */
};
struct answer {
	int status;
	struct buf headers; /* whole lines, each with CRLF; Content-Type is among them if has_type */
	bool has_type;
	struct buf body;
	struct buf effects; /* JSON objects joined by commas */
	struct buf
		rows; /* likewise: the rows that they left, where the world wants them; failed: too large to be told */
	size_t *frames; /* owned: ends of what leaves piece by piece, bytes of body; none: it leaves as one */
	size_t frames_len;
	struct answer_mark *marks; /* owned: where the model's own text stands in body, llm.h */
	size_t marks_len;
	const struct route *route;   /* NULL: none matched */
	const struct route *nearest; /* of an unmatched request, NULL none */
	char difference[256];        /* of an unmatched request */
	bool unmatched;              /* an error of the run */
	const char *view;            /* "applied", "rejected" or "not-reached" */
	/* Owned: what the service tells of it, in order; events.c. */
	struct emitted *emitted;
	bool tells_error; /* the client was told of an error, whatever the status: Slack says so with 200 */
	bool is_unended;  /* the end of the body, by which its client knows that it has all, is missing */
	const struct service *service; /* its profile words errors; NULL: generic */
	const char *idempotency; /* "first", "replay", "in-flight", "mismatch", "expired"; NULL: keys do not count */
	struct idempotency_key *key; /* reserved by this call, to be released when the reply has left; or NULL */
	bool executed;               /* the route got as far as its own reply: what a key keeps */
	struct {
		bool counted;
		double now, ends;
		uint64_t used;
	} rate;                /* what the service's rate limit says of this call */
	struct draw_call call; /* which call it is, for what is drawn from the seed; known once something was */
	uint64_t t_ms;         /* of the run; set by the caller, for faults that last */
	uint64_t copy; /* of a request that a fault brings once more, from 1; set by the caller; 0: the call itself */
	struct fault_verdict faults; /* what the call met on its way */
	size_t sent;                 /* bytes of the reply that were to leave, when faults.hit */
	char request_id[33];         /* 32 hex digits; what the profile makes of it is in a header */
};
void answer_init(struct answer *a) __attribute__((nonnull));
void answer_wipe(struct answer *a) __attribute__((nonnull));
/* text in the form of the service's profile, {"error": text} without a service, instead of what is there; the view becomes
 * "rejected". */
void answer_error(struct answer *a, int status, const char *text) __attribute__((nonnull));
/* A reply that this twin cannot give: 500, and an error of the run, since the real service would have answered. */
void answer_too_large(struct answer *a, const char *text) __attribute__((nonnull));
/* Everything a whole, well-formed request causes, including the change of state.  now: the twin clock, ms since the epoch.
 * 0; -E2BIG an aggregate over too many rows (the run cannot go on); -ENOMEM. */
int answer_request(struct world *w, struct service *s, struct request *q, double now, struct answer *a)
	__attribute__((warn_unused_result, nonnull));

/* The first route that matches, or NULL with a->nearest and a->difference.  Puts the path parameters into the request.
 * 0; -ENOMEM, -E2BIG. */
struct eval;
int route_find(struct service *s, struct request *q, struct eval *e, struct answer *a)
	__attribute__((warn_unused_result, nonnull));
/* Method and path are those of the route, whatever else it wants. */
bool route_is_at(const struct route *route, const struct request *q) __attribute__((nonnull));
/* The verb of a matched resource route (never ROUTE_RESOURCE). */
int route_verb_of(const struct route *route, const struct request *q) __attribute__((nonnull));
bool host_is_of(const struct service *s, const char *host) __attribute__((nonnull));
bool credential_is_accepted(const struct service *s, const struct request *q) __attribute__((nonnull));

/* answer_fault.c.  Before the effect: *go false, the answer stands.  After it, if the service did what was asked.  Last, once
 * all headers are there.  0; -ENOMEM, -E2BIG. */
int fault_before(struct world *w, struct service *s, const struct request *q, struct eval *e, struct answer *a,
		 bool *go) __attribute__((warn_unused_result, nonnull));
int fault_after(struct world *w, struct service *s, const struct request *q, struct eval *e, struct answer *a)
	__attribute__((warn_unused_result, nonnull));
void fault_shape(const struct world *w, const struct request *q, struct answer *a) __attribute__((nonnull));
/* How many bytes of the body, of which len are there to leave, do so before a fault cuts it: never all of them. */
size_t fault_cut(const struct fault *f, const struct answer *a, size_t len) __attribute__((nonnull));

/* fault_stream.c: what goes wrong is said by one frame of a stream, which leaves in order. */
bool fault_is_in_stream(const struct fault *f) __attribute__((nonnull));
void fault_stream(const struct fault *f, struct answer *a) __attribute__((nonnull));

/* Effects and reply of a custom route; the verb of a resource.  0 or a failure as above; state changes are in the journal. */
int effects_run(struct service *s, struct request *q, struct eval *e, struct answer *a)
	__attribute__((warn_unused_result, nonnull));
int resource_run(struct service *s, struct request *q, struct eval *e, struct answer *a)
	__attribute__((warn_unused_result, nonnull));
void list_run(struct service *s, const struct request *q, struct answer *a) __attribute__((nonnull)); /* list.c */
/* What the service tells of it, with the rows that e binds as they are now.  0; a failure as above. */
int emits_run(struct eval *e, struct answer *a) __attribute__((warn_unused_result, nonnull));
/* Shared by the two.  The new row's id first; json is moved in, in any case.  Answers 409, 507, 400 itself: *row is NULL
 * then. */
struct collection;
struct row;
int row_create(struct service *s, struct collection *c, const char *id, struct cJSON *json, struct answer *a,
	       struct row **row) __attribute__((warn_unused_result, nonnull(1, 2, 3, 5, 6)));
int row_replace(struct service *s, struct collection *c, struct row *row, struct cJSON *json, struct answer *a)
	__attribute__((warn_unused_result, nonnull(1, 2, 3, 5)));
/* The id that json wants: member "id" (text or number), else a fresh one.  NULL with a->status set when it may not be. */
const char *row_id(struct eval *e, const struct cJSON *json, struct answer *a) __attribute__((nonnull(1, 3)));
bool is_row_id(const char *id) __attribute__((nonnull));
/* {"verb":"/collection/id/field"} */
void effect_note(struct answer *a, const char *verb, const char *collection, const char *id, const char *field)
	__attribute__((nonnull(1, 2, 3)));

#endif
