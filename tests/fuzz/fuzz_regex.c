// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz_regex.c - a pattern up to the first line break, matched against the rest.
#include <stdlib.h>
#include <string.h>

#include "proto/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct regex_build b;
	const uint8_t *end = memchr(data, '\n', size);
	size_t len = end == NULL ? size : (size_t)(end - data), rest = size - len - (end != NULL);
	struct regex x;

	if (regex_compile(&b, (const char *)data, len) < 0) {
		if (b.problem == NULL || b.at > len)
			abort();
		return 0;
	}
	if (b.len > REGEX_INST_MAX || b.ranges_len > REGEX_RANGES_MAX)
		abort();
	x = (struct regex){ .len = b.len, .inst = b.inst, .ranges = b.ranges };
	(void)regex_matches(&x, (const char *)data + len + (end != NULL), rest < 2000 ? rest : 2000);
	return 0;
}
