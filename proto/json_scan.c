/* SPDX-License-Identifier: GPL-2.0-or-later
 * json_scan.c - strict JSON, checked in one pass without recursion, see cursor.h */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "proto/cursor.h"
#include "proto/json_text.h"
#include "proto/utf8.h"

#define NO_KEY UINT32_MAX

struct level {
	uint32_t keys_start; /* of an object: its first entry in keys */
	uint32_t key_at;     /* of an object: opening quote of the member at hand, or NO_KEY; of an array: index */
	bool is_object;
};
struct scan {
	const char *text;
	size_t len, at;
	uint32_t depth, depth_max, keys_len;
	struct level levels[JSON_SCAN_DEPTH_MAX];
	struct json_scan *out;
};
/* What comes next.  An error is negative. */
enum { WANT_VALUE, WANT_KEY, WANT_AFTER, DONE };

/* Keys of all objects that are open, innermost last: the one table there is, since leaves do not allocate. */
static struct key {
	uint32_t hash, at; /* at: opening quote */
} keys[JSON_SCAN_KEYS_MAX];

/* ---- where a problem is --------------------------------------------------------------------------------------------- */

/* Appends to the pointer; false once it is full and was cut. */
static bool
pointer_add(struct json_scan *out, size_t *n, const char *s, size_t len)
{
	if (len > sizeof(out->pointer) - 4 - *n) {
		memcpy(out->pointer + *n, "...", 4);
		return false;
	}
	memcpy(out->pointer + *n, s, len);
	*n += len;
	out->pointer[*n] = '\0';
	return true;
}

static bool
pointer_add_key(const struct scan *s, size_t *n, size_t at)
{
	uint32_t code;

	at++;
	while ((code = json_next_code(s->text, s->len, &at)) != JSON_CODE_END) {
		char buf[4];
		size_t len = utf8_encode(code, buf);

		if (code == '~' || code == '/') {
			if (!pointer_add(s->out, n, code == '~' ? "~0" : "~1", 2))
				return false;
		} else if (!pointer_add(s->out, n, buf, len)) {
			return false;
		}
	}
	return true;
}

static void
pointer_make(const struct scan *s)
{
	size_t n = 0;

	s->out->pointer[0] = '\0';
	for (uint32_t i = 0; i < s->depth; i++) {
		const struct level *l = &s->levels[i];
		char digits[16];
		struct writer w;

		if ((l->is_object && l->key_at == NO_KEY) || !pointer_add(s->out, &n, "/", 1))
			return;
		if (l->is_object) {
			if (!pointer_add_key(s, &n, l->key_at))
				return;
			continue;
		}
		writer_init(&w, digits, sizeof(digits));
		json_u64(&w, l->key_at);
		if (!pointer_add(s->out, &n, digits, w.len))
			return;
	}
}

static int
fail_at(const struct scan *s, size_t at, int err, const char *problem)
{
	struct json_scan *out = s->out;

	out->offset = at;
	out->problem = problem;
	out->line = 1;
	out->column = 1;
	for (size_t i = 0; i < at; i++) {
		out->column++;
		if (s->text[i] == '\n') {
			out->line++;
			out->column = 1;
		}
	}
	pointer_make(s);
	return err;
}

static int
fail(const struct scan *s, const char *problem)
{
	return fail_at(s, s->at, -EPROTO, s->at < s->len ? problem : "the text ends too early");
}

/* ---- duplicate keys ------------------------------------------------------------------------------------------------- */

static uint32_t
key_hash(const struct scan *s, size_t at)
{
	uint32_t hash = 2166136261u, code;

	at++;
	while ((code = json_next_code(s->text, s->len, &at)) != JSON_CODE_END)
		hash = (hash ^ code) * 16777619u;
	return hash;
}

/* < 0, 0, > 0.  The hash only saves time: keys made to collide are compared as text, so sorting stays n log n. */
static int
key_compare(const struct scan *s, const struct key *a, const struct key *b)
{
	size_t i = (size_t)a->at + 1, j = (size_t)b->at + 1;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	for (;;) {
		uint32_t x = json_next_code(s->text, s->len, &i), y = json_next_code(s->text, s->len, &j);

		if (x != y)
			return x < y ? -1 : 1;
		if (x == JSON_CODE_END)
			return 0;
	}
}

/* Equal keys in the order of the text, so that neighbours tell which one came second. */
static bool
is_before(const struct scan *s, const struct key *a, const struct key *b)
{
	int c = key_compare(s, a, b);

	return c != 0 ? c < 0 : a->at < b->at;
}

static void
sift_down(const struct scan *s, struct key *a, size_t root, size_t n)
{
	for (;;) {
		size_t child = 2 * root + 1;
		struct key t = a[root];

		if (child >= n)
			return;
		if (child + 1 < n && is_before(s, &a[child], &a[child + 1]))
			child++;
		if (!is_before(s, &t, &a[child]))
			return;
		a[root] = a[child];
		a[child] = t;
		root = child;
	}
}

/* Heap sort: in place, and no input makes it slow. */
static void
keys_sort(const struct scan *s, struct key *a, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift_down(s, a, i, n);
	for (size_t end = n; end-- > 1;) {
		struct key t = a[0];

		a[0] = a[end];
		a[end] = t;
		sift_down(s, a, 0, end);
	}
}

/* When an object ends: the second of two equal keys that comes first in the text, if there are any. */
static int
duplicates_check(struct scan *s, struct level *l)
{
	struct key *a = keys + l->keys_start;
	size_t n = s->keys_len - l->keys_start;
	uint32_t found = NO_KEY;

	keys_sort(s, a, n);
	for (size_t i = 1; i < n; i++)
		if (a[i].at < found && key_compare(s, &a[i - 1], &a[i]) == 0)
			found = a[i].at;
	s->keys_len = l->keys_start;
	if (found == NO_KEY)
		return 0;
	l->key_at = found;
	return fail_at(s, found, -EPROTO, "the same key twice in one object");
}

/* ---- grammar -------------------------------------------------------------------------------------------------------- */

static int
scan_unit(struct scan *s, uint32_t *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++) {
		int d = s->at < s->len ? json_digit(s->text[s->at]) : -1;

		if (d < 0)
			return fail(s, "\\u needs four hexadecimal digits");
		*unit = *unit << 4 | (uint32_t)d;
		s->at++;
	}
	return 0;
}

/* After a backslash. */
static int
scan_escape(struct scan *s)
{
	size_t start = s->at - 1;
	uint32_t unit, low = 0;
	int r;

	if (s->at >= s->len)
		return fail(s, "");
	if (s->text[s->at] != 'u') {
		if (s->text[s->at] == '\0' || !strchr("\"\\/bfnrt", s->text[s->at]))
			return fail_at(s, start, -EPROTO,
				       "an unknown escape; JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
		s->at++;
		return 0;
	}
	s->at++;
	r = scan_unit(s, &unit);
	if (r < 0)
		return r;
	if (unit == 0)
		return fail_at(s, start, -EPROTO, "\\u0000 is not allowed here");
	if (unit < 0xd800 || unit > 0xdfff)
		return 0;
	if (unit <= 0xdbff && s->len - s->at >= 2 && s->text[s->at] == '\\' && s->text[s->at + 1] == 'u') {
		s->at += 2;
		r = scan_unit(s, &low);
		if (r < 0)
			return r;
	}
	if (low < 0xdc00 || low > 0xdfff)
		return fail_at(s, start, -EPROTO, "half of a surrogate pair");
	return 0;
}

/* From the opening quote to after the closing one. */
static int
scan_string(struct scan *s)
{
	int r;

	for (s->at++; s->at < s->len;) {
		uint8_t c = (uint8_t)s->text[s->at];
		uint32_t code;
		size_t n;

		if (c == '"') {
			s->at++;
			return 0;
		}
		if (c == '\\') {
			s->at++;
			r = scan_escape(s);
			if (r < 0)
				return r;
			continue;
		}
		if (c == '\n' || c == '\r')
			return fail(s, "a string does not end on its line; write a line break as \\n");
		if (c < 0x20)
			return fail(s, "a control character in a string must be escaped");
		n = c < 0x80 ? 1 : utf8_decode(s->text + s->at, s->len - s->at, &code);
		if (n == 0)
			return fail(s, "a byte that is not UTF-8");
		s->at += n;
	}
	return fail(s, "");
}

static bool
is_digit(const struct scan *s)
{
	return s->at < s->len && s->text[s->at] >= '0' && s->text[s->at] <= '9';
}

static int
scan_digits(struct scan *s)
{
	if (!is_digit(s))
		return fail(s, "a number needs a digit here");
	while (is_digit(s))
		s->at++;
	return 0;
}

static int
scan_number(struct scan *s)
{
	size_t start;
	int r;

	if (s->text[s->at] == '-')
		s->at++;
	start = s->at;
	r = scan_digits(s);
	if (r < 0)
		return r;
	if (s->text[start] == '0' && s->at > start + 1)
		return fail_at(s, start, -EPROTO, "a number may not start with 0");
	if (s->at < s->len && s->text[s->at] == '.') {
		s->at++;
		r = scan_digits(s);
		if (r < 0)
			return r;
	}
	if (s->at < s->len && (s->text[s->at] == 'e' || s->text[s->at] == 'E')) {
		s->at++;
		if (s->at < s->len && (s->text[s->at] == '+' || s->text[s->at] == '-'))
			s->at++;
		r = scan_digits(s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
scan_literal(struct scan *s)
{
	static const char *const literals[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
		size_t n = strlen(literals[i]);

		if (s->len - s->at >= n && memcmp(s->text + s->at, literals[i], n) == 0) {
			s->at += n;
			return 0;
		}
	}
	if (s->text[s->at] == '\'')
		return fail(s, "a string needs double quotes");
	if (s->text[s->at] == '/')
		return fail(s, "JSON has no comments");
	if (s->at == 0 && s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
		return fail(s, "the text starts with a byte order mark, which JSON does not have");
	return fail(s, "here should be a value: an object, an array, a string, a number, true, false or null");
}

static int
scan_open(struct scan *s, bool is_object)
{
	struct level *l;

	if (s->depth >= s->depth_max)
		return fail_at(s, s->at, -EMSGSIZE, "nested too deeply");
	l = &s->levels[s->depth++];
	l->is_object = is_object;
	l->keys_start = s->keys_len;
	l->key_at = is_object ? NO_KEY : 0;
	s->at = json_skip_blank(s->text, s->len, s->at + 1);
	if (s->at < s->len && s->text[s->at] == (is_object ? '}' : ']')) {
		s->at++;
		s->depth--;
		return WANT_AFTER;
	}
	return is_object ? WANT_KEY : WANT_VALUE;
}

static int
scan_value(struct scan *s)
{
	char c;
	int r;

	s->at = json_skip_blank(s->text, s->len, s->at);
	if (s->at >= s->len)
		return fail(s, "");
	c = s->text[s->at];
	if (c == '{' || c == '[')
		return scan_open(s, c == '{');
	if (c == '"')
		r = scan_string(s);
	else if (c == '-' || (c >= '0' && c <= '9'))
		r = scan_number(s);
	else
		r = scan_literal(s);
	return r < 0 ? r : WANT_AFTER;
}

static int
scan_key(struct scan *s)
{
	struct level *l = &s->levels[s->depth - 1];
	size_t at;
	int r;

	s->at = json_skip_blank(s->text, s->len, s->at);
	at = s->at;
	l->key_at = NO_KEY;
	if (at < s->len && s->text[at] == '}')
		return fail(s, "a comma before the closing brace");
	if (at >= s->len || s->text[at] != '"')
		return fail(s, "here should be a key in double quotes");
	if (s->keys_len >= JSON_SCAN_KEYS_MAX)
		return fail_at(s, at, -EMSGSIZE, "too many keys");
	r = scan_string(s);
	if (r < 0)
		return r;
	l->key_at = (uint32_t)at;
	keys[s->keys_len].at = (uint32_t)at;
	keys[s->keys_len++].hash = key_hash(s, at);
	s->at = json_skip_blank(s->text, s->len, s->at);
	if (s->at >= s->len || s->text[s->at] != ':')
		return fail(s, "here should be a colon after the key");
	s->at++;
	return WANT_VALUE;
}

static int
scan_after(struct scan *s)
{
	struct level *l;
	char c, end;
	int r;

	s->at = json_skip_blank(s->text, s->len, s->at);
	if (s->depth == 0)
		return s->at == s->len ? DONE : fail(s, "text after the end of the value");
	l = &s->levels[s->depth - 1];
	end = l->is_object ? '}' : ']';
	c = s->at < s->len ? s->text[s->at] : '\0';
	if (c == ',') {
		s->at = json_skip_blank(s->text, s->len, s->at + 1);
		if (l->is_object)
			return WANT_KEY;
		l->key_at++;
		if (s->at < s->len && s->text[s->at] == ']')
			return fail(s, "a comma before the closing bracket");
		return WANT_VALUE;
	}
	if (s->at >= s->len || c != end)
		return fail(s, l->is_object ? "here should be a comma or the closing brace"
					    : "here should be a comma or the closing bracket");
	if (l->is_object) {
		r = duplicates_check(s, l);
		if (r < 0)
			return r;
	}
	s->at++;
	s->depth--;
	return WANT_AFTER;
}

int
json_scan(const char *text, size_t len, uint32_t depth_max, struct json_scan *out)
{
	struct scan s = { .text = text, .len = len, .out = out };
	int r = WANT_VALUE;

	assert(depth_max <= JSON_SCAN_DEPTH_MAX);
	s.depth_max = depth_max;
	if (len >= NO_KEY)
		return fail_at(&s, 0, -EMSGSIZE, "longer than 4 GiB");
	while (r >= 0 && r != DONE) {
		if (r == WANT_VALUE)
			r = scan_value(&s);
		else if (r == WANT_KEY)
			r = scan_key(&s);
		else
			r = scan_after(&s);
	}
	return r < 0 ? r : 0;
}
