/* SPDX-License-Identifier: GPL-2.0-or-later
 * spool_text.c - output as a JSON string.  The same text as json_string gives for valid UTF-8, but most bytes pass with one
 * look: a run may print hundreds of megabytes. */
#include <string.h>

#include "host/spool.h"
#include "proto/cursor.h"

#define EIGHT(byte) (0x0101010101010101u * (byte))

/* Eight ASCII bytes. */
static bool
is_ascii8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return (v & EIGHT(0x80)) == 0;
}

/* High bits where a byte is zero; above one that is, others may be set. */
static uint64_t
zeros(uint64_t v)
{
	return (v - EIGHT(1)) & ~v & EIGHT(0x80);
}

/* Eight bytes that are copied as they are. */
static bool
is_plain8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return ((v & EIGHT(0x80)) | ((v - EIGHT(0x20)) & ~v & EIGHT(0x80)) | zeros(v ^ EIGHT('"')) |
		zeros(v ^ EIGHT('\\')) | zeros(v ^ EIGHT(0x7f))) == 0;
}

/* Bytes of the valid UTF-8 character at p, 0 none. */
static size_t
character(const uint8_t *p, size_t len)
{
	size_t n, i;
	uint32_t c;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len < n)
		return 0;
	c = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = (c << 6) | (p[i] & 0x3fu);
	}
	if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return n;
}

bool
spool_is_text(const uint8_t *p, size_t len)
{
	size_t i = 0, n;

	while (i < len) {
		if (len - i >= 8 && is_ascii8(p + i)) {
			i += 8;
			continue;
		}
		n = character(p + i, len - i);
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

size_t
spool_text_whole(const uint8_t *p, size_t len)
{
	size_t k, n;

	for (k = 1; k <= 3 && k <= len; k++) {
		uint8_t c = p[len - k];

		if ((c & 0xc0) == 0x80)
			continue;
		n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		return n > k ? len - k : len;
	}
	return len;
}

/* What is copied as it is: printable ASCII but " and \, and the characters beyond whose first byte says that json_string
 * escapes none of them.  First bytes with some that are: C2 (C1), D8 (U+061C), E2 (U+200E...2069), EF (U+FEFF). */
static size_t
copied(const uint8_t *p)
{
	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != '"' && p[0] != '\\' && p[0] != 0x7f;
	if (p[0] == 0xc2 || p[0] == 0xd8 || p[0] == 0xe2 || p[0] == 0xef)
		return 0;
	return p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
}

size_t
spool_text(const uint8_t *p, size_t len, char *out)
{
	size_t i = 0, n = 1, k;
	struct writer w;
	char one[32];

	out[0] = '"';
	while (i < len) {
		if (len - i >= 8 && is_plain8(p + i)) {
			memcpy(out + n, p + i, 8);
			n += 8;
			i += 8;
			continue;
		}
		if ((k = copied(p + i)) == 1) {
			out[n++] = (char)p[i++];
			continue;
		}
		if (k > 1) {
			memcpy(out + n, p + i, k);
			n += k;
			i += k;
			continue;
		}
		if (p[i] == '"' || p[i] == '\\' || p[i] == '\n') {
			out[n++] = '\\';
			out[n++] = p[i] == '\n' ? 'n' : (char)p[i];
			i++;
			continue;
		}
		k = character(p + i, len - i);
		writer_init(&w, one, sizeof(one));
		json_string(&w, (const char *)p + i, k ? k : 1);
		memcpy(out + n, one + 1, w.len - 2);
		n += w.len - 2;
		i += k ? k : 1;
	}
	out[n++] = '"';
	return n;
}
