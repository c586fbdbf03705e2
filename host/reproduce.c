/* SPDX-License-Identifier: GPL-2.0-or-later
 * reproduce.c - see reproduce.h. */
#include "host/reproduce.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/json.h"
#include "host/node.h"
#include "host/receipt_read.h"
#include "host/seeds.h"
#include "host/stage.h"
#include "host/store.h"
#include "host/world.h"
#include "proto/plan.h"
#include "proto/sha256.h"

/* ---- the receipt ------------------------------------------------------------------------------------------------------ */

static int
fail(struct reproduce *r, struct diag *d, int err, const char *problem, const char *fix)
{
	snprintf(d->file, sizeof(d->file), "%.500s", r->reference.path);
	diag_set(d, err, "%s", problem);
	diag_fix(d, "%s", fix);
	return err;
}

static int
take(struct reproduce *r, struct diag *d)
{
	static const char other[] = "name a receipt that this program wrote: a file, the id of a run, or latest";
	const cJSON *run = json_get(r->doc, "run"), *runtime = json_get(r->doc, "runtime");
	const char *id = json_get_text(run, "id"), *fingerprint = json_get_text(run, "fingerprint");
	uint64_t ms;

	r->runtime = json_get_text(runtime, "backend");
	r->node_version = json_get_text(json_get(runtime, "node"), "version");
	if (!id || !json_is_sha256(fingerprint) || !r->runtime || !json_get_u64(run, "seed", SEED_MAX, &r->seed) ||
	    !json_is_sha256(json_get_text(json_get(run, "world"), "sha256")) ||
	    !json_get_text(json_get(run, "world"), "path") ||
	    !cJSON_IsArray(json_get(json_get(r->doc, "bundle"), "files")))
		return fail(r, d, -EPROTO, "parts that reproduction needs are missing in this receipt", other);
	if (json_get_u64(json_get(json_get(runtime, "limits"), "asked"), "run_ms", UINT32_MAX, &ms))
		r->run_ms = (uint32_t)ms;
	snprintf(r->reference.run_id, sizeof(r->reference.run_id), "%s", id);
	snprintf(r->reference.fingerprint, sizeof(r->reference.fingerprint), "%s", fingerprint);
	return 0;
}

/* As the receipt says, seen from the current folder; or beside the folder where the receipt lies. */
static int
find_world(struct reproduce *r, const char *given, struct diag *d)
{
	const char *said = json_get_text(json_get(json_get(r->doc, "run"), "world"), "path"), *base;
	char *cut, *root;

	if (given) {
		snprintf(r->world, sizeof(r->world), "%s", given);
		return 0;
	}
	snprintf(r->world, sizeof(r->world), "%s", said);
	if (access(r->world, R_OK) == 0)
		return 0;
	root = realpath(r->reference.path, NULL);
	cut = root ? strstr(root, "/.agenttwin/receipts/") : NULL;
	if (cut) {
		*cut = '\0';
		base = strrchr(said, '/');
		snprintf(r->world, sizeof(r->world), "%s/%s", root, base ? base + 1 : said);
	}
	free(root);
	if (cut && access(r->world, R_OK) == 0)
		return 0;
	snprintf(d->file, sizeof(d->file), "%.500s", r->reference.path);
	diag_set(d, -ENOENT, "the world of this receipt, %.300s, is not here", said);
	diag_fix(d, "go where it was run, or name the world: agenttwin-host run --reproduce RECEIPT WORLD");
	return -ENOENT;
}

int
reproduce_load(const char *what, const char *world, struct reproduce *out, struct diag *d)
{
	char why[RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	int r;

	memset(out, 0, sizeof(*out));
	r = store_find(what, out->reference.path, sizeof(out->reference.path));
	if (r < 0) {
		snprintf(d->file, sizeof(d->file), "%.500s", what);
		diag_set(d, r, "no such receipt");
		diag_fix(d, "name a file, a folder where worlds were run, the id of a run, or latest");
		return r;
	}
	r = receipt_open(out->reference.path, &doc, why);
	if (r < 0)
		return fail(out, d, r, why, "name a receipt that can be read");
	out->doc = doc.rest; /* moved */
	doc.rest = NULL;
	receipt_close(&doc);
	r = take(out, d);
	return r < 0 ? r : find_world(out, world, d);
}

void
reproduce_wipe(struct reproduce *r)
{
	cJSON_Delete(r->doc);
	memset(r, 0, sizeof(*r));
}

/* ---- what went into it ------------------------------------------------------------------------------------------------ */

static int
check_world(const struct reproduce *r, const struct world *w, struct diag *d)
{
	const char *before = json_get_text(json_get(json_get(r->doc, "run"), "world"), "sha256");
	char now[65];

	sha256_hex(w->sha256, now);
	if (strcmp(before, now) == 0)
		return 0;
	snprintf(d->file, sizeof(d->file), "%.500s", w->path);
	diag_set(d, -ESTALE, "the world is not the receipt's: its SHA-256 is %.16s..., there it was %.16s...", now,
		 before);
	diag_fix(d, "bring back the world as it was, or run it anew without --reproduce");
	return -ESTALE;
}

/* As bundle.files; NULL: no memory. */
static cJSON *
files_of(const struct stage *s)
{
	static const char *const kinds[] = { "?", "file", "link", "twins-file" };
	cJSON *list = cJSON_CreateArray(), *o;
	char text[65], mode[8];
	size_t i;

	for (i = 0; list && i < s->entries_len; i++) {
		const struct stage_entry *f = &s->entries[i];

		o = cJSON_CreateObject();
		if (!o || !cJSON_AddItemToArray(list, o)) {
			cJSON_Delete(o);
			cJSON_Delete(list);
			return NULL;
		}
		sha256_hex(f->sha256, text);
		snprintf(mode, sizeof(mode), "%04o", f->mode & 07777u);
		if (!cJSON_AddStringToObject(o, "path", f->path) ||
		    !cJSON_AddStringToObject(o, "kind", kinds[f->kind < 4 ? f->kind : 0]) ||
		    !cJSON_AddStringToObject(o, "mode", mode) || !cJSON_AddStringToObject(o, "sha256", text) ||
		    (f->target && !cJSON_AddStringToObject(o, "target", f->target))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static int
check_files(const struct reproduce *r, const struct stage *s, struct diag *d)
{
	cJSON *now = files_of(s);
	char text[400];
	bool differ;

	if (!now)
		return diag_set(d, -ENOMEM, "not enough memory");
	differ = compare_files(json_get(json_get(r->doc, "bundle"), "files"), now, text, sizeof(text));
	cJSON_Delete(now);
	if (!differ)
		return 0;
	snprintf(d->file, sizeof(d->file), "%.500s", r->reference.path);
	diag_set(d, -ESTALE, "other files would enter than then: %s", text);
	diag_fix(d, "bring them back as they were, or run the world anew without --reproduce");
	return -ESTALE;
}

static int
check_node(const struct reproduce *r, const char *wanted, struct diag *d)
{
	struct node node;
	int rc;

	if (!r->node_version)
		return 0; /* that run came to no Node */
	if ((rc = node_find(wanted, &node, d)) < 0)
		return rc;
	if (strcmp(node.version, r->node_version) != 0) {
		snprintf(d->file, sizeof(d->file), "%.500s", r->reference.path);
		rc = diag_set(d, -ESTALE, "this is Node %s, there it was Node %s", node.version, r->node_version);
		diag_fix(d, "name that program with --node, or run the world anew without --reproduce");
	}
	node_wipe(&node);
	return rc;
}

int
reproduce_check(const struct reproduce *r, const struct world *w, const struct stage *s, const char *node,
		struct diag *d)
{
	int rc = check_world(r, w, d);

	if (rc == 0)
		rc = check_files(r, s, d);
	return rc == 0 ? check_node(r, node, d) : rc;
}

/* ---- what came of it -------------------------------------------------------------------------------------------------- */

bool
reference_compare(const struct reference *r, const char *fingerprint, const char *path,
		  char text[static COMPARE_TEXT_MAX])
{
	struct receipt_doc before, now;
	char why[RECEIPT_WHY_MAX];
	bool have = false;

	text[0] = '\0';
	if (strcmp(r->fingerprint, fingerprint) == 0)
		return true;
	if (receipt_open(r->path, &before, why) == 0) {
		have = receipt_open(path, &now, why) == 0;
		if (have && compare_receipts(&before, &now, text) == 0)
			snprintf(text, COMPARE_TEXT_MAX, "in nothing that the receipts show");
		if (have)
			receipt_close(&now);
		receipt_close(&before);
	}
	if (!have)
		snprintf(text, COMPARE_TEXT_MAX, "the receipts cannot be compared: %s", why);
	return false;
}
