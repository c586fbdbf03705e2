/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_relay.c - records of the twins to frames, against the table and against a host that does not read. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/outbox.h"
#include "guest/record.h"
#include "guest/relay.h"
#include "tests/lib/tap.h"

static struct relay relay;
static struct outbox outbox;
static int twins = -1, host = -1;
static uint8_t config[200000];

static void
begin(void)
{
	static const uint8_t random[FRAME_RANDOM_LEN] = { 1 };
	int pair[2], out[2], size = 4 << 20;

	if (twins >= 0)
		close(twins);
	if (host >= 0) {
		close(host);
		close(outbox.fd);
		relay_close(&relay);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0 ||
	    pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		exit(1);
	for (int i = 0; i < 2; i++)
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
			(void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	twins = pair[1];
	host = out[0];
	outbox_init(&outbox, out[1], random);
	relay_init(&relay, pair[0], config, 10);
}

static void
packet(uint8_t type, uint8_t flags, const void *body, size_t len)
{
	static uint8_t buf[70000];

	buf[0] = type;
	buf[1] = flags;
	if (len)
		memcpy(buf + 2, body, len);
	if (send(twins, buf, len + 2, MSG_NOSIGNAL) < 0)
		printf("# send: %s\n", strerror(errno));
}

static void
serve(void)
{
	packet(RECORD_STATE, 0, "\1\0{}", 4);
	packet(RECORD_SERVING, 0, NULL, 0);
	if (relay_pump(&relay, &outbox) != 2)
		printf("# did not serve: %s\n", relay.problem);
}

/* One record after serve(): what the pump says. */
static int
after_serving(uint8_t type, uint8_t flags, const void *body, size_t len)
{
	begin();
	serve();
	packet(type, flags, body, len);
	return relay_pump(&relay, &outbox);
}

static void
test_config(void)
{
	static uint8_t buf[70000];
	size_t got = 0;
	bool more = true;
	int packets = 0;

	begin();
	for (size_t i = 0; i < sizeof(config); i++)
		config[i] = (uint8_t)(i * 7);
	relay_init(&relay, relay.fd, config, sizeof(config));
	ok(relay_wants_write(&relay), "configuration is due");
	for (int i = 0; i < 100 && more; i++) {
		ssize_t n;

		if (relay_pump(&relay, &outbox) < 0)
			break;
		while ((n = recv(twins, buf, sizeof(buf), 0)) > 0) {
			if (buf[0] != RECORD_CONFIG || memcmp(buf + 2, config + got, (size_t)n - 2) != 0)
				break;
			got += (size_t)n - 2;
			more = buf[1] & RECORD_MORE;
			packets++;
		}
	}
	ok(got == sizeof(config) && !more && packets == 4, "it arrives whole, in %d packets", packets);
	ok(!relay_wants_write(&relay), "then nothing is due");
}

static void
test_order(void)
{
	static uint8_t big[RECORD_BODY_MAX + 1];

	is_int(after_serving(RECORD_OP, 0, "{}", 2), 1, "an operation");
	is_int((long long)relay.operations, 1, "is counted");
	is_int(after_serving(RECORD_SERVING, 0, NULL, 0), -EPROTO, "serving twice");
	is_int(after_serving(RECORD_STATE, 0, "\1\0{}", 4), -EPROTO, "an initial state while serving");
	is_int(after_serving(RECORD_DONE, 0, NULL, 0), -EPROTO, "done before finish");
	is_int(after_serving(RECORD_CONFIG, 0, "x", 1), -EPROTO, "the monitor's own record");
	is_int(after_serving(99, 0, "x", 1), -EPROTO, "an unknown record");
	is_int(after_serving(RECORD_OP, 2, "{}", 2), -EPROTO, "an unknown flag");
	is_int(after_serving(RECORD_OP, 0, "", 0), -EPROTO, "an empty operation");
	is_int(after_serving(RECORD_LOG, RECORD_MORE, "\1x", 2), -EPROTO, "a log in pieces");
	is_int(after_serving(RECORD_LOG, 0, big, 4097), -EPROTO, "a log that is too long");
	is_int(after_serving(RECORD_TRUNCATED, 0, big, 16), -EPROTO, "a truncation of a wrong length");
	is_int(after_serving(RECORD_OP, 0, big, RECORD_BODY_MAX), 1, "the longest operation");
	is_int(after_serving(RECORD_FAILED, 0, "no\nway", 6), -ECANCELED, "the twins give up");
	is_str(relay.problem, "no?way", "with printable words");
	is_int(after_serving(RECORD_CA, 0, "PEM", 3), -EPROTO, "an authority while serving");
	begin();
	packet(RECORD_CA, 0, big, RECORD_CA_MAX);
	is_int(relay_pump(&relay, &outbox), 1, "an authority before serving");
	ok(relay.ca_len == RECORD_CA_MAX && outbox_is_empty(&outbox), "is kept, and no frame");
	packet(RECORD_CA, 0, "PEM", 3);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "a second one");
	begin();
	packet(RECORD_CA, 0, big, RECORD_CA_MAX + 1);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "one that is too long");
	begin();
	packet(RECORD_CA, 0, "", 0);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "an empty one");
	begin();
	packet(RECORD_CA, RECORD_MORE, "PEM", 3);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "one in pieces");
	begin();
	serve();
	(void)!send(twins, "x", 1, MSG_NOSIGNAL);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "a packet without flags");
	begin();
	packet(RECORD_STATE, 0, "\2\0{}", 4);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "a final state at the start");
	begin();
	packet(RECORD_OP, 0, "{}", 2);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "an operation before serving");
}

static void
test_pieces(void)
{
	begin();
	serve();
	packet(RECORD_OP, RECORD_MORE, "{\"a\":", 5);
	packet(RECORD_OP, 0, "1}", 2);
	is_int(relay_pump(&relay, &outbox), 2, "an operation in two pieces");
	is_int((long long)relay.operations, 1, "counts once");
	begin();
	serve();
	packet(RECORD_OP, RECORD_MORE, "{\"a\":", 5);
	packet(RECORD_LOG, 0, "\1x", 2);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "records do not interleave");
}

static void
test_end(void)
{
	begin();
	serve();
	relay_finish(&relay);
	is_int(relay_pump(&relay, &outbox), 0, "finish is sent");
	ok(relay.phase == RELAY_FINISHING, "and the phase moves");
	packet(RECORD_OP, 0, "{}", 2);
	packet(RECORD_STATE, 0, "\2\0{}", 4);
	packet(RECORD_DONE, 0, NULL, 0);
	close(twins);
	twins = -1;
	is_int(relay_pump(&relay, &outbox), 3, "late operation, final state, done");
	ok(relay.phase == RELAY_DONE, "done");
	begin();
	serve();
	relay_finish(&relay);
	is_int(relay_pump(&relay, &outbox), 0, "finish again");
	packet(RECORD_STATE, 0, "\2\0{}", 4);
	packet(RECORD_OP, 0, "{}", 2);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "no operation after a final state");
	begin();
	serve();
	close(twins);
	twins = -1;
	is_int(relay_pump(&relay, &outbox), -EPIPE, "an end before the end");
}

static int
after_started(uint8_t type, const void *body, size_t len)
{
	begin();
	relay.driven = relay.wants_ready = true;
	serve();
	relay_started(&relay);
	if (relay_pump(&relay, &outbox) < 0 || !relay.started_sent)
		printf("# not started: %s\n", relay.problem);
	packet(type, 0, body, len);
	return relay_pump(&relay, &outbox);
}

/* What twins may ask of the monitor, and what they are told. */
static void
test_driven(void)
{
	static uint8_t text[RECORD_CHUNK + 5], buf[70000];

	is_int(after_started(RECORD_READY, NULL, 0), 1, "ready");
	ok(relay.ready && !relay.end && relay.signals == 0, "is noted");
	packet(RECORD_READY, 0, NULL, 0);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "ready twice");
	is_int(after_started(RECORD_END, NULL, 0), 1, "end");
	ok(relay.end && !relay.ready, "is noted");
	packet(RECORD_END, 0, NULL, 0);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "end twice");
	is_int(after_started(RECORD_SIGNAL, "\1", 1), 1, "SIGHUP");
	is_int(relay.signals, 2, "is noted");
	packet(RECORD_SIGNAL, 0, "\12", 1);
	is_int(relay_pump(&relay, &outbox), 1, "SIGUSR1 as well");
	is_int(relay.signals, 2 | 1 << 10, "both are noted");
	is_int(after_started(RECORD_SIGNAL, "\11", 1), -EPROTO, "SIGKILL may not be sent");
	is_int(after_started(RECORD_SIGNAL, "\0", 1), -EPROTO, "nor signal 0");
	is_int(after_started(RECORD_SIGNAL, "\1\1", 2), -EPROTO, "nor two at once");
	is_int(after_started(RECORD_SIGNAL, NULL, 0), -EPROTO, "nor none");
	is_int(after_started(RECORD_END, "x", 1), -EPROTO, "an end with a body");
	is_int(after_serving(RECORD_END, 0, NULL, 0), -EPROTO, "an end of a workflow that nobody drives");
	begin();
	relay.driven = true;
	serve();
	packet(RECORD_END, 0, NULL, 0);
	is_int(relay_pump(&relay, &outbox), -EPROTO, "an end before the start");
	is_int(after_started(RECORD_END, NULL, 0), 1, "an end");
	relay_finish(&relay);
	is_int(relay_pump(&relay, &outbox), 0, "that comes while the workflow ends");
	packet(RECORD_READY, 0, NULL, 0);
	is_int(relay_pump(&relay, &outbox), 1, "may come late");
	begin();
	relay.driven = true;
	serve();
	relay_started(&relay);
	memset(text, 'x', sizeof(text));
	relay_output(&relay, text, sizeof(text));
	ok(!relay_wants_write(&relay), "output goes out at once");
	(void)!recv(twins, buf, sizeof(buf), 0); /* the configuration */
	ok(recv(twins, buf, sizeof(buf), 0) == 2 && buf[0] == RECORD_STARTED, "started comes first");
	ok(recv(twins, buf, sizeof(buf), 0) == (ssize_t)RECORD_CHUNK + 2 && buf[0] == RECORD_OUTPUT, "then a piece");
	ok(recv(twins, buf, sizeof(buf), 0) == 7 && buf[0] == RECORD_OUTPUT && relay.output_len == 0, "and the rest");
	for (int i = 0; i < 1000 && relay.output_len == 0; i++)
		relay_output(&relay, text, sizeof(text));
	ok(relay.output_len > 0 && relay_wants_write(&relay), "twins that do not read are waited for");
	while (recv(twins, buf, sizeof(buf), 0) > 0)
		;
	is_int(relay_pump(&relay, &outbox), 0, "and when they read");
	is_int((long long)relay.output_len, 0, "they get the rest");
}

/* A host that does not read: nothing is taken from the twins, nothing is lost, memory stays as it is. */
static void
test_pressure(void)
{
	static uint8_t big[60000], buf[65536];
	static struct frame_receiver receiver;
	static const uint8_t random[FRAME_RANDOM_LEN] = { 1 };
	int sent = 0, frames = 0, r = 0;
	bool broken = false;
	ssize_t n;

	begin();
	frame_receiver_init(&receiver, FRAME_TO_HOST, random, false);
	(void)outbox_put(&outbox, FRAME_HELLO, 0, "{}", 2);
	(void)outbox_put(&outbox, FRAME_FIREWALL, 0, "\1{}", 3);
	serve();
	for (int i = 0; i < 200; i++) {
		uint8_t head[2] = { RECORD_OP, 0 };

		memcpy(big, head, 2);
		if (send(twins, big, sizeof(big), MSG_NOSIGNAL) > 0)
			sent++;
		r = relay_pump(&relay, &outbox);
		(void)outbox_flush(&outbox);
		if (r < 0)
			break;
	}
	ok(sent < 200 && r >= 0, "the twins must wait after %d records", sent);
	ok(!outbox_has_room(&outbox) && outbox.error == 0, "the outbox is full, and well");
	for (int i = 0; i < 10000 && !broken; i++) {
		size_t at = 0, used;
		struct frame f;

		(void)outbox_flush(&outbox);
		n = read(host, buf, sizeof(buf));
		if (n <= 0 && relay_pump(&relay, &outbox) <= 0 && outbox_is_empty(&outbox))
			break;
		while (n > 0 && at < (size_t)n) {
			r = frame_receive(&receiver, buf + at, (size_t)n - at, &used, &f);
			at += used;
			broken = broken || r < 0;
			frames += r > 0 && f.type == FRAME_OP;
			if (r < 0)
				break;
		}
	}
	ok(!broken && frames == sent, "then all %d arrive in order", frames);
}

int
main(void)
{
	test_config();
	test_order();
	test_pieces();
	test_end();
	test_driven();
	test_pressure();
	return tap_done();
}
