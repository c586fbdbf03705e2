/* SPDX-License-Identifier: GPL-2.0-or-later
 * jq_jail.c - see jq_run.h: what a process gives up before it evaluates an expression.  The document holds what the workflow
 * wrote, and libjq is a large parser: should it be taken over, there is nothing here to take. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "host/jq_run.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "unknown machine"
#endif
#define ALLOWED(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Computing: memory, time, writing to what is open.  All else is EPERM, which libjq can live with. */
static const struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), /* of x32 none is equal */
	ALLOWED(__NR_write),
	ALLOWED(__NR_pread64),
	ALLOWED(__NR_mmap),
	ALLOWED(__NR_munmap),
	ALLOWED(__NR_mremap),
	ALLOWED(__NR_madvise),
	ALLOWED(__NR_mprotect),
	ALLOWED(__NR_brk),
	ALLOWED(__NR_prlimit64),
	ALLOWED(__NR_setitimer),
	ALLOWED(__NR_clock_gettime),
	ALLOWED(__NR_gettimeofday),
	ALLOWED(__NR_getrandom),
	ALLOWED(__NR_futex),
	ALLOWED(__NR_sched_yield),
	ALLOWED(__NR_rt_sigreturn),
	ALLOWED(__NR_rt_sigprocmask),
	ALLOWED(__NR_exit),
	ALLOWED(__NR_exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

static int
descriptors(int *out, int *statm)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), proc = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	int pipe_fd = fcntl(*out, F_DUPFD_CLOEXEC, 10), i;

	if (null < 0 || pipe_fd < 0)
		return -errno;
	if (proc >= 0)
		proc = fcntl(proc, F_DUPFD_CLOEXEC, 10);
	for (i = 0; i < 3; i++) /* what libjq says before it aborts is for nobody */
		if (dup2(null, i) < 0)
			return -errno;
	if (dup2(pipe_fd, 3) < 0 || (proc >= 0 && dup2(proc, 4) < 0))
		return -errno;
	if (syscall(SYS_close_range, proc >= 0 ? 5u : 4u, ~0u, 0u) < 0) { /* older than Linux 5.9 */
		for (i = proc >= 0 ? 5 : 4; i < 65536; i++)
			close(i);
	}
	*out = 3;
	*statm = proc >= 0 ? 4 : -1;
	return 0;
}

static void
signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT }; /* of the terminal: the host decides */
	sigset_t none;
	size_t i;
	int n;

	for (n = 1; n < 32; n++)
		(void)signal(n, SIG_DFL);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
limit(enum __rlimit_resource which, rlim_t n)
{
	struct rlimit l = { n, n };

	return setrlimit(which, &l) < 0 ? -errno : 0;
}

int
jq_jail_enter(int *out, int *statm)
{
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]) };
	static char *none[] = { NULL };
	struct itimerval off = { 0 };
	int r;

	program.filter = (struct sock_filter *)(uintptr_t)filter; /* the kernel copies it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setitimer(ITIMER_REAL, &off, NULL);
	signals();
	environ = none; /* not NULL: libjq reads it */
	if ((r = descriptors(out, statm)) < 0 || (r = limit(RLIMIT_CORE, 0)) < 0 || (r = limit(RLIMIT_NOFILE, 0)) < 0)
		return r;
	(void)limit(RLIMIT_NPROC, 0);
	if (chdir("/") < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Where the kernel has no filters, no descriptor can be had anyway. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 && errno != EINVAL && errno != ENOSYS)
		return -errno;
	return 0;
}

void
jq_jail_memory(int statm, uint64_t more)
{
	struct rlimit l;
	char text[64] = "";
	uint64_t pages = 0;

	if (statm >= 0 && pread(statm, text, sizeof(text) - 1, 0) > 0)
		pages = strtoull(text, NULL, 10);
	if (getrlimit(RLIMIT_AS, &l) < 0)
		return;
	l.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + more;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_AS, &l);
}

void
jq_jail_time(uint32_t ms)
{
	struct itimerval t = { .it_value = { .tv_sec = (time_t)(ms / 1000),
					     .tv_usec = (suseconds_t)(ms % 1000) * 1000 } };

	(void)setitimer(ITIMER_PROF, &t, NULL);
}
