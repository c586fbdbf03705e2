/* SPDX-License-Identifier: GPL-2.0-or-later
 * draw.c - see draw.h. */
#include "guest/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/buf.h"
#include "guest/request.h"
#include "guest/service.h"
#include "guest/twin_hash.h"

#define SEEN_MIN 16u
#define MASKED_MAX (64u << 20)

static struct draw_seen *
slot(struct draw_seen *table, size_t size, const uint8_t digest[static 16])
{
	static const uint8_t none[16];
	uint64_t h;
	size_t i;

	memcpy(&h, digest, sizeof(h));
	h >>= 1; /* the first bit is always set */
	for (i = h & (size - 1); memcmp(table[i].digest, none, 16) != 0; i = (i + 1) & (size - 1))
		if (memcmp(table[i].digest, digest, 16) == 0)
			break;
	return &table[i];
}

/* Room for two more. */
static int
reserve(struct draws *d)
{
	size_t size = d->size == 0 ? SEEN_MIN : 2 * d->size;
	struct draw_seen *table;

	if (2 * (d->len + 2) <= d->size)
		return 0;
	table = calloc(size, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < d->size; i++)
		if (d->seen[i].digest[0] != 0)
			*slot(table, size, d->seen[i].digest) = d->seen[i];
	free(d->seen);
	d->seen = table;
	d->size = size;
	return 0;
}

static struct draw_seen *
find(struct draws *d, const uint8_t digest[static 32])
{
	uint8_t marked[16];
	struct draw_seen *s;

	memcpy(marked, digest, sizeof(marked));
	marked[0] |= 1; /* never zero */
	s = slot(d->seen, d->size, marked);
	if (s->digest[0] == 0) {
		memcpy(s->digest, marked, sizeof(marked));
		d->len++;
	}
	return s;
}

/* Credentials differ in every run: their names stand for them. */
static void
add_masked(struct twin_hash *h, struct world *w, struct buf *scratch, const char *text, size_t len)
{
	uint8_t size[8];

	scratch->len = 0;
	(void)mask_add(&w->mask, text == NULL ? "" : text, len, scratch);
	for (int i = 0; i < 8; i++)
		size[i] = (uint8_t)((uint64_t)scratch->len >> (56 - 8 * i));
	twin_hash_add(h, size, sizeof(size));
	if (scratch->len > 0)
		twin_hash_add(h, scratch->at, scratch->len);
}

static void
add_text(struct twin_hash *h, struct world *w, struct buf *scratch, const char *text)
{
	add_masked(h, w, scratch, text, text == NULL ? 0 : strlen(text));
}

/* see draw.h */
int
draw_enter(struct world *w, struct service *s, const struct request *q, struct draw_call *c)
{
	const char *key = request_header(q, "idempotency-key");
	struct draw_seen *same, *mine;
	uint8_t digest[32];
	struct buf scratch;
	struct twin_hash h;
	int r = reserve(&s->draws);

	if (c->known || r < 0)
		return c->known ? 0 : r;
	buf_init(&scratch, MASKED_MAX);
	twin_hash_init(&h);
	add_text(&h, w, &scratch, s->name);
	add_text(&h, w, &scratch, q->method);
	add_text(&h, w, &scratch, q->target);
	add_masked(&h, w, &scratch, q->body, q->body_len);
	twin_hash_get(&h, c->digest);
	twin_hash_init(&h);
	twin_hash_add(&h, c->digest, sizeof(c->digest));
	add_text(&h, w, &scratch, key == NULL ? "" : "key");
	add_text(&h, w, &scratch, key);
	twin_hash_get(&h, digest);
	r = scratch.failed ? -ENOMEM : 0;
	buf_wipe(&scratch);
	if (r < 0)
		return r;
	same = find(&s->draws, c->digest);
	mine = find(&s->draws, digest); /* there is room: same stays where it is */
	if (mine->attempts == 0)
		mine->keys = same->keys++;
	c->key = mine->keys;
	c->attempt = mine->attempts++;
	c->known = true;
	return 0;
}

/* see draw.h */
int
draw_again(struct service *s, struct draw_call *c)
{
	struct draw_seen *seen;
	int r = reserve(&s->draws);

	if (r < 0)
		return r;
	seen = find(&s->draws, c->digest);
	c->key = 0;
	c->attempt = seen->attempts++;
	c->known = true;
	return 0;
}

/* see draw.h */
void
draw_take(const struct world *w, const struct draw_call *c, const char *purpose, uint64_t n, uint8_t out[static 32])
{
	const uint64_t numbers[4] = { w->seed_exact, c->key, c->attempt, n };
	uint8_t bytes[sizeof(numbers)];
	struct twin_hash h;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(numbers[i / 8] >> (56 - 8 * (i % 8)));
	twin_hash_init(&h);
	twin_hash_add(&h, purpose, strlen(purpose) + 1);
	twin_hash_add(&h, bytes, sizeof(bytes));
	twin_hash_add(&h, c->digest, sizeof(c->digest));
	twin_hash_get(&h, out);
}

/* see draw.h */
void
draws_wipe(struct draws *d)
{
	free(d->seen);
	*d = (struct draws){ 0 };
}
