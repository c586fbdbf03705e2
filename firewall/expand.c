/* SPDX-License-Identifier: GPL-2.0-or-later
 * expand.c - a rule as the kernel's expressions: what is sent to it and what is expected back.  Pure.  See ruleset.h. */
#include <assert.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "firewall/ruleset.h"

#define PROTO_TCP 6u
#define NF_DROP_ 0u
#define NF_ACCEPT_ 1u

static struct fw_expr *
expr(struct fw_expr *out, unsigned *n, enum fw_expr_kind kind)
{
	struct fw_expr *e;

	assert(*n < FW_EXPRS_MAX);
	e = &out[(*n)++];
	memset(e, 0, sizeof(*e));
	e->kind = (uint8_t)kind;
	return e;
}

static void
expr_cmp(struct fw_expr *out, unsigned *n, unsigned operator, const void * data, unsigned len)
{
	struct fw_expr *e = expr(out, n, FW_EXPR_CMP);

	assert(len <= sizeof(e->data));
	e->a = (uint8_t) operator;
	e->len = (uint8_t)len;
	memcpy(e->data, data, len);
}

static void
expr_meta(struct fw_expr *out, unsigned *n, uint32_t key, unsigned operator, const void * data, unsigned len)
{
	expr(out, n, FW_EXPR_META)->value = key;
	expr_cmp(out, n, operator, data, len);
}

static void
expr_payload(struct fw_expr *out, unsigned *n, unsigned base, unsigned offset, const void *data, unsigned len)
{
	struct fw_expr *e = expr(out, n, FW_EXPR_PAYLOAD);

	e->a = (uint8_t)base;
	e->b = (uint8_t)offset;
	e->len = (uint8_t)len;
	expr_cmp(out, n, NFT_CMP_EQ, data, len);
}

static void
expand_address(const struct fw_op *o, enum fw_nfproto nfproto, struct fw_expr *out, unsigned *n)
{
	const struct fw_address *a = o->u.address;
	uint8_t family = a->family == 4 ? FW_NF_IP : FW_NF_IP6;
	unsigned offset;

	/* In an inet table the header's form must be known first. */
	if (nfproto == FW_NF_INET)
		expr_meta(out, n, NFT_META_NFPROTO, NFT_CMP_EQ, &family, 1);
	if (a->family == 4)
		offset = o->kind == FW_OP_SADDR ? 12 : 16;
	else
		offset = o->kind == FW_OP_SADDR ? 8 : 24;
	expr_payload(out, n, NFT_PAYLOAD_NETWORK_HEADER, offset, a->bytes, o->prefix / 8u);
}

static void
expand_ports(const struct fw_op *o, struct fw_expr *out, unsigned *n)
{
	uint8_t protocol = o->kind == FW_OP_PORTS ? PROTO_TCP : o->protocol;
	uint8_t data[4] = { (uint8_t)(o->port >> 8), (uint8_t)o->port, (uint8_t)(o->port2 >> 8), (uint8_t)o->port2 };

	expr_meta(out, n, NFT_META_L4PROTO, NFT_CMP_EQ, &protocol, 1);
	expr_payload(out, n, NFT_PAYLOAD_TRANSPORT_HEADER, o->kind == FW_OP_DPORT ? 2 : 0, data,
		     o->kind == FW_OP_PORTS ? 4 : 2);
}

static void
expand_established(struct fw_expr *out, unsigned *n)
{
	uint32_t mask = NF_CT_STATE_BIT(IP_CT_ESTABLISHED), zero = 0;
	struct fw_expr *e;

	expr(out, n, FW_EXPR_CT)->value = NFT_CT_STATE;
	e = expr(out, n, FW_EXPR_BITWISE);
	e->len = sizeof(mask);
	memcpy(e->data, &mask, sizeof(mask));
	expr_cmp(out, n, NFT_CMP_NEQ, &zero, sizeof(zero));
}

static void
expand_reject(const struct fw_op *o, enum fw_nfproto nfproto, struct fw_expr *out, unsigned *n)
{
	struct fw_expr *e = expr(out, n, FW_EXPR_REJECT);

	if (o->kind == FW_OP_RESET) {
		e->a = NFT_REJECT_TCP_RST;
	} else if (nfproto == FW_NF_INET) {
		e->a = NFT_REJECT_ICMPX_UNREACH;
		e->b = NFT_REJECT_ICMPX_ADMIN_PROHIBITED;
	} else {
		e->a = NFT_REJECT_ICMP_UNREACH;
		e->b = nfproto == FW_NF_IP ? 13 : 1; /* ICMP_PKT_FILTERED, ICMPV6_ADM_PROHIBITED */
	}
}

unsigned
fw_rule_expand(const struct fw_rule *rule, enum fw_nfproto nfproto, struct fw_expr out[static FW_EXPRS_MAX])
{
	static const uint32_t lo = 1; /* lo is the first device of every network namespace */
	const uint8_t tcp = PROTO_TCP;
	unsigned n = 0;
	struct fw_expr *e;

	for (unsigned i = 0; i < rule->ops_len; i++) {
		const struct fw_op *o = &rule->ops[i];

		switch ((enum fw_op_kind)o->kind) {
		case FW_OP_IIF_LO:
			expr_meta(out, &n, NFT_META_IIF, NFT_CMP_EQ, &lo, sizeof(lo));
			break;
		case FW_OP_OIF_LO:
			expr_meta(out, &n, NFT_META_OIF, NFT_CMP_EQ, &lo, sizeof(lo));
			break;
		case FW_OP_SADDR:
		case FW_OP_DADDR:
			expand_address(o, nfproto, out, &n);
			break;
		case FW_OP_TCP:
			expr_meta(out, &n, NFT_META_L4PROTO, NFT_CMP_EQ, &tcp, 1);
			break;
		case FW_OP_SPORT:
		case FW_OP_DPORT:
		case FW_OP_PORTS:
			expand_ports(o, out, &n);
			break;
		case FW_OP_SKUID:
			expr_meta(out, &n, NFT_META_SKUID, NFT_CMP_EQ, &o->u.value, 4);
			break;
		case FW_OP_SKUID_NOT:
			expr_meta(out, &n, NFT_META_SKUID, NFT_CMP_NEQ, &o->u.value, 4);
			break;
		case FW_OP_ESTABLISHED:
			expand_established(out, &n);
			break;
		case FW_OP_COUNTER:
			expr(out, &n, FW_EXPR_COUNTER);
			break;
		case FW_OP_LOG:
			expr(out, &n, FW_EXPR_LOG)->value = o->u.value;
			break;
		case FW_OP_RESET:
		case FW_OP_PROHIBIT:
			expand_reject(o, nfproto, out, &n);
			break;
		case FW_OP_ACCEPT:
			expr(out, &n, FW_EXPR_VERDICT)->value = NF_ACCEPT_;
			break;
		case FW_OP_DROP:
			expr(out, &n, FW_EXPR_VERDICT)->value = NF_DROP_;
			break;
		case FW_OP_GOTO:
			e = expr(out, &n, FW_EXPR_VERDICT);
			e->value = (uint32_t)NFT_GOTO;
			e->a = o->chain;
			break;
		case FW_OP_HOLE:
			assert(o->kind != FW_OP_HOLE);
			break; /* a template is never installed */
		}
	}
	return n;
}
