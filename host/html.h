/* SPDX-License-Identifier: GPL-2.0-or-later
 * html.h - writes HTML with foreign text in it: what comes from a receipt is never markup, and what would reorder or hide
 * text on the screen (control characters, bidirectional overrides) is shown as an escape. */
#ifndef HOST_HTML_H
#define HOST_HTML_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cJSON;

/* Our own markup, as it is. */
void html_raw(FILE *f, const char *markup) __attribute__((nonnull));
void html_format(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));
/* Foreign text, between tags or in a quoted attribute. */
void html_text(FILE *f, const char *s) __attribute__((nonnull));
void html_text_len(FILE *f, const char *s, size_t len) __attribute__((nonnull));
/* A JSON value, indented by two spaces, of at most max bytes of text; what is cut is said. */
void html_json(FILE *f, const struct cJSON *v, size_t max) __attribute__((nonnull(1)));
#endif
