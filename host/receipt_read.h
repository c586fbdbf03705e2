/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_read.h - receipts that were written before, read again. */
#ifndef HOST_RECEIPT_READ_H
#define HOST_RECEIPT_READ_H
#include <stddef.h>

struct cJSON;

#define RECEIPT_READ_MAX (256u << 20) /* bytes; a larger one is for tools that stream */

/* Reads the file, and parses it.  0, *text and *doc owned by the caller (text may be NULL: not wanted); -errno; -EPROTO when
 * it is no JSON.  why says it in words. */
int receipt_read(const char *path, char **text, size_t *len, struct cJSON **doc, char why[static 160])
	__attribute__((warn_unused_result, nonnull(1, 4, 5)));
#endif
