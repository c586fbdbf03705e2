/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The namespace backend as the host sees it: chooses ids and Node, clones the init (ns_init.c), hands it the guest, ends it.
 * Everything that it makes lives in the init's namespaces, so ending one process, by a descriptor that cannot name another,
 * removes all of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/cgroup.h"
#include "host/diag.h"
#include "host/node.h"
#include "host/ns.h"
#include "host/process.h"

#define PIPE_BYTES (1 << 20)
#define REPORT_WAIT_MS 20000
#define END_WAIT_MS 5000
#define CGROUP_WAIT_MS 5000

struct backend {
	struct node node;
	struct ns_ids ids;
	struct cgroup cgroup;
	pid_t pid;                           /* 0: no init (any more) */
	int pidfd, go, report, in, out, log; /* -1 none */
	struct lease lease;
	bool leased, started;
	struct cleanup done;
	char said[2048]; /* the guest's stderr */
};

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The next report of the init.  -EPIPE when it ended without one. */
static int
next_report(struct backend *b, struct ns_report *r)
{
	uint64_t until = process_clock_ms() + REPORT_WAIT_MS, now;
	struct pollfd p = { .fd = b->report, .events = POLLIN };
	ssize_t n;

	for (;;) {
		now = process_clock_ms();
		if (now >= until)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(until - now)) <= 0)
			continue;
		n = read(b->report, r, sizeof(*r)); /* whole: each is one write below PIPE_BUF */
		if (n < 0 && errno == EINTR)
			continue;
		r->step[sizeof(r->step) - 1] = '\0';
		r->what[sizeof(r->what) - 1] = '\0';
		return n == (ssize_t)sizeof(*r) ? 0 : -EPIPE;
	}
}

/* Waits for one kind of report; everything else is a failure that *d explains. */
static int
expect(struct backend *b, uint8_t kind, struct diag *d)
{
	struct ns_report r;
	int e;

	e = next_report(b, &r);
	if (e < 0)
		return diag_set(d, e,
				e == -ETIMEDOUT
					? "the sandbox's init did not answer in 20 s"
					: "the sandbox's init ended before it could say why (killed, or out of time)");
	if (r.kind == kind)
		return 0;
	if (r.kind != NS_FAILED)
		return diag_set(d, -EPROTO, "the sandbox's init answered out of turn");
	ns_explain(-r.err, d);
	if (strcmp(r.step, "guest.exec") == 0 && r.err == EACCES)
		diag_fix(d, "sudo sysctl vm.memfd_noexec=0");
	return diag_set(d, r.err > 0 ? -r.err : -EIO, "sandbox: %s%s%s: %s", r.step, r.what[0] ? " " : "", r.what,
			strerror(r.err));
}

struct ends { /* the init's */
	int go, report, in, out, log;
};

static int
make_pipe(int *reader, int *writer)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	*reader = p[0];
	*writer = p[1];
	return 0;
}

static int
make_pipes(struct backend *b, struct ends *e, struct diag *d)
{
	int r, pair[2];

	/* A socket pair, since writing to a pipe that nobody reads any more would raise a signal. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return diag_set(d, -errno, "socketpair: %s", strerror(errno));
	e->go = pair[0];
	b->go = pair[1];
	if ((r = make_pipe(&b->report, &e->report)) < 0 || (r = make_pipe(&e->in, &b->in)) < 0 ||
	    (r = make_pipe(&b->out, &e->out)) < 0 || (r = make_pipe(&b->log, &e->log)) < 0)
		return diag_set(d, r, "pipe: %s", strerror(-r));
	/* Bigger means fewer switches; an ordinary user's share may be used up, the default works too. */
	(void)fcntl(b->in, F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(b->out, F_SETPIPE_SZ, PIPE_BYTES);
	/* A guest that chatters there must never wait for us; what does not fit is lost. */
	(void)fcntl(e->log, F_SETFL, O_NONBLOCK);
	(void)fcntl(b->log, F_SETFL, O_NONBLOCK);
	return 0;
}

static void
shut_ends(struct ends *e)
{
	shut(&e->go);
	shut(&e->report);
	shut(&e->in);
	shut(&e->out);
	shut(&e->log);
}

/* One clone for everything: the kernel makes the user namespace first, so all others belong to it. */
static int
clone_init(struct backend *b, struct ns_init *in, struct diag *d)
{
	const unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
				    CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_PIDFD | SIGCHLD;
	sigset_t all, before;
	int pidfd = -1, e;
	long pid;

	/* No handler of this program may run in the copy. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone, flags, NULL, &pidfd, NULL, NULL);
	if (pid == 0)
		ns_init_main(in);
	e = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		ns_explain(-e, d);
		return diag_set(d,
				e == EPERM || e == EACCES || e == ENOSPC || e == EINVAL || e == EUSERS ? -ENOTSUP : -e,
				"the kernel refused new namespaces: %s", strerror(e));
	}
	b->pid = (pid_t)pid;
	b->pidfd = pidfd;
	return 0;
}

/* CLOCK_MONOTONIC in ms for a CLOCK_REALTIME in s; the run's clock may not jump with the wall's. */
static uint64_t
expiry(uint64_t expires_s)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (expires_s <= (uint64_t)now.tv_sec)
		return 0;
	if (expires_s - (uint64_t)now.tv_sec > 30u * 86400u) /* no run is that long: a mistake */
		return process_clock_ms() + 30ull * 86400u * 1000u;
	return process_clock_ms() + (expires_s - (uint64_t)now.tv_sec) * 1000u;
}

/* The init exists, has its ids, and its lease is whole; then it may go on. */
static int
launch(struct backend *b, struct ns_init *in, struct ends *e, struct diag *d)
{
	int r;

	if ((r = clone_init(b, in, d)) < 0)
		return r;
	shut_ends(e);
	if ((r = process_start_time(b->pid, &b->lease.start_time)) < 0)
		return diag_set(d, r, "/proc/%d/stat cannot be read: is /proc mounted?", (int)b->pid);
	snprintf(b->lease.id, sizeof(b->lease.id), "%d", (int)b->pid);
	if ((r = expect(b, NS_HELLO, d)) < 0 || (r = lease_write(&b->lease, d)) < 0)
		return r;
	cgroup_enter(&b->cgroup, b->pid);
	if ((r = ns_ids_write(&b->ids, b->pid, d)) < 0)
		return r;
	if (send(b->go, "m", 1, MSG_NOSIGNAL) != 1)
		return diag_set(d, -EPIPE, "the sandbox's init ended early");
	return expect(b, NS_READY, d);
}

static int namespace_destroy(struct backend *b, struct cleanup *c);
static void namespace_release(struct backend *b);

static struct backend *
backend_new(void)
{
	struct backend *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->pidfd = b->go = b->report = b->in = b->out = b->log = b->ids.lock = b->node.digest_fd = -1;
	b->node.digest_pid = -1;
	return b;
}

/* Where the groups will be stands in the lease before they are made. */
static void
plan_groups(struct backend *b, const struct backend_spec *s)
{
	const struct cgroup_place *p = b->cgroup.places;
	const struct cgroup_limits asked = { .memory_bytes = s->limits.memory_bytes,
					     .pids = s->limits.pids ? s->limits.pids + CGROUP_OWN_PIDS : 0,
					     .cpu_milli = s->limits.cpu_milli };
	int k, before;

	cgroup_find("", s->run_id, &asked, &b->cgroup);
	for (k = 0; k < CGROUP_KINDS; k++) {
		for (before = 0; before < k && strcmp(p[before].path, p[k].path) != 0; before++)
			continue;
		if (before == k)
			snprintf(b->lease.cgroups[k], sizeof(b->lease.cgroups[k]), "%s", p[k].path);
	}
}

static int
open_with(struct backend *b, const struct backend_spec *s, struct ends *e, struct diag *d)
{
	struct ns_init in = { .guest = -1, .lock = -1 };
	int r;

	in.expires_ms = expiry(s->expires_s);
	if (in.expires_ms == 0)
		return diag_set(d, -ETIMEDOUT, "the run's time was over before its sandbox was made");
	if ((r = ns_ids_choose(s->run_id, &b->ids, d)) < 0 || (r = node_find(s->node, &b->node, d)) < 0 ||
	    (r = make_pipes(b, e, d)) < 0)
		return r;
	if ((r = process_image(s->guest, s->guest_len, &in.guest)) < 0)
		return diag_set(d, r, "file in memory for the guest: %s", strerror(-r));
	snprintf(b->lease.backend, sizeof(b->lease.backend), "namespace");
	snprintf(b->lease.run_id, sizeof(b->lease.run_id), "%s", s->run_id);
	b->lease.expires_s = s->expires_s;
	plan_groups(b, s);
	if ((r = lease_write(&b->lease, d)) < 0)
		goto out;
	b->leased = true;
	cgroup_make(&b->cgroup);
	in.go = e->go;
	in.report = e->report;
	in.in = e->in;
	in.out = e->out;
	in.log = e->log;
	in.lock = b->ids.lock;
	in.ids = &b->ids;
	in.fs = (struct ns_rootfs){ .disk_bytes = s->limits.disk_bytes,
				    .node_prefix = b->node.prefix,
				    .node_file = b->node.file };
	r = launch(b, &in, e, d);
	/* Not before: the digest would compete with the sandbox for the disk, and nobody needs it until the receipt. */
	if (r == 0 && (r = node_digest_start(&b->node)) < 0)
		diag_set(d, r, "fork: %s", strerror(-r));
out:
	close(in.guest);
	return r;
}

static int
namespace_open(struct backend **out, const struct backend_spec *s, struct diag *d)
{
	struct ends e = { -1, -1, -1, -1, -1 };
	struct backend *b = backend_new();
	struct cleanup c;
	int r;

	if (!b)
		return diag_set(d, -ENOMEM, "out of memory");
	r = open_with(b, s, &e, d);
	shut_ends(&e);
	if (r < 0) {
		namespace_destroy(b, &c);
		namespace_release(b);
		return r;
	}
	*out = b;
	return 0;
}

static int
namespace_start(struct backend *b, int bundle, int *in, int *out, struct diag *d)
{
	int r;

	(void)bundle;
	if (b->started || b->pid == 0)
		return diag_set(d, -EALREADY, "the sandbox was started already");
	if (send(b->go, "s", 1, MSG_NOSIGNAL) != 1)
		return diag_set(d, -EPIPE, "the sandbox ended before it was used");
	if ((r = expect(b, NS_STARTED, d)) < 0)
		return r;
	b->started = true;
	*in = b->in; /* moved */
	b->in = -1;
	*out = b->out; /* moved */
	b->out = -1;
	return 0;
}

static int
namespace_cancel(struct backend *b)
{
	return b->pid ? process_signal(b->pidfd, SIGKILL) : 0;
}

/* What the guest said where it should not need to: kept for whoever asks why it said nothing in frames. */
static void
read_log(struct backend *b)
{
	size_t len = strlen(b->said);
	char buf[4096];
	ssize_t n;

	if (b->log < 0)
		return;
	while ((n = read(b->log, buf, sizeof(buf))) > 0) {
		size_t got = (size_t)n, keep;

		if (got >= sizeof(b->said)) {
			memcpy(b->said, buf + got - (sizeof(b->said) - 1), sizeof(b->said) - 1);
			len = sizeof(b->said) - 1;
		} else {
			keep = len + got < sizeof(b->said) ? len : sizeof(b->said) - 1 - got;
			memmove(b->said, b->said + len - keep, keep);
			memcpy(b->said + keep, buf, got);
			len = keep + got;
		}
		b->said[len] = '\0';
	}
}

/* What was left to do when nothing of the sandbox runs any more. */
static int
forget(struct backend *b, const char **what)
{
	int r;

	shut(&b->log);
	ns_ids_wipe(&b->ids);
	cgroup_count(&b->cgroup);
	*what = "control group";
	if ((r = cgroup_remove(&b->cgroup, CGROUP_WAIT_MS, what)) < 0)
		return r;
	*what = "lease";
	if (b->leased && (r = lease_drop(&b->lease)) == 0)
		b->leased = false;
	return r;
}

static int
namespace_destroy(struct backend *b, struct cleanup *c)
{
	const char *what = "init of the sandbox";
	int r = 0;

	if (b->pid) {
		b->done.attempts++;
		cgroup_kill(&b->cgroup);
		r = process_end(b->pidfd, END_WAIT_MS);
		if (r == 0) {
			/* The kernel lets PID 1 end only after everything else in its pid namespace is gone. */
			while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
				continue;
			b->pid = 0;
			shut(&b->pidfd);
		}
	}
	shut(&b->go);
	shut(&b->report);
	shut(&b->in);
	shut(&b->out);
	read_log(b);
	if (r == 0)
		r = forget(b, &what);
	b->done.confirmed = r == 0;
	b->done.expires_s = r == 0 ? 0 : b->lease.expires_s;
	b->done.reason[0] = '\0';
	if (r < 0)
		snprintf(b->done.reason, sizeof(b->done.reason), "%.200s: %s", what, strerror(-r));
	*c = b->done;
	return r;
}

static void
describe_limits(const struct backend *b, struct facts *f)
{
	const struct cgroup_place *p = b->cgroup.places;
	char groups[780];
	int k;

	cgroup_describe(&b->cgroup, groups, sizeof(groups));
	snprintf(f->limits_enforced, sizeof(f->limits_enforced), "disk by tmpfs size; files by rlimit in the guest; %s",
		 groups);
	for (k = 0; k < CGROUP_KINDS && !f->limits_fix[0]; k++)
		if (!p[k].version)
			snprintf(f->limits_fix, sizeof(f->limits_fix), "%s", p[k].fix);
	f->pids_most = p[CGROUP_PIDS].version ? b->cgroup.asked.pids : 0;
	f->memory_most = p[CGROUP_MEMORY].version ? b->cgroup.asked.memory_bytes : 0;
	f->cpu_most = p[CGROUP_CPU].version ? b->cgroup.asked.cpu_milli : 0;
	f->oom_kills = b->cgroup.counts.oom_kills;
	f->oom_elsewhere = b->cgroup.counts.oom_elsewhere;
	f->pids_refused = b->cgroup.counts.pids_refused;
}

static int
namespace_describe(struct backend *b, struct facts *f)
{
	memset(f, 0, sizeof(*f));
	/* While the run lasts nobody waits for the digest; after it, it is there or a moment away. */
	node_digest_finish(&b->node, b->pid ? 0 : NODE_DIGEST_WAIT_MS);
	if (b->pid)
		read_log(b);
	snprintf(f->sandbox_id, sizeof(f->sandbox_id), "%s", b->lease.id);
	snprintf(f->mode, sizeof(f->mode), "%s", b->ids.mode);
	snprintf(f->node_path, sizeof(f->node_path), "%s", b->node.path);
	snprintf(f->node_inside, sizeof(f->node_inside), "%s", b->node.inside);
	snprintf(f->node_version, sizeof(f->node_version), "%s", b->node.version);
	snprintf(f->node_sha256, sizeof(f->node_sha256), "%s", b->node.sha256);
	describe_limits(b, f);
	snprintf(f->app_dir, sizeof(f->app_dir), "/app");
	snprintf(f->home_dir, sizeof(f->home_dir), "/home/node");
	snprintf(f->guest_stderr, sizeof(f->guest_stderr), "%s", b->said);
	f->workflow_uid = f->workflow_gid = NS_UID_WORKFLOW;
	f->twins_uid = f->twins_gid = NS_UID_TWINS;
	f->postgres_uid = f->postgres_gid = NS_UID_POSTGRES;
	return 0;
}

static int
namespace_reap(const struct lease *l, struct cleanup *c)
{
	char what[600];
	size_t i;
	int fd, r = 0;

	snprintf(what, sizeof(what), "process %s", l->id);
	memset(c, 0, sizeof(*c));
	c->attempts = 1;
	if (lease_is_alive(l)) {
		fd = process_open((pid_t)strtol(l->id, NULL, 10), l->start_time);
		r = fd;
		if (fd >= 0) {
			r = process_end(fd, END_WAIT_MS);
			close(fd);
		}
		if (r == -ESRCH)
			r = 0;
	}
	for (i = 0; r == 0 && i < LEASE_CGROUPS; i++)
		if (l->cgroups[i][0] && (r = cgroup_reap(l->cgroups[i], l->run_id, CGROUP_WAIT_MS)) < 0)
			snprintf(what, sizeof(what), "control group %s", l->cgroups[i]);
	if (r == 0 && (r = lease_drop(l)) < 0)
		snprintf(what, sizeof(what), "lease");
	c->confirmed = r == 0;
	if (r < 0) {
		c->expires_s = l->expires_s;
		snprintf(c->reason, sizeof(c->reason), "%.200s: %s", what, strerror(-r));
	}
	return r;
}

static void
namespace_release(struct backend *b)
{
	if (!b)
		return;
	node_wipe(&b->node);
	ns_ids_wipe(&b->ids);
	shut(&b->pidfd);
	shut(&b->go);
	shut(&b->report);
	shut(&b->in);
	shut(&b->out);
	shut(&b->log);
	free(b);
}

const struct backend_ops backend_namespace = {
	.name = "namespace",
	.flags = BACKEND_DUPLEX | BACKEND_SANDBOX | BACKEND_EXPIRES,
	.control_port = 0,
	.open = namespace_open,
	.start = namespace_start,
	.cancel = namespace_cancel,
	.destroy = namespace_destroy,
	.describe = namespace_describe,
	.reap = namespace_reap,
	.doctor = ns_doctor,
	.release = namespace_release,
};
