/* SPDX-License-Identifier: GPL-2.0-or-later
 * idempotency.h - keys of calls that may be sent again: agenttwin-world(5), "Idempotency".
 *
 * A key is reserved before the effect and keeps the whole reply.  Its bytes count as state of the run, so the table is as
 * bounded as that: a key that finds no room is answered 507, never forgotten. */
#ifndef GUEST_IDEMPOTENCY_H
#define GUEST_IDEMPOTENCY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct request;
struct service;

#define IDEMPOTENCY_KEY_MAX 255u /* bytes */

enum idempotency_form { IDEMPOTENCY_NONE, IDEMPOTENCY_STRIPE, IDEMPOTENCY_IETF };
struct idempotency_key; /* private: what is known of one key */
struct idempotency {
	enum idempotency_form form;
	bool required; /* a call of such a method without a key is answered 400 */
	uint64_t keep_ms;
	const char **methods;
	size_t methods_len;
	struct idempotency_key **table; /* private: by digest, power of two */
	size_t table_len, len;
	struct idempotency_key *oldest, *newest;
};
void idempotency_wipe(struct idempotency *t) __attribute__((nonnull));

/* Before the effect.  Sets a->idempotency, the verdict, or leaves it NULL when keys do not count here.  *go false: the answer
 * stands (a replay, or a refusal).  True: the effect may run; a->key is then the reservation, NULL without a key.
 * 0; -ENOMEM. */
int idempotency_begin(struct service *s, const struct request *q, double now, struct answer *a, bool *go)
	__attribute__((warn_unused_result, nonnull));
/* The answer is what every later call with the key gets.  0; -ENOSPC no room, -ENOMEM: nothing is stored. */
int idempotency_store(struct service *s, struct answer *a) __attribute__((warn_unused_result, nonnull));
/* Nothing happened: the key is as new again.  a->key becomes NULL. */
void idempotency_drop(struct service *s, struct answer *a) __attribute__((nonnull));
/* The reply has left, or never will: until then the key is in use.  NULL accepted. */
void idempotency_release(struct idempotency_key *key);

#endif
