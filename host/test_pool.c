/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_pool.c - runs everything, several at once, see test.h.  One process a run; this one starts them, listens and counts.
 * Every run gets a result: what its process handed back when that ended in order, else an error. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/loop.h"
#include "host/test.h"
#include "host/test_child.h"
#include "host/test_live.h"

#define PREPARE_MS 900000u /* reading and staging the files, before the run says how long it may take */
#define REAP_MS 60000u
#define FILES_EACH 8u /* descriptors of a run in this process, and some to spare */
#define FILES_OWN 64u
#define RUN_MEMORY (64ull << 20) /* of guest, services and the run's own process */

struct slot {
	bool used, reaping, overdue;
	struct test_child child;
	struct test_inbox inbox;
	uint64_t end_ms; /* by then it is over, or it is killed */
	char said[TEST_SAID_MAX + 1];
	size_t said_len;
	int status; /* of the run's process, while what it left is reaped */
	pid_t dead; /* that process */
};
struct pool {
	struct tests *t;
	struct test_live live;
	struct test_start start;
	int signal_fd;        /* borrowed */
	struct slot *slots;   /* owned: t->jobs */
	struct test_now *now; /* owned: of each slot */
	struct pollfd *fds;   /* owned: one, and three a slot */
	uint64_t memory;      /* that runs may take together */
	size_t first_waiting, running;
	int signals;
	bool ending; /* nothing more starts */
};

/* ---- which run comes next ------------------------------------------------------------------------------------------------ */

static bool
is_judged(const struct test_run *r)
{
	return r->progress == TEST_DONE && (r->status == TEST_PASSED || r->status == TEST_FAILED);
}

/* Of several runs with one seed the first that came to its end is what the others are compared with: until there is one, they
 * wait for it.  False: run i waits. */
static bool
find_reference(const struct tests *t, size_t i, const struct test_run **out)
{
	size_t first = i - t->runs[i].repeat, k;

	*out = NULL;
	for (k = first; t->o.repeat > 1 && k < i; k++) {
		if (is_judged(&t->runs[k])) {
			*out = &t->runs[k];
			return true;
		}
		if (t->runs[k].progress == TEST_RUNNING)
			return false;
	}
	return true;
}

static uint64_t
memory_of(const struct test_world *w)
{
	return w->memory_bytes + w->bundle_bytes + RUN_MEMORY;
}

static bool
fits(const struct pool *p, size_t i)
{
	uint64_t sum = memory_of(&p->t->worlds[p->t->runs[i].world]);
	size_t k;

	for (k = 0; k < p->t->jobs; k++)
		if (p->slots[k].used)
			sum += memory_of(&p->t->worlds[p->t->runs[p->now[k].run].world]);
	return p->running == 0 || sum <= p->memory;
}

static void
not_run(struct test_run *r)
{
	r->progress = TEST_DONE;
	r->status = TEST_NOT_RUN;
}

/* False: none can start now. */
static bool
next_run(struct pool *p, size_t *out, const struct test_run **reference)
{
	struct tests *t = p->t;
	size_t i;

	while (p->first_waiting < t->runs_len && t->runs[p->first_waiting].progress != TEST_WAITING)
		p->first_waiting++;
	for (i = p->first_waiting; i < t->runs_len; i++) {
		struct test_run *r = &t->runs[i];

		if (r->progress != TEST_WAITING)
			continue;
		if (t->worlds[r->world].stopped) {
			not_run(r);
			continue;
		}
		if (!find_reference(t, i, reference))
			continue;
		*out = i;
		return fits(p, i);
	}
	return false;
}

/* ---- results ------------------------------------------------------------------------------------------------------------ */

/* 0, or -ENOMEM: then the run has no result, and that is an error too. */
static int
add_try(struct test_run *r, const struct test_record *record)
{
	struct test_record *tries = realloc(r->tries, (r->tries_len + 1) * sizeof(*tries));

	if (!tries)
		return -ENOMEM;
	r->tries = tries;
	tries[r->tries_len++] = *record; /* moved */
	return 0;
}

static bool
can_be_retried(enum test_status s)
{
	return s == TEST_FAILED || s == TEST_TIMEOUT || s == TEST_ERROR;
}

/* No further run of this world, or of any. */
static void
stop_what_ends(struct pool *p, const struct test_run *r)
{
	struct test_world *w = &p->t->worlds[r->world];
	bool judged = r->status == TEST_PASSED || r->status == TEST_FAILED || r->status == TEST_FLAKY;

	if (r->status == TEST_ABORTED || r->status == TEST_INVALID ||
	    (w->stop_on == STOP_FAILED && r->status != TEST_PASSED) || (w->stop_on == STOP_ERROR && !judged))
		w->stopped = true;
	if (p->t->o.fail_fast && r->status != TEST_PASSED)
		p->ending = true;
}

static void
conclude(struct pool *p, size_t i, struct test_record *record, const char *said)
{
	struct test_run *r = &p->t->runs[i];
	enum test_status status = record->status;
	int exit_code = record->exit_code;

	if (add_try(r, record) < 0) {
		test_record_wipe(record);
		status = TEST_ERROR;
		exit_code = 4;
	}
	free(r->said);
	r->said = status != TEST_PASSED && *said ? strdup(said) : NULL;
	if (can_be_retried(status) && r->tries_len <= p->t->o.retry && !p->signals && !p->ending) {
		char text[500];

		r->progress = TEST_WAITING;
		if (i < p->first_waiting)
			p->first_waiting = i;
		snprintf(text, sizeof(text), "%s; try %zu follows", test_status_name(status), r->tries_len + 1);
		test_live_ended(&p->live, i, text);
		return;
	}
	if (status == TEST_PASSED && r->tries_len > 1) {
		status = TEST_FLAKY;
		exit_code = 1;
	}
	r->progress = TEST_DONE;
	r->status = status;
	r->exit_code = exit_code;
	stop_what_ends(p, r);
	test_live_ended(&p->live, i, NULL);
}

/* How it ended when it handed nothing back. */
static void
say_how(const struct slot *s, const char *problem, char *out, size_t size)
{
	int n = s->status;

	if (s->overdue)
		snprintf(out, size, "its process did not come to an end and was killed");
	else if (WIFSIGNALED(n))
		snprintf(out, size, "its process was ended by signal %d (SIG%s) before it had a result", WTERMSIG(n),
			 sigabbrev_np(WTERMSIG(n)) ? sigabbrev_np(WTERMSIG(n)) : "?");
	else
		snprintf(out, size, "its process ended with exit status %d, without a result%s%s", WEXITSTATUS(n),
			 *problem ? ": " : "", problem);
}

/* The result that a slot holds: valid only when its process ended as the record says. */
static bool
take_record(const struct slot *s, struct test_record *out, char problem[static 160])
{
	const char *text;
	size_t len;

	problem[0] = '\0';
	text = test_inbox_record(&s->inbox, &len);
	if (!text || test_record_take(text, len, out, problem) < 0)
		return false;
	if (WIFEXITED(s->status) && WEXITSTATUS(s->status) == out->exit_code)
		return true;
	snprintf(problem, 160, "it handed back %s", test_status_name(out->status));
	test_record_wipe(out);
	return false;
}

static void
close_child(struct test_child *c)
{
	close(c->pidfd);
	close(c->record);
	close(c->said);
}

static void
release(struct pool *p, struct slot *s)
{
	test_inbox_wipe(&s->inbox);
	memset(s, 0, sizeof(*s));
	p->now[s - p->slots].used = false;
	p->running--;
}

/* Its process died without a result: its sandbox is ended and removed before anything else is said of it. */
static void
lost(struct pool *p, size_t k, const char *problem, bool reaped)
{
	struct slot *s = &p->slots[k];
	struct test_record record;
	char why[400], text[600];

	say_how(s, problem, why, sizeof(why));
	snprintf(text, sizeof(text), "%s; %s", why,
		 reaped ? "nothing of its sandbox is left" : "its sandbox may be left: agenttwin-host reap ends it");
	/* Killed because the user insisted. */
	if (test_record_make(&record, p->signals > 2 ? TEST_CANCELLED : TEST_ERROR,
			     p->signals > 2 ? (p->t->signal == SIGINT ? 130 : 143) : 4, text) < 0)
		record = (struct test_record){ .status = TEST_ERROR, .exit_code = 4 };
	conclude(p, p->now[k].run, &record, s->said);
	release(p, s);
}

static void
ended(struct pool *p, size_t k)
{
	struct slot *s = &p->slots[k];
	struct test_record record;
	char problem[160];

	close_child(&s->child);
	if (take_record(s, &record, problem)) {
		conclude(p, p->now[k].run, &record, s->said);
		release(p, s);
		return;
	}
	s->dead = s->child.pid;
	s->reaping = test_child_reap(s->dead, &p->start, &s->child) == 0;
	if (s->reaping)
		s->end_ms = loop_now_ms() + REAP_MS;
	else
		lost(p, k, problem, false);
}

/* ---- listening ---------------------------------------------------------------------------------------------------------- */

/* The last bytes, and the first word of the last line as the phase that it is in. */
static void
hear(struct pool *p, size_t k, const char *data, size_t len)
{
	struct slot *s = &p->slots[k];
	const char *line, *end;
	size_t n;

	if (len > TEST_SAID_MAX) {
		data += len - TEST_SAID_MAX;
		len = TEST_SAID_MAX;
	}
	if (s->said_len + len > TEST_SAID_MAX) {
		n = s->said_len + len - TEST_SAID_MAX;
		memmove(s->said, s->said + n, s->said_len - n);
		s->said_len -= n;
	}
	memcpy(s->said + s->said_len, data, len);
	s->said_len += len;
	s->said[s->said_len] = '\0';
	end = memrchr(s->said, '\n', s->said_len);
	if (!end || s->reaping)
		return;
	line = end;
	while (line > s->said && line[-1] != '\n')
		line--;
	if (strncmp(line, "  ", 2) == 0 && line[2] != ' ')
		snprintf(p->now[k].phase, TEST_PHASE_MAX, "%.*s", (int)strcspn(line + 2, " \n"), line + 2);
}

/* Everything that is there now. */
static void
drain(struct pool *p, size_t k)
{
	struct slot *s = &p->slots[k];
	char buf[8192];
	ssize_t n;

	while ((n = read(s->child.said, buf, sizeof(buf))) > 0)
		hear(p, k, buf, (size_t)n);
	while ((n = read(s->child.record, buf, sizeof(buf))) > 0) {
		bool begun = s->inbox.begun;

		if (s->reaping)
			continue;
		if (!test_inbox_add(&s->inbox, buf, (size_t)n))
			continue; /* it is broken now, and stays so */
		if (!begun && s->inbox.begun) {
			p->t->worlds[p->t->runs[p->now[k].run].world].bundle_bytes = s->inbox.bundle_bytes;
			s->end_ms = loop_now_ms() + s->inbox.longest_ms;
		}
	}
}

static void
look_at(struct pool *p, size_t k)
{
	struct slot *s = &p->slots[k];
	int status = 0;
	pid_t pid;

	pid = waitpid(s->child.pid, &status, WNOHANG);
	drain(p, k);
	if (pid != s->child.pid) {
		if (loop_now_ms() < s->end_ms)
			return;
		s->overdue = s->overdue || !s->reaping;
		s->end_ms = loop_now_ms() + REAP_MS;
		kill(s->child.pid, SIGKILL); /* not yet waited for, so it is still ours */
		return;
	}
	if (!s->reaping) {
		s->status = status;
		ended(p, k);
		return;
	}
	close_child(&s->child);
	lost(p, k, "", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Each signal goes on to every run: the first asks, the second destroys at once, the third is the end of patience. */
static void
take_signals(struct pool *p)
{
	struct signalfd_siginfo si;
	size_t k;
	int number;

	while (read(p->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		number = (int)si.ssi_signo;
		p->signals++;
		p->ending = true;
		if (!p->t->signal)
			p->t->signal = number;
		test_live_clear(&p->live);
		if (p->signals <= 3 && p->running)
			test_say(p->live.github, "SIG%s: %s", sigabbrev_np(number),
				 p->signals == 1   ? "waiting for the runs to end; once more destroys them at once"
				 : p->signals == 2 ? "destroying them at once"
						   : "killing them");
		for (k = 0; k < p->t->jobs; k++)
			if (p->slots[k].used && !p->slots[k].reaping)
				kill(p->slots[k].child.pid, p->signals > 2 ? SIGKILL : number);
	}
}

static void
start_one(struct pool *p, size_t i, const struct test_run *like)
{
	struct reference reference = { .path = "" };
	const struct test_record *of = like ? test_last(like) : NULL;
	struct test_record record;
	char text[200];
	size_t k;
	int r;

	for (k = 0; p->slots[k].used; k++)
		;
	if (of) {
		snprintf(reference.run_id, sizeof(reference.run_id), "%s", of->run_id);
		snprintf(reference.fingerprint, sizeof(reference.fingerprint), "%s", of->fingerprint);
		snprintf(reference.path, sizeof(reference.path), "%s", of->receipt ? of->receipt : "");
	}
	p->t->runs[i].progress = TEST_RUNNING;
	r = test_child_run(p->t, i, of ? &reference : NULL, &p->start, &p->slots[k].child);
	if (r < 0) {
		snprintf(text, sizeof(text), "no process for it: %s", strerror(-r));
		if (test_record_make(&record, TEST_ERROR, 4, text) < 0)
			record = (struct test_record){ .status = TEST_ERROR, .exit_code = 4 };
		conclude(p, i, &record, "");
		return;
	}
	p->slots[k].used = true;
	p->slots[k].end_ms = loop_now_ms() + PREPARE_MS;
	p->now[k] = (struct test_now){ .used = true, .run = i, .start_ms = loop_now_ms() };
	p->running++;
}

static void
wait_for_news(struct pool *p)
{
	uint64_t now = loop_now_ms(), until = now + 60000;
	nfds_t n = 0;
	size_t k;

	p->fds[n++] = (struct pollfd){ .fd = p->signal_fd, .events = POLLIN };
	for (k = 0; k < p->t->jobs; k++) {
		const struct slot *s = &p->slots[k];

		if (!s->used)
			continue;
		p->fds[n++] = (struct pollfd){ .fd = s->child.pidfd, .events = POLLIN };
		p->fds[n++] = (struct pollfd){ .fd = s->child.record, .events = POLLIN };
		p->fds[n++] = (struct pollfd){ .fd = s->child.said, .events = POLLIN };
		until = s->end_ms < until ? s->end_ms : until;
	}
	if (p->live.terminal && until > now + 100)
		until = now + 100;
	(void)poll(p->fds, n, until > now ? (int)(until - now) + 1 : 0);
}

static void
run_all(struct pool *p)
{
	const struct test_run *reference;
	size_t i, k;

	for (;;) {
		take_signals(p);
		while (!p->ending && p->running < p->t->jobs && next_run(p, &i, &reference)) {
			start_one(p, i, reference);
			take_signals(p);
		}
		if (p->running == 0)
			break; /* whatever waits could start now, if it may */
		test_live_draw(&p->live, p->now, p->t->jobs, false);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): test_pool frees the slots */
		wait_for_news(p);
		for (k = 0; k < p->t->jobs; k++)
			if (p->slots[k].used)
				look_at(p, k);
	}
	for (i = 0; i < p->t->runs_len; i++)
		if (p->t->runs[i].progress == TEST_WAITING)
			not_run(&p->t->runs[i]);
	test_live_clear(&p->live);
}

/* ---- setting up --------------------------------------------------------------------------------------------------------- */

/* As many at once as are asked for, or as there are processors; and descriptors for them. */
static int
measure(struct pool *p)
{
	struct test_capacity c;
	struct rlimit l;
	uint64_t jobs = p->t->o.jobs;

	test_capacity("", &c);
	p->memory = jobs ? UINT64_MAX : c.memory_bytes;
	if (!jobs)
		jobs = c.cores;
	if (jobs > p->t->runs_len)
		jobs = p->t->runs_len;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return -errno;
	p->start.files = l;
	if (l.rlim_cur < jobs * FILES_EACH + FILES_OWN && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = jobs * FILES_EACH + FILES_OWN < l.rlim_max ? jobs * FILES_EACH + FILES_OWN : l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	if (jobs * FILES_EACH + FILES_OWN > l.rlim_cur)
		jobs = l.rlim_cur > FILES_OWN ? (l.rlim_cur - FILES_OWN) / FILES_EACH : 0;
	p->t->jobs = jobs ? (uint32_t)jobs : 1;
	return 0;
}

/* see test.h */
int
test_pool(struct tests *t, const struct test_signals *signals)
{
	struct pool p = { .t = t, .signal_fd = signals->fd, .start = { .signals = signals->before } };
	size_t i;
	int r;

	for (i = 0; t->o.fail_fast && i < t->worlds_len; i++)
		p.ending = p.ending || t->worlds[i].problem;
	test_live_init(&p.live, t);
	if ((r = measure(&p)) < 0)
		return r;
	p.slots = calloc(t->jobs, sizeof(*p.slots));
	p.now = calloc(t->jobs, sizeof(*p.now));
	p.fds = calloc(1 + 3 * (size_t)t->jobs, sizeof(*p.fds));
	r = -ENOMEM;
	if (p.slots && p.now && p.fds) {
		run_all(&p);
		r = 0;
	}
	free(p.slots);
	free(p.now);
	free(p.fds);
	return r;
}
