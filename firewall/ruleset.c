/* SPDX-License-Identifier: GPL-2.0-or-later
 * ruleset.c - see ruleset.h.  Rule by rule, with reasons: docs/firewall.md. */
#include "firewall/ruleset.h"

#include <assert.h>
#include <string.h>

#define PROTO_TCP 6u
#define NO_OWNER 0xffffffffu /* a uid that no socket has: "!=" it means "has an owner" */

static const struct fw_address loopback4 = { 4, { 127 } };
static const struct fw_address loopback6 = { 6, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } };
static const struct fw_address forwarder = {
	4, { 127, 0, 0, 11 }
}; /* Docker's resolver: NAT keeps it on lo, but it asks outside */

static const struct fw_chain_info chains[FW_CHAINS] = {
	[FW_CHAIN_INPUT] = { "input", 1, FW_PRIORITY_LATE, false },
	[FW_CHAIN_FORWARD] = { "forward", 2, FW_PRIORITY_LATE, false },
	[FW_CHAIN_OUTPUT] = { "output", 3, FW_PRIORITY_OUTPUT, false },
	[FW_CHAIN_LOOPBACK] = { "loopback", -1, 0, true },
	[FW_CHAIN_REFUSE] = { "refuse", -1, 0, true },
	[FW_CHAIN_CLOSED] = { "closed", -1, 0, true },
	[FW_CHAIN_WORKFLOW] = { "workflow", -1, 0, false },
	[FW_CHAIN_TWINS] = { "twins", -1, 0, false },
	[FW_CHAIN_OTHERS] = { "others", -1, 0, false },
	[FW_CHAIN_ANSWER] = { "answer", -1, 0, false },
	[FW_CHAIN_STRAY] = { "stray", -1, 0, true },
	[FW_CHAIN_POSTROUTING] = { "postrouting", 4, FW_PRIORITY_LATE, false },
};

const struct fw_chain_info *
fw_chain_info(unsigned chain)
{
	assert(chain < FW_CHAINS);
	return &chains[chain];
}

bool
fw_chain_exists(enum fw_lock_kind lock, unsigned chain)
{
	return chain < FW_CHAINS && (lock == FW_OUTER || !chains[chain].outer_only);
}

unsigned
fw_ruleset_tables(const struct fw_params *p, enum fw_nfproto out[static 2])
{
	if (p->family == FW_INET) {
		out[0] = FW_NF_INET;
		return 1;
	}
	out[0] = FW_NF_IP;
	out[1] = FW_NF_IP6;
	return p->ipv6 ? 2 : 1;
}

/* ---- building ------------------------------------------------------------------------------------------------------- */

struct build {
	struct fw_ruleset *out;
	const struct fw_params *p;
	bool template; /* holes instead of values */
};

static struct fw_rule *
rule(struct build *b, enum fw_chain chain)
{
	struct fw_rule *r;

	assert(b->out->rules_len < FW_RULES_MAX);
	r = &b->out->rules[b->out->rules_len++];
	r->chain = (uint8_t)chain;
	return r;
}

static struct fw_op *
op(struct fw_rule *r, enum fw_op_kind kind)
{
	struct fw_op *o;

	assert(r->ops_len < FW_OPS_MAX);
	o = &r->ops[r->ops_len++];
	o->kind = (uint8_t)kind;
	return o;
}

static void
op_goto(struct fw_rule *r, enum fw_chain chain)
{
	op(r, FW_OP_GOTO)->chain = (uint8_t)chain;
}

static void
op_address(struct fw_rule *r, enum fw_op_kind kind, const struct fw_address *a, unsigned prefix)
{
	struct fw_op *o = op(r, kind);

	o->u.address = a;
	o->prefix = (uint8_t)prefix;
}

static void
op_port(struct fw_rule *r, enum fw_op_kind kind, unsigned protocol, uint16_t port)
{
	struct fw_op *o = op(r, kind);

	o->protocol = (uint8_t)protocol;
	o->port = port;
}

/* Does this table see packets of the address's family? */
static bool
is_seen(const struct build *b, const struct fw_address *a)
{
	return b->out->nfproto == FW_NF_INET || (b->out->nfproto == FW_NF_IP) == (a->family == 4);
}

static void
add_counted_drop(struct build *b, enum fw_chain chain)
{
	struct fw_rule *r = rule(b, chain);

	op(r, FW_OP_COUNTER);
	op(r, FW_OP_DROP);
}

static void
op_log(struct build *b, struct fw_rule *r)
{
	if (b->p->log)
		op(r, FW_OP_LOG)->u.value = FW_LOG_GROUP;
}

static void
add_logged_drop(struct build *b, enum fw_chain chain)
{
	struct fw_rule *r = rule(b, chain);

	op(r, FW_OP_COUNTER);
	op_log(b, r);
	op(r, FW_OP_DROP);
}

/* The control connection: pinned to the peers that are connected now, or, where none could be seen, what connection
 * tracking has established. */
static void
add_control(struct build *b, enum fw_chain chain)
{
	bool in = chain == FW_CHAIN_INPUT;
	struct fw_rule *r;
	struct fw_op *o;

	if (b->p->control_port == 0)
		return;
	if (b->template) {
		r = rule(b, chain);
		op(r, FW_OP_HOLE)->u.hole = in ? "{control from peer}" : "{control to peer}";
		op_port(r, in ? FW_OP_DPORT : FW_OP_SPORT, PROTO_TCP, b->p->control_port);
		op(r, FW_OP_ACCEPT);
		return;
	}
	for (unsigned i = 0; i < b->p->pinned_len; i++) {
		const struct fw_pinned *pin = &b->p->pinned[i];

		if (!is_seen(b, &pin->peer))
			continue;
		r = rule(b, chain);
		op_address(r, in ? FW_OP_SADDR : FW_OP_DADDR, &pin->peer, pin->peer.family == 4 ? 32 : 128);
		o = op(r, FW_OP_PORTS);
		o->port = in ? pin->peer_port : b->p->control_port;
		o->port2 = in ? b->p->control_port : pin->peer_port;
		op(r, FW_OP_ACCEPT);
	}
	if (b->p->pinned_len == 0) {
		r = rule(b, chain);
		op_port(r, in ? FW_OP_DPORT : FW_OP_SPORT, PROTO_TCP, b->p->control_port);
		op(r, FW_OP_ESTABLISHED);
		op(r, FW_OP_ACCEPT);
	}
}

static void
add_loopback_address(struct build *b, enum fw_chain chain, const struct fw_address *a, unsigned prefix)
{
	struct fw_rule *r;

	if (!is_seen(b, a))
		return;
	r = rule(b, chain);
	if (chain == FW_CHAIN_OUTPUT)
		op(r, FW_OP_OIF_LO);
	op_address(r, FW_OP_DADDR, a, prefix);
	op(r, FW_OP_ACCEPT);
}

static void
add_own(struct build *b, enum fw_chain chain, uint8_t family)
{
	struct fw_rule *r;

	if (b->template) {
		r = rule(b, chain);
		if (chain == FW_CHAIN_OUTPUT)
			op(r, FW_OP_OIF_LO);
		op(r, FW_OP_HOLE)->u.hole = family == 4 ? "ip daddr {own}" : "ip6 daddr {own}";
		op(r, FW_OP_ACCEPT);
		return;
	}
	for (unsigned i = 0; i < b->p->own_len; i++)
		if (b->p->own[i].family == family)
			add_loopback_address(b, chain, &b->p->own[i], family == 4 ? 32 : 128);
}

/* What may be said on loopback: the device alone is not enough, a packet for outside can be bound to it. */
static void
add_loopback_addresses(struct build *b, enum fw_chain chain)
{
	add_loopback_address(b, chain, &loopback4, 8);
	add_own(b, chain, 4);
	add_loopback_address(b, chain, &loopback6, 128);
	add_own(b, chain, 6);
}

static void
add_owner(struct build *b, enum fw_chain chain, uint32_t uid, const char *hole, enum fw_chain target)
{
	struct fw_rule *r = rule(b, chain);

	if (b->template)
		op(r, FW_OP_HOLE)->u.hole = hole;
	else
		op(r, FW_OP_SKUID)->u.value = uid;
	op_goto(r, target);
}

/* Who asked: for the counters and the answer.  Nothing passes from here on. */
static void
add_ladder(struct build *b, enum fw_chain chain)
{
	struct fw_rule *r;

	add_owner(b, chain, b->p->uid_workflow, "meta skuid {workflow}", FW_CHAIN_WORKFLOW);
	add_owner(b, chain, b->p->uid_twins, "meta skuid {twins}", FW_CHAIN_TWINS);
	r = rule(b, chain);
	op(r, FW_OP_SKUID_NOT)->u.value = NO_OWNER;
	op_goto(r, FW_CHAIN_OTHERS);
	add_counted_drop(b, chain); /* the kernel's own: neighbour discovery, multicast reports */
}

static void
add_input(struct build *b)
{
	struct fw_rule *r = rule(b, FW_CHAIN_INPUT);

	op(r, FW_OP_IIF_LO);
	op(r, FW_OP_ACCEPT);
	if (b->p->lock == FW_OUTER)
		add_control(b, FW_CHAIN_INPUT);
	add_counted_drop(b, FW_CHAIN_INPUT);
	/* What a routing header led past output: whoever sent it cannot be told any more. */
	add_logged_drop(b, FW_CHAIN_FORWARD);
}

static void
add_closed(struct build *b)
{
	struct fw_rule *r = rule(b, FW_CHAIN_LOOPBACK);

	/* Root first, then everyone else: "skuid != 0" alone would let packets without an owner pass. */
	op(r, FW_OP_SKUID)->u.value = 0;
	op(r, FW_OP_ACCEPT);
	if (b->template) {
		r = rule(b, FW_CHAIN_LOOPBACK);
		op(r, FW_OP_HOLE)->u.hole = "{closed port}";
		op_goto(r, FW_CHAIN_CLOSED);
		r = rule(b, FW_CHAIN_LOOPBACK);
		op(r, FW_OP_HOLE)->u.hole = "meta skuid {workflow} {from closed port}";
		op_goto(r, FW_CHAIN_CLOSED);
	}
	for (unsigned i = 0; !b->template && i < b->p->closed_len; i++) {
		r = rule(b, FW_CHAIN_LOOPBACK);
		op_port(r, FW_OP_DPORT, b->p->closed[i].protocol, b->p->closed[i].port);
		op_goto(r, FW_CHAIN_CLOSED);
		/* Nor does the workflow answer in the place of a daemon that died. */
		r = rule(b, FW_CHAIN_LOOPBACK);
		op(r, FW_OP_SKUID)->u.value = b->p->uid_workflow;
		op_port(r, FW_OP_SPORT, b->p->closed[i].protocol, b->p->closed[i].port);
		op_goto(r, FW_CHAIN_CLOSED);
	}
	if (is_seen(b, &forwarder)) {
		r = rule(b, FW_CHAIN_LOOPBACK);
		op_address(r, FW_OP_DADDR, &forwarder, 32);
		op_goto(r, FW_CHAIN_REFUSE);
	}
}

static void
add_output(struct build *b)
{
	struct fw_rule *r;

	if (b->p->lock == FW_INNER) {
		add_loopback_addresses(b, FW_CHAIN_OUTPUT);
		add_ladder(b, FW_CHAIN_OUTPUT);
		return;
	}
	r = rule(b, FW_CHAIN_OUTPUT);
	op(r, FW_OP_OIF_LO);
	op_goto(r, FW_CHAIN_LOOPBACK);
	if (b->p->control_port != 0) {
		/* An owner other than root is never the daemon.  "skuid 0" on the accepting rule would lose the
		 * tail of a stream after close(), which has no owner. */
		r = rule(b, FW_CHAIN_OUTPUT);
		op_port(r, FW_OP_SPORT, PROTO_TCP, b->p->control_port);
		op(r, FW_OP_SKUID_NOT)->u.value = 0;
		op_goto(r, FW_CHAIN_REFUSE);
		add_control(b, FW_CHAIN_OUTPUT);
	}
	r = rule(b, FW_CHAIN_OUTPUT);
	op_goto(r, FW_CHAIN_REFUSE);

	add_closed(b);
	add_loopback_addresses(b, FW_CHAIN_LOOPBACK);
	r = rule(b, FW_CHAIN_LOOPBACK);
	op_goto(r, FW_CHAIN_REFUSE);
	add_ladder(b, FW_CHAIN_REFUSE);
}

static void
add_denials(struct build *b)
{
	struct fw_rule *r;

	for (unsigned c = FW_CHAIN_CLOSED; c <= FW_CHAIN_OTHERS; c++) {
		if (!fw_chain_exists(b->p->lock, c))
			continue;
		r = rule(b, c);
		op(r, FW_OP_COUNTER);
		op_log(b, r);
		op_goto(r, FW_CHAIN_ANSWER);
	}
	if (b->p->reject) {
		r = rule(b, FW_CHAIN_ANSWER);
		op(r, FW_OP_TCP);
		op(r, FW_OP_RESET);
		r = rule(b, FW_CHAIN_ANSWER);
		op(r, FW_OP_PROHIBIT);
	} else {
		op(rule(b, FW_CHAIN_ANSWER), FW_OP_DROP);
	}
}

/* The closed ports once more: output saw where a packet was meant to go, somebody's NAT may have led it to such a port since.
 * Nothing can be answered here. */
static void
add_strays(struct build *b)
{
	struct fw_rule *r;

	add_logged_drop(b, FW_CHAIN_STRAY);
	r = rule(b, FW_CHAIN_POSTROUTING);
	op(r, FW_OP_OIF_LO);
	op(r, FW_OP_SKUID)->u.value = 0;
	op(r, FW_OP_ACCEPT);
	if (b->template) {
		r = rule(b, FW_CHAIN_POSTROUTING);
		op(r, FW_OP_OIF_LO);
		op(r, FW_OP_HOLE)->u.hole = "{closed port}";
		op_goto(r, FW_CHAIN_STRAY);
	}
	for (unsigned i = 0; !b->template && i < b->p->closed_len; i++) {
		r = rule(b, FW_CHAIN_POSTROUTING);
		op(r, FW_OP_OIF_LO);
		op_port(r, FW_OP_DPORT, b->p->closed[i].protocol, b->p->closed[i].port);
		op_goto(r, FW_CHAIN_STRAY);
	}
}

static void
add_postrouting(struct build *b)
{
	struct fw_rule *r;

	if (b->p->lock == FW_OUTER)
		add_strays(b);
	/* Here the device is the real one, after any NAT. */
	r = rule(b, FW_CHAIN_POSTROUTING);
	op(r, FW_OP_OIF_LO);
	op(r, FW_OP_ACCEPT);
	if (b->p->lock == FW_OUTER)
		add_control(b, FW_CHAIN_POSTROUTING);
	add_logged_drop(b, FW_CHAIN_POSTROUTING);
}

static void
build(struct build *b, enum fw_nfproto nfproto)
{
	memset(b->out, 0, sizeof(*b->out));
	b->out->nfproto = nfproto;
	b->out->lock = b->p->lock;
	add_input(b);
	add_output(b);
	add_denials(b);
	add_postrouting(b);
}

void
fw_ruleset_build(const struct fw_params *p, enum fw_nfproto nfproto, struct fw_ruleset *out)
{
	struct build b = { out, p, false };

	build(&b, nfproto);
}

void
fw_ruleset_template(enum fw_lock_kind lock, uint16_t control_port, struct fw_ruleset *out)
{
	struct fw_params p;
	struct build b = { out, &p, true };

	memset(&p, 0, sizeof(p));
	p.lock = lock;
	p.control_port = lock == FW_OUTER ? control_port : 0;
	p.reject = p.log = p.ipv6 = true;
	build(&b, FW_NF_INET);
}
