/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_end.c - checks that are judged once, at the end: exit, no-egress, and the built-in ones. */
#include <cJSON.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/json.h"

static bool
signal_is(const cJSON *want, uint8_t signal)
{
	const char *name = sigabbrev_np(signal);
	uint64_t number;

	if (json_as_u64(want, 64, &number))
		return signal == number;
	if (!cJSON_IsString(want) || !name)
		return false;
	return strcmp(want->valuestring, name) == 0 ||
	       (strncmp(want->valuestring, "SIG", 3) == 0 && strcmp(want->valuestring + 3, name) == 0);
}

static bool
code_is(const cJSON *want, int32_t code)
{
	const cJSON *v;
	uint64_t number;

	if (cJSON_IsArray(want)) {
		cJSON_ArrayForEach(v, want)
		{
			if (json_as_u64(v, 255, &number) && (int32_t)number == code)
				return true;
		}
		return false;
	}
	return json_as_u64(want, 255, &number) && (int32_t)number == code;
}

int
check_exit_finish(const struct world_check *def, const struct check_facts *f, struct check_result *r)
{
	const cJSON *code = json_get(def->json, "code"), *signal = json_get(def->json, "signal");
	const struct plan_exit *e = f->exit;
	char *want = json_print(code ? code : signal);
	int rc;

	rc = check_expected(r, "%s %.200s", code ? "exit code" : "signal", want ? want : "?");
	free(want);
	if (rc < 0)
		return rc;
	check_rests_on(r, "/outcome/exit");
	if (!e)
		return check_unknown(r, "the workflow's end is not recorded");
	if (e->stage != EXEC_OK)
		return check_actual(r, "the workflow could not be started: %s %s", exec_stage_name(e->stage),
				    e->errno_name);
	if (e->ended_by == ENDED_WORLD && code) {
		r->held = true;
		return check_actual(r, "ended as workflow.ends says, so the code is not judged");
	}
	if (e->ended_by != ENDED_ITSELF)
		return check_actual(r, "it did not end by itself: %s", exit_ended_by_name(e->ended_by));
	if (code)
		r->held = e->signal == 0 && code_is(code, e->code);
	else
		r->held = e->signal != 0 && signal_is(signal, e->signal);
	if (e->signal)
		return check_actual(r, "signal %u (SIG%s)", e->signal,
				    sigabbrev_np(e->signal) ? sigabbrev_np(e->signal) : "?");
	return check_actual(r, "exit code %d", e->code);
}

/* What was denied, for a person. */
static int
egress_actual(const struct check_facts *f, uint64_t workflow, uint64_t twins, struct check_result *r)
{
	const cJSON *rows = json_get(f->denied, "rows"), *row = rows ? rows->child : NULL;
	char first[160] = "", name[360] = "", more[40] = "";
	uint64_t port = 0;

	if (row && !r->held && workflow + twins > 0) {
		json_get_u64(row, "port", 65535, &port);
		snprintf(first, sizeof(first), "; first: %.20s to %.60s port %u",
			 json_get_text(row, "protocol") ? json_get_text(row, "protocol") : "?",
			 json_get_text(row, "destination") ? json_get_text(row, "destination") : "?", (unsigned)port);
	}
	if (f->names_refused > 1)
		snprintf(more, sizeof(more), ", and %" PRIu64 " more", f->names_refused - 1);
	if (f->names_refused)
		snprintf(name, sizeof(name), "asked for %.253s (%.30s), refused%s", f->first_name ? f->first_name : "?",
			 f->first_type ? f->first_type : "?", more);
	if (f->names_refused && workflow == 0 && twins == 0)
		return check_actual(r, "%s", name);
	return check_actual(r, "%s%s%" PRIu64 " of the workflow, %" PRIu64 " of the twins%s", name, *name ? "; " : "",
			    workflow, twins, first);
}

/* Denied packets that may be the workflow's without standing in its count: those that a routing header led back in, and those to
 * closed ports and behind a translation, where the count is common to all and a record, which tells the owner, is missing. */
static bool
egress_ownerless(const struct check_facts *f, const cJSON *total, char *text, size_t size)
{
	uint64_t forward = 0, closed = 0, postrouting = 0, unrecorded = 0;

	(void)json_get_u64(total, "forward", UINT64_MAX, &forward);
	(void)json_get_u64(total, "closed", UINT64_MAX, &closed);
	(void)json_get_u64(total, "postrouting", UINT64_MAX, &postrouting);
	(void)json_get_u64(f->denied, "unrecorded", UINT64_MAX, &unrecorded);
	if (forward > 0)
		snprintf(text, size, "%" PRIu64 " packets that were to be forwarded", forward);
	else if (unrecorded > 0 && (closed > 0 || postrouting > 0))
		snprintf(text, size, "denied packets of which no record tells the owner");
	else
		return false;
	return true;
}

int
check_egress_finish(const struct check_facts *f, struct check_result *r)
{
	const cJSON *total = json_get(f->denied, "total"), *row;
	const char *owner;
	char text[120];
	uint64_t workflow, twins;
	int rc;

	if ((rc = check_expected(r, "no packet of the workflow or the twins was denied, no name refused")) < 0)
		return rc;
	check_rests_on(r, "/boundary/denied_egress");
	check_rests_on(r, "/boundary/refused_names");
	if (!f->sandbox)
		return check_unknown(r, "cannot be judged without a boundary");
	if (!json_get_u64(total, "workflow", UINT64_MAX, &workflow) ||
	    !json_get_u64(total, "twins", UINT64_MAX, &twins))
		return check_unknown(r, "no count of denied packets was recorded");
	r->held = workflow == 0 && twins == 0 && f->names_refused == 0;
	if (r->held && egress_ownerless(f, total, text, sizeof(text))) {
		return check_unknown(r, "%s", text);
	}
	cJSON_ArrayForEach(row, json_get(f->denied, "rows"))
	{
		owner = json_get_text(row, "owner");
		if (workflow == 0 && twins == 0 &&
		    (!owner || strcmp(owner, "workflow") == 0 || strcmp(owner, "twins") == 0)) {
			return check_unknown(r, "a denied packet is listed that the totals do not count");
		}
	}
	if (r->held && f->truncated[TRUNCATED_OPERATIONS]) {
		return check_unknown(r, "the operations are not whole: a refused name may be missing");
	}
	r->idle = r->held && f->operations == 0 && (!f->exit || f->exit->stdout_bytes + f->exit->stderr_bytes == 0);
	return egress_actual(f, workflow, twins, r);
}

void
check_memory_text(const struct check_facts *f, char *out, size_t size)
{
	if (!f->oom_kills)
		snprintf(out, size, "%s", "");
	else if (f->oom_elsewhere)
		snprintf(out, size, "the machine's memory ended below the memory limit of %" PRIu64 " MiB",
			 f->memory_most >> 20);
	else
		snprintf(out, size, "memory limit of %" PRIu64 " MiB reached", f->memory_most >> 20);
}

static int
within_limits(const struct check_facts *f, struct check_result *r)
{
	static const char *const names[8] = { "events", "stdout",         "stderr", "operations",
					      "state",  "denied packets", "?",      "?" };
	const struct plan_exit *e = f->exit;
	char memory[96];
	size_t i;

	r->held = false;
	check_memory_text(f, memory, sizeof(memory));
	if (memory[0])
		return check_actual(r, "%s: %s", memory,
				    e && e->oom ? "the workflow was killed" : "a process of the run was killed");
	if (f->pids_refused)
		return check_actual(r, "process limit of %u reached: %" PRIu64 " not started", f->pids,
				    f->pids_refused);
	if (e && e->ended_by == ENDED_OUTPUT_LIMIT)
		return check_actual(
			r, "output limit (output_bytes) reached: truncated at the limit, the workflow was killed");
	for (i = 0; i < 8; i++)
		if (f->truncated[i])
			return check_actual(r, "%s: truncated at the limit", names[i]);
	if (!e)
		return check_actual(r, "the workflow's end is not recorded");
	if (e->ended_by == ENDED_OOM || e->oom)
		return check_actual(r, "memory_mb was reached: the workflow was killed");
	if (e->ended_by == ENDED_ITSELF && e->signal == SIGXFSZ)
		return check_actual(
			r, "file size limit reached: a file grew beyond it, the workflow was killed (SIGXFSZ)");
	r->held = true;
	return check_actual(r, "no limit was reached");
}

static int
faults_fired(const struct check_facts *f, struct check_result *r)
{
	r->held = f->faults_silent == 0;
	if (f->faults == 0)
		return check_actual(r, "none is declared");
	if (!r->held)
		return check_actual(r, "%" PRIu64 " of %" PRIu64 " did not fire; first: %s", f->faults_silent,
				    f->faults, f->first_silent ? f->first_silent : "?");
	if (f->faults_idle)
		return check_actual(r, "%" PRIu64 " of %" PRIu64 " fired; the others need not (must_fire: false)",
				    f->faults_fired, f->faults);
	return check_actual(r, "%" PRIu64 " of %" PRIu64 " fired", f->faults_fired, f->faults);
}

int
check_built_in(size_t i, const struct check_facts *f, struct check_result *r)
{
	static const char *const ids[CHECK_BUILT_IN + 1] = { "faults-fired", "no-unmatched", "within-limits",
							     "twins-answered", "triggers-answered" };
	static const char *const expected[CHECK_BUILT_IN + 1] = {
		"every declared fault fired", "every operation has a route", "nothing truncated, no limit reached",
		"the twins served to the end", "the workflow answered every trigger"
	};
	int rc;

	r->id = r->kind = ids[i];
	if ((rc = check_expected(r, "%s", expected[i])) < 0)
		return rc;
	switch (i) {
	case 0:
		check_rests_on(r, "/faults");
		return faults_fired(f, r);
	case 1:
		r->held = f->unmatched == 0;
		if (!r->held)
			check_rests_on(r, "/operations/%" PRIu64, f->first_unmatched);
		return check_actual(r, "%" PRIu64 " of %" PRIu64 " operations without a route%s%s", f->unmatched,
				    f->operations, f->unmatched > 0 && f->unmatched_text ? ": " : "",
				    f->unmatched > 0 && f->unmatched_text ? f->unmatched_text : "");
	case 2:
		check_rests_on(r, "/integrity/truncated");
		return within_limits(f, r);
	case 4:
		r->held = f->trigger_left == NULL;
		check_rests_on(r, "/operations");
		if (f->trigger_left)
			return check_actual(r, "trigger %s %s", f->trigger_left,
					    f->trigger_sent ? "got no answer" : "was never sent: the run ended before");
		return check_actual(r, "%zu of %zu", f->triggers_answered, f->triggers);
	default:
		r->held = f->twins_done;
		check_rests_on(r, "/state/final");
		return check_actual(r, f->twins_done ? "they did" : "they did not hand over their final state");
	}
}
