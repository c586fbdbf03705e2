/* SPDX-License-Identifier: GPL-2.0-or-later
 * base64.h - base64 (RFC 4648 section 4): the standard alphabet, padded, no line breaks. */
#ifndef HOST_BASE64_H
#define HOST_BASE64_H
#include <stddef.h>
#include <stdint.h>

/* Characters that len bytes become, without a NUL. */
#define BASE64_LEN(len) (((len) + 2) / 3 * 4)

/* Writes BASE64_LEN(len) characters; returns how many. */
size_t base64_text(const void *data, size_t len, char *out) __attribute__((nonnull));
/* Decodes text of exactly len characters into out[0..size).  Strict: no other character, padding where it belongs, no stray bits
 * in the last character, so that bytes have one text only.  Returns their number; -EPROTO; -EMSGSIZE when out is too small. */
long base64_bytes(const char *text, size_t len, uint8_t *out, size_t size) __attribute__((warn_unused_result, nonnull));
#endif
