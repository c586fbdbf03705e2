/* SPDX-License-Identifier: GPL-2.0-or-later
 * encode.c - tables, chains and rules into the messages of a batch, through libnftnl.  See table.h. */
#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "firewall/nl.h"
#include "firewall/table.h"

#define POLICY_DROP 0u

static struct nftnl_expr *
encode_expr(const struct fw_expr *e)
{
	static const uint8_t zero[16];
	static const char *const names[] = { "meta",    "payload", "ct",     "bitwise",  "cmp",
					     "counter", "log",     "reject", "immediate" };
	struct nftnl_expr *x = nftnl_expr_alloc(names[e->kind]);

	if (!x)
		return NULL;
	switch ((enum fw_expr_kind)e->kind) {
	case FW_EXPR_META:
		nftnl_expr_set_u32(x, NFTNL_EXPR_META_DREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_META_KEY, e->value);
		break;
	case FW_EXPR_PAYLOAD:
		nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_BASE, e->a);
		nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_OFFSET, e->b);
		nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_LEN, e->len);
		break;
	case FW_EXPR_CT:
		nftnl_expr_set_u32(x, NFTNL_EXPR_CT_DREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_CT_KEY, e->value);
		break;
	case FW_EXPR_BITWISE:
		nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_LEN, e->len);
		nftnl_expr_set(x, NFTNL_EXPR_BITWISE_MASK, e->data, e->len);
		nftnl_expr_set(x, NFTNL_EXPR_BITWISE_XOR, zero, e->len);
		break;
	case FW_EXPR_CMP:
		nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_OP, e->a);
		nftnl_expr_set(x, NFTNL_EXPR_CMP_DATA, e->data, e->len);
		break;
	case FW_EXPR_COUNTER:
		break;
	case FW_EXPR_LOG:
		nftnl_expr_set_u16(x, NFTNL_EXPR_LOG_GROUP, (uint16_t)e->value);
		break;
	case FW_EXPR_REJECT:
		nftnl_expr_set_u32(x, NFTNL_EXPR_REJECT_TYPE, e->a);
		nftnl_expr_set_u8(x, NFTNL_EXPR_REJECT_CODE, e->b);
		break;
	case FW_EXPR_VERDICT:
		nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
		nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_VERDICT, e->value);
		if (e->value == (uint32_t)NFT_GOTO)
			nftnl_expr_set_str(x, NFTNL_EXPR_IMM_CHAIN, fw_chain_info(e->a)->name);
		break;
	}
	return x;
}

int
fw_encode_rule(struct fw_nl *n, enum fw_nfproto nfproto, const char *table, const char *chain,
	       const struct fw_expr *exprs, unsigned exprs_len, uint16_t flags)
{
	struct nftnl_rule *r = nftnl_rule_alloc();
	struct nftnl_expr *x;

	if (!r)
		return -ENOMEM;
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, table);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain);
	for (unsigned i = 0; i < exprs_len; i++) {
		if (!(x = encode_expr(&exprs[i]))) {
			nftnl_rule_free(r);
			return -ENOMEM;
		}
		nftnl_rule_add_expr(r, x); /* moved */
	}
	nftnl_rule_nlmsg_build_payload(
		fw_nl_nft(n, NFT_MSG_NEWRULE, (uint8_t)nfproto, (uint16_t)(NLM_F_CREATE | NLM_F_APPEND | flags)), r);
	nftnl_rule_free(r);
	return 0;
}

int
fw_encode_table(struct fw_nl *n, uint16_t type, enum fw_nfproto nfproto, const char *name, uint16_t flags)
{
	struct nftnl_table *t = nftnl_table_alloc();

	if (!t)
		return -ENOMEM;
	nftnl_table_set_str(t, NFTNL_TABLE_NAME, name);
	nftnl_table_nlmsg_build_payload(fw_nl_nft(n, type, (uint8_t)nfproto, flags), t);
	nftnl_table_free(t);
	return 0;
}

int
fw_encode_chain(struct fw_nl *n, enum fw_nfproto nfproto, const char *table, const char *name, int hook, int priority,
		uint32_t policy, uint16_t flags)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (!c)
		return -ENOMEM;
	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, table);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name);
	if (hook >= 0) {
		nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter");
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, (uint32_t)hook);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, policy);
	}
	nftnl_chain_nlmsg_build_payload(
		fw_nl_nft(n, NFT_MSG_NEWCHAIN, (uint8_t)nfproto, (uint16_t)(NLM_F_CREATE | flags)), c);
	nftnl_chain_free(c);
	return 0;
}

int
fw_encode_ruleset(struct fw_nl *n, const struct fw_ruleset *rs)
{
	struct fw_expr exprs[FW_EXPRS_MAX];
	unsigned exprs_len;
	uint16_t ack;
	int r;

	/* Exclusive: a table of this name that we did not make is someone else's and an error. */
	if ((r = fw_encode_table(n, NFT_MSG_NEWTABLE, rs->nfproto, FW_TABLE, NLM_F_CREATE | NLM_F_EXCL)) < 0)
		return r;
	for (unsigned c = 0; c < FW_CHAINS; c++) {
		const struct fw_chain_info *info = fw_chain_info(c);

		if (fw_chain_exists(rs->lock, c) &&
		    (r = fw_encode_chain(n, rs->nfproto, FW_TABLE, info->name, info->hook, info->priority, POLICY_DROP,
					 0)) < 0)
			return r;
	}
	for (unsigned i = 0; i < rs->rules_len; i++) {
		exprs_len = fw_rule_expand(&rs->rules[i], rs->nfproto, exprs);
		ack = i + 1u == rs->rules_len ? NLM_F_ACK
					      : 0; /* errors come unasked; one answer says that all is done */
		r = fw_encode_rule(n, rs->nfproto, FW_TABLE, fw_chain_info(rs->rules[i].chain)->name, exprs, exprs_len,
				   ack);
		if (r < 0)
			return r;
	}
	return 0;
}
