/* SPDX-License-Identifier: GPL-2.0-or-later
 * job_bundle.c - what goes into the sandbox: RUN in four sections, FILE and DATA for each entry, COMMIT. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/job.h"
#include "proto/cursor.h"
#include "proto/plan.h"

static int
put_exec(struct job *j, struct loop *l, char *why)
{
	struct plan_exec *exec = calloc(1, sizeof(*exec));
	size_t size = PLAN_EXEC_MAX + 65536, i;
	uint8_t *buf = malloc(size);
	const cJSON *arg;
	struct writer w;
	int r = -ENOMEM;

	if (!exec || !buf)
		goto out;
	r = -EMSGSIZE;
	cJSON_ArrayForEach(arg, j->world.command)
	{
		if (exec->argc == PLAN_ARGS_MAX)
			goto out;
		exec->argv[exec->argc++] = arg->valuestring;
	}
	/* "node" is the program that was chosen, whatever stands first in PATH in there. */
	if (exec->argc && strcmp(exec->argv[0], "node") == 0 && j->facts.node_inside[0])
		exec->argv[0] = j->facts.node_inside;
	for (i = 0; i < j->cred.env_len; i++) {
		if (exec->envc == PLAN_ENV_MAX)
			goto out;
		exec->envp[exec->envc++] = j->cred.env[i];
	}
	exec->cwd = j->world.cwd ? j->world.cwd : "";
	exec->stdin_data = (const uint8_t *)j->world.stdin_text;
	exec->stdin_len = j->world.stdin_text ? (uint32_t)strlen(j->world.stdin_text) : PLAN_STDIN_NONE;
	writer_init(&w, buf, size);
	plan_exec_encode(&w, exec);
	if (!w.failed && w.len <= PLAN_EXEC_MAX)
		r = loop_put_record(l, FRAME_RUN, buf, w.len);
out:
	if (r < 0 && r != -ECANCELED)
		snprintf(why, 320, "command, variables and stdin do not fit into the plan");
	if (buf)
		explicit_bzero(buf, size);
	free(buf);
	free(exec);
	return r;
}

static void
fill_policy(struct job *j, struct plan_policy *p)
{
	const struct world *w = &j->world;
	const struct cJSON *host;
	size_t i;

	p->mode = j->sandbox ? PLAN_SANDBOX : PLAN_LOCAL;
	p->flags = PLAN_EXIT_ON_CLOSE | (j->sandbox && !(j->ops->flags & BACKEND_HOSTS) ? PLAN_WRITE_HOSTS : 0u);
	if (world_is_driven(w))
		p->flags |= PLAN_DRIVEN;
	if (w->ready)
		p->flags |= cJSON_GetObjectItemCaseSensitive(w->ready, "line") ? PLAN_READY | PLAN_READY_LINE
									       : PLAN_READY;
	p->workflow_uid = j->facts.workflow_uid;
	p->workflow_gid = j->facts.workflow_gid;
	p->twins_uid = j->facts.twins_uid;
	p->twins_gid = j->facts.twins_gid;
	p->postgres_uid = j->facts.postgres_uid;
	p->postgres_gid = j->facts.postgres_gid;
	p->run_ms = w->limits.run_ms;
	p->start_ms = w->limits.start_ms;
	p->idle_ms = w->limits.idle_ms;
	p->grace_ms = w->limits.grace_ms;
	p->memory_bytes = j->limits.memory_bytes;
	/* Where a control group counts processes it says when it refused one; the rlimit, which is silent, only stands behind. */
	p->pids = j->facts.pids_most ? j->facts.pids_most : w->limits.pids;
	p->files = w->limits.files;
	p->disk_bytes = j->limits.disk_bytes;
	p->output_bytes = w->limits.output_bytes;
	p->operations = w->limits.operations;
	p->state_bytes = w->limits.state_bytes;
	p->control_port = j->ops->control_port;
	snprintf(p->app_dir, sizeof(p->app_dir), "%s", j->facts.app_dir[0] ? j->facts.app_dir : "/app");
	snprintf(p->home_dir, sizeof(p->home_dir), "%s", j->facts.home_dir[0] ? j->facts.home_dir : "/home/node");
	for (i = 0; i < w->services_len; i++) {
		p->services[p->services_len].port = w->services[i].port;
		memcpy(p->services[p->services_len].address, w->services[i].address, 4);
		cJSON_ArrayForEach(host, w->services[i].hosts)
		{
			if (!j->sandbox || p->hosts_len == PLAN_HOSTS_MAX || !host->valuestring)
				continue; /* local has no names: only injected addresses */
			p->hosts[p->hosts_len].service = p->services_len;
			p->hosts[p->hosts_len++].name = host->valuestring;
		}
		p->services_len++;
	}
}

static int
put_policy(struct job *j, struct loop *l, char *why)
{
	struct plan_policy *p = calloc(1, sizeof(*p));
	uint8_t *buf = malloc(PLAN_POLICY_MAX);
	struct writer w;
	int r = -ENOMEM;

	if (p && buf) {
		fill_policy(j, p);
		writer_init(&w, buf, PLAN_POLICY_MAX);
		plan_policy_encode(&w, p);
		r = w.failed ? -EMSGSIZE : loop_put_record(l, FRAME_RUN, buf, w.len);
	}
	if (r < 0 && r != -ECANCELED)
		snprintf(why, 320, "services and hosts do not fit into the plan");
	free(buf);
	free(p);
	return r;
}

static int
put_gate(struct job *j, struct loop *l)
{
	uint8_t digest[32] = { 0 }, buf[64];
	struct writer w;
	int r;

	if (j->sandbox && (r = gate_policy(j->ops->control_port, digest)) < 0)
		return r;
	writer_init(&w, buf, sizeof(buf));
	plan_gate_encode(&w, digest);
	return w.failed ? -EMSGSIZE : loop_put_record(l, FRAME_RUN, buf, w.len);
}

static int
put_twins(struct job *j, struct loop *l)
{
	size_t len = j->cred.twins_json_len;
	uint8_t *buf = malloc(len + 1);
	int r;

	if (!buf)
		return -ENOMEM;
	buf[0] = PLAN_TWINS;
	memcpy(buf + 1, j->cred.twins_json, len);
	r = loop_put_record(l, FRAME_RUN, buf, len + 1);
	explicit_bzero(buf, len + 1);
	free(buf);
	return r;
}

static int
sink(void *arg, const void *data, size_t len)
{
	struct loop *l = arg;
	const uint8_t *at = data;
	size_t n;
	int r;

	while (len) {
		n = len > FRAME_BODY_MAX ? FRAME_BODY_MAX : len;
		if ((r = loop_put(l, FRAME_DATA, 0, at, (uint32_t)n)) < 0)
			return r;
		at += n;
		len -= n;
	}
	return 0;
}

static int
put_entry(struct job *j, struct loop *l, size_t i, char *why)
{
	const struct stage_entry *e = &j->stage.entries[i];
	struct plan_file f = {
		.kind = e->kind, .mode = e->mode, .size = e->size, .path = e->path, .target = e->target
	};
	uint8_t buf[2 * BUNDLE_PATH_MAX + 128];
	struct diag d = { 0 };
	struct writer w;
	int r;

	memcpy(f.sha256, e->sha256, 32);
	writer_init(&w, buf, sizeof(buf));
	plan_file_encode(&w, &f);
	r = w.failed ? -EMSGSIZE : loop_put_record(l, FRAME_FILE, buf, w.len);
	if (r == 0 && e->kind != PLAN_LINK)
		r = stage_read(&j->stage, i, sink, l, &d);
	if (r < 0 && r != -ECANCELED)
		snprintf(why, 320, "%.150s: %.150s", e->path, d.problem[0] ? d.problem : strerror(-r));
	return r;
}

int
job_bundle(void *arg, struct loop *l, char why[static 320])
{
	struct job *j = arg;
	struct plan_commit commit = { .files = (uint32_t)j->stage.entries_len, .bytes = j->stage.bytes };
	uint8_t buf[64];
	struct writer w;
	size_t i;
	int r;

	if ((r = put_exec(j, l, why)) < 0 || (r = put_policy(j, l, why)) < 0 || (r = put_gate(j, l)) < 0 ||
	    (r = put_twins(j, l)) < 0)
		return r;
	for (i = 0; i < j->stage.entries_len; i++)
		if ((r = put_entry(j, l, i, why)) < 0)
			return r;
	memcpy(commit.chain, l->sender.chain.value, 32);
	writer_init(&w, buf, sizeof(buf));
	plan_commit_encode(&w, &commit);
	return w.failed ? -EMSGSIZE : loop_put_record(l, FRAME_COMMIT, buf, w.len);
}
