/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_process.c - checks of kind process: did the workflow crash, and how large did it grow.
 *
 * Node ends a process for an uncaught exception, or a rejection that nobody handles, with a report on stderr whose last line is
 * "Node.js v22.1.0", and status 1 (7 when the handler of such exceptions throws).  Nothing else writes that line.  The status alone
 * says nothing: 1 is also what a program chooses.  With --unhandled-rejections=warn it writes a warning and goes on.  A crash of the
 * runtime itself is a signal, or what a shell makes of it. */
#include <cJSON.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/diag.h"
#include "host/json.h"
#include "host/redact.h"

#define LINE_MAX_KEPT 256u

struct check_trace {
	char line[LINE_MAX_KEPT + 1];   /* what the current one began with */
	char before[LINE_MAX_KEPT + 1]; /* the last one that was not empty and no part of a stack */
	char error[LINE_MAX_KEPT + 1];  /* of the first report: what was thrown */
	size_t len;
	uint64_t reports, rejections, fatal;
};

struct check_trace *
check_trace_new(void)
{
	return calloc(1, sizeof(struct check_trace));
}

void
check_trace_free(struct check_trace *t)
{
	free(t);
}

/* "Node.js v22.18.0", "Node.js v23.0.0-nightly20240603". */
static bool
is_report_end(const char *line)
{
	const char *p = line;
	int i;

	if (strncmp(p, "Node.js v", 9) != 0)
		return false;
	p += 9;
	for (i = 0; i < 3; i++) {
		size_t digits = strspn(p, "0123456789");

		if (digits == 0 || digits > 4 || (i < 2 && p[digits] != '.'))
			return false;
		p += digits + (i < 2);
	}
	return *p == '\0' || *p == '-' || *p == '\r';
}

/* "(node:123) UnhandledPromiseRejectionWarning: ..." */
static bool
is_rejection(const char *line)
{
	size_t digits;

	if (strncmp(line, "(node:", 6) != 0)
		return false;
	digits = strspn(line + 6, "0123456789");
	return digits > 0 && strncmp(line + 6 + digits, ") UnhandledPromiseRejectionWarning", 34) == 0;
}

static void
line_end(struct check_trace *t)
{
	t->line[t->len] = '\0';
	t->len = 0;
	if (is_report_end(t->line)) {
		if (t->reports++ == 0)
			memcpy(t->error, t->before, sizeof(t->error));
	} else if (is_rejection(t->line)) {
		if (t->rejections++ == 0 && t->reports == 0)
			memcpy(t->error, strchr(t->line, ')') + 2, strlen(strchr(t->line, ')') + 2) + 1);
	} else if (strncmp(t->line, "FATAL ERROR: ", 13) == 0) {
		if (t->fatal++ == 0 && t->reports == 0 && t->rejections == 0)
			memcpy(t->error, t->line, sizeof(t->error));
	}
	if (t->line[0] != '\0' && t->line[0] != ' ' && t->line[0] != '\t' && t->line[0] != '}' && t->line[0] != '(')
		memcpy(t->before, t->line, sizeof(t->before));
}

void
check_trace_add(struct check_trace *t, const void *data, size_t len)
{
	const char *p = data, *end;
	size_t n, kept;

	while (len > 0) {
		end = memchr(p, '\n', len);
		n = end ? (size_t)(end - p) : len;
		kept = n < LINE_MAX_KEPT - t->len ? n : LINE_MAX_KEPT - t->len;
		memcpy(t->line + t->len, p, kept);
		t->len += kept;
		p += n;
		len -= n;
		if (!end)
			continue;
		line_end(t);
		p++;
		len--;
	}
}

/* A signal of a crash, or the status that a shell makes of one; 0: neither. */
static int
crash(const struct plan_exit *e)
{
	static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS };
	size_t i;

	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (e->signal == fatal[i] || (e->signal == 0 && e->code == 128 + fatal[i]))
			return fatal[i];
	return 0;
}

static int
uncaught(const struct check_trace *t, const struct check_facts *f, const struct redact *redact, struct check_result *r)
{
	char error[2 * LINE_MAX_KEPT], shown[3 * LINE_MAX_KEPT];
	int signal = crash(f->exit);

	r->held = false;
	snprintf(error, sizeof(error), "%s", t->error);
	redact_text(redact, error, sizeof(error));
	escape_text(error, strlen(error), shown, sizeof(shown));
	if (t->reports)
		return check_actual(r, "Node ended a process for an uncaught exception: %.300s", shown);
	if (t->rejections)
		return check_actual(r, "Node warned of a rejection that nobody handles: %.300s", shown);
	if (t->fatal)
		return check_actual(r, "Node ended: %.300s", shown);
	if (signal)
		return check_actual(r, "the process crashed: SIG%s", sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
	r->held = true;
	return 0;
}

int
check_process_finish(struct check *c, const struct check_facts *f, const struct redact *redact, struct check_result *r)
{
	bool want = json_get_true(c->def->json, "no_uncaught");
	uint64_t most = 0;
	bool limit = json_get_u64(c->def->json, "max_rss_mb", UINT32_MAX, &most);
	char rss[64] = "";
	int rc;

	if (limit)
		snprintf(rss, sizeof(rss), "%sat most %" PRIu64 " MiB of memory", want ? ", " : "", most);
	if ((rc = check_expected(r, "%s%s", want ? "no uncaught exception, no crash" : "", rss)) < 0)
		return rc;
	if (want)
		check_rests_on(r, "/outcome/stderr");
	check_rests_on(r, limit ? "/outcome/resources/max_rss_kib" : "/outcome/exit");
	if (!f->exit)
		return check_unknown(r, "the workflow's end is not recorded");
	if (f->exit->stage != EXEC_OK)
		return check_actual(r, "the workflow could not be started: %s %s", exec_stage_name(f->exit->stage),
				    f->exit->errno_name);
	if (want && f->truncated[TRUNCATED_STDERR])
		return check_unknown(r, "stderr was cut off: a report may be missing");
	if (c->trace->len)
		line_end(c->trace);
	r->held = true;
	if (want && ((rc = uncaught(c->trace, f, redact, r)) < 0 || !r->held))
		return rc;
	if (limit && f->exit->max_rss_kib == 0) {
		return check_unknown(r, "the size of the workflow was not measured");
	}
	if (limit)
		r->held = f->exit->max_rss_kib <= most * 1024;
	return check_actual(r, "%s%" PRIu64 " MiB at most", want ? "none; " : "", (f->exit->max_rss_kib + 1023) / 1024);
}
