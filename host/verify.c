/* SPDX-License-Identifier: GPL-2.0-or-later
 * verify.c - see verify.h: the order of the parts, and whether the receipt agrees with itself. */
#include "host/verify.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/json.h"
#include "host/state_diff.h"

void
verify_say(struct verify *v, enum verify_verdict verdict, const char *what, const char *format, ...)
{
	struct verify_item *i;
	va_list ap;

	if (v->len == VERIFY_ITEMS_MAX) { /* never fewer wrong ones than there are */
		if (verdict == VERIFY_WRONG)
			v->items[v->len - 1].verdict = VERIFY_WRONG;
		return;
	}
	i = &v->items[v->len++];
	i->verdict = verdict;
	i->what = what;
	va_start(ap, format);
	vsnprintf(i->text, sizeof(i->text), format, ap);
	va_end(ap);
}

size_t
verify_count(const struct verify *v, enum verify_verdict verdict)
{
	size_t i, n = 0;

	for (i = 0; i < v->len; i++)
		n += v->items[i].verdict == verdict;
	return n;
}

bool
verify_is_intact(const struct verify *v)
{
	return v->anchored && verify_count(v, VERIFY_WRONG) == 0;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------- */

static bool
code_fits(const char *status, const cJSON *receipt)
{
	static const struct {
		const char *status;
		double code, other;
	} of[] = { { "passed", 0, 0 }, { "failed", 1, 1 },  { "aborted", 3, 3 },
		   { "error", 4, 4 },  { "timeout", 5, 5 }, { "cancelled", 130, 143 } };
	const cJSON *code = json_get(receipt, "exit_code");
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (strcmp(of[i].status, status) == 0)
			return cJSON_IsNumber(code) &&
			       (code->valuedouble == of[i].code || code->valuedouble == of[i].other);
	return false;
}

/* Required checks that did not hold; *any: there is a required one at all.  One that is judged over a sweep has neither. */
static size_t
not_held(const cJSON *receipt, bool *any, const char **first)
{
	const cJSON *c;
	const char *role;
	size_t n = 0;

	cJSON_ArrayForEach(c, json_get(receipt, "checks"))
	{
		role = json_get_text(c, "role");
		if ((role && strcmp(role, "evidence") == 0) || cJSON_IsNull(json_get(c, "held")))
			continue;
		*any = true;
		if (json_get_true(c, "held"))
			continue;
		if (n++ == 0)
			*first = json_get_text(c, "id");
	}
	return n;
}

static bool
is_proved(const cJSON *receipt)
{
	const cJSON *b = json_get(receipt, "boundary");
	const char *kind = json_get_text(b, "kind");

	return (kind && strcmp(kind, "none") == 0) ||
	       (json_get_true(json_get(b, "opening"), "proved") && json_get_true(json_get(b, "closing"), "proved"));
}

/* Why this receipt may not say "passed", or NULL. */
static const char *
against_passed(const cJSON *receipt)
{
	const cJSON *integrity = json_get(receipt, "integrity"), *outcome = json_get(receipt, "outcome"), *truncated;
	const char *first = NULL;
	bool any = false;

	if (not_held(receipt, &any, &first))
		return "a required check did not hold";
	if (!any)
		return "it has no required check";
	if (!is_proved(receipt))
		return "the boundary was not proved before and after";
	if (!json_get_true(json_get(integrity, "frames"), "agreed"))
		return "the guest did not agree with the record";
	truncated = json_get(integrity, "truncated");
	if (!cJSON_IsArray(truncated) || truncated->child)
		return "something is truncated";
	if (!cJSON_IsObject(json_get(outcome, "exit")))
		return "the workflow's end is not recorded";
	if (cJSON_IsArray(json_get(outcome, "declared")) && !cJSON_IsString(json_get(outcome, "matched")))
		return "no outcome matched";
	return NULL;
}

static void
verdict(struct verify *v)
{
	const cJSON *r = v->doc->rest;
	const char *status = json_get_text(r, "status"), *problem = NULL, *first = NULL;
	bool any = false;

	if (!status || !code_fits(status, r))
		problem = "status and exit code do not belong together";
	else if (strcmp(status, "passed") == 0)
		problem = against_passed(r);
	else if (strcmp(status, "failed") == 0 && !cJSON_IsArray(json_get(json_get(r, "outcome"), "declared")) &&
		 not_held(r, &any, &first) == 0)
		problem = "every check held";
	if (problem)
		verify_say(v, VERIFY_WRONG, "verdict", "it says %.40s, but %s", status ? status : "nothing", problem);
	else
		verify_say(v, VERIFY_GOOD, "verdict", "%s follows from what the receipt says", status);
}

/* ---- the diff of states -------------------------------------------------------------------------------------------------- */

struct entries {
	const char *service;
	const cJSON *next; /* of the receipt's list */
	uint64_t seen, different;
};

static bool
is_same(const cJSON *stated, const cJSON *value)
{
	return value ? json_equal(stated, value) : cJSON_IsNull(stated);
}

static void
entry(void *arg, const char *path, const cJSON *before, const cJSON *after)
{
	struct entries *e = arg;
	const char *service = json_get_text(e->next, "service"), *stated = json_get_text(e->next, "path");

	e->seen++;
	if (!e->next)
		return;
	if (!service || strcmp(service, e->service) != 0 || !stated || strcmp(stated, path) != 0 ||
	    !is_same(json_get(e->next, "before"), before) || !is_same(json_get(e->next, "after"), after))
		e->different++;
	e->next = e->next->next;
}

static void
diff(struct verify *v)
{
	const cJSON *state = json_get(v->doc->rest, "state"), *list = json_get(state, "diff"), *s, *final;
	struct entries e = { .next = list ? list->child : NULL };
	uint64_t left_out = 0, stated = (uint64_t)cJSON_GetArraySize(list);

	json_get_u64(state, "diff_left_out", UINT64_MAX, &left_out);
	cJSON_ArrayForEach(s, json_get(state, "initial"))
	{
		final = json_get(json_get(state, "final"), s->string);
		e.service = s->string;
		if (cJSON_IsObject(s) && cJSON_IsObject(final))
			state_diff(s, final, entry, &e);
	}
	if (e.different || e.next || e.seen != stated + left_out)
		verify_say(v, VERIFY_WRONG, "state", "the diff is not what initial and final state differ in");
	else
		verify_say(v, VERIFY_GOOD, "state",
			   "the diff is what initial and final state differ in: %" PRIu64 " entr%s", e.seen,
			   e.seen == 1 ? "y" : "ies");
}

/* ---- what is only said ---------------------------------------------------------------------------------------------------- */

static void
said(struct verify *v)
{
	const cJSON *r = v->doc->rest, *boundary = json_get(r, "boundary");
	const char *guest = json_get_text(json_get(json_get(r, "runtime"), "guest"), "sha256");
	const char *kind = json_get_text(boundary, "kind"),
		   *policy = json_get_text(json_get(boundary, "policy"), "sha256");

	if (guest && v->guest_sha256 && strcmp(guest, v->guest_sha256) == 0)
		verify_say(v, VERIFY_GOOD, "guest", "it is the one in this program, %.16s", guest);
	else
		verify_say(v, VERIFY_CANNOT, "guest",
			   "it is not the one in this program: compare %.64s with a build of its version",
			   guest ? guest : "nothing");
	if (kind && strcmp(kind, "none") != 0)
		verify_say(
			v, VERIFY_CANNOT, "boundary",
			"it was proved inside the sandbox while the run lasted; compare policy %.64s with `agenttwin-host audit`",
			policy ? policy : "none");
	verify_say(v, VERIFY_CANNOT, "frames",
		   "their chain was compared with the guest's when the run ended; frames are not kept");
	verify_say(v, VERIFY_CANNOT, "files", "the bundle's files are named with their digests and are not kept");
}

int
verify_receipt(struct verify *v)
{
	int r;

	v->len = 0;
	verify_say(v, VERIFY_GOOD, "document", "a receipt/1 of %" PRIu64 " bytes, %" PRIu64 " operation%s",
		   v->doc->size, v->doc->operations, v->doc->operations == 1 ? "" : "s");
	if ((r = verify_signature(v)) < 0 || (r = verify_events(v)) < 0 || (r = verify_fingerprint(v)) < 0)
		return r;
	verdict(v);
	diff(v);
	said(v);
	return 0;
}
