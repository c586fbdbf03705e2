/* SPDX-License-Identifier: GPL-2.0-or-later
 * buf.c - growth doubles up to the stated maximum. */
#include "guest/buf.h"

#include <cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/number.h"
#include "proto/utf8.h"

#define BLOCK_LEN 4096u
#ifndef __has_feature
#define __has_feature(x) 0 /* clang's */
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define POOLED 0
#else
#define POOLED 1
#endif
#define FIRST_LEN 512u /* of a buffer */
#define ALLOC_OVERHEAD 16u

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t data[];
};

static struct pool firsts = { .size = FIRST_LEN, .max = 64 },
		   blocks = { .size = sizeof(struct arena_block) + BLOCK_LEN, .max = 16 };

/* see buf.h */
void *
pool_take(struct pool *p)
{
	void *block = p->first;

	if (block == NULL)
		return malloc(p->size);
	memcpy(&p->first, block, sizeof(p->first)); /* a block that waits begins with the next one's place */
	p->len--;
	return block;
}

/* see buf.h */
void
pool_give(struct pool *p, void *block)
{
	if (block == NULL || !POOLED || p->len >= p->max) {
		free(block);
		return;
	}
	memcpy(block, &p->first, sizeof(p->first));
	p->first = block;
	p->len++;
}

/* see buf.h */
void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

/* see buf.h */
void
buf_init_count(struct buf *b)
{
	*b = (struct buf){ .max = SIZE_MAX / 2, .counting = true };
}

/* see buf.h */
void
buf_wipe(struct buf *b)
{
	if (b->size == FIRST_LEN)
		pool_give(&firsts, b->at);
	else
		free(b->at);
	b->at = NULL;
	b->len = b->size = 0;
	b->failed = false;
}

static bool
grow(struct buf *b, size_t len)
{
	size_t size = b->size ? b->size : FIRST_LEN;
	char *at;

	while (size - b->len < len)
		size *= 2; /* max is far below SIZE_MAX / 2 */
	if (size == FIRST_LEN) {
		at = pool_take(&firsts);
	} else if (b->size == FIRST_LEN) {
		at = malloc(size);
		if (at != NULL) {
			memcpy(at, b->at, b->len);
			pool_give(&firsts, b->at);
		}
	} else {
		at = realloc(b->at, size);
	}
	if (at == NULL) {
		b->failed = true;
		return false;
	}
	b->at = at;
	b->size = size < b->max ? size : b->max; /* room beyond max is nobody's */
	return true;
}

/* What buf_add does when it is not at hand. */
static __attribute__((noinline)) bool
find_room(struct buf *b, size_t len)
{
	if (b->failed || len > b->max - b->len) {
		b->failed = true;
		return false;
	}
	return b->counting || b->size - b->len >= len || grow(b, len);
}

static inline bool
reserve(struct buf *b, size_t len)
{
	return (!b->failed && b->size - b->len >= len) || find_room(b, len);
}

/* see buf.h.  Copies of a fixed size, the last one up to the end, over what the others did already. */
__attribute__((noinline)) void
copy_bytes(void *to, const void *from, size_t len)
{
	char *t = to;
	const char *f = from;

	if (len >= 8 && len <= 64) {
		for (size_t at = 0; at + 8 < len; at += 8)
			memcpy(t + at, f + at, 8);
		memcpy(t + len - 8, f + len - 8, 8);
	} else if (len >= 4 && len < 8) {
		memcpy(t, f, 4);
		memcpy(t + len - 4, f + len - 4, 4);
	} else if (len >= 2 && len < 4) {
		memcpy(t, f, 2);
		memcpy(t + len - 2, f + len - 2, 2);
	} else if (len == 1) {
		*t = *f;
	} else if (len > 0) {
		memcpy(t, f, len);
	}
}

/* see buf.h */
void
buf_add(struct buf *b, const void *data, size_t len)
{
	if (len == 0 || !reserve(b, len))
		return;
	if (!b->counting)
		copy_bytes(b->at + b->len, data, len);
	b->len += len;
}

/* see buf.h */
void
buf_unsigned(struct buf *b, uint64_t v)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	buf_add(b, digits + at, sizeof(digits) - at);
}

/* Does what nearly all lines are made of, %s %d %u %zu %llu, by hand: the C library takes as long for a short line as the rest
 * of a reply does.  False: there is something else; b has a part of it. */
static bool
add_plain(struct buf *b, const char *format, va_list ap)
{
	const char *end, *text;
	int n;

	while ((end = strchr(format, '%')) != NULL) {
		buf_add(b, format, (size_t)(end - format));
		format = end + 2;
		if (end[1] == 's') {
			text = va_arg(ap, const char *);
			buf_text(b, text == NULL ? "(null)" : text);
		} else if (end[1] == 'd') {
			n = va_arg(ap, int);
			if (n < 0)
				buf_add(b, "-", 1);
			buf_unsigned(b, n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n);
		} else if (end[1] == 'u') {
			buf_unsigned(b, va_arg(ap, unsigned));
		} else if (end[1] == 'z' && end[2] == 'u') {
			buf_unsigned(b, va_arg(ap, size_t));
			format++;
		} else if (end[1] == 'l' && end[2] == 'l' && end[3] == 'u') {
			buf_unsigned(b, va_arg(ap, unsigned long long));
			format += 2;
		} else {
			return false;
		}
	}
	buf_text(b, format);
	return true;
}

/* Not inlined: its text is cleared at each call. */
static __attribute__((noinline, format(printf, 2, 0))) void
add_formatted(struct buf *b, const char *format, va_list ap)
{
	char text[1024];
	int n = vsnprintf(text, sizeof(text), format, ap);

	if (n < 0 || (size_t)n >= sizeof(text))
		b->failed = true; /* longer texts go through buf_text */
	else
		buf_add(b, text, (size_t)n);
}

/* see buf.h */
void
buf_format(struct buf *b, const char *format, ...)
{
	size_t before = b->len;
	bool failed = b->failed;
	va_list ap;

	va_start(ap, format);
	if (add_plain(b, format, ap)) {
		va_end(ap);
		return;
	}
	va_end(ap);
	b->len = before;
	b->failed = failed;
	va_start(ap, format);
	add_formatted(b, format, ap);
	va_end(ap);
}

/* see buf.h */
void
buf_cut(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	memmove(b->at, b->at + n, b->len - n);
	b->len -= n;
}

/* see buf.h */
const char *
buf_terminate(struct buf *b)
{
	if (b->counting || !reserve(b, 1))
		return NULL;
	b->at[b->len] = '\0';
	return b->at;
}

static inline bool
is_as_it_is(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Nearly all strings are in need of nothing but their quotes.  False: this one is not. */
static bool
add_plain_string(struct buf *b, const char *s, size_t len)
{
	char *to;

	for (size_t i = 0; i < len; i++)
		if (!is_as_it_is(s[i]))
			return false;
	if (len > SIZE_MAX - 2 || !reserve(b, len + 2))
		return b->failed;
	if (!b->counting) {
		to = b->at + b->len;
		*to = '"';
		copy_bytes(to + 1, s, len);
		to[len + 1] = '"';
	}
	b->len += len + 2;
	return true;
}

/* see buf.h */
void
buf_json_string(struct buf *b, const char *s, size_t len)
{
	size_t plain = 0; /* start of what can be copied as it is */

	if (add_plain_string(b, s, len))
		return;
	buf_add(b, "\"", 1);
	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		size_t n;

		if (is_as_it_is(s[i])) {
			i++;
			continue;
		}
		n = utf8_decode(s + i, len - i, &code);
		if (n > 1 && code >= 0xa0) {
			i += n;
			continue;
		}
		buf_add(b, s + plain, i - plain);
		if (n == 0 || code == 0) { /* NUL too: readers of this project take none */
			buf_add(b, "\xef\xbf\xbd", 3);
			n = 1;
		} else if (code == '"' || code == '\\') {
			char pair[2] = { '\\', (char)code };

			buf_add(b, pair, 2);
		} else if (code == '\n' || code == '\t' || code == '\r') {
			buf_add(b, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r", 2);
		} else {
			buf_format(b, "\\u%04x", (unsigned)code);
		}
		i += n;
		plain = i;
	}
	buf_add(b, s + plain, len - plain);
	buf_add(b, "\"", 1);
}

/* see buf.h */
void
buf_json_text(struct buf *b, const char *s)
{
	if (s == NULL)
		buf_text(b, "null");
	else
		buf_json_string(b, s, strlen(s));
}

/* see buf.h */
void
buf_number(struct buf *b, double v)
{
	char text[NUMBER_TEXT_SIZE];

	buf_add(b, text, number_text(v, text));
}

/* see buf.h.  Recurses at most JSON_DEPTH_MAX deep: nothing deeper is ever parsed or built. */
void
buf_json(struct buf *b, const struct cJSON *json)
{
	switch (json == NULL ? cJSON_NULL : (json->type & 0xff)) {
	case cJSON_True:
		buf_text(b, "true");
		break;
	case cJSON_False:
		buf_text(b, "false");
		break;
	case cJSON_Number:
		buf_number(b, json->valuedouble);
		break;
	case cJSON_String:
		buf_json_text(b, json->valuestring);
		break;
	case cJSON_Array:
		buf_text(b, "[");
		for (const struct cJSON *c = json->child; c != NULL; c = c->next) {
			buf_json(b, c);
			if (c->next != NULL)
				buf_text(b, ",");
		}
		buf_text(b, "]");
		break;
	case cJSON_Object:
		buf_text(b, "{");
		for (const struct cJSON *c = json->child; c != NULL; c = c->next) {
			buf_json_text(b, c->string);
			buf_text(b, ":");
			buf_json(b, c);
			if (c->next != NULL)
				buf_text(b, ",");
		}
		buf_text(b, "}");
		break;
	default:
		buf_text(b, "null");
	}
}

/* see buf.h */
size_t
json_heap(const struct cJSON *json)
{
	size_t n = sizeof(*json) + ALLOC_OVERHEAD;

	if (json->string != NULL)
		n += strlen(json->string) + 1 + ALLOC_OVERHEAD;
	if (json->valuestring != NULL)
		n += strlen(json->valuestring) + 1 + ALLOC_OVERHEAD;
	for (const struct cJSON *c = json->child; c != NULL; c = c->next)
		n += json_heap(c);
	return n;
}

/* see buf.h */
void
arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){ .max = max };
}

/* see buf.h */
void
arena_wipe(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *next = a->blocks->next;

		if (a->blocks->size == BLOCK_LEN)
			pool_give(&blocks, a->blocks);
		else
			free(a->blocks);
		a->blocks = next;
	}
	a->used = 0;
	a->failed = false;
}

/* see buf.h */
void *
arena_alloc(struct arena *a, size_t len)
{
	struct arena_block *block = a->blocks;
	size_t align = sizeof(max_align_t);
	char *at;

	if (a->failed || len > a->max - a->used) {
		a->failed = true;
		return NULL;
	}
	len = (len + align - 1) / align * align;
	if (block == NULL || block->size - block->used < len) {
		size_t size = len > BLOCK_LEN ? len : BLOCK_LEN;

		block = size == BLOCK_LEN ? pool_take(&blocks) : malloc(sizeof(*block) + size);
		if (block == NULL) {
			a->failed = true;
			return NULL;
		}
		*block = (struct arena_block){ .next = a->blocks, .size = size };
		a->blocks = block;
	}
	at = (char *)block->data + block->used;
	memset(at, 0, len);
	block->used += len;
	a->used += len < a->max - a->used ? len : a->max - a->used;
	return at;
}

/* see buf.h */
char *
arena_copy(struct arena *a, const char *s, size_t len)
{
	char *to = arena_alloc(a, len + 1);

	if (to != NULL)
		copy_bytes(to, s, len);
	return to;
}
