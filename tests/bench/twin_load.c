/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_load.c - keep-alive clients in one process: twin_load PORT KIND ROWS SECONDS prints calls per second.  KIND: get,
 * refund (find, require, increment), create, patch.  16 connections, one request at a time on each. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS 16

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
ask(int fd, const char *kind, unsigned row)
{
	static const char host[] =
		"HTTP/1.1\r\nHost: shop.internal\r\nAuthorization: Bearer at_test_0123456789abcdefghijklmnopqrstuv\r\n";
	char text[512], body[128] = "";
	int n;

	if (strcmp(kind, "refund") == 0)
		snprintf(body, sizeof(body), "{\"charge\":\"r%u\",\"amount\":\"1\"}", row);
	else if (strcmp(kind, "create") == 0)
		snprintf(body, sizeof(body), "{\"amount\":%u}", row);
	else if (strcmp(kind, "patch") == 0)
		snprintf(body, sizeof(body), "{\"amount\":%u}", row + 1);
	if (strcmp(kind, "get") == 0)
		n = snprintf(text, sizeof(text), "GET /rows/r%u %s\r\n", row, host);
	else if (strcmp(kind, "patch") == 0)
		n = snprintf(text, sizeof(text), "PATCH /rows/r%u %sContent-Length: %zu\r\n\r\n%s", row, host,
			     strlen(body), body);
	else
		n = snprintf(text, sizeof(text),
			     "POST /%s %sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			     strcmp(kind, "create") == 0 ? "rows" : "refund", host, strlen(body), body);
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		exit(1);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pollfd p[CONNS];
	unsigned rows, seed = 1;
	double begin, seconds;
	long calls = 0, bad = 0;

	if (argc != 5)
		return 2;
	a.sin_port = htons((unsigned short)atoi(argv[1]));
	rows = (unsigned)atoi(argv[3]);
	seconds = atof(argv[4]);
	for (int i = 0; i < CONNS; i++) {
		p[i] = (struct pollfd){ .fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN };
		if (connect(p[i].fd, (struct sockaddr *)&a, sizeof(a)) < 0)
			return 1;
		ask(p[i].fd, argv[2], seed++ % rows);
	}
	begin = now();
	while (now() - begin < seconds) {
		poll(p, CONNS, 1000);
		for (int i = 0; i < CONNS; i++) {
			char reply[4096];
			ssize_t n;

			if (!p[i].revents)
				continue;
			n = recv(p[i].fd, reply, sizeof(reply), 0); /* replies are small: one piece */
			if (n <= 0)
				return 1;
			bad += reply[9] != '2';
			calls++;
			seed = seed * 1103515245u + 12345u;
			ask(p[i].fd, argv[2], (seed >> 8) % rows);
		}
	}
	printf("%.0f calls/s, %ld not 2xx\n", (double)calls / (now() - begin), bad);
	return 0;
}
