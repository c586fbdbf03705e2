/* SPDX-License-Identifier: GPL-2.0-or-later
 * services.c - see services.h.
 *
 * Runs as: root, in the monitor; its child until the drop.  Input: names, addresses and ports of the plan.
 * A hostile sender gains nothing: names are letters, digits, dots and hyphens only, files are replaced without following a
 * link, and the child keeps nothing but its sockets. */
#include "guest/services.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/drop.h"
#include "guest/room.h"
#include "guest/spawn.h"
#include "guest/twin.h"
#include "proto/cursor.h"

#define RECORDS_FD 3
#define TWINS_FILES 2048u
#define HOSTS_SIZE (512u << 10) /* 1,000 names of 253 bytes with their addresses */
#define RECORDS_BUFFER (1 << 20)
#define DNS_BUFFER (8 << 20) /* queries that wait; some 10,000 */
#define DNS_PORT 53

static int
fail(struct services *s, int err, const char *what)
{
	snprintf(s->problem, sizeof(s->problem), "%s: %s", what, errno_name(-err));
	return err;
}

static bool
is_host_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= PLAN_HOST_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == len;
}

/* In place where the file is one (it may be a mount), anew where it is a link. */
static int
replace(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644), r = 0;

	if (fd < 0 && errno == ELOOP && unlink(path) == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0)
		r = -errno;
	for (const uint8_t *p = data; len > 0 && r == 0;) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			r = errno == EINTR ? 0 : -errno;
			continue;
		}
		p += n;
		len -= (size_t)n;
	}
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int
services_write_names(struct services *s, const struct plan_policy *p)
{
	static const char resolver[] = "nameserver 127.64.0.254\noptions timeout:1 attempts:1\n";
	static uint8_t text[HOSTS_SIZE];
	struct writer w;
	int r;

	writer_init(&w, text, sizeof(text));
	write_text(&w, "127.0.0.1\tlocalhost\n::1\tlocalhost\n");
	for (unsigned i = 0; i < p->hosts_len; i++) {
		const uint8_t *a;

		if (p->hosts[i].service >= p->services_len || !is_host_name(p->hosts[i].name))
			return fail(s, -EPERM, "a host name that cannot stand in /etc/hosts");
		a = p->services[p->hosts[i].service].address;
		write_format(&w, "%u.%u.%u.%u\t%s\n", a[0], a[1], a[2], a[3], p->hosts[i].name);
	}
	if (w.failed)
		return fail(s, -EMSGSIZE, "/etc/hosts");
	r = replace("/etc/hosts", text, w.len);
	if (r < 0)
		return fail(s, r, "/etc/hosts cannot be written");
	r = replace("/etc/resolv.conf", resolver, sizeof(resolver) - 1);
	return r < 0 ? fail(s, r, "/etc/resolv.conf cannot be written") : 0;
}

int
services_write_authority(struct services *s, const void *pem, size_t len)
{
	int r = replace(PLAN_CA_FILE, pem, len);

	return r < 0 ? fail(s, r, PLAN_CA_FILE " cannot be written") : 0;
}

static int
listen_one(const struct plan_service *v)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(v->port) };
	int one = 1, fd, r;

	memcpy(&a.sin_addr, v->address, 4);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const void *)&a, sizeof(a)) < 0 || listen(fd, TWIN_BACKLOG) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* Where /etc/resolv.conf points. */
static int
listen_dns(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT) };
	int size = DNS_BUFFER, fd, r;

	a.sin_addr.s_addr = htonl(0x7f4000feu); /* 127.64.0.254 */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (const void *)&a, sizeof(a)) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int
services_listen(struct services *s, const struct plan_policy *p)
{
	char what[80];

	s->listeners_len = 0;
	s->dns = -1;
	s->problem[0] = '\0';
	for (unsigned i = 0; i < p->services_len; i++) {
		const uint8_t *a = p->services[i].address;
		int fd;

		snprintf(what, sizeof(what), "cannot listen on %u.%u.%u.%u:%u", a[0], a[1], a[2], a[3],
			 (unsigned)p->services[i].port);
		if (a[0] != 127)
			return fail(s, -EPERM, what);
		fd = listen_one(&p->services[i]);
		if (fd < 0)
			return fail(s, fd, what);
		s->listeners[s->listeners_len++] = fd;
	}
	if (p->mode == PLAN_SANDBOX) {
		s->dns = listen_dns();
		if (s->dns < 0)
			return fail(s, s->dns, "cannot listen on 127.64.0.254:53 for names");
	}
	return 0;
}

void
services_close(struct services *s)
{
	for (size_t i = 0; i < s->listeners_len; i++)
		close(s->listeners[i]);
	s->listeners_len = 0;
	if (s->dns > 0) /* 0: nothing was opened yet */
		close(s->dns);
	s->dns = -1;
}

/* Puts the sockets where the twins expect them and closes everything else.  They all lie above their new places, because the
 * monitor holds more than one other descriptor below them; moved out of the way first, so that no order matters. */
static int
arrange(struct twin_start *start, const struct services *s, int records)
{
	int base = RECORDS_FD + 2 + (int)PLAN_SERVICES_MAX, last = RECORDS_FD;

	records = fcntl(records, F_DUPFD_CLOEXEC, base);
	if (records < 0)
		return -errno;
	for (size_t i = 0; i < s->listeners_len; i++) {
		start->listeners[i] = fcntl(s->listeners[i], F_DUPFD_CLOEXEC, base);
		if (start->listeners[i] < 0)
			return -errno;
	}
	start->dns = s->dns < 0 ? -1 : fcntl(s->dns, F_DUPFD_CLOEXEC, base);
	if (start->dns < 0 && s->dns >= 0)
		return -errno;
	if (dup3(records, RECORDS_FD, O_CLOEXEC) < 0)
		return -errno;
	start->records = RECORDS_FD;
	for (size_t i = 0; i < s->listeners_len; i++) {
		if (dup3(start->listeners[i], ++last, O_CLOEXEC) < 0)
			return -errno;
		start->listeners[i] = last;
	}
	start->listeners_len = s->listeners_len;
	if (start->dns >= 0) {
		if (dup3(start->dns, ++last, O_CLOEXEC) < 0)
			return -errno;
		start->dns = last;
	}
	return syscall(SYS_close_range, (unsigned)last + 1u, ~0u, 0u) < 0 ? -errno : 0;
}

static _Noreturn void
twins_main(const struct services *s, const struct plan_policy *p, bool hide, const struct filter_program *filter,
	   int records)
{
	static struct twin_start start;
	bool sandbox = p->mode == PLAN_SANDBOX;
	int r;

	spawn_signals_reset();
	spawn_oom_score("0");
	(void)signal(SIGPIPE, SIG_IGN);
	r = setsid() < 0 ? -errno : 0;
	if (r == 0 && hide && unshare(CLONE_NEWIPC) < 0)
		r = -errno;
	if (r == 0 && hide)
		r = room_hide(false);
	if (r == 0)
		r = arrange(&start, s, records);
	for (size_t i = 0; i < s->listeners_len; i++)
		memcpy(start.addresses[i], p->services[i].address, sizeof(start.addresses[i]));
	if (r == 0)
		r = spawn_limits(0, TWINS_FILES, 0);
	if (r == 0 && sandbox)
		r = drop_identity(p->twins_uid, p->twins_gid);
	if (r == 0)
		r = drop_die_with_parent(RECORDS_FD);
	if (r == 0)
		r = drop_no_new_privs();
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = -errno;
	if (r == 0)
		r = filter_install(filter);
	if (r < 0)
		_exit(125);
	_exit(twin_main(&start));
}

pid_t
services_start(struct services *s, const struct plan_policy *p, bool hide, const struct filter_program *filter,
	       int *records)
{
	int pair[2], size = RECORDS_BUFFER, r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
			(void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	child = fork();
	if (child == 0) {
		close(pair[0]);
		twins_main(s, p, hide, filter, pair[1]);
	}
	r = errno;
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return -r;
	}
	*records = pair[0];
	services_close(s); /* the twins' alone from here on */
	return child;
}
