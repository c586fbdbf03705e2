/* SPDX-License-Identifier: GPL-2.0-or-later
 * oprec.h - operations: each call that reached a twin, as the JSON of agenttwin-receipt(5), "One operation".  They are
 * numbered when they are answered and leave in that order, each once it is known what its client was told. */
#ifndef GUEST_OPREC_H
#define GUEST_OPREC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"

struct answer;
struct dns_asked;
struct request;
struct service;
struct world;
struct op;
struct op_seen;

#define OP_JSON_MAX 65536u   /* bytes of a request body that is recorded as JSON */
#define OP_EXCERPT_MAX 2048u /* bytes of one that is not */

enum op_told { OP_TOLD_OK, OP_TOLD_ERROR, OP_TOLD_NOTHING };

struct ops {
	struct world *world;     /* borrowed: secrets, limit */
	struct op *first, *last; /* not taken yet, in order */
	size_t bytes;            /* of those */
	uint64_t len;            /* operations so far: the next number */
	uint64_t refused;        /* calls beyond limits.operations */
	struct op_seen *seen;    /* private: digests of earlier calls, to find what is sent again */
	size_t seen_len, seen_size;
	struct buf scratch, text, rest; /* private: of the one that is being made */
};
struct op_input {
	const struct service *service;
	uint64_t conn, t_ms;
	const struct request *request; /* finished or not; method and target may be NULL */
	bool is_whole;                 /* the request was read to its end and is well-formed */
	bool is_head;                  /* its reply has no body */
	const char *raw;               /* of one that is not: its bytes, for the excerpt */
	size_t raw_len;
	const struct answer *answer;
};
void ops_init(struct ops *o, struct world *w) __attribute__((nonnull));
void ops_wipe(struct ops *o) __attribute__((nonnull));
bool ops_is_full(const struct ops *o) __attribute__((nonnull)); /* limits.operations is reached */
/* One whose text another file made, up to the client's view and from there; both are wiped.  NULL: no memory, or they did not
 * fit. */
struct op *ops_add_built(struct ops *o, struct buf *text, struct buf *rest) __attribute__((nonnull));
/* A new operation; its text is complete but for the client's view.  NULL: no memory. */
struct op *ops_add(struct ops *o, const struct op_input *in) __attribute__((nonnull));
/* A name that was asked of the DNS stub, answered or refused; settled at once.  False: no memory. */
bool ops_add_name(struct ops *o, const struct dns_asked *asked, uint64_t t_ms) __attribute__((nonnull));
/* Messages to the stub that are no question it takes, all with one problem; with a name: one message.  Settled at once.
 * False: no memory. */
bool ops_add_malformed(struct ops *o, const struct dns_asked *asked, const char *transport, uint64_t count,
		       uint64_t t_ms) __attribute__((nonnull));
/* What the client was told; once.  The op belongs to o and is gone after it was taken. */
void op_settle(struct op *op, enum op_told told) __attribute__((nonnull));
/* The next operation's whole JSON text appended to out, if it is settled.  False: nothing to take yet. */
bool ops_take(struct ops *o, struct buf *out) __attribute__((nonnull));

#endif
