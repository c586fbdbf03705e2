/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_exchange.c - whatever a workflow answers to the twins, in pieces: the first byte says how long they are, its top bit that
 * the request was a HEAD.  An answer is whole, or has a problem, or more may come; what it holds stays within its bounds. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size == 0 || (data[0] & 127) == 0 ? SIZE_MAX : data[0] & 127u;
	struct exchange x;

	if (!exchange_init(&x, "", 0, size > 0 && data[0] & 128))
		abort();
	for (size_t at = size == 0 ? 0 : 1; at < size;) {
		size_t len = size - at < piece ? size - at : piece;
		char *copy = malloc(len);

		memcpy(copy, data + at, len);
		exchange_receive(&x, copy, len);
		free(copy);
		at += len;
		assert(!(x.done && x.problem != NULL));
	}
	exchange_input_ended(&x);
	assert(x.done != (x.problem != NULL));
	assert(!x.done || (x.status >= 200 && x.status <= 599));
	assert(x.body.len <= EXCHANGE_BODY_MAX && strlen(x.type) < sizeof(x.type));
	exchange_wipe(&x);
	return 0;
}
