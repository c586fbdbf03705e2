/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_files.c - the keys `files` and `keep`: what the patterns look like, not yet what they find (stage.c). */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/pattern.h"
#include "host/world_read.h"
#include "proto/plan.h"

#define PATTERNS_MAX 256u
#define KEEP_MAX 1024u

/* Patterns are few: comparing each with all before it is no cost. */
static int
check_repeated(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *p;
	int r;

	for (p = v->prev; p && p->next; p = p->prev) {
		if (strcmp(p->valuestring, v->valuestring) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "\"%s\" stands here twice", v->valuestring);
		diag_fix(c->d, "keep one of the two");
		return r;
	}
	return 0;
}

static int
read_pattern(struct wr *c, const struct cJSON *v, void *arg)
{
	struct pattern p;
	const char *text, *problem, *fix;
	int r = wr_string(c, v, 1, BUNDLE_PATH_MAX + 1, &text);

	(void)arg;
	if (r < 0)
		return r;
	problem = pattern_parse(text, &p, &fix);
	if (problem) {
		r = wr_fail(c, -EPROTO, "%s", problem);
		diag_fix(c->d, "%s", fix);
		return r;
	}
	if (!p.excludes && p.lengths[0] == 10 && memcmp(p.segments[0], ".agenttwin", 10) == 0) {
		r = wr_fail(c, -EPROTO, ".agenttwin holds receipts and never enters the sandbox");
		diag_fix(c->d, "take the pattern out");
		return r;
	}
	return check_repeated(c, v);
}

int
world_read_files(struct wr *c, const struct cJSON *v, void *arg)
{
	int r = wr_array(c, v, 0, PATTERNS_MAX, "patterns", read_pattern, arg);

	if (r == 0)
		c->w->files = v;
	return r;
}

static int
read_kept(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, BUNDLE_PATH_MAX, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (plan_path_check(s) < 0 || strchr(s, '*') || strchr(s, '?')) {
		r = wr_fail(c, -EPROTO, "keep names single files below root, not patterns");
		diag_fix(c->d, "write the file's path, such as node_modules/x/test/key.pem");
		return r;
	}
	if (strncmp(s, "node_modules/", 13) != 0 && !strstr(s, "/node_modules/")) {
		r = wr_fail(c, -EPROTO, "keep is for files below node_modules only");
		diag_fix(c->d, "take it out; elsewhere a file that looks like a credential never enters the sandbox");
		return r;
	}
	return check_repeated(c, v);
}

int
world_read_keep(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 0, KEEP_MAX, "files", read_kept, arg);
}
