/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_test_record.c - what the process of a run hands back: whole, byte by byte, cut anywhere, and what contradicts itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/test.h"
#include "host/test_child.h"
#include "tests/lib/tap.h"

#define ID "01a22fb3-b63c-7630-95d0-787eaba011b4"
#define CHECKS "\"checks\":[{\"id\":\"exit\",\"kind\":\"exit\",\"held\":true,\"role\":\"required\",\"line\":12}]"
#define REST "\"run_id\":\"" ID "\",\"fingerprint\":\"ab\",\"receipt\":\"/r.json\",\"started_unix_ms\":5,\"ms\":7,"
#define PASSED "{\"status\":\"passed\",\"exit_code\":0,\"why\":null," REST CHECKS "}"

static int
take(const char *json)
{
	struct test_record r;
	char why[160];
	int rc = test_record_take(json, strlen(json), &r, why);

	if (rc == 0)
		test_record_wipe(&r);
	return rc;
}

static void
test_take(void)
{
	struct test_record r;
	char why[160];
	size_t i;
	int bad = 0;

	is_int(test_record_take(PASSED, strlen(PASSED), &r, why), 0, "a record is taken");
	ok(r.status == TEST_PASSED && r.exit_code == 0 && r.ms == 7 && r.started_unix_ms == 5, "its numbers");
	is_str(r.run_id, ID, "its texts");
	ok(r.why == NULL && r.checks_len == 1 && r.checks[0].held == TEST_HELD && r.checks[0].line == 12, "its checks");
	test_record_wipe(&r);
	for (i = 0; i < strlen(PASSED); i++)
		bad += test_record_take(PASSED, i, &r, why) == 0;
	is_int(bad, 0, "cut anywhere it is none");
	is_int(test_record_make(&r, TEST_ERROR, 4, "why"), 0, "one is made");
	is_str(r.why, "why", "with its reason");
	test_record_wipe(&r);
}

static void
test_contradictions(void)
{
	static const char *const wrong[] = {
		"{\"status\":\"passed\",\"exit_code\":1," REST CHECKS "}",
		"{\"status\":\"failed\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"error\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"aborted\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"timeout\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"cancelled\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"invalid\",\"exit_code\":2," REST CHECKS "}",
		"{\"status\":\"flaky\",\"exit_code\":1," REST CHECKS "}",
		"{\"status\":\"not run\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"PASSED\",\"exit_code\":0," REST CHECKS "}",
		"{\"status\":\"passed\",\"exit_code\":0," REST "\"checks\":[]}",
		"{\"status\":\"passed\",\"exit_code\":0," REST "\"checks\":{}}",
		"{\"status\":\"passed\",\"exit_code\":0,\"compared\":true,\"like\":false," REST CHECKS "}",
		"{\"status\":\"passed\",\"exit_code\":0,\"started_unix_ms\":5,\"ms\":7," CHECKS "}",
		"{\"status\":\"passed\",\"exit_code\":0," REST
		"\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":false,\"role\":\"required\"}]}",
		"{\"status\":\"passed\",\"exit_code\":0," REST
		"\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":1}]}",
		"{\"status\":\"passed\",\"exit_code\":0," REST "\"checks\":[{\"kind\":\"exit\",\"held\":true}]}",
		"{\"status\":\"passed\",\"exit_code\":0.5," REST CHECKS "}",
		"{\"status\":\"passed\",\"exit_code\":-1," REST CHECKS "}",
		"{\"status\":\"passed\",\"exit_code\":0," REST
		"\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":null,\"role\":\"required\"}]}",
		"{\"status\":\"passed\",\"exit_code\":0," REST
		"\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":true,\"role\":\"sweep\"}]}",
		"{\"status\":\"passed\",\"exit_code\":0," REST
		"\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":null,\"role\":\"sweep\",\"mode\":\"maybe\"}]}",
		"{\"status\":\"failed\",\"exit_code\":1,\"unmet\":[{}]," REST CHECKS "}",
		"{\"status\":\"failed\",\"exit_code\":1,\"unmet\":{}," REST CHECKS "}",
		"[]",
		"",
		"null",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(take(wrong[i]) < 0, "no record: %.60s", wrong[i]);
	is_int(take("{\"status\":\"passed\",\"exit_code\":0," REST
		    "\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":false,\"role\":\"evidence\"}]}"),
	       0, "evidence that did not hold does not speak against a pass");
	is_int(take("{\"status\":\"passed\",\"exit_code\":0," REST
		    "\"checks\":[{\"id\":\"a\",\"kind\":\"exit\",\"held\":null,\"role\":\"sweep\",\"mode\":\"never\",\"here\":true}]}"),
	       0, "nor does what is judged over a sweep");
	is_int(take("{\"status\":\"cancelled\",\"exit_code\":143,\"started_unix_ms\":5,\"ms\":7,\"checks\":[]}"), 0,
	       "what was ended before it began has no receipt");
}

static void
test_inbox(void)
{
	static const char begin[] = "begin " ID " 1234 5678\n";
	static const char *const wrong[] = { "begin " ID " 1234\n", "begin x 1 2\n",        "begin " ID " -1 2\n",
					     "nonsense\n",          "begin " ID " 1 2 3\n", "\n" };
	struct test_inbox b = { 0 };
	char whole[600], *copy;
	size_t len = 0, i, n, cut = 0;
	const char *record;

	n = (size_t)snprintf(whole, sizeof(whole), "%srecord %zu\n%s", begin, strlen(PASSED), PASSED);
	ok(test_inbox_add(&b, whole, n), "all at once");
	ok(b.begun && b.bundle_bytes == 1234 && b.longest_ms == 5678, "it has begun");
	record = test_inbox_record(&b, &len);
	ok(record && len == strlen(PASSED) && memcmp(record, PASSED, len) == 0, "and is whole");
	test_inbox_wipe(&b);
	for (i = 0; i < n; i++) {
		copy = malloc(1); /* so that reading beyond it is seen */
		copy[0] = whole[i];
		cut += test_inbox_record(&b, &len) != NULL;
		cut += !test_inbox_add(&b, copy, 1);
		free(copy);
	}
	ok(test_inbox_record(&b, &len) != NULL, "byte by byte");
	is_int((long long)cut, 0, "not before its last byte");
	ok(test_inbox_add(&b, "x", 1) && test_inbox_record(&b, &len) == NULL, "nor with one more");
	test_inbox_wipe(&b);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ok(!test_inbox_add(&b, wrong[i], strlen(wrong[i])), "nobody sends that: %.20s", wrong[i]);
		ok(!test_inbox_add(&b, whole, n) && !test_inbox_record(&b, &len), "and it stays so");
		test_inbox_wipe(&b);
	}
	n = (size_t)snprintf(whole, sizeof(whole), "record %zu\n%s", strlen(PASSED), PASSED);
	ok(test_inbox_add(&b, whole, n) && !b.begun && test_inbox_record(&b, &len), "a run that never began");
	test_inbox_wipe(&b);
	memset(whole, 'x', sizeof(whole));
	ok(!test_inbox_add(&b, whole, sizeof(whole)), "a first line without an end");
	test_inbox_wipe(&b);
	ok(test_inbox_add(&b, begin, strlen(begin)), "much is refused:");
	for (i = 0; i < TEST_RECORD_MAX + 4096 && test_inbox_add(&b, whole, sizeof(whole)); i += sizeof(whole))
		;
	ok(b.broken && i <= TEST_RECORD_MAX + 1024 && !test_inbox_record(&b, &len), "more than the most");
	test_inbox_wipe(&b);
}

int
main(void)
{
	test_take();
	test_contradictions();
	test_inbox();
	return tap_done();
}
