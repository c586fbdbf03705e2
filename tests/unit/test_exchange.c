/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_exchange.c - answers of the workflow, whole and byte by byte, and what is none; endpoints. */
#include <errno.h>
#include <stdlib.h>

#include "guest/call.h"
#include "guest/exchange.h"
#include "tests/lib/tap.h"

/* "STATUS BODY", "open STATUS" or the problem.  piece: bytes at once; from memory of exactly that size. */
static const char *
take(const char *answer, size_t len, size_t piece, bool head, bool ends)
{
	static char text[300];
	struct exchange x;

	if (!exchange_init(&x, "GET", 3, head))
		abort();
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		char *copy = malloc(n);

		if (copy == NULL)
			abort();
		memcpy(copy, answer + at, n);
		exchange_receive(&x, copy, n);
		free(copy);
	}
	if (ends)
		exchange_input_ended(&x);
	if (x.problem != NULL)
		snprintf(text, sizeof(text), "%s", x.problem);
	else if (!x.done)
		snprintf(text, sizeof(text), "open %d", x.status);
	else
		snprintf(text, sizeof(text), "%d %.*s%s%s", x.status, (int)(x.body.len < 60 ? x.body.len : 60),
			 x.body.at == NULL ? "" : x.body.at, x.type[0] ? " " : "", x.type);
	exchange_wipe(&x);
	return text;
}

static void
test_answers(void)
{
	static const struct {
		const char *answer, *want;
		bool head, ends;
	} t[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok", false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
		  "200 {} application/json; charset=utf-8", false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Type-Options: no\r\nContent-Length: 0\r\n\r\n", "200 ", false, false },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "204 ", false, false },
		{ "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n", "500 ", false, false },
		{ "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
		  "201 abcd", false, false },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
		  "1\r\n\r\nx",
		  "200 x", false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "200 ", true, false },
		{ "HTTP/1.0 200 OK\r\n\r\nto the end", "200 to the end", false, true },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "open 200", false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", "the connection ended inside the answer", false,
		  true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		  "the connection ended inside the answer", false, true },
		{ "", "the connection ended without an answer", false, true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", "200 ok", false, true },
		{ "SSH-2.0-x\r\n", "it is not HTTP/1.1", false, false },
		{ "HTTP/2.0 200 OK\r\n\r\n", "it is not HTTP/1.1", false, false },
		{ "HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n", "its status is none of HTTP", false, false },
		{ "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		  "it changes to another protocol", false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "its body is longer than 8 MiB", false,
		  false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "it is not HTTP/1.1", false,
		  false },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		is_str(take(t[i].answer, strlen(t[i].answer), 100000, t[i].head, t[i].ends), t[i].want, "answer");
		is_str(take(t[i].answer, strlen(t[i].answer), 1, t[i].head, t[i].ends), t[i].want,
		       "answer, byte by byte");
	}
}

/* What would grow without end is stopped. */
static void
test_bounds(void)
{
	size_t size = 34u << 20, n;
	char *text = malloc(size);

	if (text == NULL)
		abort();
	n = (size_t)sprintf(text, "HTTP/1.1 200 OK\r\n");
	while (n < 100000)
		n += (size_t)sprintf(text + n, "X-Header: some value\r\n");
	is_str(take(text, n, 4096, false, false), "its header fields are too long", "headers without end");
	n = (size_t)sprintf(text, "HTTP/1.1 200 OK\r\nX: ");
	memset(text + n, 'x', 100000);
	is_str(take(text, n + 100000, 4096, false, false), "its header fields are too long", "a header without end");
	n = (size_t)sprintf(text, "HTTP/1.1 200 OK\r\n\r\n");
	memset(text + n, 'x', 9u << 20);
	is_str(take(text, n + (9u << 20), 65536, false, true), "its body is longer than 8 MiB", "a body without end");
	n = (size_t)sprintf(text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
	memset(text + n, 'x', size - n);
	ok(strncmp(take(text, size, 65536, false, false), "it ", 3) == 0, "a chunk's extension without end");
	n = 0;
	while (n < size - 40)
		n += (size_t)sprintf(text + n, "HTTP/1.1 100 Continue\r\n\r\n");
	ok(strncmp(take(text, n, 65536, false, false), "it", 2) == 0, "interim answers without end");
	free(text);
}

static void
test_endpoints(void)
{
	static const struct {
		const char *url, *want;
	} t[] = {
		{ "http://127.0.0.1:3000/hooks?a=b", "4 3000 127.0.0.1:3000 /hooks?a=b" },
		{ "http://localhost", "46 80 localhost /" },
		{ "http://[::1]:8080?x", "6 8080 [::1]:8080 /?x" },
		{ "http://127.0.0.1:0/", "port" },
		{ "http://127.0.0.1:65536/", "port" },
		{ "http://127.0.0.1:/", "port" },
		{ "http://127.0.0.1:80x/", "port" },
		{ "http://127.0.0.12/", "alone" },
		{ "http://localhost.example/", "alone" },
		{ "http://user@127.0.0.1/", "alone" },
		{ "https://127.0.0.1/", "URL" },
		{ "http://127.0.0.1/a b", "fragment" },
		{ "http://127.0.0.1/\r\nX: y", "fragment" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct endpoint e;
		const char *problem = NULL;
		struct arena arena;
		char got[200];

		arena_init(&arena, 65536);
		if (endpoint_parse(t[i].url, &arena, &e, &problem) == 0)
			snprintf(got, sizeof(got), "%s%s %u %s %s", e.v4 ? "4" : "", e.v6 ? "6" : "", e.port,
				 e.authority, e.target);
		else
			snprintf(got, sizeof(got), "%s", problem);
		ok(strstr(got, t[i].want) != NULL, "endpoint %zu: %s", i, got);
		arena_wipe(&arena);
	}
}

/* X-Slack-No-Retry, in pieces of each size. */
static void
test_no_retry(void)
{
	static const struct {
		const char *fields;
		bool said;
	} cases[] = {
		{ "X-Slack-No-Retry: 1\r\n", true },         { "x-slack-no-retry:  1 \r\n", true },
		{ "X-Slack-No-Retry: 0\r\n", false },        { "X-Slack-No-Retry: 11\r\n", false },
		{ "X-Slack-No-Retry:\r\n", false },          { "X-Slack-No-Retry-Not: 1\r\n", false },
		{ "X-Slack-No-Retry: true\r\n", false },     { "Content-Type: 1\r\n", false },
		{ "X-Slack-No-Retry: 1\r\nA: 2\r\n", true }, { "", false },
	};
	char answer[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = (size_t)snprintf(answer, sizeof(answer), "HTTP/1.1 500 x\r\n%sContent-Length: 0\r\n\r\n",
					      cases[i].fields);

		for (size_t piece = 1; piece <= len; piece = piece == 1 ? 7 : len + (piece == len)) {
			struct exchange x;

			if (!exchange_init(&x, "GET", 3, false))
				abort();
			for (size_t at = 0; at < len; at += piece)
				exchange_receive(&x, answer + at, len - at < piece ? len - at : piece);
			ok(x.done && x.no_retry == cases[i].said, "no retry %d.%zu", (int)i, piece);
			exchange_wipe(&x);
		}
	}
}

int
main(void)
{
	test_answers();
	test_bounds();
	test_endpoints();
	test_no_retry();
	return tap_done();
}
