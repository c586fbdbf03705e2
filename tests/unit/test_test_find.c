/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_test_find.c - worlds below folders, and which shard each belongs to; how much fits at once. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/test.h"
#include "tests/lib/tap.h"

static char top[] = "/tmp/agenttwin-find.XXXXXX";

static void
touch(const char *path, const char *text)
{
	char whole[400], *at;
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	for (at = whole + strlen(top) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(whole, 0755);
		*at = '/';
	}
	fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ok(0, "cannot write %s", whole);
	close(fd);
}

/* The paths, each followed by a space; "!" and the problem when there is none. */
static const char *
found(const char *const *paths, size_t n)
{
	static char out[2000];
	struct test_found *list;
	struct diag d;
	size_t len, i, at = 0;

	if (test_find(paths, n, &list, &len, &d) < 0) {
		snprintf(out, sizeof(out), "!%s", d.problem);
		return out;
	}
	out[0] = '\0';
	for (i = 0; i < len; i++) {
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s ", list[i].problem ? "?" : "", list[i].path);
		free(list[i].path);
		free(list[i].problem);
	}
	free(list);
	return out;
}

#define FOUND(...) \
	found((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void
test_search(void)
{
	char deep[600] = "deep";
	size_t i;

	touch("b/world.json", "{}");
	touch("b/x.world.json", "{}");
	touch("b/world.json.bak", "{}");
	touch("b/.world.json", "{}");
	touch("b/aworld.json", "{}");
	touch("a/a/world.json", "{}");
	touch("a/node_modules/m/world.json", "{}");
	touch("a/.agenttwin/world.json", "{}");
	touch("a/node_modules_not/world.json", "{}");
	touch("c/readme", "");
	if (symlink("../b", "c/link") < 0 || symlink("../b/world.json", "c/l") < 0 || symlink("b", "s") < 0)
		ok(0, "cannot make links");
	is_str(found(NULL, 0), "a/a/world.json a/node_modules_not/world.json b/world.json b/x.world.json ",
	       "the current folder, sorted");
	is_str(FOUND("."), "a/a/world.json a/node_modules_not/world.json b/world.json b/x.world.json ", "by its name");
	is_str(FOUND("b", "./b/", "b//world.json", "a/a/../../b"), "b/world.json b/x.world.json ", "each file once");
	is_str(FOUND(top), "a/a/world.json a/node_modules_not/world.json b/world.json b/x.world.json ",
	       "from the current folder, where it lies below");
	is_str(FOUND("a/node_modules/m"), "a/node_modules/m/world.json ", "what is named is searched");
	is_str(FOUND("s"), "s/world.json s/x.world.json ", "a link that is named is followed");
	is_str(FOUND("c/l"), "c/l ", "a file that is named is a world, whatever its name");
	is_str(FOUND("c"), "!there is no world in it", "a folder without worlds");
	is_str(FOUND("b", "c"), "!there is no world in it", "beside another");
	is_str(FOUND("nowhere"), "!No such file or directory", "no folder");
	is_str(FOUND(""), "!No such file or directory", "no name");
	is_str(FOUND("/dev/null"), "!neither a file nor a folder", "a device");
	for (i = 0; i < 70; i++)
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d");
	snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/world.json");
	touch(deep, "{}");
	ok(strncmp(FOUND("deep"), "?deep/d/d/", 10) == 0, "too deep is told");
}

static void
test_shards(void)
{
	size_t i, k, in[8] = { 0 };
	char path[60];
	int wrong = 0;

	for (i = 0; i < 1000; i++) {
		uint32_t n;

		snprintf(path, sizeof(path), "worlds/w%zu/world.json", i);
		n = test_shard(path, 7);
		wrong += n < 1 || n > 7 || n != test_shard(path, 7);
		in[n]++;
	}
	is_int(wrong, 0, "each world has one shard, always the same");
	for (k = 1; k <= 7; k++)
		ok(in[k] > 100 && in[k] < 190, "shard %zu has its part: %zu of 1000", k, in[k]);
	is_int(test_shard("x", 1), 1, "of one shard the first");
}

static void
test_capacity_of(void)
{
	struct test_capacity c;
	char root[400];

	touch("v2/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    1048576 kB\n");
	snprintf(root, sizeof(root), "%s/v2", top);
	test_capacity(root, &c);
	ok(c.cores >= 1 && c.memory_bytes == 1ull << 30, "what is available");
	touch("v2/proc/self/cgroup", "0::/a/b\n");
	touch("v2/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	touch("v2/sys/fs/cgroup/a/b/memory.max", "max\n");
	touch("v2/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	touch("v2/sys/fs/cgroup/a/memory.max", "536870912\n");
	touch("v2/sys/fs/cgroup/a/memory.current", "268435456\n");
	touch("v2/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 134217728\n");
	touch("v2/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
	test_capacity(root, &c);
	is_int((long long)c.memory_bytes, 402653184, "what the group above may still take, its cache counted");
	is_int(c.cores, 1, "half a processor is one");
	touch("v1/proc/meminfo", "MemAvailable: 1048576 kB\n");
	touch("v1/proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/x\n");
	touch("v1/proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
					"32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
	touch("v1/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000000\n");
	touch("v1/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "2000000\n");
	touch("v1/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
	touch("v1/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
	touch("v1/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
	touch("v1/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	snprintf(root, sizeof(root), "%s/v1", top);
	test_capacity(root, &c);
	ok(c.memory_bytes == 0 && c.cores == 1, "version 1");
	snprintf(root, sizeof(root), "%s/none", top);
	test_capacity(root, &c);
	ok(c.memory_bytes == UINT64_MAX && c.cores >= 1, "nothing is known");
}

int
main(void)
{
	char command[100];

	if (!mkdtemp(top) || chdir(top) < 0)
		return 1;
	test_search();
	test_shards();
	test_capacity_of();
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	if (chdir("/") < 0 || system(command) != 0)
		ok(0, "cannot remove %s", top);
	return tap_done();
}
