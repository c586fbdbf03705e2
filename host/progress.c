/* SPDX-License-Identifier: GPL-2.0-or-later
 * progress.c - see progress.h. */
#include "host/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/loop.h"

void
progress_line(struct progress *p, const char *phase, const char *format, ...)
{
	uint64_t now = loop_now_ms(), took = now - p->last_ms;
	char text[600];
	va_list ap;

	p->last_ms = now;
	if (p->quiet)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	log_line(LOG_LEVEL_PHASE, "  %-10s %-52s %6" PRIu64 " ms", phase, text, took);
}

static const char *
colour(enum run_status s)
{
	if (!log_is_colour())
		return "";
	return s == STATUS_PASSED ? "\033[1;32m" : s == STATUS_FAILED ? "\033[1;31m" : "\033[1;33m";
}

static void
explain(const struct check_result *c)
{
	char rests[CHECK_RESTS_MAX * 40] = "";
	size_t i, n = 0;

	for (i = 0; i < c->rests_len && n < sizeof(rests); i++)
		n += (size_t)snprintf(rests + n, sizeof(rests) - n, "%s%.60s", i ? " " : "", c->rests[i]);
	log_line(LOG_LEVEL_PHASE, "  %s%s%s: expected %s", c->id, c->because ? " - " : "", c->because ? c->because : "",
		 c->expected ? c->expected : "?");
	log_line(LOG_LEVEL_PHASE, "  %*s  actual   %s%s%s%s", (int)strlen(c->id), "", c->actual ? c->actual : "?",
		 n ? "  (" : "", rests, n ? ")" : "");
}

void
progress_verdict(const struct run_verdict *v, const struct checks *c, bool sandbox, uint64_t took_ms,
		 const char *receipt)
{
	const char *paint = colour(v->status), *plain = *paint ? "\033[0m" : "";
	bool judged = v->status == STATUS_PASSED || v->status == STATUS_FAILED;
	char why[500], place[4300], line[5400];
	size_t i, held = c->results_len - checks_not_held(c);
	ssize_t ignored;
	int n;

	escape_text(v->why, strlen(v->why), why, sizeof(why));
	escape_text(receipt ? receipt : "none", receipt ? strlen(receipt) : 4, place, sizeof(place));
	if (judged)
		n = snprintf(line, sizeof(line), "%s%s%s%s  %zu of %zu checks  (%.2f s)  receipt: %s\n", paint,
			     run_status_name(v->status), plain,
			     v->status == STATUS_PASSED && !sandbox ? ", not sandboxed" : "", held, c->results_len,
			     (double)took_ms / 1000, place);
	else
		n = snprintf(line, sizeof(line), "%s%s%s  %s  (%.2f s)  receipt: %s\n", paint,
			     run_status_name(v->status), plain, why, (double)took_ms / 1000, place);
	ignored = write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	(void)ignored;
	for (i = 0; judged && i < c->results_len; i++)
		if (!c->results[i].held)
			explain(&c->results[i]);
}
