/* SPDX-License-Identifier: GPL-2.0-or-later
 * fakeguest.h - plays a guest over two descriptors, well or badly, so that the host's side can be tested without a sandbox. */
#ifndef TESTS_FAKEGUEST_H
#define TESTS_FAKEGUEST_H
#include <stddef.h>
#include <stdint.h>

/* Plays script ("ok", or the name of one misbehaviour) and returns the exit status.  image: what HELLO claims to be. */
int fakeguest_main(int in, int out, const char *script, const uint8_t *image, size_t image_len);
#endif
