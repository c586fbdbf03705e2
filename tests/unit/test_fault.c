/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_fault.c - which calls meet a fault: by number, by chance, by key, after something, for how long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/service.h"
#include "tests/lib/tap.h"

static struct world world;

static bool
load(unsigned long seed, const char *faults)
{
	static const uint64_t key[2] = { 1, 2 };
	char text[8192], error[512];
	int r;

	world_free(&world);
	snprintf(
		text, sizeof(text),
		"{\"run\":{\"id\":\"r\",\"seed\":%lu,\"start_ms\":0},\"limits\":{\"operations\":1000,\"state_bytes\":1000000},"
		"\"secrets\":{\"K\":\"secret-of-this-run\"},\"services\":["
		"{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"state\":{\"rows\":[]},\"routes\":[]},"
		"{\"name\":\"t\",\"kind\":\"http\",\"hosts\":[\"t.internal\"],\"state\":{},\"routes\":[]}],\"faults\":[%s]}",
		seed, faults);
	r = world_read(&world, text, strlen(text), key, error, sizeof(error));
	if (r < 0)
		printf("# %s\n", error);
	return r == 0;
}

static struct fault_verdict verdict;

/* The id of the fault that a call meets, "" none. */
static const char *
meet_at(const char *route, const char *key, uint64_t t_ms, unsigned now, unsigned later)
{
	struct arena arena;
	struct eval e = { .state = &world.services[0].state, .arena = &arena };
	struct fault_call call = { .service = &world.services[0],
				   .route = route,
				   .key = key,
				   .key_len = strlen(key),
				   .eval = &e,
				   .t_ms = t_ms };
	int r;

	arena_init(&arena, 1u << 20);
	fault_verdict_wipe(&verdict);
	fault_verdict_init(&verdict);
	r = faults_decide(&world.faults, &call, now, later, &verdict);
	arena_wipe(&arena);
	return r < 0 ? "failed" : verdict.hit == NULL ? "" : verdict.hit->id;
}

#define ALL (~0u)

static const char *
meet(const char *route, const char *key)
{
	return meet_at(route, key, 0, ALL, 0);
}

#define FAULT(id, more) \
	"{\"id\":\"" id "\",\"class\":\"timeout-after-write\",\"on\":{\"service\":\"s\",\"route\":\"a\"}," more "}"

/* Hits as a text of 0 and 1 over n calls with keys k0, k1, ... modulo keys. */
static void
pattern(char *out, int n, int keys)
{
	char key[16];

	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "k%d", i % keys);
		out[i] = meet("a", key)[0] != '\0' ? '1' : '0';
	}
	out[n] = '\0';
}

static void
numbers(void)
{
	char out[64];

	ok(load(1, FAULT("f", "\"call\":{\"nth\":2}")), "nth");
	pattern(out, 5, 5);
	is_str(out, "01000", "the second call");
	load(1, FAULT("f", "\"call\":{\"nth\":[1,4]}"));
	pattern(out, 5, 5);
	is_str(out, "10010", "the first and the fourth");
	load(1, FAULT("f", "\"call\":{\"first\":3}"));
	pattern(out, 5, 5);
	is_str(out, "11100", "the first three");
	load(1, FAULT("f", "\"call\":{\"every\":2}"));
	pattern(out, 5, 5);
	is_str(out, "01010", "every second");
	load(1, FAULT("f", "\"call\":{\"nth\":1,\"key\":\"str(seed)\"}"));
	pattern(out, 3, 3);
	is_str(out, "100", "by a key that all share");
	load(1, FAULT("f", "\"how\":{\"end\":\"rst\"}"));
	pattern(out, 3, 3);
	is_str(out, "100", "without call: the first");
	is_str(meet("b", "k"), "", "another route is not counted");
	ok(world.faults.list[0].end == FAULT_END_RST && world.faults.list[0].phase == FAULT_AFTER_EFFECT,
	   "the usual phase, and the end that was asked for");
}

#define CHANCE FAULT("f", "\"call\":{\"chance\":0.5}")

static void
draws(void)
{
	char one[128], again[128], other[128], key[16], by_key[64], backwards[64];
	int hits = 0;
	double value;

	ok(load(7, CHANCE), "chance");
	pattern(one, 100, 10);
	load(7, CHANCE);
	pattern(again, 100, 10);
	is_str(again, one, "the same seed, the same draws");
	load(8, CHANCE);
	pattern(other, 100, 10);
	ok(strcmp(one, other) != 0, "another seed, other draws");
	for (int i = 0; i < 100; i++)
		hits += one[i] == '1';
	ok(hits > 25 && hits < 75, "about half of them (%d of 100)", hits);
	load(7, CHANCE);
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		by_key[i] = meet("a", key)[0] != '\0' ? '1' : '0';
	}
	load(7, CHANCE);
	for (int i = 39; i >= 0; i--) {
		snprintf(key, sizeof(key), "k%d", i);
		backwards[i] = meet("a", key)[0] != '\0' ? '1' : '0';
	}
	ok(memcmp(by_key, backwards, 40) == 0, "the order in which keys arrive does not matter");
	load(7, FAULT("f", "\"call\":{\"chance\":0}"));
	is_str(meet("a", "k"), "", "chance 0 never");
	load(7, FAULT("f", "\"call\":{\"chance\":1}"));
	is_str(meet("a", "k"), "f", "chance 1 always");
	ok(verdict.drawn && verdict.draw >= 0 && verdict.draw < 1, "its draw is known");
	ok(buf_terminate(&verdict.draws) != NULL && strstr(verdict.draws.at, "\"fault\":\"f\"") != NULL &&
		   strstr(verdict.draws.at, "\"ordinal\":1,") != NULL && strchr(verdict.draws.at, '}') != NULL &&
		   strstr(verdict.draws.at, "},{") == NULL,
	   "one draw is recorded for one call");
	value = verdict.draw;
	load(7, FAULT("f", "\"call\":{\"chance\":1}"));
	meet("a", "x secret-of-this-run");
	value = verdict.draw;
	load(7, FAULT("f", "\"call\":{\"chance\":1}"));
	meet("a", "x {{secret.K}}");
	ok(verdict.draw == value, "a secret is hashed by its name");
}

static void
windows(void)
{
	char out[64];

	ok(load(1, FAULT("f", "\"call\":{\"nth\":2},\"lasts\":{\"calls\":2}")), "lasts");
	pattern(out, 6, 6);
	is_str(out, "011000", "two calls from the second on, once");
	load(1, FAULT("f", "\"lasts\":{\"ms\":100}"));
	is_str(meet_at("a", "k", 50, ALL, 0), "f", "opens");
	is_str(meet_at("a", "k", 149, ALL, 0), "f", "is open");
	is_str(meet_at("a", "k", 150, ALL, 0), "", "is over");
	is_str(meet_at("a", "k", 160, ALL, 0), "", "and does not come again");
	load(1, FAULT("f", "\"lasts\":\"to the end\""));
	pattern(out, 3, 3);
	is_str(out, "111", "to the end");
	load(1, FAULT("f", "\"lasts\":{\"until\":\"count(state.rows, 'a', 1) > 0\"}"));
	is_str(meet("a", "k"), "f", "until a row is there");
	load(1, FAULT("f", "\"call\":{\"after\":\"count(state.rows, 'a', 1) > 0\"}"));
	is_str(meet("a", "k"), "", "after a row is there");
}

static void
several(void)
{
	ok(load(1, FAULT("f", "\"call\":{\"nth\":1}") "," FAULT("g", "\"call\":{\"nth\":[1,2]}")), "two faults");
	is_str(meet("a", "k"), "f", "the first in the file applies");
	ok(verdict.passed_over.len == 3 && memcmp(verdict.passed_over.at, "\"g\"", 3) == 0, "the other is passed over");
	is_str(meet("a", "k"), "g", "its next one applies");
	load(1, FAULT("late", "\"call\":{\"nth\":1}") ",{\"id\":\"early\",\"class\":\"server-error\","
						      "\"on\":{\"service\":\"s\",\"route\":\"a\"}}");
	is_str(meet_at("a", "k", 0, FAULT_BIT(FAULT_BEFORE_EFFECT), FAULT_BIT(FAULT_AFTER_EFFECT)), "",
	       "a later phase that stands first goes before");
	ok(verdict.passed_over.len == 7 && memcmp(verdict.passed_over.at, "\"early\"", 7) == 0, "which is noted");
	is_str(meet_at("a", "k", 0, FAULT_BIT(FAULT_AFTER_EFFECT), 0), "late", "and is decided when it is come to");
	ok(faults_concern(&world.faults, &world.services[0], FAULT_BIT(FAULT_BEFORE_EFFECT)) &&
		   !faults_concern(&world.faults, &world.services[1], ALL),
	   "a service without faults has none");
}

static void
refused(void)
{
	static const char *const bad[] = {
		"{}",
		"{\"id\":\"f\",\"class\":\"blackhole\"}",
		"{\"id\":\"f\",\"class\":\"x\",\"on\":{\"service\":\"s\"}}",
		"{\"id\":\"f\",\"class\":\"blackhole\",\"on\":{\"service\":\"x\"}}",
		FAULT("f", "\"call\":{\"nth\":0}"),
		FAULT("f", "\"call\":{\"chance\":2}"),
		FAULT("f", "\"call\":{\"after\":\"count(\"}"),
		FAULT("f", "\"phase\":\"never\""),
		FAULT("f", "\"how\":{\"end\":\"bang\"}"),
		FAULT("f", "\"how\":{\"status\":99}"),
		FAULT("f", "\"how\":{\"slow\":{\"chunk_bytes\":0}}"),
		FAULT("f", "\"lasts\":{}"),
		FAULT("f", "\"lasts\":{\"calls\":1,\"ms\":1}"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!load(1, bad[i]), "refused: %s", bad[i]);
}

int
main(void)
{
	numbers();
	draws();
	windows();
	several();
	refused();
	fault_verdict_wipe(&verdict);
	world_free(&world);
	return tap_done();
}
