/* SPDX-License-Identifier: GPL-2.0-or-later
 * object.c - around the edges of cJSON: its own replacement by name frees a name that is the item's before it copies it. */
#include "guest/object.h"

#include <cJSON.h>
#include <stddef.h>
#include <stdlib.h>
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

/* ---- forms ------------------------------------------------------------------------------------------------------------ */

#define TOKENS_MAX 16u

struct name {
	char *text; /* owned, cut into tokens */
	const char *tokens[TOKENS_MAX];
	size_t len;
};

/* "a[b][0]" into a, b, 0.  False: it is no such name; *text NULL then: no memory. */
static bool
split_name(const char *s, struct name *n)
{
	char *at;

	n->len = 0;
	n->text = strdup(s);
	if (n->text == NULL)
		return false;
	at = strchr(n->text, '[');
	if (at == NULL || at == n->text)
		return false;
	n->tokens[n->len++] = n->text;
	while (*at == '[') {
		char *end = strchr(at, ']');

		*at = '\0';
		if (end == NULL || n->len == TOKENS_MAX || memchr(at + 1, '[', (size_t)(end - at - 1)) != NULL)
			return false;
		*end = '\0';
		n->tokens[n->len++] = at + 1;
		at = end + 1;
	}
	return *at == '\0';
}

static bool
is_index(const char *token, size_t *index)
{
	size_t digits = strspn(token, "0123456789");

	*index = 0;
	for (size_t i = 0; i < digits && digits < 7; i++)
		*index = *index * 10 + (size_t)(token[i] - '0');
	return digits > 0 && digits < 7 && token[digits] == '\0' && (digits == 1 || token[0] != '0');
}

/* What a container is made for decides what it is: numbers that do not start at 0 are names, as those of metadata may be. */
static bool
starts_array(const char *token)
{
	return *token == '\0' || strcmp(token, "0") == 0;
}

/* What stands at token in the container, or NULL.  *fits false: it cannot stand there. */
static struct cJSON *
look(struct cJSON *container, const char *token, bool *fits)
{
	size_t index, len;

	*fits = cJSON_IsArray(container) || (cJSON_IsObject(container) && *token != '\0');
	if (!cJSON_IsArray(container))
		return cJSON_GetObjectItemCaseSensitive(container, token);
	len = (size_t)cJSON_GetArraySize(container);
	if (*token == '\0')
		return NULL;
	*fits = is_index(token, &index) && index <= len;
	return *fits && index < len ? cJSON_GetArrayItem(container, (int)index) : NULL;
}

/* 1 put; 0 it means nothing here; -1 no memory.  value is moved in when put. */
static int
put_at(struct cJSON *container, const struct name *n, struct cJSON *value)
{
	bool fits;

	for (size_t i = 0; i < n->len; i++) {
		bool last = i + 1 == n->len, added;
		struct cJSON *there = look(container, n->tokens[i], &fits), *made;

		if (!fits || (last && there != NULL))
			return 0;
		if (!last && there != NULL) {
			container = there;
			continue;
		}
		made = last ? value : starts_array(n->tokens[i + 1]) ? cJSON_CreateArray() : cJSON_CreateObject();
		if (made == NULL)
			return -1;
		added = cJSON_IsArray(container) ? cJSON_AddItemToArray(container, made)
						 : cJSON_AddItemToObject(container, n->tokens[i], made);
		if (!added) {
			if (!last)
				cJSON_Delete(made);
			return -1;
		}
		container = made;
	}
	return 1;
}

/* One field of a form.  A repeated a[] is an array already, of which each item is put. */
static int
put_field(struct cJSON *out, const struct cJSON *field)
{
	struct name n;
	bool nested = split_name(field->string, &n);
	int r = n.text == NULL ? -1 : 0;
	bool pushed = nested && n.tokens[n.len - 1][0] == '\0' && cJSON_IsArray(field);

	for (const struct cJSON *v = pushed ? field->child : field; r >= 0 && nested && v != NULL;
	     v = pushed ? v->next : NULL) {
		struct cJSON *copy = cJSON_Duplicate(v, true);

		r = copy == NULL ? -1 : put_at(out, &n, copy);
		if (r != 1)
			cJSON_Delete(copy);
		if (r == 0)
			break;
	}
	free(n.text);
	if (r == 0) { /* as it is written */
		struct cJSON *copy = cJSON_Duplicate(field, true);

		r = copy != NULL && object_put(out, field->string, copy) ? 1 : -1;
	}
	return r;
}

/* see object.h */
struct cJSON *
object_of_form(const struct cJSON *form)
{
	struct cJSON *out = cJSON_CreateObject();

	for (const struct cJSON *f = form->child; f != NULL && out != NULL; f = f->next) {
		if (put_field(out, f) >= 0)
			continue;
		cJSON_Delete(out);
		out = NULL;
	}
	return out;
}
