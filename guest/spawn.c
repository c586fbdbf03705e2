/* SPDX-License-Identifier: GPL-2.0-or-later
 * spawn.c - see spawn.h.
 *
 * Runs as: root until drop_identity, in a forked child.  Input: argv, environment and numbers of the plan.
 * A hostile sender gains nothing: every step is checked, the first that fails ends the child before the program's first
 * instruction, and strings are only handed to execve after the identity is gone. */
#include "guest/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/drop.h"
#include "guest/room.h"
#include "proto/plan.h"

#define ERROR_FD 3          /* where the child's report pipe lies; closed by exec */
#define SPAWN_WAIT_MS 20000 /* longer than any exec: a child that hangs before it is killed */
#define BUSY_TRIES 10       /* ETXTBSY: someone still has the program open for writing */

void
spawn_signals_reset(void)
{
	sigset_t none;

	for (int s = 1; s < 65; s++)
		if (s != SIGKILL && s != SIGSTOP)
			(void)signal(s, SIG_DFL); /* the C library keeps two for itself and says EINVAL */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
limit(int what, uint64_t want)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return -errno;
	if (l.rlim_max == RLIM_INFINITY || want < l.rlim_max)
		l.rlim_max = want;
	l.rlim_cur = l.rlim_max;
	return setrlimit(what, &l) < 0 ? -errno : 0;
}

int
spawn_limits(uint64_t file_bytes, uint32_t files, uint32_t processes)
{
	int r;

	r = limit(RLIMIT_CORE, 1);
	/* A caller with audio or realtime rights must not hand them on: such a program would keep the monitor from running. */
	if (r == 0)
		r = limit(RLIMIT_RTPRIO, 0);
	if (r == 0)
		r = limit(RLIMIT_NICE, 0);
	if (r == 0 && file_bytes)
		r = limit(RLIMIT_FSIZE, file_bytes);
	if (r == 0 && files)
		r = limit(RLIMIT_NOFILE, files);
	if (r == 0 && processes)
		r = limit(RLIMIT_NPROC, processes);
	return r;
}

static int
descriptors(const struct spawn_request *r, int *report)
{
	if (dup2(r->stdin_fd, 0) < 0 || dup2(r->stdout_fd, 1) < 0 || dup2(r->stderr_fd, 2) < 0)
		return -errno;
	if (*report == ERROR_FD) {
		if (fcntl(ERROR_FD, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	} else if (dup3(*report, ERROR_FD, O_CLOEXEC) < 0) {
		return -errno;
	}
	*report = ERROR_FD;
	return syscall(SYS_close_range, ERROR_FD + 1u, ~0u, 0u) < 0 ? -errno : 0;
}

void
spawn_oom_score(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, score, strlen(score));
	close(fd);
}

static int
execute_one(const char *path, const struct spawn_request *r)
{
	const struct timespec pause = { 0, 20000000 };

	for (int i = 0;; i++) {
		/* execve does not write to what it is given; its type is older than const. */
		union {
			const char *const *in;
			char *const *out;
		} argv = { r->argv }, envp = { r->envp };

		execve(path, argv.out, envp.out);
		if (errno != ETXTBSY || i >= BUSY_TRIES)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
}

static const char *
path_of(const char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* As execvpe, but without its fallback to a shell. */
static int
execute(const struct spawn_request *r)
{
	static char path[4096];
	const char *name = r->argv[0], *p = path_of(r->envp);
	size_t name_len = strlen(name);
	int err = -ENOENT, e;

	if (name_len == 0)
		return -ENOENT;
	if (strchr(name, '/'))
		return execute_one(name, r);
	for (;;) {
		size_t len = strcspn(p, ":");

		if (len < sizeof(path) && name_len < sizeof(path) - len - 2) {
			memcpy(path, p, len);
			if (len > 0)
				path[len++] = '/';
			memcpy(path + len, name, name_len + 1);
			e = execute_one(path, r);
			/* A folder that may not be searched says the same as a program that may not run: only that counts. */
			if (e == -EACCES) {
				if (access(path, F_OK) == 0)
					err = e;
			} else if (e != -ENOENT && e != -ENOTDIR && e != -ELOOP) {
				return e;
			}
		}
		p += strcspn(p, ":");
		if (*p++ == '\0')
			return err;
	}
}

static int
enter_folder(const struct spawn_request *r)
{
	if (chdir(r->root) < 0 || (r->cwd[0] != '\0' && chdir(r->cwd) < 0))
		return -errno;
	return 0;
}

/* Every step between fork and exec, in the order that the boundary needs.  Returns -errno with *stage, and
 * *report where the pipe lies then; or not at all. */
static int
become_workflow(const struct spawn_request *r, int *report, uint8_t *stage)
{
	int e;

	*stage = EXEC_SESSION;
	spawn_signals_reset();
	if (setsid() < 0)
		return -errno;
	*stage = EXEC_NAMESPACE;
	spawn_oom_score("1000"); /* before anything of ours, and before anything else on a machine that it shares */
	if (r->hide && (e = room_hide(true)) < 0)
		return e;
	*stage = EXEC_FDS;
	if ((e = descriptors(r, report)) < 0)
		return e;
	umask(022);
	*stage = EXEC_LIMITS;
	if ((e = spawn_limits(r->file_bytes, r->files, r->processes)) < 0)
		return e;
	*stage = EXEC_DROP;
	if (r->sandbox && (e = drop_identity(r->uid, r->gid)) < 0)
		return e;
	if ((e = drop_die_with_parent(ERROR_FD)) < 0)
		return e;
	if (r->sandbox && (e = drop_no_new_privs()) < 0)
		return e;
	*stage = EXEC_CWD;
	if ((e = enter_folder(r)) < 0)
		return e;
	*stage = EXEC_FILTER;
	if (r->sandbox && (e = filter_install(r->filter)) < 0)
		return e;
	*stage = EXEC_EXEC;
	return execute(r);
}

/* Waits for the child's report: end of file when exec closed the pipe.  0 it runs; 1 a report; -ETIMEDOUT. */
static int
report_wait(int fd, struct spawn_failure *f)
{
	uint8_t report[5];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int r;

	do
		r = poll(&p, 1, SPAWN_WAIT_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0) {
		*f = (struct spawn_failure){ EXEC_FORK, ETIMEDOUT };
		return -ETIMEDOUT;
	}
	do
		n = read(fd, report, sizeof(report));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n != sizeof(report)) {
		*f = (struct spawn_failure){ EXEC_FORK, EPROTO };
		return 1;
	}
	f->stage = report[0];
	memcpy(&f->err, report + 1, sizeof(f->err));
	return 1;
}

static void
report_failure(int fd, uint8_t stage, int e)
{
	uint8_t report[5];
	int err = -e;

	report[0] = stage;
	memcpy(report + 1, &err, sizeof(err));
	(void)!write(fd, report, sizeof(report));
}

int
spawn_workflow(const struct spawn_request *r, pid_t *pid, struct spawn_failure *f)
{
	int report[2], e;
	pid_t child;

	*f = (struct spawn_failure){ EXEC_FORK, 0 };
	if (pipe2(report, O_CLOEXEC) < 0) {
		f->err = errno;
		return -f->err;
	}
	child = fork();
	if (child < 0) {
		f->err = errno;
		close(report[0]);
		close(report[1]);
		return -f->err;
	}
	if (child == 0) {
		uint8_t stage = EXEC_FORK;

		close(report[0]);
		e = become_workflow(r, &report[1], &stage);
		report_failure(report[1], stage, e);
		_exit(127);
	}
	close(report[1]);
	e = report_wait(report[0], f);
	close(report[0]);
	if (e == 0) {
		*pid = child;
		return 0;
	}
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return f->err > 0 ? -f->err : -EPROTO;
}
