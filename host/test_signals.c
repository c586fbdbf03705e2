/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_signals.c - signals to the program that runs many worlds, see test.h: read where it waits, so that none is missed and
 * none interrupts anything. */
#include <errno.h>
#include <sys/signalfd.h>

#include "host/test.h"

static void
on_signal(int number)
{
	(void)number; /* so that it is not ignored: it arrives through the descriptor */
}

/* see test.h */
int
test_signals_start(struct test_signals *s)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal }, before;
	sigset_t set;
	size_t i;

	s->fd = -1;
	sigemptyset(&set);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* nohup(1) means it; the other two are ours even when a shell's background job ignores them. */
		if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
			continue;
		sigaddset(&set, numbers[i]);
		if (sigaction(numbers[i], &sa, NULL) < 0)
			return -errno;
	}
	/* A pipe that nobody reads any more, and a file that grew too large, are error codes. */
	sa.sa_flags = SA_RESTART;
	if (sigaction(SIGPIPE, &sa, NULL) < 0 || sigaction(SIGXFSZ, &sa, NULL) < 0 ||
	    sigprocmask(SIG_BLOCK, &set, &s->before) < 0)
		return -errno;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}
