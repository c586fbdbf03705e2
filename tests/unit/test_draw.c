/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_draw.c - ids and clocks: the same calls in another order get the same, another seed gets others. */
#include <string.h>

#include "tests/lib/twinask.h"

static const char notes[] =
	"{\"name\":\"n\",\"kind\":\"http\",\"hosts\":[\"n.internal\"],\"state\":{\"notes\":[]},\"routes\":["
	"{\"id\":\"two\",\"match\":{\"method\":\"POST\",\"path\":\"/two\"},\"do\":[{\"create\":\"notes\",\"as\":\"a\"},"
	"{\"create\":\"notes\",\"row\":{},\"as\":\"b\"}],\"reply\":{\"status\":200,\"body\":\"{{a.id}} {{b.id}}\"}},"
	"{\"id\":\"new\",\"match\":{\"method\":\"POST\",\"path\":\"/new\"},\"do\":[{\"create\":\"notes\",\"as\":\"a\"}],"
	"\"reply\":{\"status\":200,\"body\":\"{{a.id}}\"}},"
	"{\"id\":\"now\",\"match\":{\"method\":\"GET\",\"path\":\"/now\"},\"reply\":{\"status\":200,\"body\":\"{{str(now)}}\"}}]}";

static const char *
call(const char *target, const char *key, const char *text)
{
	static char out[8][64];
	static unsigned n;
	char header[200];
	char *at = out[n++ % 8];

	snprintf(header, sizeof(header), key ? "Idempotency-Key: %s\r\n" : "%s", key ? key : "");
	(void)ask(strcmp(target, "/now") == 0 ? "GET" : "POST", target, header, text);
	snprintf(at, sizeof(out[0]), "%.*s", (int)strcspn(body() + 1, "\""), body() + 1); /* a JSON string */
	return at;
}

static void
test_order(void)
{
	const char *a, *b, *c, *again;

	ok(load(notes), "a service");
	a = call("/new", NULL, "{\"x\":1}");
	b = call("/new", NULL, "{\"x\":2}");
	c = call("/new", NULL, "{\"x\":1}");
	ok(strlen(a) == 14 && strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789") == 14, "an id of 14 characters: %s", a);
	ok(strcmp(a, b) != 0 && strcmp(a, c) != 0 && strcmp(b, c) != 0, "each call has another");
	unload();
	ok(load(notes), "the same service anew");
	is_str(call("/new", NULL, "{\"x\":2}"), b, "a call that comes earlier has the same id");
	is_str(call("/new", NULL, "{\"x\":1}"), a, "and so has the other");
	is_str(call("/new", NULL, "{\"x\":1}"), c, "and its repeat");
	unload();
	ok(load(notes), "another seed");
	world.seed_exact++;
	again = call("/new", NULL, "{\"x\":2}");
	ok(strcmp(again, b) != 0, "other ids");
	a = call("/two", NULL, "{}");
	ok(strlen(a) == 29 && memcmp(a, a + 15, 14) != 0, "two effects of a call have two ids: %s", a);
	unload();
}

/* Keys that an SDK draws at random are told apart by when each came first. */
static void
test_keys(void)
{
	const char *k1, *k2, *retry, *again;

	ok(load(notes), "a service");
	k1 = call("/new", "7f3a", "{\"x\":1}");
	k2 = call("/new", "91bb", "{\"x\":1}");
	retry = call("/new", "7f3a", "{\"x\":1}");
	ok(strcmp(k1, k2) != 0 && strcmp(k1, retry) != 0 && strcmp(k2, retry) != 0, "three calls, three ids");
	unload();
	ok(load(notes), "anew, with other keys");
	is_str(call("/new", "aaaa", "{\"x\":1}"), k1, "the first key");
	again = call("/new", "aaaa", "{\"x\":1}");
	is_str(again, retry, "its repeat, which comes earlier than before");
	is_str(call("/new", "bbbb", "{\"x\":1}"), k2, "the second key");
	unload();
}

/* What a client sends of a run's credentials differs in every run. */
static void
test_secret(void)
{
	struct draw_call a = { 0 }, b = { 0 };
	struct request q;

	ok(load(notes), "a service");
	request_init(&q);
	q.method = "POST";
	q.target = "/new?k=" SECRET;
	q.body = "";
	is_int(draw_enter(&world, &world.services[0], &q, &a), 0, "a call with a credential");
	q.target = "/new?k={{secret.payments}}";
	is_int(draw_enter(&world, &world.services[0], &q, &b), 0, "and with its name");
	ok(memcmp(a.digest, b.digest, 32) == 0 && b.attempt == 1, "are the same call");
	request_wipe(&q);
	unload();
}

/* Many different calls: the table grows and forgets none. */
static void
test_many(void)
{
	struct draw_call c;
	struct request q;
	char target[40];
	int r = 0, right = 0;

	ok(load(notes), "a service");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 3000 && r == 0; i++) {
			request_init(&q);
			snprintf(target, sizeof(target), "/x/%u", i);
			q.method = "GET";
			q.target = target;
			c = (struct draw_call){ 0 };
			r = draw_enter(&world, &world.services[0], &q, &c);
			right += c.key == 0 && c.attempt == round;
			request_wipe(&q);
		}
	is_int(r, 0, "6000 calls");
	is_int(right, 6000, "each is found again");
	unload();
}

static void
test_clock(void)
{
	ok(load(notes), "a service");
	core.t_ms = 5;
	is_str(call("/now", NULL, ""), "1790000000005", "the clock runs");
	world.clock = (struct twin_clock){ .mode = CLOCK_FIXED, .start = 1000 };
	core.t_ms = 77;
	is_str(call("/now", NULL, ""), "1000", "stands still");
	is_str(call("/now", NULL, ""), "1000", "for every call");
	world.clock = (struct twin_clock){ .mode = CLOCK_VIRTUAL, .start = 5000, .step = 250 };
	is_str(call("/now", NULL, ""), "5000", "or goes on");
	is_str(call("/now", NULL, ""), "5250", "by calls, not by time");
	ok(strstr(reply.at, "Date: Thu, 01 Jan 1970 00:00:05 GMT") != NULL, "the header Date goes by it too");
	unload();
}

int
main(void)
{
	test_order();
	test_keys();
	test_secret();
	test_many();
	test_clock();
	return tap_done();
}
