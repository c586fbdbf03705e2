/* SPDX-License-Identifier: GPL-2.0-or-later
 * fakeguest.c - see fakeguest.h.  Included by the tests that need it. */
#include "tests/lib/fakeguest.h"

#include <cJSON.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "firewall/fw.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/plan.h"

static struct fake {
	int in, out;
	const char *script;
	struct frame_receiver receiver;
	struct frame_sender sender;
	uint8_t input[65536];
	size_t have;
	char secret[256];
	bool cancelled, local;
	struct sha256 out_hash;
	uint64_t out_bytes, ops;
	uint32_t workflow, gid, twins;
	char service[64];
} fake;

static bool
is(const char *name)
{
	return strcmp(fake.script, name) == 0;
}

static void
fake_write(const void *data, size_t len)
{
	const uint8_t *at = data;
	ssize_t n;

	while (len) {
		n = write(fake.out, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += n;
		len -= (size_t)n;
	}
}

static void
fake_send(uint8_t type, const void *body, size_t len)
{
	uint8_t header[FRAME_HEADER_LEN];
	const uint8_t *at = body;
	size_t n;

	do {
		n = len > FRAME_BODY_MAX ? FRAME_BODY_MAX : len;
		frame_send(&fake.sender, type, n < len ? FRAME_MORE : 0, at, (uint32_t)n, header);
		if (is("bad-nonce") && type == FRAME_READY)
			header[16] ^= 1;
		if (is("bad-seq") && type == FRAME_READY)
			header[15] ^= 1;
		fake_write(header, sizeof(header));
		if (n)
			fake_write(at, n);
		at += n;
		len -= n;
	} while (len);
}

/* The next frame of the host, PING answered; NULL type 0 at the end of input. */
static uint8_t
fake_next(struct frame *f)
{
	uint8_t pong[16] = { 0 };
	size_t used;
	ssize_t n;
	int r;

	for (;;) {
		r = frame_receive(&fake.receiver, fake.input, fake.have, &used, f);
		if (r < 0) {
			fprintf(stderr, "fakeguest: %s\n", fake.receiver.problem);
			_exit(3);
		}
		memmove(fake.input, fake.input + used, fake.have - used);
		fake.have -= used;
		if (r == 1 && f->type == FRAME_PING) {
			if (!is("silent"))
				fake_send(FRAME_PONG, pong, sizeof(pong));
			continue;
		}
		if (r == 1 && f->type == FRAME_CANCEL)
			fake.cancelled = true;
		if (r == 1)
			return f->type;
		n = read(fake.in, fake.input, sizeof(fake.input));
		if (n <= 0)
			return 0;
		fake.have = (size_t)n;
	}
}

static void
add_text(cJSON *to, const char *digest_name, const char *text)
{
	uint8_t digest[32];
	char hex[65];

	sha256_of(text, strlen(text), digest);
	sha256_hex(digest, hex);
	cJSON_AddStringToObject(to, "text", text);
	cJSON_AddStringToObject(to, digest_name, hex);
}

static cJSON *
fake_probe(const char *what, const char *verdict, int packets)
{
	cJSON *p = cJSON_CreateObject();

	cJSON_AddStringToObject(p, "what", what);
	cJSON_AddStringToObject(p, "verdict", verdict);
	cJSON_AddNumberToObject(p, "packets", packets);
	cJSON_AddNumberToObject(p, "denied", packets);
	cJSON_AddNumberToObject(p, "escaped", 0);
	cJSON_AddNullToObject(p, "errno");
	return p;
}

static cJSON *
fake_lock(int number)
{
	struct fw_params p = { .lock = number == 1 ? FW_OUTER : FW_INNER,
			       .reject = true,
			       .log = true,
			       .ipv6 = true,
			       .uid_workflow = fake.workflow,
			       .uid_twins = fake.twins };
	static const char *const probes[] = {
		"tcp4 198.51.100.1:443 documentation",  "udp4 198.51.100.1:53 documentation",
		"tcp6 [2001:db8::1]:443 documentation", "udp6 [2001:db8::1]:53 documentation",
		"tcp4 198.51.100.53:53 resolver",       "udp4 198.51.100.53:53 resolver",
		"tcp6 [2001:db8::53]:53 resolver",      "udp6 [2001:db8::53]:53 resolver",
		"tcp4 169.254.169.254:80 metadata",     "tcp6 [fd00:ec2::254]:80 metadata",
		"tcp6 [fe80::1%dev]:443 link-local",    "udp6 [fe80::1%dev]:443 link-local",
		"tcp4 127.0.0.11:53 forwarder",         "udp4 127.0.0.11:53 forwarder"
	};
	static const char *const controls[] = { "tcp4 127.0.0.1:0 loopback", "udp4 127.0.0.1:0 loopback",
						"tcp6 [::1]:0 loopback", "udp6 [::1]:0 loopback" };
	cJSON *lock = cJSON_CreateObject(), *params, *binding, *list;
	char *text = malloc(FW_TEXT_MAX);
	size_t i;

	cJSON_AddNumberToObject(lock, "lock", number);
	cJSON_AddStringToObject(lock, "kind", number == 1 ? "outer" : "inner");
	cJSON_AddBoolToObject(lock, "proved", true);
	cJSON_AddNumberToObject(lock, "generation", 3);
	if (fw_text_script(&p, text, FW_TEXT_MAX) < 0)
		_exit(4);
	add_text(lock, "text_sha256", text);
	binding = cJSON_AddObjectToObject(lock, "binding");
	if (fw_text_binding(&p, text, FW_TEXT_MAX) < 0)
		_exit(4);
	add_text(binding, "sha256", text);
	params = cJSON_AddObjectToObject(lock, "params");
	cJSON_AddStringToObject(params, "family", "inet");
	cJSON_AddBoolToObject(params, "reject", true);
	cJSON_AddBoolToObject(params, "log", true);
	cJSON_AddBoolToObject(params, "ipv6", true);
	cJSON_AddNumberToObject(params, "uid_workflow", fake.workflow);
	cJSON_AddNumberToObject(params, "uid_twins", fake.twins);
	cJSON_AddNumberToObject(params, "control_port", 0);
	cJSON_AddArrayToObject(params, "closed");
	cJSON_AddArrayToObject(params, "own");
	cJSON_AddArrayToObject(params, "pinned");
	cJSON_AddArrayToObject(lock, "interfaces");
	list = cJSON_AddArrayToObject(lock, "probes");
	for (i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		cJSON_AddItemToArray(list, fake_probe(probes[i], "PASS", 1));
	for (i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		cJSON_AddItemToArray(list, fake_probe(controls[i], "PASS", 0));
	cJSON_AddObjectToObject(lock, "counters");
	cJSON_AddNumberToObject(lock, "foreign_changes", 0);
	free(text);
	return lock;
}

/* A FIREWALL document that the gate accepts, to be spoilt by the caller. */
cJSON *fake_evidence(uint32_t workflow, uint32_t gid, uint32_t twins);
cJSON *
fake_evidence(uint32_t workflow, uint32_t gid, uint32_t twins)
{
	cJSON *doc = cJSON_CreateObject(), *drop, *locks, *attempt;
	char *text = malloc(2 * FW_TEXT_MAX), hex[65];
	uint8_t digest[32];
	int n;

	fake.workflow = workflow;
	fake.gid = gid;
	fake.twins = twins;
	n = fw_text_policy_all(0, text, 2 * FW_TEXT_MAX);
	sha256_of(text, (size_t)n, digest);
	sha256_hex(digest, hex);
	free(text);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(doc, "policy"), "sha256", hex);
	cJSON_AddBoolToObject(doc, "inner_room", true);
	cJSON_AddNullToObject(doc, "reason");
	cJSON_AddArrayToObject(doc, "namespaces");
	cJSON_AddStringToObject(doc, "af_unix", "allowed");
	locks = cJSON_AddArrayToObject(doc, "locks");
	cJSON_AddItemToArray(locks, fake_lock(1));
	cJSON_AddItemToArray(locks, fake_lock(2));
	drop = cJSON_AddObjectToObject(doc, "drop");
	cJSON_AddNumberToObject(drop, "uid", workflow);
	cJSON_AddNumberToObject(drop, "gid", gid);
	cJSON_AddArrayToObject(drop, "groups");
	cJSON_AddStringToObject(drop, "capabilities", "none");
	cJSON_AddBoolToObject(drop, "no_new_privs", true);
	cJSON_AddStringToObject(drop, "regain", "refused");
	cJSON_AddStringToObject(doc, "mode", "sandbox");
	attempt = cJSON_CreateObject();
	cJSON_AddStringToObject(attempt, "what", "mount");
	cJSON_AddBoolToObject(attempt, "refused", true);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(drop, "attempts"), attempt);
	cJSON_AddStringToObject(drop, "filter_sha256", hex);
	cJSON_AddStringToObject(drop, "filter_twins_sha256", hex);
	cJSON_AddNullToObject(doc, "failure");
	return doc;
}

static void
send_json(uint8_t type, const uint8_t *prefix, size_t prefix_len, const cJSON *doc)
{
	char *text = cJSON_PrintUnformatted(doc);
	size_t len = strlen(text);
	uint8_t *body = malloc(len + prefix_len + 1);

	if (prefix_len)
		memcpy(body, prefix, prefix_len);
	memcpy(body + prefix_len, text, len);
	fake_send(type, body, len + prefix_len);
	free(body);
	cJSON_free(text);
}

static void
send_firewall(uint8_t phase)
{
	cJSON *doc = fake_evidence(1000, 1000, 991), *lock = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "locks"), 0),
	      *f;

	if (phase == 1 && is("opening-unproved"))
		cJSON_ReplaceItemInObject(lock, "proved", cJSON_CreateFalse());
	if (phase == 1 && is("opening-unknown"))
		cJSON_ReplaceItemInObject(cJSON_GetArrayItem(cJSON_GetObjectItem(lock, "probes"), 0), "verdict",
					  cJSON_CreateString("UNKNOWN"));
	if (phase == 2 && is("closing-fail"))
		cJSON_ReplaceItemInObject(cJSON_GetArrayItem(cJSON_GetObjectItem(lock, "probes"), 0), "verdict",
					  cJSON_CreateString("FAIL"));
	if (phase == 1 && is("opening-failure")) {
		f = cJSON_CreateObject();
		cJSON_AddStringToObject(f, "step", "install");
		cJSON_AddStringToObject(f, "errno", "EOPNOTSUPP");
		cJSON_AddStringToObject(f, "text", "the kernel has no inet family");
		cJSON_ReplaceItemInObject(doc, "failure", f);
	}
	if (phase == 3) {
		f = cJSON_CreateObject();
		cJSON_AddStringToObject(f, "step", "watch");
		cJSON_ReplaceItemInObject(doc, "failure", f);
	}
	send_json(FRAME_FIREWALL, &phase, 1, doc);
	cJSON_Delete(doc);
}

static void
send_text(uint8_t type, const char *text)
{
	fake_send(type, text, strlen(text));
}

static void
send_state(uint8_t phase)
{
	char body[512];
	int n;

	if (phase == 2 && is("no-final-state"))
		return;
	n = snprintf(body + 2, sizeof(body) - 2,
		     "{\"service\":\"%s\",\"collections\":{\"charges\":[{\"id\":\"ch_1\",\"refunded\":%d}],"
		     "\"refunds\":[%s]}}",
		     is("state-service") ? "other" : "payments", phase == 1 ? 0 : 4200,
		     phase == 1           ? ""
		     : is("refund-twice") ? "{\"id\":\"re_1\"},{\"id\":\"re_2\"}"
					  : "{\"id\":\"re_1\"}");
	body[0] = (char)phase;
	body[1] = (char)(is("state-index") ? 7 : 0);
	if (phase == 2 && is("state-without"))
		n = snprintf(body + 2, sizeof(body) - 2,
			     "{\"service\":\"payments\",\"collections\":{\"refunds\":[{\"id\":\"re_1\"}]}}");
	if (phase == 2 && is("state-row-twice"))
		n = snprintf(
			body + 2, sizeof(body) - 2,
			"{\"service\":\"payments\",\"collections\":{\"charges\":[{\"id\":\"a\"},{\"id\":\"a\"}],\"refunds\":[]}}");
	if (phase == 2 && is("state-infinite"))
		n = snprintf(
			body + 2, sizeof(body) - 2,
			"{\"service\":\"payments\",\"collections\":{\"charges\":[{\"id\":\"a\",\"n\":1e999}],\"refunds\":[]}}");
	fake_send(FRAME_STATE, body, (size_t)n + 2);
}

static void
send_op(void)
{
	static const char digest[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	char body[1200];

	snprintf(
		body, sizeof(body),
		"{\"n\":%llu,\"t_ms\":5,\"service\":\"%s\",\"kind\":\"http\",\"conn\":1,\"route\":%s,\"request\":{\"method\":\"POST\","
		"\"target\":\"/refunds\",\"headers\":{\"authorization\":\"Bearer %s\"},\"body\":{\"bytes\":2,\"sha256\":\"%s\"}},\"key\":null,"
		"\"idempotency\":null,\"resend_of\":null,\"effects\":[{\"create\":\"/refunds/re_1\"}],\"reply\":{\"status\":201,\"bytes\":2,"
		"\"sha256\":\"%s\"},\"fault\":null,\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"},\"nearest\":null,\"unmatched\":%s}",
		(unsigned long long)fake.ops + (is("op-number") ? 1 : 0), is("op-service") ? "other" : "payments",
		is("unmatched") || is("op-routeless") ? "null"
		: is("op-route")                      ? "\"nowhere\""
						      : "\"refund.create\"",
		fake.secret, digest, digest, is("unmatched") ? "true" : "false");
	if (is("op-views"))
		memcpy(strstr(body, "told-ok"), "told-no", 7);
	if (is("op-negative"))
		memcpy(strstr(body, "\"n\":0"), "\"n\":-", 5);
	if (is("op-json"))
		snprintf(body, sizeof(body), "{\"n\":0,");
	send_text(FRAME_OP, body);
	fake.ops++;
}

static void
send_denied(int workflow)
{
	char body[600];

	snprintf(
		body, sizeof(body),
		"{\"total\":{\"workflow\":%d,\"twins\":0,\"others\":0,\"kernel\":0,\"postrouting\":0,\"closed\":0},\"recorded\":%d,"
		"\"unrecorded\":0,\"lossy\":false,\"rows\":[%s]}",
		workflow, workflow,
		workflow
			? "{\"lock\":2,\"family\":4,\"protocol\":\"tcp\",\"destination\":\"203.0.113.9\",\"port\":443,\"uid\":1000,"
			  "\"owner\":\"workflow\",\"count\":1,\"first_ms\":1,\"last_ms\":2}"
			: "");
	send_text(FRAME_DENIED, body);
}

static void
send_output(const char *text, size_t len)
{
	size_t n;

	sha256_add(&fake.out_hash, text, len);
	fake.out_bytes += len;
	for (; len; text += n, len -= n) {
		n = len > FRAME_BODY_MAX ? FRAME_BODY_MAX : len;
		fake_send(FRAME_STDOUT, text, n);
	}
}

static void
send_exit(uint8_t ended_by)
{
	struct plan_exit e = { .ended_by = ended_by, .stdout_bytes = fake.out_bytes };
	struct plan_truncated t = { .what = TRUNCATED_STDOUT, .kept = fake.out_bytes, .lost = 9 };
	uint8_t body[512];
	struct writer w;

	if (is("exit-1"))
		e.code = 1;
	if (is("signal")) {
		e.code = -1;
		e.signal = SIGSEGV;
	}
	if (is("exec")) {
		e.code = -1;
		e.stage = EXEC_EXEC;
		snprintf(e.errno_name, sizeof(e.errno_name), "ENOENT");
	}
	if (is("oom"))
		e.oom = 1;
	if (is("truncated") || is("bytes-lie"))
		e.stdout_bytes += 9;
	if (is("truncated")) {
		writer_init(&w, body, sizeof(body));
		plan_truncated_encode(&w, &t);
		fake_send(FRAME_TRUNCATED, body, w.len);
		e.ended_by = ENDED_OUTPUT_LIMIT;
	}
	sha256_get(&fake.out_hash, e.stdout_sha256);
	sha256_of("", 0, e.stderr_sha256);
	if (is("digest-lie"))
		e.stdout_sha256[0] ^= 1;
	writer_init(&w, body, sizeof(body));
	plan_exit_encode(&w, &e);
	fake_send(FRAME_EXIT, body, w.len);
}

static void
send_end(uint8_t result)
{
	struct plan_end e = { .frames = fake.sender.seq, .result = result };
	uint8_t body[128];
	struct writer w;

	memcpy(e.chain, fake.sender.chain.value, 32);
	if (is("chain-lie"))
		e.chain[5] ^= 1;
	if (is("count-lie"))
		e.frames++;
	if (is("result-failed"))
		e.result = END_FAILED;
	writer_init(&w, body, sizeof(body));
	plan_end_encode(&w, &e);
	fake_send(FRAME_END, body, w.len);
	if (is("after-end"))
		fake_write("x", 1);
	if (is("after-end-late")) {
		(void)usleep(300000);
		fake_write("x", 1);
	}
	if (is("after-end-frame"))
		fake_send(FRAME_LOG, "\1still here", 11);
	if (is("end-twice"))
		fake_send(FRAME_END, body, w.len);
	if (is("stays"))
		for (;;)
			pause();
}

static void
send_fail(const char *step)
{
	struct plan_fail f = { .step = step, .errno_name = "EPERM", .text = "it failed" };
	uint8_t body[256];
	struct writer w;

	writer_init(&w, body, sizeof(body));
	plan_fail_encode(&w, &f);
	fake_send(FRAME_FAIL, body, w.len);
}

static void
take_run(const struct frame *f)
{
	struct plan_exec *e;
	size_t i;

	if (f->len == 0 || f->body[0] != PLAN_EXEC)
		return;
	e = calloc(1, sizeof(*e));
	if (plan_exec_decode(f->body, f->len, e) == 0)
		for (i = 0; i < e->envc; i++)
			if (strncmp(e->envp[i], "PAYMENTS_KEY=", 13) == 0)
				snprintf(fake.secret, sizeof(fake.secret), "%s", e->envp[i] + 13);
	free(e);
}

/* Waits in the running state: the end of input ends it, CANCEL is obeyed unless deaf. */
static void
hang(void)
{
	struct frame f;

	for (;;) {
		if (fake_next(&f) == 0)
			_exit(1);
		if (fake.cancelled && !is("deaf"))
			return;
	}
}

static void
workflow(void)
{
	char *big;
	size_t i;

	if (is("eof-running"))
		_exit(1);
	if (is("garbage"))
		fake_write("this is not a frame, is it? no, it is not.", 42);
	if (is("flood"))
		fake_write("\x44\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0________", 24);
	if (is("hang") || is("deaf") || is("silent"))
		hang();
	if (is("changed"))
		send_firewall(3);
	if (is("secret")) {
		send_output("the key is ", 11);
		send_output(fake.secret, 7);
		send_output(fake.secret + 7, strlen(fake.secret) - 7);
		send_output("\n", 1);
	}
	if (is("big")) {
		big = malloc(FRAME_BODY_MAX);
		memset(big, 'x', FRAME_BODY_MAX);
		for (i = 0; i < 256 * 16; i++)
			send_output(big, FRAME_BODY_MAX);
		free(big);
	}
	send_output("done\n", 5);
	send_op();
	if (is("refund-twice"))
		send_op();
	if (is("denied-early"))
		send_denied(0);
	if (is("denied-back"))
		send_denied(2);
	if (is("op-twice")) {
		fake.ops--;
		send_op();
	}
}

int
fakeguest_main(int in, int out, const char *script, const uint8_t *image, size_t image_len)
{
	char hello[512], hex[65];
	uint8_t digest[32];
	struct frame f;

	memset(&fake, 0, sizeof(fake));
	fake.in = in;
	fake.out = out;
	fake.script = script;
	sha256_init(&fake.out_hash);
	frame_receiver_init(&fake.receiver, FRAME_TO_GUEST, NULL, false);
	if (is("mute"))
		hang();
	if (is("eof") || fake_next(&f) != FRAME_HELLO_HOST)
		return 1;
	frame_sender_init(&fake.sender, fake.receiver.random);
	sha256_of(image, image_len, digest);
	if (is("other-guest"))
		digest[0] ^= 1;
	sha256_hex(digest, hex);
	snprintf(
		hello, sizeof(hello),
		"{\"version\":1,\"guest\":{\"version\":\"0.1.0\",\"sha256\":\"%s\"},\"kernel\":\"6.1\",\"arch\":\"x86_64\","
		"\"node\":null,\"features\":[\"inner-room\"]}",
		hex);
	if (is("hello-garbage"))
		snprintf(hello, sizeof(hello), "[1,2");
	send_text(FRAME_HELLO, hello);
	if (is("eof-hello"))
		return 1;
	while (fake_next(&f) != FRAME_COMMIT) {
		if (f.type == FRAME_RUN)
			take_run(&f);
		else if (f.type != FRAME_FILE && f.type != FRAME_DATA)
			return 1;
	}
	if (is("fail-bundle") || is("fail-firewall")) {
		send_fail(is("fail-bundle") ? "bundle" : "firewall.install");
		send_end(is("fail-bundle") ? END_FAILED : END_FIREWALL);
		return 1;
	}
	if (!is("no-opening"))
		send_firewall(1);
	send_state(1);
	if (is("initial-twice"))
		send_state(1);
	while (fake_next(&f) != FRAME_START)
		if (f.type == 0 || fake.cancelled)
			return 1;
	send_text(FRAME_READY, "");
	workflow();
	send_exit(fake.cancelled       ? ENDED_CANCEL
		  : is("run-deadline") ? ENDED_RUN_DEADLINE
		  : is("twins-died")   ? ENDED_TWINS
				       : ENDED_ITSELF);
	if (is("exit-twice"))
		send_exit(ENDED_ITSELF);
	if (is("output-late"))
		send_output("more\n", 5);
	send_state(2);
	if (is("state-twice"))
		send_state(2);
	if (is("op-late"))
		send_op();
	if (!is("denied-early"))
		send_denied(is("egress") ? 1 : 0);
	if (!is("no-closing"))
		send_firewall(2);
	if (!is("no-end"))
		send_end(fake.cancelled ? END_CANCELLED : END_OK);
	return 0;
}
