/* SPDX-License-Identifier: GPL-2.0-or-later
 * json_print.c - see json.h: cJSON's own printing and comparing take large numbers that are close for equal, so that 2^53-1
 * would pass for 2^53-2. */
#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "proto/cursor.h"
#include "proto/number.h"

#define PRINT_FIRST 512u
#define PRINT_MAX (1u << 30)

static void
put(struct writer *w, const struct cJSON *v)
{
	char text[NUMBER_TEXT_SIZE];
	const struct cJSON *m;

	switch (v->type & 0xff) {
	case cJSON_True:
	case cJSON_False:
		json_bool(w, cJSON_IsTrue(v));
		return;
	case cJSON_Number:
		write_bytes(w, text, number_text(v->valuedouble, text));
		return;
	case cJSON_String:
		json_text(w, v->valuestring);
		return;
	case cJSON_Array:
	case cJSON_Object:
		write_u8(w, cJSON_IsArray(v) ? '[' : '{');
		for (m = v->child; m && !w->failed; m = m->next) {
			if (cJSON_IsObject(v)) {
				json_text(w, m->string);
				write_u8(w, ':');
			}
			put(w, m);
			if (m->next)
				write_u8(w, ',');
		}
		write_u8(w, cJSON_IsArray(v) ? ']' : '}');
		return;
	default:
		write_text(w, "null");
	}
}

/* Again with twice the room until it fits; what did not may have held secrets. */
char *
json_print(const struct cJSON *v)
{
	struct writer w;
	size_t size;
	char *text;

	for (size = PRINT_FIRST; v && size <= PRINT_MAX; size *= 2) {
		text = malloc(size);
		if (!text)
			return NULL;
		writer_init(&w, text, size);
		put(&w, v);
		write_u8(&w, '\0');
		if (!w.failed)
			return text;
		explicit_bzero(text, size);
		free(text);
	}
	return NULL;
}

bool
json_equal(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x, *y;

	if (!a || !b || (a->type & 0xff) != (b->type & 0xff))
		return false;
	switch (a->type & 0xff) {
	case cJSON_Number:
		return number_is_equal(a->valuedouble, b->valuedouble);
	case cJSON_String:
		return strcmp(a->valuestring, b->valuestring) == 0;
	case cJSON_Array:
	case cJSON_Object:
		break;
	default:
		return true; /* null, true, false */
	}
	/* No key stands twice, so equal counts and a partner for each member are enough; most stand in the same order. */
	for (x = a->child, y = b->child; x && y; x = x->next, y = y->next) {
		const struct cJSON *other = cJSON_IsArray(a) || strcmp(x->string, y->string) == 0
						    ? y
						    : cJSON_GetObjectItemCaseSensitive(b, x->string);

		if (!json_equal(x, other))
			return false;
	}
	return !x && !y;
}
