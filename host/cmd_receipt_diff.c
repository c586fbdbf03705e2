/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_diff.c - `agenttwin-host receipt diff A B`. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/compare.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/report_line.h"
#include "host/report_page.h"

#define LIMIT_DEFAULT 20u

static const char usage[] = "usage: agenttwin-host receipt diff [OPTION...] A B\n"
			    "Says what is different between two receipts: what entered, then what came of it.\n"
			    "Times, ids of runs, connections, ports and output are not compared.\n"
			    "  --limit N   differences of each part that are listed, 1 to 1000; default 20\n"
			    "  --json      as JSON\n"
			    "  -h, --help  this text\n"
			    "Exit status: 0 equal, 1 different, 2 unreadable.\n";

struct side {
	char path[4200];
	struct receipt_doc doc;
	bool open;
};

static bool
entered(enum compare_part part)
{
	return part < COMPARE_OPERATIONS;
}

/* ---- for people ----------------------------------------------------------------------------------------------------------- */

static void
name_side(struct page *p, const char *label, const struct side *s)
{
	const cJSON *run = json_get(s->doc.rest, "run");
	char status[32], world[104], id[64], when[44], fingerprint[16];
	uint64_t seed = 0;

	json_get_u64(run, "seed", UINT64_MAX, &seed);
	page_field(p, PLAIN, label, "%s, %s, seed %" PRIu64 ", %s, run %s, fingerprint %s",
		   report_clip(s->doc.rest, "status", status, 28),
		   report_clip(json_get(run, "world"), "name", world, 100), seed, report_clip(run, "started", when, 40),
		   report_clip(run, "id", id, 60), report_clip(run, "fingerprint", fingerprint, 15));
}

static void
list(struct page *p, const struct compare *c, const char *title, bool before)
{
	enum compare_part part;
	bool titled = false;
	uint64_t shown;
	size_t i;

	for (part = 0; part < COMPARE_PARTS; part++) {
		if (entered(part) != before || !c->found[part])
			continue;
		if (!titled)
			page_heading(p, title, UINT64_MAX);
		titled = true;
		shown = 0;
		for (i = 0; i < c->len; i++)
			if (c->items[i].part == part)
				page_text(p, DOUBT, shown++ ? "" : compare_part_name(part), c->items[i].text);
		if (c->found[part] > shown)
			page_field(p, PLAIN, "", "... and %" PRIu64 " more", c->found[part] - shown);
	}
}

static void
tell(const struct side *a, const struct side *b, const struct compare *c, bool equal)
{
	struct page p;

	page_init(&p, STDOUT_FILENO, stdout);
	fprintf(stdout, "%s%s%s\n", page_paint(&p, equal ? GOOD : BAD), equal ? "equal" : "different",
		page_unpaint(&p, equal ? GOOD : BAD));
	name_side(&p, "A", a);
	name_side(&p, "B", b);
	list(&p, c, "what entered", true);
	list(&p, c, "what came of it", false);
	if (!equal && c->len == 0) {
		page_heading(&p, "what came of it", UINT64_MAX);
		page_text(&p, DOUBT, "", "the fingerprints differ, in nothing that the receipts show");
	}
}

/* ---- for machines --------------------------------------------------------------------------------------------------------- */

static cJSON *
side_json(const struct side *s)
{
	static const char *const of[] = { "id", "seed", "fingerprint" };
	const cJSON *run = json_get(s->doc.rest, "run");
	cJSON *o = cJSON_CreateObject();
	size_t i;

	cJSON_AddStringToObject(o, "file", s->path);
	cJSON_AddItemToObject(o, "status", cJSON_Duplicate(json_get(s->doc.rest, "status"), true));
	cJSON_AddItemToObject(o, "world", cJSON_Duplicate(json_at(run, "/world/name", false), true));
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		cJSON_AddItemToObject(o, of[i], cJSON_Duplicate(json_get(run, of[i]), true));
	return o;
}

static void
pointer(cJSON *o, const char *name, const char *value)
{
	if (*value)
		cJSON_AddStringToObject(o, name, value);
	else
		cJSON_AddNullToObject(o, name);
}

static int
print_json(const struct side *a, const struct side *b, const struct compare *c, bool equal)
{
	cJSON *doc = cJSON_CreateObject(), *items, *counts, *o;
	enum compare_part part;
	char *text;
	size_t i;

	cJSON_AddStringToObject(doc, "agenttwin", "diff/1");
	cJSON_AddBoolToObject(doc, "equal", equal);
	cJSON_AddItemToObject(doc, "a", side_json(a));
	cJSON_AddItemToObject(doc, "b", side_json(b));
	counts = cJSON_AddObjectToObject(doc, "found");
	for (part = 0; part < COMPARE_PARTS; part++)
		cJSON_AddNumberToObject(counts, compare_part_name(part), (double)c->found[part]);
	items = cJSON_AddArrayToObject(doc, "differences");
	for (i = 0; i < c->len; i++) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "part", compare_part_name(c->items[i].part));
		cJSON_AddBoolToObject(o, "entered", entered(c->items[i].part));
		cJSON_AddStringToObject(o, "text", c->items[i].text);
		pointer(o, "a", c->items[i].before);
		pointer(o, "b", c->items[i].now);
		cJSON_AddItemToArray(items, o);
	}
	text = json_print(doc);
	cJSON_Delete(doc);
	if (!text)
		return receipt_complain("stdout", strerror(ENOMEM), NULL);
	puts(text);
	free(text);
	return 0;
}

/* ---- both ----------------------------------------------------------------------------------------------------------------- */

static int
take(const char *what, struct side *s)
{
	char why[RECEIPT_WHY_MAX];
	int r = receipt_named(what, s->path, sizeof(s->path));

	if (r)
		return r;
	r = receipt_open(s->path, &s->doc, why);
	if (r < 0)
		return receipt_complain(s->path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	s->open = true;
	return 0;
}

static int
diff(struct side *a, struct side *b, uint64_t limit, bool json)
{
	const char *x = json_get_text(json_get(a->doc.rest, "run"), "fingerprint"),
		   *y = json_get_text(json_get(b->doc.rest, "run"), "fingerprint");
	struct compare c = { .limit = (size_t)limit };
	bool equal;
	int r;

	r = compare_all(&a->doc, &b->doc, &c);
	if (r < 0) {
		r = receipt_complain(c.why == b->doc.why ? b->path : a->path, c.why ? c.why : strerror(-r), NULL);
		goto out;
	}
	equal = c.len == 0 && x && y && strcmp(x, y) == 0;
	r = equal ? 0 : 1;
	if (!json)
		tell(a, b, &c, equal);
	else if (print_json(a, b, &c, equal))
		r = 2;
	if (fflush(stdout) != 0 || ferror(stdout))
		r = receipt_complain("stdout", "it cannot be written", NULL);
out:
	compare_wipe(&c);
	return r;
}

int
receipt_cmd_diff(int argc, char **argv)
{
	static struct side a, b;
	const char *args[2], *limit = NULL;
	uint64_t n = LIMIT_DEFAULT;
	bool json = false;
	const struct receipt_option options[] = { { "--limit", &limit, NULL }, { "--json", NULL, &json } };
	size_t len;
	int r = receipt_options(argc, argv, usage, options, 2, args, 2, &len);

	if (r >= 0)
		return r;
	if (len != 2)
		return receipt_complain("receipt diff", "two receipts are needed", "name both: receipt diff A B");
	if (limit && (r = receipt_number("--limit", limit, 1, COMPARE_LIMIT_MAX, &n)))
		return r;
	if ((r = take(args[0], &a)) == 0 && (r = take(args[1], &b)) == 0)
		r = diff(&a, &b, n, json);
	if (a.open)
		receipt_close(&a.doc);
	if (b.open)
		receipt_close(&b.doc);
	return r;
}
