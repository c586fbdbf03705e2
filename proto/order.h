/* SPDX-License-Identifier: GPL-2.0-or-later
 * order.h - which frame may come when, agenttwin-frames(7), section ORDER.  Used by frame.c alone. */
#ifndef PROTO_ORDER_H
#define PROTO_ORDER_H
#include <stdbool.h>

struct frame;
struct frame_receiver;

/* Both directions start here. */
#define ORDER_HELLO 0

/* Checks f, whose body is complete, against what r has accepted so far, and moves r on.  0; -EPROTO or -EMSGSIZE with a
 * static text in *problem. */
int order_check(struct frame_receiver *r, const struct frame *f, const char **problem)
	__attribute__((warn_unused_result, nonnull));
/* Nothing more is needed: COMMIT (to the guest) or END (to the host) was accepted. */
bool order_is_complete(const struct frame_receiver *r) __attribute__((nonnull));

#endif
