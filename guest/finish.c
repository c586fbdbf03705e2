/* SPDX-License-Identifier: GPL-2.0-or-later
 * finish.c - what leaves while the run lasts and at its end: output, denied egress, EXIT, the closing verification, END.
 *
 * Runs as: root, in the monitor.  Input: bytes of the output files, counters and records of the locks.
 * A hostile sender gains nothing: output is copied as it is; everything else is the monitor's own. */
#include "guest/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/evidence.h"
#include "proto/cursor.h"

#define CHUNKS_A_CALL 64 /* of TAIL_CHUNK bytes */

static void
truncated(struct run *r, enum truncated_what what, uint64_t kept, uint64_t lost)
{
	const struct plan_truncated t = { .what = (uint8_t)what, .kept = kept, .lost = lost };
	uint8_t body[32];
	struct writer w;

	writer_init(&w, body, sizeof(body));
	plan_truncated_encode(&w, &t);
	(void)outbox_put(&r->outbox, FRAME_TRUNCATED, 0, w.at, w.len);
}

static bool
shows_twins(const struct run *r, const struct tail *t)
{
	return t == &r->output && (r->policy.flags & PLAN_READY_LINE) && !r->ready && r->phase == RUN_RUNNING &&
	       !r->failed;
}

/* One stream.  True when there is nothing more to send of it. */
static bool
send_stream(struct run *r, struct tail *t, uint8_t type)
{
	static uint8_t buf[TAIL_CHUNK], twins_buf[TAIL_CHUNK];
	int n;

	/* Bounded: a workflow may write as fast as the host reads, and the deadline must be looked at.  While the twins look for
	 * the line that says "ready" they see each byte, so what they have not taken yet is waited for. */
	for (int i = 0; i < CHUNKS_A_CALL && outbox_has_room(&r->outbox); i++) {
		bool shown = shows_twins(r, t);

		if (shown && r->relay.output_len > 0)
			return false;
		n = tail_read(t, shown ? twins_buf : buf);
		if (n < 0) {
			run_fail(r, END_FAILED, "output", -n, "the workflow's output cannot be read");
			return true;
		}
		if (n == 0)
			return true;
		(void)outbox_put(&r->outbox, type, 0, shown ? twins_buf : buf, (size_t)n);
		if (shown)
			relay_output(&r->relay, twins_buf, (size_t)n);
		(void)outbox_flush(&r->outbox);
	}
	return r->outbox.error != 0;
}

bool
finish_output(struct run *r)
{
	bool a = send_stream(r, &r->output, FRAME_STDOUT);
	bool b = send_stream(r, &r->errors, FRAME_STDERR);

	return a && b;
}

static void
stream_end(struct run *r, struct tail *t, enum truncated_what what, uint64_t *bytes, uint8_t digest[static 32])
{
	*bytes = tail_written(t);
	sha256_get(&t->hash, digest);
	if (*bytes > t->sent) {
		truncated(r, what, t->sent, *bytes - t->sent);
	} else if (tail_is_overwritten(t)) {
		run_log(r, 2,
			what == TRUNCATED_STDOUT
				? "stdout was opened anew by a writer that does not append: some of it is lost"
				: "stderr was opened anew by a writer that does not append: some of it is lost");
		truncated(r, what, t->sent, 1); /* how much nobody knows */
	}
	tail_close(t);
}

void
finish_exit(struct run *r)
{
	static uint8_t body[512];
	struct writer w;

	stream_end(r, &r->output, TRUNCATED_STDOUT, &r->exit.stdout_bytes, r->exit.stdout_sha256);
	stream_end(r, &r->errors, TRUNCATED_STDERR, &r->exit.stderr_bytes, r->exit.stderr_sha256);
	/* The limit was passed although the end came first by itself: the same outcome, told the same way. */
	if (r->ended_by == ENDED_ITSELF &&
	    (r->exit.stdout_bytes > r->policy.output_bytes || r->exit.stderr_bytes > r->policy.output_bytes))
		r->ended_by = ENDED_OUTPUT_LIMIT;
	r->exit.ended_by = r->ended_by;
	writer_init(&w, body, sizeof(body));
	plan_exit_encode(&w, &r->exit);
	(void)outbox_put(&r->outbox, FRAME_EXIT, 0, w.at, w.len);
}

/* Without the last numbers nobody could say that nothing was denied: not a run that may pass. */
static void
denied_unknown(struct run *r, struct fw_failure f)
{
	if (r->failed)
		return;
	r->fw_failure = f;
	run_fail_lock(r);
}

void
finish_denied(struct run *r, bool last)
{
	struct writer w;
	uint64_t rows_lost = 0, kept = 0;

	/* A record of several frames may not stand within another that is open. */
	if (r->locks_len == 0 || (!last && r->outbox.sender.open_type != 0) ||
	    (!last && (!r->denied_dirty || r->now - r->denied_ms < DENIED_EVERY_MS || !outbox_has_room(&r->outbox) ||
		       r->phase < RUN_SERVING)))
		return;
	for (unsigned i = 0; i < r->locks_len; i++) {
		struct fw_failure f;

		if (fw_lock_counters(&r->locks[i], &f) < 0 && last)
			denied_unknown(r, f);
		rows_lost += r->locks[i].denied_overflow;
		for (unsigned k = 0; k < r->locks[i].denied_len; k++)
			kept += r->locks[i].denied[k].count;
	}
	r->denied_dirty = false;
	r->denied_ms = r->now;
	writer_init(&w, r->paper, sizeof(r->paper));
	evidence_denied(&w, r->locks, r->base, r->locks_len);
	if (!w.failed)
		(void)outbox_put_record(&r->outbox, FRAME_DENIED, w.at, w.len);
	else if (last)
		denied_unknown(r, (struct fw_failure){ "denied", EMSGSIZE, "the list of denied packets does not fit" });
	if (last && rows_lost > 0)
		truncated(r, TRUNCATED_DENIED, kept, rows_lost);
}

/* The twins' end, and any other child's: nothing of the run may live when the locks are judged for the last time. */
static void
end_children(struct run *r)
{
	bundle_stop(&r->bundle);
	services_close(&r->services);
	relay_close(&r->relay);
	if (r->twins > 0) {
		(void)kill(r->twins, SIGKILL);
		while (waitpid(r->twins, NULL, 0) < 0 && errno == EINTR)
			;
		r->twins = 0;
	}
	if (r->room.init > 0) {
		(void)kill(r->room.init, SIGKILL);
		for (unsigned i = 0; i < 200 && waitpid(r->room.init, NULL, WNOHANG) == 0; i++)
			(void)usleep(10000);
		r->room.init = 0;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Both locks once more: unchanged, and still closed from inside.  0 or -1 with r->fw_failure. */
static int
locks_verify(struct run *r)
{
	for (unsigned i = 0; i < r->locks_len; i++) {
		struct arm_enter enter = { r, r->room.exists ? (i == 0 ? r->room.own_net : r->room.net) : -1 };

		if (fw_lock_close_verify(&r->locks[i], arm_enter, &enter, &r->fw_failure) < 0) {
			if (r->fw_failure.step[0] == '\0')
				memcpy(r->fw_failure.step, "closing", sizeof("closing"));
			return -1;
		}
	}
	return 0;
}

static void
close_locks(struct run *r)
{
	bool lost;

	for (unsigned i = 0; i < r->locks_len; i++)
		if (fw_lock_denied(&r->locks[i]) < 0)
			r->locks[i].denied_lossy = true;
	finish_denied(r, true);
	lost = r->failed && r->result == END_FIREWALL;
	if (lost) {
		/* What was lost is told; the counters and the probes that were made stand beside it. */
		arm_report(r, 2, &r->fw_failure);
		return;
	}
	if (locks_verify(r) == 0) {
		arm_report(r, 2, NULL);
		return;
	}
	arm_report(r, 2, &r->fw_failure);
	run_fail_lock(r);
}

static void
send_fail(struct run *r)
{
	const struct plan_fail f = { r->fail_step, r->fail_errno, r->fail_text };
	static uint8_t body[1024];
	struct writer w;

	if (!r->failed || r->fail_sent)
		return;
	r->fail_sent = true;
	writer_init(&w, body, sizeof(body));
	plan_fail_encode(&w, &f);
	(void)outbox_put(&r->outbox, FRAME_FAIL, 0, w.at, w.len);
}

static uint8_t
result(const struct run *r)
{
	if (r->failed)
		return r->result;
	switch (r->ended_by) {
	case ENDED_RUN_DEADLINE:
	case ENDED_IDLE:
	case ENDED_START_DEADLINE:
		return END_TIMEOUT;
	case ENDED_CANCEL:
		return END_CANCELLED;
	case ENDED_HOST_LOST:
	case ENDED_TWINS:
		return END_FAILED;
	case ENDED_FIREWALL:
		return END_FIREWALL;
	default:
		return END_OK;
	}
}

int
finish_close(struct run *r)
{
	struct plan_end end = { 0 };
	uint8_t body[64];
	struct writer w;

	end_children(r);
	send_fail(r);
	/* Without a report of the opening there is nothing that a closing could confirm. */
	if (r->armed)
		close_locks(r);
	send_fail(r);
	end.frames = r->outbox.sender.seq;
	memcpy(end.chain, r->outbox.sender.chain.value, sizeof(end.chain));
	end.result = result(r);
	writer_init(&w, body, sizeof(body));
	plan_end_encode(&w, &end);
	(void)outbox_put(&r->outbox, FRAME_END, 0, w.at, w.len);
	(void)outbox_wait(&r->outbox, OUTBOX_SIZE);
	for (unsigned i = 0; i < r->locks_len; i++)
		fw_lock_wipe(&r->locks[i]);
	return r->outbox.error == 0 && end.result == END_OK ? 0 : 1;
}
