// LINK: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_twin_memory.c - each allocation of a short life of the twins fails in turn: nothing crashes, nothing leaks, and what
 * was answered is never half done. */
#include <stdlib.h>

#include "guest/service.h"
#include "guest/twin_http.h"
#include "proto/limits.h"
#include "tests/lib/tap.h"

static long left = -1; /* allocations until one fails; -1: none fails */
static bool failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static bool
fails(void)
{
	if (left < 0 || left-- > 0)
		return false;
	failed = true;
	return true;
}
void *
__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}
void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}
void *
__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}
char *
__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

static const char world_text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":7,\"start_ms\":1790000000000},\"limits\":{\"operations\":1000,\"state_bytes\":1000000},"
	"\"secrets\":{\"key\":\"at_test_secret\"},\"services\":[{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s\"],\"variables\":{\"n\":1},"
	"\"idempotency\":{\"required\":false},\"rate_limit\":{\"limit\":100,\"window_ms\":1000},\"auth\":{\"scheme\":\"header\",\"header\":\"X-T\",\"accept\":\"t\"},"
	"\"state\":{\"a\":[{\"id\":\"1\",\"n\":1,\"l\":[1]}],\"b\":[]},\"routes\":[{\"resource\":\"b\",\"path\":\"/b\",\"filter\":[\"n\"],\"page\":\"pages\"},"
	"{\"id\":\"m\",\"match\":{\"method\":\"POST\",\"path\":\"/m\",\"query\":{\"x\":{\"matches\":\"^[a-c]+$\"}},\"headers\":{\"h\":{\"not\":\"*\"}},\"body\":{\"json\":{\"n\":{\"contains\":1},\"o\":{\"p\":[\"*\",2]}}}},\"reply\":{\"status\":402,\"code\":\"declined\",\"headers\":{\"y\":\"z\"}}},"
	"{\"id\":\"e\",\"match\":{\"method\":\"POST\",\"path\":\"/e/{id}\"},\"when\":\"has(request.key) or true\",\"do\":["
	"{\"find\":\"a\",\"id\":\"{{request.path.id}}\",\"as\":\"row\",\"else\":{\"status\":404,\"headers\":{\"x\":\"{{request.target}}\"},\"body\":{\"e\":1}}},"
	"{\"require\":\"int(request.body.n) <= sum(state.a, 'n') + len(str(row))\"},{\"create\":\"b\",\"id\":\"b_{{lower('ID')}}{{id}}\",\"row\":{\"of\":\"{{row}}\"},\"as\":\"made\"},"
	"{\"increment\":\"a\",\"id\":\"1\",\"field\":\"n\"},{\"append\":\"a\",\"id\":\"1\",\"field\":\"l\",\"value\":\"{{made}}\"},"
	"{\"update\":\"a\",\"id\":\"1\",\"set\":{\"n\":5,\"m\":\"{{now}}\"}},{\"set\":\"n\",\"to\":\"{{vars.n + 1}}\"}],"
	"\"reply\":{\"headers\":{\"x-made\":\"{{made.id}}\"},\"body\":{\"all\":\"{{state.b}}\",\"q\":\"{{request}}\"}}}]}]}";
static const char conversation[] =
	"POST /e/1?x=1&x=2&x=3 HTTP/1.1\r\nHost: s\r\nX-T: t\r\nA: b\r\nA: c\r\nContent-Length: 7\r\n\r\n{\"n\":1}"
	"POST /e/9 HTTP/1.1\r\nHost: s\r\nX-T: t\r\nAuthorization: Basic YXRfdGVzdF9zZWNyZXQ6\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n"
	"POST /b HTTP/1.1\r\nHost: s\r\nX-T: t\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\nn=1"
	"POST /m?x=abc HTTP/1.1\r\nHost: s\r\nX-T: t\r\nIdempotency-Key: k\r\nContent-Length: 25\r\n\r\n{\"o\":{\"p\":[0,2]},\"n\":[1]}"
	"POST /m?x=abc HTTP/1.1\r\nHost: s\r\nX-T: t\r\nIdempotency-Key: k\r\nContent-Length: 25\r\n\r\n{\"n\":[1],\"o\":{\"p\":[0,2]}}"
	"GET /b?n=1&per_page=1 HTTP/1.1\r\nHost: s\r\nX-T: t\r\n\r\n"
	"PATCH /b/zz HTTP/1.1\r\nHost: s\r\nX-T: wrong\r\nContent-Length: 2\r\n\r\n{}"
	"GET /zz HTTP/1.1\r\nHost: s\r\nX-T: t\r\n\r\nbad\r\n\r\n";

/* True if the state is what some number of whole requests leave behind.  *first: the first of them was done. */
static bool
is_whole(const struct world *w, bool *first)
{
	const struct state *s = &w->services[0].state;
	const struct collection *a = state_collection(s, "a"), *b = state_collection(s, "b");
	struct buf text;
	bool done, good;

	buf_init(&text, 1u << 20);
	if (state_dump(s, "s", &text) < 0 || buf_terminate(&text) == NULL)
		return false;
	done = strstr(text.at, "\"m\":1790000000000") != NULL;
	good = s->journal == NULL && a->rows_len == 1 && b->rows_len <= 2 &&
	       done == (strstr(text.at, "\"id\":\"b_id") != NULL) &&
	       done == (strstr(text.at, "\"variables\":{\"n\":2}") != NULL);
	*first = done;
	buf_wipe(&text);
	return good;
}

/* One life, in which the n-th allocation fails. */
static bool
live(long n)
{
	uint64_t key[2] = { 1, 2 };
	struct world world;
	struct http_core core;
	struct http_conn conn;
	struct buf op;
	char error[200];
	bool good, first = false;
	int unmatched = 0;
	size_t len, used = 0;

	left = n;
	failed = false;
	if (world_read(&world, world_text, sizeof(world_text) - 1, key, error, sizeof(error)) < 0) {
		left = -1;
		world_free(&world);
		if (!failed)
			printf("# %s\n", error);
		return failed && error[0] != 0;
	}
	http_core_init(&core, &world);
	http_init(&conn, &core, &world.services[0]);
	while (used < sizeof(conversation) - 1 && core.failed == 0) {
		used += http_receive(&conn, conversation + used, sizeof(conversation) - 1 - used);
		http_output(&conn, &len);
		http_sent(&conn, len);
	}
	http_wipe(&conn);
	left = -1;
	buf_init(&op, RECORD_MAX);
	while (ops_take(&core.ops, &op))
		;
	buf_terminate(&op);
	for (const char *at = op.at; at != NULL && (at = strstr(at, "\"unmatched\":true")) != NULL; at++)
		unmatched++;
	good = !op.failed && is_whole(&world, &first);
	if (core.failed == 0) /* two calls are unmatched by themselves */
		good = good && core.ops.len == 9 && unmatched >= (first ? 2 : 3);
	if (!good)
		printf("# allocation %ld: failed %d, %llu operations, %d unmatched\n", n, core.failed,
		       (unsigned long long)core.ops.len, unmatched);
	buf_wipe(&op);
	http_core_wipe(&core);
	world_free(&world);
	return good;
}

int
main(void)
{
	long n = 0, bad = 0;

	ok(live(-1), "a life with memory enough");
	do
		bad += !live(n++);
	while (failed && n < 20000);
	ok(n > 500 && !failed, "%ld allocations failed in turn", n - 1);
	is_int(bad, 0, "each ended in a failure that was noticed, or in a reply that was whole");
	return tap_done();
}
