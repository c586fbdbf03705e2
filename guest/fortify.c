/* SPDX-License-Identifier: GPL-2.0-or-later
 * fortify.c - what Debian's archives of BearSSL, libmnl and libnftnl, built against glibc with fortify, call and musl does
 * not have.  Each keeps its bound check and forwards.  In the musl build only; any other symbol of glibc alone fails the
 * link, which is meant so. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __snprintf_chk(char *s, size_t max, int flag, size_t size, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int __fprintf_chk(FILE *f, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *__memcpy_chk(void *to, const void *from, size_t len, size_t size);
void *__memmove_chk(void *to, const void *from, size_t len, size_t size);
void *__memset_chk(void *to, int c, size_t len, size_t size);

int
__snprintf_chk(char *s, size_t max, int flag, size_t size, const char *format, ...)
{
	va_list ap;
	int r;

	(void)flag;
	if (size < max)
		abort();
	va_start(ap, format);
	r = vsnprintf(s, max, format, ap);
	va_end(ap);
	return r;
}

int
__fprintf_chk(FILE *f, int flag, const char *format, ...)
{
	va_list ap;
	int r;

	(void)flag;
	va_start(ap, format);
	r = vfprintf(f, format, ap);
	va_end(ap);
	return r;
}

void *
__memcpy_chk(void *to, const void *from, size_t len, size_t size)
{
	if (size < len)
		abort();
	return memcpy(to, from, len);
}

void *
__memmove_chk(void *to, const void *from, size_t len, size_t size)
{
	if (size < len)
		abort();
	return memmove(to, from, len);
}

void *
__memset_chk(void *to, int c, size_t len, size_t size)
{
	if (size < len)
		abort();
	return memset(to, c, len);
}
