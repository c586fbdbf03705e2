/* SPDX-License-Identifier: GPL-2.0-or-later
 * object.c - around the edges of cJSON: its own replacement by name frees a name that is the item's before it copies it. */
#include "guest/object.h"

#include <cJSON.h>
#include <string.h>

/* see object.h */
bool
object_put(struct cJSON *object, const char *name, struct cJSON *item)
{
	struct cJSON *old = cJSON_GetObjectItemCaseSensitive(object, name);

	if (item != NULL && old == NULL) {
		if (cJSON_AddItemToObject(object, name, item))
			return true;
	} else if (item != NULL) {
		if (item->string == NULL) {
			size_t len = strlen(name) + 1;

			item->string = cJSON_malloc(len);
			if (item->string != NULL)
				memcpy(item->string, name, len);
		}
		if (item->string != NULL && strcmp(item->string, name) == 0 &&
		    cJSON_ReplaceItemViaPointer(object, old, item))
			return true;
	}
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
