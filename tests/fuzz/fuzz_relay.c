/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_relay.c - any sequence of packets from the twins.  Each is a length byte and so many bytes; a length of 255 is followed
 * by two more (big-endian), the packet is then its type, its flags and zeros; 254 asks for the final state, as the monitor does; 253 is the start of a driven workflow.
 * What comes out must be what the table of record.h allows: the frame's type, the same body, no operation after a final state. */
#include <stdlib.h>
#include <string.h>

#include "guest/record.h"
#include "guest/relay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct relay relay;
static struct outbox outbox;
static uint8_t large[2 + 65535];

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static uint8_t
frame_of(uint8_t record)
{
	switch (record) {
	case RECORD_STATE:
		return FRAME_STATE;
	case RECORD_OP:
		return FRAME_OP;
	case RECORD_LOG:
		return FRAME_LOG;
	case RECORD_TRUNCATED:
		return FRAME_TRUNCATED;
	default:
		return 0;
	}
}

static void
check_frame(const uint8_t *packet, size_t len)
{
	const uint8_t *frame = outbox.buf;
	if (frame_of(packet[0]) == 0) {
		must(outbox.len == 0);
		return;
	}
	must(outbox.len == FRAME_HEADER_LEN + len - 2);
	must(memcmp(frame + FRAME_HEADER_LEN, packet + 2, len - 2) == 0);
}

/* What a packet may do to the relay's state, said a second time. */
static bool
check_taken(const struct relay *before, const uint8_t *packet, size_t len)
{
	must(len >= 2 && (packet[1] & ~RECORD_MORE) == 0 && len - 2 <= RECORD_BODY_MAX);
	must(before->open_type == 0 || before->open_type == packet[0]);
	must(before->phase != RELAY_DONE);
	switch (packet[0]) {
	case RECORD_SERVING:
		must(len == 2 && before->phase == RELAY_STARTING && relay.phase == RELAY_SERVING);
		break;
	case RECORD_DONE:
		must(len == 2 && before->phase == RELAY_FINISHING && relay.phase == RELAY_DONE);
		break;
	case RECORD_OP:
		must(before->phase != RELAY_STARTING && !before->final_seen);
		must(relay.operations == before->operations + !(packet[1] & RECORD_MORE));
		break;
	case RECORD_STATE:
		must(before->phase != RELAY_SERVING);
		must(before->open_type || packet[2] == (before->phase == RELAY_STARTING ? 1 : 2));
		break;
	case RECORD_CA:
		must(before->phase == RELAY_STARTING && before->ca_len == 0 && packet[1] == 0);
		must(len > 2 && len - 2 <= RECORD_CA_MAX && relay.ca_len == len - 2);
		must(memcmp(relay.ca, packet + 2, len - 2) == 0);
		break;
	case RECORD_LOG:
	case RECORD_TRUNCATED:
		must(!(packet[1] & RECORD_MORE));
		break;
	case RECORD_READY:
	case RECORD_END:
		must(len == 2 && before->started_sent && before->phase != RELAY_STARTING);
		must(packet[0] == RECORD_READY ? !before->ready && relay.ready : !before->end && relay.end);
		break;
	case RECORD_SIGNAL:
		must(len == 3 && before->started_sent && packet[2] > 0 && packet[2] < 32 && packet[2] != 9 &&
		     packet[2] != 19);
		must(relay.signals == (before->signals | 1u << packet[2]));
		break;
	default:
		abort(); /* RECORD_FAILED never succeeds, anything else is unknown */
	}
	must(packet[0] == RECORD_CA || relay.ca_len == before->ca_len);
	must(packet[0] == RECORD_OP || relay.operations == before->operations);
	check_frame(packet, len);
	return true;
}

static bool
take(const uint8_t *packet, size_t len)
{
	struct relay before = relay;
	int r;

	outbox.at = outbox.len = 0;
	r = relay_take(&relay, &outbox, packet, len);
	if (r >= 0)
		return check_taken(&before, packet, len);
	must(relay.problem[0] != '\0' && outbox.len == 0);
	for (const char *p = relay.problem; *p; p++)
		must(*p >= 0x20 && *p < 0x7f);
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t random[FRAME_RANDOM_LEN] = { 1 };
	bool goes_on = true;
	size_t at = 0;

	outbox_init(&outbox, -1, random);
	relay_init(&relay, -1, "", 0);
	while (goes_on && at < len) {
		size_t n = data[at++];

		if (n == 253) { /* the workflow of a driven world was started */
			relay.driven = relay.wants_ready = relay.started_sent = true;
			continue;
		}
		if (n == 254) {
			/* as send_due does when the packet is out */
			if (relay.phase < RELAY_FINISHING)
				relay.phase = RELAY_FINISHING;
			continue;
		}
		if (n == 255) {
			if (len - at < 4)
				break;
			memcpy(large, data + at + 2, 2);
			n = (size_t)data[at] << 8 | data[at + 1];
			goes_on = take(large, n + 2 <= sizeof(large) ? n + 2 : sizeof(large));
			at += 4;
			continue;
		}
		if (n > len - at)
			n = len - at;
		goes_on = take(data + at, n);
		at += n;
	}
	return 0;
}
