/* SPDX-License-Identifier: GPL-2.0-or-later
 * loop.h - the host's only poll loop, its clocks and its signals: moves bytes between the sandbox and the run's state
 * machine, and does what that machine asks for. */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/evidence.h"
#include "host/run.h"
#include "proto/frame.h"

#define LOOP_QUEUE_MAX (256u << 10) /* bytes of frames that wait for the sandbox to read */

struct loop {
	int in, out;     /* to and from the guest; owned after loop_open; -1 none */
	struct run *run; /* borrowed, as the next */
	struct evidence *evidence;
	uint64_t start_ms; /* monotonic, of the run */
	struct frame_sender sender;
	struct frame_receiver receiver;
	uint8_t random[FRAME_RANDOM_LEN];
	uint8_t *queue; /* owned */
	size_t queue_at, queue_len, queue_size;
	uint64_t pings;
	bool bundle_due, broken; /* broken: the guest does not read any more */
	/* Told about every change of the run's state; may be NULL. */
	void (*changed)(void *arg, enum run_state from, enum run_state to, uint64_t now_ms);
	/* Writes plan and files through loop_put; 0 or -errno with *why filled. */
	int (*bundle)(void *arg, struct loop *l, char why[static 320]);
	void *arg;
};
uint64_t loop_now_ms(void);  /* CLOCK_MONOTONIC */
uint64_t loop_unix_ms(void); /* CLOCK_REALTIME */

/* Catches SIGINT, SIGTERM and SIGHUP from now on; a broken pipe and a file that is too large become error codes.  0 or -errno. */
int loop_signals_start(void) __attribute__((warn_unused_result));
/* The signals that came since, one a call; 0 none. */
int loop_signal_take(void);
/* Calls a function of the backend that may block.  -ETIMEDOUT after ms; -EINTR when stops is true and a second
 * signal came meanwhile.  The call is then left where it stood: what it made is found again by destroy and by reap. */
int loop_guarded(int (*call)(void *arg), void *arg, unsigned ms, bool stops)
	__attribute__((warn_unused_result, nonnull(1)));

int loop_init(struct loop *l, struct run *run, struct evidence *e, uint64_t start_ms)
	__attribute__((warn_unused_result, nonnull));
/* Takes over the descriptors and queues HELLO.  0 or -errno. */
int loop_open(struct loop *l, int in, int out) __attribute__((warn_unused_result, nonnull));
/* Runs until the machine is RUN_OVER. */
void loop_run(struct loop *l) __attribute__((nonnull));
/* Queues one frame and pumps while the queue is full.  0; -ECANCELED when the run is over meanwhile; -ENOMEM. */
int loop_put(struct loop *l, uint8_t type, uint8_t flags, const void *body, uint32_t len)
	__attribute__((warn_unused_result, nonnull(1)));
/* The same for a record of any length. */
int loop_put_record(struct loop *l, uint8_t type, const void *body, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* Gives the machine an event and does what it asks for. */
void loop_event(struct loop *l, const struct run_event *ev) __attribute__((nonnull));
/* Gives it the signals that came. */
void loop_signals(struct loop *l) __attribute__((nonnull));
void loop_wipe(struct loop *l) __attribute__((nonnull));
#endif
