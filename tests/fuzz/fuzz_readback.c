/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_readback.c - the comparison of the installed ruleset with what a kernel says, the kernel played by the input: sendto and
 * recvfrom are defined here, all above them is the guest's own code.
 * Byte 0: bits 0-1 which ruleset, bit 3 counters alone, bit 4 a generation that moves, bits 5-6 what is answered truly: nothing,
 * tables, tables and chains.  The rest is the other datagrams, each with two bytes of length (little-endian) before it.
 * fuzz_readback_edits.c includes this: there the rest are edits of the true answer, five bytes each: place (16 bits), operation,
 * value, message.  Unchanged it must be accepted; with a message less or more not; and none that was disturbed. */
#ifndef READBACK_EDITS
#define READBACK_EDITS false
#endif
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firewall/nl.h"
#include "firewall/table.h"

#define BYTES 32768u
#define MESSAGES 192u
#define NFT(type) (NFNL_SUBSYS_NFTABLES << 8 | (type))

enum part { TABLES, CHAINS, RULES, RULES_SECOND, PARTS };
struct message {
	uint32_t at, len;
	enum part part;
};
struct model {
	struct fw_params params;
	uint8_t bytes[BYTES];
	uint32_t len;
	struct message m[MESSAGES];
	unsigned messages;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
/* Instead of the C library's: the addresses are never looked into. */
long sendto(int fd, const void *data, size_t len, int flags, const void *to, unsigned to_len);
long recvfrom(int fd, void *buf, size_t size, int flags, void *from, unsigned *from_len);

static struct model models[4], work;
static const struct model *truth; /* one of models, or work */
static struct fw_lock lock;
static struct {
	const uint8_t *raw;
	size_t raw_len;
	unsigned raw_from; /* the first part that the input answers */
	bool moves, done, disturbed;
	bool odd;      /* the borders or types of messages were edited: what is read then is not what was meant */
	uint16_t type; /* of the request that is being answered */
	enum part part;
	uint32_t seq, generation;
	unsigned datagrams, put;
} kernel;

static void
put_attr(struct model *k, uint16_t type, const void *value, uint16_t len)
{
	const struct nlattr a = { (uint16_t)(NLA_HDRLEN + len), type };
	struct message *m = &k->m[k->messages - 1];

	memcpy(k->bytes + k->len, &a, sizeof(a));
	memcpy(k->bytes + k->len + sizeof(a), value, len);
	k->len += (NLA_HDRLEN + len + 3u) & ~3u;
	m->len = k->len - m->at;
	memcpy(k->bytes + m->at, &m->len, sizeof(m->len));
}

/* What the encoder sends, with the attributes that the kernel adds. */
static void
model_add(struct model *k, const struct nlmsghdr *h, unsigned place)
{
	static const uint8_t handle[8] = { 0, 0, 0, 0, 0, 0, 0, 9 };
	uint8_t use[4] = { 0, 0, 0, 0 };
	struct message *m = &k->m[k->messages];
	unsigned type = h->nlmsg_type & 255;

	if (k->messages == MESSAGES || k->len + h->nlmsg_len + 64 > BYTES)
		abort();
	k->messages++;
	m->at = k->len;
	m->len = (h->nlmsg_len + 3u) & ~3u;
	m->part = type == NFT_MSG_NEWTABLE ? TABLES : type == NFT_MSG_NEWCHAIN ? CHAINS : (enum part)(RULES + place);
	memcpy(k->bytes + k->len, h, h->nlmsg_len);
	k->len += m->len;
	if (type == NFT_MSG_NEWTABLE) {
		for (unsigned c = 0; c < FW_CHAINS; c++)
			use[3] = (uint8_t)(use[3] + fw_chain_exists(k->params.lock, c));
		put_attr(k, NFTA_TABLE_USE, use, sizeof(use));
	}
	put_attr(k,
		 type == NFT_MSG_NEWTABLE   ? NFTA_TABLE_HANDLE
		 : type == NFT_MSG_NEWCHAIN ? NFTA_CHAIN_HANDLE
					    : NFTA_RULE_HANDLE,
		 handle, sizeof(handle));
}

static void
model_build(struct model *k, unsigned which)
{
	static struct fw_ruleset rs;
	enum fw_nfproto tables[2];
	unsigned tables_len;
	uint32_t seq = 0;
	struct fw_nl n;

	k->params = (struct fw_params){ .lock = which & 1 ? FW_INNER : FW_OUTER,
					.family = which & 2 ? FW_SPLIT : FW_INET,
					.reject = true,
					.log = true,
					.ipv6 = true,
					.uid_workflow = 70001,
					.uid_twins = 70002,
					.closed_len = 1,
					.closed = { { 6, 22 } } };
	tables_len = fw_ruleset_tables(&k->params, tables);
	for (unsigned i = 0; i < tables_len; i++) {
		fw_ruleset_build(&k->params, tables[i], &rs);
		fw_nl_begin(&n, -1, &seq, lock.space, sizeof(lock.space));
		if (fw_encode_ruleset(&n, &rs) < 0)
			abort();
		(void)fw_nl_message(&n, NLMSG_NOOP, 0); /* settles the one before */
		for (size_t at = 0; at < n.tx_len;) {
			const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)(n.tx + at);

			model_add(k, h, i);
			at += (h->nlmsg_len + 3u) & ~3u;
		}
	}
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

long
sendto(int fd, const void *data, size_t len, int flags, const void *to, unsigned to_len)
{
	struct nlmsghdr h;
	uint8_t family;

	(void)fd, (void)flags, (void)to, (void)to_len;
	memcpy(&h, data, sizeof(h));
	family = ((const uint8_t *)data)[sizeof(h)];
	kernel.type = h.nlmsg_type;
	kernel.seq = h.nlmsg_seq;
	kernel.done = false;
	kernel.part = h.nlmsg_type == NFT(NFT_MSG_GETTABLE)   ? TABLES
		      : h.nlmsg_type == NFT(NFT_MSG_GETCHAIN) ? CHAINS
		      : family == FW_NF_IP6                   ? RULES_SECOND
							      : RULES;
	return (long)len;
}

static size_t
put_generation(uint8_t *buf)
{
	struct {
		struct nlmsghdr h;
		struct nfgenmsg g;
		struct nlattr a;
		uint8_t id[4];
	} m = { { sizeof(m), NFT(NFT_MSG_NEWGEN), 0, kernel.seq, 0 }, { 0, 0, 0 }, { 8, NFTA_GEN_ID }, { 0 } };

	kernel.generation += kernel.moves;
	m.id[3] = (uint8_t)kernel.generation;
	memcpy(buf, &m, sizeof(m));
	return sizeof(m);
}

/* The exchange's number stands in every message whose header can be found, as a kernel would write it. */
static void
put_numbers(uint8_t *buf, size_t len, unsigned count)
{
	struct nlmsghdr h;

	size_t at;

	for (at = 0; len - at >= sizeof(h); at += (h.nlmsg_len + 3u) & ~3u) {
		memcpy(&h, buf + at, sizeof(h));
		h.nlmsg_seq = kernel.seq;
		memcpy(buf + at, &h, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > len - at || ((h.nlmsg_len + 3u) & ~3u) > len - at)
			break;
		kernel.disturbed |= (h.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		kernel.odd |= h.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES;
		count--;
	}
	kernel.odd |= at != len || count != 0;
}

static size_t
put_raw(uint8_t *buf, size_t size)
{
	size_t n;

	if (kernel.raw_len < 2)
		return 0;
	n = (size_t)(kernel.raw[0] | kernel.raw[1] << 8);
	kernel.raw += 2;
	kernel.raw_len -= 2;
	n = n > kernel.raw_len ? kernel.raw_len : n;
	n = n > size ? size : n;
	memcpy(buf, kernel.raw, n);
	kernel.raw += n;
	kernel.raw_len -= n;
	return n;
}

static size_t
put_part(uint8_t *buf, size_t size)
{
	size_t n = 0;

	kernel.put = 0;
	for (unsigned i = 0; i < truth->messages; i++) {
		if (truth->m[i].part != kernel.part || n + truth->m[i].len > size)
			continue;
		memcpy(buf + n, truth->bytes + truth->m[i].at, truth->m[i].len);
		n += truth->m[i].len;
		kernel.put++;
	}
	return n;
}

long
recvfrom(int fd, void *buf, size_t size, int flags, void *from, unsigned *from_len)
{
	const struct sockaddr_nl a = { .nl_family = 16 };
	struct {
		struct nlmsghdr h;
		int result;
	} end = { { sizeof(end), NLMSG_DONE, NLM_F_MULTI, kernel.seq, 0 }, 0 };
	bool is_raw = !READBACK_EDITS && kernel.part >= kernel.raw_from;
	size_t n = 0;

	(void)fd, (void)flags;
	memcpy(from, &a, sizeof(a));
	*from_len = sizeof(a);
	if (kernel.type == NFT(NFT_MSG_GETGEN))
		return (long)put_generation(buf);
	if (!kernel.done)
		n = is_raw ? put_raw(buf, size) : put_part(buf, size);
	if (n > 0) {
		put_numbers(buf, n, kernel.put);
		kernel.done = !is_raw || ++kernel.datagrams > 16;
		return (long)n;
	}
	memcpy(buf, &end, sizeof(end));
	return sizeof(end);
}

/* ---- the input ------------------------------------------------------------------------------------------------------- */

static void
edit(const uint8_t e[static 5])
{
	unsigned place = (unsigned)(e[0] | e[1] << 8), i = e[4] % work.messages;
	uint8_t *at = work.bytes + place % work.len;
	struct message m = work.m[i];

	switch (e[2] % 6) {
	case 0:
		*at ^= e[3];
		break;
	case 1:
		*at = e[3];
		break;
	case 2: /* within a message that the second place names */
		work.bytes[m.at + place % m.len] = e[3];
		break;
	case 3:
		memmove(&work.m[i], &work.m[i + 1], (work.messages - i - 1) * sizeof(m));
		work.messages -= work.messages > 1;
		break;
	case 4:
		if (work.messages < MESSAGES)
			work.m[work.messages++] = m;
		break;
	case 5:
		work.m[i] = work.m[place % work.messages];
		work.m[place % work.messages] = m;
		break;
	}
}

static int
run(bool counters)
{
	struct fw_failure f = { .step = "" };
	uint32_t generation;
	uint64_t handles;

	lock.params = truth->params;
	lock.nl_fd = -1;
	if (counters)
		return fw_counters_read(&lock);
	return fw_readback(&lock, "fuzz", &generation, &handles, &f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	unsigned edits = 0;
	bool counters;
	int r;

	if (models[0].len == 0)
		for (unsigned i = 0; i < 4; i++)
			model_build(&models[i], i);
	if (len == 0)
		return 0;
	memset(&kernel, 0, sizeof(kernel));
	kernel.moves = (data[0] & 16) != 0;
	kernel.raw_from = data[0] >> 5 & 3;
	if (kernel.raw_from > RULES)
		kernel.raw_from = RULES;
	counters = (data[0] & 8) != 0;
	truth = &models[data[0] & 3];
	data++, len--;
	if (READBACK_EDITS) {
		work = *truth;
		truth = &work;
		for (; len >= 5 && edits < 16; data += 5, len -= 5, edits++)
			edit(data);
	} else {
		kernel.raw = data;
		kernel.raw_len = len;
	}
	r = run(counters);
	if (!READBACK_EDITS) {
		if (r >= 0 && !counters && len < 1000) /* no whole ruleset is as short */
			abort();
		return 0;
	}
	if (edits == 0 && (r < 0) != (kernel.moves && !counters))
		abort();
	if (counters || r != 0 || kernel.odd)
		return 0;
	if (kernel.disturbed || kernel.moves)
		abort();
	if (work.messages != models[0].messages && work.params.lock == FW_OUTER && work.params.family == FW_INET)
		abort();
	return 0;
}
