/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt.c - `agenttwin-host receipt COMMAND`: the table of what can be done with receipts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/store.h"

/* One a file.  about NULL: not of this version. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is its name */
	const char *about;
} commands[] = {
	{ "show", receipt_cmd_show, "shows one in a terminal" },
	{ "diff", NULL, NULL },
	{ "evidence", NULL, NULL },
	{ "html", NULL, NULL },
	{ "verify", receipt_cmd_verify, "recomputes what it says, and says what it could not verify" },
	{ "ls", NULL, NULL },
	{ "prune", NULL, NULL },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
usage(FILE *f)
{
	size_t i;

	fputs("usage: agenttwin-host receipt COMMAND [OPTION...] [ARGUMENT...]\n", f);
	for (i = 0; i < COMMANDS; i++)
		if (commands[i].about)
			fprintf(f, "  %-9s  %s\n", commands[i].name, commands[i].about);
	fputs("A receipt is named by its FILE, a FOLDER where worlds were run (the newest one\n"
	      "there), the id of a run, or latest: the newest below the current folder.\n"
	      "agenttwin-host receipt COMMAND --help tells more.\n",
	      f);
}

int
receipt_complain(const char *file, const char *problem, const char *fix)
{
	struct diag d = { 0 };

	snprintf(d.file, sizeof(d.file), "%.500s", file);
	diag_set(&d, -EINVAL, "%s", problem);
	if (fix)
		diag_fix(&d, "%s", fix);
	log_diag(&d);
	return 2;
}

int
receipt_named(const char *what, char *path, size_t size)
{
	if (store_find(what, path, size) == 0)
		return 0;
	if (strcmp(what, "latest") == 0)
		return receipt_complain(".agenttwin/receipts", "no receipt is here, below the current folder",
					"go where a world was run, or name a file or the id of a run");
	return receipt_complain(what, "no such receipt",
				"name a file, a folder where worlds were run, the id of a run, or latest");
}

int
cmd_receipt(int argc, char **argv)
{
	char fix[160] = "use one of:";
	size_t i;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) == 0 && commands[i].run)
			return commands[i].run(argc - 1, argv + 1);
		if (strcmp(argv[1], commands[i].name) == 0)
			return receipt_complain(argv[1], "not supported by this version", "use receipt show");
		if (commands[i].run)
			snprintf(fix + strlen(fix), sizeof(fix) - strlen(fix), " %s", commands[i].name);
	}
	return receipt_complain(argv[1], "unknown command of receipt", fix);
}
