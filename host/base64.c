/* SPDX-License-Identifier: GPL-2.0-or-later
 * base64.c - see base64.h. */
#include "host/base64.h"

#include <errno.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
base64_text(const void *data, size_t len, char *out)
{
	const uint8_t *in = data;
	size_t i, left, n = 0;
	uint32_t v;

	for (i = 0; i < len; i += 3) {
		left = len - i;
		v = (uint32_t)in[i] << 16;
		if (left > 1)
			v |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			v |= in[i + 2];
		out[n++] = digits[v >> 18];
		out[n++] = digits[(v >> 12) & 63];
		out[n++] = left > 1 ? digits[(v >> 6) & 63] : '=';
		out[n++] = left > 2 ? digits[v & 63] : '=';
	}
	return n;
}

static int
digit(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'             ? 62
	       : c == '/'             ? 63
				      : -1;
}

long
base64_bytes(const char *text, size_t len, uint8_t *out, size_t size)
{
	size_t i, k, pad = 0, n = 0;
	uint32_t v;
	int d;

	if (len % 4)
		return -EPROTO;
	if (len && text[len - 1] == '=')
		pad = text[len - 2] == '=' ? 2 : 1;
	if (len / 4 * 3 - pad > size)
		return -EMSGSIZE;
	for (i = 0; i < len; i += 4) {
		size_t have = i + 4 == len ? 4 - pad : 4;

		for (v = 0, k = 0; k < 4; k++) {
			d = k < have ? digit(text[i + k]) : 0;
			if (d < 0)
				return -EPROTO;
			v = v << 6 | (uint32_t)d;
		}
		if ((have == 2 && (v & 0xffff)) || (have == 3 && (v & 0xff)))
			return -EPROTO;
		out[n++] = (uint8_t)(v >> 16);
		if (have > 2)
			out[n++] = (uint8_t)(v >> 8);
		if (have > 3)
			out[n++] = (uint8_t)v;
	}
	return (long)n;
}
