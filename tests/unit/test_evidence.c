/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_evidence.c - the guest's JSON is JSON, says what the structs say, and fits, even when everything is full. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "guest/evidence.h"
#include "guest/run.h"
#include "tests/lib/tap.h"

static uint8_t paper[PAPER_SIZE + 1];
static struct fw_lock locks[2];
static struct fw_counters base[2];
static struct attempt attempts[ATTEMPTS_MAX];
static struct room room;

static bool
is_json(const struct writer *w, size_t skip)
{
	struct json_scan s;

	if (!w->failed && json_scan((const char *)w->at + skip, w->len - skip, 16, &s) == 0)
		return true;
	printf("# %s at %zu: %s\n", w->failed ? "did not fit" : "broken", w->failed ? w->len : s.offset,
	       w->failed ? "" : s.problem);
	return false;
}

static bool
has(const struct writer *w, const char *text)
{
	return memmem(w->at, w->len, text, strlen(text)) != NULL;
}

static void
fill(struct fw_lock *l, enum fw_lock_kind kind)
{
	struct fw_params *p = &l->params;

	memset(l, 0, sizeof(*l));
	p->lock = kind;
	p->family = FW_SPLIT;
	p->uid_workflow = 1000;
	p->uid_twins = 991;
	p->closed_len = FW_CLOSED_MAX;
	p->own_len = FW_OWN_MAX;
	p->pinned_len = FW_PINNED_MAX;
	for (unsigned i = 0; i < FW_CLOSED_MAX; i++)
		p->closed[i] = (struct fw_closed){ i & 1 ? 17 : 6, (uint16_t)(65000 + i) };
	for (unsigned i = 0; i < FW_OWN_MAX; i++)
		p->own[i] = (struct fw_address){ 6, { 0xfd, 0xff, 0xff, (uint8_t)i, [15] = 0xff } };
	for (unsigned i = 0; i < FW_PINNED_MAX; i++)
		p->pinned[i] = (struct fw_pinned){ p->own[i], 65535 };
	l->interfaces_len = FW_INTERFACES_MAX;
	for (unsigned i = 0; i < FW_INTERFACES_MAX; i++)
		memcpy(l->interfaces[i].name, "\"\\\n\xff\x1b[31m\0abcdefg", 16);
	for (unsigned phase = 0; phase < 2; phase++) {
		l->probes_len[phase] = FW_PROBES_MAX;
		for (unsigned i = 0; i < FW_PROBES_MAX; i++) {
			l->probes[phase][i] = (struct fw_probe){
				.verdict = FW_ABSENT, .packets = UINT32_MAX, .denied = UINT32_MAX, .err = 111
			};
			memset(l->probes[phase][i].what, 'w', sizeof(l->probes[phase][i].what) - 1);
		}
	}
	l->denied_len = FW_DENIED_MAX;
	for (unsigned i = 0; i < FW_DENIED_MAX; i++)
		l->denied[i] = (struct fw_denied_row){ .family = 6,
						       .protocol = (uint8_t)i,
						       .port = 65535,
						       .uid = i ? 4000000000u : UINT32_MAX,
						       .count = UINT64_MAX / 4096,
						       .first_ms = UINT64_MAX,
						       .last_ms = UINT64_MAX,
						       .destination = { 6,
									{ 0x20, 1, 0xd, 0xb8, 0xff, 0xff, 0xff, 0xff,
									  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
									  0xff } } };
}

static void
test_full(void)
{
	struct fw_failure f = { .step = "prove", .err = 1, .text = "quote \" and \x01" };
	struct evidence e = { .phase = 1,
			      .sandbox = true,
			      .room = &room,
			      .locks = locks,
			      .locks_len = 2,
			      .uid = 1000,
			      .gid = 1000,
			      .attempts = attempts,
			      .attempts_len = ATTEMPTS_MAX,
			      .failure = &f };
	struct writer w;

	fill(&locks[0], FW_OUTER);
	fill(&locks[1], FW_INNER);
	for (unsigned i = 0; i < ATTEMPTS_MAX; i++)
		attempts[i] = (struct attempt){ "socket AF_PACKET", true, 97 };
	room.exists = true;
	for (e.phase = 1; e.phase <= 3; e.phase++) {
		writer_init(&w, paper, PAPER_SIZE);
		evidence_firewall(&w, &e);
		ok(w.len > 1 && paper[0] == e.phase && is_json(&w, 1), "FIREWALL %u, everything full: %zu bytes",
		   e.phase, w.len);
	}
	ok(has(&w, "\"failure\":{\"step\":\"prove\",\"errno\":\"EPERM\""), "the failure is named");
	writer_init(&w, paper, PAPER_SIZE);
	evidence_denied(&w, locks, base, 2);
	ok(is_json(&w, 0), "DENIED, everything full: %zu bytes", w.len);
}

static void
test_plain(void)
{
	struct evidence e = { .phase = 1, .room = &room, .locks = locks, .uid = 1000, .gid = 1000 };
	uint8_t digest[32] = { 0xab };
	struct writer w;

	room = (struct room){ .reason = "local: not a sandbox" };
	writer_init(&w, paper, PAPER_SIZE);
	evidence_firewall(&w, &e);
	ok(is_json(&w, 1), "local");
	ok(has(&w, "\"mode\":\"local\"") && has(&w, "\"locks\":[]") && has(&w, "\"failure\":null"),
	   "no lock is claimed");
	writer_init(&w, paper, PAPER_SIZE);
	evidence_hello(&w, 1, digest);
	ok(is_json(&w, 0) && has(&w, "\"version\":1") && has(&w, "\"sha256\":\"ab00"), "HELLO");
	is_int(evidence_self(digest), 0, "digest of this program");
}

static void
test_denied_counts(void)
{
	struct writer w;

	memset(locks, 0, sizeof(locks));
	locks[0].params = (struct fw_params){ .lock = FW_OUTER, .uid_workflow = 1000, .uid_twins = 991 };
	locks[1].params = (struct fw_params){ .lock = FW_INNER, .uid_workflow = 1000, .uid_twins = 991 };
	base[0].workflow = 40; /* the probes' own */
	locks[0].counters = (struct fw_counters){ .workflow = 40, .others = 3 };
	base[1].workflow = 41;
	locks[1].counters = (struct fw_counters){ .workflow = 46, .kernel = 9, .postrouting = 1, .forward = 2 };
	locks[1].denied_len = 1;
	locks[1].denied[0] = (struct fw_denied_row){ .family = 4,
						     .protocol = 6,
						     .destination = { 4, { 203, 0, 113, 9 } },
						     .port = 443,
						     .uid = 1000,
						     .count = 4,
						     .first_ms = 1,
						     .last_ms = 2 };
	writer_init(&w, paper, PAPER_SIZE);
	evidence_denied(&w, locks, base, 2);
	ok(is_json(&w, 0), "DENIED");
	ok(has(&w,
	       "\"total\":{\"workflow\":5,\"twins\":0,\"others\":3,\"kernel\":9,\"postrouting\":1,\"closed\":0,\"forward\":2}"),
	   "probes are taken off");
	ok(has(&w, "\"recorded\":4,\"unrecorded\":7"), "what has no record is counted");
	ok(has(&w, "\"destination\":\"203.0.113.9\",\"port\":443,\"uid\":1000,\"owner\":\"workflow\",\"count\":4"),
	   "a row");
}

int
main(void)
{
	test_full();
	test_plain();
	test_denied_counts();
	return tap_done();
}
