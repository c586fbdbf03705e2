/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact.c - see redact.h.  Nearly all positions pass without a look: the last two bytes of the window that the shortest
 * pattern fills say how far it can move (Wu and Manber, 1994).  What is left is looked up by its first two bytes. */
#include "host/redact.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_MIN 4u /* bytes; shorter base64 fragments would hit innocent text */
#define PATTERNS_MAX 8192u
#define FORM_MAX 8192u /* bytes of one escaped form */

struct pattern {
	uint8_t *bytes;
	size_t len;
	char name[64];
};
struct redact {
	struct pattern *patterns; /* longest first, so that the first hit is the longest */
	size_t len, size, longest;
	size_t window;        /* bytes of the shortest pattern, at most 255 */
	uint8_t shift[65536]; /* by the last two bytes of the window: how many positions no pattern can start at */
	uint8_t first[8192];  /* bit per value of the first two bytes (one-byte patterns set all 256) */
};

struct redact *
redact_new(void)
{
	return calloc(1, sizeof(struct redact));
}

void
redact_free(struct redact *r)
{
	size_t i;

	if (!r)
		return;
	explicit_bzero(r->shift, sizeof(r->shift)); /* tells pairs of bytes of the values */
	explicit_bzero(r->first, sizeof(r->first));
	for (i = 0; i < r->len; i++) {
		explicit_bzero(r->patterns[i].bytes, r->patterns[i].len);
		free(r->patterns[i].bytes);
	}
	free(r->patterns);
	free(r);
}

static void
mark(struct redact *r, unsigned a, unsigned b)
{
	r->first[(a << 5) | (b >> 3)] |= (uint8_t)(1u << (b & 7));
}

static int
pattern_add(struct redact *r, const char *name, const uint8_t *bytes, size_t len)
{
	struct pattern *p;
	size_t i, at;
	unsigned b;

	for (i = 0; i < r->len; i++)
		if (r->patterns[i].len == len && memcmp(r->patterns[i].bytes, bytes, len) == 0)
			return 0;
	if (r->len == PATTERNS_MAX)
		return -ENOMEM;
	if (r->len == r->size) {
		size_t size = r->size ? 2 * r->size : 64;

		p = reallocarray(r->patterns, size, sizeof(*p));
		if (!p)
			return -ENOMEM;
		r->patterns = p;
		r->size = size;
	}
	for (at = 0; at < r->len && r->patterns[at].len >= len; at++)
		;
	memmove(r->patterns + at + 1, r->patterns + at, (r->len - at) * sizeof(*p));
	p = &r->patterns[at];
	p->bytes = malloc(len);
	if (!p->bytes) {
		memmove(r->patterns + at, r->patterns + at + 1, (r->len - at) * sizeof(*p));
		return -ENOMEM;
	}
	memcpy(p->bytes, bytes, len);
	p->len = len;
	snprintf(p->name, sizeof(p->name), "%s", name);
	r->len++;
	if (len > r->longest)
		r->longest = len;
	if (len > 1)
		mark(r, bytes[0], bytes[1]);
	else
		for (b = 0; b < 256; b++)
			mark(r, bytes[0], b);
	return 0;
}

enum form { FORM_URL_UPPER, FORM_URL_LOWER, FORM_URL_PLUS, FORM_JSON, FORM_JSON_SLASH, FORM_JSON_TWICE, FORM_COUNT };

static size_t
url_byte(enum form form, uint8_t c, char *out)
{
	const char *digits = form == FORM_URL_LOWER ? "0123456789abcdef" : "0123456789ABCDEF";

	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("-_.~", c))) {
		out[0] = (char)c;
		return 1;
	}
	if (form == FORM_URL_PLUS && c == ' ') {
		out[0] = '+';
		return 1;
	}
	out[0] = '%';
	out[1] = digits[c >> 4];
	out[2] = digits[c & 15];
	return 3;
}

static size_t
json_byte(bool slash, uint8_t c, char *out)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at = c ? strchr(from, c) : NULL;

	if (at || (slash && c == '/')) {
		out[0] = '\\';
		out[1] = at ? to[at - from] : '/';
		return 2;
	}
	if (c < 0x20)
		return (size_t)sprintf(out, "\\u%04x", c);
	out[0] = (char)c;
	return 1;
}

/* Bytes of the form in out, or 0 when it does not fit: then it cannot occur in what we write, which is shorter. */
static size_t
form_make(enum form form, const uint8_t *in, size_t len, uint8_t *out)
{
	char piece[8];
	size_t i, j, k, part, n = 0;

	for (i = 0; i < len; i++) {
		if (form <= FORM_URL_PLUS)
			part = url_byte(form, in[i], piece);
		else
			part = json_byte(form == FORM_JSON_SLASH, in[i], piece);
		if (n + 2 * part > FORM_MAX)
			return 0;
		for (j = 0; j < part; j++) {
			char twice[8];

			k = 1;
			twice[0] = piece[j];
			if (form == FORM_JSON_TWICE)
				k = json_byte(false, (uint8_t)piece[j], twice);
			memcpy(out + n, twice, k);
			n += k;
		}
	}
	return n;
}

static int
forms_add(struct redact *r, const char *name, const uint8_t *bytes, size_t len)
{
	uint8_t *form;
	size_t n;
	int f, rc;

	form = malloc(FORM_MAX + 8);
	if (!form)
		return -ENOMEM;
	rc = pattern_add(r, name, bytes, len);
	for (f = 0; rc == 0 && f < FORM_COUNT; f++) {
		n = form_make((enum form)f, bytes, len, form);
		if (n)
			rc = pattern_add(r, name, form, n);
	}
	explicit_bzero(form, FORM_MAX);
	free(form);
	return rc;
}

/* The base64 characters that depend on the value alone when `before` bytes of others stand before it. */
static size_t
base64_inner(const uint8_t *value, size_t len, unsigned before, bool url, uint8_t *out)
{
	static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t bits = (before + len) * 8, first = (before * 8 + 5) / 6, i, n = 0;

	for (i = first; (i + 1) * 6 <= bits; i++) {
		unsigned v = 0, b;

		for (b = 0; b < 6; b++) {
			size_t bit = i * 6 + b - before * 8;

			v = (v << 1) | (((unsigned)value[bit / 8] >> (7 - bit % 8)) & 1u);
		}
		out[n] = (uint8_t)standard[v];
		if (url && v >= 62)
			out[n] = v == 62 ? '-' : '_';
		n++;
	}
	return n;
}

/* Anew after each value: the shortest pattern may have become shorter. */
static void
window_make(struct redact *r)
{
	size_t i, j, at;

	r->window = r->patterns[r->len - 1].len;
	if (r->window > 255)
		r->window = 255;
	if (r->window < 2)
		return;
	memset(r->shift, (int)(r->window - 1), sizeof(r->shift));
	for (i = 0; i < r->len; i++)
		for (j = 1; j < r->window; j++) {
			const uint8_t *p = r->patterns[i].bytes;

			at = (size_t)p[j - 1] << 8 | p[j];
			if (r->shift[at] > r->window - 1 - j)
				r->shift[at] = (uint8_t)(r->window - 1 - j);
		}
}

int
redact_add(struct redact *r, const char *name, const char *value, size_t len)
{
	uint8_t *b64;
	unsigned before;
	size_t n;
	int rc, url;

	if (len == 0)
		return 0;
	b64 = malloc(len * 4 / 3 + 8);
	if (!b64)
		return -ENOMEM;
	rc = forms_add(r, name, (const uint8_t *)value, len);
	for (url = 0; url < 2; url++)
		for (before = 0; rc == 0 && before < 3; before++) {
			n = base64_inner((const uint8_t *)value, len, before, url, b64);
			if (n >= PATTERN_MIN)
				rc = forms_add(r, name, b64, n);
		}
	explicit_bzero(b64, len * 4 / 3 + 8);
	free(b64);
	if (r->len)
		window_make(r);
	return rc;
}

int
redact_stream_init(struct redact_stream *s, const struct redact *r, redact_sink *sink, void *arg)
{
	memset(s, 0, sizeof(*s));
	s->r = r && r->len ? r : NULL;
	s->sink = sink;
	s->arg = arg;
	if (!s->r)
		return 0;
	s->size = REDACT_PIECE + r->longest;
	s->buf = malloc(s->size);
	return s->buf ? 0 : -ENOMEM;
}

static const struct pattern *
pattern_at(const struct redact *r, const uint8_t *at, size_t left)
{
	size_t i;

	if (left == 0 || (left > 1 && !(r->first[(at[0] << 5) | (at[1] >> 3)] & (1u << (at[1] & 7)))))
		return NULL;
	for (i = 0; i < r->len; i++)
		if (r->patterns[i].len <= left && r->patterns[i].bytes[0] == at[0] &&
		    memcmp(r->patterns[i].bytes, at, r->patterns[i].len) == 0)
			return &r->patterns[i];
	return NULL;
}

/* The first position from i on, before end, where a pattern may start; end when there is none.  All of the window behind
 * each position before end is there.  i itself when it lies behind end. */
static size_t
skip(const struct redact *r, const uint8_t *buf, size_t i, size_t end)
{
	const uint8_t *last = buf + r->window - 2;
	size_t by;

	if (r->window < 2 || i >= end)
		return i;
	while (i < end && (by = r->shift[(size_t)last[i] << 8 | last[i + 1]]) != 0)
		i += by;
	return i < end ? i : end;
}

/* Works through buf.  Unless last, a position is decided only when the longest pattern would fit behind it: so what is
 * written does not depend on where the chunks are cut. */
static int
scan(struct redact_stream *s, bool last)
{
	const struct pattern *p;
	size_t from = 0, i = 0, need = last ? s->r->window : s->r->longest;
	size_t end = s->have >= need ? s->have - need + 1 : 0; /* from here on nothing is decided, or nothing fits */
	char token[96];
	int rc;

	while ((i = skip(s->r, s->buf, i, end)) < end) {
		p = pattern_at(s->r, s->buf + i, s->have - i);
		if (!p) {
			i++;
			continue;
		}
		if (i > from && (rc = s->sink(s->arg, s->buf + from, i - from)) < 0)
			return rc;
		rc = snprintf(token, sizeof(token), "{{secret.%s}}", p->name);
		if ((rc = s->sink(s->arg, token, (size_t)rc)) < 0)
			return rc;
		i += p->len;
		from = i;
	}
	if (last && i < s->have)
		i = s->have;
	if (i > from && (rc = s->sink(s->arg, s->buf + from, i - from)) < 0)
		return rc;
	s->have -= i;
	memmove(s->buf, s->buf + i, s->have);
	return 0;
}

int
redact_stream_add(struct redact_stream *s, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t n;
	int rc;

	if (!s->r)
		return len ? s->sink(s->arg, data, len) : 0;
	while (len) {
		n = s->size - s->have;
		if (n > len)
			n = len;
		memcpy(s->buf + s->have, at, n);
		s->have += n;
		at += n;
		len -= n;
		if ((rc = scan(s, false)) < 0)
			return rc;
	}
	return 0;
}

int
redact_stream_finish(struct redact_stream *s)
{
	return s->r ? scan(s, true) : 0;
}

void
redact_stream_wipe(struct redact_stream *s)
{
	if (s->buf)
		explicit_bzero(s->buf, s->size);
	free(s->buf);
	memset(s, 0, sizeof(*s));
}

int
redact_whole(const struct redact *r, const void *data, size_t len, redact_sink *sink, void *arg)
{
	struct redact_stream s;
	int rc;

	rc = redact_stream_init(&s, r, sink, arg);
	if (rc == 0)
		rc = redact_stream_add(&s, data, len);
	if (rc == 0)
		rc = redact_stream_finish(&s);
	redact_stream_wipe(&s);
	return rc;
}

struct text {
	char *at;
	size_t len, size;
};

static int
to_text(void *arg, const void *data, size_t len)
{
	struct text *t = arg;
	size_t n = t->size - 1 - t->len;

	if (n > len)
		n = len;
	memcpy(t->at + t->len, data, n);
	t->len += n;
	return 0;
}

void
redact_text(const struct redact *r, char *buf, size_t size)
{
	size_t len = strnlen(buf, size - 1);
	struct text t = { .size = size };

	t.at = malloc(size);
	if (!t.at || redact_whole(r, buf, len, to_text, &t) < 0)
		t.len = 0; /* nothing rather than a secret */
	if (t.at)
		memcpy(buf, t.at, t.len);
	buf[t.len] = '\0';
	free(t.at);
}
