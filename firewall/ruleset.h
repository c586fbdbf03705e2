/* SPDX-License-Identifier: GPL-2.0-or-later
 * ruleset.h - parameters in, the ordered rules of one table out, as data.  Pure: no socket, no allocation.
 * The text (text.c), what is sent to the kernel (install.c) and what is expected back (readback.c) all come from here. */
#ifndef FIREWALL_RULESET_H
#define FIREWALL_RULESET_H
#include <stdbool.h>
#include <stdint.h>

#include "firewall/fw.h"

#define FW_TABLE "agenttwin"
#define FW_RULES_MAX 264u /* the outer lock with every list full has 257 */
#define FW_OPS_MAX 4u
#define FW_EXPRS_MAX 16u          /* kernel expressions of one rule: at most 11 are used */
#define FW_PRIORITY_OUTPUT (-140) /* after connection tracking (-200), before NAT (-100) and foreign filters (0) */
#define FW_PRIORITY_LATE 300

/* Netfilter's numbers of a table's family. */
enum fw_nfproto { FW_NF_INET = 1, FW_NF_IP = 2, FW_NF_IP6 = 10 };

/* In the order in which they are created and listed. */
enum fw_chain {
	FW_CHAIN_INPUT,
	FW_CHAIN_FORWARD,
	FW_CHAIN_OUTPUT,
	FW_CHAIN_LOOPBACK,
	FW_CHAIN_REFUSE,
	FW_CHAIN_CLOSED,
	FW_CHAIN_WORKFLOW,
	FW_CHAIN_TWINS,
	FW_CHAIN_OTHERS,
	FW_CHAIN_ANSWER,
	FW_CHAIN_STRAY,
	FW_CHAIN_POSTROUTING,
	FW_CHAINS
};
struct fw_chain_info {
	const char *name;
	int hook; /* NF_INET_*: 1 local in, 2 forward, 3 local out, 4 post-routing; -1 not a base chain */
	int priority;
	bool outer_only;
};
const struct fw_chain_info *fw_chain_info(unsigned chain) __attribute__((returns_nonnull));
bool fw_chain_exists(enum fw_lock_kind lock, unsigned chain);

/* One condition or statement, at the level at which nft writes it. */
enum fw_op_kind {
	FW_OP_IIF_LO, /* iif "lo" */
	FW_OP_OIF_LO, /* oif "lo" */
	FW_OP_SADDR,  /* ip saddr / ip6 saddr: address, prefix */
	FW_OP_DADDR,
	FW_OP_TCP,   /* meta l4proto tcp */
	FW_OP_SPORT, /* tcp or udp sport: protocol, port */
	FW_OP_DPORT,
	FW_OP_PORTS,       /* tcp sport PORT tcp dport PORT2 */
	FW_OP_SKUID,       /* meta skuid VALUE */
	FW_OP_SKUID_NOT,   /* meta skuid != VALUE; no match without an owner */
	FW_OP_ESTABLISHED, /* ct state established */
	FW_OP_COUNTER,
	FW_OP_LOG,      /* log group VALUE */
	FW_OP_RESET,    /* reject with tcp reset */
	FW_OP_PROHIBIT, /* reject with icmp(x)(v6) admin-prohibited */
	FW_OP_ACCEPT,
	FW_OP_DROP,
	FW_OP_GOTO, /* goto CHAIN */
	FW_OP_HOLE, /* templates only: text that stands for what the binding fills in */
};
struct fw_op {
	uint8_t kind; /* enum fw_op_kind */
	uint8_t protocol, prefix, chain;
	uint16_t port, port2; /* host byte order */
	union {
		uint32_t value;
		const struct fw_address *address; /* borrowed from the parameters, or static */
		const char *hole;                 /* static */
	} u;
};
struct fw_rule {
	uint8_t chain; /* enum fw_chain */
	uint8_t ops_len;
	struct fw_op ops[FW_OPS_MAX];
};
struct fw_ruleset { /* one table */
	enum fw_nfproto nfproto;
	enum fw_lock_kind lock;
	uint16_t rules_len;
	struct fw_rule rules[FW_RULES_MAX]; /* grouped by chain, in chain order */
};

/* The tables that p asks for: 1 (inet; ip alone) or 2 (ip, ip6). */
unsigned fw_ruleset_tables(const struct fw_params *p, enum fw_nfproto out[static 2]) __attribute__((nonnull));
/* The rules of one of them.  They borrow p. */
void fw_ruleset_build(const struct fw_params *p, enum fw_nfproto nfproto, struct fw_ruleset *out)
	__attribute__((nonnull));
/* The same with holes where machines and runs differ; family inet. */
void fw_ruleset_template(enum fw_lock_kind lock, uint16_t control_port, struct fw_ruleset *out)
	__attribute__((nonnull));

/* One expression as the kernel has it.  Registers are always 1 (0 for verdicts), so they are not stored. */
enum fw_expr_kind {
	FW_EXPR_META,    /* value: key */
	FW_EXPR_PAYLOAD, /* a: base, b: offset, len */
	FW_EXPR_CT,      /* value: key */
	FW_EXPR_BITWISE, /* len, data: mask; xor is zero */
	FW_EXPR_CMP,     /* a: operator, len, data */
	FW_EXPR_COUNTER,
	FW_EXPR_LOG,     /* value: group */
	FW_EXPR_REJECT,  /* a: type, b: code */
	FW_EXPR_VERDICT, /* value: the verdict's bits; a: chain of a goto */
};
struct fw_expr {
	uint8_t kind; /* enum fw_expr_kind */
	uint8_t a, b, len;
	uint32_t value;
	uint8_t data[16];
};
/* Expressions of a rule without holes.  Unused bytes are zero, so two lists compare with memcmp.  Returns their number. */
unsigned fw_rule_expand(const struct fw_rule *rule, enum fw_nfproto nfproto, struct fw_expr out[static FW_EXPRS_MAX])
	__attribute__((nonnull));
#endif
