/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_reap.c - agenttwin-host reap: ends and removes what hosts that died left behind. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend.h"
#include "host/cmd.h"
#include "host/diag.h"

#define EXIT_USAGE 2
#define EXIT_LEFT 4

static const char usage[] = "usage: agenttwin-host reap [--json]\n"
			    "Ends and removes what hosts that died left behind; runs whose host lives are left alone.\n"
			    "  --json  the same as one JSON document\n"
			    "Exit status: 0 nothing is left, 4 something is.\n";

struct reaping {
	cJSON *rows; /* NULL: lines for people */
	unsigned held, done, left;
};

static void
say(struct reaping *r, const struct lease *l, const char *state, const char *reason)
{
	char run[160], why[400];
	cJSON *row;

	if (!r->rows) {
		/* What a lease file says is foreign text. */
		escape_text(l->run_id[0] ? l->run_id : l->path, strlen(l->run_id[0] ? l->run_id : l->path), run,
			    sizeof(run));
		escape_text(reason, strlen(reason), why, sizeof(why));
		printf("%s  %s  %s%s%s\n", run, l->backend[0] ? l->backend : "?", state, why[0] ? ": " : "", why);
		return;
	}
	row = cJSON_CreateObject();
	cJSON_AddStringToObject(row, "run", l->run_id);
	cJSON_AddStringToObject(row, "backend", l->backend);
	cJSON_AddStringToObject(row, "id", l->id);
	cJSON_AddStringToObject(row, "lease", l->path);
	cJSON_AddNumberToObject(row, "expires_s", (double)l->expires_s);
	cJSON_AddStringToObject(row, "state", state);
	if (reason[0])
		cJSON_AddStringToObject(row, "reason", reason);
	else
		cJSON_AddNullToObject(row, "reason");
	cJSON_AddItemToArray(r->rows, row);
}

static int
each(const struct lease *l, void *arg)
{
	const struct backend_ops *ops = l->backend[0] ? backend_find(l->backend) : NULL;
	struct reaping *r = arg;
	struct cleanup c = { 0 };
	char reason[300];

	if (!ops) {
		r->left++;
		snprintf(reason, sizeof(reason), "%s; look at it, then remove it by hand",
			 l->backend[0] ? "written by another version of this program" : "not a lease of this program");
		say(r, l, "unreadable", reason);
		return 0;
	}
	if (lease_is_held(l)) {
		r->held++;
		say(r, l, "running", "");
		return 0;
	}
	if (ops->reap(l, &c) == 0 && c.confirmed) {
		r->done++;
		say(r, l, "reaped", "");
	} else {
		r->left++;
		say(r, l, "left", c.reason);
	}
	return 0;
}

static int
finish(struct reaping *r, int count)
{
	cJSON *doc;
	char *text;

	if (r->rows) {
		doc = cJSON_CreateObject();
		cJSON_AddItemToObject(doc, "leases", r->rows); /* moved */
		cJSON_AddNumberToObject(doc, "running", r->held);
		cJSON_AddNumberToObject(doc, "reaped", r->done);
		cJSON_AddNumberToObject(doc, "left", r->left);
		text = cJSON_Print(doc);
		cJSON_Delete(doc);
		if (!text)
			return EXIT_LEFT;
		puts(text);
		cJSON_free(text);
	} else if (count == 0) {
		puts("nothing to reap");
	}
	return fflush(stdout) == 0 && !ferror(stdout) && r->left == 0 ? 0 : EXIT_LEFT;
}

/* see cmd.h */
int
cmd_reap(int argc, char **argv)
{
	struct reaping r = { 0 };
	struct diag d = { 0 };
	int i, n;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0 && !r.rows) {
			r.rows = cJSON_CreateArray();
			continue;
		}
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			cJSON_Delete(r.rows);
			fputs(usage, stdout);
			return fflush(stdout) == 0 ? 0 : EXIT_USAGE;
		}
		diag_fix(&d, "agenttwin-host reap [--json]");
		diag_set(&d, -EINVAL, "reap takes no argument %s", argv[i]);
		log_diag(&d);
		cJSON_Delete(r.rows);
		return EXIT_USAGE;
	}
	n = lease_each(each, &r);
	if (n < 0) {
		diag_fix(&d, "make the lease folder yours alone (chown, chmod 700)");
		diag_set(&d, n, "the lease folder cannot be read: %s", strerror(-n));
		log_diag(&d);
		r.left++;
	}
	return finish(&r, n);
}
