/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_child.c - see test_child.h. */
#include "host/test_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/job.h"
#include "host/options.h"

#define RECORD_FD 3

/* ---- in the new process --------------------------------------------------------------------------------------------------- */

/* Nothing but its own pipes: what this program holds for others (reports, other runs) is not the run's business. */
static int
settle(const struct test_start *s, int record, int said, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(said, STDERR_FILENO) < 0 || (record != RECORD_FD && dup3(record, RECORD_FD, O_CLOEXEC) < 0))
		return -errno;
	closefrom(RECORD_FD + 1);
	(void)setpgid(0, 0);
	(void)setrlimit(RLIMIT_NOFILE, &s->files);
	if ((r = loop_signals_start()) < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || sigprocmask(SIG_SETMASK, &s->signals, NULL) < 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH; /* it died before it could be told to us */
}

static int
hand_back(const char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= (size_t)n) {
		n = write(RECORD_FD, data, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			n = 0;
	}
	return 0;
}

static int
hand_back_record(const struct job *j, const struct test_record *r)
{
	char *text = NULL, head[64];
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		return -ENOMEM;
	rc = test_record_write(f, j, r);
	if (fclose(f) != 0 && rc == 0)
		rc = -ENOMEM;
	snprintf(head, sizeof(head), "record %zu\n", len);
	if (rc == 0)
		rc = hand_back(head, strlen(head));
	if (rc == 0)
		rc = hand_back(text, len);
	free(text);
	return rc;
}

/* "not held: exit, one-refund", or the sentence of the receipt; with outcomes always that. */
static void
say_why(const struct job *j, char *out, size_t size)
{
	size_t i, n = 0, count = 0;

	if (j->verdict.status != STATUS_FAILED || j->outcomes.len) {
		snprintf(out, size, "%s", j->verdict.status == STATUS_PASSED ? "" : j->verdict.why);
		return;
	}
	out[0] = '\0';
	for (i = 0; i < j->checks.results_len && n < size; i++)
		if (!j->checks.results[i].held && strcmp(j->checks.results[i].role, "required") == 0)
			n += (size_t)snprintf(out + n, size - n, "%s%.64s",
					      count++ ? ", " : "not held: ", j->checks.results[i].id);
	if (count == 0)
		snprintf(out, size, "%s", j->verdict.why);
}

static enum test_status
status_of(enum run_status s)
{
	switch (s) {
	case STATUS_PASSED:
		return TEST_PASSED;
	case STATUS_FAILED:
		return TEST_FAILED;
	case STATUS_ABORTED:
		return TEST_ABORTED;
	case STATUS_CANCELLED:
		return TEST_CANCELLED;
	case STATUS_TIMEOUT:
		return TEST_TIMEOUT;
	case STATUS_ERROR:
		break;
	}
	return TEST_ERROR;
}

static bool
is_judged(enum test_status s)
{
	return s == TEST_PASSED || s == TEST_FAILED;
}

/* Nothing ran: what was asked (2), this machine (4), or a signal. */
static int
refused(struct job *j, int status)
{
	struct test_record r = { .status = TEST_INVALID, .exit_code = status, .why = j->diag.problem };
	int number = loop_signal_take();

	if (number) {
		r.status = TEST_CANCELLED;
		r.exit_code = status = number == SIGINT ? 130 : 143;
		r.why = "ended before it began";
	} else if (status != 2) {
		r.status = TEST_ERROR;
	}
	return hand_back_record(j, &r) < 0 ? 4 : status;
}

/* The run, as `run` does it.  Returns the exit status. */
static int
run(struct job *j)
{
	char begin[160], why[600], text[COMPARE_TEXT_MAX];
	struct test_record r = { 0 };
	int status = job_prepare(j);

	if (status)
		return refused(j, status);
	snprintf(begin, sizeof(begin), "begin %s %" PRIu64 " %" PRIu64 "\n", j->run_id, j->stage.bytes,
		 job_longest_ms(j));
	if (hand_back(begin, strlen(begin)) < 0)
		log_line(LOG_LEVEL_WARN, "the program that started this run is gone");
	job_execute(j);
	r.exit_code = status = job_conclude(j);
	r.status = status_of(j->verdict.status);
	say_why(j, why, sizeof(why));
	r.why = why;
	r.run_id = j->run_id;
	r.fingerprint = j->fingerprint;
	r.receipt = j->store.path;
	if (j->o.reference && is_judged(r.status)) {
		r.compared = true;
		r.like = reference_compare(j->o.reference, j->fingerprint, j->store.path, text);
		r.difference = r.like ? NULL : text;
		if (!r.like && r.status == TEST_PASSED) {
			snprintf(why, sizeof(why), "not reproduced: %.500s", text);
			r.status = TEST_FAILED;
			r.exit_code = status = 1;
		}
	}
	return hand_back_record(j, &r) < 0 ? 4 : status;
}

static void
set_up(struct job *j, const struct tests *t, size_t i, const struct reference *reference)
{
	const struct test_run *r = &t->runs[i];
	const struct test_world *w = &t->worlds[r->world];

	j->o.world = w->path;
	j->o.node = t->o.node;
	j->o.receipts = t->o.receipts;
	j->o.timeout_ms = t->o.timeout_ms;
	j->o.series = true;
	j->o.again = i != w->run;
	j->o.seed = r->seed;
	j->o.seed_given = w->swept || t->o.seed_given;
	j->o.seed_from = w->swept ? "sweep" : t->o.seed_given ? "option" : NULL;
	j->o.reference = reference;
	j->ops = t->o.ops;
	j->sandbox = t->o.sandbox;
	j->guest = t->o.guest;
	j->guest_len = t->o.guest_len;
}

/* What process dead held: nobody else's. */
static int
reap_one(const struct lease *l, void *arg)
{
	const struct backend_ops *ops = l->backend[0] ? backend_find(l->backend) : NULL;
	const pid_t *dead = arg;
	struct cleanup c = { 0 };

	if (!ops || l->host_pid != (uint64_t)*dead || lease_is_held(l))
		return 0;
	if (ops->reap(l, &c) == 0 && c.confirmed)
		return 0;
	log_line(LOG_LEVEL_WARN, "its sandbox is left: %s", c.reason);
	return -EBUSY;
}

/* ---- starting one --------------------------------------------------------------------------------------------------------- */

static int
open_pipes(int record[2], int said[2])
{
	int r;

	if (pipe2(record, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(said, O_CLOEXEC) < 0) {
		r = -errno;
		close(record[0]);
		close(record[1]);
		return r;
	}
	(void)fcntl(record[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(said[0], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Forks.  1 in the new process, which is settled; 0 in this one; -errno. */
static int
launch(const struct test_start *s, struct test_child *out)
{
	int record[2] = { -1, -1 }, said[2] = { -1, -1 }, r = open_pipes(record, said);
	pid_t parent = getpid();

	if (r < 0)
		return r;
	out->pid = fork();
	if (out->pid == 0) {
		if ((r = settle(s, record[1], said[1], parent)) < 0) {
			log_line(LOG_LEVEL_ERROR, "the run cannot begin: %s", strerror(-r));
			_exit(4);
		}
		return 1;
	}
	r = out->pid < 0 ? -errno : 0;
	close(record[1]);
	close(said[1]);
	out->record = record[0];
	out->said = said[0];
	out->pidfd = r == 0 ? (int)syscall(SYS_pidfd_open, out->pid, 0) : -1;
	if (r == 0 && out->pidfd < 0)
		r = -errno;
	if (r < 0) {
		if (out->pid > 0)
			kill(out->pid, SIGTERM); /* not yet waited for, so it is still ours */
		close(out->record);
		close(out->said);
	}
	return r;
}

/* see test_child.h */
int
test_child_run(const struct tests *t, size_t i, const struct reference *reference, const struct test_start *s,
	       struct test_child *out)
{
	static struct job job; /* touched in the new process alone */
	int r = launch(s, out);

	if (r <= 0)
		return r;
	set_up(&job, t, i, reference);
	r = run(&job);
	job_wipe(&job);
	_exit(r);
}

/* see test_child.h */
int
test_child_reap(pid_t pid, const struct test_start *s, struct test_child *out)
{
	int r = launch(s, out);

	if (r <= 0)
		return r;
	_exit(lease_each(reap_one, &pid) < 0 ? 4 : 0);
}
