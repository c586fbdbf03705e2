/* SPDX-License-Identifier: GPL-2.0-or-later
 * utf8.h - UTF-8 as RFC 3629 has it: no overlong form, no surrogate, nothing above U+10FFFF.  Never allocates. */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1 to 4) of the character that s[0..len) starts with and, in *out, its code point.  0 if there is none
 * (nothing left, malformed, cut off); *out is then untouched. */
size_t utf8_decode(const char *s, size_t len, uint32_t *out) __attribute__((warn_unused_result, nonnull(3)));
/* Bytes written to out (1 to 4) for a code point that is not a surrogate and at most 0x10ffff (asserted). */
size_t utf8_encode(uint32_t code, char out[static 4]) __attribute__((nonnull));
/* All of s[0..len) is UTF-8. */
bool utf8_is_valid(const char *s, size_t len);

#endif
