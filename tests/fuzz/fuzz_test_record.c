/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_test_record.c - what the process of a run hands back: cut into two pieces anywhere it is taken the same way, and what is
 * taken as a pass has nothing that speaks against it. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/test.h"
#include "host/test_child.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
take(const char *json, size_t len)
{
	struct test_record r;
	char why[160];
	size_t i;

	if (test_record_take(json, len, &r, why) < 0) {
		assert(memchr(why, '\0', sizeof(why)));
		return;
	}
	assert((r.status == TEST_PASSED) == (r.exit_code == 0));
	for (i = 0; r.status == TEST_PASSED && i < r.checks_len; i++)
		assert(r.checks[i].held != TEST_NOT_HELD || r.checks[i].evidence);
	test_record_wipe(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_inbox whole = { 0 }, pieces = { 0 };
	size_t cut = size ? data[0] % size : 0, len = 0, other = 0;
	const char *text = (const char *)data, *a, *b;

	take(text, size);
	whole.broken |= !test_inbox_add(&whole, text, size);
	pieces.broken |= !test_inbox_add(&pieces, text, cut);
	pieces.broken |= !test_inbox_add(&pieces, text + cut, size - cut);
	a = test_inbox_record(&whole, &len);
	b = test_inbox_record(&pieces, &other);
	assert((a != NULL) == (b != NULL));
	if (a) {
		assert(len == other && memcmp(a, b, len) == 0);
		take(a, len);
	}
	test_inbox_wipe(&whole);
	test_inbox_wipe(&pieces);
	return 0;
}
