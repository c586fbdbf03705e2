/* SPDX-License-Identifier: GPL-2.0-or-later
 * rows.c - what one call costs at 10, 10,000 and 1,000,000 rows: microseconds of processor time each, through the engine
 * without sockets.  Prints a table; nothing here passes or fails.  What must not grow with the rows: all but the last line. */
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guest/service.h"
#include "guest/twin_http.h"

static struct world world;
static struct http_core core;
static struct http_conn conn;

static const char text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":1,\"start_ms\":1790000000000},\"limits\":{\"operations\":4000000000,\"state_bytes\":8000000000},"
	"\"secrets\":{},\"services\":[{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"idempotency\":{\"required\":false},\"state\":{\"rows\":[]},\"routes\":["
	"{\"resource\":\"rows\",\"path\":\"/rows\",\"filter\":[\"owner\"],\"page\":\"cursor\"},"
	"{\"id\":\"pages\",\"match\":{\"method\":\"GET\",\"path\":\"/pages\"},\"resource\":\"rows\",\"filter\":[\"owner\",\"kind\"],\"page\":\"pages\"},"
	"{\"id\":\"count\",\"match\":{\"method\":\"GET\",\"path\":\"/count\"},\"reply\":{\"body\":\"{{count(state.rows, 'kind', 'even')}}\"}},"
	"{\"id\":\"sum\",\"match\":{\"method\":\"GET\",\"path\":\"/sum\"},\"reply\":{\"body\":\"{{sum(state.rows, 'n', 'owner', request.query.o)}}\"}},"
	"{\"id\":\"add\",\"match\":{\"method\":\"POST\",\"path\":\"/add\"},\"do\":[{\"increment\":\"rows\",\"id\":\"{{request.body.id}}\",\"field\":\"n\"}]}]}]}";

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
ask(const char *request)
{
	struct buf op;
	size_t len;
	int status;

	if (http_receive(&conn, request, strlen(request)) != strlen(request))
		return 0;
	status = atoi(http_output(&conn, &len) + 9);
	http_sent(&conn, len);
	buf_init(&op, 64u << 20);
	ops_take(&core.ops, &op);
	buf_wipe(&op);
	return status;
}

/* format has a %d for a row and may have one more for the round. */
static void
measure(const char *method, const char *target, const char *body, const char *extra, int rows, const char *name)
{
	char request[512], path[128], data[128], header[128];
	int rounds = 2000, bad = 0;
	double start = 0;

	for (int i = -20; i < rounds; i++) {
		int row = (int)((unsigned)(i + 20) * 7919u % (unsigned)rows);

		if (i == 0)
			start = seconds();
		snprintf(path, sizeof(path), target, row);
		snprintf(data, sizeof(data), body, row);
		snprintf(header, sizeof(header), extra, i);
		snprintf(request, sizeof(request),
			 "%s %s HTTP/1.1\r\nHost: s.internal\r\n%sContent-Length: %zu\r\n\r\n%s", method, path, header,
			 strlen(data), data);
		bad += ask(request) >= 300;
	}
	printf("  %-34s %8.1f%s\n", name, (seconds() - start) / rounds * 1e6, bad > 0 ? "  (refused)" : "");
}

static int
fill(int rows)
{
	struct state *s = &world.services[0].state;
	struct collection *c = state_collection(s, "rows");

	s->text_max = (size_t)1 << 40; /* no record is made of it here */
	for (int i = 0; i < rows; i++) {
		struct cJSON *json = cJSON_CreateObject();
		struct row *row;
		char id[24], owner[24];

		snprintf(id, sizeof(id), "r%d", i);
		snprintf(owner, sizeof(owner), "o%d", i / 10);
		cJSON_AddStringToObject(json, "id", id);
		cJSON_AddStringToObject(json, "owner", owner);
		cJSON_AddStringToObject(json, "kind", i % 2 == 0 ? "even" : "odd");
		cJSON_AddNumberToObject(json, "n", i);
		if (state_create(s, c, id, json, &row) < 0)
			return -1;
		state_keep(s);
	}
	return 0;
}

static int
run(int rows)
{
	const uint64_t key[2] = { 1, 2 };
	char error[200];
	double start;

	if (world_read(&world, text, strlen(text), key, error, sizeof(error)) < 0 || fill(rows) < 0) {
		printf("%s\n", error);
		return 1;
	}
	http_core_init(&core, &world);
	http_init(&conn, &core, &world.services[0]);
	printf("%d rows, %zu MiB of state (microseconds a call)\n", rows, world.budget.used >> 20);
	start = seconds();
	ask("GET /rows?owner=o0 HTTP/1.1\r\nHost: s.internal\r\n\r\n");
	ask("GET /pages?kind=odd&page=1 HTTP/1.1\r\nHost: s.internal\r\n\r\n");
	ask("GET /pages HTTP/1.1\r\nHost: s.internal\r\n\r\n");
	printf("  %-34s %8.1f\n", "once: three indexes", (seconds() - start) * 1e6);
	measure("GET", "/rows/r%d", "", "", rows, "get");
	measure("GET", "/rows?owner=o%.0d&limit=10", "", "", rows, "list by field");
	measure("GET", "/rows?limit=10&starting_after=r%d", "", "", rows, "page by cursor");
	measure("GET", "/pages?kind=odd&per_page=10&page=%d", "", "", rows > 20 ? rows / 20 : 1,
		"page by number and field");
	measure("GET", "/pages?per_page=10&page=%d", "", "", rows > 10 ? rows / 10 : 1, "page by number");
	measure("GET", "/count?%d", "", "", rows, "count by field");
	measure("GET", "/sum?o=o%d", "", "", rows > 10 ? rows / 10 : 1, "sum of ten by field");
	measure("POST", "/add", "{\"id\":\"r%d\"}", "", rows, "increment");
	measure("PATCH", "/rows/r%d", "{\"kind\":\"odd\"}", "", rows, "update of an indexed field");
	measure("POST", "/rows", "{\"owner\":\"new\",\"kind\":\"even\"}", "Idempotency-Key: k%d\r\n", rows,
		"create with a key");
	printf("  %zu MiB of indexes\n", world.budget.indexes >> 20);
	http_wipe(&conn);
	http_core_wipe(&core);
	world_free(&world);
	return 0;
}

int
main(void)
{
	return run(10) || run(10000) || run(1000000);
}
