/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_http.h - the HTTP/1 engine of the twins: bytes in, bytes and operations out, no I/O and no clock of its own.
 *
 * A connection takes bytes (http_receive), offers bytes (http_output) and is told how many of those left (http_sent).  An
 * operation is settled when the last byte of its reply was handed to the kernel, or when the connection is lost. */
#ifndef GUEST_TWIN_HTTP_H
#define GUEST_TWIN_HTTP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "guest/buf.h"
#include "guest/oprec.h"
#include "guest/request.h"

struct events;
struct fault;
struct service;
struct world;
struct http_again;
struct http_waiting;

#define HTTP_OUTPUT_HIGH 65536u      /* bytes waiting to leave; more, and no further request is taken */
#define HTTP_AGAIN_MAX 1024u         /* requests waiting to be brought once more; further ones are not */
#define HTTP_MEMORY_MAX (256u << 20) /* bytes of bodies and replies over all connections; more is answered 503 */

/* What all connections share. */
struct http_core {
	struct world *world; /* borrowed */
	struct ops ops;
	/* Borrowed: takes what services tell of what they did; NULL: nobody does. */
	struct events *events;
	/* Requests so far that changed a state. */
	uint64_t changes;
	uint64_t t_ms;            /* since the configuration came; the caller keeps it up to date */
	uint64_t conns;           /* connections so far: the next one's number */
	size_t memory;            /* of bodies and replies, bytes */
	int failed;               /* the run cannot go on: -ENOMEM, -E2BIG; sticks */
	uint64_t date_s;          /* private: the second that date is of */
	char date[40];            /* private */
	struct http_again *again; /* private: requests that a fault brings once more, HTTP_AGAIN_MAX at most */
	size_t again_len;
};
/* How a connection ends once all output has left: not at all; nothing more is sent but it stays open; shut down in order (with
 * TLS its close_notify goes first); shut down as by a program that dies, without it; reset, nothing is read or sent any more. */
enum http_end { HTTP_END_NONE, HTTP_END_STALL, HTTP_END_CLOSE, HTTP_END_FIN, HTTP_END_RST };
enum http_phase { HTTP_PHASE_HEAD, HTTP_PHASE_BODY, HTTP_PHASE_CLOSING };

struct http_conn {
	struct http_core *core;  /* borrowed */
	struct service *service; /* borrowed */
	uint64_t number;
	enum http_phase phase;
	struct buf head; /* request line and headers so far */
	struct buf body;
	struct buf out;    /* replies */
	size_t out_at;     /* of out, bytes that have left already */
	uint64_t out_end;  /* bytes ever put into out */
	uint64_t out_sent; /* bytes ever taken from it */
	size_t tail;       /* of out_end, behind the last frame of a stream: its client may not wait for those */
	struct http_waiting *waiting, *waiting_last; /* operations whose reply is on its way */
	size_t counted;                              /* of this connection in core->memory */
	enum http_end how;                           /* it ends when closing; NONE: in order */
	struct {
		bool on;
		uint64_t open, end; /* of the stream of out: what may leave, and where the reply ends */
		uint64_t due_ms, every_ms, bytes;
	} slow;
	/* the request being read */
	struct request request;
	llhttp_t parser;
	const char *url, *name, *value; /* spans in head */
	size_t url_len, name_len, value_len;
	bool begun; /* a byte of it has come */
	bool cr;    /* the last byte was CR */
	size_t line_len, lines, trailer_len;
	size_t framing; /* bytes of a chunked body since one of its own came: sizes, extensions */
	bool complete, keep_alive;
	int error;           /* status to answer instead, or 0 */
	const char *problem; /* its text */
};

void http_core_init(struct http_core *core, struct world *w) __attribute__((nonnull));
void http_core_wipe(struct http_core *core) __attribute__((nonnull));

void http_init(struct http_conn *c, struct http_core *core, struct service *s) __attribute__((nonnull));
/* Frees; operations that are not settled yet are told-nothing. */
void http_wipe(struct http_conn *c) __attribute__((nonnull));
/* Takes bytes and answers the requests that they complete.  Returns how many it took: fewer than len while much output
 * waits (give the rest again after http_sent), all of them, ignored, once the connection is closing. */
size_t http_receive(struct http_conn *c, const char *data, size_t len) __attribute__((warn_unused_result, nonnull));
/* The client will send nothing more.  Replies still leave. */
void http_input_ended(struct http_conn *c) __attribute__((nonnull));
/* Too long without a byte within a request: answered 408. */
void http_timed_out(struct http_conn *c) __attribute__((nonnull));
const char *http_output(const struct http_conn *c, size_t *len) __attribute__((nonnull)); /* *len 0: none */
void http_sent(struct http_conn *c, size_t len) __attribute__((nonnull));
/* Nothing of a request has come and nothing waits: may be closed at any time. */
bool http_is_idle(const struct http_conn *c) __attribute__((nonnull));
/* What came below HTTP cannot be read: recorded as a call that the service was not reached by, an error of the run. */
void http_refused(struct http_conn *c, const char *problem) __attribute__((nonnull));
enum http_end http_end(const struct http_conn *c) __attribute__((nonnull));
/* Right after http_init: what a fault does to the connection itself. */
void http_begin(struct http_conn *c) __attribute__((nonnull));
/* A connection was kept out by a fault: an operation says so. */
void http_fault_dropped(struct http_core *core, const struct fault *f) __attribute__((nonnull));
/* As time passes (core->t_ms): more of a slow reply may leave. */
void http_tick(struct http_conn *c) __attribute__((nonnull));
/* When that is, or UINT64_MAX; then the connection is not idle, and not at its end. */
uint64_t http_due(const struct http_conn *c) __attribute__((nonnull));
/* Brings requests once more whose time has come; all: those too whose has not. */
void http_again(struct http_core *core, bool all) __attribute__((nonnull));
uint64_t http_again_due(const struct http_core *core) __attribute__((nonnull)); /* UINT64_MAX: none */

/* ---- between twin_http.c and twin_fault.c ---- */
struct answer;
/* The header line of a framing that a fault breaks, which goes instead of a length.  False: there is no such fault. */
bool http_fault_framing(const struct answer *a, struct buf *out) __attribute__((nonnull));
/* A reply stands in c->out from start, its body from body, in chunks of one frame each if chunked: cuts it or slows it down as
 * a->faults says. */
void http_fault_reply(struct http_conn *c, struct answer *a, size_t start, size_t body, bool chunked)
	__attribute__((nonnull));
/* After the head of a request.  True: it is recorded, and the connection at its end. */
bool http_fault_head(struct http_conn *c) __attribute__((nonnull));
/* After a request was answered: takes it over if a fault brings it once more.  Its number for http_again_left; 0: none. */
uint64_t http_fault_repeat(struct http_conn *c, const struct answer *a) __attribute__((nonnull));
/* The reply that waited with this number has left. */
void http_again_left(struct http_core *core, uint64_t number) __attribute__((nonnull));
void http_again_wipe(struct http_core *core) __attribute__((nonnull));
/* What a client is told that gets all that was to leave. */
enum op_told http_told(const struct answer *a) __attribute__((nonnull));
/* Records a call; its operation waits until the reply has left.  Not reply: nothing of one leaves. */
void http_record(struct http_conn *c, const struct answer *a, bool whole, bool reply) __attribute__((nonnull));
/* No further request is taken; it ends once the output has left. */
bool http_is_closing(const struct http_conn *c) __attribute__((nonnull));

#endif
