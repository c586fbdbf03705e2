/* SPDX-License-Identifier: GPL-2.0-or-later
 * state_diff.c - see state_diff.h. */
#include "host/state_diff.h"

#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "host/json.h"

struct walk {
	state_diff_entry *entry;
	void *arg;
};

/* Appends "/" and a token, escaped as RFC 6901 says. */
static void
join(char *out, size_t size, const char *path, const char *name)
{
	size_t n = (size_t)snprintf(out, size, "%s/", path);

	for (; *name && n + 3 < size; name++) {
		if (*name == '~' || *name == '/') {
			out[n++] = '~';
			out[n++] = *name == '~' ? '0' : '1';
		} else {
			out[n++] = *name;
		}
	}
	if (n < size)
		out[n] = '\0';
}

static void
fields(struct walk *d, const char *path, const cJSON *before, const cJSON *after)
{
	const cJSON *v, *other;
	char sub[1200];

	cJSON_ArrayForEach(v, before)
	{
		other = json_get(after, v->string);
		join(sub, sizeof(sub), path, v->string);
		if (!json_equal(v, other))
			d->entry(d->arg, sub, v, other);
	}
	cJSON_ArrayForEach(v, after)
	{
		join(sub, sizeof(sub), path, v->string);
		if (!json_get(before, v->string))
			d->entry(d->arg, sub, NULL, v);
	}
}

static void
id_text(const cJSON *row, char *out, size_t size)
{
	const cJSON *id = json_get(row, "id");
	uint64_t number;

	if (cJSON_IsString(id))
		snprintf(out, size, "%s", id->valuestring);
	else if (json_as_u64(id, UINT64_MAX, &number))
		snprintf(out, size, "%llu", (unsigned long long)number);
	else
		out[0] = '\0';
}

static void
rows(struct walk *d, const char *path, const cJSON *before, const cJSON *after)
{
	const cJSON *a = before ? before->child : NULL, *b = after ? after->child : NULL;
	char ida[512], idb[512], sub[1200];
	int order;

	while (a || b) {
		id_text(a, ida, sizeof(ida));
		id_text(b, idb, sizeof(idb));
		order = !a ? 1 : !b ? -1 : strcmp(ida, idb);
		join(sub, sizeof(sub), path, order <= 0 ? ida : idb);
		if (order == 0)
			fields(d, sub, a, b);
		else
			d->entry(d->arg, sub, order < 0 ? a : NULL, order > 0 ? b : NULL);
		if (order <= 0)
			a = a->next;
		if (order >= 0)
			b = b->next;
	}
}

void
state_diff(const struct cJSON *before, const struct cJSON *after, state_diff_entry *entry, void *arg)
{
	struct walk walk = { entry, arg }, *d = &walk;
	const cJSON *v;
	char path[300];

	cJSON_ArrayForEach(v, before)
	{
		join(path, sizeof(path), "", v->string);
		rows(d, path, v, json_get(after, v->string));
	}
	cJSON_ArrayForEach(v, after)
	{
		join(path, sizeof(path), "", v->string);
		if (!json_get(before, v->string))
			rows(d, path, NULL, v);
	}
}
