/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_html.c - `agenttwin-host receipt html`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/receipt_read.h"
#include "host/report_html.h"
#include "host/test_report.h"

static const char usage[] = "usage: agenttwin-host receipt html [OPTION...] [FILE|FOLDER|RUNID|latest]\n"
			    "Writes a receipt as one page of HTML that needs nothing else.\n"
			    "  -o, --output FILE  where it goes; default: standard output, unless that is a\n"
			    "                     terminal\n"
			    "  -h, --help         this text\n"
			    "Exit status: 0 written, 2 not.\n";

static int
page(FILE *f, const char *path)
{
	char why[RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	int r = receipt_open(path, &doc, why);

	if (r < 0)
		return receipt_complain(path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	r = report_html(f, &doc);
	snprintf(why, sizeof(why), "%s", doc.why[0] ? doc.why : strerror(errno));
	receipt_close(&doc);
	return r < 0 ? receipt_complain(path, why, NULL) : 0;
}

/* Whole or not at all. */
static int
to_file(const char *out, const char *path)
{
	struct diag d = { 0 };
	struct test_file f;
	int r;

	if (test_file_open(&f, out, &d) < 0)
		return receipt_complain(out, d.problem, d.fix);
	r = page(f.f, path);
	if (r) {
		test_file_abandon(&f);
		return r;
	}
	r = test_file_close(&f);
	return r < 0 ? receipt_complain(out, strerror(-r), NULL) : 0;
}

int
receipt_cmd_html(int argc, char **argv)
{
	const char *what = NULL, *out = NULL;
	char path[4200];
	int i, r;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--output") == 0 || strcmp(argv[i], "-o") == 0) {
			if (i + 1 == argc)
				return receipt_complain(argv[i], "the option has no value", "name a file");
			out = argv[++i];
		} else if (argv[i][0] == '-' && argv[i][1]) {
			return receipt_complain(argv[i], "unknown option", "options are --output and --help");
		} else if (what) {
			return receipt_complain(argv[i], "more than one receipt", NULL);
		} else {
			what = argv[i];
		}
	}
	if ((r = receipt_named(what ? what : "latest", path, sizeof(path))))
		return r;
	if (out && strcmp(out, "-") != 0)
		return to_file(out, path);
	if (!out && isatty(STDOUT_FILENO) == 1)
		return receipt_complain("stdout", "a page of HTML is not for a terminal",
					"name a file with --output, or write > receipt.html");
	r = page(stdout, path);
	if (fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", strerror(errno), NULL);
	return r;
}
