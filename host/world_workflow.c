/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_workflow.c - the keys `limits` and `workflow`. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/world_read.h"
#include "proto/plan.h"

/* ---- limits ----------------------------------------------------------------------------------------------------------- */

#define CPU_MILLI_MIN 50u /* below, Node does not start in the default run_ms */
#define CPU_MILLI_MAX 1024000u

static int
read_small(struct wr *c, const struct cJSON *v, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t n = 0;
	int r = wr_integer(c, v, min, max, &n);

	if (r == 0)
		*out = (uint32_t)n;
	return r;
}

/* Bounds that only keep nonsense out; what the machine gives is the backend's affair.  Node itself needs about 12 threads. */
static const struct {
	const char *name;
	uint32_t min, max;
	size_t offset;
} small_limits[] = {
	{ "run_ms", 1, RUN_MS_MAX, offsetof(struct world_limits, run_ms) },
	{ "start_ms", 1, RUN_MS_MAX, offsetof(struct world_limits, start_ms) },
	{ "trigger_ms", 1, RUN_MS_MAX, offsetof(struct world_limits, trigger_ms) },
	{ "idle_ms", 0, RUN_MS_MAX, offsetof(struct world_limits, idle_ms) },
	{ "grace_ms", 0, 600000, offsetof(struct world_limits, grace_ms) },
	{ "memory_mb", 32, 1048576, offsetof(struct world_limits, memory_mb) },
	{ "pids", 16, 32768, offsetof(struct world_limits, pids) },
	{ "files", 64, 1048576, offsetof(struct world_limits, files) },
	{ "disk_mb", 1, 1048576, offsetof(struct world_limits, disk_mb) },
	{ "operations", 1, 1000000, offsetof(struct world_limits, operations) },
};

static int
read_limit(struct wr *c, const struct cJSON *v, void *arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(small_limits) / sizeof(small_limits[0]); i++)
		if (strcmp(v->string, small_limits[i].name) == 0)
			return read_small(c, v, small_limits[i].min, small_limits[i].max,
					  (uint32_t *)(void *)((char *)&c->w->limits + small_limits[i].offset));
	if (strcmp(v->string, "output_bytes") == 0)
		return wr_integer(c, v, 1, 16ull << 30, &c->w->limits.output_bytes);
	return wr_integer(c, v, 4096, 1ull << 30, &c->w->limits.state_bytes);
}

/* In thousandths, so that the receipt says exactly what was asked. */
static int
read_cpus(struct wr *c, const struct cJSON *v, void *arg)
{
	double n = v->valuedouble * 1000, off;
	int r;

	(void)arg;
	if (cJSON_IsNumber(v) && n >= CPU_MILLI_MIN && n <= CPU_MILLI_MAX) {
		c->w->limits.cpu_milli = (uint32_t)(n + 0.5);
		off = n - c->w->limits.cpu_milli;
		if (off < 1e-6 && off > -1e-6)
			return 0;
	}
	r = wr_fail(c, -EPROTO, "not a number of processors from 0.05 to 1024 in steps of 0.001");
	diag_fix(c->d, "write a number such as 0.5 or 2, or take the key out: then there is no limit");
	return r;
}

int
world_read_limits(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "run_ms", read_limit, 0, NULL },       { "start_ms", read_limit, 0, NULL },
		{ "idle_ms", read_limit, 0, NULL },      { "grace_ms", read_limit, 0, NULL },
		{ "memory_mb", read_limit, 0, NULL },    { "pids", read_limit, 0, NULL },
		{ "cpus", read_cpus, 0, NULL },          { "files", read_limit, 0, NULL },
		{ "disk_mb", read_limit, 0, NULL },      { "operations", read_limit, 0, NULL },
		{ "output_bytes", read_limit, 0, NULL }, { "state_bytes", read_limit, 0, NULL },
		{ "trigger_ms", read_limit, 0, NULL },   { NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "limits", arg);
}

/* ---- workflow --------------------------------------------------------------------------------------------------------- */

static int
read_argument(struct wr *c, const struct cJSON *v, void *arg)
{
	size_t *bytes = arg;
	const char *s;
	int r = wr_string(c, v, 0, WORLD_BYTES_MAX, &s);

	if (r < 0)
		return r;
	*bytes += strlen(s) + 1;
	if (*bytes == strlen(s) + 1 && *s == '\0') {
		r = wr_fail(c, -EPROTO, "the program's name is empty");
		diag_fix(c->d, "write the program first, such as \"node\"");
	}
	return r;
}

static int
read_command(struct wr *c, const struct cJSON *v, void *arg)
{
	size_t bytes = 0, mark;
	int r;

	(void)arg;
	if (cJSON_IsString(v)) {
		r = wr_fail(c, -EPROTO, "the command is one string; no shell would split it");
		diag_fix(c->d, "write each word by itself: [ \"node\", \"agent.mjs\" ]");
		return r;
	}
	r = wr_array(c, v, 1, PLAN_ARGS_MAX, "words", read_argument, &bytes);
	if (r < 0)
		return r;
	if (strchr(v->child->valuestring, ' ') && !strchr(v->child->valuestring, '/')) {
		mark = wr_enter_index(c, 0);
		r = wr_fail(c, -EPROTO, "the program's name has spaces; no shell would split it");
		diag_fix(c->d, "write each word by itself: [ \"node\", \"agent.mjs\" ]");
		wr_leave(c, mark);
		return r;
	}
	c->w->command = v;
	return 0;
}

static int
read_cwd(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 0, BUNDLE_PATH_MAX, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (*s == '\0' || strcmp(s, ".") == 0) {
		c->w->cwd = "";
		return 0;
	}
	if (plan_path_check(s) < 0) {
		r = wr_fail(c, -EPROTO, "cwd is not a path within the application's folder");
		diag_fix(c->d, "write it relative to root, without \".\", \"..\" or a slash at either end");
		return r;
	}
	c->w->cwd = s;
	return 0;
}

static int
read_stdin(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_string(c, v, 0, PLAN_STDIN_MAX, &c->w->stdin_text);
}

static int
read_node(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_string(c, v, 1, 4095, &c->w->node);
}

int
world_read_workflow(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "command", read_command, WR_REQUIRED, "\"command\": [ \"node\", \"agent.mjs\" ]" },
		{ "cwd", read_cwd, 0, NULL },
		{ "stdin", read_stdin, 0, NULL },
		{ "node", read_node, 0, NULL },
		{ "ends", world_read_ends, 0, NULL },
		{ "ready", world_read_ready, 0, NULL },
		{ "trigger", world_read_triggers, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "workflow", arg);
}
