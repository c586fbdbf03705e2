/* SPDX-License-Identifier: GPL-2.0-or-later
 * wrap.h - text in lines of a terminal. */
#ifndef HOST_WRAP_H
#define HOST_WRAP_H
#include <stddef.h>

/* Bytes of s that fill at most room columns (at least 1), up to a space where there is one.  Characters count as one
 * column each. */
size_t wrap_fitting(const char *s, size_t room) __attribute__((nonnull));
/* Columns of the terminal at fd: what COLUMNS says, else what it says itself; fallback when it is none. */
unsigned wrap_width(int fd, unsigned fallback);
#endif
