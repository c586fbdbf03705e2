/* SPDX-License-Identifier: GPL-2.0-or-later
 * install.c - finds out what the kernel can do and puts the table there, in one atomic batch.  See fw.h.
 * Runs as root of the network namespace, before anything of the run does; its only input is the kernel and /proc. */
#include <assert.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firewall/net.h"
#include "firewall/nl.h"
#include "firewall/table.h"

#define COUNT_TABLE "agenttwin-count" /* of the two-step installation; gone in the batch that brings the real one */
#define HEARTBEATS 3

/* ---- features ------------------------------------------------------------------------------------------------------- */

enum feature { F_BATCH, F_TABLE, F_CHAIN, F_RESET, F_PROHIBIT, F_LOG, F_CT, FEATURES };

struct features {
	uint8_t what[32][2]; /* by message index: family's place, enum feature */
	uint32_t count;
	int err[3][FEATURES]; /* positive errno, 0 works; by family: inet, ip, ip6 */
	int batch_err;
};
static const enum fw_nfproto families[3] = { FW_NF_INET, FW_NF_IP, FW_NF_IP6 };

static void
note(struct features *x, unsigned family, enum feature what)
{
	assert(x->count < 32);
	x->what[x->count][0] = (uint8_t)family;
	x->what[x->count++][1] = (uint8_t)what;
}

static int
probe_rule(struct fw_nl *n, struct features *x, unsigned family, enum feature what, enum fw_op_kind kind)
{
	struct fw_expr exprs[FW_EXPRS_MAX];
	struct fw_rule rule;

	memset(&rule, 0, sizeof(rule));
	if (what == F_RESET)
		rule.ops[rule.ops_len++].kind = FW_OP_TCP;
	rule.ops[rule.ops_len].kind = (uint8_t)kind;
	if (kind == FW_OP_LOG)
		rule.ops[rule.ops_len].u.value = FW_LOG_GROUP;
	rule.ops_len++;
	note(x, family, what);
	return fw_encode_rule(n, families[family], FW_TABLE, "probe", exprs,
			      fw_rule_expand(&rule, families[family], exprs), NLM_F_ACK);
}

static int
probe_ack(void *arg, uint32_t index, int err)
{
	struct features *x = arg;

	if (index == 0) {
		x->batch_err = err; /* the batch itself was refused: nothing else will be answered */
		return err ? -err : 0;
	}
	if (index <= x->count)
		x->err[x->what[index - 1][0]][x->what[index - 1][1]] = err;
	return 0;
}

/* One batch tries everything in every family and is aborted on purpose by its last message, so nothing of it ever
 * exists.  The kernel goes on after an error and answers each message. */
static int
probe_features(struct fw_lock *l, struct features *x, struct fw_failure *f)
{
	static const struct {
		enum feature what;
		enum fw_op_kind kind;
	} rules[] = {
		{ F_RESET, FW_OP_RESET },
		{ F_PROHIBIT, FW_OP_PROHIBIT },
		{ F_LOG, FW_OP_LOG },
		{ F_CT, FW_OP_ESTABLISHED },
	};
	struct fw_nl n;
	int r;

	memset(x, 0, sizeof(*x));
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < FEATURES; k++)
			x->err[i][k] = EOPNOTSUPP; /* until the kernel says that it works */
	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	fw_nl_batch_begin(&n);
	for (unsigned i = 0; i < 3; i++) {
		note(x, i, F_TABLE);
		if ((r = fw_encode_table(&n, NFT_MSG_NEWTABLE, families[i], FW_TABLE,
					 NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK)) < 0)
			goto out;
		note(x, i, F_CHAIN);
		if ((r = fw_encode_chain(&n, families[i], FW_TABLE, "probe", -1, 0, 0, NLM_F_ACK)) < 0)
			goto out;
		for (unsigned k = 0; k < sizeof(rules) / sizeof(rules[0]); k++)
			if ((r = probe_rule(&n, x, i, rules[k].what, rules[k].kind)) < 0)
				goto out;
	}
	r = fw_encode_rule(&n, FW_NF_IP, FW_TABLE, "no such chain", NULL, 0, NLM_F_ACK);
	if (r < 0)
		goto out;
	fw_nl_batch_end(&n);
	r = fw_nl_talk(&n, NULL, probe_ack, x);
out:
	if (r == -EPERM)
		return fw_fail(
			f, "features", EPERM,
			"no permission to change the firewall: CAP_NET_ADMIN in this network namespace is needed");
	if (r < 0 && x->batch_err != 0)
		return fw_fail(f, "features", -r,
			       "the kernel has no nf_tables (CONFIG_NF_TABLES), so nothing can be run here");
	return r < 0 ? fw_fail(f, "features", -r, "asking the kernel for its firewall features failed") : 0;
}

static bool
has(const struct features *x, const struct fw_params *p, enum feature what)
{
	if (p->family == FW_INET)
		return x->err[0][what] == 0;
	return x->err[1][what] == 0 && (!p->ipv6 || x->err[2][what] == 0);
}

static int
choose_features(struct fw_params *p, const struct features *x, struct fw_failure *f)
{
	for (unsigned i = 0; i < 3; i++)
		if (x->err[i][F_TABLE] == EEXIST)
			return fw_fail(f, "features", EEXIST,
				       "a table named " FW_TABLE
				       " exists already and is not ours; remove it or use a fresh sandbox");
	p->family = x->err[0][F_TABLE] == 0 && x->err[0][F_CHAIN] == 0 ? FW_INET : FW_SPLIT;
	if (p->family == FW_SPLIT) {
		if (x->err[1][F_TABLE] != 0 || x->err[1][F_CHAIN] != 0)
			return fw_fail(f, "features", x->err[1][F_TABLE] ? x->err[1][F_TABLE] : x->err[1][F_CHAIN],
				       "nf_tables has neither inet nor ip tables here");
		/* The dangerous case: IPv4 would be closed and IPv6 open. */
		if (p->ipv6 && (x->err[2][F_TABLE] != 0 || x->err[2][F_CHAIN] != 0))
			return fw_fail(f, "features", x->err[2][F_TABLE] ? x->err[2][F_TABLE] : x->err[2][F_CHAIN],
				       "the kernel has IPv6 but nf_tables has no ip6 tables, so IPv6 would stay open");
	}
	p->reject = has(x, p, F_RESET) && has(x, p, F_PROHIBIT);
	p->log = has(x, p, F_LOG);
	if (p->control_port != 0 && p->pinned_len == 0 && !has(x, p, F_CT))
		return fw_fail(
			f, "features", EOPNOTSUPP,
			"the control connection cannot be pinned and the kernel has no connection tracking (ct)");
	return 0;
}

/* ---- two steps ------------------------------------------------------------------------------------------------------ */

static int
encode_count_rule(struct fw_nl *n, const struct fw_lock *l, enum fw_nfproto nfproto, bool in, uint16_t ack)
{
	struct fw_expr exprs[FW_EXPRS_MAX];
	struct fw_rule rule;

	memset(&rule, 0, sizeof(rule));
	rule.ops_len = 3;
	rule.ops[0].kind = in ? FW_OP_DPORT : FW_OP_SPORT;
	rule.ops[0].protocol = 6;
	rule.ops[0].port = l->params.control_port;
	rule.ops[1].kind = FW_OP_ESTABLISHED;
	rule.ops[2].kind = FW_OP_COUNTER;
	return fw_encode_rule(n, nfproto, COUNT_TABLE, in ? "input" : "output", exprs,
			      fw_rule_expand(&rule, nfproto, exprs), ack);
}

/* A table that accepts everything and counts the control connection's packets, so that tracking learns of it. */
static int
install_count(struct fw_lock *l, struct fw_failure *f)
{
	enum fw_nfproto tables[2];
	unsigned tables_len = fw_ruleset_tables(&l->params, tables);
	struct fw_nl n;
	int r = 0;

	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	fw_nl_batch_begin(&n);
	for (unsigned i = 0; i < tables_len && r == 0; i++) {
		if ((r = fw_encode_table(&n, NFT_MSG_NEWTABLE, tables[i], COUNT_TABLE, NLM_F_CREATE | NLM_F_EXCL)) <
			    0 ||
		    (r = fw_encode_chain(&n, tables[i], COUNT_TABLE, "input", 1, FW_PRIORITY_LATE, 1, 0)) < 0 ||
		    (r = fw_encode_chain(&n, tables[i], COUNT_TABLE, "output", 3, FW_PRIORITY_LATE, 1, 0)) < 0 ||
		    (r = encode_count_rule(&n, l, tables[i], true, 0)) < 0)
			break;
		r = encode_count_rule(&n, l, tables[i], false, NLM_F_ACK);
	}
	fw_nl_batch_end(&n);
	if (r == 0)
		r = fw_nl_talk(&n, NULL, NULL, NULL);
	return r < 0 ? fw_fail(f, "install", -r, "first step (counting the control connection) was refused") : 0;
}

struct count {
	uint64_t in, out;
};

static int
count_rule(void *arg, const struct nlmsghdr *h)
{
	struct count *c = arg;
	struct nftnl_rule *r = nftnl_rule_alloc();
	struct nftnl_expr_iter *it;
	struct nftnl_expr *x;
	const char *chain;

	if (!r)
		return -ENOMEM;
	if (nftnl_rule_nlmsg_parse(h, r) == 0 && nftnl_rule_is_set(r, NFTNL_RULE_TABLE) &&
	    strcmp(nftnl_rule_get_str(r, NFTNL_RULE_TABLE), COUNT_TABLE) == 0 && (it = nftnl_expr_iter_create(r))) {
		chain = nftnl_rule_get_str(r, NFTNL_RULE_CHAIN);
		while ((x = nftnl_expr_iter_next(it)))
			if (strcmp(nftnl_expr_get_str(x, NFTNL_EXPR_NAME), "counter") == 0)
				*(chain[0] == 'i' ? &c->in : &c->out) += nftnl_expr_get_u64(x, NFTNL_EXPR_CTR_PACKETS);
		nftnl_expr_iter_destroy(it);
	}
	nftnl_rule_free(r);
	return 0;
}

static int
read_count(struct fw_lock *l, struct count *out)
{
	struct fw_nl n;

	memset(out, 0, sizeof(*out));
	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	(void)fw_nl_nft(&n, NFT_MSG_GETRULE, 0, NLM_F_DUMP);
	return fw_nl_talk(&n, count_rule, NULL, out);
}

static void
sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* Each heartbeat must raise both counters: other connections to the port may move them too, hence several and a second
 * more.  nf_conntrack_tcp_loose=0 keeps them still: named, because nobody would guess it. */
static int
wait_tracked(struct fw_lock *l, struct fw_failure *f)
{
	struct count before, after;
	int r;

	for (int beat = 0; beat < HEARTBEATS; beat++) {
		if ((r = read_count(l, &before)) < 0 || (r = l->heartbeat(l->heartbeat_arg)) < 0)
			return fw_fail(f, "install", -r, "a heartbeat over the control connection failed");
		for (int tries = 0;; tries++) {
			if ((r = read_count(l, &after)) < 0)
				return fw_fail(f, "install", -r, "reading the control connection's counters failed");
			if (after.in > before.in && after.out > before.out)
				break;
			if (tries == 40)
				return fw_fail(f, "install", ETIMEDOUT,
					       "connection tracking does not see the control connection; "
					       "net.netfilter.nf_conntrack_tcp_loose must be 1");
			sleep_ms(50);
		}
	}
	sleep_ms(1000);
	return 0;
}

/* ---- installing ----------------------------------------------------------------------------------------------------- */

static int
install_table(struct fw_lock *l, bool two_steps, struct fw_failure *f)
{
	enum fw_nfproto tables[2];
	unsigned tables_len = fw_ruleset_tables(&l->params, tables);
	static struct fw_ruleset rs; /* too large for the stack */
	struct fw_nl n;
	int r = 0;

	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	fw_nl_batch_begin(&n);
	for (unsigned i = 0; i < tables_len && two_steps && r == 0; i++)
		r = fw_encode_table(&n, NFT_MSG_DELTABLE, tables[i], COUNT_TABLE, 0);
	for (unsigned i = 0; i < tables_len && r == 0; i++) {
		fw_ruleset_build(&l->params, tables[i], &rs);
		r = fw_encode_ruleset(&n, &rs);
	}
	fw_nl_batch_end(&n);
	if (r == 0)
		r = fw_nl_talk(&n, NULL, NULL, NULL);
	if (r == -EEXIST)
		return fw_fail(f, "install", EEXIST, "a table named " FW_TABLE " exists already and is not ours");
	if (r < 0)
		return fw_fail(f, "install", -r, "the kernel refused the ruleset (message %lu of the batch)",
			       (unsigned long)n.failed);
	return 0;
}

static int
read_generation(void *arg, const struct nlmsghdr *h)
{
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a))
		if (a.type == NFTA_GEN_ID && fw_attr_be32(&a, arg))
			return 0;
	return -EPROTO;
}

int
fw_generation(struct fw_lock *l, uint32_t *out)
{
	struct fw_nl n;

	fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
	(void)fw_nl_nft(&n, NFT_MSG_GETGEN, 0, 0);
	return fw_nl_talk(&n, read_generation, NULL, out);
}

int
fw_lock_init(struct fw_lock *l, const struct fw_params *want, struct fw_failure *f)
{
	memset(l, 0, sizeof(*l));
	l->params = *want;
	l->watch_fd = l->route_fd = l->log_fd = -1;
	l->nl_fd = fw_nl_open(NETLINK_NETFILTER, 0, 1 << 20);
	if (l->nl_fd >= 0)
		return 0;
	if (l->nl_fd == -EPROTONOSUPPORT || l->nl_fd == -EAFNOSUPPORT)
		return fw_fail(f, "features", -l->nl_fd,
			       "the kernel has no netfilter netlink, so nothing can be run here");
	return fw_fail(f, "features", -l->nl_fd, "opening a netfilter socket failed");
}

static int
see_table(void *arg, const struct nlmsghdr *h)
{
	struct fw_attrs it;
	struct fw_attr a;

	fw_attrs_of(&it, h, sizeof(struct nfgenmsg));
	while (fw_attr_next(&it, &a))
		if (a.type == NFTA_TABLE_NAME && fw_attr_is(&a, FW_TABLE))
			*(bool *)arg = true;
	return 0;
}

/* In whatever family: two tables of the name would make the evidence ambiguous. */
static int
check_absent(struct fw_lock *l, struct fw_failure *f)
{
	bool exists = false;
	struct fw_nl n;
	int r = -EINTR;

	for (int tries = 0; tries < 8 && r == -EINTR; tries++) {
		fw_nl_begin(&n, l->nl_fd, &l->seq, l->space, sizeof(l->space));
		(void)fw_nl_nft(&n, NFT_MSG_GETTABLE, 0, NLM_F_DUMP);
		r = fw_nl_talk(&n, see_table, NULL, &exists);
	}
	if (r == -EPERM || r == -EOPNOTSUPP || r == -EINVAL)
		return 0; /* the batch will be answered better */
	if (r < 0)
		return fw_fail(f, "features", -r, "listing the tables failed");
	return exists ? fw_fail(f, "features", EEXIST,
				"a table named " FW_TABLE " exists already and is not ours; "
				"remove it or use a fresh sandbox")
		      : 0;
}

/* All that a complete kernel has, tried for real: one accepted batch says that every feature is there, and costs nothing.
 * (A batch that is aborted, as probing does, waits for a grace period: 8 ms.)  0, or -ENOTSUP with nothing of it left. */
static int
install_whole(struct fw_lock *l, struct fw_failure *f)
{
	int r;

	l->params.family = FW_INET;
	l->params.reject = l->params.log = true;
	if ((r = fw_log_open(l, f)) == 0 && (r = install_table(l, false, f)) == 0)
		return 0;
	if (l->log_fd >= 0)
		close(l->log_fd);
	l->log_fd = -1;
	switch (-r) {
	case ENOENT: /* an expression */
	case EINVAL: /* a netlink subsystem */
	case EOPNOTSUPP:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
		return -ENOTSUP;
	default:
		return r; /* the kernel did not say that it lacks something */
	}
}

static int
install_probed(struct fw_lock *l, bool two_steps, struct fw_failure *f)
{
	struct features x;
	int r;

	if ((r = probe_features(l, &x, f)) < 0 || (r = choose_features(&l->params, &x, f)) < 0)
		return r;
	if (two_steps) {
		if (!l->heartbeat)
			return fw_fail(f, "install", ENOTCONN,
				       "no connection is established on control port %u, and no heartbeat can be sent",
				       (unsigned)l->params.control_port);
		if ((r = install_count(l, f)) < 0 || (r = wait_tracked(l, f)) < 0)
			return r;
	}
	return (r = fw_log_open(l, f)) < 0 ? r : install_table(l, two_steps, f);
}

int
fw_lock_install(struct fw_lock *l, struct fw_failure *f)
{
	bool two_steps;
	int r;

	if ((r = fw_net_prepare(l, f)) < 0 || (r = fw_watch_open(l, f)) < 0 || (r = fw_net_observe(l, f)) < 0 ||
	    (r = check_absent(l, f)) < 0)
		return r;
	two_steps = l->params.control_port != 0 && l->params.pinned_len == 0;
	r = two_steps ? -ENOTSUP : install_whole(l, f);
	if (r == -ENOTSUP)
		r = install_probed(l, two_steps, f);
	if (r < 0 || (r = fw_readback(l, "readback", &l->generation, &l->handles, f)) < 0)
		return r;
	l->generation_seen = l->generation;
	l->installed = true;
	return 0;
}

void
fw_lock_wipe(struct fw_lock *l)
{
	int *fds[] = { &l->nl_fd, &l->watch_fd, &l->route_fd, &l->log_fd };

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	l->installed = false;
}
