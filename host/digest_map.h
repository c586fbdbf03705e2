/* SPDX-License-Identifier: GPL-2.0-or-later
 * digest_map.h - numbers by text: a hash table over 128 bits of SHA-256, so that whoever chooses the texts cannot make it slow,
 * and 20 bytes a text whatever its length.  At most half full. */
#ifndef HOST_DIGEST_MAP_H
#define HOST_DIGEST_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest_entry { /* private */
	uint8_t digest[16];
	uint32_t value;
	uint32_t used;
};
struct digest_map {                /* zeroed: empty */
	struct digest_entry *list; /* owned */
	size_t len, size;
};
void digest_map_wipe(struct digest_map *m) __attribute__((nonnull));
/* The number of text[0..len), 0 and *added when it is new.  NULL: no memory.  Good until the next call. */
uint32_t *digest_map_add(struct digest_map *m, const void *text, size_t len, bool *added)
	__attribute__((warn_unused_result, nonnull(1, 4)));
/* NULL: it is not there. */
uint32_t *digest_map_find(const struct digest_map *m, const void *text, size_t len) __attribute__((nonnull(1)));
#endif
