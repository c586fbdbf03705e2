/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_policy.c - what holds for every route of a service: its profile, its variables. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"

#define VARIABLES_MAX 256u

/* guest/profile.c knows the same names. */
int
world_read_profile(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const names[] = { "generic",
					     "stripe/v1",
					     "github",
					     "slack",
					     "openai",
					     "openai/chat",
					     "openai/responses",
					     "openai/embeddings",
					     "anthropic",
					     "anthropic/messages",
					     NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, names, &which);
}

int
world_read_variables(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r = 0;

	(void)arg;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"variables\": { \"open\": true }");
		return r;
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > VARIABLES_MAX) {
			r = wr_fail_key(c, -EMSGSIZE, "more than %u variables", VARIABLES_MAX);
		} else if (!is_identifier(m->string, false)) {
			r = wr_fail_key(c, -EPROTO, "this is not a name for a variable");
			diag_fix(c->d, "use letters, digits and '_', not a digit first");
		}
		wr_leave(c, mark);
	}
	return r;
}
