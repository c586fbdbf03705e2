/* SPDX-License-Identifier: GPL-2.0-or-later
 * mask.h - replaces every secret of the run by {{secret.NAME}} in what is recorded: as it is, and as base64 (at any of the
 * three positions), percent-encoded and JSON-escaped. */
#ifndef GUEST_MASK_H
#define GUEST_MASK_H
#include <stdbool.h>
#include <stddef.h>

#include "guest/buf.h"

struct cJSON;
struct mask_form;

struct mask {
	struct mask_form *forms; /* private */
	size_t forms_len;
};
/* secrets: object NAME -> value; NULL none.  Values of fewer than 4 bytes are not replaced: they would hit everything.
 * Memory lies in arena.  0, -EPROTO a value is no string, -ENOMEM. */
int mask_init(struct mask *m, const struct cJSON *secrets, struct arena *arena)
	__attribute__((warn_unused_result, nonnull(1, 3)));
/* Adds data with all secrets replaced; leftmost first, the longest of those.  True if there was one. */
bool mask_add(struct mask *m, const char *data, size_t len, struct buf *out) __attribute__((nonnull(1, 4)));
/* True if there is one: without, mask_add would add data as it is. */
bool mask_is_in(const struct mask *m, const char *data, size_t len) __attribute__((nonnull));
/* The same for a host name, at most a few hundred bytes: in any case, since resolvers write names in lower case. */
void mask_add_name(const struct mask *m, const char *data, size_t len, struct buf *out) __attribute__((nonnull));

/* Decodes base64 or base64url, padding optional, into out, at most size bytes.  Its length, or -EPROTO. */
int base64_decode(const char *s, size_t len, char *out, size_t size) __attribute__((warn_unused_result, nonnull));

#endif
