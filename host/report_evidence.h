/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_evidence.h - what of a receipt somebody needs who has to repair the workflow: Markdown of bounded size. */
#ifndef HOST_REPORT_EVIDENCE_H
#define HOST_REPORT_EVIDENCE_H
#include <stddef.h>
#include <stdio.h>

struct receipt_doc;

#define EVIDENCE_BYTES 16384u
#define EVIDENCE_BYTES_MIN 2048u
#define EVIDENCE_BYTES_MAX (1u << 20)

/* At most max bytes (from EVIDENCE_BYTES_MIN on).  path: where the receipt lies, for the command at the end.  Foreign text stands
 * in code alone, behind fences longer than any within, with control characters escaped.  0; -errno and doc->why, with nothing
 * written. */
int report_evidence(FILE *f, struct receipt_doc *doc, const char *path, size_t max)
	__attribute__((warn_unused_result, nonnull));
#endif
