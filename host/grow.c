/* SPDX-License-Identifier: GPL-2.0-or-later
 * grow.c - see grow.h. */
#include "host/grow.h"

#include <stdlib.h>
#include <string.h>

void *
grow_by_one(void *list, size_t *len, size_t *size, size_t width)
{
	size_t more = *size ? 2 * *size : 64;
	void *p = list;

	if (*len == *size) {
		p = reallocarray(list, more, width);
		if (!p)
			return NULL;
		*size = more;
	}
	memset((char *)p + *len * width, 0, width);
	++*len;
	return p;
}
