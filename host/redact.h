/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact.h - takes secret values out of bytes before anything is written: each value becomes {{secret.NAME}}, as it is and in
 * the forms of redact_forms.c: base64 and base32 wherever the value begins in them, hexadecimal, UTF-16, and the escapes of JSON,
 * JavaScript, URLs and HTML.  Works on streams: a value is found wherever the chunks are cut.  Memory is bounded by the patterns.
 * Not found: base64 broken into lines within a value, and values that the workflow changed in another way. */
#ifndef HOST_REDACT_H
#define HOST_REDACT_H
#include <stddef.h>
#include <stdint.h>

#define REDACT_PIECE 65536u /* bytes worked on at a time */

struct redact; /* the patterns of a run; owned by the caller, redact_free */
/* Receives redacted bytes in order; 0 or -errno, which ends the stream. */
typedef int redact_sink(void *arg, const void *data, size_t len);

struct redact *redact_new(void);    /* NULL: no memory */
void redact_free(struct redact *r); /* wipes; NULL accepted */
/* Adds all forms of a value.  An empty value is ignored.  0 or -ENOMEM. */
int redact_add(struct redact *r, const char *name, const char *value, size_t len)
	__attribute__((warn_unused_result, nonnull));

struct redact_stream {
	const struct redact *r; /* borrowed; NULL: nothing is replaced */
	redact_sink *sink;
	void *arg;
	uint8_t *buf;      /* private: what could still become a match, then the piece */
	size_t have, size; /* private */
};
int redact_stream_init(struct redact_stream *s, const struct redact *r, redact_sink *sink, void *arg)
	__attribute__((warn_unused_result, nonnull(1, 3)));
int redact_stream_add(struct redact_stream *s, const void *data, size_t len)
	__attribute__((warn_unused_result, nonnull(1)));
/* Hands on what was held back.  The stream can be used again afterwards. */
int redact_stream_finish(struct redact_stream *s) __attribute__((warn_unused_result, nonnull));
void redact_stream_wipe(struct redact_stream *s) __attribute__((nonnull));
/* All at once. */
int redact_whole(const struct redact *r, const void *data, size_t len, redact_sink *sink, void *arg)
	__attribute__((warn_unused_result, nonnull(4)));
/* The same of one JSON value, which stays one: a number that holds a value becomes a string that names it, and of keys that
 * become equal within one object all but the first get a number (redact_keys.h).  Memory grows with the value. */
int redact_json(const struct redact *r, const char *json, size_t len, redact_sink *sink, void *arg)
	__attribute__((warn_unused_result, nonnull(2, 4)));
/* Redacts the text in buf (NUL-terminated, of size bytes) in place; what does not fit any more is cut off. */
void redact_text(const struct redact *r, char *buf, size_t size) __attribute__((nonnull(2)));
#endif
