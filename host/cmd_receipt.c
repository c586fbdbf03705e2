/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt.c - `agenttwin-host receipt show FILE|FOLDER|RUNID|latest`. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/receipt_read.h"
#include "host/report_show.h"
#include "host/store.h"
#include "host/wrap.h"

static const char usage[] = "usage: agenttwin-host receipt show [OPTION...] [FILE|FOLDER|RUNID|latest]\n"
			    "Shows a receipt; default: latest, the newest in .agenttwin/receipts below the\n"
			    "current folder; FOLDER: the newest below that one.\n"
			    "  --json      the document itself\n"
			    "  -h, --help  this text\n"
			    "Exit status: 0 shown, 2 unreadable.\n";

static int
complain(const char *file, const char *problem, const char *fix)
{
	struct diag d = { 0 };

	snprintf(d.file, sizeof(d.file), "%.500s", file);
	diag_set(&d, -EINVAL, "%s", problem);
	if (fix)
		diag_fix(&d, "%s", fix);
	log_diag(&d);
	return 2;
}

static int
show(const char *what, bool raw)
{
	const char *no = getenv("NO_COLOR");
	char path[4200], why[160];
	char *text = NULL;
	size_t len = 0;
	cJSON *doc;
	int r;

	if (store_find(what, path, sizeof(path)) < 0 && strcmp(what, "latest") == 0)
		return complain(".agenttwin/receipts", "no receipt is here, below the current folder",
				"go where a world was run, or name a file or the id of a run");
	if (store_find(what, path, sizeof(path)) < 0)
		return complain(what, "no such receipt",
				"name a file, a folder where worlds were run, the id of a run, or latest");
	r = receipt_read(path, &text, &len, &doc, why);
	if (r < 0)
		return complain(path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	if (raw)
		r = fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0 ? 0 : 2;
	else
		r = report_show(stdout, doc, wrap_width(STDOUT_FILENO, 100),
				isatty(STDOUT_FILENO) == 1 && (!no || !*no)) == 0
			    ? 0
			    : complain(path, "this is not a receipt/1", NULL);
	cJSON_Delete(doc);
	free(text);
	return r;
}

int
cmd_receipt(int argc, char **argv)
{
	static const char *const later[] = { "verify", "diff", "html", "evidence", "ls", "prune" };
	const char *what = NULL;
	bool raw = false;
	size_t k;
	int i;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(usage, argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	for (k = 0; k < sizeof(later) / sizeof(later[0]); k++)
		if (strcmp(argv[1], later[k]) == 0)
			return complain(argv[1], "not supported by this version", "use receipt show");
	if (strcmp(argv[1], "show") != 0)
		return complain(argv[1], "unknown command of receipt", "use receipt show");
	for (i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--json") == 0)
			raw = true;
		else if (argv[i][0] == '-' && argv[i][1])
			return complain(argv[i], "unknown option", "options are --json and --help");
		else if (what)
			return complain(argv[i], "more than one receipt", NULL);
		else
			what = argv[i];
	}
	return show(what ? what : "latest", raw);
}
