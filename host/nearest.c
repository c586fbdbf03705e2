/* SPDX-License-Identifier: GPL-2.0-or-later
 * nearest.c - see nearest.h. */
#include "host/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 64u

static unsigned char
lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static size_t
min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Damerau's distance with adjacent swaps; words longer than WORD_MAX are as far as can be. */
static size_t
distance(const char *a, const char *b)
{
	uint8_t row[3][WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b), i, j, d;

	if (la > WORD_MAX || lb > WORD_MAX)
		return SIZE_MAX;
	memset(row, 0, sizeof(row));
	for (j = 0; j <= lb; j++)
		row[0][j] = (uint8_t)j;
	for (i = 1; i <= la; i++) {
		uint8_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = (uint8_t)i;
		for (j = 1; j <= lb; j++) {
			d = min3((size_t)last[j] + 1, (size_t)now[j - 1] + 1,
				 (size_t)last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1])));
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]) && (size_t)before[j - 2] + 1 < d)
				d = (size_t)before[j - 2] + 1;
			now[j] = (uint8_t)d;
		}
	}
	return row[la % 3][lb];
}

void
nearest_init(struct nearest *n, const char *word)
{
	n->word = word;
	n->best = NULL;
	n->distance = SIZE_MAX;
}

void
nearest_offer(struct nearest *n, const char *candidate)
{
	size_t d = distance(n->word, candidate), longer = strlen(n->word);

	if (strlen(candidate) > longer)
		longer = strlen(candidate);
	if (d > (longer + 2) / 3 || d >= n->distance)
		return;
	n->distance = d;
	n->best = candidate;
}
