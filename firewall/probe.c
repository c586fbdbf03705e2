/* SPDX-License-Identifier: GPL-2.0-or-later
 * probe.c - the proof's child, which tries to get out.  See probe.h.  Runs under the workflow's uid and filter; its only input
 * are its parent's orders. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firewall/probe.h"

#define LOOPBACK_MS 5000 /* what must work may take its time on a busy machine */
#define TCP 6u
#define UDP 17u
#define ICMP 1u
#define ICMP6 58u

union endpoint {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t
endpoint_of(const struct fw_order *o, union endpoint *e)
{
	memset(e, 0, sizeof(*e));
	if (o->to.family == 4) {
		e->in.sin_family = AF_INET;
		e->in.sin_port = htons(o->port);
		memcpy(&e->in.sin_addr, o->to.bytes, 4);
		return sizeof(e->in);
	}
	e->in6.sin6_family = AF_INET6;
	e->in6.sin6_port = htons(o->port);
	e->in6.sin6_scope_id = o->scope;
	memcpy(&e->in6.sin6_addr, o->to.bytes, 16);
	return sizeof(e->in6);
}

/* Errors that come before a packet is made: no route, no address, no permission to address it so. */
static bool
is_before_packet(int err)
{
	return err == ENETUNREACH || err == EADDRNOTAVAIL || err == EINVAL || err == ENODEV || err == EAFNOSUPPORT ||
	       err == ENOBUFS || err == ENOMEM || err == EMSGSIZE || err == EDESTADDRREQ;
}

static int
connect_error(int fd, const union endpoint *e, socklen_t len, int wait_ms)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	socklen_t err_len = sizeof(int);
	int err = 0;

	if (connect(fd, &e->any, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&p, 1, wait_ms) <= 0)
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &err_len) < 0)
		return errno;
	return err;
}

/* A connection attempt is one packet, and one more each time that it was repeated: on a machine so busy that the refusal
 * or this process comes a second late. */
static uint32_t
repetitions(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ? 0 : info.tcpi_total_retrans;
}

static void
probe_out(const struct fw_order *o, struct fw_report *r)
{
	static const uint8_t echo4[8] = { 8 }, echo6[8] = { 128 };
	bool stream = o->protocol == TCP;
	union endpoint e;
	socklen_t len = endpoint_of(o, &e);
	const void *data = o->protocol == ICMP6 ? echo6 : o->protocol == ICMP ? echo4 : (const uint8_t *)"?";
	int fd;

	fd = socket(e.any.sa_family, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, o->protocol);
	if (fd < 0) {
		r->err = errno;
		return;
	}
	r->stage = STAGE_SEND;
	if (o->by_lo && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0)
		r->err = errno; /* NOLINT(bugprone-branch-clone): one step after the other, each may fail */
	else if (stream)
		r->err = connect_error(fd, &e, len, o->wait_ms);
	else if (sendto(fd, data, o->protocol == UDP ? 1 : 8, MSG_NOSIGNAL, &e.any, len) < 0)
		r->err = errno;
	r->through = r->err == 0;
	r->packets = !is_before_packet(r->err);
	if (stream && r->packets > 0)
		r->packets += repetitions(fd);
	close(fd);
}

static int
loopback_tcp(const struct fw_order *o)
{
	union endpoint e;
	socklen_t len = endpoint_of(o, &e);
	int listener = -1, client = -1, server = -1, err = 0;
	char byte = 'x';

	listener = socket(e.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, TCP);
	client = socket(e.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, TCP);
	if (listener < 0 || client < 0 || bind(listener, &e.any, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, &e.any, &len) < 0)
		err = errno;
	else if ((err = connect_error(client, &e, len, LOOPBACK_MS)) == 0) {
		server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (server < 0 || send(client, &byte, 1, MSG_NOSIGNAL) != 1 || recv(server, &byte, 1, 0) != 1)
			err = errno ? errno : EIO;
	}
	if (listener >= 0)
		close(listener);
	if (client >= 0)
		close(client);
	if (server >= 0)
		close(server);
	return err;
}

static int
loopback_udp(const struct fw_order *o)
{
	union endpoint e;
	socklen_t len = endpoint_of(o, &e);
	struct pollfd p = { -1, POLLIN, 0 };
	char byte = 'x';
	int fd, err = 0;

	fd = socket(e.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, UDP);
	if (fd < 0)
		return errno;
	p.fd = fd;
	if (bind(fd, &e.any, len) < 0 || getsockname(fd, &e.any, &len) < 0 || sendto(fd, &byte, 1, 0, &e.any, len) != 1)
		err = errno;
	else if (poll(&p, 1, LOOPBACK_MS) <= 0 || recv(fd, &byte, 1, 0) != 1)
		err = ETIMEDOUT;
	close(fd);
	return err;
}

static void
obey(const struct fw_order *o, struct fw_report *r)
{
	memset(r, 0, sizeof(*r));
	r->stage = STAGE_SOCKET;
	if (o->kind != PROBE_LOOPBACK) {
		probe_out(o, r);
		return;
	}
	r->stage = STAGE_SEND;
	errno = 0;
	r->err = o->protocol == TCP ? loopback_tcp(o) : loopback_udp(o);
	r->through = r->err == 0;
}

_Noreturn void
fw_probe_child(int fd, fw_enter_fn *enter, void *arg)
{
	struct fw_report r = { .stage = STAGE_ENTER };
	struct fw_order o;
	int err;

	err = enter(arg);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of identity, which clears it */
	r.err = err < 0 ? -err : 0;
	while (send(fd, &r, sizeof(r), MSG_NOSIGNAL) == sizeof(r) && err == 0 &&
	       recv(fd, &o, sizeof(o), 0) == sizeof(o) && o.kind != PROBE_END)
		obey(&o, &r);
	_exit(0);
}
