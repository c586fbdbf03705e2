/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_line.c - see report_line.h. */
#include "host/report_line.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "host/report_pick.h"
#include "host/trace.h"

struct line {
	char *text;
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) add(struct line *l, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->text + l->len, REPORT_LINE_MAX - l->len, format, ap);
	va_end(ap);
	if (n > 0)
		l->len = (size_t)n < REPORT_LINE_MAX - l->len ? l->len + (size_t)n : REPORT_LINE_MAX - 1;
}

const char *
report_cut(const char *text, char *out, size_t max)
{
	size_t n = strlen(text);

	if (n <= max) {
		memcpy(out, text, n + 1);
		return out;
	}
	n = max - 3;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(out, max + 1, "%.*s...", (int)n, text);
	return out;
}

const char *
report_clip(const cJSON *o, const char *name, char *out, size_t max)
{
	const char *s = json_get_text(o, name);

	return report_cut(s ? s : "-", out, max);
}

const char *
report_value(const cJSON *v, char *out, size_t max)
{
	char *text = v ? json_print(v) : NULL;

	report_cut(text ? text : "none", out, max);
	free(text);
	return out;
}

static const char *
text_or(const cJSON *o, const char *name, const char *otherwise)
{
	const char *s = json_get_text(o, name);

	return s ? s : otherwise;
}

static bool
is(const cJSON *o, const char *name, const char *value)
{
	const char *s = json_get_text(o, name);

	return s && strcmp(s, value) == 0;
}

/* ---- operations ----------------------------------------------------------------------------------------------------------- */

static void
dns(struct line *l, const cJSON *op)
{
	const cJSON *request = json_get(op, "request");
	char name[320], a[64], b[64];
	uint64_t times = 0;

	if (json_get_text(request, "problem")) {
		json_get_u64(request, "count", UINT64_MAX, &times);
		add(l, "malformed (%s, %s)", report_clip(request, "problem", a, 20),
		    report_clip(request, "transport", b, 20));
		if (json_get_text(request, "name"))
			add(l, " with the name %s", report_clip(request, "name", name, 300));
		add(l, ", %" PRIu64 " time%s -> ", times, times == 1 ? "" : "s");
	} else {
		add(l, "%s %s -> ", report_clip(request, "type", a, 30), report_clip(request, "name", name, 300));
	}
	add(l, "%s", report_cut(text_or(json_get(op, "reply"), "rcode", "no reply"), a, 20));
}

static void
call(struct line *l, const cJSON *op)
{
	const cJSON *request = json_get(op, "request"), *event = json_get(op, "event");
	char method[32], target[320], route[96];
	uint64_t status, attempt = 1, copy = 1;

	if (is(op, "kind", "webhook")) {
		json_get_u64(event, "attempt", UINT64_MAX, &attempt);
		json_get_u64(event, "copy", UINT64_MAX, &copy);
		add(l, "webhook ");
		if (attempt > 1)
			add(l, "attempt %" PRIu64 " ", attempt);
		if (copy > 1)
			add(l, "copy %" PRIu64 " ", copy);
	} else if (is(op, "kind", "tcp")) {
		add(l, "a connection without a request ");
	}
	if (json_get_text(request, "method"))
		add(l, "%s %s ", report_clip(request, "method", method, 20),
		    report_clip(request, "target", target, 300));
	if (json_get_u64(json_get(op, "reply"), "status", 999, &status))
		add(l, "-> %" PRIu64, status);
	else
		add(l, "-> no reply");
	add(l, "  (%s)", report_cut(text_or(op, "route", "no route"), route, 80));
}

static void
doubts(struct line *l, const cJSON *op, bool full)
{
	const cJSON *views = json_get(op, "views"), *fault = json_get(op, "fault");
	const char *meaning = views_meaning(op), *id = trace_fault(op);
	char a[64], b[64], c[96];
	uint64_t of;

	if (id) {
		add(l, "  fault %s", report_cut(id, c, 80));
		if (json_get_text(fault, "phase"))
			add(l, " %s", report_clip(fault, "phase", a, 30));
		if (json_get_text(fault, "end"))
			add(l, " %s", report_clip(fault, "end", a, 30));
	}
	if (full && json_get_text(op, "key"))
		add(l, "  key %s", report_clip(op, "key", c, 60));
	if (json_get_text(op, "idempotency") && (full || !is(op, "idempotency", "first")))
		add(l, "  %s", report_clip(op, "idempotency", a, 30));
	if (json_get_u64(op, "resend_of", UINT64_MAX, &of))
		add(l, "  repeats %" PRIu64, of);
	if (views && (full || !views_fine(op)))
		add(l, "  %s, %s%s%s", report_clip(views, "service", a, 30), report_clip(views, "client", b, 30),
		    meaning ? ": " : "", meaning ? meaning : "");
	if (json_get_text(op, "problem"))
		add(l, "  %s", report_clip(op, "problem", c, 80));
	if (json_get_true(op, "unmatched") && json_get_text(json_get(op, "nearest"), "route")) {
		add(l, "  nearest %s", report_clip(json_get(op, "nearest"), "route", c, 80));
		add(l, ": %s", report_clip(json_get(op, "nearest"), "difference", c, 90));
	}
}

void
report_line(const cJSON *op, uint64_t index, enum report_detail detail, char out[static REPORT_LINE_MAX])
{
	struct line l = { .text = out };
	char service[72];
	uint64_t t = 0;

	out[0] = '\0';
	json_get_u64(op, "t_ms", UINT64_MAX, &t);
	add(&l, "%" PRIu64 "  %" PRIu64 " ms  %s  ", index, t, report_clip(op, "service", service, 60));
	if (is(op, "kind", "dns"))
		dns(&l, op);
	else
		call(&l, op);
	if (detail != LINE_CALL)
		doubts(&l, op, detail == LINE_FULL);
}

/* ---- other parts ------------------------------------------------------------------------------------------------------------ */

void
report_change(const cJSON *change, char out[static REPORT_LINE_MAX])
{
	struct line l = { .text = out };
	char service[72], path[320], a[320], b[320];
	const cJSON *before = json_get(change, "before"), *after = json_get(change, "after");

	out[0] = '\0';
	add(&l, "%s%s: ", report_clip(change, "service", service, 60), report_clip(change, "path", path, 300));
	if (before && after && cJSON_IsNull(before))
		add(&l, "new, %s", report_value(after, b, 300));
	else if (before && after && cJSON_IsNull(after))
		add(&l, "gone, was %s", report_value(before, a, 300));
	else
		add(&l, "%s -> %s", report_value(before, a, 300), report_value(after, b, 300));
}

void
report_denied(const cJSON *row, char out[static REPORT_LINE_MAX])
{
	struct line l = { .text = out };
	char protocol[32], destination[72], name[320], owner[32];
	uint64_t count = 0, port = 0;

	out[0] = '\0';
	json_get_u64(row, "count", UINT64_MAX, &count);
	json_get_u64(row, "port", 65535, &port);
	add(&l, "%s %s", report_clip(row, "protocol", protocol, 20), report_clip(row, "destination", destination, 60));
	if (json_get_text(row, "name"))
		add(&l, " (%s)", report_clip(row, "name", name, 300));
	report_clip(row, "owner", owner, 20);
	add(&l, " port %" PRIu64 ", %" PRIu64 " packet%s of %s", port, count, count == 1 ? "" : "s",
	    strcmp(owner, "workflow") == 0 ? "the workflow"
	    : strcmp(owner, "twins") == 0  ? "the twins"
					   : owner);
}

void
report_exit(const cJSON *outcome, char out[static REPORT_LINE_MAX])
{
	const cJSON *exit = json_get(outcome, "exit");
	struct line l = { .text = out };
	char a[72];
	uint64_t n;

	out[0] = '\0';
	if (json_get_text(exit, "errno")) {
		add(&l, "could not be started: %s", report_clip(exit, "stage", a, 40));
		add(&l, " failed with %s", report_clip(exit, "errno", a, 40));
		return;
	}
	if (json_get_u64(exit, "code", 255, &n))
		add(&l, "code %" PRIu64, n);
	else if (json_get_u64(exit, "signal", 255, &n))
		add(&l, "signal %" PRIu64 " (SIG%s)", n, report_clip(exit, "signal_name", a, 20));
	else
		add(&l, "not recorded");
	if (json_get_text(exit, "ended_by"))
		add(&l, ", ended by %s", report_clip(exit, "ended_by", a, 60));
	if (json_get_true(exit, "oom"))
		add(&l, ", because memory ended");
	if (json_get_true(exit, "core"))
		add(&l, ", with a core dump");
	if (json_get_true(exit, "pipe_held"))
		add(&l, ", its output was still open");
}

void
report_signature(const cJSON *receipt, char out[static REPORT_LINE_MAX])
{
	const cJSON *signature = json_get(json_get(receipt, "integrity"), "signature"),
		    *list = json_get(signature, "signatures");
	char key[24];

	if (!cJSON_IsObject(signature))
		snprintf(out, REPORT_LINE_MAX, "none");
	else
		snprintf(out, REPORT_LINE_MAX, "there is one, of key %s; receipt verify says what it is worth",
			 report_clip(list ? list->child : NULL, "keyid", key, 19));
}
