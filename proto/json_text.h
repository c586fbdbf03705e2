/* SPDX-License-Identifier: GPL-2.0-or-later
 * json_text.h - moving about in JSON text without building anything; shared by json_scan.c and json_locate.c.  Every
 * function stays within text[0..len), also when the text is not JSON. */
#ifndef PROTO_JSON_TEXT_H
#define PROTO_JSON_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_CODE_END UINT32_MAX

bool json_is_blank(char c);
/* The value of a hexadecimal digit, or -1. */
int json_digit(char c);
/* Position of the first byte from at on that is not blank; len if there is none. */
size_t json_skip_blank(const char *text, size_t len, size_t at) __attribute__((nonnull));
/* The next character of a string, unescaped; *at is a position after its opening quote and moves on.  JSON_CODE_END at
 * the closing quote, which *at does not pass, and at the end of text. */
uint32_t json_next_code(const char *text, size_t len, size_t *at) __attribute__((nonnull));
/* Position after the value that starts at at. */
size_t json_skip_value(const char *text, size_t len, size_t at) __attribute__((nonnull));

#endif
