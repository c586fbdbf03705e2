/* SPDX-License-Identifier: GPL-2.0-or-later
 * daemon.c - who already was in a sandbox before the guest: root's daemons, and the other end of one's connection.
 *
 * daemon serve LOG        listens on ports 7001 (127.0.0.1), 7002 (0.0.0.0), 7003 (::1), 7004 (:: with IPv4), 7007 (127.0.0.1)
 *                         and 7008 (::1), TCP and UDP; a UDP socket of 127.0.0.1:7005 that is connected to port 7006; an abstract socket "agenttwin-daemon".
 * daemon control LOG      listens on [::]:49983 and holds the connection that comes.
 * daemon peer ADDRESS LOG the other end: from port 40000 to ADDRESS:49983; when that is cut, takes whatever comes to port 40000.
 * daemon client LOG       goes from 127.0.0.1:40001 to port 49983 there, and notes what answers.
 * All answer what they get, and LOG gets a line for each that got through.  "ready" there: all is set up. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 32

static struct pollfd all[MOST];
static char name[MOST][48];
static int stream[MOST], count;
static FILE *log_file;

static void
note(const char *text)
{
	fprintf(log_file, "%s\n", text);
	fflush(log_file);
}

static void
die(const char *what)
{
	fprintf(log_file, "failed %s: %s\n", what, strerror(errno));
	exit(1);
}

static socklen_t
place(struct sockaddr_storage *s, const char *address, int port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)s;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)s;

	memset(s, 0, sizeof *s);
	if (strchr(address, ':')) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		inet_pton(AF_INET6, address, &six->sin6_addr);
		return sizeof *six;
	}
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, address, &four->sin_addr);
	return sizeof *four;
}

static int
bound(const char *address, int type, int port)
{
	struct sockaddr_storage s;
	socklen_t len = place(&s, address, port);
	int fd = socket(s.ss_family, type | SOCK_CLOEXEC, 0), on = 1, off = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (s.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, strcmp(address, "::") == 0 ? &off : &on, sizeof on);
	if (fd < 0 || bind(fd, (struct sockaddr *)&s, len) < 0)
		die(address);
	return fd;
}

static void
watch(int fd, int is_stream, const char *what, int port)
{
	if (is_stream && listen(fd, 16) < 0)
		die("listen");
	snprintf(name[count], sizeof *name, "%s %d", what, port);
	stream[count] = is_stream;
	all[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static _Noreturn void
answer(void)
{
	char data[2048];

	note("ready");
	for (;;) {
		poll(all, (nfds_t)count, -1);
		for (int i = 0; i < count; i++) {
			struct sockaddr_storage from;
			socklen_t len = sizeof from;
			ssize_t n;
			int fd;

			if (!all[i].revents)
				continue;
			if (stream[i]) {
				if ((fd = accept4(all[i].fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
					continue;
				note(name[i]);
				(void)send(fd, "x", 1, MSG_NOSIGNAL);
				close(fd);
			} else if ((n = recvfrom(all[i].fd, data, sizeof data, 0, (struct sockaddr *)&from, &len)) >=
				   0) {
				note(name[i]);
				(void)sendto(all[i].fd, data, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&from, len);
			}
		}
	}
}

static _Noreturn void
serve(void)
{
	static const struct {
		const char *address;
		int port;
	} where[] = { { "127.0.0.1", 7001 }, { "0.0.0.0", 7002 },   { "::1", 7003 },
		      { "::", 7004 },        { "127.0.0.1", 7007 }, { "::1", 7008 } };
	struct sockaddr_un u = { .sun_family = AF_UNIX, .sun_path = "\0agenttwin-daemon" };
	struct sockaddr_storage s;
	socklen_t len;
	int fd;

	for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
		watch(bound(where[i].address, SOCK_STREAM, where[i].port), 1, "tcp", where[i].port);
		watch(bound(where[i].address, SOCK_DGRAM, where[i].port), 0, "udp", where[i].port);
	}
	fd = bound("127.0.0.1", SOCK_DGRAM, 7005);
	len = place(&s, "127.0.0.1", 7006);
	if (connect(fd, (struct sockaddr *)&s, len) < 0)
		die("connect");
	watch(fd, 0, "udp", 7005);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&u, (socklen_t)(sizeof(sa_family_t) + sizeof "\0agenttwin-daemon" - 1)) < 0)
		die("unix");
	watch(fd, 1, "unix", 0);
	answer();
}

static _Noreturn void
control(void)
{
	int fd = bound("::", SOCK_STREAM, 49983), c;
	char data[256];

	if (listen(fd, 16) < 0)
		die("listen");
	note("listens");
	c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (c < 0)
		die("accept");
	note("ready");
	while (read(c, data, sizeof data) > 0)
		;
	exit(0);
}

static _Noreturn void
peer(const char *address)
{
	const char *any = strchr(address, ':') ? "::" : "0.0.0.0";
	struct linger at_once = { 1, 0 };
	struct sockaddr_storage s;
	socklen_t len = place(&s, address, 49983);
	int fd = bound(any, SOCK_STREAM, 40000);
	char data[256];

	if (connect(fd, (struct sockaddr *)&s, len) < 0)
		die("connect");
	note("connected");
	while (read(fd, data, sizeof data) > 0)
		;
	/* Not to leave the pair of ports in TIME_WAIT, which would be the one reason why nothing comes. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(fd);
	watch(bound(any, SOCK_STREAM, 40000), 1, "tcp", 40000);
	watch(bound(any, SOCK_DGRAM, 40000), 0, "udp", 40000);
	answer();
}

static _Noreturn void
client(void)
{
	struct sockaddr_storage s;
	socklen_t len = place(&s, "127.0.0.1", 49983);
	int fd = bound("127.0.0.1", SOCK_STREAM, 40001);
	char c;

	if (connect(fd, (struct sockaddr *)&s, len) == 0 && send(fd, "x", 1, MSG_NOSIGNAL) == 1 && read(fd, &c, 1) == 1)
		note("answered");
	exit(0);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int null = open("/dev/null", O_RDWR);

	/* Whoever reads the end of a pipe of ours would otherwise wait for us. */
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	log_file = fopen(argv[argc - 1], "ae");
	if (!log_file || argc < 3)
		return 2;
	if (strcmp(what, "serve") == 0)
		serve();
	if (strcmp(what, "control") == 0)
		control();
	if (strcmp(what, "client") == 0)
		client();
	if (strcmp(what, "peer") == 0 && argc == 4)
		peer(argv[2]);
	return 2;
}
