/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_filter.c - every call number and the edges of every argument through a small BPF machine, on both architectures; then a
 * few calls for real.  The model below is written from the man page, not from the assembler. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "guest/filter.h"
#include "tests/lib/tap.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define ERR(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define BROKEN 0x12345678u

static struct filter_program program;
static enum filter_arch arch;

/* The subset of classic BPF that a seccomp filter may use and ours does. */
static uint32_t
simulate(const struct filter_program *p, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (unsigned pc = 0, steps = 0; pc < p->len && steps < 5000; pc++, steps++) {
		const struct filter_code *i = &p->code[pc];
		bool jump;

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k % 4 != 0 || i->k + 4 > sizeof(*d))
				return BROKEN;
			memcpy(&a, (const char *)d + i->k, 4);
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			jump = a == i->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			jump = a > i->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			jump = a >= i->k;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return BROKEN;
		}
		pc += jump ? i->jt : i->jf;
	}
	return BROKEN; /* ran off the end */
}

static uint32_t
call(long nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data d = { .nr = (int)nr,
				  .arch = arch == FILTER_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64,
				  .args = { a0, a1, a2, 0, 0, 0 } };

	return simulate(&program, &d);
}

static const struct filter_call *
find(const struct filter_call *c, long nr)
{
	for (; c->name; c++)
		if (c->number[arch] == nr && nr >= 0)
			return c;
	return NULL;
}

static long
number(const char *name)
{
	for (const struct filter_call *c = filter_workflow_calls; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c->number[arch];
	return -1;
}

/* What every number does with arguments of zero. */
static uint32_t
expected_workflow(long nr, bool allow_unix)
{
	const struct filter_call *c = find(filter_workflow_calls, nr);

	(void)allow_unix;
	if (nr > FILTER_NEWEST)
		return ERR(ENOSYS);
	if (!c)
		return ALLOW;
	switch ((enum filter_rule)c->rule) {
	case RULE_EPERM:
		return ERR(EPERM);
	case RULE_ENOSYS:
		return ERR(ENOSYS);
	case RULE_SOCKET:
	case RULE_SOCKETPAIR:
		return ERR(EAFNOSUPPORT); /* family 0 */
	default:
		return ALLOW;
	}
}

static void
test_all_numbers(bool allow_unix)
{
	const char *machine = arch == FILTER_X86_64 ? "x86_64" : "aarch64";
	int wrong = 0;
	long at = -1;

	is_int(filter_build(&program, FILTER_WORKFLOW, arch, allow_unix), 0, "workflow filter assembles");
	ok(program.len < 700, "%s: %u instructions", machine, program.len);
	for (long nr = 0; nr < 2000; nr++)
		if (call(nr, 0, 0, 0) != expected_workflow(nr, allow_unix)) {
			wrong++;
			at = nr;
		}
	ok(wrong == 0, "%s: every number, arguments zero (last wrong %ld)", machine, at);
	wrong = 0;
	for (unsigned bit = 11; bit < 32; bit++)
		wrong += call((long)(int32_t)(1u << bit), 0, 0, 0) !=
			 (arch == FILTER_X86_64 && bit >= 30 ? KILL : ERR(ENOSYS));
	is_int(wrong, 0, "numbers far above the newest, x32 included");
	is_int(call(-1, 0, 0, 0), arch == FILTER_X86_64 ? (long long)KILL : (long long)ERR(ENOSYS), "number -1");
}

static void
test_arch(void)
{
	static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0, 0xffffffffu };
	uint32_t other = arch == FILTER_X86_64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
	int wrong = 0;

	for (int kind = 0; kind < 2; kind++) {
		if (filter_build(&program, kind ? FILTER_TWINS : FILTER_WORKFLOW, arch, true) < 0)
			wrong++;
		for (int nr = 0; nr < 500; nr++) {
			struct seccomp_data d = { .nr = nr };

			for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
				d.arch = foreign[i];
				wrong += simulate(&program, &d) != KILL;
			}
			d.arch = other;
			wrong += simulate(&program, &d) != KILL;
		}
	}
	is_int(wrong, 0, "every call of a foreign architecture kills");
}

static uint32_t
expected_socket(uint32_t family, uint32_t type, uint32_t protocol, bool allow_unix)
{
	if (family == 1)
		return allow_unix ? ALLOW : ERR(EAFNOSUPPORT);
	if (family == 16)
		return protocol == 0 ? ALLOW : ERR(EPROTONOSUPPORT);
	if (family != 2 && family != 10)
		return ERR(EAFNOSUPPORT);
	if ((type & 15) == 1)
		return protocol == 0 || protocol == 6 ? ALLOW : ERR(EPROTONOSUPPORT);
	if ((type & 15) == 2)
		return protocol == 0 || protocol == 17 ? ALLOW : ERR(EPROTONOSUPPORT);
	return (type & 15) == 3 ? ERR(EPERM) : ERR(EPROTONOSUPPORT);
}

static void
test_sockets(bool allow_unix)
{
	static const uint64_t high[] = { 0, 1ull << 32, 0xffffffffull << 32 };
	static const uint32_t flags[] = {
		0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK, 0x10, 0x40000000
	};
	long nr, pair;
	int wrong = 0;

	if (filter_build(&program, FILTER_WORKFLOW, arch, allow_unix) < 0)
		wrong++;
	nr = number("socket");
	pair = number("socketpair");
	for (uint32_t family = 0; family < 64; family++)
		for (uint32_t type = 0; type < 16; type++)
			for (uint32_t protocol = 0; protocol < 300; protocol++)
				for (unsigned f = 0; f < 6; f++) {
					uint64_t h = high[(family + protocol) % 3];

					wrong += call(nr, family | h, type | flags[f] | h, protocol | h) !=
						 expected_socket(family, type, protocol, allow_unix);
				}
	wrong += call(nr, 0xffffffffu, 1, 0) != ERR(EAFNOSUPPORT);
	is_int(wrong, 0, allow_unix ? "socket: families, types, protocols" : "socket without AF_UNIX");
	wrong = 0;
	for (uint32_t family = 0; family < 64; family++)
		for (uint32_t type = 0; type < 16; type++)
			for (unsigned f = 0; f < 6; f++) {
				uint32_t want = family != 1                            ? ERR(EAFNOSUPPORT)
						: allow_unix || type == 1 || type == 5 ? ALLOW
										       : ERR(EPROTONOSUPPORT);

				wrong += call(pair, family, type | flags[f], 0) != want;
			}
	is_int(wrong, 0, allow_unix ? "socketpair" : "socketpair without AF_UNIX: streams only");
}

static void
test_arguments(void)
{
	static const uint32_t spaces[] = { CLONE_NEWNS,   0x02000000,   CLONE_NEWUTS, CLONE_NEWIPC,
					   CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
	const uint64_t up = 1ull << 32;
	int wrong = 0;

	if (filter_build(&program, FILTER_WORKFLOW, arch, true) < 0)
		wrong++;
	for (unsigned i = 0; i < 7; i++) {
		wrong += call(number("clone"), spaces[i], 0, 0) != ERR(EPERM);
		wrong += call(number("clone"), spaces[i] | SIGCHLD | CLONE_VM | up, 0, 0) != ERR(EPERM);
	}
	wrong += call(number("clone"), 0x3d0f00, 0, 0) != ALLOW;             /* what pthread_create passes */
	wrong += call(number("clone"), SIGCHLD | 0x01200000, 0, 0) != ALLOW; /* what fork passes */
	is_int(wrong, 0, "clone: threads and forks, no namespaces");
	is_int(call(number("clone3"), 0, 0, 0), ERR(ENOSYS), "clone3 does not exist");
	wrong = 0;
	wrong += call(number("ioctl"), 0, 0x5412, 0) != ERR(EPERM) ||
		 call(number("ioctl"), 0, 0x541c | up, 0) != ERR(EPERM);
	wrong += call(number("ioctl"), 0, 0x5401, 0) != ALLOW || call(number("ioctl"), 0, 0x5413, 0) != ALLOW;
	is_int(wrong, 0, "ioctl: no terminal injection");
	wrong = 0;
	for (uint32_t resource = 0; resource < 20; resource++) {
		uint32_t want = resource == RLIMIT_CORE ? ERR(EPERM) : ALLOW;

		wrong += call(number("prlimit64"), 0, resource, 0) != ALLOW;
		wrong += call(number("prlimit64"), 0, resource, 0x1000) != want;
		wrong += call(number("prlimit64"), 0, resource | up, up) != want;
		wrong += call(number("setrlimit"), resource | up, 0x1000, 0) != want;
	}
	is_int(wrong, 0, "core limit: read but not set, both halves of the pointer");
	wrong = 0;
	for (uint32_t mode = 0; mode < 16; mode++) {
		uint32_t want = mode == 0 || mode == 1 || mode == 8 ? ALLOW : ERR(EPERM);

		wrong += call(number("mknodat"), 0, 0, mode << 12 | 0644) != want;
		if (number("mknod") >= 0)
			wrong += call(number("mknod"), 0, mode << 12 | 0644, 0) != want;
	}
	is_int(wrong, 0, "mknod: pipes and files, no devices");
}

/* Each rule just inside and just outside, bit by bit: the kernel reads 32 bits of some arguments and 64 of others. */
static void
test_edges(bool allow_unix)
{
	const uint32_t spaces = 0x7e020000; /* CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET */
	const uint64_t top = 0xffffffffull << 32;
	int wrong = 0;

	is_int(filter_build(&program, FILTER_WORKFLOW, arch, allow_unix), 0, "edges: assembles");
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t one = 1u << bit, want = one & spaces ? ERR(EPERM) : ALLOW;

		wrong += call(number("clone"), one, 0, 0) != want || call(number("clone"), one | top, 0, 0) != want;
		wrong += call(number("clone"), ~spaces & ~one, 0, 0) != ALLOW;
		wrong += call(number("clone"), (uint64_t)one << 32, 0, 0) != ALLOW;
	}
	is_int(wrong, 0, "clone: each bit alone, high halves ignored");
	wrong = 0;
	for (uint32_t c = 0x5400; c < 0x5460; c++) {
		uint32_t want = c == 0x5412 || c == 0x541c || c == 0x5423 ? ERR(EPERM) : ALLOW;

		wrong += call(number("ioctl"), 0, c, 0) != want || call(number("ioctl"), 0, c | top, 0) != want;
	}
	for (unsigned bit = 0; bit < 32; bit++)
		wrong += call(number("ioctl"), 0, 0x5412 ^ 1u << bit, 0) != ALLOW;
	is_int(wrong, 0, "ioctl: TIOCSTI, TIOCLINUX, TIOCSETD, not their neighbours");
	wrong = 0;
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t one = 1ull << bit;

		wrong += call(number("prlimit64"), 0, RLIMIT_CORE, one) != ERR(EPERM);
		wrong += call(number("prlimit64"), 0, RLIMIT_CORE | top, one) != ERR(EPERM);
		wrong += call(number("prlimit64"), 0, RLIMIT_CORE - 1, one) != ALLOW;
		wrong += call(number("prlimit64"), 0, RLIMIT_CORE + 1, one) != ALLOW;
		if (bit >= 32)
			continue;
		wrong += call(number("setrlimit"), RLIMIT_CORE ^ one, 1, 0) != ALLOW;
		wrong += call(number("prlimit64"), 0, RLIMIT_CORE ^ one, 1) != ALLOW;
	}
	wrong += call(number("prlimit64"), 0, RLIMIT_CORE | top, 0) != ALLOW;
	is_int(wrong, 0, "limits: every bit of the pointer, and the resources beside");
	wrong = 0;
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t one = 1u << bit;

		wrong += call(number("socket"), 2u ^ one, 1, 0) != expected_socket(2u ^ one, 1, 0, allow_unix);
		wrong += call(number("socket"), 10u ^ one, 2, 0) != expected_socket(10u ^ one, 2, 0, allow_unix);
		wrong += call(number("socket"), 2, 1, 6u ^ one) != expected_socket(2, 1, 6u ^ one, allow_unix);
		wrong += call(number("socket"), 10, 2, 17u ^ one) != expected_socket(10, 2, 17u ^ one, allow_unix);
		wrong += call(number("socket"), 16, 3, one) != ERR(EPROTONOSUPPORT);
		wrong += call(number("socket"), 1 | top, 1, one) != (allow_unix ? ALLOW : ERR(EAFNOSUPPORT));
		wrong += call(number("socketpair"), 1u ^ one, 1, 0) != ERR(EAFNOSUPPORT);
		wrong += call(number("socketpair"), 1 | top, 1 | top, one) != ALLOW;
		wrong += call(number("socketpair"), 1 | top, 2 | top, 0) != (allow_unix ? ALLOW : ERR(EPROTONOSUPPORT));
	}
	is_int(wrong, 0, "sockets: each bit of family and protocol");
	wrong = 0;
	for (uint32_t mode = 0; mode < 0x10000; mode++) {
		uint32_t want = mode >> 12 == 0 || mode >> 12 == 1 || mode >> 12 == 8 ? ALLOW : ERR(EPERM);

		wrong += call(number("mknodat"), 0, 0, mode | top) != want;
		if (number("mknod") >= 0)
			wrong += call(number("mknod"), 0, mode | top, 0) != want;
	}
	is_int(wrong, 0, "mknod: every mode, high halves ignored");
	is_int(call(FILTER_NEWEST, 0, 0, 0), expected_workflow(FILTER_NEWEST, allow_unix), "the newest known number");
	is_int(call(FILTER_NEWEST + 1, 0, 0, 0), ERR(ENOSYS), "the one above it");
}

/* The numbers of x32, of both programs; executable memory bit by bit. */
static void
test_twins_edges(void)
{
	const uint32_t x32 = arch == FILTER_X86_64 ? KILL : ERR(ENOSYS);
	int wrong = 0;

	if (filter_build(&program, FILTER_WORKFLOW, arch, true) < 0)
		wrong++;
	for (long nr = 0; nr <= FILTER_NEWEST; nr++)
		wrong += call(nr | 0x40000000, 0, 0, 0) != x32;
	if (filter_build(&program, FILTER_TWINS, arch, false) < 0)
		wrong++;
	for (long nr = 0; nr <= FILTER_NEWEST; nr++)
		wrong += call(nr | 0x40000000, 0, 0, 0) != KILL;
	is_int(wrong, 0, "every number of x32, in both programs");
	wrong = 0;
	for (const struct filter_call *c = filter_twins_calls; c->name; c++)
		for (unsigned bit = 0; c->rule == RULE_NO_EXEC && bit < 64; bit++) {
			uint64_t one = 1ull << bit;

			wrong += call(c->number[arch], 0, 0, one) != (bit == 2 ? KILL : ALLOW);
			wrong += call(c->number[arch], 0, 0, one | 4) != KILL;
			wrong += call(c->number[arch], one, one, 3) != ALLOW;
		}
	is_int(wrong, 0, "twins: the one bit that makes memory executable");
}

static void
test_twins(void)
{
	int wrong = 0, allowed = 0;

	is_int(filter_build(&program, FILTER_TWINS, arch, false), 0, "twins filter assembles");
	for (long nr = 0; nr < 2000; nr++) {
		const struct filter_call *c = find(filter_twins_calls, nr);
		uint32_t got = call(nr, 0, 0, 0);

		wrong += got != (c && c->rule != RULE_STREAM && c->rule != RULE_CALLER ? ALLOW : KILL);
		allowed += got == ALLOW;
		if (c && c->rule == RULE_NO_EXEC)
			wrong += call(nr, 0, 0, 4) != KILL || call(nr, 0, 0, 7) != KILL || call(nr, 0, 0, 3) != ALLOW;
	}
	is_int(wrong, 0, "twins: nothing but the list, and no executable memory");
	ok(allowed < 60, "twins: %d calls", allowed);
	wrong = call(arch == FILTER_X86_64 ? 49 : 200, 0, 0, 0) != KILL; /* bind */
	wrong += call(arch == FILTER_X86_64 ? 50 : 201, 0, 0, 0) != ALLOW;
	is_int(wrong, 0, "twins: listen again, but never bind");
}

/* Twins that call the workflow: TCP and nothing else. */
static void
test_twins_callers(void)
{
	int wrong = 0;

	is_int(filter_build(&program, FILTER_TWINS, arch, true), 0, "twins that call: assembles");
	for (uint32_t family = 0; family < 50; family++)
		for (uint32_t type = 0; type < 12; type++)
			for (uint32_t protocol = 0; protocol < 300; protocol++) {
				bool allowed = (family == 2 || family == 10) && type == 1 &&
					       (protocol == 0 || protocol == 6);

				wrong += call(number("socket"), family, type | 0x80800, protocol) !=
					 (allowed ? ALLOW : KILL);
			}
	is_int(wrong, 0, "twins that call: TCP over IPv4 and IPv6 alone");
	wrong = call(arch == FILTER_X86_64 ? 42 : 203, 0, 0, 0) != ALLOW;
	for (long nr = 0; nr < 2000; nr++) {
		const struct filter_call *c = find(filter_twins_calls, nr);

		wrong += c == NULL && call(nr, 0, 0, 0) != KILL;
	}
	is_int(wrong, 0, "twins that call: nothing else besides");
}

/* Numbers against the headers of the machine that runs the test. */
static void
test_numbers(void)
{
	static const struct {
		const char *name;
		long nr;
	} known[] = {
#define N(x) { #x, SYS_##x }
		N(socket),
		N(socketpair),
		N(clone),
		N(unshare),
		N(setns),
		N(mount),
		N(umount2),
		N(pivot_root),
		N(chroot),
		N(ptrace),
		N(process_vm_readv),
		N(process_vm_writev),
		N(kcmp),
		N(bpf),
		N(perf_event_open),
		N(userfaultfd),
		N(add_key),
		N(request_key),
		N(keyctl),
		N(init_module),
		N(finit_module),
		N(delete_module),
		N(kexec_load),
		N(kexec_file_load),
		N(open_by_handle_at),
		N(clock_settime),
		N(settimeofday),
		N(adjtimex),
		N(clock_adjtime),
		N(personality),
		N(fanotify_init),
		N(fanotify_mark),
		N(quotactl),
		N(mknodat),
		N(acct),
		N(swapon),
		N(swapoff),
		N(syslog),
		N(reboot),
		N(sethostname),
		N(setdomainname),
		N(vhangup),
		N(lookup_dcookie),
		N(nfsservctl),
		N(move_pages),
		N(migrate_pages),
		N(setrlimit),
		N(prlimit64),
		N(ioctl),
		N(io_uring_setup),
		N(io_uring_enter),
		N(io_uring_register),
		N(clone3),
		N(open_tree),
		N(move_mount),
		N(fsopen),
		N(fsconfig),
		N(fsmount),
		N(fspick),
		N(mount_setattr),
		N(process_madvise),
		N(process_mrelease),
		N(pidfd_getfd),
		N(memfd_secret),
		N(quotactl_fd),
		N(read),
		N(write),
		N(readv),
		N(writev),
		N(close),
		N(recvfrom),
		N(sendto),
		N(recvmsg),
		N(sendmsg),
		N(accept),
		N(accept4),
		N(shutdown),
		N(listen),
		N(getsockname),
		N(getpeername),
		N(setsockopt),
		N(getsockopt),
		N(fcntl),
		N(ppoll),
		N(epoll_create1),
		N(epoll_ctl),
		N(epoll_pwait),
		N(brk),
		N(mmap),
		N(mprotect),
		N(munmap),
		N(mremap),
		N(madvise),
		N(clock_gettime),
		N(gettimeofday),
		N(clock_nanosleep),
		N(nanosleep),
		N(getrandom),
		N(futex),
		N(sched_yield),
		N(rt_sigaction),
		N(rt_sigprocmask),
		N(rt_sigreturn),
		N(restart_syscall),
		N(getpid),
		N(gettid),
		N(tgkill),
		N(tkill),
		N(exit),
		N(exit_group),
#ifdef SYS_mknod
		N(mknod),
		N(modify_ldt),
		N(iopl),
		N(ioperm),
		N(uselib),
		N(_sysctl),
		N(poll),
		N(epoll_wait),
#endif
	};
	const struct filter_call *tables[] = { filter_workflow_calls, filter_twins_calls };
	int wrong = 0, seen = 0;

	for (unsigned t = 0; t < 2; t++)
		for (const struct filter_call *c = tables[t]; c->name; c++)
			for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
				if (strcmp(c->name, known[i].name) == 0) {
					seen++;
					if (c->number[filter_arch_native()] != known[i].nr) {
						printf("# %s is %ld here\n", c->name, known[i].nr);
						wrong++;
					}
				}
	is_int(wrong, 0, "numbers are those of this machine's headers");
	ok(seen >= (int)(sizeof(known) / sizeof(known[0])), "%d numbers compared", seen);
}

static void
test_digest(void)
{
	uint8_t a[32], b[32], c[32];

	is_int(filter_build(&program, FILTER_WORKFLOW, FILTER_X86_64, true), 0, "again");
	filter_digest(&program, a);
	is_int(filter_build(&program, FILTER_WORKFLOW, FILTER_X86_64, true), 0, "again");
	filter_digest(&program, b);
	is_int(filter_build(&program, FILTER_WORKFLOW, FILTER_X86_64, false), 0, "again");
	filter_digest(&program, c);
	ok(memcmp(a, b, 32) == 0 && memcmp(a, c, 32) != 0, "the digest is the program's");
}

/* Under the real filter: bits of the exit status say what went wrong. */
static int
live_workflow(bool allow_unix)
{
	int bad = 0, fds[2];
	struct rlimit l;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_build(&program, FILTER_WORKFLOW, filter_arch_native(), allow_unix) < 0 ||
	    filter_install(&program) < 0)
		return 255;
	bad |= socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? 1 : 0;
	bad |= socket(40, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT ? 2 : 0;
	bad |= socket(AF_INET, SOCK_STREAM, 262) != -1 || errno != EPROTONOSUPPORT ? 4 : 0;
	bad |= (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) != allow_unix ? 8 : 0;
	bad |= syscall(425, 1, NULL) != -1 || errno != ENOSYS ? 16 : 0;
	bad |= unshare(CLONE_NEWUSER) != -1 || errno != EPERM ? 32 : 0;
	bad |= socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 || getrlimit(RLIMIT_CORE, &l) < 0 ||
			       setrlimit(RLIMIT_CORE, &l) == 0
		       ? 64
		       : 0;
	return bad;
}

static int
in_child(int (*run)(bool), bool arg)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(run(arg));
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int
live_twins(bool kill_it)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_build(&program, FILTER_TWINS, filter_arch_native(), false) < 0 || filter_install(&program) < 0)
		return 255;
	if (kill_it)
		syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
	syscall(SYS_exit_group, 0);
	return 1;
}

/* "#define __NR_name 12" or "__NR3264_name": what aarch64 takes from the generic list. */
static bool
header_line(const char *line, char name[static 64], long *nr)
{
	char rest[8];

	return (sscanf(line, "#define __NR_%63[a-z0-9_] %ld%7s", name, nr, rest) == 2 ||
		sscanf(line, "#define __NR3264_%63[a-z0-9_] %ld%7s", name, nr, rest) == 2) &&
	       strcmp(name, "syscalls") != 0;
}

/* The machine that this is not: its numbers against the kernel's own generic table, which any Linux header package has. */
static void
test_generic(const struct filter_call *calls, const char *what)
{
	FILE *f = fopen("/usr/include/asm-generic/unistd.h", "re");
	char line[256], name[64];
	long nr, wrong = 0, seen = 0, known = 0;

	if (!f) {
		skip("aarch64: asm-generic/unistd.h is not installed");
		return;
	}
	for (const struct filter_call *c = calls; c->name; c++)
		known += c->number[FILTER_AARCH64] >= 0;
	while (fgets(line, sizeof(line), f)) {
		if (!header_line(line, name, &nr))
			continue;
		for (const struct filter_call *c = calls; c->name; c++) {
			bool same = strcmp(c->name, name) == 0;

			/* Neither another number for the name, nor another name for the number. */
			if (same != (c->number[FILTER_AARCH64] == nr)) {
				printf("# %s: %s is %ld in the header, %s is %d in the table\n", what, name, nr,
				       c->name, c->number[FILTER_AARCH64]);
				wrong++;
			}
			seen += same;
		}
	}
	fclose(f);
	ok(wrong == 0, "aarch64: the numbers of %s are those of the generic table", what);
	/* An old package lacks the newest calls, a new one those that were removed. */
	ok(seen * 10 >= known * 8, "aarch64: of %ld calls of %s the header has %ld", known, what, seen);
}

int
main(void)
{
	for (int a = 0; a < 2; a++) {
		arch = a ? FILTER_AARCH64 : FILTER_X86_64;
		test_all_numbers(true);
		test_all_numbers(false);
		test_arch();
		test_sockets(true);
		test_sockets(false);
		test_arguments();
		test_edges(true);
		test_edges(false);
		test_twins();
		test_twins_callers();
		test_twins_edges();
	}
	arch = filter_arch_native();
	test_numbers();
	test_generic(filter_workflow_calls, "the workflow's list");
	test_generic(filter_twins_calls, "the twins' list");
	test_digest();
	is_int(in_child(live_workflow, true), 0, "live: the workflow's filter");
	is_int(in_child(live_workflow, false), 0, "live: the workflow's filter without AF_UNIX");
	is_int(in_child(live_twins, false), 0, "live: the twins may end");
	is_int(in_child(live_twins, true), 1000 + SIGSYS, "live: the twins may open no socket");
	return tap_done();
}
