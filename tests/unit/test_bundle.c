/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_bundle.c - the writer of the bundle: what it lays out, and that nothing it is sent leaves its folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/bundle.h"
#include "proto/plan.h"
#include "tests/lib/tap.h"

static char base[] = "/tmp/agenttwin-bundle-XXXXXX";
static int dir = -1, pair[2];
static pid_t writer;
static char problem[200];

static void
begin(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s/app' '%s/out' && mkdir '%s/app' '%s/out'", base, base, base,
		 base);
	if (system(command) != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	snprintf(command, sizeof(command), "%s/app", base);
	if (dir >= 0)
		close(dir);
	dir = open(command, O_PATH | O_DIRECTORY | O_CLOEXEC);
	writer = fork();
	if (writer == 0) {
		int r;

		close(pair[0]);
		umask(022);
		r = bundle_write(pair[1], dir, problem, sizeof(problem));
		if (r < 0)
			(void)!write(pair[1], problem, strlen(problem));
		_exit(-r);
	}
	close(pair[1]);
}

static void
packet(uint8_t type, const void *body, size_t len)
{
	uint8_t buf[70000];

	buf[0] = type;
	if (len)
		memcpy(buf + 1, body, len);
	(void)!send(pair[0], buf, len + 1, MSG_NOSIGNAL);
}

static void
entry(uint8_t kind, const char *path, const char *text, uint64_t size, bool right)
{
	struct plan_file f = { .kind = kind,
			       .mode = 0755,
			       .size = kind == PLAN_LINK ? 0 : size,
			       .path = path,
			       .target = kind == PLAN_LINK ? text : NULL };
	uint8_t body[4096];
	struct writer w;

	sha256_of(text, kind == PLAN_LINK ? 0 : strlen(text), f.sha256);
	f.sha256[0] ^= !right;
	writer_init(&w, body, sizeof(body));
	plan_file_encode(&w, &f);
	packet(FRAME_FILE, w.at, w.len);
	if (kind != PLAN_LINK && *text)
		packet(FRAME_DATA, text, strlen(text));
}

static int
end(bool commit)
{
	int status = 0;

	if (commit)
		packet(FRAME_COMMIT, "", 0);
	else
		shutdown(pair[0], SHUT_WR);
	waitpid(writer, &status, 0);
	close(pair[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 999;
}

static bool
is_file(const char *path, const char *text, mode_t mode)
{
	char full[256], buf[256];
	struct stat s;
	ssize_t n;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf));
	fstat(fd, &s);
	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0 && (s.st_mode & 07777) == mode;
}

static bool
exists(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return faccessat(AT_FDCWD, full, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
test_layout(void)
{
	char full[256], target[64];
	ssize_t n;

	begin();
	entry(PLAN_FILE, "a/b/c.js", "hello", 5, true);
	entry(PLAN_FILE, "a/b/empty", "", 0, true);
	entry(PLAN_FILE, "top", "x", 1, true);
	entry(PLAN_LINK, "node_modules/.bin/tool", "../tool/cli.js", 0, true);
	is_int(end(true), 0, "a plain bundle");
	ok(is_file("app/a/b/c.js", "hello", 0755) && is_file("app/a/b/empty", "", 0755) &&
		   is_file("app/top", "x", 0755),
	   "its files");
	snprintf(full, sizeof(full), "%s/app/node_modules/.bin/tool", base);
	n = readlink(full, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	is_str(target, "../tool/cli.js", "its link");
}

static void
test_escapes(void)
{
	static const char *const paths[] = { "../out/x", "a/../../out/x", "/tmp/x", "",    "a//b",
					     "./a",      "a/.",           "a/..",   "\xff" };
	char outside[128];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		begin();
		entry(PLAN_FILE, paths[i], "x", 1, true);
		ok(end(true) != 0 && !exists("out/x"), "refused: '%s'", i == 8 ? "not UTF-8" : paths[i]);
	}
	snprintf(outside, sizeof(outside), "%s/out", base);
	begin();
	entry(PLAN_LINK, "link", "../out", 0, true);
	entry(PLAN_FILE, "link/x", "x", 1, true);
	ok(end(true) != 0 && !exists("out/x"), "no way through a link that the bundle made");
	begin();
	entry(PLAN_FILE, "plain", "x", 1, true);
	entry(PLAN_FILE, "plain/x", "x", 1, true);
	ok(end(true) != 0, "a file is no folder");
	begin();
	if (symlinkat(outside, dir, "there") < 0)
		exit(1);
	entry(PLAN_FILE, "there", "x", 1, true);
	ok(end(true) == EEXIST && !exists("out/there"), "a link that was there is not followed");
}

static void
test_refusals(void)
{
	begin();
	entry(PLAN_FILE, "a", "hello", 5, false);
	is_int(end(true), EPROTO, "another digest");
	begin();
	entry(PLAN_FILE, "a", "hello", 6, true);
	is_int(end(true), EPROTO, "fewer bytes");
	begin();
	entry(PLAN_FILE, "a", "hello", 4, true);
	is_int(end(true), EPROTO, "more bytes");
	begin();
	entry(PLAN_FILE, "a", "x", 1, true);
	entry(PLAN_FILE, "a", "x", 1, true);
	is_int(end(true), EEXIST, "twice the same");
	begin();
	packet(FRAME_DATA, "x", 1);
	is_int(end(true), EPROTO, "bytes without a file");
	begin();
	packet(FRAME_FILE, "nonsense", 8);
	is_int(end(true), EPROTO, "no file at all");
	begin();
	entry(PLAN_TWINS_FILE, "a", "x", 1, true);
	is_int(end(true), EOPNOTSUPP, "a kind that is not known");
	begin();
	entry(PLAN_FILE, "a", "", BUNDLE_FILE_MAX + 1, true);
	is_int(end(true), EMSGSIZE, "too large");
	begin();
	entry(PLAN_FILE, "a", "x", 1, true);
	ok(end(false) != 0, "an end without COMMIT");
}

/* The monitor's side: the text of a refusal comes back, whatever was still on its way. */
static void
test_monitor_side(void)
{
	struct bundle b;
	uint8_t body[4096], data[60000] = { 0 };
	struct plan_file f = { .kind = PLAN_FILE, .mode = 0644, .size = 3, .path = "file" };
	struct writer w;
	char folder[64];
	int r;

	begin();
	end(true);
	snprintf(folder, sizeof(folder), "%s/app", base);
	writer_init(&w, body, sizeof(body));
	plan_file_encode(&w, &f);
	is_int(bundle_start(&b, folder, false, 0, 0), 0, "start");
	r = bundle_put(&b, FRAME_FILE, w.at, w.len);
	for (int i = 0; i < 200 && r == 0; i++)
		r = bundle_put(&b, FRAME_DATA, data, sizeof(data));
	is_int(r, -EPROTO, "the refusal arrives");
	is_str(b.problem, "file: more bytes come than announced", "with its text");
	bundle_stop(&b);
	is_int(bundle_start(&b, "/nonexistent", false, 0, 0), 0, "start beneath nothing");
	is_int(bundle_finish(&b), -ENOENT, "a folder that is not there");
	bundle_stop(&b);
	is_int(bundle_start(&b, folder, false, 0, 0), 0, "start");
	is_int(bundle_finish(&b), 0, "an empty bundle");
	errno = 0;
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no writer is left");
}

int
main(void)
{
	char command[64];

	if (!mkdtemp(base))
		return 1;
	test_layout();
	test_escapes();
	test_refusals();
	test_monitor_side();
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command) != 0 || tap_done();
}
