// SPDX-License-Identifier: GPL-2.0-or-later
// test_number.c - numbers keep their value and their shortest text wherever JSON is written or compared.
#include "proto/number.h"

#include <cJSON.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guest/buf.h"
#include "host/json.h"
#include "tests/lib/tap.h"

static void
text_is(double v, const char *want)
{
	char text[NUMBER_TEXT_SIZE];

	number_text(v, text);
	is_str(text, want, want);
}

// Any double at all: the text reads back as the same bits, in both programs.
static void
test_random(uint64_t seed)
{
	char text[NUMBER_TEXT_SIZE];
	unsigned i, bad = 0, longer = 0;

	for (i = 0; i < 50000; i++) {
		uint64_t bits;
		double v, back;
		char other[40];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = i % 3 ? seed ^ seed >> 29 : seed >> 11 & 0x3fffffffffffff;
		if (i % 3)
			memcpy(&v, &bits, sizeof(v));
		else
			v = (double)(int64_t)bits / (i % 2 ? 1 : 100);
		if (!isfinite(v))
			continue;
		bad += number_text(v, text) != strlen(text) || strlen(text) >= NUMBER_TEXT_SIZE;
		back = strtod(text, NULL);
		bad += !number_is_equal(back, v);
		for (int digits = 1; digits < 17; digits++) {
			snprintf(other, sizeof(other), "%.*g", digits, v);
			if (number_is_equal(strtod(other, NULL), v)) {
				longer += !number_is_whole(v) && strlen(text) > strlen(other);
				break;
			}
		}
	}
	is_int(bad, 0, "50,000 doubles read back equal");
	is_int(longer, 0, "and none has a shorter text");
}

static void
round_trips(const char *json, const char *want)
{
	cJSON *v = cJSON_Parse(json);
	char *text = json_print(v);
	struct buf b;

	is_str(text, want, "the host prints it");
	buf_init(&b, 4096);
	buf_json(&b, v);
	buf_terminate(&b);
	is_str(b.at, want, "the twins print it");
	buf_wipe(&b);
	free(text);
	cJSON_Delete(v);
}

static void
equal(const char *a, const char *b, bool want)
{
	cJSON *x = cJSON_Parse(a), *y = cJSON_Parse(b);

	ok(json_equal(x, y) == want && json_equal(y, x) == want, "%s %s %s", a, want ? "equals" : "differs from", b);
	cJSON_Delete(x);
	cJSON_Delete(y);
}

int
main(void)
{
	uint64_t seed = (uint64_t)time(NULL);

	printf("# SEED=%llu\n", (unsigned long long)seed);
	text_is(0, "0");
	text_is(-0.0, "0");
	text_is(9007199254740991.0, "9007199254740991");
	text_is(-9007199254740991.0, "-9007199254740991");
	text_is(9007199254740990.0, "9007199254740990");
	text_is(0.1, "0.1");
	text_is(0.1 + 0.2, "0.30000000000000004");
	text_is(4.35, "4.35");
	text_is(1e21, "1e+21");
	text_is(5e-324, "5e-324");
	text_is(DBL_MAX, "1.7976931348623157e+308");
	text_is(INFINITY, "null");
	text_is(NAN, "null");
	test_random(seed);
	round_trips("[9007199254740991,9007199254740990,1.0,0.30000000000000004,-0.0,1e2]",
		    "[9007199254740991,9007199254740990,1,0.30000000000000004,0,100]");
	round_trips("{\"a\":[],\"b\":{},\"c\":null,\"d\":true,\"e\":\"\\\"\\n\"}",
		    "{\"a\":[],\"b\":{},\"c\":null,\"d\":true,\"e\":\"\\\"\\n\"}");
	ok(json_print(NULL) == NULL, "nothing is not printed");
	equal("9007199254740991", "9007199254740990", false);
	equal("0.30000000000000004", "0.3", false);
	equal("1", "1.0", true);
	equal("0", "-0.0", true);
	equal("1", "\"1\"", false);
	equal("1", "true", false);
	equal("null", "null", true);
	equal("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true);
	equal("{\"a\":1,\"b\":2}", "{\"a\":1}", false);
	equal("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false);
	equal("[1,2]", "[2,1]", false);
	equal("[1,2]", "[1,2,3]", false);
	equal("[]", "{}", false);
	equal("{\"a\":[{\"b\":null}]}", "{\"a\":[{\"b\":null}]}", true);
	equal("{\"a\":[{\"b\":null}]}", "{\"a\":[{}]}", false);
	return tap_done();
}
