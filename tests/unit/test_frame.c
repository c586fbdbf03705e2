/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_frame.c - headers, digests, the chain, and the receiver: whole, byte by byte, and with everything wrong that can be. */
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/plan.h"
#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

static const uint8_t random16[FRAME_RANDOM_LEN] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static struct frame_receiver receiver;

/* A stream being made. */
static uint8_t stream[2u << 20];
static size_t stream_len;
static struct frame_sender sender;

static void
stream_start(void)
{
	stream_len = 0;
	frame_sender_init(&sender, random16);
}

static void
put_flagged(uint8_t type, uint8_t flags, const void *body, uint32_t len)
{
	frame_send(&sender, type, flags, body, len, stream + stream_len);
	stream_len += FRAME_HEADER_LEN;
	if (len > 0)
		memcpy(stream + stream_len, body, len);
	stream_len += len;
}

static void
put(uint8_t type, const void *body, uint32_t len)
{
	put_flagged(type, 0, body, len);
}

static void
put_hello_host(void)
{
	struct frame_hello hello = { 1, 1, { 0 } };
	uint8_t body[FRAME_HELLO_LEN];

	memcpy(hello.random, random16, sizeof(random16));
	frame_hello_encode(&hello, body);
	put(FRAME_HELLO_HOST, body, sizeof(body));
}

static void
put_commit(void)
{
	struct plan_commit commit = { 1, 5, { 0 } };
	uint8_t body[64];
	struct writer w;

	memcpy(commit.chain, sender.chain.value, 32);
	writer_init(&w, body, sizeof(body));
	plan_commit_encode(&w, &commit);
	put(FRAME_COMMIT, body, (uint32_t)w.len);
}

static void
put_end(void)
{
	struct plan_end end = { .frames = sender.seq, .result = END_OK };
	uint8_t body[64];
	struct writer w;

	memcpy(end.chain, sender.chain.value, 32);
	writer_init(&w, body, sizeof(body));
	plan_end_encode(&w, &end);
	put(FRAME_END, body, (uint32_t)w.len);
}

static void
put_run(void)
{
	put(FRAME_RUN, "\1exec", 5);
	put(FRAME_RUN, "\2policy", 7);
	put(FRAME_RUN, "\3gate", 5);
	put_flagged(FRAME_RUN, FRAME_MORE, "\4twi", 4);
	put(FRAME_RUN, "ns", 2);
}

static void
put_bundle(void)
{
	stream_start();
	put_hello_host();
	put_run();
	put(FRAME_FILE, "file", 4);
	put(FRAME_DATA, "bytes", 5);
	put_commit();
}

static void
put_guest_run(void)
{
	stream_start();
	put(FRAME_HELLO, "{}", 2);
	put(FRAME_FIREWALL, "\1{}", 3);
	put(FRAME_STATE, "\1\0{}", 4);
	put(FRAME_STDOUT, "early", 5);
	put(FRAME_READY, "", 0);
	put_flagged(FRAME_OP, FRAME_MORE, "{\"n\":", 5);
	put(FRAME_STDERR, "x", 1);
	put(FRAME_OP, "0}", 2);
	put(FRAME_EXIT, "exit", 4);
	put(FRAME_OP, "{}", 2);
	put(FRAME_STATE, "\2\0{}", 4);
	put(FRAME_FIREWALL, "\2{}", 3);
	put_end();
}

/* Gives the stream to the receiver in pieces of at most step bytes.  Returns frames taken, or the error. */
static int
receive_all(size_t step)
{
	size_t at = 0;
	int frames = 0, r;

	while (at < stream_len) {
		size_t n = stream_len - at < step ? stream_len - at : step, used = 0;
		struct frame f;

		r = frame_receive(&receiver, guard_copy(stream + at, n), n, &used, &f);
		if (r < 0)
			return r;
		if (used > n || (r == 0 && used != n))
			return -EIO;
		frames += r;
		at += used;
	}
	return frames;
}

static int
host_receives(size_t step)
{
	frame_receiver_init(&receiver, FRAME_TO_HOST, random16, false);
	return receive_all(step);
}

static int
guest_receives(size_t step, bool file)
{
	frame_receiver_init(&receiver, FRAME_TO_GUEST, NULL, file);
	return receive_all(step);
}

static void
test_sha256(void)
{
	static char a[1000];
	struct sha256 h;
	uint8_t digest[32];
	char hex[65];

	sha256_of(NULL, 0, digest);
	sha256_hex(digest, hex);
	is_str(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "SHA-256 of nothing");
	sha256_init(&h);
	sha256_add(&h, "a", 1);
	sha256_get(&h, digest);
	sha256_add(&h, "bc", 2);
	sha256_get(&h, digest);
	sha256_hex(digest, hex);
	is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	       "SHA-256 of abc, in parts, read between");
	memset(a, 'a', sizeof(a));
	sha256_init(&h);
	for (int i = 0; i < 1000; i++)
		sha256_add(&h, a, sizeof(a));
	sha256_get(&h, digest);
	sha256_hex(digest, hex);
	is_str(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "SHA-256 of a million a");
}

static void
test_header(void)
{
	static const uint8_t want[FRAME_HEADER_LEN] = { 0x46, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0,
							0,    0, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct frame f = { .type = FRAME_OP, .flags = FRAME_MORE, .len = 3, .seq = 258 }, g;
	uint8_t frame[FRAME_HEADER_LEN + 3];
	int again = 1;

	memcpy(f.nonce, random16, FRAME_NONCE_LEN);
	frame_encode_header(&f, frame);
	memcpy(frame + FRAME_HEADER_LEN, "abc", 3);
	ok(memcmp(frame, want, sizeof(want)) == 0, "header bytes");
	is_int(frame_decode(guard_copy(frame, sizeof(frame)), sizeof(frame), &g), sizeof(frame), "decoded");
	ok(g.type == f.type && g.flags == f.flags && g.len == 3 && g.seq == 258 && memcmp(g.body, "abc", 3) == 0 &&
		   memcmp(g.nonce, f.nonce, 8) == 0,
	   "comes back");
	for (size_t n = 0; n < sizeof(frame); n++)
		again &= frame_decode(guard_copy(frame, n), n, &g) == -EAGAIN;
	ok(again, "every truncation asks for more");
	frame[4] = 0;
	frame[5] = 1;
	frame[7] = 1;
	is_int(frame_decode(guard_copy(frame, FRAME_HEADER_LEN), FRAME_HEADER_LEN, &g), -EMSGSIZE,
	       "65,537 bytes, from the header alone");
	frame[7] = 0;
	is_int(frame_decode(guard_copy(frame, FRAME_HEADER_LEN), FRAME_HEADER_LEN, &g), -EAGAIN, "65,536 bytes");
	memcpy(frame, want, sizeof(want));
	frame[1] = 2;
	is_int(frame_decode(frame, sizeof(frame), &g), -EPROTO, "unknown flag");
	for (size_t i = 2; i < 4; i++) {
		memcpy(frame, want, sizeof(want));
		frame[i] = 1;
		is_int(frame_decode(frame, sizeof(frame), &g), -EPROTO, "a byte that must be zero");
	}
	unsigned known = 0;
	for (unsigned type = 0; type < 256; type++) {
		int r;

		memcpy(frame, want, sizeof(want));
		frame[0] = (uint8_t)type;
		r = frame_decode(frame, sizeof(frame), &g);
		known += r > 0;
		if ((r > 0) != (strcmp(frame_type_name((uint8_t)type), "?") != 0) || (r < 0 && r != -EPROTO))
			ok(0, "type %u: decoder and names differ", type);
	}
	is_int(known, 22, "types known, each with a name");
}

static void
test_hello(void)
{
	struct frame_hello in = { 1, 3, { 9 } }, out;
	uint8_t body[FRAME_HELLO_LEN + 1] = { 0 };

	frame_hello_encode(&in, body);
	ok(frame_hello_decode(body, FRAME_HELLO_LEN, &out) == 0 && out.version_min == 1 && out.version_max == 3 &&
		   out.random[0] == 9,
	   "HELLO comes back");
	for (size_t n = 0; n <= sizeof(body); n++)
		if (n != FRAME_HELLO_LEN && frame_hello_decode(guard_copy(body, n < sizeof(body) ? n : sizeof(body)),
							       n < sizeof(body) ? n : sizeof(body), &out) != -EPROTO)
			ok(0, "HELLO of %zu bytes", n);
	body[0] = 'B';
	is_int(frame_hello_decode(body, FRAME_HELLO_LEN, &out), -EPROTO, "HELLO with another magic");
	body[0] = 'A';
	body[4] = 4;
	is_int(frame_hello_decode(body, FRAME_HELLO_LEN, &out), -EPROTO, "HELLO with the versions the wrong way round");
	body[4] = 0;
	is_int(frame_hello_decode(body, FRAME_HELLO_LEN, &out), -EPROTO, "HELLO with version 0");
	is_int(frame_version_choose(1, 1), 1, "version 1 of 1");
	is_int(frame_version_choose(1, 255), 1, "version 1 of 1 to 255");
	is_int(frame_version_choose(2, 255), -ENOTSUP, "a host too new");
}

static void
test_chain(void)
{
	struct frame_chain c;
	uint8_t input[32 + FRAME_HEADER_LEN + 5], want[32];
	char label[18 + 16];

	memcpy(label, "agenttwin-frames/1", 18);
	memcpy(label + 18, random16, 16);
	sha256_of(label, sizeof(label), want);
	frame_chain_init(&c, random16);
	ok(memcmp(c.value, want, 32) == 0, "chain: start");
	for (int k = 0; k < 2; k++) {
		uint8_t type = k ? FRAME_STDOUT : FRAME_OP;

		stream_start();
		put(type, "bytes", 5);
		memcpy(input, want, 32);
		memcpy(input + 32, stream, FRAME_HEADER_LEN + 5);
		sha256_of(input, k ? 32 + FRAME_HEADER_LEN : sizeof(input), label[0] ? input : input);
		ok(memcmp(sender.chain.value, input, 32) == 0,
		   k ? "chain: output without its body" : "chain: header and body");
	}
}

static void
test_whole(void)
{
	static const size_t steps[] = { 1, 2, 7, 23, 24, 25, 1000, sizeof(stream) };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t step = steps[i] < GUARD_MAX ? steps[i] : GUARD_MAX;

		put_guest_run();
		is_int(host_receives(step), 13, "a run received");
		ok(frame_receiver_is_complete(&receiver) && memcmp(receiver.chain.value, sender.chain.value, 32) == 0,
		   "complete, same chain");
		put_bundle();
		is_int(guest_receives(step, true), 9, "a bundle file received");
		ok(frame_receiver_is_complete(&receiver) && memcmp(receiver.random, random16, 16) == 0,
		   "complete, random bytes learned");
		put(FRAME_START, "", 0);
		put(FRAME_PING, "\0\0\0\0\0\0\0\1", 8);
		put(FRAME_CANCEL, "\1", 1);
		is_int(guest_receives(step, false), 12, "a live stream received");
		is_int(guest_receives(step, true), -EPROTO, "START in a bundle file");
	}
	put_guest_run();
	for (size_t n = 0, len = stream_len; n < len; n++) {
		stream_len = n;
		if (host_receives(64) < 0 || frame_receiver_is_complete(&receiver))
			ok(0, "cut after %zu bytes", n);
	}
	ok(1, "no truncation is complete or an error");
}

/* One byte of a good stream changed: an error, or not complete, or the same but for the body of output. */
static void
test_changed(void)
{
	unsigned refused = 0, open = 0, body = 0;
	size_t len;

	put_guest_run();
	len = stream_len;
	for (size_t i = 0; i < len; i++) {
		uint8_t old = stream[i];

		stream[i] ^= (uint8_t)(1u << guard_random() % 8);
		if (host_receives(1 + guard_random() % 100) < 0)
			refused++;
		else if (!frame_receiver_is_complete(&receiver))
			open++;
		else
			body++;
		stream[i] = old;
	}
	/* bodies that the chain leaves out: "early" and "x"; the result byte of END, which nothing follows, may change too */
	ok(body <= 7, "a changed byte is noticed wherever the chain reaches");
	printf("# %u refused, %u left open, %u of output or the result\n", refused, open, body);
}

static void
test_numbers_and_nonce(void)
{
	put_guest_run();
	frame_receiver_init(&receiver, FRAME_TO_HOST, random16 + 1 - 1, false);
	stream[15] = 1;
	is_int(receive_all(10), -EPROTO, "first number is not 0");
	is_str(receiver.problem, "a frame's number is not the next", "says so");
	is_int(receive_all(10), -EPROTO, "the error sticks");
	put_guest_run();
	stream[16] ^= 1;
	is_int(host_receives(24), -EPROTO, "another nonce, from the header alone");
	put_guest_run();
	memcpy(stream + stream_len, stream, 26);
	stream_len += 26;
	is_int(host_receives(100), -EPROTO, "a frame after END");
	put_bundle();
	is_int(host_receives(100), -EPROTO, "the host's own frames");
	put_guest_run();
	is_int(guest_receives(100, false), -EPROTO, "the guest's own frames");
	put_bundle();
	stream[24] = 'X';
	is_int(guest_receives(1, false), -EPROTO, "another magic");
	put_bundle();
	stream[24 + 6] ^= 1;
	is_int(guest_receives(1, false), -EPROTO, "random bytes that differ from the nonce");
	put_bundle();
	stream[4] = 1;
	is_int(guest_receives(24, false), -EMSGSIZE, "a frame too large, from the header alone");
	stream_start();
	put(FRAME_HELLO_HOST, "ATW1", 4);
	is_int(guest_receives(24, false), -EPROTO, "a short HELLO");
	put_bundle();
	stream[stream_len - 1] ^= 1;
	is_int(guest_receives(64, true), -EPROTO, "COMMIT with another chain");
	put_guest_run();
	stream[stream_len - 41] ^= 1;
	is_int(host_receives(64), -EPROTO, "END with another number");
	put_guest_run();
	stream[stream_len - 2] ^= 1;
	is_int(host_receives(64), -EPROTO, "END with another chain");
	ok(!frame_receiver_is_complete(&receiver), "is not complete");
}

static void
put_guest_start(void)
{
	stream_start();
	put(FRAME_HELLO, "{}", 2);
	put(FRAME_FIREWALL, "\1{}", 3);
	put(FRAME_STATE, "\1\0{}", 4);
}

static void
test_records(void)
{
	static uint8_t body[FRAME_BODY_MAX];
	static const uint8_t within[] = { FRAME_STDOUT, FRAME_STDERR, FRAME_LOG, FRAME_DENIED, FRAME_READY };

	for (size_t i = 0; i < sizeof(within); i++) {
		put_guest_start();
		put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
		put(within[i], "xx", within[i] == FRAME_READY ? 0 : 2);
		put(FRAME_OP, "}", 1);
		is_int(host_receives(64), 6, "a whole frame within a record");
	}
	put_guest_start();
	put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
	put(FRAME_STATE, "\1\0{}", 4);
	is_int(host_receives(64), -EPROTO, "STATE within an OP");
	put_guest_start();
	put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
	sender.open_type = 0;
	put_flagged(FRAME_DENIED, FRAME_MORE, "{", 1);
	is_int(host_receives(64), -EPROTO, "a record within a record");
	put_guest_start();
	put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
	put(FRAME_FAIL, "a\0b\0c\0", 6);
	put_end();
	is_int(host_receives(64), 6, "FAIL abandons a record");
	put_guest_start();
	put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
	put(FRAME_FIREWALL, "\3{}", 3);
	put(FRAME_EXIT, "x", 1);
	is_int(host_receives(64), 6, "FIREWALL(3) abandons a record");
	put_guest_start();
	put(FRAME_READY, "", 0);
	put(FRAME_EXIT, "x", 1);
	put_flagged(FRAME_OP, FRAME_MORE, "{", 1);
	put(FRAME_FIREWALL, "\2{}", 3);
	is_int(host_receives(64), -EPROTO, "FIREWALL(2) within a record of a run that did not fail");
	put_guest_start();
	put_flagged(FRAME_STDOUT, FRAME_MORE, "x", 1);
	is_int(host_receives(64), -EPROTO, "MORE on output");

	/* 256 frames of 64 KiB are allowed, one byte more is not. */
	put_guest_start();
	is_int(host_receives(64), 3, "a record of 16 MiB starts");
	for (unsigned i = 0; i < 257; i++) {
		int r;

		stream_len = 0;
		put_flagged(FRAME_OP, FRAME_MORE, body, i < 256 ? FRAME_BODY_MAX : 1);
		r = receive_all(stream_len);
		if (i == 256)
			is_int(r, -EMSGSIZE, "a record of more than 16 MiB");
		else if (r != 1)
			ok(0, "frame %u of a record of 16 MiB", i);
	}
	static const struct {
		uint8_t type;
		uint32_t len;
	} lengths[] = { { FRAME_FIREWALL, 0 }, { FRAME_STATE, 1 },      { FRAME_READY, 1 },
			{ FRAME_PONG, 15 },    { FRAME_TRUNCATED, 18 }, { FRAME_LOG, 0 } };
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		put_guest_start();
		memset(body, 1, 32);
		put(lengths[i].type, body, lengths[i].len);
		is_int(host_receives(64), -EPROTO, "a length that its type cannot have");
	}
}

int
main(void)
{
	guard_random_start();
	test_sha256();
	test_header();
	test_hello();
	test_chain();
	test_whole();
	test_changed();
	test_numbers_and_nonce();
	test_records();
	return tap_done();
}
