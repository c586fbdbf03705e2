/* SPDX-License-Identifier: GPL-2.0-or-later
 * outbox.h - the guest's end of the stream to the host: frames go into a bounded buffer and leave when the host reads.
 * Who produces much (output, records) asks outbox_has_room first and waits in the poll loop, so a slow host slows the run
 * down and never grows the guest.  What must go out at the end may wait for the host, but for a bounded time. */
#ifndef GUEST_OUTBOX_H
#define GUEST_OUTBOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

#define OUTBOX_SIZE (1u << 20) /* bytes; a DENIED of the largest size and frames beside it */
#define OUTBOX_WAIT_MS 30000u  /* a host that reads nothing for so long is lost */

struct outbox {
	int fd;            /* borrowed, non-blocking */
	int error;         /* -errno of the first failed write, sticks; nothing is sent after it */
	uint64_t progress; /* bytes that left */
	size_t at, len;    /* private: bytes [at, at + len) of buf wait */
	struct frame_sender sender;
	uint8_t buf[OUTBOX_SIZE];
};
void outbox_init(struct outbox *o, int fd, const uint8_t random[static FRAME_RANDOM_LEN]) __attribute__((nonnull));
/* A full frame (and a small one beside it) fits without waiting. */
bool outbox_has_room(const struct outbox *o) __attribute__((nonnull));
bool outbox_is_empty(const struct outbox *o) __attribute__((nonnull));
/* Queues one frame, len <= FRAME_BODY_MAX; waits for the host if there is no room.  0; -ETIMEDOUT, -EPIPE, ... once the host
 * is lost. */
int outbox_put(struct outbox *o, uint8_t type, uint8_t flags, const void *body, size_t len) __attribute__((nonnull(1)));
/* The same for a record of any length, in as many frames as it needs. */
int outbox_put_record(struct outbox *o, uint8_t type, const void *body, size_t len) __attribute__((nonnull(1)));
/* Writes what the host takes now.  0 or the error that sticks. */
int outbox_flush(struct outbox *o) __attribute__((nonnull));
/* Writes until want bytes fit, or all is gone (want = OUTBOX_SIZE). */
int outbox_wait(struct outbox *o, size_t want) __attribute__((nonnull));

#endif
