/* SPDX-License-Identifier: GPL-2.0-or-later
 * nl.c - see nl.h.  Runs as root of the network namespace.  The only peer is the kernel: datagrams whose sender is not
 * port 0 are thrown away, lengths are checked before anything is read. */
#include "firewall/nl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firewall/fw.h"

#define MAX_ERRNO 4095
#define RX_SIZE 32768u /* the kernel's dumps never use more in one datagram */

int
fw_fail(struct fw_failure *f, const char *step, int err, const char *format, ...)
{
	va_list ap;

	snprintf(f->step, sizeof(f->step), "%s", step);
	f->err = err;
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
	return err ? -err : -EPROTO;
}

int
fw_nl_open(int protocol, uint32_t groups, int bytes)
{
	struct sockaddr_nl a = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd, r;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	if (fd < 0)
		return -errno;
	/* Root of a user namespace may not force it; then the system's maximum rules. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

void
fw_nl_begin(struct fw_nl *n, int fd, uint32_t *seq, uint8_t *space, size_t size)
{
	size_t rx = size > 2 * RX_SIZE ? RX_SIZE : size / 2;

	memset(n, 0, sizeof(*n));
	n->fd = fd;
	n->seq = seq;
	n->first = *seq + 1;
	n->tx = space;
	n->tx_size = size - rx;
	n->rx = space + n->tx_size;
	n->rx_size = rx;
}

static void
settle(struct fw_nl *n)
{
	if (n->last)
		n->tx_len += (n->last->nlmsg_len + 3u) & ~3u;
	n->last = NULL;
}

struct nlmsghdr *
fw_nl_message(struct fw_nl *n, uint16_t type, uint16_t flags)
{
	settle(n);
	if (n->tx_size - n->tx_len < FW_NL_ROOM) {
		n->full = true;
		n->tx_len = 0; /* overwritten: it will not be sent */
	}
	n->last = mnl_nlmsg_put_header(n->tx + n->tx_len);
	n->last->nlmsg_type = type;
	n->last->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	n->last->nlmsg_seq = ++*n->seq;
	return n->last;
}

static struct nlmsghdr *
nfnl(struct fw_nl *n, uint16_t type, uint8_t family, uint16_t flags, uint16_t resource)
{
	struct nlmsghdr *h = fw_nl_message(n, type, flags);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = htons(resource);
	return h;
}

struct nlmsghdr *
fw_nl_nft(struct fw_nl *n, uint16_t type, uint8_t family, uint16_t flags)
{
	return nfnl(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), family, flags, 0);
}

void
fw_nl_batch_begin(struct fw_nl *n)
{
	(void)nfnl(n, NFNL_MSG_BATCH_BEGIN, 0, 0, NFNL_SUBSYS_NFTABLES);
}

void
fw_nl_batch_end(struct fw_nl *n)
{
	(void)nfnl(n, NFNL_MSG_BATCH_END, 0, 0, NFNL_SUBSYS_NFTABLES);
}

void
fw_attrs_of(struct fw_attrs *it, const struct nlmsghdr *h, size_t header)
{
	size_t skip = sizeof(*h) + ((header + 3) & ~(size_t)3);

	it->at = (const uint8_t *)h + skip;
	it->left = h->nlmsg_len > skip ? h->nlmsg_len - skip : 0;
	it->bad = h->nlmsg_len < skip;
}

void
fw_attrs_in(struct fw_attrs *it, const struct fw_attr *nest)
{
	it->at = nest->data;
	it->left = nest->len;
	it->bad = false;
}

bool
fw_attr_next(struct fw_attrs *it, struct fw_attr *out)
{
	struct nlattr a;
	size_t step;

	if (it->left == 0)
		return false;
	if (it->left < sizeof(a)) {
		it->bad = true;
		return false;
	}
	memcpy(&a, it->at, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > it->left) {
		it->bad = true;
		return false;
	}
	out->type = (uint16_t)(a.nla_type & 0x3fffu); /* NLA_TYPE_MASK, which is a negative int */
	out->len = (uint16_t)(a.nla_len - sizeof(a));
	out->data = it->at + sizeof(a);
	step = ((size_t)a.nla_len + 3) & ~(size_t)3;
	if (step > it->left)
		step = it->left;
	it->at += step;
	it->left -= step;
	return true;
}

bool
fw_attr_be32(const struct fw_attr *a, uint32_t *out)
{
	if (a->len != 4)
		return false;
	*out = (uint32_t)a->data[0] << 24 | (uint32_t)a->data[1] << 16 | (uint32_t)a->data[2] << 8 | a->data[3];
	return true;
}

bool
fw_attr_be64(const struct fw_attr *a, uint64_t *out)
{
	uint64_t v = 0;

	if (a->len != 8)
		return false;
	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | a->data[i];
	*out = v;
	return true;
}

bool
fw_attr_u32(const struct fw_attr *a, uint32_t *out)
{
	if (a->len != sizeof(*out))
		return false;
	memcpy(out, a->data, sizeof(*out));
	return true;
}

bool
fw_attr_is(const struct fw_attr *a, const char *s)
{
	size_t len = strlen(s);

	return a->len == len + 1 && memcmp(a->data, s, len + 1) == 0;
}

bool
fw_nl_ok(const struct nlmsghdr *h, int len)
{
	return len >= (int)sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= (unsigned)len;
}

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int
fw_nl_receive(int fd, uint8_t *buf, size_t size)
{
	struct sockaddr_nl from;
	socklen_t from_len;
	ssize_t len;

	for (;;) {
		from_len = sizeof(from);
		memset(&from, 0, sizeof(from));
		len = recvfrom(fd, buf, size, MSG_TRUNC | MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		if (from_len != sizeof(from) || from.nl_pid != 0)
			continue; /* not the kernel */
		return (size_t)len > size ? -EMSGSIZE : (int)len;
	}
}

/* The kernel's -errno; what cannot be one is no answer. */
static int
errno_of(int value)
{
	return value >= -MAX_ERRNO && value <= 0 ? value : -EPROTO;
}

static int
send_all(struct fw_nl *n)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	ssize_t len;

	do
		len = sendto(n->fd, n->tx, n->tx_len, 0, (struct sockaddr *)&to, sizeof(to));
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	return (size_t)len == n->tx_len ? 0 : -EMSGSIZE;
}

/* 0 go on, 1 the exchange is complete, negative it failed. */
static int
take(struct fw_nl *n, const struct nlmsghdr *h, uint32_t last_seq, bool one_answer, fw_nl_fn *fn, fw_nl_ack_fn *ack,
     void *arg)
{
	const struct nlmsgerr *e;
	uint32_t index = h->nlmsg_seq - n->first;
	bool is_last = h->nlmsg_seq == last_seq;
	int r;

	if (index > last_seq - n->first)
		return 0; /* left over from an exchange that ended early */
	/* Read on to the end all the same: the kernel refuses a second dump while one is under way. */
	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		n->disturbed = true;
	if (h->nlmsg_type == NLMSG_DONE) {
		if (mnl_nlmsg_get_payload_len(h) >= sizeof(int)) {
			memcpy(&r, mnl_nlmsg_get_payload(h), sizeof(r));
			if (r < 0)
				return errno_of(r);
		}
		return n->disturbed ? -EINTR : is_last;
	}
	if (h->nlmsg_type == NLMSG_ERROR) {
		if (mnl_nlmsg_get_payload_len(h) < sizeof(*e))
			return -EPROTO;
		e = mnl_nlmsg_get_payload(h);
		if (ack) {
			if ((r = ack(arg, index, -errno_of(e->error))) < 0)
				return r;
		} else if (e->error != 0) {
			n->failed = index;
			return errno_of(e->error);
		}
		return is_last;
	}
	if (h->nlmsg_type < NLMSG_MIN_TYPE)
		return 0;
	if (fn && (r = fn(arg, h)) < 0)
		return r;
	return one_answer && is_last;
}

static int
read_answers(struct fw_nl *n, uint32_t last_seq, bool one_answer, fw_nl_fn *fn, fw_nl_ack_fn *ack, void *arg)
{
	int64_t deadline = now_ms() + FW_NL_DEADLINE_MS, left;
	struct pollfd p = { n->fd, POLLIN, 0 };
	const struct nlmsghdr *h;
	int len, r;

	for (;;) {
		len = fw_nl_receive(n->fd, n->rx, n->rx_size);
		if (len == -EAGAIN) {
			left = deadline - now_ms();
			r = left > 0 ? poll(&p, 1, (int)left) : 0;
			if (r < 0 && errno != EINTR)
				return -errno;
			if (r == 0)
				return -ETIMEDOUT;
			continue;
		}
		if (len < 0)
			return len;
		for (h = (const struct nlmsghdr *)(const void *)n->rx; fw_nl_ok(h, len); h = mnl_nlmsg_next(h, &len)) {
			r = take(n, h, last_seq, one_answer, fn, ack, arg);
			if (r != 0)
				return r < 0 ? r : 0;
		}
	}
}

int
fw_nl_talk(struct fw_nl *n, fw_nl_fn *fn, fw_nl_ack_fn *ack, void *arg)
{
	uint16_t flags = n->last ? n->last->nlmsg_flags : 0;
	uint16_t type = n->last ? n->last->nlmsg_type : 0;
	uint32_t last_seq = *n->seq;
	bool one_answer;
	int r;

	settle(n);
	if (n->full)
		return -EMSGSIZE;
	/* The end of a batch is not acknowledged; the message before it was asked to be. */
	if (type == NFNL_MSG_BATCH_END)
		last_seq--;
	one_answer = type != NFNL_MSG_BATCH_END && !(flags & NLM_F_ACK) && (flags & NLM_F_DUMP) != NLM_F_DUMP;
	r = send_all(n);
	return r < 0 ? r : read_answers(n, last_seq, one_answer, fn, ack, arg);
}
