/* SPDX-License-Identifier: GPL-2.0-or-later
 * uuid.c - see uuid.h. */
#include "host/uuid.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

void
uuid_v7(uint64_t unix_ms, const uint8_t random[static 10], char out[static UUID_TEXT_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t b[16];
	size_t i, n = 0;

	for (i = 0; i < 6; i++)
		b[i] = (uint8_t)(unix_ms >> (40 - 8 * i));
	memcpy(b + 6, random, 10);
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x70); /* version 7 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80); /* variant 10 */
	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		out[n++] = digits[b[i] >> 4];
		out[n++] = digits[b[i] & 15];
	}
	out[n] = '\0';
}

int
uuid_make(uint64_t unix_ms, char out[static UUID_TEXT_LEN + 1])
{
	uint8_t random[10];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	uuid_v7(unix_ms, random, out);
	return 0;
}
