/* SPDX-License-Identifier: GPL-2.0-or-later
 * main.c - agenttwin-host: the table of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/cmd.h"
#include "host/diag.h"
#include "host/nearest.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
	int trouble; /* the exit status when what it printed did not arrive */
} commands[] = {
	{ "run", cmd_run, "runs a world in a fresh sandbox and writes a receipt", 4 },
	{ "sweep", cmd_sweep, "runs a world once for each of many seeds", 4 },
	{ "test", cmd_test, "runs every world below folders, several at once", 4 },
	{ "check", cmd_check, "validates a world and lists what would enter the sandbox", 2 },
	{ "doctor", cmd_doctor, "says which backends work on this machine, and what is missing", 4 },
	{ "audit", cmd_audit, "prints the compiled-in policy", 4 },
	{ "reap", cmd_reap, "ends what hosts that died left behind", 4 },
	{ "receipt", cmd_receipt, "shows, compares, verifies and lists receipts", 2 },
	{ "key", cmd_key, "makes a key to sign receipts with", 2 },
};
#define COMMANDS_LEN (sizeof(commands) / sizeof(commands[0]))

static void
help(FILE *f)
{
	size_t i;

	fputs("usage: agenttwin-host COMMAND [OPTION...]\n", f);
	for (i = 0; i < COMMANDS_LEN; i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].does);
	fputs("  --version, --help\nagenttwin-host COMMAND --help tells more; the manual is agenttwin-host(1).\n", f);
}

static int
unknown(const char *word)
{
	static const char *const later[] = { "init", "template" };
	struct nearest n;
	size_t i;

	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(word, later[i]) == 0) {
			log_line(LOG_LEVEL_ERROR, "command '%s' is not supported by this version", word);
			return 2;
		}
	nearest_init(&n, word);
	for (i = 0; i < COMMANDS_LEN; i++)
		nearest_offer(&n, commands[i].name);
	log_line(LOG_LEVEL_ERROR, "unknown command '%.100s'", word);
	if (n.best)
		log_line(LOG_LEVEL_PHASE, "  fix: did you mean %s?  agenttwin-host --help lists all", n.best);
	else
		log_line(LOG_LEVEL_PHASE, "  fix: agenttwin-host --help lists all");
	return 2;
}

/* A descriptor 0, 1 or 2 that the caller closed must not become some file of ours that then gets our messages.  It is
 * opened for reading only: what was to be printed there is an error, not lost in silence. */
static void
fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* What was printed has arrived, or the program did not do what it was asked for. */
static int
finish(int status, int trouble)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	log_line(LOG_LEVEL_ERROR, "stdout: %s", strerror(errno));
	return status ? status : trouble;
}

int
main(int argc, char **argv)
{
	size_t i;

	fill_standard();
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("agenttwin-host " AGENTTWIN_VERSION);
		return finish(0, 4);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help(stdout);
		return finish(0, 4);
	}
	for (i = 0; i < COMMANDS_LEN; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return finish(commands[i].run(argc - 1, argv + 1), commands[i].trouble);
	return unknown(argv[1]);
}
