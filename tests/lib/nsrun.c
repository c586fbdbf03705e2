/* SPDX-License-Identifier: GPL-2.0-or-later
 * nsrun.c - opens a backend with any program as guest and joins the standard streams to it.
 * usage: nsrun BACKEND GUEST [-e SECONDS] [-n NODE] [-i RUNID] [-d DISK_BYTES]; nsrun doctor|reap [ARGUMENT...]
 * stderr: one "key value" line each for what a test asks.  Exit: 0 the guest's output ended and cleanup is confirmed, 4 refused. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/cmd.h"
#include "host/diag.h"

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* stdin to in, out to stdout, until the guest's output ends. */
static void
pump(int in, int out, double from)
{
	struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = out, .events = POLLIN } };
	static char buf[65536];
	int first = 1;
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0)
			return;
		if (p[1].revents) {
			n = read(out, buf, sizeof(buf));
			if (n <= 0)
				break;
			if (first)
				fprintf(stderr, "first_output_ms %.2f\n", now_ms() - from);
			first = 0;
			if (write(1, buf, (size_t)n) != n)
				break;
		}
		if (p[0].revents) {
			n = read(0, buf, sizeof(buf));
			if (n <= 0 || write(in, buf, (size_t)n) != n) {
				close(in);
				p[0].fd = -1;
			}
		}
	}
}

static int
refused(const char *what, int r, const struct diag *d)
{
	fprintf(stderr, "%s %d\nproblem %s\nfix %s\n", what, r, d->problem, d->fix);
	return 4;
}

int
main(int argc, char **argv)
{
	struct backend_spec s = { .run_id = "nsrun" };
	const struct backend_ops *ops;
	struct diag d = { 0 };
	struct cleanup c;
	struct backend *b = NULL;
	struct facts f;
	struct stat st;
	double from;
	int fd, r, opt, in, out, seconds = 60;

	if (argc >= 2 && strcmp(argv[1], "doctor") == 0)
		return cmd_doctor(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "reap") == 0)
		return cmd_reap(argc - 1, argv + 1);
	if (argc < 3 || !(ops = backend_find(argv[1])))
		return 2;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 2;
	s.guest_len = (size_t)st.st_size;
	s.guest = mmap(NULL, s.guest_len, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	optind = 3;
	while ((opt = getopt(argc, argv, "e:n:i:d:m:p:")) > 0)
		if (opt == 'e')
			seconds = atoi(optarg);
		else if (opt == 'n')
			s.node = optarg;
		else if (opt == 'i')
			s.run_id = optarg;
		else if (opt == 'd')
			s.limits.disk_bytes = strtoull(optarg, NULL, 10);
		else if (opt == 'm')
			s.limits.memory_bytes = strtoull(optarg, NULL, 10);
		else if (opt == 'p')
			s.limits.pids = (uint32_t)atoi(optarg);
		else
			return 2;
	signal(SIGPIPE, SIG_IGN);
	s.expires_s = (uint64_t)(time(NULL) + seconds);
	from = now_ms();
	if ((r = ops->open(&b, &s, &d)) < 0)
		return refused("open", r, &d);
	fprintf(stderr, "open_ms %.2f\n", now_ms() - from);
	ops->describe(b, &f);
	fprintf(stderr, "id %s\nmode %s\nnode_inside %s\nnode_version %s\napp %s\nhome %s\n", f.sandbox_id, f.mode,
		f.node_inside, f.node_version, f.app_dir, f.home_dir);
	r = ops->start(b, -1, &in, &out, &d);
	if (r == 0) {
		fprintf(stderr, "start_ms %.2f\n", now_ms() - from);
		pump(in, out, from);
		close(out);
	} else {
		refused("start", r, &d);
	}
	ops->destroy(b, &c);
	ops->describe(b, &f);
	fprintf(stderr, "confirmed %d\nreason %s\nnode_sha256 %s\nguest_stderr %s\n", c.confirmed, c.reason,
		f.node_sha256, f.guest_stderr);
	r = c.confirmed && r == 0 ? 0 : c.confirmed ? 4 : 1;
	c.confirmed = false;
	ops->destroy(b, &c); /* again: must be harmless */
	if (!c.confirmed)
		r = 1;
	ops->release(b);
	return r;
}
