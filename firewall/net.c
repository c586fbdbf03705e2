/* SPDX-License-Identifier: GPL-2.0-or-later
 * net.c - see net.h.  Runs as root of the network namespace, before anything of the run does.  Talks to the kernel alone;
 * of others it reads only the socket tables in /proc, whose lines are parsed by listeners.c. */
#include "firewall/net.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firewall/nl.h"

#define LO_INDEX 1u
#define OPER_UP 6u    /* IF_OPER_UP */
#define SETTLE_US 100 /* between two looks whether a device pair runs: that takes a work queue's turn */
#define SETTLE_LOOKS 20000
#define IFF_UP_ 1u       /* <linux/if.h> and <net/if.h> do not agree with each other under every C library */
#define GEN_MODE_NONE 1u /* IN6_ADDR_GEN_MODE_NONE */

static const struct fw_address veth4 = { 4, { 198, 18, 255, 1 } }, gateway4 = { 4, { 198, 18, 255, 2 } };
static const struct fw_address veth6 = { 6, { 0xfd, 0, 0, 0xa7, [15] = 1 } },
			       gateway6 = { 6, { 0xfd, 0, 0, 0xa7, [15] = 2 } };
static const struct fw_address local6 = { 6, { 0xfe, 0x80, [15] = 0xa7 } };

/* One request at a time on a socket of its own. */
struct route_talk {
	int fd;
	struct fw_nl n;
	struct fw_lock *l;
};

static struct nlmsghdr *
request(struct route_talk *t, uint16_t type, uint16_t flags)
{
	fw_nl_begin(&t->n, t->fd, &t->l->seq, t->l->space, sizeof(t->l->space));
	return fw_nl_message(&t->n, type, flags);
}

static size_t
bytes_of(const struct fw_address *a)
{
	return a->family == 4 ? 4 : 16;
}

static uint8_t
af_of(const struct fw_address *a)
{
	return a->family == 4 ? AF_INET : AF_INET6;
}

/* ---- changing ------------------------------------------------------------------------------------------------------- */

static int
link_up(struct route_talk *t, uint32_t index)
{
	struct nlmsghdr *h = request(t, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ifi_index = (int)index;
	m->ifi_flags = m->ifi_change = IFF_UP_;
	return fw_nl_talk(&t->n, NULL, NULL, NULL);
}

static int
veth_create(struct route_talk *t)
{
	struct nlmsghdr *h = request(t, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	struct nlattr *info, *data, *peer;

	(void)mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, FW_VETH);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	(void)mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, FW_VETH_PEER);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return fw_nl_talk(&t->n, NULL, NULL, NULL);
}

/* No addresses that the kernel invents: they would be tentative for two seconds and raise events later. */
static int
no_generated_addresses(struct route_talk *t, uint32_t index)
{
	struct nlmsghdr *h = request(t, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct nlattr *spec, *inet6;

	m->ifi_index = (int)index;
	spec = mnl_attr_nest_start(h, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(h, AF_INET6);
	mnl_attr_put_u8(h, IFLA_INET6_ADDR_GEN_MODE, GEN_MODE_NONE);
	mnl_attr_nest_end(h, inet6);
	mnl_attr_nest_end(h, spec);
	return fw_nl_talk(&t->n, NULL, NULL, NULL);
}

static int
address_add(struct route_talk *t, uint32_t index, const struct fw_address *a, uint8_t prefix)
{
	struct nlmsghdr *h = request(t, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ifa_family = af_of(a);
	m->ifa_prefixlen = prefix;
	m->ifa_index = index;
	if (a->family == 6)
		m->ifa_flags = IFA_F_NODAD;
	mnl_attr_put(h, IFA_LOCAL, bytes_of(a), a->bytes);
	mnl_attr_put(h, IFA_ADDRESS, bytes_of(a), a->bytes);
	return fw_nl_talk(&t->n, NULL, NULL, NULL);
}

static int
default_route_add(struct route_talk *t, uint32_t index, const struct fw_address *gateway)
{
	struct nlmsghdr *h = request(t, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->rtm_family = af_of(gateway);
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = RT_SCOPE_UNIVERSE;
	m->rtm_type = RTN_UNICAST;
	mnl_attr_put(h, RTA_GATEWAY, bytes_of(gateway), gateway->bytes);
	mnl_attr_put_u32(h, RTA_OIF, index);
	return fw_nl_talk(&t->n, NULL, NULL, NULL);
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

struct seen {
	struct fw_lock *l;
	bool default_route[2]; /* IPv4, IPv6 */
	uint32_t index[2];     /* devices that are waited for */
	unsigned running;      /* how many of them run */
	unsigned local6;       /* how many of the pair's IPv6 addresses are fully there */
	bool link_local[FW_INTERFACES_MAX];
	bool too_many;
};

static int
see_link(void *arg, const struct nlmsghdr *h)
{
	struct seen *s = arg;
	struct fw_lock *l = s->l;
	struct fw_interface *i;
	struct ifinfomsg m;
	struct fw_attrs it;
	struct fw_attr a;

	if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
		return 0;
	memcpy(&m, mnl_nlmsg_get_payload(h), sizeof(m));
	if (l->interfaces_len == FW_INTERFACES_MAX)
		return -EMSGSIZE;
	i = &l->interfaces[l->interfaces_len++];
	memset(i, 0, sizeof(*i));
	i->index = (uint32_t)m.ifi_index;
	fw_attrs_of(&it, h, sizeof(m));
	while (fw_attr_next(&it, &a)) {
		if (a.type == IFLA_IFNAME && a.len > 0 && a.len <= sizeof(i->name))
			memcpy(i->name, a.data, a.len - 1u);
		if (a.type == IFLA_OPERSTATE && a.len == 1 && a.data[0] == OPER_UP &&
		    (i->index == s->index[0] || i->index == s->index[1]))
			s->running++;
	}
	return 0;
}

static bool
is_loopback(const struct fw_address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == 4 ? a->bytes[0] == 127 : memcmp(a->bytes, one, 16) == 0;
}

static bool
is_link_local(const struct fw_address *a)
{
	return a->family == 6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

static int
compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fw_address)); /* family first, unused bytes are zero */
}

static int
own_add(struct fw_params *p, const struct fw_address *a)
{
	for (unsigned i = 0; i < p->own_len; i++)
		if (compare_addresses(&p->own[i], a) == 0)
			return 0; /* link-local addresses repeat */
	if (p->own_len == FW_OWN_MAX)
		return -EMSGSIZE;
	p->own[p->own_len++] = *a;
	return 0;
}

static int
see_address(void *arg, const struct nlmsghdr *h)
{
	struct seen *s = arg;
	struct fw_address address, local;
	struct ifaddrmsg m;
	struct fw_attrs it;
	struct fw_attr a;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
		return 0;
	memcpy(&m, mnl_nlmsg_get_payload(h), sizeof(m));
	if (m.ifa_family != AF_INET && m.ifa_family != AF_INET6)
		return 0;
	memset(&address, 0, sizeof(address));
	address.family = m.ifa_family == AF_INET ? 4 : 6;
	memset(&local, 0, sizeof(local));
	fw_attrs_of(&it, h, sizeof(m));
	while (fw_attr_next(&it, &a)) {
		if (a.len != bytes_of(&address))
			continue;
		if (a.type == IFA_ADDRESS)
			memcpy(address.bytes, a.data, a.len);
		if (a.type == IFA_LOCAL) { /* on point-to-point links IFA_ADDRESS is the peer's */
			local.family = address.family;
			memcpy(local.bytes, a.data, a.len);
		}
	}
	if (local.family)
		address = local;
	/* A tentative address cannot be sent from, so nothing would be proved. */
	if (is_link_local(&address) && !(m.ifa_flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
		for (unsigned i = 0; i < s->l->interfaces_len; i++)
			if (s->l->interfaces[i].index == m.ifa_index)
				s->link_local[i] = true;
	return is_loopback(&address) ? 0 : own_add(&s->l->params, &address);
}

static int
see_route(void *arg, const struct nlmsghdr *h)
{
	struct seen *s = arg;
	struct fw_address *gateway;
	struct rtmsg m;
	struct fw_attrs it;
	struct fw_attr a;
	unsigned which;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
		return 0;
	memcpy(&m, mnl_nlmsg_get_payload(h), sizeof(m));
	if (m.rtm_dst_len != 0 || m.rtm_type != RTN_UNICAST || (m.rtm_family != AF_INET && m.rtm_family != AF_INET6))
		return 0;
	which = m.rtm_family == AF_INET6;
	s->default_route[which] = true;
	gateway = &s->l->gateway[which];
	fw_attrs_of(&it, h, sizeof(m));
	while (fw_attr_next(&it, &a))
		if (a.type == RTA_GATEWAY && a.len == (which ? 16u : 4u) && gateway->family == 0) {
			gateway->family = which ? 6 : 4;
			memcpy(gateway->bytes, a.data, a.len);
		}
	return 0;
}

static int
dump(struct route_talk *t, uint16_t type, uint8_t family, fw_nl_fn *fn, struct seen *s)
{
	struct nlmsghdr *h;
	int r = -EINTR;

	for (int tries = 0; tries < 5 && r == -EINTR; tries++) {
		h = request(t, type, NLM_F_DUMP);
		/* The family is the first byte of each of the three headers; the longest is sent. */
		*(uint8_t *)mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg)) = family;
		if (type == RTM_GETLINK)
			s->l->interfaces_len = 0;
		r = fw_nl_talk(&t->n, fn, NULL, s);
	}
	return r;
}

static uint32_t
index_of(const struct fw_lock *l, const char *name)
{
	for (unsigned i = 0; i < l->interfaces_len; i++)
		if (strcmp(l->interfaces[i].name, name) == 0)
			return l->interfaces[i].index;
	return 0;
}

static bool
has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	return errno != EAFNOSUPPORT; /* any other refusal does not say that there is none */
}

/* IPv6 may be switched off for new devices; ours are our own to switch on. */
static void
enable_ipv6(const char *device)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0) {
		/* The address that is added next is refused, and that is what is judged. */
	}
	close(fd);
}

static int
see_local(void *arg, const struct nlmsghdr *h)
{
	struct seen *s = arg;
	struct fw_attrs it;
	struct fw_attr a;
	struct rtmsg m;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
		return 0;
	memcpy(&m, mnl_nlmsg_get_payload(h), sizeof(m));
	if (m.rtm_type != RTN_LOCAL || m.rtm_dst_len != 128)
		return 0;
	fw_attrs_of(&it, h, sizeof(m));
	while (fw_attr_next(&it, &a))
		if (a.type == RTA_DST && a.len == 16 &&
		    (memcmp(a.data, veth6.bytes, 16) == 0 || memcmp(a.data, local6.bytes, 16) == 0))
			s->local6++;
	return 0;
}

/* Until both ends run and their IPv6 addresses have their routes, the kernel has work of its own to do on them in a work
 * queue, which would be heard as changes later. */
static int
veth_settle(struct route_talk *t, struct seen *s, uint32_t index, uint32_t peer, bool addresses)
{
	const struct timespec pause = { 0, SETTLE_US * 1000 };
	int r;

	for (int i = 0; i < SETTLE_LOOKS; i++) {
		s->index[0] = index;
		s->index[1] = peer;
		s->running = s->local6 = 0;
		if ((r = dump(t, RTM_GETLINK, AF_UNSPEC, see_link, s)) < 0 ||
		    (addresses && (r = dump(t, RTM_GETROUTE, AF_INET6, see_local, s)) < 0))
			return r;
		if (s->running == 2 && (!addresses || s->local6 == 2))
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int
veth_addresses6(struct route_talk *t, uint32_t index)
{
	int r;

	if ((r = address_add(t, index, &veth6, 64)) < 0 || (r = address_add(t, index, &local6, 64)) < 0)
		return r;
	return default_route_add(t, index, &gateway6);
}

static int
veth_make(struct route_talk *t, struct seen *s, struct fw_failure *f)
{
	struct fw_lock *l = t->l;
	uint32_t index, peer;
	int r;

	if ((r = veth_create(t)) < 0)
		return fw_fail(f, "net.veth", -r,
			       r == -EOPNOTSUPP ? "the kernel has no veth devices (CONFIG_VETH)"
						: "making the device pair " FW_VETH "/" FW_VETH_PEER " was refused");
	if ((r = dump(t, RTM_GETLINK, AF_UNSPEC, see_link, s)) < 0)
		return fw_fail(f, "net.veth", -r, "listing the devices failed");
	index = index_of(l, FW_VETH);
	peer = index_of(l, FW_VETH_PEER);
	if (index == 0 || peer == 0)
		return fw_fail(f, "net.veth", ENODEV, "the device pair was made but is not there");
	if (l->params.ipv6) {
		if ((r = no_generated_addresses(t, index)) < 0 || (r = no_generated_addresses(t, peer)) < 0)
			return fw_fail(f, "net.veth", -r, "switching generated IPv6 addresses off was refused");
	}
	if ((r = link_up(t, index)) < 0 || (r = link_up(t, peer)) < 0)
		return fw_fail(f, "net.veth", -r, "setting the device pair up was refused");
	if ((r = veth_settle(t, s, index, peer, false)) < 0)
		return fw_fail(f, "net.veth", -r, "the device pair did not come up");
	if (!s->default_route[0] &&
	    ((r = address_add(t, index, &veth4, 30)) < 0 || (r = default_route_add(t, index, &gateway4)) < 0))
		return fw_fail(f, "net.address", -r, "the IPv4 address or default route was refused");
	if (!l->params.ipv6 || s->default_route[1])
		return 0;
	r = veth_addresses6(t, index);
	if (r == -EACCES) {
		enable_ipv6("lo");
		enable_ipv6(FW_VETH);
		if ((r = no_generated_addresses(t, index)) == 0)
			r = veth_addresses6(t, index);
	}
	if (r == -EACCES) {
		/* Switched off for good (/proc/sys is read-only).  Believed if no device turns out to have an address. */
		l->ipv6_disabled = true;
		return 0;
	}
	if (r < 0)
		return fw_fail(f, "net.address", -r, "the IPv6 addresses or default route were refused");
	r = veth_settle(t, s, index, peer, true);
	return r < 0 ? fw_fail(f, "net.address", -r, "the IPv6 addresses did not become ready") : 0;
}

int
fw_net_prepare(struct fw_lock *l, struct fw_failure *f)
{
	struct route_talk t = { .l = l };
	struct seen s = { .l = l };
	int r;

	l->params.ipv6 = has_ipv6();
	t.fd = fw_nl_open(NETLINK_ROUTE, 0, 1 << 18);
	if (t.fd < 0)
		return fw_fail(f, "net.open", -t.fd, "opening a routing socket failed");
	if ((r = link_up(&t, LO_INDEX)) < 0) {
		r = fw_fail(f, "net.lo", -r,
			    "setting lo up was refused; CAP_NET_ADMIN in this network namespace is needed");
		goto out;
	}
	if ((r = dump(&t, RTM_GETROUTE, AF_INET, see_route, &s)) < 0 ||
	    (l->params.ipv6 && (r = dump(&t, RTM_GETROUTE, AF_INET6, see_route, &s)) < 0)) {
		r = fw_fail(f, "net.routes", -r, "listing the routes failed");
		goto out;
	}
	if (!s.default_route[0] || (l->params.ipv6 && !s.default_route[1]))
		r = veth_make(&t, &s, f);
out:
	close(t.fd);
	return r;
}

/* ---- observing ------------------------------------------------------------------------------------------------------ */

/* One line at a time from buf; what is left over moves to its start.  A line longer than the buffer ends the reading. */
static int
read_lines(int fd, struct fw_params *p, unsigned protocol)
{
	struct fw_socket_line s;
	char buf[4096], *line, *end;
	size_t len = 0;
	ssize_t n;
	int r;

	for (;;) {
		n = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return len == 0 ? 0 : -EPROTO; /* the kernel ends each line, and none is so long */
		len += (size_t)n;
		buf[len] = '\0';
		for (line = buf; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (fw_socket_line(line, &s) == 0 && (r = fw_socket_add(p, protocol, &s)) < 0)
				return r;
		}
		len -= (size_t)(line - buf);
		memmove(buf, line, len);
	}
}

static int
observe_sockets(struct fw_params *p, const char *name, unsigned protocol, struct fw_failure *f)
{
	char path[64];
	int fd, r;

	/* The thread's own namespace: /proc/net is the process's, which may be another. */
	snprintf(path, sizeof(path), "/proc/thread-self/net/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT && strchr(name, '6') && !p->ipv6)
			return 0;
		return fw_fail(f, "net.listeners", errno, "opening %s failed; /proc must be mounted", path);
	}
	r = read_lines(fd, p, protocol);
	close(fd);
	if (r == -EMSGSIZE)
		return fw_fail(f, "net.listeners", EMSGSIZE,
			       "more listeners or control connections than the rules have room for; stop some");
	return r < 0 ? fw_fail(f, "net.listeners", -r, "reading %s failed", path) : 0;
}

static int
observe_all_sockets(struct fw_params *p, struct fw_failure *f)
{
	struct fw_socket_line control = { .state = 10 };
	int r;

	if (p->control_port != 0) {
		control.local_port = p->control_port; /* closed always, whether or not anything listens yet */
		if ((r = fw_socket_add(p, 6, &control)) < 0)
			return fw_fail(f, "net.listeners", -r, "no room for the control port");
	}
	if ((r = observe_sockets(p, "tcp", 6, f)) < 0 || (r = observe_sockets(p, "tcp6", 6, f)) < 0 ||
	    (r = observe_sockets(p, "udp", 17, f)) < 0)
		return r;
	return observe_sockets(p, "udp6", 17, f);
}

int
fw_net_observe(struct fw_lock *l, struct fw_failure *f)
{
	struct route_talk t = { .l = l };
	struct seen s = { .l = l };
	int r;

	l->params.own_len = l->params.closed_len = l->params.pinned_len = 0;
	memset(l->gateway, 0, sizeof(l->gateway));
	t.fd = fw_nl_open(NETLINK_ROUTE, 0, 1 << 18);
	if (t.fd < 0)
		return fw_fail(f, "net.open", -t.fd, "opening a routing socket failed");
	if ((r = dump(&t, RTM_GETLINK, AF_UNSPEC, see_link, &s)) < 0 ||
	    (r = dump(&t, RTM_GETADDR, AF_UNSPEC, see_address, &s)) < 0 ||
	    (r = dump(&t, RTM_GETROUTE, AF_INET, see_route, &s)) < 0 ||
	    (l->params.ipv6 && (r = dump(&t, RTM_GETROUTE, AF_INET6, see_route, &s)) < 0))
		r = fw_fail(f, "net.observe", -r,
			    r == -EMSGSIZE ? "more devices or addresses than the rules have room for"
					   : "listing devices, addresses or routes failed");
	close(t.fd);
	if (r < 0)
		return r;
	qsort(l->params.own, l->params.own_len, sizeof(l->params.own[0]), compare_addresses);
	for (unsigned i = 0; i < l->params.own_len; i++)
		if (l->params.own[i].family == 6)
			l->ipv6_disabled = false;
	l->gateway_index = 0;
	for (unsigned i = 0; i < l->interfaces_len; i++)
		if (s.link_local[i] && (l->gateway_index == 0 || strcmp(l->interfaces[i].name, FW_VETH) == 0))
			l->gateway_index = l->interfaces[i].index;
	return l->params.lock == FW_OUTER ? observe_all_sockets(&l->params, f) : 0;
}

int
fw_net_is_harmless(const struct fw_lock *l, const struct nlmsghdr *h)
{
	struct ifinfomsg m;
	struct fw_attrs it;
	struct fw_attr a;

	/* Operational states of links settle up to a second after "up". */
	if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
		return 0;
	memcpy(&m, mnl_nlmsg_get_payload(h), sizeof(m));
	if (!(m.ifi_flags & IFF_UP_))
		return 0;
	fw_attrs_of(&it, h, sizeof(m));
	while (fw_attr_next(&it, &a))
		if (a.type == IFLA_IFNAME)
			for (unsigned i = 0; i < l->interfaces_len; i++)
				if (l->interfaces[i].index == (uint32_t)m.ifi_index &&
				    fw_attr_is(&a, l->interfaces[i].name))
					return 1;
	return 0;
}
