/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_compare.c - the first difference of two receipts, in words; receipts that are none. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/compare.h"
#include "host/diag.h"
#include "host/reproduce.h"
#include "host/series.h"
#include "tests/lib/receipt_text.h"
#include "tests/lib/tap.h"

#define D1 "1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "2222222222222222222222222222222222222222222222222222222222222222"

#define OP(n, key, body, status, reply) \
	"{\"n\":" #n \
	",\"service\":\"pay\",\"kind\":\"http\",\"route\":\"make\",\"request\":{\"method\":\"POST\",\"target\":" \
	"\"/rows\",\"body\":{\"bytes\":2,\"sha256\":\"" body "\",\"json\":\"" body "\"}},\"key\":" key \
	",\"effects\":[],\"reply\":{\"status\":" #status ",\"sha256\":\"" reply \
	"\"},\"fault\":null,\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}}"
#define NAME(n, name) \
	"{\"n\":" #n ",\"service\":\"dns\",\"kind\":\"dns\",\"route\":\"refused\",\"request\":{\"name\":\"" name \
	"\",\"type\":\"A\"},\"key\":null,\"effects\":[],\"reply\":{\"rcode\":\"REFUSED\"},\"fault\":null,\"views\":{" \
	"\"service\":\"rejected\",\"client\":\"told-error\"}}"
#define OPS OP(0, "\"k1\"", "b1", 201, D1) "," OP(1, "null", "b2", 201, D2) "," NAME(2, "x.org")

static const char base[] =
	"\"agenttwin\":\"receipt/1\",\"run\":{\"id\":\"r1\",\"seed\":7,\"world\":{\"path\":\"w.json\",\"sha256\":\"" D1
	"\"},\"fingerprint\":\"" D1
	"\"},\"bundle\":{\"files\":[{\"path\":\"a.mjs\",\"kind\":\"file\",\"mode\":\"0644\","
	"\"sha256\":\"" D1 "\"},{\"path\":\"b.mjs\",\"kind\":\"file\",\"mode\":\"0644\",\"sha256\":\"" D1 "\"}]},"
	"\"runtime\":{\"backend\":\"local\"},\"boundary\":{\"policy\":{\"sha256\":\"" D1 "\"}},"
	"\"outcome\":{\"exit\":{\"code\":0,\"signal\":null}},\"operations\":[" OPS "],"
	"\"checks\":[{\"id\":\"exit\",\"held\":true,\"actual\":\"0\"}],"
	"\"state\":{\"final\":{\"pay\":{\"rows\":[{\"id\":\"a\",\"x\":1},{\"id\":\"b\",\"x\":2}]}},"
	"\"final_sha256\":{\"pay\":\"" D1 "\"}}";

/* The receipt with one text in it replaced; owned by the caller. */
static char *
changed(const char *from, const char *to)
{
	char *members = malloc(sizeof(base) + 4096), *text;
	const char *at = strstr(base, from);

	if (!members || !at)
		abort();
	sprintf(members, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
	text = receipt_text(members);
	free(members);
	return text;
}

static void
says(const char *from, const char *to, const char *want)
{
	char *before = receipt_text(base), *now = changed(from, to), why[RECEIPT_WHY_MAX], text[COMPARE_TEXT_MAX];
	struct receipt_doc a, b;
	int r;

	if (receipt_open_text(before, strlen(before), &a, why) < 0 ||
	    receipt_open_text(now, strlen(now), &b, why) < 0) {
		printf("Bail out! %s %s\n", why, now);
		exit(1);
	}
	r = compare_receipts(&a, &b, text);
	if (!want)
		ok(r == 0, "no difference: %s", r ? text : to);
	else
		is_str(text, want, "a difference");
	receipt_close(&a);
	receipt_close(&b);
	free(before);
	free(now);
}

static void
test_parts(void)
{
	says("x", "x", NULL);
	says("\"id\":\"r1\"", "\"id\":\"r2\"", NULL);
	says("\"seed\":7", "\"seed\":8", "the seed: 7, now 8");
	says("\"policy\":{\"sha256\":\"" D1, "\"policy\":{\"sha256\":\"" D2,
	     "the policy of the boundary: \"" D1 "\", now \"" D2 "\"");
	says("\"path\":\"w.json\",\"sha256\":\"" D1, "\"path\":\"w.json\",\"sha256\":\"" D2,
	     "the world's digest: \"" D1 "\", now \"" D2 "\"");
	says("\"code\":0", "\"code\":3", "the exit code: 0, now 3");
	says("\"signal\":null", "\"signal\":9", "the signal: null, now 9");
	says("\"held\":true,\"actual\":\"0\"", "\"held\":false,\"actual\":\"exit code 1\"",
	     "the check exit held, now it does not: exit code 1");
	says("\"x\":2", "\"x\":3", "the final state of pay, rows, row \"b\", x: 2, now 3");
	says(",{\"id\":\"b\",\"x\":2}", "",
	     "the final state of pay, rows, row \"b\": {\"id\":\"b\",\"x\":2}, now none");
	says("\"final_sha256\":{\"pay\":\"" D1, "\"final_sha256\":{\"pay\":\"" D2,
	     "the final state of pay, beyond its collections: its variables");
	says("{\"path\":\"b.mjs\"", "{\"path\":\"c.mjs\"", "other files entered: b.mjs is missing, c.mjs is new");
	says("\"0644\",\"sha256\":\"" D1, "\"0644\",\"sha256\":\"" D2, "other files entered: a.mjs is changed");
	says("\"0644\"", "\"0755\"", "other files entered: a.mjs has another mode");
}

static void
test_operations(void)
{
	says(OPS, OP(0, "null", "b2", 201, D2) "," NAME(1, "x.org") "," OP(2, "\"k9\"", "b1", 201, D1), NULL);
	says(OPS, OPS "," NAME(3, "X.org"), NULL);
	says(OPS, OPS "," NAME(3, "y.org"), "dns: look-up of y.org (refused), operation 3, is new");
	says(OPS, OP(0, "\"k1\"", "b1", 201, D1) "," OP(1, "null", "b2", 409, D2) "," NAME(2, "x.org"),
	     "pay: POST /rows (make), operation 1: the reply's status: 201, now 409");
	says(OPS, OP(0, "\"k1\"", "b1", 201, D2) "," OP(1, "null", "b2", 409, D2) "," NAME(2, "x.org"),
	     "pay: POST /rows (make), operation 0: the reply's body: \"" D1 "\", now \"" D2 "\"");
	says(OPS, OP(0, "\"k1\"", "b1", 201, D1) "," NAME(1, "x.org"),
	     "pay: POST /rows (make), operation 1 there, is missing");
	says(OPS, OPS "," OP(3, "null", "b2", 201, D2), "pay: POST /rows (make), operation 3, is new");
	says(OPS, OP(0, "\"k1\"", "b3", 201, D1) "," OP(1, "null", "b2", 201, D2) "," NAME(2, "x.org"),
	     "pay: POST /rows (make), operation 0: the request's body: \"b1\", now \"b3\"");
}

/* All differences of base and what the other text makes of it. */
static int
all(const char *from, const char *to, struct compare *c)
{
	char *before = receipt_text(base), *now = changed(from, to), why[RECEIPT_WHY_MAX];
	struct receipt_doc a, b;
	int r;

	if (receipt_open_text(before, strlen(before), &a, why) < 0 || receipt_open_text(now, strlen(now), &b, why) < 0)
		abort();
	r = compare_all(&a, &b, c);
	receipt_close(&a);
	receipt_close(&b);
	free(before);
	free(now);
	return r;
}

static void
test_all(void)
{
	struct compare c = { .limit = 2 };

	is_int(all("x", "x", &c), 0, "nothing is different");
	is_int((long long)c.len, 0, "so nothing is told");
	compare_wipe(&c);

	c.limit = 2;
	is_int(all(OPS,
		   OP(0, "null", "b7", 201, D1) "," OP(1, "null", "b2", 409, D2) "," OP(
			   2, "null", "b2", 201, D2) "," OP(3, "null", "b2", 201, D2) "," NAME(4, "x.org"),
		   &c),
	       0, "several operations");
	is_int((long long)c.found[COMPARE_OPERATIONS], 4, "all are counted");
	is_int((long long)c.len, 2, "as many as wanted are kept");
	is_str(c.items[0].text, "pay: POST /rows (make), operation 0: the request's body: \"b1\", now \"b7\"",
	       "the first, one missing and one new made one");
	is_str(c.items[0].before, "/operations/0", "where it was");
	is_str(c.items[1].text, "pay: POST /rows (make), operation 1: the reply's status: 201, now 409", "the second");
	is_str(c.items[1].now, "/operations/1", "where it is");
	compare_wipe(&c);

	c.limit = 9;
	is_int(all("{\"id\":\"a\",\"x\":1},", "{\"id\":\"0\",\"x\":9},{\"id\":\"a\",\"x\":1,\"y\":{\"z\":[1]}},", &c),
	       0, "rows");
	is_int((long long)c.len, 2, "a row put before others does not change them");
	is_str(c.items[0].text, "the final state of pay, rows, row \"0\": none, now {\"id\":\"0\",\"x\":9}",
	       "a new row");
	is_str(c.items[1].text, "the final state of pay, rows, row \"a\", y: none, now {\"z\":[1]}", "a new field");
	compare_wipe(&c);
}

static void
test_broken(void)
{
	struct compare c = { .limit = 1 };
	char *before = receipt_text(base), *now = changed(OPS, "{},[]"), why[RECEIPT_WHY_MAX], text[COMPARE_TEXT_MAX];
	struct receipt_doc a, b;

	if (receipt_open_text(before, strlen(before), &a, why) < 0 || receipt_open_text(now, strlen(now), &b, why) < 0)
		abort();
	ok(compare_all(&a, &b, &c) == -EPROTO && c.why && strstr(c.why, "/operations/1"), "an operation that is none");
	compare_wipe(&c);
	ok(compare_receipts(&a, &b, text) < 0 && strstr(text, "/operations/1"), "is no equality");
	receipt_close(&a);
	receipt_close(&b);
	free(before);
	free(now);
}

static void
test_files(void)
{
	cJSON *none = cJSON_CreateArray(), *many = cJSON_CreateArray(), *o;
	char text[400], path[16];
	int i;

	for (i = 0; i < 8; i++) {
		cJSON_AddItemToArray(many, o = cJSON_CreateObject());
		snprintf(path, sizeof(path), "f%d", i);
		cJSON_AddStringToObject(o, "path", path);
	}
	ok(!compare_files(none, none, text, sizeof(text)), "nothing and nothing");
	ok(!compare_files(many, many, text, sizeof(text)), "the same and the same");
	ok(compare_files(none, many, text, sizeof(text)), "many new ones");
	is_str(text, "f0 is new, f1 is new, f2 is new, f3 is new, f4 is new and 3 more", "the first five");
	ok(compare_files(many, none, text, 20) && strlen(text) == 19, "cut where it does not fit");
	cJSON_Delete(none);
	cJSON_Delete(many);
}

static int
load(const char *text)
{
	static struct reproduce r;
	char path[] = "/tmp/test_compare.XXXXXX";
	struct diag d = { 0 };
	int fd = mkstemp(path), rc;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	rc = reproduce_load(path, "elsewhere.json", &r, &d);
	ok(rc == 0 || (d.problem[0] && d.fix[0]), "what is wrong is said: %s", d.problem);
	reproduce_wipe(&r);
	unlink(path);
	return rc;
}

static void
test_load(void)
{
	struct reproduce r;
	struct diag d = { 0 };
	char *text;

	text = receipt_text(base);
	is_int(load(text), 0, "a receipt");
	free(text);
	ok(load("") < 0, "nothing");
	ok(load("[]") < 0, "a list");
	ok(load("{ \"agenttwin\": \"world/1\" }") < 0, "a world");
	ok(load("{ \"agenttwin\": \"receipt/1\" }") < 0, "nearly nothing");
	text = receipt_text(base);
	memcpy(strstr(text, "\"seed\":7"), "\"sred\":7", 8);
	ok(load(text) < 0, "no seed");
	free(text);
	ok(reproduce_load("/nonexistent/x", NULL, &r, &d) < 0 && d.fix[0], "no file");
	reproduce_wipe(&r);
}

static void
test_worse(void)
{
	static const int order[] = { 130, 143, 3, 4, 2, 5, 1, 0 };
	bool right = true;
	size_t i, k;

	for (i = 0; i < 8; i++)
		for (k = 0; k < 8; k++)
			right = right && series_worse(order[i], order[k]) == order[i < k ? i : k];
	ok(right, "of two exit statuses the worse");
}

int
main(void)
{
	test_parts();
	test_operations();
	test_files();
	test_all();
	test_broken();
	test_load();
	test_worse();
	return tap_done();
}
