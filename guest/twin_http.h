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
struct service;
struct world;
struct http_waiting;

#define HTTP_OUTPUT_HIGH 65536u      /* bytes waiting to leave; more, and no further request is taken */
#define HTTP_MEMORY_MAX (256u << 20) /* bytes of bodies and replies over all connections; more is answered 503 */

/* What all connections share. */
struct http_core {
	struct world *world; /* borrowed */
	struct ops ops;
	/* Borrowed: takes what services tell of what they did; NULL: nobody does. */
	struct events *events;
	/* Requests so far that changed a state. */
	uint64_t changes;
	uint64_t t_ms;   /* since the configuration came; the caller keeps it up to date */
	uint64_t conns;  /* connections so far: the next one's number */
	size_t memory;   /* of bodies and replies, bytes */
	int failed;      /* the run cannot go on: -ENOMEM, -E2BIG; sticks */
	uint64_t date_s; /* private: the second that date is of */
	char date[40];   /* private */
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
	struct buf out;                              /* replies */
	size_t out_at;                               /* of out, bytes that have left already */
	uint64_t out_end;                            /* bytes ever put into out */
	uint64_t out_sent;                           /* bytes ever taken from it */
	struct http_waiting *waiting, *waiting_last; /* operations whose reply is on its way */
	size_t counted;                              /* of this connection in core->memory */
	/* the request being read */
	struct request request;
	llhttp_t parser;
	const char *url, *name, *value; /* spans in head */
	size_t url_len, name_len, value_len;
	bool begun; /* a byte of it has come */
	bool cr;    /* the last byte was CR */
	size_t line_len, lines, trailer_len;
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
/* No further request is taken; it ends once the output has left. */
bool http_is_closing(const struct http_conn *c) __attribute__((nonnull));

#endif
