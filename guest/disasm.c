/* SPDX-License-Identifier: GPL-2.0-or-later
 * disasm.c - see disasm.h.
 *
 * Runs as: the caller of `audit`, never in a run.  Input: a program of our own.
 * Jumps only go forward, so one pass knows what the accumulator holds at each instruction: where two ways meet with different
 * contents it is "A". */
#include "guest/disasm.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "proto/plan.h"

/* What the accumulator holds on every way to an instruction. */
struct content {
	bool reached, known;
	uint32_t offset; /* in struct seccomp_data */
	uint32_t mask;   /* ~0: all of the word */
};

static void
meet(struct content *at, const struct content *with)
{
	bool same = at->known && with->known && at->offset == with->offset && at->mask == with->mask;

	if (!at->reached)
		*at = *with;
	else
		at->known = same;
	at->reached = true;
}

static const char *
call_name(enum filter_arch arch, uint32_t number)
{
	const struct filter_call *const tables[] = { filter_workflow_calls, filter_twins_calls };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct filter_call *c = tables[i]; c->name; c++)
			if (c->number[arch] >= 0 && (uint32_t)c->number[arch] == number)
				return c->name;
	return NULL;
}

static void
write_word(struct writer *w, uint32_t offset)
{
	const uint32_t args = offsetof(struct seccomp_data, args);

	if (offset == offsetof(struct seccomp_data, nr))
		write_text(w, "nr");
	else if (offset == offsetof(struct seccomp_data, arch))
		write_text(w, "arch");
	else if (offset >= args && offset % 4 == 0 && offset < sizeof(struct seccomp_data))
		write_format(w, "arg%u%s", (offset - args) / 8, (offset - args) % 8 ? ".high" : "");
	else
		write_format(w, "word %u", offset);
}

static void
write_content(struct writer *w, const struct content *c)
{
	if (!c->known) {
		write_text(w, "A");
		return;
	}
	write_word(w, c->offset);
	if (c->mask != ~0u)
		write_format(w, " & 0x%x", c->mask);
}

static void
write_action(struct writer *w, uint32_t k)
{
	uint32_t data = k & SECCOMP_RET_DATA;

	switch (k & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		write_text(w, "allow");
		break;
	case SECCOMP_RET_KILL_PROCESS:
		write_text(w, "kill process");
		break;
	case SECCOMP_RET_ERRNO:
		write_format(w, "errno %u %s", data, errno_name((int)data));
		break;
	default:
		write_format(w, "action 0x%08x", k);
	}
}

/* The operand, in the base and with the name that its comparison calls for. */
static void
write_operand(struct writer *w, const struct content *c, uint32_t k, enum filter_arch arch)
{
	const char *name = NULL;

	if (!c->known || c->mask != ~0u || c->offset >= offsetof(struct seccomp_data, args)) {
		write_format(w, "0x%x", k);
		return;
	}
	if (c->offset == offsetof(struct seccomp_data, nr))
		name = call_name(arch, k);
	else if (k == AUDIT_ARCH_X86_64 || k == AUDIT_ARCH_AARCH64)
		name = k == AUDIT_ARCH_X86_64 ? "x86_64" : "aarch64";
	write_format(w, c->offset == offsetof(struct seccomp_data, nr) && k < 0x10000 ? "%u" : "0x%x", k);
	if (name)
		write_format(w, " (%s)", name);
}

static void
write_jump(struct writer *w, const struct filter_code *c, unsigned at, const struct content *a, enum filter_arch arch)
{
	const char *op = NULL;

	switch (BPF_OP(c->code)) {
	case BPF_JEQ:
		op = "==";
		break;
	case BPF_JGT:
		op = ">";
		break;
	case BPF_JGE:
		op = ">=";
		break;
	case BPF_JSET:
		op = "&";
		break;
	case BPF_JA:
		write_format(w, "goto %u", at + 1 + c->k);
		return;
	}
	write_text(w, "if ");
	write_content(w, a);
	write_format(w, " %s ", op ? op : "?");
	write_operand(w, a, c->k, arch);
	write_format(w, " goto %u else %u", at + 1 + c->jt, at + 1 + c->jf);
}

/* One instruction as text; *a becomes what the accumulator holds behind it. */
static void
write_one(struct writer *w, const struct filter_code *c, unsigned at, struct content *a, enum filter_arch arch)
{
	switch (c->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		*a = (struct content){ true, true, c->k, ~0u };
		write_text(w, "load ");
		write_word(w, c->k);
		return;
	case BPF_ALU | BPF_AND | BPF_K:
		a->mask &= c->k;
		write_format(w, "and 0x%x", c->k);
		return;
	case BPF_RET | BPF_K:
		write_text(w, "return ");
		write_action(w, c->k);
		return;
	}
	if (BPF_CLASS(c->code) == BPF_JMP && BPF_SRC(c->code) == BPF_K && BPF_OP(c->code) <= BPF_JSET) {
		write_jump(w, c, at, a, arch);
		return;
	}
	a->known = false;
	write_format(w, "instruction 0x%04x %u %u 0x%08x", (unsigned)c->code, (unsigned)c->jt, (unsigned)c->jf, c->k);
}

static void
flow(struct content *at, const struct filter_program *p, size_t to, const struct content *a)
{
	if (to < p->len)
		meet(&at[to], a);
}

void
disasm_write(struct writer *w, const struct filter_program *p, enum filter_arch arch)
{
	static struct content at[FILTER_CODE_MAX];

	memset(at, 0, sizeof(at));
	at[0].reached = true;
	for (unsigned i = 0; i < p->len; i++) {
		const struct filter_code *c = &p->code[i];
		struct content a = at[i];
		unsigned class = BPF_CLASS(c->code);

		write_format(w, "%4u  ", i);
		write_one(w, c, i, &a, arch);
		write_text(w, at[i].reached ? "\n" : "  # never reached\n");
		if (!at[i].reached || class == BPF_RET)
			continue;
		if (class != BPF_JMP) {
			flow(at, p, i + 1u, &a);
		} else if (BPF_OP(c->code) == BPF_JA) {
			flow(at, p, (size_t)i + 1u + c->k, &a);
		} else {
			flow(at, p, i + 1u + c->jt, &a);
			flow(at, p, i + 1u + c->jf, &a);
		}
	}
}
