/* SPDX-License-Identifier: GPL-2.0-or-later
 * json_text.c - see json_text.h */
#include "proto/json_text.h"

#include "proto/utf8.h"

bool
json_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int
json_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

size_t
json_skip_blank(const char *text, size_t len, size_t at)
{
	while (at < len && json_is_blank(text[at]))
		at++;
	return at;
}

/* Four digits at at, or JSON_CODE_END. */
static uint32_t
read_unit(const char *text, size_t len, size_t at)
{
	uint32_t unit = 0;

	if (at > len || len - at < 4)
		return JSON_CODE_END;
	for (size_t i = 0; i < 4; i++) {
		int d = json_digit(text[at + i]);

		if (d < 0)
			return JSON_CODE_END;
		unit = unit << 4 | (uint32_t)d;
	}
	return unit;
}

static uint32_t
read_escape(const char *text, size_t len, size_t *at)
{
	uint32_t unit, low;
	char c;

	if (len - *at < 2) {
		*at = len;
		return 0xfffd;
	}
	c = text[*at + 1];
	*at += 2;
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		break;
	default:
		return (uint8_t)c;
	}
	unit = read_unit(text, len, *at);
	if (unit == JSON_CODE_END)
		return 0xfffd;
	*at += 4;
	if (unit < 0xd800 || unit > 0xdfff)
		return unit;
	if (unit > 0xdbff || len - *at < 6 || text[*at] != '\\' || text[*at + 1] != 'u')
		return 0xfffd;
	low = read_unit(text, len, *at + 2);
	if (low < 0xdc00 || low > 0xdfff) /* JSON_CODE_END is above too */
		return 0xfffd;
	*at += 6;
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

uint32_t
json_next_code(const char *text, size_t len, size_t *at)
{
	uint32_t code = 0xfffd;
	size_t n;

	if (*at >= len || text[*at] == '"')
		return JSON_CODE_END;
	if (text[*at] == '\\')
		return read_escape(text, len, at);
	n = utf8_decode(text + *at, len - *at, &code);
	*at += n > 0 ? n : 1;
	return code;
}

static size_t
skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\' && at + 1 < len)
			at++;
	return at < len ? at + 1 : len;
}

size_t
json_skip_value(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	while (at < len) {
		char c = text[at];

		if (c == '"') {
			at = skip_string(text, len, at);
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
		} else if (c == '}' || c == ']') {
			if (depth == 0)
				return at;
			depth--;
			at++;
		} else if (depth > 0) {
			at++;
			continue;
		} else {
			while (at < len && !json_is_blank(text[at]) && text[at] != ',' && text[at] != ']' &&
			       text[at] != '}')
				at++;
		}
		if (depth == 0)
			return at;
	}
	return len;
}
