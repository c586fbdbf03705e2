/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_run.c - the status table, every row, and the machine: every state met by everything that can go wrong. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/run.h"
#include "proto/limits.h"
#include "proto/plan.h"
#include "tests/lib/tap.h"

/* All combinations of what a run can have, against the table written down once more, differently. */
static void
table(void)
{
	unsigned bits, bad = 0, passed = 0;
	size_t not_held;

	for (bits = 0; bits < 1u << 10; bits++)
		for (not_held = 0; not_held < 3; not_held++) {
			struct run_facts f = { .sandbox = bits & 1,
					       .opening = bits & 2,
					       .closing = bits & 4,
					       .started = bits & 8,
					       .exited = bits & 16,
					       .ended = bits & 32,
					       .whole = bits & 32,
					       .signal = bits & 1 ? SIGINT : SIGTERM };
			struct run_verdict v;
			int want;

			f.cause[CAUSE_FIREWALL] = bits & 64;
			f.cause[CAUSE_SIGNAL] = bits & 128;
			f.cause[CAUSE_TIMEOUT] = bits & 256;
			f.cause[CAUSE_ERROR] = bits & 512;
			run_verdict(&f, 5, not_held, NULL, &v);
			if (bits & 64)
				want = 3;
			else if (bits & 128)
				want = bits & 1 ? 130 : 143;
			else if (bits & 256)
				want = 5;
			else if ((bits & 512) || (bits & 56) != 56 || ((bits & 1) && (bits & 6) != 6))
				want = 4;
			else
				want = not_held ? 1 : 0;
			bad += v.exit_code != want;
			passed += v.status == STATUS_PASSED;
			bad += (v.status == STATUS_PASSED) != (v.exit_code == 0);
		}
	is_int(bad, 0, "every combination of facts gives the exit code of the table");
	is_int(passed, 5, "passed: sandboxed with both verifications once, local with any of the four");
}

static void
rows(void)
{
	static const struct {
		enum run_cause first, second;
		const char *status;
	} order[] = {
		{ CAUSE_FIREWALL, CAUSE_SIGNAL, "aborted" }, { CAUSE_FIREWALL, CAUSE_TIMEOUT, "aborted" },
		{ CAUSE_FIREWALL, CAUSE_ERROR, "aborted" },  { CAUSE_SIGNAL, CAUSE_TIMEOUT, "cancelled" },
		{ CAUSE_SIGNAL, CAUSE_ERROR, "cancelled" },  { CAUSE_TIMEOUT, CAUSE_ERROR, "timeout" },
	};
	struct run_facts whole = { .sandbox = true,
				   .opening = true,
				   .closing = true,
				   .started = true,
				   .exited = true,
				   .ended = true,
				   .whole = true };
	struct run_verdict v;
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct run_facts f = whole;

		f.cause[order[i].first] = f.cause[order[i].second] = true;
		f.signal = SIGINT;
		run_verdict(&f, 3, 0, NULL, &v);
		is_str(run_status_name(v.status), order[i].status, "precedence");
	}
	run_verdict(&whole, 0, 0, NULL, &v);
	is_int(v.exit_code, 4, "a run without any check is not passed");
	run_verdict(&whole, 3, 0, NULL, &v);
	is_int(v.exit_code, 0, "all there: passed");
	whole.whole = false;
	run_verdict(&whole, 3, 0, NULL, &v);
	is_int(v.exit_code, 4, "not whole: error");
	whole.whole = true;
	whole.closing = false;
	run_verdict(&whole, 3, 3, NULL, &v);
	is_int(v.exit_code, 4, "no closing verification: error, not failed");
}

static const struct run_event good[] = {
	{ .kind = RUN_EV_STARTED },
	{ .kind = RUN_EV_HELLO, .ok = true },
	{ .kind = RUN_EV_SENT },
	{ .kind = RUN_EV_OPENING, .ok = true },
	{ .kind = RUN_EV_READY },
	{ .kind = RUN_EV_EXIT, .ok = true, .value = ENDED_ITSELF },
	{ .kind = RUN_EV_CLOSING, .ok = true },
	{ .kind = RUN_EV_END, .ok = true, .value = END_OK },
	{ .kind = RUN_EV_EOF },
};
#define GOOD (sizeof(good) / sizeof(good[0]))

static int
verdict(const struct run *r)
{
	struct run_verdict v;

	run_verdict(&r->facts, 4, 0, NULL, &v);
	return v.exit_code;
}

/* Plays the good events, but at place `at` the bad one instead of or before it; then goes on with the rest and time. */
static int
play(size_t at, const struct run_event *bad, bool replace, uint64_t wait_ms, bool sandbox)
{
	struct run_event tick = { .kind = RUN_EV_TICK };
	uint64_t now = 1000;
	struct run r;
	size_t i;

	run_init(&r, sandbox, now);
	for (i = 0; i < GOOD; i++) {
		if (!sandbox && (good[i].kind == RUN_EV_OPENING || good[i].kind == RUN_EV_CLOSING))
			continue;
		if (i == at) {
			now += wait_ms;
			if (bad)
				run_step(&r, bad, now);
			else
				run_step(&r, &tick, now);
			if (replace)
				continue;
		}
		run_step(&r, &good[i], ++now);
	}
	for (i = 0; i < 200 && r.state != RUN_OVER; i++) {
		now = run_next_ms(&r) + 1;
		run_step(&r, &tick, now);
	}
	return r.state == RUN_OVER ? verdict(&r) : -1;
}

static void
machine(void)
{
	static const struct {
		const char *name;
		struct run_event event;
		int want; /* at most places */
	} bad[] = {
		{ "SIGINT", { .kind = RUN_EV_SIGNAL, .value = SIGINT }, 130 },
		{ "SIGTERM", { .kind = RUN_EV_SIGNAL, .value = SIGTERM }, 143 },
		{ "SIGHUP", { .kind = RUN_EV_SIGNAL, .value = SIGHUP }, 143 },
		{ "end of stream", { .kind = RUN_EV_EOF }, 4 },
		{ "garbage", { .kind = RUN_EV_BAD, .why = "guest sent garbage" }, 4 },
		{ "FAIL", { .kind = RUN_EV_FAIL, .ok = false }, 4 },
		{ "FAIL of the firewall", { .kind = RUN_EV_FAIL, .ok = true }, 3 },
		{ "FIREWALL(changed)", { .kind = RUN_EV_CHANGED }, 3 },
		{ "opening refused", { .kind = RUN_EV_OPENING, .ok = false }, 3 },
		{ "closing refused", { .kind = RUN_EV_CLOSING, .ok = false }, 3 },
		{ "END not whole", { .kind = RUN_EV_END, .ok = false, .value = END_OK }, 4 },
		{ "END failed", { .kind = RUN_EV_END, .ok = true, .value = END_FAILED }, 4 },
		{ "END firewall", { .kind = RUN_EV_END, .ok = true, .value = END_FIREWALL }, 3 },
		{ "END timeout", { .kind = RUN_EV_END, .ok = true, .value = END_TIMEOUT }, 5 },
		{ "END cancelled", { .kind = RUN_EV_END, .ok = true, .value = END_CANCELLED }, 4 },
	};
	size_t i, at, wrong;
	int got;

	is_int(play(GOOD, NULL, false, 0, true), 0, "nothing wrong, sandboxed: 0");
	is_int(play(GOOD, NULL, false, 0, false), 0, "nothing wrong, local: 0");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (wrong = 0, at = 0; at < GOOD; at++) {
			if (at == GOOD - 1 && bad[i].event.kind == RUN_EV_EOF)
				continue; /* that is where it belongs */
			got = play(at, &bad[i].event, false, 0, true);
			if (!ok(got == bad[i].want, "%s before event %zu: exit %d", bad[i].name, at, bad[i].want))
				printf("# got %d\n", got);
			got = play(at, &bad[i].event, true, 0, true);
			wrong += got == 0 || got == 1 || got == -1;
			if (at == GOOD - 1)
				is_int((long long)wrong, 0, bad[i].name);
		}
}

/* Each good event left out, each twice, each pair swapped: never passed. */
static void
disorder(void)
{
	struct run_event nothing = { .kind = RUN_EV_HEARD };
	unsigned passed = 0, stuck = 0;
	uint64_t now;
	struct run r;
	size_t i, k, m;
	int got;

	for (i = 0; i < GOOD; i++) {
		got = play(i, &nothing, true, 0, true);
		passed += got == 0 || got == 1;
		stuck += got == -1;
	}
	is_int(passed, 0, "an event left out is never passed or failed");
	is_int(stuck, 0, "and always comes to an end");
	for (passed = 0, i = 0; i < GOOD - 1; i++) {
		got = play(i, &good[i], false, 0, true); /* twice */
		passed += got == 0;
	}
	is_int(passed, 0, "an event twice is never passed");
	for (passed = 0, i = 0; i < GOOD; i++)
		for (k = i + 1; k < GOOD; k++) {
			run_init(&r, true, now = 1);
			for (m = 0; m < GOOD; m++)
				run_step(&r, &good[m == i ? k : m == k ? i : m], ++now);
			passed += r.state == RUN_OVER && verdict(&r) == 0;
		}
	is_int(passed, 0, "two events swapped are never passed");
}

static void
deadlines(void)
{
	static const int want[] = { 4, 4, 4, 4, 5, 5, 4, 4, 4 };
	size_t at;
	int got;

	for (at = 0; at < GOOD; at++) {
		got = play(at, NULL, true, 1000ull * 1000, true);
		if (!ok(got == want[at], "silence instead of event %zu: exit %d", at, want[at]))
			printf("# got %d\n", got);
	}
}

static void
running(struct run *r, uint64_t now)
{
	size_t i;

	run_init(r, true, now);
	for (i = 0; i < 5; i++)
		run_step(r, &good[i], now);
}

static void
actions(void)
{
	struct run_event tick = { .kind = RUN_EV_TICK }, sig = { .kind = RUN_EV_SIGNAL, .value = SIGINT };
	struct run_event exit = { .kind = RUN_EV_EXIT, .ok = true, .value = ENDED_CANCEL },
			 heard = { .kind = RUN_EV_HEARD };
	struct run_event end = { .kind = RUN_EV_END, .ok = true, .value = END_CANCELLED }, eof = { .kind = RUN_EV_EOF };
	struct run r;

	run_init(&r, true, 0);
	run_step(&r, &good[0], 0);
	is_int(run_step(&r, &good[1], 0), RUN_DO_BUNDLE, "HELLO: the bundle is sent");
	is_int(run_step(&r, &good[2], 0) & RUN_DO_START, 0, "the bundle's end does not start a sandboxed workflow");
	is_int(run_step(&r, &good[3], 0), RUN_DO_START, "an accepted opening does");
	run_init(&r, false, 0);
	run_step(&r, &good[0], 0);
	run_step(&r, &good[1], 0);
	is_int(run_step(&r, &good[2], 0) & RUN_DO_START, RUN_DO_START, "local starts after the bundle");
	running(&r, 0);
	is_int(run_step(&r, &tick, PING_INTERVAL_MS), RUN_DO_PING, "PING after five seconds");
	is_int(run_step(&r, &sig, 6000), RUN_DO_CANCEL_SIGNAL, "a signal asks the guest to end");
	is_int(run_step(&r, &exit, 6500), 0, "its exit is waited for");
	is_int(run_step(&r, &good[6], 6600), 0, "and the closing verification");
	is_int(run_step(&r, &end, 6700), 0, "END is not yet the end");
	is_int(run_step(&r, &eof, 6800), RUN_DO_DESTROY, "then destroy");
	is_int(verdict(&r), 130, "cancelled");
	running(&r, 0);
	run_step(&r, &sig, 10);
	is_int(run_step(&r, &sig, 20), RUN_DO_DESTROY, "a second signal destroys at once");
	run_init(&r, true, 0);
	is_int(run_step(&r, &sig, 0), RUN_DO_DESTROY, "a signal before anything runs destroys at once");
	running(&r, 0);
	run_step(&r, &heard, 29000);
	run_step(&r, &tick, 31000);
	ok(r.state == RUN_RUNNING, "a frame within thirty seconds keeps the run");
	is_int(run_step(&r, &tick, 59001), RUN_DO_DESTROY, "thirty seconds of silence end it");
	is_int(verdict(&r), 4, "as an error");
	running(&r, 0);
	r.idle_ms = 1000;
	is_int(run_step(&r, &tick, 1000 + RUN_MARGIN_MS), RUN_DO_CANCEL_DEADLINE, "idle_ms");
	is_int(verdict(&r), 5, "is a timeout");
	ok(strcmp(r.facts.why[CAUSE_TIMEOUT], "nothing happened for 1 s (limits.idle_ms; the host's clock)") == 0,
	   "and says how long: %s", r.facts.why[CAUSE_TIMEOUT]);
	running(&r, 0);
	r.run_ms = 1500;
	r.run_ms_given = true;
	exit.value = ENDED_RUN_DEADLINE;
	run_step(&r, &exit, 1);
	ok(strcmp(r.facts.why[CAUSE_TIMEOUT], "the workflow did not end within 1500 ms (--timeout)") == 0,
	   "--timeout is named: %s", r.facts.why[CAUSE_TIMEOUT]);
	running(&r, 0);
	exit.value = ENDED_CANCEL;
	run_step(&r, &exit, 1);
	ok(r.facts.cause[CAUSE_ERROR], "cancelled though nobody asked: error");
	running(&r, 0);
	exit.value = ENDED_WORLD;
	run_step(&r, &exit, 1);
	ok(r.facts.cause[CAUSE_ERROR], "ended by a world that does not say so: error");
	running(&r, 0);
	r.world_ends = true;
	run_step(&r, &exit, 1);
	ok(!r.facts.cause[CAUSE_ERROR] && r.facts.exited, "ended as the world says: an end like any other");
	running(&r, 0);
	r.state = RUN_START;
	r.waits_ready = true;
	exit.value = ENDED_ITSELF;
	run_step(&r, &exit, 1);
	ok(strstr(r.facts.why[CAUSE_ERROR], "ended before it was ready") != NULL, "an exit before READY: %s",
	   r.facts.why[CAUSE_ERROR]);
	running(&r, 0);
	r.state = RUN_START;
	r.waits_ready = true;
	r.start_ms = 700;
	exit.value = ENDED_START_DEADLINE;
	run_step(&r, &exit, 1);
	ok(!r.facts.cause[CAUSE_ERROR] && strstr(r.facts.why[CAUSE_TIMEOUT], "not ready within 700 ms"),
	   "never ready: %s", r.facts.why[CAUSE_TIMEOUT]);
}

int
main(void)
{
	table();
	rows();
	machine();
	disorder();
	deadlines();
	actions();
	return tap_done();
}
