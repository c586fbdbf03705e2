/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_call.c - see report_call.h. */
#include "host/report_call.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/json.h"
#include "host/report_line.h"
#include "host/report_pick.h"
#include "host/trace.h"

static const char *
text(const cJSON *o, const char *name)
{
	const char *s = json_get_text(o, name);

	return s ? s : "-";
}

void
call_line(struct call_lines *l, const char *label, const char *value)
{
	char cut[CALL_FIELD_MAX + 8];
	size_t i;
	int n;

	report_cut(value, cut, CALL_FIELD_MAX);
	for (i = 0; cut[i]; i++)
		if (cut[i] == '\n')
			cut[i] = ' '; /* a line is a line; other control characters are escaped later */
	n = snprintf(l->text + l->len, sizeof(l->text) - l->len, "%-8s  %s\n", label, cut);
	if (n > 0 && (size_t)n < sizeof(l->text) - l->len)
		l->len += (size_t)n;
	else
		l->text[l->len] = '\0';
}

static void
body(struct call_lines *l, const char *label, const cJSON *b)
{
	char value[CALL_FIELD_MAX + 8];
	uint64_t bytes = 0;

	if (json_get(b, "json"))
		call_line(l, label, report_value(json_get(b, "json"), value, CALL_FIELD_MAX));
	else if (json_get_text(b, "excerpt"))
		call_line(l, label, text(b, "excerpt"));
	else if (json_get_u64(b, "bytes", UINT64_MAX, &bytes) && bytes) {
		snprintf(value, sizeof(value), "%" PRIu64 " bytes, SHA-256 %.64s", bytes, text(b, "sha256"));
		call_line(l, label, value);
	}
}

static void
effects(struct call_lines *l, const cJSON *op)
{
	const cJSON *effect, *v;
	char all[CALL_FIELD_MAX + 8] = "";
	size_t n = 0;

	cJSON_ArrayForEach(effect, json_get(op, "effects"))
	{
		cJSON_ArrayForEach(v, effect)
		{
			if (n < sizeof(all) - 1 && v->string && cJSON_IsString(v))
				n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%.40s %.200s", n ? ", " : "",
						      v->string, v->valuestring);
		}
	}
	if (n)
		call_line(l, "effects", all);
}

static void
named(struct call_lines *l, const char *label, const cJSON *o, const char *name)
{
	if (json_get_text(o, name))
		call_line(l, label, text(o, name));
}

void
call_in_full(const cJSON *op, uint64_t index, struct call_lines *l)
{
	const cJSON *request = json_get(op, "request"), *reply = json_get(op, "reply"), *fault = json_get(op, "fault");
	char value[CALL_FIELD_MAX + 8], call[REPORT_LINE_MAX], a[84], b[44], c[44];
	uint64_t status, of;

	l->len = 0;
	report_line(op, index, LINE_CALL, call);
	call_line(l, "call", call);
	body(l, "body", json_get(request, "body"));
	if (json_get_text(op, "key")) {
		snprintf(value, sizeof(value), "%s (%s)", report_clip(op, "key", a, 80),
			 report_clip(op, "idempotency", b, 40));
		call_line(l, "key", value);
	}
	if (json_get_u64(op, "resend_of", UINT64_MAX, &of)) {
		snprintf(value, sizeof(value), "%" PRIu64, of);
		call_line(l, "repeats", value);
	}
	effects(l, op);
	if (json_get(op, "rows") && json_get(op, "rows")->child)
		call_line(l, "left", report_value(json_get(op, "rows"), value, CALL_FIELD_MAX));
	if (json_get_u64(reply, "status", 999, &status)) {
		snprintf(value, sizeof(value), "%" PRIu64, status);
		call_line(l, "reply", value);
	} else if (!json_get_text(reply, "rcode")) {
		call_line(l, "reply", "none");
	}
	body(l, "replied", reply);
	if (trace_fault(op)) {
		snprintf(value, sizeof(value), "%s %s %s", report_cut(trace_fault(op), a, 80),
			 report_clip(fault, "phase", b, 40), report_clip(fault, "end", c, 40));
		call_line(l, "fault", value);
	}
	snprintf(value, sizeof(value), "the service: %s, the client: %s%s%s",
		 report_clip(json_get(op, "views"), "service", a, 40),
		 report_clip(json_get(op, "views"), "client", b, 40), views_meaning(op) ? ": " : "",
		 views_meaning(op) ? views_meaning(op) : "");
	call_line(l, "views", value);
	named(l, "problem", op, "problem");
	if (json_get_true(op, "unmatched"))
		call_line(l, "nearest", report_value(json_get(op, "nearest"), value, CALL_FIELD_MAX));
}
