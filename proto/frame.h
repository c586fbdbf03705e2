/* SPDX-License-Identifier: GPL-2.0-or-later
 * frame.h - one frame of the guest/host stream, the order frames may come in, and the chain over them.
 * Format: agenttwin-frames(7).  Reads and writes memory that the caller owns; never allocates, never logs, no I/O. */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"
#include "proto/sha256.h"

enum frame_type {
	/* host to guest */
	FRAME_HELLO_HOST = 0x01,
	FRAME_RUN = 0x02,
	FRAME_FILE = 0x03,
	FRAME_DATA = 0x04,
	FRAME_COMMIT = 0x05,
	FRAME_START = 0x06,
	FRAME_PING = 0x07,
	FRAME_CANCEL = 0x08,
	/* guest to host */
	FRAME_HELLO = 0x40,
	FRAME_FIREWALL = 0x41,
	FRAME_STATE = 0x42,
	FRAME_READY = 0x43,
	FRAME_STDOUT = 0x44,
	FRAME_STDERR = 0x45,
	FRAME_OP = 0x46,
	FRAME_DENIED = 0x47,
	FRAME_EXIT = 0x48,
	FRAME_TRUNCATED = 0x49,
	FRAME_PONG = 0x4a,
	FRAME_LOG = 0x4b,
	FRAME_FAIL = 0x4c,
	FRAME_END = 0x4d,
};

#define FRAME_MORE 1u /* flags bit 0: the next frame of this type continues this record */

struct frame {
	uint8_t type;  /* enum frame_type */
	uint8_t flags; /* 0 or FRAME_MORE */
	uint32_t len;  /* bytes in body, at most FRAME_BODY_MAX */
	uint64_t seq;
	uint8_t nonce[FRAME_NONCE_LEN];
	const uint8_t *body; /* borrowed: lives as long as the input */
};

/* Name of a type for messages and receipts ("EXIT"); "?" if unknown. */
const char *frame_type_name(uint8_t type) __attribute__((returns_nonnull));

/* Writes the 24-byte header of f (f->body is not read).  f->len must be at most FRAME_BODY_MAX (asserted). */
void frame_encode_header(const struct frame *f, uint8_t out[static FRAME_HEADER_LEN]) __attribute__((nonnull));

/* Decodes the first frame of buf[0..len).  Returns the bytes consumed (> 0); -EAGAIN if more input is needed;
 * -EMSGSIZE if the peer announced more than FRAME_BODY_MAX (reported from the header alone); -EPROTO if the type is
 * unknown, a flag other than MORE is set or the two zero bytes are not zero.  *out only on success. */
int frame_decode(const uint8_t *buf, size_t len, struct frame *out) __attribute__((warn_unused_result, nonnull));

/* The chain: C0 = SHA-256("agenttwin-frames/1" || random16); Cn = SHA-256(Cn-1 || header || body), the body left out
 * for DATA, STDOUT and STDERR (FILE and EXIT carry digests of those bytes). */
struct frame_chain {
	uint8_t value[32];
};
void frame_chain_init(struct frame_chain *c, const uint8_t random[static FRAME_RANDOM_LEN]) __attribute__((nonnull));
void frame_chain_add(struct frame_chain *c, const struct frame *f) __attribute__((nonnull));

/* HELLO of the host, the first frame in both kinds of stream; its form never changes, whatever the version:
 * "ATW1", u8 lowest and u8 highest version that the host speaks, 16 random bytes. */
#define FRAME_HELLO_LEN 22u
struct frame_hello {
	uint8_t version_min, version_max;
	uint8_t random[FRAME_RANDOM_LEN];
};
void frame_hello_encode(const struct frame_hello *in, uint8_t out[static FRAME_HELLO_LEN]) __attribute__((nonnull));
/* 0; -EPROTO for another length, another magic, version 0 or min > max. */
int frame_hello_decode(const uint8_t *body, size_t len, struct frame_hello *out)
	__attribute__((warn_unused_result, nonnull));
/* The highest version that both sides speak (> 0), or -ENOTSUP: the guest then sends FAIL and END. */
int frame_version_choose(uint8_t peer_min, uint8_t peer_max) __attribute__((warn_unused_result));

/* One direction of a stream on the sending side: numbers frames, keeps nonce and chain. */
struct frame_sender {
	uint64_t seq; /* frames sent so far */
	uint8_t nonce[FRAME_NONCE_LEN];
	struct frame_chain chain; /* over all frames sent so far */
	int open_type;            /* type of a record whose MORE is pending, or 0 */
};
void frame_sender_init(struct frame_sender *s, const uint8_t random[static FRAME_RANDOM_LEN]) __attribute__((nonnull));
/* Fills header for a frame with this type, flags and body (len <= FRAME_BODY_MAX), advances number and chain.  The
 * caller then writes header and body, in order, completely: a partial write must be finished or the stream ended. */
void frame_send(struct frame_sender *s, uint8_t type, uint8_t flags, const void *body, uint32_t len,
		uint8_t header[static FRAME_HEADER_LEN]) __attribute__((nonnull(1, 6)));

/* The receiving side: an incremental decoder over a fixed buffer of one frame, works byte by byte.  Checks number,
 * nonce, order of types by phase, the lengths that a type has in any case, the number and chain that COMMIT and END
 * state, and record rules: only RUN FIREWALL STATE OP DENIED come as records of several frames (MORE), at most RECORD_MAX
 * bytes in all; a record's frames follow one another but for whole frames of other types that may interleave: STDOUT
 * STDERR PING PONG CANCEL LOG DENIED TRUNCATED READY EXIT.  FAIL and FIREWALL(3) abandon a record that is open: the
 * consumer forgets what it has of it.  FIREWALL(2) and END do so too once the run has failed. */
enum frame_direction { FRAME_TO_GUEST, FRAME_TO_HOST };

struct frame_receiver {
	enum frame_direction direction;
	uint64_t seq; /* the number expected next */
	uint8_t nonce[FRAME_NONCE_LEN];
	bool nonce_known;                 /* to the guest: learned from HELLO */
	bool bundle_file;                 /* to the guest: recorded frames, START, PING and CANCEL not allowed */
	uint8_t random[FRAME_RANDOM_LEN]; /* from HELLO (to the guest) or given (to the host) */
	struct frame_chain chain;         /* over all frames accepted so far */
	struct frame_chain chain_before;  /* over all frames before the last accepted one: what END and COMMIT state */
	int phase;                        /* private: position in the order table */
	unsigned seen;                    /* private: what came already, bits */
	int record_type;                  /* private: a record with MORE pending, or 0 */
	uint64_t record_len;              /* private */
	size_t have;                      /* private: bytes in buf */
	int error;                        /* first error, sticks */
	const char *problem;              /* what was wrong, static text; valid when error != 0 */
	uint8_t buf[FRAME_HEADER_LEN + FRAME_BODY_MAX];
};
/* random: for FRAME_TO_HOST the 16 bytes the host sent; NULL for FRAME_TO_GUEST (learned from the first frame). */
void frame_receiver_init(struct frame_receiver *r, enum frame_direction d, const uint8_t *random, bool bundle_file)
	__attribute__((nonnull(1)));
/* Takes bytes from data[0..len) until one frame is complete or the input is used up.  *used = bytes taken.  Returns 1
 * and fills *out (body borrowed from r->buf until the next call); 0 if more input is needed; -EMSGSIZE, -EPROTO as
 * frame_decode and for a wrong number, nonce, order or record; the same error again ever after. */
int frame_receive(struct frame_receiver *r, const uint8_t *data, size_t len, size_t *used, struct frame *out)
	__attribute__((warn_unused_result, nonnull));
/* True once END (to the host) or COMMIT (to the guest) was accepted. */
bool frame_receiver_is_complete(const struct frame_receiver *r) __attribute__((nonnull));

#endif
