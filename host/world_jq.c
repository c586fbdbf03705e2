/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_jq.c - expressions of jq in a world: kind jq, `each`, and the conditions of outcomes.  What can be told from the text
 * alone is told while the world is read; whether libjq takes them, in another process, once all of it is. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/jq_run.h"
#include "host/world_check.h"

#define EXPRESSIONS_MAX 64u

static int
forbidden(struct wr *c, const char *name, uint32_t at)
{
	int r = wr_fail(c, -EPROTO, "\"%s\" at character %u has no place in an expression over a receipt", name, at);

	if (strcmp(name, "import") == 0 || strcmp(name, "include") == 0)
		diag_fix(c->d, "write the functions that you need into the expression: def f: ...;");
	else if (strcmp(name, "now") == 0 || strstr(name, "local"))
		diag_fix(
			c->d,
			"take the times of the receipt: .run.started, .operations[].t_ms; gmtime and strftime are there");
	else
		diag_fix(c->d, "an expression sees the receipt, and gives true or false; nothing else goes in or out");
	return r;
}

int
wr_jq(struct wr *c, const struct cJSON *v, const char *text)
{
	struct world *w = c->w;
	const char *name;
	uint32_t at;
	int r;

	(void)v;
	if (strlen(text) > JQ_EXPR_MAX) {
		r = wr_fail(c, -EPROTO, "the expression has %zu bytes; at most %u are allowed", strlen(text),
			    JQ_EXPR_MAX);
		diag_fix(c->d, "shorten it, or write two checks");
		return r;
	}
	if (!text[strspn(text, " \t\r\n")]) {
		r = wr_fail(c, -EPROTO, "the expression is empty");
		diag_fix(c->d, "write a condition, such as \".outcome.exit.code == 0\"");
		return r;
	}
	if ((name = jq_run_forbidden(text, &at)))
		return forbidden(c, name, at);
	if (!w->jq && !(w->jq = calloc(EXPRESSIONS_MAX, sizeof(*w->jq))))
		return diag_set(c->d, -ENOMEM, "not enough memory");
	if (w->jq_len == EXPRESSIONS_MAX) {
		r = wr_fail(c, -EPROTO, "more than %u expressions of jq in a world", EXPRESSIONS_MAX);
		diag_fix(c->d, "join some with \"and\"; kinds of checks other than jq are not limited so");
		return r;
	}
	w->jq[w->jq_len].expr = text;
	if (!(w->jq[w->jq_len].pointer = strdup(c->at)))
		return diag_set(c->d, -ENOMEM, "not enough memory");
	w->jq_len++;
	return 0;
}

int
check_read_jq(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_check *k = arg;
	int r = wr_string(c, v, 1, WORLD_BYTES_MAX, &k->expr);

	return r < 0 ? r : wr_jq(c, v, k->expr);
}

const struct wr_key world_jq_keys[] = { CHECK_COMMON,
					{ "expr", check_read_jq, WR_REQUIRED, "\"expr\": \".outcome.exit.code == 0\"" },
					CHECK_END };

int
world_compile_jq(struct world *w, struct diag *d)
{
	struct jq_task *tasks;
	size_t i;
	int r;

	if (w->jq_len == 0)
		return 0;
	tasks = calloc(w->jq_len, sizeof(*tasks));
	if (!tasks)
		return diag_set(d, -ENOMEM, "not enough memory");
	for (i = 0; i < w->jq_len; i++)
		tasks[i].expr = w->jq[i].expr;
	r = jq_run_compile(tasks, w->jq_len);
	if (r < 0)
		diag_set(d, r, "expressions of jq cannot be compiled: %s", strerror(-r));
	for (i = 0; r == 0 && i < w->jq_len; i++) {
		if (tasks[i].verdict == JQ_TRUE)
			continue;
		world_place(w, w->jq[i].pointer, false, d);
		if (tasks[i].at)
			r = diag_set(d, -EPROTO, "this is no expression of jq: %.300s, at character %u", tasks[i].text,
				     tasks[i].at);
		else
			r = diag_set(d, -EPROTO, "this is no expression of jq: %.300s", tasks[i].text);
		diag_fix(d,
			 "see jq(1); a backslash and a double quote are written with a backslash before them in JSON");
	}
	jq_run_wipe(tasks, w->jq_len);
	free(tasks);
	return r;
}
