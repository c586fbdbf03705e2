/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_ls.c - `agenttwin-host receipt ls`.  Of each receipt only the beginning is read. */
#include <cJSON.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/report_line.h"
#include "host/report_page.h"
#include "host/store_list.h"

#define FOLDERS_MAX 64u
#define ONE_LINE 100u /* columns from which on a receipt takes one line */
#define TWO_LINES 60u /* and from which on its time has room */

static const char usage[] = "usage: agenttwin-host receipt ls [OPTION...] [FOLDER...]\n"
			    "Lists receipts, the newest first: run, time, status, exit status, duration, seed,\n"
			    "world.\n"
			    "FOLDER: where worlds were run, or a folder of receipts; default: the current one.\n"
			    "  --status STATUS  only these: passed, failed, aborted, error, timeout, cancelled\n"
			    "  --world NAME     only those of this world; * and ? stand for what they do in a shell\n"
			    "  --limit N        at most N of them\n"
			    "  --json           as JSON\n"
			    "  -h, --help       this text\n"
			    "Exit status: 0 listed, also when there are none; 2 a folder cannot be read.\n";

struct asked {
	const char *status, *world;
	uint64_t limit;
	bool json;
};
struct folder {
	char path[4200];
	int fd;
	struct store_runs runs;
	size_t at;
};

/* ---- one receipt ---------------------------------------------------------------------------------------------------------- */

static bool
wanted(const struct asked *a, const struct cJSON *head)
{
	const char *status = json_get_text(head, "status"),
		   *world = json_get_text(json_get(json_get(head, "run"), "world"), "name");

	return (!a->status || (status && strcmp(status, a->status) == 0)) &&
	       (!a->world || (world && fnmatch(a->world, world, 0) == 0));
}

static void
row(struct page *p, const cJSON *head, const char *id)
{
	const cJSON *run = json_get(head, "run");
	char status[16], world[304], when[32], line[400], shown[1600], begun[128], word[64];
	uint64_t seed = 0, took = 0, code = 0;
	enum colour c;

	json_get_u64(run, "seed", UINT64_MAX, &seed);
	json_get_u64(run, "duration_ms", UINT64_MAX, &took);
	json_get_u64(head, "exit_code", 255, &code);
	report_clip(head, "status", status, 12);
	c = strcmp(status, "passed") == 0 ? GOOD : strcmp(status, "failed") == 0 ? BAD : DOUBT;
	escape_text(status, strlen(status), word, sizeof(word));
	report_clip(run, "started", when, 28);
	escape_text(when, strcspn(when, "."), begun, sizeof(begun)); /* seconds are enough */
	report_clip(json_get(run, "world"), "name", world, 300);
	snprintf(line, sizeof(line), "%3" PRIu64 "  %8.2f s  %" PRIu64 "  %s", code, (double)took / 1000, seed, world);
	escape_text(line, strlen(line), shown, sizeof(shown));
	fputs(id, p->f);
	if (p->width >= TWO_LINES)
		fprintf(p->f, "  %s", begun);
	fprintf(p->f, "%s  %s%-9s%s  %s\n", p->width >= ONE_LINE ? "" : "\n", page_paint(p, c), word,
		page_unpaint(p, c), shown);
}

static int
row_json(FILE *f, const struct folder *in, const struct store_run *run, const cJSON *head, const char *why, bool first)
{
	static const char *const of[] = { "started", "duration_ms", "seed", "fingerprint" };
	const cJSON *r = json_get(head, "run");
	cJSON *o = cJSON_CreateObject();
	char path[4300], *text;
	size_t i;

	snprintf(path, sizeof(path), "%s/%s.json", in->path, run->id);
	cJSON_AddStringToObject(o, "id", run->id);
	cJSON_AddStringToObject(o, "file", path);
	cJSON_AddBoolToObject(o, "events", run->events);
	if (head) {
		cJSON_AddItemToObject(o, "status", cJSON_Duplicate(json_get(head, "status"), true));
		cJSON_AddItemToObject(o, "why", cJSON_Duplicate(json_get(head, "why"), true));
		cJSON_AddItemToObject(o, "exit_code", cJSON_Duplicate(json_get(head, "exit_code"), true));
		cJSON_AddItemToObject(o, "world", cJSON_Duplicate(json_at(r, "/world/name", false), true));
		for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
			cJSON_AddItemToObject(o, of[i], cJSON_Duplicate(json_get(r, of[i]), true));
	} else {
		cJSON_AddNullToObject(o, "status");
		cJSON_AddStringToObject(o, "problem", why);
	}
	text = json_print(o);
	cJSON_Delete(o);
	if (!text)
		return receipt_complain("stdout", strerror(ENOMEM), NULL);
	fprintf(f, "%s\n  %s", first ? "" : ",", text);
	free(text);
	return 0;
}

/* 1: it is listed; 0: not; 2: trouble. */
static int
one(struct page *p, const struct asked *a, const struct folder *in, const struct store_run *run, bool first)
{
	char name[64], why[RECEIPT_WHY_MAX], shown[4 * RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	int r;

	snprintf(name, sizeof(name), "%s.json", run->id);
	r = receipt_open_head(in->fd, name, &doc, why);
	if (r == -ENOENT || r == -ELOOP || r == -EISDIR)
		return 0; /* pruned meanwhile, or none of ours */
	if (r < 0 && (a->status || a->world))
		return 0;
	if (r == 0 && !wanted(a, doc.rest)) {
		receipt_close(&doc);
		return 0;
	}
	if (a->json && row_json(p->f, in, run, r == 0 ? doc.rest : NULL, why, first))
		r = 2;
	else if (!a->json && r == 0)
		row(p, doc.rest, run->id);
	else if (!a->json) {
		escape_text(why, strlen(why), shown, sizeof(shown));
		fprintf(p->f, "%s  unreadable: %s\n", run->id, shown);
	}
	if (r == 0)
		receipt_close(&doc);
	return r == 2 ? 2 : 1;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------ */

static int
list(const struct asked *a, struct folder *folders, size_t len)
{
	const struct folder *in;
	struct folder *newest;
	struct page p;
	uint64_t n = 0;
	size_t i;
	int r = 0;

	page_init(&p, STDOUT_FILENO, stdout);
	if (a->json)
		fputs("[", stdout);
	while (r != 2 && n < a->limit) {
		newest = NULL;
		for (i = 0; i < len; i++) {
			struct folder *f = &folders[i];

			if (f->at < f->runs.len &&
			    (!newest || strcmp(f->runs.list[f->at].id, newest->runs.list[newest->at].id) > 0))
				newest = f;
		}
		if (!newest)
			break;
		in = newest;
		r = in->runs.list[in->at].receipt ? one(&p, a, in, &in->runs.list[in->at], n == 0) : 0;
		newest->at++;
		n += r == 1;
	}
	if (a->json)
		fputs(n ? "\n]\n" : "]\n", stdout);
	else if (n == 0 && r != 2)
		log_line(LOG_LEVEL_NOTE, "no receipts");
	return r == 2 ? 2 : 0;
}

/* Without a name: the store of the current folder, or where receipts go when a folder cannot be written. */
static int
open_folder(const char *name, struct folder *f)
{
	int r;

	f->fd = store_folder(name ? name : ".", name != NULL, f->path, sizeof(f->path));
	if (!name && f->fd < 0)
		f->fd = store_state_folder(f->path, sizeof(f->path));
	if (f->fd < 0 && !name)
		return 0;
	if (f->fd < 0)
		return receipt_complain(name, strerror(-f->fd), "name a folder where worlds were run");
	r = store_runs_read(f->fd, &f->runs);
	return r < 0 ? receipt_complain(f->path, strerror(-r), NULL) : 0;
}

static int
check_asked(struct asked *a, const char *limit)
{
	static const char *const known[] = { "passed", "failed", "aborted", "error", "timeout", "cancelled" };
	size_t i;

	for (i = 0; a->status && i < 6 && strcmp(a->status, known[i]) != 0; i++)
		;
	if (a->status && i == 6)
		return receipt_complain(a->status, "there is no such status",
					"they are passed, failed, aborted, error, timeout and cancelled");
	a->limit = UINT64_MAX;
	return limit ? receipt_number("--limit", limit, 1, 1000000, &a->limit) : 0;
}

int
receipt_cmd_ls(int argc, char **argv)
{
	static struct folder folders[FOLDERS_MAX];
	const char *names[FOLDERS_MAX] = { NULL }, *limit = NULL;
	struct asked a = { 0 };
	const struct receipt_option options[] = { { "--status", &a.status, NULL },
						  { "--world", &a.world, NULL },
						  { "--limit", &limit, NULL },
						  { "--json", NULL, &a.json } };
	size_t n, i;
	int r = receipt_options(argc, argv, usage, options, 4, names, FOLDERS_MAX, &n);

	if (r >= 0)
		return r;
	if ((r = check_asked(&a, limit)))
		return r;
	n = n ? n : 1;
	for (i = 0; i < n; i++)
		folders[i].fd = -1;
	for (i = 0; i < n && r == 0; i++)
		r = open_folder(names[i], &folders[i]);
	if (r == 0)
		r = list(&a, folders, n);
	for (i = 0; i < n; i++) {
		store_runs_wipe(&folders[i].runs);
		if (folders[i].fd >= 0)
			close(folders[i].fd);
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", "it cannot be written", NULL);
	return r;
}
