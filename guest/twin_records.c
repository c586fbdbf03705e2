/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_records.c - one packet after the other; a record's packets are never interleaved with another's. */
#include "guest/twin_records.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "guest/oprec.h"
#include "guest/record.h"
#include "proto/limits.h"

/* see twin_records.h */
void
records_init(struct records *r, int fd)
{
	*r = (struct records){ .fd = fd };
	buf_init(&r->current, RECORD_MAX);
}

/* see twin_records.h */
void
records_wipe(struct records *r)
{
	buf_wipe(&r->current);
}

static int
wait_for(const struct records *r, short events)
{
	struct pollfd p = { .fd = r->fd, .events = events };

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return -EPIPE;
	return 0;
}

/* One packet: 0, -EAGAIN, -EPIPE. */
static int
send_packet(const struct records *r, uint8_t type, uint8_t flags, const void *body, size_t len)
{
	uint8_t head[2] = { type, flags };
	struct iovec parts[2] = { { .iov_base = head, .iov_len = 2 }, { .iov_len = len } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	memcpy(&parts[1].iov_base, &body, sizeof(body)); /* sendmsg only reads it */
	while (sendmsg(r->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN || errno == ENOBUFS)
			return -EAGAIN;
		if (errno != EINTR)
			return -EPIPE;
	}
	return 0;
}

/* see twin_records.h */
int
records_receive(struct records *r, size_t max, struct buf *body)
{
	static uint8_t packet[RECORD_BODY_MAX + 2];
	uint8_t type = 0;

	for (;;) {
		ssize_t n;
		int w = wait_for(r, POLLIN);

		if (w < 0)
			return w;
		n = recv(r->fd, packet, sizeof(packet), MSG_TRUNC | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -EPIPE;
		if (n < 2 || (size_t)n > sizeof(packet) || packet[0] == 0 || packet[1] > RECORD_MORE ||
		    (type != 0 && type != packet[0]))
			return -EPROTO;
		type = packet[0];
		if ((size_t)n - 2 > max - body->len)
			return -EMSGSIZE;
		buf_add(body, packet + 2, (size_t)n - 2);
		if (body->failed)
			return -ENOMEM;
		if (packet[1] == 0)
			return type;
	}
}

/* The next packet of the operation that is leaving, or of the next one.  1; 0 there is none; -EAGAIN, -EPIPE, -ENOMEM. */
static int
send_next(struct records *r)
{
	size_t left, n;
	int e;

	if (!r->leaving) {
		r->current.len = r->sent = 0;
		if (r->ops == NULL || !ops_take(r->ops, &r->current))
			return 0;
		if (r->current.failed)
			return -ENOMEM;
		r->leaving = true;
	}
	left = r->current.len - r->sent;
	n = left > RECORD_CHUNK ? RECORD_CHUNK : left;
	e = send_packet(r, RECORD_OP, n < left ? RECORD_MORE : 0, r->current.at + r->sent, n);

	if (e < 0)
		return e;
	r->sent += n;
	r->leaving = r->sent < r->current.len;
	return 1;
}

/* see twin_records.h */
int
records_send(struct records *r, uint8_t type, const void *body, size_t len)
{
	const char *at = body;
	int e;

	while ((e = send_next(r)) != 0) {
		if (e == -EAGAIN)
			e = wait_for(r, POLLOUT);
		if (e < 0)
			return e;
	}
	do {
		size_t n = len > RECORD_CHUNK ? RECORD_CHUNK : len;

		e = send_packet(r, type, n < len ? RECORD_MORE : 0, at, n);
		if (e == -EAGAIN) {
			if ((e = wait_for(r, POLLOUT)) < 0)
				return e;
			continue;
		}
		if (e < 0)
			return e;
		if (n == len)
			return 0;
		at += n;
		len -= n;
	} while (true);
}

/* see twin_records.h */
int
records_pump(struct records *r)
{
	int e;

	do
		e = send_next(r);
	while (e > 0);
	return e == 0 ? 1 : e == -EAGAIN ? 0 : e;
}
