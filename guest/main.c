/* SPDX-License-Identifier: GPL-2.0-or-later
 * main.c - the guest's argument table, and the only exit.
 *
 * Runs as: root of the sandbox (local: the caller).  Input: its own command line, given by the host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/audit.h"
#include "guest/monitor.h"

#define STATUS_USAGE 2

static int
usage(FILE *to)
{
	fputs("usage: agenttwin-guest run [--in FILE]\n"
	      "       agenttwin-guest audit [--nft [inner|outer] | --json | --caps]\n"
	      "       agenttwin-guest audit --seccomp [--arch x86_64|aarch64]\n"
	      "       agenttwin-guest doctor | --version | --help\n"
	      "\n"
	      "  --nft      the rules with their usual parameters, as a script for `nft -f` (default: inner)\n"
	      "  --json     version, policy, digests of the filters, what it was built from\n"
	      "  --seccomp  the system call filters, instruction by instruction (default: of this machine)\n"
	      "  --arch     those of another machine\n"
	      "  --caps     which process keeps which powers\n"
	      "\n"
	      "Runs one workflow behind a proved boundary.  Started by agenttwin-host; see agenttwin-guest(8).\n",
	      to);
	return to == stdout ? 0 : STATUS_USAGE;
}

static int
cmd_run(int argc, char **argv)
{
	if (argc == 0)
		return monitor_run(NULL);
	if (argc == 2 && strcmp(argv[0], "--in") == 0 && argv[1][0] != '\0')
		return monitor_run(argv[1]);
	return usage(stderr);
}

static int
cmd_audit_seccomp(int argc, char **argv)
{
	if (argc == 0)
		return audit_seccomp(filter_arch_native()) < 0;
	if (argc != 2 || strcmp(argv[0], "--arch") != 0)
		return usage(stderr);
	if (strcmp(argv[1], "x86_64") == 0)
		return audit_seccomp(FILTER_X86_64) < 0;
	return strcmp(argv[1], "aarch64") == 0 ? audit_seccomp(FILTER_AARCH64) < 0 : usage(stderr);
}

static int
cmd_audit(int argc, char **argv)
{
	const char *option = argc > 0 ? argv[0] : NULL, *lock = argc > 1 ? argv[1] : "inner";

	if (!option)
		return audit_summary(false) < 0;
	if (strcmp(option, "--seccomp") == 0)
		return cmd_audit_seccomp(argc - 1, argv + 1);
	if (argc == 1 && strcmp(option, "--json") == 0)
		return audit_summary(true) < 0;
	if (argc == 1 && strcmp(option, "--caps") == 0)
		return audit_caps() < 0;
	if (argc > 2 || strcmp(option, "--nft") != 0)
		return usage(stderr);
	if (strcmp(lock, "inner") == 0)
		return audit_nft(FW_INNER) < 0;
	return strcmp(lock, "outer") == 0 ? audit_nft(FW_OUTER) < 0 : usage(stderr);
}

static int
cmd_doctor(int argc, char **argv)
{
	(void)argv;
	return argc > 0 ? usage(stderr) : audit_doctor() < 0;
}

static int
cmd_version(int argc, char **argv)
{
	(void)argv;
	if (argc > 0)
		return usage(stderr);
	puts("agenttwin-guest " AGENTTWIN_VERSION);
	return 0;
}

static int
cmd_help(int argc, char **argv)
{
	(void)argc, (void)argv;
	return usage(stdout);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv); /* arguments after the name; returns the exit status */
} commands[] = {
	{ "run", cmd_run },           { "audit", cmd_audit }, { "doctor", cmd_doctor },
	{ "--version", cmd_version }, { "--help", cmd_help }, { "-h", cmd_help },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			exit(commands[i].run(argc - 2, argv + 2));
	exit(usage(stderr));
}
