/* SPDX-License-Identifier: GPL-2.0-or-later
 * run.h - one run, as the files of the monitor share it: intake (frames of the host), arm (boundary and services before the
 * start), monitor (the loop), finish (the end).  Private to them. */
#ifndef GUEST_RUN_H
#define GUEST_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "firewall/fw.h"
#include "guest/attempt.h"
#include "guest/bundle.h"
#include "guest/filter.h"
#include "guest/outbox.h"
#include "guest/reaper.h"
#include "guest/relay.h"
#include "guest/room.h"
#include "guest/services.h"
#include "guest/tail.h"
#include "proto/frame.h"
#include "proto/plan.h"

enum run_phase {
	RUN_BUNDLE,  /* frames up to COMMIT */
	RUN_SERVING, /* the boundary stands; waiting for the twins */
	RUN_START,   /* waiting for the host's START */
	RUN_RUNNING,
	RUN_GRACE,   /* SIGTERM was sent; SIGKILL follows */
	RUN_DRAIN,   /* the workflow's own process ended; others may still */
	RUN_KILLING, /* until nothing of the run lives */
	RUN_FLUSH,   /* the rest of the output */
	RUN_FINISH,  /* the twins' final state */
	RUN_CLOSE,   /* verification, END */
};

#define SERVING_WAIT_MS 30000u /* twins: from fork to serving, with 8 MiB of configuration */
#define START_WAIT_MS 60000u   /* the host's verdict about FIREWALL(opening) */
#define KILL_WAIT_MS 15000u    /* everything of the run dead */
#define FINISH_WAIT_MS 20000u  /* final state: without any record for so long ... */
#define FINISH_MOST_MS 180000u /* ... or in all, however slowly the host reads */
#define DENIED_EVERY_MS 500u
#define HOLD_MS 100u          /* longest sleep of the loop: output files without notifications */
#define PAPER_SIZE (1u << 20) /* JSON of FIREWALL and DENIED */

struct run {
	/* the stream */
	bool live;                   /* false: a bundle file */
	int in, out, signals, watch; /* -1 none */
	bool in_closed, hello_sent, committed, started;
	struct frame_receiver receiver;
	struct outbox outbox;
	uint64_t ping_counter;
	/* the plan */
	unsigned sections; /* of RUN, that are complete; they come in order */
	uint8_t section;   /* the open one */
	struct plan_exec exec;
	struct plan_policy policy;
	uint8_t gate[32];
	size_t exec_len, policy_len, gate_len, twins_len;
	uint8_t exec_buf[PLAN_EXEC_MAX], policy_buf[PLAN_POLICY_MAX], gate_buf[64], twins_buf[TWINS_JSON_MAX + 1];
	struct bundle bundle;
	uint32_t files;
	uint64_t bytes;
	/* the boundary */
	bool sandbox, af_unix, unix_is_clean;
	bool armed; /* FIREWALL(opening) was sent without a failure */
	uint8_t self[32], policy_digest[32];
	struct room room;
	struct fw_lock locks[2];
	struct fw_counters base[2];
	unsigned locks_len; /* installed and proved */
	struct attempt attempts[ATTEMPTS_MAX];
	unsigned attempts_len;
	struct filter_program filter, filter_twins;
	/* the processes */
	struct services services;
	struct relay relay;
	pid_t workflow, twins; /* 0 none or reaped */
	bool spawned, authority_written;
	char twins_end[32]; /* "signal 9", "status 1"; "" lives, or ended well */
	struct reaper reaper;
	struct tail output, errors; /* stdout, stderr */
	bool ready;                 /* READY was sent */
	/* clock, milliseconds of CLOCK_MONOTONIC; 0 off */
	enum run_phase phase;
	uint64_t now, spawned_ms, heard_ms, pong_ms, moved_ms, denied_ms, progress_ms, phase_deadline;
	uint64_t progress; /* of the outbox, when it last moved */
	uint64_t spawned_us;
	/* the outcome */
	struct plan_exit exit;
	uint8_t ended_by, result;
	bool failed, fail_sent, cancelled, denied_dirty;
	char fail_step[48], fail_errno[16], fail_text[400];
	struct fw_failure fw_failure;
	uint8_t paper[PAPER_SIZE];
};

/* Milliseconds and microseconds of CLOCK_MONOTONIC. */
uint64_t run_clock_ms(void);
uint64_t run_clock_us(void);
/* Records the first failure and begins the end: kills what lives.  err is positive or 0. */
void run_fail(struct run *r, uint8_t result, const char *step, int err, const char *text) __attribute__((nonnull));
/* The same for a lock. */
void run_fail_lock(struct run *r) __attribute__((nonnull));
/* The guest ends the workflow: with a signal to finish first, or at once. */
void run_stop(struct run *r, uint8_t ended_by, bool at_once) __attribute__((nonnull));
void run_log(struct run *r, uint8_t level, const char *text) __attribute__((nonnull));

/* intake: reads what the host sent and acts on it; failures go through run_fail.  Takes at most a few frames a call. */
void intake_read(struct run *r) __attribute__((nonnull));

/* arm: everything between COMMIT and START.  0, or -1 after run_fail. */
int arm_boundary(struct run *r) __attribute__((warn_unused_result, nonnull));
int arm_services(struct run *r) __attribute__((warn_unused_result, nonnull));
/* How a child becomes the workflow for a proof; arg: struct arm_enter. */
struct arm_enter {
	const struct run *run;
	int net; /* network namespace to enter, -1 stay */
};
int arm_enter(void *arg) __attribute__((nonnull));
/* Sends FIREWALL of a phase; failure NULL none. */
void arm_report(struct run *r, unsigned phase, const struct fw_failure *failure) __attribute__((nonnull(1)));
/* Writes the authority's certificate once the twins have sent it.  0, or -1 after run_fail. */
int arm_authority(struct run *r) __attribute__((nonnull));
/* Starts the workflow; a failed start is an outcome, not a failure of the guest. */
void arm_spawn(struct run *r) __attribute__((nonnull));

/* finish */
void finish_denied(struct run *r, bool last) __attribute__((nonnull));
/* Sends output that has come, as far as the host takes it.  True when both streams are read to their end. */
bool finish_output(struct run *r) __attribute__((nonnull));
/* TRUNCATED of the streams, EXIT. */
void finish_exit(struct run *r) __attribute__((nonnull));
/* Closing verification, FAIL if there is one, END; waits until it has left.  Returns the program's exit status. */
int finish_close(struct run *r) __attribute__((nonnull));

#endif
