/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_twin_http.c - the engine: the same conversation whole, cut in two at every place, and byte by byte must give the
 * same bytes and the same operations; then the limits and everything that is not HTTP. */
#include <stdlib.h>

#include "guest/service.h"
#include "guest/twin_http.h"
#include "proto/limits.h"
#include "tests/lib/tap.h"

static const char world_text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":7,\"start_ms\":1790000000000},\"limits\":{\"operations\":1000,\"state_bytes\":1000000},"
	"\"secrets\":{\"key\":\"at_test_secretsecretsecret\"},\"services\":[{\"name\":\"shop\",\"kind\":\"http\",\"hosts\":[\"shop.internal\"],"
	"\"state\":{\"orders\":[{\"id\":\"o1\",\"n\":1}]},\"routes\":[{\"resource\":\"orders\",\"path\":\"/orders\",\"filter\":[\"n\"]},"
	"{\"id\":\"echo\",\"match\":{\"method\":\"POST\",\"path\":\"/echo/{what}\"},\"reply\":{\"status\":200,\"body\":"
	"{\"what\":\"{{request.path.what}}\",\"q\":\"{{request.query}}\",\"form\":\"{{request.form}}\",\"body\":\"{{request.body}}\"}}}]}]}";

/* One run of the twin over one connection. */
struct talk {
	struct world world;
	struct http_core core;
	struct http_conn conn;
	struct buf out, ops;
};

static int
start(struct talk *t, uint64_t operations)
{
	uint64_t key[2] = { 1, 2 };
	char error[200];

	buf_init(&t->out, 64u << 20);
	buf_init(&t->ops, 64u << 20);
	if (world_read(&t->world, world_text, strlen(world_text), key, error, sizeof(error)) < 0) {
		printf("# %s\n", error);
		return 0;
	}
	t->world.operations_max = operations;
	http_core_init(&t->core, &t->world);
	http_init(&t->conn, &t->core, &t->world.services[0]);
	return 1;
}

static void
drain(struct talk *t)
{
	size_t len;
	const char *out = http_output(&t->conn, &len);

	buf_add(&t->out, out, len);
	http_sent(&t->conn, len);
}

static void give(struct talk *t, const char *data, size_t len);

static void
say(struct talk *t, const char *text)
{
	give(t, text, strlen(text));
}

/* Each piece lies in a block of its own size. */
static void
give(struct talk *t, const char *data, size_t len)
{
	char *piece = malloc(len ? len : 1);
	size_t used = 0;

	memcpy(piece, data, len);
	while (used < len) {
		used += http_receive(&t->conn, piece + used, len - used);
		drain(t);
	}
	free(piece);
}

static void
stop(struct talk *t)
{
	drain(t);
	http_wipe(&t->conn);
	while (ops_take(&t->core.ops, &t->ops))
		buf_text(&t->ops, "\n");
	buf_terminate(&t->out);
	buf_terminate(&t->ops);
}

static void
done(struct talk *t)
{
	http_core_wipe(&t->core);
	world_free(&t->world);
	buf_wipe(&t->out);
	buf_wipe(&t->ops);
}

static const char conversation[] =
	"\r\nGET /orders/o1 HTTP/1.1\r\nHost: shop.internal\r\nAccept: a\r\naccept: b\r\n\r\n"
	"POST /orders HTTP/1.1\r\nhost: SHOP.internal:8080\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"id\":\"o2\",\"n\":2}"
	"POST /echo/a%20b?x=1&y=%41+b&x=2 HTTP/1.1\r\nHost: shop.internal\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
	"5;ext=1\r\n{\"a\":\r\n3\r\n[1]\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n"
	"POST /echo/form HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\na=1&b%5B%5D"
	"HEAD /orders/o2 HTTP/1.1\r\nHost: shop.internal\r\n\r\n"
	"GET /orders?n=2 HTTP/1.1\r\nHost: shop.internal\r\nAuthorization: Bearer at_test_secretsecretsecret\r\n\r\n"
	"DELETE /orders/o1 HTTP/1.1\r\nHost: shop.internal\r\n\r\n"
	"PATCH /orders/o2 HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 7\r\n\r\n{\"m\":3}"
	"GET /nothing HTTP/1.1\r\nHost: shop.internal\r\nConnection: close\r\n\r\n"
	"GET /orders/o2 HTTP/1.1\r\nHost: shop.internal\r\n\r\n";

static int
same(const struct talk *a, const struct talk *b)
{
	return a->out.len == b->out.len && memcmp(a->out.at, b->out.at, a->out.len) == 0 && a->ops.len == b->ops.len &&
	       memcmp(a->ops.at, b->ops.at, a->ops.len) == 0;
}

static void
cuts(void)
{
	size_t len = strlen(conversation), bad = 0;
	struct talk whole = { 0 }, cut = { 0 };

	if (!ok(start(&whole, 1000), "the world is read"))
		return;
	give(&whole, conversation, len);
	ok(http_is_closing(&whole.conn), "Connection: close ends it");
	stop(&whole);
	if (getenv("SHOW"))
		printf("%s\n%s\n", whole.out.at, whole.ops.at);
	for (size_t i = 1; i < len; i++) {
		start(&cut, 1000);
		give(&cut, conversation, i);
		give(&cut, conversation + i, len - i);
		stop(&cut);
		bad += !same(&whole, &cut);
		done(&cut);
	}
	is_int((long long)bad, 0, "cut in two at every place: the same bytes and operations");
	start(&cut, 1000);
	for (size_t i = 0; i < len; i++)
		give(&cut, conversation + i, 1);
	stop(&cut);
	ok(same(&whole, &cut), "byte by byte: the same");
	done(&cut);
	done(&whole);
}

/* The n-th status line of what was answered, 0 when there is none. */
static int
status(const struct talk *t, int n)
{
	const char *at = t->out.at;

	while (at != NULL && (at = strstr(at, "HTTP/1.1 ")) != NULL && n-- > 0)
		at++;
	return at == NULL ? 0 : atoi(at + 9);
}

static int
has(const struct buf *b, const char *text)
{
	return b->at != NULL && strstr(b->at, text) != NULL;
}

static void
replies(void)
{
	struct talk t = { 0 };
	static const int want[] = { 200, 201, 100, 200, 200, 200, 200, 204, 200, 404, 0 };

	start(&t, 1000);
	give(&t, conversation, strlen(conversation));
	stop(&t);
	for (int i = 0; i < 11; i++)
		ok(status(&t, i) == want[i], "reply %d is %d, wanted %d", i, status(&t, i), want[i]);
	ok(has(&t.out, "{\"what\":\"a b\",\"q\":{\"x\":[\"1\",\"2\"],\"y\":\"A b\"},\"form\":{},\"body\":{\"a\":[1]}}"),
	   "path, query and chunked body");
	ok(has(&t.out, "\"form\":{\"a\":\"1\",\"b[]\":\"\"},\"body\":null"), "form");
	ok(has(&t.out, "\r\n\r\n[{\"id\":\"o2\",\"n\":2}]"), "filtered list");
	ok(has(&t.out, "\r\n\r\n{\"id\":\"o2\",\"n\":2,\"m\":3}"), "merged");
	ok(has(&t.ops, "\"accept\":\"a, b\""), "repeated header joined");
	ok(has(&t.ops, "\"authorization\":\"Bearer {{secret.key}}\"") && !has(&t.ops, "secretsecret"), "secret named");
	ok(has(&t.ops, "\"effects\":[{\"create\":\"/orders/o2\"}]") &&
		   has(&t.ops, "\"effects\":[{\"delete\":\"/orders/o1\"}]"),
	   "effects");
	ok(has(&t.out, "Content-Length: 17\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nHTTP/1.1 200"),
	   "HEAD has a length and no body");
	done(&t);
}

static void
refused(void)
{
	static char big[HTTP_HEAD_MAX + 100];
	static const struct {
		const char *name, *text;
		int status;
	} cases[] = {
		{ "not HTTP", "hello\r\n\r\n", 400 },
		{ "TLS", "\x16\x03\x01\x02", 0 },
		{ "bare LF", "GET / HTTP/1.1\nHost: shop.internal\n\n", 400 },
		{ "bare CR", "GET / HTTP/1.1\r\nHost: shop.internal\rX: y\r\n\r\n", 400 },
		{ "NUL", "GET / HTTP/1.1\r\nHost: a\0", 0 },
		{ "folded header", "GET / HTTP/1.1\r\nHost: shop.internal\r\nX: a\r\n b\r\n\r\n", 400 },
		{ "space before colon", "GET / HTTP/1.1\r\nHost : shop.internal\r\n\r\n", 400 },
		{ "no Host", "GET /orders HTTP/1.1\r\n\r\n", 400 },
		{ "two Hosts", "GET /orders HTTP/1.1\r\nHost: shop.internal\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "other Host", "GET /orders HTTP/1.1\r\nHost: other.internal\r\n\r\n", 421 },
		{ "length and chunked",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		  400 },
		{ "two lengths",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
		  400 },
		{ "negative length", "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: -3\r\n\r\nabc",
		  400 },
		{ "huge length", "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 8388609\r\n\r\n",
		  413 },
		{ "unknown coding", "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nTransfer-Encoding: gzip\r\n\r\n",
		  400 },
		{ "chunk size",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400 },
		{ "HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400 },
		{ "HTTP/1.2", "GET /orders HTTP/1.2\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "unknown method", "FROB /orders HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "bad percent", "GET /orders/%zz HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "NUL in path", "GET /orders/%00 HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "not UTF-8", "GET /orders/%ff HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "CONNECT", "CONNECT shop.internal:80 HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 400 },
		{ "expectation",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nExpect: x\r\nContent-Length: 1\r\n\r\n", 417 },
		{ "malformed JSON",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{]",
		  400 },
		{ "duplicate key",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"a\":1,\"a\":2}",
		  400 },
		{ "no object", "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 2\r\n\r\n[]", 400 },
		{ "taken id",
		  "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 11\r\n\r\n{\"id\":\"o1\"}", 409 },
		{ "missing row", "PATCH /orders/zz HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 2\r\n\r\n{}",
		  404 },
		{ "other id",
		  "PUT /orders/o1 HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 10\r\n\r\n{\"id\":\"x\"}", 400 },
		{ "OPTIONS", "OPTIONS /orders HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 404 },
		{ "trailing slash", "GET /orders/ HTTP/1.1\r\nHost: shop.internal\r\n\r\n", 404 },
	};
	struct talk t = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&t, 1000);
		give(&t, cases[i].text, strcmp(cases[i].name, "NUL") == 0 ? 24 : strlen(cases[i].text));
		http_input_ended(&t.conn);
		stop(&t);
		if (cases[i].status != 0 && !ok(status(&t, 0) == cases[i].status && has(&t.ops, "\"n\":0"), "%s: %d",
						cases[i].name, cases[i].status))
			printf("# %d\n# %s\n", status(&t, 0), t.ops.at);
		if (cases[i].status == 0)
			ok(has(&t.ops, "\"route\":null"), "%s: recorded", cases[i].name);
		done(&t);
	}
	memset(big, 'a', sizeof(big));
	start(&t, 1000);
	say(&t, "GET /");
	give(&t, big, sizeof(big));
	stop(&t);
	is_int(status(&t, 0), 414, "endless request line");
	done(&t);
	start(&t, 1000);
	say(&t, "GET / HTTP/1.1\r\nX: ");
	give(&t, big, sizeof(big));
	stop(&t);
	is_int(status(&t, 0), 431, "endless header");
	done(&t);
	start(&t, 1000);
	say(&t, "GET /");
	give(&t, big, 20000);
	say(&t, " HTTP/1.1\r\nHost: shop.internal\r\n\r\n");
	stop(&t);
	is_int(status(&t, 0), 414, "long target");
	done(&t);
}

static void
endings(void)
{
	static const char create[] = "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 2\r\n\r\n{}";
	struct talk t = { 0 };

	start(&t, 1000);
	say(&t, "GET /orders HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	ok(http_is_closing(&t.conn), "HTTP/1.0 is closed");
	stop(&t);
	is_int(status(&t, 0), 200, "and answered");
	ok(has(&t.out, "Connection: close"), "saying so");
	done(&t);

	start(&t, 1000);
	say(&t, "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 9\r\n\r\n{");
	http_input_ended(&t.conn);
	stop(&t);
	is_int(status(&t, 0), 0, "cut off within the body: no reply");
	ok(has(&t.ops, "\"service\":\"not-reached\",\"client\":\"told-nothing\"") && has(&t.ops, "\"unmatched\":false"),
	   "recorded as not reached");
	done(&t);

	start(&t, 1000);
	say(&t, "POST /orders HTTP/1.1\r\nHost: shop.internal\r\nContent-Length: 9\r\n\r\n{");
	http_timed_out(&t.conn);
	stop(&t);
	is_int(status(&t, 0), 408, "too slow");
	done(&t);

	start(&t, 1000);
	ok(http_receive(&t.conn, create, sizeof(create) - 1) == sizeof(create) - 1 && !http_is_closing(&t.conn),
	   "a create");
	http_wipe(&t.conn);
	ok(ops_take(&t.core.ops, &t.ops) && has(&t.ops, "\"service\":\"applied\",\"client\":\"told-nothing\""),
	   "whose reply never left");
	done(&t);

	start(&t, 1);
	say(&t,
	    "GET /orders HTTP/1.1\r\nHost: shop.internal\r\n\r\nDELETE /orders/o1 HTTP/1.1\r\nHost: shop.internal\r\n\r\n");
	stop(&t);
	ok(status(&t, 0) == 200 && status(&t, 1) == 503, "beyond limits.operations: 503");
	ok(t.core.ops.refused == 1 && t.world.services[0].state.collections->rows_len == 1, "counted, without effect");
	done(&t);
}

/* Much pipelined input: output is bounded, and nothing is lost. */
static void
pipeline(void)
{
	static const char get[] = "GET /orders/o1 HTTP/1.1\r\nHost: shop.internal\r\n\r\n";
	struct buf in;
	struct talk t = { 0 };
	size_t used = 0, most = 0, len;
	int n = 0;

	buf_init(&in, 1u << 20);
	for (int i = 0; i < 900; i++)
		buf_add(&in, get, sizeof(get) - 1);
	start(&t, 1000);
	while (used < in.len) {
		used += http_receive(&t.conn, in.at + used, in.len - used);
		http_output(&t.conn, &len);
		most = len > most ? len : most;
		drain(&t);
	}
	stop(&t);
	while (status(&t, n) == 200)
		n++;
	is_int(n, 900, "900 pipelined requests");
	ok(most < 2 * HTTP_OUTPUT_HIGH, "at most %zu bytes waited", most);
	buf_wipe(&in);
	done(&t);
}

int
main(void)
{
	cuts();
	replies();
	refused();
	endings();
	pipeline();
	return tap_done();
}
