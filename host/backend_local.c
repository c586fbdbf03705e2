/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The local backend: the guest runs as the caller, directly on this machine.  No sandbox: the workflow can do whatever the
 * caller can.  What it keeps apart is a folder of its own; what it ends is its own tree of processes, never anything by uid. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/diag.h"
#include "host/local_watch.h"
#include "host/node.h"
#include "host/process.h"
#include "host/remove.h"

#define START_WAIT_MS 10000
#define END_WAIT_MS 8000 /* more than the watchdog itself takes: it asks first, 1.5 s, then kills */
#define KEPT 6u

struct backend {
	struct node node;
	pid_t pid; /* of the watchdog; 0 none */
	int pidfd, go, report, in, out, log;
	struct lease lease;
	bool leased, started;
	struct cleanup done;
	char said[2048];
};

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The folder's name follows from the run's, so that the lease can say it before it exists. */
static int
name_folder(struct backend *b, const char *run_id, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || *tmp != '/')
		tmp = "/tmp";
	/* facts hold 256 bytes for it with "/home" behind */
	if (snprintf(b->lease.folder, sizeof(b->lease.folder), "%s/agenttwin-%s", tmp, run_id) >= 240) {
		b->lease.folder[0] = '\0';
		diag_fix(d, "set TMPDIR to a shorter path");
		return diag_set(d, -ENAMETOOLONG, "$TMPDIR is too long");
	}
	return 0;
}

static int
make_folder(struct backend *b, struct diag *d)
{
	char sub[300];
	int r;

	if (mkdir(b->lease.folder, 0700) < 0) {
		r = -errno;
		if (r == -EEXIST)
			b->lease.folder[0] = '\0'; /* another's: not ours to remove */
		diag_fix(d, "set TMPDIR to a folder that you can write");
		return diag_set(d, r, "%s: %s", b->lease.folder[0] ? b->lease.folder : "working folder below $TMPDIR",
				strerror(-r));
	}
	snprintf(sub, sizeof(sub), "%s/app", b->lease.folder);
	r = mkdir(sub, 0700) < 0 ? -errno : 0;
	snprintf(sub, sizeof(sub), "%s/home", b->lease.folder);
	if (r == 0 && mkdir(sub, 0700) < 0)
		r = -errno;
	return r < 0 ? diag_set(d, r, "%s: %s", sub, strerror(-r)) : 0;
}

static int
make_pipes(struct backend *b, struct local_watch *w, struct diag *d)
{
	int pair[2], in[2], out[2], log[2], report[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return diag_set(d, -errno, "socketpair: %s", strerror(errno));
	w->go = pair[0];
	b->go = pair[1];
	if (pipe2(report, O_CLOEXEC) < 0)
		return diag_set(d, -errno, "pipe: %s", strerror(errno));
	b->report = report[0];
	w->report = report[1];
	if (pipe2(in, O_CLOEXEC) < 0)
		return diag_set(d, -errno, "pipe: %s", strerror(errno));
	w->in = in[0];
	b->in = in[1];
	if (pipe2(out, O_CLOEXEC) < 0)
		return diag_set(d, -errno, "pipe: %s", strerror(errno));
	b->out = out[0];
	w->out = out[1];
	if (pipe2(log, O_CLOEXEC) < 0)
		return diag_set(d, -errno, "pipe: %s", strerror(errno));
	b->log = log[0];
	w->log = log[1];
	(void)fcntl(b->in, F_SETPIPE_SZ, 1 << 20);
	(void)fcntl(b->out, F_SETPIPE_SZ, 1 << 20);
	(void)fcntl(w->log, F_SETFL, O_NONBLOCK);
	(void)fcntl(b->log, F_SETFL, O_NONBLOCK);
	return 0;
}

/* In the copy: the watchdog's descriptors stay, those of this and of other runs do not. */
static _Noreturn void
become_watchdog(struct local_watch *w)
{
	int *const kept[KEPT] = { &w->go, &w->report, &w->guest, &w->in, &w->out, &w->log };
	unsigned i, base = 0;
	struct sigaction sa = { .sa_handler = SIG_DFL };
	int s, null;

	for (s = 1; s < NSIG; s++)
		sigaction(s, &sa, NULL);
	/* To numbers above all others, side by side; then one range below them and one above goes. */
	for (i = 0; i < KEPT; i++)
		if (*kept[i] >= 0 && (unsigned)*kept[i] > base)
			base = (unsigned)*kept[i];
	base = base < 16 ? 16 : base + 1;
	for (i = 0; i < KEPT; i++) {
		*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, (int)(base + i));
		if (*kept[i] != (int)(base + i))
			_exit(1);
	}
	if (syscall(SYS_close_range, 0u, base - 1, 0u) < 0 || syscall(SYS_close_range, base + KEPT, ~0u, 0u) < 0)
		_exit(1);
	for (s = 0; s < 3; s++)
		if ((null = open("/dev/null", O_RDWR)) != s)
			_exit(1);
	local_watch_main(w);
}

static int
launch(struct backend *b, struct local_watch *w, struct diag *d)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	b->pid = fork();
	if (b->pid == 0)
		become_watchdog(w);
	r = b->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		b->pid = 0;
		return diag_set(d, r, "fork: %s", strerror(-r));
	}
	b->pidfd = (int)syscall(SYS_pidfd_open, b->pid, 0); /* our own unreaped child */
	if (b->pidfd < 0 || (r = process_start_time(b->pid, &b->lease.start_time)) < 0)
		return diag_set(d, b->pidfd < 0 ? -errno : r, "process of the run: %s",
				strerror(b->pidfd < 0 ? errno : -r));
	snprintf(b->lease.id, sizeof(b->lease.id), "%d", (int)b->pid);
	return lease_write(&b->lease, d);
}

static int
open_with(struct backend *b, const struct backend_spec *s, struct local_watch *w, struct diag *d)
{
	struct timespec now;
	int r;

	clock_gettime(CLOCK_REALTIME, &now);
	if (s->expires_s <= (uint64_t)now.tv_sec)
		return diag_set(d, -ETIMEDOUT, "the run's time was over before it began");
	w->expires_ms = process_clock_ms() + (s->expires_s - (uint64_t)now.tv_sec) * 1000u;
	w->folder = b->lease.folder;
	if ((r = node_find(s->node, &b->node, d)) < 0 || (r = name_folder(b, s->run_id, d)) < 0 ||
	    (r = make_pipes(b, w, d)) < 0)
		return r;
	if ((r = process_image(s->guest, s->guest_len, &w->guest)) < 0)
		return diag_set(d, r, "file in memory for the guest: %s", strerror(-r));
	snprintf(b->lease.backend, sizeof(b->lease.backend), "local");
	snprintf(b->lease.run_id, sizeof(b->lease.run_id), "%s", s->run_id);
	b->lease.expires_s = s->expires_s;
	if ((r = lease_write(&b->lease, d)) < 0)
		return r;
	b->leased = true;
	if ((r = make_folder(b, d)) < 0 || (r = launch(b, w, d)) < 0)
		return r;
	r = node_digest_start(&b->node);
	return r < 0 ? diag_set(d, r, "fork: %s", strerror(-r)) : 0;
}

static int local_destroy(struct backend *b, struct cleanup *c);
static void local_release(struct backend *b);

static int
local_open(struct backend **out, const struct backend_spec *s, struct diag *d)
{
	struct local_watch w = { .go = -1, .report = -1, .guest = -1, .in = -1, .out = -1, .log = -1 };
	struct backend *b = calloc(1, sizeof(*b));
	struct cleanup c;
	int r;

	if (!b)
		return diag_set(d, -ENOMEM, "out of memory");
	b->pidfd = b->go = b->report = b->in = b->out = b->log = b->node.digest_fd = -1;
	b->node.digest_pid = -1;
	r = open_with(b, s, &w, d);
	shut(&w.go);
	shut(&w.report);
	shut(&w.guest);
	shut(&w.in);
	shut(&w.out);
	shut(&w.log);
	if (r < 0) {
		local_destroy(b, &c);
		local_release(b);
		return r;
	}
	*out = b;
	return 0;
}

static int
local_start(struct backend *b, int bundle, int *in, int *out, struct diag *d)
{
	struct pollfd p = { .fd = b->report, .events = POLLIN };
	int e = 0;

	(void)bundle;
	if (b->started || b->pid == 0)
		return diag_set(d, -EALREADY, "the run was started already");
	if (send(b->go, "s", 1, MSG_NOSIGNAL) != 1 || poll(&p, 1, START_WAIT_MS) <= 0 ||
	    read(b->report, &e, sizeof(e)) != (ssize_t)sizeof(e))
		return diag_set(d, -EPIPE, "the process that watches over the run ended early");
	if (e)
		return diag_set(d, -e, "the guest cannot be executed: %s", strerror(e));
	b->started = true;
	*in = b->in; /* moved */
	b->in = -1;
	*out = b->out; /* moved */
	b->out = -1;
	return 0;
}

static int
local_cancel(struct backend *b)
{
	shut(&b->go); /* the watchdog sees end of file and ends the tree */
	return 0;
}

static void
read_log(struct backend *b)
{
	char buf[sizeof(b->said)];
	ssize_t n;

	/* The first bytes: the guest writes there only before it can speak in frames. */
	while (b->log >= 0 && (n = read(b->log, buf, sizeof(buf) - 1)) > 0)
		if (!b->said[0]) {
			memcpy(b->said, buf, (size_t)n);
			b->said[n] = '\0';
		}
}

/* The watchdog's own word is that nothing is left; without it we know nothing. */
static int
end_watchdog(struct backend *b, const char **why)
{
	int r, status = 0;

	shut(&b->go);
	r = process_wait(b->pidfd, END_WAIT_MS);
	if (r < 0) {
		*why = "the processes of the run do not end";
		return r;
	}
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	b->pid = 0;
	shut(&b->pidfd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	*why = WIFEXITED(status) ? "processes or files of the run are left"
				 : "the process that watched over the run was killed";
	return -EIO;
}

static int
local_destroy(struct backend *b, struct cleanup *c)
{
	const char *why = "";
	int r = b->done.reason[0] && b->pid == 0 && b->done.attempts ? -EIO : 0;

	if (b->pid) {
		b->done.attempts++;
		r = end_watchdog(b, &why);
	} else if (r == 0 && b->lease.folder[0] && b->leased) {
		r = remove_tree(b->lease.folder); /* made, but no watchdog yet */
		why = "working folder";
	}
	shut(&b->go);
	shut(&b->report);
	shut(&b->in);
	shut(&b->out);
	read_log(b);
	if (r == 0 && b->leased && (r = lease_drop(&b->lease)) == 0)
		b->leased = false;
	b->done.confirmed = r == 0;
	b->done.expires_s = r == 0 ? 0 : b->lease.expires_s;
	if (r == 0)
		b->done.reason[0] = '\0';
	else if (why[0])
		snprintf(b->done.reason, sizeof(b->done.reason), "%s (%s)", why, strerror(-r));
	*c = b->done;
	return r;
}

static int
local_describe(struct backend *b, struct facts *f)
{
	memset(f, 0, sizeof(*f));
	node_digest_finish(&b->node, b->pid ? 0 : NODE_DIGEST_WAIT_MS);
	snprintf(f->sandbox_id, sizeof(f->sandbox_id), "%s", b->lease.id);
	snprintf(f->mode, sizeof(f->mode), "direct");
	snprintf(f->node_path, sizeof(f->node_path), "%s", b->node.path);
	snprintf(f->node_inside, sizeof(f->node_inside), "%s", b->node.path);
	snprintf(f->node_version, sizeof(f->node_version), "%s", b->node.version);
	snprintf(f->node_sha256, sizeof(f->node_sha256), "%s", b->node.sha256);
	snprintf(f->limits_enforced, sizeof(f->limits_enforced),
		 "files by rlimit in the guest; disk, pids, memory and cpu not enforced");
	snprintf(f->guest_stderr, sizeof(f->guest_stderr), "%s", b->said);
	f->workflow_uid = f->twins_uid = (uint32_t)geteuid();
	f->workflow_gid = f->twins_gid = (uint32_t)getegid();
	f->postgres_uid = f->postgres_gid = f->workflow_uid;
	if (snprintf(f->app_dir, sizeof(f->app_dir), "%s/app", b->lease.folder) >= (int)sizeof(f->app_dir) ||
	    snprintf(f->home_dir, sizeof(f->home_dir), "%s/home", b->lease.folder) >= (int)sizeof(f->home_dir))
		return -ENAMETOOLONG;
	return 0;
}

/* A lease is a text that a hand may have changed: only a folder of the name that this backend gives is removed. */
static int
reap_folder(const struct lease *l)
{
	const char *base = strrchr(l->folder, '/');
	struct stat st;

	if (!l->folder[0])
		return 0;
	if (l->folder[0] != '/' || strncmp(base + 1, "agenttwin-", 10) != 0 || strcmp(base + 11, l->run_id) != 0)
		return -EPERM;
	if (lstat(l->folder, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return remove_tree(l->folder);
}

static int
local_reap(const struct lease *l, struct cleanup *c)
{
	pid_t pid = (pid_t)strtol(l->id, NULL, 10);
	int fd, r = 0;

	memset(c, 0, sizeof(*c));
	c->attempts = 1;
	if (lease_is_alive(l) && (fd = process_open(pid, l->start_time)) >= 0) {
		/* Its host is gone, so it is ending everything itself; only if it cannot, we do. */
		r = process_wait(fd, END_WAIT_MS);
		if (r < 0 && (r = local_watch_end_tree(pid, END_WAIT_MS)) == 0)
			r = process_end(fd, END_WAIT_MS);
		close(fd);
	}
	if (r == 0)
		r = reap_folder(l);
	if (r == 0)
		r = lease_drop(l);
	c->confirmed = r == 0;
	if (r < 0) {
		c->expires_s = l->expires_s;
		snprintf(c->reason, sizeof(c->reason), "process %s, folder %.160s: %s", l->id, l->folder, strerror(-r));
	}
	return r;
}

static int
local_doctor(struct doctor *d)
{
	struct doctor_item *i = &d->items[d->items_len];
	struct diag diag = { 0 };
	struct node n;
	int r;

	if (d->items_len == DOCTOR_ITEMS_MAX)
		return -ENOSPC;
	d->items_len++;
	memset(i, 0, sizeof(*i));
	r = node_find(NULL, &n, &diag);
	i->ok = r == 0;
	snprintf(i->what, sizeof(i->what), "Node.js");
	if (r == 0) {
		if (snprintf(i->found, sizeof(i->found), "%s, version %s", n.path, n.version) < 0)
			return -EIO;
		return 0;
	}
	snprintf(i->found, sizeof(i->found), "%.255s", diag.problem);
	snprintf(i->fix, sizeof(i->fix), "%s", diag.fix);
	return -ENOTSUP;
}

static void
local_release(struct backend *b)
{
	if (!b)
		return;
	node_wipe(&b->node);
	shut(&b->pidfd);
	shut(&b->go);
	shut(&b->report);
	shut(&b->in);
	shut(&b->out);
	shut(&b->log);
	free(b);
}

const struct backend_ops backend_local = {
	.name = "local",
	.flags = BACKEND_DUPLEX,
	.control_port = 0,
	.open = local_open,
	.start = local_start,
	.cancel = local_cancel,
	.destroy = local_destroy,
	.describe = local_describe,
	.reap = local_reap,
	.doctor = local_doctor,
	.release = local_release,
};
