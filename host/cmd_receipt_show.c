/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_show.c - `agenttwin-host receipt show`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/receipt_read.h"
#include "host/report_page.h"
#include "host/report_show.h"

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
	char path[4200], why[RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	struct page page;
	int r;

	if ((r = receipt_named(what, path, sizeof(path))))
		return r;
	r = receipt_open(path, &doc, why);
	if (r < 0)
		return receipt_complain(path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	page_init(&page, STDOUT_FILENO, stdout);
	r = raw ? copy(&doc) : report_show(&page, &doc);
	snprintf(why, sizeof(why), "%s", doc.why);
	receipt_close(&doc);
	if (r < 0)
		return receipt_complain(path, why, NULL);
	if (fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", "it cannot be written", NULL);
	return 0;
}

int
receipt_cmd_show(int argc, char **argv)
{
	const char *what = "latest";
	bool raw = false;
	const struct receipt_option options[] = { { "--json", NULL, &raw } };
	size_t n;
	int r = receipt_options(argc, argv, usage, options, 1, &what, 1, &n);

	return r >= 0 ? r : show(what, raw);
}
