/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_live.c - see test_live.h. */
#include "host/test_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/loop.h"
#include "host/wrap.h"

#define LINES_MAX 12u /* of runs that go on */
#define DRAW_MS 100u

/* see test_live.h */
void
test_time(uint64_t ms, char out[static 32])
{
	if (ms < 60000)
		snprintf(out, 32, "%.2f s", (double)ms / 1000);
	else
		snprintf(out, 32, "%" PRIu64 " min %" PRIu64 " s", ms / 60000, ms / 1000 % 60);
}

/* see test_live.h */
const char *
test_colour(enum test_status s)
{
	if (!log_is_colour())
		return "";
	return s == TEST_PASSED ? "\033[1;32m" : s == TEST_FAILED || s == TEST_INVALID ? "\033[1;31m" : "\033[1;33m";
}

/* see test_live.h */
void
test_say(bool github, const char *format, ...)
{
	char text[4096], *at;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/* ::name::, behind white space at most, and ##[name] anywhere are commands to it. */
	for (at = text; github && (at = strstr(at, "##[")); at++)
		at[1] = '.';
	at = text + strspn(text, " \t");
	if (github && strncmp(at, "::", 2) == 0)
		at[0] = '.';
	log_line(LOG_LEVEL_PHASE, "%s", text);
}

/* see test_live.h */
void
test_live_init(struct test_live *l, const struct tests *t)
{
	const char *term = getenv("TERM"), *actions = getenv("GITHUB_ACTIONS");

	*l = (struct test_live){ .t = t };
	l->terminal = isatty(STDERR_FILENO) == 1 && term && *term && strcmp(term, "dumb") != 0;
	l->github = actions && strcmp(actions, "true") == 0;
}

/* ---- a run that ended --------------------------------------------------------------------------------------------------- */

static const char *
shown_status(const struct tests *t, enum test_status s)
{
	return s == TEST_PASSED && !t->o.sandbox ? "passed, not sandboxed" : test_status_name(s);
}

static void
put(const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = write(STDERR_FILENO, text, len);
		if (n < 0 && errno != EINTR)
			return;
		if (n < 0)
			n = 0;
	}
}

/* see test_live.h */
void
test_live_ended(struct test_live *l, size_t i, const char *what)
{
	const struct test_run *r = &l->t->runs[i];
	const struct test_record *last = test_last(r);
	char name[4300], why[600], time[32] = "", head[200];
	int width = snprintf(NULL, 0, "%zu", l->t->runs_len);
	const char *paint;

	if (!what) {
		l->done++;
		l->bad += r->status != TEST_PASSED;
	}
	if (l->t->o.quiet)
		return;
	test_live_clear(l);
	test_run_name(l->t, r, name, sizeof(name));
	test_run_why(r, why, sizeof(why));
	if (what)
		snprintf(why, sizeof(why), "%s", what);
	if (last)
		test_time(last->ms, time);
	paint = what ? "" : test_colour(r->status);
	snprintf(head, sizeof(head), "  %*zu/%zu  ", width, l->done, l->t->runs_len);
	put(head, strlen(head));
	put(paint, strlen(paint));
	snprintf(head, sizeof(head), "%-9s", what ? "again" : shown_status(l->t, r->status));
	put(head, strlen(head));
	put("\033[0m", *paint ? 4 : 0);
	test_say(l->github, "  %10s  %s%s%s", time, name, *why ? "  " : "", why);
}

/* ---- what goes on ------------------------------------------------------------------------------------------------------- */

/* see test_live.h */
void
test_live_clear(struct test_live *l)
{
	char text[32];

	if (l->drawn) {
		snprintf(text, sizeof(text), "\033[%uA\r\033[J", l->drawn);
		put(text, strlen(text));
	}
	l->drawn = 0;
}

/* Appends one line of at most width columns; never more than fits the buffer. */
static void __attribute__((format(printf, 4, 5))) add(FILE *f, unsigned width, unsigned *lines, const char *format, ...)
{
	char text[4600], shown[4600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	escape_text(text, strlen(text), shown, sizeof(shown));
	/* Cut by characters, not at a space. */
	for (size_t i = 0, n = 0; shown[i]; i++)
		if (((unsigned char)shown[i] & 0xc0) != 0x80 && ++n > width)
			shown[i--] = '\0';
	fprintf(f, "%s\n", shown);
	(*lines)++;
}

static void
add_runs(struct test_live *l, FILE *f, unsigned width, unsigned most, const struct test_now *list, size_t len,
	 unsigned *lines)
{
	uint64_t now = loop_now_ms();
	char name[4300], time[32];
	size_t i;

	for (i = 0; i < len && *lines < most; i++) {
		if (!list[i].used)
			continue;
		test_run_name(l->t, &l->t->runs[list[i].run], name, sizeof(name));
		snprintf(time, sizeof(time), "%.1f s", (double)(now - list[i].start_ms) / 1000);
		if (width >= 60)
			add(f, width, lines, "  %-9s  %10s  %s", list[i].phase, time, name);
		else
			add(f, width, lines, "  %s %s", time, name);
	}
}

/* see test_live.h */
void
test_live_draw(struct test_live *l, const struct test_now *list, size_t len, bool now)
{
	unsigned width, most = LINES_MAX, lines = 0;
	struct winsize w;
	char *text = NULL, time[32];
	size_t size = 0, running = 0, i;
	FILE *f;

	if (!l->terminal || l->t->o.quiet || (!now && loop_now_ms() - l->drawn_ms < DRAW_MS))
		return;
	l->drawn_ms = loop_now_ms();
	width = wrap_width(STDERR_FILENO, 80);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row)
		most = w.ws_row < 6 ? 0 : w.ws_row < LINES_MAX + 4 ? w.ws_row - 4u : LINES_MAX;
	f = open_memstream(&text, &size);
	if (!f)
		return;
	if (l->drawn)
		fprintf(f, "\033[%uA\r\033[J", l->drawn);
	fputs("\033[?7l", f); /* what is too wide all the same is cut by the terminal, so that lines can be counted */
	for (i = 0; i < len; i++)
		running += list[i].used;
	add_runs(l, f, width, most, list, len, &lines);
	snprintf(time, sizeof(time), "%.1f s", (double)(loop_now_ms() - l->t->start_ms) / 1000);
	add(f, width, &lines, "  %zu of %zu, %zu not passed, %zu running, %s", l->done, l->t->runs_len, l->bad, running,
	    time);
	fputs("\033[?7h", f);
	if (fclose(f) == 0)
		put(text, size);
	free(text);
	l->drawn = lines;
}
