/* SPDX-License-Identifier: GPL-2.0-or-later
 * helper.c - the system calls that Node cannot make.  helper GROUP [ARGUMENT...] prints one line an attempt, "NAME RESULT":
 * a number >= 0 when the attempt succeeded, -errno when it was refused.  Arguments are chosen so that a call which is merely
 * wrong, but not refused, counts as success: only the errors in `refusals` are refusals. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int refusals[] = { EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT, EPROTOTYPE };

static void
tell(const char *name, long result)
{
	int err = errno;

	if (result < 0) {
		result = 0;
		for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
			if (err == refusals[i])
				result = -err;
	}
	printf("%s %ld\n", name, result);
	fflush(stdout);
}

/* Where the result itself is the answer, any error is a refusal. */
static void
tell_any(const char *name, long result)
{
	printf("%s %ld\n", name, result < 0 ? (long)-errno : result);
	fflush(stdout);
}

static void
sockets(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} table[] = {
		{ "socket-inet-stream", AF_INET, SOCK_STREAM, 0 },
		{ "socket-inet6-dgram", AF_INET6, SOCK_DGRAM, 0 },
		{ "socket-netlink-route", AF_NETLINK, SOCK_RAW, 0 },
		{ "socket-vsock", 40, SOCK_STREAM, 0 },
		{ "socket-vsock-dgram", 40, SOCK_DGRAM, 0 },
		{ "socket-packet-raw", AF_PACKET, SOCK_RAW, 0x0300 },
		{ "socket-packet-dgram", AF_PACKET, SOCK_DGRAM, 0x0300 },
		{ "socket-inet-raw-icmp", AF_INET, SOCK_RAW, 1 },
		{ "socket-inet-raw-raw", AF_INET, SOCK_RAW, 255 },
		{ "socket-inet6-raw-icmp", AF_INET6, SOCK_RAW, 58 },
		{ "socket-inet-ping", AF_INET, SOCK_DGRAM, 1 },
		{ "socket-inet6-ping", AF_INET6, SOCK_DGRAM, 58 },
		{ "socket-mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "socket-sctp", AF_INET, SOCK_STREAM, 132 },
		{ "socket-sctp-seqpacket", AF_INET6, SOCK_SEQPACKET, 132 },
		{ "socket-udplite", AF_INET, SOCK_DGRAM, 136 },
		{ "socket-dccp", AF_INET, 6, 33 },
		{ "socket-smc", 43, SOCK_STREAM, 0 },
		{ "socket-netlink-netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "socket-netlink-generic", AF_NETLINK, SOCK_RAW, 16 },
		{ "socket-netlink-uevent", AF_NETLINK, SOCK_RAW, 15 },
		{ "socket-netlink-diag", AF_NETLINK, SOCK_RAW, 4 },
		{ "socket-netlink-xfrm", AF_NETLINK, SOCK_RAW, 6 },
		{ "socket-netlink-audit", AF_NETLINK, SOCK_RAW, 9 },
		{ "socket-alg", 38, SOCK_SEQPACKET, 0 },
		{ "socket-key", 15, SOCK_RAW, 2 },
		{ "socket-bluetooth", 31, SOCK_RAW, 1 },
		{ "socket-can", 29, SOCK_RAW, 1 },
		{ "socket-tipc", 30, SOCK_STREAM, 0 },
		{ "socket-rds", 21, SOCK_SEQPACKET, 0 },
		{ "socket-xdp", 44, SOCK_RAW, 0 },
		{ "socket-qipcrtr", 42, SOCK_DGRAM, 0 },
		{ "socket-pppox", 24, SOCK_STREAM, 0 },
		{ "socket-rxrpc", 33, SOCK_DGRAM, AF_INET },
		{ "socket-x25", 9, SOCK_SEQPACKET, 0 },
		/* the upper half of a register must not matter to the filter: the kernel looks at an int */
		{ "socket-type-flags", AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0x0300 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		tell(table[i].name, socket(table[i].family, table[i].type, table[i].protocol));
	tell("socket-vsock-high-bits", syscall(SYS_socket, 0x100000000L | 40, SOCK_STREAM, 0));
	tell("socket-raw-high-bits", syscall(SYS_socket, AF_INET, 0x100000000L | SOCK_RAW, 1));
	tell("io-uring-setup", syscall(425, 1, NULL));
	tell("io-uring-enter", syscall(426, -1, 0, 0, 0, NULL, 0));
	tell("io-uring-register", syscall(427, -1, 0, NULL, 0));
}

/* Adds an address, a route, and takes the loopback down, by rtnetlink, which the filter has to leave open. */
static long
rtnetlink(uint16_t type, uint16_t flags, const void *body, size_t len)
{
	struct {
		struct nlmsghdr header;
		uint8_t body[128];
	} request = { .header = { .nlmsg_len = (uint32_t)(NLMSG_LENGTH(len)),
				  .nlmsg_type = type,
				  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
				  .nlmsg_seq = 1 } };
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		uint8_t more[1024];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -1;
	memcpy(request.body, body, len);
	if (send(fd, &request, request.header.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
		return -1;
	close(fd);
	errno = -answer.error.error;
	return answer.error.error == 0 ? 0 : -1;
}

static void
routes(void)
{
	struct {
		struct ifaddrmsg a;
		struct rtattr t;
		uint8_t value[4];
	} address = { .a = { .ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = 1 },
		      .t = { .rta_len = 8, .rta_type = IFA_LOCAL },
		      .value = { 203, 0, 113, 7 } };
	struct ifinfomsg down = { .ifi_index = 1, .ifi_change = 1 };
	struct {
		struct rtmsg r;
		struct rtattr t;
		uint32_t index;
	} route = { .r = { .rtm_family = AF_INET,
			   .rtm_table = RT_TABLE_MAIN,
			   .rtm_protocol = RTPROT_STATIC,
			   .rtm_scope = RT_SCOPE_LINK,
			   .rtm_type = RTN_UNICAST },
		    .t = { .rta_len = 8, .rta_type = RTA_OIF },
		    .index = 1 };

	tell("rtnetlink-address", rtnetlink(RTM_NEWADDR, NLM_F_CREATE, &address, sizeof address));
	tell("rtnetlink-link-down", rtnetlink(RTM_NEWLINK, 0, &down, sizeof down));
	tell("rtnetlink-route", rtnetlink(RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof route));
}

static long
clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static void
namespaces(void)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} table[] = {
		{ "user", CLONE_NEWUSER },     { "net", CLONE_NEWNET },
		{ "mount", CLONE_NEWNS },      { "pid", CLONE_NEWPID },
		{ "ipc", CLONE_NEWIPC },       { "uts", CLONE_NEWUTS },
		{ "cgroup", CLONE_NEWCGROUP }, { "user-net", CLONE_NEWUSER | CLONE_NEWNET },
	};
	char name[64];

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		snprintf(name, sizeof name, "clone-%s", table[i].name);
		tell(name, clone_with(table[i].flag));
		snprintf(name, sizeof name, "unshare-%s", table[i].name);
		tell(name, unshare((int)table[i].flag));
	}
	tell("unshare-time", unshare(0x80));
	tell("clone3", syscall(435, NULL, 0));
	tell("setns", setns(-1, 0));
	tell("setns-self", setns(open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC), 0));
	tell("mount-tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	tell("mount-bind", mount("/usr", "/tmp", NULL, MS_BIND, NULL));
	tell("mount-remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	tell("umount", umount2("/tmp", MNT_DETACH));
	tell("pivot-root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	tell("chroot", chroot("/tmp"));
	tell("open-tree", syscall(428, AT_FDCWD, "/", 0));
	tell("move-mount", syscall(429, -1, "", -1, "", 0));
	tell("fsopen", syscall(430, "tmpfs", 0));
	tell("mount-setattr", syscall(442, -1, "", 0, NULL, 0));
	tell("sethostname", sethostname("free", 4));
}

static void
kernel(void)
{
	struct iovec v = { .iov_base = &v, .iov_len = 1 };
	struct timespec now;
	struct timex tick = { .modes = ADJ_TICK, .tick = 10000 };
	struct rlimit none = { 0, 0 };
	char c = 'x';

	clock_gettime(CLOCK_REALTIME, &now);
	tell("ptrace-traceme", syscall(SYS_ptrace, 0, 0, NULL, NULL));
	tell("ptrace-attach", syscall(SYS_ptrace, 16, getppid(), NULL, NULL));
	tell("process-vm-readv", process_vm_readv(getpid(), &v, 1, &v, 1, 0));
	tell("process-vm-writev", process_vm_writev(getpid(), &v, 1, &v, 1, 0));
	tell("process-madvise", syscall(440, -1, NULL, 0, 0, 0));
	tell("process-mrelease", syscall(448, -1, 0));
	tell("pidfd-getfd", syscall(438, -1, 0, 0));
	tell("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
	tell("keyctl", syscall(SYS_keyctl, 0, -3, 1));
	tell("add-key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
	tell("request-key", syscall(SYS_request_key, "user", "x", NULL, -3));
	tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
	tell("perf-event-open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	tell("userfaultfd", syscall(SYS_userfaultfd, 1));
	tell("fanotify-init", syscall(SYS_fanotify_init, 0x200, 0));
	tell("init-module", syscall(SYS_init_module, NULL, 0, ""));
	tell("finit-module", syscall(SYS_finit_module, -1, "", 0));
	tell("delete-module", syscall(SYS_delete_module, "none", O_NONBLOCK));
	tell("kexec-load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	tell("reboot", syscall(SYS_reboot, 0, 0, 0, NULL)); /* wrong magic: EINVAL to who may, EPERM to who may not */
	tell("open-by-handle", syscall(SYS_open_by_handle_at, -1, NULL, 0));
	tell("mknod-device", mknod("/tmp/mem", S_IFCHR | 0600, makedev(1, 1)));
	tell("acct", syscall(SYS_acct, NULL));
	tell("swapon", syscall(SYS_swapon, "/tmp/none", 0));
	tell("swapoff", syscall(SYS_swapoff, "/tmp/none"));
	tell("quotactl", syscall(SYS_quotactl, 0x80000100, NULL, 0, NULL));
	tell("syslog", syscall(SYS_syslog, 10, NULL, 0));
	tell("personality", syscall(SYS_personality, 0x0040000));
	tell("clock-settime", clock_settime(CLOCK_REALTIME, &now));
	tell("settimeofday", syscall(SYS_settimeofday, NULL, NULL));
	tell("adjtimex", adjtimex(&tick));
	tell("tiocsti", ioctl(0, TIOCSTI, &c));
	tell("tioclinux", ioctl(0, TIOCLINUX, &c));
	/* the kernel looks at 32 bits of an ioctl's number, so the filter must too */
	tell("tiocsti-high-bits", syscall(SYS_ioctl, 0, 0x100000000L | TIOCSTI, &c));
	tell("rlimit-core", setrlimit(RLIMIT_CORE, &none));
	tell("unknown-call", syscall(9999));
	tell("unknown-call-600", syscall(600));
#ifdef SYS_modify_ldt
	tell("modify-ldt", syscall(SYS_modify_ldt, 0, NULL, 0));
	tell("iopl", syscall(SYS_iopl, 3));
	tell("ioperm", syscall(SYS_ioperm, 0, 1, 1));
#endif
}

/* A call that must kill: the result is 0 when the child lived. */
static void
foreign(const char *name, void (*call)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		call();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	errno = EPERM;
	tell(name, WIFSIGNALED(status) ? -1 : 0);
}

#ifdef __x86_64__
static void
call_x32(void)
{
	syscall(0x40000000L | SYS_getpid);
}

static void
call_i386(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	(void)r;
}
#endif

static void
abi(void)
{
#ifdef __x86_64__
	foreign("abi-x32", call_x32);
	foreign("abi-i386", call_i386);
#else
	errno = ENOSYS;
	tell("abi-x32", -1);
	tell("abi-i386", -1);
	(void)foreign;
#endif
}

static void
identity(void)
{
	uint32_t header[2] = { 0x20080522, 0 }, all[6] = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };

	tell_any("setuid-0", setuid(0));
	tell_any("setgid-0", setgid(0));
	tell_any("setresuid-0", setresuid(0, 0, 0));
	tell_any("setreuid-0", setreuid((uid_t)-1, 0));
	tell_any("setgroups-0", syscall(SYS_setgroups, 0, NULL));
	tell_any("capset", syscall(SYS_capset, header, all));
	syscall(SYS_setfsuid, 0);
	errno = EPERM;
	tell_any("setfsuid-0", syscall(SYS_setfsuid, -1) == 0 ? 0 : -1);
}

/* helper unix ABSTRACT PATH */
static void
unix_sockets(const char *abstract, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		tell("unix-abstract", -1);
		tell("unix-path", -1);
		return;
	}
	memcpy(a.sun_path + 1, abstract, strlen(abstract));
	tell_any("unix-abstract", connect(fd, (struct sockaddr *)&a,
					  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract))));
	memset(&a.sun_path, 0, sizeof a.sun_path);
	strncpy(a.sun_path, path, sizeof a.sun_path - 1);
	tell_any("unix-path", connect(fd, (struct sockaddr *)&a, sizeof a));
}

/* helper monitor PID...: processes of others must be out of reach. */
static void
monitor(int argc, char **argv)
{
	struct rlimit few = { 5, 5 };
	char name[64];

	for (int i = 0; i < argc; i++) {
		pid_t pid = atoi(argv[i]);

		snprintf(name, sizeof name, "stop-%d", (int)pid);
		tell_any(name, kill(pid, SIGSTOP));
		snprintf(name, sizeof name, "kill-%d", (int)pid);
		tell_any(name, kill(pid, SIGKILL));
		snprintf(name, sizeof name, "prlimit-%d", (int)pid);
		tell_any(name, prlimit(pid, RLIMIT_NOFILE, &few, NULL));
		snprintf(name, sizeof name, "setpriority-%d", (int)pid);
		tell_any(name, setpriority(PRIO_PROCESS, (id_t)pid, 19));
	}
	tell_any("monitor-done", 0);
}

/* Which descriptors a program starts with, and that no other is open. */
static void
fds(void)
{
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
}

/* helper bomb: forks sleeping children in sessions of their own until it cannot, and leaves them behind. */
static void
bomb(void)
{
	long made = 0;

	while (made < 100000) {
		pid_t pid = fork();

		if (pid == 0) {
			setsid();
			signal(SIGTERM, SIG_IGN);
			for (;;)
				pause();
		}
		if (pid < 0)
			break;
		made++;
	}
	printf("bomb %ld\n", made);
}

int
main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";

	if (strcmp(group, "sockets") == 0)
		sockets();
	else if (strcmp(group, "routes") == 0)
		routes();
	else if (strcmp(group, "namespaces") == 0)
		namespaces();
	else if (strcmp(group, "kernel") == 0)
		kernel();
	else if (strcmp(group, "abi") == 0)
		abi();
	else if (strcmp(group, "identity") == 0)
		identity();
	else if (strcmp(group, "unix") == 0 && argc == 4)
		unix_sockets(argv[2], argv[3]);
	else if (strcmp(group, "monitor") == 0)
		monitor(argc - 2, argv + 2);
	else if (strcmp(group, "fds") == 0)
		fds();
	else if (strcmp(group, "bomb") == 0)
		bomb();
	else
		return 2;
	return 0;
}
