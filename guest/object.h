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
/* A form as the object that its names mean: a[b]=1 is a member b of a, a[]=1 and a[0]=1 are items of an array.  What means
 * nothing (a[b, a gap between a[0] and a[2], a=1&a[b]=2) stays as it is written.  NULL: no memory. */
struct cJSON *object_of_form(const struct cJSON *form) __attribute__((nonnull));
/* The member "id" becomes id, as the first one. */
bool object_set_id(struct cJSON *object, const char *id) __attribute__((warn_unused_result, nonnull));

#endif
