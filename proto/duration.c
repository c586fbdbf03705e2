/* SPDX-License-Identifier: GPL-2.0-or-later
 * duration.c - see duration.h */
#include "proto/duration.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

int
duration_read(const char *text, uint64_t *ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
	size_t digits = strspn(text, "0123456789");
	uint64_t n = 0;

	if (digits == 0)
		return -EPROTO;
	for (size_t i = 0; i < digits; i++)
		n = n > DURATION_MAX_MS ? n : n * 10 + (uint64_t)(text[i] - '0');
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].unit) != 0)
			continue;
		if (n == 0 || n > DURATION_MAX_MS / units[i].ms)
			return -ERANGE;
		*ms = n * units[i].ms;
		return 0;
	}
	return -EPROTO;
}
