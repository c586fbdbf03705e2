/* SPDX-License-Identifier: GPL-2.0-or-later
 * outbox.c - see outbox.h.
 *
 * Runs as: root, in the monitor.  Input: bytes to send, never looked into; the host's reading speed.
 * A hostile sender gains nothing: length is checked before a copy, the buffer is fixed, and the host that does not read
 * only stops its own run. */
#include "guest/outbox.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOM (2u * (FRAME_HEADER_LEN + FRAME_BODY_MAX))

void
outbox_init(struct outbox *o, int fd, const uint8_t random[static FRAME_RANDOM_LEN])
{
	o->fd = fd;
	o->error = 0;
	o->progress = 0;
	o->at = o->len = 0;
	frame_sender_init(&o->sender, random);
}

bool
outbox_has_room(const struct outbox *o)
{
	return o->error == 0 && OUTBOX_SIZE - o->len >= ROOM;
}

bool
outbox_is_empty(const struct outbox *o)
{
	return o->len == 0;
}

int
outbox_flush(struct outbox *o)
{
	while (o->len > 0 && o->error == 0) {
		ssize_t n = write(o->fd, o->buf + o->at, o->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			o->error = -errno;
			break;
		}
		o->at += (size_t)n;
		o->len -= (size_t)n;
		o->progress += (uint64_t)n;
	}
	if (o->len == 0)
		o->at = 0;
	return o->error;
}

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

int
outbox_wait(struct outbox *o, size_t want)
{
	uint64_t moved = o->progress, since = now_ms();

	while (o->error == 0 && OUTBOX_SIZE - o->len < want) {
		struct pollfd p = { .fd = o->fd, .events = POLLOUT };

		if (outbox_flush(o) < 0 || OUTBOX_SIZE - o->len >= want)
			break;
		if (o->progress != moved) {
			moved = o->progress;
			since = now_ms();
		}
		if (now_ms() - since >= OUTBOX_WAIT_MS) {
			o->error = -ETIMEDOUT;
			break;
		}
		(void)poll(&p, 1, 1000);
	}
	return o->error;
}

static void
append(struct outbox *o, const void *data, size_t len)
{
	if (len > 0)
		memcpy(o->buf + o->at + o->len, data, len);
	o->len += len;
}

int
outbox_put(struct outbox *o, uint8_t type, uint8_t flags, const void *body, size_t len)
{
	uint8_t header[FRAME_HEADER_LEN];

	if (len > FRAME_BODY_MAX)
		return -EMSGSIZE;
	if (outbox_wait(o, FRAME_HEADER_LEN + len) < 0)
		return o->error;
	if (OUTBOX_SIZE - o->at - o->len < FRAME_HEADER_LEN + len) {
		memmove(o->buf, o->buf + o->at, o->len);
		o->at = 0;
	}
	frame_send(&o->sender, type, flags, body, (uint32_t)len, header);
	append(o, header, sizeof(header));
	append(o, body, len);
	return 0;
}

int
outbox_put_record(struct outbox *o, uint8_t type, const void *body, size_t len)
{
	const uint8_t *p = body;
	int r;

	while (len > FRAME_BODY_MAX) {
		r = outbox_put(o, type, FRAME_MORE, p, FRAME_BODY_MAX);
		if (r < 0)
			return r;
		p += FRAME_BODY_MAX;
		len -= FRAME_BODY_MAX;
	}
	return outbox_put(o, type, 0, p, len);
}
