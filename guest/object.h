/* SPDX-License-Identifier: GPL-2.0-or-later
 * object.h - changes to JSON objects that are about to become rows.  All false: no memory. */
#ifndef GUEST_OBJECT_H
#define GUEST_OBJECT_H
#include <stdbool.h>

struct cJSON;

/* Puts item under name, in the place of what stands there or at the end.  item is moved in; freed on failure. */
bool object_put(struct cJSON *object, const char *name, struct cJSON *item)
	__attribute__((warn_unused_result, nonnull(1, 2)));
/* A copy of row with the members of `with` put over its own; `with` loses them.  NULL: no memory. */
struct cJSON *object_merged(const struct cJSON *row, struct cJSON *with) __attribute__((nonnull));
/* The member "id" becomes id, as the first one. */
bool object_set_id(struct cJSON *object, const char *id) __attribute__((warn_unused_result, nonnull));

#endif
