/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_seeds.c - seeds of a sweep, as options and in a world; the clock of a world. */
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/seeds.h"
#include "host/world_read.h"
#include "tests/lib/tap.h"

static void
test_parse(void)
{
	static const char *const wrong[] = { "",
					     "0",
					     "10001",
					     "x",
					     "-1",
					     "1..",
					     "..2",
					     "5..4",
					     "1...3",
					     "1..2x",
					     "1 ..2",
					     "+1",
					     "0x10",
					     "1.5",
					     "1..10001",
					     "9007199254740990..9007199254740992",
					     "99999999999999999999" };
	const char *problem;
	struct seeds s;
	size_t i;

	ok(seeds_parse("20", &s, &problem) == 0 && s.n == 20 && !s.absolute, "20 seeds");
	ok(seeds_parse("100..119", &s, &problem) == 0 && s.n == 20 && s.absolute && s.first == 100, "from 100 to 119");
	ok(seeds_parse("7..7", &s, &problem) == 0 && s.n == 1 && s.first == 7, "one");
	ok(seeds_parse("0..9999", &s, &problem) == 0 && s.n == 10000, "as many as there may be");
	ok(seeds_parse("9007199254740991..9007199254740991", &s, &problem) == 0 && s.first == SEED_MAX, "the last one");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(seeds_parse(wrong[i], &s, &problem) < 0 && problem[0], "refused: '%s'", wrong[i]);
}

static void
test_list(void)
{
	static const uint64_t some[] = { 1, 2, 3, 7, 9, 10 };
	char out[64], small[16];

	seeds_list(some, 6, out, sizeof(out));
	is_str(out, "1-3, 7, 9-10", "a list");
	seeds_list(some, 1, out, sizeof(out));
	is_str(out, "1", "of one");
	seeds_list(some, 0, out, sizeof(out));
	is_str(out, "", "of none");
	seeds_list(some, 6, small, 14);
	is_str(small, "1-3, 7, ...", "cut where it does not fit");
}

/* 0, or the first error's text in problem. */
static int
read_with(const char *member, struct world *w, struct diag *d)
{
	char text[1024];
	int r;

	memset(w, 0, sizeof(*w));
	memset(d, 0, sizeof(*d));
	snprintf(text, sizeof(text),
		 "{ \"agenttwin\": \"world/1\", \"name\": \"t\", \"files\": [ \"a.mjs\" ], %s,\n"
		 "  \"workflow\": { \"command\": [ \"node\", \"a.mjs\" ] },\n"
		 "  \"checks\": [ { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 } ] }",
		 member);
	w->text = strdup(text);
	w->text_len = strlen(text);
	r = world_read_text(w, d);
	if (r < 0 && !d->problem[0])
		abort();
	return r;
}

static void
refused(const char *member, const char *pointer)
{
	struct world w;
	struct diag d;
	int r = read_with(member, &w, &d);

	ok(r < 0 && d.fix[0], "refused: %s", member);
	is_str(d.pointer, pointer, "where it stands");
	world_wipe(&w);
}

static void
test_world(void)
{
	struct world w;
	struct diag d;

	is_int(read_with("\"sweep\": { \"seeds\": 20 }", &w, &d), 0, "a number of seeds");
	ok(w.sweep.n == 20 && !w.sweep.absolute && w.stop_on == STOP_NEVER, "20, to the end");
	world_wipe(&w);
	is_int(read_with("\"sweep\": { \"seeds\": \"5..9\", \"stop_on\": \"failed\" }", &w, &d), 0, "seeds from, to");
	ok(w.sweep.n == 5 && w.sweep.first == 5 && w.stop_on == STOP_FAILED, "five, until one fails");
	world_wipe(&w);
	refused("\"sweep\": { }", "/sweep");
	refused("\"sweep\": { \"seeds\": 0 }", "/sweep/seeds");
	refused("\"sweep\": { \"seeds\": 10001 }", "/sweep/seeds");
	refused("\"sweep\": { \"seeds\": 1.5 }", "/sweep/seeds");
	refused("\"sweep\": { \"seeds\": \"9..5\" }", "/sweep/seeds");
	refused("\"sweep\": { \"seeds\": [ 1 ] }", "/sweep/seeds");
	refused("\"sweep\": { \"seeds\": 5, \"stop_on\": \"passed\" }", "/sweep/stop_on");
	refused("\"sweep\": { \"seeds\": 5, \"jobs\": 2 }", "/sweep/jobs");

	is_int(read_with("\"clock\": { \"mode\": \"fixed\", \"start\": \"2026-01-31T12:00:00Z\" }", &w, &d), 0,
	       "a clock");
	ok(w.clock.mode == WORLD_CLOCK_FIXED && w.clock.start_ms == 1769860800000u, "that stands still");
	world_wipe(&w);
	is_int(read_with("\"clock\": { \"mode\": \"virtual\", \"start\": \"2024-02-29T00:00:00.250Z\" }", &w, &d), 0,
	       "a clock of calls, on a leap day");
	ok(w.clock.start_ms == 1709164800250u && w.clock.step_ms == 1000, "a second each");
	world_wipe(&w);
	is_int(read_with("\"clock\": { \"start\": 1000 }", &w, &d), 0, "a clock that runs from another time");
	ok(w.clock.mode == WORLD_CLOCK_REAL && w.clock.have_start && w.clock.start_ms == 1000, "in milliseconds");
	world_wipe(&w);
	refused("\"clock\": { \"mode\": \"fixed\" }", "/clock");
	refused("\"clock\": { \"mode\": \"virtual\" }", "/clock");
	refused("\"clock\": { \"mode\": \"stopped\", \"start\": 1 }", "/clock/mode");
	refused("\"clock\": { \"mode\": \"fixed\", \"start\": 1, \"step_ms\": 5 }", "/clock");
	refused("\"clock\": { \"mode\": \"virtual\", \"start\": 1, \"step_ms\": 0 }", "/clock/step_ms");
	refused("\"clock\": { \"start\": \"2026-02-31T12:00:00Z\" }", "/clock/start");
	refused("\"clock\": { \"start\": \"2026-01-31T24:00:01Z\" }", "/clock/start");
	refused("\"clock\": { \"start\": \"2026-01-31T12:00:00\" }", "/clock/start");
	refused("\"clock\": { \"start\": \"2026-01-31T12:00:00.5Z\" }", "/clock/start");
	refused("\"clock\": { \"start\": \"2026-01-31\" }", "/clock/start");
	refused("\"clock\": { \"start\": \"1969-12-31T23:59:59Z\" }", "/clock/start");
	refused("\"clock\": { \"start\": -1 }", "/clock/start");
	refused("\"clock\": 5", "/clock");
}

int
main(void)
{
	test_parse();
	test_list();
	test_world();
	return tap_done();
}
