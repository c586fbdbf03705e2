/* SPDX-License-Identifier: GPL-2.0-or-later
 * tap.h - Test Anything Protocol for unit tests in C. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

static inline int __attribute__((format(printf, 2, 3))) ok(int cond, const char *name, ...)
{
	va_list ap;

	printf("%sok %d - ", cond ? "" : "not ", ++tap_count);
	va_start(ap, name);
	vprintf(name, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !cond;
	return cond;
}
static inline void
is_int(long long got, long long want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("# got %lld, want %lld\n", got, want);
}
static inline void
is_str(const char *got, const char *want, const char *name)
{
	if (!ok(got && strcmp(got, want) == 0, "%s", name))
		printf("# got  '%s'\n# want '%s'\n", got ? got : "(null)", want);
}
static inline void
skip(const char *reason)
{
	printf("ok %d # SKIP %s\n", ++tap_count, reason);
	fflush(stdout);
}
static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
#endif
