/* SPDX-License-Identifier: GPL-2.0-or-later
 * check.c - see check.h: which check gets what. */
#include "host/check.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check_model.h"
#include "host/check_writes.h"

const char *
check_kind_name(enum check_kind k)
{
	switch (k) {
	case CHECK_EXIT:
		return "exit";
	case CHECK_STDOUT:
		return "stdout";
	case CHECK_STDERR:
		return "stderr";
	case CHECK_CALLS:
		return "calls";
	case CHECK_NEVER:
		return "never";
	case CHECK_ORDER:
		return "order";
	case CHECK_STATE:
		return "state";
	case CHECK_RELATION:
		return "relation";
	case CHECK_UNCHANGED:
		return "unchanged";
	case CHECK_PROCESS:
		return "process";
	case CHECK_NO_EGRESS:
		return "no-egress";
	case CHECK_NO_DUPLICATES:
		return "no-duplicate-effects";
	case CHECK_NO_LOST:
		return "no-lost-writes";
	case CHECK_IDEMPOTENT:
		return "every-write-idempotent";
	case CHECK_RECOVERS:
		return "recovers-from-faults";
	case CHECK_JQ:
		return "jq";
	}
	return "?";
}

static int __attribute__((format(printf, 2, 0))) set(char **to, const char *format, va_list ap)
{
	char *text;

	if (vasprintf(&text, format, ap) < 0)
		return -ENOMEM;
	free(*to);
	*to = text;
	return 0;
}

int
check_expected(struct check_result *r, const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	rc = set(&r->expected, format, ap);
	va_end(ap);
	return rc;
}

int
check_actual(struct check_result *r, const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	rc = set(&r->actual, format, ap);
	va_end(ap);
	return rc;
}

int
check_unknown(struct check_result *r, const char *format, ...)
{
	va_list ap;
	int rc;

	r->held = r->idle = false;
	r->unknown = true;
	va_start(ap, format);
	rc = set(&r->actual, format, ap);
	va_end(ap);
	return rc;
}

void
check_rests_on(struct check_result *r, const char *format, ...)
{
	va_list ap;

	if (r->rests_len > CHECK_RESTS_MAX)
		return;
	va_start(ap, format);
	vsnprintf(r->rests[r->rests_len++], sizeof(r->rests[0]), format, ap);
	va_end(ap);
}

static size_t
rests_find(const struct check_result *r, uint64_t operation, char text[static 160])
{
	size_t i;

	snprintf(text, 160, "/operations/%" PRIu64, operation);
	for (i = 0; i < r->rests_len && strcmp(r->rests[i], text) != 0; i++)
		;
	return i;
}

void
check_rests_op(struct check_result *r, uint64_t operation)
{
	char text[160];

	if (rests_find(r, operation, text) == r->rests_len)
		check_rests_on(r, "%s", text);
}

/* The last one gives way when there is no room. */
void
check_rests_first(struct check_result *r, uint64_t operation)
{
	char text[sizeof(r->rests[0])];
	size_t i = rests_find(r, operation, text);

	if (i == r->rests_len && r->rests_len <= CHECK_RESTS_MAX)
		r->rests_len++;
	else if (i == r->rests_len)
		i--;
	memmove(r->rests[1], r->rests[0], i * sizeof(r->rests[0]));
	memcpy(r->rests[0], text, sizeof(text));
}

const char *
check_mode_text(enum check_mode mode)
{
	switch (mode) {
	case MODE_AT_END:
		break;
	case MODE_ALWAYS:
		return "at every moment: ";
	case MODE_NEVER:
		return "at no moment: ";
	case MODE_SOMETIMES:
		return "at some moment: ";
	}
	return "";
}

bool
check_moment(struct check *c, bool holds, uint64_t n)
{
	struct check_moments *m = &c->moments;

	m->seen++;
	m->held += holds;
	if (m->marked || holds == (c->def->mode == MODE_ALWAYS))
		return false;
	m->marked = true;
	m->at = n;
	return true;
}

bool
check_moments_hold(enum check_mode mode, const struct check_moments *m)
{
	switch (mode) {
	case MODE_ALWAYS:
		return m->seen > 0 && m->held == m->seen;
	case MODE_NEVER:
		return m->seen > 0 && m->held == 0;
	case MODE_SOMETIMES:
		return m->held > 0;
	case MODE_AT_END:
		break;
	}
	return false;
}

static bool
is_named(enum check_kind k)
{
	return k == CHECK_NO_DUPLICATES || k == CHECK_NO_LOST || k == CHECK_IDEMPOTENT || k == CHECK_RECOVERS;
}

static bool
is_of_state(enum check_kind k)
{
	return k == CHECK_STATE || k == CHECK_RELATION || k == CHECK_UNCHANGED;
}

bool
check_is_of_states(const struct world_check *def)
{
	return def->mode != MODE_AT_END && is_of_state(def->kind);
}

bool
checks_want_rows(const struct world *w)
{
	size_t i;

	for (i = 0; i < w->checks_len; i++)
		if (check_is_of_states(&w->checks[i]) || w->checks[i].kind == CHECK_NO_DUPLICATES)
			return true;
	return false;
}

/* What a check of this kind keeps while the run lasts. */
static int
prepare(struct checks *all, struct check *c)
{
	if ((is_named(c->def->kind) || is_of_state(c->def->kind)) && !all->writes &&
	    !(all->writes = check_writes_new(all->w)))
		return -ENOMEM;
	if (is_named(c->def->kind))
		all->writes->whole = true;
	if (check_is_of_states(c->def))
		return check_moments_prepare(all->model, c->def);
	switch (c->def->kind) {
	case CHECK_STDOUT:
	case CHECK_STDERR:
		c->stream = check_stream_new(c->def);
		return c->stream ? 0 : -ENOMEM;
	case CHECK_ORDER:
		c->order = check_order_new();
		return c->order ? 0 : -ENOMEM;
	case CHECK_PROCESS:
		c->trace = check_trace_new();
		return c->trace ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

int
checks_init(struct checks *c, const struct world *w)
{
	size_t i;

	memset(c, 0, sizeof(*c));
	c->w = w;
	c->list = calloc(w->checks_len + 1, sizeof(*c->list));
	if (!c->list)
		return -ENOMEM;
	c->len = w->checks_len;
	if (checks_want_rows(w) && !(c->model = check_model_new(w))) {
		checks_wipe(c);
		return -ENOMEM;
	}
	for (i = 0; i < c->len; i++) {
		c->list[i].def = &w->checks[i];
		if (prepare(c, &c->list[i]) < 0) {
			checks_wipe(c);
			return -ENOMEM;
		}
	}
	return 0;
}

void
checks_wipe(struct checks *c)
{
	size_t i;

	for (i = 0; i < c->len; i++) {
		check_stream_free(c->list[i].stream);
		check_order_free(c->list[i].order);
		check_trace_free(c->list[i].trace);
		free(c->list[i].then);
		digest_map_wipe(&c->list[i].keys);
		free(c->list[i].each);
		cJSON_Delete(c->list[i].first);
	}
	for (i = 0; i < c->results_len; i++) {
		free(c->results[i].expected);
		free(c->results[i].actual);
	}
	check_writes_free(c->writes);
	check_model_free(c->model);
	free(c->list);
	free(c->results);
	memset(c, 0, sizeof(*c));
}

void
checks_output(struct checks *c, enum check_kind kind, const void *data, size_t len)
{
	size_t i;

	for (i = 0; i < c->len; i++) {
		if (c->list[i].stream && c->list[i].def->kind == kind)
			check_stream_add(c->list[i].stream, data, len);
		if (c->list[i].trace && kind == CHECK_STDERR)
			check_trace_add(c->list[i].trace, data, len);
	}
}

/* What the services hold now, judged by the checks that are about every moment. */
static void
states_judge(struct checks *c, uint64_t n)
{
	size_t i;

	if (n == UINT64_MAX)
		check_model_start(c->model);
	for (i = 0; i < c->len; i++)
		if (check_is_of_states(c->list[i].def))
			check_moments_add(&c->list[i], c->model, n);
}

void
checks_state(struct checks *c, unsigned phase, size_t service, const struct cJSON *doc)
{
	if (c->model && phase == 0)
		check_model_begin(c->model, service, doc);
	else if (c->model)
		check_model_end(c->model, service, doc);
}

void
checks_operation(struct checks *c, uint64_t n, const struct cJSON *op)
{
	size_t i;

	if (c->model && !c->begun)
		states_judge(c, UINT64_MAX);
	c->begun = true;
	if (c->model)
		check_model_step(c->model, n, op);
	if (c->model && c->model->touched_len)
		states_judge(c, n);
	if (c->writes)
		check_writes_add(c->writes, n, op, c->model);
	for (i = 0; i < c->len; i++)
		if (c->list[i].def->kind == CHECK_CALLS || c->list[i].def->kind == CHECK_NEVER)
			check_calls_add(&c->list[i], n, op);
		else if (c->list[i].order)
			check_order_add(&c->list[i], n, op);
}

/* Operations beyond the limit are not known, so nothing that rests on all of them can hold. */
static bool
is_of_operations(enum check_kind k)
{
	return k == CHECK_CALLS || k == CHECK_NEVER || k == CHECK_ORDER || is_named(k);
}

static const char *
role_of(const struct world_check *def)
{
	return def->sweep ? "sweep" : def->evidence ? "evidence" : "required";
}

static int
finish_one(struct checks *c, size_t i, const struct check_facts *f, struct check_result *r)
{
	struct check *one = &c->list[i];

	r->id = one->def->id;
	r->kind = check_kind_name(one->def->kind);
	r->because = one->def->because;
	r->role = role_of(one->def);
	if (check_is_of_states(one->def))
		return c->model ? check_moments_finish(one, c->model, c->redact, r) : -ENOMEM;
	switch (one->def->kind) {
	case CHECK_EXIT:
		return check_exit_finish(one->def, f, r);
	case CHECK_STDOUT:
		return check_stream_finish(one->stream, f->truncated[TRUNCATED_STDOUT] || !f->exit, c->redact, r);
	case CHECK_STDERR:
		return check_stream_finish(one->stream, f->truncated[TRUNCATED_STDERR] || !f->exit, c->redact, r);
	case CHECK_CALLS:
	case CHECK_NEVER:
		return check_calls_finish(one, r);
	case CHECK_ORDER:
		return check_order_finish(one, r);
	case CHECK_UNCHANGED:
		return check_unchanged_finish(one->def, c->w, f, c->writes, r);
	case CHECK_PROCESS:
		return check_process_finish(one, f, c->redact, r);
	case CHECK_RELATION:
	case CHECK_STATE:
		return check_state_finish(one->def, c->w, f, c->writes, r);
	case CHECK_NO_EGRESS:
		return check_egress_finish(f, r);
	case CHECK_NO_DUPLICATES:
	case CHECK_NO_LOST:
	case CHECK_IDEMPOTENT:
	case CHECK_RECOVERS:
		return check_named_finish(one->def, c->writes, f, r);
	case CHECK_JQ:
		return check_jq_finish(one->def, r);
	}
	return -EINVAL;
}

void
check_set_aside(struct check_result *r)
{
	if (strcmp(r->role, "sweep") != 0)
		return;
	r->held_here = r->held;
	r->held = r->idle = false;
}

int
checks_finish(struct checks *c, const struct check_facts *f)
{
	struct check_result *r;
	size_t i;
	int rc;

	if (c->model && !c->begun)
		states_judge(c, UINT64_MAX);
	c->results = calloc(c->len + CHECK_BUILT_IN + 1, sizeof(*c->results));
	if (!c->results)
		return -ENOMEM;
	c->results_len = c->len + CHECK_BUILT_IN + (f->triggers > 0);
	c->quiet = f->operations == 0 && f->exit && f->exit->stdout_bytes + f->exit->stderr_bytes == 0;
	for (i = 0; i < c->results_len; i++) {
		r = &c->results[i];
		r->role = "required";
		rc = i < c->len ? finish_one(c, i, f, r) : check_built_in(i - c->len, f, r);
		if (rc < 0) {
			c->results_len = i; /* the others are not even begun */
			free(r->expected);
			free(r->actual);
			return rc;
		}
		if (i >= c->len)
			continue;
		if (f->truncated[TRUNCATED_OPERATIONS] &&
		    (is_of_operations(c->list[i].def->kind) || check_is_of_states(c->list[i].def))) {
			if (r->held &&
			    (rc = check_unknown(r, "not all operations are recorded: the limit was reached")) < 0)
				return rc;
			r->unknown = true; /* what speaks against it stays said */
		}
		if (check_has_jq(&c->list[i])) { /* until checks_jq_take only a half of it is judged */
			r->held_here = r->held;
			r->unknown = r->unknown || r->held;
			r->held = false;
		} else {
			check_set_aside(r);
		}
	}
	return 0;
}

static bool
is_required(const struct check_result *r)
{
	return strcmp(r->role, "required") == 0;
}

size_t
checks_required(const struct checks *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->results_len; i++)
		n += is_required(&c->results[i]);
	return n;
}

size_t
checks_not_held(const struct checks *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->results_len; i++)
		n += is_required(&c->results[i]) && !c->results[i].held;
	return n;
}
