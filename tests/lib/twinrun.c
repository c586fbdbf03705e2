/* SPDX-License-Identifier: GPL-2.0-or-later
 * twinrun.c - plays the monitor for tests: twinrun CONFIG.json listens for each service on 127.0.0.1, starts twin_main in a
 * child, prints "PORT n" lines once it serves, then every record as a line "TYPE JSON"; when its stdin ends it sends
 * RECORD_FINISH and ends with the twins' exit status.  A configuration that has a workflow is started at once, and what comes on
 * stdin is its stdout. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/record.h"
#include "guest/twin.h"

static const char *const names[] = {
	[RECORD_SERVING] = "SERVING",     [RECORD_STATE] = "STATE",   [RECORD_OP] = "OP",         [RECORD_LOG] = "LOG",
	[RECORD_TRUNCATED] = "TRUNCATED", [RECORD_DONE] = "DONE",     [RECORD_FAILED] = "FAILED", [RECORD_CA] = "CA",
	[RECORD_READY] = "READY",         [RECORD_SIGNAL] = "SIGNAL", [RECORD_END] = "END"
};

#define PACKETS_A_TURN 1024

static int driven;

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static int
listener(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		die("listener");
	*port = ntohs(a.sin_port);
	return fd;
}

static void
send_record(int fd, unsigned char type, const char *data, size_t len)
{
	static unsigned char packet[RECORD_CHUNK + 2];

	do {
		size_t n = len < RECORD_CHUNK ? len : RECORD_CHUNK;

		packet[0] = type;
		packet[1] = n < len;
		memcpy(packet + 2, data, n);
		if (send(fd, packet, n + 2, MSG_NOSIGNAL) < 0)
			die("send");
		data += n;
		len -= n;
	} while (len > 0);
}

/* Prints a packet.  1; 0 there is none; -1 at the end. */
static int
print_packet(int fd, const unsigned *ports, size_t ports_len)
{
	static unsigned char packet[RECORD_BODY_MAX + 2];
	static int open_type;
	ssize_t n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
	size_t skip = 2;

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 2)
		return -1;
	if (packet[0] == RECORD_SERVING && driven)
		send_record(fd, RECORD_STARTED, "", 0);
	if (packet[0] == RECORD_SIGNAL)
		printf("SIGNAL %u", packet[2]);
	if (packet[0] == RECORD_SERVING)
		for (size_t i = 0; i < ports_len; i++)
			printf("PORT %u\n", ports[i]);
	if (open_type == 0 && packet[0] != RECORD_SIGNAL)
		printf("%s ",
		       packet[0] < sizeof(names) / sizeof(names[0]) && names[packet[0]] ? names[packet[0]] : "?");
	if (packet[0] == RECORD_STATE && open_type == 0) {
		printf("%u %u ", packet[2], packet[3]);
		skip = 4;
	}
	if (packet[0] == RECORD_SIGNAL)
		skip = (size_t)n;
	if (packet[0] == RECORD_TRUNCATED)
		printf("%u bytes of %zd", packet[2], n);
	else
		fwrite(packet + skip, 1, (size_t)n - skip, stdout);
	open_type = packet[1] ? packet[0] : 0;
	if (!open_type)
		putchar('\n');
	return 1;
}

int
main(int argc, char **argv)
{
	struct twin_start start = { .dns = -1 };
	unsigned ports[PLAN_SERVICES_MAX];
	static char config[TWINS_JSON_MAX];
	int pair[2], status, finished = 0, r = 0;
	size_t len;
	ssize_t got;
	FILE *f;
	pid_t pid;

	if (argc < 3 || (f = fopen(argv[1], "r")) == NULL)
		die("twinrun CONFIG SERVICES");
	len = fread(config, 1, sizeof(config), f);
	fclose(f);
	driven = memmem(config, len, "\"workflow\":", 11) != NULL;
	start.listeners_len = (size_t)atoi(argv[2]);
	for (size_t i = 0; i < start.listeners_len; i++)
		start.listeners[i] = listener(&ports[i]);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(pair[0]);
		start.records = pair[1];
		_exit(twin_main(&start));
	}
	close(pair[1]);
	for (size_t i = 0; i < start.listeners_len; i++)
		close(start.listeners[i]);
	fprintf(stderr, "TWIN %d\n", (int)pid);
	send_record(pair[0], RECORD_CONFIG, config, len);
	for (;;) {
		struct pollfd p[2] = { { .fd = pair[0], .events = POLLIN },
				       { .fd = finished ? -1 : 0, .events = POLLIN } };

		if (poll(p, 2, -1) < 0)
			die("poll");
		/* all that is there, then one write: whoever measures the twins should not measure this */
		r = p[0].revents != 0;
		for (int i = 0; i < PACKETS_A_TURN && r > 0; i++)
			r = print_packet(pair[0], ports, start.listeners_len);
		fflush(stdout);
		if (r < 0)
			break;
		if (finished || p[1].revents == 0)
			continue;
		got = read(0, config, RECORD_CHUNK);
		if (got > 0 && driven)
			send_record(pair[0], RECORD_OUTPUT, config, (size_t)got);
		if (got <= 0) {
			send_record(pair[0], RECORD_FINISH, "", 0);
			finished = 1;
		}
	}
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
