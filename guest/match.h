/* SPDX-License-Identifier: GPL-2.0-or-later
 * match.h - what a route wants of a request besides method and path: agenttwin-world(5), "Routes", prepared when the world
 * is read. */
#ifndef GUEST_MATCH_H
#define GUEST_MATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct cJSON;
struct reading;
struct request;
struct matcher;

enum condition_of { CONDITION_QUERY, CONDITION_HEADER, CONDITION_FORM, CONDITION_BODY };
struct condition {
	enum condition_of of;
	const char *name; /* of the field; NULL: the JSON body itself */
	const struct matcher *matcher;
	uint32_t need; /* what a request that fits must have in its digest; 0 nothing */
};
/* Reads query, headers and body of a match.  *out in the arena.  0; -EPROTO, -EMSGSIZE, -ENOMEM, noted in g. */
int conditions_read(struct reading *g, const struct cJSON *match, const struct condition **out, size_t *len)
	__attribute__((warn_unused_result, nonnull));

/* What a request has, as bits: what they lack it has not, the other way round nothing is said.  With it most of many routes
 * are passed over without a look at the body. */
#define DIGEST_WORDS 512u
struct digest {
	bool filled;
	uint64_t bits[DIGEST_WORDS];
};
/* All hold.  *d is filled on first use for a request. */
bool conditions_hold(const struct condition *c, size_t len, const struct request *q, struct digest *d)
	__attribute__((nonnull(3, 4)));
/* How many of them hold. */
size_t conditions_held(const struct condition *c, size_t len, const struct request *q) __attribute__((nonnull(3)));
/* Says in out what the first that does not hold wants: never what the request has, which may hold a secret. */
void conditions_describe(const struct condition *c, size_t len, const struct request *q, char *out, size_t size)
	__attribute__((nonnull(3, 4)));

#endif
