/* SPDX-License-Identifier: GPL-2.0-or-later
 * drive.h - the world's `workflow` while it runs: when it is ready, what triggers it, when it ends.  The monitor only starts,
 * signals and kills; what it is to do, and when, is decided here. */
#ifndef GUEST_DRIVE_H
#define GUEST_DRIVE_H
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/call.h"
#include "guest/events.h"

struct http_core;
struct records;

#define DRIVE_POLLS_MAX (1u + EVENTS_FLYING_MAX)
#define DRIVE_LINE_MAX 4096u /* bytes of a line of stdout that are looked at */

enum drive_phase { DRIVE_BEFORE, DRIVE_STARTING, DRIVE_RUNNING, DRIVE_SETTLING, DRIVE_ENDED };
struct drive {
	struct http_core *core;  /* borrowed */
	struct records *records; /* borrowed: to the monitor */
	struct events events;
	enum drive_phase phase;
	/* ready */
	struct call probe;
	bool probing;
	uint64_t probe_ms; /* the next one */
	char line[DRIVE_LINE_MAX];
	size_t line_len;
	uint64_t ready_ms;
	/* triggers */
	size_t next;         /* index of the one that runs, or is the next */
	struct event *event; /* of the one that runs; NULL none */
	uint64_t done_ms;    /* when the one before was over */
	/* conditions over the state */
	uint64_t changes; /* of the core, when they were last looked at */
	bool looked, after_holds;
	uint64_t settled_ms; /* when the end is due */
	int failed;          /* -ENOMEM, -E2BIG, -EPIPE; sticks */
};
void drive_init(struct drive *d, struct http_core *core, struct records *records) __attribute__((nonnull));
void drive_wipe(struct drive *d) __attribute__((nonnull));
void drive_started(struct drive *d, uint64_t now) __attribute__((nonnull)); /* RECORD_STARTED */
void drive_output(struct drive *d, const char *data, size_t len, uint64_t now)
	__attribute__((nonnull)); /* RECORD_OUTPUT */
/* As events_polls, events_serve, events_patience, for all of it. */
size_t drive_polls(const struct drive *d, struct pollfd *p) __attribute__((nonnull));
void drive_serve(struct drive *d, const struct pollfd *polls, size_t len, uint64_t now) __attribute__((nonnull(1)));
int drive_patience(const struct drive *d, uint64_t now) __attribute__((nonnull));
void drive_finish(struct drive *d, uint64_t now) __attribute__((nonnull)); /* the workflow is dead */

#endif
