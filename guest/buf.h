/* SPDX-License-Identifier: GPL-2.0-or-later
 * buf.h - memory of the twins: a growing buffer with a maximum, JSON text into it, and an arena that is freed as a whole.
 * A failure (no memory, maximum reached) sticks and is asked for once, at the end. */
#ifndef GUEST_BUF_H
#define GUEST_BUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cJSON;

/* memcpy for what is mostly a few bytes, for which musl's has a start that costs more than they do. */
void copy_bytes(void *to, const void *from, size_t len) __attribute__((nonnull(1)));

struct buf {
	char *at; /* owned, not terminated; NULL while empty and when counting */
	size_t len, size;
	size_t max;    /* len never exceeds it */
	bool counting; /* nothing is stored, only len grows */
	bool failed;   /* something did not fit; len is what did */
};
void buf_init(struct buf *b, size_t max) __attribute__((nonnull));
void buf_init_count(struct buf *b) __attribute__((nonnull));
void buf_wipe(struct buf *b) __attribute__((nonnull)); /* frees; the buffer is empty and may be used again */
void buf_add(struct buf *b, const void *data, size_t len) __attribute__((nonnull(1)));
/* Here, so that the length of a literal is known where it is added. */
static inline __attribute__((nonnull)) void
buf_text(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}
void buf_unsigned(struct buf *b, uint64_t v) __attribute__((nonnull)); /* decimal digits */
void buf_format(struct buf *b, const char *format, ...) __attribute__((nonnull(1, 2), format(printf, 2, 3)));
void buf_cut(struct buf *b, size_t n) __attribute__((nonnull)); /* takes the first n bytes (at most len) away */
/* Adds a NUL that len does not count.  The text, or NULL after a failure. */
const char *buf_terminate(struct buf *b) __attribute__((nonnull));

/* JSON text.  A string is always valid UTF-8 afterwards: what is not becomes U+FFFD, NUL too; control characters, DEL and C1 are
 * escaped.  Numbers: integers up to 2^53 as digits, others shortest form that reads back equal, not finite null. */
void buf_json_string(struct buf *b, const char *s, size_t len) __attribute__((nonnull(1)));
void buf_json_text(struct buf *b, const char *s) __attribute__((nonnull(1))); /* NUL-terminated; NULL becomes null */
void buf_number(struct buf *b, double v) __attribute__((nonnull));
void buf_json(struct buf *b, const struct cJSON *json) __attribute__((nonnull(1))); /* NULL becomes null; compact */

/* Estimate of the heap that a cJSON tree takes (nodes, keys, strings with the allocator's overhead), bytes. */
size_t json_heap(const struct cJSON *json) __attribute__((nonnull));

/* Blocks of one size that go from one user to the next instead of back to the C library and again from it: what every request
 * takes.  At most `max` wait.  Not under a sanitizer, which should see what is used after its time. */
struct pool {
	size_t size, max;
	void *first; /* private */
	size_t len;
};
void *pool_take(struct pool *p) __attribute__((malloc, nonnull)); /* not cleared; NULL: no memory */
void pool_give(struct pool *p, void *block) __attribute__((nonnull(1)));

/* Blocks that live until arena_wipe. */
struct arena {
	struct arena_block *blocks; /* private */
	size_t used, max;           /* bytes handed out, and their bound */
	bool failed;
};
void arena_init(struct arena *a, size_t max) __attribute__((nonnull));
void arena_wipe(struct arena *a) __attribute__((nonnull));
void *arena_alloc(struct arena *a, size_t len) __attribute__((nonnull)); /* zeroed, aligned; NULL after a failure */
char *arena_copy(struct arena *a, const char *s, size_t len) __attribute__((nonnull(1))); /* with a NUL */

#endif
