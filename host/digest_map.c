/* SPDX-License-Identifier: GPL-2.0-or-later
 * digest_map.c - see digest_map.h. */
#include "host/digest_map.h"

#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

#define SIZE_MIN 64u

void
digest_map_wipe(struct digest_map *m)
{
	free(m->list);
	*m = (struct digest_map){ 0 };
}

static struct digest_entry *
slot(struct digest_entry *list, size_t size, const uint8_t digest[static 16])
{
	uint64_t h;
	size_t i;

	memcpy(&h, digest, sizeof(h));
	for (i = h & (size - 1); list[i].used && memcmp(list[i].digest, digest, 16) != 0; i = (i + 1) & (size - 1))
		;
	return &list[i];
}

static bool
grow(struct digest_map *m)
{
	size_t size = m->size ? 2 * m->size : SIZE_MIN, i;
	struct digest_entry *list;

	if (2 * (m->len + 1) <= m->size)
		return true;
	list = calloc(size, sizeof(*list));
	if (!list)
		return false;
	for (i = 0; i < m->size; i++)
		if (m->list[i].used)
			*slot(list, size, m->list[i].digest) = m->list[i];
	free(m->list);
	m->list = list;
	m->size = size;
	return true;
}

uint32_t *
digest_map_add(struct digest_map *m, const void *text, size_t len, bool *added)
{
	struct digest_entry *e;
	uint8_t digest[32];

	*added = false;
	if (!grow(m))
		return NULL;
	sha256_of(text, len, digest);
	e = slot(m->list, m->size, digest);
	if (!e->used) {
		memcpy(e->digest, digest, 16);
		e->used = 1;
		m->len++;
		*added = true;
	}
	return &e->value;
}

uint32_t *
digest_map_find(const struct digest_map *m, const void *text, size_t len)
{
	struct digest_entry *e;
	uint8_t digest[32];

	if (!m->size)
		return NULL;
	sha256_of(text, len, digest);
	e = slot(m->list, m->size, digest);
	return e->used ? &e->value : NULL;
}
