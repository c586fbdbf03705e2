/* SPDX-License-Identifier: GPL-2.0-or-later
 * helper.c - the system calls that Node cannot make.  helper GROUP [ARGUMENT...] prints one line an attempt, "NAME RESULT":
 * a number >= 0 when the attempt succeeded, -errno when it was refused.  Arguments are chosen so that a call which is merely
 * wrong, but not refused, counts as success: only the errors in `refusals` are refusals. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
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
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
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

/* ---- ways out and tricks: refused by the kernel, the filter or the firewall, whatever the error ---------------------- */

static long
connect_from(int fd, const char *to, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof err;

	inet_pton(AF_INET, to, &a.sin_addr);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&p, 1, 700) <= 0) {
		errno = ETIMEDOUT; /* no answer came: bound to the other end of the pair, even the refusal gets lost */
		return -1;
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	errno = err;
	return err ? -1 : 0;
}

static void
set_int(const char *name, int type, int level, int option, int value)
{
	int fd = socket(AF_INET, type, 0);

	tell_any(name, setsockopt(fd, level, option, &value, sizeof value));
	close(fd);
}

static void
outward(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(53) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
	struct {
		uint8_t next, len, type, left, first, flags;
		uint16_t tag;
		struct in6_addr to[2];
	} route = { .len = 4, .type = 4, .left = 1, .first = 1 };
	char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = { 0 }, name[64];
	static const char lsrr[] = { 1, (char)131, 7, 4, (char)203, 0, 113, 9 };
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;
	struct in_pktinfo *info;
	struct ip_mreqn group = { 0 };
	int fd, on = 1;

	for (unsigned i = 1; i <= 3; i++) { /* loopback and both ends of the pair */
		char device[IF_NAMESIZE];

		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!if_indextoname(i, device) ||
		    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) < 0)
			continue; /* never tried, and so a failure of the test */
		snprintf(name, sizeof name, "bind-to-device-%u", i);
		tell_any(name, connect_from(fd, "203.0.113.21", 443));
		close(fd);
	}
	inet_pton(AF_INET, "203.0.113.22", &a.sin_addr);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	tell_any("tcp-fast-open", sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&a, sizeof a));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	(void)setsockopt(fd, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, &on, sizeof on);
	(void)connect(fd, (struct sockaddr *)&a, sizeof a); /* it says 0 and sends nothing; the packet is the write's */
	tell_any("tcp-fast-open-connect", send(fd, "x", 1, MSG_NOSIGNAL));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
	{
		struct sockaddr_in from = { .sin_family = AF_INET };

		inet_pton(AF_INET, "203.0.113.5", &from.sin_addr);
		(void)bind(fd, (struct sockaddr *)&from, sizeof from);
	}
	tell_any("ip-freebind", connect_from(fd, "203.0.113.23", 443));
	close(fd);

	c = (struct cmsghdr *)control;
	m.msg_control = control;
	m.msg_controllen = sizeof control;
	*c = (struct cmsghdr){ CMSG_LEN(sizeof *info), IPPROTO_IP, IP_PKTINFO };
	info = (struct in_pktinfo *)CMSG_DATA(c);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 1; i <= 3; i++) {
		info->ipi_ifindex = i;
		snprintf(name, sizeof name, "packet-info-%d", i);
		tell_any(name, sendmsg(fd, &m, 0));
	}
	tell_any("dont-route", sendto(fd, "x", 1, MSG_DONTROUTE, (struct sockaddr *)&a, sizeof a));
	inet_pton(AF_INET, "224.0.0.1", &a.sin_addr);
	for (int i = 1; i <= 3; i++) {
		group.imr_ifindex = i;
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group);
		snprintf(name, sizeof name, "multicast-by-%d", i);
		tell_any(name, sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a));
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	inet_pton(AF_INET, "198.18.255.255", &a.sin_addr);
	tell_any("subnet-broadcast", sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a));
	inet_pton(AF_INET, "127.0.0.11", &a.sin_addr);
	(void)connect(fd, (struct sockaddr *)&a, sizeof a);
	(void)send(fd, "x", 1, 0);
	tell_any("docker-resolver", send(fd, "x", 1, 0)); /* the second hears that nobody is there */
	close(fd);
	tell_any("source-route",
		 setsockopt(fd = socket(AF_INET, SOCK_DGRAM, 0), IPPROTO_IP, IP_OPTIONS, lsrr, sizeof lsrr));
	close(fd);
	set_int("ip-transparent", SOCK_STREAM, IPPROTO_IP, IP_TRANSPARENT, 1);
	set_int("so-mark", SOCK_DGRAM, SOL_SOCKET, SO_MARK, 1);
	set_int("so-priority-high", SOCK_DGRAM, SOL_SOCKET, SO_PRIORITY, 7);
	set_int("so-rcvbufforce", SOCK_DGRAM, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20);
	set_int("tcp-repair", SOCK_STREAM, IPPROTO_TCP, TCP_REPAIR, 1);
	set_int("so-debug", SOCK_STREAM, SOL_SOCKET, SO_DEBUG, 1);

	/* A routing header: first hop our own loopback, the real target inside.  What comes of it the counters say. */
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	inet_pton(AF_INET6, "2001:db8::99", &route.to[0]);
	inet_pton(AF_INET6, "::1", &route.to[1]);
	six.sin6_addr = in6addr_loopback;
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &route, sizeof route);
	inet_pton(AF_INET6, "2001:db8::99", &six.sin6_addr);
	tell_any("routing-header", sendto(fd, "x", 1, 0, (struct sockaddr *)&six, sizeof six));
	close(fd);
}

static void
open_for(const char *name, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	tell_any(name, fd);
	if (fd >= 0)
		close(fd);
}

static void
tricks(void)
{
	struct sched_param first = { .sched_priority = 1 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} deadline = { 48, 6, 0, 0, 0, 10000000, 30000000, 30000000 };
	struct rlimit l;
	int pair[2], status;
	pid_t pid;
	char text[128];
	struct ucred forged = { 1, 0, 0 };
	char control[CMSG_SPACE(sizeof forged)] = { 0 };
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	ssize_t n;

	tell_any("realtime", sched_setscheduler(0, SCHED_FIFO, &first));
	tell_any("deadline", syscall(SYS_sched_setattr, 0, &deadline, 0));
	tell_any("nice-up", setpriority(PRIO_PROCESS, 0, -5));
	tell_any("io-realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max = l.rlim_max + 1;
	tell_any("rlimit-raise", setrlimit(RLIMIT_NOFILE, &l));
	tell_any("rlimit-core-unlimited",
		 prlimit(0, RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }, NULL));
	tell_any("rlimit-core-zero", prlimit(0, RLIMIT_CORE, &(struct rlimit){ 0, 1 }, NULL));
	tell_any("rlimit-core-high-bits",
		 syscall(SYS_prlimit64, 0, 0x100000000L | RLIMIT_CORE, &(struct rlimit){ 0, 1 }, NULL));
	tell_any("personality-exec", syscall(SYS_personality, 0x0400000));
	tell_any("privileges-again", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	tell_any("seccomp-off", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
	tell_any("ambient-raise", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	tell_any("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	tell_any("memory-map-exe", prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, 0, 0, 0));
	tell_any("parent-core", prctl(PR_SCHED_CORE, 1, 1, 1, 0)); /* share a cookie with process 1 */
	tell_any("clone-user-high-bits", clone_with(0x100000000UL | CLONE_NEWUSER));
	tell_any("clone-net-vm", syscall(SYS_clone, CLONE_NEWNET | CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL));
	tell_any("clone3-real", syscall(435, (uint64_t[11]){ CLONE_NEWUSER, 0, 0, 0, SIGCHLD }, 64));
	n = readlink("/proc/self/ns/time_for_children", text, sizeof text);
	pid = (pid_t)syscall(SYS_clone, 0x80 | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		char mine[128];

		_exit(readlink("/proc/self/ns/time", mine, sizeof mine) == n && n > 0 &&
		      memcmp(mine, text, (size_t)n) == 0);
	}
	errno = EPERM;
	tell_any("clone-time", pid > 0 && waitpid(pid, &status, __WALL) == pid && WEXITSTATUS(status) == 0 ? 0 : -1);
	tell_any("mount-shared", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
	tell_any("mount-proc", mount("proc", "/tmp", "proc", 0, NULL));
	tell_any("mount-move", mount("/run", "/tmp", NULL, MS_MOVE, NULL));
	tell_any("umount-proc", umount2("/proc", MNT_DETACH));
	tell_any("umount-run", umount2("/run", MNT_DETACH));
	tell_any("mknod-block", mknod("/tmp/block", S_IFBLK | 0666, makedev(254, 0)));
	tell_any("mknod-high-bits",
		 syscall(SYS_mknodat, AT_FDCWD, "/tmp/char", 0x100000000L | S_IFCHR | 0666, makedev(1, 1)));
	tell_any("mknod-whiteout", mknod("/tmp/white", S_IFCHR | 0666, 0));
	tell_any("link-setuid", link("/usr/bin/su", "/tmp/su"));
	tell_any("link-shadow", link("/etc/passwd", "/tmp/passwd"));
	tell_any("rename-root", rename("/etc/passwd", "/tmp/passwd"));
	tell_any("chown-root", open("/tmp/own", O_CREAT | O_CLOEXEC, 0600) < 0 ? -1 : chown("/tmp/own", 0, 0));
	tell_any("chown-twins", chown("/tmp/own", 991, 991));
	tell_any("setxattr-capability", syscall(SYS_setxattr, "/tmp/own", "security.capability",
						"\1\0\0\2\377\377\377\377\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
	tell_any("init-kill-pidfd",
		 (int)syscall(SYS_pidfd_open, 1, 0) < 0
			 ? -1
			 : syscall(SYS_pidfd_send_signal, (int)syscall(SYS_pidfd_open, 1, 0), SIGKILL, NULL, 0));
	tell_any("init-sigqueue", sigqueue(1, SIGTERM, (union sigval){ 0 }));
	tell_any("init-affinity", sched_setaffinity(1, sizeof(cpu_set_t), &(cpu_set_t){ 0 }));
	tell_any("init-scheduler", sched_setscheduler(1, SCHED_IDLE, &(struct sched_param){ 0 }));
	tell_any("init-group", setpgid(1, 1));
	open_for("init-root", "/proc/1/root/etc", O_RDONLY | O_DIRECTORY);
	open_for("init-cwd", "/proc/1/cwd", O_RDONLY | O_DIRECTORY);
	open_for("init-exe", "/proc/1/exe", O_RDONLY);
	open_for("init-fd", "/proc/1/fd", O_RDONLY | O_DIRECTORY);
	open_for("init-mem", "/proc/1/mem", O_RDWR);
	open_for("init-net", "/proc/1/ns/net", O_RDONLY);
	open_for("init-user", "/proc/1/ns/user", O_RDONLY);
	open_for("init-syscall", "/proc/1/syscall", O_RDONLY);
	open_for("init-map-files", "/proc/1/map_files", O_RDONLY | O_DIRECTORY);
	open_for("init-oom", "/proc/1/oom_score_adj", O_WRONLY);
	open_for("sys-uevent", "/sys/kernel/uevent_seqnum", O_WRONLY);
	open_for("sys-lo-mtu", "/sys/class/net/lo/mtu", O_WRONLY);
	open_for("proc-forwarding", "/proc/sys/net/ipv4/ip_forward", O_WRONLY);
	open_for("proc-seg6", "/proc/sys/net/ipv6/conf/all/seg6_enabled", O_WRONLY);
	open_for("proc-nf-log", "/proc/sys/net/netfilter/nf_log_all_netns", O_WRONLY);
	open_for("proc-ping", "/proc/sys/net/ipv4/ping_group_range", O_WRONLY);
	open_for("proc-low-ports", "/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY);
	tell_any("proc-last-pid", write(open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC), "2", 1));
	open_for("proc-setgroups", "/proc/self/setgroups", O_WRONLY | O_TRUNC);
	open_for("memory-device", "/dev/mem", O_RDONLY);
	tell_any("io-uring-full", syscall(425, 8, (uint8_t[120]){ 0 }));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		*c = (struct cmsghdr){ CMSG_LEN(sizeof forged), SOL_SOCKET, SCM_CREDENTIALS };
		memcpy(CMSG_DATA(c), &forged, sizeof forged);
		tell_any("credentials-of-root", sendmsg(pair[0], &m, 0));
	}
	/* its own terminal: text may not be pushed into it */
	status = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	tell_any("own-terminal-push", ioctl(status, TIOCSTI, "x"));
	tell_any("own-terminal-discipline", ioctl(status, TIOCSETD, &(int){ 0 }));
	tell_any("own-terminal-steal", ioctl(status, TIOCCONS));
}

/* helper ports ADDRESS PORT: nobody shadows the place where a twin listens. */
static void
ports(const char *address, uint16_t port)
{
	static const struct {
		const char *name, *address;
		int family;
	} table[] = {
		{ "own", NULL, AF_INET },
		{ "any", "0.0.0.0", AF_INET },
		{ "any6", "::", AF_INET6 },
		{ "mapped", "::ffff:127.64.0.1", AF_INET6 },
		{ "mapped-any", "::ffff:0.0.0.0", AF_INET6 },
	};
	static const char *const ways[] = { "plain", "reuse-address", "reuse-port", "both" };
	char name[64];

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int way = 0; way < 4; way++) {
			struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
			struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
			int fd = socket(table[i].family, SOCK_STREAM, 0), on = 1, off = 0;

			(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
			if (way & 1)
				(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
			if (way & 2)
				(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
			if (table[i].family == AF_INET)
				inet_pton(AF_INET, table[i].address ? table[i].address : address, &four.sin_addr);
			else
				inet_pton(AF_INET6, table[i].address, &six.sin6_addr);
			snprintf(name, sizeof name, "shadow-%s-%s", table[i].name, ways[way]);
			tell_any(name, (table[i].family == AF_INET ? bind(fd, (struct sockaddr *)&four, sizeof four)
								   : bind(fd, (struct sockaddr *)&six, sizeof six)) < 0
					       ? -1
					       : listen(fd, 5));
			close(fd);
		}
}

/* ---- storms: as fast as the machine goes, until somebody ends them ------------------------------------------------------ */

/* Children of our own parent, the monitor, that end at once and ask for SIGTERM to be sent to it. */
static void
storm_parent(void)
{
	for (;;)
		if (syscall(SYS_clone, CLONE_PARENT | SIGTERM, NULL, NULL, NULL, NULL) == 0)
			_exit(0);
}

static void
storm_output(void)
{
	for (;;)
		if (write(1, "x", 1) < 0 || write(2, "y", 1) < 0)
			_exit(0);
}

static void
storm_busy(void)
{
	for (volatile unsigned long n = 0;; n++)
		(void)n;
}

static void
storm_fork(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			setsid();
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

/* Stays killable only by SIGKILL; stops and wakes everything it may, itself excepted. */
static void
storm_stop(void)
{
	for (;;) {
		kill(-1, SIGSTOP);
		kill(-1, SIGCONT);
	}
}

static void
storm_packets(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (uint32_t n = 0;; n++) {
		struct sockaddr_in a = { .sin_family = AF_INET,
					 .sin_port = htons((uint16_t)(n % 60000 + 1)),
					 .sin_addr.s_addr = htonl(0xcb007100u + n % 256) };

		(void)sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a);
	}
}

/* helper storm KIND PROCESSES: in sessions of their own, deaf to SIGTERM; this process waits. */
static int
storm(const char *kind, int processes)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} table[] = { { "parent", storm_parent }, { "output", storm_output }, { "busy", storm_busy },
		      { "fork", storm_fork },     { "stop", storm_stop },     { "packets", storm_packets } };

	signal(SIGTERM, SIG_IGN);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(kind, table[i].name) == 0) {
			for (int k = 0; k < processes; k++)
				if (fork() == 0) {
					setsid();
					table[i].run();
				}
			for (;;)
				pause();
		}
	return 2;
}

/* helper packets N: exactly N datagrams to as many places as there are; each must be refused.  Says how many were not. */
static int
packets(long n)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long out = 0;

	for (long i = 0; i < n; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET,
					 .sin_port = htons((uint16_t)(i % 50 + 1)),
					 .sin_addr.s_addr = htonl(0xcb007100u + (uint32_t)(i % 10)) };

		out += sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a) >= 0;
	}
	printf("%ld\n", out);
	return out != 0;
}

/* helper output: what the monitor reads may neither shrink nor grow without bound, nor may its input be written.  Started directly:
 * lines go to stderr, because stdout is what is tried. */
static void
output_tell(const char *name, long result)
{
	dprintf(2, "%s %s\n", name, result < 0 ? "denied" : "got");
}

static void
output(void)
{
	signal(SIGXFSZ, SIG_IGN);
	output_tell("written", write(1, "x", 1));
	output_tell("huge", ftruncate(1, 1L << 40));
	output_tell("huge-reserved", fallocate(1, 0, 0, 1L << 40));
	output_tell("cut", ftruncate(1, 0));
	output_tell("cut-anew", open("/dev/stdout", O_WRONLY | O_TRUNC | O_CLOEXEC));
	output_tell("seal", fcntl(1, F_ADD_SEALS, F_SEAL_WRITE));
	output_tell("input-write", write(0, "x", 1));
	output_tell("input-anew", write(open("/dev/stdin", O_WRONLY | O_CLOEXEC), "x", 1));
	output_tell("input-cut", ftruncate(open("/dev/stdin", O_WRONLY | O_CLOEXEC), 0));
}

/* helper adopt: children of the monitor itself, which ask it to be told of their end by SIGTERM; then ends well. */
static int
adopt(void)
{
	for (int i = 0; i < 20; i++)
		if (syscall(SYS_clone, CLONE_PARENT | SIGTERM, NULL, NULL, NULL, NULL) == 0)
			_exit(9);
	usleep(300000);
	return 0;
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
	else if (strcmp(group, "outward") == 0)
		outward();
	else if (strcmp(group, "tricks") == 0)
		tricks();
	else if (strcmp(group, "ports") == 0 && argc == 4)
		ports(argv[2], (uint16_t)atoi(argv[3]));
	else if (strcmp(group, "storm") == 0 && argc >= 4)
		return storm(argv[2], atoi(argv[3]));
	else if (strcmp(group, "packets") == 0 && argc == 3)
		return packets(atol(argv[2]));
	else if (strcmp(group, "output") == 0)
		output();
	else if (strcmp(group, "grow") == 0)
		return ftruncate(1, 100L << 20) < 0;
	else if (strcmp(group, "adopt") == 0)
		return adopt();
	else if (strcmp(group, "kill-all") == 0)
		kill(-1, SIGKILL); /* this process excepted */
	else
		return 2;
	return 0;
}
