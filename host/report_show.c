/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show.c - see report_show.h. */
#include "host/report_show.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "host/diag.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/wrap.h"

#define OPERATIONS_SHOWN 40
#define NAMES_SHOWN 20
#define TAIL_SHOWN 1200u

struct page {
	FILE *f;
	unsigned width;
	bool colour;
};

static const char *
text(const cJSON *o, const char *name)
{
	const char *s = json_get_text(o, name);

	return s ? s : "-";
}

/* A label of at most 12 columns, then text wrapped beneath itself. */
static void __attribute__((format(printf, 3, 4))) field(struct page *p, const char *label, const char *format, ...)
{
	char raw[2400], shown[4096];
	const char *at = shown, *lead = label;
	unsigned indent = p->width < 60 ? 4 : 14;
	va_list ap;
	size_t n;

	va_start(ap, format);
	vsnprintf(raw, sizeof(raw), format, ap);
	va_end(ap);
	escape_text(raw, strlen(raw), shown, sizeof(shown));
	if (indent == 4 && *label) {
		fprintf(p->f, "%s\n", label);
		lead = "";
	}
	do {
		n = wrap_fitting(at, p->width - indent);
		fprintf(p->f, "%-*s%.*s\n", (int)indent, lead, (int)n, at);
		lead = "";
		at += n;
		while (*at == ' ')
			at++;
	} while (*at);
}

static const char *
paint(const struct page *p, const char *status)
{
	if (!p->colour)
		return "";
	return strcmp(status, "passed") == 0   ? "\033[1;32m"
	       : strcmp(status, "failed") == 0 ? "\033[1;31m"
					       : "\033[1;33m";
}

static void
head(struct page *p, const cJSON *r)
{
	const cJSON *run = json_get(r, "run"), *boundary = json_get(r, "boundary"), *runtime = json_get(r, "runtime");
	const char *status = text(r, "status"), *kind = text(boundary, "kind");
	char shown[64];
	uint64_t seed = 0, took = 0;

	json_get_u64(run, "seed", UINT64_MAX, &seed);
	json_get_u64(run, "duration_ms", UINT64_MAX, &took);
	escape_text(status, strlen(status), shown, sizeof(shown));
	fprintf(p->f, "%s%s%s%s\n", paint(p, status), shown, p->colour ? "\033[0m" : "",
		strcmp(status, "passed") == 0 && strcmp(kind, "none") == 0 ? ", not sandboxed" : "");
	field(p, "why", "%.1500s", text(r, "why"));
	field(p, "world", "%.300s, seed %" PRIu64, text(json_get(run, "world"), "name"), seed);
	field(p, "run", "%.60s", text(run, "id"));
	field(p, "when", "%.40s, %.2f s", text(run, "started"), (double)took / 1000);
	field(p, "runtime", "%.60s, node %.40s, kernel %.100s", text(runtime, "backend"),
	      text(json_get(runtime, "node"), "version"), text(runtime, "kernel"));
	field(p, "again", "%.1500s", text(run, "reproduce"));
}

static const char *
owner_of(const cJSON *row)
{
	const char *owner = text(row, "owner");

	return strcmp(owner, "workflow") == 0 ? "the workflow" : strcmp(owner, "twins") == 0 ? "the twins" : owner;
}

static void
boundary(struct page *p, const cJSON *b)
{
	const cJSON *row, *denied = json_get(b, "denied_egress"), *names = json_get(b, "refused_names");
	uint64_t count = 0, port = 0;
	const char *name;

	if (strcmp(text(b, "kind"), "none") == 0) {
		field(p, "boundary", "none: the workflow ran directly on the machine");
		return;
	}
	field(p, "boundary", "%s before, %s after; %d locks, %d probes; policy %.16s",
	      json_get_true(json_get(b, "opening"), "proved") ? "proved" : "NOT proved",
	      json_get_true(json_get(b, "closing"), "proved") ? "proved" : "NOT proved",
	      cJSON_GetArraySize(json_get(b, "locks")), cJSON_GetArraySize(json_get(b, "probes")),
	      text(json_get(b, "policy"), "sha256"));
	if (cJSON_GetArraySize(denied) == 0)
		field(p, "denied", cJSON_GetArraySize(names) == 0 ? "nothing tried to get out" : "no packet");
	cJSON_ArrayForEach(row, denied)
	{
		json_get_u64(row, "count", UINT64_MAX, &count);
		json_get_u64(row, "port", 65535, &port);
		name = json_get_text(row, "name");
		field(p, "denied", "%.20s %.60s%s%.1100s%s port %" PRIu64 ", %" PRIu64 " packet%s of %.20s",
		      text(row, "protocol"), text(row, "destination"), name ? " (" : "", name ? name : "",
		      name ? ")" : "", port, count, count == 1 ? "" : "s", owner_of(row));
	}
}

static void
refused(struct page *p, const cJSON *b)
{
	uint64_t count, unlisted = 0;
	const cJSON *row;
	int shown = 0;

	cJSON_ArrayForEach(row, json_get(b, "refused_names"))
	{
		if (shown++ == NAMES_SHOWN)
			break;
		count = 0;
		json_get_u64(row, "count", UINT64_MAX, &count);
		field(p, "refused", "asked for %.1100s (%.30s), %" PRIu64 " time%s", text(row, "name"),
		      text(row, "type"), count, count == 1 ? "" : "s");
	}
	if (cJSON_GetArraySize(json_get(b, "refused_names")) > NAMES_SHOWN)
		field(p, "", "... and %d more names in the receipt",
		      cJSON_GetArraySize(json_get(b, "refused_names")) - NAMES_SHOWN);
	if (json_get_u64(json_get(b, "refused"), "unlisted", UINT64_MAX, &unlisted) && unlisted)
		field(p, "", "... and %" PRIu64 " questions whose names are not listed", unlisted);
}

static void
checks(struct page *p, const cJSON *list)
{
	const cJSON *c, *rest;
	char see[2000];
	size_t n;

	fprintf(p->f, "\nchecks\n");
	cJSON_ArrayForEach(c, list)
	{
		bool held = json_get_true(c, "held");

		field(p, held ? "  held" : "  NOT HELD", "%.100s: %s%.600s", text(c, "id"), held ? "" : "expected ",
		      text(c, "expected"));
		if (held)
			continue;
		field(p, "", "actual %.1000s", text(c, "actual"));
		if (json_get_text(c, "because"))
			field(p, "", "because %.600s", text(c, "because"));
		n = 0;
		cJSON_ArrayForEach(rest, json_get(c, "rests_on"))
		{
			if (n < sizeof(see))
				n += (size_t)snprintf(see + n, sizeof(see) - n, "%s%.160s", n ? " " : "",
						      cJSON_IsString(rest) ? rest->valuestring : "-");
		}
		if (n)
			field(p, "", "see %s", see);
	}
}

static void
operation(struct page *p, const cJSON *op, int number)
{
	const cJSON *request;
	uint64_t t, status, count;
	char reply[32];

	request = json_get(op, "request");
	t = 0;
	json_get_u64(op, "t_ms", UINT64_MAX, &t);
	if (json_get_text(request, "problem")) {
		count = 0;
		json_get_u64(request, "count", UINT64_MAX, &count);
		field(p, "", "%d  %" PRIu64 " ms  %.60s  malformed (%.20s, %.10s)%s%.300s, %" PRIu64 " time%s -> %.20s",
		      number, t, text(op, "service"), text(request, "problem"), text(request, "transport"),
		      json_get_text(request, "name") ? " with the name " : "",
		      json_get_text(request, "name") ? text(request, "name") : "", count, count == 1 ? "" : "s",
		      json_get_text(json_get(op, "reply"), "rcode") ? text(json_get(op, "reply"), "rcode")
								    : "no reply");
		return;
	}
	if (json_get_text(request, "name")) {
		field(p, "", "%d  %" PRIu64 " ms  %.60s  %.30s %.300s -> %.20s", number, t, text(op, "service"),
		      text(request, "type"), text(request, "name"), text(json_get(op, "reply"), "rcode"));
		return;
	}
	snprintf(reply, sizeof(reply), "no reply");
	if (json_get_u64(json_get(op, "reply"), "status", 999, &status))
		snprintf(reply, sizeof(reply), "%" PRIu64, status);
	field(p, "", "%d  %" PRIu64 " ms  %.60s%s  %.20s %.300s -> %s  (%.80s)", number, t, text(op, "service"),
	      strcmp(text(op, "kind"), "webhook") == 0 ? ", webhook" : "", text(request, "method"),
	      text(request, "target"), reply, json_get_text(op, "route") ? text(op, "route") : "no route");
}

static int
operations(struct page *p, struct receipt_doc *doc)
{
	struct receipt_cursor cursor = { 0 };
	cJSON *op;
	int r;

	fprintf(p->f, "\noperations (%" PRIu64 ")\n", doc->operations);
	while ((r = receipt_next(doc, &cursor, &op)) == 1) {
		if (cursor.index <= OPERATIONS_SHOWN)
			operation(p, op, (int)cursor.index - 1);
		cJSON_Delete(op);
	}
	if (doc->operations > OPERATIONS_SHOWN)
		field(p, "", "... and %" PRIu64 " more in the receipt", doc->operations - OPERATIONS_SHOWN);
	return r;
}

static void
output(struct page *p, const cJSON *stream, const char *name)
{
	const char *tail = json_get_text(stream, "tail"), *line, *end;
	uint64_t bytes = 0;
	size_t len;

	json_get_u64(stream, "bytes", UINT64_MAX, &bytes);
	if (!tail || !*tail)
		return;
	fprintf(p->f, "\n%s (%" PRIu64 " bytes%s)\n", name, bytes,
		json_get_true(stream, "truncated") ? ", TRUNCATED" : "");
	len = strlen(tail);
	line = len > TAIL_SHOWN ? tail + len - TAIL_SHOWN : tail;
	while (((unsigned char)*line & 0xc0) == 0x80)
		line++;
	for (; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		field(p, "", "%.*s", (int)(end - line), line);
	}
}

static void
rest(struct page *p, const cJSON *r)
{
	const cJSON *exit = json_get(json_get(r, "outcome"), "exit"), *cleanup = json_get(r, "cleanup"), *v;
	uint64_t number;

	if (json_get_u64(exit, "code", 255, &number))
		field(p, "exit", "code %" PRIu64 ", ended by %.60s", number, text(exit, "ended_by"));
	else if (json_get_u64(exit, "signal", 255, &number))
		field(p, "exit", "signal %" PRIu64 ", ended by %.60s", number, text(exit, "ended_by"));
	else
		field(p, "exit", "not recorded");
	field(p, "cleanup", "%s%.300s", json_get_true(cleanup, "confirmed") ? "confirmed" : "NOT confirmed: ",
	      json_get_true(cleanup, "confirmed") ? "" : text(cleanup, "reason"));
	fprintf(p->f, "\nwhat this receipt does not prove\n");
	cJSON_ArrayForEach(v, json_get(r, "limits"))
	{
		field(p, "", "- %.600s", cJSON_IsString(v) ? v->valuestring : "-");
	}
}

int
report_show(FILE *f, struct receipt_doc *doc, unsigned width, bool colour)
{
	struct page p = { .f = f, .width = width < 40 ? 40 : width, .colour = colour };
	const cJSON *receipt = doc->rest, *outcome = json_get(receipt, "outcome"), *change;
	int r;

	head(&p, receipt);
	boundary(&p, json_get(receipt, "boundary"));
	refused(&p, json_get(receipt, "boundary"));
	checks(&p, json_get(receipt, "checks"));
	r = operations(&p, doc);
	if (cJSON_GetArraySize(json_get(json_get(receipt, "state"), "diff")))
		fprintf(f, "\nstate that changed\n");
	cJSON_ArrayForEach(change, json_get(json_get(receipt, "state"), "diff"))
	{
		field(&p, "", "%.60s%.300s", text(change, "service"), text(change, "path"));
	}
	output(&p, json_get(outcome, "stdout"), "stdout");
	output(&p, json_get(outcome, "stderr"), "stderr");
	fprintf(f, "\n");
	rest(&p, receipt);
	return r;
}
