/* SPDX-License-Identifier: GPL-2.0-or-later
 * sha256.h - digests, so that callers need no crypto header.  Never allocates. */
#ifndef PROTO_SHA256_H
#define PROTO_SHA256_H
#include <stddef.h>
#include <stdint.h>

/* Incremental SHA-256 (FIPS 180-4). */
struct sha256 {
	uint64_t space[16]; /* private: holds a br_sha256_context */
};
void sha256_init(struct sha256 *h) __attribute__((nonnull));
void sha256_add(struct sha256 *h, const void *data, size_t len) __attribute__((nonnull(1)));
/* May be called at any time; adding may go on afterwards. */
void sha256_get(const struct sha256 *h, uint8_t out[static 32]) __attribute__((nonnull));
void sha256_of(const void *data, size_t len, uint8_t out[static 32]) __attribute__((nonnull(3)));
/* 64 lower-case hexadecimal digits and a NUL. */
void sha256_hex(const uint8_t digest[static 32], char out[static 65]) __attribute__((nonnull));

#endif
