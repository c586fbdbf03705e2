/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_state.c - the part `state`: before, after, and what differs, row by row and field by field. */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "host/emit.h"
#include "host/json.h"
#include "host/receipt.h"

static void
phase(struct emit *e, const struct receipt *r, const char *key, unsigned number)
{
	cJSON *doc;
	size_t i;

	emit_open(e, key, '{');
	for (i = 0; i < r->world->services_len; i++) {
		doc = evidence_state_doc(r->evidence, number, i);
		emit_json(e, r->world->services[i].name, json_get(doc, "collections"));
		cJSON_Delete(doc);
	}
	emit_close(e);
}

struct diff {
	struct emit *e;
	const char *service;
	uint64_t entries;
};

static void
entry(struct diff *d, const char *path, const cJSON *before, const cJSON *after)
{
	if (d->entries++ >= RECEIPT_DIFF_MAX)
		return;
	emit_open(d->e, NULL, '{');
	emit_text(d->e, "service", d->service);
	emit_text(d->e, "path", path);
	emit_json(d->e, "before", before);
	emit_json(d->e, "after", after);
	emit_close(d->e);
}

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
fields(struct diff *d, const char *path, const cJSON *before, const cJSON *after)
{
	const cJSON *v, *other;
	char sub[1200];

	cJSON_ArrayForEach(v, before)
	{
		other = json_get(after, v->string);
		join(sub, sizeof(sub), path, v->string);
		if (!json_equal(v, other))
			entry(d, sub, v, other);
	}
	cJSON_ArrayForEach(v, after)
	{
		join(sub, sizeof(sub), path, v->string);
		if (!json_get(before, v->string))
			entry(d, sub, NULL, v);
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

/* Both lists are in id order, as the twins promise; a list that is not only makes a longer diff, never a shorter one. */
static void
rows(struct diff *d, const char *path, const cJSON *before, const cJSON *after)
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
			entry(d, sub, order < 0 ? a : NULL, order > 0 ? b : NULL);
		if (order <= 0)
			a = a->next;
		if (order >= 0)
			b = b->next;
	}
}

static void
service(struct diff *d, const cJSON *before, const cJSON *after)
{
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

void
receipt_state(struct emit *e, const struct receipt *r)
{
	struct diff d = { .e = e };
	cJSON *before, *after;
	uint8_t digest[32];
	size_t i;

	emit_open(e, "state", '{');
	phase(e, r, "initial", 0);
	phase(e, r, "final", 1);
	/* Of all that a service was at the end, which is more than its collections: what the fingerprint takes of it. */
	emit_open(e, "final_sha256", '{');
	for (i = 0; i < r->world->services_len; i++)
		if (evidence_state_digest(r->evidence, i, digest))
			emit_hex(e, r->world->services[i].name, digest);
	emit_close(e);
	emit_open(e, "diff", '[');
	for (i = 0; i < r->world->services_len; i++) {
		before = evidence_state_doc(r->evidence, 0, i);
		after = evidence_state_doc(r->evidence, 1, i);
		d.service = r->world->services[i].name;
		if (before && after) /* without one of them nothing can be said to have changed */
			service(&d, json_get(before, "collections"), json_get(after, "collections"));
		cJSON_Delete(before);
		cJSON_Delete(after);
	}
	emit_close(e);
	if (d.entries > RECEIPT_DIFF_MAX)
		emit_u64(e, "diff_left_out", d.entries - RECEIPT_DIFF_MAX);
	emit_close(e);
}
