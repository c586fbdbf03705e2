/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_checks.c - the key `checks`: the table of kinds, and what all of them share.  The keys of each kind are in
 * world_check_*.c, the names that they use are looked up in world_names.c. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_check.h"

#define CHECKS_MAX 1000u

/* ---- values that several kinds share ---------------------------------------------------------------------------------- */

int
check_read_any(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)c;
	(void)v;
	(void)arg;
	return 0;
}

int
check_read_count(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, 1000000000, &n);
}

int
check_read_yes_no(struct wr *c, const struct cJSON *v, void *arg)
{
	bool b;

	(void)arg;
	return wr_bool(c, v, &b);
}

int
check_read_pointer(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	size_t i;
	int r = wr_string(c, v, 0, 1024, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (*s && *s != '/') {
		r = wr_fail(c, -EPROTO, "a JSON Pointer starts with a slash");
		diag_fix(c->d, "write a pointer such as \"/refunds/re_1/amount\"");
		return r;
	}
	for (i = 0; s[i]; i++) {
		if (s[i] != '~' || s[i + 1] == '0' || s[i + 1] == '1')
			continue;
		r = wr_fail(c, -EPROTO, "in a JSON Pointer \"~\" is written ~0 and a slash within a name ~1");
		diag_fix(c->d, "write ~0 for each ~");
		return r;
	}
	return 0;
}

/* How many of the keys (NULL ends them) v has; *last the last one found. */
static size_t
count_keys(const struct cJSON *v, const char *const *keys, const char **last)
{
	size_t i, n = 0;

	for (i = 0; keys[i]; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(v, keys[i]))
			continue;
		*last = keys[i];
		n++;
	}
	return n;
}

/* -EPROTO unless exactly one of the keys is there. */
int
check_need_one(struct wr *c, const struct cJSON *v, const char *const *keys, const char *example)
{
	const char *last = NULL;
	size_t n = count_keys(v, keys, &last), mark;
	int r;

	if (n == 1)
		return 0;
	if (n == 0) {
		r = wr_fail(c, -EPROTO, "the check says nothing that could hold or fail");
	} else {
		mark = wr_enter(c, last);
		r = wr_fail_key(c, -EPROTO, "\"%s\" stands beside another condition; a check has one", last);
		wr_leave(c, mark);
	}
	diag_fix(c->d, n == 0 ? "add one, such as %s" : "write two checks, each with one such as %s", example);
	return r;
}

int
check_read_field(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 128, &s);
}

/* Only true: false would say nothing. */
int
check_read_yes(struct wr *c, const struct cJSON *v, void *arg)
{
	bool b;
	int r = wr_bool(c, v, &b);

	(void)arg;
	if (r < 0 || b)
		return r;
	r = wr_fail(c, -EPROTO, "false asks for nothing");
	diag_fix(c->d, "write true, or take it out");
	return r;
}

/* ---- one check -------------------------------------------------------------------------------------------------------- */

int
check_read_because(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_check *k = arg;

	return wr_string(c, v, 1, 1024, &k->because);
}

int
check_read_mode(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "at_end", "always", "never", "sometimes", NULL };
	struct world_check *k = arg;
	size_t which;
	int r = wr_word(c, v, words, &which);

	if (r == 0)
		k->mode = (enum check_mode)which;
	return r;
}

int
check_read_over(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "run", "sweep", NULL };
	struct world_check *k = arg;
	size_t which;
	int r = wr_word(c, v, words, &which);

	if (r == 0)
		k->sweep = which == 1;
	return r;
}

#define ALL (1u << MODE_ALWAYS | 1u << MODE_NEVER | 1u << MODE_SOMETIMES)

static const struct {
	const char *name;
	enum check_kind kind;
	unsigned modes;                                    /* bits, besides at_end */
	const struct wr_key *keys;                         /* NULL: a kind of the specification that is not built yet */
	int (*check)(struct wr *c, const struct cJSON *v); /* what one key alone cannot tell; or NULL */
} kinds[] = {
	{ "exit", CHECK_EXIT, 0, world_exit_keys, world_check_exit },
	{ "stdout", CHECK_STDOUT, ALL, world_stream_keys, world_check_stream },
	{ "stderr", CHECK_STDERR, ALL, world_stream_keys, world_check_stream },
	{ "calls", CHECK_CALLS, ALL, world_calls_keys, world_check_calls },
	{ "never", CHECK_NEVER, 0, world_never_keys, NULL },
	{ "order", CHECK_ORDER, 0, world_order_keys, NULL },
	{ "state", CHECK_STATE, ALL, world_state_keys, world_check_state },
	{ "relation", CHECK_RELATION, ALL, world_relation_keys, world_check_relation },
	{ "unchanged", CHECK_UNCHANGED, 1u << MODE_ALWAYS, world_unchanged_keys, NULL },
	{ "process", CHECK_PROCESS, 0, world_process_keys, world_check_process },
	{ "no-egress", CHECK_NO_EGRESS, 0, world_alone_keys, NULL },
	{ "sql", 0, 0, NULL, NULL },
	{ "jq", CHECK_JQ, 0, world_jq_keys, NULL },
	{ "no-duplicate-effects", CHECK_NO_DUPLICATES, 0, world_writes_keys, NULL },
	{ "no-lost-writes", CHECK_NO_LOST, 0, world_writes_keys, NULL },
	{ "every-write-idempotent", CHECK_IDEMPOTENT, 0, world_writes_keys, NULL },
	{ "recovers-from-faults", CHECK_RECOVERS, 0, world_writes_keys, NULL },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int
check_read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const built_in[] = { "faults-fired",   "no-unmatched",      "within-limits",
						"twins-answered", "triggers-answered", NULL };
	struct world_check *k = arg;
	size_t i;
	int r = wr_string(c, v, 1, 64, &k->id);

	if (r < 0)
		return r;
	if (k->id[0] < 'a' || k->id[0] > 'z' || k->id[strspn(k->id, "abcdefghijklmnopqrstuvwxyz0123456789-")]) {
		r = wr_fail(c, -EPROTO, "a check's id has small letters, digits and '-' only, a letter first");
		diag_fix(c->d, "write an id like \"one-refund\"");
		return r;
	}
	for (i = 0; built_in[i]; i++) {
		if (strcmp(built_in[i], k->id) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "\"%s\" is a check that every run has already", k->id);
		diag_fix(c->d, "choose another id");
		return r;
	}
	for (i = 0; i < c->w->checks_len; i++) {
		if (strcmp(c->w->checks[i].id, k->id) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "check %zu has the id \"%s\" already", i, k->id);
		diag_fix(c->d, "give each check an id of its own");
		return r;
	}
	return 0;
}

/* The names of the kinds that are built, with commas. */
static const char *
kinds_so_far(char text[static 400])
{
	size_t i, n = 0;

	for (i = 0; i < KINDS && n < 400; i++)
		if (kinds[i].keys)
			n += (size_t)snprintf(text + n, 400 - n, "%s%s", n ? ", " : "", kinds[i].name);
	return text;
}

static int
find_kind(struct wr *c, const struct cJSON *v, size_t *out)
{
	const char *words[KINDS + 1];
	char so_far[400] = "";
	const struct cJSON *kind = cJSON_GetObjectItemCaseSensitive(v, "kind");
	char text[48];
	size_t i, mark;
	int r;

	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "a check is an object, found %s", wr_type(v));
		diag_fix(c->d, "write { \"id\": ..., \"kind\": ..., ... }");
		return r;
	}
	if (!kind) {
		r = wr_fail(c, -EPROTO, "the check has no \"kind\"");
		diag_fix(c->d, "add one of %s", kinds_so_far(so_far));
		return r;
	}
	for (i = 0; i < KINDS; i++)
		words[i] = kinds[i].name;
	words[KINDS] = NULL;
	mark = wr_enter(c, "kind");
	r = wr_word(c, kind, words, out);
	if (r == 0 && !kinds[*out].keys) {
		(void)snprintf(text, sizeof(text), "check kind \"%s\"", kinds[*out].name);
		r = wr_fail_later(c, text);
		diag_fix(c->d, "kinds so far: %s", kinds_so_far(so_far));
	}
	wr_leave(c, mark);
	return r;
}

/* Over a sweep the mode is about its runs; in each of them the check is judged at the end. */
static int
sweep_mode(struct wr *c, struct world_check *k)
{
	size_t mark;
	int r = 0;

	k->sweep_mode = k->mode == MODE_AT_END ? MODE_ALWAYS : k->mode;
	if (k->mode == MODE_AT_END && cJSON_GetObjectItemCaseSensitive(k->json, "mode")) {
		mark = wr_enter(c, "mode");
		r = wr_fail(c, -EPROTO, "over a sweep a check holds always, never or sometimes");
		diag_fix(c->d, "write in which of its runs: \"always\", \"never\" or \"sometimes\"");
		wr_leave(c, mark);
	}
	k->mode = MODE_AT_END;
	return r;
}

/* Expressions see the receipt, which there is at the end alone.  What each call satisfies then, each did at every moment;
 * whether at some or no moment all of those before it did is not known. */
static int
each_mode(struct wr *c, const struct world_check *k)
{
	size_t mark;
	int r;

	if (k->mode == MODE_AT_END || k->mode == MODE_ALWAYS || !k->expr)
		return 0;
	mark = wr_enter(c, "mode");
	r = wr_fail(c, -EPROTO,
		    "a check with \"each\" is judged at the end of the run or \"always\", in no other mode");
	diag_fix(c->d, "take \"mode\" out, or write two checks");
	wr_leave(c, mark);
	return r;
}

/* A mode that would not be judged is refused, not ignored. */
static int
check_mode(struct wr *c, const struct world_check *k, unsigned modes, const char *kind)
{
	size_t mark;
	int r;

	if (k->mode == MODE_AT_END || (modes & 1u << k->mode))
		return each_mode(c, k);
	mark = wr_enter(c, "mode");
	if (modes)
		r = wr_fail(c, -EPROTO, "a check of kind \"%s\" has no mode \"%s\"", kind,
			    cJSON_GetObjectItemCaseSensitive(k->json, "mode")->valuestring);
	else
		r = wr_fail(c, -EPROTO, "a check of kind \"%s\" is judged at the end of the run, in no other mode",
			    kind);
	diag_fix(c->d, "take \"mode\" out");
	wr_leave(c, mark);
	return r;
}

static int
read_check(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_check *k = &c->w->checks[c->w->checks_len];
	char what[48];
	size_t which = 0;
	int r = find_kind(c, v, &which);

	(void)arg;
	if (r < 0)
		return r;
	memset(k, 0, sizeof(*k));
	k->kind = kinds[which].kind;
	k->json = v;
	(void)snprintf(what, sizeof(what), "a check of kind \"%s\"", kinds[which].name);
	r = wr_object(c, v, kinds[which].keys, what, k);
	if (r == 0)
		r = k->sweep ? sweep_mode(c, k) : check_mode(c, k, kinds[which].modes, kinds[which].name);
	if (r == 0 && kinds[which].check)
		r = kinds[which].check(c, v);
	if (r == 0)
		c->w->checks_len++;
	return r;
}

int
world_read_checks(struct wr *c, const struct cJSON *v, void *arg)
{
	int r;

	if (cJSON_IsArray(v) && !v->child) {
		r = wr_fail(c, -EPROTO, "the world has no check: a run of it would prove nothing");
		diag_fix(c->d, "add one, such as { \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }");
		return r;
	}
	c->w->checks = calloc(CHECKS_MAX, sizeof(*c->w->checks));
	if (!c->w->checks)
		return diag_set(c->d, -ENOMEM, "not enough memory");
	return wr_array(c, v, 1, CHECKS_MAX, "checks", read_check, arg);
}
