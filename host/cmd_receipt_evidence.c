/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_evidence.c - `agenttwin-host receipt evidence`. */
#include <errno.h>
#include <stdio.h>

#include "host/cmd.h"
#include "host/receipt_read.h"
#include "host/report_evidence.h"

static const char usage[] = "usage: agenttwin-host receipt evidence [OPTION...] [FILE|FOLDER|RUNID|latest]\n"
			    "Writes what somebody needs who has to repair the workflow, a person or an agent, as\n"
			    "Markdown: the verdict and why, checks that did not hold and the operations behind\n"
			    "them, faults and what the client did next, what changed, and how to run it again.\n"
			    "Text of the workflow and its world stands in code, quoted as data.\n"
			    "  --max-bytes N  at most so many bytes, 2048 to 1048576; default 16384\n"
			    "  -h, --help     this text\n"
			    "Exit status: 0 written, 2 unreadable.\n";

int
receipt_cmd_evidence(int argc, char **argv)
{
	const char *what = "latest", *most = NULL;
	const struct receipt_option options[] = { { "--max-bytes", &most, NULL } };
	char path[4200], why[RECEIPT_WHY_MAX];
	uint64_t max = EVIDENCE_BYTES;
	struct receipt_doc doc;
	size_t n;
	int r = receipt_options(argc, argv, usage, options, 1, &what, 1, &n);

	if (r >= 0)
		return r;
	if (most && (r = receipt_number("--max-bytes", most, EVIDENCE_BYTES_MIN, EVIDENCE_BYTES_MAX, &max)))
		return r;
	if ((r = receipt_named(what, path, sizeof(path))))
		return r;
	r = receipt_open(path, &doc, why);
	if (r < 0)
		return receipt_complain(path, why, r == -EPROTO ? "the file is not a receipt" : NULL);
	r = report_evidence(stdout, &doc, path, (size_t)max);
	if (r < 0)
		r = receipt_complain(path, doc.why, NULL);
	receipt_close(&doc);
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		return receipt_complain("stdout", "it cannot be written", NULL);
	return r;
}
