/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_show.c - `agenttwin-host receipt show`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/receipt_read.h"
#include "host/report_show.h"
#include "host/wrap.h"

static const char usage[] = "usage: agenttwin-host receipt show [OPTION...] [FILE|FOLDER|RUNID|latest]\n"
			    "Shows a receipt; default: latest, the newest in .agenttwin/receipts below the\n"
			    "current folder; FOLDER: the newest below that one.\n"
			    "  --json      the document itself\n"
			    "  -h, --help  this text\n"
			    "Exit status: 0 shown, 2 unreadable.\n";

/* The file as it is. */
static int
copy(struct receipt_doc *doc)
{
	static char buf[65536];
	uint64_t at;
	size_t n;
	int r;

	for (at = 0; at < doc->size; at += n) {
		n = doc->size - at < sizeof(buf) ? (size_t)(doc->size - at) : sizeof(buf);
		r = receipt_bytes(doc, at, buf, n);
		if (r < 0)
			return r;
		if (fwrite(buf, 1, n, stdout) != n)
			break;
	}
	return 0;
}

static int
show(const char *what, bool raw)
{
	const char *no = getenv("NO_COLOR");
	char path[4200], why[RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	int r;

	if ((r = receipt_named(what, path, sizeof(path))))
		return r;
	r = receipt_open(path, &doc, why);
	if (r < 0)
		return receipt_complain(path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	if (raw)
		r = copy(&doc);
	else
		r = report_show(stdout, &doc, wrap_width(STDOUT_FILENO, 100),
				isatty(STDOUT_FILENO) == 1 && (!no || !*no));
	snprintf(why, sizeof(why), "%s", doc.why);
	receipt_close(&doc);
	if (fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", strerror(errno), NULL);
	return r == 0 ? 0 : receipt_complain(path, why, NULL);
}

int
receipt_cmd_show(int argc, char **argv)
{
	const char *what = NULL;
	bool raw = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--json") == 0)
			raw = true;
		else if (argv[i][0] == '-' && argv[i][1])
			return receipt_complain(argv[i], "unknown option", "options are --json and --help");
		else if (what)
			return receipt_complain(argv[i], "more than one receipt", NULL);
		else
			what = argv[i];
	}
	return show(what ? what : "latest", raw);
}
