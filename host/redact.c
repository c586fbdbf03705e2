/* SPDX-License-Identifier: GPL-2.0-or-later
 * redact.c - see redact.h.  Nearly all positions pass without a look: the last two bytes of the window that the shortest
 * pattern fills say how far it can move (Wu and Manber, 1994).  What is left is looked up by its first two bytes. */
#include "host/redact.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/redact_forms.h"
#include "host/redact_keys.h"

#define PATTERNS_MAX 65536u

struct pattern {
	struct pattern *next;  /* one that begins alike and is not longer */
	struct pattern *other; /* any */
	size_t len;
	char name[64];
	uint8_t bytes[];
};
struct redact {
	struct pattern *all; /* owned, by their member other */
	size_t len, longest;
	size_t window;        /* bytes of the shortest pattern, at most 255 */
	uint8_t shift[65536]; /* by the last two bytes of the window: how many positions no pattern can start at */
	struct pattern *head[65536]; /* by their first two bytes, longest first, so that the first hit is the longest */
	struct pattern *single[256]; /* those of one byte */
};

struct redact *
redact_new(void)
{
	return calloc(1, sizeof(struct redact));
}

void
redact_free(struct redact *r)
{
	struct pattern *p;

	if (!r)
		return;
	while ((p = r->all)) {
		r->all = p->other;
		explicit_bzero(p->bytes, p->len);
		free(p);
	}
	explicit_bzero(r, sizeof(*r)); /* the tables tell pairs of bytes of the values */
	free(r);
}

/* Where none of the last two bytes of the window has been seen yet it moves as far as it is wide. */
static void
window_add(struct redact *r, const struct pattern *p)
{
	size_t j, at;

	for (j = 1; j < r->window; j++) {
		at = (size_t)p->bytes[j - 1] << 8 | p->bytes[j];
		if (r->shift[at] > r->window - 1 - j)
			r->shift[at] = (uint8_t)(r->window - 1 - j);
	}
}

/* With a pattern shorter than all before, everything is counted anew. */
static void
window_fit(struct redact *r, const struct pattern *p)
{
	size_t width = p->len < 255 ? p->len : 255;

	if (r->len > 1 && width >= r->window) {
		window_add(r, p);
		return;
	}
	r->window = width;
	if (width < 2)
		return;
	memset(r->shift, (int)(width - 1), sizeof(r->shift));
	for (p = r->all; p; p = p->other)
		window_add(r, p);
}

struct adding {
	struct redact *r;
	const char *name;
};

static int
add_form(void *arg, const uint8_t *form, size_t len)
{
	const struct adding *a = arg;
	struct redact *r = a->r;
	struct pattern *p, **at = len == 1 ? &r->single[form[0]] : &r->head[(size_t)form[0] << 8 | form[1]];

	for (; *at && (*at)->len >= len; at = &(*at)->next)
		if ((*at)->len == len && memcmp((*at)->bytes, form, len) == 0)
			return 0;
	if (r->len == PATTERNS_MAX || !(p = malloc(sizeof(*p) + len)))
		return -ENOMEM;
	memcpy(p->bytes, form, len);
	p->len = len;
	snprintf(p->name, sizeof(p->name), "%s", a->name);
	p->next = *at;
	*at = p;
	p->other = r->all;
	r->all = p;
	r->len++;
	if (len > r->longest)
		r->longest = len;
	window_fit(r, p);
	return 0;
}

int
redact_add(struct redact *r, const char *name, const char *value, size_t len)
{
	struct adding a = { r, name };

	return len ? redact_forms((const uint8_t *)value, len, add_form, &a) : 0;
}

/* ---- the stream ----------------------------------------------------------------------------------------------------------- */

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
	const struct pattern *p;

	for (p = left > 1 ? r->head[(size_t)at[0] << 8 | at[1]] : NULL; p; p = p->next)
		if (p->len <= left && memcmp(p->bytes, at, p->len) == 0)
			return p;
	return left ? r->single[at[0]] : NULL;
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

/* The pattern within a number, or NULL. */
static const struct pattern *
pattern_within(const struct redact *r, const char *number, size_t len)
{
	const struct pattern *p = NULL;
	size_t i;

	for (i = 0; !p && len - i >= r->window; i++)
		p = pattern_at(r, (const uint8_t *)number + i, len - i);
	return p;
}

static size_t
string_len(const char *json, size_t len)
{
	size_t i;

	for (i = 1; i < len && json[i] != '"'; i++)
		if (json[i] == '\\')
			i++;
	return i < len ? i + 1 : len;
}

static int
values(const struct redact *r, const char *json, size_t len, redact_sink *sink, void *arg)
{
	static const char digits[] = "-+.0123456789eE";
	const struct pattern *p;
	size_t i = 0, from = 0, n;
	char token[96];
	int rc = 0;

	while (rc == 0 && i < len) {
		if (json[i] == '"') {
			i += string_len(json + i, len - i);
			continue;
		}
		for (n = 0; i + n < len && json[i + n] && strchr(digits, json[i + n]); n++)
			;
		p = n >= r->window ? pattern_within(r, json + i, n) : NULL;
		if (p) {
			rc = redact_whole(r, json + from, i - from, sink, arg);
			if (rc == 0)
				rc = sink(arg, token,
					  (size_t)snprintf(token, sizeof(token), "\"{{secret.%s}}\"", p->name));
			from = i + n;
		}
		i += n ? n : 1;
	}
	return rc ? rc : redact_whole(r, json + from, len - from, sink, arg);
}

struct grown {
	char *text; /* owned */
	size_t len, size;
};

static int
to_grown(void *arg, const void *data, size_t len)
{
	struct grown *g = arg;
	size_t size = g->size ? g->size : 4096;
	char *p;

	while (size - g->len < len)
		size *= 2;
	if (size != g->size) {
		if (!(p = realloc(g->text, size)))
			return -ENOMEM;
		g->text = p;
		g->size = size;
	}
	memcpy(g->text + g->len, data, len);
	g->len += len;
	return 0;
}

int
redact_json(const struct redact *r, const char *json, size_t len, redact_sink *sink, void *arg)
{
	struct grown g = { 0 };
	int rc;

	if (!r || !r->len)
		return len ? sink(arg, json, len) : 0;
	rc = values(r, json, len, to_grown, &g);
	if (rc == 0 && g.len)
		rc = redact_keys(g.text, g.len, sink, arg);
	free(g.text);
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
