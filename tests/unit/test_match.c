/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_match.c - what routes want of query, headers and body, asked through the engine; and the nearest route when none has
 * it. */
#include "tests/lib/twinask.h"

#define JSON "Content-Type: application/json\r\n"
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

/* A service whose only route wants this. */
static int
wants(const char *match)
{
	char text[4096];

	unload();
	snprintf(
		text, sizeof(text),
		"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"routes\":[{\"id\":\"r\",\"match\":{\"method\":\"POST\",\"path\":\"/x\",%s},\"reply\":{}}]}",
		match);
	return load(text);
}

static void
fits(const char *match, const char *query, const char *headers, const char *text, int status)
{
	char target[512];

	if (!wants(match)) {
		ok(0, "%s", match);
		return;
	}
	snprintf(target, sizeof(target), "/x%s", query);
	is_int(ask("POST", target, headers, text), status, match);
}

static void
differs(const char *match, const char *query, const char *headers, const char *text, const char *difference)
{
	fits(match, query, headers, text, 404);
	ok(says(difference) && says("\"nearest\":{\"route\":\"r\""), "and why");
}

static void
test_query(void)
{
	fits("\"query\":{\"a\":\"1\"}", "?a=1", "", "", 200);
	fits("\"query\":{\"a\":1,\"b\":true}", "?b=true&a=1", "", "", 200);
	fits("\"query\":{\"a\":\"*\"}", "?a=", "", "", 200);
	differs("\"query\":{\"a\":\"*\"}", "?b=1", "", "",
		"the query's field 'a' is missing, the route wants any value");
	differs("\"query\":{\"a\":\"1\",\"b\":\"2\"}", "?a=1&b=3", "", "",
		"the query's field 'b' differs, the route wants \\\"2\\\"");
	fits("\"query\":{\"a\":\"2\"}", "?a=1&a=2", "", "", 200);
	fits("\"query\":{\"a\":[\"1\",\"2\"]}", "?a=1&a=2", "", "", 200);
	fits("\"query\":{\"a\":[\"2\",\"1\"]}", "?a=1&a=2", "", "", 404);
	fits("\"query\":{\"a\":[\"1\"]}", "?a=1", "", "", 200);
	fits("\"query\":{\"a\":{\"matches\":\"^[0-9]+$\"}}", "?a=12", "", "", 200);
	differs("\"query\":{\"a\":{\"matches\":\"^[0-9]+$\"}}", "?a=1x", "", "", "wants what matches ^[0-9]+$");
	fits("\"query\":{\"a\":{\"not\":\"1\"}}", "?a=2", "", "", 200);
	fits("\"query\":{\"a\":{\"not\":\"1\"}}", "", "", "", 200);
	fits("\"query\":{\"a\":{\"not\":\"1\"}}", "?a=2&a=1", "", "", 404);
	fits("\"query\":{\"a\":{\"not\":\"*\"}}", "", "", "", 200);
	differs("\"query\":{\"a\":{\"not\":\"*\"}}", "?a=2", "", "", "wants that it is absent");
	fits("\"query\":{\"a\":{\"not\":{\"not\":\"*\"}}}", "", "", "", 404);
}

static void
test_headers(void)
{
	fits("\"headers\":{\"X-Mode\":\"fast\"}", "", "x-mode: fast\r\n", "", 200);
	differs("\"headers\":{\"X-Mode\":\"fast\"}", "", "x-mode: Fast\r\n", "", "the header 'x-mode' differs");
	fits("\"headers\":{\"x-mode\":{\"matches\":\"b\"}}", "", "X-Mode: a\r\nX-Mode: b\r\n", "", 200);
	fits("\"headers\":{\"idempotency-key\":\"*\"}", "", "", "", 404);
	differs("\"headers\":{\"authorization\":\"Bearer " SECRET "\"}", "", "", "", "Bearer {{secret.payments}}");
	ok(!says("at_test_"), "a secret that is wanted is named");
}

static void
test_json(void)
{
	static const char body_text[] =
		"{\"a\":1,\"b\":{\"c\":[1,{\"d\":\"x\",\"e\":2}]},\"n\":null,\"t\":[\"p\",\"q\"],\"u\":\"*\"}";

	fits("\"body\":{\"json\":{\"a\":1}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"a\":1}}", "", "Content-Type: text/plain\r\n", body_text, 200);
	differs("\"body\":{\"json\":{\"a\":\"1\"}}", "", JSON, body_text, "the body's member 'a' differs");
	fits("\"body\":{\"json\":{\"b\":{\"c\":[1,{\"d\":\"x\"}]}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"b\":{\"c\":[1]}}}", "", JSON, body_text, 404);
	fits("\"body\":{\"json\":{\"b\":{\"c\":[\"*\",\"*\"]}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"b\":{\"c\":{\"contains\":{\"e\":2}}}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"b\":{\"c\":{\"contains\":{\"e\":3}}}}}", "", JSON, body_text, 404);
	fits("\"body\":{\"json\":{\"b\":{\"c\":{\"not\":{\"contains\":{\"e\":3}}}}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"n\":null}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"n\":\"*\"}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"m\":null}}", "", JSON, body_text, 404);
	fits("\"body\":{\"json\":{\"m\":{\"not\":\"*\"}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"u\":{\"equals\":\"*\"}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"a\":{\"equals\":\"*\"}}}", "", JSON, body_text, 404);
	fits("\"body\":{\"json\":{\"b\":{\"equals\":{\"c\":[1,{\"e\":2,\"d\":\"x\"}]}}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"b\":{\"equals\":{}}}}", "", JSON, body_text, 404);
	fits("\"body\":{\"json\":{\"b\":{}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"t\":{\"contains\":{\"matches\":\"^q\"}}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":{\"not\":{\"a\":2}}}", "", JSON, body_text, 200);
	fits("\"body\":{\"json\":[1,2]}", "", JSON, "[1,2]", 200);
	fits("\"body\":{\"json\":{}}", "", JSON, "{}", 200);
	differs("\"body\":{\"json\":{}}", "", JSON, "[1,2]", "the body differs, the route wants {}");
	differs("\"body\":{\"json\":{\"a\":\"*\"}}", "", FORM, "a=1", "there is no JSON body");
	fits("\"body\":{\"json\":{\"a\":{\"not\":\"*\"}}}", "", JSON, "[]", 404);
	fits("\"body\":{\"json\":{\"a\":\"*\"}}", "", JSON, "{\"a\":", 400);
	ok(has("the body is not valid JSON") && says("\"unmatched\":false"),
	   "what cannot be read is the caller's mistake");
	fits("\"body\":{\"json\":{\"a\":\"*\"}}", "", "", "{\"a\":", 404);
	is_int(ask("POST", "/y", JSON, "{\"a\":"), 404, "but no route is none");
}

static void
test_form(void)
{
	fits("\"body\":{\"form\":{\"charge\":\"*\"}}", "", FORM, "amount=1&charge=ch_1", 200);
	fits("\"body\":{\"form\":{\"metadata[order]\":\"7\"}}", "", FORM, "metadata[order]=7", 200);
	fits("\"body\":{\"form\":{\"metadata[order]\":\"7\"}}", "", FORM, "metadata%5Border%5D=7", 200);
	differs("\"body\":{\"form\":{\"charge\":\"*\"}}", "", FORM, "amount=1", "the form's field 'charge' is missing");
	differs("\"body\":{\"form\":{\"charge\":\"*\"}}", "", JSON, "{\"charge\":1}", "the body is no form");
	fits("\"body\":{\"form\":{\"charge\":{\"not\":\"*\"}}}", "", JSON, "{}", 404);
}

static void
test_order(void)
{
	unload();
	if (!ok(load("{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"routes\":["
		     "{\"id\":\"first\",\"match\":{\"method\":\"POST\",\"path\":\"/{p}\",\"query\":{\"a\":\"1\"}},\"when\":\"request.path.p == 'x'\",\"reply\":{\"status\":201}},"
		     "{\"id\":\"second\",\"match\":{\"method\":\"POST\",\"path\":\"/x\",\"query\":{\"a\":\"*\",\"b\":\"*\"},\"headers\":{\"h\":\"*\"}},\"reply\":{\"status\":202}},"
		     "{\"id\":\"third\",\"match\":{\"method\":\"POST\",\"path\":\"/y\"},\"reply\":{\"status\":203}}]}"),
		"several routes"))
		return;
	is_int(ask("POST", "/x?a=1&b=1", "h: 1\r\n", ""), 201, "the first that fits");
	is_int(ask("POST", "/x?a=2&b=1", "h: 1\r\n", ""), 202, "else the next");
	is_int(ask("POST", "/y?a=1", "", ""), 203, "a guard that does not hold");
	is_int(ask("POST", "/x?a=2&b=1", "", ""), 404, "none");
	ok(says("\"nearest\":{\"route\":\"second\",\"difference\":\"the header 'h' is missing"),
	   "the nearest holds longest");
	is_int(ask("POST", "/z?a=1", "", ""), 404, "only the guard");
	ok(says("\"nearest\":{\"route\":\"first\",\"difference\":\"the guard does not hold"), "is nearest of all");
}

/* One path, a thousand bodies. */
static void
test_many(void)
{
	char body_text[64];
	struct buf text;
	int good = 0;

	unload();
	buf_init(&text, 4u << 20);
	buf_text(&text, "{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"routes\":[");
	for (int i = 0; i < 1000; i++)
		buf_format(
			&text,
			"%s{\"id\":\"r%d\",\"match\":{\"method\":\"POST\",\"path\":\"/rpc\",\"body\":{\"json\":{\"n\":%d}}},\"reply\":{\"status\":%d}}",
			i > 0 ? "," : "", i, i, 200 + i % 200);
	buf_text(&text, "]}");
	buf_terminate(&text);
	ok(load(text.at), "a thousand routes of one path");
	buf_wipe(&text);
	for (int i = 0; i < 1000; i += 37) {
		snprintf(body_text, sizeof(body_text), "{\"n\":%d}", i);
		good += ask("POST", "/rpc", JSON, body_text) == 200 + i % 200;
	}
	is_int(good, 28, "each is found");
	is_int(ask("POST", "/rpc", JSON, "{\"n\":1000}"), 404, "but no other");
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"\"query\":[]",
		"\"query\":{\"a\":null}",
		"\"query\":{\"a\":{\"contains\":1}}",
		"\"query\":{\"a\":{\"matches\":\"(\"}}",
		"\"headers\":{\"a\":{\"matches\":1}}",
		"\"body\":{}",
		"\"body\":{\"json\":1,\"form\":{}}",
		"\"body\":{\"text\":1}",
		"\"cookies\":{}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!wants(bad[i]), "refused: %s", bad[i]);
}

int
main(void)
{
	load("{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"]}");
	test_query();
	test_headers();
	test_json();
	test_form();
	test_order();
	test_many();
	unload();
	test_refused();
	return tap_done();
}
