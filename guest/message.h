/* SPDX-License-Identifier: GPL-2.0-or-later
 * message.h - a request as the twins send it to the workflow, and the operation that it becomes. */
#ifndef GUEST_MESSAGE_H
#define GUEST_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/oprec.h"

struct buf;
struct call;
struct endpoint;

/* Whole bytes, and where their parts are. */
struct message {
	const char *method, *target;          /* borrowed */
	const char *bytes;                    /* borrowed from the buffer that it was put into */
	size_t len, fields, fields_len, body; /* body: where it begins */
};
/* Request line, Host, fields (whole lines, each with CRLF, "" none), Content-Length where there is a body or the method has one,
 * Connection: close, body.  False: it did not fit. */
bool message_put(struct message *m, struct buf *out, const char *method, const struct endpoint *to, const char *fields,
		 const void *body, size_t len) __attribute__((warn_unused_result, nonnull(1, 2, 3, 4, 5)));

/* What happened to one message. */
struct message_end {
	const char *service, *kind, *route;
	const char *key;         /* or NULL */
	const char *event;       /* JSON object, NULL none */
	const char *fault;       /* JSON, NULL none */
	int64_t resend_of;       /* -1 none */
	uint64_t t_ms;           /* when it was begun */
	const struct call *call; /* how it ended; NULL: it was never begun */
	const char *problem;     /* static text; of one that was never begun, or instead of the call's own */
	bool rejected;           /* the answer is no success, whatever its status says */
	bool told_ok;            /* there is no answer to wait for: a signal */
};
/* Adds the operation, settled.  Its number; -1 limits.operations is reached (it is counted); -ENOMEM. */
int64_t message_record(struct ops *o, const struct message *m, const struct message_end *end)
	__attribute__((warn_unused_result, nonnull(1, 3)));

#endif
