/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_html_ops.c - the operations on the page: a line for each service with a mark for each operation, then one after the
 * other, with what both sides saw of it. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/html.h"
#include "host/json.h"
#include "host/report_html.h"
#include "host/report_line.h"
#include "host/report_pick.h"

#define LANES_MAX 24u
#define LEFT 150.0 /* of the drawing, for names */
#define WIDTH 1000.0
#define LANE 28.0

struct lanes {
	size_t len;
	char name[LANES_MAX][64];
	uint64_t first_ms, last_ms;
};

static bool
is_odd(const cJSON *op)
{
	return cJSON_IsObject(json_get(op, "fault")) || !views_fine(op);
}

/* The first so many, and of the others the odd ones, so many again. */
static bool
is_shown(uint64_t index, const cJSON *op, uint64_t *odd)
{
	return index < HTML_OPERATIONS || (is_odd(op) && (*odd)++ < HTML_OPERATIONS);
}

static size_t
lane_of(struct lanes *l, const cJSON *op)
{
	const char *service = json_get_text(op, "service");
	char name[64];
	size_t i;

	report_cut(service ? service : "?", name, sizeof(name) - 4);
	for (i = 0; i < l->len; i++)
		if (strcmp(l->name[i], name) == 0)
			return i;
	if (l->len == LANES_MAX)
		return LANES_MAX - 1;
	memcpy(l->name[l->len], name, sizeof(name));
	return l->len++;
}

static uint64_t
time_of(const cJSON *op)
{
	uint64_t t = 0;

	json_get_u64(op, "t_ms", UINT64_MAX, &t);
	return t;
}

/* ---- the drawing ---------------------------------------------------------------------------------------------------------- */

static int
measure(struct receipt_doc *doc, struct lanes *l)
{
	struct receipt_cursor c = { 0 };
	uint64_t odd = 0, t;
	cJSON *op;
	int r;

	memset(l, 0, sizeof(*l));
	l->first_ms = UINT64_MAX;
	while ((r = receipt_next(doc, &c, &op)) == 1) {
		if (is_shown(c.index - 1, op, &odd)) {
			lane_of(l, op);
			t = time_of(op);
			l->first_ms = t < l->first_ms ? t : l->first_ms;
			l->last_ms = t > l->last_ms ? t : l->last_ms;
		}
		cJSON_Delete(op);
	}
	return r;
}

/* A circle when all is well, a diamond when a fault was met, a square when one side saw something else than the other. */
static void
mark(FILE *f, struct lanes *l, const cJSON *op, uint64_t index)
{
	double span = l->last_ms > l->first_ms ? (double)(l->last_ms - l->first_ms) : 1;
	double x = LEFT + 10 + (double)(time_of(op) - l->first_ms) / span * (WIDTH - LEFT - 30);
	double y = LANE * ((double)lane_of(l, op) + 0.5);
	char line[REPORT_LINE_MAX];

	report_line(op, index, true, line);
	html_format(f, "<a href=#op-%" PRIu64 "><title>", index);
	html_text(f, line);
	html_raw(f, "</title>");
	if (cJSON_IsObject(json_get(op, "fault")))
		html_format(f, "<path class=no d=\"M%.1f %.1fl8 8 -8 8 -8 -8z\"/>", x, y - 8);
	else if (!views_fine(op))
		html_format(f, "<rect class=odd x=%.1f y=%.1f width=11 height=11 />", x - 5.5, y - 5.5);
	else
		html_format(f, "<circle class=ok cx=%.1f cy=%.1f r=5 />", x, y);
	html_raw(f, "</a>\n");
}

static int
draw(FILE *f, struct receipt_doc *doc, struct lanes *l)
{
	struct receipt_cursor c = { 0 };
	double bottom = LANE * (double)l->len;
	uint64_t odd = 0;
	cJSON *op;
	size_t i;
	int r;

	html_format(
		f,
		"<svg viewBox=\"0 0 %.0f %.0f\" role=group aria-label=\"Operations in time, a line for each service; each leads to "
		"its entry below\">\n",
		WIDTH, bottom + 20);
	for (i = 0; i < l->len; i++) {
		html_format(f, "<text x=0 y=%.1f>", LANE * (double)i + LANE / 2 + 4);
		html_text(f, l->name[i]);
		html_format(f, "</text><line class=lane x1=%.0f x2=%.0f y1=%.1f y2=%.1f />\n", LEFT, WIDTH,
			    LANE * (double)i + LANE / 2, LANE * (double)i + LANE / 2);
	}
	html_format(f,
		    "<text x=%.0f y=%.1f>%" PRIu64 " ms</text><text x=%.0f y=%.1f text-anchor=end>%" PRIu64
		    " ms</text>\n",
		    LEFT, bottom + 14, l->first_ms, WIDTH, bottom + 14, l->last_ms);
	while ((r = receipt_next(doc, &c, &op)) == 1) {
		if (is_shown(c.index - 1, op, &odd))
			mark(f, l, op, c.index - 1);
		cJSON_Delete(op);
	}
	html_raw(
		f,
		"</svg>\n<p class=t>&#9679; as it should be &#9670; met a fault &#9632; the sides saw different things, or the call "
		"was refused</p>\n");
	return r;
}

/* ---- one after the other ---------------------------------------------------------------------------------------------------- */

static void
json_block(FILE *f, const char *title, const cJSON *v)
{
	if (!v || cJSON_IsNull(v) || ((cJSON_IsArray(v) || cJSON_IsObject(v)) && !v->child))
		return;
	html_format(f, "<h3>%s</h3><pre>", title);
	html_json(f, v, HTML_VALUE);
	html_raw(f, "</pre>\n");
}

static void
views(FILE *f, const cJSON *op)
{
	const cJSON *v = json_get(op, "views");
	const char *meaning = views_meaning(op);
	char line[256], part[80];

	snprintf(line, sizeof(line), "%s", report_clip(v, "service", part, 60));
	html_term(f, "the service", line);
	snprintf(line, sizeof(line), "%s%s%s", report_clip(v, "client", part, 60), meaning ? ": " : "",
		 meaning ? meaning : "");
	html_term(f, "the client", line);
}

static void
inside(FILE *f, const cJSON *op)
{
	const cJSON *request = json_get(op, "request"), *nearest = json_get(op, "nearest");
	const char *key = json_get_text(op, "key"), *verdict = json_get_text(op, "idempotency");
	uint64_t before;

	html_raw(f, "<dl>\n");
	views(f, op);
	if (key)
		html_term(f, "key", key);
	if (verdict)
		html_term(f, "idempotency", verdict);
	if (json_get_u64(op, "resend_of", UINT32_MAX, &before))
		html_format(f, "<dt>repeats</dt><dd><a href=#op-%" PRIu64 ">operation %" PRIu64 "</a></dd>\n", before,
			    before);
	if (json_get_text(nearest, "route")) {
		html_term(f, "nearest route", json_get_text(nearest, "route"));
		html_term(f, "difference", json_get_text(nearest, "difference"));
	}
	html_raw(f, "</dl>\n");
	json_block(f, "Fault", json_get(op, "fault"));
	json_block(f, "Effects", json_get(op, "effects"));
	json_block(f, "Request body", json_get(request, "body"));
	json_block(f, "Headers", json_get(request, "headers"));
	json_block(f, "Reply", json_get(op, "reply"));
}

static void
one(FILE *f, const cJSON *op, uint64_t index)
{
	char line[REPORT_LINE_MAX];
	const char *meaning = views_meaning(op);

	report_line(op, index, false, line);
	html_format(f, "<details id=op-%" PRIu64 "><summary>", index);
	html_text(f, line);
	if (cJSON_IsObject(json_get(op, "fault"))) {
		html_raw(f, " ");
		html_badge(f, "bad", "fault");
	}
	if (meaning) {
		html_raw(f, " ");
		html_badge(f, "doubt", meaning);
	}
	html_raw(f, "</summary><div>\n");
	inside(f, op);
	html_raw(f, "</div></details>\n");
}

static int
list(FILE *f, struct receipt_doc *doc)
{
	struct receipt_cursor c = { 0 };
	uint64_t odd = 0, left = 0;
	cJSON *op;
	int r;

	while ((r = receipt_next(doc, &c, &op)) == 1) {
		if (is_shown(c.index - 1, op, &odd))
			one(f, op, c.index - 1);
		else
			left++;
		cJSON_Delete(op);
	}
	if (left)
		html_format(f, "<p>... and %" PRIu64 " more in the receipt</p>\n", left);
	return r;
}

int
html_operations(FILE *f, struct receipt_doc *doc)
{
	struct lanes l;
	int r;

	html_section(f, "operations", "Operations");
	if ((r = measure(doc, &l)) < 0)
		return r;
	html_format(f, "<p>%" PRIu64 " in all.</p>\n", doc->operations);
	if (l.len && ((r = draw(f, doc, &l)) < 0 || (r = list(f, doc)) < 0))
		return r;
	html_raw(f, "</section>\n");
	return 0;
}
