/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_line.h - parts of a receipt as one line of text.  What comes out still has foreign bytes in it: it is escaped where it
 * is printed. */
#ifndef HOST_REPORT_LINE_H
#define HOST_REPORT_LINE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define REPORT_LINE_MAX 1600u

/* What else of an operation than the call and its answer: nothing; views, fault and what it repeats where they are not as they
 * should be; both views in any case, and its key. */
enum report_detail { LINE_CALL, LINE_ODD, LINE_FULL };
/* "1  475 ms  stripe  POST /v1/refunds -> 200  (refund.create)".  op is what was read, anything at all. */
void report_line(const struct cJSON *op, uint64_t index, enum report_detail detail, char out[static REPORT_LINE_MAX])
	__attribute__((nonnull(4)));
/* A member's text, cut between characters to at most max bytes ("..." is added); "-" without one. */
const char *report_clip(const struct cJSON *o, const char *name, char *out, size_t max) __attribute__((nonnull(2, 3)));
/* Any text likewise. */
const char *report_cut(const char *text, char *out, size_t max) __attribute__((nonnull));
/* Compact JSON of a value likewise; "none" without one. */
const char *report_value(const struct cJSON *v, char *out, size_t max) __attribute__((nonnull(2)));
/* "payments/charges/ch_1/refunded: 0 -> 2100", an entry of state.diff. */
void report_change(const struct cJSON *change, char out[static REPORT_LINE_MAX]) __attribute__((nonnull(2)));
/* "tcp 203.0.113.9 (name) port 443, 2 packets of the workflow", an entry of boundary.denied_egress. */
void report_denied(const struct cJSON *row, char out[static REPORT_LINE_MAX]) __attribute__((nonnull(2)));
/* How the workflow ended: "code 1, ended by itself". */
void report_exit(const struct cJSON *outcome, char out[static REPORT_LINE_MAX]) __attribute__((nonnull(2)));
/* Is it signed, in words; whose key. */
void report_signature(const struct cJSON *receipt, char out[static REPORT_LINE_MAX]) __attribute__((nonnull(2)));
#endif
