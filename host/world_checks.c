/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_checks.c - the key `checks`: kinds, their parameters, and what they name. */
#include <cJSON.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"

#define CHECKS_MAX 1000u
#define TEXT_MAX 65536u
#define ERE_MAX 256u

/* ---- values that several kinds share ---------------------------------------------------------------------------------- */

static int
read_any(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)c;
	(void)v;
	(void)arg;
	return 0;
}

static int
read_count(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, 1000000000, &n);
}

static int
read_yes_no(struct wr *c, const struct cJSON *v, void *arg)
{
	bool b;

	(void)arg;
	return wr_bool(c, v, &b);
}

static int
read_pointer(struct wr *c, const struct cJSON *v, void *arg)
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
static int
need_one(struct wr *c, const struct cJSON *v, const char *const *keys, const char *example)
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

/* ---- exit ------------------------------------------------------------------------------------------------------------- */

static int
read_one_code(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, 255, &n);
}

static int
read_code(struct wr *c, const struct cJSON *v, void *arg)
{
	if (cJSON_IsArray(v))
		return wr_array(c, v, 1, 256, "exit codes", read_one_code, arg);
	return read_one_code(c, v, arg);
}

static int
read_signal(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const names[] = { "SIGHUP",  "SIGINT",  "SIGQUIT", "SIGILL",  "SIGTRAP",
					     "SIGABRT", "SIGBUS",  "SIGFPE",  "SIGKILL", "SIGUSR1",
					     "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",
					     "SIGXCPU", "SIGXFSZ", "SIGSYS",  NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, names, &which);
}

static int
check_exit(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "code", "signal", NULL };

	return need_one(c, v, keys, "\"code\": 0");
}

/* ---- stdout, stderr --------------------------------------------------------------------------------------------------- */

static int
read_equals_text(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 0, WORLD_BYTES_MAX, &s);
}

static int
read_contains(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, TEXT_MAX, &s);
}

/* The C library unrolls {n,m}: nested ones in 256 bytes would ask for more memory than there is. */
static bool
is_unrolled_far(const char *s)
{
	unsigned long n, product = 1;
	char *end;

	for (; (s = strchr(s, '{')); s = end) {
		n = strtoul(s + 1, &end, 10);
		if (*end == ',' && end[1] >= '0' && end[1] <= '9')
			n = strtoul(end + 1, &end, 10);
		if (n > 1000 || (n > 0 && (product *= n) > 1000))
			return true;
	}
	return false;
}

static int
read_matches(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	char why[160];
	regex_t re;
	int e, r = wr_string(c, v, 1, ERE_MAX, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (is_unrolled_far(s)) {
		r = wr_fail(c, -EPROTO, "the repetitions {n} of this expression multiply to more than 1000");
		diag_fix(c->d, "use * or + instead");
		return r;
	}
	e = regcomp(&re, s, REG_EXTENDED | REG_NOSUB);
	if (e == 0) {
		regfree(&re);
		return 0;
	}
	(void)regerror(e, &re, why, sizeof(why));
	r = wr_fail(c, -EPROTO, "this is not an extended regular expression: %s", why);
	diag_fix(c->d, "see regex(7); a backslash is written twice in JSON");
	return r;
}

static int
read_json(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "pointer", read_pointer, WR_REQUIRED, "\"pointer\": \"/status\" (\"\" is the whole document)" },
		{ "equals", read_any, WR_REQUIRED, "\"equals\": value" },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "json", arg);
}

static int
check_stream(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "equals", "contains", "matches", "json", NULL };

	return need_one(c, v, keys, "\"contains\": \"done\"");
}

/* ---- calls, never ----------------------------------------------------------------------------------------------------- */

static int
read_method(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, methods, &which);
}

static int
read_path(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 1024, &s);

	(void)arg;
	if (r < 0 || (*s == '/' && !strpbrk(s, "?#")))
		return r;
	r = wr_fail(c, -EPROTO, "the path of a call starts with a slash and has no query");
	diag_fix(c->d, "write a path such as \"/charges/ch_1\" or \"/charges/{id}\", or name the route");
	return r;
}

static int
read_status(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 100, 599, &n);
}

static int
read_verdict(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "first", "replay", "in-flight", "mismatch", "expired", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
read_count_of(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "deliveries", "effects", "keys", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
check_calls(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *exactly = cJSON_GetObjectItemCaseSensitive(v, "exactly"),
			   *low = cJSON_GetObjectItemCaseSensitive(v, "at_least"),
			   *high = cJSON_GetObjectItemCaseSensitive(v, "at_most");
	int r;

	if (exactly && (low || high)) {
		r = wr_fail(c, -EPROTO, "\"exactly\" stands beside \"%s\"", low ? "at_least" : "at_most");
		diag_fix(c->d, "keep \"exactly\" alone, or use at_least and at_most");
		return r;
	}
	if (low && high && low->valuedouble > high->valuedouble) {
		r = wr_fail(c, -EPROTO, "at_least is larger than at_most: this can never hold");
		diag_fix(c->d, "swap the two numbers");
		return r;
	}
	if (low && !high && low->valueint == 0) {
		r = wr_fail(c, -EPROTO, "at_least 0 always holds");
		diag_fix(c->d, "write at_least 1 or more, or an at_most");
		return r;
	}
	return 0;
}

/* ---- state ------------------------------------------------------------------------------------------------------------ */

static int
read_field(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 128, &s);
}

static int
check_state(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "equals", "count", "exists", NULL };
	const struct cJSON *equals = cJSON_GetObjectItemCaseSensitive(v, "equals"),
			   *sum = cJSON_GetObjectItemCaseSensitive(v, "sum");
	int r = need_one(c, v, keys, "\"count\": 1");

	if (r < 0 || !sum || cJSON_IsNumber(equals))
		return r;
	r = wr_fail(c, -EPROTO, "\"sum\" needs a number to be equal to");
	diag_fix(c->d, "write \"sum\": \"FIELD\", \"equals\": 4200");
	return r;
}

/* ---- one check -------------------------------------------------------------------------------------------------------- */

static int read_id(struct wr *c, const struct cJSON *v, void *arg);

static int
read_because(struct wr *c, const struct cJSON *v, void *arg)
{
	struct world_check *k = arg;

	return wr_string(c, v, 1, 1024, &k->because);
}

#define COMMON \
	{ "id", read_id, WR_REQUIRED, "\"id\": \"what-holds\"" }, { "kind", NULL, WR_REQUIRED, NULL }, \
		{ "because", read_because, 0, NULL }, { "over", NULL, WR_LATER, NULL }, \
	{ \
		"mode", NULL, WR_LATER, NULL \
	}
#define SELECTOR \
	{ "service", read_field, 0, NULL }, { "route", read_field, 0, NULL }, { "method", read_method, 0, NULL }, \
		{ "path", read_path, 0, NULL }, { "status", read_status, 0, NULL }, \
	{ \
		"idempotency", read_verdict, 0, NULL \
	}
#define END \
	{ \
		NULL, NULL, 0, NULL \
	}

static const struct wr_key exit_keys[] = {
	COMMON, { "code", read_code, 0, NULL }, { "signal", read_signal, 0, NULL }, END
};
static const struct wr_key stream_keys[] = { COMMON,
					     { "equals", read_equals_text, 0, NULL },
					     { "contains", read_contains, 0, NULL },
					     { "matches", read_matches, 0, NULL },
					     { "json", read_json, 0, NULL },
					     END };
static const struct wr_key calls_keys[] = { COMMON,
					    SELECTOR,
					    { "exactly", read_count, 0, NULL },
					    { "at_least", read_count, 0, NULL },
					    { "at_most", read_count, 0, NULL },
					    { "count", read_count_of, 0, NULL },
					    { "all_equal", read_pointer, 0, NULL },
					    { "each", NULL, WR_LATER, NULL },
					    END };
static const struct wr_key never_keys[] = { COMMON, SELECTOR, END };
static const struct wr_key state_keys[] = { COMMON,
					    { "service", read_field, WR_REQUIRED, "\"service\": \"NAME\"" },
					    { "path", read_pointer, WR_REQUIRED, "\"path\": \"/COLLECTION\"" },
					    { "equals", read_any, 0, NULL },
					    { "count", read_count, 0, NULL },
					    { "exists", read_yes_no, 0, NULL },
					    { "sum", read_field, 0, NULL },
					    END };
static const struct wr_key no_egress_keys[] = { COMMON, END };

static const struct {
	const char *name;
	enum check_kind kind;
	const struct wr_key *keys;                         /* NULL: a kind of the specification that is not built yet */
	int (*check)(struct wr *c, const struct cJSON *v); /* what one key alone cannot tell; or NULL */
} kinds[] = {
	{ "exit", CHECK_EXIT, exit_keys, check_exit },
	{ "stdout", CHECK_STDOUT, stream_keys, check_stream },
	{ "stderr", CHECK_STDERR, stream_keys, check_stream },
	{ "calls", CHECK_CALLS, calls_keys, check_calls },
	{ "never", CHECK_NEVER, never_keys, NULL },
	{ "state", CHECK_STATE, state_keys, check_state },
	{ "no-egress", CHECK_NO_EGRESS, no_egress_keys, NULL },
	{ "order", 0, NULL, NULL },
	{ "unchanged", 0, NULL, NULL },
	{ "sql", 0, NULL, NULL },
	{ "relation", 0, NULL, NULL },
	{ "process", 0, NULL, NULL },
	{ "jq", 0, NULL, NULL },
	{ "no-duplicate-effects", 0, NULL, NULL },
	{ "no-lost-writes", 0, NULL, NULL },
	{ "every-write-idempotent", 0, NULL, NULL },
	{ "recovers-from-faults", 0, NULL, NULL },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const built_in[] = { "faults-fired", "no-unmatched", "within-limits", "twins-answered",
						NULL };
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

static int
find_kind(struct wr *c, const struct cJSON *v, size_t *out)
{
	const char *words[KINDS + 1];
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
		diag_fix(c->d, "add one of exit, stdout, stderr, calls, never, state, no-egress");
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
		diag_fix(c->d, "kinds so far: exit, stdout, stderr, calls, never, state, no-egress");
	}
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
