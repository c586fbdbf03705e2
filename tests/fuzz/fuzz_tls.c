/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_tls.c - records and handshake bytes into the twins' TLS.  First byte even: the second says how long the pieces are, the
 * rest is what a client sends.  Odd: a real client makes a handshake and sends the rest as a request, but what follows the first
 * byte, three bytes an edit up to a zero, is changed on its way: place (big-endian) and what it is xored with.
 * The engine always takes or gives, every operation is valid JSON, and nothing is left behind. */
#include <assert.h>
#include <stdint.h>

#include "proto/cursor.h"
#include "proto/limits.h"
#include "tests/lib/tls_peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char world_text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":7,\"start_ms\":1790000000000},\"limits\":{\"operations\":100,\"state_bytes\":100000},"
	"\"secrets\":{},\"services\":[{\"name\":\"shop\",\"kind\":\"http\",\"hosts\":[\"s.example\"],\"tls\":true,"
	"\"state\":{\"orders\":[{\"id\":\"o1\",\"n\":1}]},\"routes\":[{\"resource\":\"orders\",\"path\":\"/orders\"}]}]}";

static struct tls tls;
static struct peer peer;

static void
raw(struct http_core *core, struct service *service, const uint8_t *data, size_t size)
{
	static const uint8_t seed[TLS_SEED_LEN] = { 1, 2, 3 };
	size_t piece = size == 0 || data[0] == 0 ? SIZE_MAX : data[0];
	struct tls_conn *t = tls_open(tls_service_at(&tls, 0), seed);
	struct http_conn conn;

	assert(t != NULL);
	http_init(&conn, core, service);
	for (size_t at = size == 0 ? 0 : 1; at < size;) {
		size_t len = size - at < piece ? size - at : piece, used, waiting;
		char *copy = malloc(len);

		memcpy(copy, data + at, len);
		used = tls_receive(t, &conn, copy, len);
		free(copy);
		at += used;
		tls_output(t, &conn, &waiting);
		assert(used > 0 || waiting > 0);
		/* one byte at a time leaves, then all */
		if (waiting > 1)
			tls_sent(t, &conn, 1);
		for (tls_output(t, &conn, &waiting); waiting > 0; tls_output(t, &conn, &waiting))
			tls_sent(t, &conn, waiting);
	}
	http_input_ended(&conn);
	(void)tls_close(t);
	http_wipe(&conn);
	tls_free(t);
}

static void
enemy(struct http_core *core, struct service *service, const uint8_t *data, size_t size)
{
	size_t at = 0;

	peer_open(&peer, &tls, tls_service_at(&tls, 0), core, service, "s.example", NULL);
	for (; size - at >= 3 && data[at + 2] != 0 && peer.edits_len < 16; at += 3) {
		peer.edits[peer.edits_len].at = (uint64_t)data[at] << 8 | data[at + 1];
		peer.edits[peer.edits_len++].with = data[at + 2];
	}
	peer.piece = peer.edits_len > 0 ? peer.edits[0].at % 7 * 40 : 0;
	if (size - at >= 3)
		at += 3;
	peer_say(&peer, (const char *)data + at, size - at);
	(void)tls_close(peer.tls);
	peer_run(&peer);
	peer_close(&peer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t key[2] = { 1, 2 };
	static const uint8_t random[TLS_RANDOM_LEN] = { 1 };
	struct world world;
	struct http_core core;
	struct buf op;
	char error[200];

	if (world_read(&world, world_text, sizeof(world_text) - 1, key, error, sizeof(error)) < 0)
		abort();
	if (tls.services == NULL) {
		const struct tls_name name = { world.services[0].hosts, world.services[0].hosts_len };

		assert(tls_init(&tls, &name, 1, random, PEER_NOW) == 0);
	}
	http_core_init(&core, &world);
	if (size > 0 && data[0] & 1)
		enemy(&core, &world.services[0], data + 1, size - 1);
	else if (size > 0)
		raw(&core, &world.services[0], data + 1, size - 1);
	assert(core.failed == 0);
	buf_init(&op, RECORD_MAX);
	while (ops_take(&core.ops, &op)) {
		struct json_scan scan;

		assert(!op.failed && json_scan(op.at, op.len, JSON_DEPTH_MAX, &scan) == 0);
		op.len = 0;
	}
	assert(core.ops.bytes == 0 && core.memory == 0);
	buf_wipe(&op);
	http_core_wipe(&core);
	world_free(&world);
	return 0;
}
