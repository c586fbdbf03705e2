/* SPDX-License-Identifier: GPL-2.0-or-later
 * check.c - see check.h: which check gets what. */
#include "host/check.h"

#include <cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	case CHECK_STATE:
		return "state";
	case CHECK_NO_EGRESS:
		return "no-egress";
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
	for (i = 0; i < c->len; i++) {
		c->list[i].def = &w->checks[i];
		if (w->checks[i].kind != CHECK_STDOUT && w->checks[i].kind != CHECK_STDERR)
			continue;
		c->list[i].stream = check_stream_new(&w->checks[i]);
		if (!c->list[i].stream) {
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
		free(c->list[i].keys);
		cJSON_Delete(c->list[i].first);
	}
	for (i = 0; i < c->results_len; i++) {
		free(c->results[i].expected);
		free(c->results[i].actual);
	}
	free(c->list);
	free(c->results);
	memset(c, 0, sizeof(*c));
}

void
checks_output(struct checks *c, enum check_kind kind, const void *data, size_t len)
{
	size_t i;

	for (i = 0; i < c->len; i++)
		if (c->list[i].stream && c->list[i].def->kind == kind)
			check_stream_add(c->list[i].stream, data, len);
}

void
checks_operation(struct checks *c, uint64_t n, const struct cJSON *op)
{
	size_t i;

	for (i = 0; i < c->len; i++)
		if (c->list[i].def->kind == CHECK_CALLS || c->list[i].def->kind == CHECK_NEVER)
			check_calls_add(&c->list[i], n, op);
}

static int
finish_one(struct checks *c, size_t i, const struct check_facts *f, struct check_result *r)
{
	struct check *one = &c->list[i];

	r->id = one->def->id;
	r->kind = check_kind_name(one->def->kind);
	r->because = one->def->because;
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
	case CHECK_STATE:
		return check_state_finish(one->def, c->w, f, r);
	case CHECK_NO_EGRESS:
		return check_egress_finish(f, r);
	}
	return -EINVAL;
}

int
checks_finish(struct checks *c, const struct check_facts *f)
{
	struct check_result *r;
	size_t i;
	int rc;

	c->results = calloc(c->len + CHECK_BUILT_IN + 1, sizeof(*c->results));
	if (!c->results)
		return -ENOMEM;
	c->results_len = c->len + CHECK_BUILT_IN + (f->triggers > 0);
	for (i = 0; i < c->results_len; i++) {
		r = &c->results[i];
		rc = i < c->len ? finish_one(c, i, f, r) : check_built_in(i - c->len, f, r);
		if (rc < 0)
			return rc;
		/* Operations beyond the limit are not known, so nothing that counts them can hold. */
		if (i < c->len && f->truncated[TRUNCATED_OPERATIONS] &&
		    (c->list[i].def->kind == CHECK_CALLS || c->list[i].def->kind == CHECK_NEVER) && r->held) {
			r->held = false;
			if ((rc = check_actual(r, "not all operations are recorded: the limit was reached")) < 0)
				return rc;
		}
	}
	return 0;
}

size_t
checks_not_held(const struct checks *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->results_len; i++)
		n += !c->results[i].held;
	return n;
}
