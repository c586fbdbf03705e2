/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_compare.c - two receipts of anybody, divided by a byte 0, and what differs between them; seeds as an option. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "host/receipt_read.h"
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
	char why[RECEIPT_WHY_MAX], text[COMPARE_TEXT_MAX];
	struct receipt_doc a, b;

	seeds(data, size);
	if (receipt_open_text((const char *)data, len, &a, why) < 0)
		return 0;
	if (compare_receipts(&a, &a, text) == 1)
		abort(); /* nothing differs from itself */
	if (zero && receipt_open_text((const char *)zero + 1, size - len - 1, &b, why) == 0) {
		if (compare_receipts(&a, &b, text) && (!text[0] || strlen(text) >= sizeof(text)))
			abort();
		receipt_close(&b);
	}
	receipt_close(&a);
	return 0;
}
