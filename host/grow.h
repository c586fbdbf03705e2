/* SPDX-License-Identifier: GPL-2.0-or-later
 * grow.h - lists that become longer by one. */
#ifndef HOST_GROW_H
#define HOST_GROW_H
#include <stddef.h>

/* Room for one more element of width bytes at the end of a list of *len, of which *size fit; it is zero, and *len counts it.  The
 * list, which may have moved; NULL: no memory, and the list is as it was, the caller's still. */
void *grow_by_one(void *list, size_t *len, size_t *size, size_t width)
	__attribute__((warn_unused_result, nonnull(2, 3)));
#endif
