/* SPDX-License-Identifier: GPL-2.0-or-later
 * state_diff.h - what differs between two states of a service, row by row and field by field. */
#ifndef HOST_STATE_DIFF_H
#define HOST_STATE_DIFF_H

struct cJSON;

/* One difference: a JSON Pointer below the service, rows by id; before or after is NULL when it was, or is, not there. */
typedef void state_diff_entry(void *arg, const char *path, const struct cJSON *before, const struct cJSON *after);
/* before and after are objects of collections, lists of rows.  Linear in their length when rows are in the order of their ids, as
 * the twins promise; a list that is not only makes more differences, never fewer. */
void state_diff(const struct cJSON *before, const struct cJSON *after, state_diff_entry *entry, void *arg);
#endif
