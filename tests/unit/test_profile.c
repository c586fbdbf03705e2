/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_profile.c - errors and headers in the forms of the services whose clients read them. */
#include "tests/lib/twinask.h"

static const char rest[] =
	"\"state\":{\"rows\":[{\"id\":\"a\"}]},\"routes\":[{\"resource\":\"rows\",\"path\":\"/rows\"},"
	"{\"id\":\"pay.take\",\"match\":{\"method\":\"POST\",\"path\":\"/pay\"},\"do\":["
	"{\"find\":\"rows\",\"id\":\"{{request.body.row}}\",\"as\":\"row\",\"else\":{\"status\":404,\"code\":\"resource_missing\",\"headers\":{\"X-Extra\":\"{{request.body.row}}\"}}},"
	"{\"require\":\"request.body.n == 1\",\"else\":{\"status\":422,\"code\":\"already_done\"}}],"
	"\"reply\":{\"status\":402,\"code\":\"card_declined\"}},"
	"{\"id\":\"limit\",\"match\":{\"method\":\"GET\",\"path\":\"/limit\"},\"reply\":{\"status\":429,\"code\":\"rate_limit_exceeded\",\"headers\":{\"Retry-After\":\"1\"}}},"
	"{\"id\":\"quota\",\"match\":{\"method\":\"GET\",\"path\":\"/quota\"},\"reply\":{\"status\":429,\"code\":\"insufficient_quota\"}},"
	"{\"id\":\"down\",\"match\":{\"method\":\"GET\",\"path\":\"/down\"},\"reply\":{\"status\":503,\"code\":\"overloaded_error\"}}]}";

static int
start(const char *profile, const char *auth)
{
	char text[4096];

	snprintf(
		text, sizeof(text),
		"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"profile\":\"%s\",\"auth\":{%s,\"accept\":\"" SECRET
		"\"},%s",
		profile, auth, rest);
	return ok(load(text), "a service of profile %s", profile);
}

#define BEARER "\"scheme\":\"bearer\""
#define AUTH "Authorization: Bearer " SECRET "\r\n"

static void
test_generic(void)
{
	if (!start("generic", BEARER))
		return;
	is_int(ask("POST", "/pay", AUTH, "{\"row\":\"x\\ny\"}"), 404, "generic: a code");
	is_str(body(), "{\"error\":\"resource_missing\",\"code\":\"resource_missing\"}", "its body");
	ok(has("X-Extra: x y\r\n"), "its own header, in one line");
	is_int(ask("POST", "/rows", AUTH, "[1]"), 400, "generic: bad body");
	is_str(body(), "{\"error\":\"the body must be a JSON object\"}", "its body");
	is_int(ask("GET", "/rows/a", "Authorization: token " SECRET "\r\n", ""), 401, "generic: token is no scheme");
	is_int(ask("GET", "/rows/a", "Authorization: Basic YTpi\r\n", ""), 401, "generic: nor is basic");
	ok(has("WWW-Authenticate: Bearer\r\n"), "the challenge");
	unload();
}

static void
test_stripe(void)
{
	/* SECRET with a colon */
	static const char basic[] = "Authorization: Basic YXRfdGVzdF8wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1djo=\r\n";

	if (!start("stripe/v1", BEARER))
		return;
	is_int(ask("GET", "/rows/a", basic, ""), 200, "stripe: basic as well as bearer");
	ok(has("Request-Id: req_") && has("Stripe-Version: 2024-06-20\r\n"), "its headers");
	is_int(ask("GET", "/rows/a", AUTH "Stripe-Version: 2025-01-01\r\nIdempotency-Key: k1\r\n", ""), 200,
	       "stripe: bearer");
	ok(has("Stripe-Version: 2025-01-01\r\n") && has("Idempotency-Key: k1\r\n"), "echoes");
	is_int(ask("GET", "/rows/b", AUTH, ""), 404, "stripe: missing row");
	is_str(body(),
	       "{\"error\":{\"code\":\"resource_missing\",\"doc_url\":\"https://stripe.com/docs/error-codes/resource-missing\","
	       "\"message\":\"No such resource.\",\"type\":\"invalid_request_error\"}}",
	       "its body");
	is_int(ask("POST", "/pay", AUTH, "{\"row\":\"a\",\"n\":1}"), 402, "stripe: a decline");
	ok(has("\"type\":\"card_error\"") && has("\"decline_code\":\"generic_decline\""), "its type");
	ok(says("\"service\":\"rejected\",\"client\":\"told-error\""), "its views");
	is_int(ask("GET", "/down", AUTH, ""), 503, "stripe: down");
	ok(has("\"type\":\"api_error\""), "its type");
	is_int(ask("GET", "/rows", "", ""), 401, "stripe: no key");
	ok(has("You did not provide an API key") && has("\"type\":\"invalid_request_error\""), "its body");
	is_int(ask("GET", "/rows", "Authorization: Bearer x\r\n", ""), 401, "stripe: wrong key");
	ok(has("Invalid API Key provided"), "its body");
	unload();
}

static void
test_github(void)
{
	if (!start("github", BEARER))
		return;
	is_int(ask("GET", "/rows/a", "Authorization: token " SECRET "\r\n", ""), 200,
	       "github: token as well as bearer");
	ok(has("X-GitHub-Request-Id: ") && strchr(strstr(reply.at, "X-GitHub-Request-Id: ") + 21, ':') != NULL,
	   "its request id");
	is_int(ask("GET", "/rows/b", AUTH, ""), 404, "github: missing");
	ok(has("\"documentation_url\":\"https://docs.github.com/rest\",\"status\":\"404\"}"), "its body");
	is_int(ask("POST", "/pay", AUTH, "{\"row\":\"a\"}"), 422, "github: validation");
	is_str(body(),
	       "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"pay\",\"code\":\"already_done\"}],"
	       "\"documentation_url\":\"https://docs.github.com/rest\",\"status\":\"422\"}",
	       "its body");
	is_int(ask("GET", "/rows/a", "Authorization: token x\r\n", ""), 401, "github: wrong");
	ok(has("{\"message\":\"Bad credentials\""), "its body");
	unload();
}

static void
test_slack(void)
{
	if (!start("slack", BEARER))
		return;
	is_int(ask("GET", "/rows/a", "", ""), 200, "slack: an error is a reply 200");
	is_str(body(), "{\"ok\":false,\"error\":\"not_authed\"}", "its body");
	ok(says("\"service\":\"rejected\",\"client\":\"told-error\""), "and counts as one");
	is_int(ask("GET", "/rows/a", "Authorization: Bearer x\r\n", ""), 200, "slack: a wrong token");
	is_str(body(), "{\"ok\":false,\"error\":\"invalid_auth\"}", "its body");
	is_int(ask("POST", "/pay", AUTH, "{\"row\":\"b\"}"), 200, "slack: a code");
	is_str(body(), "{\"ok\":false,\"error\":\"resource_missing\"}", "its body");
	is_int(ask("GET", "/limit", AUTH, ""), 429, "slack: but not a rate limit");
	ok(has("Retry-After: 1\r\n") && has("X-Slack-Req-Id: "), "its headers");
	is_int(ask("GET", "/down", AUTH, ""), 503, "nor a broken service");
	unload();
}

static void
test_llm(void)
{
	if (!start("openai/chat", BEARER))
		return;
	is_int(ask("GET", "/limit", AUTH, ""), 429, "openai: speed");
	is_str(body(),
	       "{\"error\":{\"message\":\"Rate limit exceeded\",\"type\":\"requests\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
	       "its body");
	ok(has("X-Request-Id: req_"), "its request id");
	is_int(ask("GET", "/quota", AUTH, ""), 429, "openai: money");
	ok(has("\"type\":\"insufficient_quota\",\"param\":null,\"code\":\"insufficient_quota\""), "its body");
	is_int(ask("GET", "/quota", "Authorization: Bearer x\r\n", ""), 401, "openai: wrong key");
	ok(has("\"code\":\"invalid_api_key\""), "its body");
	unload();
	if (!start("anthropic", "\"scheme\":\"header\",\"header\":\"x-api-key\""))
		return;
	is_int(ask("GET", "/rows/a", "X-Api-Key: " SECRET "\r\n", ""), 200, "anthropic: its header");
	ok(has("Request-Id: req_"), "its request id");
	is_int(ask("GET", "/rows/a", "X-Api-Key: x\r\n", ""), 401, "anthropic: wrong");
	is_str(body(),
	       "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}",
	       "its body");
	is_int(ask("GET", "/down", "X-Api-Key: " SECRET "\r\n", ""), 503, "anthropic: overloaded");
	ok(has("\"type\":\"overloaded_error\""), "its type");
	unload();
}

static void
test_ids(void)
{
	char first[64];

	if (!start("openai", BEARER))
		return;
	ask("GET", "/rows/a", AUTH, "");
	snprintf(first, sizeof(first), "%.50s", strstr(reply.at, "X-Request-Id"));
	ask("GET", "/rows/a", AUTH, "");
	ok(strstr(reply.at, first) == NULL, "each request has an id of its own");
	unload();
	if (!start("openai", BEARER))
		return;
	ask("GET", "/rows/a", AUTH, "");
	ok(strstr(reply.at, first) != NULL, "and the same one in the next run of the same seed");
	unload();
	ok(!load("{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"h\"],\"profile\":\"stripe\"}"), "an unknown profile");
}

int
main(void)
{
	test_generic();
	test_stripe();
	test_github();
	test_slack();
	test_llm();
	test_ids();
	return tap_done();
}
