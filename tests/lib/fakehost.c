/* SPDX-License-Identifier: GPL-2.0-or-later
 * fakehost.c - a small host for tests of the guest: sends a plan made from its arguments, prints what comes back as lines, and
 * checks stream, chain and digests as the real host does.  Can misbehave on request.
 *
 * fakehost [OPTION]... -- GUEST [ARG]... -- WORKFLOW [ARG]...
 * Exit status: 0 END came, 1 no END or a broken stream, 2 usage. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "firewall/fw.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/plan.h"

#define FILES_MAX 256
#define ENV_MAX 64

static struct {
	int local, sandbox, no_commit, no_start, no_ping, bad_digest, bad_chain, bad_gate, garbage_after_commit, hosts,
		slow;
	int cut_after, cancel_ms, close_ms, garbage_first, cancel_on_ready, close_on_ready;
	const char *app, *cwd, *stdin_text, *bundle, *dump, *twins;
	const char *files[FILES_MAX];
	int files_len;
	const char *env[ENV_MAX + 1];
	int env_len;
	uint32_t run_ms, grace_ms, idle_ms, port, control;
	uint64_t output;
} o;
static char **guest, **workflow;
static int to = -1, from = -1;
static struct frame_sender sender;
static struct frame_receiver receiver;
static uint8_t stream_random[FRAME_RANDOM_LEN];
static int broken, sent_frames;
static uint32_t file_count;
static uint64_t byte_count;

static void
die(const char *what)
{
	fprintf(stderr, "fakehost: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void
send_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0 && !broken) {
		ssize_t n = write(to, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			printf("send-failed %s\n", errno_name(errno));
			broken = 1;
			return;
		}
		p += n;
		len -= (size_t)n;
	}
}

static void
put(uint8_t type, uint8_t flags, const void *body, size_t len)
{
	uint8_t header[FRAME_HEADER_LEN];

	if (o.cut_after && sent_frames >= o.cut_after)
		return;
	sent_frames++;
	frame_send(&sender, type, flags, body, (uint32_t)len, header);
	send_bytes(header, sizeof(header));
	send_bytes(body, len);
}

static void
put_record(uint8_t type, const uint8_t *p, size_t len)
{
	for (; len > FRAME_BODY_MAX; p += FRAME_BODY_MAX, len -= FRAME_BODY_MAX)
		put(type, FRAME_MORE, p, FRAME_BODY_MAX);
	put(type, 0, p, len);
}

static void
send_hello(void)
{
	struct frame_hello h = { .version_min = 1, .version_max = 1 };
	uint8_t body[FRAME_HELLO_LEN];
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, stream_random, sizeof(stream_random)) != sizeof(stream_random))
		die("/dev/urandom");
	close(fd);
	memcpy(h.random, stream_random, sizeof(stream_random));
	frame_sender_init(&sender, stream_random);
	frame_receiver_init(&receiver, FRAME_TO_HOST, stream_random, false);
	frame_hello_encode(&h, body);
	put(FRAME_HELLO_HOST, 0, body, sizeof(body));
}

static void
send_exec(struct writer *w)
{
	static struct plan_exec x;

	for (; workflow[x.argc]; x.argc++)
		x.argv[x.argc] = workflow[x.argc];
	x.argv[x.argc] = NULL;
	for (x.envc = 0; (int)x.envc < o.env_len; x.envc++)
		x.envp[x.envc] = o.env[x.envc];
	x.envp[x.envc] = NULL;
	x.cwd = o.cwd;
	x.stdin_data = (const void *)o.stdin_text;
	x.stdin_len = o.stdin_text ? (uint32_t)strlen(o.stdin_text) : PLAN_STDIN_NONE;
	plan_exec_encode(w, &x);
}

static void
send_policy(struct writer *w)
{
	static struct plan_policy p;

	p.mode = o.local ? PLAN_LOCAL : PLAN_SANDBOX;
	p.flags = PLAN_EXIT_ON_CLOSE | (o.hosts ? PLAN_WRITE_HOSTS : 0);
	p.workflow_uid = p.workflow_gid = 1000;
	p.twins_uid = p.twins_gid = 991;
	p.postgres_uid = p.postgres_gid = 992;
	p.run_ms = o.run_ms;
	p.start_ms = 10000;
	p.idle_ms = o.idle_ms;
	p.grace_ms = o.grace_ms;
	p.memory_bytes = 1u << 30;
	p.pids = 256;
	p.files = 4096;
	p.disk_bytes = 64u << 20;
	p.output_bytes = o.output;
	p.operations = 1000;
	p.state_bytes = 64u << 20;
	snprintf(p.app_dir, sizeof(p.app_dir), "%s", o.app);
	snprintf(p.home_dir, sizeof(p.home_dir), "/home/node");
	p.control_port = (uint16_t)o.control;
	if (!o.port)
		o.port = 20000 + (uint32_t)getpid() % 20000; /* local runs of several tests share one address */
	{
		const uint8_t name[4] = { 127, (uint8_t)(o.local ? 0 : 64), 0, 1 };

		p.services_len = 1;
		p.services[0].port = (uint16_t)o.port;
		memcpy(p.services[0].address, name, 4);
		p.hosts_len = 1;
		p.hosts[0] = (struct plan_host){ 0, "payments.test" };
	}
	plan_policy_encode(w, &p);
}

static void
send_run(void)
{
	static uint8_t buf[4u << 20];
	static char text[2 * FW_TEXT_MAX];
	uint8_t digest[32] = { 0 };
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	send_exec(&w);
	put_record(FRAME_RUN, w.at, w.len);
	writer_init(&w, buf, sizeof(buf));
	send_policy(&w);
	put_record(FRAME_RUN, w.at, w.len);
	if (!o.local) {
		int len = fw_text_policy_all((uint16_t)o.control, text, sizeof(text));

		if (len < 0)
			die("policy text");
		sha256_of(text, (size_t)len, digest);
	}
	digest[0] ^= (uint8_t)o.bad_gate;
	writer_init(&w, buf, sizeof(buf));
	plan_gate_encode(&w, digest);
	put_record(FRAME_RUN, w.at, w.len);
	writer_init(&w, buf, sizeof(buf));
	write_u8(&w, PLAN_TWINS);
	write_text(
		&w,
		o.twins ? o.twins
			: "{\"run\":{\"id\":\"0\",\"seed\":1,\"start_ms\":0},\"limits\":{\"operations\":1000,"
			  "\"state_bytes\":1000000},\"secrets\":{},\"services\":[{\"name\":\"payments\",\"kind\":\"http\","
			  "\"hosts\":[\"payments.test\"],\"state\":{\"charges\":[{\"id\":\"ch_1\"}]},"
			  "\"routes\":[{\"resource\":\"charges\",\"path\":\"/charges\"}],\"unmatched\":\"fail\"}]}");
	put_record(FRAME_RUN, w.at, w.len);
}

static void
send_data(const uint8_t *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = len - at < FRAME_BODY_MAX ? len - at : FRAME_BODY_MAX;

		put(FRAME_DATA, 0, data + at, n);
		at += n;
	}
	byte_count += len;
}

/* NAME=SOURCE a file, NAME@TARGET a link, NAME:TEXT a file with that text. */
static void
send_file(char *spec)
{
	static uint8_t body[8192], data[8u << 20];
	struct plan_file f = { .kind = PLAN_FILE, .mode = 0644 };
	char *sep = strpbrk(spec, "=@:");
	struct writer w;
	size_t len = 0;

	if (!sep)
		die("file");
	f.path = spec;
	if (*sep == '@') {
		f.kind = PLAN_LINK;
		f.target = sep + 1;
	} else if (*sep == ':') {
		len = strlen(sep + 1);
		memcpy(data, sep + 1, len);
	} else {
		int fd = open(sep + 1, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));
		struct stat s;

		if (n < 0 || fstat(fd, &s) < 0)
			die(sep + 1);
		f.mode = s.st_mode & 0100 ? 0755 : 0644;
		len = (size_t)n;
		close(fd);
	}
	*sep = '\0';
	f.size = len;
	sha256_of(data, len, f.sha256);
	f.sha256[0] ^= (uint8_t)o.bad_digest;
	writer_init(&w, body, sizeof(body));
	plan_file_encode(&w, &f);
	put(FRAME_FILE, 0, w.at, w.len);
	file_count++;
	send_data(data, len);
}

static void
send_commit(void)
{
	struct plan_commit c = { .files = file_count, .bytes = byte_count };
	uint8_t body[64];
	struct writer w;

	memcpy(c.chain, sender.chain.value, sizeof(c.chain));
	c.chain[0] ^= (uint8_t)o.bad_chain;
	writer_init(&w, body, sizeof(body));
	plan_commit_encode(&w, &c);
	put(FRAME_COMMIT, 0, w.at, w.len);
}

static void
send_bundle(void)
{
	if (o.garbage_first)
		send_bytes("GET / HTTP/1.1\r\nHost: example.test\r\n\r\n", 38);
	send_hello();
	send_run();
	for (int i = 0; i < o.files_len; i++) {
		char *spec = strdup(o.files[i]);

		send_file(spec);
		free(spec);
	}
	if (!o.no_commit)
		send_commit();
	if (o.garbage_after_commit)
		send_bytes("\xff\xff\xff\xff garbage that is no frame at all", 36);
}

/* ---- what comes back ------------------------------------------------------------------------------------------------- */

static struct sha256 hash[2];
static uint64_t stream_bytes[2];
static int dump_fd = -1, ended;

static void
print_text(const char *name, const struct frame *f, size_t skip)
{
	printf("%s%s ", name, f->flags & FRAME_MORE ? "+" : "");
	for (size_t i = skip; i < f->len; i++)
		putchar(f->body[i] >= 0x20 && f->body[i] < 0x7f ? f->body[i] : '?');
	putchar('\n');
}

static void
print_exit(const struct frame *f)
{
	struct plan_exit x;
	uint8_t digest[2][32];

	if (plan_exit_decode(f->body, f->len, &x) < 0) {
		printf("EXIT malformed\n");
		return;
	}
	sha256_get(&hash[0], digest[0]);
	sha256_get(&hash[1], digest[1]);
	printf("EXIT code=%d signal=%u core=%u oom=%u pipe_held=%u stage=%s errno=%s ended_by=%s stdout=%llu stderr=%llu got=%llu/%llu "
	       "digests=%s wall_ms=%llu\n",
	       x.code, x.signal, x.core, x.oom, x.pipe_held, exec_stage_name(x.stage), x.errno_name,
	       exit_ended_by_name(x.ended_by), (unsigned long long)x.stdout_bytes, (unsigned long long)x.stderr_bytes,
	       (unsigned long long)stream_bytes[0], (unsigned long long)stream_bytes[1],
	       memcmp(digest[0], x.stdout_sha256, 32) == 0 && memcmp(digest[1], x.stderr_sha256, 32) == 0 ? "match"
													  : "DIFFER",
	       (unsigned long long)(x.wall_us / 1000));
}

static void
print_frame(const struct frame *f)
{
	struct plan_truncated t;
	struct plan_fail fail;
	struct plan_end end;
	int which = f->type == FRAME_STDERR;

	switch (f->type) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
		sha256_add(&hash[which], f->body, f->len);
		stream_bytes[which] += f->len;
		if (dump_fd >= 0 && !which)
			(void)!write(dump_fd, f->body, f->len);
		if (f->len <= 200)
			print_text(frame_type_name(f->type), f, 0);
		break;
	case FRAME_FIREWALL:
	case FRAME_STATE:
		printf("phase=%u ", f->body[0]);
		print_text(frame_type_name(f->type), f, f->type == FRAME_STATE ? 2 : 1);
		break;
	case FRAME_EXIT:
		print_exit(f);
		break;
	case FRAME_TRUNCATED:
		if (plan_truncated_decode(f->body, f->len, &t) == 0)
			printf("TRUNCATED %s kept=%llu lost=%llu\n", truncated_what_name(t.what),
			       (unsigned long long)t.kept, (unsigned long long)t.lost);
		break;
	case FRAME_FAIL:
		if (plan_fail_decode(f->body, f->len, &fail) == 0)
			printf("FAIL step=%s errno=%s text=%s\n", fail.step, fail.errno_name, fail.text);
		break;
	case FRAME_END:
		if (plan_end_decode(f->body, f->len, &end) == 0)
			printf("END result=%u\n", end.result);
		ended = 1;
		break;
	case FRAME_LOG:
		print_text("LOG", f, 1);
		break;
	case FRAME_PONG:
		break;
	default:
		print_text(frame_type_name(f->type), f, 0);
	}
	fflush(stdout);
}

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static void
close_input(void)
{
	if (to >= 0)
		close(to);
	to = -1;
}

static void
react(const struct frame *f)
{
	static const uint8_t reason[1] = { CANCEL_SIGNAL };

	if (to < 0 || o.bundle)
		return;
	if (f->type == FRAME_FIREWALL && f->body[0] == 1 && !(f->flags & FRAME_MORE) && !o.no_start)
		put(FRAME_START, 0, NULL, 0);
	if (f->type == FRAME_READY && o.cancel_on_ready)
		put(FRAME_CANCEL, 0, reason, sizeof(reason));
	if (f->type == FRAME_READY && o.close_on_ready)
		close_input();
}

static void
timers(uint64_t start, uint64_t *ping)
{
	static const uint8_t reason[1] = { CANCEL_SIGNAL };
	static int cancelled;
	uint64_t now = now_ms();
	uint8_t body[8] = { 0 };

	if (to < 0 || o.bundle)
		return;
	if (o.cancel_ms && !cancelled && now - start >= (uint64_t)o.cancel_ms) {
		cancelled = 1;
		put(FRAME_CANCEL, 0, reason, sizeof(reason));
	}
	if (o.close_ms && now - start >= (uint64_t)o.close_ms) {
		close_input();
		return;
	}
	if (!o.no_ping && now - *ping >= 2000) {
		*ping = now;
		put(FRAME_PING, 0, body, sizeof(body));
	}
}

static void
receive_all(void)
{
	static uint8_t buf[65536];
	uint64_t start = now_ms(), ping = start;

	for (;;) {
		struct pollfd p = { .fd = from, .events = POLLIN };
		ssize_t n;
		size_t at = 0, used;
		struct frame f;
		int r;

		timers(start, &ping);
		if (poll(&p, 1, 50) <= 0)
			continue;
		if (o.slow)
			usleep(20000);
		n = read(from, buf, sizeof(buf));
		if (n <= 0)
			return;
		while (at < (size_t)n) {
			r = frame_receive(&receiver, buf + at, (size_t)n - at, &used, &f);
			at += used;
			if (r < 0) {
				printf("stream-error %s %s\n", errno_name(-r), receiver.problem);
				fflush(stdout);
				broken = 1;
				return;
			}
			if (r > 0) {
				print_frame(&f);
				react(&f);
			}
		}
	}
}

static pid_t
start_guest(void)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(guest[0], guest);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	if (!o.bundle)
		to = in[1];
	else
		close(in[1]);
	from = out[0];
	return pid;
}

static int
number(const char *s)
{
	return (int)strtol(s, NULL, 10);
}

static void
options(int argc, char **argv)
{
	int i = 1;

	o.app = "/app";
	o.cwd = "";
	o.run_ms = 20000;
	o.grace_ms = 500;
	o.output = 64u << 20;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
		static const struct {
			const char *name;
			int *flag;
		} flags[] = {
			{ "--local", &o.local },
			{ "--sandbox", &o.sandbox },
			{ "--no-commit", &o.no_commit },
			{ "--no-start", &o.no_start },
			{ "--no-ping", &o.no_ping },
			{ "--bad-digest", &o.bad_digest },
			{ "--bad-chain", &o.bad_chain },
			{ "--bad-gate", &o.bad_gate },
			{ "--garbage", &o.garbage_after_commit },
			{ "--garbage-first", &o.garbage_first },
			{ "--hosts", &o.hosts },
			{ "--slow", &o.slow },
			{ "--cancel-on-ready", &o.cancel_on_ready },
			{ "--close-on-ready", &o.close_on_ready },
		};
		static const struct {
			const char *name;
			int *value;
		} numbers[] = { { "--cut-after", &o.cut_after },
				{ "--cancel-ms", &o.cancel_ms },
				{ "--close-ms", &o.close_ms } };
		int found = 0;

		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
			if (strcmp(a, flags[k].name) == 0)
				found = *flags[k].flag = 1;
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			if (strcmp(a, numbers[k].name) == 0) {
				*numbers[k].value = number(v);
				found = 1;
				i++;
			}
		if (found)
			continue;
		i++;
		if (strcmp(a, "--app") == 0)
			o.app = v;
		else if (strcmp(a, "--cwd") == 0)
			o.cwd = v;
		else if (strcmp(a, "--stdin") == 0)
			o.stdin_text = v;
		else if (strcmp(a, "--bundle") == 0)
			o.bundle = v;
		else if (strcmp(a, "--dump") == 0)
			o.dump = v;
		else if (strcmp(a, "--twins") == 0)
			o.twins = v;
		else if (strcmp(a, "--env") == 0 && o.env_len < ENV_MAX)
			o.env[o.env_len++] = v;
		else if (strcmp(a, "--file") == 0 && o.files_len < FILES_MAX)
			o.files[o.files_len++] = v;
		else if (strcmp(a, "--run-ms") == 0)
			o.run_ms = (uint32_t)number(v);
		else if (strcmp(a, "--grace-ms") == 0)
			o.grace_ms = (uint32_t)number(v);
		else if (strcmp(a, "--idle-ms") == 0)
			o.idle_ms = (uint32_t)number(v);
		else if (strcmp(a, "--port") == 0)
			o.port = (uint32_t)number(v);
		else if (strcmp(a, "--control") == 0)
			o.control = (uint32_t)number(v);
		else if (strcmp(a, "--output") == 0)
			o.output = (uint64_t)strtoull(v, NULL, 10);
		else {
			fprintf(stderr, "fakehost: unknown option %s\n", a);
			exit(2);
		}
	}
	guest = argv + i + 1;
	for (i++; i < argc && strcmp(argv[i], "--") != 0; i++)
		;
	if (i >= argc)
		die("usage");
	argv[i] = NULL;
	workflow = argv + i + 1;
}

int
main(int argc, char **argv)
{
	int status = 0;
	pid_t pid;

	options(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (o.dump)
		dump_fd = open(o.dump, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	sha256_init(&hash[0]);
	sha256_init(&hash[1]);
	if (o.bundle) {
		to = open(o.bundle, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (to < 0)
			die(o.bundle);
		send_bundle();
		close(to);
		to = -1;
		pid = start_guest();
	} else {
		pid = start_guest();
		send_bundle();
		broken = 0; /* a guest that ended early has said why */
	}
	if (o.cut_after || o.no_commit)
		close_input();
	receive_all();
	close_input();
	if (broken)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("guest status=%d signal=%d complete=%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0, frame_receiver_is_complete(&receiver));
	return ended && !broken ? 0 : 1;
}
