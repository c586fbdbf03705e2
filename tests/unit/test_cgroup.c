/* SPDX-License-Identifier: GPL-2.0-or-later
 * A tree of files that looks like control groups: a folder that is made there gets the files that the kernel would give. */
// LINK: -Wl,--wrap=mkdir,--wrap=rmdir
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "tests/lib/tap.h"

#define ID "0190b5a2-1111-7222-8333-444455556666"

int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);

static char root[] = "/tmp/agenttwin-cgroup.XXXXXX";
static const char *const group_files[] = { "pids.max",
					   "pids.events",
					   "memory.max",
					   "memory.swap.max",
					   "memory.events",
					   "memory.limit_in_bytes",
					   "memory.memsw.limit_in_bytes",
					   "memory.oom_control",
					   "memory.max_usage_in_bytes",
					   "cpu.max",
					   "cpu.cfs_period_us",
					   "cpu.cfs_quota_us",
					   "cgroup.procs",
					   "cgroup.kill" };
#define FILES_LEN (sizeof(group_files) / sizeof(group_files[0]))
static const char *without; /* a file that this kernel does not have */
static const struct cgroup_limits two = { .memory_bytes = 64u << 20, .pids = 40 };
static const struct cgroup_limits three = { .memory_bytes = 64u << 20, .pids = 40, .cpu_milli = 1500 };
static int busy; /* so many more refusals of rmdir */

static void
put(const char *path, const char *text)
{
	char full[1024];
	FILE *f;
	char *at;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)__real_mkdir(full, 0755);
		*at = '/';
	}
	f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void
get(const char *path, char *out, size_t size)
{
	char full[1024];
	size_t n;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	f = fopen(full, "r");
	n = f ? fread(out, 1, size - 1, f) : 0;
	out[n] = '\0';
	if (f)
		fclose(f);
}

int
__wrap_mkdir(const char *path, mode_t mode)
{
	int r = __real_mkdir(path, mode);
	char file[1024];
	size_t i;

	for (i = 0; r == 0 && i < FILES_LEN; i++) {
		if (without && strcmp(group_files[i], without) == 0)
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, group_files[i]);
		close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
	return r;
}

int
__wrap_rmdir(const char *path)
{
	char file[1024];
	size_t i;

	if (busy > 0) {
		busy--;
		errno = EBUSY;
		return -1;
	}
	for (i = 0; i < FILES_LEN; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, group_files[i]);
		unlink(file);
	}
	return __real_rmdir(path);
}

static void
lines(void)
{
	static const char v1[] = "31 23 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids\n";
	static const char both[] = "31 23 0:36 / /a\\040b rw - cgroup cgroup rw,cpu,memory\n";
	static const char docker[] = "31 23 0:36 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
	static const char v2[] = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
	char path[64], dir[128];
	size_t base;

	ok(cgroup_line("4:memory:/process/1\n", "memory", path, sizeof(path)) && !strcmp(path, "/process/1"),
	   "version 1: the path of a controller");
	ok(cgroup_line("4:cpu,cpuacct:/a:b\n", "cpuacct", path, sizeof(path)) && !strcmp(path, "/a:b"),
	   "one of several controllers, and a path with a colon");
	ok(!cgroup_line("4:cpuset:/\n", "cpu", path, sizeof(path)), "a name that only starts alike");
	ok(!cgroup_line("1:name=systemd:/\n", "systemd", path, sizeof(path)), "a named hierarchy is no controller");
	ok(cgroup_line("0::/user.slice\n", NULL, path, sizeof(path)) && !strcmp(path, "/user.slice"), "version 2");
	ok(!cgroup_line("4:memory:/a\n", NULL, path, sizeof(path)), "version 1 is not version 2");
	ok(!cgroup_line("0::/user.slice\n", "pids", path, sizeof(path)), "nor the other way round");
	ok(!cgroup_line("rubbish", "pids", path, sizeof(path)) &&
		   !cgroup_line("4:pids:x", "pids", path, sizeof(path)) &&
		   !cgroup_line("4:pids:/0123456789", "pids", path, 8),
	   "what is malformed or too long is none");

	ok(cgroup_mount(v1, "pids", "/", dir, sizeof(dir), &base) && !strcmp(dir, "/sys/fs/cgroup/pids") && base == 19,
	   "a mount and the root group");
	ok(cgroup_mount(v1, "pids", "/a/b", dir, sizeof(dir), &base) && !strcmp(dir, "/sys/fs/cgroup/pids/a/b"),
	   "a group below");
	ok(!cgroup_mount(v1, "memory", "/", dir, sizeof(dir), &base), "another controller");
	ok(!cgroup_mount(v1, NULL, "/", dir, sizeof(dir), &base), "not version 2");
	ok(cgroup_mount(both, "memory", "/", dir, sizeof(dir), &base) && !strcmp(dir, "/a b"), "escaped characters");
	ok(cgroup_mount(docker, "memory", "/docker/abc", dir, sizeof(dir), &base) &&
		   !strcmp(dir, "/sys/fs/cgroup/memory"),
	   "a container: the mount shows the group itself");
	ok(cgroup_mount(docker, "memory", "/docker/abc/d", dir, sizeof(dir), &base) &&
		   !strcmp(dir, "/sys/fs/cgroup/memory/d"),
	   "and what is below");
	ok(!cgroup_mount(docker, "memory", "/docker/abcd", dir, sizeof(dir), &base), "not a group with a longer name");
	ok(!cgroup_mount(docker, "memory", "/", dir, sizeof(dir), &base), "not a group that it does not show");
	ok(cgroup_mount(v2, NULL, "/x", dir, sizeof(dir), &base) && !strcmp(dir, "/sys/fs/cgroup/x") && base == 14,
	   "version 2");
	ok(!cgroup_mount(v2, NULL, "/../x", dir, sizeof(dir), &base), "outside of the cgroup namespace: not shown");
	ok(!cgroup_mount("31 23 0:36 / /x rw", "pids", "/", dir, sizeof(dir), &base) &&
		   !cgroup_mount("- cgroup", "pids", "/", dir, sizeof(dir), &base) &&
		   !cgroup_mount("31 - cgroup cgroup rw,pids", "pids", "/", dir, sizeof(dir), &base),
	   "what is malformed is none");

	is_int((long long)cgroup_number("low 1\noom 2\noom_kill 3\n", "oom_kill"), 3, "a number behind its word");
	is_int((long long)cgroup_number("oom_kill_disable 1\nunder_oom 0\noom_kill 7\n", "oom_kill"), 7,
	       "not behind a longer one");
	is_int((long long)cgroup_number("max 5", "max"), 5, "without a last line feed");
	is_int((long long)cgroup_number("", "max"), 0, "nothing is 0");

	ok(cgroup_is_named("/sys/fs/cgroup/agenttwin-" ID, ID), "the name of a run's group");
	ok(!cgroup_is_named("/sys/fs/cgroup/agenttwin-" ID, "x") && !cgroup_is_named("/sys/fs/cgroup/x", "x") &&
		   !cgroup_is_named("/a/../agenttwin-x", "x") && !cgroup_is_named("agenttwin-x", "x") &&
		   !cgroup_is_named("/agenttwin-", ""),
	   "others are not");
	is_int(cgroup_reap("/tmp/agenttwin-none", "none", 0), 0, "reap: what is gone is gone");
	is_int(cgroup_reap(root, "x", 0), -EINVAL, "reap: another name is left alone");
	snprintf(dir, sizeof(dir), "%s/agenttwin-x", root);
	(void)__real_mkdir(dir, 0755);
	is_int(cgroup_reap(dir, "x", 0), -EINVAL, "reap: a folder that is no control group is left alone");
	is_int(access(dir, F_OK), 0, "it is still there");
	(void)__real_rmdir(dir);
}

static void
version_1(void)
{
	struct cgroup c;
	const char *left = NULL;
	char text[512], want[256];

	put("/proc/self/cgroup", "8:pids:/\n4:memory:/mine\n0::/\n");
	put("/proc/self/mountinfo", "1 2 0:1 / / rw - ext4 x rw\n31 23 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
				    "32 23 0:36 / /cg/memory rw - cgroup cgroup rw,memory\n"
				    "33 23 0:36 / /cg/unified rw - cgroup2 cgroup2 rw\n");
	put("/cg/pids/tasks", "");
	put("/cg/memory/mine/tasks", "");
	put("/cg/unified/cgroup.controllers", "");
	cgroup_find(root, ID, &two, &c);
	snprintf(want, sizeof(want), "%s/cg/memory/mine/agenttwin-" ID, root);
	is_str(c.places[CGROUP_MEMORY].path, want, "version 1: below the caller's own group");
	is_int(c.places[CGROUP_PIDS].version, 1, "pids likewise");
	cgroup_make(&c);
	get("/cg/pids/agenttwin-" ID "/pids.max", text, sizeof(text));
	is_str(text, "40", "the process limit is set");
	get("/cg/memory/mine/agenttwin-" ID "/memory.memsw.limit_in_bytes", text, sizeof(text));
	is_str(text, "67108864", "the memory limit, swap included");
	cgroup_enter(&c, 4711);
	get("/cg/memory/mine/agenttwin-" ID "/cgroup.procs", text, sizeof(text));
	is_str(text, "4711", "the init is put in");
	get("/cg/pids/agenttwin-" ID "/cgroup.procs", text, sizeof(text));
	is_str(text, "4711", "into both");
	cgroup_describe(&c, text, sizeof(text));
	is_str(text, "pids by cgroup v1 (40); memory by cgroup v1 (64 MiB, swap included); cpu not asked", "in words");
	put("/cg/pids/agenttwin-" ID "/pids.events", "max 3\n");
	put("/cg/memory/mine/agenttwin-" ID "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put("/cg/memory/mine/agenttwin-" ID "/memory.max_usage_in_bytes", "67108864\n");
	cgroup_count(&c);
	ok(c.counts.oom_kills == 2 && c.counts.pids_refused == 3 && !c.counts.oom_elsewhere,
	   "what happened is counted");
	put("/cg/memory/mine/agenttwin-" ID "/memory.max_usage_in_bytes", "1000000\n");
	cgroup_count(&c);
	ok(c.counts.oom_elsewhere, "memory that ended elsewhere is told apart");
	busy = 3;
	is_int(cgroup_remove(&c, 2000, &left), 0, "removed, after a while");
	ok(!left && access(want, F_OK) < 0, "nothing is left");
	cgroup_count(&c);
	is_int((long long)c.counts.oom_kills, 2, "the counts stay");

	cgroup_find(root, ID, &(struct cgroup_limits){ .pids = 40 }, &c);
	cgroup_make(&c);
	cgroup_describe(&c, text, sizeof(text));
	is_str(text, "pids by cgroup v1 (40); memory not enforced (not asked); cpu not asked",
	       "what is not asked is not made");
	busy = 1000000;
	is_int(cgroup_remove(&c, 30, &left), -EBUSY, "a group that stays busy is told");
	ok(left && strstr(left, "agenttwin-" ID), "by its path");
	busy = 0;
	is_int(cgroup_remove(&c, 30, &left), 0, "and may be asked again");
}

static void
version_2(void)
{
	struct cgroup c;
	char text[512], want[256];

	put("/proc/self/cgroup", "0::/user.slice/app.slice/run-1.scope\n");
	put("/proc/self/mountinfo", "33 23 0:36 / /cg2 rw - cgroup2 cgroup2 rw\n");
	put("/cg2/cgroup.controllers", "cpuset cpu io memory pids\n");
	put("/cg2/cgroup.subtree_control", "cpu memory pids\n");
	put("/cg2/user.slice/app.slice/cgroup.subtree_control", "cpu memory pids\n");
	put("/cg2/user.slice/app.slice/run-1.scope/cgroup.subtree_control", "\n");
	cgroup_find(root, ID, &two, &c);
	snprintf(want, sizeof(want), "%s/cg2/user.slice/app.slice/agenttwin-" ID, root);
	is_str(c.places[CGROUP_MEMORY].path, want, "version 2: beside the caller's own group, which holds processes");
	is_str(c.places[CGROUP_PIDS].path, want, "one group for both");
	cgroup_make(&c);
	cgroup_enter(&c, 4711);
	get("/cg2/user.slice/app.slice/agenttwin-" ID "/memory.swap.max", text, sizeof(text));
	is_str(text, "0", "no swap");
	cgroup_describe(&c, text, sizeof(text));
	is_str(text, "pids by cgroup v2 (40); memory by cgroup v2 (64 MiB, swap included); cpu not asked", "in words");
	put("/cg2/user.slice/app.slice/agenttwin-" ID "/memory.events", "max 9\noom 1\noom_kill 1\n");
	cgroup_count(&c);
	ok(c.counts.oom_kills == 1 && !c.counts.oom_elsewhere, "memory ended at the own limit");
	put("/cg2/user.slice/app.slice/agenttwin-" ID "/memory.events", "max 0\noom 0\noom_kill 1\n");
	cgroup_count(&c);
	ok(c.counts.oom_elsewhere, "or further up");
	cgroup_kill(&c);
	get("/cg2/user.slice/app.slice/agenttwin-" ID "/cgroup.kill", text, sizeof(text));
	is_str(text, "1", "killed as a group");
	is_int(cgroup_remove(&c, 100, NULL), 0, "removed");
	ok(access(want, F_OK) < 0, "once");
	get("/cg2/user.slice/app.slice/cgroup.subtree_control", text, sizeof(text));
	is_str(text, "cpu memory pids\n", "the group of others was not changed");

	without = "memory.swap.max";
	cgroup_find(root, ID, &two, &c);
	cgroup_make(&c);
	cgroup_describe(&c, text, sizeof(text));
	is_str(text, "pids by cgroup v2 (40); memory by cgroup v2 (64 MiB, swap not limited); cpu not asked",
	       "a kernel without swap accounting");
	is_int(cgroup_remove(&c, 100, NULL), 0, "removed");
	without = "pids.max";
	cgroup_find(root, ID, &two, &c);
	cgroup_make(&c);
	cgroup_describe(&c, text, sizeof(text));
	is_str(text,
	       "pids by rlimit in the guest, not by a cgroup (the limit cannot be set: No such file or directory); "
	       "memory by cgroup v2 (64 MiB, swap included); cpu not asked",
	       "one limit of two");
	is_int(cgroup_remove(&c, 100, NULL), 0, "removed");
	without = "cgroup.procs";
	cgroup_find(root, ID, &two, &c);
	cgroup_make(&c);
	cgroup_enter(&c, 4711);
	ok(c.places[CGROUP_PIDS].version == 0 && c.places[CGROUP_MEMORY].version == 0,
	   "a sandbox that cannot be put in is not limited");
	is_int(cgroup_remove(&c, 100, NULL), 0, "and leaves nothing");
	ok(access(want, F_OK) < 0, "at all");
	without = NULL;

	put("/cg2/user.slice/app.slice/cgroup.subtree_control", "cpu\n");
	put("/cg2/cgroup.subtree_control", "cpu\n");
	cgroup_find(root, ID, &two, &c);
	is_int(c.places[CGROUP_MEMORY].version, 0, "nobody hands the controller on: not enforced");
	ok(strstr(c.places[CGROUP_MEMORY].why, "hands no controller memory on") &&
		   strstr(c.places[CGROUP_MEMORY].fix, "systemd-run"),
	   "with the reason and the way out");
	put("/cg2/cgroup.subtree_control", "memory pids\n");
	put("/proc/self/cgroup", "0::/\n");
	cgroup_find(root, ID, &two, &c);
	snprintf(want, sizeof(want), "%s/cg2/agenttwin-" ID, root);
	is_str(c.places[CGROUP_MEMORY].path, want, "in the root, below the root");
	put("/cg2/cgroup.controllers", "cpu\n");
	cgroup_find(root, ID, &two, &c);
	ok(strstr(c.places[CGROUP_MEMORY].why, "no controller memory") != NULL, "a machine without the controller");
	put("/proc/self/mountinfo", "1 2 0:1 / / rw - ext4 x rw\n");
	cgroup_find(root, ID, &two, &c);
	is_str(c.places[CGROUP_PIDS].why, "no control groups are mounted", "a machine without control groups");
	cgroup_make(&c);
	cgroup_enter(&c, 4711);
	is_int(cgroup_remove(&c, 100, NULL), 0, "there is nothing to remove");
}

/* The processor, in three places, in one, refused, and not there. */
static void
processor(void)
{
	struct cgroup c;
	char text[512], want[256];

	put("/proc/self/cgroup", "8:pids:/\n4:memory:/mine\n1:cpu,cpuacct:/a\n0::/\n");
	put("/proc/self/mountinfo", "31 23 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
				    "32 23 0:36 / /cg/memory rw - cgroup cgroup rw,memory\n"
				    "34 23 0:37 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
	put("/cg/cpu/a/tasks", "");
	cgroup_find(root, ID, &two, &c);
	is_str(c.places[CGROUP_CPU].path, "", "a limit that is not asked needs no group");
	cgroup_find(root, ID, &three, &c);
	cgroup_make(&c);
	cgroup_enter(&c, 4711);
	get("/cg/cpu/a/agenttwin-" ID "/cpu.cfs_period_us", text, sizeof(text));
	is_str(text, "100000", "version 1: the period");
	get("/cg/cpu/a/agenttwin-" ID "/cpu.cfs_quota_us", text, sizeof(text));
	is_str(text, "150000", "and the quota");
	get("/cg/cpu/a/agenttwin-" ID "/cgroup.procs", text, sizeof(text));
	is_str(text, "4711", "the init is put in");
	cgroup_describe(&c, text, sizeof(text));
	ok(strstr(text, "; cpu by cgroup v1 (1.500 processors)") != NULL, "in words: %s", text);
	is_int(cgroup_remove(&c, 100, NULL), 0, "removed");
	without = "cpu.cfs_quota_us";
	cgroup_find(root, ID, &three, &c);
	cgroup_make(&c);
	snprintf(want, sizeof(want), "%s/cg/cpu/a/agenttwin-" ID, root);
	ok(access(want, F_OK) < 0, "a kernel without quotas: no group is left");
	cgroup_describe(&c, text, sizeof(text));
	ok(strstr(text, "; cpu not enforced (the limit cannot be set: No such file") != NULL, "in words: %s", text);
	is_int(cgroup_remove(&c, 100, NULL), 0, "the others are removed");
	without = NULL;

	put("/proc/self/cgroup", "0::/\n");
	put("/proc/self/mountinfo", "33 23 0:36 / /cg2 rw - cgroup2 cgroup2 rw\n");
	put("/cg2/cgroup.controllers", "cpu memory pids\n");
	put("/cg2/cgroup.subtree_control", "cpu memory pids\n");
	cgroup_find(root, ID, &three, &c);
	cgroup_make(&c);
	get("/cg2/agenttwin-" ID "/cpu.max", text, sizeof(text));
	is_str(text, "150000 100000", "version 2: quota and period");
	cgroup_describe(&c, text, sizeof(text));
	ok(strstr(text, "; cpu by cgroup v2 (1.500 processors)") != NULL, "in words: %s", text);
	is_int(cgroup_remove(&c, 100, NULL), 0, "removed");
	put("/cg2/cgroup.controllers", "memory pids\n");
	cgroup_find(root, ID, &three, &c);
	ok(c.places[CGROUP_CPU].version == 0 && c.places[CGROUP_PIDS].version == 2,
	   "without the controller: the others alone");
}

/* The mount point of version 2 on this machine, if groups can be made there. */
static bool
unified(char *dir, size_t size)
{
	char *line = NULL;
	size_t len = 0, base;
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && !found && getline(&line, &len, f) > 0)
		found = cgroup_mount(line, NULL, "/", dir, size, &base);
	free(line);
	if (f)
		fclose(f);
	return found && access(dir, W_OK) == 0;
}

/* A child that waits; a group of ours on the real mount with the child inside. */
static pid_t
sleeper(struct cgroup *c, const char *dir, const char *id)
{
	struct cgroup_place *p = &c->places[CGROUP_PIDS];
	pid_t child;

	memset(c, 0, sizeof(*c));
	snprintf(p->path, sizeof(p->path), "%.400s/agenttwin-%s", dir, id);
	p->version = 2;
	p->made = __real_mkdir(p->path, 0755) == 0;
	child = fork();
	if (child == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	cgroup_enter(c, child);
	return child;
}

static int
ended_by(pid_t child)
{
	int status = 0;

	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

/* What needs no controller, with the real kernel: putting in, killing as a group, removing. */
static void
live_version_2(void)
{
	static const char *const needed[] = { "pids", "memory", "cpu" };
	char dir[300], id[64], path[600], text[4096], want[128];
	struct cgroup c;
	pid_t child;
	FILE *f;
	size_t i, n;

	if (!unified(dir, sizeof(dir))) {
		skip("live: no version 2 hierarchy in which groups can be made");
		return;
	}
	snprintf(id, sizeof(id), "test-%d", (int)getpid());
	child = sleeper(&c, dir, id);
	if (!c.places[CGROUP_PIDS].made) {
		kill(child, SIGKILL);
		(void)ended_by(child);
		skip("live: the version 2 hierarchy lets no group be made");
		return;
	}
	is_int(c.places[CGROUP_PIDS].version, 2, "live: a process is put in");
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)child);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	snprintf(want, sizeof(want), "/agenttwin-%s\n", id);
	ok(strstr(text, want) != NULL, "live: the kernel says so");
	is_int(cgroup_remove(&c, 30, NULL), -EBUSY, "live: a group with a process in it stays");
	snprintf(path, sizeof(path), "%.500s/cgroup.kill", c.places[CGROUP_PIDS].path);
	if (access(path, W_OK) == 0) {
		cgroup_kill(&c);
		is_int(ended_by(child), SIGKILL, "live: cgroup.kill ends what is inside");
	} else {
		skip("live: cgroup.kill (this kernel is older than 5.14)");
		kill(child, SIGKILL);
		(void)ended_by(child);
	}
	is_int(cgroup_remove(&c, 5000, NULL), 0, "live: the group is removed");
	child = sleeper(&c, dir, id);
	if (access(path, W_OK) < 0)
		kill(child, SIGKILL);
	/* Dead, but not reaped: the group does not count it. */
	is_int(cgroup_reap(c.places[CGROUP_PIDS].path, id, 5000), 0, "live: reap kills and removes");
	is_int(ended_by(child), SIGKILL, "live: the process is dead");
	ok(access(c.places[CGROUP_PIDS].path, F_OK) < 0, "live: nothing is left");
	snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!strstr(text, needed[i]))
			skip("live: a limit in version 2 (a controller that it needs is bound to version 1 here)");
		else
			ok(true, "live: limits.t sets the limit of %s in version 2", needed[i]);
}

int
main(void)
{
	char command[128];

	if (!mkdtemp(root))
		return 1;
	lines();
	version_1();
	version_2();
	processor();
	live_version_2();
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ok(system(command) == 0, "the tree is removed");
	return tap_done();
}
