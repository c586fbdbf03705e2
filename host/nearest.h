/* SPDX-License-Identifier: GPL-2.0-or-later
 * nearest.h - which known word somebody probably meant. */
#ifndef HOST_NEAREST_H
#define HOST_NEAREST_H
#include <stddef.h>

/* Remembers the closest word offered so far.  Words are borrowed. */
struct nearest {
	const char *word; /* what was written */
	const char *best; /* NULL: nothing close enough */
	size_t distance;
};
void nearest_init(struct nearest *n, const char *word) __attribute__((nonnull));
/* Offers a candidate; it becomes best when it is closer than all before and close enough to be a slip of the pen (letters
 * changed, lost, added, or two swapped: at most a third of the word, case counted for nothing). */
void nearest_offer(struct nearest *n, const char *candidate) __attribute__((nonnull));
#endif
