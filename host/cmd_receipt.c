/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd_receipt.c - `agenttwin-host receipt COMMAND`: the table of what can be done with receipts. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/options.h"
#include "host/store.h"

/* One a file.  about NULL: not of this version. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is its name */
	const char *about;
} commands[] = {
	{ "show", receipt_cmd_show, "shows one in a terminal" },
	{ "diff", receipt_cmd_diff, "says what is different between two" },
	{ "evidence", receipt_cmd_evidence, "writes Markdown for who repairs the workflow" },
	{ "html", receipt_cmd_html, "writes one as a page of HTML" },
	{ "verify", receipt_cmd_verify, "recomputes what it says, and says what it could not verify" },
	{ "ls", receipt_cmd_ls, "lists them, the newest first" },
	{ "prune", receipt_cmd_prune, "removes old ones" },
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

static int
unknown(const char *argument, const struct receipt_option *options, size_t len)
{
	char fix[300] = "options are --help";
	size_t i;

	for (i = 0; i < len; i++)
		snprintf(fix + strlen(fix), sizeof(fix) - strlen(fix), ", %s", options[i].name);
	return receipt_complain(argument, "unknown option", fix);
}

/* 1: it is this option, *i stands at the last argument that belongs to it; 0: another one; 2: an error was told. */
static int
take(int argc, char **argv, int *i, const struct receipt_option *o)
{
	size_t n = strlen(o->name);

	if (strncmp(argv[*i], o->name, n) != 0 || (argv[*i][n] && argv[*i][n] != '='))
		return 0;
	if (o->flag && argv[*i][n])
		return receipt_complain(argv[*i], "this option takes no value", NULL);
	if (o->flag) {
		*o->flag = true;
	} else if (argv[*i][n]) {
		*o->value = argv[*i] + n + 1;
	} else if (*i + 1 < argc) {
		*o->value = argv[++*i];
	} else {
		return receipt_complain(argv[*i], "a value is missing", NULL);
	}
	return 1;
}

int
receipt_options(int argc, char **argv, const char *usage_text, const struct receipt_option *options, size_t len,
		const char **args, size_t max, size_t *args_len)
{
	bool only_args = false;
	size_t k;
	int i, r;

	*args_len = 0;
	for (i = 1; i < argc; i++) {
		if (only_args || argv[i][0] != '-' || !argv[i][1]) {
			if (*args_len == max)
				return receipt_complain(argv[i], "one argument too many", NULL);
			args[(*args_len)++] = argv[i];
			continue;
		}
		only_args = strcmp(argv[i], "--") == 0;
		if (only_args)
			continue;
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage_text, stdout);
			return 0;
		}
		for (k = 0, r = 0; k < len && r == 0; k++)
			r = take(argc, argv, &i, &options[k]);
		if (r == 2)
			return 2;
		if (r == 0)
			return unknown(argv[i], options, len);
	}
	return -1;
}

int
receipt_number(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *rest;
	char problem[160];

	if (options_number(value, max, out, &rest) && !*rest && *out >= min)
		return 0;
	snprintf(problem, sizeof(problem), "%.40s must be a whole number from %" PRIu64 " to %" PRIu64, option, min,
		 max);
	return receipt_complain(option, problem, NULL);
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
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error that is told, and nothing is left of it */
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
