/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_html.h - a receipt as one page that needs nothing else: no script, no file from elsewhere, readable on a phone, in light
 * and dark, on paper, and by a screen reader.  Foreign text is never markup (html.h). */
#ifndef HOST_REPORT_HTML_H
#define HOST_REPORT_HTML_H
#include <stdbool.h>
#include <stdio.h>

#include "host/receipt_read.h"

struct cJSON;

#define HTML_OPERATIONS \
	2000u /* shown one by one; further ones are counted, those that met a fault are shown as well, so many again */
#define HTML_VALUE 4000u /* bytes of one JSON value */
#define HTML_ROWS 500u   /* of a table */

/* 0; -errno: the receipt cannot be read to its end (doc->why), or -EIO. */
int report_html(FILE *f, struct receipt_doc *doc) __attribute__((warn_unused_result, nonnull));

/* Private to report_html*.c. */
extern const char report_html_style[];
void html_section(FILE *f, const char *id, const char *title) __attribute__((nonnull));
/* A row of a list of terms: <dt>label</dt><dd>text</dd>; NULL becomes a dash. */
void html_term(FILE *f, const char *label, const char *text) __attribute__((nonnull(1, 2)));
/* A word in a coloured frame: kind "good", "bad", "doubt" or "plain". */
void html_badge(FILE *f, const char *kind, const char *text) __attribute__((nonnull));
int html_operations(FILE *f, struct receipt_doc *doc) __attribute__((warn_unused_result, nonnull));
#endif
