/* SPDX-License-Identifier: GPL-2.0-or-later
 * text.c - rules as text: the policy's template, the script that nft takes, the binding.  See fw.h.  Pure. */
#include "firewall/ruleset.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *out;
	size_t len, size;
	bool full;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	if (t->full)
		return;
	va_start(ap, format);
	n = vsnprintf(t->out + t->len, t->size - t->len, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->size - t->len)
		t->full = true;
	else
		t->len += (size_t)n;
}

static int
finish(struct text *t)
{
	if (t->size > 0)
		t->out[t->full ? 0 : t->len] = '\0';
	return t->full || t->size == 0 ? -ENOSPC : (int)t->len;
}

void
fw_text_address(const struct fw_address *a, char out[static 46])
{
	if (!inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, out, 46))
		out[0] = '\0';
}

const char *
fw_verdict_name(enum fw_verdict v)
{
	switch (v) {
	case FW_PASS:
		return "PASS";
	case FW_FAIL:
		return "FAIL";
	case FW_UNKNOWN:
		return "UNKNOWN";
	case FW_ABSENT:
		return "ABSENT";
	}
	return "UNKNOWN";
}

static const char *
protocol_name(unsigned protocol)
{
	return protocol == 17 ? "udp" : "tcp";
}

static const char *
family_name(enum fw_nfproto nfproto)
{
	switch (nfproto) {
	case FW_NF_INET:
		return "inet";
	case FW_NF_IP:
		return "ip";
	case FW_NF_IP6:
		return "ip6";
	}
	return "?";
}

static void
put_address(struct text *t, const struct fw_op *o)
{
	char address[46];
	bool whole = o->prefix == (o->u.address->family == 4 ? 32 : 128);

	fw_text_address(o->u.address, address);
	put(t, "%s %s %s", o->u.address->family == 4 ? "ip" : "ip6", o->kind == FW_OP_SADDR ? "saddr" : "daddr",
	    address);
	if (!whole)
		put(t, "/%u", (unsigned)o->prefix);
}

static void
put_prohibit(struct text *t, enum fw_nfproto nfproto)
{
	switch (nfproto) {
	case FW_NF_INET:
		put(t, "reject with icmpx admin-prohibited");
		break;
	case FW_NF_IP:
		put(t, "reject with icmp admin-prohibited");
		break;
	case FW_NF_IP6:
		put(t, "reject with icmpv6 admin-prohibited");
		break;
	}
}

static void
put_op(struct text *t, const struct fw_op *o, enum fw_nfproto nfproto)
{
	switch ((enum fw_op_kind)o->kind) {
	case FW_OP_IIF_LO:
		put(t, "iif \"lo\"");
		break;
	case FW_OP_OIF_LO:
		put(t, "oif \"lo\"");
		break;
	case FW_OP_SADDR:
	case FW_OP_DADDR:
		put_address(t, o);
		break;
	case FW_OP_TCP:
		put(t, "meta l4proto tcp");
		break;
	case FW_OP_SPORT:
		put(t, "%s sport %u", protocol_name(o->protocol), (unsigned)o->port);
		break;
	case FW_OP_DPORT:
		put(t, "%s dport %u", protocol_name(o->protocol), (unsigned)o->port);
		break;
	case FW_OP_PORTS:
		put(t, "tcp sport %u tcp dport %u", (unsigned)o->port, (unsigned)o->port2);
		break;
	case FW_OP_SKUID:
		put(t, "meta skuid %lu", (unsigned long)o->u.value);
		break;
	case FW_OP_SKUID_NOT:
		put(t, "meta skuid != %lu", (unsigned long)o->u.value);
		break;
	case FW_OP_ESTABLISHED:
		put(t, "ct state established");
		break;
	case FW_OP_COUNTER:
		put(t, "counter");
		break;
	case FW_OP_LOG:
		put(t, "log group %lu", (unsigned long)o->u.value);
		break;
	case FW_OP_RESET:
		put(t, "reject with tcp reset");
		break;
	case FW_OP_PROHIBIT:
		put_prohibit(t, nfproto);
		break;
	case FW_OP_ACCEPT:
		put(t, "accept");
		break;
	case FW_OP_DROP:
		put(t, "drop");
		break;
	case FW_OP_GOTO:
		put(t, "goto %s", fw_chain_info(o->chain)->name);
		break;
	case FW_OP_HOLE:
		put(t, "%s", o->u.hole);
		break;
	}
}

static void
put_chain(struct text *t, const struct fw_ruleset *rs, unsigned chain)
{
	static const char *const hooks[] = { "prerouting", "input", "forward", "output", "postrouting" };
	const struct fw_chain_info *c = fw_chain_info(chain);

	put(t, "\tchain %s {\n", c->name);
	if (c->hook >= 0)
		put(t, "\t\ttype filter hook %s priority %d; policy drop;\n", hooks[c->hook], c->priority);
	for (unsigned i = 0; i < rs->rules_len; i++) {
		if (rs->rules[i].chain != chain)
			continue;
		put(t, "\t\t");
		for (unsigned k = 0; k < rs->rules[i].ops_len; k++) {
			if (k > 0)
				put(t, " ");
			put_op(t, &rs->rules[i].ops[k], rs->nfproto);
		}
		put(t, "\n");
	}
	put(t, "\t}\n");
}

static void
put_ruleset(struct text *t, const struct fw_ruleset *rs)
{
	put(t, "table %s " FW_TABLE " {\n", family_name(rs->nfproto));
	for (unsigned c = 0; c < FW_CHAINS; c++)
		if (fw_chain_exists(rs->lock, c))
			put_chain(t, rs, c);
	put(t, "}\n");
}

static void
put_policy(struct text *t, enum fw_lock_kind lock, uint16_t control_port)
{
	static struct fw_ruleset rs; /* too large for the stack */

	fw_ruleset_template(lock, control_port, &rs);
	put(t, "# %s lock\n", lock == FW_OUTER ? "outer" : "inner");
	put_ruleset(t, &rs);
}

int
fw_text_policy(enum fw_lock_kind lock, uint16_t control_port, char *out, size_t size)
{
	struct text t = { out, 0, size, false };

	put_policy(&t, lock, control_port);
	return finish(&t);
}

int
fw_text_policy_all(uint16_t control_port, char *out, size_t size)
{
	struct text t = { out, 0, size, false };

	put_policy(&t, FW_OUTER, control_port);
	put_policy(&t, FW_INNER, control_port);
	return finish(&t);
}

int
fw_text_script(const struct fw_params *p, char *out, size_t size)
{
	struct text t = { out, 0, size, false };
	enum fw_nfproto tables[2];
	unsigned n = fw_ruleset_tables(p, tables);
	static struct fw_ruleset rs; /* too large for the stack */

	for (unsigned i = 0; i < n; i++) {
		fw_ruleset_build(p, tables[i], &rs);
		put_ruleset(&t, &rs);
	}
	return finish(&t);
}

int
fw_text_usual(enum fw_lock_kind lock, char *out, size_t size)
{
	static const struct fw_params usual = {
		.family = FW_INET,
		.reject = true,
		.log = true,
		.ipv6 = true,
		.uid_workflow = 1000,
		.uid_twins = 991,
		.own_len = 3, /* of the pair that is made where there is no route, see net.c */
		.own = { { 4, { 198, 18, 255, 1 } },
			 { 6, { 0xfd, 0, 0, 0xa7, [15] = 1 } },
			 { 6, { 0xfe, 0x80, [15] = 0xa7 } } },
	};
	struct fw_params p = usual;

	p.lock = lock;
	return fw_text_script(&p, out, size);
}

int
fw_text_binding(const struct fw_params *p, char *out, size_t size)
{
	struct text t = { out, 0, size, false };
	char address[46];

	/* Names in alphabetical order; values of one name in the order of the rules. */
	for (unsigned i = 0; i < p->closed_len; i++)
		put(&t, "closed %s/%u\n", protocol_name(p->closed[i].protocol), (unsigned)p->closed[i].port);
	put(&t, "control-port %u\n", (unsigned)p->control_port);
	put(&t, "family %s\n", p->family == FW_INET ? "inet" : "ip+ip6");
	put(&t, "ipv6 %s\n", p->ipv6 ? "yes" : "no");
	put(&t, "lock %s\n", p->lock == FW_OUTER ? "outer" : "inner");
	put(&t, "log %s\n", p->log ? "yes" : "no");
	for (unsigned i = 0; i < p->own_len; i++) {
		fw_text_address(&p->own[i], address);
		put(&t, "own %s\n", address);
	}
	for (unsigned i = 0; i < p->pinned_len; i++) {
		fw_text_address(&p->pinned[i].peer, address);
		put(&t, "pinned %s %u\n", address, (unsigned)p->pinned[i].peer_port);
	}
	put(&t, "reject %s\n", p->reject ? "yes" : "no");
	put(&t, "uid-twins %lu\n", (unsigned long)p->uid_twins);
	put(&t, "uid-workflow %lu\n", (unsigned long)p->uid_workflow);
	return finish(&t);
}
