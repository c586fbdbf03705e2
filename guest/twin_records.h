/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_records.h - the twins' end of the records socket: whole records in and out of packets, record.h. */
#ifndef GUEST_TWIN_RECORDS_H
#define GUEST_TWIN_RECORDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"

struct ops;

struct records {
	int fd;             /* borrowed */
	struct ops *ops;    /* borrowed: those that are settled leave before any other record; NULL: none do */
	struct buf current; /* the operation that is leaving */
	size_t sent;        /* of it */
	bool leaving;       /* current is not all sent */
};
void records_init(struct records *r, int fd) __attribute__((nonnull));
void records_wipe(struct records *r) __attribute__((nonnull));
/* Waits for one whole record of at most max bytes.  Its type (> 0) with the body in *body; -EPIPE the monitor is gone;
 * -EPROTO, -EMSGSIZE. */
int records_receive(struct records *r, size_t max, struct buf *body) __attribute__((warn_unused_result, nonnull));
/* Sends a whole record, waiting as long as the monitor needs; after all operations that are settled.  0, -EPIPE, -ENOMEM. */
int records_send(struct records *r, uint8_t type, const void *body, size_t len)
	__attribute__((warn_unused_result, nonnull(1)));
/* Sends settled operations as far as the socket takes them at once.  1 all of them; 0 wait for POLLOUT; -EPIPE, -ENOMEM. */
int records_pump(struct records *r) __attribute__((warn_unused_result, nonnull));

#endif
