/* SPDX-License-Identifier: GPL-2.0-or-later
 * cursor.h - bounded reader and writer over bytes that the caller owns.  A failure sticks and is asked for once, at the
 * end.  Integers are big-endian.  Never allocates. */
#ifndef PROTO_CURSOR_H
#define PROTO_CURSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *at;
	size_t left;
	bool failed; /* something was asked for that was not there */
};
void reader_init(struct reader *r, const void *data, size_t len) __attribute__((nonnull(1)));
uint8_t read_u8(struct reader *r) __attribute__((nonnull)); /* 0 after a failure */
uint16_t read_u16(struct reader *r) __attribute__((nonnull));
uint32_t read_u32(struct reader *r) __attribute__((nonnull));
uint64_t read_u64(struct reader *r) __attribute__((nonnull));
/* len bytes, borrowed; NULL after a failure. */
const uint8_t *read_bytes(struct reader *r, size_t len) __attribute__((nonnull));
/* A NUL-terminated string, borrowed; NULL after a failure (no NUL in what is left). */
const char *read_string(struct reader *r) __attribute__((nonnull));
/* 0 if nothing failed and nothing is left, else -EPROTO. */
int reader_finish(const struct reader *r) __attribute__((warn_unused_result, nonnull));

struct writer {
	uint8_t *at; /* start of the buffer */
	size_t len;  /* bytes written */
	size_t size; /* bytes in the buffer */
	bool failed; /* something did not fit (no part of it was written, nor anything after); len is what did */
};
void writer_init(struct writer *w, void *buf, size_t size) __attribute__((nonnull(1)));
void write_u8(struct writer *w, uint8_t v) __attribute__((nonnull));
void write_u16(struct writer *w, uint16_t v) __attribute__((nonnull));
void write_u32(struct writer *w, uint32_t v) __attribute__((nonnull));
void write_u64(struct writer *w, uint64_t v) __attribute__((nonnull));
void write_bytes(struct writer *w, const void *data, size_t len) __attribute__((nonnull(1)));
void write_string(struct writer *w, const char *s) __attribute__((nonnull)); /* with its NUL */
void write_text(struct writer *w, const char *s) __attribute__((nonnull));   /* without */
/* printf into the writer; needs one byte more than it writes. */
void write_format(struct writer *w, const char *format, ...) __attribute__((nonnull(1, 2), format(printf, 2, 3)));

/* JSON text (RFC 8259) into the same writer.  The caller writes braces, commas and colons with write_text; these write
 * one value each.  json_string escapes all that JSON and a terminal need and replaces bytes that are not UTF-8 by
 * U+FFFD, so the output is always valid UTF-8; NUL becomes U+FFFD too, because json_scan refuses \u0000. */
void json_string(struct writer *w, const char *s, size_t len) __attribute__((nonnull(1)));
void json_text(struct writer *w, const char *s) __attribute__((nonnull(1))); /* NUL-terminated; NULL becomes null */
void json_bool(struct writer *w, bool v) __attribute__((nonnull));
void json_u64(struct writer *w, uint64_t v) __attribute__((nonnull));
void json_hex(struct writer *w, const uint8_t *data, size_t len) __attribute__((nonnull(1))); /* a string of digits */

/* Scans len bytes as strict JSON without building anything: RFC 8259 grammar, UTF-8, no duplicate key within an object
 * (compared after unescaping; at most 65,536 keys in one object and those around it), nesting at most depth_max, no NUL
 * (\u0000 neither), lone surrogates refused.  Linear in len but for the duplicate check, which is len log len at most.
 * Uses one static table of keys: not for two threads at once. */
#define JSON_SCAN_DEPTH_MAX 256u /* the most that depth_max may be (asserted) */
#define JSON_SCAN_KEYS_MAX 65536u
struct json_scan {
	size_t offset;         /* of the first problem, bytes from the start */
	uint32_t line, column; /* of it, from 1; column in bytes */
	const char *problem;   /* static text */
	char pointer[1024];    /* JSON Pointer (RFC 6901) of the value or member concerned; cut with "..." */
};
/* 0; -EPROTO malformed or duplicate key; -EMSGSIZE too deep, too many keys, 4 GiB or more.  *s filled only on failure. */
int json_scan(const char *text, size_t len, uint32_t depth_max, struct json_scan *s)
	__attribute__((warn_unused_result, nonnull));
/* Line and column (from 1) of the value at a JSON Pointer in text that json_scan accepted; of its key when key is true
 * and the value is an object's member.  -ENOENT if there is none. */
int json_locate(const char *text, size_t len, const char *pointer, bool key, uint32_t *line, uint32_t *column)
	__attribute__((warn_unused_result, nonnull));

#endif
