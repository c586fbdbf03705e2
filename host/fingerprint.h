/* SPDX-License-Identifier: GPL-2.0-or-later
 * fingerprint.h - what makes two runs the same, as one digest: agenttwin-receipt(5), "The fingerprint".  Fed in the order of the
 * functions below; from the evidence when a run ends, from a receipt when it is verified. */
#ifndef HOST_FINGERPRINT_H
#define HOST_FINGERPRINT_H
#include <stddef.h>
#include <stdint.h>

#include "host/trace.h"
#include "proto/sha256.h"

struct fingerprint_ops { /* how to go about what trace_place.origin stands for */
	const uint8_t *(*content)(const void *origin);
	/* The service's name; NULL: the DNS stub, whose equal questions count once, since how often depends on time-outs. */
	const char *(*label)(const void *arg, size_t service);
	const void *arg;
};
/* code: the exit code, -2 when no end of the workflow is recorded. */
void fingerprint_begin(struct sha256 *h, const char *policy, const char *world_sha256, uint64_t seed, int code,
		       unsigned signal) __attribute__((nonnull));
/* Sorts the list.  NULL with a length: they are not known, which makes the fingerprint equal to no whole record's. */
void fingerprint_operations(struct sha256 *h, struct trace_place *list, size_t len, const struct fingerprint_ops *ops)
	__attribute__((nonnull(1, 4)));
void fingerprint_check(struct sha256 *h, const char *id, const char *held) __attribute__((nonnull));
void fingerprint_state(struct sha256 *h, const char *sha256) __attribute__((nonnull));
void fingerprint_end(const struct sha256 *h, char out[static 65]) __attribute__((nonnull));
#endif
