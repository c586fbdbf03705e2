/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_compare.c - two receipts of anybody, divided by a byte 0, and what differs between them; seeds as an option. */
#include <cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "host/json.h"
#include "host/seeds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
seeds(const uint8_t *data, size_t size)
{
	char text[64];
	const char *problem;
	struct seeds s;

	if (size >= sizeof(text))
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (seeds_parse(text, &s, &problem) == 0 ? s.n == 0 || s.n > SEEDS_MAX || s.first > SEED_MAX : !problem[0])
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	size_t len = zero ? (size_t)(zero - data) : size;
	char why[160], text[COMPARE_TEXT_MAX];
	cJSON *a, *b = NULL;

	seeds(data, size);
	a = json_take((const char *)data, len, 1u << 20, why);
	if (a && zero)
		b = json_take((const char *)zero + 1, size - len - 1, 1u << 20, why);
	if (a && compare_receipts(a, a, text))
		abort(); /* nothing differs from itself */
	if (a && b && compare_receipts(a, b, text) && (!text[0] || strlen(text) >= sizeof(text)))
		abort();
	cJSON_Delete(a);
	cJSON_Delete(b);
	return 0;
}
