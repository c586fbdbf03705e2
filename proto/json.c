/* SPDX-License-Identifier: GPL-2.0-or-later
 * json.c - JSON values into a writer, see cursor.h */
#include <string.h>

#include "proto/cursor.h"
#include "proto/utf8.h"

/* Code points that JSON allows as they are but that move a terminal's cursor, end a line or reorder what is read. */
static bool
is_escaped(uint32_t code)
{
	return code < 0x20 || code == '"' || code == '\\' || (code >= 0x7f && code <= 0x9f) || code == 0x061c ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

static void
write_escaped(struct writer *w, uint32_t code)
{
	static const char digits[] = "0123456789abcdef";
	static const char shorts[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = code < 0x80 ? strchr(shorts, (int)code) : NULL;
	char text[6] = {
		'\\', 'u', digits[code >> 12 & 15], digits[code >> 8 & 15], digits[code >> 4 & 15], digits[code & 15]
	};

	if (code == 0) { /* \u0000 is JSON, but json_scan refuses it, as many a reader does */
		write_text(w, "\xef\xbf\xbd");
	} else if (at) {
		text[1] = letters[at - shorts];
		write_bytes(w, text, 2);
	} else {
		write_bytes(w, text, sizeof(text));
	}
}

void
json_string(struct writer *w, const char *s, size_t len)
{
	size_t start = 0, i = 0;

	write_u8(w, '"');
	while (i < len && !w->failed) {
		uint32_t code = 0;
		size_t n = utf8_decode(s + i, len - i, &code);

		if (n > 0 && !is_escaped(code)) {
			i += n;
			continue;
		}
		write_bytes(w, s + start, i - start);
		if (n == 0) { /* one byte that is not UTF-8 */
			write_text(w, "\xef\xbf\xbd");
			n = 1;
		} else {
			write_escaped(w, code);
		}
		i += n;
		start = i;
	}
	if (start < i)
		write_bytes(w, s + start, i - start);
	write_u8(w, '"');
}

void
json_text(struct writer *w, const char *s)
{
	if (s)
		json_string(w, s, strlen(s));
	else
		write_text(w, "null");
}

void
json_bool(struct writer *w, bool v)
{
	write_text(w, v ? "true" : "false");
}

void
json_u64(struct writer *w, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	write_bytes(w, digits + n, sizeof(digits) - n);
}

void
json_hex(struct writer *w, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	write_u8(w, '"');
	for (size_t i = 0; i < len && !w->failed; i++) {
		write_u8(w, (uint8_t)digits[data[i] >> 4]);
		write_u8(w, (uint8_t)digits[data[i] & 15]);
	}
	write_u8(w, '"');
}
