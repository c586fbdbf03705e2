/* SPDX-License-Identifier: GPL-2.0-or-later
 * record.h - messages between the root monitor and the unprivileged twins, over one SOCK_SEQPACKET socket pair.
 *
 * Each message is one packet: u8 type, u8 flags (RECORD_MORE), then at most RECORD_BODY_MAX bytes.  A record longer than
 * that is sent as several packets of the same type with RECORD_MORE on all but the last; records never interleave.
 * The monitor never looks into a body: it checks type, phase, once-or-many and length, and copies it into a frame. */
#ifndef GUEST_RECORD_H
#define GUEST_RECORD_H
#include <stddef.h>
#include <stdint.h>

#define RECORD_MORE 1u
#define RECORD_BODY_MAX \
	65535u /* so that a state frame, which prefixes two bytes... never exceeds FRAME_BODY_MAX with one */
#define RECORD_CA_MAX 8192u
#define RECORD_CHUNK 61440u /* what senders use */

enum record_type {
	/* monitor to twins */
	RECORD_CONFIG = 1,  /* the TWINS JSON; once, first */
	RECORD_FINISH = 2,  /* the workflow is dead: send final state, then RECORD_DONE, then exit 0 */
	RECORD_STARTED = 3, /* empty: the workflow runs; once, of a driven one (PLAN_DRIVEN) */
	RECORD_OUTPUT = 4,  /* bytes of its stdout, in order, until RECORD_READY came (PLAN_READY_LINE) */
	/* twins to monitor */
	RECORD_SERVING = 10, /* empty: configuration accepted, initial state sent, listeners served; once */
	RECORD_STATE =
		11, /* u8 phase (1 initial, 2 final), u8 service index, JSON (first packet only has the two bytes) */
	RECORD_OP = 12,        /* JSON, one operation, 05-receipt */
	RECORD_LOG = 13,       /* u8 level (1 error 2 warning 3 note), text */
	RECORD_TRUNCATED = 14, /* body of a TRUNCATED frame, proto/plan.h */
	RECORD_DONE = 15,      /* empty: after the last STATE(final); once, last */
	RECORD_FAILED = 16,    /* text: the twins cannot go on; last */
	RECORD_CA = 17,        /* PEM of the run's authority, at most RECORD_CA_MAX bytes; once, before SERVING */
	RECORD_READY = 18,     /* empty: the workflow is ready (PLAN_READY); once, after RECORD_STARTED */
	RECORD_SIGNAL = 19,    /* u8 number out of RECORD_SIGNALS: to be sent to the workflow (PLAN_DRIVEN) */
	RECORD_END = 20,       /* empty: the workflow is to be ended, as the world says (PLAN_DRIVEN); once */
};
/* Numbers that RECORD_SIGNAL may have: HUP, INT, USR1, USR2, TERM, CONT, WINCH. */
#define RECORD_SIGNALS "\1\2\12\14\17\22\34"
#endif
