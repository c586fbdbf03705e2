/* SPDX-License-Identifier: GPL-2.0-or-later
 * readback.c - what the kernel says that our table is, compared with what it should be, in both directions: every table,
 * chain, rule and expression must be expected, and all that is expected must be there.  See table.h.
 * Expressions are decoded by decode.c. */
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "firewall/nl.h"
#include "firewall/table.h"

#define POLICY_DROP 0u

struct reading {
	struct fw_lock *l;
	const struct fw_ruleset *rs; /* of the table whose rules are read; NULL for counters alone */
	enum fw_nfproto tables[2];
	unsigned tables_len;
	unsigned tables_seen; /* bit by place */
	uint32_t use[2]; /* what the kernel counts in each table: chains, and sets, objects and flow tables if any */
	unsigned chain_next[2]; /* the chain that must come next */
	uint32_t chains_len[2];
	unsigned rule_next;
	uint64_t handles;
	struct fw_counters counters;
	bool differs;
	char problem[160]; /* the first difference */
};

static void __attribute__((format(printf, 2, 3))) differ(struct reading *x, const char *format, ...)
{
	va_list ap;

	if (x->differs)
		return;
	x->differs = true;
	va_start(ap, format);
	vsnprintf(x->problem, sizeof(x->problem), format, ap);
	va_end(ap);
}

static void
add_handle(struct reading *x, uint8_t family, const struct fw_attr *a)
{
	for (unsigned i = 0; i < a->len; i++)
		x->handles = (x->handles ^ a->data[i]) * 0x100000001b3u; /* FNV-1a */
	x->handles = (x->handles ^ family) * 0x100000001b3u;
}

static int
place_of(const struct reading *x, uint8_t family)
{
	for (unsigned i = 0; i < x->tables_len; i++)
		if (x->tables[i] == family)
			return (int)i;
	return -1;
}

static uint8_t
family_of(const struct nlmsghdr *h)
{
	return h->nlmsg_len > sizeof(*h) ? ((const uint8_t *)h)[sizeof(*h)] : 0;
}

/* ---- rules ---------------------------------------------------------------------------------------------------------- */

static void
count(struct fw_counters *c, unsigned chain, uint64_t packets)
{
	switch ((enum fw_chain)chain) {
	case FW_CHAIN_INPUT:
		c->input += packets;
		break;
	case FW_CHAIN_FORWARD:
		c->forward += packets;
		break;
	case FW_CHAIN_OUTPUT:
	case FW_CHAIN_REFUSE:
		c->kernel += packets;
		break; /* where the ladder stands */
	case FW_CHAIN_CLOSED:
		c->closed += packets;
		break;
	case FW_CHAIN_WORKFLOW:
		c->workflow += packets;
		break;
	case FW_CHAIN_TWINS:
		c->twins += packets;
		break;
	case FW_CHAIN_OTHERS:
		c->others += packets;
		break;
	case FW_CHAIN_STRAY:
	case FW_CHAIN_POSTROUTING:
		c->postrouting += packets;
		break;
	case FW_CHAIN_LOOPBACK:
	case FW_CHAIN_ANSWER:
	case FW_CHAINS:
		break;
	}
}

static void
compare_rule(struct reading *x, uint8_t chain, const struct fw_expr *have, unsigned have_len)
{
	struct fw_expr want[FW_EXPRS_MAX];
	unsigned want_len, index = x->rule_next++;

	if (index >= x->rs->rules_len || x->rs->rules[index].chain != chain) {
		differ(x, "chain %s has a rule too many, or one before it is missing", fw_chain_info(chain)->name);
		return;
	}
	want_len = fw_rule_expand(&x->rs->rules[index], x->rs->nfproto, want);
	if (want_len != have_len || memcmp(want, have, want_len * sizeof(want[0])) != 0)
		differ(x, "a rule of chain %s is not what was installed (rule %u of the table)",
		       fw_chain_info(chain)->name, index + 1);
}

static void
read_exprs(struct reading *x, uint8_t chain, const struct fw_attr *list)
{
	struct fw_expr have[FW_EXPRS_MAX];
	unsigned have_len = 0;
	struct fw_decoded d;
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_in(&it, list);
	while (fw_attr_next(&it, &a)) {
		if (have_len == FW_EXPRS_MAX || !fw_decode_expr(&a, &d)) {
			differ(x, "a rule of chain %s has an expression that was not installed",
			       fw_chain_info(chain)->name);
			return;
		}
		if (d.e.kind == FW_EXPR_COUNTER)
			count(&x->counters, chain, d.packets);
		have[have_len++] = d.e;
	}
	if (it.bad)
		differ(x, "the kernel's list of expressions cannot be read");
	if (x->rs)
		compare_rule(x, chain, have, have_len);
}

static int
read_rule(void *arg, const struct nlmsghdr *h)
{
	struct reading *x = arg;
	struct fw_attr a, exprs = { 0 };
	struct fw_attrs it;
	uint8_t chain = FW_CHAINS;
	bool ours = false;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a)) {
		switch (a.type) {
		case NFTA_RULE_TABLE:
			ours = fw_attr_is(&a, FW_TABLE);
			break;
		case NFTA_RULE_CHAIN:
			if (!fw_decode_chain(&a, &chain))
				chain = FW_CHAINS;
			break;
		case NFTA_RULE_HANDLE:
			add_handle(x, family_of(h), &a);
			break;
		case NFTA_RULE_EXPRESSIONS:
			exprs = a;
			break;
		case NFTA_RULE_POSITION:
		case NFTA_RULE_PAD:
			break;
		default:
			differ(x, "a rule has an attribute that was not installed (%u)", (unsigned)a.type);
			break;
		}
	}
	if (!ours || it.bad || chain == FW_CHAINS || !exprs.data)
		differ(x, "a rule stands where none was installed");
	else
		read_exprs(x, chain, &exprs);
	return 0;
}

static int
read_rules(struct reading *x, enum fw_nfproto nfproto)
{
	struct fw_lock *l = x->l;
	struct nlmsghdr *h;
	struct fw_nl n;
	struct {
		uint16_t len, type;
		char name[sizeof(FW_TABLE) + 2];
	} a;

	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	h = fw_nl_nft(&n, NFT_MSG_GETRULE, (uint8_t)nfproto, NLM_F_DUMP);
	memset(&a, 0, sizeof(a));
	a.len = (uint16_t)(4 + sizeof(FW_TABLE));
	a.type = NFTA_RULE_TABLE;
	memcpy(a.name, FW_TABLE, sizeof(FW_TABLE));
	memcpy((uint8_t *)h + h->nlmsg_len, &a, sizeof(a));
	h->nlmsg_len += (a.len + 3u) & ~3u;
	return fw_nl_talk(&n, read_rule, NULL, x);
}

/* ---- tables and chains ---------------------------------------------------------------------------------------------- */

static int
read_table(void *arg, const struct nlmsghdr *h)
{
	struct reading *x = arg;
	int place = place_of(x, family_of(h));
	uint32_t flags = 0, use = 0;
	bool ours = false, plain = true;
	struct fw_attr a, handle = { 0 };
	struct fw_attrs it;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a)) {
		switch (a.type) {
		case NFTA_TABLE_NAME:
			ours = fw_attr_is(&a, FW_TABLE);
			break;
		case NFTA_TABLE_FLAGS:
			plain &= fw_attr_be32(&a, &flags);
			break;
		case NFTA_TABLE_USE:
			plain &= fw_attr_be32(&a, &use);
			break;
		case NFTA_TABLE_HANDLE:
			handle = a;
			break;
		case NFTA_TABLE_PAD:
			break;
		default:
			plain = false;
			break; /* user data, an owner, or something newer */
		}
	}
	if (!ours)
		return 0;
	if (place < 0 || x->tables_seen & 1u << place) {
		differ(x, "there is another table named " FW_TABLE " (family %u)", (unsigned)family_of(h));
		return 0;
	}
	x->tables_seen |= 1u << place;
	x->use[place] = use;
	add_handle(x, family_of(h), &handle);
	/* "dormant" leaves the rules listed and lets everything through. */
	if (flags != 0)
		differ(x, "the table has flags (0x%lx): it is dormant or owned", (unsigned long)flags);
	else if (!plain || it.bad)
		differ(x, "the table has an attribute that was not installed");
	return 0;
}

static bool
is_hook(const struct fw_attr *nest, const struct fw_chain_info *want)
{
	uint32_t v, hook = 0, priority = 0;
	unsigned seen = 0;
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_in(&it, nest);
	while (fw_attr_next(&it, &a)) {
		if (!fw_attr_be32(&a, &v))
			return false;
		if (a.type == NFTA_HOOK_HOOKNUM)
			hook = v;
		else if (a.type == NFTA_HOOK_PRIORITY)
			priority = v;
		else
			return false;
		seen++;
	}
	return seen == 2 && !it.bad && want->hook >= 0 && hook == (uint32_t)want->hook &&
	       priority == (uint32_t)want->priority;
}

static void
compare_chain(struct reading *x, const struct nlmsghdr *h, const struct fw_chain_info *want)
{
	bool hook = false, policy = false, type = false, other = false;
	struct fw_attrs it;
	struct fw_attr a;
	uint32_t v;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a)) {
		switch (a.type) {
		case NFTA_CHAIN_TABLE:
		case NFTA_CHAIN_USE:
		case NFTA_CHAIN_PAD:
			break;
		case NFTA_CHAIN_NAME:
			other |= !fw_attr_is(&a, want->name);
			break;
		case NFTA_CHAIN_HANDLE:
			add_handle(x, family_of(h), &a);
			break;
		case NFTA_CHAIN_HOOK:
			hook = is_hook(&a, want);
			other |= !hook;
			break;
		case NFTA_CHAIN_POLICY:
			policy = fw_attr_be32(&a, &v) && v == POLICY_DROP;
			other |= !policy;
			break;
		case NFTA_CHAIN_TYPE:
			type = fw_attr_is(&a, "filter");
			other |= !type;
			break;
		case NFTA_CHAIN_FLAGS:
			other |= !fw_attr_be32(&a, &v) || v != (want->hook >= 0 ? 1u : 0u);
			break; /* base */
		default:
			other = true;
			break;
		}
	}
	if (other || it.bad || (want->hook >= 0) != (hook && policy && type))
		differ(x, "chain %s is not what was installed (hook, priority, policy or name)", want->name);
}

static int
read_chain(void *arg, const struct nlmsghdr *h)
{
	struct reading *x = arg;
	int place = place_of(x, family_of(h));
	bool ours = false;
	struct fw_attrs it;
	struct fw_attr a;
	unsigned *next;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a))
		if (a.type == NFTA_CHAIN_TABLE)
			ours = fw_attr_is(&a, FW_TABLE);
	if (!ours || place < 0)
		return 0; /* a table of our name in another family was a difference already */
	next = &x->chain_next[place];
	while (*next < FW_CHAINS && !fw_chain_exists(x->l->params.lock, *next))
		(*next)++;
	x->chains_len[place]++;
	if (*next == FW_CHAINS) {
		differ(x, "the table has a chain too many");
		return 0;
	}
	compare_chain(x, h, fw_chain_info((*next)++));
	return 0;
}

static int
dump(struct reading *x, uint16_t type, fw_nl_fn *fn)
{
	struct fw_nl n;

	fw_nl_begin(&n, x->l->nl_fd, &x->l->seq, x->l->space, sizeof(x->l->space));
	(void)fw_nl_nft(&n, type, 0, NLM_F_DUMP); /* family 0: all of them */
	return fw_nl_talk(&n, fn, NULL, x);
}

static void
reading_init(struct reading *x, struct fw_lock *l)
{
	memset(x, 0, sizeof(*x));
	x->l = l;
	x->tables_len = fw_ruleset_tables(&l->params, x->tables);
	x->handles = 0xcbf29ce484222325u;
}

static int
read_all(struct reading *x)
{
	static struct fw_ruleset rs; /* too large for the stack */
	int r;

	if ((r = dump(x, NFT_MSG_GETTABLE, read_table)) < 0 || (r = dump(x, NFT_MSG_GETCHAIN, read_chain)) < 0)
		return r;
	for (unsigned i = 0; i < x->tables_len; i++) {
		if (!(x->tables_seen & 1u << i)) {
			differ(x, "the table is gone (family %u)", (unsigned)x->tables[i]);
			return 0;
		}
		while (x->chain_next[i] < FW_CHAINS && !fw_chain_exists(x->l->params.lock, x->chain_next[i]))
			x->chain_next[i]++;
		if (x->chain_next[i] != FW_CHAINS)
			differ(x, "chain %s is gone", fw_chain_info(x->chain_next[i])->name);
		if (x->use[i] != x->chains_len[i])
			differ(x, "the table holds something besides its chains (a set, an object or a flow table)");
		fw_ruleset_build(&x->l->params, x->tables[i], &rs);
		x->rs = &rs;
		x->rule_next = 0;
		r = read_rules(x, x->tables[i]);
		x->rs = NULL;
		if (r < 0)
			return r;
		if (x->rule_next < rs.rules_len)
			differ(x, "a rule of chain %s is gone", fw_chain_info(rs.rules[x->rule_next].chain)->name);
	}
	return 0;
}

int
fw_readback(struct fw_lock *l, const char *step, uint32_t *generation, uint64_t *handles, struct fw_failure *f)
{
	struct reading x;
	uint32_t before, after;
	int r = -EINTR;
	bool cut;

	/* Others may change tables of theirs meanwhile: what was read then is not one state, so it is read again. */
	for (int tries = 0; tries < 8; tries++) {
		reading_init(&x, l);
		if ((r = fw_generation(l, &before)) < 0)
			return fw_fail(f, step, -r, "reading the ruleset's generation failed");
		r = read_all(&x);
		if (r < 0 && r != -EINTR && r != -ENOENT) /* ENOENT: our table was deleted between two dumps */
			return fw_fail(f, step, -r, "reading the ruleset back failed");
		cut = r == -EINTR; /* such a reading proves nothing, whatever the generation says */
		if (r == -ENOENT)
			differ(&x, "the table is gone");
		if ((r = fw_generation(l, &after)) < 0)
			return fw_fail(f, step, -r, "reading the ruleset's generation failed");
		if (before != after || cut)
			continue;
		if (x.differs) {
			(void)fw_fail(f, step, 0, "the firewall is not what was installed: %s", x.problem);
			return -EPERM;
		}
		l->counters = x.counters;
		*generation = after;
		*handles = x.handles;
		return 0;
	}
	return fw_fail(f, step, EBUSY, "the ruleset did not stand still long enough to be read");
}

int
fw_counters_read(struct fw_lock *l)
{
	struct reading x;
	int r = -EINTR;

	for (int tries = 0; tries < 8 && r == -EINTR; tries++) {
		reading_init(&x, l);
		for (unsigned i = 0; i < x.tables_len; i++)
			if ((r = read_rules(&x, x.tables[i])) < 0)
				break;
	}
	if (r < 0)
		return r;
	if (x.differs)
		return -EPERM;
	l->counters = x.counters;
	return 0;
}

int
fw_lock_counters(struct fw_lock *l, struct fw_failure *f)
{
	int r = fw_counters_read(l);

	return r < 0 ? fw_fail(f, "counters", -r, "reading the counters failed") : 0;
}
