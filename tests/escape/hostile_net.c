/* SPDX-License-Identifier: GPL-2.0-or-later
 * hostile_net.c - the attempts of `hostile` over the network, and the eye of the control.  See hostile.c. */
#define _GNU_SOURCE
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static uint16_t next_port = 20000;
static char device[IF_NAMESIZE], other_device[IF_NAMESIZE]; /* that of the default route, and one more */

void
net_find_devices(void)
{
	struct if_nameindex *all = if_nameindex();
	FILE *f = fopen("/proc/net/route", "r");
	char line[256], name[IF_NAMESIZE];

	while (f && fgets(line, sizeof line, f))
		if (!*device && sscanf(line, "%15s 00000000", name) == 1 && strstr(line, "\t00000000\t"))
			snprintf(device, sizeof device, "%s", name);
	if (f)
		fclose(f);
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		if (strcmp(i->if_name, "lo") != 0 && strcmp(i->if_name, device) != 0)
			snprintf(other_device, sizeof other_device, "%s", i->if_name);
	if_freenameindex(all);
}

struct place {
	int family;
	socklen_t len;
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} a;
};

/* Fills the place and remembers what its packets look like. */
static void
aim(struct place *p, const char *protocol, const char *address, int with_port)
{
	uint16_t port = with_port ? next_port++ : 0;
	const char *mapped = strncmp(address, "::ffff:", 7) == 0 ? address + 7 : NULL;

	memset(p, 0, sizeof *p);
	if (strchr(address, ':')) {
		p->family = AF_INET6;
		p->len = sizeof p->a.six;
		p->a.six.sin6_family = AF_INET6;
		p->a.six.sin6_port = htons(port);
		inet_pton(AF_INET6, address, &p->a.six.sin6_addr);
		if (IN6_IS_ADDR_LINKLOCAL(&p->a.six.sin6_addr) || IN6_IS_ADDR_MULTICAST(&p->a.six.sin6_addr))
			p->a.six.sin6_scope_id = if_nametoindex(device);
	} else {
		p->family = AF_INET;
		p->len = sizeof p->a.four;
		p->a.four.sin_family = AF_INET;
		p->a.four.sin_port = htons(port);
		inet_pton(AF_INET, address, &p->a.four.sin_addr);
	}
	snprintf(wire, sizeof wire, "%s %s %u", protocol, mapped ? mapped : address, port);
}

static int
open_socket(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol), on = 1;

	strcpy(stage, fd < 0 ? "socket" : "send");
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	return fd;
}

/* A connection, or the packet that asks for one. */
static long
knock(int fd, const struct place *p)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (connect(fd, &p->a.any, p->len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&ready, 1, 60) <= 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	errno = err;
	return err ? -1 : 0;
}

static long throw(int fd, const struct place *p, int flags, size_t size)
{
	static char data[8192] = { 8 };

	if (fd < 0)
		return -1;
	if (p->family == AF_INET6)
		data[0] = (char)128; /* an echo request of either family, where that matters */
	else
		data[0] = 8;
	return sendto(fd, data, size, flags, &p->a.any, p->len);
}

/* Each kind of socket to each place. */
static void
places(void)
{
	static const struct {
		const char *name, *address;
	} to[] = {
		{ "public4", "1.1.1.1" },
		{ "public6", "2606:4700:4700::1111" },
		{ "documentation4", "203.0.113.9" },
		{ "documentation6", "2001:db8::9" },
		{ "private4", "10.0.0.1" },
		{ "metadata", "169.254.169.254" },
		{ "link-local4", "169.254.1.1" },
		{ "metadata-alibaba", "100.100.100.200" },
		{ "metadata-azure", "168.63.129.16" },
		{ "metadata-oracle", "192.0.0.192" },
		{ "metadata-ec2-6", "fd00:ec2::254" },
		{ "metadata-gce-6", "fd20:ce::254" },
		{ "metadata-oci-6", "fd00:c1::a9fe:a9fe" },
		{ "metadata-scaleway-6", "fd00:42::42" },
		{ "mapped", "::ffff:169.254.169.253" },
		{ "nat64", "64:ff9b::a9fe:a9fe" },
		{ "nat64-local", "64:ff9b:1::a9fe:a9fe" },
		{ "teredo", "2001:0:a9fe:a9fe::1" },
		{ "six-to-four", "2002:a9fe:a9fe::1" },
		{ "scoped", "fe80::99" },
		{ "multicast4", "224.0.0.251" },
		{ "multicast6", "ff02::fb" },
		{ "broadcast", "255.255.255.255" },
	};
	static const struct {
		const char *name;
		int type, protocol;
	} by[] = { { "tcp", SOCK_STREAM, 0 },
		   { "udp", SOCK_DGRAM, 0 },
		   { "icmp", SOCK_DGRAM, 1 },
		   { "sctp", SOCK_STREAM, 132 },
		   { "dccp", 6, 33 },
		   { "udplite", SOCK_DGRAM, 136 },
		   { "raw", SOCK_RAW, 253 },
		   { "raw-sctp", SOCK_RAW, 132 },
		   { "raw-dccp", SOCK_RAW, 33 },
		   { "raw-udplite", SOCK_RAW, 136 } };

	for (size_t k = 0; k < sizeof by / sizeof *by; k++)
		for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
			int six = strchr(to[i].address, ':') && strncmp(to[i].address, "::ffff:", 7) != 0;
			int protocol = by[k].protocol == 1 && strchr(to[i].address, ':') ? 58 : by[k].protocol;
			int casts = strstr(to[i].name, "cast") != NULL;
			struct place p;
			char id[64];
			int fd;

			if (casts && (by[k].type == SOCK_STREAM || by[k].type == 6))
				continue; /* no connection to many */
			aim(&p,
			    protocol == 58 && six    ? "icmpv6"
			    : by[k].type != SOCK_RAW ? by[k].name
			    : by[k].protocol == 253  ? "253"
						     : by[k].name + 4,
			    to[i].address, by[k].type != SOCK_RAW && by[k].protocol != 1);
			if (by[k].type == SOCK_RAW && p.family == AF_INET6 &&
			    !six) /* such a socket takes it as it is */
				snprintf(wire, sizeof wire, "%s %s 0", by[k].protocol == 253 ? "253" : by[k].name + 4,
					 to[i].address);
			snprintf(id, sizeof id, "%s-%s", by[k].name, to[i].name);
			fd = open_socket(p.family, by[k].type, protocol);
			say(id, by[k].type == SOCK_STREAM || by[k].type == 6 ? knock(fd, &p) : throw(fd, &p, 0, 16));
			if (fd >= 0)
				close(fd);
		}
}

static long
option(int fd, int level, int name, const void *value, socklen_t len)
{
	long r = fd < 0 ? -1 : setsockopt(fd, level, name, value, len);

	if (r < 0 && fd >= 0)
		strcpy(stage, "call");
	return r;
}

/* One datagram or connection that is made in a special way.  With an option that is refused, the attempt ends there. */
static void
with_option(const char *id, int type, const char *address, int level, int name, const void *value, socklen_t len)
{
	struct place p;
	int fd;

	aim(&p, type == SOCK_STREAM ? "tcp" : "udp", address, 1);
	fd = open_socket(p.family, type, 0);
	if (option(fd, level, name, value, len) < 0)
		say(id, -1);
	else
		say(id, type == SOCK_STREAM ? knock(fd, &p) : throw(fd, &p, 0, 16));
	if (fd >= 0)
		close(fd);
}

static void
with_int(const char *id, int type, const char *address, int level, int name, int value)
{
	with_option(id, type, address, level, name, &value, sizeof value);
}

static void
devices(void)
{
	static const char *const four = "203.0.113.20", *const six = "2001:db8::20";

	with_option("device-lo-udp", SOCK_DGRAM, four, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
	with_option("device-lo-tcp", SOCK_STREAM, four, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
	with_option("device-veth-udp", SOCK_DGRAM, four, SOL_SOCKET, SO_BINDTODEVICE, device, IF_NAMESIZE);
	with_option("device-veth-tcp", SOCK_STREAM, four, SOL_SOCKET, SO_BINDTODEVICE, device, IF_NAMESIZE);
	with_option("device-veth-udp6", SOCK_DGRAM, six, SOL_SOCKET, SO_BINDTODEVICE, device, IF_NAMESIZE);
	with_option("device-veth-tcp6", SOCK_STREAM, six, SOL_SOCKET, SO_BINDTODEVICE, device, IF_NAMESIZE);
	with_option("device-peer-udp", SOCK_DGRAM, four, SOL_SOCKET, SO_BINDTODEVICE, other_device, IF_NAMESIZE);
	with_option("device-peer-tcp", SOCK_STREAM, four, SOL_SOCKET, SO_BINDTODEVICE, other_device, IF_NAMESIZE);
	with_option("device-peer-udp6", SOCK_DGRAM, six, SOL_SOCKET, SO_BINDTODEVICE, other_device, IF_NAMESIZE);
	with_option("device-peer-tcp6", SOCK_STREAM, six, SOL_SOCKET, SO_BINDTODEVICE, other_device, IF_NAMESIZE);
	with_int("unicast-if", SOCK_DGRAM, four, IPPROTO_IP, IP_UNICAST_IF, (int)htonl(if_nametoindex(device)));
	with_int("unicast-if6", SOCK_DGRAM, six, IPPROTO_IPV6, IPV6_UNICAST_IF, (int)htonl(if_nametoindex(device)));
}

static void
options(void)
{
	static const unsigned char lsrr[] = { 1, 131, 7, 4, 203, 0, 113, 9 }, ssrr[] = { 1, 137, 7, 4, 203, 0, 113, 9 },
				   router_alert[] = { 148, 4, 0, 0 };
	static const char *const four = "203.0.113.30", *const six = "2001:db8::30";
	struct {
		uint8_t next, len, type, left, first, flags;
		uint16_t tag;
		struct in6_addr to[2];
	} segments = { .len = 4, .type = 4, .left = 1, .first = 1 };
	struct {
		uint8_t next, len, type, left;
		uint32_t zero;
		struct in6_addr home;
	} mobile = { .len = 2, .type = 2, .left = 1 };
	static const uint8_t padding[8] = { 0, 0, 1, 4 };

	with_option("source-route-loose", SOCK_DGRAM, four, IPPROTO_IP, IP_OPTIONS, lsrr, sizeof lsrr);
	with_option("source-route-strict", SOCK_DGRAM, four, IPPROTO_IP, IP_OPTIONS, ssrr, sizeof ssrr);
	with_option("router-alert", SOCK_DGRAM, four, IPPROTO_IP, IP_OPTIONS, router_alert, sizeof router_alert);
	inet_pton(AF_INET6, "2001:db8::31", &segments.to[0]);
	segments.to[1] = segments.to[0];
	with_option("routing-header-segments", SOCK_DGRAM, six, IPPROTO_IPV6, IPV6_RTHDR, &segments, sizeof segments);
	inet_pton(AF_INET6, "2001:db8::34", &segments.to[0]);
	segments.to[1] = segments.to[0];
	with_option("routing-header-tcp", SOCK_STREAM, "2001:db8::34", IPPROTO_IPV6, IPV6_RTHDR, &segments,
		    sizeof segments);
	inet_pton(AF_INET6, "2001:db8::32", &mobile.home);
	with_option("routing-header-mobile", SOCK_DGRAM, six, IPPROTO_IPV6, IPV6_RTHDR, &mobile, sizeof mobile);
	with_option("hop-options", SOCK_DGRAM, six, IPPROTO_IPV6, IPV6_HOPOPTS, padding, sizeof padding);
	with_option("destination-options", SOCK_DGRAM, six, IPPROTO_IPV6, IPV6_DSTOPTS, padding, sizeof padding);
	with_int("mark", SOCK_DGRAM, four, SOL_SOCKET, SO_MARK, 1);
	with_int("priority", SOCK_DGRAM, four, SOL_SOCKET, SO_PRIORITY, 6);
	with_int("tos", SOCK_STREAM, four, IPPROTO_IP, IP_TOS, 0x10);
	with_int("ttl-1", SOCK_DGRAM, four, IPPROTO_IP, IP_TTL, 1);
	with_int("transparent", SOCK_STREAM, four, IPPROTO_IP, IP_TRANSPARENT, 1);
	with_int("freebind", SOCK_DGRAM, four, IPPROTO_IP, IP_FREEBIND, 1);
	with_int("dontroute", SOCK_DGRAM, "203.0.113.31", SOL_SOCKET, SO_DONTROUTE, 1);
	with_int("zerocopy", SOCK_DGRAM, four, SOL_SOCKET, SO_ZEROCOPY, 1);
	with_int("fastopen", SOCK_STREAM, four, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
	with_int("keepalive", SOCK_STREAM, six, SOL_SOCKET, SO_KEEPALIVE, 1);
	with_int("segments-udp", SOCK_DGRAM, four, IPPROTO_UDP, UDP_SEGMENT, 1400);
	with_int("no-checksum", SOCK_DGRAM, four, SOL_SOCKET, SO_NO_CHECK, 1);
	with_int("repair", SOCK_STREAM, four, IPPROTO_TCP, TCP_REPAIR, 1);
	with_int("multicast-all", SOCK_DGRAM, "239.1.2.3", IPPROTO_IP, IP_MULTICAST_TTL, 32);
}

static void
fragments(const char *id, const char *address, int level, int name)
{
	struct place p;
	int fd, never = 0; /* IP_PMTUDISC_DONT, which IPv6 gives the same number */

	aim(&p, "udp", address, 1);
	fd = open_socket(p.family, SOCK_DGRAM, 0);
	(void)setsockopt(fd, level, name, &never, sizeof never);
	say(id, throw(fd, &p, 0, 4000));
	close(fd);
}

/* What an option would say for the socket, said for one datagram. */
static void
with_message(const char *id, const char *address, int level, int type, const void *value, size_t len)
{
	_Alignas(8) char control[CMSG_SPACE(64)] = { 0 };
	struct cmsghdr *c = (struct cmsghdr *)control;
	struct iovec v = { "x", 1 };
	struct place p;
	struct msghdr m = { .msg_name = &p.a, .msg_iov = &v, .msg_iovlen = 1, .msg_control = control };
	int fd;

	aim(&p, "udp", address, 1);
	m.msg_namelen = p.len;
	m.msg_controllen = CMSG_SPACE(len);
	*c = (struct cmsghdr){ CMSG_LEN(len), level, type };
	memcpy(CMSG_DATA(c), value, len);
	fd = open_socket(p.family, SOCK_DGRAM, 0);
	say(id, sendmsg(fd, &m, 0));
	close(fd);
}

static void
messages(void)
{
	struct in_pktinfo four = { .ipi_ifindex = (int)if_nametoindex(device) };
	struct in6_pktinfo six = { .ipi6_ifindex = if_nametoindex(device) };
	struct {
		uint8_t next, len, type, left;
		uint32_t zero;
		struct in6_addr home;
	} mobile = { .len = 2, .type = 2, .left = 1 };
	static const unsigned char lsrr[] = { 131, 7, 4, 203, 0, 113, 9, 1 };

	with_message("message-device", "203.0.113.60", IPPROTO_IP, IP_PKTINFO, &four, sizeof four);
	with_message("message-device6", "2001:db8::60", IPPROTO_IPV6, IPV6_PKTINFO, &six, sizeof six);
	four.ipi_ifindex = (int)if_nametoindex("lo");
	with_message("message-device-lo", "203.0.113.61", IPPROTO_IP, IP_PKTINFO, &four, sizeof four);
	inet_pton(AF_INET6, "2001:db8::61", &mobile.home);
	with_message("message-routing-header", "2001:db8::62", IPPROTO_IPV6, IPV6_RTHDR, &mobile, sizeof mobile);
	with_message("message-source-route", "203.0.113.62", IPPROTO_IP, IP_RETOPTS, lsrr, sizeof lsrr);
}

/* By a descriptor that went through a socket pair, by a child, and by a child whose parent is gone. */
static void
roundabout(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, data = 'x';
	struct iovec v = { &data, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *c = (struct cmsghdr *)control;
	struct place p;
	int pair[2], fd, got, status = 0;
	pid_t pid;

	aim(&p, "udp", "203.0.113.40", 1);
	fd = open_socket(AF_INET, SOCK_DGRAM, 0);
	*c = (struct cmsghdr){ CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || sendmsg(pair[0], &m, 0) < 0 ||
	    recvmsg(pair[1], &m, 0) < 0) {
		say("passed-descriptor", -1);
	} else {
		memcpy(&got, CMSG_DATA(c), sizeof got);
		close(fd);
		say("passed-descriptor", throw(got, &p, 0, 16));
	}
	aim(&p, "udp", "203.0.113.41", 1);
	pid = vfork();
	if (pid == 0) {
		fd = open_socket(AF_INET, SOCK_DGRAM, 0);
		_exit(throw(fd, &p, 0, 16) < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	say("by-child", errno ? -1 : 0);
	aim(&p, "tcp", "203.0.113.42", 1);
	if ((pid = fork()) == 0) {
		if (fork() == 0) {
			setsid();
			(void)knock(open_socket(AF_INET, SOCK_STREAM, 0), &p);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	usleep(150000);
	errno = ECONNREFUSED; /* whether it came through, only the wire knows */
	strcpy(stage, "send");
	say("by-orphan", -1);
}

static void
packets(void)
{
	struct place p;
	struct iovec v = { "x", 1 };
	struct mmsghdr many[1] = { { .msg_hdr = { .msg_name = &p.a, .msg_iov = &v, .msg_iovlen = 1 } } };
	struct sockaddr_ll link = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(0x88b5),
				    .sll_halen = 6,
				    .sll_addr = { 255, 255, 255, 255, 255, 255 } };
	struct {
		uint8_t version, tos;
		uint16_t len, id, off;
		uint8_t ttl, protocol;
		uint16_t sum;
		uint32_t from, to;
	} header = { 0x45, 0, htons(20), 0, 0, 9, 254, 0, 0, 0 };
	int fd, file;

	fragments("fragments4", "203.0.113.50", IPPROTO_IP, IP_MTU_DISCOVER);
	fragments("fragments6", "2001:db8::50", IPPROTO_IPV6, IPV6_MTU_DISCOVER);
	aim(&p, "tcp", "203.0.113.51", 1);
	say("mptcp", knock(open_socket(AF_INET, SOCK_STREAM, 262), &p));
	aim(&p, "tcp", "2001:db8::51", 1);
	say("mptcp6", knock(open_socket(AF_INET6, SOCK_STREAM, 262), &p));
	aim(&p, "tcp", "203.0.113.52", 1);
	fd = open_socket(AF_INET, SOCK_STREAM, 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	(void) throw(fd, &p, MSG_FASTOPEN | MSG_NOSIGNAL, 16);
	say("fastopen-data", knock(fd, &p)); /* what became of it */
	aim(&p, "udp", "203.0.113.53", 1);
	fd = open_socket(AF_INET, SOCK_DGRAM, 0);
	many[0].msg_hdr.msg_namelen = p.len;
	say("sendmmsg", sendmmsg(fd, many, 1, 0));
	aim(&p, "udp", "203.0.113.54", 1);
	fd = open_socket(AF_INET, SOCK_DGRAM, 0);
	(void)connect(fd, &p.a.any, p.len);
	say("connected-write", write(fd, "x", 1));
	aim(&p, "udp", "203.0.113.55", 1);
	fd = open_socket(AF_INET, SOCK_DGRAM, 0);
	(void)connect(fd, &p.a.any, p.len);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	say("sendfile", sendfile(fd, file, NULL, 16));
	aim(&p, "udp", "203.0.113.56", 1);
	fd = open_socket(AF_INET, SOCK_DGRAM, 0);
	(void) throw(fd, &p, MSG_MORE, 16);
	strcpy(stage, "send");
	{
		int off = 0;

		say("corked",
		    setsockopt(fd, IPPROTO_UDP, 1 /* UDP_CORK */, &off, sizeof off) < 0 ? -1 : throw(fd, &p, 0, 1));
	}
	aim(&p, "254", "203.0.113.57", 0);
	fd = open_socket(AF_INET, SOCK_RAW, 255);
	header.to = p.a.four.sin_addr.s_addr;
	say("raw-own-header", fd < 0 ? -1 : sendto(fd, &header, sizeof header, 0, &p.a.any, p.len));
	snprintf(wire, sizeof wire, "frame 88b5 0");
	fd = open_socket(AF_PACKET, SOCK_DGRAM, htons(0x88b5));
	link.sll_ifindex = (int)if_nametoindex(device);
	say("packet-frame", fd < 0 ? -1 : sendto(fd, "x", 1, 0, (struct sockaddr *)&link, sizeof link));
	strcpy(stage, "socket");
	say("vsock-host", socket(40, SOCK_STREAM | SOCK_CLOEXEC, 0));
	messages();
	roundabout();
}

void
net_all(void)
{
	places();
	devices();
	options();
	packets();
}

/* A connection, or a datagram and an answer to it: the daemon's word alone counts.  Its packets are seen with an
 * address and a port of their own where somebody translates them.  from: the port it comes from, or 0. */
static void
ask(const char *id, int type, const char *address, uint16_t port, const char *seen_address, uint16_t seen_port,
    uint16_t from)
{
	const char *protocol = type == SOCK_STREAM ? "tcp" : "udp";
	struct pollfd ready = { .events = POLLIN };
	struct place p, own;
	char c, name[64];
	int on = 1;
	long r;

	next_port = from;
	aim(&own, protocol, strchr(address, ':') ? "::" : "0.0.0.0", 1);
	next_port = port;
	aim(&p, protocol, address, 1);
	snprintf(wire, sizeof wire, "%s %s %u", protocol, seen_address, seen_port);
	snprintf(name, sizeof name, id, protocol);
	ready.fd = open_socket(p.family, type, 0);
	(void)setsockopt(ready.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	r = from && bind(ready.fd, &own.a.any, own.len) < 0 ? -1
	    : type == SOCK_STREAM                           ? knock(ready.fd, &p)
							    : throw(ready.fd, &p, 0, 16);
	if (r >= 0 && poll(&ready, 1, 600) <= 0) {
		errno = ETIMEDOUT;
		r = -1;
	}
	say(name, r < 0 ? -1 : recv(ready.fd, &c, 1, 0));
	close(ready.fd);
}

/* First to ::1, and from there, where the sandbox has segment routing and forwards, to the outside. */
static void
by_way_of_loopback(void)
{
	struct {
		uint8_t next, len, type, left, first, flags;
		uint16_t tag;
		struct in6_addr to[2];
	} way = { .len = 4, .type = 4, .left = 1, .first = 1 };
	struct place own, p;
	int fd;

	next_port = 0;
	aim(&own, "udp", "fd00:a0::1", 1);
	next_port = 7109;
	aim(&p, "udp", "2001:db8::33", 1);
	way.to[0] = p.a.six.sin6_addr;
	way.to[1] = in6addr_loopback;
	fd = open_socket(AF_INET6, SOCK_DGRAM, 0);
	if (option(fd, IPPROTO_IPV6, IPV6_RTHDR, &way, sizeof way) < 0 || bind(fd, &own.a.any, own.len) < 0)
		say("routing-header-by-loopback", -1);
	else
		say("routing-header-by-loopback", throw(fd, &p, 0, 16));
	close(fd);
}

/* hostile daemons: what listened before (daemon.c), by every name that loopback has, and by the ports and addresses that somebody
 * left translated to it or to the outside (sandbox.sh). */
void
net_daemons(void)
{
	static const struct {
		const char *id, *address, *seen_address;
		uint16_t port, seen_port;
	} table[] = {
		{ "daemon-%s-loopback", "127.0.0.1", NULL, 7001, 0 },
		{ "daemon-%s-other-name", "127.1.2.3", NULL, 7002, 0 },
		{ "daemon-%s-any", "0.0.0.0", "127.0.0.1", 7002, 0 },
		{ "daemon-%s-own-address", "10.71.0.1", NULL, 7002, 0 },
		{ "daemon-%s-loopback6", "::1", NULL, 7003, 0 },
		{ "daemon-%s-any6", "::", "::1", 7004, 0 },
		{ "daemon-%s-own-address6", "fd00:a0::1", NULL, 7004, 0 },
		{ "daemon-%s-mapped", "::ffff:127.0.0.1", "127.0.0.1", 7004, 0 },
		{ "nat-%s-outside-in", "203.0.113.70", NULL, 7101, 0 },
		{ "nat-%s-port", "127.0.0.1", "127.0.0.1", 7102, 7007 },
		{ "nat-%s-port6", "::1", "::1", 7103, 7008 },
		{ "nat-%s-loopback-out", "127.0.0.1", "10.71.0.2", 7104, 7002 },
		{ "nat-%s-own-address-out", "10.71.0.1", "10.71.0.2", 7105, 7004 },
		{ "nat-%s-own-address6-out", "fd00:a0::1", "fd00:a0::2", 7106, 7004 },
	};
	struct sockaddr_un u = { .sun_family = AF_UNIX, .sun_path = "\0agenttwin-daemon" };
	int fd;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++)
			ask(table[i].id, type, table[i].address, table[i].port,
			    table[i].seen_address ? table[i].seen_address : table[i].address,
			    table[i].seen_port ? table[i].seen_port : table[i].port, 0);
	ask("daemon-%s-connected", SOCK_DGRAM, "127.0.0.1", 7005, "127.0.0.1", 7005, 7006);
	by_way_of_loopback();
	fd = open_socket(AF_UNIX, SOCK_STREAM, 0);
	say("daemon-abstract", fd < 0 ? -1
				      : connect(fd, (struct sockaddr *)&u,
						(socklen_t)(sizeof(sa_family_t) + sizeof "\0agenttwin-daemon" - 1)));
}

/* hostile successor: says by a file that it is there, waits until another says that the control daemon is dead, takes its port, and
 * talks to its peer as the daemon did. */
void
net_successor(void)
{
	struct pollfd ready = { .events = POLLIN };
	struct place from, to;
	char heard[64];
	int fd, got, on = 1;

	close(open("go", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	for (int i = 0; i < 500 && access("gone", F_OK) < 0; i++)
		usleep(20000);
	next_port = 49983;
	aim(&from, "tcp", "0.0.0.0", 1);
	ask("dead-daemon-peer-%s", SOCK_STREAM, "10.71.0.2", 40000, "10.71.0.2", 40000, 49983);
	ask("dead-daemon-peer-%s", SOCK_DGRAM, "10.71.0.2", 40000, "10.71.0.2", 40000, 49983);
	/* In its place, for those who look for it there. */
	fd = open_socket(AF_INET, SOCK_STREAM, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, &from.a.any, from.len) < 0 || listen(fd, 5) < 0)
		close(fd);
	close(open("up", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	ready.fd = fd;
	got = poll(&ready, 1, 2000) > 0 ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
	if (got < 0 || send(got, "x", 1, MSG_NOSIGNAL) < 0)
		errno = ETIMEDOUT;
	snprintf(wire, sizeof wire, "tcp 127.0.0.1 40001");
	strcpy(stage, "send");
	say("dead-daemon-answers", got);
	ready.fd = got; /* until it was heard: with this program the sandbox ends */
	while (got >= 0 && poll(&ready, 1, 2000) > 0 && read(got, heard, sizeof heard) > 0)
		;
	close(got);
	next_port = 49983;
	aim(&to, "tcp", "127.0.0.1", 1);
	say("dead-daemon-place", knock(open_socket(AF_INET, SOCK_STREAM, 0), &to));
}

/* ---- the eye of the control ------------------------------------------------------------------------------------------ */

_Noreturn void
net_sniff(const char *interface)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL)), size = 8 << 20;
	static unsigned char b[65536];
	socklen_t len;

	a.sll_ifindex = (int)if_nametoindex(interface);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0)
		exit(1);
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = recvfrom(fd, b, sizeof b, 0, (struct sockaddr *)&a, (len = sizeof a, &len));
		char to[INET6_ADDRSTRLEN], number[8];
		size_t at;
		int protocol, first = 1;
		const char *name;

		if (n < 20)
			memset(b + (n < 0 ? 0 : n), 0, 20);
		if (a.sll_pkttype == PACKET_OUTGOING)
			continue;
		if (ntohs(a.sll_protocol) == ETH_P_IP && n >= 20) {
			inet_ntop(AF_INET, b + 16, to, sizeof to);
			protocol = b[9];
			at = (size_t)(b[0] & 15) * 4;
			first = ((b[6] & 31) | b[7]) == 0;
		} else if (ntohs(a.sll_protocol) == ETH_P_IPV6 && n >= 40) {
			inet_ntop(AF_INET6, b + 24, to, sizeof to);
			protocol = b[6];
			for (at = 40; at + 8 < (size_t)n &&
				      (protocol == 0 || protocol == 43 || protocol == 60 || protocol == 44);) {
				int next = b[at];

				if (protocol == 44)
					first = (b[at + 2] | (b[at + 3] & 0xf8)) == 0;
				at += protocol == 44 ? 8 : ((size_t)b[at + 1] + 1) * 8;
				protocol = next;
			}
		} else {
			printf("frame %04x 0\n", ntohs(a.sll_protocol));
			fflush(stdout);
			continue;
		}
		snprintf(number, sizeof number, "%d", protocol);
		name = protocol == 6     ? "tcp"
		       : protocol == 17  ? "udp"
		       : protocol == 1   ? "icmp"
		       : protocol == 58  ? "icmpv6"
		       : protocol == 132 ? "sctp"
		       : protocol == 33  ? "dccp"
		       : protocol == 136 ? "udplite"
					 : number;
		if (first && (protocol == 6 || protocol == 17 || protocol == 132 || protocol == 33 || protocol == 136))
			printf("%s %s %u\n", name, to, (unsigned)(b[at + 2] << 8 | b[at + 3]));
		else
			printf("%s %s 0\n", name, to);
		fflush(stdout);
	}
}
