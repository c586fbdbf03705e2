/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_idempotency.c - keys of calls that are sent again: what is replayed, refused, forgotten; and how often one may call. */
#include "tests/lib/twinask.h"

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
#define JSON "Content-Type: application/json\r\n"
#define KEY(k) "Idempotency-Key: " k "\r\n"

static const char service[] =
	"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],%s,"
	"\"state\":{\"charges\":[{\"id\":\"ch_1\",\"amount\":4200,\"refunded\":0}],\"refunds\":[]},\"variables\":{\"broken\":false},\"routes\":["
	"{\"id\":\"refund.create\",\"match\":{\"method\":\"POST\",\"path\":\"/refunds\"},\"do\":["
	"{\"find\":\"charges\",\"id\":\"{{request.form.charge}}\",\"as\":\"charge\",\"else\":{\"status\":404,\"code\":\"resource_missing\"}},"
	"{\"require\":\"charge.refunded + int(request.form.amount) <= charge.amount\",\"else\":{\"status\":400,\"code\":\"charge_already_refunded\"}},"
	"{\"create\":\"refunds\",\"row\":{\"amount\":\"{{int(request.form.amount)}}\"},\"as\":\"refund\"},"
	"{\"increment\":\"charges\",\"id\":\"{{charge.id}}\",\"field\":\"refunded\",\"by\":\"{{refund.amount}}\"}],"
	"\"reply\":{\"status\":200,\"headers\":{\"X-Own\":\"{{refund.id}}\"},\"body\":\"{{refund}}\"}},"
	"{\"id\":\"other\",\"match\":{\"method\":\"POST\",\"path\":\"/other\"},\"reply\":{\"status\":202}},"
	"{\"id\":\"down\",\"match\":{\"method\":\"POST\",\"path\":\"/down\"},\"when\":\"not (vars.broken == true)\",\"do\":[{\"set\":\"broken\",\"to\":true}],\"reply\":{\"status\":500,\"code\":\"api_down\"}},"
	"{\"id\":\"up\",\"match\":{\"method\":\"POST\",\"path\":\"/down\"},\"reply\":{}},"
	"{\"id\":\"decline\",\"match\":{\"method\":\"POST\",\"path\":\"/decline\"},\"reply\":{\"status\":402,\"code\":\"card_declined\"}},"
	"{\"id\":\"json\",\"match\":{\"method\":\"POST\",\"path\":\"/json\"},\"do\":[{\"create\":\"refunds\",\"row\":{\"b\":\"{{request.body}}\"}}]},"
	"{\"resource\":\"refunds\",\"path\":\"/rows\"}]}";

static int
start(const char *with)
{
	char text[4096];

	snprintf(text, sizeof(text), service, with);
	return ok(load(text), "a service with %s", with);
}

#define STRIPE "\"profile\":\"stripe/v1\",\"idempotency\":{\"on\":[\"POST\"],\"keep\":\"24h\"}"
#define IETF "\"idempotency\":{\"on\":[\"POST\",\"DELETE\"],\"profile\":\"ietf\",\"keep\":\"1h\"}"

static void
copy_reply(char out[512])
{
	snprintf(out, 512, "%s", body());
}

static size_t
rows(const char *collection)
{
	return state_collection(&world.services[0].state, collection)->rows_len;
}

static void
test_replay(void)
{
	char first[512], id[64];

	if (!start(STRIPE))
		return;
	is_int(ask("POST", "/refunds", FORM KEY("k1"), "charge=ch_1&amount=4200"), 200, "first");
	ok(says("\"key\":\"k1\",\"idempotency\":\"first\"") && has("Idempotency-Key: k1\r\n"), "is recorded as such");
	copy_reply(first);
	snprintf(id, sizeof(id), "Original-Request: %.18s\r\n", strstr(reply.at, "Request-Id: ") + 12);
	is_int(ask("POST", "/refunds", FORM KEY("k1"), "amount=4200&charge=ch_1"), 200,
	       "again, fields in another order");
	is_str(body(), first, "the same body");
	ok(has("Idempotent-Replayed: true\r\n") && has(id) && has("X-Own: "),
	   "marked, with the first one's id and headers");
	ok(strstr(strstr(reply.at, "Request-Id: ") + 1, id + 18) == NULL ||
		   strstr(reply.at, "\r\nRequest-Id: ") != NULL,
	   "and a request id of its own");
	ok(says("\"idempotency\":\"replay\",\"resend_of\":0,\"effects\":[]"), "recorded without an effect");
	ok(says("\"service\":\"applied\",\"client\":\"told-ok\""), "as one that was applied");
	is_int((int)rows("refunds"), 1, "one row");
	is_int(ask("POST", "/refunds", FORM KEY("k2"), "charge=ch_1&amount=1"), 400, "another key is another call");
	ok(has("charge_already_refunded"), "which is refused for what it wants");
	is_int(ask("POST", "/refunds", FORM, "charge=ch_1&amount=1"), 400, "no key");
	ok(says("\"key\":null,\"idempotency\":null"), "no verdict");
	is_int(ask("GET", "/rows", KEY("k1"), ""), 200, "a method that keys do not count for");
	ok(says("\"idempotency\":null"), "has none either");
	unload();
}

static void
test_mismatch(void)
{
	if (!start(STRIPE))
		return;
	ask("POST", "/refunds", FORM KEY("k1"), "charge=ch_1&amount=100");
	is_int(ask("POST", "/refunds", FORM KEY("k1"), "charge=ch_1&amount=200"), 400, "other parameters");
	ok(has("\"type\":\"idempotency_error\"") && says("\"idempotency\":\"mismatch\""), "its form");
	is_int(ask("POST", "/other", FORM KEY("k1"), "charge=ch_1&amount=100"), 400, "another endpoint");
	is_int(ask("POST", "/refunds?x=1", FORM KEY("k1"), "charge=ch_1&amount=100"), 400, "another query");
	is_int(ask("POST", "/refunds", FORM KEY("k1") "Stripe-Account: acct_1\r\n", "charge=ch_1&amount=200"), 200,
	       "another account");
	ok(says("\"idempotency\":\"first\""), "has keys of its own");
	is_int(ask("POST", "/json", JSON KEY("j"), "{\"a\":[1,2],\"b\":{\"c\":1,\"d\":2}}"), 200, "JSON");
	is_int(ask("POST", "/json", JSON KEY("j"), "{ \"b\": {\"d\":2.0,\"c\":1}, \"a\":[1,2] }"), 200,
	       "written differently");
	ok(says("\"idempotency\":\"replay\""), "is the same");
	is_int(ask("POST", "/json", JSON KEY("j"), "{\"a\":[2,1],\"b\":{\"c\":1,\"d\":2}}"), 400,
	       "the order of an array counts");
	is_int(ask("POST", "/json", JSON KEY("j"), "{\"a\":[1,2],\"b\":{\"c\":1,\"d\":\"2\"}}"), 400, "and types");
	is_int(ask("POST", "/other", FORM KEY("n"), "i[0][id]=1&i[1][id]=2"), 202, "nested names");
	is_int(ask("POST", "/other", FORM KEY("n"), "i[0][id]=2&i[1][id]=1"), 400, "count too");
	unload();
}

/* What is stored, and what may simply be tried again. */
static void
test_stored(void)
{
	if (!start(STRIPE ",\"auth\":{\"scheme\":\"bearer\",\"accept\":\"" SECRET "\"}"))
		return;
#define A "Authorization: Bearer " SECRET "\r\n"
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=1"), 401, "no credential");
	ok(says("\"idempotency\":null"), "is before any key");
	is_int(ask("POST", "/refunds", A FORM KEY("k"), "charge=ch_9&amount=1"), 404,
	       "a request that fails validation");
	ok(says("\"idempotency\":\"first\""), "the first");
	is_int(ask("POST", "/refunds", A FORM KEY("k"), "charge=ch_1&amount=1"), 200, "is not stored");
	is_int(ask("POST", "/refunds", A JSON KEY("b"), "{"), 400, "nor is a body that cannot be read");
	ok(says("\"idempotency\":null"), "and has no verdict");
	is_int(ask("POST", "/down", A KEY("d"), ""), 500, "a service that breaks while it works");
	is_int(ask("POST", "/down", A KEY("d"), ""), 500, "is stored");
	ok(has("Idempotent-Replayed: true") && says("\"service\":\"applied\""), "and replayed, its effect done");
	unload();
	if (!start(STRIPE))
		return;
	is_int(ask("POST", "/decline", KEY("c"), ""), 402, "a decline");
	is_int(ask("POST", "/decline", KEY("c"), ""), 402, "is stored");
	ok(has("Idempotent-Replayed: true") && says("\"client\":\"told-error\""), "and replayed");
	is_int(ask("POST", "/rows", JSON KEY("r"), "{\"id\":\"a\"}"), 200, "a resource");
	is_int(ask("POST", "/rows", JSON KEY("r"), "{\"id\":\"a\"}"), 200, "is replayed too");
	is_int(ask("POST", "/rows", JSON KEY("r2"), "{\"id\":\"a\"}"), 409, "a conflict under another key");
	is_int(ask("DELETE", "/rows/a", "", ""), 200, "gone");
	is_int(ask("POST", "/rows", JSON KEY("r2"), "{\"id\":\"a\"}"), 200, "was not stored");
	unload();
}

/* Two clients at once with one key. */
static void
test_parallel(void)
{
	struct http_conn other;

	if (!start(STRIPE))
		return;
	http_init(&other, &core, &world.services[0]);
	put(&conn, "POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200");
	put(&other, "POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200");
	is_int(get(&other), 409, "while the first reply is on its way");
	ok(has("\"code\":\"idempotency_key_in_use\"") && has("\"type\":\"invalid_request_error\""), "its form");
	is_int(get(&conn), 200, "the first");
	ok(says("\"idempotency\":\"first\""), "its verdict");
	buf_wipe(&op);
	buf_init(&op, 1u << 20);
	ops_take(&core.ops, &op);
	buf_terminate(&op);
	ok(says("\"idempotency\":\"in-flight\"") && says("\"service\":\"rejected\""), "the other's");
	put(&other, "POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200");
	is_int(get(&other), 200, "once it has left");
	ok(has("Idempotent-Replayed: true"), "it is replayed");
	is_int((int)rows("refunds"), 1, "one effect");
	put(&conn, "POST", "/other", FORM KEY("lost"), "");
	http_wipe(&conn);
	put(&other, "POST", "/other", FORM KEY("lost"), "");
	is_int(get(&other), 202, "a reply that was lost with its connection");
	ok(has("Idempotent-Replayed: true"), "is replayed");
	http_wipe(&other);
	http_init(&conn, &core, &world.services[0]);
	unload();
}

static int
start_faulty(const char *faults)
{
	char text[4096];

	snprintf(text, sizeof(text), service, STRIPE);
	return ok(load_with(text, faults), "with%s", faults);
}

/* Faults that lose or hold a reply, and what the key then is worth. */
static void
test_faults(void)
{
	struct http_conn other;

	if (!start_faulty(
		    ",\"faults\":[{\"id\":\"lost\",\"class\":\"timeout-after-write\",\"on\":{\"service\":\"s\",\"route\":\"refund.create\"},"
		    "\"call\":{\"nth\":1},\"phase\":\"after-effect\",\"how\":{\"end\":\"stall\"}}]"))
		return;
	http_init(&other, &core, &world.services[0]);
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200"), 0, "a reply that never comes");
	put(&other, "POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200");
	is_int(get(&other), 200, "the same call, while the first client still waits");
	ok(has("Idempotent-Replayed: true"), "is replayed: what was asked is done");
	is_int((int)rows("refunds"), 1, "once");
	http_wipe(&other);
	unload();
	if (!start_faulty(
		    ",\"faults\":[{\"id\":\"slow\",\"class\":\"server-error\",\"on\":{\"service\":\"s\",\"route\":\"refund.create\"},"
		    "\"call\":{\"nth\":1},\"phase\":\"before-effect\",\"how\":{\"status\":503}}]"))
		return;
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200"), 503, "an error before the effect");
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=4200"), 200, "is not stored");
	ok(says("\"idempotency\":\"first\""), "the next is the first");
	unload();
}

static void
test_expiry(void)
{
	if (!start(STRIPE))
		return;
	ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=1");
	core.t_ms = 86400000 - 1;
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=1"), 200, "just before the time is over");
	ok(says("\"idempotency\":\"replay\""), "a replay");
	core.t_ms = 86400000;
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=2"), 200, "after it");
	ok(says("\"idempotency\":\"expired\""), "a new call, and the record says why");
	is_int((int)rows("refunds"), 2, "with an effect");
	core.t_ms++;
	is_int(ask("POST", "/refunds", FORM KEY("k"), "charge=ch_1&amount=2"), 200, "again");
	ok(says("\"idempotency\":\"replay\""), "a replay of that");
	unload();
}

static void
test_ietf(void)
{
	char text[300];

	if (!start(IETF))
		return;
	is_int(ask("POST", "/other", "", ""), 400, "ietf: a key is missing");
	is_str(body(), "{\"error\":\"this request needs an Idempotency-Key\",\"code\":\"idempotency_key_missing\"}",
	       "its body");
	is_int(ask("POST", "/other", KEY("\"\""), ""), 400, "an empty one");
	is_int(ask("POST", "/other", KEY("\"a\""), ""), 202, "a key in quotes");
	is_int(ask("POST", "/other", KEY("a"), ""), 202, "or without");
	ok(has("Idempotent-Replayed: true") && strstr(reply.at, "Original-Request") == NULL, "is the same");
	is_int(ask("POST", "/other", JSON KEY("a"), "{}"), 422, "another payload");
	ok(has("idempotency_key_reused"), "its body");
	memset(text, 'x', sizeof(text));
	memcpy(text, "Idempotency-Key: ", 17);
	memcpy(text + 17 + 256, "\r\n", 3);
	is_int(ask("POST", "/other", text, ""), 400, "a key that is too long");
	is_int(ask("GET", "/rows", "", ""), 200, "other methods need none");
	is_int(ask("DELETE", "/rows/x", KEY("d"), ""), 404, "those named do");
	unload();
	if (start("\"idempotency\":{\"required\":false}")) {
		is_int(ask("POST", "/other", "", ""), 202, "not required");
		unload();
	}
}

static void
test_bounds(void)
{
	char key[80], *text = malloc(300001);
	size_t before;
	int status = 0, n = 0;

	if (text == NULL || !start(STRIPE)) {
		free(text);
		return;
	}
	memset(text, 'x', 300000);
	memcpy(text, "{\"v\":\"", 6);
	strcpy(text + 299990, "\"}");
	before = world.budget.used;
	ask("POST", "/refunds", FORM KEY("none"), "charge=ch_9&amount=1");
	is_int((long long)(world.budget.used - before), 0, "a key that is dropped costs nothing");
	for (; n < 10 && status != 507; n++) {
		snprintf(key, sizeof(key), JSON "Idempotency-Key: k%d\r\n", n);
		status = ask("POST", "/json", key, text);
	}
	is_int(status, 507, "the table is part of the state's limit");
	ok(n > 1 && n < 5 && world.budget.lost > 0, "and says that something was lost");
	before = rows("refunds");
	core.t_ms = 90000000;
	is_int(ask("POST", "/other", KEY("small"), ""), 202, "what has expired makes room");
	snprintf(key, sizeof(key), JSON "Idempotency-Key: k%d\r\n", n - 1);
	ask("POST", "/json", key, "{}");
	is_int((long long)rows("refunds"), (long long)before + 1, "and a call that found none had no effect");
	free(text);
	unload();
	if (!start(STRIPE))
		return;
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "Idempotency-Key: k%d\r\n", i);
		status = ask("POST", "/other", key, "");
	}
	is_int(status, 202, "a thousand keys");
	ask("POST", "/other", KEY("k7"), "");
	ok(has("Idempotent-Replayed"), "are all remembered");
	unload();
}

static void
test_rate(void)
{
	if (!start("\"profile\":\"stripe/v1\",\"rate_limit\":{\"limit\":2,\"window_ms\":1500},\"idempotency\":{}"))
		return;
	is_int(ask("POST", "/other", KEY("a"), ""), 202, "rate limit: first");
	is_int(ask("POST", "/other", KEY("b"), ""), 202, "second");
	core.t_ms = 100;
	is_int(ask("POST", "/other", KEY("c"), ""), 429, "one too many");
	ok(has("Retry-After: 2\r\n") && has("\"code\":\"rate_limit\"") && has("Stripe-Rate-Limited-Reason"),
	   "its form");
	ok(says("\"idempotency\":null") && says("\"service\":\"rejected\""), "its operation");
	core.t_ms = 1500;
	is_int(ask("POST", "/other", KEY("c"), ""), 202, "in the next window");
	ok(says("\"idempotency\":\"first\""), "its key is new");
	unload();
	if (!start("\"profile\":\"github\",\"rate_limit\":{\"limit\":1,\"window_ms\":60000,\"per\":\"route\"}"))
		return;
	is_int(ask("POST", "/other", "", ""), 202, "per route");
	ok(has("X-RateLimit-Limit: 1\r\n") && has("X-RateLimit-Remaining: 0\r\n") && has("X-RateLimit-Used: 1\r\n") &&
		   has("X-RateLimit-Reset: 1790000060\r\n"),
	   "its headers");
	is_int(ask("GET", "/rows", "", ""), 200, "another route");
	is_int(ask("POST", "/other", "", ""), 429, "the same one");
	ok(has("API rate limit exceeded") && has("Retry-After: 60\r\n"), "its form");
	unload();
	if (!start("\"profile\":\"openai\",\"rate_limit\":{\"limit\":1,\"window_ms\":90000}"))
		return;
	ask("POST", "/other", "", "");
	ok(has("X-RateLimit-Reset-Requests: 1m30s\r\n"), "a span of time");
	is_int(ask("POST", "/other", "", ""), 429, "openai");
	ok(has("Retry-After-Ms: 90000\r\n") && has("\"code\":\"rate_limit_exceeded\""), "its form");
	unload();
	if (!start("\"profile\":\"slack\",\"rate_limit\":{\"limit\":1,\"window_ms\":500}"))
		return;
	ask("POST", "/other", "", "");
	is_int(ask("POST", "/other", "", ""), 429, "slack");
	ok(has("Retry-After: 1\r\n") && has("{\"ok\":false,\"error\":\"ratelimited\"}"), "its form");
	unload();
	if (!start("\"profile\":\"anthropic\",\"rate_limit\":{\"limit\":1,\"window_ms\":1000}"))
		return;
	ask("POST", "/other", "", "");
	ok(has("Anthropic-RateLimit-Requests-Reset: 2026-09-21T14:13:21Z\r\n"), "a point in time");
	unload();
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"\"idempotency\":[]",
		"\"idempotency\":{\"on\":[]}",
		"\"idempotency\":{\"keep\":\"1 day\"}",
		"\"idempotency\":{\"keep\":\"0s\"}",
		"\"idempotency\":{\"profile\":\"x\"}",
		"\"idempotency\":{\"required\":1}",
		"\"rate_limit\":{}",
		"\"rate_limit\":{\"limit\":0,\"window_ms\":1}",
		"\"rate_limit\":{\"limit\":1,\"window_ms\":1,\"per\":\"key\"}",
	};
	char text[4096];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), service, bad[i]);
		ok(!load(text), "refused: %s", bad[i]);
	}
}

int
main(void)
{
	test_replay();
	test_mismatch();
	test_stored();
	test_parallel();
	test_faults();
	test_expiry();
	test_ietf();
	test_bounds();
	test_rate();
	test_refused();
	return tap_done();
}
