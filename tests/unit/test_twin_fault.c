/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_twin_fault.c - what a fault does to a call: what happens at the service, what leaves, how the connection ends, what is
 * recorded. */
#include "tests/lib/twinask.h"

#define KEY(k) "Idempotency-Key: " k "\r\nContent-Type: application/json\r\n"

static const char service[] =
	"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"profile\":\"stripe/v1\",\"idempotency\":{\"on\":[\"POST\"],\"keep\":\"24h\"},"
	"\"state\":{\"rows\":[]},\"routes\":["
	"{\"id\":\"add\",\"match\":{\"method\":\"POST\",\"path\":\"/rows\"},\"do\":[{\"create\":\"rows\",\"row\":{\"a\":\"{{request.body.a}}\"},\"as\":\"row\"}],"
	"\"reply\":{\"status\":201,\"body\":\"{{row}}\"}},"
	"{\"id\":\"no\",\"match\":{\"method\":\"POST\",\"path\":\"/no\"},\"do\":[{\"require\":\"false\",\"else\":{\"status\":402}}],\"reply\":{}},"
	"{\"id\":\"drop\",\"match\":{\"method\":\"DELETE\",\"path\":\"/x\"},\"reply\":{\"status\":204}},"
	"{\"id\":\"get\",\"match\":{\"method\":\"GET\",\"path\":\"/\"},\"reply\":{\"body\":\"0123456789\"}}]}],\"faults\":[";
static bool loaded;

static void
start(const char *faults)
{
	char text[4096];

	if (loaded)
		unload();
	snprintf(text, sizeof(text), "%s%s", service, faults);
	loaded = load(text);
	ok(loaded, "%s", faults);
}

#define FAULT(class, route, more) \
	"{\"id\":\"f\",\"class\":\"" class "\",\"on\":{\"service\":\"s\",\"route\":\"" route "\"}," more "}"

static size_t
rows(void)
{
	return state_collection(&world.services[0].state, "rows")->rows_len;
}

static void
again(void)
{
	http_wipe(&conn);
	http_init(&conn, &core, &world.services[0]);
}

static void
lost_acknowledgement(void)
{
	static const enum http_end ends[] = { HTTP_END_RST, HTTP_END_FIN, HTTP_END_STALL };
	static const char *const names[] = { "rst", "fin", "stall" };
	char text[200];

	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), FAULT("timeout-after-write", "add", "\"how\":{\"end\":\"%s\"}"), names[i]);
		start(text);
		is_int(ask("GET", "/", "", ""), 200, "another route is answered");
		is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 0, "not a byte leaves");
		is_int(http_end(&conn), ends[i], "the connection ends as it should");
		is_int((long long)rows(), 1, "it is done");
		ok(says("\"service\":\"applied\",\"client\":\"told-nothing\"") && says("\"status\":201") &&
			   says("\"fault\":{\"id\":\"f\",\"phase\":\"after-effect\"") && says("\"bytes\":0}"),
		   "and recorded so");
		again();
		is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 201, "the second attempt is answered");
		ok(says("\"idempotency\":\"replay\"") && says("\"resend_of\":1") && says("\"fault\":null"),
		   "by a replay");
		is_int((long long)rows(), 1, "and nothing is done twice");
	}
	start(FAULT("timeout-after-write", "no", "\"how\":{\"end\":\"rst\"}"));
	is_int(ask("POST", "/no", "", ""), 402, "a call that the service refuses loses no acknowledgement");
}

static void
mid_reply(void)
{
	start(FAULT("timeout-after-write", "get", "\"phase\":\"mid-reply\",\"how\":{\"end\":\"fin\",\"bytes\":4}"));
	is_int(ask("GET", "/", "", ""), 200, "a reply begins");
	is_str(body(), "\"012", "and is cut");
	ok(has("Content-Length: 12\r\n") && http_end(&conn) == HTTP_END_FIN, "with the length of the whole");
	ok(says("told-nothing") && says("\"phase\":\"mid-reply\",\"end\":\"fin\""), "recorded so");
	start(FAULT("blackhole", "add",
		    "\"phase\":\"mid-reply\",\"how\":{\"end\":\"stall\",\"bytes\":1000000},\"lasts\":{\"calls\":1}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "a cut behind the end");
	ok(body()[0] == '{' && body()[strlen(body()) - 1] != '}', "is before the last byte");
	ok(http_end(&conn) == HTTP_END_STALL && rows() == 1, "then silence, after the effect");
	start(FAULT("server-error", "get", "\"phase\":\"mid-reply\",\"how\":{\"end\":\"clean\",\"at\":0.5}"));
	is_int(ask("GET", "/", "", ""), 200, "a clean end");
	ok(has("Content-Length: 6\r\n") && strlen(body()) == 6 && http_end(&conn) == HTTP_END_NONE,
	   "is a shorter reply, and the connection goes on");
	is_int(ask("GET", "/", "", ""), 200, "the next call");
	is_str(body(), "\"0123456789\"", "is whole");
}

static void
errors(void)
{
	start(FAULT("server-error", "add", "\"how\":{\"status\":503,\"code\":\"api_down\",\"retry_after\":2}"));
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 503, "an error before the effect");
	ok(has("Retry-After: 2\r\n") && has("\"code\":\"api_down\"") && rows() == 0,
	   "in the service's words; nothing is done");
	ok(says("\"service\":\"rejected\",\"client\":\"told-error\"") && says("\"idempotency\":null"), "recorded so");
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 201, "the same key is as new");
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\""));
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 500, "an error after the effect");
	ok(rows() == 1 && says("\"service\":\"applied\",\"client\":\"told-error\"") && says("\"create\":\"/rows/"),
	   "is a lie, and the record tells");
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 201, "the key knows better");
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\",\"how\":{\"body\":\"garble\"}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "a garbled body");
	ok((body()[0] & 0x80) != 0 && rows() == 1 && says("told-error"), "is no JSON");
	start(FAULT("server-error", "drop", "\"phase\":\"after-effect\",\"how\":{\"body\":\"garble\"}"));
	is_int(ask("DELETE", "/x", "", ""), 200, "where there was no body there is one now");
	ok(body()[0] != '\0' && says("told-error"), "and it is noise");
	start(FAULT("server-error", "drop", "\"phase\":\"mid-reply\",\"how\":{\"end\":\"clean\"}"));
	is_int(ask("DELETE", "/x", "", ""), 204, "what has no body cannot be cut");
	ok(says("\"fault\":null"), "and has not met the fault");
	start(FAULT("server-error", "get", "\"how\":{\"status\":502,\"body\":\"html\"}"));
	is_int(ask("GET", "/", "", ""), 502, "a page of HTML");
	ok(has("Content-Type: text/html\r\n") && has("<html>") && !strstr(reply.at, "application/json"), "says so");
	start(FAULT("server-error", "get", "\"how\":{\"status\":200,\"body\":\"html\"}"));
	is_int(ask("GET", "/", "", ""), 200, "the page with 200");
	ok(has("<html>") && says("\"service\":\"rejected\",\"client\":\"told-error\""), "is no acknowledgement");
	start(FAULT("server-error", "add", "\"how\":{\"status\":200,\"code\":\"not_today\"}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 200, "an error with 200");
	ok(has("\"code\":\"not_today\"") && rows() == 0 && says("\"service\":\"rejected\",\"client\":\"told-error\""),
	   "is an error all the same");
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\",\"how\":{\"body\":\"not-http\"}"));
	ask("POST", "/rows", "", "{\"a\":1}");
	ok(reply.len >= 32 && (reply.at[0] & 0x80) != 0 && !has("HTTP/"), "bytes that are no HTTP");
	ok(rows() == 1 && says("\"service\":\"applied\",\"client\":\"told-error\"") &&
		   http_end(&conn) == HTTP_END_CLOSE,
	   "after the effect; then the end");
	start(FAULT("server-error", "get", "\"phase\":\"after-effect\",\"how\":{\"body\":\"wrong-length\"}"));
	is_int(ask("GET", "/", "", ""), 200, "a wrong length");
	ok(has("Content-Length: 6\r\n") && strlen(body()) == 12 && http_end(&conn) == HTTP_END_CLOSE,
	   "is shorter than the body, and the connection ends");
}

/* Bodies whose framing is broken, or is the end of the connection. */
static void
framing(void)
{
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\",\"how\":{\"body\":\"bad-chunk\"}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "a size of a chunk that is none");
	ok(has("Transfer-Encoding: chunked\r\n") && !strstr(reply.at, "Content-Length") && has("\r\nsize\r\n"),
	   "stands in it");
	ok(rows() == 1 && says("\"service\":\"applied\",\"client\":\"told-error\"") &&
		   http_end(&conn) == HTTP_END_CLOSE,
	   "it is done, and the client is told of an error");
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\",\"how\":{\"body\":\"unterminated\"}"));
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 201, "chunks without the last");
	ok(has("Transfer-Encoding: chunked\r\n") && strstr(body(), "}\r\n") != NULL && !strstr(body(), "\r\n0\r\n"),
	   "hold the whole body");
	ok(says("\"service\":\"applied\",\"client\":\"told-nothing\"") && http_end(&conn) == HTTP_END_CLOSE,
	   "but nobody can know");
	again();
	is_int(ask("POST", "/rows", KEY("k"), "{\"a\":1}"), 201, "the next one is whole");
	start(FAULT("server-error", "add", "\"phase\":\"after-effect\",\"how\":{\"body\":\"no-length\"}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "a body without a length");
	ok(has("Connection: close\r\n") && !strstr(reply.at, "Content-Length") && !strstr(reply.at, "chunked") &&
		   body()[0] == '{' && http_end(&conn) == HTTP_END_CLOSE,
	   "ends with its connection");
	ok(says("\"service\":\"applied\",\"client\":\"told-ok\""), "and is an acknowledgement");
	start(FAULT("server-error", "add", "\"how\":{\"body\":\"no-length\",\"status\":503}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 503, "an error without a length");
	ok(rows() == 0 && has("\"error\"") && says("\"service\":\"rejected\",\"client\":\"told-error\""),
	   "is an error");
	start(FAULT("server-error", "drop", "\"phase\":\"after-effect\",\"how\":{\"body\":\"no-length\"}"));
	is_int(ask("DELETE", "/x", "", ""), 204, "what has no body needs no length");
	ok(says("\"fault\":null"), "and has not met the fault");
	start(FAULT("server-error", "drop", "\"phase\":\"after-effect\",\"how\":{\"body\":\"unterminated\"}"));
	is_int(ask("DELETE", "/x", "", ""), 200, "where there was no body there is one now");
	ok(has("\r\n2\r\n") && says("told-nothing"), "without an end");
	start(FAULT("server-error", "get", "\"phase\":\"after-effect\",\"how\":{\"body\":\"bad-chunk\"}"));
	is_int(ask("HEAD", "/", "", ""), 200, "HEAD");
	ok(says("\"fault\":null") && http_end(&conn) == HTTP_END_NONE, "has no body either");
}

static void
early(void)
{
	start(FAULT("blackhole", "add", "\"how\":{\"end\":\"rst\"},\"lasts\":{\"calls\":1}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 0, "accepted and lost");
	ok(says("\"service\":\"not-reached\",\"client\":\"told-nothing\"") && rows() == 0 &&
		   http_end(&conn) == HTTP_END_RST,
	   "recorded as a lost request");
	again();
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "the next one is served");
	start("{\"id\":\"f\",\"class\":\"blackhole\",\"on\":{\"service\":\"s\"},\"phase\":\"mid-request\",\"lasts\":{\"calls\":1}}");
	ok(http_receive(&conn, "POST /rows HTTP/1.1\r\nHost: s.internal\r\nContent-Length: 7\r\n\r\n{\"a", 65) == 65,
	   "in the middle of a request");
	is_int(get(&conn), 0, "silence");
	ok(http_end(&conn) == HTTP_END_STALL && says("\"phase\":\"mid-request\"") && says("\"target\":\"/rows\"") &&
		   says("not-reached"),
	   "is recorded with what is known");
	start("{\"id\":\"f\",\"class\":\"blackhole\",\"on\":{\"service\":\"s\"},\"phase\":\"connect\",\"lasts\":{\"calls\":1}}");
	http_begin(&conn);
	get(&conn);
	ok(http_end(&conn) == HTTP_END_STALL && says("\"kind\":\"tcp\"") && says("\"phase\":\"connect\""),
	   "a connection that hears nothing");
	again();
	http_begin(&conn);
	is_int(ask("GET", "/", "", ""), 200, "the next one does");
}

static void
slow(void)
{
	const char *out;
	size_t len, all = 0;
	int pieces = 0;

	start(FAULT(
		"server-error", "get",
		"\"phase\":\"mid-reply\",\"how\":{\"slow\":{\"first_ms\":100,\"chunk_ms\":50,\"chunk_bytes\":100}}"));
	put(&conn, "GET", "/", "", "");
	http_output(&conn, &len);
	ok(len == 0 && http_due(&conn) == 100 && !http_is_idle(&conn) && http_end(&conn) == HTTP_END_NONE,
	   "nothing leaves at first");
	for (core.t_ms = 100; core.t_ms < 2000 && http_due(&conn) != UINT64_MAX; core.t_ms += 50) {
		http_tick(&conn);
		out = http_output(&conn, &len);
		ok(len > 0 && len <= 100 && out != NULL, "a piece");
		all += len;
		pieces++;
		http_sent(&conn, len);
	}
	op.len = 0;
	buf_init(&op, 1u << 20);
	ops_take(&core.ops, &op);
	buf_terminate(&op);
	ok(pieces > 1 && says("told-ok"), "then piece by piece, and all of it (%zu bytes)", all);
}

static void
twice(void)
{
	start(FAULT("duplicate-write", "add", "\"how\":{\"times\":3}"));
	is_int(ask("POST", "/rows", "", "{\"a\":1}"), 201, "answered once");
	ok(says("\"fault\":null") && rows() == 1, "the call itself is as usual");
	http_again(&core, false);
	is_int((long long)rows(), 3, "comes twice more");
	get(&conn);
	ok(says("\"copy\":1}") && says("\"resend_of\":0") && says("\"client\":\"told-nothing\"") && says("redeliver"),
	   "each an operation of its own");
	start(FAULT("duplicate-write", "add", "\"how\":{\"spacing\":\"during\"}"));
	put(&conn, "POST", "/rows", KEY("k"), "{\"a\":1}");
	is_int(get(&conn), 201, "with a key, before the reply has left");
	get(&conn);
	ok(says("\"idempotency\":\"in-flight\"") && says("\"status\":409") && rows() == 1, "the copy meets the first");
	start(FAULT("duplicate-write", "add", "\"how\":{\"spacing\":30}"));
	ask("POST", "/rows", KEY("k"), "{\"a\":1}");
	is_int((long long)http_again_due(&core), 30, "later");
	core.t_ms = 30;
	http_again(&core, false);
	get(&conn);
	ok(says("\"idempotency\":\"replay\"") && rows() == 1 && http_again_due(&core) == UINT64_MAX,
	   "its copy gets a replay");
	start(FAULT("duplicate-write", "add", "\"how\":{\"spacing\":300000}"));
	ask("POST", "/rows", "", "{\"a\":1}");
	http_again(&core, true);
	is_int((long long)rows(), 2, "at the end what is still under way arrives");
}

int
main(void)
{
	lost_acknowledgement();
	mid_reply();
	errors();
	framing();
	early();
	slow();
	twice();
	unload();
	return tap_done();
}
