/* SPDX-License-Identifier: GPL-2.0-or-later
 * draw.h - what is drawn at random, drawn from the seed: a function of the run's seed and of which call it is for, never
 * of what else arrived meanwhile.  Two runs in which the same calls come in another order draw the same. */
#ifndef GUEST_DRAW_H
#define GUEST_DRAW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;
struct service;
struct world;

/* Which call of a service it is.  Calls with equal method, target and body (credentials named) are told apart by the
 * idempotency key: which of the keys seen so far, not its text, since SDKs draw keys at random; then by how many with that
 * key came before. */
struct draw_call {
	bool known;
	uint8_t digest[32]; /* of service, method, target, body */
	uint64_t key;       /* 0 the first key of such calls, or none */
	uint64_t attempt;   /* 0 the first call with that key */
};
struct draw_seen {
	uint8_t digest[16]; /* zero: free */
	uint32_t keys;      /* of a body: keys seen; of a key: which one */
	uint32_t attempts;
};
struct draws {                  /* of one service; about 50 bytes a call that draws */
	struct draw_seen *seen; /* owned */
	size_t len, size;
};
/* Finds out which call q is and counts it; once a call.  0 or -ENOMEM. */
int draw_enter(struct world *w, struct service *s, const struct request *q, struct draw_call *c)
	__attribute__((warn_unused_result, nonnull));
/* The same for what is no call: c->digest says what it is.  Counts how often it came.  0 or -ENOMEM. */
int draw_again(struct service *s, struct draw_call *c) __attribute__((warn_unused_result, nonnull));
/* The n-th draw for a purpose ("agenttwin-id/1").  c is known. */
void draw_take(const struct world *w, const struct draw_call *c, const char *purpose, uint64_t n,
	       uint8_t out[static 32]) __attribute__((nonnull));
void draws_wipe(struct draws *d) __attribute__((nonnull));
#endif
