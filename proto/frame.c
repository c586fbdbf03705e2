/* SPDX-License-Identifier: GPL-2.0-or-later
 * frame.c - headers, numbering and the incremental decoder, see frame.h.  Which frame may come when: order.c. */
#include "proto/frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "proto/cursor.h"
#include "proto/order.h"
#include "proto/plan.h"

static const char hello_magic[4] = { 'A', 'T', 'W', '1' };

void
frame_encode_header(const struct frame *f, uint8_t out[static FRAME_HEADER_LEN])
{
	struct writer w;

	assert(f->len <= FRAME_BODY_MAX);
	writer_init(&w, out, FRAME_HEADER_LEN);
	write_u8(&w, f->type);
	write_u8(&w, f->flags);
	write_u16(&w, 0);
	write_u32(&w, f->len);
	write_u64(&w, f->seq);
	write_bytes(&w, f->nonce, FRAME_NONCE_LEN);
	assert(!w.failed && w.len == FRAME_HEADER_LEN);
}

static bool
is_type(uint8_t type)
{
	return (type >= FRAME_HELLO_HOST && type <= FRAME_CANCEL) || (type >= FRAME_HELLO && type <= FRAME_END);
}

/* A header that is complete; out->body is left alone. */
static int
header_decode(const uint8_t header[static FRAME_HEADER_LEN], struct frame *out)
{
	struct reader r;
	uint16_t zero;

	reader_init(&r, header, FRAME_HEADER_LEN);
	out->type = read_u8(&r);
	out->flags = read_u8(&r);
	zero = read_u16(&r);
	out->len = read_u32(&r);
	out->seq = read_u64(&r);
	memcpy(out->nonce, header + FRAME_HEADER_LEN - FRAME_NONCE_LEN, FRAME_NONCE_LEN);
	if (!is_type(out->type) || (out->flags & ~FRAME_MORE) != 0 || zero != 0)
		return -EPROTO;
	return out->len > FRAME_BODY_MAX ? -EMSGSIZE : 0;
}

int
frame_decode(const uint8_t *buf, size_t len, struct frame *out)
{
	struct frame f;
	int r;

	if (len < FRAME_HEADER_LEN)
		return -EAGAIN;
	r = header_decode(buf, &f);
	if (r < 0)
		return r;
	if (len - FRAME_HEADER_LEN < f.len)
		return -EAGAIN;
	f.body = buf + FRAME_HEADER_LEN;
	*out = f;
	return (int)(FRAME_HEADER_LEN + f.len);
}

void
frame_hello_encode(const struct frame_hello *in, uint8_t out[static FRAME_HELLO_LEN])
{
	struct writer w;

	writer_init(&w, out, FRAME_HELLO_LEN);
	write_bytes(&w, hello_magic, sizeof(hello_magic));
	write_u8(&w, in->version_min);
	write_u8(&w, in->version_max);
	write_bytes(&w, in->random, FRAME_RANDOM_LEN);
	assert(!w.failed && w.len == FRAME_HELLO_LEN);
}

int
frame_hello_decode(const uint8_t *body, size_t len, struct frame_hello *out)
{
	if (len != FRAME_HELLO_LEN || memcmp(body, hello_magic, sizeof(hello_magic)) != 0)
		return -EPROTO;
	if (body[4] == 0 || body[4] > body[5])
		return -EPROTO;
	out->version_min = body[4];
	out->version_max = body[5];
	memcpy(out->random, body + 6, FRAME_RANDOM_LEN);
	return 0;
}

int
frame_version_choose(uint8_t peer_min, uint8_t peer_max)
{
	unsigned high = peer_max < FRAME_VERSION_MAX ? peer_max : FRAME_VERSION_MAX;
	unsigned low = peer_min > FRAME_VERSION_MIN ? peer_min : FRAME_VERSION_MIN;

	return low <= high ? (int)high : -ENOTSUP;
}

void
frame_sender_init(struct frame_sender *s, const uint8_t random[static FRAME_RANDOM_LEN])
{
	s->seq = 0;
	memcpy(s->nonce, random, FRAME_NONCE_LEN);
	frame_chain_init(&s->chain, random);
	s->open_type = 0;
}

void
frame_send(struct frame_sender *s, uint8_t type, uint8_t flags, const void *body, uint32_t len,
	   uint8_t header[static FRAME_HEADER_LEN])
{
	struct frame f = { .type = type, .flags = flags, .len = len, .seq = s->seq, .body = body };
	bool more = (flags & FRAME_MORE) != 0;

	assert(is_type(type) && (flags & ~FRAME_MORE) == 0 && len <= FRAME_BODY_MAX);
	/* FAIL, FIREWALL and END abandon what is open; another frame within a record must be whole. */
	if (type == FRAME_FAIL || type == FRAME_FIREWALL || type == FRAME_END)
		s->open_type = 0;
	assert(s->open_type == 0 || s->open_type == type || !more);
	if (more)
		s->open_type = type;
	else if (s->open_type == type)
		s->open_type = 0;
	memcpy(f.nonce, s->nonce, FRAME_NONCE_LEN);
	frame_encode_header(&f, header);
	frame_chain_add(&s->chain, &f);
	s->seq++;
}

void
frame_receiver_init(struct frame_receiver *r, enum frame_direction d, const uint8_t *random, bool bundle_file)
{
	assert((d == FRAME_TO_HOST) == (random != NULL));
	r->direction = d;
	r->seq = 0;
	memset(r->nonce, 0, sizeof(r->nonce));
	memset(r->random, 0, sizeof(r->random));
	memset(&r->chain, 0, sizeof(r->chain));
	r->nonce_known = random != NULL;
	r->bundle_file = bundle_file;
	if (random) {
		memcpy(r->nonce, random, sizeof(r->nonce));
		memcpy(r->random, random, sizeof(r->random));
		frame_chain_init(&r->chain, random);
	}
	r->chain_before = r->chain;
	r->phase = ORDER_HELLO;
	r->seen = 0;
	r->record_type = 0;
	r->record_len = 0;
	r->have = 0;
	r->error = 0;
	r->problem = NULL;
}

static int
refuse(struct frame_receiver *r, int err, const char *problem)
{
	r->error = err;
	r->problem = problem;
	return err;
}

/* What the header alone tells, so that a stranger is refused before its body is read. */
static int
header_check(struct frame_receiver *r, struct frame *f)
{
	int e = header_decode(r->buf, f);

	if (e == -EMSGSIZE)
		return refuse(r, e, "a frame announces more than 65536 bytes");
	if (e < 0)
		return refuse(r, e, "the header of a frame is malformed or its type unknown");
	if ((f->type < FRAME_HELLO) != (r->direction == FRAME_TO_GUEST))
		return refuse(r, -EPROTO, "a frame of the other direction");
	if (f->seq != r->seq)
		return refuse(r, -EPROTO, "a frame's number is not the next");
	if (r->nonce_known && memcmp(f->nonce, r->nonce, FRAME_NONCE_LEN) != 0)
		return refuse(r, -EPROTO, "a frame of another run: its nonce differs");
	if (!r->nonce_known && (f->type != FRAME_HELLO_HOST || f->len != FRAME_HELLO_LEN))
		return refuse(r, -EPROTO, "the stream does not start with a HELLO");
	return 0;
}

static int
hello_take(struct frame_receiver *r, const struct frame *f)
{
	struct frame_hello hello;

	if (frame_hello_decode(f->body, f->len, &hello) < 0 || memcmp(hello.random, f->nonce, FRAME_NONCE_LEN) != 0)
		return refuse(r, -EPROTO, "HELLO is malformed");
	memcpy(r->random, hello.random, sizeof(r->random));
	memcpy(r->nonce, hello.random, sizeof(r->nonce));
	r->nonce_known = true;
	frame_chain_init(&r->chain, r->random);
	return 0;
}

/* END and COMMIT state what was sent before them: compared here, so that no consumer can forget to. */
static int
totals_check(struct frame_receiver *r, const struct frame *f)
{
	struct plan_commit commit;
	struct plan_end end;

	if (f->type == FRAME_COMMIT) {
		if (plan_commit_decode(f->body, f->len, &commit) < 0)
			return refuse(r, -EPROTO, "COMMIT is malformed");
		if (memcmp(commit.chain, r->chain.value, sizeof(commit.chain)) != 0)
			return refuse(r, -EPROTO, "COMMIT states another chain");
	}
	if (f->type == FRAME_END) {
		if (plan_end_decode(f->body, f->len, &end) < 0)
			return refuse(r, -EPROTO, "END is malformed");
		if (end.frames != r->seq)
			return refuse(r, -EPROTO, "END states another number of frames");
		if (memcmp(end.chain, r->chain.value, sizeof(end.chain)) != 0)
			return refuse(r, -EPROTO, "END states another chain");
	}
	return 0;
}

static int
frame_accept(struct frame_receiver *r, const struct frame *f)
{
	const char *problem = NULL;
	int e;

	e = order_check(r, f, &problem);
	if (e < 0)
		return refuse(r, e, problem);
	if (!r->nonce_known) {
		e = hello_take(r, f);
		if (e < 0)
			return e;
	}
	e = totals_check(r, f);
	if (e < 0)
		return e;
	r->chain_before = r->chain;
	frame_chain_add(&r->chain, f);
	r->seq++;
	return 1;
}

/* Moves bytes into buf until it holds want of them.  Returns whether it does. */
static bool
fill(struct frame_receiver *r, const uint8_t **data, size_t *len, size_t want)
{
	size_t n = want - r->have;

	if (n > *len)
		n = *len;
	if (n > 0) {
		memcpy(r->buf + r->have, *data, n);
		r->have += n;
		*data += n;
		*len -= n;
	}
	return r->have == want;
}

int
frame_receive(struct frame_receiver *r, const uint8_t *data, size_t len, size_t *used, struct frame *out)
{
	size_t left = len;
	struct frame f;
	int e;

	*used = 0;
	if (r->error)
		return r->error;
	if (r->have < FRAME_HEADER_LEN) {
		bool complete = fill(r, &data, &left, FRAME_HEADER_LEN);

		*used = len - left;
		if (!complete)
			return 0;
		e = header_check(r, &f);
	} else {
		e = header_decode(r->buf, &f); /* checked when it became complete */
	}
	if (e < 0)
		return e;
	if (!fill(r, &data, &left, FRAME_HEADER_LEN + f.len)) {
		*used = len - left;
		return 0;
	}
	*used = len - left;
	f.body = r->buf + FRAME_HEADER_LEN;
	r->have = 0; /* the next call starts over; until then the body stays in buf */
	e = frame_accept(r, &f);
	if (e == 1)
		*out = f;
	return e;
}

bool
frame_receiver_is_complete(const struct frame_receiver *r)
{
	return r->error == 0 && order_is_complete(r);
}
