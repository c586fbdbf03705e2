/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show.h - a receipt for a person in a terminal. */
#ifndef HOST_REPORT_SHOW_H
#define HOST_REPORT_SHOW_H

struct cJSON;
struct page;
struct pick;
struct receipt_doc;

/* Everything in the receipt is foreign: bytes that a terminal would obey are escaped.  0; -errno and receipt->why: it cannot
 * be read to its end, and nothing was written. */
int report_show(struct page *page, struct receipt_doc *receipt) __attribute__((warn_unused_result, nonnull));

/* Private to report_show*.c.  Those checks that did not hold come first. */
void show_checks(struct page *p, const struct cJSON *list, const struct pick *pick) __attribute__((nonnull(1, 3)));
void show_outcome(struct page *p, const struct cJSON *outcome) __attribute__((nonnull(1)));
void show_faults(struct page *p, const struct cJSON *list) __attribute__((nonnull(1)));
void show_failure(struct page *p, const char *label, const struct cJSON *failure) __attribute__((nonnull(1, 2)));
#endif
