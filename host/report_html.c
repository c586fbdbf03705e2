/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_html.c - see report_html.h: the page and all of its parts but the operations. */
#include "host/report_html.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "host/html.h"
#include "host/json.h"
#include "host/report_line.h"
#include "host/report_pick.h"

void
html_section(FILE *f, const char *id, const char *title)
{
	html_format(f, "<section aria-labelledby=h-%s id=%s><h2 id=h-%s>%s</h2>\n", id, id, id, title);
}

void
html_term(FILE *f, const char *label, const char *text)
{
	html_format(f, "<dt>%s</dt><dd>", label);
	html_text(f, text && *text ? text : "-");
	html_raw(f, "</dd>\n");
}

void
html_badge(FILE *f, const char *kind, const char *text)
{
	html_format(f, "<span class=\"badge %s\">", kind);
	html_text(f, text);
	html_raw(f, "</span>");
}

static const char *
kind_of(const char *status)
{
	return strcmp(status, "passed") == 0 ? "good" : strcmp(status, "failed") == 0 ? "bad" : "doubt";
}

static bool
is_local(const cJSON *r)
{
	const char *kind = json_get_text(json_get(r, "boundary"), "kind");

	return kind && strcmp(kind, "none") == 0;
}

static const char *
text_of(const cJSON *o, const char *name)
{
	const char *s = json_get_text(o, name);

	return s ? s : "-";
}

/* ---- head --------------------------------------------------------------------------------------------------------------- */

static void
begin(FILE *f, const cJSON *r)
{
	const char *status = text_of(r, "status"), *name = text_of(json_get(json_get(r, "run"), "world"), "name");

	html_raw(
		f,
		"<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
		"<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
		"<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<meta name=referrer content=no-referrer>\n<title>");
	html_text(f, status);
	html_raw(f, ": ");
	html_text(f, name);
	html_raw(f, " - AgentTwin receipt</title>\n<style>");
	html_raw(f, report_html_style);
	html_raw(f, "</style>\n</head>\n<body>\n<a class=skip href=#checks>To the checks</a>\n<header>\n");
	html_format(f, "<div class=\"verdict %s\"><h1>", kind_of(status));
	html_text(f, status);
	html_raw(f, is_local(r) ? ", not sandboxed</h1><p>" : "</h1><p>");
	html_text(f, text_of(r, "why"));
	html_raw(
		f,
		"</p></div>\n<nav aria-label=\"Parts of the receipt\"><ul><li><a href=#checks>checks</a></li>"
		"<li><a href=#faults>faults</a></li><li><a href=#operations>operations</a></li><li><a href=#state>state</a></li>"
		"<li><a href=#boundary>boundary</a></li><li><a href=#output>output</a></li><li><a href=#evidence>what went in</a></li>"
		"<li><a href=#limits>what it does not prove</a></li></ul></nav>\n</header>\n<main>\n");
}

static void
run_part(FILE *f, const cJSON *r)
{
	const cJSON *run = json_get(r, "run"), *world = json_get(run, "world"), *runtime = json_get(r, "runtime");
	const cJSON *cleanup = json_get(r, "cleanup"), *outcome = json_get(r, "outcome");
	char line[REPORT_LINE_MAX], number[64];
	uint64_t n = 0;

	html_raw(f, "<section aria-label=\"The run\"><dl>\n");
	html_term(f, "world", text_of(world, "name"));
	if (json_get_text(world, "about"))
		html_term(f, "about", json_get_text(world, "about"));
	json_get_u64(run, "seed", UINT64_MAX, &n);
	snprintf(number, sizeof(number), "%" PRIu64, n);
	html_term(f, "seed", number);
	html_term(f, "run", text_of(run, "id"));
	html_term(f, "started", text_of(run, "started"));
	n = 0;
	json_get_u64(run, "duration_ms", UINT64_MAX, &n);
	snprintf(number, sizeof(number), "%.2f s", (double)n / 1000);
	html_term(f, "took", number);
	snprintf(line, sizeof(line), "%.60s, node %.40s, kernel %.100s", text_of(runtime, "backend"),
		 text_of(json_get(runtime, "node"), "version"), text_of(runtime, "kernel"));
	html_term(f, "runtime", line);
	report_exit(outcome, line);
	html_term(f, "workflow", line);
	if (json_get_text(outcome, "matched"))
		html_term(f, "outcome", json_get_text(outcome, "matched"));
	html_term(f, "sandbox",
		  json_get_true(cleanup, "confirmed") ? "destroyed, confirmed" : text_of(cleanup, "reason"));
	report_signature(r, line);
	html_term(f, "signature", line);
	html_term(f, "fingerprint", text_of(run, "fingerprint"));
	html_raw(f, "</dl>\n<h3>Run it again</h3><pre>");
	html_text(f, text_of(run, "reproduce"));
	html_raw(f, "</pre></section>\n");
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

static void
table(FILE *f, const char *caption, const char *const *heads)
{
	html_format(f, "<div class=scroll tabindex=0><table><caption>%s</caption><thead><tr>", caption);
	for (; *heads; heads++)
		html_format(f, "<th scope=col>%s</th>", *heads);
	html_raw(f, "</tr></thead><tbody>\n");
}

static void
cell(FILE *f, const char *text)
{
	html_raw(f, "<td>");
	html_text(f, text);
	html_raw(f, "</td>");
}

static void
end_table(FILE *f, uint64_t rows)
{
	html_raw(f, "</tbody></table></div>\n");
	if (rows > HTML_ROWS)
		html_format(f, "<p>... and %" PRIu64 " more in the receipt</p>\n", rows - HTML_ROWS);
}

/* ---- checks -------------------------------------------------------------------------------------------------------------- */

/* A pointer to an operation leads to it. */
static void
rest(FILE *f, const char *pointer)
{
	static const char lead[] = "/operations/";
	size_t n = strlen(lead), digits = strncmp(pointer, lead, n) == 0 ? strspn(pointer + n, "0123456789") : 0;
	const char *part = strncmp(pointer, "/state", 6) == 0      ? "state"
			   : strncmp(pointer, "/boundary", 9) == 0 ? "boundary"
			   : strncmp(pointer, "/outcome", 8) == 0  ? "output"
			   : strncmp(pointer, "/faults", 7) == 0   ? "faults"
								   : "operations";

	if (digits && digits < 10)
		html_format(f, " <a class=mono href=#op-%.*s>", (int)digits, pointer + n);
	else
		html_format(f, " <a class=mono href=#%s>", part);
	html_text(f, pointer);
	html_raw(f, "</a>");
}

static void
one_check(FILE *f, const cJSON *c)
{
	bool failed = check_failed(c), open = cJSON_IsNull(json_get(c, "held"));
	const char *role = text_of(c, "role");
	const cJSON *x;

	html_format(f, "<div class=\"check %s\"><h3>", failed ? "no" : open ? "" : "yes");
	html_badge(f,
		   failed ? (strcmp(role, "evidence") == 0 ? "plain" : "bad")
		   : open ? "plain"
			  : "good",
		   failed ? "not held"
		   : open ? "not judged"
			  : "held");
	html_raw(f, " ");
	html_text(f, text_of(c, "id"));
	if (strcmp(role, "evidence") == 0)
		html_raw(f, " <span class=t>(evidence)</span>");
	html_raw(f, "</h3><dl>\n");
	html_term(f, "expected", text_of(c, "expected"));
	html_term(f, "actual", text_of(c, "actual"));
	if (json_get_text(c, "because"))
		html_term(f, "because", json_get_text(c, "because"));
	if (json_get(c, "rests_on") && json_get(c, "rests_on")->child) {
		html_raw(f, "<dt>rests on</dt><dd>");
		cJSON_ArrayForEach(x, json_get(c, "rests_on"))
		{
			rest(f, cJSON_IsString(x) ? x->valuestring : "-");
		}
		html_raw(f, "</dd>");
	}
	html_raw(f, "</dl></div>\n");
}

static bool
is_quiet(const cJSON *c)
{
	return json_get_true(c, "held") && !check_failed(c);
}

/* What did not hold, or was not judged, one by one; the others in a table. */
static void
checks_part(FILE *f, const cJSON *r)
{
	static const char *const heads[] = { "check", "expected", "actual", NULL };
	const cJSON *c, *list = json_get(r, "checks");
	uint64_t rows = 0;

	html_section(f, "checks", "Checks");
	cJSON_ArrayForEach(c, list)
	{
		if (!is_quiet(c))
			one_check(f, c);
	}
	table(f, "Held", heads);
	cJSON_ArrayForEach(c, list)
	{
		if (!is_quiet(c) || rows++ >= HTML_ROWS)
			continue;
		html_raw(f, "<tr><td>");
		html_badge(f, "good", "held");
		html_raw(f, " ");
		html_text(f, text_of(c, "id"));
		html_raw(f, "</td>");
		cell(f, text_of(c, "expected"));
		cell(f, text_of(c, "actual"));
		html_raw(f, "</tr>\n");
	}
	end_table(f, rows);
	html_raw(f, "</section>\n");
}

/* ---- faults, state --------------------------------------------------------------------------------------------------------- */

static void
faults_part(FILE *f, const cJSON *r)
{
	static const char *const heads[] = { "fault", "class", "fired", "operations", NULL };
	const cJSON *x, *op, *list = json_get(r, "faults");
	char text[64];
	uint64_t rows = 0, fired;

	html_section(f, "faults", "Faults");
	if (!list || !list->child) {
		html_raw(f, "<p>None is declared.</p></section>\n");
		return;
	}
	table(f, "What was declared, and where it happened", heads);
	cJSON_ArrayForEach(x, list)
	{
		if (rows++ >= HTML_ROWS)
			continue;
		fired = 0;
		json_get_u64(x, "count", UINT64_MAX, &fired);
		html_raw(f, "<tr>");
		cell(f, text_of(x, "id"));
		cell(f, text_of(x, "class"));
		snprintf(text, sizeof(text), "%" PRIu64 " time%s", fired, fired == 1 ? "" : "s");
		html_raw(f, "<td>");
		html_badge(f, fired ? "doubt" : "plain", fired ? text : "not fired");
		html_raw(f, "</td><td>");
		cJSON_ArrayForEach(op, json_get(x, "operations"))
		{
			if (json_as_u64(op, UINT32_MAX, &fired))
				html_format(f, "<a href=#op-%" PRIu64 ">%" PRIu64 "</a> ", fired, fired);
		}
		html_raw(f, "</td></tr>\n");
	}
	end_table(f, rows);
	html_raw(f, "</section>\n");
}

static void
value_cell(FILE *f, const cJSON *v)
{
	html_raw(f, "<td class=mono>");
	html_json(f, cJSON_IsNull(v) ? NULL : v, 400);
	html_raw(f, "</td>");
}

static void
state_part(FILE *f, const cJSON *r)
{
	static const char *const heads[] = { "service", "path", "before", "after", NULL };
	const cJSON *state = json_get(r, "state"), *x;
	uint64_t rows = 0, left_out = 0;

	html_section(f, "state", "State");
	json_get_u64(state, "diff_left_out", UINT64_MAX, &left_out);
	if (!json_get(state, "diff") || !json_get(state, "diff")->child) {
		html_raw(f, "<p>Nothing differs between the initial and the final state.</p>\n");
	} else {
		table(f, "What differs between the initial and the final state", heads);
		cJSON_ArrayForEach(x, json_get(state, "diff"))
		{
			if (rows++ >= HTML_ROWS)
				continue;
			html_raw(f, "<tr>");
			cell(f, text_of(x, "service"));
			html_raw(f, "<td class=mono>");
			html_text(f, text_of(x, "path"));
			html_raw(f, "</td>");
			value_cell(f, json_get(x, "before"));
			value_cell(f, json_get(x, "after"));
			html_raw(f, "</tr>\n");
		}
		end_table(f, rows + left_out);
	}
	cJSON_ArrayForEach(x, json_get(state, "final"))
	{
		html_raw(f, "<details><summary>Final state of ");
		html_text(f, x->string);
		html_raw(f, "</summary><div><pre>");
		html_json(f, x, 5 * HTML_VALUE);
		html_raw(f, "</pre></div></details>\n");
	}
	html_raw(f, "</section>\n");
}

/* ---- boundary --------------------------------------------------------------------------------------------------------------- */

static void
probes(FILE *f, const cJSON *list)
{
	static const char *const heads[] = {
		"lock", "tried", "verdict", "packets", "denied", "escaped", "error", NULL
	};
	static const char *const numbers[] = { "packets", "denied", "escaped" };
	const cJSON *x;
	uint64_t n, rows = 0;
	size_t i;

	html_format(f, "<details><summary>%d probes before and after the workflow</summary><div>",
		    cJSON_GetArraySize(list));
	table(f, "Each tries to get out; PASS: it was denied, and only it", heads);
	cJSON_ArrayForEach(x, list)
	{
		const char *verdict = text_of(x, "verdict");

		if (rows++ >= HTML_ROWS)
			continue;
		n = 0;
		json_get_u64(x, "lock", UINT32_MAX, &n);
		html_format(f, "<tr><td>%" PRIu64 "</td>", n);
		cell(f, text_of(x, "what"));
		html_raw(f, "<td>");
		html_badge(f, strcmp(verdict, "PASS") == 0 ? "good" : "bad", verdict);
		html_raw(f, "</td>");
		for (i = 0; i < 3; i++) {
			n = 0;
			json_get_u64(x, numbers[i], UINT64_MAX, &n);
			html_format(f, "<td>%" PRIu64 "</td>", n);
		}
		cell(f, text_of(x, "errno"));
		html_raw(f, "</tr>\n");
	}
	end_table(f, rows);
	html_raw(f, "</div></details>\n");
}

static void
rules(FILE *f, const cJSON *b)
{
	const cJSON *x;

	cJSON_ArrayForEach(x, json_get(b, "locks"))
	{
		if (!json_get_text(x, "text"))
			continue;
		html_raw(f, "<details><summary>Rules of the ");
		html_text(f, text_of(x, "kind"));
		html_raw(f, " lock</summary><div><pre>");
		html_text(f, json_get_text(x, "text"));
		html_raw(f, "</pre></div></details>\n");
	}
}

static void
egress(FILE *f, const cJSON *b)
{
	const cJSON *x;
	char line[REPORT_LINE_MAX];
	uint64_t rows = 0, count;

	if (!json_get(b, "denied_egress") || !json_get(b, "denied_egress")->child)
		html_raw(f, "<p>No packet tried to get out.</p>\n");
	else
		html_raw(f, "<h3>Denied</h3><ul>\n");
	cJSON_ArrayForEach(x, json_get(b, "denied_egress"))
	{
		if (rows++ >= HTML_ROWS)
			continue;
		report_denied(x, line);
		html_raw(f, "<li>");
		html_text(f, line);
		html_raw(f, "</li>\n");
	}
	html_raw(f, rows ? "</ul>\n" : "");
	rows = 0;
	cJSON_ArrayForEach(x, json_get(b, "refused_names"))
	{
		if (rows++ >= HTML_ROWS)
			continue;
		html_raw(f, rows == 1 ? "<h3>Names that were asked for and refused</h3><ul>\n<li>" : "<li>");
		html_text(f, text_of(x, "name"));
		count = 0;
		json_get_u64(x, "count", UINT64_MAX, &count);
		html_format(f, ", %" PRIu64 " time%s</li>\n", count, count == 1 ? "" : "s");
	}
	html_raw(f, rows ? "</ul>\n" : "");
}

static void
boundary_part(FILE *f, const cJSON *r)
{
	const cJSON *b = json_get(r, "boundary");
	bool opening = json_get_true(json_get(b, "opening"), "proved"),
	     closing = json_get_true(json_get(b, "closing"), "proved");

	html_section(f, "boundary", "Boundary");
	if (is_local(r)) {
		html_raw(
			f,
			"<p><span class=\"badge bad\">none</span> The workflow ran directly on the machine.</p></section>\n");
		return;
	}
	html_raw(f, "<p>");
	html_badge(f, opening ? "good" : "bad", opening ? "proved before" : "NOT proved before");
	html_raw(f, " ");
	html_badge(f, closing ? "good" : "bad", closing ? "proved after" : "NOT proved after");
	html_raw(f, "</p><dl>\n");
	html_term(f, "policy", text_of(json_get(b, "policy"), "sha256"));
	if (json_get_text(b, "reason"))
		html_term(f, "one lock only", json_get_text(b, "reason"));
	html_raw(f, "</dl>\n");
	egress(f, b);
	probes(f, json_get(b, "probes"));
	rules(f, b);
	html_raw(f, "</section>\n");
}

/* ---- the rest --------------------------------------------------------------------------------------------------------------- */

static void
stream_part(FILE *f, const cJSON *s, const char *name)
{
	const char *tail = json_get_text(s, "tail");
	uint64_t bytes = 0;

	json_get_u64(s, "bytes", UINT64_MAX, &bytes);
	html_format(f, "<h3>%s <span class=t>(%" PRIu64 " bytes%s)</span></h3>", name, bytes,
		    json_get_true(s, "truncated") ? ", TRUNCATED" : "");
	if (!tail || !*tail) {
		html_raw(f, "<p>Nothing.</p>\n");
		return;
	}
	html_raw(f, bytes > strlen(tail) ? "<p class=t>the end of it</p><pre tabindex=0>" : "<pre tabindex=0>");
	html_text(f, tail);
	html_raw(f, "</pre>\n");
}

static void
output_part(FILE *f, const cJSON *r)
{
	const cJSON *outcome = json_get(r, "outcome");

	html_section(f, "output", "Output");
	stream_part(f, json_get(outcome, "stdout"), "stdout");
	stream_part(f, json_get(outcome, "stderr"), "stderr");
	html_raw(f, "</section>\n");
}

static void
entered_part(FILE *f, const cJSON *r)
{
	static const char *const heads[] = { "file", "bytes", "SHA-256", NULL };
	const cJSON *bundle = json_get(r, "bundle"), *x, *files = json_get(bundle, "files");
	uint64_t rows = 0, size;

	html_section(f, "evidence", "What went in");
	html_raw(f, "<dl>\n");
	html_term(f, "world", text_of(json_get(json_get(r, "run"), "world"), "sha256"));
	html_term(f, "guest", text_of(json_get(json_get(r, "runtime"), "guest"), "sha256"));
	html_raw(f, "<dt>variables</dt><dd>");
	cJSON_ArrayForEach(x, json_get(bundle, "variables"))
	{
		html_text(f, cJSON_IsString(x) ? x->valuestring : "-");
		html_raw(f, " ");
	}
	html_raw(f, "</dd></dl>\n");
	html_format(f, "<details><summary>%d files</summary><div>", cJSON_GetArraySize(files));
	table(f, "The bundle", heads);
	cJSON_ArrayForEach(x, files)
	{
		if (rows++ >= HTML_ROWS)
			continue;
		size = 0;
		json_get_u64(x, "size", UINT64_MAX, &size);
		html_raw(f, "<tr>");
		cell(f, text_of(x, "path"));
		html_format(f, "<td>%" PRIu64 "</td><td class=mono>", size);
		html_text(f, text_of(x, "sha256"));
		html_raw(f, "</td></tr>\n");
	}
	end_table(f, rows);
	html_raw(f, "</div></details></section>\n");
}

static void
limits_part(FILE *f, const cJSON *r)
{
	const cJSON *x;

	html_section(f, "limits", "What this receipt does not prove");
	html_raw(f, "<ul>\n");
	cJSON_ArrayForEach(x, json_get(r, "limits"))
	{
		html_raw(f, "<li>");
		html_text(f, cJSON_IsString(x) ? x->valuestring : "-");
		html_raw(f, "</li>\n");
	}
	html_raw(
		f,
		"</ul></section>\n</main>\n<footer><p>The receipt itself is the JSON document: this page is a view of it. "
		"<code>agenttwin-host receipt verify</code> tells whether that is as it was written.</p></footer>\n</body>\n</html>\n");
}

int
report_html(FILE *f, struct receipt_doc *doc)
{
	const cJSON *r = doc->rest;
	int rc;

	begin(f, r);
	run_part(f, r);
	checks_part(f, r);
	faults_part(f, r);
	if ((rc = html_operations(f, doc)) < 0)
		return rc;
	state_part(f, r);
	boundary_part(f, r);
	output_part(f, r);
	entered_part(f, r);
	limits_part(f, r);
	return ferror(f) ? -EIO : 0;
}
