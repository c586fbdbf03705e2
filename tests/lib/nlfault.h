/* SPDX-License-Identifier: GPL-2.0-or-later
 * nlfault.h - netlink that fails on request, between a program and the kernel.  Link with -Wl,--wrap=sendto,--wrap=recvfrom.
 * Set nlfault before the calls.  Everything that is not netlink passes untouched. */
#ifndef TESTS_NLFAULT_H
#define TESTS_NLFAULT_H
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static struct {
	int calls;          /* sends, and receptions that brought something, so far */
	int fail_at;        /* the call that fails, from 0; -1 none */
	int error;          /* with this errno */
	bool injected;      /* it has happened */
	const char *hidden; /* what the kernel shall not have: of inet, ip4, ip6, reject, log, ct */
} nlfault = { .fail_at = -1, .hidden = "" };

ssize_t __real_sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
ssize_t __wrap_sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
ssize_t __real_recvfrom(int, void *, size_t, int, struct sockaddr *, socklen_t *);
ssize_t __wrap_recvfrom(int, void *, size_t, int, struct sockaddr *, socklen_t *);

static bool
nlfault_fails(void)
{
	if (nlfault.calls != nlfault.fail_at)
		return false;
	nlfault.calls++;
	nlfault.injected = true;
	errno = nlfault.error;
	return true;
}

/* The kernel answers for what it does not know, so the answers are real: ENOENT for a name, EOPNOTSUPP for a family. */
static void
nlfault_hide_name(uint8_t *buf, size_t len, const char *name)
{
	size_t n = strlen(name) + 1;

	if (!strstr(nlfault.hidden, name))
		return;
	for (size_t i = 0; len >= n && i <= len - n; i++)
		if (memcmp(buf + i, name, n) == 0 && (i == 0 || buf[i - 1] < 'a')) /* not the end of a longer one */
			buf[i] = 'X';
}

static void
nlfault_hide(uint8_t *buf, size_t len)
{
	static const struct {
		const char *name;
		uint8_t family;
	} families[] = { { "inet", 1 }, { "ip4", 2 }, { "ip6", 10 } };
	struct nlmsghdr h;

	for (size_t at = 0; at + sizeof(h) < len; at += NLMSG_ALIGN(h.nlmsg_len)) {
		memcpy(&h, buf + at, sizeof(h));
		if (h.nlmsg_len < sizeof(h))
			break;
		if (h.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES || (h.nlmsg_type & 255) > NFT_MSG_NEWRULE)
			continue;
		for (unsigned i = 0; i < 3; i++)
			if (strstr(nlfault.hidden, families[i].name) && buf[at + sizeof(h)] == families[i].family)
				buf[at + sizeof(h)] = 99;
	}
	nlfault_hide_name(buf, len, "reject");
	nlfault_hide_name(buf, len, "log");
	nlfault_hide_name(buf, len, "ct");
}

static ssize_t
nlfault_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	static uint8_t buf[262144];

	if (nlfault_fails())
		return -1;
	nlfault.calls++;
	if (!*nlfault.hidden || len > sizeof(buf))
		return __real_sendto(fd, data, len, flags, to, to_len);
	memcpy(buf, data, len);
	nlfault_hide(buf, len);
	return __real_sendto(fd, buf, len, flags, to, to_len);
}

/* Empty receptions do not count: how many there are depends on time. */
static ssize_t
nlfault_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	ssize_t r;

	if (nlfault_fails())
		return -1;
	r = __real_recvfrom(fd, buf, len, flags, from, from_len);
	if (r >= 0)
		nlfault.calls++;
	return r;
}
#endif
