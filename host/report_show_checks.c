/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_show_checks.c - see report_show.h: what was judged, and what it rests on. */
#include <cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "host/json.h"
#include "host/report_line.h"
#include "host/report_page.h"
#include "host/report_pick.h"
#include "host/report_show.h"

#define OUTCOMES_SHOWN 50
#define CONDITIONS_SHOWN 20

static const char *
text(const cJSON *o, const char *name)
{
	const char *s = json_get_text(o, name);

	return s ? s : "-";
}

void
show_failure(struct page *p, const char *label, const cJSON *f)
{
	char step[104], err[44], why[804];

	if (!cJSON_IsObject(f))
		return;
	page_field(p, BAD, label, "%s: %s, %s", report_clip(f, "step", step, 100), report_clip(f, "errno", err, 40),
		   report_clip(f, "text", why, 800));
}

/* Its operations, or what else it rests on. */
static void
rests(struct page *p, const cJSON *check, const struct pick *pick, unsigned k)
{
	char line[REPORT_LINE_MAX], see[REPORT_LINE_MAX] = "", pointer[164];
	uint64_t shown = 0;
	const cJSON *rest;
	size_t i, n = 0;

	for (i = 0; k < PICK_CHECKS_MAX && i < pick->len; i++) {
		if (!(pick->list[i].checks >> k & 1))
			continue;
		if (shown++ == 0 && pick->derived[k])
			page_field(p, PLAIN, "", "changed by");
		report_line(pick->list[i].op, pick->list[i].index, LINE_FULL, line);
		page_text(p, PLAIN, "", line);
	}
	if (k < PICK_CHECKS_MAX && pick->of_check[k] > shown)
		page_field(p, PLAIN, "", "... and %" PRIu64 " more operations", pick->of_check[k] - shown);
	if (shown)
		return;
	cJSON_ArrayForEach(rest, json_get(check, "rests_on"))
	{
		if (n < sizeof(see) - 1 && cJSON_IsString(rest))
			n += (size_t)snprintf(see + n, sizeof(see) - n, "%s%s", n ? " " : "",
					      report_cut(rest->valuestring, pointer, 160));
	}
	if (n)
		page_field(p, PLAIN, "", "see %.*s", (int)(sizeof(see) - 16), see);
}

static void
not_held(struct page *p, const cJSON *c, const struct pick *pick, unsigned k)
{
	bool evidence = strcmp(text(c, "role"), "evidence") == 0;
	char id[104], because[604], value[1204];

	page_field(p, evidence ? PLAIN : BAD, evidence ? "  not held" : "  NOT HELD", "%s%s%s%s",
		   report_clip(c, "id", id, 100), json_get_text(c, "because") ? ": " : "",
		   json_get_text(c, "because") ? report_clip(c, "because", because, 600) : "",
		   evidence ? " (evidence)" : "");
	page_field(p, PLAIN, "", "expected  %s", report_clip(c, "expected", value, 1200));
	page_field(p, PLAIN, "", "actual    %s", report_clip(c, "actual", value, 1200));
	rests(p, c, pick, k);
}

void
show_checks(struct page *p, const cJSON *list, const struct pick *pick)
{
	char id[104], value[604];
	const cJSON *c;
	unsigned k = 0;

	page_heading(p, "checks", UINT64_MAX);
	cJSON_ArrayForEach(c, list)
	{
		if (check_failed(c))
			not_held(p, c, pick, k++);
	}
	cJSON_ArrayForEach(c, list)
	{
		if (check_failed(c))
			continue;
		if (json_get_true(c, "held"))
			page_field(p, GOOD, "  held", "%s: %s%s", report_clip(c, "id", id, 100),
				   report_clip(c, "expected", value, 600),
				   json_get_true(c, "rests_on_nothing") ? " (but nothing happened that it is about)"
									: "");
		else
			page_field(p, DOUBT, "  not judged", "%s: %s%s", report_clip(c, "id", id, 100),
				   strcmp(text(c, "role"), "sweep") != 0 ? ""
				   : json_get_true(c, "held_here")       ? "over a sweep alone; it held here: "
				   : cJSON_IsFalse(json_get(c, "held_here"))
					   ? "over a sweep alone; it did not hold here: "
					   : "over a sweep alone: ",
				   report_clip(c, "actual", value, 600));
	}
}

/* One outcome: what of it was not met. */
static void
one_outcome(struct page *p, const cJSON *o, bool is_nearest)
{
	const cJSON *matches = json_get(o, "matches"), *c;
	char id[104], verdict[24], name[164], actual[404];
	const char *label = cJSON_IsTrue(matches) ? "  matched" : is_nearest ? "  nearest" : "  not";
	int n = 0;

	report_clip(o, "verdict", verdict, 20);
	page_field(p,
		   !cJSON_IsTrue(matches)           ? PLAIN
		   : strcmp(verdict, "passed") == 0 ? GOOD
						    : BAD,
		   label, "%s (%s)%s", report_clip(o, "id", id, 100), verdict,
		   matches && cJSON_IsNull(matches) ? ", not judged" : "");
	if (cJSON_IsTrue(matches))
		return;
	cJSON_ArrayForEach(c, json_get(o, "conditions"))
	{
		const char *kind = json_get_text(c, "jq") ? "jq" : "check";

		if (json_get_true(c, "met") || n++ == CONDITIONS_SHOWN)
			continue;
		page_field(p, PLAIN, "", "%s %s %s: %s", kind, report_clip(c, kind, name, 160),
			   cJSON_IsNull(json_get(c, "met")) ? "could not be judged" : "is not met",
			   report_clip(c, "actual", actual, 400));
	}
}

void
show_outcome(struct page *p, const cJSON *o)
{
	const cJSON *declared = json_get(o, "declared"), *one;
	const char *nearest = json_get_text(o, "nearest");
	int matched = 0, all = cJSON_GetArraySize(declared), n = 0;

	show_failure(p, "failure", json_get(o, "failure"));
	if (!all)
		return;
	cJSON_ArrayForEach(one, declared) matched += json_get_true(one, "matches");
	page_heading(p, "outcomes", UINT64_MAX);
	if (matched != 1)
		page_field(p, BAD, "", "%d of %d matched, where one must", matched, all);
	cJSON_ArrayForEach(one, declared)
	{
		if (n++ == OUTCOMES_SHOWN)
			break;
		one_outcome(p, one, nearest && strcmp(text(one, "id"), nearest) == 0);
	}
}

void
show_faults(struct page *p, const cJSON *list)
{
	uint64_t count, n;
	const cJSON *f, *v;
	char id[104], class[64], ops[200];
	size_t len;
	int shown;

	if (cJSON_GetArraySize(list) == 0)
		return;
	page_heading(p, "faults", UINT64_MAX);
	cJSON_ArrayForEach(f, list)
	{
		bool fired = json_get_true(f, "fired");

		count = len = 0;
		shown = 0;
		ops[0] = '\0';
		json_get_u64(f, "count", UINT64_MAX, &count);
		cJSON_ArrayForEach(v, json_get(f, "operations"))
		{
			if (!json_as_u64(v, UINT64_MAX, &n) || shown++ == 8)
				break;
			len += (size_t)snprintf(ops + len, sizeof(ops) - len, "%s%" PRIu64, len ? ", " : ": ", n);
		}
		report_clip(f, "id", id, 100);
		report_clip(f, "class", class, 60);
		if (fired)
			page_field(p, GOOD, "  fired", "%s (%s), %" PRIu64 " time%s%s%s", id, class, count,
				   count == 1 ? "" : "s", ops, shown > 8 ? ", ..." : "");
		else
			page_field(p, cJSON_IsFalse(json_get(json_get(f, "declared"), "must_fire")) ? PLAIN : BAD,
				   "  not fired", "%s (%s)%s", id, class,
				   json_get_true(f, "armed") ? "" : ", not armed");
	}
}
