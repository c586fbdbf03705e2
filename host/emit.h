/* SPDX-License-Identifier: GPL-2.0-or-later
 * emit.h - writes a JSON document piece by piece, in the order of the calls, through the redaction. */
#ifndef HOST_EMIT_H
#define HOST_EMIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/redact.h"

struct cJSON;

#define EMIT_DEPTH_MAX 16u

struct emit {
	FILE *f; /* borrowed */
	struct redact_stream redact;
	unsigned depth;
	char closers[EMIT_DEPTH_MAX];
	bool filled[EMIT_DEPTH_MAX + 1]; /* something stands before in this object or list */
	int error;                       /* first -errno; sticks */
};
int emit_init(struct emit *e, FILE *f, const struct redact *r) __attribute__((warn_unused_result, nonnull(1, 2)));
/* Closes nothing; hands on what the redaction held back.  0 or the first error. */
int emit_finish(struct emit *e) __attribute__((warn_unused_result, nonnull));
/* key NULL: an element of a list.  kind '{' or '['. */
void emit_open(struct emit *e, const char *key, char kind) __attribute__((nonnull(1)));
void emit_close(struct emit *e) __attribute__((nonnull));
void emit_text(struct emit *e, const char *key, const char *s) __attribute__((nonnull(1))); /* NULL becomes null */
void emit_bytes(struct emit *e, const char *key, const void *data, size_t len) __attribute__((nonnull(1)));
void emit_u64(struct emit *e, const char *key, uint64_t v) __attribute__((nonnull(1)));
void emit_i64(struct emit *e, const char *key, int64_t v) __attribute__((nonnull(1)));
void emit_bool(struct emit *e, const char *key, bool v) __attribute__((nonnull(1)));
void emit_null(struct emit *e, const char *key) __attribute__((nonnull(1)));
void emit_hex(struct emit *e, const char *key, const uint8_t digest[static 32]) __attribute__((nonnull(1, 3)));
void emit_raw(struct emit *e, const char *key, const char *json, size_t len) __attribute__((nonnull(1, 3)));
void emit_json(struct emit *e, const char *key, const struct cJSON *v)
	__attribute__((nonnull(1)));                                                           /* NULL becomes null */
void emit_time(struct emit *e, const char *key, uint64_t unix_ms) __attribute__((nonnull(1))); /* RFC 3339, UTC */
#endif
