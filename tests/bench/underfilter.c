/* SPDX-License-Identifier: GPL-2.0-or-later
 * underfilter.c - runs a program under the workflow's filter, without anything else of a run:
 *   underfilter [--no-unix] PROGRAM ARGUMENT...    becomes it
 *   underfilter --rounds N PROGRAM ARGUMENT...     starts it N times plain, under the filter and plain again, in turns; prints
 *                                                  the three times of each round in microseconds, then how
 *                                                  long each used a processor */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/filter.h"

static struct filter_program program;

static void
become(char **argv, bool filtered)
{
	/* Plain also without new privileges, so that the filter alone is the difference. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || (filtered && filter_install(&program) < 0)) {
		fputs("underfilter: the filter cannot be installed\n", stderr);
		_exit(126);
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static long long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct cost {
	long long wall, cpu; /* microseconds */
};

static struct cost
timed(char **argv, bool filtered)
{
	long long since = now_us();
	pid_t pid = fork();
	struct rusage u;
	int status;

	if (pid == 0)
		become(argv, filtered);
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid || status != 0) {
		fputs("underfilter: the program failed\n", stderr);
		exit(1);
	}
	return (struct cost){ now_us() - since, (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL +
							u.ru_utime.tv_usec + u.ru_stime.tv_usec };
}

int
main(int argc, char **argv)
{
	bool no_unix = argc > 1 && strcmp(argv[1], "--no-unix") == 0;
	int rounds = argc > 2 && strcmp(argv[1], "--rounds") == 0 ? atoi(argv[2]) : 0;

	argv += 1 + no_unix + (rounds > 0 ? 2 : 0);
	if (argc < 2 || !*argv || filter_build(&program, FILTER_WORKFLOW, filter_arch_native(), !no_unix) < 0) {
		fputs("usage: underfilter [--no-unix | --rounds N] PROGRAM ARGUMENT...\n", stderr);
		return 2;
	}
	if (rounds <= 0)
		become(argv, true);
	for (int i = 0; i < rounds; i++) {
		struct cost before, filtered, after;

		before = timed(argv, false);
		filtered = timed(argv, true);
		after = timed(argv, false);
		printf("%lld %lld %lld %lld %lld %lld\n", before.wall, filtered.wall, after.wall, before.cpu,
		       filtered.cpu, after.cpu);
	}
	return 0;
}
