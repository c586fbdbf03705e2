/* SPDX-License-Identifier: GPL-2.0-or-later
 * monitor.c - see monitor.h: one poll loop over phases (run.h).
 *
 * Runs as: root (local: the caller).  Input: readiness of descriptors, the clock, exit statuses.
 * A hostile sender gains nothing: what descriptors hold is read elsewhere (intake, relay, tail, firewall/), each with its own
 * check; nothing here waits for the workflow without a deadline, and every way out kills all of the run first. */
#include "guest/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/evidence.h"
#include "guest/run.h"
#include "proto/cursor.h"

#define REAPED_A_CALL 4096

static struct run the_run;

uint64_t
run_clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t
run_clock_ms(void)
{
	return run_clock_us() / 1000u;
}

static void
enter(struct run *r, enum run_phase phase, uint64_t wait_ms)
{
	r->phase = phase;
	r->phase_deadline = wait_ms ? run_clock_ms() + wait_ms : 0;
}

void
run_log(struct run *r, uint8_t level, const char *text)
{
	uint8_t body[512];
	struct writer w;

	if (!r->hello_sent || !outbox_has_room(&r->outbox))
		return;
	writer_init(&w, body, sizeof(body));
	write_u8(&w, level);
	write_text(&w, text);
	(void)outbox_put(&r->outbox, FRAME_LOG, 0, w.at, w.len);
}

/* The workflow's death begins; what follows is the same for every reason. */
static void
kill_all(struct run *r)
{
	if (r->phase >= RUN_KILLING)
		return;
	if (!r->spawned) {
		enter(r, RUN_CLOSE, 0);
		return;
	}
	(void)reaper_kill(&r->reaper);
	enter(r, RUN_KILLING, KILL_WAIT_MS);
}

void
run_fail(struct run *r, uint8_t result, const char *step, int err, const char *text)
{
	if (r->failed)
		return;
	r->failed = true;
	r->result = result;
	snprintf(r->fail_step, sizeof(r->fail_step), "%s", step);
	snprintf(r->fail_errno, sizeof(r->fail_errno), "%s", err ? errno_name(err) : "");
	snprintf(r->fail_text, sizeof(r->fail_text), "%s", text);
	kill_all(r);
	if (r->phase == RUN_FINISH)
		enter(r, RUN_CLOSE, 0);
}

void
run_fail_lock(struct run *r)
{
	char step[64];

	if (r->ended_by == ENDED_ITSELF && r->spawned && r->phase < RUN_KILLING)
		r->ended_by = ENDED_FIREWALL;
	snprintf(step, sizeof(step), "firewall.%s", r->fw_failure.step);
	run_fail(r, END_FIREWALL, step, r->fw_failure.err, r->fw_failure.text);
}

void
run_stop(struct run *r, uint8_t ended_by, bool at_once)
{
	if (r->phase >= RUN_KILLING || r->failed)
		return;
	if (r->phase < RUN_RUNNING) {
		r->ended_by = ended_by;
		if (ended_by == ENDED_CANCEL)
			run_fail(r, END_CANCELLED, "cancelled", ECANCELED, "cancelled before the workflow started");
		else if (ended_by == ENDED_START_DEADLINE)
			run_fail(r, END_TIMEOUT, "host", ETIMEDOUT, "the host did not start the workflow in time");
		else
			run_fail(r, END_FAILED, "host", ETIMEDOUT, "the host is gone");
		return;
	}
	if (r->ended_by == ENDED_ITSELF && r->phase != RUN_DRAIN)
		r->ended_by = ended_by;
	if (at_once) {
		kill_all(r);
	} else if (r->phase == RUN_RUNNING) {
		(void)kill(-r->workflow, SIGTERM); /* its session's first group; stragglers get SIGKILL */
		enter(r, RUN_GRACE, r->policy.grace_ms ? r->policy.grace_ms : 1);
	}
}

/* ---- children ------------------------------------------------------------------------------------------------------ */

static void
workflow_ended(struct run *r, int status, const struct rusage *u)
{
	struct plan_exit *x = &r->exit;

	r->workflow = 0;
	x->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	x->signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
	x->core = WIFSIGNALED(status) && WCOREDUMP(status);
	x->user_us = (uint64_t)u->ru_utime.tv_sec * 1000000u + (uint64_t)u->ru_utime.tv_usec;
	x->system_us = (uint64_t)u->ru_stime.tv_sec * 1000000u + (uint64_t)u->ru_stime.tv_usec;
	x->max_rss_kib = (uint64_t)u->ru_maxrss;
	x->wall_us = run_clock_us() - r->spawned_us;
	if (r->phase == RUN_RUNNING)
		enter(r, RUN_DRAIN, DRAIN_MS);
	else if (r->phase == RUN_GRACE)
		r->phase = RUN_DRAIN; /* what is left of the grace is enough */
}

/* Judged when the last of its records is read: they may still lie in the socket. */
static void
twins_ended(struct run *r, int status)
{
	r->twins = 0;
	if (WIFSIGNALED(status))
		snprintf(r->twins_end, sizeof(r->twins_end), "signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		snprintf(r->twins_end, sizeof(r->twins_end), "status %d", WEXITSTATUS(status));
}

static void
twins_failed(struct run *r, int err)
{
	char text[400];

	if (r->twins > 0 && err == EPIPE) { /* it closed its end: it is gone, or as good as */
		int status;

		(void)kill(r->twins, SIGKILL);
		if (waitpid(r->twins, &status, 0) == r->twins)
			twins_ended(r, status);
		r->twins = 0;
	}
	if (r->ended_by == ENDED_ITSELF && r->spawned && r->phase < RUN_DRAIN)
		r->ended_by = ENDED_TWINS;
	snprintf(text, sizeof(text), "%.300s%s%s", r->relay.problem, r->twins_end[0] ? ": " : "", r->twins_end);
	run_fail(r, END_FAILED, "twins", err, text);
}

/* The one waiter: every child and every orphan of the run ends here.  A workflow may make children of ours (CLONE_PARENT) as fast
 * as they can be buried: the loop has other duties too, and comes back. */
static void
reap(struct run *r)
{
	struct rusage u;
	int status;
	pid_t pid;

	for (int i = 0; i < REAPED_A_CALL && (pid = wait4(-1, &status, WNOHANG, &u)) > 0; i++) {
		if (pid == r->workflow) {
			workflow_ended(r, status, &u);
		} else if (pid == r->twins) {
			twins_ended(r, status);
		} else if (pid == r->bundle.pid) {
			r->bundle.pid = 0;
		} else if (pid == r->room.init) {
			r->room.init = 0;
			r->reaper.room_init = 0;
			if (r->phase < RUN_KILLING)
				run_fail(r, END_FAILED, "room", ECHILD, "the first process of the inner room ended");
		}
	}
}

static void
signals_read(struct run *r)
{
	struct signalfd_siginfo s;
	bool stop = false;

	for (int i = 0; i < 8 && read(r->signals, &s, sizeof(s)) == sizeof(s); i++)
		stop = stop || s.ssi_signo != SIGCHLD;
	reap(r);
	if (stop) {
		r->cancelled = true;
		run_stop(r, ENDED_CANCEL, false);
	}
}

/* ---- the locks ------------------------------------------------------------------------------------------------------- */

static void
locks_watch(struct run *r)
{
	for (unsigned i = 0; i < r->locks_len; i++) {
		int n = fw_lock_denied(&r->locks[i]);

		r->denied_dirty = r->denied_dirty || n != 0;
		if (r->failed || fw_lock_watch(&r->locks[i], &r->fw_failure) >= 0)
			continue;
		/* Killed first, then told. */
		if (r->spawned && r->phase < RUN_KILLING)
			(void)reaper_kill(&r->reaper);
		arm_report(r, 3, &r->fw_failure);
		run_fail_lock(r);
	}
}

/* ---- phases ---------------------------------------------------------------------------------------------------------- */

static void
step_killing(struct run *r)
{
	int left;

	if (r->reaper.way != REAPER_ROOM || r->room.init > 0)
		(void)reaper_kill(&r->reaper);
	reap(r);
	left = r->reaper.way == REAPER_ROOM ? r->room.init > 0 : reaper_count(&r->reaper);
	if (left == 0 && r->workflow == 0) {
		enter(r, RUN_FLUSH, 0);
	} else if (r->now >= r->phase_deadline) {
		run_fail(r, END_FAILED, "kill", EBUSY, "processes of the run live on after SIGKILL");
		r->reaper.keep = 0;
		enter(r, RUN_CLOSE, 0);
	}
}

static void
step_drain(struct run *r)
{
	int left = reaper_count(&r->reaper);

	if (left != 0 && r->now < r->phase_deadline)
		return;
	r->exit.pipe_held = left != 0;
	kill_all(r);
}

static void
ready(struct run *r)
{
	r->ready = true;
	(void)outbox_put(&r->outbox, FRAME_READY, 0, NULL, 0);
}

/* What the twins asked for, as far as the relay let it pass. */
static void
take_wishes(struct run *r)
{
	if (r->relay.ready && !r->ready)
		ready(r);
	for (int n = 1; r->relay.signals != 0 && n < 32; n++)
		if (r->relay.signals & 1u << n)
			(void)kill(-r->workflow, n); /* its session's first group, like the SIGTERM of the end */
	r->relay.signals = 0;
	if (r->relay.end)
		run_stop(r, ENDED_WORLD, false);
}

static void
step_running(struct run *r)
{
	const struct plan_policy *p = &r->policy;

	if (r->workflow > 0)
		take_wishes(r);
	if (r->phase != RUN_RUNNING)
		return;
	if (!r->ready && r->now - r->spawned_ms >= p->start_ms)
		run_stop(r, ENDED_START_DEADLINE, false);
	else if (tail_is_over(&r->output) || tail_is_over(&r->errors))
		run_stop(r, ENDED_OUTPUT_LIMIT, true);
	else if (p->run_ms && r->now - r->spawned_ms >= p->run_ms)
		run_stop(r, ENDED_RUN_DEADLINE, false);
	else if (p->idle_ms && r->now - r->moved_ms >= p->idle_ms)
		run_stop(r, ENDED_IDLE, false);
}

static void
step_serving(struct run *r)
{
	if (r->relay.phase == RELAY_SERVING) {
		enter(r, RUN_START, START_WAIT_MS);
		if (!r->live)
			r->started = true; /* GATE was compared: it takes START's place */
	} else if (r->now >= r->phase_deadline) {
		run_fail(r, END_FAILED, "twins", ETIMEDOUT, "the twins do not serve in time");
	}
}

static void
step_start(struct run *r)
{
	if (r->started) {
		if (!(r->policy.flags & PLAN_READY))
			ready(r);
		arm_spawn(r);
	} else if (r->now >= r->phase_deadline) {
		run_stop(r, ENDED_START_DEADLINE, true);
	}
}

static void
step_finish(struct run *r)
{
	if (r->relay.phase == RELAY_DONE && r->twins == 0 && r->twins_end[0] == '\0')
		enter(r, RUN_CLOSE, 0);
	else if (r->relay.phase == RELAY_DONE && r->twins == 0)
		twins_failed(r, ECHILD);
	else if (r->now >= r->phase_deadline &&
		 (r->now - r->moved_ms >= FINISH_WAIT_MS || r->now - r->phase_deadline >= FINISH_MOST_MS))
		run_fail(r, END_FAILED, "twins", ETIMEDOUT, "the twins do not give their final state in time");
}

static void
step_bundle(struct run *r)
{
	if (!r->committed)
		return;
	if (arm_boundary(r) == 0 && arm_services(r) == 0)
		enter(r, RUN_SERVING, SERVING_WAIT_MS);
	r->heard_ms = r->now = run_clock_ms(); /* proving took a while, in which nothing was read */
}

static void
step(struct run *r)
{
	switch (r->phase) {
	case RUN_BUNDLE:
		step_bundle(r);
		break;
	case RUN_SERVING:
		step_serving(r);
		break;
	case RUN_START:
		step_start(r);
		break;
	case RUN_RUNNING:
		step_running(r);
		break;
	case RUN_GRACE:
		if (tail_is_over(&r->output) || tail_is_over(&r->errors) || r->now >= r->phase_deadline)
			kill_all(r);
		break;
	case RUN_DRAIN:
		step_drain(r);
		break;
	case RUN_KILLING:
		step_killing(r);
		break;
	case RUN_FLUSH:
		if (!finish_output(r))
			break;
		finish_exit(r);
		if (r->failed) {
			enter(r, RUN_CLOSE, 0);
		} else {
			relay_finish(&r->relay);
			enter(r, RUN_FINISH, FINISH_WAIT_MS);
		}
		break;
	case RUN_FINISH:
		step_finish(r);
		break;
	case RUN_CLOSE:
		break;
	}
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static void
host_lost(struct run *r)
{
	run_stop(r, ENDED_HOST_LOST, true);
	if (r->phase >= RUN_KILLING && r->outbox.error == 0)
		r->outbox.error = -ETIMEDOUT;
}

static void
heartbeat(struct run *r)
{
	uint8_t body[16];
	struct writer w;

	if (r->live && r->now - r->heard_ms >= PING_LOST_MS)
		host_lost(r);
	if (r->outbox.progress != r->progress || !r->hello_sent || outbox_is_empty(&r->outbox)) {
		r->progress = r->outbox.progress;
		r->progress_ms = r->now;
	}
	/* Nothing is left to be killed: only the host can be waited for, and not for ever. */
	if (r->phase >= RUN_KILLING && r->now - r->progress_ms >= OUTBOX_WAIT_MS)
		host_lost(r);
	if (!r->hello_sent || r->now - r->pong_ms < PING_INTERVAL_MS || !outbox_has_room(&r->outbox))
		return;
	r->pong_ms = r->now;
	writer_init(&w, body, sizeof(body));
	write_u64(&w, r->ping_counter);
	write_u64(&w, r->outbox.progress + r->output.sent + r->errors.sent + r->bytes);
	(void)outbox_put(&r->outbox, FRAME_PONG, 0, body, w.len);
}

static void
pump(struct run *r)
{
	uint64_t before = r->output.sent + r->errors.sent;
	int n;

	if (r->phase >= RUN_RUNNING && r->phase <= RUN_KILLING)
		(void)finish_output(r);
	n = r->failed ? 0 : relay_pump(&r->relay, &r->outbox);
	if (n < 0 && r->phase < RUN_CLOSE)
		twins_failed(r, -n);
	else if (n > 0)
		(void)arm_authority(r);
	if (n > 0 || r->output.sent + r->errors.sent != before)
		r->moved_ms = r->now;
}

static unsigned
poll_add(struct pollfd *p, unsigned n, int fd, short events)
{
	if (fd < 0 || events == 0)
		return n;
	p[n] = (struct pollfd){ .fd = fd, .events = events };
	return n + 1;
}

static void
loop_wait(struct run *r)
{
	struct pollfd p[16];
	unsigned n = 0;
	bool room = !r->hello_sent || outbox_has_room(&r->outbox);
	int ms = HOLD_MS;

	if (r->phase == RUN_DRAIN || r->phase == RUN_KILLING || r->phase == RUN_FLUSH)
		ms = 5;
	n = poll_add(p, n, r->signals, POLLIN);
	n = poll_add(p, n, r->in_closed || (!r->live && r->committed) ? -1 : r->in, POLLIN);
	n = poll_add(p, n, r->hello_sent && !outbox_is_empty(&r->outbox) ? r->out : -1, POLLOUT);
	n = poll_add(p, n, r->phase >= RUN_RUNNING && room ? r->watch : -1, POLLIN);
	n = poll_add(p, n, r->relay.fd,
		     (short)((room && !r->failed && r->relay.phase != RELAY_DONE ? POLLIN : 0) |
			     (relay_wants_write(&r->relay) ? POLLOUT : 0)));
	for (unsigned i = 0; i < r->locks_len; i++) {
		n = poll_add(p, n, r->locks[i].watch_fd, POLLIN);
		n = poll_add(p, n, r->locks[i].route_fd, POLLIN);
		n = poll_add(p, n, r->locks[i].log_fd, POLLIN);
	}
	(void)poll(p, n, ms);
}

static int
loop(struct run *r)
{
	while (r->phase != RUN_CLOSE) {
		enum run_phase phase;

		loop_wait(r);
		r->now = run_clock_ms();
		tail_watch_drain(r->watch);
		signals_read(r);
		/* A bundle file ends with COMMIT; a live stream is read to its end. */
		if (!r->in_closed && (r->live || !r->committed))
			intake_read(r);
		r->now = run_clock_ms();
		if (r->committed && r->phase != RUN_BUNDLE) {
			locks_watch(r);
			pump(r);
		}
		do {
			phase = r->phase;
			step(r);
		} while (r->phase != phase && r->phase != RUN_CLOSE);
		if (!r->hello_sent) {
			if (r->failed || r->cancelled)
				return 1; /* without the host's numbers no frame can be written */
			continue;
		}
		if (r->committed)
			finish_denied(r, false);
		heartbeat(r);
		if (outbox_flush(&r->outbox) < 0)
			run_stop(r, ENDED_HOST_LOST, true);
	}
	return finish_close(r);
}

/* ---- start ------------------------------------------------------------------------------------------------------------ */

static void
be_last_to_die(void)
{
	static const char *const scores[] = { "-1000", "-999", "-900", "-500", "-100", "0" };
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	for (unsigned i = 0; fd >= 0 && i < sizeof(scores) / sizeof(scores[0]); i++)
		if (write(fd, scores[i], strlen(scores[i])) > 0)
			break;
	if (fd >= 0)
		close(fd);
}

/* Moves the stream away from the numbers that children get, and puts nothing in their place. */
static int
streams_take(struct run *r, const char *in)
{
	int null;

	r->live = in == NULL;
	r->in = in ? open(in, O_RDONLY | O_CLOEXEC) : fcntl(0, F_DUPFD_CLOEXEC, 10);
	r->out = fcntl(1, F_DUPFD_CLOEXEC, 10);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (r->in < 0 || r->out < 0 || null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (fd != null && dup2(null, fd) < 0)
			return -errno;
	if (null > 2)
		close(null);
	if (fcntl(r->in, F_SETFL, fcntl(r->in, F_GETFL) | O_NONBLOCK) < 0 ||
	    fcntl(r->out, F_SETFL, fcntl(r->out, F_GETFL) | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int
signals_take(struct run *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/* No socket of others in this network namespace: the first line is the heading. */
static bool
unix_is_clean(void)
{
	char buf[1024];
	int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf));
	close(fd);
	return n > 0 && (const char *)memchr(buf, '\n', (size_t)n) == buf + n - 1;
}

int
monitor_run(const char *in)
{
	struct run *r = &the_run;

	r->in = r->out = r->signals = r->watch = -1;
	r->output.read_fd = r->output.write_fd = r->errors.read_fd = r->errors.write_fd = -1;
	r->relay.fd = r->bundle.fd = -1;
	r->exit.code = -1; /* until a status says otherwise */
	if (streams_take(r, in) < 0 || signals_take(r) < 0)
		return 1;
	umask(022);
	be_last_to_die();
	r->unix_is_clean = unix_is_clean();
	if (evidence_self(r->self) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 1;
	frame_receiver_init(&r->receiver, FRAME_TO_GUEST, NULL, !r->live);
	r->now = r->heard_ms = r->pong_ms = r->progress_ms = run_clock_ms();
	return loop(r);
}
