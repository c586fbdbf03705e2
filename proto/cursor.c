/* SPDX-License-Identifier: GPL-2.0-or-later
 * cursor.c - see cursor.h */
#include "proto/cursor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
reader_init(struct reader *r, const void *data, size_t len)
{
	r->at = data;
	r->left = len;
	r->failed = false;
}

const uint8_t *
read_bytes(struct reader *r, size_t len)
{
	const uint8_t *at = r->at;

	if (r->failed || len > r->left) {
		r->failed = true;
		return NULL;
	}
	if (len > 0) /* at may be NULL in an empty reader, and NULL + 0 is not C */
		r->at += len;
	r->left -= len;
	return at;
}

static uint64_t
read_number(struct reader *r, size_t width)
{
	const uint8_t *at = read_bytes(r, width);
	uint64_t v = 0;

	if (!at)
		return 0;
	for (size_t i = 0; i < width; i++)
		v = v << 8 | at[i];
	return v;
}

uint8_t
read_u8(struct reader *r)
{
	return (uint8_t)read_number(r, 1);
}

uint16_t
read_u16(struct reader *r)
{
	return (uint16_t)read_number(r, 2);
}

uint32_t
read_u32(struct reader *r)
{
	return (uint32_t)read_number(r, 4);
}

uint64_t
read_u64(struct reader *r)
{
	return read_number(r, 8);
}

const char *
read_string(struct reader *r)
{
	const uint8_t *end = NULL;

	if (!r->failed && r->left > 0)
		end = memchr(r->at, 0, r->left);
	if (!end) {
		r->failed = true;
		return NULL;
	}
	return (const char *)read_bytes(r, (size_t)(end - r->at) + 1);
}

int
reader_finish(const struct reader *r)
{
	return r->failed || r->left != 0 ? -EPROTO : 0;
}

void
writer_init(struct writer *w, void *buf, size_t size)
{
	w->at = buf;
	w->len = 0;
	w->size = size;
	w->failed = false;
}

void
write_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->failed || len > w->size - w->len) {
		w->failed = true;
		return;
	}
	if (len == 0)
		return;
	memcpy(w->at + w->len, data, len);
	w->len += len;
}

static void
write_number(struct writer *w, uint64_t v, size_t width)
{
	uint8_t b[8];

	for (size_t i = 0; i < width; i++)
		b[i] = (uint8_t)(v >> 8 * (width - 1 - i));
	write_bytes(w, b, width);
}

void
write_u8(struct writer *w, uint8_t v)
{
	write_number(w, v, 1);
}

void
write_u16(struct writer *w, uint16_t v)
{
	write_number(w, v, 2);
}

void
write_u32(struct writer *w, uint32_t v)
{
	write_number(w, v, 4);
}

void
write_u64(struct writer *w, uint64_t v)
{
	write_number(w, v, 8);
}

void
write_string(struct writer *w, const char *s)
{
	write_bytes(w, s, strlen(s) + 1);
}

void
write_text(struct writer *w, const char *s)
{
	write_bytes(w, s, strlen(s));
}

void
write_format(struct writer *w, const char *format, ...)
{
	size_t room = w->size - w->len;
	va_list ap;
	int n;

	if (w->failed || room == 0) {
		w->failed = true;
		return;
	}
	va_start(ap, format);
	n = vsnprintf((char *)w->at + w->len, room, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		w->failed = true;
	else
		w->len += (size_t)n;
}
