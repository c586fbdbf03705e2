/* SPDX-License-Identifier: GPL-2.0-or-later
 * json_locate.c - where in a text a JSON Pointer points to, see cursor.h */
#include <errno.h>
#include <string.h>

#include "proto/cursor.h"
#include "proto/json_text.h"
#include "proto/utf8.h"

/* The key whose opening quote is at at equals the token ("~1" is '/', "~0" is '~'). */
static bool
is_key(const char *text, size_t len, size_t at, const char *token, size_t token_len)
{
	at++;
	while (token_len > 0) {
		uint32_t want = 0xfffd;
		size_t n;

		if (token[0] == '~' && token_len > 1 && (token[1] == '0' || token[1] == '1')) {
			want = token[1] == '0' ? '~' : '/';
			n = 2;
		} else {
			n = utf8_decode(token, token_len, &want);
			if (n == 0)
				return false;
		}
		if (json_next_code(text, len, &at) != want)
			return false;
		token += n;
		token_len -= n;
	}
	return json_next_code(text, len, &at) == JSON_CODE_END;
}

/* Walks the members of the object at at.  0 and both positions, or -ENOENT. */
static int
find_member(const char *text, size_t len, size_t at, const char *token, size_t token_len, size_t *key_at,
	    size_t *value_at)
{
	at = json_skip_blank(text, len, at + 1);
	while (at < len && text[at] == '"') {
		size_t key = at;

		at = json_skip_blank(text, len, json_skip_value(text, len, at));
		if (at >= len || text[at] != ':')
			return -ENOENT;
		at = json_skip_blank(text, len, at + 1);
		if (is_key(text, len, key, token, token_len)) {
			*key_at = key;
			*value_at = at;
			return 0;
		}
		at = json_skip_blank(text, len, json_skip_value(text, len, at));
		if (at >= len || text[at] != ',')
			return -ENOENT;
		at = json_skip_blank(text, len, at + 1);
	}
	return -ENOENT;
}

static int
find_element(const char *text, size_t len, size_t at, const char *token, size_t token_len, size_t *value_at)
{
	size_t index = 0;

	if (token_len == 0 || token_len > 9 || (token[0] == '0' && token_len > 1))
		return -ENOENT;
	for (size_t i = 0; i < token_len; i++) {
		if (token[i] < '0' || token[i] > '9')
			return -ENOENT;
		index = index * 10 + (size_t)(token[i] - '0');
	}
	at = json_skip_blank(text, len, at + 1);
	while (at < len && text[at] != ']') {
		if (index-- == 0) {
			*value_at = at;
			return 0;
		}
		at = json_skip_blank(text, len, json_skip_value(text, len, at));
		if (at >= len || text[at] != ',')
			return -ENOENT;
		at = json_skip_blank(text, len, at + 1);
	}
	return -ENOENT;
}

static void
place(const char *text, size_t at, uint32_t *line, uint32_t *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < at; i++) {
		++*column;
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		}
	}
}

int
json_locate(const char *text, size_t len, const char *pointer, bool key, uint32_t *line, uint32_t *column)
{
	size_t value_at = json_skip_blank(text, len, 0), key_at = value_at;
	int r;

	while (*pointer) {
		size_t token_len;

		if (*pointer++ != '/' || value_at >= len)
			return -ENOENT;
		token_len = strcspn(pointer, "/");
		if (text[value_at] == '{') {
			r = find_member(text, len, value_at, pointer, token_len, &key_at, &value_at);
		} else if (text[value_at] == '[') {
			r = find_element(text, len, value_at, pointer, token_len, &value_at);
			key_at = value_at;
		} else {
			r = -ENOENT;
		}
		if (r < 0)
			return r;
		pointer += token_len;
	}
	place(text, key ? key_at : value_at, line, column);
	return 0;
}
