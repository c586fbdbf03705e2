/* SPDX-License-Identifier: GPL-2.0-or-later
 * prove.c - tries to get out, and believes only the counters.  See fw.h.
 * A child becomes the workflow (enter) and then does what it is told, one probe at a time; the parent, still root, reads
 * the counters between them.  The child's word is used for how many packets it caused, never for having been denied. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "firewall/nl.h"
#include "firewall/probe.h"
#include "firewall/table.h"

#define REPORT_MS 10000 /* a child that says nothing for so long is given up */
#define TCP 6u
#define UDP 17u
#define ICMP 1u
#define ICMP6 58u

/* ---- what is tried -------------------------------------------------------------------------------------------------- */

struct target {
	uint8_t protocol;
	const char *address;
	uint16_t port;
	const char *why;
};
static const struct target targets[] = {
	{ TCP, "192.0.2.1", 80, "documentation" },
	{ UDP, "192.0.2.1", 9, "documentation" },
	{ TCP, "203.0.113.9", 443, "documentation" },
	{ UDP, "203.0.113.9", 443, "documentation" },
	{ TCP, "198.51.100.53", 53, "resolver" },
	{ UDP, "198.51.100.53", 53, "resolver" },
	{ TCP, "2001:db8::1", 443, "documentation" },
	{ UDP, "2001:db8::1", 443, "documentation" },
	{ TCP, "2001:db8::53", 53, "resolver" },
	{ UDP, "2001:db8::53", 53, "resolver" },
	{ TCP, "169.254.169.254", 80, "metadata" },
	{ UDP, "169.254.169.254", 80, "metadata" },
	{ TCP, "100.100.100.200", 80, "metadata" },
	{ TCP, "168.63.129.16", 80, "metadata" },
	{ TCP, "192.0.0.192", 80, "metadata" },
	{ TCP, "fd00:ec2::254", 80, "metadata" },
	{ TCP, "fd20:ce::254", 80, "metadata" },
	{ TCP, "fd00:c1::a9fe:a9fe", 80, "metadata" },
	{ TCP, "fd00:42::42", 80, "metadata" },
	{ UDP, "fd00:ec2::254", 80, "metadata" },
	{ TCP, "::ffff:169.254.169.254", 80, "metadata, mapped" },
	{ TCP, "64:ff9b::a9fe:a9fe", 80, "metadata, NAT64" },
	{ TCP, "2002:a9fe:a9fe::1", 80, "metadata, 6to4" },
	{ UDP, "224.0.0.251", 5353, "multicast" },
	{ ICMP, "203.0.113.9", 0, "ping" },
	{ ICMP6, "2001:db8::1", 0, "ping" },
};

struct proof {
	struct fw_lock *l;
	struct fw_probe *probes;
	uint8_t *probes_len;
	int fd; /* to the child */
	struct fw_counters before;
	int err; /* the proof itself failed: -errno */
};

static const char *
protocol_name(unsigned protocol)
{
	return protocol == TCP ? "tcp" : protocol == UDP ? "udp" : "icmp";
}

static int
ask(struct proof *p, const struct fw_order *o, struct fw_report *r)
{
	struct pollfd f = { p->fd, POLLIN, 0 };
	ssize_t len;
	int n;

	if (o && send(p->fd, o, sizeof(*o), MSG_NOSIGNAL) != sizeof(*o))
		return -EPIPE;
	do
		n = poll(&f, 1, REPORT_MS);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	len = n < 0 ? -1 : recv(p->fd, r, sizeof(*r), MSG_DONTWAIT);
	return len == sizeof(*r) ? 0 : -EPIPE; /* the child died */
}

/* IPv6 that is in the kernel, but has no address on any device and could not be given one. */
static bool
is_switched_off(const struct fw_lock *l, const struct fw_order *o, int err)
{
	return o->to.family == 6 && l->ipv6_disabled && (err == EADDRNOTAVAIL || err == ENETUNREACH);
}

static enum fw_verdict
judge_out(const struct fw_lock *l, const struct fw_order *o, const struct fw_report *r, uint32_t denied,
	  uint32_t escaped)
{
	if (escaped > 0 || (r->through && r->stage == STAGE_SEND))
		return FW_FAIL;
	if (r->stage == STAGE_SOCKET) {
		if (denied > 0)
			return FW_UNKNOWN;
		/* Pings need a socket that the filter or the kernel refuses; IPv6 may not exist. */
		if (o->protocol == ICMP || o->protocol == ICMP6 ||
		    (o->to.family == 6 && !l->params.ipv6 && r->err == EAFNOSUPPORT))
			return FW_ABSENT;
		return FW_UNKNOWN;
	}
	if (r->packets == 0 && denied == 0 && is_switched_off(l, o, r->err))
		return FW_ABSENT;
	return r->packets > 0 && denied == r->packets ? FW_PASS : FW_UNKNOWN;
}

static enum fw_verdict
judge(const struct proof *p, const struct fw_order *o, const struct fw_report *r, struct fw_probe *probe)
{
	const struct fw_counters *a = &p->before, *b = &p->l->counters;
	uint64_t closed = b->closed - a->closed, denied = b->workflow - a->workflow,
		 escaped = b->postrouting - a->postrouting;

	probe->packets = r->packets;
	probe->denied = (uint32_t)(o->kind == PROBE_CLOSED ? closed : denied);
	probe->escaped = (uint32_t)escaped;
	probe->err = r->err;
	switch ((enum fw_probe_kind)o->kind) {
	case PROBE_OUT:
		/* Closed ports are asked for by processes of others too: a packet that is counted there is not counted here. */
		return judge_out(p->l, o, r, probe->denied, probe->escaped);
	case PROBE_CLOSED:
		return denied > 0 ? FW_UNKNOWN : judge_out(p->l, o, r, probe->denied, probe->escaped);
	case PROBE_LOOPBACK:
		if (r->err == 0)
			return denied == 0 && escaped == 0 ? FW_PASS : FW_UNKNOWN;
		return (o->to.family == 6 && !p->l->params.ipv6 && r->err == EAFNOSUPPORT) ||
				       is_switched_off(p->l, o, r->err)
			       ? FW_ABSENT
			       : FW_UNKNOWN;
	case PROBE_END:
		break;
	}
	return FW_UNKNOWN;
}

static void
try(struct proof *p, const struct fw_order *o, const char *why)
{
	struct fw_probe *probe;
	struct fw_report r;
	char address[46];

	if (p->err < 0)
		return;
	if (*p->probes_len == FW_PROBES_MAX) {
		p->err = -EMSGSIZE;
		return;
	}
	probe = &p->probes[(*p->probes_len)++];
	memset(probe, 0, sizeof(*probe));
	probe->verdict = FW_UNKNOWN;
	fw_text_address(&o->to, address);
	snprintf(probe->what, sizeof(probe->what), "%s%c %s%s%s%s:%u %.16s", protocol_name(o->protocol),
		 o->to.family == 4 ? '4' : '6', o->to.family == 6 ? "[" : "", address, o->scope ? "%dev" : "",
		 o->to.family == 6 ? "]" : "", (unsigned)o->port, why);
	if ((p->err = ask(p, o, &r)) < 0 || (p->err = fw_counters_read(p->l)) < 0)
		return;
	probe->verdict = judge(p, o, &r, probe);
	p->before = p->l->counters;
}

static struct fw_order
order_of(const struct fw_lock *l, enum fw_probe_kind kind, unsigned protocol, const struct fw_address *to,
	 uint16_t port)
{
	struct fw_order o;

	memset(&o, 0, sizeof(o));
	o.kind = (uint8_t)kind;
	o.protocol = (uint8_t)protocol;
	o.to = *to;
	o.port = port;
	/* Where nothing answers, one SYN has been judged by the time connect returns. */
	o.wait_ms = l->params.reject ? FW_ANSWER_MS : 0;
	return o;
}

static void
try_both(struct proof *p, enum fw_probe_kind kind, const struct fw_address *to, uint16_t port, uint32_t scope,
	 const char *why)
{
	static const uint8_t protocols[] = { TCP, UDP };
	struct fw_order o;

	for (unsigned i = 0; i < sizeof(protocols); i++) {
		o = order_of(p->l, kind, protocols[i], to, port);
		o.scope = scope;
		try(p, &o, why);
	}
}

static void
try_loopback(struct proof *p)
{
	static const struct fw_address v4 = { 4, { 127, 0, 0, 1 } }, v6 = { 6, { [15] = 1 } },
				       forwarder = { 4, { 127, 0, 0, 11 } };
	const struct fw_params *params = &p->l->params;
	struct fw_order o;
	unsigned closed = 0;

	try_both(p, PROBE_LOOPBACK, &v4, 0, 0, "loopback");
	try_both(p, PROBE_LOOPBACK, &v6, 0, 0, "loopback");
	if (params->lock != FW_OUTER)
		return;
	try_both(p, PROBE_OUT, &forwarder, 53, 0, "forwarder");
	/* The first ones over IPv4, the very first over IPv6; the read-back has compared the rest. */
	for (unsigned i = 0; i < params->closed_len && closed < 8; i++, closed++) {
		o = order_of(p->l, PROBE_CLOSED, params->closed[i].protocol, &v4, params->closed[i].port);
		try(p, &o, "closed port");
		if (i > 0)
			continue;
		o.to = v6;
		try(p, &o, "closed port");
	}
}

static void
try_all(struct proof *p)
{
	static const struct fw_address scoped = { 6, { 0xfe, 0x80, [15] = 1 } },
				       group = { 6, { 0xff, 2, [15] = 0xfb } };
	static const struct fw_address outside = { 4, { 198, 51, 100, 1 } };
	const struct fw_lock *l = p->l;
	struct fw_address to;
	struct fw_order o;

	try_loopback(p);
	for (unsigned i = 0; i < 2; i++)
		if (l->gateway[i].family &&
		    (i == 0 || !(l->gateway[i].bytes[0] == 0xfe && l->gateway[i].bytes[1] >> 6 == 2)))
			try_both(p, PROBE_OUT, &l->gateway[i], 53, 0, "gateway");
	for (unsigned i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		memset(&to, 0, sizeof(to));
		to.family = strchr(targets[i].address, ':') ? 6 : 4;
		(void)inet_pton(to.family == 4 ? AF_INET : AF_INET6, targets[i].address, to.bytes);
		o = order_of(l, PROBE_OUT, targets[i].protocol, &to, targets[i].port);
		try(p, &o, targets[i].why);
	}
	if (l->params.ipv6 && l->gateway_index) {
		/* Needs no route: what global IPv6 destinations may lack. */
		try_both(p, PROBE_OUT, &scoped, 443, l->gateway_index, "link-local");
		o = order_of(l, PROBE_OUT, UDP, &group, 5353);
		o.scope = l->gateway_index;
		try(p, &o, "multicast");
	}
	o = order_of(l, PROBE_OUT, UDP, &outside, 9);
	o.by_lo = true; /* leaves "by lo" without being for loopback */
	try(p, &o, "by device lo");
}

/* ---- the verdict ---------------------------------------------------------------------------------------------------- */

static int
conclude(const struct proof *p, struct fw_failure *f)
{
	static const enum fw_verdict bad[] = { FW_FAIL, FW_UNKNOWN };

	if (p->err < 0)
		return fw_fail(f, "prove", -p->err,
			       p->err == -EPERM                           ? "the ruleset changed under the proof"
			       : p->err == -EPIPE || p->err == -ETIMEDOUT ? "the proof's child died or fell silent"
									  : "the proof could not be finished");
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < *p->probes_len; i++) {
			const struct fw_probe *b = &p->probes[i];

			if (b->verdict != bad[k])
				continue;
			(void)fw_fail(f, "prove", b->err, "%s: %s (sent %lu, denied %lu, got out %lu)",
				      fw_verdict_name(b->verdict), b->what, (unsigned long)b->packets,
				      (unsigned long)b->denied, (unsigned long)b->escaped);
			return bad[k] == FW_FAIL ? -EPERM : -EPROTO;
		}
	return 0;
}

static void
reap(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int
run_child(struct proof *p, fw_enter_fn *enter, void *arg, struct fw_failure *f)
{
	struct fw_order end = { .kind = PROBE_END };
	struct fw_report r;
	int pair[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fw_fail(f, "prove", errno, "making a channel to the proof's child failed");
	pid = fork();
	if (pid < 0) {
		err = errno;
		close(pair[0]);
		close(pair[1]);
		return fw_fail(f, "prove", err, "starting the proof's child failed");
	}
	if (pid == 0) {
		close(pair[0]);
		fw_probe_child(pair[1], enter, arg);
	}
	close(pair[1]);
	p->fd = pair[0];
	p->err = ask(p, NULL, &r);
	if (p->err == 0 && r.err != 0) {
		err = fw_fail(f, "prove", r.err, "the proof's child could not become the workflow");
	} else {
		if (p->err == 0)
			try_all(p);
		err = conclude(p, f);
		(void)send(p->fd, &end, sizeof(end), MSG_NOSIGNAL);
	}
	close(p->fd);
	reap(pid);
	return err;
}

int
fw_lock_prove(struct fw_lock *l, unsigned phase, fw_enter_fn *enter, void *arg, struct fw_failure *f)
{
	struct proof p = { .l = l, .probes = l->probes[phase != 0], .probes_len = &l->probes_len[phase != 0] };
	int r, err;

	*p.probes_len = 0;
	if ((r = fw_counters_read(l)) < 0)
		return fw_fail(f, "prove", -r, "reading the counters failed");
	p.before = l->counters;
	if (phase != 0)
		l->before_closing = l->counters;
	r = run_child(&p, enter, arg, f);
	if (phase == 0)
		l->baseline = l->counters;
	err = fw_log_discard(l);
	if (r == 0 && err < 0)
		return fw_fail(f, "prove", -err, "throwing the proof's own records away failed");
	if (r == 0 && phase == 0)
		l->proved_opening = true;
	else if (r == 0)
		l->proved_closing = true;
	return r;
}

int
fw_lock_close_verify(struct fw_lock *l, fw_enter_fn *enter, void *arg, struct fw_failure *f)
{
	uint32_t generation;
	uint64_t handles;
	int r;

	/* What the run left in the log belongs to the run; the proof's own records do not. */
	while ((r = fw_lock_denied(l)) > 0)
		;
	if (r < 0)
		return fw_fail(f, "closing", -r, "reading the log of denied packets failed");
	/* A change of others between the two is explained by the next look; ours ends it. */
	for (int tries = 0;; tries++) {
		if ((r = fw_lock_watch(l, f)) < 0 || (r = fw_readback(l, "closing", &generation, &handles, f)) < 0)
			return r;
		if (generation == l->generation && handles == l->handles)
			break;
		if (tries == 3)
			return fw_fail(f, "closing", EPERM, "the ruleset changed while it was being verified");
	}
	if ((r = fw_lock_prove(l, 1, enter, arg, f)) < 0)
		return r;
	/* Nothing may have moved under the proof either. */
	return (r = fw_lock_watch(l, f)) < 0 ? r : 0;
}
