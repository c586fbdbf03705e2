/* SPDX-License-Identifier: GPL-2.0-or-later
 * exchange.h - one request that the twins make over HTTP/1.1, and its answer: bytes out, bytes in, no I/O.  The other side is the
 * workflow: nothing that it answers is believed before it is measured. */
#ifndef GUEST_EXCHANGE_H
#define GUEST_EXCHANGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "guest/buf.h"

#define EXCHANGE_HEAD_MAX 65536u       /* bytes of status line and header fields, trailers too */
#define EXCHANGE_BODY_MAX (8u << 20)   /* bytes of the body */
#define EXCHANGE_BYTES_MAX (32u << 20) /* bytes in all, with the frames of chunks */

struct exchange {
	struct buf out; /* the request; what has left is cut off by the caller through out_at */
	size_t out_at;
	int status; /* 0: none came yet */
	struct buf body;
	char type[128];      /* Content-Type, cut; "" none */
	bool no_retry;       /* X-Slack-No-Retry: 1 */
	bool done;           /* the whole answer is there */
	const char *problem; /* static text: what came is no answer; NULL while all is well */
	/* private */
	llhttp_t parser;
	bool head;     /* the request was HEAD: no body follows */
	char name[17]; /* one byte more than the longest name that is looked for: longer ones are none of them */
	unsigned no_retry_len; /* of a value "1" so far: 1; of another: 2 */
	size_t name_len, head_len, bytes;
};
/* request is copied; head: it is a HEAD.  False: no memory. */
bool exchange_init(struct exchange *x, const void *request, size_t len, bool head)
	__attribute__((warn_unused_result, nonnull));
void exchange_wipe(struct exchange *x) __attribute__((nonnull));
/* Bytes of the answer.  What comes after its end, or after a problem, is ignored. */
void exchange_receive(struct exchange *x, const char *data, size_t len) __attribute__((nonnull));
/* The other side will send nothing more: the end of a body without a length, else a problem. */
void exchange_input_ended(struct exchange *x) __attribute__((nonnull));

#endif
