/* SPDX-License-Identifier: GPL-2.0-or-later
 * cgroup.c - makes, fills, reads and removes the groups that cgroup_find.c has found a place for. */
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "host/process.h"

#define RETRY_MS 10
#define CPU_PERIOD_US 100000u
#define CHARGE_MAX (4u << 20) /* a huge page, and what a processor has in stock */

static int
write_text(const char *dir, const char *name, const char *text)
{
	char path[CGROUP_PATH_MAX + 64];
	int fd, r = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int
write_number(const char *dir, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return write_text(dir, name, text);
}

/* "" when it cannot be read. */
static void
read_text(const char *dir, const char *name, char *out, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (process_read(path, out, size) < 0)
		out[0] = '\0';
}

/* see cgroup.h */
uint64_t
cgroup_number(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strncmp(text, word, len) == 0 && text[len] == ' ')
			return strtoull(text + len + 1, NULL, 10);
	return 0;
}

/* see cgroup.h */
bool
cgroup_is_named(const char *path, const char *run_id)
{
	const char *name = strrchr(path, '/');

	return path[0] == '/' && run_id[0] && name && strncmp(name, "/agenttwin-", 11) == 0 &&
	       strcmp(name + 11, run_id) == 0 && !strstr(path, "/../") && !strstr(path, "/./");
}

/* rmdir, as long as the last process is still on its way out. */
static int
remove_one(const char *path, int timeout_ms)
{
	const struct timespec pause = { 0, RETRY_MS * 1000000L };
	uint64_t until = process_clock_ms() + (uint64_t)timeout_ms;

	for (;;) {
		if (rmdir(path) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY || process_clock_ms() >= until)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
}

/* The place that has made the same folder before this one: both controllers in one hierarchy. */
static struct cgroup_place *
made_before(struct cgroup *c, const struct cgroup_place *p)
{
	struct cgroup_place *q;

	for (q = c->places; q < p; q++)
		if (q->version && strcmp(q->path, p->path) == 0)
			return q;
	return NULL;
}

/* The limit is not enforced; the folder goes, unless another limit is set there. */
static void
give_up(struct cgroup *c, struct cgroup_place *p, const char *what, int r)
{
	struct cgroup_place *q;
	bool shared = false;

	for (q = c->places; q < c->places + CGROUP_KINDS; q++)
		shared |= q != p && q->version && strcmp(q->path, p->path) == 0;
	snprintf(p->why, sizeof(p->why), "%.110s: %s", what, strerror(-r));
	p->version = 0;
	if (p->made && !shared && rmdir(p->path) == 0) {
		p->made = false;
		p->path[0] = '\0';
	}
	if (!p->made)
		p->path[0] = '\0';
}

static int
make_folder(struct cgroup *c, struct cgroup_place *p)
{
	struct cgroup_place *q = made_before(c, p);

	if (!q && mkdir(p->path, 0755) < 0) {
		/* Of a run of this very name that is long dead: an empty group only. */
		if (errno != EEXIST || rmdir(p->path) < 0 || mkdir(p->path, 0755) < 0)
			return -errno;
	}
	p->made = true;
	return 0;
}

static int
limit_memory(struct cgroup *c, const struct cgroup_place *p)
{
	int r = write_number(p->path, p->version == 2 ? "memory.max" : "memory.limit_in_bytes", c->asked.memory_bytes);

	if (r < 0)
		return r;
	/* Not in every kernel: swap accounting can be off. */
	c->swap = p->version == 2 ? write_text(p->path, "memory.swap.max", "0") == 0
				  : write_number(p->path, "memory.memsw.limit_in_bytes", c->asked.memory_bytes) == 0;
	return 0;
}

/* The period is the kernel's own; it is set all the same, since the quota means nothing without it. */
static int
limit_cpu(const struct cgroup *c, const struct cgroup_place *p)
{
	uint64_t quota = (uint64_t)c->asked.cpu_milli * CPU_PERIOD_US / 1000;
	char text[48];
	int r;

	if (p->version == 2) {
		snprintf(text, sizeof(text), "%llu %u", (unsigned long long)quota, CPU_PERIOD_US);
		return write_text(p->path, "cpu.max", text);
	}
	if ((r = write_number(p->path, "cpu.cfs_period_us", CPU_PERIOD_US)) < 0)
		return r;
	return write_number(p->path, "cpu.cfs_quota_us", quota);
}

static int
set_limit(struct cgroup *c, enum cgroup_kind kind, const struct cgroup_place *p)
{
	switch (kind) {
	case CGROUP_PIDS:
		return write_number(p->path, "pids.max", c->asked.pids);
	case CGROUP_MEMORY:
		return limit_memory(c, p);
	case CGROUP_CPU:
		return limit_cpu(c, p);
	case CGROUP_KINDS:
		break;
	}
	return -EINVAL;
}

/* see cgroup.h */
void
cgroup_make(struct cgroup *c)
{
	struct cgroup_place *p;
	int k, r;

	for (k = 0; k < CGROUP_KINDS; k++) {
		p = &c->places[k];
		if (!p->version)
			continue;
		if ((r = make_folder(c, p)) < 0)
			give_up(c, p, "the group cannot be made", r);
		else if ((r = set_limit(c, (enum cgroup_kind)k, p)) < 0)
			give_up(c, p, "the limit cannot be set", r);
	}
}

/* see cgroup.h */
void
cgroup_enter(struct cgroup *c, pid_t pid)
{
	struct cgroup_place *p;
	int r;

	for (p = c->places; p < c->places + CGROUP_KINDS; p++)
		if (p->version && !made_before(c, p) && (r = write_number(p->path, "cgroup.procs", (uint64_t)pid)) < 0)
			give_up(c, p, "the sandbox cannot be put in", r);
}

/* see cgroup.h */
void
cgroup_kill(const struct cgroup *c)
{
	const struct cgroup_place *p;

	for (p = c->places; p < c->places + CGROUP_KINDS; p++)
		if (p->made && p->version == 2)
			(void)write_text(p->path, "cgroup.kill", "1"); /* Linux 5.14 */
}

/* Version 1 has no counter of its own limit that every kernel keeps; the highest use tells, less what one charge may ask. */
static bool
was_below(const struct cgroup_place *p, uint64_t limit)
{
	char text[64];
	uint64_t most;

	read_text(p->path, "memory.max_usage_in_bytes", text, sizeof(text));
	most = strtoull(text, NULL, 10);
	read_text(p->path, "memory.memsw.max_usage_in_bytes", text, sizeof(text));
	if (strtoull(text, NULL, 10) > most)
		most = strtoull(text, NULL, 10);
	return most + CHARGE_MAX < limit;
}

/* see cgroup.h */
void
cgroup_count(struct cgroup *c)
{
	const struct cgroup_place *p = &c->places[CGROUP_MEMORY];
	char text[1024];

	if (p->version && p->made) {
		read_text(p->path, p->version == 2 ? "memory.events" : "memory.oom_control", text, sizeof(text));
		c->counts.oom_kills = cgroup_number(text, "oom_kill");
		c->counts.oom_elsewhere = p->version == 2 ? cgroup_number(text, "oom") == 0
							  : was_below(p, c->asked.memory_bytes);
	}
	p = &c->places[CGROUP_PIDS];
	if (p->version && p->made) {
		read_text(p->path, "pids.events", text, sizeof(text));
		c->counts.pids_refused = cgroup_number(text, "max");
	}
}

/* see cgroup.h */
int
cgroup_remove(struct cgroup *c, int timeout_ms, const char **path)
{
	struct cgroup_place *p;
	int r, all = 0;

	for (p = c->places; p < c->places + CGROUP_KINDS; p++) {
		if (!p->made)
			continue;
		if ((r = remove_one(p->path, timeout_ms)) == 0) {
			p->made = false;
			continue;
		}
		if (path && all == 0)
			*path = p->path;
		all = all < 0 ? all : r;
	}
	return all;
}

/* see cgroup.h */
int
cgroup_reap(const char *path, const char *run_id, int timeout_ms)
{
	struct statfs fs;

	if (!cgroup_is_named(path, run_id))
		return -EINVAL;
	if (statfs(path, &fs) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EINVAL;
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		(void)write_text(path, "cgroup.kill", "1");
	return remove_one(path, timeout_ms);
}

/* see cgroup.h */
void
cgroup_describe(const struct cgroup *c, char *out, size_t size)
{
	const struct cgroup_place *p = &c->places[CGROUP_PIDS], *m = &c->places[CGROUP_MEMORY],
				  *u = &c->places[CGROUP_CPU];
	char pids[240], memory[240], cpu[240];

	if (p->version)
		snprintf(pids, sizeof(pids), "pids by cgroup v%u (%u)", p->version, c->asked.pids);
	else
		snprintf(pids, sizeof(pids), "pids by rlimit in the guest, not by a cgroup (%s)", p->why);
	if (m->version)
		snprintf(memory, sizeof(memory), "memory by cgroup v%u (%llu MiB, swap %s)", m->version,
			 (unsigned long long)(c->asked.memory_bytes >> 20), c->swap ? "included" : "not limited");
	else
		snprintf(memory, sizeof(memory), "memory not enforced (%s)", m->why);
	if (u->version)
		snprintf(cpu, sizeof(cpu), "cpu by cgroup v%u (%u.%03u processors)", u->version,
			 c->asked.cpu_milli / 1000, c->asked.cpu_milli % 1000);
	else if (c->asked.cpu_milli)
		snprintf(cpu, sizeof(cpu), "cpu not enforced (%s)", u->why);
	else
		snprintf(cpu, sizeof(cpu), "cpu not asked");
	snprintf(out, size, "%s; %s; %s", pids, memory, cpu);
}
