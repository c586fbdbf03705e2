/* SPDX-License-Identifier: GPL-2.0-or-later
 * number.c - see number.h.  Without libm: tests link none. */
#include "proto/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

bool
number_is_equal(double a, double b)
{
	return a >= b && a <= b;
}

bool
number_is_whole(double v)
{
	return fabs(v) <= NUMBER_EXACT_MAX + 1 && number_is_equal((double)(int64_t)v, v);
}

size_t
number_text(double v, char out[static NUMBER_TEXT_SIZE])
{
	int n, digits;

	if (!isfinite(v))
		return (size_t)snprintf(out, NUMBER_TEXT_SIZE, "null");
	if (number_is_whole(v))
		return (size_t)snprintf(out, NUMBER_TEXT_SIZE, "%lld", (long long)v);
	/* Any text of up to 15 digits survives a normal double, so the first that does is the shortest; the smallest doubles
	 * carry fewer. */
	digits = fabs(v) < DBL_MIN ? 1 : 15;
	do
		n = snprintf(out, NUMBER_TEXT_SIZE, "%.*g", digits, v);
	while (++digits <= 17 && !number_is_equal(strtod(out, NULL), v));
	return (size_t)n;
}
