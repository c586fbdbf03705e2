/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_jq.c - the words of an expression of jq: what is forbidden stands where it is said to. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/jq_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *name, *p;
	uint32_t at = 0, n = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0'; /* a world's text has no other */
	name = jq_run_forbidden(text, &at);
	for (p = text; name && *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80 && ++n == at)
			break;
	if (name && strncmp(p, name, strlen(name)) != 0)
		abort();
	free(text);
	return 0;
}
