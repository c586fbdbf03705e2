/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact_forms.c - see redact_forms.h.  Three kinds of encodings are made of the value: those that write each byte by itself
 * (hexadecimal, escapes of JSON, JavaScript, URLs and HTML, UTF-16), and base64 and base32, of which only the characters that
 * depend on the value alone are looked for, at each place where the value may begin; base64 is encoded once more as well.
 * What may hold a quote, a backslash or a percent sign is then escaped as JSON and URLs do it. */
#include "host/redact_forms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INNER_MIN 4u /* bytes; shorter fragments would hit innocent text */
#define BYTE_MAX 10u /* bytes that one byte becomes at the most */

struct maker {
	redact_form_sink *sink;
	void *arg;
};

static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";

/* ---- byte by byte ------------------------------------------------------------------------------------------------------ */

typedef size_t byte_form(uint8_t c, char *out); /* what the byte becomes: its length */

static bool
is_unreserved(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("-_.~", c));
}

static size_t
pair(const char *lead, const char *digits, uint8_t c, char *out)
{
	size_t n = 0;

	for (; lead[n]; n++)
		out[n] = lead[n];
	out[n] = digits[c >> 4];
	out[n + 1] = digits[c & 15];
	return n + 2;
}

static size_t
plain_byte(uint8_t c, char *out)
{
	out[0] = (char)c;
	return 1;
}

static size_t
url_upper(uint8_t c, char *out)
{
	return is_unreserved(c) ? plain_byte(c, out) : pair("%", upper, c, out);
}

static size_t
url_lower(uint8_t c, char *out)
{
	return is_unreserved(c) ? plain_byte(c, out) : pair("%", lower, c, out);
}

static size_t
url_form(uint8_t c, char *out)
{
	return c == ' ' ? plain_byte('+', out) : url_upper(c, out);
}

static size_t
url_twice(uint8_t c, char *out)
{
	return is_unreserved(c) ? plain_byte(c, out) : pair("%25", upper, c, out);
}

static size_t
json(bool slash, uint8_t c, char *out)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at = c ? strchr(from, c) : NULL;

	if (at || (slash && c == '/')) {
		out[0] = '\\';
		out[1] = at ? to[at - from] : '/';
		return 2;
	}
	return c < 0x20 ? pair("\\u00", lower, c, out) : plain_byte(c, out);
}

static size_t
json_byte(uint8_t c, char *out)
{
	return json(false, c, out);
}

static size_t
json_slash(uint8_t c, char *out)
{
	return json(true, c, out);
}

static size_t
json_twice(uint8_t c, char *out)
{
	char once[BYTE_MAX];
	size_t i, n = 0, len = json(false, c, once);

	for (i = 0; i < len; i++)
		n += json(false, (uint8_t)once[i], out + n);
	return n;
}

static size_t
html_byte(uint8_t c, char *out)
{
	static const char from[] = "&<>\"'", *const to[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	const char *at = c ? strchr(from, c) : NULL;

	return at ? (size_t)sprintf(out, "%s", to[at - from]) : plain_byte(c, out);
}

static size_t
entity_decimal(uint8_t c, char *out)
{
	return (size_t)sprintf(out, "&#%u;", c);
}

static size_t
utf16_little(uint8_t c, char *out)
{
	out[0] = (char)c;
	out[1] = 0;
	return 2;
}

static size_t
utf16_big(uint8_t c, char *out)
{
	out[0] = 0;
	out[1] = (char)c;
	return 2;
}

static byte_form *const escapes[] = { url_upper,  url_lower,  url_form,  url_twice, json_byte,
				      json_slash, json_twice, html_byte, plain_byte };
static byte_form *const whole[] = { entity_decimal, utf16_little, utf16_big };

/* Every byte as two digits, with something before, behind and between them: hexadecimal as it is, as Node shows a Buffer, with
 * colons; URLs; the escapes of JSON and JavaScript, also within one and two strings of JSON; entities of HTML. */
static const struct spelled {
	const char *lead, *digits, *behind, *between;
} spelled[] = { { "", upper, "", "" },        { "", lower, "", "" },
		{ "", lower, "", " " },       { "", lower, "", ":" },
		{ "%", upper, "", "" },       { "%", lower, "", "" },
		{ "\\u00", upper, "", "" },   { "\\u00", lower, "", "" },
		{ "\\\\u00", lower, "", "" }, { "\\\\\\\\u00", lower, "", "" },
		{ "\\x", lower, "", "" },     { "\\\\x", lower, "", "" },
		{ "&#x", lower, ";", "" },    { "&#x", upper, ";", "" } };

static int
bytes_form(const struct maker *m, byte_form *form, const uint8_t *in, size_t len)
{
	char *out = malloc(len * BYTE_MAX + 1);
	size_t i, n = 0;
	int r;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		n += form(in[i], out + n);
	r = m->sink(m->arg, (const uint8_t *)out, n);
	explicit_bzero(out, n);
	free(out);
	return r;
}

static int
spelled_form(const struct maker *m, const struct spelled *way, const uint8_t *in, size_t len)
{
	char *out = malloc(len * BYTE_MAX + 1), *at = out;
	size_t i;
	int r;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		at = stpcpy(at, i ? way->between : "");
		at += pair(way->lead, way->digits, in[i], at);
		at = stpcpy(at, way->behind);
	}
	r = m->sink(m->arg, (const uint8_t *)out, (size_t)(at - out));
	explicit_bzero(out, (size_t)(at - out));
	free(out);
	return r;
}

/* All ways in which bytes that mean something by themselves may stand in other text. */
static int
escaped(const struct maker *m, const uint8_t *in, size_t len)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < sizeof(escapes) / sizeof(escapes[0]); i++)
		r = bytes_form(m, escapes[i], in, len);
	return r;
}

/* ---- bits by groups ----------------------------------------------------------------------------------------------------- */

struct alphabet {
	const char *digits;
	unsigned bits, group; /* of a digit; bytes after which digits begin anew */
};
static const struct alphabet base64 = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6, 3 },
			     base64url = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 6, 3 },
			     base32 = { "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5, 5 },
			     base32_lower = { "abcdefghijklmnopqrstuvwxyz234567", 5, 5 };

/* The digits that depend on the value alone when `before` bytes of others stand before it. */
static size_t
inner(const struct alphabet *a, const uint8_t *value, size_t len, unsigned before, uint8_t *out)
{
	size_t bits = (before + len) * 8, i, n = 0, bit;
	unsigned v, b;

	for (i = (before * 8 + a->bits - 1) / a->bits; (i + 1) * a->bits <= bits; i++) {
		for (v = b = 0; b < a->bits; b++) {
			bit = i * a->bits + b - before * 8;
			v = (v << 1) | (((unsigned)value[bit / 8] >> (7 - bit % 8)) & 1u);
		}
		out[n++] = (uint8_t)a->digits[v];
	}
	return n;
}

static int
grouped(const struct maker *m, const struct alphabet *a, const uint8_t *in, size_t len, bool again)
{
	uint8_t *out = malloc(len * 8 / a->bits + 2);
	unsigned before;
	size_t n;
	int r = 0;

	if (!out)
		return -ENOMEM;
	for (before = 0; r == 0 && before < a->group; before++) {
		n = inner(a, in, len, before, out);
		if (n < INNER_MIN)
			continue;
		r = escaped(m, out, n);
		if (r == 0 && again)
			r = grouped(m, a, out, n, false);
	}
	explicit_bzero(out, len * 8 / a->bits + 2);
	free(out);
	return r;
}

int
redact_forms(const uint8_t *value, size_t len, redact_form_sink *sink, void *arg)
{
	const struct maker m = { sink, arg };
	size_t i;
	int r = escaped(&m, value, len);

	for (i = 0; r == 0 && i < sizeof(whole) / sizeof(whole[0]); i++)
		r = bytes_form(&m, whole[i], value, len);
	for (i = 0; r == 0 && i < sizeof(spelled) / sizeof(spelled[0]); i++)
		r = spelled_form(&m, &spelled[i], value, len);
	if (r == 0)
		r = grouped(&m, &base64, value, len, true);
	if (r == 0)
		r = grouped(&m, &base64url, value, len, true);
	if (r == 0)
		r = grouped(&m, &base32, value, len, false);
	return r ? r : grouped(&m, &base32_lower, value, len, false);
}
