/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_state.c - the part `state`: before, after, and what differs, row by row and field by field. */
#include <cJSON.h>

#include "host/emit.h"
#include "host/json.h"
#include "host/receipt.h"
#include "host/state_diff.h"

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
entry(void *arg, const char *path, const cJSON *before, const cJSON *after)
{
	struct diff *d = arg;

	if (d->entries++ >= RECEIPT_DIFF_MAX)
		return;
	emit_open(d->e, NULL, '{');
	emit_text(d->e, "service", d->service);
	emit_text(d->e, "path", path);
	emit_json(d->e, "before", before);
	emit_json(d->e, "after", after);
	emit_close(d->e);
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
			state_diff(json_get(before, "collections"), json_get(after, "collections"), entry, &d);
		cJSON_Delete(before);
		cJSON_Delete(after);
	}
	emit_close(e);
	if (d.entries > RECEIPT_DIFF_MAX)
		emit_u64(e, "diff_left_out", d.entries - RECEIPT_DIFF_MAX);
	emit_close(e);
}
