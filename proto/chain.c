/* SPDX-License-Identifier: GPL-2.0-or-later
 * chain.c - SHA-256 and the chain over frames, see frame.h.  The only file of the room that knows BearSSL. */
#include <bearssl.h>
#include <string.h>

#include "proto/frame.h"

_Static_assert(sizeof(br_sha256_context) <= sizeof(struct sha256), "struct sha256 is too small");

/* The context is copied in and out, 112 bytes a call: memory declared as one type is then never used as another. */
static void
context_store(struct sha256 *h, const br_sha256_context *c)
{
	memcpy(h->space, c, sizeof(*c));
}

static void
context_load(const struct sha256 *h, br_sha256_context *c)
{
	memcpy(c, h->space, sizeof(*c));
}

void
sha256_init(struct sha256 *h)
{
	br_sha256_context c;

	memset(h, 0, sizeof(*h));
	br_sha256_init(&c);
	context_store(h, &c);
}

void
sha256_add(struct sha256 *h, const void *data, size_t len)
{
	br_sha256_context c;

	if (len == 0)
		return;
	context_load(h, &c);
	br_sha256_update(&c, data, len);
	context_store(h, &c);
}

void
sha256_get(const struct sha256 *h, uint8_t out[static 32])
{
	br_sha256_context c;

	context_load(h, &c);
	br_sha256_out(&c, out);
}

void
sha256_of(const void *data, size_t len, uint8_t out[static 32])
{
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, data, len);
	sha256_get(&h, out);
}

void
sha256_hex(const uint8_t digest[static 32], char out[static 65])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < 32; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[64] = '\0';
}

void
frame_chain_init(struct frame_chain *c, const uint8_t random[static FRAME_RANDOM_LEN])
{
	static const char label[] = "agenttwin-frames/1";
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, label, sizeof(label) - 1);
	sha256_add(&h, random, FRAME_RANDOM_LEN);
	sha256_get(&h, c->value);
}

void
frame_chain_add(struct frame_chain *c, const struct frame *f)
{
	uint8_t header[FRAME_HEADER_LEN];
	struct sha256 h;

	frame_encode_header(f, header);
	sha256_init(&h);
	sha256_add(&h, c->value, sizeof(c->value));
	sha256_add(&h, header, sizeof(header));
	if (f->type != FRAME_DATA && f->type != FRAME_STDOUT && f->type != FRAME_STDERR)
		sha256_add(&h, f->body, f->len);
	sha256_get(&h, c->value);
}
