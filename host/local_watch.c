/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs as the caller, like everything on the local backend; it is no sandbox.  As a subreaper it stays the ancestor of whatever
 * the workflow starts, however often that forks, so the tree can be found without touching other processes of the caller. */
#include "host/local_watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/process.h"
#include "host/remove.h"

#define TERM_WAIT_MS 1500
#define TREE_WAIT_MS 2500
#define SEEN_MAX 65536u

struct seen {
	pid_t pid, parent;
	uint64_t start;
	bool below;
};

/* All processes with their parents.  The count; more than SEEN_MAX are seen in the next round. */
static size_t
look(struct seen *all)
{
	char path[300], text[512], *at;
	struct dirent *e;
	size_t n = 0;
	DIR *dir = opendir("/proc");

	while (dir && n < SEEN_MAX && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (process_read(path, text, sizeof(text)) < 0 || !(at = strrchr(text, ')')) || strlen(at) < 5)
			continue;
		all[n].pid = (pid_t)strtol(e->d_name, NULL, 10);
		all[n].parent = (pid_t)strtol(at + 4, NULL, 10);
		all[n].below = false;
		if (at[2] != 'Z' && process_start_time(all[n].pid, &all[n].start) == 0)
			n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Marks everything below root; how many are new to be ended. */
static size_t
mark(struct seen *all, size_t n, pid_t root)
{
	size_t i, k, marked = 0;
	bool more = true;

	while (more) {
		more = false;
		for (i = 0; i < n; i++) {
			if (all[i].below || all[i].pid == root)
				continue;
			for (k = 0; k < n && !(all[k].pid == all[i].parent && all[k].below); k++)
				continue;
			if (all[i].parent == root || k < n) {
				all[i].below = more = true;
				marked++;
			}
		}
	}
	return marked;
}

/* see local_watch.h */
int
local_watch_end_tree(pid_t root, int timeout_ms)
{
	uint64_t until = process_clock_ms() + (uint64_t)timeout_ms;
	struct seen *all = calloc(SEEN_MAX, sizeof(*all));
	size_t n, i, marked = 1;
	int fd, r = 0;

	if (!all)
		return -ENOMEM;
	while (marked > 0 && r == 0) {
		n = look(all);
		marked = mark(all, n, root);
		for (i = 0; i < n; i++) {
			if (!all[i].below || (fd = process_open(all[i].pid, all[i].start)) < 0)
				continue;
			if (process_signal(fd, SIGKILL) < 0 && r == 0)
				r = 0; /* gone meanwhile, or it is seen again in the next round */
			close(fd);
		}
		if (root == getpid())
			while (waitpid(-1, NULL, WNOHANG) > 0)
				continue;
		if (marked > 0 && process_clock_ms() >= until)
			r = -ETIMEDOUT;
		if (marked > 0 && r == 0)
			poll(NULL, 0, 5);
	}
	free(all);
	return r;
}

static _Noreturn void
guest_child(const struct local_watch *w, int err_fd)
{
	static char arg0[] = "agenttwin-guest", arg1[] = "run";
	char *argv[] = { arg0, arg1, NULL }, *envp[] = { NULL };
	sigset_t none;
	int e;

	/* SIGTERM: should the watchdog be killed, the guest still has its tree to end. */
	if (dup2(w->in, 0) < 0 || dup2(w->out, 1) < 0 || dup2(w->log, 2) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		goto failed;
	if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOEXEC */) < 0 && errno != ENOSYS && errno != EINVAL)
		goto failed;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, w->guest, "", argv, envp, AT_EMPTY_PATH);
failed:
	e = errno;
	if (write(err_fd, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

/* The guest's pid, or -errno.  Reports either. */
static pid_t
start_guest(struct local_watch *w)
{
	int pipes[2] = { -1, -1 }, e = 0;
	pid_t pid = -1;
	ssize_t n;

	if (pipe2(pipes, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		e = errno;
	if (pid == 0)
		guest_child(w, pipes[1]);
	close(pipes[1]);
	if (pid > 0) {
		do
			n = read(pipes[0], &e, sizeof(e));
		while (n < 0 && errno == EINTR);
		if (n == 0)
			e = 0;
	}
	close(pipes[0]);
	close(w->in);
	close(w->out);
	close(w->log);
	close(w->guest);
	if (write(w->report, &e, sizeof(e)) != (ssize_t)sizeof(e))
		return -EPIPE;
	return e ? -e : pid;
}

static int
time_left(const struct local_watch *w)
{
	uint64_t now = process_clock_ms();

	if (now >= w->expires_ms)
		return 0;
	return w->expires_ms - now > 60000 ? 60000 : (int)(w->expires_ms - now);
}

/* True when the guest is among those that ended. */
static bool
reap(pid_t guest)
{
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		ended |= pid == guest;
	return ended;
}

/* Returns when there is something to end: guest gone (0), or still there (its pid). */
static pid_t
watch(struct local_watch *w, int children)
{
	struct pollfd p[2] = { { .fd = w->go, .events = POLLIN }, { .fd = children, .events = POLLIN } };
	struct signalfd_siginfo si;
	pid_t guest = 0;
	char c;
	int t;

	while ((t = time_left(w)) > 0) {
		if (poll(p, 2, t) <= 0)
			continue;
		if (p[1].revents & POLLIN && read(children, &si, sizeof(si)) > 0 && reap(guest))
			return 0;
		if (!p[0].revents)
			continue;
		if (guest || read(w->go, &c, 1) != 1 || c != 's')
			return guest;
		guest = start_guest(w);
		if (guest < 0)
			return 0;
	}
	return guest;
}

/* see local_watch.h */
_Noreturn void
local_watch_main(struct local_watch *w)
{
	struct pollfd p;
	sigset_t child;
	uint64_t until;
	pid_t guest;

	prctl(PR_SET_NAME, "agenttwin-watch", 0, 0, 0);
	if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		_exit(1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	p.fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	p.events = POLLIN;
	if (p.fd < 0)
		_exit(1);
	guest = watch(w, p.fd);
	if (guest > 0) {
		kill(guest, SIGTERM); /* our own unreaped child */
		for (until = process_clock_ms() + TERM_WAIT_MS; process_clock_ms() < until;) {
			struct signalfd_siginfo si;

			if (poll(&p, 1, 20) > 0 && read(p.fd, &si, sizeof(si)) < 0)
				continue;
			if (reap(guest))
				break;
		}
	}
	/* Never given up: whoever outlived us would have no ancestor left by which reap could find it.  The host waits only as long as
	 * it wants to, and says that cleanup is not confirmed. */
	while (local_watch_end_tree(getpid(), TREE_WAIT_MS) < 0)
		poll(NULL, 0, 20);
	_exit(remove_tree(w->folder) == 0 ? 0 : 1);
}
