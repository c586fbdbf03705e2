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

/* As "%lld", which takes ten times as long. */
static size_t
integer_text(int64_t v, char out[static NUMBER_TEXT_SIZE])
{
	uint64_t left = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
	char digits[24];
	size_t n = 0, len = 0;

	do
		digits[n++] = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (v < 0)
		out[len++] = '-';
	while (n > 0)
		out[len++] = digits[--n];
	out[len] = '\0';
	return len;
}

size_t
number_text(double v, char out[static NUMBER_TEXT_SIZE])
{
	int n, digits;

	if (!isfinite(v))
		return (size_t)snprintf(out, NUMBER_TEXT_SIZE, "null");
	if (number_is_whole(v))
		return integer_text((int64_t)v, out);
	/* Any text of up to 15 digits survives a normal double, so the first that does is the shortest; the smallest doubles
	 * carry fewer. */
	digits = fabs(v) < DBL_MIN ? 1 : 15;
	do
		n = snprintf(out, NUMBER_TEXT_SIZE, "%.*g", digits, v);
	while (++digits <= 17 && !number_is_equal(strtod(out, NULL), v));
	return (size_t)n;
}
