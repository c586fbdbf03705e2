/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt_prune.c - `agenttwin-host receipt prune`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/store_list.h"

#define FOLDERS_MAX 64u
#define DAYS_MAX 36500u
#define KEEP_MAX 1000000u

static const char usage[] = "usage: agenttwin-host receipt prune [OPTION...] [FOLDER...]\n"
			    "Removes old receipts with their event files, and what runs that died left there.\n"
			    "FOLDER: where worlds were run, or a folder of receipts; default: the current one.\n"
			    "A run does the same when it begins.\n"
			    "  --keep N    the newest N stay; default 1000\n"
			    "  --days N    those older than N days go; default 30\n"
			    "  --dry-run   removes nothing, says what would go\n"
			    "  -h, --help  this text\n"
			    "Exit status: 0 done, 2 a folder cannot be read or a file not removed.\n";

static void
told(void *arg, const struct store_run *run, const char *why)
{
	const bool *dry_run = arg;

	printf("%s %s, %s\n", *dry_run ? "would remove" : "removed", run->id, why);
}

static int
prune(const char *name, struct store_prune *p)
{
	const char *folder = name ? name : ".";
	char path[4200];
	int fd = store_folder(folder, name != NULL, path, sizeof(path)), r;

	if (fd == -ENOENT && !name)
		return 0; /* nothing ran here */
	if (fd < 0)
		return receipt_complain(folder, strerror(-fd), "name a folder where worlds were run");
	r = store_prune(fd, p);
	close(fd);
	if (r < 0)
		return receipt_complain(path, strerror(-r), NULL);
	printf("%s: %" PRIu64 " %s, %" PRIu64 " stay\n", path, p->removed, p->dry_run ? "would go" : "removed",
	       p->kept);
	if (p->failed)
		return receipt_complain(path, strerror(-p->error), "remove them as the user who made them");
	return 0;
}

int
receipt_cmd_prune(int argc, char **argv)
{
	const char *folders[FOLDERS_MAX] = { NULL }, *keep = NULL, *days = NULL;
	struct store_prune p = { .keep = STORE_KEEP, .days = STORE_DAYS, .told = told };
	const struct receipt_option options[] = { { "--keep", &keep, NULL },
						  { "--days", &days, NULL },
						  { "--dry-run", NULL, &p.dry_run } };
	size_t n, i;
	int r = receipt_options(argc, argv, usage, options, 3, folders, FOLDERS_MAX, &n), worst = 0;

	if (r >= 0)
		return r;
	if ((keep && (r = receipt_number("--keep", keep, 0, KEEP_MAX, &p.keep)) > 0) ||
	    (days && (r = receipt_number("--days", days, 0, DAYS_MAX, &p.days)) > 0))
		return r;
	p.arg = &p.dry_run;
	p.now_ms = (uint64_t)time(NULL) * 1000;
	for (i = 0; i < (n ? n : 1); i++) {
		p.error = 0;
		r = prune(folders[i], &p);
		worst = r ? r : worst;
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		return receipt_complain("stdout", "it cannot be written", NULL);
	return worst;
}
