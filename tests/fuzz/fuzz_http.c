/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_http.c - whatever a client sends, in pieces: the first byte says how long they are.  Every operation must be valid
 * JSON, and a connection always ends by being closed or idle. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/service.h"
#include "guest/twin_http.h"
#include "proto/cursor.h"
#include "proto/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char world_text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":7,\"start_ms\":1790000000000},\"limits\":{\"operations\":100,\"state_bytes\":100000},"
	"\"secrets\":{\"key\":\"at_test_secret\"},\"services\":[{\"name\":\"shop\",\"kind\":\"http\",\"hosts\":[\"s\"],\"profile\":\"stripe/v1\",\"idempotency\":{\"on\":[\"POST\",\"PUT\"]},\"rate_limit\":{\"limit\":20,\"window_ms\":1000},"
	"\"state\":{\"orders\":[{\"id\":\"o1\",\"n\":1}]},\"routes\":[{\"resource\":\"orders\",\"path\":\"/orders\",\"filter\":[\"n\"]},{\"id\":\"pages\",\"match\":{\"method\":\"GET\",\"path\":\"/p\"},\"resource\":\"orders\",\"filter\":[\"n\",\"t\"],\"page\":\"pages\"},"
	"{\"id\":\"match\",\"match\":{\"path\":\"/m\",\"query\":{\"q\":{\"matches\":\"^(a|b)+[^c]?\"},\"r\":[\"1\",\"*\"]},\"headers\":{\"X-A\":{\"not\":\"1\"}},"
	"\"body\":{\"json\":{\"a\":{\"contains\":{\"b\":\"*\"}},\"c\":{\"equals\":{\"d\":[1]}},\"e\":{\"f\":[1,{\"g\":null}]}}}},\"reply\":{\"status\":402,\"code\":\"declined\"}},"
	"{\"id\":\"form\",\"match\":{\"path\":\"/m\",\"body\":{\"form\":{\"a[b]\":\"*\",\"c\":{\"not\":{\"matches\":\"x\"}}}}},\"do\":[{\"create\":\"orders\"}]},"
	"{\"id\":\"echo\",\"match\":{\"path\":\"/e/{what}\"},\"do\":[{\"find\":\"orders\",\"id\":\"{{request.path.what}}\",\"as\":\"o\"},"
	"{\"require\":\"o.n + int(request.body.n, 0) < 9 or count(state.orders, 'n', request.form.n) == 1\"},"
	"{\"update\":\"orders\",\"id\":\"{{o.id}}\",\"set\":{\"n\":\"{{request.body.n}}\",\"t\":\"{{lower(request.query.t)}}{{request.body}}\"}},"
	"{\"append\":\"orders\",\"id\":\"{{o.id}}\",\"field\":\"l\",\"value\":\"{{request.headers}}\"}],"
	"\"reply\":{\"body\":{\"all\":\"{{request}}\",\"rows\":\"{{state.orders}}\"}}},"
	"{\"id\":\"all\",\"match\":{\"path\":\"/a/{id}\"},\"do\":[{\"set\":\"v\",\"to\":\"x\"},{\"set\":\"v\",\"to\":{\"w\":\"{{vars.v}}\"}},"
	"{\"create\":\"orders\",\"as\":\"made\"},{\"increment\":\"orders\",\"id\":\"{{made.id}}\",\"field\":\"n\",\"by\":\"{{int(request.query.by, 1)}}\"},"
	"{\"delete\":\"orders\",\"id\":\"{{request.path.id}}\"}],\"reply\":{\"headers\":{\"x\":\"{{request.body}}{{id}}\"}}}]}]}";

static void
drain(struct http_conn *c)
{
	size_t len;

	http_output(c, &len);
	http_sent(c, len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t key[2] = { 1, 2 };
	struct world world;
	struct http_core core;
	struct http_conn conn;
	struct buf op;
	char error[200];
	size_t piece = size == 0 || data[0] == 0 ? SIZE_MAX : data[0];

	if (world_read(&world, world_text, sizeof(world_text) - 1, key, error, sizeof(error)) < 0)
		abort();
	http_core_init(&core, &world);
	http_init(&conn, &core, &world.services[0]);
	for (size_t at = size == 0 ? 0 : 1; at < size;) {
		size_t len = size - at < piece ? size - at : piece, used;
		char *copy = malloc(len);

		memcpy(copy, data + at, len);
		used = http_receive(&conn, copy, len);
		free(copy);
		drain(&conn);
		assert(core.failed == 0);
		at += used;
	}
	http_input_ended(&conn);
	drain(&conn);
	assert(http_is_closing(&conn));
	http_wipe(&conn);
	buf_init(&op, RECORD_MAX);
	while (ops_take(&core.ops, &op)) {
		struct json_scan scan;

		assert(!op.failed && json_scan(op.at, op.len, JSON_DEPTH_MAX, &scan) == 0);
		op.len = 0;
	}
	assert(core.ops.bytes == 0 && core.memory == 0);
	op.len = 0;
	assert(state_dump(&world.services[0].state, "shop", &op) == 0);
	assert(op.len <= world.services[0].state.text_len);
	buf_wipe(&op);
	http_core_wipe(&core);
	world_free(&world);
	return 0;
}
