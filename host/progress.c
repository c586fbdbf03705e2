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
#include "host/wrap.h"

/* Columns for the text of a phase: the times stand below each other, and a line fits the terminal. */
static int
room(void)
{
	unsigned width = isatty(STDERR_FILENO) == 1 ? wrap_width(STDERR_FILENO, 80) : 80;

	return width >= 76 ? 52 : width >= 34 ? (int)width - 24 : 10;
}

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
	log_line(LOG_LEVEL_PHASE, "  %-10s %-*s %6" PRIu64 " ms", phase, room(), text, took);
}

static const char *
colour(enum run_status s)
{
	if (!log_is_colour())
		return "";
	return s == STATUS_PASSED ? "\033[1;32m" : s == STATUS_FAILED ? "\033[1;31m" : "\033[1;33m";
}

/* see progress.h */
void
progress_rests(const struct check_result *c, char *out, size_t size)
{
	static const char prefix[] = "/operations/";
	size_t i, n, operations = 0;
	const char *place = NULL;

	out[0] = '\0';
	for (i = 0; i < c->rests_len; i++)
		if (strncmp(c->rests[i], prefix, sizeof(prefix) - 1) == 0)
			operations++;
		else if (!place)
			place = c->rests[i];
	if (c->rests_len == 0)
		return;
	n = (size_t)snprintf(out, size, "  (%.160s%s%s%s", place ? place : "", place && operations ? "; " : "",
			     operations ? "operation" : "", operations > 1 ? "s" : "");
	for (i = operations = 0; i < c->rests_len && n < size; i++)
		if (strncmp(c->rests[i], prefix, sizeof(prefix) - 1) == 0)
			n += (size_t)snprintf(out + n, size - n, "%s%.20s", operations++ ? ", " : " ",
					      c->rests[i] + sizeof(prefix) - 1);
	if (n < size)
		snprintf(out + n, size - n, "%s)", c->rests_len >= CHECK_RESTS_MAX && operations ? ", ..." : "");
}

/* see progress.h */
void
progress_item(unsigned width, const char *label, size_t indent, const char *format, ...)
{
	char text[2400];
	const char *at = text;
	va_list ap;
	size_t n;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	do {
		n = width ? wrap_fitting(at, width > indent + 10 ? width - indent : 10) : strlen(at);
		log_line(LOG_LEVEL_PHASE, "%-*s%.*s", (int)indent, label, (int)n, at);
		label = "";
		at += n;
		at += strspn(at, " ");
	} while (*at);
}

static void
explain(const struct check_result *c, unsigned width)
{
	char rests[400];

	progress_rests(c, rests, sizeof(rests));
	progress_item(width, "", 2, "%.200s%s%.600s", c->id, c->because ? ": " : "", c->because ? c->because : "");
	progress_item(width, "    expected", 14, "%.1000s", c->expected ? c->expected : "?");
	progress_item(width, "    actual", 14, "%.1000s%s", c->actual ? c->actual : "?", rests);
}

/* Checks that held although nothing happened that they could have been about. */
static void
nothing(const struct checks *c, unsigned width)
{
	char text[1200] = "";
	size_t i, n = 0, len = 0;

	for (i = 0; i < c->results_len; i++) {
		if (!c->results[i].held || !c->results[i].idle)
			continue;
		if (n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.64s", len ? ", " : "", c->results[i].id);
		len++;
	}
	if (len)
		progress_item(width, "note:", 6, "%zu check%s rest%s on nothing that happened: %.1100s", len,
			      len == 1 ? "" : "s", len == 1 ? "s" : "", text);
}

/* Conditions of an outcome that are not met: of checks all that is known, of expressions what they gave. */
static void
explain_outcome(const struct outcome_result *o, const struct checks *c, unsigned width)
{
	size_t i;

	for (i = 0; i < o->def->when_len; i++) {
		const struct outcome_item *item = &o->items[i];

		if (item->state == OUTCOME_MET)
			continue;
		if (!o->def->when[i].expr) {
			explain(&c->results[o->def->when[i].check], width);
			continue;
		}
		progress_item(width, "", 2, "outcome %.64s", o->def->id);
		progress_item(width, "    expected", 14, "jq: %.1000s", item->name);
		progress_item(width, "    actual", 14, "%.1000s", item->actual ? item->actual : "?");
	}
}

/* Why it is what it is: required checks, then what stands between the run and an outcome. */
static void
explain_all(const struct checks *c, const struct outcomes *o, unsigned width)
{
	size_t i;

	for (i = 0; i < c->results_len; i++)
		if (!c->results[i].held && strcmp(c->results[i].role, "required") == 0)
			explain(&c->results[i], width);
	if (o->nearest)
		explain_outcome(o->nearest, c, width);
	for (i = 0; o->unknown && i < o->len; i++)
		if (o->list[i].state == OUTCOME_UNKNOWN)
			explain_outcome(&o->list[i], c, width);
	for (i = 0; i < c->results_len; i++)
		if (strcmp(c->results[i].role, "sweep") == 0)
			progress_item(width, "", 2, "%.200s is judged over a sweep; in this run it %s",
				      c->results[i].id,
				      c->results[i].unknown     ? "could not be judged"
				      : c->results[i].held_here ? "held"
								: "did not hold");
}

void
progress_verdict(const struct run_verdict *v, const struct checks *c, const struct outcomes *o, bool sandbox,
		 uint64_t took_ms, const char *receipt)
{
	const char *paint = colour(v->status), *plain = *paint ? "\033[0m" : "";
	bool judged = v->status == STATUS_PASSED || v->status == STATUS_FAILED;
	unsigned width = isatty(STDERR_FILENO) == 1 ? wrap_width(STDERR_FILENO, 0) : 0;
	size_t required = checks_required(c);
	char why[800], line[1000];
	ssize_t ignored;
	int n;

	escape_text(v->why, strlen(v->why), why, sizeof(why));
	if (judged && o->len == 0)
		n = snprintf(line, sizeof(line), "%s%s%s%s  %zu of %zu checks held  (%.2f s)\n", paint,
			     run_status_name(v->status), plain,
			     v->status == STATUS_PASSED && !sandbox ? ", not sandboxed" : "",
			     required - checks_not_held(c), required, (double)took_ms / 1000);
	else
		n = snprintf(line, sizeof(line), "%s%s%s  %s  (%.2f s)\n", paint, run_status_name(v->status), plain,
			     why, (double)took_ms / 1000);
	ignored = write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	(void)ignored;
	if (judged) {
		explain_all(c, o, width);
		nothing(c, width);
	}
	if (receipt)
		log_line(LOG_LEVEL_PHASE, "receipt: %s", receipt);
}
