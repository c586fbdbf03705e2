/* SPDX-License-Identifier: GPL-2.0-or-later
 * plan.c - the flat bodies, see plan.h.  The decoders of RUN and FILE run as root in the guest: they read only within the
 * body, in one pass, and refuse whatever is not exactly the form; what they give out borrows from the body. */
#include "proto/plan.h"

#include <errno.h>
#include <string.h>

#include "proto/utf8.h"

/* ---- RUN ------------------------------------------------------------------------------------------------------------ */

static int
env_check(const char *entry)
{
	return entry[0] == '=' || !strchr(entry, '=') ? -EPROTO : 0;
}

int
plan_exec_decode(const uint8_t *body, size_t len, struct plan_exec *out)
{
	struct reader r;
	uint8_t section;

	if (len > PLAN_EXEC_MAX)
		return -EMSGSIZE;
	reader_init(&r, body, len);
	section = read_u8(&r);
	out->argc = read_u16(&r);
	out->envc = read_u16(&r);
	out->stdin_len = read_u32(&r);
	if (r.failed || section != PLAN_EXEC || out->argc == 0)
		return -EPROTO;
	if (out->argc > PLAN_ARGS_MAX || out->envc > PLAN_ENV_MAX ||
	    (out->stdin_len != PLAN_STDIN_NONE && out->stdin_len > PLAN_STDIN_MAX))
		return -EMSGSIZE;
	for (uint16_t i = 0; i < out->argc; i++)
		out->argv[i] = read_string(&r);
	out->argv[out->argc] = NULL;
	for (uint16_t i = 0; i < out->envc; i++)
		out->envp[i] = read_string(&r);
	out->envp[out->envc] = NULL;
	out->cwd = read_string(&r);
	if (out->stdin_len == PLAN_STDIN_NONE) {
		out->stdin_data = NULL;
		out->stdin_len = 0;
	} else {
		out->stdin_data = read_bytes(&r, out->stdin_len);
	}
	if (reader_finish(&r) < 0 || out->argv[0][0] == '\0')
		return -EPROTO;
	for (uint16_t i = 0; i < out->envc; i++)
		if (env_check(out->envp[i]) < 0)
			return -EPROTO;
	return out->cwd[0] == '\0' ? 0 : plan_path_check(out->cwd);
}

void
plan_exec_encode(struct writer *w, const struct plan_exec *in)
{
	write_u8(w, PLAN_EXEC);
	write_u16(w, in->argc);
	write_u16(w, in->envc);
	write_u32(w, in->stdin_data ? in->stdin_len : PLAN_STDIN_NONE);
	for (uint16_t i = 0; i < in->argc; i++)
		write_string(w, in->argv[i]);
	for (uint16_t i = 0; i < in->envc; i++)
		write_string(w, in->envp[i]);
	write_string(w, in->cwd);
	if (in->stdin_data)
		write_bytes(w, in->stdin_data, in->stdin_len);
}

/* A string into a field of fixed size. */
static void
read_string_into(struct reader *r, char *out, size_t size)
{
	const char *s = read_string(r);

	if (!s || strlen(s) >= size) {
		r->failed = true;
		out[0] = '\0';
		return;
	}
	memcpy(out, s, strlen(s) + 1);
}

/* The guest writes these into /etc/hosts as root, so a name may not bring a blank, a line end or a comment sign. */
static bool
is_host_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	size_t len = strlen(name);

	return len > 0 && len <= PLAN_HOST_NAME_MAX && strspn(name, allowed) == len;
}

/* "/app": absolute, and its rest a path as FILE has it. */
static bool
is_folder(const char *dir)
{
	return dir[0] == '/' && plan_path_check(dir + 1) == 0;
}

/* An identity that is root, or that setresuid takes as "leave it", would undo the drop. */
static bool
is_dropped_id(uint32_t id)
{
	return id != 0 && id != UINT32_MAX;
}

static int
policy_check(const struct plan_policy *p)
{
	if (p->mode > PLAN_LOCAL || (p->flags & ~(uint32_t)(PLAN_WRITE_HOSTS | PLAN_EXIT_ON_CLOSE | PLAN_DRIVEN |
							    PLAN_READY | PLAN_READY_LINE)) != 0)
		return -EPROTO;
	if (((p->flags & PLAN_READY) && !(p->flags & PLAN_DRIVEN)) ||
	    ((p->flags & PLAN_READY_LINE) && !(p->flags & PLAN_READY)))
		return -EPROTO;
	if (!is_folder(p->app_dir))
		return -EPROTO;
	if (p->mode == PLAN_LOCAL)
		return 0;
	if (!is_folder(p->home_dir))
		return -EPROTO;
	if (!is_dropped_id(p->workflow_uid) || !is_dropped_id(p->workflow_gid) || !is_dropped_id(p->twins_uid) ||
	    !is_dropped_id(p->twins_gid) || p->workflow_uid == p->twins_uid)
		return -EPERM;
	return 0;
}

static void
policy_read_numbers(struct reader *r, struct plan_policy *out)
{
	out->mode = read_u8(r);
	out->flags = read_u32(r);
	out->workflow_uid = read_u32(r);
	out->workflow_gid = read_u32(r);
	out->twins_uid = read_u32(r);
	out->twins_gid = read_u32(r);
	out->postgres_uid = read_u32(r);
	out->postgres_gid = read_u32(r);
	out->run_ms = read_u32(r);
	out->start_ms = read_u32(r);
	out->idle_ms = read_u32(r);
	out->grace_ms = read_u32(r);
	out->memory_bytes = read_u64(r);
	out->pids = read_u32(r);
	out->files = read_u32(r);
	out->disk_bytes = read_u64(r);
	out->output_bytes = read_u64(r);
	out->operations = read_u32(r);
	out->state_bytes = read_u64(r);
	out->control_port = read_u16(r);
}

int
plan_policy_decode(const uint8_t *body, size_t len, struct plan_policy *out)
{
	struct reader r;

	if (len > PLAN_POLICY_MAX)
		return -EMSGSIZE;
	reader_init(&r, body, len);
	if (read_u8(&r) != PLAN_POLICY)
		return -EPROTO;
	policy_read_numbers(&r, out);
	read_string_into(&r, out->app_dir, sizeof(out->app_dir));
	read_string_into(&r, out->home_dir, sizeof(out->home_dir));
	out->services_len = read_u8(&r);
	if (out->services_len > PLAN_SERVICES_MAX)
		return -EMSGSIZE;
	for (uint8_t i = 0; i < out->services_len; i++) {
		const uint8_t *address;

		out->services[i].port = read_u16(&r);
		address = read_bytes(&r, 4);
		if (!address || address[0] != 127) /* a twin listens on loopback or not at all */
			return -EPROTO;
		memcpy(out->services[i].address, address, 4);
	}
	out->hosts_len = read_u16(&r);
	if (out->hosts_len > PLAN_HOSTS_MAX)
		return -EMSGSIZE;
	for (uint16_t i = 0; i < out->hosts_len; i++) {
		out->hosts[i].service = read_u8(&r);
		out->hosts[i].name = read_string(&r);
		if (r.failed || out->hosts[i].service >= out->services_len || !is_host_name(out->hosts[i].name))
			return -EPROTO;
	}
	return reader_finish(&r) < 0 ? -EPROTO : policy_check(out);
}

void
plan_policy_encode(struct writer *w, const struct plan_policy *in)
{
	write_u8(w, PLAN_POLICY);
	write_u8(w, in->mode);
	write_u32(w, in->flags);
	write_u32(w, in->workflow_uid);
	write_u32(w, in->workflow_gid);
	write_u32(w, in->twins_uid);
	write_u32(w, in->twins_gid);
	write_u32(w, in->postgres_uid);
	write_u32(w, in->postgres_gid);
	write_u32(w, in->run_ms);
	write_u32(w, in->start_ms);
	write_u32(w, in->idle_ms);
	write_u32(w, in->grace_ms);
	write_u64(w, in->memory_bytes);
	write_u32(w, in->pids);
	write_u32(w, in->files);
	write_u64(w, in->disk_bytes);
	write_u64(w, in->output_bytes);
	write_u32(w, in->operations);
	write_u64(w, in->state_bytes);
	write_u16(w, in->control_port);
	write_string(w, in->app_dir);
	write_string(w, in->home_dir);
	write_u8(w, in->services_len);
	for (uint8_t i = 0; i < in->services_len; i++) {
		write_u16(w, in->services[i].port);
		write_bytes(w, in->services[i].address, 4);
	}
	write_u16(w, in->hosts_len);
	for (uint16_t i = 0; i < in->hosts_len; i++) {
		write_u8(w, in->hosts[i].service);
		write_string(w, in->hosts[i].name);
	}
}

static void
read_digest(struct reader *r, uint8_t out[static 32])
{
	const uint8_t *at = read_bytes(r, 32);

	if (at)
		memcpy(out, at, 32);
	else
		memset(out, 0, 32);
}

int
plan_gate_decode(const uint8_t *body, size_t len, uint8_t digest[static 32])
{
	if (len != 33 || body[0] != PLAN_GATE)
		return -EPROTO;
	memcpy(digest, body + 1, 32);
	return 0;
}

void
plan_gate_encode(struct writer *w, const uint8_t digest[static 32])
{
	write_u8(w, PLAN_GATE);
	write_bytes(w, digest, 32);
}

/* ---- FILE and COMMIT ------------------------------------------------------------------------------------------------ */

static bool
is_segment(const char *s, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(s, what, len) == 0;
}

int
plan_path_check(const char *path)
{
	size_t len = strlen(path);

	if (len == 0 || len > BUNDLE_PATH_MAX || !utf8_is_valid(path, len))
		return -EPERM;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || is_segment(path, n, ".") || is_segment(path, n, ".."))
			return -EPERM;
		if (path[n] == '\0')
			return 0;
		path += n + 1;
	}
}

/* A link's target may climb ("../zod/bin.js" of node_modules/.bin), but not above the application's folder. */
static int
target_check(const char *path, const char *target)
{
	size_t len = strlen(target), depth = 0;

	if (len == 0 || len > BUNDLE_PATH_MAX || target[0] == '/' || !utf8_is_valid(target, len))
		return -EPERM;
	for (const char *s = path; *s; s++)
		depth += *s == '/';
	for (;;) {
		size_t n = strcspn(target, "/");

		if (is_segment(target, n, "..")) {
			if (depth == 0)
				return -EPERM;
			depth--;
		} else if (n > 0 && !is_segment(target, n, ".")) {
			depth++;
		}
		if (target[n] == '\0')
			return 0;
		target += n + 1;
	}
}

int
plan_file_decode(const uint8_t *body, size_t len, struct plan_file *out)
{
	struct reader r;
	int e;

	reader_init(&r, body, len);
	out->kind = read_u8(&r);
	out->mode = read_u16(&r);
	out->size = read_u64(&r);
	read_digest(&r, out->sha256);
	out->path = read_string(&r);
	out->target = out->kind == PLAN_LINK ? read_string(&r) : NULL;
	if (reader_finish(&r) < 0 || out->kind < PLAN_FILE || out->kind > PLAN_TWINS_FILE)
		return -EPROTO;
	if ((out->mode != 0644 && out->mode != 0755) || (out->kind == PLAN_LINK && out->size != 0))
		return -EPROTO;
	if (out->size > BUNDLE_FILE_MAX)
		return -EMSGSIZE;
	e = plan_path_check(out->path);
	if (e == 0 && out->target)
		e = target_check(out->path, out->target);
	return e;
}

void
plan_file_encode(struct writer *w, const struct plan_file *in)
{
	write_u8(w, in->kind);
	write_u16(w, in->mode);
	write_u64(w, in->size);
	write_bytes(w, in->sha256, sizeof(in->sha256));
	write_string(w, in->path);
	if (in->kind == PLAN_LINK)
		write_string(w, in->target);
}

int
plan_commit_decode(const uint8_t *body, size_t len, struct plan_commit *out)
{
	struct reader r;

	reader_init(&r, body, len);
	out->files = read_u32(&r);
	out->bytes = read_u64(&r);
	read_digest(&r, out->chain);
	return reader_finish(&r);
}

void
plan_commit_encode(struct writer *w, const struct plan_commit *in)
{
	write_u32(w, in->files);
	write_u64(w, in->bytes);
	write_bytes(w, in->chain, sizeof(in->chain));
}

/* ---- what the guest sends ------------------------------------------------------------------------------------------- */

int
plan_exit_decode(const uint8_t *body, size_t len, struct plan_exit *out)
{
	struct reader r;
	uint32_t code;

	reader_init(&r, body, len);
	code = read_u32(&r);
	memcpy(&out->code, &code, sizeof(code)); /* two's complement, which a cast would leave to the compiler */
	out->signal = read_u8(&r);
	out->core = read_u8(&r);
	out->oom = read_u8(&r);
	out->pipe_held = read_u8(&r);
	out->stage = read_u8(&r);
	out->ended_by = read_u8(&r);
	read_string_into(&r, out->errno_name, sizeof(out->errno_name));
	out->user_us = read_u64(&r);
	out->system_us = read_u64(&r);
	out->wall_us = read_u64(&r);
	out->max_rss_kib = read_u64(&r);
	out->stdout_bytes = read_u64(&r);
	out->stderr_bytes = read_u64(&r);
	read_digest(&r, out->stdout_sha256);
	read_digest(&r, out->stderr_sha256);
	if (reader_finish(&r) < 0 || out->core > 1 || out->oom > 1 || out->pipe_held > 1)
		return -EPROTO;
	if (out->stage > EXEC_EXEC || out->ended_by > ENDED_WORLD || out->code < -1 || out->code > 255)
		return -EPROTO;
	/* A code means that it ran and no signal ended it: an EXIT that says 0 and something else too is not believed. */
	if (out->code >= 0 && (out->signal != 0 || out->stage != EXEC_OK))
		return -EPROTO;
	return 0;
}

void
plan_exit_encode(struct writer *w, const struct plan_exit *in)
{
	write_u32(w, (uint32_t)in->code);
	write_u8(w, in->signal);
	write_u8(w, in->core);
	write_u8(w, in->oom);
	write_u8(w, in->pipe_held);
	write_u8(w, in->stage);
	write_u8(w, in->ended_by);
	write_string(w, in->errno_name);
	write_u64(w, in->user_us);
	write_u64(w, in->system_us);
	write_u64(w, in->wall_us);
	write_u64(w, in->max_rss_kib);
	write_u64(w, in->stdout_bytes);
	write_u64(w, in->stderr_bytes);
	write_bytes(w, in->stdout_sha256, sizeof(in->stdout_sha256));
	write_bytes(w, in->stderr_sha256, sizeof(in->stderr_sha256));
}

int
plan_truncated_decode(const uint8_t *body, size_t len, struct plan_truncated *out)
{
	struct reader r;

	reader_init(&r, body, len);
	out->what = read_u8(&r);
	out->kept = read_u64(&r);
	out->lost = read_u64(&r);
	if (reader_finish(&r) < 0 || out->what < TRUNCATED_STDOUT || out->what > TRUNCATED_DENIED)
		return -EPROTO;
	return 0;
}

void
plan_truncated_encode(struct writer *w, const struct plan_truncated *in)
{
	write_u8(w, in->what);
	write_u64(w, in->kept);
	write_u64(w, in->lost);
}

int
plan_fail_decode(const uint8_t *body, size_t len, struct plan_fail *out)
{
	struct reader r;

	reader_init(&r, body, len);
	out->step = read_string(&r);
	out->errno_name = read_string(&r);
	out->text = read_string(&r);
	return reader_finish(&r);
}

void
plan_fail_encode(struct writer *w, const struct plan_fail *in)
{
	write_string(w, in->step);
	write_string(w, in->errno_name);
	write_string(w, in->text);
}

int
plan_end_decode(const uint8_t *body, size_t len, struct plan_end *out)
{
	struct reader r;

	reader_init(&r, body, len);
	out->frames = read_u64(&r);
	read_digest(&r, out->chain);
	out->result = read_u8(&r);
	return reader_finish(&r) < 0 || out->result > END_TIMEOUT ? -EPROTO : 0;
}

void
plan_end_encode(struct writer *w, const struct plan_end *in)
{
	write_u64(w, in->frames);
	write_bytes(w, in->chain, sizeof(in->chain));
	write_u8(w, in->result);
}
