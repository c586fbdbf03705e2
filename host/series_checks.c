/* SPDX-License-Identifier: GPL-2.0-or-later
 * series_checks.c - see series_checks.h. */
#include "host/series_checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/diag.h"
#include "host/emit.h"

int
series_checks_init(struct series_checks *s, const struct world *w, uint32_t asked)
{
	struct series_check *c;
	size_t i;

	memset(s, 0, sizeof(*s));
	s->asked = asked;
	s->list = calloc(w->checks_len + 1, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	for (i = 0; i < w->checks_len; i++) {
		if (!w->checks[i].sweep)
			continue;
		c = &s->list[s->len++];
		c->id = strdup(w->checks[i].id);
		c->because = w->checks[i].because ? strdup(w->checks[i].because) : NULL;
		c->kind = check_kind_name(w->checks[i].kind);
		c->mode = w->checks[i].sweep_mode;
		c->expected = strdup("");
		c->votes = calloc(asked + 1u, sizeof(*c->votes));
		if (!c->id || !c->expected || !c->votes || (w->checks[i].because && !c->because)) {
			series_checks_wipe(s);
			return -ENOMEM;
		}
	}
	return 0;
}

void
series_checks_wipe(struct series_checks *s)
{
	size_t i;

	for (i = 0; i < s->len; i++) {
		free(s->list[i].id);
		free(s->list[i].because);
		free(s->list[i].expected);
		free(s->list[i].votes);
	}
	free(s->list);
	memset(s, 0, sizeof(*s));
}

/* The world is read anew for each run: of what is no longer there nothing is known. */
static const struct check_result *
find(const struct checks *c, const char *id)
{
	size_t i;

	for (i = 0; i < c->results_len; i++)
		if (strcmp(c->results[i].role, "sweep") == 0 && strcmp(c->results[i].id, id) == 0)
			return &c->results[i];
	return NULL;
}

int
series_checks_take(struct series_checks *s, uint64_t seed, const struct checks *c, bool judged)
{
	const struct check_result *r;
	struct series_check *one;
	size_t i;

	if (s->runs == s->asked)
		return 0;
	for (i = 0; i < s->len; i++) {
		one = &s->list[i];
		r = judged ? find(c, one->id) : NULL;
		one->votes[s->runs].seed = seed;
		one->votes[s->runs].said = !r || r->unknown ? SWEEP_UNKNOWN
					   : r->held_here   ? SWEEP_HELD
							    : SWEEP_NOT_HELD;
		if (r && !*one->expected && r->expected) {
			free(one->expected);
			if (!(one->expected = strdup(r->expected)))
				return -ENOMEM;
		}
	}
	s->runs++;
	return 0;
}

static bool
holds(const struct series_checks *s, size_t i, struct sweep_verdict *v)
{
	sweep_judge(s->list[i].mode, s->list[i].votes, s->runs, s->asked, v);
	return v->held;
}

size_t
series_checks_not_held(const struct series_checks *s)
{
	struct sweep_verdict v;
	size_t i, n = 0;

	for (i = 0; i < s->len; i++)
		n += !holds(s, i, &v);
	return n;
}

void
series_checks_tell(const struct series_checks *s)
{
	const struct series_check *c;
	struct sweep_verdict v;
	size_t i;

	for (i = 0; i < s->len; i++) {
		c = &s->list[i];
		if (holds(s, i, &v)) {
			log_line(LOG_LEVEL_PHASE, "  %s %s: %s", c->id, v.expected, v.actual);
			continue;
		}
		log_line(LOG_LEVEL_PHASE, "  %s%s%.600s", c->id, c->because ? ": " : "", c->because ? c->because : "");
		log_line(LOG_LEVEL_PHASE, "    expected  %s: %.1000s", v.expected, c->expected);
		log_line(LOG_LEVEL_PHASE, "    actual    %s", v.actual);
	}
}

static uint64_t
count(const struct series_checks *s, size_t i, enum sweep_said said)
{
	uint64_t n = 0;
	uint32_t k;

	for (k = 0; k < s->runs; k++)
		n += s->list[i].votes[k].said == said;
	return n;
}

void
series_checks_emit(const struct series_checks *s, struct emit *e)
{
	static const char *const modes[] = { [MODE_AT_END] = "always",
					     [MODE_ALWAYS] = "always",
					     [MODE_NEVER] = "never",
					     [MODE_SOMETIMES] = "sometimes" };
	struct sweep_verdict v;
	size_t i;

	emit_open(e, "checks", '[');
	for (i = 0; i < s->len; i++) {
		(void)holds(s, i, &v);
		emit_open(e, NULL, '{');
		emit_text(e, "id", s->list[i].id);
		emit_text(e, "kind", s->list[i].kind);
		emit_text(e, "mode", modes[s->list[i].mode]);
		emit_bool(e, "held", v.held);
		if (v.unknown)
			emit_bool(e, "unknown", true);
		emit_text(e, "expected", s->list[i].expected);
		emit_text(e, "actual", v.actual);
		emit_u64(e, "runs_held", count(s, i, SWEEP_HELD));
		emit_u64(e, "runs_not_held", count(s, i, SWEEP_NOT_HELD));
		emit_u64(e, "runs_not_judged", count(s, i, SWEEP_UNKNOWN) + s->asked - s->runs);
		if (s->list[i].because)
			emit_text(e, "because", s->list[i].because);
		emit_close(e);
	}
	emit_close(e);
}
