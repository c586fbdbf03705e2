/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_plan.c - the flat bodies: what is encoded comes back, every truncation and every longer body is refused. */
#include "proto/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

static uint8_t buf[PLAN_EXEC_MAX + 16];
static union {
	struct plan_exec exec;
	struct plan_policy policy;
	struct plan_file file;
	struct plan_commit commit;
	struct plan_exit exit;
	struct plan_truncated truncated;
	struct plan_fail fail;
	struct plan_end end;
	uint8_t digest[32];
} got;

typedef int decode_fn(const uint8_t *body, size_t len);
#define DECODER(name, member) \
	static int decode_##name(const uint8_t *body, size_t len) \
	{ \
		return plan_##name##_decode(body, len, &got.member); \
	}
DECODER(exec, exec)
DECODER(policy, policy)
DECODER(file, file)
DECODER(commit, commit)
DECODER(exit, exit)
DECODER(truncated, truncated)
DECODER(fail, fail)
DECODER(end, end)

static int
decode_gate(const uint8_t *body, size_t len)
{
	return plan_gate_decode(body, len, got.digest);
}

/* Every shorter and one longer body is refused; random changes do no harm; then the body itself is decoded again. */
static void
shake(decode_fn *decode, const struct writer *w, const char *name)
{
	unsigned refused = 0, changed = 0;
	size_t step = w->len > 4096 ? w->len / 1024 : 1;

	for (size_t n = 0; n < w->len; n += step)
		refused += decode(guard_copy(buf, n), n) < 0;
	is_int(refused, (long long)((w->len + step - 1) / step), name);
	memcpy(buf + w->len, "", 1);
	ok(decode(guard_copy(buf, w->len + 1), w->len + 1) == -EPROTO, "%s: one byte more is refused", name);
	for (int i = 0; i < 3000; i++) {
		uint8_t *copy = guard_copy(buf, w->len);

		for (unsigned k = 0; k <= guard_random() % 3; k++)
			copy[guard_random() % (w->len < 4096 ? w->len : 4096)] = (uint8_t)guard_random();
		changed += decode(copy, w->len) < 0;
	}
	ok(changed > 0, "%s: changed bytes are read without harm", name);
	is_int(decode(guard_copy(buf, w->len), w->len), 0, name);
}

static void
test_exec(void)
{
	static struct plan_exec in = {
		.argc = 3,
		.envc = 2,
		.argv = { "node", "a b.mjs", "" },
		.envp = { "A=1", "B=" },
		.cwd = "src/x",
		.stdin_data = (const uint8_t *)"in\0put",
		.stdin_len = 6,
	};
	static struct plan_exec big;
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &in);
	shake(decode_exec, &w, "exec");
	ok(got.exec.argc == 3 && got.exec.envc == 2 && !got.exec.argv[3] && !got.exec.envp[2], "exec: counts");
	is_str(got.exec.argv[1], "a b.mjs", "exec: argument");
	is_str(got.exec.argv[2], "", "exec: empty argument");
	is_str(got.exec.envp[1], "B=", "exec: variable");
	is_str(got.exec.cwd, "src/x", "exec: folder");
	ok(got.exec.stdin_len == 6 && memcmp(got.exec.stdin_data, "in\0put", 6) == 0, "exec: input");

	in.stdin_data = NULL;
	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &in);
	ok(decode_exec(guard_copy(buf, w.len), w.len) == 0 && !got.exec.stdin_data && got.exec.stdin_len == 0,
	   "exec: no input");
	in.stdin_data = (const uint8_t *)"";
	in.stdin_len = 0;
	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &in);
	ok(decode_exec(guard_copy(buf, w.len), w.len) == 0 && got.exec.stdin_data && got.exec.stdin_len == 0,
	   "exec: empty input");

	static const char *const folders[] = { "/abs", "..", "a/../b", "a//b", "./a", "a/", "\xff" };
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		in.cwd = folders[i];
		writer_init(&w, buf, sizeof(buf));
		plan_exec_encode(&w, &in);
		is_int(decode_exec(guard_copy(buf, w.len), w.len), -EPERM, "exec: refused folder");
	}
	in.cwd = "";
	in.envp[0] = "=x";
	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &in);
	is_int(decode_exec(buf, w.len), -EPROTO, "exec: a variable without a name");
	in.envp[0] = "X";
	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &in);
	is_int(decode_exec(buf, w.len), -EPROTO, "exec: a variable without a value");

	big.argc = PLAN_ARGS_MAX;
	big.envc = PLAN_ENV_MAX;
	for (unsigned i = 0; i < PLAN_ARGS_MAX; i++)
		big.argv[i] = "x";
	for (unsigned i = 0; i < PLAN_ENV_MAX; i++)
		big.envp[i] = "N=v";
	big.cwd = "";
	big.stdin_data = buf; /* any bytes */
	big.stdin_len = PLAN_STDIN_MAX;
	big.stdin_data = calloc(1, PLAN_STDIN_MAX);
	writer_init(&w, buf, sizeof(buf));
	plan_exec_encode(&w, &big);
	ok(!w.failed && decode_exec(guard_copy(buf, w.len), w.len) == 0 && got.exec.argc == PLAN_ARGS_MAX,
	   "exec: the largest");
	buf[1] = PLAN_ARGS_MAX >> 8;
	buf[2] = 1;
	is_int(decode_exec(buf, w.len), -EMSGSIZE, "exec: an argument too many");
	is_int(decode_exec(buf, PLAN_EXEC_MAX + 1), -EMSGSIZE, "exec: too long");
	free((void *)(uintptr_t)big.stdin_data);
}

static struct plan_policy policy_in;

static int
policy_decoded(void)
{
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_policy_encode(&w, &policy_in);
	return decode_policy(guard_copy(buf, w.len), w.len);
}

static void
policy_reset(void)
{
	memset(&policy_in, 0, sizeof(policy_in));
	policy_in.flags = PLAN_WRITE_HOSTS | PLAN_EXIT_ON_CLOSE;
	policy_in.workflow_uid = 1000;
	policy_in.workflow_gid = 1001;
	policy_in.twins_uid = 991;
	policy_in.twins_gid = 992;
	policy_in.postgres_uid = 993;
	policy_in.postgres_gid = 994;
	policy_in.run_ms = 60000;
	policy_in.start_ms = 10000;
	policy_in.idle_ms = 5;
	policy_in.grace_ms = 2000;
	policy_in.memory_bytes = 1ull << 40;
	policy_in.pids = 256;
	policy_in.files = 4096;
	policy_in.disk_bytes = 3ull << 33;
	policy_in.output_bytes = 64;
	policy_in.operations = 100000;
	policy_in.state_bytes = 1ull << 63;
	policy_in.control_port = 49983;
	strcpy(policy_in.app_dir, "/app");
	strcpy(policy_in.home_dir, "/home/node");
	policy_in.services_len = 2;
	policy_in.services[0] = (struct plan_service){ 80, { 127, 64, 0, 1 } };
	policy_in.services[1] = (struct plan_service){ 8080, { 127, 64, 0, 2 } };
	policy_in.hosts_len = 2;
	policy_in.hosts[0] = (struct plan_host){ 0, "api.example.com" };
	policy_in.hosts[1] = (struct plan_host){ 1, "x_y" };
}

static void
test_policy(void)
{
	static char name[PLAN_HOST_NAME_MAX + 2];
	struct writer w;

	policy_reset();
	writer_init(&w, buf, sizeof(buf));
	plan_policy_encode(&w, &policy_in);
	shake(decode_policy, &w, "policy");
	ok(got.policy.workflow_uid == 1000 && got.policy.twins_gid == 992 && got.policy.postgres_gid == 994 &&
		   got.policy.memory_bytes == 1ull << 40 && got.policy.state_bytes == 1ull << 63 &&
		   got.policy.grace_ms == 2000 && got.policy.disk_bytes == 3ull << 33 &&
		   got.policy.control_port == 49983 && got.policy.operations == 100000,
	   "policy: numbers come back");
	is_str(got.policy.home_dir, "/home/node", "policy: home");
	is_str(got.policy.hosts[1].name, "x_y", "policy: host");
	ok(got.policy.services[1].port == 8080 && got.policy.services[1].address[3] == 2, "policy: service");

	static const uint32_t bad_ids[] = { 0, UINT32_MAX };
	for (size_t i = 0; i < 2; i++) {
		uint32_t *ids[] = { &policy_in.workflow_uid, &policy_in.workflow_gid, &policy_in.twins_uid,
				    &policy_in.twins_gid };

		for (size_t k = 0; k < 4; k++) {
			uint32_t old = *ids[k];

			*ids[k] = bad_ids[i];
			is_int(policy_decoded(), -EPERM, "policy: an identity that is no drop");
			*ids[k] = old;
		}
	}
	policy_in.twins_uid = policy_in.workflow_uid;
	is_int(policy_decoded(), -EPERM, "policy: one uid for workflow and twins");
	policy_in.mode = PLAN_LOCAL;
	policy_in.workflow_uid = 0;
	is_int(policy_decoded(), 0, "policy: local takes any identity");
	policy_reset();
	policy_in.mode = 2;
	is_int(policy_decoded(), -EPROTO, "policy: unknown mode");
	policy_reset();
	policy_in.flags = 32;
	is_int(policy_decoded(), -EPROTO, "policy: unknown flag");
	policy_reset();
	policy_in.flags = PLAN_DRIVEN | PLAN_READY | PLAN_READY_LINE;
	is_int(policy_decoded(), 0, "policy: a driven workflow that says when it is ready");
	policy_reset();
	policy_in.flags = PLAN_READY;
	is_int(policy_decoded(), -EPROTO, "policy: ready without driven");
	policy_reset();
	policy_in.flags = PLAN_DRIVEN | PLAN_READY_LINE;
	is_int(policy_decoded(), -EPROTO, "policy: a line without ready");
	policy_reset();
	policy_in.services[0].address[0] = 10;
	is_int(policy_decoded(), -EPROTO, "policy: a service that is not on loopback");
	policy_reset();
	policy_in.hosts[0].service = 2;
	is_int(policy_decoded(), -EPROTO, "policy: a host of no service");
	static const char *const names[] = { "", "a b", "a\n127.0.0.1 b", "a#b", "a\tb", "\xc3\xa9" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		policy_reset();
		policy_in.hosts[0].name = names[i];
		is_int(policy_decoded(), -EPROTO, "policy: refused host name");
	}
	memset(name, 'a', PLAN_HOST_NAME_MAX);
	policy_reset();
	policy_in.hosts[0].name = name;
	is_int(policy_decoded(), 0, "policy: the longest host name");
	name[PLAN_HOST_NAME_MAX] = 'a';
	is_int(policy_decoded(), -EPROTO, "policy: one byte longer");
	static const char *const folders[] = { "", "app", "/", "/a/../b", "//a", "/a/" };
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		policy_reset();
		strcpy(policy_in.app_dir, folders[i]);
		is_int(policy_decoded(), -EPROTO, "policy: refused folder");
	}
	policy_reset();
	policy_in.services_len = PLAN_SERVICES_MAX;
	for (unsigned i = 0; i < PLAN_SERVICES_MAX; i++)
		policy_in.services[i] = (struct plan_service){ 80, { 127, 64, 0, (uint8_t)(i + 1) } };
	policy_in.hosts_len = PLAN_HOSTS_MAX;
	for (unsigned i = 0; i < PLAN_HOSTS_MAX; i++)
		policy_in.hosts[i] = (struct plan_host){ (uint8_t)(i % PLAN_SERVICES_MAX), "host.example.com" };
	is_int(policy_decoded(), 0, "policy: the most services and hosts");
	policy_in.services_len = PLAN_SERVICES_MAX - 1;
	is_int(policy_decoded(), -EPROTO, "policy: a host of the service left out");
}

static void
test_paths(void)
{
	static const char *const good[] = {
		"a", "a/b", ".a", "..a", "a..", "...", "node_modules/.bin/x", "é/😀", "a b"
	};
	static const char *const bad[] = { "",    "/",    "/a",   "a/",     "a//b", ".",    "..",
					   "a/.", "a/..", "../a", "a/../b", "./a",  "\xff", "a/\xc0\x80" };
	static char path[BUNDLE_PATH_MAX + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(plan_path_check(good[i]) == 0, "path: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(plan_path_check(bad[i]) == -EPERM, "refused path: %zu", i);
	memset(path, 'a', BUNDLE_PATH_MAX);
	is_int(plan_path_check(path), 0, "the longest path");
	path[BUNDLE_PATH_MAX] = 'a';
	is_int(plan_path_check(path), -EPERM, "one byte longer");
}

static int
file_decoded(const struct plan_file *in)
{
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_file_encode(&w, in);
	return decode_file(guard_copy(buf, w.len), w.len);
}

static void
test_file(void)
{
	struct plan_file in = {
		.kind = PLAN_FILE, .mode = 0755, .size = 4097, .sha256 = { 1, 2, 3 }, .path = "src/a.mjs"
	};
	struct plan_file link = {
		.kind = PLAN_LINK, .mode = 0755, .path = "node_modules/.bin/z", .target = "../zod/z.js"
	};
	static const struct {
		const char *target;
		int r;
	} targets[] = {
		{ "../../a", 0 },
		{ "../../../a", -EPERM },
		{ "x", 0 },
		{ "/etc/passwd", -EPERM },
		{ "", -EPERM },
		{ "a/../../..", 0 },
		{ "a/../../../..", -EPERM },
		{ "./x/./y", 0 },
		{ "\xff", -EPERM },
		{ "..//..//..", -EPERM },
	};
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_file_encode(&w, &in);
	shake(decode_file, &w, "file");
	ok(got.file.kind == PLAN_FILE && got.file.mode == 0755 && got.file.size == 4097 && got.file.sha256[2] == 3 &&
		   !got.file.target,
	   "file: comes back");
	is_str(got.file.path, "src/a.mjs", "file: path");
	writer_init(&w, buf, sizeof(buf));
	plan_file_encode(&w, &link);
	shake(decode_file, &w, "link");
	is_str(got.file.target, "../zod/z.js", "link: target");
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		link.target = targets[i].target;
		ok(file_decoded(&link) == targets[i].r, "link: target %zu", i);
	}
	link.target = "x";
	link.size = 1;
	is_int(file_decoded(&link), -EPROTO, "link: with a size");
	in.mode = 04755;
	is_int(file_decoded(&in), -EPROTO, "file: set-user-ID mode");
	in.mode = 0644;
	in.kind = 4;
	is_int(file_decoded(&in), -EPROTO, "file: unknown kind");
	in.kind = 0;
	is_int(file_decoded(&in), -EPROTO, "file: kind 0");
	in.kind = PLAN_TWINS_FILE;
	in.size = BUNDLE_FILE_MAX;
	is_int(file_decoded(&in), 0, "file: the largest");
	in.size++;
	is_int(file_decoded(&in), -EMSGSIZE, "file: one byte larger");
	in.size = 0;
	in.path = "../x";
	is_int(file_decoded(&in), -EPERM, "file: a path that climbs");
}

static void
test_exit(void)
{
	struct plan_exit in = { .code = -1,
				.signal = 9,
				.core = 1,
				.oom = 1,
				.pipe_held = 1,
				.ended_by = ENDED_WORLD,
				.errno_name = "ENOENT",
				.user_us = 1,
				.system_us = 2,
				.wall_us = UINT64_MAX,
				.max_rss_kib = 4,
				.stdout_bytes = 5,
				.stderr_bytes = 6,
				.stdout_sha256 = { 7 },
				.stderr_sha256 = { 8 } };
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_exit_encode(&w, &in);
	shake(decode_exit, &w, "exit");
	ok(got.exit.code == -1 && got.exit.signal == 9 && got.exit.core == 1 && got.exit.ended_by == ENDED_WORLD &&
		   got.exit.wall_us == UINT64_MAX && got.exit.max_rss_kib == 4 && got.exit.stderr_bytes == 6 &&
		   got.exit.stdout_sha256[0] == 7 && got.exit.stderr_sha256[0] == 8,
	   "exit: comes back");
	is_str(got.exit.errno_name, "ENOENT", "exit: errno");
	static const struct {
		int32_t code;
		uint8_t signal, core, stage, ended_by;
		int r;
	} t[] = {
		{ 0, 0, 0, 0, 0, 0 },        { 255, 0, 0, 0, 0, 0 },       { 256, 0, 0, 0, 0, -EPROTO },
		{ -2, 0, 0, 0, 0, -EPROTO }, { 0, 9, 0, 0, 0, -EPROTO },   { 0, 0, 0, 9, 0, -EPROTO },
		{ -1, 0, 2, 0, 0, -EPROTO }, { -1, 0, 0, 10, 0, -EPROTO }, { -1, 0, 0, 0, 11, -EPROTO },
		{ -1, 0, 0, 9, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		in.code = t[i].code;
		in.signal = t[i].signal;
		in.core = t[i].core;
		in.stage = t[i].stage;
		in.ended_by = t[i].ended_by;
		writer_init(&w, buf, sizeof(buf));
		plan_exit_encode(&w, &in);
		ok(decode_exit(buf, w.len) == t[i].r, "exit: values %zu", i);
	}
}

static void
test_small(void)
{
	struct plan_commit commit = { 3, 1ull << 32, { 9 } };
	struct plan_truncated truncated = { TRUNCATED_STATE, 7, 8 };
	struct plan_fail fail = { "firewall.install", "EOPNOTSUPP", "no inet family" };
	struct plan_end end = { 42, { 5 }, END_TIMEOUT };
	uint8_t digest[32] = { 1, [31] = 2 };
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	plan_gate_encode(&w, digest);
	for (size_t n = 0; n < w.len; n++)
		if (decode_gate(guard_copy(buf, n), n) != -EPROTO)
			ok(0, "gate: %zu bytes", n);
	ok(decode_gate(guard_copy(buf, w.len), w.len) == 0 && memcmp(got.digest, digest, 32) == 0, "gate: comes back");
	buf[0] = PLAN_TWINS;
	is_int(decode_gate(buf, w.len), -EPROTO, "gate: another section");
	writer_init(&w, buf, sizeof(buf));
	plan_commit_encode(&w, &commit);
	for (size_t n = 0; n < w.len; n++)
		if (decode_commit(guard_copy(buf, n), n) != -EPROTO)
			ok(0, "commit: %zu bytes", n);
	ok(decode_commit(guard_copy(buf, w.len), w.len) == 0 && got.commit.files == 3 &&
		   got.commit.bytes == 1ull << 32 && got.commit.chain[0] == 9,
	   "commit: comes back");
	writer_init(&w, buf, sizeof(buf));
	plan_truncated_encode(&w, &truncated);
	shake(decode_truncated, &w, "truncated");
	ok(got.truncated.what == TRUNCATED_STATE && got.truncated.kept == 7 && got.truncated.lost == 8,
	   "truncated: comes back");
	writer_init(&w, buf, sizeof(buf));
	plan_fail_encode(&w, &fail);
	shake(decode_fail, &w, "fail");
	is_str(got.fail.errno_name, "EOPNOTSUPP", "fail: errno");
	is_str(got.fail.text, "no inet family", "fail: text");
	writer_init(&w, buf, sizeof(buf));
	plan_end_encode(&w, &end);
	shake(decode_end, &w, "end");
	ok(got.end.frames == 42 && got.end.chain[0] == 5 && got.end.result == END_TIMEOUT, "end: comes back");
	buf[w.len - 1] = END_TIMEOUT + 1;
	is_int(decode_end(buf, w.len), -EPROTO, "end: unknown result");
}

static void
test_names(void)
{
	is_str(errno_name(ENOENT), "ENOENT", "errno: ENOENT");
	is_str(errno_name(EOPNOTSUPP), "EOPNOTSUPP", "errno: EOPNOTSUPP");
	is_str(errno_name(ECONNREFUSED), "ECONNREFUSED", "errno: ECONNREFUSED");
	is_str(errno_name(4095), "E4095", "errno: unknown");
	is_str(errno_name(0), "E0", "errno: 0");
	is_str(errno_name(-5), "E-5", "errno: negative");
	is_str(exec_stage_name(EXEC_EXEC), "exec", "stage");
	is_str(exec_stage_name(200), "?", "stage: unknown");
	is_str(exit_ended_by_name(ENDED_OOM), "out of memory", "ended by");
	is_str(exit_ended_by_name(ENDED_WORLD), "world", "ended by the world");
	is_str(truncated_what_name(TRUNCATED_DENIED), "denied", "truncated");
	is_str(truncated_what_name(9), "?", "truncated: unknown");
}

int
main(void)
{
	guard_random_start();
	test_exec();
	test_policy();
	test_paths();
	test_file();
	test_exit();
	test_small();
	test_names();
	return tap_done();
}
