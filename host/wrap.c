/* SPDX-License-Identifier: GPL-2.0-or-later
 * wrap.c - see wrap.h. */
#include "host/wrap.h"

#include <stdlib.h>
#include <sys/ioctl.h>

size_t
wrap_fitting(const char *s, size_t room)
{
	size_t i = 0, n = 0, space = 0;

	if (room == 0)
		room = 1;
	while (s[i]) {
		size_t next = i + 1;

		while (((unsigned char)s[next] & 0xc0) == 0x80)
			next++;
		if (n++ == room)
			return space ? space : i;
		if (s[i] == ' ')
			space = i;
		i = next;
	}
	return i;
}

unsigned
wrap_width(int fd, unsigned fallback)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	unsigned long v;
	char *end;

	if (columns && *columns >= '0' && *columns <= '9') {
		v = strtoul(columns, &end, 10);
		if (*end == '\0' && v > 0 && v < 10000)
			return (unsigned)v;
	}
	if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	return fallback;
}
