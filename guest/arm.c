/* SPDX-License-Identifier: GPL-2.0-or-later
 * arm.c - between COMMIT and START: the boundary is made and proved, then the services and the workflow come to life.
 *
 * Runs as: root, in the monitor.  Input: decoded numbers of the plan; the kernel's answers.
 * A hostile sender gains nothing: a plan can only ask for less than the boundary gives - every step that fails ends the run
 * before the workflow exists, and the policy is this program's own text, compared with the host's by digest. */
#include "guest/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/drop.h"
#include "guest/evidence.h"
#include "guest/spawn.h"
#include "proto/cursor.h"

#define OUTPUT_SLACK (16u << 20) /* bytes that a stream may overshoot its limit before writes fail */

int
arm_enter(void *arg)
{
	const struct arm_enter *a = arg;
	const struct plan_policy *p = &a->run->policy;
	int e;

	if (a->net >= 0 && setns(a->net, CLONE_NEWNET) < 0)
		return -errno;
	e = drop_identity(p->workflow_uid, p->workflow_gid);
	if (e == 0)
		e = drop_no_new_privs();
	return e < 0 ? e : filter_install(&a->run->filter);
}

void
arm_report(struct run *r, unsigned phase, const struct fw_failure *failure)
{
	struct evidence e = {
		.phase = phase,
		.sandbox = r->sandbox,
		.af_unix = r->af_unix || !r->sandbox,
		.room = &r->room,
		.locks = r->locks,
		.locks_len = r->locks_len,
		.uid = r->policy.workflow_uid,
		.gid = r->policy.workflow_gid,
		.attempts = r->attempts,
		.attempts_len = r->attempts_len,
		.failure = failure,
	};
	struct writer w;

	memcpy(e.policy, r->policy_digest, sizeof(e.policy));
	filter_digest(&r->filter, e.filter);
	filter_digest(&r->filter_twins, e.filter_twins);
	writer_init(&w, r->paper, sizeof(r->paper));
	evidence_firewall(&w, &e);
	if (w.failed)
		run_fail(r, END_FIREWALL, "firewall.report", EMSGSIZE, "the evidence does not fit");
	else
		(void)outbox_put_record(&r->outbox, FRAME_FIREWALL, w.at, w.len);
}

static int
lock_failed(struct run *r, const char *step)
{
	if (r->fw_failure.step[0] == '\0')
		snprintf(r->fw_failure.step, sizeof(r->fw_failure.step), "%s", step);
	arm_report(r, 1, &r->fw_failure);
	run_fail_lock(r);
	return -1;
}

/* Installs a lock in the present network namespace. */
static int
lock_install(struct run *r, enum fw_lock_kind kind)
{
	static struct fw_params want;
	struct fw_lock *l = &r->locks[r->locks_len];

	memset(&want, 0, sizeof(want));
	want.lock = kind;
	want.uid_workflow = r->policy.workflow_uid;
	want.uid_twins = r->policy.twins_uid;
	want.control_port = kind == FW_OUTER ? r->policy.control_port : 0;
	if (fw_lock_init(l, &want, &r->fw_failure) < 0)
		return lock_failed(r, "init");
	r->locks_len++;
	return fw_lock_install(l, &r->fw_failure) < 0 ? lock_failed(r, "install") : 0;
}

/* Proves every lock from inside its own namespace.  The proof forgets its own packets' records. */
static int
locks_prove(struct run *r)
{
	for (unsigned i = 0; i < r->locks_len; i++) {
		struct fw_lock *l = &r->locks[i];
		struct arm_enter enter = { r, r->room.exists ? (i == 0 ? r->room.own_net : r->room.net) : -1 };

		if (fw_lock_prove(l, 0, arm_enter, &enter, &r->fw_failure) < 0)
			return lock_failed(r, "prove");
		if (fw_lock_counters(l, &r->fw_failure) < 0)
			return lock_failed(r, "counters");
		r->base[i] = l->counters;
	}
	return 0;
}

static int
attempts_try(struct run *r)
{
	struct arm_enter enter = { r, -1 };
	int e = attempt_all(arm_enter, &enter, r->attempts, &r->attempts_len);

	if (e >= 0)
		return 0;
	r->fw_failure = (struct fw_failure){ .step = "drop", .err = -e };
	snprintf(r->fw_failure.text, sizeof(r->fw_failure.text),
		 e == -EPERM && r->attempts_len ? "a call that the workflow must not be able to make was not refused"
						: "a test child could not become the workflow");
	for (unsigned i = 0; i < r->attempts_len; i++)
		if (!r->attempts[i].refused)
			snprintf(r->fw_failure.text, sizeof(r->fw_failure.text), "not refused: %s",
				 r->attempts[i].what);
	return lock_failed(r, "drop");
}

static int
policy_compare(struct run *r)
{
	static char text[2 * FW_TEXT_MAX];
	int len = fw_text_policy_all(r->policy.control_port, text, sizeof(text));

	if (len < 0) {
		run_fail(r, END_FIREWALL, "firewall.policy", -len, "the policy text does not fit");
		return -1;
	}
	sha256_of(text, (size_t)len, r->policy_digest);
	if (memcmp(r->policy_digest, r->gate, sizeof(r->gate)) == 0)
		return 0;
	run_fail(r, END_FIREWALL, "gate", EPERM, "the host expects another firewall policy than this guest installs");
	return -1;
}

static int
filters_build(struct run *r)
{
	/* Sockets with names may be opened only where a mount namespace hides the paths of others. */
	r->af_unix = r->room.exists && r->unix_is_clean;
	if (filter_build(&r->filter, FILTER_WORKFLOW, filter_arch_native(), r->af_unix) == 0 &&
	    filter_build(&r->filter_twins, FILTER_TWINS, filter_arch_native(), (r->policy.flags & PLAN_DRIVEN) != 0) ==
		    0)
		return 0;
	run_fail(r, END_FIREWALL, "filter", ENOSPC, "a syscall filter does not fit");
	return -1;
}

static int
arm_sandbox(struct run *r)
{
	int e;

	if (policy_compare(r) < 0 || filters_build(r) < 0 || lock_install(r, FW_OUTER) < 0)
		return -1;
	e = room_make(&r->room);
	if (e < 0) {
		run_fail(r, END_FIREWALL, "room", -e, "the inner room can neither be made nor left");
		return -1;
	}
	if (filters_build(r) < 0)
		return -1;
	if (r->room.exists && lock_install(r, FW_INNER) < 0)
		return -1;
	r->reaper = (struct reaper){ .way = r->room.exists ? REAPER_ROOM : REAPER_UID,
				     .room_init = r->room.init,
				     .uid = r->policy.workflow_uid,
				     .gid = r->policy.workflow_gid };
	return locks_prove(r) < 0 ? -1 : attempts_try(r);
}

int
arm_boundary(struct run *r)
{
	r->room = (struct room){ .own_net = -1, .own_pid = -1, .own_ipc = -1, .net = -1, .pid = -1 };
	if (!r->sandbox) {
		snprintf(r->room.reason, sizeof(r->room.reason), "local: not a sandbox");
		r->reaper = (struct reaper){ .way = REAPER_TREE };
		if (filters_build(r) < 0)
			return -1;
	} else if (arm_sandbox(r) < 0) {
		return -1;
	}
	arm_report(r, 1, NULL);
	r->armed = !r->failed;
	return r->armed ? 0 : -1;
}

static int
output_open(struct run *r)
{
	const struct plan_policy *p = &r->policy;
	int e = tail_open(&r->output, r->sandbox, p->workflow_uid, p->workflow_gid, p->output_bytes);

	if (e == 0)
		e = tail_open(&r->errors, r->sandbox, p->workflow_uid, p->workflow_gid, p->output_bytes);
	if (e == 0)
		r->watch = tail_watch_open(&r->output, &r->errors); /* without it the loop's own rhythm must do */
	return e;
}

int
arm_services(struct run *r)
{
	pid_t twins;
	int records = -1, e = 0;

	if (r->sandbox && (r->policy.flags & PLAN_WRITE_HOSTS))
		e = services_write_names(&r->services, &r->policy);
	if (e == 0)
		e = services_listen(&r->services, &r->policy);
	if (e < 0) {
		run_fail(r, END_FAILED, "services", -e, r->services.problem);
		return -1;
	}
	twins = services_start(&r->services, &r->policy, r->room.exists, &r->filter_twins, &records);
	if (twins < 0) {
		run_fail(r, END_FAILED, "twins", (int)-twins, "the twins cannot be started");
		return -1;
	}
	r->twins = twins;
	r->reaper.keep = twins;
	relay_init(&r->relay, records, r->twins_buf + 1, r->twins_len - 1);
	r->relay.driven = (r->policy.flags & PLAN_DRIVEN) != 0;
	r->relay.wants_ready = (r->policy.flags & PLAN_READY) != 0;
	e = output_open(r);
	if (e < 0) {
		run_fail(r, END_FAILED, "output", -e, "the files for the workflow's output cannot be made");
		return -1;
	}
	return 0;
}

int
arm_authority(struct run *r)
{
	int e;

	if (r->authority_written || r->relay.ca_len == 0)
		return 0;
	r->authority_written = true;
	/* Without a root of its own it would be written to the caller's machine. */
	e = r->sandbox ? services_write_authority(&r->services, r->relay.ca, r->relay.ca_len) : -EPROTO;
	if (e == 0)
		return 0;
	run_fail(r, END_FAILED, "services", -e,
		 r->sandbox ? r->services.problem : "the twins sent an authority outside a sandbox");
	return -1;
}

/* A sealed file: readable from its start as often as it is opened, and nothing can be written to it. */
static int
stdin_open(const struct plan_exec *x)
{
	int fd, again;
	char path[40];

	if (!x->stdin_data)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	for (size_t at = 0; at < x->stdin_len;) {
		ssize_t n = write(fd, x->stdin_data + at, x->stdin_len - at);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return again;
}

static void
spawn_failed(struct run *r, const struct spawn_failure *f)
{
	r->exit.code = -1;
	r->exit.stage = f->stage;
	snprintf(r->exit.errno_name, sizeof(r->exit.errno_name), "%s", errno_name(f->err));
	r->phase = RUN_KILLING;
	r->phase_deadline = r->now + KILL_WAIT_MS;
}

void
arm_spawn(struct run *r)
{
	struct spawn_request q = {
		.argv = r->exec.argv,
		.envp = r->exec.envp,
		.stdout_fd = r->output.write_fd,
		.stderr_fd = r->errors.write_fd,
		.root = r->policy.app_dir,
		.cwd = r->exec.cwd,
		.sandbox = r->sandbox,
		.hide = r->room.exists,
		.uid = r->policy.workflow_uid,
		.gid = r->policy.workflow_gid,
		.files = r->policy.files,
		.processes = r->sandbox ? r->policy.pids : 0,
		.filter = &r->filter,
	};
	uint64_t most = r->policy.output_bytes + OUTPUT_SLACK;
	struct spawn_failure f = { EXEC_FDS, EIO };
	pid_t pid = 0;
	int e;

	q.file_bytes = r->policy.disk_bytes > most ? r->policy.disk_bytes : most;
	r->spawned = true;
	r->spawned_us = run_clock_us();
	r->spawned_ms = r->moved_ms = r->now;
	q.stdin_fd = stdin_open(&r->exec);
	e = q.stdin_fd < 0 ? -errno : room_enter_processes(&r->room);
	if (e == 0) {
		e = spawn_workflow(&q, &pid, &f);
		if (room_leave_processes(&r->room) < 0) {
			run_fail(r, END_FAILED, "room", errno, "the monitor cannot leave the room's processes");
			e = e == 0 ? -EPERM : e;
		}
	}
	if (q.stdin_fd >= 0)
		close(q.stdin_fd);
	tail_close_writer(&r->output);
	tail_close_writer(&r->errors);
	r->workflow = pid;
	if (r->failed)
		return;
	if (e < 0)
		spawn_failed(r, &f);
	else
		r->phase = RUN_RUNNING;
	relay_started(&r->relay);
}
