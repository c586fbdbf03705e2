/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence.h - what the guest states about itself and the boundary, as the JSON bodies of HELLO, FIREWALL and DENIED
 * (agenttwin-frames(7)).  Writes only; everything written comes from the kernel or from constants. */
#ifndef GUEST_EVIDENCE_H
#define GUEST_EVIDENCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firewall/fw.h"
#include "guest/attempt.h"
#include "guest/room.h"
#include "proto/cursor.h"

struct evidence {
	unsigned phase;     /* 1 opening, 2 closing, 3 changed */
	uint8_t policy[32]; /* digest of both templates; all zero on local */
	bool sandbox, af_unix;
	const struct room *room;
	const struct fw_lock *locks; /* locks_len of them */
	unsigned locks_len;
	uint32_t uid, gid;
	uint8_t filter[32], filter_twins[32]; /* digests of the syscall filters */
	const struct attempt *attempts;       /* attempts_len of them */
	unsigned attempts_len;
	const struct fw_failure *failure; /* NULL none */
};
void evidence_firewall(struct writer *w, const struct evidence *e) __attribute__((nonnull));

/* Cumulative, less what base counted (the probes' own packets); rows as the locks hold them. */
void evidence_denied(struct writer *w, const struct fw_lock *locks, const struct fw_counters *base, unsigned locks_len)
	__attribute__((nonnull));

/* version: what was chosen; sha256: of this program. */
void evidence_hello(struct writer *w, int version, const uint8_t sha256[static 32]) __attribute__((nonnull));
/* SHA-256 of /proc/self/exe.  0 or -errno. */
int evidence_self(uint8_t sha256[static 32]) __attribute__((warn_unused_result));

#endif
