// SPDX-License-Identifier: GPL-2.0-or-later
// test_stage.c - what enters the sandbox, what is left out, and each thing that is refused.
#include "host/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/world.h"
#include "proto/frame.h"
#include "proto/plan.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/test-stage-XXXXXX";
static const char rsa[] =
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAtest\nAAAA0123456789abcdef==\n-----END RSA PRIVATE KEY-----\n";

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
clear(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	mkdir(folder, 0755);
	if (chdir(folder) < 0)
		abort();
}

static void
put(const char *path, const char *text)
{
	char dir[512];
	size_t i;
	int fd;

	for (i = 0; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(dir, sizeof(dir), "%.*s", (int)i, path);
		mkdir(dir, 0755);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

// Stages with these JSON patterns; more are further keys of the world.
static int
stage_with(const char *files, const char *more, struct stage *s, struct diag *d)
{
	char text[4096];
	struct world w;
	int r;

	snprintf(text, sizeof(text),
		 "{\"agenttwin\":\"world/1\",\"name\":\"w\",%s\"files\":[%s],\n"
		 "\"services\":[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.internal\"]}],\n"
		 "\"workflow\":{\"command\":[\"true\"]},\"checks\":[{\"id\":\"e\",\"kind\":\"exit\",\"code\":0}]}",
		 more, files);
	put("world.json", text);
	memset(s, 0, sizeof(*s));
	s->root_fd = -1;
	r = world_load(NULL, &w, d);
	if (r < 0) {
		printf("# %s at %s\n", d->problem, d->pointer);
		return r;
	}
	r = stage_collect(&w, s, d);
	world_wipe(&w);
	return r;
}

static void
takes(const char *files, const char *more, const char *want, const char *left_out, const char *name)
{
	char got[4096] = "", left[4096] = "";
	struct stage s;
	struct diag d;
	size_t i;

	if (!ok(stage_with(files, more, &s, &d) == 0, "%s", name)) {
		printf("# at %s: %s (%s)\n", d.pointer, d.problem, d.fix);
		return;
	}
	for (i = 0; i < s.entries_len; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s%s%s", i ? " " : "", s.entries[i].path,
			 s.entries[i].target ? ">" : "", s.entries[i].target ? s.entries[i].target : "");
	for (i = 0; i < s.left_out_len; i++)
		snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s%s:%s", i ? " " : "", s.left_out[i].path,
			 s.left_out[i].rule);
	is_str(got, want, name);
	is_str(left, left_out, name);
	stage_wipe(&s);
}

static void
refused(const char *files, int err, const char *pointer, const char *problem, const char *fix, const char *name)
{
	struct stage s;
	struct diag d;
	int r = stage_with(files, "", &s, &d);

	if (!ok(r == err && strcmp(d.pointer, pointer) == 0 && strstr(d.problem, problem) && strstr(d.fix, fix) &&
			d.line == 1 && strcmp(d.file, "world.json") == 0,
		"refused: %s", name))
		printf("# %d %s:%u at %s: %s (%s)\n", r, d.file, d.line, d.pointer, d.problem, d.fix);
	stage_wipe(&s);
}

static void
test_patterns(void)
{
	clear();
	put("a.mjs", "a");
	put("src/b.js", "b");
	put("src/deep/er/c.js", "c");
	put("src/.hidden", "h");
	put(".next/server/.x", "x");
	put(".env.example", "A=");
	put("node_modules/zod/.package-lock.json", "{}");
	put("node_modules/zod/index.js", "z");
	put(".agenttwin/receipts/r.json", "{}");
	takes("\"a.mjs\"", "", "a.mjs", "", "one file");
	takes("\"src/**\"", "", "src/b.js src/deep/er/c.js", "", "a folder without its dotfiles");
	takes("\"src/*\"", "", "src/b.js", "", "one level");
	takes("\"**/*.js\", \"!node_modules/**\"", "", "src/b.js src/deep/er/c.js", "", "everywhere but there");
	takes("\"src/**\", \"!**/c.js\", \"src/deep/er/?.js\"", "", "src/b.js src/deep/er/c.js", "",
	      "the last match wins");
	takes("\".next/**\"", "", ".next/server/.x", "", "a dot in the pattern takes dots");
	takes("\"src/.hidden\", \".env.example\"", "", ".env.example src/.hidden", "", "dotfiles by name");
	takes("\"node_modules/**\"", "", "node_modules/zod/.package-lock.json node_modules/zod/index.js", "",
	      "dotfiles below node_modules");
	takes("\"**\", \"!world.json\"", "",
	      "a.mjs node_modules/zod/.package-lock.json node_modules/zod/index.js src/b.js src/deep/er/c.js", "",
	      "everything is not .agenttwin");
	takes("", "", "", "", "nothing at all");
	refused("\"src\"", -EPERM, "/files/0", "src is a folder", "src/**", "a bare folder");
	refused("\"src/**\", \"!src/deep\"", -EPERM, "/files/1", "src/deep is a folder", "!src/deep/**",
		"a bare folder that shall be left out");
	refused("\"*/deep\"", -ENOENT, "/files/0", "matches folders only", "*/deep/**", "a bare folder by a wildcard");
	refused("\"a.mjs\", \"scr/b.js\"", -ENOENT, "/files/1", "\"scr/b.js\" matches no file", "did you mean src?",
		"no match, the folder is near");
	refused("\"src/bb.js\"", -ENOENT, "/files/0", "matches no file", "did you mean src/b.js?",
		"no match, the file is near");
	refused("\"src/*.ts\"", -ENOENT, "/files/0", "matches no file", "correct the pattern",
		"no match of a wildcard");
	refused("\"*.mjs\", \"!a.mjs\", \"zzz\"", -ENOENT, "/files/2", "matches no file", "there is no zzz",
		"no match, nothing is near");
}

static void
test_refused(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "src/socket" };
	int fd;

	clear();
	put("src/a.js", "a");
	if (symlink("a.js", "src/link.js") < 0 || symlink("src", "lib") < 0 || symlink("/etc", "node_modules") < 0)
		abort();
	refused("\"src/**\"", -EPERM, "/files/0", "src/link.js is a symbolic link (to a.js)", "!src/link.js",
		"a symlink");
	refused("\"lib/a.js\"", -EPERM, "/files/0", "lib is a symbolic link (to src)", "copy",
		"a path through a symlink");
	refused("\"node_modules/**\"", -EPERM, "/files/0", "node_modules is a symbolic link (to /etc)", "npm ci",
		"node_modules itself a symlink");
	unlink("src/link.js");
	if (mkfifo("src/fifo", 0600) < 0)
		abort();
	refused("\"src/**\"", -EPERM, "/files/0", "src/fifo is a fifo", "!src/fifo", "a fifo");
	unlink("src/fifo");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) == 0)
		refused("\"src/*\"", -EPERM, "/files/0", "src/socket is a socket", "!src/socket", "a socket");
	if (fd >= 0)
		close(fd);
	unlink("src/socket");
	if (mknod("src/null", S_IFCHR | 0600, 0x103) == 0)
		refused("\"src/*\"", -EPERM, "/files/0", "src/null is a device", "!src/null", "a device");
	else
		skip("a device needs root");
	unlink("src/null");
	put("src/\xff.js", "x");
	refused("\"src/*\"", -EPERM, "/files/0", "src/\\xff.js: the name is not UTF-8", "rename",
		"a name that is not UTF-8");
	unlink("src/\xff.js");
	if (truncate("src/a.js", (off_t)2 << 30) == 0)
		refused("\"src/*\"", -EMSGSIZE, "/files/0", "src/a.js has 2147483648 bytes", "large files",
			"a file over 1 GiB");
	else
		skip("no sparse files here");
}

static void
test_credentials(void)
{
	static const char *const names[] = { ".env",
					     ".env.local",
					     ".npmrc",
					     ".netrc",
					     ".aws/credentials",
					     ".ssh/config",
					     ".git-credentials",
					     ".docker/config.json",
					     "id_rsa",
					     "id_ed25519",
					     "server.key",
					     "a.p12",
					     "a.pfx",
					     "a.jks",
					     "deep/.env" };
	char pattern[128], problem[128];
	size_t i;

	clear();
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put(names[i], "x");
		snprintf(pattern, sizeof(pattern), "\"%s\"", names[i]);
		snprintf(problem, sizeof(problem), "%s looks like a credential", names[i]);
		refused(pattern, -EPERM, "/files/0", problem, "{{secret.NAME}}", names[i]);
	}
	clear();
	put("notes.txt", rsa);
	refused("\"notes.txt\"", -EPERM, "/files/0", "notes.txt holds a complete private key", "!notes.txt",
		"a private key in an innocent name");
	put("notes.txt",
	    "const begin = '-----BEGIN RSA PRIVATE KEY-----';\nconst end = '-----END RSA PRIVATE KEY-----';\n");
	put("id_map.js", "x");
	put("id_rsa.pub", "x");
	takes("\"notes.txt\", \"id_*\"", "", "id_map.js id_rsa.pub notes.txt", "",
	      "header text and namesakes are none");
	put("account.json",
	    "{\"private_key\":\"-----BEGIN PRIVATE KEY-----\\nMIIEvAIBADANBgkqhkiG9w0BAQEF\\nAASCBKYwggSiAgEAAoIBAQC7\\n-----END PRIVATE KEY-----\\n\"}");
	refused("\"account.json\"", -EPERM, "/files/0", "account.json holds a complete private key", "!account.json",
		"a key within JSON");
	put("node_modules/ssh2/test/key.pem", rsa);
	put("node_modules/ssh2/.npmrc", "x");
	put("node_modules/ssh2/.env.example", "x");
	put("node_modules/ssh2/index.js", "x");
	if (symlink("key.pem", "node_modules/ssh2/test/link.pem") < 0)
		abort();
	takes("\"node_modules/**\"", "", "node_modules/ssh2/.env.example node_modules/ssh2/index.js",
	      "node_modules/ssh2/.npmrc:.npmrc node_modules/ssh2/test/key.pem:private key node_modules/ssh2/test/link.pem:link to a file left out",
	      "left out below node_modules");
	takes("\"node_modules/**\"", "\"keep\":[\"node_modules/ssh2/test/key.pem\"],",
	      "node_modules/ssh2/.env.example node_modules/ssh2/index.js node_modules/ssh2/test/key.pem node_modules/ssh2/test/link.pem>key.pem",
	      "node_modules/ssh2/.npmrc:.npmrc", "kept knowingly");
}

static void
test_links(void)
{
	clear();
	put("packages/me/index.js", "x");
	put("node_modules/.pnpm/zod@1/node_modules/zod/bin/z.js", "z");
	put("outside/f.js", "x");
	mkdir("node_modules/.bin", 0755);
	if (symlink(".pnpm/zod@1/node_modules/zod", "node_modules/zod") < 0 ||
	    symlink("../zod/bin/z.js", "node_modules/.bin/z") < 0 || symlink("../packages/me", "node_modules/me") < 0)
		abort();
	takes("\"node_modules/**\", \"packages/**\"", "",
	      "node_modules/.bin/z>../zod/bin/z.js node_modules/.pnpm/zod@1/node_modules/zod/bin/z.js node_modules/me>../packages/me "
	      "node_modules/zod>.pnpm/zod@1/node_modules/zod packages/me/index.js",
	      "", ".bin, a farm of links, a workspace");
	refused("\"node_modules/**\"", -EPERM, "/files",
		"node_modules/me leads to ../packages/me (packages/me), which no pattern takes", "packages/me/**",
		"a link to what is not taken");
	takes("\"node_modules/**\", \"!node_modules/me\"", "",
	      "node_modules/.bin/z>../zod/bin/z.js node_modules/.pnpm/zod@1/node_modules/zod/bin/z.js node_modules/zod>.pnpm/zod@1/node_modules/zod",
	      "", "and without the link");
	unlink("node_modules/me");
	if (symlink("/etc/passwd", "node_modules/me") < 0)
		abort();
	refused("\"node_modules/**\"", -EPERM, "/files", "node_modules/me leads to /etc/passwd, an absolute path",
		"!node_modules/me", "an absolute link");
	unlink("node_modules/me");
	if (symlink("../../../etc", "node_modules/me") < 0)
		abort();
	refused("\"node_modules/**\"", -EPERM, "/files", "node_modules/me leads to ../../../etc, outside root",
		"\"root\"", "a link that leaves the root");
	unlink("node_modules/me");
	if (symlink("gone", "node_modules/me") < 0)
		abort();
	refused("\"node_modules/**\"", -EPERM, "/files", "node_modules/me leads to gone, which does not exist",
		"npm ci", "a dangling link");
	unlink("node_modules/me");
	if (symlink("you", "node_modules/me") < 0 || symlink("me", "node_modules/you") < 0)
		abort();
	refused("\"node_modules/**\"", -EPERM, "/files", "a loop", "remove the link", "a loop");
}

struct collected {
	size_t len;
	char data[64];
};

static int
collect(void *arg, const void *data, size_t len)
{
	struct collected *c = arg;

	memcpy(c->data + c->len, data, len);
	c->len += len;
	return 0;
}

static void
test_read(void)
{
	struct collected c = { 0 };
	struct stage s;
	struct diag d;
	uint8_t digest[32];

	clear();
	put("a.sh", "hello");
	chmod("a.sh", 0700);
	put("b.txt", "bye");
	ok(stage_with("\"*.sh\", \"*.txt\"", "", &s, &d) == 0, "two files");
	is_int(s.entries[0].mode, 0755, "a program stays one");
	is_int(s.entries[1].mode, 0644, "a file is none");
	is_int((long long)s.bytes, 8, "bytes in all");
	sha256_of("hello", 5, digest);
	ok(memcmp(digest, s.entries[0].sha256, 32) == 0, "digest");
	ok(stage_read(&s, 0, collect, &c, &d) == 0 && c.len == 5 && memcmp(c.data, "hello", 5) == 0, "read again");
	put("a.sh", "hello, world");
	ok(stage_read(&s, 0, collect, &c, &d) == -EBUSY && strstr(d.problem, "changed") && strcmp(d.file, "a.sh") == 0,
	   "a file that grew");
	put("a.sh", "hell");
	ok(stage_read(&s, 0, collect, &c, &d) == -EBUSY, "a file that shrank");
	put("a.sh", "jello");
	ok(stage_read(&s, 0, collect, &c, &d) == -EBUSY, "a file of the same size");
	unlink("a.sh");
	if (symlink("b.txt", "a.sh") < 0)
		abort();
	ok(stage_read(&s, 0, collect, &c, &d) == -EBUSY, "a link in its place");
	stage_wipe(&s);
	unlink("a.sh");
	put("Src/x.js", "1");
	put("src/y.js", "2");
	put("src/Y.js", "3");
	ok(stage_with("\"**/*.js\"", "", &s, &d) == 0 && s.warnings_len == 2 &&
		   strstr(s.warnings[0], "Src and src differ in case alone"),
	   "names that differ in case alone");
	stage_wipe(&s);
	ok(stage_with("\"b.txt\"", "\"keep\":[\"node_modules/gone\"],", &s, &d) == -ENOENT &&
		   strcmp(d.pointer, "/keep/0") == 0,
	   "keep of a file that is not there");
	stage_wipe(&s);
}

static void
test_root(void)
{
	struct stage s;
	struct world w;
	struct diag d;

	clear();
	put("app.js", "1");
	put("worlds/a.world.json",
	    "{\"agenttwin\":\"world/1\",\"name\":\"w\",\"root\":\"..\",\"files\":[\"app.js\"],\"services\":[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"]}],"
	    "\"workflow\":{\"command\":[\"node\",\"ap.js\"]},\"checks\":[{\"id\":\"e\",\"kind\":\"exit\",\"code\":0}]}");
	ok(world_load("worlds/a.world.json", &w, &d) == 0 && stage_collect(&w, &s, &d) == 0, "a root above the world");
	ok(s.entries_len == 1 && strcmp(s.entries[0].path, "app.js") == 0, "files are relative to it");
	ok(s.warnings_len == 1 && strstr(s.warnings[0], "runs ap.js, which is not among"),
	   "a command that names no file is warned of");
	stage_wipe(&s);
	world_wipe(&w);
}

int
main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_patterns();
	test_refused();
	test_credentials();
	test_links();
	test_read();
	test_root();
	if (chdir("/") == 0)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
