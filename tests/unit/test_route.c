/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_route.c - routes, guards, effects, credentials and replies, asked through the engine like a client would. */
#include <stdlib.h>

#include "guest/service.h"
#include "guest/twin_http.h"
#include "tests/lib/tap.h"

#define SECRET "at_test_0123456789abcdefghijklmnopqrstuv"

static struct world world;
static struct http_core core;
static struct http_conn conn;
static struct buf reply, op;

static int
load(const char *services, const char *limits)
{
	uint64_t key[2] = { 3, 4 };
	char error[300];
	struct buf text;
	int r;

	buf_init(&text, 1u << 20);
	buf_text(&text, "{\"run\":{\"id\":\"r\",\"seed\":4211,\"start_ms\":1790000000000},\"limits\":");
	buf_text(&text, limits ? limits : "{\"operations\":1000,\"state_bytes\":1000000}");
	buf_text(&text, ",\"secrets\":{\"payments\":\"" SECRET "\"},\"services\":[");
	buf_text(&text, services);
	buf_text(&text, "]}");
	r = world_read(&world, text.at, text.len, key, error, sizeof(error));
	buf_wipe(&text);
	if (r < 0) {
		printf("# %s\n", error);
		return 0;
	}
	http_core_init(&core, &world);
	http_init(&conn, &core, &world.services[0]);
	return 1;
}

static void
unload(void)
{
	http_wipe(&conn);
	http_core_wipe(&core);
	world_free(&world);
}

/* One request; its status, with body in reply and operation in op.  extra: header lines or "". */
static int
ask(const char *method, const char *target, const char *extra, const char *body)
{
	struct buf in;
	const char *out;
	size_t len;
	int status;

	buf_init(&in, 1u << 20);
	buf_format(&in, "%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %zu\r\n\r\n", method, target,
		   world.services[0].hosts[0], extra, strlen(body));
	buf_text(&in, body);
	if (http_receive(&conn, in.at, in.len) != in.len)
		return -1;
	buf_wipe(&in);
	buf_wipe(&reply);
	buf_wipe(&op);
	buf_init(&reply, 1u << 20);
	buf_init(&op, 1u << 20);
	out = http_output(&conn, &len);
	buf_add(&reply, out, len);
	http_sent(&conn, len);
	ops_take(&core.ops, &op);
	buf_terminate(&reply);
	buf_terminate(&op);
	status = reply.at == NULL ? 0 : atoi(reply.at + 9);
	return status;
}

static const char *
body(void)
{
	const char *at = reply.at == NULL ? NULL : strstr(reply.at, "\r\n\r\n");

	return at == NULL ? "" : at + 4;
}

static int
says(const char *text)
{
	return op.at != NULL && strstr(op.at, text) != NULL;
}

static const char refunds[] =
	"{\"name\":\"payments\",\"kind\":\"http\",\"hosts\":[\"payments.internal\"],\"auth\":{\"scheme\":\"bearer\",\"accept\":\"" SECRET
	"\"},"
	"\"state\":{\"charges\":[{\"id\":\"ch_1\",\"amount\":4200,\"refunded\":0}],\"refunds\":[]},\"routes\":["
	"{\"id\":\"refund.create\",\"match\":{\"method\":\"POST\",\"path\":\"/refunds\"},\"do\":["
	"{\"find\":\"charges\",\"id\":\"{{request.body.charge}}\",\"as\":\"charge\",\"else\":{\"status\":404,\"body\":{\"error\":\"no such charge\"}}},"
	"{\"require\":\"charge.refunded + int(request.body.amount) <= charge.amount\",\"else\":{\"status\":409,\"body\":{\"error\":\"already refunded\"}}},"
	"{\"create\":\"refunds\",\"row\":{\"charge\":\"{{charge.id}}\",\"amount\":\"{{int(request.body.amount)}}\"},\"as\":\"refund\"},"
	"{\"increment\":\"charges\",\"id\":\"{{charge.id}}\",\"field\":\"refunded\",\"by\":\"{{refund.amount}}\"}],"
	"\"reply\":{\"status\":201,\"body\":\"{{refund}}\"}},"
	"{\"id\":\"charge.get\",\"match\":{\"method\":\"GET\",\"path\":\"/charges/{id}\"},\"resource\":\"charges\"}]}";

static void
refund_world(void)
{
	static const char auth[] = "Authorization: Bearer " SECRET "\r\n";
	static const char once[] = "{\"charge\":\"ch_1\",\"amount\":\"4200\"}";

	if (!ok(load(refunds, NULL), "the example's service"))
		return;
	is_int(ask("POST", "/refunds", auth, once), 201, "first refund");
	is_str(body(), "{\"id\":\"mcnionn6yrnspc\",\"charge\":\"ch_1\",\"amount\":4200}",
	       "its row, number kept a number, id from the seed");
	ok(says("\"effects\":[{\"create\":\"/refunds/mcnionn6yrnspc\"},{\"increment\":\"/charges/ch_1/refunded\"}]"),
	   "its effects");
	ok(says("\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}"), "its views");
	is_int(ask("POST", "/refunds", auth, once), 409, "second refund");
	is_str(body(), "{\"error\":\"already refunded\"}", "its reply");
	ok(says("\"resend_of\":0") && says("\"effects\":[]") &&
		   says("\"service\":\"rejected\",\"client\":\"told-error\""),
	   "its operation");
	is_int(ask("POST", "/refunds", auth, "{\"charge\":\"ch_9\",\"amount\":1}"), 404, "unknown charge");
	is_int(ask("POST", "/refunds", auth, "{\"charge\":{\"a\":1},\"amount\":1}"), 404, "a charge that is an object");
	is_int(ask("POST", "/refunds", auth, "{\"charge\":\"ch_1\",\"amount\":\"all\"}"), 409,
	       "no amount is no refund");
	is_int(ask("POST", "/refunds", auth, ""), 404, "no body");
	is_int(ask("GET", "/charges/ch_1", auth, ""), 200, "the charge");
	is_str(body(), "{\"id\":\"ch_1\",\"amount\":4200,\"refunded\":4200}", "refunded once");
	is_int(ask("GET", "/charges/ch_1", "", ""), 401, "no credential");
	is_str(body(), "{\"error\":\"unauthorized\"}", "its reply");
	ok(strstr(reply.at, "WWW-Authenticate: Bearer") != NULL && says("\"route\":\"charge.get\"") &&
		   says("\"service\":\"rejected\""),
	   "its operation");
	is_int(ask("GET", "/charges/ch_1", "Authorization: Bearer wrong\r\n", ""), 401, "wrong credential");
	ok(says("\"authorization\":\"(hidden)\""), "is not shown");
	is_int(ask("GET", "/charges/ch_1", "Authorization: bearer  " SECRET "\r\n", ""), 200, "scheme in lower case");
	is_int(ask("POST", "/refund", auth, once), 404, "no such route");
	ok(strstr(body(), "\"nearest\":\"refund.create\"") != NULL && says("\"unmatched\":true"),
	   "nearest: the one spelt most alike");
	is_int(ask("DELETE", "/charges/ch_1", auth, ""), 404, "no such method");
	ok(says("\"difference\":\"the method is DELETE, the route wants GET\""), "and says so");
	is_int(ask("GET", "/charges/" SECRET "?k=" SECRET, auth, ""), 404, "a secret in the target");
	ok(says("\"target\":\"/charges/{{secret.payments}}?k={{secret.payments}}\"") && !says(SECRET), "is named");
	unload();
}

static const char effects[] =
	"{\"name\":\"e\",\"kind\":\"http\",\"hosts\":[\"e.internal\"],\"unmatched\":\"404\",\"variables\":{\"n\":0},"
	"\"state\":{\"a\":[{\"id\":\"1\",\"n\":1,\"list\":[1],\"text\":\"x\"}],\"b\":[]},\"routes\":["
	"{\"id\":\"half\",\"match\":{\"method\":\"POST\",\"path\":\"/half\"},\"do\":[{\"create\":\"b\",\"id\":\"b1\",\"row\":{}},{\"set\":\"n\",\"to\":\"{{vars.n + 1}}\"},"
	"{\"delete\":\"a\",\"id\":\"1\"},{\"increment\":\"b\",\"id\":\"nope\",\"field\":\"n\"}]},"
	"{\"id\":\"whole\",\"match\":{\"method\":\"POST\",\"path\":\"/whole\"},\"do\":[{\"create\":\"b\",\"id\":\"re_{{id}}\",\"row\":{\"same\":\"{{id}}\"},\"as\":\"made\"},"
	"{\"append\":\"a\",\"id\":\"1\",\"field\":\"list\",\"value\":{\"at\":\"{{now}}\"}},{\"append\":\"a\",\"id\":\"1\",\"field\":\"new\",\"value\":\"{{seed}}\"},"
	"{\"increment\":\"a\",\"id\":\"{{1}}\",\"field\":\"n\",\"by\":2},{\"update\":\"a\",\"id\":\"1\",\"set\":{\"text\":\"{{made.id}}\"},\"as\":\"end\"},"
	"{\"set\":\"n\",\"to\":\"{{vars.n + 1}}\"}],\"reply\":{\"status\":202,\"headers\":{\"X-Made\":\"{{made.id}}\\r\\nEvil: 1\",\"Location\":\"/b/{{made.id}}\"},"
	"\"body\":{\"end\":\"{{end}}\",\"n\":\"{{vars.n}}\",\"again\":\"{{id}}\"}}},"
	"{\"id\":\"add.text\",\"match\":{\"method\":\"POST\",\"path\":\"/add/text\"},\"do\":[{\"increment\":\"a\",\"id\":\"1\",\"field\":\"text\"}]},"
	"{\"id\":\"add.to.number\",\"match\":{\"method\":\"POST\",\"path\":\"/append/number\"},\"do\":[{\"append\":\"a\",\"id\":\"1\",\"field\":\"n\",\"value\":1}]},"
	"{\"id\":\"rename\",\"match\":{\"method\":\"POST\",\"path\":\"/rename\"},\"do\":[{\"update\":\"a\",\"id\":\"1\",\"set\":{\"id\":\"2\"}}]},"
	"{\"id\":\"send\",\"match\":{\"method\":\"POST\",\"path\":\"/send\"},\"do\":[{\"create\":\"b\"}],\"reply\":{\"status\":202}},"
	"{\"id\":\"keyed\",\"match\":{\"method\":\"POST\",\"path\":\"/guard\"},\"when\":\"has(request.headers['idempotency-key'])\",\"reply\":{\"body\":{\"key\":\"{{request.key}}\"}}},"
	"{\"id\":\"plain\",\"match\":{\"method\":\"POST\",\"path\":\"/guard\"},\"reply\":{\"headers\":{\"content-type\":\"text/plain\"},\"body\":\"no key\"}},"
	"{\"id\":\"none\",\"match\":{\"path\":\"/none\"}},"
	"{\"id\":\"wrap\",\"match\":{\"method\":\"POST\",\"path\":\"/wrap\"},\"do\":[{\"find\":\"a\",\"id\":\"1\",\"as\":\"row\"},{\"update\":\"a\",\"id\":\"1\",\"set\":{\"text\":\"{{row}}\"}}]},"
	"{\"id\":\"all\",\"match\":{\"method\":\"GET\",\"path\":\"/all\"},\"reply\":{\"body\":{\"a\":\"{{state.a}}\",\"b\":\"{{len(state.b)}}\",\"n\":\"{{vars.n}}\"}}},"
	"{\"id\":\"find.only\",\"match\":{\"method\":\"GET\",\"path\":\"/find/{which}\"},\"do\":[{\"find\":\"a\",\"id\":\"{{request.path.which}}\"}]}]}";

static void
effects_world(void)
{
	int status = 200, n = 0;

	if (!ok(load(effects, NULL), "a service with every effect"))
		return;
	is_int(ask("POST", "/half", "", ""), 404, "the last effect fails");
	ask("GET", "/all", "", "");
	is_str(body(), "{\"a\":[{\"id\":\"1\",\"n\":1,\"list\":[1],\"text\":\"x\"}],\"b\":0,\"n\":0}",
	       "and nothing is half done");
	is_int(ask("POST", "/whole", "", ""), 202, "all of them");
	ok(strstr(reply.at, "\r\nX-Made: re_") != NULL && strstr(reply.at, "\r\nEvil") == NULL &&
		   strstr(reply.at, "Location: /b/re_") != NULL,
	   "headers, on one line each");
	ok(strstr(body(), "\"n\":3,\"list\":[1,{\"at\":1790000000000}],\"text\":\"re_") != NULL &&
		   strstr(body(), "\"new\":[4211]") != NULL && strstr(body(), "\"n\":1,\"again\":\"") != NULL,
	   "%s", body());
	ok(says("{\"append\":\"/a/1/list\"},{\"append\":\"/a/1/new\"},{\"increment\":\"/a/1/n\"},{\"update\":\"/a/1\"},{\"set\":\"/n\"}]"),
	   "effects named");
	is_int(ask("POST", "/add/text", "", ""), 400, "increment of a text");
	is_int(ask("POST", "/append/number", "", ""), 400, "append to a number");
	is_int(ask("POST", "/rename", "", ""), 400, "an id that changes");
	is_int(ask("POST", "/send", "", "{\"id\":\"m/1~\",\"to\":\"ada\"}"), 202, "create from the body");
	is_str(body(), "{\"id\":\"m/1~\",\"to\":\"ada\"}", "default body: the row");
	ok(says("{\"create\":\"/b/m~11~0\"}"), "pointer escaped");
	is_int(ask("POST", "/send", "", "{\"id\":\"m/1~\"}"), 409, "taken");
	is_int(ask("POST", "/send", "", "[1]"), 400, "no object");
	is_int(ask("POST", "/send", "", "{\"id\":\"\"}"), 400, "empty id");
	is_int(ask("POST", "/send", "", "{\"id\":7}"), 202, "a number as id");
	is_str(body(), "{\"id\":\"7\"}", "becomes text");
	is_int(ask("POST", "/send", "Content-Type: application/x-www-form-urlencoded\r\n", "a=b"), 202,
	       "create from a form");
	ok(strstr(body(), "\"a\":\"b\"}") != NULL, "with its fields");
	is_int(ask("POST", "/guard", "Idempotency-Key: k1\r\n", ""), 200, "guard holds");
	is_str(body(), "{\"key\":\"k1\"}", "first route");
	ok(says("\"key\":\"k1\",\"idempotency\":null"), "key recorded");
	is_int(ask("POST", "/guard", "", ""), 200, "guard does not hold");
	is_str(body(), "no key", "second route, plain text");
	is_int(ask("OPTIONS", "/none", "", ""), 200, "any method");
	is_str(body(), "{}", "empty reply");
	is_int(ask("GET", "/find/1", "", ""), 200, "found");
	is_int(ask("GET", "/find/2", "", ""), 404, "not found");
	is_str(body(), "{\"error\":\"not found\"}", "generic profile");
	is_int(ask("GET", "/zzz", "", ""), 404, "unmatched: 404");
	is_str(body(), "{\"error\":\"not found\"}", "plain");
	ok(says("\"unmatched\":false") && says("\"nearest\":{"), "is no error of the run");
	while (status == 200 && n < 500) {
		status = ask("POST", "/wrap", "", "");
		n++;
	}
	ok(status == 400 && n > 10 && n < 100, "a row put into itself: refused after %d times", n);
	unload();
}

static void
limits_and_schemes(void)
{
	int status = 201, n = 0;

	load("{\"name\":\"l\",\"kind\":\"http\",\"hosts\":[\"l.internal\"],\"state\":{\"a\":[]},\"routes\":[{\"resource\":\"a\",\"path\":\"/a\"}]}",
	     "{\"operations\":100000,\"state_bytes\":20000}");
	while (status == 201 && n < 1000) {
		status = ask("POST", "/a", "", "{\"text\":\"0123456789\"}");
		n++;
	}
	ok(status == 507 && n > 10, "state_bytes: 507 after %d rows", n);
	ok(world.budget.lost > 0 && says("\"service\":\"rejected\""), "counted");
	is_int(ask("GET", "/a", "", ""), 200, "reading goes on");
	unload();
	load("{\"name\":\"b\",\"kind\":\"http\",\"hosts\":[\"b.internal\"],\"auth\":{\"scheme\":\"basic\",\"accept\":\"svc:" SECRET
	     "\"},\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"}}]}",
	     NULL);
	is_int(ask("GET", "/", "Authorization: Basic c3ZjOmF0X3Rlc3RfMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=\r\n",
		   ""),
	       200, "basic");
	ok(says("\"authorization\":\"Basic svc:{{secret.payments}}\""), "secret named in base64");
	is_int(ask("GET", "/", "Authorization: Basic c3ZjOndyb25n\r\n", ""), 401, "basic, wrong");
	ok(strstr(reply.at, "WWW-Authenticate: Basic") != NULL && says("\"authorization\":\"(hidden)\""),
	   "asked for, hidden");
	unload();
	load("{\"name\":\"h\",\"kind\":\"http\",\"hosts\":[\"h.internal\"],\"auth\":{\"scheme\":\"header\",\"header\":\"X-Token\",\"accept\":\"" SECRET
	     "\"},\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"}}]}",
	     NULL);
	is_int(ask("GET", "/", "x-token: " SECRET "\r\n", ""), 200, "header");
	ok(says("\"x-token\":\"{{secret.payments}}\""), "named");
	is_int(ask("GET", "/", "X-Token: nope\r\n", ""), 401, "header, wrong");
	ok(says("\"x-token\":\"(hidden)\""), "hidden");
	unload();
}

static void
refused_worlds(void)
{
	static const char *const bad[][2] = {
		{ "{\"name\":\"x\",\"kind\":\"postgres\",\"hosts\":[\"x\"]}", "kind must be http or llm" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"faults\":1}", "not supported" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"state\":{\"a\":[{\"id\":\"1\"},{\"v\":1}]}}",
		  "/services/0/state/a/1: a row is an object with a string" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"state\":{\"a\":[{\"id\":\"1\"},{\"id\":\"1\"}]}}",
		  "/services/0/state/a/1: a second row" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"do\":[{\"find\":\"a\",\"id\":\"1\"}]}]}",
		  "no collection" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"state\":{\"a\":[]},\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"do\":[{\"create\":\"a\"},{\"find\":\"a\",\"id\":\"1\"}]}]}",
		  "stand before the first change" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"when\":\"chrage\"}]}",
		  "unknown name 'chrage'" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/a{b}\"}}]}",
		  "whole segment" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"reply\":{\"body\":[\"{{nope}}\"]}}]}",
		  "/services/0/routes/0/reply/body/0: unknown name" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"reply\":{\"status\":99}}]}",
		  "status must be" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"reply\":{\"headers\":{\"Content-Length\":\"1\"}}}]}",
		  "may not be set" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"routes\":[{\"id\":\"r\",\"match\":{\"path\":\"/\"},\"emit\":[]}]}",
		  "no \"events\"" },
		{ "{\"name\":\"x\",\"name\":\"y\"}", "" },
		{ "{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x\"],\"auth\":{\"scheme\":\"bearer\"}}", "accept" },
	};
	uint64_t key[2] = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char error[300], text[2000];
		int r;

		snprintf(
			text, sizeof(text),
			"{\"run\":{\"id\":\"r\",\"seed\":1,\"start_ms\":1},\"limits\":{\"operations\":10,\"state_bytes\":100000},\"services\":[%s]}",
			bad[i][0]);
		r = world_read(&world, text, strlen(text), key, error, sizeof(error));
		if (!ok(r < 0 && strstr(error, bad[i][1]) != NULL, "refused: %s", bad[i][1]))
			printf("# %d %s\n", r, error);
		world_free(&world);
	}
}

int
main(void)
{
	refund_world();
	effects_world();
	limits_and_schemes();
	refused_worlds();
	buf_wipe(&reply);
	buf_wipe(&op);
	return tap_done();
}
