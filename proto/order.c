/* SPDX-License-Identifier: GPL-2.0-or-later
 * order.c - see order.h.  One table for each direction: what permits a frame, and where it leads. */
#include "proto/order.h"

#include <errno.h>
#include <stdint.h>

#include "proto/frame.h"
#include "proto/plan.h"

/* Positions in the guest's stream.  HELLO is 0 in both directions (ORDER_HELLO). */
enum {
	HOST_HELLO = ORDER_HELLO, /* nothing came yet */
	HOST_OPENING,             /* FIREWALL(1) is due */
	HOST_STATE,               /* STATE(1) may come */
	HOST_RUNNING,             /* the workflow runs */
	HOST_EXITED,              /* EXIT came */
	HOST_FINAL,               /* a STATE(2) came */
	HOST_CLOSED,              /* FIREWALL(2) came */
	HOST_COMPLETE,            /* END came */
};
/* Positions in the host's stream. */
enum {
	GUEST_HELLO = ORDER_HELLO,
	GUEST_RUN_EXEC, /* the four records of RUN are due, one after another */
	GUEST_RUN_POLICY,
	GUEST_RUN_GATE,
	GUEST_RUN_TWINS,
	GUEST_FILES, /* FILE or COMMIT; DATA once SEEN_FILE */
	GUEST_COMMITTED,
	GUEST_STARTED,
};
_Static_assert(GUEST_RUN_TWINS - GUEST_RUN_EXEC == PLAN_TWINS - PLAN_EXEC, "a phase for each section of RUN");

/* Bits of frame_receiver.seen. */
#define SEEN_READY 1u
#define SEEN_FAILED 4u /* FAIL or FIREWALL(3): the run ends */
#define SEEN_FILE 8u

#define IN(phase) (1u << (phase))
#define FROM_TO(a, b) ((IN((b) + 1) - 1u) & ~(IN(a) - 1u))
#define STAY 0

/* phase_byte: the first byte of the body that selects the row, 0 any.  normal, failed: the positions in which it may
 * come, before and after the run failed.  next: the position that it leads to, unless that lies behind already. */
struct row {
	uint8_t type, phase_byte;
	unsigned normal, failed;
	int next;
	unsigned need, once, sets; /* bits of seen: must be set, must not be set, are set by it */
};

/* Ranges of positions that several rows share. */
#define WHILE_OPEN FROM_TO(HOST_OPENING, HOST_CLOSED)
#define UNTIL_EXIT FROM_TO(HOST_STATE, HOST_RUNNING)
#define UNTIL_DRAINED FROM_TO(HOST_STATE, HOST_EXITED)
#define UNTIL_FINAL FROM_TO(HOST_STATE, HOST_FINAL)
#define AFTER_EXIT FROM_TO(HOST_EXITED, HOST_FINAL)
#define FAILED_EARLY FROM_TO(HOST_OPENING, HOST_FINAL)

static const struct row to_host[] = {
	{ FRAME_HELLO, 0, IN(HOST_HELLO), 0, HOST_OPENING, 0, 0, 0 },
	{ FRAME_FIREWALL, 1, IN(HOST_OPENING), 0, HOST_STATE, 0, 0, 0 },
	{ FRAME_STATE, 1, IN(HOST_STATE), 0, STAY, 0, 0, 0 },
	{ FRAME_READY, 0, UNTIL_EXIT, 0, HOST_RUNNING, 0, SEEN_READY, SEEN_READY },
	{ FRAME_STDOUT, 0, UNTIL_EXIT, UNTIL_EXIT, HOST_RUNNING, 0, 0, 0 },
	{ FRAME_STDERR, 0, UNTIL_EXIT, UNTIL_EXIT, HOST_RUNNING, 0, 0, 0 },
	/* Operations drain after EXIT, but none may change the state that STATE(2) shows. */
	{ FRAME_OP, 0, UNTIL_DRAINED, UNTIL_DRAINED, HOST_RUNNING, 0, 0, 0 },
	{ FRAME_EXIT, 0, UNTIL_EXIT, FROM_TO(HOST_OPENING, HOST_RUNNING), HOST_EXITED, 0, 0, 0 },
	{ FRAME_STATE, 2, AFTER_EXIT, FAILED_EARLY, HOST_FINAL, 0, 0, 0 },
	{ FRAME_FIREWALL, 2, AFTER_EXIT, FAILED_EARLY, HOST_CLOSED, 0, 0, 0 },
	{ FRAME_FIREWALL, 3, UNTIL_FINAL, UNTIL_FINAL, STAY, 0, 0, SEEN_FAILED },
	{ FRAME_FAIL, 0, WHILE_OPEN, WHILE_OPEN, STAY, 0, 0, SEEN_FAILED },
	{ FRAME_END, 0, IN(HOST_CLOSED), WHILE_OPEN, HOST_COMPLETE, 0, 0, 0 },
	{ FRAME_LOG, 0, WHILE_OPEN, WHILE_OPEN, STAY, 0, 0, 0 },
	{ FRAME_DENIED, 0, WHILE_OPEN, WHILE_OPEN, STAY, 0, 0, 0 },
	{ FRAME_TRUNCATED, 0, WHILE_OPEN, WHILE_OPEN, STAY, 0, 0, 0 },
	{ FRAME_PONG, 0, WHILE_OPEN, WHILE_OPEN, STAY, 0, 0, 0 },
};

/* PING and CANCEL may come at any time after HELLO: a host that is still sending files can be interrupted too. */
static const struct row to_guest[] = {
	{ FRAME_HELLO_HOST, 0, IN(GUEST_HELLO), 0, GUEST_RUN_EXEC, 0, 0, 0 },
	{ FRAME_RUN, PLAN_EXEC, IN(GUEST_RUN_EXEC), 0, GUEST_RUN_POLICY, 0, 0, 0 },
	{ FRAME_RUN, PLAN_POLICY, IN(GUEST_RUN_POLICY), 0, GUEST_RUN_GATE, 0, 0, 0 },
	{ FRAME_RUN, PLAN_GATE, IN(GUEST_RUN_GATE), 0, GUEST_RUN_TWINS, 0, 0, 0 },
	{ FRAME_RUN, PLAN_TWINS, IN(GUEST_RUN_TWINS), 0, GUEST_FILES, 0, 0, 0 },
	{ FRAME_FILE, 0, IN(GUEST_FILES), 0, STAY, 0, 0, SEEN_FILE },
	{ FRAME_DATA, 0, IN(GUEST_FILES), 0, STAY, SEEN_FILE, 0, 0 },
	{ FRAME_COMMIT, 0, IN(GUEST_FILES), 0, GUEST_COMMITTED, 0, 0, 0 },
	{ FRAME_START, 0, IN(GUEST_COMMITTED), 0, GUEST_STARTED, 0, 0, 0 },
	{ FRAME_PING, 0, FROM_TO(GUEST_RUN_EXEC, GUEST_STARTED), 0, STAY, 0, 0, 0 },
	{ FRAME_CANCEL, 0, FROM_TO(GUEST_RUN_EXEC, GUEST_STARTED), 0, STAY, 0, 0, 0 },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The lengths that a type has whatever its content; least and most bytes. */
static bool
is_length_right(const struct frame *f)
{
	static const struct {
		uint8_t type;
		uint32_t least, most;
	} lengths[] = {
		{ FRAME_RUN, 1, FRAME_BODY_MAX },
		{ FRAME_FIREWALL, 1, FRAME_BODY_MAX },
		{ FRAME_STATE, 2, FRAME_BODY_MAX },
		{ FRAME_LOG, 1, FRAME_BODY_MAX },
		{ FRAME_START, 0, 0 },
		{ FRAME_READY, 0, 0 },
		{ FRAME_PING, 8, 8 },
		{ FRAME_PONG, 16, 16 },
		{ FRAME_CANCEL, 1, 1 },
		{ FRAME_TRUNCATED, 17, 17 },
	};

	for (size_t i = 0; i < COUNT(lengths); i++)
		if (lengths[i].type == f->type)
			return f->len >= lengths[i].least && f->len <= lengths[i].most;
	return true;
}

static bool
may_have_more(uint8_t type)
{
	return type == FRAME_RUN || type == FRAME_FIREWALL || type == FRAME_STATE || type == FRAME_OP ||
	       type == FRAME_DENIED;
}

static bool
may_interleave(uint8_t type)
{
	switch (type) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
	case FRAME_PING:
	case FRAME_PONG:
	case FRAME_CANCEL:
	case FRAME_LOG:
	case FRAME_DENIED:
	case FRAME_TRUNCATED:
	case FRAME_READY:
	case FRAME_EXIT:
		return true;
	default:
		return false;
	}
}

/* Whether f, of another type than the record that is open, gives that record up. */
static bool
is_abandoning(const struct frame_receiver *r, const struct frame *f)
{
	if (f->type == FRAME_FAIL)
		return true;
	if (f->type == FRAME_FIREWALL && f->len > 0)
		return f->body[0] == 3 || (f->body[0] == 2 && (r->seen & SEEN_FAILED));
	return f->type == FRAME_END && (r->seen & SEEN_FAILED);
}

/* A frame while a record is open: 1 it continues it, 0 it is another, or an error. */
static int
record_check(struct frame_receiver *r, const struct frame *f, const char **problem)
{
	if (r->record_type == 0)
		return 0;
	if (r->record_type != f->type) {
		if (is_abandoning(r, f)) {
			r->record_type = 0;
			r->record_len = 0;
			return 0;
		}
		if (may_interleave(f->type) && !(f->flags & FRAME_MORE))
			return 0;
		*problem = "a frame within a record of another type";
		return -EPROTO;
	}
	if (r->record_len + f->len > RECORD_MAX) {
		*problem = "a record of more than 16 MiB";
		return -EMSGSIZE;
	}
	r->record_len += f->len;
	if (!(f->flags & FRAME_MORE)) {
		r->record_type = 0;
		r->record_len = 0;
	}
	return 1;
}

static const struct row *
row_find(const struct frame_receiver *r, const struct frame *f)
{
	const struct row *rows = r->direction == FRAME_TO_HOST ? to_host : to_guest;
	size_t len = r->direction == FRAME_TO_HOST ? COUNT(to_host) : COUNT(to_guest);

	for (size_t i = 0; i < len; i++)
		if (rows[i].type == f->type && (rows[i].phase_byte == 0 || rows[i].phase_byte == f->body[0]))
			return &rows[i];
	return NULL;
}

int
order_check(struct frame_receiver *r, const struct frame *f, const char **problem)
{
	const struct row *row;
	int e;

	if ((f->flags & FRAME_MORE) && !may_have_more(f->type)) {
		*problem = "MORE on a type that has records of one frame only";
		return -EPROTO;
	}
	e = record_check(r, f, problem);
	if (e != 0)
		return e < 0 ? e : 0;
	if (!is_length_right(f)) {
		*problem = "a frame of a length that its type cannot have";
		return -EPROTO;
	}
	row = row_find(r, f); /* reads a first byte only of types whose length is at least 1 */
	if (!row || !(((r->seen & SEEN_FAILED) ? row->failed : row->normal) & IN(r->phase)) || (row->need & ~r->seen) ||
	    (row->once & r->seen)) {
		*problem = "a frame that may not come at this point of the stream";
		return -EPROTO;
	}
	if (r->bundle_file && (f->type == FRAME_START || f->type == FRAME_PING || f->type == FRAME_CANCEL)) {
		*problem = "a frame of a live stream in a bundle file";
		return -EPROTO;
	}
	if (row->next > r->phase)
		r->phase = row->next;
	r->seen |= row->sets;
	if (f->flags & FRAME_MORE) {
		r->record_type = f->type;
		r->record_len = f->len;
	}
	return 0;
}

bool
order_is_complete(const struct frame_receiver *r)
{
	return r->direction == FRAME_TO_HOST ? r->phase == HOST_COMPLETE : r->phase >= GUEST_COMMITTED;
}
