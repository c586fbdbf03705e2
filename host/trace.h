/* SPDX-License-Identifier: GPL-2.0-or-later
 * trace.h - what of an operation makes two runs the same, whatever the order in which calls arrived:
 * agenttwin-receipt(5), "The fingerprint".  The same from the guest's record and from a receipt. */
#ifndef HOST_TRACE_H
#define HOST_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* The order of operations within the fingerprint: service, group, number. */
struct trace_op {
	uint8_t group[32];   /* of the route and the key, or of method, target and body where there is no key */
	uint8_t content[32]; /* of all that the fingerprint takes of it */
};
/* Of one call, validated or not: what is missing counts as empty. */
void trace_call(const struct cJSON *op, struct trace_op *out) __attribute__((nonnull(2)));
/* The part that a fault has in the fingerprint: its id, or NULL. */
const char *trace_fault(const struct cJSON *op);
#endif
