/* SPDX-License-Identifier: GPL-2.0-or-later
 * utf8.c - see utf8.h */
#include "proto/utf8.h"

#include <assert.h>

size_t
utf8_decode(const char *s, size_t len, uint32_t *out)
{
	/* Smallest code point of each length: anything below it is an overlong form. */
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t n;
	uint8_t c;

	if (len == 0)
		return 0;
	c = (uint8_t)s[0];
	if (c < 0x80) {
		*out = c;
		return 1;
	}
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (len < n)
		return 0;
	code = c & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		c = (uint8_t)s[i];
		if ((c & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c & 0x3fu);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*out = code;
	return n;
}

size_t
utf8_encode(uint32_t code, char out[static 4])
{
	assert(code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff));
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool
utf8_is_valid(const char *s, size_t len)
{
	uint32_t code;

	while (len > 0) {
		size_t n = utf8_decode(s, len, &code);

		if (n == 0)
			return false;
		s += n;
		len -= n;
	}
	return true;
}
