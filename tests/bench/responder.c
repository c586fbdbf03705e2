/* SPDX-License-Identifier: GPL-2.0-or-later
 * responder.c - the limit for a server in one thread: responder PORT answers every read that ends in an empty line with the same
 * bytes, by epoll, without looking at what was asked.  responder PORT PATH asks instead, until it is answered with 200 or a
 * minute is over. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char reply[] =
	"HTTP/1.1 200 OK\r\nDate: Mon, 01 Dec 2025 00:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: 29\r\n"
	"Connection: keep-alive\r\n\r\n{\"ok\":true,\"message\":\"hello\"}";

static int
ask(const struct sockaddr_in *a, const char *path)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: s.internal\r\n\r\n", path);

	for (int i = 0; i < 60000; i++, usleep(1000)) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool good = connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 &&
			    write(fd, text, (size_t)len) == len && read(fd, text + 256, 12) == 12 &&
			    memcmp(text + 256, "HTTP/1.1 200", 12) == 0;

		close(fd);
		if (good)
			return 0;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN }, ready[64];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), all = epoll_create1(EPOLL_CLOEXEC), one = 1;
	static char in[65536];

	a.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
	if (argc == 3)
		return ask(&a, argv[2]);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	e.data.fd = fd;
	if (argc != 2 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
	    epoll_ctl(all, EPOLL_CTL_ADD, fd, &e) < 0) {
		perror("responder PORT");
		return 1;
	}
	for (;;) {
		int n = epoll_wait(all, ready, 64, -1);

		for (int i = 0; i < n; i++) {
			int c = ready[i].data.fd;
			ssize_t got;

			if (c == fd) {
				e.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
				setsockopt(e.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
				epoll_ctl(all, EPOLL_CTL_ADD, e.data.fd, &e);
			} else if ((got = read(c, in, sizeof(in))) <= 0) {
				close(c);
			} else if (got > 4 && memcmp(in + got - 4, "\r\n\r\n", 4) == 0) {
				if (write(c, reply, sizeof(reply) - 1) < 0)
					close(c);
			}
		}
	}
}
