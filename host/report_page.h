/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_page.h - what reports of receipts look like in a terminal: labels, and foreign text escaped and wrapped beside them. */
#ifndef HOST_REPORT_PAGE_H
#define HOST_REPORT_PAGE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGE_WIDTH_MIN 40u

enum colour { PLAIN, GOOD, BAD, DOUBT };

struct page {
	FILE *f;
	unsigned width; /* columns, at least PAGE_WIDTH_MIN */
	bool colour;
};
/* For what is written to f, which is fd: its width; colour when it is a terminal and NO_COLOR is not set. */
void page_init(struct page *p, int fd, FILE *f) __attribute__((nonnull));
/* A label of at most 12 columns, then escaped text wrapped beneath itself; without a label what is wrapped is set in.  Below 60
 * columns the label has a line of its own. */
void page_text(struct page *p, enum colour c, const char *label, const char *raw) __attribute__((nonnull));
void page_field(struct page *p, enum colour c, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull(1, 3, 4)));
/* An empty line and a title; n UINT64_MAX: without a number. */
void page_heading(struct page *p, const char *title, uint64_t n) __attribute__((nonnull));
const char *page_paint(const struct page *p, enum colour c) __attribute__((nonnull));
const char *page_unpaint(const struct page *p, enum colour c) __attribute__((nonnull));
#endif
