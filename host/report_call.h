/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_call.h - all that matters of an operation, in lines of a label and a value.  Control characters are still in it. */
#ifndef HOST_REPORT_CALL_H
#define HOST_REPORT_CALL_H
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define CALL_FIELD_MAX 700u /* bytes of one value */

struct call_lines {
	char text[14 * CALL_FIELD_MAX];
	size_t len;
};
/* Adds a line, its value cut; one that has no room is left out. */
void call_line(struct call_lines *l, const char *label, const char *value) __attribute__((nonnull));
/* Request, key, effects, reply, fault, both views.  op is what was read, anything at all. */
void call_in_full(const struct cJSON *op, uint64_t index, struct call_lines *out) __attribute__((nonnull(3)));
#endif
