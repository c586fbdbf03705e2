/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_frame.c - the receiver over any bytes, in both directions.  Byte 0 chooses direction and the size of the pieces; whole
 * and in pieces must end the same way. */
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct result {
	int error;
	uint64_t frames;
	uint8_t chain[32];
	bool complete;
};

static struct frame_receiver receiver;

static void
receive(uint8_t how, const uint8_t *data, size_t len, size_t step, struct result *out)
{
	static const uint8_t random16[FRAME_RANDOM_LEN] = "0123456789abcde";
	size_t at = 0;
	int r = 0;

	frame_receiver_init(&receiver, how & 1 ? FRAME_TO_HOST : FRAME_TO_GUEST, how & 1 ? random16 : NULL,
			    (how & 2) != 0);
	while (at < len && r >= 0) {
		size_t n = len - at < step ? len - at : step, used;
		struct frame f;

		r = frame_receive(&receiver, data + at, n, &used, &f);
		if (used > n || (r == 0 && used != n) || (r == 1 && f.len > FRAME_BODY_MAX))
			abort();
		at += used;
		if (r == 1 && f.len > 0) { /* the body must be readable to its end */
			volatile uint8_t last = f.body[f.len - 1];

			(void)last;
		}
	}
	out->error = receiver.error;
	out->frames = receiver.seq;
	out->complete = frame_receiver_is_complete(&receiver);
	memcpy(out->chain, receiver.chain.value, 32);
	if ((r < 0) != (receiver.error != 0) || (r < 0 && !receiver.problem))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct result a, b;
	struct frame f;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (len == 0)
		return 0;
	receive(data[0], data + 1, len - 1, len, &a);
	receive(data[0], data + 1, len - 1, 1 + (data[0] >> 2), &b);
	if (a.error != b.error || a.frames != b.frames || a.complete != b.complete || memcmp(a.chain, b.chain, 32) != 0)
		abort();
	if (frame_decode(data + 1, len - 1, &f) > 0 && f.len > len - 1)
		abort();
	return 0;
}
