/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show.h - a receipt for a person in a terminal. */
#ifndef HOST_REPORT_SHOW_H
#define HOST_REPORT_SHOW_H
#include <stdbool.h>
#include <stdio.h>

struct receipt_doc;

/* Writes it to f in lines of at most width columns (at least 40).  colour: the terminal takes it.  Everything in the
 * receipt is foreign: bytes that a terminal would obey are escaped.  0; -errno and receipt->why: it cannot be read to its end. */
int report_show(FILE *f, struct receipt_doc *receipt, unsigned width, bool colour)
	__attribute__((warn_unused_result, nonnull));
#endif
