/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_hash.h - SHA-256 as proto/sha256.h has it, by the processor's own instructions where there are some: each call of the twins
 * takes several digests.  Root does not link it. */
#ifndef GUEST_TWIN_HASH_H
#define GUEST_TWIN_HASH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/sha256.h"

struct twin_hash { /* private */
	bool native;
	union {
		struct {
			uint32_t state[8];
			uint64_t len;
			size_t held; /* bytes of block */
			uint8_t block[64];
		};
		struct sha256 portable;
	};
};
void twin_hash_init(struct twin_hash *h) __attribute__((nonnull));
void twin_hash_add(struct twin_hash *h, const void *data, size_t len) __attribute__((nonnull(1)));
/* Once; nothing can be added afterwards. */
void twin_hash_get(struct twin_hash *h, uint8_t out[static 32]) __attribute__((nonnull));
void twin_hash_of(const void *data, size_t len, uint8_t out[static 32]) __attribute__((nonnull(3)));
/* For tests: false: the portable one is used from now on.  Returns what was. */
bool twin_hash_native(bool wanted);

#endif
