/* SPDX-License-Identifier: GPL-2.0-or-later
 * object.c - around the edges of cJSON: its own replacement by name frees a name that is the item's before it copies it. */
#include "guest/object.h"

#include <cJSON.h>
#include <string.h>

/* Names the item; name may be the item's own.  A copy of a member carries the name that it had in its former object. */
static bool
rename_item(struct cJSON *item, const char *name)
{
	size_t len = strlen(name) + 1;
	char *copy;

	if (item->string != NULL && strcmp(item->string, name) == 0)
		return true;
	copy = cJSON_malloc(len);
	if (copy == NULL)
		return false;
	memcpy(copy, name, len);
	cJSON_free(item->string);
	item->string = copy;
	return true;
}

/* see object.h */
bool
object_put(struct cJSON *object, const char *name, struct cJSON *item)
{
	struct cJSON *old = cJSON_GetObjectItemCaseSensitive(object, name);

	if (item != NULL && old == NULL && cJSON_AddItemToObject(object, name, item))
		return true;
	if (item != NULL && old != NULL && rename_item(item, name) && cJSON_ReplaceItemViaPointer(object, old, item))
		return true;
	cJSON_Delete(item);
	return false;
}

/* see object.h */
struct cJSON *
object_merged(const struct cJSON *row, struct cJSON *with)
{
	struct cJSON *copy = cJSON_Duplicate(row, true);

	while (copy != NULL && with->child != NULL) {
		struct cJSON *member = cJSON_DetachItemViaPointer(with, with->child);

		if (!object_put(copy, member->string, member)) {
			cJSON_Delete(copy);
			copy = NULL;
		}
	}
	return copy;
}

/* see object.h */
bool
object_set_id(struct cJSON *object, const char *id)
{
	struct cJSON *text = cJSON_CreateString(id);

	cJSON_DeleteItemFromObjectCaseSensitive(object, "id");
	if (text == NULL || !cJSON_AddItemToObject(object, "id", text)) {
		cJSON_Delete(text);
		return false;
	}
	if (object->child == text)
		return true;
	cJSON_DetachItemViaPointer(object, text);
	return cJSON_InsertItemInArray(object, 0, text); /* of an object too: a list of members */
}
