/* SPDX-License-Identifier: GPL-2.0-or-later
 * trace.h - what of an operation makes two runs the same, whatever the order in which calls arrived:
 * agenttwin-receipt(5), "The fingerprint".  The same from the guest's record and from a receipt. */
#ifndef HOST_TRACE_H
#define HOST_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* The order of operations within the fingerprint: service, group, the number of the first operation of the group with this
 * key, number.  The key's own text counts nowhere: many SDKs make it from random bytes. */
struct trace_op {
	uint8_t group[32];   /* of route, method, target and body: calls that are told apart only by when they came */
	uint8_t key[16];     /* of the idempotency key; zero without */
	uint8_t content[32]; /* of all that the fingerprint takes of it */
};
struct trace_place { /* what an operation is sorted by */
	size_t service;
	uint8_t group[32], key[16];
	uint64_t n, rank;   /* rank is filled by trace_sort */
	const void *origin; /* the caller's */
};
/* Into the order of the fingerprint. */
void trace_sort(struct trace_place *list, size_t len);
/* Of one call, validated or not: what is missing counts as empty. */
void trace_call(const struct cJSON *op, struct trace_op *out) __attribute__((nonnull(2)));
/* Is it a call of the twins, a webhook or a trigger?  What the workflow replies to it is no part of the fingerprint. */
bool trace_is_sent(const struct cJSON *op);
/* The part that a fault has in the fingerprint: its id, or NULL. */
const char *trace_fault(const struct cJSON *op);
#endif
