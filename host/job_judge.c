/* SPDX-License-Identifier: GPL-2.0-or-later
 * job_judge.c - what a run came to: the checks, what expressions say of the draft of its receipt, the outcomes, the verdict. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/job.h"
#include "host/jq_run.h"
#include "host/redact.h"

/* Killed, not by us, while the kernel killed for lack of memory: the guest sees only the signal. */
static void
judge_memory(struct job *j, struct check_facts *f)
{
	struct plan_exit *x = &j->evidence.exit;
	char memory[96], why[320];

	f->memory_most = j->facts.memory_most;
	f->oom_kills = j->facts.oom_kills;
	f->oom_elsewhere = j->facts.oom_elsewhere;
	f->pids_refused = j->facts.pids_refused;
	f->pids = j->limits.pids;
	if (!f->oom_kills)
		return;
	if (j->evidence.have_exit && x->ended_by == ENDED_ITSELF && x->signal == SIGKILL)
		x->oom = 1;
	if (!j->run.facts.cause[CAUSE_ERROR])
		return;
	/* The guest or the twins were hit: what followed from it is not the reason. */
	check_memory_text(f, memory, sizeof(memory));
	snprintf(why, sizeof(why), "%s: %.200s", memory, j->run.facts.why[CAUSE_ERROR]);
	memcpy(j->run.facts.why[CAUSE_ERROR], why, sizeof(why));
}

/* A limit that was reached is named, not only counted. */
static void
name_limit(struct job *j)
{
	size_t i, len = strlen(j->verdict.why);

	for (i = 0; j->verdict.status == STATUS_FAILED && i < j->checks.results_len; i++) {
		const struct check_result *c = &j->checks.results[i];

		if (strcmp(c->id, "within-limits") == 0 && !c->held)
			snprintf(j->verdict.why + len, sizeof(j->verdict.why) - len, ": %.250s", c->actual);
	}
}

/* ---- expressions ------------------------------------------------------------------------------------------------------ */

/* Why none is evaluated at all, or NULL. */
static const char *
against_evaluating(const struct job *j)
{
	const struct evidence *ev = &j->evidence;
	uint64_t bytes = 0;
	size_t i;

	if (j->run.facts.cause[CAUSE_SIGNAL])
		return "it was not evaluated: the run was cancelled";
	if (ev->ops_len > JQ_OPERATIONS_MAX)
		return "it was not evaluated: the run has more than 20000 operations";
	for (i = 0; i < ev->ops_len; i++)
		bytes += ev->ops[i].place.len;
	for (i = 0; i < 2 * j->world.services_len; i++)
		bytes += ev->states[i].place.len;
	return bytes > JQ_INPUT_MAX ? "it was not evaluated: the operations and states are too large" : NULL;
}

/* The receipt as far as it is known, in memory that others cannot change.  0 or -errno. */
static int
draft(struct job *j, uint64_t took_ms, char **map, size_t *len)
{
	struct receipt r;
	struct stat st = { 0 };
	int fd = memfd_create("draft", MFD_CLOEXEC), rc;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	void *at;

	if (!f) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	job_receipt(j, took_ms, &r);
	r.draft = true;
	rc = receipt_write(f, &r);
	if (rc == 0 && fflush(f) != 0)
		rc = -errno;
	if (rc == 0 && fstat(fd, &st) < 0)
		rc = -errno;
	if (rc == 0) {
		*len = (size_t)st.st_size;
		at = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			rc = -errno;
		else
			*map = at;
	}
	fclose(f);
	return rc;
}

static int
evaluate(struct job *j, uint64_t took_ms, struct jq_task *tasks, size_t n)
{
	const char *against = against_evaluating(j);
	char *map = NULL;
	size_t len = 0, i;
	int r = 0;

	if (!against) {
		r = draft(j, took_ms, &map, &len);
		if (r == 0 && map)
			r = jq_run_all(tasks, n, map, len);
		if (map)
			munmap(map, len);
		return r;
	}
	for (i = 0; r == 0 && i < n; i++) {
		tasks[i].op = UINT32_MAX;
		tasks[i].verdict = JQ_TROUBLE;
		tasks[i].text = strdup(against);
		r = tasks[i].text ? 0 : -ENOMEM;
	}
	return r;
}

/* What rests on expressions: the rest of the checks, and the outcomes. */
static int
judge_outcomes(struct job *j, uint64_t took_ms)
{
	struct jq_task *tasks;
	size_t n;
	int r = checks_jq_tasks(&j->checks, &tasks, &n);

	if (r == 0 && n)
		r = evaluate(j, took_ms, tasks, n);
	if (r == 0)
		r = checks_jq_take(&j->checks, tasks);
	if (r == 0)
		r = outcomes_judge(&j->outcomes, &j->checks, tasks);
	if (tasks)
		jq_run_wipe(tasks, n);
	free(tasks);
	return r;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------ */

/* Nothing but the table decides; what could not be evaluated or kept is an error, whatever the run was. */
void
job_judge(struct job *j, uint64_t took_ms)
{
	struct run_outcome outcome;
	struct check_facts facts;
	struct run_event ev = { .kind = RUN_EV_BAD };
	int r;

	loop_signals(&j->loop);
	r = evidence_finish(&j->evidence);
	if (r == 0)
		r = spool_sync(&j->spool);
	evidence_facts(&j->evidence, &facts);
	judge_memory(j, &facts);
	if (r == 0)
		r = checks_finish(&j->checks, &facts);
	if (r == 0)
		r = judge_outcomes(j, took_ms);
	if (r == 0)
		r = j->spool.error;
	if (r < 0 && !j->run.facts.cause[CAUSE_ERROR]) {
		j->run.state = RUN_CLOSING; /* so that it is taken */
		ev.why = j->spool.error == -EBADMSG ? "the event file was changed by somebody else"
			 : j->spool.error           ? "the event file could not be written"
						    : "the checks could not be evaluated";
		(void)run_step(&j->run, &ev, loop_now_ms());
	}
	if (!run_is_judged(&j->run.facts))
		outcomes_forget(&j->outcomes);
	outcomes_summary(&j->outcomes, &outcome);
	run_verdict(&j->run.facts, checks_required(&j->checks), checks_not_held(&j->checks),
		    j->world.outcomes_len ? &outcome : NULL, &j->verdict);
	name_limit(j);
	redact_text(j->redact, j->verdict.why, sizeof(j->verdict.why));
	redact_text(j->redact, j->facts.guest_stderr, sizeof(j->facts.guest_stderr));
}
