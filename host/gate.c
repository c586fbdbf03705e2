/* SPDX-License-Identifier: GPL-2.0-or-later
 * gate.c - see gate.h.  The rule for every parameter: it may differ from the template only where that denies more, and the
 * rules that the parameters give must be, byte for byte, the text that the guest says it read back from the kernel. */
#include "host/gate.h"

#include <arpa/inet.h>
#include <cJSON.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firewall/fw.h"
#include "host/json.h"
#include "proto/frame.h"

static int __attribute__((format(printf, 3, 4))) refuse(char *why, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, 320, format, ap);
	va_end(ap);
	return err;
}

int
gate_policy(uint16_t control_port, uint8_t digest[static 32])
{
	size_t size = 2 * FW_TEXT_MAX;
	char *text = malloc(size);
	int n;

	if (!text)
		return -ENOMEM;
	n = fw_text_policy_all(control_port, text, size);
	if (n > 0)
		sha256_of(text, (size_t)n, digest);
	free(text);
	return n > 0 ? 0 : n < 0 ? n : -EINVAL;
}

static bool
digest_is(const char *text, const char *want)
{
	uint8_t raw[32];
	char hex[65];

	sha256_of(text, strlen(text), raw);
	sha256_hex(raw, hex);
	return json_is_sha256(want) && strcmp(hex, want) == 0;
}

/* Every parameter below is a JSON boolean that must be there: an absent one is not "false". */
static bool
get_bool(const cJSON *o, const char *name, bool *out)
{
	const cJSON *v = json_get(o, name);

	*out = cJSON_IsTrue(v);
	return cJSON_IsBool(v);
}

static bool
get_address(const cJSON *v, struct fw_address *out)
{
	char back[46];

	memset(out, 0, sizeof(*out));
	if (!cJSON_IsString(v))
		return false;
	if (inet_pton(AF_INET, v->valuestring, out->bytes) == 1)
		out->family = 4;
	else if (inet_pton(AF_INET6, v->valuestring, out->bytes) == 1)
		out->family = 6;
	else
		return false;
	fw_text_address(out, back); /* one spelling only, so that texts can be compared */
	return strcmp(back, v->valuestring) == 0;
}

/* An own address is accepted on the device lo alone, so it cannot lead out; still refused are those that no interface of
 * a sandbox may have. */
static bool
own_is_fit(const struct fw_address *a)
{
	static const uint8_t zero[16];
	const uint8_t *b = a->bytes;

	if (a->family == 4)
		return b[0] != 0 && b[0] != 127 && b[0] < 224 &&
		       !(b[0] == 169 && b[1] == 254 && b[2] == 169 && b[3] == 254);
	return memcmp(b, zero, 15) != 0 && b[0] != 0xff && !(b[0] == 0xfd && b[1] == 0 && b[2] == 0x0e && b[3] == 0xc2);
}

static int
take_own(struct fw_params *p, const cJSON *list, char *why)
{
	const cJSON *v;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)FW_OWN_MAX)
		return refuse(why, -EPROTO, "params.own is not a list of at most %u addresses", FW_OWN_MAX);
	cJSON_ArrayForEach(v, list)
	{
		if (!get_address(v, &p->own[p->own_len]))
			return refuse(why, -EPROTO, "params.own holds something that is not an address");
		if (!own_is_fit(&p->own[p->own_len]))
			return refuse(why, -EPERM, "params.own holds %s, which no sandbox may own", v->valuestring);
		p->own_len++;
	}
	return 0;
}

static int
take_closed(struct fw_params *p, const cJSON *list, char *why)
{
	const cJSON *v;
	const char *protocol;
	uint64_t port;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)FW_CLOSED_MAX)
		return refuse(why, -EPROTO, "params.closed is not a list of at most %u ports", FW_CLOSED_MAX);
	cJSON_ArrayForEach(v, list)
	{
		protocol = json_get_text(v, "protocol");
		if (!protocol || (strcmp(protocol, "tcp") != 0 && strcmp(protocol, "udp") != 0) ||
		    !json_get_u64(v, "port", 65535, &port) || port == 0)
			return refuse(why, -EPROTO, "params.closed holds something that is not a port");
		p->closed[p->closed_len].protocol = protocol[0] == 't' ? IPPROTO_TCP : IPPROTO_UDP;
		p->closed[p->closed_len++].port = (uint16_t)port;
	}
	return 0;
}

static int
take_pinned(struct fw_params *p, const cJSON *list, char *why)
{
	const cJSON *v;
	uint64_t port;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)FW_PINNED_MAX)
		return refuse(why, -EPROTO, "params.pinned is not a list of at most %u connections", FW_PINNED_MAX);
	cJSON_ArrayForEach(v, list)
	{
		struct fw_pinned *pin = &p->pinned[p->pinned_len];

		if (!get_address(json_get(v, "peer"), &pin->peer) || !json_get_u64(v, "port", 65535, &port) ||
		    port == 0)
			return refuse(why, -EPROTO, "params.pinned holds something that is not a connection");
		pin->peer_port = (uint16_t)port;
		p->pinned_len++;
	}
	if (p->pinned_len && (p->control_port == 0 || p->lock == FW_INNER))
		return refuse(why, -EPERM, "params.pinned lets connections through where no control port exists");
	return 0;
}

static int
take_params(struct fw_params *p, const struct gate_want *want, enum fw_lock_kind lock, const cJSON *o, char *why)
{
	uint16_t control = lock == FW_OUTER ? want->control_port : 0;
	const char *family = json_get_text(o, "family");
	uint64_t workflow, twins, port;
	int r;

	memset(p, 0, sizeof(*p));
	p->lock = lock;
	if (!family || (strcmp(family, "inet") != 0 && strcmp(family, "ip+ip6") != 0))
		return refuse(why, -EPERM, "params.family does not cover both IPv4 and IPv6");
	p->family = strcmp(family, "inet") == 0 ? FW_INET : FW_SPLIT;
	if (!get_bool(o, "reject", &p->reject) || !get_bool(o, "log", &p->log) || !get_bool(o, "ipv6", &p->ipv6))
		return refuse(why, -EPROTO, "params lacks reject, log or ipv6");
	if (!json_get_u64(o, "uid_workflow", UINT32_MAX - 1u, &workflow) ||
	    !json_get_u64(o, "uid_twins", UINT32_MAX - 1u, &twins) || !json_get_u64(o, "control_port", 65535, &port))
		return refuse(why, -EPROTO, "params lacks uid_workflow, uid_twins or control_port");
	if (workflow != want->workflow_uid || twins != want->twins_uid)
		return refuse(why, -EPERM, "params.uid_workflow %llu and uid_twins %llu, want %u and %u",
			      (unsigned long long)workflow, (unsigned long long)twins, want->workflow_uid,
			      want->twins_uid);
	if (port != control)
		return refuse(why, -EPERM, "params.control_port %llu, want %u", (unsigned long long)port, control);
	p->uid_workflow = (uint32_t)workflow;
	p->uid_twins = (uint32_t)twins;
	p->control_port = (uint16_t)port;
	if ((r = take_own(p, json_get(o, "own"), why)) < 0 || (r = take_closed(p, json_get(o, "closed"), why)) < 0)
		return r;
	return take_pinned(p, json_get(o, "pinned"), why);
}

/* What the parameters give must be what was read back. */
static int
compare_text(const struct fw_params *p, const cJSON *lock, char *why)
{
	const char *text = json_get_text(lock, "text"), *text_sha = json_get_text(lock, "text_sha256");
	const cJSON *binding = json_get(lock, "binding");
	const char *bound = json_get_text(binding, "text"), *bound_sha = json_get_text(binding, "sha256");
	char *own;
	int n, r = 0;

	if (!text || !bound)
		return refuse(why, -EPROTO, "a lock lacks its text or its binding");
	own = malloc(FW_TEXT_MAX);
	if (!own)
		return refuse(why, -ENOMEM, "no memory");
	n = fw_text_script(p, own, FW_TEXT_MAX);
	if (n <= 0 || strcmp(own, text) != 0)
		r = refuse(why, -EPERM, "the rules that were read back are not those of the template and the binding");
	if (r == 0 && !digest_is(text, text_sha))
		r = refuse(why, -EPERM, "text_sha256 is not the digest of text");
	n = r == 0 ? fw_text_binding(p, own, FW_TEXT_MAX) : 0;
	if (r == 0 && (n <= 0 || strcmp(own, bound) != 0))
		r = refuse(why, -EPERM, "the binding's text does not say what params say");
	if (r == 0 && !digest_is(bound, bound_sha))
		r = refuse(why, -EPERM, "binding.sha256 is not the digest of the binding");
	free(own);
	return r;
}

/* Kinds of attempt that must stand among the probes of every lock: how `what` begins and ends. */
static const struct required {
	const char *prefix, *suffix;
	bool v6;    /* may be ABSENT, or left out where said below, when the kernel has no IPv6 */
	bool outer; /* of the outer lock only */
} required[] = {
	{ "tcp4 ", " loopback", false, false },
	{ "udp4 ", " loopback", false, false },
	{ "tcp6 ", " loopback", true, false },
	{ "udp6 ", " loopback", true, false },
	{ "tcp4 ", " documentation", false, false },
	{ "udp4 ", " documentation", false, false },
	{ "tcp6 ", " documentation", true, false },
	{ "udp6 ", " documentation", true, false },
	{ "tcp4 ", " resolver", false, false },
	{ "udp4 ", " resolver", false, false },
	{ "tcp6 ", " resolver", true, false },
	{ "udp6 ", " resolver", true, false },
	{ "tcp4 169.254.169.254:", " metadata", false, false },
	{ "tcp6 ", " metadata", true, false },
	{ "tcp6 [fe80::", " link-local", true, false },
	{ "udp6 [fe80::", " link-local", true, false },
	{ "tcp4 127.0.0.11:53", " forwarder", false, true },
	{ "udp4 127.0.0.11:53", " forwarder", false, true },
};
#define REQUIRED_LEN (sizeof(required) / sizeof(required[0]))

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Where nothing could be tried: IPv6 without IPv6, and pings, whose sockets the filter or the kernel refuses. */
static bool
may_be_absent(const char *what, bool ipv6)
{
	return strncmp(what, "icmp", 4) == 0 ||
	       (!ipv6 && (strncmp(what, "tcp6 ", 5) == 0 || strncmp(what, "udp6 ", 5) == 0));
}

static int
take_probe(const cJSON *probe, bool ipv6, uint32_t *seen, char *why)
{
	const char *what = json_get_text(probe, "what"), *verdict = json_get_text(probe, "verdict");
	uint64_t packets, denied, escaped;
	bool control;
	size_t i;

	if (!what || !verdict || !json_get_u64(probe, "packets", UINT32_MAX, &packets) ||
	    !json_get_u64(probe, "denied", UINT32_MAX, &denied) ||
	    !json_get_u64(probe, "escaped", UINT32_MAX, &escaped))
		return refuse(why, -EPROTO, "a probe lacks what, verdict, packets, denied or escaped");
	control = ends_with(what, " loopback");
	if (strcmp(verdict, "ABSENT") == 0) {
		if (!may_be_absent(what, ipv6) || denied != 0 || escaped != 0)
			return refuse(why, -EPERM, "probe '%.100s' is ABSENT though its protocol is there", what);
	} else if (strcmp(verdict, "PASS") != 0) {
		return refuse(why, -EPERM, "probe '%.100s' is %.20s", what, verdict);
	} else if (escaped != 0 || (control ? denied != 0 : packets == 0 || denied != packets)) {
		return refuse(why, -EPERM, "probe '%.100s' says PASS with %llu packets, %llu denied, %llu escaped",
			      what, (unsigned long long)packets, (unsigned long long)denied,
			      (unsigned long long)escaped);
	}
	for (i = 0; i < REQUIRED_LEN; i++)
		if (strncmp(what, required[i].prefix, strlen(required[i].prefix)) == 0 &&
		    ends_with(what, required[i].suffix))
			*seen |= 1u << i;
	return 0;
}

static int
take_probes(const cJSON *list, const struct fw_params *p, char *why)
{
	const cJSON *probe;
	uint32_t seen = 0;
	size_t i;
	int r;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)FW_PROBES_MAX)
		return refuse(why, -EPROTO, "probes is not a list of at most %u", FW_PROBES_MAX);
	cJSON_ArrayForEach(probe, list)
	{
		if ((r = take_probe(probe, p->ipv6, &seen, why)) < 0)
			return r;
	}
	for (i = 0; i < REQUIRED_LEN; i++) {
		if ((seen & (1u << i)) || (required[i].outer && p->lock != FW_OUTER))
			continue;
		/* Without IPv6 there is no link-local address to try; the other attempts stand there as ABSENT. */
		if (required[i].v6 && !p->ipv6 && strcmp(required[i].suffix, " link-local") == 0)
			continue;
		return refuse(why, -EPERM, "no probe '%s...%s' was made", required[i].prefix, required[i].suffix);
	}
	return 0;
}

/* Each change of the tables moves the generation on by one.  Between the two verifications it may have moved only by what
 * the guest counted as foreign, having read its own table back each time. */
static int
take_generation(struct gate *g, unsigned phase, const cJSON *lock, size_t i, char *why)
{
	uint64_t generation, foreign;

	if (!json_get_u64(lock, "generation", UINT32_MAX, &generation) ||
	    !json_get_u64(lock, "foreign_changes", UINT32_MAX, &foreign))
		return refuse(why, -EPROTO, "a lock lacks its generation or foreign_changes");
	if (phase == 2 && (foreign < g->foreign[i] ||
			   ((generation - g->generation[i]) & UINT32_MAX) != ((foreign - g->foreign[i]) & UINT32_MAX)))
		return refuse(why, -EPERM, "the ruleset changed: generation %llu at the opening, %llu at the closing",
			      (unsigned long long)g->generation[i], (unsigned long long)generation);
	if (phase == 1) {
		g->generation[i] = generation;
		g->foreign[i] = foreign;
	}
	return 0;
}

static int
take_lock(struct gate *g, const struct gate_want *want, unsigned phase, const cJSON *lock, size_t i, char *why)
{
	const char *kind = json_get_text(lock, "kind"), *text_sha, *binding_sha;
	enum fw_lock_kind expected = i == 0 ? FW_OUTER : FW_INNER;
	struct fw_params params;
	uint64_t number;
	int r;

	if (!kind || strcmp(kind, expected == FW_OUTER ? "outer" : "inner") != 0 ||
	    !json_get_u64(lock, "lock", 2, &number) || number != i + 1)
		return refuse(why, -EPROTO, "lock %zu is not the %s one", i + 1,
			      expected == FW_OUTER ? "outer" : "inner");
	if (!json_get_true(lock, "proved"))
		return refuse(why, -EPERM, "the %s lock is not proved", kind);
	if ((r = take_params(&params, want, expected, json_get(lock, "params"), why)) < 0 ||
	    (r = compare_text(&params, lock, why)) < 0 || (r = take_probes(json_get(lock, "probes"), &params, why)) < 0)
		return r;
	text_sha = json_get_text(lock, "text_sha256");
	binding_sha = json_get_text(json_get(lock, "binding"), "sha256");
	if (phase == 2 && (i >= g->locks_len || strcmp(text_sha, g->text_sha256[i]) != 0 ||
			   strcmp(binding_sha, g->binding_sha256[i]) != 0))
		return refuse(why, -EPERM, "the %s lock's rules differ from those at the opening", kind);
	if ((r = take_generation(g, phase, lock, i, why)) < 0)
		return r;
	memcpy(g->text_sha256[i], text_sha, 65);
	memcpy(g->binding_sha256[i], binding_sha, 65);
	return 0;
}

static int
take_drop(struct gate *g, const struct gate_want *want, unsigned phase, const cJSON *drop, char *why)
{
	const char *capabilities = json_get_text(drop, "capabilities"), *regain = json_get_text(drop, "regain");
	const char *filter = json_get_text(drop, "filter_sha256");
	const cJSON *groups = json_get(drop, "groups"), *attempt;
	uint64_t uid, gid;

	if (!json_get_u64(drop, "uid", UINT32_MAX, &uid) || !json_get_u64(drop, "gid", UINT32_MAX, &gid) ||
	    !cJSON_IsArray(groups))
		return refuse(why, -EPROTO, "drop lacks uid, gid or groups");
	if (uid != want->workflow_uid || gid != want->workflow_gid || uid == 0)
		return refuse(why, -EPERM, "the workflow runs as %llu:%llu, want %u:%u", (unsigned long long)uid,
			      (unsigned long long)gid, want->workflow_uid, want->workflow_gid);
	if (cJSON_GetArraySize(groups) != 0)
		return refuse(why, -EPERM, "the workflow has supplementary groups");
	if (!capabilities || strcmp(capabilities, "none") != 0)
		return refuse(why, -EPERM, "the workflow has capabilities");
	if (!json_get_true(drop, "no_new_privs"))
		return refuse(why, -EPERM, "no_new_privs is not set");
	if (!regain || strcmp(regain, "refused") != 0)
		return refuse(why, -EPERM, "regaining root was not refused");
	if (!json_is_sha256(filter))
		return refuse(why, -EPERM, "no syscall filter");
	if (!json_get(drop, "attempts") || !json_get(drop, "attempts")->child)
		return refuse(why, -EPROTO, "nothing was tried that the workflow must not do");
	cJSON_ArrayForEach(attempt, json_get(drop, "attempts"))
	{
		if (!json_get_true(attempt, "refused"))
			return refuse(why, -EPERM, "not refused to the workflow: %.100s",
				      json_get_text(attempt, "what") ? json_get_text(attempt, "what") : "?");
	}
	if (phase == 2 && strcmp(filter, g->filter_sha256) != 0)
		return refuse(why, -EPERM, "the syscall filter differs from the opening's");
	memcpy(g->filter_sha256, filter, 65);
	return 0;
}

static int
check(struct gate *g, const struct gate_want *want, unsigned phase, const cJSON *doc, char *why)
{
	const cJSON *failure = json_get(doc, "failure"), *locks = json_get(doc, "locks"), *lock;
	const char *policy = json_get_text(json_get(doc, "policy"), "sha256"), *step;
	uint8_t raw[32];
	bool inner;
	size_t i = 0;
	int r, len;

	if (cJSON_IsObject(failure)) {
		step = json_get_text(failure, "step");
		return refuse(why, -EPERM, "firewall step %.60s: %.20s %.180s", step ? step : "?",
			      json_get_text(failure, "errno") ? json_get_text(failure, "errno") : "",
			      json_get_text(failure, "text") ? json_get_text(failure, "text") : "");
	}
	if (failure && !cJSON_IsNull(failure))
		return refuse(why, -EPROTO, "failure is neither null nor an object");
	if ((r = gate_policy(want->control_port, raw)) < 0)
		return refuse(why, r, "the host's own policy text could not be made");
	sha256_hex(raw, g->policy_sha256);
	if (!policy || strcmp(policy, g->policy_sha256) != 0)
		return refuse(why, -EPERM, "the policy digest is not the one of this program");
	if (!json_get_text(doc, "mode") || strcmp(json_get_text(doc, "mode"), "sandbox") != 0)
		return refuse(why, -EPERM, "the guest does not run in the mode sandbox");
	if (!get_bool(doc, "inner_room", &inner))
		return refuse(why, -EPROTO, "inner_room is missing");
	len = cJSON_IsArray(locks) ? cJSON_GetArraySize(locks) : -1;
	if (len != (inner ? 2 : 1))
		return refuse(why, -EPROTO, "%d locks where %s room exists", len, inner ? "an inner" : "no inner");
	if (!inner && !json_get_text(doc, "reason"))
		return refuse(why, -EPROTO, "no inner room and no reason why");
	if (phase == 2 && (inner != g->inner_room || (size_t)len != g->locks_len))
		return refuse(why, -EPERM, "the locks are not those of the opening");
	cJSON_ArrayForEach(lock, locks)
	{
		if ((r = take_lock(g, want, phase, lock, i++, why)) < 0)
			return r;
	}
	if ((r = take_drop(g, want, phase, json_get(doc, "drop"), why)) < 0)
		return r;
	g->inner_room = inner;
	g->locks_len = (size_t)len;
	return 0;
}

int
gate_check(struct gate *g, const struct gate_want *want, unsigned phase, const struct cJSON *doc, char why[static 320])
{
	struct gate work = *g; /* a refusal leaves what the opening said */
	int r;

	if (phase == 2 && g->locks_len == 0)
		return refuse(why, -EPERM, "no opening was accepted before");
	r = check(&work, want, phase, doc, why);
	if (r == 0)
		*g = work;
	return r;
}
