// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz_twins.c - the document that the twins are given, and one call of each service that came of it.  The host has checked such a
// document; the twins check again what they rely on.
#include <stdlib.h>
#include <string.h>

#include "guest/service.h"
#include "guest/twin_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
call(struct http_core *core, struct service *s, const char *text)
{
	struct http_conn conn;
	size_t len;

	http_init(&conn, core, s);
	if (http_receive(&conn, text, strlen(text)) > strlen(text))
		abort();
	http_output(&conn, &len);
	http_sent(&conn, len);
	http_wipe(&conn);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t key[2] = { 1, 2 };
	struct world world;
	struct http_core core;
	struct buf op;
	char error[200];
	int r = world_read(&world, (const char *)data, size, key, error, sizeof(error));

	if (r < 0 && error[0] == '\0')
		abort();
	if (r == 0) {
		http_core_init(&core, &world);
		for (size_t i = 0; i < world.services_len && i < 4; i++) {
			call(&core, &world.services[i],
			     "POST /x?a=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: k\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
			     "POST /x?a=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: k\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
			call(&core, &world.services[i], "GET /x?a=1&limit=2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
		}
		buf_init(&op, 64u << 20);
		while (ops_take(&core.ops, &op))
			op.len = 0;
		buf_wipe(&op);
		http_core_wipe(&core);
	}
	world_free(&world);
	return 0;
}
