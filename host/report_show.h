/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show.h - a receipt for a person in a terminal. */
#ifndef HOST_REPORT_SHOW_H
#define HOST_REPORT_SHOW_H

struct page;
struct receipt_doc;

/* Everything in the receipt is foreign: bytes that a terminal would obey are escaped.  0; -errno and receipt->why: it cannot
 * be read to its end, and nothing was written. */
int report_show(struct page *page, struct receipt_doc *receipt) __attribute__((warn_unused_result, nonnull));
#endif
