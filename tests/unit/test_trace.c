/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_trace.c - the fingerprint: what arrives in another order is the same run, what differs in any ingredient is not. */
#include <cJSON.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/evidence.h"
#include "host/trace.h"
#include "host/world_read.h"
#include "proto/frame.h"
#include "tests/lib/tap.h"

#define OPS_MAX 8

static const char world_text[] =
	"{ \"agenttwin\": \"world/1\", \"name\": \"t\", \"files\": [ \"a.mjs\" ],\n"
	"  \"services\": [ { \"name\": \"pay\", \"kind\": \"http\", \"hosts\": [ \"pay.internal\" ],\n"
	"    \"state\": { \"rows\": [] }, \"routes\": [ { \"resource\": \"rows\", \"path\": \"/rows\" } ] },\n"
	"    { \"name\": \"mail\", \"kind\": \"http\", \"hosts\": [ \"mail.internal\" ], \"state\": { \"sent\": [] },\n"
	"    \"routes\": [ { \"resource\": \"sent\", \"path\": \"/sent\" } ] } ],\n"
	"  \"faults\": [ { \"id\": \"lost\", \"class\": \"timeout-after-write\", \"on\": { \"service\": \"pay\" } } ],\n"
	"  \"workflow\": { \"command\": [ \"node\", \"a.mjs\" ] },\n"
	"  \"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 } ] }";
static struct world world;
static struct checks checks;

struct part { /* what a run is made of */
	size_t ops_len;
	char ops[OPS_MAX][1200]; /* without n */
	int code;
	unsigned signal;
	bool held;
	const char *state[2];
	const char *policy;
	uint64_t seed;
	uint8_t world0; /* first byte of its digest */
};

static void
frame_in(struct evidence *e, uint8_t type, const char *head, size_t head_len, const char *text)
{
	static uint8_t body[8192];
	struct frame_chain chain = { 0 };
	struct run_event ev;
	struct frame f = { .type = type, .body = body };

	memcpy(body, head, head_len);
	memcpy(body + head_len, text, strlen(text));
	f.len = (uint32_t)(head_len + strlen(text));
	evidence_frame(e, &f, &chain, &chain, 5, &ev);
	if (ev.kind == RUN_EV_BAD)
		printf("# %s\n", e->why);
}

/* The operations arrive in this order. */
static void
fingerprint(const struct part *p, const size_t order[OPS_MAX], char out[static 65])
{
	static struct evidence e;
	static struct spool spool;
	static struct check_result results[2];
	char path[] = "/tmp/test_trace.XXXXXX", text[1400], sha[65] = "";
	int fd = mkstemp(path);
	size_t i;

	unlink(path);
	spool_init(&spool, fd, NULL);
	results[0] = (struct check_result){ .id = "exit", .held = p->held };
	results[1] = (struct check_result){ .id = "within-limits", .held = true };
	checks.results = results;
	checks.results_len = 2;
	if (evidence_init(&e, &world, &spool, &checks, false, sha) < 0)
		abort();
	for (i = 0; i < p->ops_len; i++) {
		snprintf(text, sizeof(text), "{\"n\":%zu,%s", i, p->ops[order ? order[i] : i]);
		frame_in(&e, FRAME_OP, "", 0, text);
	}
	e.have_exit = true;
	e.exit.code = p->code;
	e.exit.signal = (uint8_t)p->signal;
	for (i = 0; i < 2; i++) {
		char head[2] = { 2, (char)i };

		snprintf(text, sizeof(text), "{\"service\":\"%s\",\"collections\":{\"%s\":%s}}", i ? "mail" : "pay",
			 i ? "sent" : "rows", p->state[i]);
		frame_in(&e, FRAME_STATE, head, 2, text);
	}
	snprintf(e.gate.policy_sha256, sizeof(e.gate.policy_sha256), "%s", p->policy);
	world.sha256[0] = p->world0;
	evidence_fingerprint(&e, p->seed, out);
	is_int((long long)e.ops_len, (long long)p->ops_len, "all operations are taken");
	evidence_wipe(&e);
	spool_wipe(&spool);
	checks.results = NULL;
	checks.results_len = 0;
}

static void
op(struct part *p, const char *service, const char *route, const char *method, const char *target, char body,
   const char *key, int status, char reply)
{
	char *out = p->ops[p->ops_len++];

	snprintf(
		out, sizeof(p->ops[0]),
		"\"t_ms\":%zu,\"service\":\"%s\",\"kind\":\"http\",\"conn\":%zu,\"route\":%s,\"request\":{\"method\":"
		"\"%s\",\"target\":\"%s\",\"body\":{\"bytes\":3,\"sha256\":\"%c%063d\"}},\"key\":%s,"
		"\"idempotency\":null,\"resend_of\":null,\"effects\":[{\"create\":\"/rows/%c\"}],\"reply\":{\"status\":%d,"
		"\"bytes\":1,\"sha256\":\"%c%063d\"},\"fault\":null,\"views\":{\"service\":\"applied\",\"client\":"
		"\"told-ok\"},\"unmatched\":false}",
		p->ops_len, service, p->ops_len % 3, route, method, target, body, 0, key, reply, status, reply, 0);
}

static void
base(struct part *p)
{
	memset(p, 0, sizeof(*p));
	op(p, "pay", "\"rows.create\"", "POST", "/rows", '1', "\"k1\"", 201, 'a');
	op(p, "pay", "\"rows.create\"", "POST", "/rows", '2', "\"k2\"", 201, 'b');
	op(p, "pay", "\"rows.list\"", "GET", "/rows?x=1", 'e', "null", 200, 'c');
	op(p, "pay", "\"rows.list\"", "GET", "/rows?x=2", 'e', "null", 200, 'd');
	op(p, "mail", "\"sent.create\"", "POST", "/sent", '3', "null", 201, 'f');
	p->held = true;
	p->state[0] = "[{\"id\":\"a\"},{\"id\":\"b\"}]";
	p->state[1] = "[{\"id\":\"m\"}]";
	p->policy = "0123";
	p->seed = 7;
}

static void
test_order(void)
{
	size_t order[OPS_MAX], n = 0, i, k;
	char first[65], other[65];
	bool equal = true;
	static struct part p;

	base(&p);
	fingerprint(&p, NULL, first);
	/* All 120 orders of five calls. */
	for (n = 0; n < 120; n++) {
		size_t left[5] = { 0, 1, 2, 3, 4 }, rest = n;

		for (i = 0; i < 5; i++) {
			k = rest % (5 - i);
			rest /= 5 - i;
			order[i] = left[k];
			memmove(left + k, left + k + 1, (4 - i - k) * sizeof(left[0]));
		}
		fingerprint(&p, order, other);
		equal = equal && strcmp(first, other) == 0;
	}
	ok(equal, "every order of arrival has the same fingerprint");
	ok(strlen(first) == 64, "64 digits");
}

static void
replace(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), rest[1200];

	if (!at)
		abort();
	snprintf(rest, sizeof(rest), "%s", at + strlen(from));
	sprintf(at, "%s%s", to, rest);
}

static void
differs(const struct part *p, const char *what)
{
	char first[65], other[65];
	static struct part b;

	base(&b);
	fingerprint(&b, NULL, first);
	fingerprint(p, NULL, other);
	ok(strcmp(first, other) != 0, "another fingerprint: %s", what);
}

static void
same(const struct part *p, const char *what)
{
	char first[65], other[65];
	static struct part b;

	base(&b);
	fingerprint(&b, NULL, first);
	fingerprint(p, NULL, other);
	ok(strcmp(first, other) == 0, "the same fingerprint: %s", what);
}

#define CHANGE(what, kind, ...) \
	do { \
		base(&p); \
		__VA_ARGS__; \
		kind(&p, what); \
	} while (0)

static void
test_ingredients(void)
{
	static struct part p;

	CHANGE("the policy", differs, p.policy = "4567");
	CHANGE("the world", differs, p.world0 = 9);
	CHANGE("the seed", differs, p.seed = 8);
	CHANGE("the exit code", differs, p.code = 1);
	CHANGE("the signal", differs, p.signal = 9);
	CHANGE("a call less", differs, p.ops_len--);
	CHANGE("a call of another route", differs, replace(p.ops[2], "rows.list", "rows.get"));
	CHANGE("a call of no route", differs, replace(p.ops[2], "\"rows.list\"", "null"));
	CHANGE("the method", differs, replace(p.ops[0], "POST", "PUT"));
	CHANGE("the target", differs, replace(p.ops[2], "x=1", "x=3"));
	CHANGE("the body", differs, replace(p.ops[0], "\"sha256\":\"1", "\"sha256\":\"9"));
	CHANGE("the text of a key, which SDKs draw at random", same, replace(p.ops[0], "\"k1\"", "\"k9\""));
	CHANGE("the effects", differs, replace(p.ops[0], "/rows/a", "/rows/z"));
	CHANGE("the reply's status", differs, replace(p.ops[0], "\"status\":201", "\"status\":200"));
	CHANGE("the reply", differs, replace(p.ops[0], "\"sha256\":\"a", "\"sha256\":\"9"));
	CHANGE("a fault", differs, replace(p.ops[0], "\"fault\":null", "\"fault\":{\"id\":\"lost\",\"bytes\":3}"));
	CHANGE("the service's view", differs, replace(p.ops[0], "applied", "rejected"));
	CHANGE("the client's view", differs, replace(p.ops[0], "told-ok", "told-nothing"));
	CHANGE("a check", differs, p.held = false);
	CHANGE("the final state", differs, p.state[0] = "[{\"id\":\"a\"}]");
	CHANGE("the final state of another service", differs, p.state[1] = "[]");
	CHANGE("times and connections", same, replace(p.ops[0], "\"t_ms\":1", "\"t_ms\":99");
	       replace(p.ops[0], "\"conn\":1", "\"conn\":7"));
	CHANGE("a call that repeats another", same, replace(p.ops[1], "\"resend_of\":null", "\"resend_of\":0"));
}

/* Two equal bodies with two keys, and a repeat of the first that was sent earlier or later. */
static void
test_keys(void)
{
	static const size_t late[OPS_MAX] = { 0, 1, 2 }, early[OPS_MAX] = { 0, 2, 1 };
	char first[65], other[65];
	static struct part p;

	base(&p);
	p.ops_len = 0;
	op(&p, "pay", "\"rows.create\"", "POST", "/rows", '1', "\"k1\"", 201, 'a');
	op(&p, "pay", "\"rows.create\"", "POST", "/rows", '1', "\"k2\"", 201, 'b');
	op(&p, "pay", "\"rows.create\"", "POST", "/rows", '1', "\"k1\"", 200, 'a');
	fingerprint(&p, late, first);
	fingerprint(&p, early, other);
	ok(strcmp(first, other) == 0, "a repeat belongs to its key, whenever it comes");
	replace(p.ops[0], "\"k1\"", "\"zz\"");
	replace(p.ops[2], "\"k1\"", "\"zz\"");
	fingerprint(&p, late, other);
	ok(strcmp(first, other) == 0, "whatever the keys are");
	replace(p.ops[2], "\"zz\"", "\"k2\"");
	fingerprint(&p, late, other);
	ok(strcmp(first, other) != 0, "a repeat of the other call is another run");
}

static void
test_fault(void)
{
	const char *text[3] = { "{\"fault\":{\"id\":\"lost\",\"bytes\":3}}",
				"{\"fault\":{\"id\":\"lost\",\"bytes\":9}}",
				"{\"fault\":{\"id\":\"late\",\"bytes\":3}}" };
	struct trace_op t[3];
	cJSON *doc;
	size_t i;

	for (i = 0; i < 3; i++) {
		doc = cJSON_Parse(text[i]);
		trace_call(doc, &t[i]);
		cJSON_Delete(doc);
	}
	ok(memcmp(&t[0], &t[1], sizeof(t[0])) == 0, "how far a fault let the reply come is no difference");
	ok(memcmp(t[0].content, t[2].content, 32) != 0, "which fault it was is one");
}

int
main(void)
{
	struct diag d = { 0 };

	world.text = strdup(world_text);
	world.text_len = strlen(world_text);
	if (world_read_text(&world, &d) < 0) {
		printf("Bail out! %s %s\n", d.pointer, d.problem);
		return 1;
	}
	if (checks_init(&checks, &world) < 0)
		abort();
	test_order();
	test_ingredients();
	test_keys();
	test_fault();
	checks_wipe(&checks);
	world_wipe(&world);
	return tap_done();
}
