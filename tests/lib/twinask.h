/* SPDX-License-Identifier: GPL-2.0-or-later
 * twinask.h - one service asked through the engine like a client would, for unit tests.  Header-only, like tap.h. */
#ifndef TESTS_TWINASK_H
#define TESTS_TWINASK_H
#include <stdlib.h>

#include "guest/service.h"
#include "guest/twin_http.h"
#include "tests/lib/tap.h"

#define SECRET "at_test_0123456789abcdefghijklmnopqrstuv"

static struct world world;
static struct http_core core;
static struct http_conn conn;
static struct buf reply, op;

/* services: the objects, joined by commas; more: members of the document, each after a comma.  1, or 0 with the problem as a
 * comment. */
static inline int
load_with(const char *services, const char *more)
{
	uint64_t key[2] = { 3, 4 };
	char error[300];
	struct buf text;
	int r;

	buf_init(&text, 64u << 20);
	buf_text(&text, "{\"run\":{\"id\":\"r\",\"seed\":4211,\"start_ms\":1790000000000},"
			"\"limits\":{\"operations\":100000,\"state_bytes\":1000000},"
			"\"secrets\":{\"payments\":\"" SECRET "\"},\"services\":[");
	buf_text(&text, services);
	buf_text(&text, "]");
	buf_text(&text, more);
	buf_text(&text, "}");
	r = world_read(&world, text.at, text.len, key, error, sizeof(error));
	buf_wipe(&text);
	if (r < 0) {
		printf("# %s\n", error);
		world_free(&world);
		return 0;
	}
	http_core_init(&core, &world);
	http_init(&conn, &core, &world.services[0]);
	return 1;
}

static inline int
load(const char *services)
{
	return load_with(services, "");
}

static inline void
unload(void)
{
	http_wipe(&conn);
	http_core_wipe(&core);
	world_free(&world);
	buf_wipe(&reply);
	buf_wipe(&op);
}

/* Sends without taking the reply. */
static inline void
put(struct http_conn *c, const char *method, const char *target, const char *extra, const char *text)
{
	struct buf in;

	buf_init(&in, 64u << 20);
	buf_format(&in, "%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %zu\r\n\r\n", method, target,
		   world.services[0].hosts[0], extra, strlen(text));
	buf_text(&in, text);
	if (http_receive(c, in.at, in.len) != in.len)
		printf("# not all of the request was taken\n");
	buf_wipe(&in);
}

/* Takes what waits; the status of the first reply in it, with its text in reply and the next operation in op. */
static inline int
get(struct http_conn *c)
{
	const char *out;
	size_t len;

	buf_wipe(&reply);
	buf_wipe(&op);
	buf_init(&reply, 64u << 20);
	buf_init(&op, 64u << 20);
	out = http_output(c, &len);
	buf_add(&reply, out, len);
	http_sent(c, len);
	ops_take(&core.ops, &op);
	buf_terminate(&reply);
	buf_terminate(&op);
	return reply.at == NULL || reply.len < 12 ? 0 : atoi(reply.at + 9);
}

/* One request and its reply.  extra: header lines or "". */
static inline int
ask(const char *method, const char *target, const char *extra, const char *text)
{
	put(&conn, method, target, extra, text);
	return get(&conn);
}

static inline const char *
body(void)
{
	const char *at = reply.at == NULL ? NULL : strstr(reply.at, "\r\n\r\n");

	return at == NULL ? "" : at + 4;
}

/* The reply's head and body hold text. */
static inline int
has(const char *text)
{
	int found = reply.at != NULL && strstr(reply.at, text) != NULL;

	if (!found)
		printf("# no %s in: %s\n", text, reply.at == NULL ? "" : reply.at);
	return found;
}

/* The operation holds text. */
static inline int
says(const char *text)
{
	int found = op.at != NULL && strstr(op.at, text) != NULL;

	if (!found)
		printf("# no %s in: %s\n", text, op.at == NULL ? "" : op.at);
	return found;
}

#endif
