/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin.h - the unprivileged process that plays the synthetic services.  Started by the monitor with everything it needs
 * already open; has no files, no exec, no new listeners. */
#ifndef GUEST_TWIN_H
#define GUEST_TWIN_H
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

#define TWIN_BACKLOG 511 /* connections that wait in a listener */

struct twin_start {
	int records; /* SEQPACKET socket to the monitor, record.h */
	size_t listeners_len;
	int listeners[PLAN_SERVICES_MAX];        /* listening TCP sockets, index = service; non-blocking */
	int dns;                                 /* UDP socket of the DNS stub; -1: none */
	uint8_t addresses[PLAN_SERVICES_MAX][4]; /* of the services, for the stub's answers */
};
/* The process's main after the drop: reads RECORD_CONFIG, serves until RECORD_FINISH, returns the exit status (0 after
 * RECORD_DONE).  Allocates (cJSON, state) within limits.state_bytes and documented buffers; never returns early without
 * having tried to send RECORD_FAILED. */
int twin_main(const struct twin_start *start) __attribute__((warn_unused_result, nonnull));
#endif
