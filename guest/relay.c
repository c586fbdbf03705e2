/* SPDX-License-Identifier: GPL-2.0-or-later
 * relay.c - see relay.h.
 *
 * Runs as: root, in the monitor.  Input: packets from the twins, which read what the workflow sends.
 * A hostile sender gains nothing: packets are bounded by the kernel's own record borders; type, phase, number and length come
 * from the table below, anything else ends the run; of a body at most the first byte is compared. */
#include "guest/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/record.h"

#define IN(phase) (1u << (phase))
#define BATCH 64 /* records taken before others get their turn */

static const struct row {
	uint8_t type, frame, phases;
	bool many;          /* may have MORE */
	size_t least, most; /* bytes of one packet's body */
} rows[] = {
	{ RECORD_SERVING, 0, IN(RELAY_STARTING), false, 0, 0 },
	{ RECORD_STATE, FRAME_STATE, IN(RELAY_STARTING) | IN(RELAY_FINISHING), true, 2, RECORD_BODY_MAX },
	{ RECORD_OP, FRAME_OP, IN(RELAY_SERVING) | IN(RELAY_FINISHING), true, 2, RECORD_BODY_MAX },
	{ RECORD_LOG, FRAME_LOG, IN(RELAY_STARTING) | IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 2, 4096 },
	{ RECORD_TRUNCATED, FRAME_TRUNCATED, IN(RELAY_STARTING) | IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 17,
	  17 },
	{ RECORD_DONE, 0, IN(RELAY_FINISHING), false, 0, 0 },
	{ RECORD_CA, 0, IN(RELAY_STARTING), false, 1, RECORD_CA_MAX },
	{ RECORD_FAILED, 0, IN(RELAY_STARTING) | IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 0, 4096 },
	/* they may be on their way when the workflow ends by itself */
	{ RECORD_READY, 0, IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 0, 0 },
	{ RECORD_SIGNAL, 0, IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 1, 1 },
	{ RECORD_END, 0, IN(RELAY_SERVING) | IN(RELAY_FINISHING), false, 0, 0 },
};

void
relay_init(struct relay *r, int fd, const void *config, size_t len)
{
	*r = (struct relay){ .fd = fd, .config = config, .config_len = len };
}

void
relay_close(struct relay *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

void
relay_finish(struct relay *r)
{
	r->finish_wanted = true;
}

void
relay_started(struct relay *r)
{
	r->started_wanted = r->driven;
}

bool
relay_wants_write(const struct relay *r)
{
	return r->fd >= 0 && (!r->config_sent || (r->started_wanted && !r->started_sent) || r->output_len > 0 ||
			      (r->finish_wanted && !r->finish_sent));
}

static int
fail(struct relay *r, int err, const char *text)
{
	if (r->problem[0] == '\0')
		snprintf(r->problem, sizeof(r->problem), "%s", text);
	return err;
}

/* One packet.  1 sent, 0 later, -EPIPE. */
static int
send_packet(struct relay *r, uint8_t type, uint8_t flags, const void *body, size_t len)
{
	uint8_t head[2] = { type, flags };
	union { /* sendmsg only reads; its type is older than const */
		const void *in;
		void *out;
	} bytes = { body };
	struct iovec parts[2] = { { head, sizeof(head) }, { bytes.out, len } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (sendmsg(r->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 1;
	if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)
		return 0;
	return -EPIPE;
}

static int
send_due(struct relay *r)
{
	int n = 1;

	while (!r->config_sent && n > 0) {
		size_t len = r->config_len < RECORD_CHUNK ? r->config_len : RECORD_CHUNK;
		bool more = len < r->config_len;

		n = send_packet(r, RECORD_CONFIG, more ? RECORD_MORE : 0, r->config, len);
		if (n > 0) {
			r->config += len;
			r->config_len -= len;
			r->config_sent = !more;
		}
	}
	if (n > 0 && r->started_wanted && !r->started_sent) {
		n = send_packet(r, RECORD_STARTED, 0, "", 0);
		r->started_sent = n > 0;
	}
	while (n > 0 && r->output_len > 0) {
		size_t len = r->output_len < RECORD_CHUNK ? r->output_len : RECORD_CHUNK;

		n = send_packet(r, RECORD_OUTPUT, 0, r->output, len);
		if (n > 0) {
			r->output += len;
			r->output_len -= len;
		}
	}
	if (n > 0 && r->finish_wanted && !r->finish_sent) {
		n = send_packet(r, RECORD_FINISH, 0, "", 0);
		if (n > 0) {
			r->finish_sent = true;
			r->phase = RELAY_FINISHING;
		}
	}
	return n < 0 ? n : 0;
}

void
relay_output(struct relay *r, const uint8_t *data, size_t len)
{
	r->output = data;
	r->output_len = len;
	(void)send_due(r); /* twins that are gone are noticed by the pump */
}

/* The twins' own last words, made printable. */
static int
failed(struct relay *r, const uint8_t *body, size_t len)
{
	size_t n = len < sizeof(r->problem) - 1 ? len : sizeof(r->problem) - 1;

	for (size_t i = 0; i < n; i++)
		r->problem[i] = body[i] >= 0x20 && body[i] < 0x7f ? (char)body[i] : '?';
	r->problem[n] = '\0';
	return fail(r, -ECANCELED, "the twins cannot go on");
}

/* What they ask of the monitor: allowed by the plan, once the workflow runs, and each but a signal only once.  0 or -errno. */
static int
take_wish(struct relay *r, uint8_t type, const uint8_t *body)
{
	if (!r->driven || !r->started_sent || (type == RECORD_READY && (!r->wants_ready || r->ready)) ||
	    (type == RECORD_END && r->end))
		return fail(r, -EPROTO, "the twins asked for what this world does not have, or twice");
	if (type == RECORD_SIGNAL && memchr(RECORD_SIGNALS, body[0], sizeof(RECORD_SIGNALS) - 1) == NULL)
		return fail(r, -EPROTO, "the twins asked for a signal that may not be sent");
	if (type == RECORD_READY)
		r->ready = true;
	else if (type == RECORD_END)
		r->end = true;
	else
		r->signals |= 1u << body[0];
	return 0;
}

/* Rules that the table cannot say: a record is one piece, a state has the phase's number, no operation follows a final state. */
static int
check_record(struct relay *r, const struct row *row, uint8_t flags, const uint8_t *body, size_t len)
{
	bool first = r->open_type == 0;

	if ((!first && r->open_type != row->type) || (flags & RECORD_MORE && !row->many) || (flags & ~RECORD_MORE))
		return fail(r, -EPROTO, "the twins sent records that interleave or have unknown flags");
	r->open_len = first ? len : r->open_len + len;
	if (r->open_len > RECORD_MAX)
		return fail(r, -EMSGSIZE, "the twins sent a record of more than 16 MiB");
	r->open_type = flags & RECORD_MORE ? row->type : 0;
	if (row->type == RECORD_STATE && first) {
		if (body[0] != (r->phase == RELAY_STARTING ? 1 : 2))
			return fail(r, -EPROTO, "the twins sent a state of the wrong phase");
		r->final_seen = r->phase == RELAY_FINISHING;
	}
	if (row->type == RECORD_CA && r->ca_len > 0)
		return fail(r, -EPROTO, "the twins sent a second authority");
	if (row->type == RECORD_OP && r->final_seen)
		return fail(r, -EPROTO, "the twins sent an operation after a final state");
	return 0;
}

int
relay_take(struct relay *r, struct outbox *o, const uint8_t *packet, size_t len)
{
	const uint8_t *body = packet + 2;
	const struct row *row = NULL;
	int e;

	if (len < 2)
		return fail(r, -EPROTO, "the twins sent a packet without a type");
	len -= 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == packet[0])
			row = &rows[i];
	if (!row || !(row->phases & IN(r->phase)))
		return fail(r, -EPROTO, "the twins sent a record that may not come now");
	/* Only the first packet of a record has a minimum. */
	if (len > row->most || (len < row->least && r->open_type == 0))
		return fail(r, -EPROTO, "the twins sent a record of a wrong length");
	e = check_record(r, row, packet[1], body, len);
	if (e < 0)
		return e;
	if (row->type == RECORD_SERVING)
		r->phase = RELAY_SERVING;
	else if (row->type == RECORD_DONE)
		r->phase = RELAY_DONE;
	else if (row->type == RECORD_FAILED)
		return failed(r, body, len);
	else if (row->type == RECORD_READY || row->type == RECORD_SIGNAL || row->type == RECORD_END)
		return take_wish(r, row->type, body);
	else if (row->type == RECORD_CA) {
		memcpy(r->ca, body, len);
		r->ca_len = len;
	} else {
		r->operations += row->type == RECORD_OP && !(packet[1] & RECORD_MORE);
		return outbox_put(o, row->frame, packet[1] & RECORD_MORE ? FRAME_MORE : 0, body, len);
	}
	return 0;
}

int
relay_pump(struct relay *r, struct outbox *o)
{
	static uint8_t packet[2 + RECORD_BODY_MAX + 1];
	int taken = 0, resets = 0, e;
	bool gone;

	if (r->fd < 0)
		return 0;
	gone = send_due(r) < 0; /* read first what it said before it went */
	while (taken < BATCH && outbox_has_room(o)) {
		ssize_t n = recv(r->fd, packet, sizeof(packet), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* Twins that left records unread reset the pair: that comes once, before what they had sent. */
		if (n < 0 && errno == ECONNRESET && resets++ == 0)
			continue;
		if (n <= 0)
			return r->phase == RELAY_DONE ? taken
						      : fail(r, -EPIPE, "the twins ended before their work was done");
		if ((size_t)n == sizeof(packet))
			return fail(r, -EMSGSIZE, "the twins sent a packet that is too long");
		e = relay_take(r, o, packet, (size_t)n);
		if (e < 0)
			return e;
		taken++;
	}
	return gone && taken == 0 && outbox_has_room(o) ? fail(r, -EPIPE, "the twins are gone") : taken;
}
