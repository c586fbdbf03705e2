/* SPDX-License-Identifier: GPL-2.0-or-later
 * run.h - the run as a state machine: (state, event, now) -> (state, actions), and the status table.  Pure: no sockets, no
 * clocks, no memory of its own.  Time is milliseconds of any monotonic clock. */
#ifndef HOST_RUN_H
#define HOST_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One deadline a phase; a missed one ends the run. */
#define RUN_PROVISION_MS 60000u
#define RUN_HELLO_MS 10000u
#define RUN_BUNDLE_MS 120000u /* and 1 ms for each 20 KiB of the bundle */
#define RUN_FIREWALL_MS 20000u
#define RUN_CLOSING_MS 20000u /* EXIT to END */
#define RUN_MARGIN_MS 5000u   /* the guest enforces its own deadlines; the host's come later by this */
#define RUN_EOF_MS 10000u     /* END to the end of the stream */
#define RUN_CANCEL_MS 5000u   /* CANCEL to END, besides the world's grace */
#define RUN_DESTROY_MS 45000u /* destroy that hangs is given up: cleanup unconfirmed */

enum run_state {
	RUN_PROVISION,
	RUN_HELLO,
	RUN_BUNDLE,
	RUN_FIREWALL,
	RUN_START,
	RUN_RUNNING,
	RUN_CLOSING,
	RUN_CANCELLING,
	RUN_ENDED, /* END came; nothing but the end of the stream may follow */
	RUN_OVER,
};
const char *run_state_name(enum run_state s) __attribute__((returns_nonnull));

enum run_event_kind {
	RUN_EV_STARTED, /* the backend runs the guest */
	RUN_EV_HELLO,   /* the guest's HELLO, and it is the guest we sent */
	RUN_EV_SENT,    /* COMMIT is written */
	RUN_EV_OPENING, /* ok: the gate accepted FIREWALL(opening) */
	RUN_EV_READY,
	RUN_EV_EXIT,    /* value: enum exit_ended_by; ok: the program ran */
	RUN_EV_CLOSING, /* ok: the gate accepted FIREWALL(closing) */
	RUN_EV_CHANGED, /* FIREWALL(changed) */
	RUN_EV_FAIL,    /* ok: a step of the firewall failed */
	RUN_EV_END,     /* value: enum end_result; ok: chain, counts, digests and states agree */
	RUN_EV_HEARD,   /* any frame came */
	RUN_EV_BAD,     /* garbage, out of order, a record that lies; or the host's own trouble */
	RUN_EV_EOF,     /* the stream ended, which is right only after END */
	RUN_EV_SIGNAL,  /* value: signal number */
	RUN_EV_TICK,
};
struct run_event {
	enum run_event_kind kind;
	bool ok;
	int value;
	const char *why; /* one sentence for the receipt, or NULL; copied */
};

enum run_cause {
	CAUSE_FIREWALL,
	CAUSE_SIGNAL,
	CAUSE_TIMEOUT,
	CAUSE_ERROR,
	CAUSE_COUNT
}; /* rows 1 to 4 of the status table */
struct run_facts {
	bool sandbox; /* false: local, where no boundary exists and none is asked for */
	bool cause[CAUSE_COUNT];
	char why[CAUSE_COUNT][320]; /* of the first of each cause */
	int signal;                 /* of CAUSE_SIGNAL */
	bool opening, closing;      /* verified by the gate */
	bool started, exited, ended, whole;
};

enum run_action {                    /* bits */
		  RUN_DO_BUNDLE = 1, /* write the plan and the files */
		  RUN_DO_START = 2,
		  RUN_DO_PING = 4,
		  RUN_DO_CANCEL_SIGNAL = 8,
		  RUN_DO_CANCEL_DEADLINE = 16,
		  RUN_DO_CANCEL_ERROR = 32,
		  RUN_DO_DESTROY = 64, /* the stream is done with: destroy, evaluate, write the receipt */
};
struct run {
	enum run_state state;
	struct run_facts facts;
	uint64_t deadline_ms; /* of this state */
	uint64_t heard_ms, ping_ms;
	uint64_t run_ms, start_ms, grace_ms, idle_ms; /* the world's */
	uint64_t bundle_ms;                           /* RUN_BUNDLE_MS and what the size adds */
	uint64_t active_ms;                           /* last frame that was not PONG or LOG */
	bool sent;                                    /* COMMIT is written: PING may be sent */
	bool world_ends;                              /* workflow.ends is not the workflow's own exit */
	bool waits_ready;                             /* READY comes when the workflow is ready, not when it starts */
	bool run_ms_given;                            /* run_ms is --timeout's, not the world's */
	unsigned signals;
};
void run_init(struct run *r, bool sandbox, uint64_t now_ms) __attribute__((nonnull));
/* Takes one event; returns the actions (bits of enum run_action).  After RUN_OVER every event but a signal is ignored. */
unsigned run_step(struct run *r, const struct run_event *e, uint64_t now_ms) __attribute__((nonnull));
/* The next moment at which RUN_EV_TICK must be given. */
uint64_t run_next_ms(const struct run *r) __attribute__((nonnull));

/* What the outcomes of the world came to. */
struct run_outcome {
	size_t matched, unknown; /* how many match; how many nobody can tell of */
	bool passed;             /* the verdict of the one that matches; of more nothing is meant by it */
	char text[300];          /* their ids, or the nearest one: what the sentence of the verdict says of them */
};
enum run_status { STATUS_PASSED, STATUS_FAILED, STATUS_ABORTED, STATUS_CANCELLED, STATUS_TIMEOUT, STATUS_ERROR };
struct run_verdict {
	enum run_status status;
	int exit_code; /* 0 1 3 130/143 5 4 */
	char why[400]; /* one sentence */
};
const char *run_status_name(enum run_status s) __attribute__((returns_nonnull));
/* The first four rows of the status table do not apply, and the record is whole: checks and outcomes decide. */
bool run_is_judged(const struct run_facts *f) __attribute__((nonnull));
/* The status table.  checks: required checks in all; not_held: those that did not hold or could not be judged; outcome: NULL
 * in a world without any. */
void run_verdict(const struct run_facts *f, size_t checks, size_t not_held, const struct run_outcome *outcome,
		 struct run_verdict *out) __attribute__((nonnull(1, 5)));
#endif
