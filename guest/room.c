/* SPDX-License-Identifier: GPL-2.0-or-later
 * room.c - see room.h.
 *
 * Runs as: root, in the monitor and in its children before they drop.  Input: none but the kernel's answers.
 * A hostile sender gains nothing: nothing here depends on what anyone sent. */
#include "guest/room.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/drop.h"
#include "guest/spawn.h"
#include "proto/plan.h"

int
room_hide(bool proc)
{
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	if (proc && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	/* Sockets with names, the guest's own places, whatever a root daemon keeps there. */
	if (mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k") < 0)
		return -errno;
	return 0;
}

/* Process 1 of the room: waits for orphans until it is killed.  Rehearses what the workflow's child will do, so that a
 * kernel which refuses is known before anything depends on it. */
static _Noreturn void
init_main(int ready)
{
	sigset_t children;
	int err;

	spawn_signals_reset();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		err = errno;
	else
		err = -room_hide(true);
	/* The workflow sees this process: root by its number, so that no signal reaches it, and nothing else. */
	if (err == 0)
		err = -drop_capabilities();
	if (err == 0)
		err = -drop_no_new_privs();
	(void)!write(ready, &err, sizeof(err));
	if (err != 0)
		_exit(1);
	(void)syscall(SYS_close_range, 0u, ~0u, 0u);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &children, NULL);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		(void)sigwaitinfo(&children, NULL);
	}
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
open_own(struct room *r)
{
	r->own_net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	r->own_pid = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	r->own_ipc = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
	return r->own_net < 0 || r->own_pid < 0 || r->own_ipc < 0 ? -errno : 0;
}

/* Starts process 1 of a new process namespace and waits for its rehearsal.  *step names what was refused. */
static int
start_init(struct room *r, const char **step)
{
	int ready[2], err = 0;
	ssize_t n;

	*step = "a pid namespace";
	if (unshare(CLONE_NEWPID) < 0)
		return -errno;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	r->init = fork();
	if (r->init < 0) {
		err = errno;
		close(ready[0]);
		close(ready[1]);
		return -err;
	}
	if (r->init == 0) {
		close(ready[0]);
		init_main(ready[1]);
	}
	close(ready[1]);
	*step = "a mount namespace with its own /proc and /run";
	n = read(ready[0], &err, sizeof(err));
	close(ready[0]);
	if (n != sizeof(err))
		return -EPROTO;
	if (err != 0)
		return -err;
	r->pid = open("/proc/self/ns/pid_for_children", O_RDONLY | O_CLOEXEC);
	return r->pid < 0 ? -errno : 0;
}

/* Back to the start.  What cannot be undone is fatal for the caller. */
static int
undo(struct room *r)
{
	int e = 0;

	if (r->init > 0) {
		(void)kill(r->init, SIGKILL);
		while (waitpid(r->init, NULL, 0) < 0 && errno == EINTR)
			;
		r->init = 0;
	}
	if ((r->own_pid >= 0 && setns(r->own_pid, CLONE_NEWPID) < 0 && errno != EPERM) ||
	    (r->net >= 0 && setns(r->own_net, CLONE_NEWNET) < 0))
		e = -errno;
	close_fd(&r->net);
	close_fd(&r->pid);
	return e;
}

int
room_make(struct room *r)
{
	const char *step = "/proc/self/ns";
	int e;

	*r = (struct room){ .own_net = -1, .own_pid = -1, .own_ipc = -1, .net = -1, .pid = -1 };
	e = open_own(r);
	if (e == 0)
		e = start_init(r, &step);
	if (e == 0 && setns(r->own_pid, CLONE_NEWPID) < 0)
		return -errno;
	if (e == 0) {
		step = "an ipc and a network namespace";
		if (unshare(CLONE_NEWIPC | CLONE_NEWNET) < 0)
			e = -errno;
		else if ((r->net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
			return -errno;
	}
	if (e == 0) {
		r->exists = true;
		return 0;
	}
	snprintf(r->reason, sizeof(r->reason), "the kernel refuses %s: %s", step, errno_name(-e));
	return undo(r);
}

int
room_enter_processes(const struct room *r)
{
	return r->exists && setns(r->pid, CLONE_NEWPID) < 0 ? -errno : 0;
}

int
room_leave_processes(const struct room *r)
{
	return r->exists && setns(r->own_pid, CLONE_NEWPID) < 0 ? -errno : 0;
}
