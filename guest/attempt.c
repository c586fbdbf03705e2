/* SPDX-License-Identifier: GPL-2.0-or-later
 * attempt.c - see attempt.h.
 *
 * Runs as: root up to enter(), the workflow's identity after it.  Input: none.
 * A hostile sender gains nothing: the child runs only the calls below and answers with numbers. */
#include "guest/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long
try_socket(int family, int type, int protocol)
{
	return socket(family, type | SOCK_CLOEXEC, protocol);
}
static long
try_vsock(void)
{
	return try_socket(40, SOCK_STREAM, 0);
}
static long
try_packet(void)
{
	return try_socket(17, SOCK_RAW, 0x0300);
}
static long
try_raw4(void)
{
	return try_socket(AF_INET, SOCK_RAW, 1);
}
static long
try_raw6(void)
{
	return try_socket(AF_INET6, SOCK_RAW, 58);
}
static long
try_mptcp(void)
{
	return try_socket(AF_INET, SOCK_STREAM, 262);
}
static long
try_netfilter(void)
{
	return try_socket(16, SOCK_RAW, 12);
}
static long
try_uring(void)
{
	char params[256] = { 0 };

	return syscall(425, 1u, params);
}
static long
try_userns(void)
{
	return unshare(CLONE_NEWUSER);
}
static long
try_netns(void)
{
	return unshare(CLONE_NEWNET);
}
static long
try_mount(void)
{
	return mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
}
static long
try_setuid(void)
{
	return setresuid(0, 0, 0);
}
static long
try_setgid(void)
{
	return setresgid(0, 0, 0);
}
static long
try_ptrace(void)
{
	return ptrace(PTRACE_ATTACH, getppid() > 0 ? getppid() : 1, NULL, NULL);
}
static long
try_bpf(void)
{
	char attr[128] = { 0 };

	return syscall(SYS_bpf, 0, attr, sizeof(attr));
}

static const struct {
	const char *what;
	long (*call)(void);
} list[] = {
	{ "socket AF_VSOCK", try_vsock },
	{ "socket AF_PACKET", try_packet },
	{ "socket AF_INET raw", try_raw4 },
	{ "socket AF_INET6 raw", try_raw6 },
	{ "socket MPTCP", try_mptcp },
	{ "socket NETLINK_NETFILTER", try_netfilter },
	{ "io_uring_setup", try_uring },
	{ "unshare user namespace", try_userns },
	{ "unshare network namespace", try_netns },
	{ "mount", try_mount },
	{ "ptrace", try_ptrace },
	{ "bpf", try_bpf },
	{ "setresuid root", try_setuid },
	{ "setresgid root", try_setgid },
};
#define LIST_LEN ((unsigned)(sizeof(list) / sizeof(list[0])))
_Static_assert(LIST_LEN <= ATTEMPTS_MAX, "attempts fit");

/* answers[0]: 0 or the errno of enter; then one each: 0 it worked, else the errno. */
static _Noreturn void
child_main(int out, attempt_enter_fn *enter, void *arg)
{
	int answers[LIST_LEN + 1];

	answers[0] = -enter(arg);
	for (unsigned i = 0; i < LIST_LEN && answers[0] == 0; i++)
		answers[i + 1] = list[i].call() >= 0 ? 0 : errno;
	(void)!write(out, answers, sizeof(answers));
	_exit(0);
}

int
attempt_all(attempt_enter_fn *enter, void *arg, struct attempt out[static ATTEMPTS_MAX], unsigned *len)
{
	int answers[LIST_LEN + 1], pipe_fds[2], r = (int)LIST_LEN;
	pid_t child;
	ssize_t n;

	*len = 0;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0) {
		r = -errno;
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return r;
	}
	if (child == 0) {
		close(pipe_fds[0]);
		child_main(pipe_fds[1], enter, arg);
	}
	close(pipe_fds[1]);
	do
		n = read(pipe_fds[0], answers, sizeof(answers));
	while (n < 0 && errno == EINTR);
	close(pipe_fds[0]);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != sizeof(answers))
		return -EPROTO;
	if (answers[0] != 0)
		return answers[0] > 0 ? -answers[0] : -EPROTO;
	for (unsigned i = 0; i < LIST_LEN; i++) {
		out[i] = (struct attempt){ list[i].what, answers[i + 1] != 0, answers[i + 1] };
		if (!out[i].refused)
			r = -EPERM;
	}
	*len = LIST_LEN;
	return r;
}
