/* SPDX-License-Identifier: GPL-2.0-or-later
 * filter.c - see filter.h.  A small assembler of classic BPF: for each call of the table a comparison and a block that always
 * returns, one after another.
 *
 * Runs as: the identity after the drop (installing); building is pure.  Input: a table of our own and one flag.
 * The kernel hands integers of 32 bits to most calls: those are compared by their low half alone, because it ignores the other;
 * what it reads as a pointer is compared by both halves. */
#include "guest/filter.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "proto/frame.h"

_Static_assert(sizeof(struct filter_code) == sizeof(struct sock_filter), "filter_code is sock_filter");

#define NR offsetof(struct seccomp_data, nr)
#define ARCH offsetof(struct seccomp_data, arch)
#define LOW(n) (offsetof(struct seccomp_data, args) + 8u * (n)) /* both machines are little-endian */
#define HIGH(n) (LOW(n) + 4u)
#define ERR(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define X32_BIT 0x40000000u

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWTIME lies in the exit signal's bits of clone(2). */
#define CLONE_NAMESPACES 0x7e020000u
#define TYPE_MASK 0xfu /* of a socket type: the rest are flags */
#define RESOURCE_CORE 4u
#define PROT_EXEC_BIT 4u
#define IOCTL_TIOCSTI 0x5412u
#define IOCTL_TIOCLINUX 0x541cu
#define IOCTL_TIOCSETD 0x5423u

static void
emit(struct filter_program *p, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
	if (p->len >= FILTER_CODE_MAX || jt > 255 || jf > 255) {
		p->failed = true;
		return;
	}
	p->code[p->len++] = (struct filter_code){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
}

static void
load(struct filter_program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void
mask(struct filter_program *p, uint32_t bits)
{
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, bits);
}

static void
ret(struct filter_program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, 0, 0, action);
}

/* if (A == k) return action; */
static void
ret_if(struct filter_program *p, uint32_t k, uint32_t action)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	ret(p, action);
}

/* Opens "if (A == k) {"; close_block ends it.  The block must return on every path. */
static unsigned
open_block(struct filter_program *p, uint32_t k)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, k);
	return p->len ? p->len - 1u : 0;
}

static void
close_block(struct filter_program *p, unsigned at)
{
	unsigned skip = p->len - at - 1u;

	if (skip > 255 || p->failed)
		p->failed = true;
	else
		p->code[at].jf = (uint8_t)skip;
}

/* A stream over TCP or a datagram over UDP, by number or by default; nothing raw, no other transport. */
static void
emit_inet(struct filter_program *p, uint32_t family)
{
	unsigned block = open_block(p, family), type;

	load(p, LOW(1));
	mask(p, TYPE_MASK);
	type = open_block(p, 1);
	load(p, LOW(2));
	ret_if(p, 0, SECCOMP_RET_ALLOW);
	ret_if(p, 6, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPROTONOSUPPORT));
	close_block(p, type);
	type = open_block(p, 2);
	load(p, LOW(2));
	ret_if(p, 0, SECCOMP_RET_ALLOW);
	ret_if(p, 17, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPROTONOSUPPORT));
	close_block(p, type);
	ret_if(p, 3, ERR(EPERM)); /* raw: what the kernel itself answers */
	ret(p, ERR(EPROTONOSUPPORT));
	close_block(p, block);
}

static void
emit_socket(struct filter_program *p, bool allow_unix)
{
	unsigned block;

	load(p, LOW(0));
	emit_inet(p, 2);
	emit_inet(p, 10);
	if (allow_unix)
		ret_if(p, 1, SECCOMP_RET_ALLOW);
	block = open_block(p, 16); /* netlink: getifaddrs needs the route protocol, with a raw type */
	load(p, LOW(2));
	ret_if(p, 0, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPROTONOSUPPORT));
	close_block(p, block);
	ret(p, ERR(EAFNOSUPPORT));
}

/* A datagram pair could be pointed at a named socket afterwards, so it goes only where naming is allowed. */
static void
emit_socketpair(struct filter_program *p, bool allow_unix)
{
	load(p, LOW(0));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1);
	ret(p, ERR(EAFNOSUPPORT));
	if (allow_unix) {
		ret(p, SECCOMP_RET_ALLOW);
		return;
	}
	load(p, LOW(1));
	mask(p, TYPE_MASK);
	ret_if(p, 1, SECCOMP_RET_ALLOW);
	ret_if(p, 5, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPROTONOSUPPORT));
}

/* Only named pipes and regular files may be made: arg is where the mode stands. */
static void
emit_mknod(struct filter_program *p, unsigned arg)
{
	load(p, LOW(arg));
	mask(p, 0xf000u);
	ret_if(p, 0x1000u, SECCOMP_RET_ALLOW);
	ret_if(p, 0x8000u, SECCOMP_RET_ALLOW);
	ret_if(p, 0, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPERM));
}

/* Reading the limit (a NULL new value) goes on working. */
static void
emit_prlimit(struct filter_program *p)
{
	unsigned block;

	load(p, LOW(1));
	block = open_block(p, RESOURCE_CORE);
	load(p, LOW(2));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
	ret(p, ERR(EPERM));
	load(p, HIGH(2));
	ret_if(p, 0, SECCOMP_RET_ALLOW);
	ret(p, ERR(EPERM));
	close_block(p, block);
	ret(p, SECCOMP_RET_ALLOW);
}

/* TCP over IPv4 and IPv6, nothing else.  Where nobody is to be called the twins' list does not have the call. */
static void
emit_stream(struct filter_program *p, bool allow)
{
	static const uint32_t families[] = { 2, 10 };

	if (!allow) {
		ret(p, SECCOMP_RET_KILL_PROCESS);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		unsigned family, type;

		load(p, LOW(0));
		family = open_block(p, families[i]);
		load(p, LOW(1));
		mask(p, TYPE_MASK);
		type = open_block(p, 1);
		load(p, LOW(2));
		ret_if(p, 0, SECCOMP_RET_ALLOW);
		ret_if(p, 6, SECCOMP_RET_ALLOW);
		ret(p, SECCOMP_RET_KILL_PROCESS);
		close_block(p, type);
		ret(p, SECCOMP_RET_KILL_PROCESS);
		close_block(p, family);
	}
	ret(p, SECCOMP_RET_KILL_PROCESS);
}

static void
emit_rule(struct filter_program *p, enum filter_rule rule, bool allow)
{
	switch (rule) {
	case RULE_EPERM:
		ret(p, ERR(EPERM));
		break;
	case RULE_ENOSYS:
		ret(p, ERR(ENOSYS));
		break;
	case RULE_ALLOW:
		ret(p, SECCOMP_RET_ALLOW);
		break;
	case RULE_SOCKET:
		emit_socket(p, allow);
		break;
	case RULE_SOCKETPAIR:
		emit_socketpair(p, allow);
		break;
	case RULE_CLONE:
		load(p, LOW(0));
		mask(p, CLONE_NAMESPACES);
		ret_if(p, 0, SECCOMP_RET_ALLOW);
		ret(p, ERR(EPERM));
		break;
	case RULE_IOCTL:
		load(p, LOW(1));
		ret_if(p, IOCTL_TIOCSTI, ERR(EPERM));
		ret_if(p, IOCTL_TIOCLINUX, ERR(EPERM));
		ret_if(p, IOCTL_TIOCSETD, ERR(EPERM));
		ret(p, SECCOMP_RET_ALLOW);
		break;
	case RULE_PRLIMIT:
		emit_prlimit(p);
		break;
	case RULE_SETRLIMIT:
		load(p, LOW(0));
		ret_if(p, RESOURCE_CORE, ERR(EPERM));
		ret(p, SECCOMP_RET_ALLOW);
		break;
	case RULE_MKNOD:
		emit_mknod(p, 1);
		break;
	case RULE_MKNODAT:
		emit_mknod(p, 2);
		break;
	case RULE_STREAM:
		emit_stream(p, allow);
		break;
	case RULE_CALLER:
		ret(p, allow ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
		break;
	case RULE_NO_EXEC:
		load(p, LOW(2));
		mask(p, PROT_EXEC_BIT);
		ret_if(p, 0, SECCOMP_RET_ALLOW);
		ret(p, SECCOMP_RET_KILL_PROCESS);
		break;
	}
}

int
filter_build(struct filter_program *p, enum filter_kind kind, enum filter_arch arch, bool allow)
{
	const struct filter_call *c = kind == FILTER_WORKFLOW ? filter_workflow_calls : filter_twins_calls;

	p->len = 0;
	p->failed = false;
	load(p, ARCH);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch == FILTER_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, NR);
	if (arch == FILTER_X86_64) {
		emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
		ret(p, SECCOMP_RET_KILL_PROCESS);
	}
	if (kind == FILTER_WORKFLOW) {
		emit(p, BPF_JMP | BPF_JGT | BPF_K, 0, 1, FILTER_NEWEST);
		ret(p, ERR(ENOSYS));
	}
	for (; c->name; c++) {
		unsigned block;

		if (c->number[arch] < 0)
			continue;
		block = open_block(p, (uint32_t)c->number[arch]);
		emit_rule(p, (enum filter_rule)c->rule, allow);
		close_block(p, block);
	}
	ret(p, kind == FILTER_WORKFLOW ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
	return p->failed ? -ENOSPC : 0;
}

enum filter_arch
filter_arch_native(void)
{
#if defined(__aarch64__)
	return FILTER_AARCH64;
#else
	return FILTER_X86_64; /* on any other machine its filter kills at the first call */
#endif
}

int
filter_install(const struct filter_program *p)
{
	struct {
		unsigned short len;
		const struct filter_code *code;
	} program = { p->len, p->code }; /* struct sock_fprog, whose pointer is not const */

	if (p->len == 0 || p->failed)
		return -EINVAL;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno; /* 0 is final: asking for it again would be a call that the twins' list does not have */
	return 0;
}

void
filter_digest(const struct filter_program *p, uint8_t out[static 32])
{
	sha256_of(p->code, p->len * sizeof(p->code[0]), out);
}
