/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/node.h"
#include "host/ns.h"
#include "host/remove.h"
#include "tests/lib/tap.h"

static void
place(const char *real, const char *home, const char *inside, const char *prefix, const char *file)
{
	struct node n = { 0 };

	node_place(real, home, &n);
	if (!ok(strcmp(n.inside, inside) == 0 && strcmp(n.prefix, prefix) == 0 && strcmp(n.file, file) == 0, "%s",
		real))
		printf("# inside %s prefix %s file %s\n", n.inside, n.prefix, n.file);
}

static void
places(void)
{
	place("/usr/bin/node", "/home/u", "/usr/bin/node", "", "");
	place("/usr/local/bin/node", "/home/u", "/usr/local/bin/node", "", "");
	place("/bin/node", NULL, "/bin/node", "", "");
	place("/home/u/.nvm/versions/node/v22.1.0/bin/node", "/home/u", "/opt/node/bin/node",
	      "/home/u/.nvm/versions/node/v22.1.0", "");
	place("/opt/hostedtoolcache/node/20.1.0/x64/bin/node", "/root", "/opt/node/bin/node",
	      "/opt/hostedtoolcache/node/20.1.0/x64", "");
	place("/home/u/.local/bin/node22", "/home/u", "/opt/node/bin/node22", "/home/u/.local", "");
	/* ~/bin would show a home, /bin of "/" everything: the program alone */
	place("/home/u/bin/node", "/home/u", "/opt/node/bin/node", "", "/home/u/bin/node");
	place("/home/u/node", "/home/u", "/opt/node/bin/node", "", "/home/u/node");
	place("/usrlocal/bin/node", NULL, "/opt/node/bin/node", "/usrlocal", "");
	place("/node", NULL, "/opt/node/bin/node", "", "/node");
	place("/x/xbin/node", NULL, "/opt/node/bin/node", "", "/x/xbin/node");
}

static void
versions(void)
{
	static const char *const bad[] = { "",
					   "v",
					   "20",
					   "v20\n",
					   "v20.1",
					   "hello",
					   "v.1.2",
					   "20.1.2 beta",
					   "v20.1.2;x",
					   "v-1.2.3",
					   "v99999.1.2",
					   "Welcome to Node.js v20.1.2.\n",
					   "v1.2.3333333333333333333333333333333333333333" };
	struct node n = { 0 };
	size_t i;

	is_int(node_version_parse("v20.20.2\n", &n), 0, "v20.20.2");
	is_str(n.version, "20.20.2", "its text");
	is_int(n.major, 20, "its major");
	is_int(node_version_parse("v23.0.0-nightly2024\n", &n), 0, "a nightly");
	is_str(n.version, "23.0.0-nightly2024", "its text");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(node_version_parse(bad[i], &n) == -EPROTO, "no version: text %zu", i);
}

static void
subordinate_ids(void)
{
	struct ns_map m;

	ns_ids_parse("a:100000:65536\nb:200000:65536\n", "b", 1001, 1, &m);
	ok(m.len == 1 && m.extents[0].outside == 200000 && m.extents[0].inside == 1 && m.extents[0].count == 65535 &&
		   m.total == 65536,
	   "the user's line, cut to what is needed");
	ns_ids_parse("1001:300000:2000", "b", 1001, 0, &m);
	ok(m.len == 1 && m.extents[0].outside == 300000 && m.total == 2000, "by number, without a last line break");
	ns_ids_parse("b:100000:500\nb:200000:70000\n", "b", 1001, 0, &m);
	ok(m.len == 2 && m.extents[1].inside == 500 && m.extents[1].count == 65036 && m.total == 65536,
	   "two ranges, one behind the other");
	ns_ids_parse("b:0:65536\n", "b", 1001, 0, &m);
	is_int(m.len, 0, "a range with root in it is none");
	ns_ids_parse("b:1000:65536\n", "b", 1001, 0, &m);
	is_int(m.len, 0, "a range with the caller in it is none");
	ns_ids_parse("b:4294967290:65536\n", "b", 1001, 0, &m);
	is_int(m.len, 0, "a range that wraps is none");
	ns_ids_parse("bb:100000:65536\n#b:1:1\nb\nb:\nb:x:y\nb:100000\nb:100000:65536:9\n\n:::\n", "b", 1001, 0, &m);
	is_int(m.len, 0, "other names and broken lines are passed over");
	ns_ids_parse("", "b", 1001, 0, &m);
	ok(m.len == 0 && m.total == 0, "an empty file");
}

static void
programs(void)
{
	char dir[] = "/tmp/agenttwin-unit.XXXXXX", path[64];
	struct diag d = { 0 };
	struct node n;
	FILE *f;

	if (!ok(mkdtemp(dir) != NULL, "folder"))
		return;
	snprintf(path, sizeof(path), "%s/node", dir);
	is_int(node_find(path, &n, &d), -ENOENT, "a program that does not exist");
	ok(strstr(d.problem, path) && d.fix[0], "is named");
	f = fopen(path, "w");
	fputs("#!/bin/sh\necho v20.0.0\n", f);
	fclose(f);
	is_int(node_find(path, &n, &d), -EACCES, "a file that cannot be executed");
	chmod(path, 0755);
	is_int(node_find(path, &n, &d), -ENOEXEC, "a script");
	ok(strstr(d.fix, "process.execPath") != NULL, "the way to the real one is told");
	f = fopen(path, "w");
	fputs("\177ELFxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", f);
	fclose(f);
	is_int(node_find(path, &n, &d), -EPROTO, "a program that does not run");
	is_int(node_find(dir, &n, &d), -EACCES, "a folder");
	setenv("PATH", dir, 1);
	unlink(path);
	is_int(node_find(NULL, &n, &d), -ENOENT, "nothing in PATH");
	ok(strstr(d.fix, "--node") != NULL, "the way out is told");
	is_int(remove_tree(dir), 0, "removed");
}

/* A folder as a workflow may leave it. */
static void
removal(void)
{
	char dir[] = "/tmp/agenttwin-unit.XXXXXX", path[128], keep[] = "/tmp/agenttwin-keep.XXXXXX";
	int i, fd;

	if (!ok(mkdtemp(dir) != NULL && mkdtemp(keep) != NULL, "folders"))
		return;
	snprintf(path, sizeof(path), "%s/file", keep);
	close(fd = open(path, O_WRONLY | O_CREAT, 0600));
	snprintf(path, sizeof(path), "%s/link", dir);
	ok(symlink(keep, path) == 0, "a link to another folder");
	snprintf(path, sizeof(path), "%s/closed", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/closed/file", dir);
	close(open(path, O_WRONLY | O_CREAT, 0000));
	snprintf(path, sizeof(path), "%s/closed", dir);
	chmod(path, 0000);
	snprintf(path, sizeof(path), "%s", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (i = 0; i < 3000 && fd >= 0; i++) {
		int next;

		mkdirat(fd, "deeper", 0700);
		next = openat(fd, "deeper", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	ok(fd >= 0, "3,000 folders in one another");
	close(fd);
	is_int(remove_tree(dir), 0, "removed");
	is_int(access(dir, F_OK), -1, "it is gone");
	snprintf(path, sizeof(path), "%s/file", keep);
	is_int(access(path, F_OK), 0, "what the link pointed to is not");
	is_int(remove_tree(keep), 0, "removed too");
	is_int(remove_tree(keep), 0, "twice is no fault");
}

int
main(void)
{
	places();
	versions();
	subordinate_ids();
	programs();
	removal();
	return tap_done();
}
