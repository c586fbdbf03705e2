/* SPDX-License-Identifier: GPL-2.0-or-later
 * call.c - see call.h.  Never blocks. */
#include "guest/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_LEN 16384u
#define READS_A_CALL 16 /* others have their turn too */

/* see call.h */
int
endpoint_parse(const char *url, struct arena *arena, struct endpoint *out, const char **problem)
{
	static const struct {
		const char *name;
		bool v4, v6;
	} hosts[] = { { "127.0.0.1", true, false }, { "localhost", true, true }, { "[::1]", false, true } };
	unsigned long port = 80;
	const char *at, *end, *digits;
	size_t host = 0, n = 0;

	*problem = "an endpoint is a URL such as http://127.0.0.1:3000/hooks";
	if (strncmp(url, "http://", 7) != 0)
		return -EPROTO;
	at = url + 7;
	end = at + strcspn(at, "/?#");
	*problem = "the workflow is called on 127.0.0.1, localhost or [::1] alone";
	for (; host < sizeof(hosts) / sizeof(hosts[0]); host++) {
		n = strlen(hosts[host].name);
		if (strncmp(at, hosts[host].name, n) == 0 && (at + n == end || at[n] == ':'))
			break;
	}
	if (host == sizeof(hosts) / sizeof(hosts[0]))
		return -EPROTO;
	if (at[n] == ':') {
		*problem = "a port is a number from 1 to 65535";
		port = 0;
		for (digits = at + n + 1; digits < end && port <= 65535 && *digits >= '0' && *digits <= '9'; digits++)
			port = port * 10 + (unsigned long)(*digits - '0');
		if (digits != end || port == 0 || port > 65535)
			return -EPROTO;
	}
	*problem = "a path has no fragment, no space and no control characters";
	for (const char *c = end; *c != '\0'; c++)
		if ((unsigned char)*c <= 0x20 || *c == 0x7f || *c == '#')
			return -EPROTO;
	*out = (struct endpoint){ .v4 = hosts[host].v4, .v6 = hosts[host].v6, .port = (uint16_t)port };
	out->authority = arena_copy(arena, at, (size_t)(end - at));
	if (*end == '/') {
		out->target = arena_copy(arena, end, strlen(end));
	} else {
		char *target = arena_alloc(arena, strlen(end) + 2);

		if (target != NULL)
			sprintf(target, "/%s", end);
		out->target = target;
	}
	return out->authority == NULL || out->target == NULL ? -ENOMEM : 0;
}

static void
finish(struct call *c, enum call_end end, const char *problem, uint64_t now)
{
	if (c->end != CALL_RUNS)
		return;
	c->end = end;
	c->problem = problem;
	c->ended_ms = now;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static int
connect_one(struct call *c, bool v6)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(c->port),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons(c->port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1, r;

	c->fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	r = v6 ? connect(c->fd, (const void *)&six, sizeof(six)) : connect(c->fd, (const void *)&four, sizeof(four));
	if (r == 0 || errno == EINPROGRESS || errno == EINTR)
		return 0;
	r = -errno;
	close(c->fd);
	c->fd = -1;
	return r;
}

/* The next address that is left, or the end. */
static void
try_next(struct call *c, uint64_t now)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	if (c->try_v4) {
		c->try_v4 = false;
		if (connect_one(c, false) == 0)
			return;
	}
	finish(c, CALL_REFUSED, "nobody listens there", now);
}

/* see call.h */
bool
call_start(struct call *c, const struct endpoint *to, const void *request, size_t len, bool head, uint64_t now,
	   uint64_t deadline_ms)
{
	*c = (struct call){ .fd = -1, .port = to->port, .started_ms = now, .deadline_ms = deadline_ms };
	if (!exchange_init(&c->exchange, request == NULL ? "" : request, len, head))
		return false;
	c->try_v4 = to->v4;
	if (!to->v6 || connect_one(c, true) < 0)
		try_next(c, now);
	return true;
}

/* see call.h */
short
call_events(const struct call *c)
{
	if (c->end != CALL_RUNS)
		return 0;
	return !c->connected || c->exchange.out_at < c->exchange.out.len ? POLLIN | POLLOUT : POLLIN;
}

/* False: it stands not yet, or not at all. */
static bool
connected(struct call *c, short events, uint64_t now)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (c->connected)
		return true;
	if ((events & (POLLOUT | POLLERR | POLLHUP)) == 0)
		return false;
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0) {
		try_next(c, now);
		return false;
	}
	c->connected = true;
	if (c->exchange.out.len == 0)
		finish(c, CALL_ANSWERED, NULL, now);
	return c->end == CALL_RUNS;
}

static void
put(struct call *c)
{
	struct exchange *x = &c->exchange;

	while (x->out_at < x->out.len) {
		ssize_t n = send(c->fd, x->out.at + x->out_at, x->out.len - x->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) /* an answer may have come before the connection went: reading will tell */
			return;
		x->out_at += (size_t)n;
	}
	c->sent = true;
}

static void
take(struct call *c, uint64_t now)
{
	static char buffer[READ_LEN];

	for (int i = 0; i < READS_A_CALL && !c->exchange.done && c->exchange.problem == NULL; i++) {
		ssize_t n = recv(c->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			finish(c, CALL_BROKEN, "the connection was reset", now);
			return;
		}
		if (n == 0)
			exchange_input_ended(&c->exchange);
		else
			exchange_receive(&c->exchange, buffer, (size_t)n);
	}
}

/* see call.h */
void
call_serve(struct call *c, short events, uint64_t now)
{
	if (c->end != CALL_RUNS)
		return;
	if (connected(c, events, now)) {
		put(c);
		take(c, now);
	}
	if (c->exchange.done)
		finish(c, CALL_ANSWERED, NULL, now);
	else if (c->exchange.problem != NULL)
		finish(c, CALL_BROKEN, c->exchange.problem, now);
	else if (now >= c->deadline_ms)
		finish(c, CALL_TIMED_OUT, "no whole answer came in time", now);
}

/* see call.h */
void
call_give_up(struct call *c, uint64_t now)
{
	finish(c, CALL_TIMED_OUT, "the run ended before the answer came", now);
}

/* see call.h */
void
call_wipe(struct call *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	exchange_wipe(&c->exchange);
}
