/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_record.c - what the process of a run hands back, written there and taken here, see test.h.  That process has read
 * frames of a guest, so what it says is taken strictly: anything odd is no record, and no record is an error. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/emit.h"
#include "host/job.h"
#include "host/json.h"
#include "host/progress.h"
#include "host/test.h"

#define NUMBER_MAX 9007199254740991u
#define TEXT_MAX 4000u /* bytes of each text; further ones are cut off */
#define CHECKS_MAX 2000u

static const char *const names[TEST_STATUS_COUNT] = {
	[TEST_PASSED] = "passed",       [TEST_FLAKY] = "flaky",     [TEST_FAILED] = "failed",
	[TEST_TIMEOUT] = "timeout",     [TEST_ERROR] = "error",     [TEST_ABORTED] = "aborted",
	[TEST_CANCELLED] = "cancelled", [TEST_INVALID] = "invalid", [TEST_NOT_RUN] = "not run",
};

static const char *const modes[] = {
	[MODE_AT_END] = "always", [MODE_ALWAYS] = "always", [MODE_NEVER] = "never", [MODE_SOMETIMES] = "sometimes"
};

/* see test.h */
const char *
test_status_name(enum test_status s)
{
	return names[s];
}

/* ---- writing ------------------------------------------------------------------------------------------------------------ */

/* At most TEXT_MAX bytes, whole characters.  "" and NULL are null. */
static void
put_text(struct emit *e, const char *key, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len > TEXT_MAX)
		for (len = TEXT_MAX; len && ((unsigned char)s[len] & 0xc0) == 0x80; len--)
			;
	if (len)
		emit_bytes(e, key, s, len);
	else
		emit_null(e, key);
}

static void
put_check(struct emit *e, const struct job *j, size_t i)
{
	const struct check_result *c = &j->checks.results[i];
	struct diag place = { 0 };
	char pointer[40], rests[400] = "";

	if (i < j->world.checks_len) {
		snprintf(pointer, sizeof(pointer), "/checks/%zu", i);
		world_place(&j->world, pointer, false, &place);
	}
	emit_open(e, NULL, '{');
	emit_text(e, "id", c->id);
	emit_text(e, "kind", c->kind);
	if (strcmp(c->role, "sweep") == 0) {
		emit_null(e, "held");
		emit_text(e, "mode", modes[j->world.checks[i].sweep_mode]);
		if (c->unknown)
			emit_null(e, "here");
		else
			emit_bool(e, "here", c->held_here);
	} else {
		emit_bool(e, "held", c->held);
	}
	emit_text(e, "role", c->role);
	emit_u64(e, "line", place.line);
	if (!c->held) {
		progress_rests(c, rests, sizeof(rests));
		put_text(e, "because", c->because);
		put_text(e, "expected", c->expected);
		put_text(e, "actual", c->actual);
		put_text(e, "rests", rests);
	}
	emit_close(e);
}

/* The conditions of an outcome that are not met. */
static void
put_unmet(struct emit *e, const struct job *j, const struct outcome_result *o)
{
	const struct check_result *c;
	char name[100];
	size_t i;

	for (i = 0; i < o->def->when_len; i++) {
		if (o->items[i].state == OUTCOME_MET)
			continue;
		emit_open(e, NULL, '{');
		if (o->def->when[i].expr) {
			snprintf(name, sizeof(name), "outcome %.80s", o->def->id);
			emit_text(e, "id", name);
			put_text(e, "expected", o->items[i].name);
			put_text(e, "actual", o->items[i].actual);
		} else {
			c = &j->checks.results[o->def->when[i].check];
			emit_text(e, "id", c->id);
			put_text(e, "because", c->because);
			put_text(e, "expected", c->expected);
			put_text(e, "actual", c->actual);
		}
		emit_close(e);
	}
}

static void
put_outcomes(struct emit *e, const struct job *j)
{
	const struct outcomes *o = &j->outcomes;
	size_t i;

	put_text(e, "outcome", o->match ? o->match->def->id : NULL);
	emit_open(e, "unmet", '[');
	if (o->nearest)
		put_unmet(e, j, o->nearest);
	for (i = 0; o->unknown && i < o->len; i++)
		if (o->list[i].state == OUTCOME_UNKNOWN)
			put_unmet(e, j, &o->list[i]);
	emit_close(e);
}

static void
put_problem(struct emit *e, const struct diag *d)
{
	emit_open(e, "problem", '{');
	put_text(e, "file", d->file);
	put_text(e, "pointer", d->pointer);
	put_text(e, "problem", d->problem);
	put_text(e, "fix", d->fix);
	emit_u64(e, "line", d->line);
	emit_u64(e, "column", d->column);
	emit_close(e);
}

/* see test.h */
int
test_record_write(FILE *f, const struct job *j, const struct test_record *base)
{
	bool judged = base->status == TEST_PASSED || base->status == TEST_FAILED;
	struct emit e;
	size_t i;
	int r = emit_init(&e, f, j->redact);

	if (r < 0)
		return r;
	emit_open(&e, NULL, '{');
	emit_text(&e, "status", names[base->status]);
	emit_i64(&e, "exit_code", base->exit_code);
	put_text(&e, "why", base->why);
	put_text(&e, "run_id", base->run_id);
	put_text(&e, "fingerprint", base->fingerprint);
	put_text(&e, "receipt", base->receipt);
	emit_u64(&e, "started_unix_ms", j->started_unix_ms);
	emit_u64(&e, "ms", j->took_ms);
	emit_bool(&e, "compared", base->compared);
	emit_bool(&e, "like", base->like);
	put_text(&e, "difference", base->difference);
	if (base->status == TEST_INVALID)
		put_problem(&e, &j->diag);
	if (judged)
		put_outcomes(&e, j);
	emit_open(&e, "checks", '[');
	for (i = 0; judged && i < j->checks.results_len; i++)
		put_check(&e, j, i);
	emit_close(&e);
	emit_close(&e);
	return emit_finish(&e);
}

/* ---- taking ------------------------------------------------------------------------------------------------------------- */

struct pool { /* all strings of a record, one after the other */
	char *at, *end;
};

static const char *
keep(struct pool *p, const cJSON *o, const char *key)
{
	const char *s = json_get_text(o, key);
	size_t n = s ? strlen(s) + 1 : 0;
	char *to = p->at;

	if (!s || n > (size_t)(p->end - p->at)) /* it fits: the document was longer */
		return NULL;
	memcpy(to, s, n);
	p->at += n;
	return to;
}

static uint32_t
number(const cJSON *o, const char *key)
{
	uint64_t v;

	return json_get_u64(o, key, UINT32_MAX, &v) ? (uint32_t)v : 0;
}

static bool
take_status(const cJSON *doc, enum test_status *out)
{
	const char *name = json_get_text(doc, "status");
	size_t i;

	for (i = 0; name && i < TEST_STATUS_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum test_status)i;
			return *out != TEST_FLAKY && *out != TEST_NOT_RUN;
		}
	return false;
}

/* Of a check over a sweep: what this run says, and what is wanted of all. */
static bool
take_swept(const cJSON *o, struct test_check *c)
{
	const cJSON *here = json_get(o, "here");
	const char *mode = json_get_text(o, "mode");

	c->swept = true;
	c->here = cJSON_IsTrue(here) ? SWEEP_HELD : cJSON_IsFalse(here) ? SWEEP_NOT_HELD : SWEEP_UNKNOWN;
	if (!mode)
		return false;
	for (c->mode = MODE_ALWAYS; c->mode <= MODE_SOMETIMES; c->mode++)
		if (strcmp(mode, modes[c->mode]) == 0)
			return true;
	return false;
}

static void
take_texts(struct pool *p, const cJSON *o, struct test_check *c)
{
	c->id = keep(p, o, "id");
	c->kind = keep(p, o, "kind");
	c->because = keep(p, o, "because");
	c->expected = keep(p, o, "expected");
	c->actual = keep(p, o, "actual");
	c->rests = keep(p, o, "rests");
	c->line = number(o, "line");
}

static bool
take_check(struct pool *p, const cJSON *o, struct test_check *c)
{
	const cJSON *held = json_get(o, "held");
	const char *role = json_get_text(o, "role");

	if (!role || (!cJSON_IsBool(held) && !cJSON_IsNull(held)))
		return false;
	c->held = cJSON_IsNull(held) ? TEST_UNJUDGED : cJSON_IsTrue(held) ? TEST_HELD : TEST_NOT_HELD;
	c->evidence = strcmp(role, "evidence") == 0;
	take_texts(p, o, c);
	/* Nothing but a sweep may leave a check open. */
	if ((strcmp(role, "sweep") == 0) != (c->held == TEST_UNJUDGED) ||
	    (c->held == TEST_UNJUDGED && !take_swept(o, c)))
		return false;
	return c->id && c->kind;
}

/* The length of a list, or -1. */
static int
length(const cJSON *list)
{
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;

	return n > (int)CHECKS_MAX ? -1 : n;
}

static bool
take_checks(struct pool *p, const cJSON *doc, struct test_record *r)
{
	const cJSON *list = json_get(doc, "checks"), *unmet = json_get(doc, "unmet"), *o;
	int n = length(list), m = unmet ? length(unmet) : 0;

	if (n < 0 || m < 0)
		return false;
	r->checks = calloc((size_t)n + 1, sizeof(*r->checks));
	r->unmet = calloc((size_t)m + 1, sizeof(*r->unmet));
	if (!r->checks || !r->unmet)
		return false;
	cJSON_ArrayForEach(o, list) if (!take_check(p, o, &r->checks[r->checks_len++])) return false;
	cJSON_ArrayForEach(o, unmet)
	{
		take_texts(p, o, &r->unmet[r->unmet_len]);
		if (!r->unmet[r->unmet_len++].id)
			return false;
	}
	return true;
}

/* A status and an exit status that belong together; a pass with nothing missing and nothing that speaks against it. */
static bool
is_sound(const struct test_record *r)
{
	size_t i;

	switch (r->status) {
	case TEST_PASSED:
		for (i = 0; i < r->checks_len; i++)
			if (r->checks[i].held == TEST_NOT_HELD && !r->checks[i].evidence)
				return false;
		return r->exit_code == 0 && r->checks_len && r->run_id && r->fingerprint && r->receipt &&
		       !(r->compared && !r->like);
	case TEST_FAILED:
		return r->exit_code == 1 && r->run_id && r->fingerprint;
	case TEST_TIMEOUT:
		return r->exit_code == 5;
	case TEST_ERROR:
		return r->exit_code == 4;
	case TEST_ABORTED:
		return r->exit_code == 3;
	case TEST_CANCELLED:
		return r->exit_code == 130 || r->exit_code == 143;
	case TEST_INVALID:
		return r->exit_code == 2 && r->problem.problem;
	case TEST_FLAKY:
	case TEST_NOT_RUN:
	case TEST_STATUS_COUNT:
		break;
	}
	return false;
}

static bool
take_all(struct pool *p, const cJSON *doc, struct test_record *r)
{
	const cJSON *problem = json_get(doc, "problem");
	uint64_t code;

	if (!take_status(doc, &r->status) || !json_get_u64(doc, "exit_code", 255, &code) ||
	    !json_get_u64(doc, "started_unix_ms", NUMBER_MAX, &r->started_unix_ms) ||
	    !json_get_u64(doc, "ms", NUMBER_MAX, &r->ms))
		return false;
	r->exit_code = (int)code;
	r->compared = json_get_true(doc, "compared");
	r->like = json_get_true(doc, "like");
	r->why = keep(p, doc, "why");
	r->run_id = keep(p, doc, "run_id");
	r->fingerprint = keep(p, doc, "fingerprint");
	r->receipt = keep(p, doc, "receipt");
	r->outcome = keep(p, doc, "outcome");
	r->difference = keep(p, doc, "difference");
	if (problem) {
		r->problem.file = keep(p, problem, "file");
		r->problem.pointer = keep(p, problem, "pointer");
		r->problem.problem = keep(p, problem, "problem");
		r->problem.fix = keep(p, problem, "fix");
		r->problem.line = number(problem, "line");
		r->problem.column = number(problem, "column");
	}
	return take_checks(p, doc, r);
}

/* see test.h */
int
test_record_take(const char *json, size_t len, struct test_record *out, char why[static 160])
{
	struct test_record r = { 0 };
	struct pool p = { 0 };
	cJSON *doc = json_take(json, len, TEST_RECORD_MAX, why);
	bool good = false;

	if (!doc)
		return -EPROTO;
	r.text = malloc(len + 1);
	if (r.text) {
		p = (struct pool){ .at = r.text, .end = r.text + len + 1 };
		good = take_all(&p, doc, &r);
	}
	if (!good)
		snprintf(why, 160, "it lacks something that every run has");
	else if (!is_sound(&r))
		snprintf(why, 160, "it contradicts itself: exit status %d", r.exit_code);
	good = good && is_sound(&r);
	cJSON_Delete(doc);
	if (good)
		*out = r;
	else
		test_record_wipe(&r);
	return good ? 0 : -EPROTO;
}

/* see test.h */
int
test_record_make(struct test_record *out, enum test_status status, int exit_code, const char *why)
{
	*out = (struct test_record){ .status = status, .exit_code = exit_code, .text = strdup(why) };
	out->why = out->text;
	return out->text ? 0 : -ENOMEM;
}

/* see test.h */
void
test_record_wipe(struct test_record *r)
{
	free(r->checks);
	free(r->unmet);
	free(r->text);
	memset(r, 0, sizeof(*r));
}
