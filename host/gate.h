/* SPDX-License-Identifier: GPL-2.0-or-later
 * gate.h - whether the evidence of the firewall is good enough to let the workflow start, and to believe a run afterwards.
 * The evidence comes from inside the sandbox and is read as an attacker's.  Pure. */
#ifndef HOST_GATE_H
#define HOST_GATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define GATE_BYTES_MAX (1u << 20) /* of one FIREWALL record; a real one has about 60 KiB */
#define GATE_LOCKS_MAX 2u

struct gate_want {             /* what the host knows beforehand */
	uint16_t control_port; /* of the backend; 0: none, and then nothing is pinned */
	uint32_t workflow_uid, workflow_gid, twins_uid;
};
struct gate {
	char policy_sha256[65]; /* computed by the host itself */
	size_t locks_len;       /* of the accepted opening */
	char text_sha256[GATE_LOCKS_MAX][65];
	char binding_sha256[GATE_LOCKS_MAX][65];
	char filter_sha256[65];
	uint64_t generation[GATE_LOCKS_MAX], foreign[GATE_LOCKS_MAX]; /* of the opening */
	bool inner_room;
};
/* Computes the policy digest for a control port, raw and as text.  0 or -errno. */
int gate_policy(uint16_t control_port, uint8_t digest[static 32]) __attribute__((warn_unused_result, nonnull));
/* Judges FIREWALL(opening), phase 1, or FIREWALL(closing), phase 2, which must show the same rules as the opening did.
 * 0: accepted.  -EPERM refused, -EPROTO malformed; why says which field.  *g is filled by an accepted opening. */
int gate_check(struct gate *g, const struct gate_want *want, unsigned phase, const struct cJSON *doc,
	       char why[static 320]) __attribute__((warn_unused_result, nonnull));
#endif
