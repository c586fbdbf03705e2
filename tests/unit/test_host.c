/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_host.c - the whole of `run` against a guest that is played by this program.  With arguments it is agenttwin-host
 * with that guest in place of every backend: FAKEGUEST names the script.  */
// LINK: -Wl,--wrap=backend_find
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "host/backend.h"
#include "host/cmd.h"
#include "host/diag.h"
#include "tests/lib/fakeguest.c"
#include "tests/lib/tap.h"

/* As the product has it: two labels around bytes. */
__asm__(".section .rodata\n.globl guest_image\nguest_image: .ascii \"not a guest\"\n.globl guest_image_end\nguest_image_end: .byte 0\n.text\n");
extern const uint8_t guest_image[], guest_image_end[];

struct backend {
	pid_t pid;
};

static int
fake_open(struct backend **b, const struct backend_spec *s, struct diag *d)
{
	const char *script = getenv("FAKEGUEST");

	(void)s;
	if (script && strcmp(script, "open-fails") == 0)
		return diag_set(d, -ENOTSUP, "this machine has no user namespaces");
	if (script && strcmp(script, "open-hangs") == 0)
		for (;;)
			pause();
	*b = calloc(1, sizeof(**b));
	return *b ? 0 : -ENOMEM;
}

static int
fake_start(struct backend *b, int bundle, int *in, int *out, struct diag *d)
{
	const char *script = getenv("FAKEGUEST");
	int to[2], from[2];

	(void)bundle;
	if (script && strcmp(script, "start-fails") == 0)
		return diag_set(d, -EPERM, "not permitted");
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return -errno;
	b->pid = fork();
	if (b->pid == 0) {
		close(to[1]);
		close(from[0]);
		_exit(fakeguest_main(to[0], from[1], script ? script : "ok", guest_image,
				     (size_t)(guest_image_end - guest_image)));
	}
	close(to[0]);
	close(from[1]);
	*in = to[1];
	*out = from[0];
	return 0;
}

static int
fake_cancel(struct backend *b)
{
	(void)b;
	return 0;
}

static int
fake_destroy(struct backend *b, struct cleanup *c)
{
	c->attempts++;
	if (b->pid > 0) {
		kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	b->pid = 0;
	c->confirmed = true;
	return 0;
}

static int
fake_describe(struct backend *b, struct facts *f)
{
	(void)b;
	memset(f, 0, sizeof(*f));
	f->workflow_uid = f->workflow_gid = 1000;
	f->twins_uid = f->twins_gid = 991;
	return 0;
}

static void
fake_release(struct backend *b)
{
	free(b);
}

static const struct backend_ops fake_ops = {
	.name = "namespace",
	.flags = BACKEND_DUPLEX | BACKEND_SANDBOX,
	.open = fake_open,
	.start = fake_start,
	.cancel = fake_cancel,
	.destroy = fake_destroy,
	.describe = fake_describe,
	.release = fake_release,
};

const struct backend_ops *__wrap_backend_find(const char *name);
const struct backend_ops *
__wrap_backend_find(const char *name)
{
	return strcmp(name, "namespace") == 0 ? &fake_ops : NULL;
}

/* ---- the tests --------------------------------------------------------------------------------------------------------- */

static char dir[64];

static const char world_text[] =
	"{ \"agenttwin\": \"world/1\", \"name\": \"refund-once\", \"seed\": 4211, \"files\": [\"a.mjs\"],\n"
	"  \"limits\": { \"output_bytes\": 268435600 },\n"
	"  \"env\": { \"PAYMENTS_URL\": \"{{service.payments.url}}\", \"PAYMENTS_KEY\": \"{{secret.payments}}\" },\n"
	"  \"services\": [ { \"name\": \"payments\", \"kind\": \"http\", \"hosts\": [\"payments.internal\"],\n"
	"    \"auth\": { \"scheme\": \"bearer\", \"accept\": \"{{secret.payments}}\" },\n"
	"    \"state\": { \"charges\": [ { \"id\": \"ch_1\", \"refunded\": 0 } ], \"refunds\": [] },\n"
	"    \"routes\": [ { \"id\": \"refund.create\", \"match\": { \"method\": \"POST\", \"path\": \"/refunds\" },\n"
	"      \"do\": [ { \"create\": \"refunds\", \"row\": { \"charge\": \"ch_1\" }, \"as\": \"refund\" } ],\n"
	"      \"reply\": { \"status\": 201, \"body\": \"{{refund}}\" } } ] } ],\n"
	"  \"workflow\": { \"command\": [\"node\", \"a.mjs\"], \"ends\": { \"exit\": true } },\n"
	"  \"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 },\n"
	"    { \"id\": \"one-refund\", \"kind\": \"state\", \"service\": \"payments\", \"path\": \"/refunds\", \"count\": 1 },\n"
	"    { \"id\": \"one-call\", \"kind\": \"calls\", \"service\": \"payments\", \"route\": \"refund.create\", \"exactly\": 1 },\n"
	"    { \"id\": \"says-done\", \"kind\": \"stdout\", \"contains\": \"done\" },\n"
	"    { \"id\": \"no-egress\", \"kind\": \"no-egress\" } ] }\n";

static char *
path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
put_file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static char *
get_file(const char *name)
{
	FILE *f = fopen(path_of(name), "r");
	char *text = calloc(1, 4 << 20);

	if (f) {
		if (fread(text, 1, (4 << 20) - 1, f) == 0)
			text[0] = '\0';
		fclose(f);
	}
	return text;
}

/* Runs the world with a script; after signal_ms (if not 0) a signal goes to the host.  Returns the exit status. */
static int
run(const char *script, const char *timeout, int number, unsigned signal_ms)
{
	struct timespec t = { .tv_sec = signal_ms / 1000, .tv_nsec = (long)(signal_ms % 1000) * 1000000 };
	char receipt[160];
	char *argv[] = { strdup("run"),       strdup("--receipt"), receipt, strdup("--json"),
			 strdup("--timeout"), strdup(timeout),     dir,     NULL };
	pid_t pid;
	int status, fd, i;

	snprintf(receipt, sizeof(receipt), "%s/r.json", dir);
	unlink(receipt);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setenv("FAKEGUEST", script, 1);
		fd = open(path_of("out"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
		dup2(fd, 1);
		fd = open(path_of("err"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
		dup2(fd, 2);
		_exit(cmd_run(7, argv));
	}
	if (number) {
		nanosleep(&t, NULL);
		kill(pid, abs(number));
		if (number < 0) { /* twice */
			nanosleep(&t, NULL);
			kill(pid, -number);
		}
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	for (i = 0; i < 6; i++)
		if (i != 2)
			free(argv[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void
expect(const char *script, int exit_code, const char *status, const char *about)
{
	char *text, *err, want[64];
	int got = run(script, "20s", 0, 0);

	text = get_file("r.json");
	snprintf(want, sizeof(want), "\"status\": \"%s\"", status);
	if (!ok(got == exit_code && strstr(text, want), "%s: exit %d, receipt says %s", script, exit_code, status)) {
		err = get_file("err");
		printf("# exit %d\n# %.1500s\n# %.300s\n", got, err, text);
		free(err);
	}
	if (about && !ok(strstr(text, about) != NULL, "%s: the receipt says %s", script, about)) {
		char *why = strstr(text, "\"why\"");

		printf("# %.200s\n", why ? why : text);
	}
	free(text);
}

static void
scripts(void)
{
	static const struct {
		const char *script;
		int exit_code;
		const char *status, *about;
	} all[] = {
		{ "ok", 0, "passed", NULL },
		{ "exit-1", 1, "failed", "exit code 1" },
		{ "signal", 1, "failed", "signal 11 (SIGSEGV)" },
		{ "oom", 1, "failed", "memory_mb was reached" },
		{ "refund-twice", 1, "failed", "/operations/1" },
		{ "unmatched", 1, "failed", "1 of 1 operations without a route" },
		{ "egress", 1, "failed", "203.0.113.9" },
		{ "truncated", 1, "failed", "truncated at the limit" },
		{ "exec", 4, "error", "ENOENT" },
		{ "opening-unproved", 3, "aborted", "not proved" },
		{ "opening-unknown", 3, "aborted", "is UNKNOWN" },
		{ "opening-failure", 3, "aborted", "EOPNOTSUPP" },
		{ "closing-fail", 3, "aborted", "is FAIL" },
		{ "changed", 3, "aborted", "changed while the run lasted" },
		{ "fail-firewall", 3, "aborted", "firewall.install" },
		{ "fail-bundle", 4, "error", "step bundle failed" },
		{ "run-deadline", 5, "timeout", "within 20 s (--timeout)" },
		{ "twins-died", 4, "error", "twins died" },
		{ "other-guest", 4, "error", "not the one of this program" },
		{ "hello-garbage", 4, "error", "HELLO that is not JSON" },
		{ "eof", 4, "error", "without END" },
		{ "eof-hello", 4, "error", NULL },
		{ "eof-running", 4, "error", "without END" },
		{ "garbage", 4, "error", "broken stream" },
		{ "flood", 4, "error", "broken stream" },
		{ "bad-nonce", 4, "error", "broken stream" },
		{ "bad-seq", 4, "error", "broken stream" },
		{ "no-opening", 4, "error", NULL },
		{ "no-closing", 4, "error", NULL },
		{ "no-end", 4, "error", "without END" },
		{ "no-final-state", 4, "error", NULL },
		{ "chain-lie", 4, "error", "chain of frames" },
		{ "count-lie", 4, "error", "chain of frames" },
		{ "digest-lie", 4, "error", "another digest" },
		{ "bytes-lie", 4, "error", "EXIT states" },
		{ "result-failed", 4, "error", NULL },
		{ "after-end", 4, "error", "after END" },
		{ "after-end-late", 4, "error", "after END" },
		{ "after-end-frame", 4, "error", "after END" },
		{ "end-twice", 4, "error", "after END" },
		{ "stays", 4, "error", "waiting for the end of the stream" },
		{ "op-twice", 4, "error", "whose n is not 1" },
		{ "op-late", 4, "error", "broken stream" },
		{ "op-views", 4, "error", "without views" },
		{ "op-negative", 4, "error", "not JSON" },
		{ "op-routeless", 1, "failed", "1 of 1 operations without a route" },
		{ "exit-twice", 4, "error", "broken stream" },
		{ "output-late", 4, "error", "broken stream" },
		{ "state-twice", 4, "error", "twice" },
		{ "initial-twice", 4, "error", "twice" },
		{ "state-without", 4, "error", "without 'charges'" },
		{ "state-row-twice", 4, "error", "has a row twice" },
		{ "state-infinite", 4, "error", "a number that is too large" },
		{ "denied-early", 1, "failed", "no count of denied packets" },
		{ "denied-back", 4, "error", "went back" },
		{ "op-number", 4, "error", "whose n is not 0" },
		{ "op-service", 4, "error", "which the world does not have" },
		{ "op-route", 4, "error", "which service payments does not have" },
		{ "op-json", 4, "error", "not JSON" },
		{ "state-service", 4, "error", "not of service payments" },
		{ "state-index", 4, "error", "of service 7" },
		{ "open-fails", 4, "error", "no user namespaces" },
		{ "start-fails", 4, "error", "not permitted" },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		expect(all[i].script, all[i].exit_code, all[i].status, all[i].about);
}

static void
signals(void)
{
	static const char *const where[] = { "mute", "hang", "deaf" };
	char *text;
	size_t i;
	int got;

	for (i = 0; i < 3; i++) {
		got = run(where[i], "20s", SIGINT, 700);
		text = get_file("r.json");
		ok(got == 130 && strstr(text, "\"status\": \"cancelled\"") && strstr(text, "\"confirmed\": true"),
		   "SIGINT while %s: 130", where[i]);
		free(text);
	}
	got = run("open-hangs", "20s", -SIGINT, 700);
	text = get_file("r.json");
	ok(got == 130 && strstr(text, "cancelled") && strstr(text, "\"confirmed\": false"),
	   "two signals while the backend hangs: a receipt, cleanup not confirmed (%d)", got);
	free(text);
	got = run("hang", "20s", SIGTERM, 700);
	text = get_file("r.json");
	ok(got == 143 && strstr(text, "cancelled"), "SIGTERM: 143 (%d)", got);
	ok(strstr(text, "\"ended_by\": ") && strstr(text, "\"agreed\": true"),
	   "a cancelled run still has its exit and whole record");
	free(text);
}

static void
details(void)
{
	char *text, *out, *err, *again, *a, *b;
	struct stat st;
	cJSON *doc;

	is_int(run("secret", "20s", 0, 0), 0, "a workflow that prints its key passes");
	text = get_file("r.json");
	out = get_file("out");
	err = get_file("r.json.events.jsonl");
	ok(strcmp(text, out) == 0, "--json prints the receipt and nothing else");
	ok(!strstr(text, "at_test_") && !strstr(err, "at_test_"),
	   "the key is neither in the receipt nor in the event file");
	ok(strstr(text, "the key is {{secret.payments}}") != NULL, "it is named in the output");
	ok(stat(path_of("r.json.events.jsonl"), &st) == 0 && (st.st_mode & 0777) == 0600,
	   "the event file has mode 0600");
	doc = cJSON_Parse(text);
	ok(doc != NULL, "the receipt is JSON");
	cJSON_Delete(doc);
	is_int(run("secret", "20s", 0, 0), 0, "the same again");
	again = get_file("r.json");
	a = strstr(text, "\"fingerprint\": \"");
	b = strstr(again, "\"fingerprint\": \"");
	ok(a && b && strncmp(a, b, 80) == 0, "the same fingerprint");
	free(text);
	free(out);
	free(err);
	free(again);
}

int
main(int argc, char **argv)
{
	char *rm;

	if (argc > 1)
		return strcmp(argv[1], "run") == 0 ? cmd_run(argc - 1, argv + 1) : cmd_receipt(argc - 1, argv + 1);
	snprintf(dir, sizeof(dir), "/tmp/test_host.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	put_file("world.json", world_text);
	put_file("a.mjs", "console.log('done')\n");
	scripts();
	signals();
	details();
	rm = NULL;
	if (asprintf(&rm, "rm -rf '%s'", dir) > 0 && system(rm) != 0)
		printf("# %s is left\n", dir);
	free(rm);
	return tap_done();
}
