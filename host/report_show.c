/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show.c - see report_show.h. */
#include "host/report_show.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "host/diag.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/report_line.h"
#include "host/report_page.h"
#include "host/report_pick.h"

#define ROWS_SHOWN 20
#define CHANGES_SHOWN 30
#define LAST_SHOWN 5u
#define TAIL_SHOWN 1200u

static const char *
text(const cJSON *o, const char *name)
{
	const char *s = json_get_text(o, name);

	return s ? s : "-";
}

/* ---- the head ------------------------------------------------------------------------------------------------------------- */

static enum colour
status_colour(const char *status)
{
	return strcmp(status, "passed") == 0 ? GOOD : strcmp(status, "failed") == 0 ? BAD : DOUBT;
}

static void
head(struct page *p, const cJSON *r)
{
	const cJSON *run = json_get(r, "run"), *runtime = json_get(r, "runtime");
	const char *status = text(r, "status"), *kind = text(json_get(r, "boundary"), "kind");
	char shown[64], sentence[1504], name[304], a[64], b[64], c[104];
	uint64_t seed = 0, took = 0;

	json_get_u64(run, "seed", UINT64_MAX, &seed);
	json_get_u64(run, "duration_ms", UINT64_MAX, &took);
	escape_text(status, strlen(status), shown, sizeof(shown) - 24);
	fprintf(p->f, "%s%.30s%s%s\n", page_paint(p, status_colour(status)), shown,
		page_unpaint(p, status_colour(status)),
		strcmp(status, "passed") == 0 && strcmp(kind, "none") == 0 ? ", not sandboxed" : "");
	page_text(p, PLAIN, "why", report_clip(r, "why", sentence, 1500));
	page_field(p, PLAIN, "world", "%s, seed %" PRIu64, report_clip(json_get(run, "world"), "name", name, 300),
		   seed);
	page_text(p, PLAIN, "run", report_clip(run, "id", a, 60));
	page_field(p, PLAIN, "when", "%s, %.2f s", report_clip(run, "started", a, 40), (double)took / 1000);
	page_field(p, PLAIN, "runtime", "%s, node %s, kernel %s", report_clip(runtime, "backend", a, 60),
		   report_clip(json_get(runtime, "node"), "version", b, 40), report_clip(runtime, "kernel", c, 100));
	page_text(p, PLAIN, "again", report_clip(run, "reproduce", sentence, 1500));
}

/* ---- the boundary ----------------------------------------------------------------------------------------------------------- */

static void
boundary(struct page *p, const cJSON *b)
{
	const cJSON *row, *denied = json_get(b, "denied_egress"), *names = json_get(b, "refused_names");
	bool opening = json_get_true(json_get(b, "opening"), "proved"),
	     closing = json_get_true(json_get(b, "closing"), "proved");
	char line[REPORT_LINE_MAX], policy[24];
	int n = 0;

	if (strcmp(text(b, "kind"), "none") == 0) {
		page_field(p, DOUBT, "boundary", "none: the workflow ran directly on the machine");
		return;
	}
	page_field(p, opening && closing ? PLAIN : BAD, "boundary",
		   "%s before, %s after; %d locks, %d probes; policy %s", opening ? "proved" : "NOT proved",
		   closing ? "proved" : "NOT proved", cJSON_GetArraySize(json_get(b, "locks")),
		   cJSON_GetArraySize(json_get(b, "probes")), report_clip(json_get(b, "policy"), "sha256", policy, 19));
	show_failure(p, "opening", json_get(json_get(b, "opening"), "failure"));
	show_failure(p, "closing", json_get(json_get(b, "closing"), "failure"));
	if (cJSON_GetArraySize(denied) == 0)
		page_field(p, PLAIN, "denied",
			   cJSON_GetArraySize(names) == 0 ? "nothing tried to get out" : "no packet");
	cJSON_ArrayForEach(row, denied)
	{
		if (n++ == ROWS_SHOWN)
			break;
		report_denied(row, line);
		page_text(p, BAD, "denied", line);
	}
	if (n > ROWS_SHOWN)
		page_field(p, PLAIN, "", "... and %d more destinations in the receipt",
			   cJSON_GetArraySize(denied) - ROWS_SHOWN);
}

static void
refused(struct page *p, const cJSON *b)
{
	const cJSON *row, *names = json_get(b, "refused_names");
	uint64_t count, unlisted = 0;
	char name[1104], type[34];
	int shown = 0;

	cJSON_ArrayForEach(row, names)
	{
		if (shown++ == ROWS_SHOWN)
			break;
		count = 0;
		json_get_u64(row, "count", UINT64_MAX, &count);
		page_field(p, BAD, "refused", "asked for %s (%s), %" PRIu64 " time%s",
			   report_clip(row, "name", name, 1100), report_clip(row, "type", type, 30), count,
			   count == 1 ? "" : "s");
	}
	if (shown > ROWS_SHOWN)
		page_field(p, PLAIN, "", "... and %d more names in the receipt",
			   cJSON_GetArraySize(names) - ROWS_SHOWN);
	if (json_get_u64(json_get(b, "refused"), "unlisted", UINT64_MAX, &unlisted) && unlisted)
		page_field(p, PLAIN, "", "... and %" PRIu64 " questions whose names are not listed", unlisted);
}

/* ---- operations ------------------------------------------------------------------------------------------------------------- */

static void
kinds(struct page *p, const struct pick *k)
{
	const struct {
		uint64_t n;
		const char *one, *more;
	} of[] = {
		{ k->calls, "call", "calls" },
		{ k->webhooks, "webhook", "webhooks" },
		{ k->triggers, "trigger", "triggers" },
		{ k->names, "question for a name", "questions for names" },
		{ k->connections, "connection without a request", "connections without a request" },
		{ k->resent, "repeats an earlier one", "repeat earlier ones" },
		{ k->unmatched, "without a route", "without a route" },
		{ k->lost_acknowledgements, "lost acknowledgement", "lost acknowledgements" },
		{ k->lost_requests, "lost request", "lost requests" },
		{ k->denied, "done but told an error", "done but told an error" },
	};
	char line[600] = "";
	size_t i, n = 0;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i].n)
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%" PRIu64 " %s", n ? ", " : "", of[i].n,
					      of[i].n == 1 ? of[i].one : of[i].more);
	if (n)
		page_text(p, PLAIN, "", line);
}

static void
operations(struct page *p, const struct pick *k, uint64_t all)
{
	uint64_t odd = 0, odd_first = 0, first = 0;
	char line[REPORT_LINE_MAX];
	size_t i;

	page_heading(p, "operations", all);
	kinds(p, k);
	for (i = 0; i < k->len; i++) {
		if (k->list[i].index >= PICK_FIRST)
			continue;
		report_line(k->list[i].op, k->list[i].index, LINE_ODD, line);
		page_text(p, k->list[i].odd ? DOUBT : PLAIN, "", line);
		odd_first += k->list[i].odd;
		first++;
	}
	if (all > first)
		page_field(p, PLAIN, "", "... and %" PRIu64 " more in the receipt%s", all - first,
			   k->odd > odd_first ? "; of those, with a fault or an end in doubt:" : "");
	for (i = 0; i < k->len && odd < PICK_ODD; i++) {
		if (k->list[i].index < PICK_FIRST || !k->list[i].odd)
			continue;
		report_line(k->list[i].op, k->list[i].index, LINE_ODD, line);
		page_text(p, DOUBT, "", line);
		odd++;
	}
	if (all > first && k->odd > odd_first + odd)
		page_field(p, PLAIN, "", "... and %" PRIu64 " more of those", k->odd - odd_first - odd);
	if (all > first)
		page_text(p, PLAIN, "", "the last of all:");
	for (i = 0; i < k->len; i++) {
		if (k->list[i].index < PICK_FIRST || k->list[i].index + LAST_SHOWN < all)
			continue;
		report_line(k->list[i].op, k->list[i].index, LINE_ODD, line);
		page_text(p, k->list[i].odd ? DOUBT : PLAIN, "", line);
	}
}

/* ---- the rest --------------------------------------------------------------------------------------------------------------- */

static void
changes(struct page *p, const cJSON *state)
{
	const cJSON *diff = json_get(state, "diff"), *change;
	int all = cJSON_GetArraySize(diff), n = 0;
	char line[REPORT_LINE_MAX];
	uint64_t left_out = 0;

	json_get_u64(state, "diff_left_out", UINT64_MAX, &left_out);
	if (all)
		page_heading(p, "state that changed", UINT64_MAX);
	cJSON_ArrayForEach(change, diff)
	{
		if (n++ == CHANGES_SHOWN)
			break;
		report_change(change, line);
		page_text(p, PLAIN, "", line);
	}
	if (n > CHANGES_SHOWN || left_out)
		page_field(p, PLAIN, "", "... and %" PRIu64 " more changes",
			   (uint64_t)(all > CHANGES_SHOWN ? all - CHANGES_SHOWN : 0) + left_out);
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
		page_field(p, PLAIN, "", "%.*s", (int)(end - line), line);
	}
}

static void
integrity(struct page *p, const cJSON *r)
{
	const cJSON *i = json_get(r, "integrity"), *row;
	uint64_t kept, lost;
	char what[64], line[REPORT_LINE_MAX];
	int n = 0;

	cJSON_ArrayForEach(row, json_get(i, "truncated"))
	{
		if (n++ == ROWS_SHOWN)
			break;
		kept = lost = 0;
		json_get_u64(row, "kept", UINT64_MAX, &kept);
		json_get_u64(row, "lost", UINT64_MAX, &lost);
		page_field(p, BAD, "TRUNCATED", "%s: %" PRIu64 " kept, %" PRIu64 " lost",
			   report_clip(row, "what", what, 60), kept, lost);
	}
	if (!json_get_true(json_get(i, "frames"), "agreed"))
		page_field(p, BAD, "record", "NOT whole: host and sandbox do not agree on what was sent");
	report_signature(r, line);
	page_text(p, PLAIN, "signature", line);
}

static void
rest(struct page *p, const cJSON *r)
{
	const cJSON *cleanup = json_get(r, "cleanup"), *reached = json_at(r, "/runtime/limits/reached", false), *v;
	char line[REPORT_LINE_MAX], text_of[704];
	uint64_t n;

	fprintf(p->f, "\n");
	report_exit(json_get(r, "outcome"), line);
	page_text(p, PLAIN, "exit", line);
	if (json_get_u64(reached, "oom_kills", UINT64_MAX, &n) && n)
		page_field(p, BAD, "limits", "%" PRIu64 " process%s killed because memory ended", n,
			   n == 1 ? "" : "es");
	if (json_get_u64(reached, "pids_refused", UINT64_MAX, &n) && n)
		page_field(p, BAD, "limits", "%" PRIu64 " process%s refused", n, n == 1 ? "" : "es");
	if (json_get_true(cleanup, "confirmed"))
		page_text(p, PLAIN, "cleanup", "confirmed");
	else
		page_field(p, BAD, "cleanup", "NOT confirmed: %s", report_clip(cleanup, "reason", text_of, 300));
	integrity(p, r);
	page_heading(p, "what this receipt does not prove", UINT64_MAX);
	cJSON_ArrayForEach(v, json_get(r, "limits"))
	{
		page_field(p, PLAIN, "", "- %s", cJSON_IsString(v) ? report_cut(v->valuestring, text_of, 700) : "-");
	}
}

int
report_show(struct page *p, struct receipt_doc *doc)
{
	const cJSON *r = doc->rest, *o = json_get(r, "outcome");
	struct pick pick;
	int rc = pick_operations(doc, &pick);

	if (rc == 0) {
		head(p, r);
		boundary(p, json_get(r, "boundary"));
		refused(p, json_get(r, "boundary"));
		show_outcome(p, o);
		show_checks(p, json_get(r, "checks"), &pick);
		show_faults(p, json_get(r, "faults"));
		operations(p, &pick, doc->operations);
		changes(p, json_get(r, "state"));
		output(p, json_get(o, "stdout"), "stdout");
		output(p, json_get(o, "stderr"), "stderr");
		rest(p, r);
	}
	pick_wipe(&pick);
	return rc;
}
