/* SPDX-License-Identifier: GPL-2.0-or-later
 * watch.c - hears changes of rulesets, addresses and routes, and the log of denied packets.  See fw.h.
 * Events only wake us: the generation id decides, and each of its steps must be explained by an event that names a table
 * of someone else.  Events that were lost explain nothing. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "firewall/net.h"
#include "firewall/nflog.h"
#include "firewall/nl.h"
#include "firewall/table.h"

#define WATCH_BYTES (4 << 20)
#define LOG_BYTES (8 << 20)
#define LOG_COPY 256u /* bytes of each packet: headers, with any sane number of extension headers */
#define LOG_BATCH \
	16384 /* datagrams read at one call: more than the buffer holds, and the caller goes on under a flood */

int
fw_watch_open(struct fw_lock *l, struct fw_failure *f)
{
	static const unsigned groups[] = { RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
					   RTNLGRP_IPV6_ROUTE };
	uint32_t mask = 0;

	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		mask |= 1u << (groups[i] - 1);
	l->watch_fd = fw_nl_open(NETLINK_NETFILTER, 1u << (NFNLGRP_NFTABLES - 1), WATCH_BYTES);
	if (l->watch_fd < 0)
		return fw_fail(f, "watch", -l->watch_fd, "subscribing to changes of the ruleset was refused");
	l->route_fd = fw_nl_open(NETLINK_ROUTE, mask, WATCH_BYTES);
	if (l->route_fd < 0)
		return fw_fail(f, "watch", -l->route_fd, "subscribing to changes of addresses and routes was refused");
	return 0;
}

/* ---- changes of rulesets -------------------------------------------------------------------------------------------- */

struct changes {
	uint32_t generation; /* the last that is explained */
	bool pending;        /* an event of the transaction being announced names our table */
	bool ours;           /* and so did one of a transaction after the read-back */
	bool lost;           /* events are missing */
	bool any;
};

/* The first attribute of tables, chains, rules, sets, elements, objects and flow tables is the table's name. */
static bool
names_ours(const struct nlmsghdr *h)
{
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a))
		if (a.type == 1)
			return fw_attr_is(&a, FW_TABLE);
	return it.bad;
}

static void
take_change(struct changes *c, const struct nlmsghdr *h)
{
	struct fw_attrs it;
	struct fw_attr a;
	uint32_t id;

	if (h->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES)
		return;
	c->any = true;
	if ((h->nlmsg_type & 255) != NFT_MSG_NEWGEN) {
		c->pending |= names_ours(h);
		return;
	}
	/* This ends a transaction's events. */
	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a)) {
		if (a.type != NFTA_GEN_ID || !fw_attr_be32(&a, &id))
			continue;
		/* Up to the read-back: our own installation, and what stood in the queue before it. */
		if ((int32_t)(id - c->generation) > 0) {
			c->ours |= c->pending;
			c->lost |= id != c->generation + 1;
			c->generation = id;
		}
		c->pending = false;
	}
}

static int
drain_changes(struct fw_lock *l, struct changes *c)
{
	const struct nlmsghdr *h;
	int len;

	for (;;) {
		len = fw_nl_receive(l->watch_fd, l->space, sizeof(l->space));
		if (len == -EAGAIN)
			return 0;
		if (len == -ENOBUFS || len == -EMSGSIZE) {
			c->lost = c->any = true;
			continue;
		}
		if (len < 0)
			return len;
		for (h = (const struct nlmsghdr *)(const void *)l->space; fw_nl_ok(h, len); h = mnl_nlmsg_next(h, &len))
			take_change(c, h);
	}
}

static int
watch_ruleset(struct fw_lock *l, struct fw_failure *f)
{
	struct changes c = { .generation = l->generation_seen };
	struct pollfd p = { l->watch_fd, POLLIN, 0 };
	uint32_t now = 0, generation;
	uint64_t handles;
	int r;

	for (int tries = 0;; tries++) {
		if ((r = drain_changes(l, &c)) < 0)
			return fw_fail(f, "watch", -r, "reading changes of the ruleset failed");
		if ((r = fw_generation(l, &now)) < 0)
			return fw_fail(f, "watch", -r, "reading the ruleset's generation failed");
		if (now == l->generation)
			return 0; /* nothing has changed since the read-back, whatever was announced */
		if (c.lost || c.ours || now == c.generation || tries == 20)
			break;
		(void)poll(&p, 1, 10); /* the id moves a moment before the event is sent */
	}
	if (c.ours)
		return fw_fail(f, "watch", EPERM, "the table " FW_TABLE " was changed while the run lasted");
	if (c.lost || now != c.generation)
		return fw_fail(
			f, "watch", EPERM,
			"the ruleset changed (generation %lu, was %lu) and events that would explain it are missing",
			(unsigned long)now, (unsigned long)l->generation);
	if ((r = fw_readback(l, "watch", &generation, &handles, f)) < 0)
		return r;
	if (handles != l->handles)
		return fw_fail(f, "watch", EPERM,
			       "the table " FW_TABLE " was replaced by an equal one while the run lasted");
	l->foreign_changes += now - l->generation;
	/* Only what is explained: a change after it is met by its own event next time. */
	l->generation = l->generation_seen = now;
	return 1;
}

/* ---- addresses, routes, links --------------------------------------------------------------------------------------- */

static int
watch_routes(struct fw_lock *l, struct fw_failure *f)
{
	const struct nlmsghdr *h;
	uint32_t changes = 0;
	int len;

	for (;;) {
		len = fw_nl_receive(l->route_fd, l->space, sizeof(l->space));
		if (len == -EAGAIN)
			break;
		if (len == -ENOBUFS || len == -EMSGSIZE) {
			changes++;
			continue;
		}
		if (len < 0)
			return fw_fail(f, "watch", -len, "reading changes of addresses and routes failed");
		for (h = (const struct nlmsghdr *)(const void *)l->space; fw_nl_ok(h, len); h = mnl_nlmsg_next(h, &len))
			changes += h->nlmsg_type >= RTM_BASE && !fw_net_is_harmless(l, h);
	}
	l->route_changes += changes;
	if (changes > 0 && l->params.lock == FW_INNER)
		return fw_fail(f, "watch", EPERM,
			       "an address, route or device changed in the inner namespace (%lu events)",
			       (unsigned long)changes);
	return 0;
}

int
fw_lock_watch(struct fw_lock *l, struct fw_failure *f)
{
	int r = watch_ruleset(l, f), routes;

	if (r < 0)
		return r;
	routes = watch_routes(l, f);
	return routes < 0 ? routes : r;
}

/* ---- log of denied packets ------------------------------------------------------------------------------------------ */

static struct nlmsghdr *
log_config(struct fw_nl *n, struct fw_lock *l)
{
	struct nlmsghdr *h;
	struct nfgenmsg *g;

	fw_nl_begin(n, l->log_fd, &l->seq, l->space, sizeof(l->space));
	h = fw_nl_message(n, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, NLM_F_ACK);
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->version = NFNETLINK_V0;
	g->res_id = htons(FW_LOG_GROUP);
	return h;
}

int
fw_log_open(struct fw_lock *l, struct fw_failure *f)
{
	struct nfulnl_msg_config_cmd bind = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_mode = NFULNL_COPY_PACKET };
	struct fw_nl n;
	struct nlmsghdr *h;
	int r;

	if (!l->params.log)
		return 0;
	l->log_fd = fw_nl_open(NETLINK_NETFILTER, 0, LOG_BYTES);
	if (l->log_fd < 0)
		return fw_fail(f, "log", -l->log_fd, "opening the log socket failed");
	h = log_config(&n, l);
	mnl_attr_put(h, NFULA_CFG_CMD, sizeof(bind), &bind);
	r = fw_nl_talk(&n, NULL, NULL, NULL);
	if (r == -EBUSY)
		return fw_fail(f, "log", EBUSY, "log group %u is taken by someone else", FW_LOG_GROUP);
	if (r == 0) {
		h = log_config(&n, l);
		mode.copy_range = htonl(LOG_COPY);
		mnl_attr_put(h, NFULA_CFG_MODE, sizeof(mode), &mode);
		/* Each packet at once: a queue in the kernel would hold the proof's records back until after it. */
		mnl_attr_put_u32(h, NFULA_CFG_QTHRESH, htonl(1));
		r = fw_nl_talk(&n, NULL, NULL, NULL);
	}
	return r < 0 ? fw_fail(f, "log", -r, "binding log group %u was refused", FW_LOG_GROUP) : 0;
}

static uint64_t
realtime_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int
take_record(struct fw_lock *l, const struct nlmsghdr *h, uint64_t now)
{
	struct fw_denied_row row;
	size_t skip = sizeof(*h) + sizeof(struct nfgenmsg);

	if (h->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) || h->nlmsg_len < skip)
		return 0;
	if (fw_log_parse((const uint8_t *)h + skip, h->nlmsg_len - skip, &row) < 0 || !fw_denied_add(l, &row, now)) {
		l->denied_overflow++;
		return 0;
	}
	return 1;
}

int
fw_lock_denied(struct fw_lock *l)
{
	uint64_t now = realtime_ms();
	const struct nlmsghdr *h;
	int changed = 0, len;

	if (l->log_fd < 0)
		return 0;
	for (int i = 0; i < LOG_BATCH; i++) {
		len = fw_nl_receive(l->log_fd, l->space, sizeof(l->space));
		if (len == -EAGAIN)
			break;
		if (len == -ENOBUFS || len == -EMSGSIZE) {
			l->denied_lossy = true;
			continue;
		}
		if (len < 0) {
			l->denied_lossy = true; /* the totals do not suffer */
			return len;
		}
		for (h = (const struct nlmsghdr *)(const void *)l->space; fw_nl_ok(h, len); h = mnl_nlmsg_next(h, &len))
			changed += take_record(l, h, now);
	}
	return changed;
}

int
fw_log_discard(struct fw_lock *l)
{
	int len = 0;

	for (int i = 0; i < LOG_BATCH && l->log_fd >= 0 && len != -EAGAIN; i++) {
		len = fw_nl_receive(l->log_fd, l->space, sizeof(l->space));
		if (len < 0 && len != -EAGAIN && len != -ENOBUFS && len != -EMSGSIZE)
			return len;
	}
	return 0;
}

void
fw_lock_run_counters(const struct fw_lock *l, struct fw_counters *out)
{
	/* Closed before the first reading of the closing proof: before_closing stays zero, the latest reading counts. */
	static const struct fw_counters none;
	const struct fw_counters *to = memcmp(&l->before_closing, &none, sizeof(none)) ? &l->before_closing
										       : &l->counters;
	const struct fw_counters *from = &l->baseline;

	out->workflow = to->workflow - from->workflow;
	out->twins = to->twins - from->twins;
	out->others = to->others - from->others;
	out->kernel = to->kernel - from->kernel;
	out->input = to->input - from->input;
	out->forward = to->forward - from->forward;
	out->postrouting = to->postrouting - from->postrouting;
	out->closed = to->closed - from->closed;
}
