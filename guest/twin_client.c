/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_client.c - see twin_client.h.  Never blocks; reads only as much as the engine takes. */
#include "guest/twin_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/service.h"
#include "guest/tls.h"
#include "proto/limits.h"

#define READ_LEN 65536u
#define OPS_HIGH (8u << 20) /* bytes of operations waiting for the monitor; more, and clients are not read */
#define HOLD_LEN 16384u     /* bytes of replies that wait until all clients were read; more are sent at once */
#define RESET_MS 50u        /* between the last byte and a reset */
#define LINGER_MS 2000u     /* a closing connection is read this long, or its reply could be lost to a RST */

struct client {
	struct http_conn http;
	struct tls_conn *tls; /* owned; NULL: plain */
	int fd;
	char *left; /* owned: read but not taken yet */
	size_t left_len;
	uint64_t active_ms; /* when a byte last moved */
	uint64_t reset_ms;  /* when it is to be reset, 0: not yet known */
	bool ended;         /* the client sends nothing more */
	bool lingering;     /* our side is shut down */
};
static char buffer[READ_LEN]; /* of the one connection that is being read */

/* see twin_client.h */
bool
clients_must_wait(const struct http_core *core)
{
	return core->ops.bytes > OPS_HIGH;
}

static int
secure(struct client *c, struct tls_service *s)
{
	uint8_t seed[TLS_SEED_LEN];

	if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return -ENOMEM;
	c->tls = tls_open(s, seed);
	explicit_bzero(seed, sizeof(seed));
	return c->tls == NULL ? -ENOMEM : 0;
}

/* see twin_client.h */
int
client_accept(struct http_core *core, struct service *s, int listener, uint64_t now, struct client **c)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1, r;

	if (fd < 0) /* the kernel's memory is not ours: worth another try */
		return errno == ENOMEM ? -ENOBUFS : -errno;
	*c = calloc(1, sizeof(**c));
	r = *c == NULL ? -ENOMEM : s->secure != NULL ? secure(*c, s->secure) : 0;
	if (r < 0) {
		close(fd);
		free(*c);
		return r;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(*c)->fd = fd;
	(*c)->active_ms = now;
	http_init(&(*c)->http, core, s);
	http_begin(&(*c)->http);
	return 0;
}

/* see twin_client.h */
void
client_free(struct client *c)
{
	http_wipe(&c->http);
	tls_free(c->tls);
	close(c->fd);
	free(c->left);
	free(c);
}

/* see twin_client.h */
int
client_fd(const struct client *c)
{
	return c->fd;
}

/* Bytes for the socket. */
static const char *
output(struct client *c, size_t *len)
{
	return c->tls != NULL ? tls_output(c->tls, &c->http, len) : http_output(&c->http, len);
}

static size_t
waiting(struct client *c)
{
	size_t len;

	output(c, &len);
	return len;
}

/* False: the connection is lost. */
static bool
put(struct client *c, uint64_t now)
{
	size_t len;
	const char *out = output(c, &len);

	while (len > 0) {
		ssize_t n = send(c->fd, out, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (c->tls != NULL)
			tls_sent(c->tls, &c->http, (size_t)n);
		else
			http_sent(&c->http, (size_t)n);
		c->active_ms = now;
		out = output(c, &len);
	}
	return true;
}

/* What was read goes in as far as the engine takes it; the rest is kept.  Small replies wait for client_flush.  False: lost. */
static bool
feed(struct client *c, const char *data, size_t len, uint64_t now)
{
	while (len > 0) {
		size_t n = c->tls != NULL ? tls_receive(c->tls, &c->http, data, len)
					  : http_receive(&c->http, data, len);

		data += n;
		len -= n;
		if ((n == 0 || waiting(c) > HOLD_LEN) && !put(c, now))
			return false;
		if (n == 0 && (waiting(c) > 0 || c->http.core->failed != 0))
			break;
	}
	if (len > 0 && data != c->left) {
		char *left = malloc(len);

		if (left == NULL)
			return false;
		memcpy(left, data, len);
		free(c->left);
		c->left = left;
	}
	c->left_len = len;
	if (len == 0) {
		free(c->left);
		c->left = NULL;
	}
	return true;
}

static bool
take(struct client *c, uint64_t now)
{
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->active_ms = now;
	if (n == 0) {
		c->ended = true;
		http_input_ended(&c->http);
		return true;
	}
	/* a connection that has gone quiet is read, so that its end is seen, and what comes is not kept */
	return c->lingering || http_end(&c->http) == HTTP_END_STALL || feed(c, buffer, (size_t)n, now);
}

/* All that the engine offered has left, and it says that this was the last.  False: to be freed. */
static bool
end(struct client *c, enum http_end how, uint64_t now)
{
	static const struct linger at_once = { .l_onoff = 1 };

	if (how == HTTP_END_RST) {
		/* Node (libuv) takes a reset that lies in the socket together with the last bytes for an end in order */
		if (c->reset_ms == 0)
			c->reset_ms = now + (c->http.out_sent > 0 ? RESET_MS : 0);
		if (now < c->reset_ms && !c->ended)
			return true;
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		return false;
	}
	if (c->ended)
		return false;
	if (how == HTTP_END_STALL) /* for as long as the client bears it */
		return true;
	if (!c->lingering) {
		if (how == HTTP_END_CLOSE && c->tls != NULL && tls_close(c->tls)) {
			if (!put(c, now))
				return false;
			if (waiting(c) > 0)
				return true;
		}
		shutdown(c->fd, SHUT_WR);
		c->lingering = true;
		c->active_ms = now;
	}
	return now - c->active_ms <= LINGER_MS;
}

/* see twin_client.h */
bool
client_serve(struct client *c, short events, uint64_t now)
{
	bool busy = clients_must_wait(c->http.core);

	http_tick(&c->http);
	if (!put(c, now))
		return false;
	if (c->left_len > 0 && !busy) {
		if (!feed(c, c->left, c->left_len, now))
			return false;
	} else if (c->left_len == 0 && !c->ended && (events & (POLLIN | POLLHUP | POLLERR)) != 0 && !busy) {
		if (!take(c, now))
			return false;
	}
	return true;
}

/* see twin_client.h */
bool
client_flush(struct client *c, uint64_t now)
{
	if (!put(c, now))
		return false;
	if (waiting(c) > 0)
		return now - c->active_ms <= HTTP_IDLE_MS;
	if (http_end(&c->http) != HTTP_END_NONE)
		return end(c, http_end(&c->http), now);
	if (now - c->active_ms <= HTTP_IDLE_MS || clients_must_wait(c->http.core) || client_due(c) != UINT64_MAX)
		return true;
	if (http_is_idle(&c->http))
		return false;
	http_timed_out(&c->http);
	return put(c, now);
}

/* see twin_client.h */
uint64_t
client_due(const struct client *c)
{
	return http_due(&c->http);
}

/* see twin_client.h */
short
client_events(struct client *c)
{
	short events = 0;

	if (waiting(c) > 0)
		events |= POLLOUT;
	if (!c->ended && c->left_len == 0 && !clients_must_wait(c->http.core))
		events |= POLLIN;
	return events;
}

/* see twin_client.h */
bool
client_is_ready(struct client *c)
{
	return c->left_len > 0 && waiting(c) == 0 && !clients_must_wait(c->http.core);
}
