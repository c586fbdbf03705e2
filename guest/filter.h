/* SPDX-License-Identifier: GPL-2.0-or-later
 * filter.h - syscall filters, assembled from a table: what the workflow may not call, and the little that the twins may. */
#ifndef GUEST_FILTER_H
#define GUEST_FILTER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_CODE_MAX 1024u

enum filter_kind {
	FILTER_WORKFLOW, /* all but a list; answers errors */
	FILTER_TWINS,    /* nothing but a list; kills */
};
enum filter_arch { FILTER_X86_64, FILTER_AARCH64 };

struct filter_code { /* struct sock_filter of linux/filter.h */
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};
struct filter_program {
	uint16_t len; /* instructions */
	bool failed;  /* private: did not fit */
	struct filter_code code[FILTER_CODE_MAX];
};

/* What a table says about one call. */
enum filter_rule {
	RULE_EPERM,
	RULE_ENOSYS,
	RULE_ALLOW,
	RULE_SOCKET,
	RULE_SOCKETPAIR,
	RULE_CLONE,
	RULE_IOCTL,
	RULE_PRLIMIT,
	RULE_SETRLIMIT,
	RULE_MKNOD,
	RULE_MKNODAT,
	RULE_NO_EXEC, /* mmap, mprotect: never executable */
	RULE_STREAM,  /* socket of the twins: TCP, and only where they have somebody to call */
	RULE_CALLER,  /* what goes with it */
};
struct filter_call {
	const char *name;
	int16_t number[2]; /* by enum filter_arch; -1: no such call */
	uint8_t rule;      /* enum filter_rule */
};
extern const struct filter_call filter_workflow_calls[], filter_twins_calls[]; /* end with a NULL name */
/* The newest call known to the tables: higher numbers answer ENOSYS to the workflow. */
#define FILTER_NEWEST 469

enum filter_arch filter_arch_native(void);
/* Assembles.  allow: the workflow may open AF_UNIX sockets (only where a mount namespace hides foreign paths); the twins may
 * open TCP connections (only where the world has them call the workflow).  0, or -ENOSPC. */
int filter_build(struct filter_program *p, enum filter_kind kind, enum filter_arch arch, bool allow)
	__attribute__((warn_unused_result, nonnull));
/* Installs it for this process, its threads and children for good.  no_new_privs must be set before. */
int filter_install(const struct filter_program *p) __attribute__((warn_unused_result, nonnull));
/* SHA-256 over the program's bytes. */
void filter_digest(const struct filter_program *p, uint8_t out[static 32]) __attribute__((nonnull));

#endif
