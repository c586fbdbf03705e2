/* SPDX-License-Identifier: GPL-2.0-or-later
 * number.h - JSON numbers as text: what is written reads back as the same double, everywhere in the project.  (cJSON takes
 * neighbours of large numbers for equal when it prints and when it compares.) */
#ifndef PROTO_NUMBER_H
#define PROTO_NUMBER_H
#include <stdbool.h>
#include <stddef.h>

#define NUMBER_TEXT_SIZE 32u
#define NUMBER_EXACT_MAX 9007199254740991.0 /* 2^53-1: beyond, neighbours cannot be told apart */

bool number_is_whole(double v); /* an integer of at most 2^53 either side of 0 */
/* Not a comparison of the C language, whose warning about == on doubles would be right elsewhere. */
bool number_is_equal(double a, double b);
/* Writes the shortest text that reads back equal: integers up to 2^53 without point and exponent, -0 as 0, what is no number
 * as null.  NUL-terminated; returns its length. */
size_t number_text(double v, char out[static NUMBER_TEXT_SIZE]) __attribute__((nonnull));
#endif
