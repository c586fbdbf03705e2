/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_capacity.c - how many runs fit at once, see test.h: processors and memory of the machine, and of the control groups
 * that this process is in, of either version. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "host/process.h"
#include "host/test.h"

/* The number in a small file of a group.  False: there is none, as in "max". */
static bool
number_in(const char *dir, const char *file, uint64_t *out)
{
	char path[CGROUP_PATH_MAX + 64], text[64], *end;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (process_read(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return *end == '\n' || *end == '\0' || *end == ' ';
}

/* What the group may still take: the kernel gives up its file cache before that is enough. */
static void
memory_of(const char *dir, const char *max, const char *now, const char *inactive, struct test_capacity *c)
{
	char path[CGROUP_PATH_MAX + 64], text[8192];
	uint64_t limit, used, cache = 0;

	if (!number_in(dir, max, &limit) || !number_in(dir, now, &used))
		return;
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (process_read(path, text, sizeof(text)) > 0)
		cache = cgroup_number(text, inactive);
	used = used > cache ? used - cache : 0;
	limit = limit > used ? limit - used : 0;
	if (limit < c->memory_bytes)
		c->memory_bytes = limit;
}

/* Processors, rounded up. */
static void
quota(uint64_t each, uint64_t period, struct test_capacity *c)
{
	uint64_t n = period ? (each + period - 1) / period : 0;

	if (n && n < c->cores)
		c->cores = (uint32_t)n;
}

static void
group_v2(const char *dir, struct test_capacity *c)
{
	char path[CGROUP_PATH_MAX + 64], text[64], *at;
	uint64_t each;

	memory_of(dir, "memory.max", "memory.current", "inactive_file", c);
	snprintf(path, sizeof(path), "%s/cpu.max", dir);
	if (process_read(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return;
	each = strtoull(text, &at, 10);
	quota(each, strtoull(at, NULL, 10), c);
}

static void
group_v1(const char *dir, struct test_capacity *c)
{
	uint64_t each, period;

	memory_of(dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", c);
	if (number_in(dir, "cpu.cfs_quota_us", &each) && number_in(dir, "cpu.cfs_period_us", &period))
		quota(each, period, c);
}

/* Every group from the own one up bounds it. */
static void
each_group(const char *root, const char *controller, void (*group)(const char *dir, struct test_capacity *c),
	   struct test_capacity *c)
{
	char dir[CGROUP_PATH_MAX], *slash;
	size_t base;

	if (!cgroup_own(root, controller, dir, sizeof(dir), &base))
		return;
	group(dir, c);
	while (strlen(dir) > base && (slash = strrchr(dir + base, '/'))) {
		*slash = '\0';
		group(dir, c);
	}
}

/* see test.h */
void
test_capacity(const char *root, struct test_capacity *c)
{
	char path[512], text[8192];
	uint64_t kib = 0;
	const char *at;
	cpu_set_t set;
	long online;

	*c = (struct test_capacity){ .cores = 1, .memory_bytes = UINT64_MAX };
	CPU_ZERO(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN); /* the mask has no room for more than 1024 */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		online = CPU_COUNT(&set);
	if (online > 0)
		c->cores = (uint32_t)online;
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (process_read(path, text, sizeof(text)) > 0 && (at = strstr(text, "MemAvailable:")))
		kib = strtoull(at + strlen("MemAvailable:"), NULL, 10);
	if (kib)
		c->memory_bytes = kib << 10;
	each_group(root, NULL, group_v2, c);
	each_group(root, "memory", group_v1, c);
	each_group(root, "cpu", group_v1, c);
}
