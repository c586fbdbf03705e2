/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence.c - see evidence.h.
 *
 * Runs as: root, in the monitor.  Input: structs that firewall/ and the monitor filled.
 * A hostile sender gains nothing: there is none; names of interfaces, the one foreign text, are escaped like all text. */
#include "guest/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/plan.h"

static void
key_text(struct writer *w, const char *key, const char *value)
{
	write_format(w, "\"%s\":", key);
	json_text(w, value);
}

static void
key_u64(struct writer *w, const char *key, uint64_t value)
{
	write_format(w, "\"%s\":", key);
	json_u64(w, value);
}

static void
key_bool(struct writer *w, const char *key, bool value)
{
	write_format(w, "\"%s\":", key);
	json_bool(w, value);
}

static void
key_hex(struct writer *w, const char *key, const uint8_t digest[static 32])
{
	write_format(w, "\"%s\":", key);
	json_hex(w, digest, 32);
}

static void
comma(struct writer *w, bool more)
{
	if (more)
		write_text(w, ",");
}

static void
address(struct writer *w, const char *key, const struct fw_address *a)
{
	char text[46];

	fw_text_address(a, text);
	if (key)
		key_text(w, key, text);
	else
		json_text(w, text);
}

static void
params(struct writer *w, const struct fw_params *p)
{
	write_text(w, "\"params\":{");
	key_text(w, "family", p->family == FW_INET ? "inet" : "ip+ip6");
	write_text(w, ",");
	key_bool(w, "reject", p->reject);
	write_text(w, ",");
	key_bool(w, "log", p->log);
	write_text(w, ",");
	key_bool(w, "ipv6", p->ipv6);
	write_text(w, ",");
	key_u64(w, "uid_workflow", p->uid_workflow);
	write_text(w, ",");
	key_u64(w, "uid_twins", p->uid_twins);
	write_text(w, ",");
	key_u64(w, "control_port", p->control_port);
	write_text(w, ",\"closed\":[");
	for (unsigned i = 0; i < p->closed_len; i++) {
		comma(w, i > 0);
		write_format(w, "{\"protocol\":\"%s\",\"port\":%u}", p->closed[i].protocol == 17 ? "udp" : "tcp",
			     (unsigned)p->closed[i].port);
	}
	write_text(w, "],\"own\":[");
	for (unsigned i = 0; i < p->own_len; i++) {
		comma(w, i > 0);
		address(w, NULL, &p->own[i]);
	}
	write_text(w, "],\"pinned\":[");
	for (unsigned i = 0; i < p->pinned_len; i++) {
		comma(w, i > 0);
		write_text(w, "{");
		address(w, "peer", &p->pinned[i].peer);
		write_format(w, ",\"port\":%u}", (unsigned)p->pinned[i].peer_port);
	}
	write_text(w, "]}");
}

static void
errno_or_null(struct writer *w, int err)
{
	json_text(w, err ? errno_name(err) : NULL);
}

static void
probes(struct writer *w, const struct fw_lock *l, unsigned phase)
{
	write_text(w, "\"probes\":[");
	for (unsigned i = 0; i < l->probes_len[phase]; i++) {
		const struct fw_probe *p = &l->probes[phase][i];

		comma(w, i > 0);
		write_text(w, "{");
		key_text(w, "what", p->what);
		write_format(w, ",\"verdict\":\"%s\",\"packets\":%u,\"denied\":%u,\"escaped\":%u,\"errno\":",
			     fw_verdict_name(p->verdict), p->packets, p->denied, p->escaped);
		errno_or_null(w, p->err);
		write_text(w, "}");
	}
	write_text(w, "]");
}

static void
counters(struct writer *w, const struct fw_counters *c)
{
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "workflow", c->workflow },       { "twins", c->twins },   { "others", c->others },
		{ "kernel", c->kernel },           { "input", c->input },   { "forward", c->forward },
		{ "postrouting", c->postrouting }, { "closed", c->closed },
	};

	write_text(w, "\"counters\":{");
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		comma(w, i > 0);
		key_u64(w, all[i].name, all[i].value);
	}
	write_text(w, "}");
}

/* One of the two texts of a lock, with its digest; the length is negative when it could not be rendered. */
static void
text_and_digest(struct writer *w, const char *text, int len, const char *digest_key)
{
	uint8_t digest[32];

	if (len < 0) {
		write_format(w, "\"text\":null,\"%s\":null", digest_key);
		return;
	}
	sha256_of(text, (size_t)len, digest);
	key_text(w, "text", text);
	write_text(w, ",");
	key_hex(w, digest_key, digest);
}

static void
lock(struct writer *w, const struct fw_lock *l, unsigned phase)
{
	static char text[FW_TEXT_MAX];

	write_format(w, "{\"lock\":%d,\"kind\":\"%s\",", (int)l->params.lock,
		     l->params.lock == FW_OUTER ? "outer" : "inner");
	key_bool(w, "proved", phase ? l->proved_closing : l->proved_opening);
	write_text(w, ",");
	key_u64(w, "generation", l->generation);
	write_text(w, ",");
	text_and_digest(w, text, fw_text_script(&l->params, text, sizeof(text)), "text_sha256");
	write_text(w, ",\"binding\":{");
	text_and_digest(w, text, fw_text_binding(&l->params, text, sizeof(text)), "sha256");
	write_text(w, "},");
	params(w, &l->params);
	write_text(w, ",\"interfaces\":[");
	for (unsigned i = 0; i < l->interfaces_len; i++) {
		comma(w, i > 0);
		write_text(w, "{");
		key_text(w, "name", l->interfaces[i].name);
		write_format(w, ",\"index\":%u}", l->interfaces[i].index);
	}
	write_text(w, "],");
	probes(w, l, phase);
	write_text(w, ",");
	counters(w, &l->counters);
	write_text(w, ",");
	key_u64(w, "foreign_changes", l->foreign_changes);
	write_text(w, "}");
}

static void
drop(struct writer *w, const struct evidence *e)
{
	write_text(w, "\"drop\":{");
	key_u64(w, "uid", e->uid);
	write_text(w, ",");
	key_u64(w, "gid", e->gid);
	write_text(w, ",\"groups\":[],\"capabilities\":\"none\",\"no_new_privs\":true,\"regain\":\"refused\",");
	key_hex(w, "filter_sha256", e->filter);
	write_text(w, ",");
	key_hex(w, "filter_twins_sha256", e->filter_twins);
	write_text(w, ",\"attempts\":[");
	for (unsigned i = 0; i < e->attempts_len; i++) {
		comma(w, i > 0);
		write_text(w, "{");
		key_text(w, "what", e->attempts[i].what);
		write_text(w, ",");
		key_bool(w, "refused", e->attempts[i].refused);
		write_text(w, ",\"errno\":");
		errno_or_null(w, e->attempts[i].err);
		write_text(w, "}");
	}
	write_text(w, "]}");
}

static void
failure(struct writer *w, const struct fw_failure *f)
{
	write_text(w, "\"failure\":");
	if (!f) {
		write_text(w, "null");
		return;
	}
	write_text(w, "{");
	key_text(w, "step", f->step);
	write_text(w, ",");
	key_text(w, "errno", f->err ? errno_name(f->err) : "");
	write_text(w, ",");
	key_text(w, "text", f->text);
	write_text(w, "}");
}

void
evidence_firewall(struct writer *w, const struct evidence *e)
{
	bool inner = e->room->exists;

	write_u8(w, (uint8_t)e->phase);
	write_text(w, "{\"policy\":{");
	key_hex(w, "sha256", e->policy);
	write_text(w, "},");
	key_text(w, "mode", e->sandbox ? "sandbox" : "local");
	write_text(w, ",");
	key_bool(w, "inner_room", inner);
	write_text(w, inner ? ",\"namespaces\":[\"net\",\"pid\",\"mnt\",\"ipc\"]," : ",\"namespaces\":[],");
	key_text(w, "reason", inner ? NULL : e->room->reason);
	write_text(w, ",");
	key_text(w, "af_unix", e->af_unix ? "allowed" : "refused");
	write_text(w, ",\"locks\":[");
	for (unsigned i = 0; i < e->locks_len; i++) {
		comma(w, i > 0);
		lock(w, &e->locks[i], e->phase == 1 ? 0 : 1);
	}
	write_text(w, "],");
	if (e->sandbox)
		drop(w, e);
	else
		write_text(w, "\"drop\":null");
	write_text(w, ",");
	failure(w, e->failure);
	write_text(w, "}");
}

static const char *
owner_name(const struct fw_params *p, uint32_t uid)
{
	if (uid == p->uid_workflow)
		return "workflow";
	if (uid == p->uid_twins)
		return "twins";
	return uid == UINT32_MAX ? "none" : "other";
}

static const char *
protocol_name(uint8_t protocol)
{
	switch (protocol) {
	case 1:
		return "icmp";
	case 6:
		return "tcp";
	case 17:
		return "udp";
	case 58:
		return "icmpv6";
	default:
		return NULL;
	}
}

static void
denied_row(struct writer *w, const struct fw_lock *l, const struct fw_denied_row *r)
{
	const char *protocol = protocol_name(r->protocol);

	write_format(w, "{\"lock\":%d,\"family\":%u,\"protocol\":", (int)l->params.lock, (unsigned)r->family);
	if (protocol)
		json_text(w, protocol);
	else
		write_format(w, "\"%u\"", (unsigned)r->protocol);
	write_text(w, ",");
	address(w, "destination", &r->destination);
	write_format(w, ",\"port\":%u,\"uid\":", (unsigned)r->port);
	if (r->uid == UINT32_MAX)
		write_text(w, "null");
	else
		json_u64(w, r->uid);
	write_text(w, ",");
	key_text(w, "owner", owner_name(&l->params, r->uid));
	write_text(w, ",");
	key_u64(w, "count", r->count);
	write_text(w, ",");
	key_u64(w, "first_ms", r->first_ms);
	write_text(w, ",");
	key_u64(w, "last_ms", r->last_ms);
	write_text(w, "}");
}

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void
evidence_denied(struct writer *w, const struct fw_lock *locks, const struct fw_counters *base, unsigned locks_len)
{
	struct fw_counters t = { 0 };
	uint64_t recorded = 0, forward = 0, total;
	bool lossy = false, first = true;

	for (unsigned i = 0; i < locks_len; i++) {
		const struct fw_counters *c = &locks[i].counters, *b = &base[i];

		t.workflow += less(c->workflow, b->workflow);
		t.twins += less(c->twins, b->twins);
		t.others += less(c->others, b->others);
		t.kernel += less(c->kernel, b->kernel);
		t.postrouting += less(c->postrouting, b->postrouting);
		t.closed += less(c->closed, b->closed);
		t.forward += less(c->forward, b->forward);
		forward = less(c->forward, b->forward); /* of the lock around the workflow, the last one */
		lossy = lossy || locks[i].denied_lossy;
		for (unsigned k = 0; k < locks[i].denied_len; k++)
			recorded += locks[i].denied[k].count;
	}
	total = t.workflow + t.twins + t.others + t.postrouting + t.closed +
		t.forward; /* what is logged as well as counted */
	write_format(
		w,
		"{\"total\":{\"workflow\":%llu,\"twins\":%llu,\"others\":%llu,\"kernel\":%llu,\"postrouting\":%llu,\"closed\":%llu,\"forward\":%llu}",
		(unsigned long long)t.workflow, (unsigned long long)t.twins, (unsigned long long)t.others,
		(unsigned long long)t.kernel, (unsigned long long)t.postrouting, (unsigned long long)t.closed,
		(unsigned long long)forward);
	write_format(w, ",\"recorded\":%llu,\"unrecorded\":%llu,", (unsigned long long)recorded,
		     (unsigned long long)less(total, recorded));
	key_bool(w, "lossy", lossy);
	write_text(w, ",\"rows\":[");
	for (unsigned i = 0; i < locks_len; i++)
		for (unsigned k = 0; k < locks[i].denied_len; k++) {
			comma(w, !first);
			first = false;
			denied_row(w, &locks[i], &locks[i].denied[k]);
		}
	write_text(w, "]}");
}

void
evidence_hello(struct writer *w, int version, const uint8_t sha256[static 32])
{
	struct utsname u;

	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	write_format(w, "{\"version\":%d,\"guest\":{\"version\":\"" AGENTTWIN_VERSION "\",", version);
	key_hex(w, "sha256", sha256);
	write_text(w, "},");
	key_text(w, "kernel", u.release);
	write_text(w, ",");
	key_text(w, "arch", u.machine);
	write_text(w, ",\"node\":null,\"features\":[\"firewall\",\"inner-room\",\"http\"]}");
}

int
evidence_self(uint8_t sha256[static 32])
{
	static uint8_t buf[65536];
	struct sha256 hash;
	ssize_t n;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	sha256_init(&hash);
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			break;
		}
		sha256_add(&hash, buf, (size_t)n);
	}
	close(fd);
	sha256_get(&hash, sha256);
	return r;
}
