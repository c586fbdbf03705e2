/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PID 1 of the sandbox: this program's own code, in a copy of its memory.  It holds no right over this machine from the moment
 * it gave up the caller's identity, and it is not dumpable, so the sandbox's root cannot read what the copy holds.  It
 * listens to one pipe (the host's) and to its children; the guest never gets a descriptor of it but its standard streams.
 *
 * It is the watchdog: whatever ends it (guest gone, host gone, time over, SIGKILL) ends the pid namespace with it. */
#include "host/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/process.h"

#define KEPT 7u
#define KEYCTL_JOIN_SESSION 1

static _Noreturn void
give_up(const struct ns_init *in, const struct ns_report *fail)
{
	/* Nobody may be there to read it: the exit says enough then. */
	if (write(in->report, fail, sizeof(*fail)) < 0)
		_exit(2);
	_exit(1);
}

static void
say(const struct ns_init *in, uint8_t kind, int32_t err)
{
	struct ns_report r = { .kind = kind, .err = err };

	if (write(in->report, &r, sizeof(r)) != (ssize_t)sizeof(r))
		_exit(2);
}

static int
close_between(unsigned first, unsigned last)
{
	if (first > last)
		return 0;
	if (syscall(SYS_close_range, first, last, 0u) == 0)
		return 0;
	if (last > 65536) /* kernel before 5.9 */
		last = 65536;
	for (; first <= last; first++)
		close((int)first);
	return 0;
}

/* Closes everything but the descriptors of *in: above all the write ends of other runs' pipes, whose end of file tells
 * their inits that the host is gone. */
static int
close_others(struct ns_init *in)
{
	int *const kept[KEPT] = { &in->go, &in->report, &in->guest, &in->in, &in->out, &in->log, &in->lock };
	int sorted[KEPT], t, fd;
	unsigned i, j, next = 0, n = 0;

	for (i = 0; i < KEPT; i++) {
		if (*kept[i] < 0)
			continue;
		if (*kept[i] < 3) { /* a host started without standard streams */
			fd = fcntl(*kept[i], F_DUPFD_CLOEXEC, 3);
			if (fd < 0)
				return -errno;
			*kept[i] = fd;
		}
		for (j = n++; j > 0 && sorted[j - 1] > *kept[i]; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = *kept[i];
	}
	for (i = 0; i < n; i++) {
		close_between(next, (unsigned)sorted[i] - 1);
		next = (unsigned)sorted[i] + 1;
	}
	close_between(next, ~0u);
	/* The three standard ones exist from here on, so that no pipe gets their numbers. */
	for (t = 0; t < 3; t++)
		if ((fd = open("/dev/null", O_RDWR)) != t)
			return fd < 0 ? -errno : -EBADF;
	return 0;
}

static void
default_signals(void)
{
	struct sigaction sa;
	sigset_t all;
	int s;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	for (s = 1; s < NSIG; s++)
		sigaction(s, &sa, NULL); /* KILL, STOP and the C library's own refuse: as they should */
}

/* The sandbox may read /proc/1/cmdline: the host's arguments (paths, options) and environment are overwritten in this copy
 * of its memory.  Where they lie: fields 48 to 51 of /proc/self/stat. */
static int
forget_arguments(void)
{
	static const char name[] = "agenttwin-init";
	unsigned long at[4] = { 0 };
	char text[1024], *field;
	int i;

	if (process_read("/proc/self/stat", text, sizeof(text)) < 0 || !(field = strrchr(text, ')')))
		return -EIO;
	for (i = 2; i < 48 && field; i++)
		field = strchr(field + 1, ' ');
	for (i = 0; i < 4 && field; i++) {
		at[i] = strtoul(field, &field, 10);
		if (i % 2 == 1 && (at[i - 1] == 0 || at[i] < at[i - 1] || at[i] - at[i - 1] > 8u << 20))
			return -EIO;
	}
	if (!field)
		return -EIO;
	memset((void *)at[0], 0, at[1] - at[0]);
	memset((void *)at[2], 0, at[3] - at[2]);
	if (at[1] - at[0] >= sizeof(name))
		memcpy((void *)at[0], name, sizeof(name));
	return 0;
}

/* Blocks until the host wrote this byte.  Ends the process when the host is gone or the time is over. */
static void
await(const struct ns_init *in, char wanted)
{
	struct pollfd p = { .fd = in->go, .events = POLLIN };
	uint64_t now;
	char got;

	for (;;) {
		now = process_clock_ms();
		if (now >= in->expires_ms)
			_exit(3);
		if (poll(&p, 1, in->expires_ms - now > 60000 ? 60000 : (int)(in->expires_ms - now)) <= 0)
			continue;
		if (read(in->go, &got, 1) != 1 || got != wanted)
			_exit(4);
		return;
	}
}

/* Root of the sandbox, nobody (or the caller) outside; no group of the caller; dies with the host. */
static int
become_root(struct ns_report *fail)
{
	gid_t groups[1];

	if (setresgid(0, 0, 0) < 0)
		return ns_fail(fail, "setresgid", "0", errno);
	if (setgroups(0, NULL) < 0)
		return ns_fail(fail, "setgroups", "none", errno);
	if (setresuid(0, 0, 0) < 0)
		return ns_fail(fail, "setresuid", "0", errno);
	if (getgroups(1, groups) != 0)
		return ns_fail(fail, "setgroups", "groups of the caller remain", EPERM);
	if (setsid() < 0 && errno != EPERM)
		return ns_fail(fail, "setsid", "", errno);
	umask(022);
	/* The caller's keys do not come along.  Refused where there are no keyrings: nothing to bring along then. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION, NULL);
	/* After the change of ids, which clears it.  The pipe is asked again by every wait, so a host that died before this line is
	 * noticed too. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return ns_fail(fail, "pdeathsig", "", errno);
	return 0;
}

/* The process that becomes the guest, as the init sees it. */
struct embryo {
	pid_t pid;
	int go, said; /* write: one byte a step; read: struct ns_report */
};

/* What it does as our code, in its own namespaces: go on when its ids are there, name the machine, show its own /proc and /sys. */
static int
guest_prepare(const struct ns_init *in, int ids, struct ns_report *fail)
{
	char go;

	if (read(ids, &go, 1) != 1)
		return ns_fail(fail, "guest.ids", "", EPIPE);
	if (getuid() != 0 || getgid() != 0 || getgroups(0, NULL) != 0)
		return ns_fail(fail, "guest.ids", "not root of its namespace", EPERM);
	if (sethostname("agenttwin", 9) < 0)
		return ns_fail(fail, "guest.hostname", "", errno);
	/* In the same user namespace as the guest, but with a copy of the host's memory. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return ns_fail(fail, "guest.dumpable", "", errno);
	/* The pid namespace is one that the guest's own user namespace owns: without that right it could not enter and leave the room
	 * that it makes for the workflow. */
	if (ns_rootfs_views(fail) < 0)
		return -1;
	if (dup2(in->in, 0) < 0 || dup2(in->out, 1) < 0 || dup2(in->log, 2) < 0)
		return ns_fail(fail, "guest.streams", "", errno);
	/* All ours are CLOEXEC already; this is for the one that a later change might forget. */
	if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOEXEC */) < 0 && errno != ENOSYS && errno != EINVAL)
		return ns_fail(fail, "guest.streams", "", errno);
	return 0;
}

static _Noreturn void
guest_exec(const struct ns_init *in, int result)
{
	static char arg0[] = "agenttwin-guest", arg1[] = "run";
	char *argv[] = { arg0, arg1, NULL }, *envp[] = { NULL };
	struct ns_report fail = { 0 };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() >= 0)
		syscall(SYS_execveat, in->guest, "", argv, envp, AT_EMPTY_PATH);
	ns_fail(&fail, "guest.exec", "agenttwin-guest", errno);
	if (write(result, &fail, sizeof(fail)) < 0)
		_exit(126);
	_exit(127);
}

/* PID 1 of the guest's pid namespace, so that the guest is an ordinary process for signals: reaps, and ends with it. */
static _Noreturn void
guest_parent(pid_t guest)
{
	int status, fd;
	pid_t pid;

	close_between(0, ~0u);
	for (fd = 0; fd < 3; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			_exit(1);
	for (;;) {
		pid = waitpid(-1, &status, 0);
		if (pid == guest || (pid < 0 && errno == ECHILD))
			_exit(0);
	}
}

static _Noreturn void
guest_child(const struct ns_init *in, int ids, int result)
{
	struct ns_report fail = { 0 };
	pid_t pid;
	char go;

	if (guest_prepare(in, ids, &fail) == 0) {
		fail.kind = NS_READY;
		if (write(result, &fail, sizeof(fail)) != (ssize_t)sizeof(fail) || read(ids, &go, 1) != 1)
			_exit(126); /* the init is gone, or does not want it any more */
		pid = fork();
		if (pid == 0)
			guest_exec(in, result);
		if (pid > 0)
			guest_parent(pid);
		ns_fail(&fail, "guest.fork", "", errno);
	}
	if (write(result, &fail, sizeof(fail)) < 0)
		_exit(126);
	_exit(127);
}

/* Gives the child its ids.  Their file in /proc belongs to us only while we, and so the copy, are dumpable; nothing of the
 * sandbox runs before the child is let go. */
static int
release_guest(const struct ns_init *in, const struct embryo *g, struct ns_report *fail)
{
	int r;

	if ((r = ns_ids_repeat(in->ids, g->pid)) < 0)
		return ns_fail(fail, "guest.ids", "uid_map", -r);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || write(g->go, "i", 1) != 1)
		return ns_fail(fail, "guest.ids", "", errno);
	return 0;
}

/* The next word of the child: 0 prepared, 1 end of file (it runs another program), -errno what failed. */
static int
hear_guest(const struct embryo *g, struct ns_report *fail)
{
	struct ns_report said;
	ssize_t n;

	do
		n = read(g->said, &said, sizeof(said));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 1;
	if (n != (ssize_t)sizeof(said))
		return ns_fail(fail, "guest.start", "", EIO);
	if (said.kind == NS_READY)
		return 0;
	*fail = said;
	return -EIO;
}

/* Everything but the last step, so that what this machine refuses is known before anybody relies on it. */
static int
make_guest(struct ns_init *in, struct embryo *g, struct ns_report *fail)
{
	const unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
				    CLONE_NEWUTS | CLONE_NEWCGROUP | SIGCHLD;
	int result[2], ids[2], r;

	if (pipe2(result, O_CLOEXEC) < 0 || pipe2(ids, O_CLOEXEC) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return ns_fail(fail, "guest.pipe", "", errno);
	g->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (g->pid < 0)
		return ns_fail(fail, "guest.clone", "second set of namespaces", errno);
	if (g->pid == 0) {
		close(ids[1]);
		guest_child(in, ids[0], result[1]);
	}
	close(ids[0]);
	close(result[1]);
	g->go = ids[1];
	g->said = result[0];
	if ((r = release_guest(in, g, fail)) < 0)
		return r;
	r = hear_guest(g, fail);
	return r > 0 ? ns_fail(fail, "guest.start", "it ended early", EIO) : r;
}

/* Returns once the guest runs its own first instruction. */
static int
start_guest(struct ns_init *in, struct embryo *g, struct ns_report *fail)
{
	int r;

	if (write(g->go, "x", 1) != 1)
		return ns_fail(fail, "guest.start", "", errno);
	close(g->go);
	r = hear_guest(g, fail);
	close(g->said);
	if (r <= 0)
		return r < 0 ? r : ns_fail(fail, "guest.start", "", EPROTO);
	/* Their ends belong to the guest alone now: the host must see end of file when it dies. */
	close(in->in);
	close(in->out);
	close(in->log);
	close(in->guest);
	in->in = in->out = in->log = in->guest = -1;
	return 0;
}

/* Reaps whatever ended.  True when the guest was among them. */
static bool
reap(pid_t guest, int *status)
{
	bool ended = false;
	pid_t pid;
	int s;

	while ((pid = waitpid(-1, &s, WNOHANG)) > 0)
		if (pid == guest) {
			*status = s;
			ended = true;
		}
	return ended;
}

/* Until the guest ends, the host goes away, or the time is over. */
static _Noreturn void
watch(struct ns_init *in, pid_t guest, int children)
{
	struct pollfd p[2] = { { .fd = in->go, .events = POLLIN }, { .fd = children, .events = POLLIN } };
	struct signalfd_siginfo si;
	uint64_t now;
	int status = 0;

	for (;;) {
		now = process_clock_ms();
		if (now >= in->expires_ms)
			_exit(3);
		if (poll(p, 2, in->expires_ms - now > 60000 ? 60000 : (int)(in->expires_ms - now)) <= 0)
			continue;
		if (p[0].revents) /* nothing is ever sent after the start: this is the end of file */
			_exit(4);
		if (p[1].revents & POLLIN && read(children, &si, sizeof(si)) > 0 && reap(guest, &status)) {
			say(in, NS_ENDED, status);
			_exit(0);
		}
	}
}

/* see ns.h */
_Noreturn void
ns_init_main(struct ns_init *in)
{
	struct ns_report fail = { 0 };
	sigset_t child;
	struct embryo guest = { .pid = -1, .go = -1, .said = -1 };
	int r, children;

	default_signals();
	/* newuidmap looks at who owns /proc/PID: the copy of a host that made itself non-dumpable would look like root's. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || (r = close_others(in)) < 0)
		_exit(5);
	if ((r = forget_arguments()) < 0) {
		ns_fail(&fail, "arguments", "/proc/self/stat", -r);
		give_up(in, &fail);
	}
	say(in, NS_HELLO, 0);
	await(in, 'm');
	if ((r = ns_rootfs_open(&in->fs, &fail)) < 0 || (r = become_root(&fail)) < 0)
		give_up(in, &fail);
	if (sethostname("agenttwin", 9) < 0) {
		ns_fail(&fail, "hostname", "agenttwin", errno);
		give_up(in, &fail);
	}
	if ((r = ns_rootfs_build(&in->fs, &fail)) < 0)
		give_up(in, &fail);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0) {
		ns_fail(&fail, "signalfd", "", errno);
		give_up(in, &fail);
	}
	prctl(PR_SET_NAME, "agenttwin-init", 0, 0, 0);
	if (make_guest(in, &guest, &fail) < 0)
		give_up(in, &fail);
	say(in, NS_READY, 0);
	await(in, 's');
	if (start_guest(in, &guest, &fail) < 0)
		give_up(in, &fail);
	say(in, NS_STARTED, 0);
	watch(in, guest.pid, children);
}
