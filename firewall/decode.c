/* SPDX-License-Identifier: GPL-2.0-or-later
 * decode.c - one expression of a rule as the kernel lists it.  See table.h.
 * The decoder is ours, not the encoder's library: an attribute that it does not know is a difference. */
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "firewall/nl.h"
#include "firewall/table.h"

/* A register of 16 bytes or the verdict's. */
static bool
is_register(const struct fw_attr *a, uint32_t want)
{
	uint32_t v;

	return fw_attr_be32(a, &v) && v == want;
}

static bool
small(const struct fw_attr *a, uint8_t *out)
{
	uint32_t v;

	if (!fw_attr_be32(a, &v) || v > 255)
		return false;
	*out = (uint8_t)v;
	return true;
}

/* {NFTA_DATA_VALUE: at most 16 bytes} */
static bool
value(const struct fw_attr *nest, uint8_t out[16], uint8_t *len)
{
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_in(&it, nest);
	if (!fw_attr_next(&it, &a) || a.type != NFTA_DATA_VALUE || a.len == 0 || a.len > 16)
		return false;
	memcpy(out, a.data, a.len);
	*len = (uint8_t)a.len;
	return !fw_attr_next(&it, &a) && !it.bad;
}

static bool
decode_meta(const struct fw_attr *a, struct fw_decoded *d)
{
	if (a->type == NFTA_META_DREG)
		return is_register(a, NFT_REG_1);
	return a->type == NFTA_META_KEY && fw_attr_be32(a, &d->e.value);
}

static bool
decode_ct(const struct fw_attr *a, struct fw_decoded *d)
{
	if (a->type == NFTA_CT_DREG)
		return is_register(a, NFT_REG_1);
	return a->type == NFTA_CT_KEY && fw_attr_be32(a, &d->e.value);
}

static bool
decode_payload(const struct fw_attr *a, struct fw_decoded *d)
{
	switch (a->type) {
	case NFTA_PAYLOAD_DREG:
		return is_register(a, NFT_REG_1);
	case NFTA_PAYLOAD_BASE:
		return small(a, &d->e.a);
	case NFTA_PAYLOAD_OFFSET:
		return small(a, &d->e.b);
	case NFTA_PAYLOAD_LEN:
		return small(a, &d->e.len);
	default:
		return false;
	}
}

static bool
decode_bitwise(const struct fw_attr *a, struct fw_decoded *d)
{
	static const uint8_t zero[16];
	uint8_t data[16], len;
	uint32_t v;

	switch (a->type) {
	case NFTA_BITWISE_SREG:
	case NFTA_BITWISE_DREG:
		return is_register(a, NFT_REG_1);
	case NFTA_BITWISE_LEN:
		return small(a, &d->e.len);
	case NFTA_BITWISE_MASK:
		return value(a, d->e.data, &len);
	case NFTA_BITWISE_XOR:
		return value(a, data, &len) && memcmp(data, zero, len) == 0;
	case NFTA_BITWISE_OP:
		return fw_attr_be32(a, &v) && v == 0; /* mask and xor */
	default:
		return false;
	}
}

static bool
decode_cmp(const struct fw_attr *a, struct fw_decoded *d)
{
	switch (a->type) {
	case NFTA_CMP_SREG:
		return is_register(a, NFT_REG_1);
	case NFTA_CMP_OP:
		return small(a, &d->e.a);
	case NFTA_CMP_DATA:
		return value(a, d->e.data, &d->e.len);
	default:
		return false;
	}
}

static bool
decode_counter(const struct fw_attr *a, struct fw_decoded *d)
{
	uint64_t bytes;

	switch (a->type) {
	case NFTA_COUNTER_PACKETS:
		return fw_attr_be64(a, &d->packets);
	case NFTA_COUNTER_BYTES:
		return fw_attr_be64(a, &bytes);
	case NFTA_COUNTER_PAD:
		return true;
	default:
		return false;
	}
}

static bool
decode_log(const struct fw_attr *a, struct fw_decoded *d)
{
	if (a->type != NFTA_LOG_GROUP || a->len != 2)
		return false;
	d->e.value = (uint32_t)a->data[0] << 8 | a->data[1];
	return true;
}

static bool
decode_reject(const struct fw_attr *a, struct fw_decoded *d)
{
	if (a->type == NFTA_REJECT_TYPE)
		return small(a, &d->e.a);
	if (a->type != NFTA_REJECT_ICMP_CODE || a->len != 1)
		return false;
	d->e.b = a->data[0];
	return true;
}

bool
fw_decode_chain(const struct fw_attr *a, uint8_t *out)
{
	for (unsigned c = 0; c < FW_CHAINS; c++)
		if (fw_attr_is(a, fw_chain_info(c)->name)) {
			*out = (uint8_t)c;
			return true;
		}
	return false;
}

/* {NFTA_DATA_VERDICT: {code, chain}} */
static bool
decode_verdict(const struct fw_attr *a, struct fw_decoded *d)
{
	struct fw_attrs it, in;
	struct fw_attr v, part;

	if (a->type == NFTA_IMMEDIATE_DREG)
		return is_register(a, NFT_REG_VERDICT);
	if (a->type != NFTA_IMMEDIATE_DATA)
		return false;
	fw_attrs_in(&it, a);
	if (!fw_attr_next(&it, &v) || v.type != NFTA_DATA_VERDICT)
		return false;
	fw_attrs_in(&in, &v);
	while (fw_attr_next(&in, &part)) {
		if (part.type == NFTA_VERDICT_CODE
			    ? !fw_attr_be32(&part, &d->e.value)
			    : part.type != NFTA_VERDICT_CHAIN || !fw_decode_chain(&part, &d->e.a))
			return false;
	}
	return !in.bad && !fw_attr_next(&it, &v) && !it.bad;
}

bool
fw_decode_expr(const struct fw_attr *element, struct fw_decoded *d)
{
	static const struct {
		const char *name;
		bool (*decode)(const struct fw_attr *a, struct fw_decoded *d);
	} kinds[] = {
		[FW_EXPR_META] = { "meta", decode_meta },
		[FW_EXPR_PAYLOAD] = { "payload", decode_payload },
		[FW_EXPR_CT] = { "ct", decode_ct },
		[FW_EXPR_BITWISE] = { "bitwise", decode_bitwise },
		[FW_EXPR_CMP] = { "cmp", decode_cmp },
		[FW_EXPR_COUNTER] = { "counter", decode_counter },
		[FW_EXPR_LOG] = { "log", decode_log },
		[FW_EXPR_REJECT] = { "reject", decode_reject },
		[FW_EXPR_VERDICT] = { "immediate", decode_verdict },
	};
	struct fw_attrs it, in;
	struct fw_attr a, part;
	unsigned kind = 0;

	memset(d, 0, sizeof(*d));
	fw_attrs_in(&it, element);
	if (element->type != NFTA_LIST_ELEM || !fw_attr_next(&it, &a) || a.type != NFTA_EXPR_NAME)
		return false;
	while (kind < sizeof(kinds) / sizeof(kinds[0]) && !fw_attr_is(&a, kinds[kind].name))
		kind++;
	if (kind == sizeof(kinds) / sizeof(kinds[0]) || !fw_attr_next(&it, &a) || a.type != NFTA_EXPR_DATA)
		return false;
	d->e.kind = (uint8_t)kind;
	fw_attrs_in(&in, &a);
	while (fw_attr_next(&in, &part))
		if (!kinds[kind].decode(&part, d))
			return false;
	return !in.bad && !fw_attr_next(&it, &part) && !it.bad;
}
