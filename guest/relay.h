/* SPDX-License-Identifier: GPL-2.0-or-later
 * relay.h - from the twins' records to frames.  One table says which record may come when, how often and how long; a body is
 * copied, never read. */
#ifndef GUEST_RELAY_H
#define GUEST_RELAY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/outbox.h"
#include "guest/record.h"

enum relay_phase { RELAY_STARTING, RELAY_SERVING, RELAY_FINISHING, RELAY_DONE };

struct relay {
	int fd; /* SEQPACKET to the twins, non-blocking; -1 none */
	enum relay_phase phase;
	uint8_t open_type;     /* private: record with MORE pending */
	uint64_t open_len;     /* private */
	const uint8_t *config; /* borrowed: what is still to be sent of the TWINS section */
	size_t config_len;
	bool config_sent, finish_wanted, finish_sent;
	bool final_seen;           /* private: a final state came, so no operation may */
	uint64_t operations;       /* relayed so far */
	uint8_t ca[RECORD_CA_MAX]; /* PEM of the run's authority, as it came; for a file, never read here */
	size_t ca_len;             /* 0: none came */
	/* of a driven workflow */
	bool driven, wants_ready; /* what the plan allows: PLAN_DRIVEN, PLAN_READY */
	bool started_wanted, started_sent;
	bool ready, end;       /* they said so */
	uint32_t signals;      /* bit n: signal n is to be sent; the monitor clears it */
	const uint8_t *output; /* borrowed: stdout that they are still to see */
	size_t output_len;
	char problem[300]; /* of the failure, printable */
};
void relay_init(struct relay *r, int fd, const void *config, size_t len) __attribute__((nonnull(1)));
/* Sends what is due to the twins and takes what has come while the outbox has room.  Returns records taken, or -errno with
 * r->problem: -EPROTO a record that may not come, -EPIPE the twins are gone, -ECANCELED they said that they cannot go on. */
int relay_pump(struct relay *r, struct outbox *o) __attribute__((warn_unused_result, nonnull));
/* What the pump does with one packet of len bytes: 0, or -errno with r->problem.  The outbox has room. */
int relay_take(struct relay *r, struct outbox *o, const uint8_t *packet, size_t len)
	__attribute__((warn_unused_result, nonnull));
bool relay_wants_write(const struct relay *r) __attribute__((nonnull));
/* The workflow runs: tell the twins. */
void relay_started(struct relay *r) __attribute__((nonnull));
/* Bytes of its stdout for the twins, as far as they go at once; data stays where it is until output_len is 0. */
void relay_output(struct relay *r, const uint8_t *data, size_t len) __attribute__((nonnull));
/* The workflow is dead: ask for the final state. */
void relay_finish(struct relay *r) __attribute__((nonnull));
void relay_close(struct relay *r) __attribute__((nonnull));

#endif
