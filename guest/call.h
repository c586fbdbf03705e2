/* SPDX-License-Identifier: GPL-2.0-or-later
 * call.h - a call that the twins make to the workflow: one connection over loopback, one exchange, one deadline. */
#ifndef GUEST_CALL_H
#define GUEST_CALL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/exchange.h"

struct arena;

/* Where: loopback and nothing else. */
struct endpoint {
	bool v4, v6; /* 127.0.0.1, ::1; "localhost" is both, IPv6 first as Node tries them */
	uint16_t port;
	const char *authority; /* as the Host field has it */
	const char *target;    /* path and query; "/" at the least */
};
/* "http://127.0.0.1:3000/hooks/stripe"; host 127.0.0.1, localhost or [::1].  0; -EPROTO with *problem static text; -ENOMEM. */
int endpoint_parse(const char *url, struct arena *arena, struct endpoint *out, const char **problem)
	__attribute__((warn_unused_result, nonnull));

enum call_end {
	CALL_RUNS,
	CALL_ANSWERED,
	CALL_REFUSED,   /* nobody listens: nothing was sent */
	CALL_BROKEN,    /* the connection ended, or what came is no answer */
	CALL_TIMED_OUT, /* nothing whole within the deadline */
};
struct call {
	struct exchange exchange;
	int fd;      /* -1 none */
	bool try_v4; /* localhost: IPv4 is still to be tried */
	uint16_t port;
	bool connected, sent; /* sent: the whole request has left */
	enum call_end end;
	uint64_t started_ms, ended_ms, deadline_ms;
	const char *problem; /* static text of an end other than CALL_ANSWERED */
};
/* Begins.  request NULL: the connection alone is wanted, it ends as CALL_ANSWERED once it stands.  Never blocks; a call that
 * cannot begin has its end at once.  False: no memory. */
bool call_start(struct call *c, const struct endpoint *to, const void *request, size_t len, bool head, uint64_t now,
		uint64_t deadline_ms) __attribute__((warn_unused_result, nonnull(1, 2)));
short call_events(const struct call *c) __attribute__((nonnull)); /* what to wait for, on c->fd */
/* Everything that can be done now; looks at the deadline too. */
void call_serve(struct call *c, short events, uint64_t now) __attribute__((nonnull));
/* The run ends: no answer will come any more. */
void call_give_up(struct call *c, uint64_t now) __attribute__((nonnull));
void call_wipe(struct call *c) __attribute__((nonnull)); /* closes */

#endif
