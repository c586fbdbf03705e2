/* SPDX-License-Identifier: GPL-2.0-or-later
 * digest.h - SHA-256 of what is long: the workflow's output and the event file.  The same digests as proto/sha256.h gives,
 * several times faster where the processor has instructions for them.  Never allocates. */
#ifndef HOST_DIGEST_H
#define HOST_DIGEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/sha256.h"

struct digest { /* private */
	bool hard;
	struct sha256 soft; /* unless hard */
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};
bool digest_is_hard(void); /* the processor's instructions are used */
void digest_init(struct digest *d) __attribute__((nonnull));
void digest_add(struct digest *d, const void *data, size_t len) __attribute__((nonnull(1)));
/* May be called at any time; adding may go on afterwards. */
void digest_get(const struct digest *d, uint8_t out[static 32]) __attribute__((nonnull));
#endif
