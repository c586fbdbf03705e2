/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_check_output.c - checks of kind exit, stdout, stderr and process, as the world has them. */
#include <cJSON.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "host/world_check.h"

#define TEXT_MAX 65536u
#define ERE_MAX 256u

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

int
world_check_exit(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "code", "signal", NULL };

	return check_need_one(c, v, keys, "\"code\": 0");
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
		{ "pointer", check_read_pointer, WR_REQUIRED, "\"pointer\": \"/status\" (\"\" is the whole document)" },
		{ "equals", check_read_any, WR_REQUIRED, "\"equals\": value" },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "json", arg);
}

/* What is judged while the output passes: whether the text has come so far, and each line.  A document, and a whole text, are
 * there only at the end; and nothing can contain a text from its beginning on. */
static int
check_stream_mode(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *mode = cJSON_GetObjectItemCaseSensitive(v, "mode"),
			   *over = cJSON_GetObjectItemCaseSensitive(v, "over");
	bool lines = cJSON_GetObjectItemCaseSensitive(v, "matches") != NULL,
	     text = cJSON_GetObjectItemCaseSensitive(v, "contains") != NULL;
	size_t mark;
	int r;

	if (!mode || strcmp(mode->valuestring, "at_end") == 0 || lines ||
	    (over && strcmp(over->valuestring, "sweep") == 0) || /* then it is about runs */
	    (text && strcmp(mode->valuestring, "always") != 0))
		return 0;
	mark = wr_enter(c, "mode");
	if (text)
		r = wr_fail(c, -EPROTO, "\"contains\" cannot hold always: at first there is no output");
	else
		r = wr_fail(c, -EPROTO, "the mode \"%s\" is judged for \"contains\" and \"matches\" only",
			    mode->valuestring);
	if (text)
		diag_fix(c->d, "take \"mode\" out, or use \"matches\", which is judged line by line");
	else
		diag_fix(c->d, "take \"mode\" out: the whole output is judged at the end");
	wr_leave(c, mark);
	return r;
}

int
world_check_stream(struct wr *c, const struct cJSON *v)
{
	static const char *const keys[] = { "equals", "contains", "matches", "json", NULL };
	int r = check_need_one(c, v, keys, "\"contains\": \"done\"");

	return r < 0 ? r : check_stream_mode(c, v);
}

/* ---- process, and kinds that only have a name ------------------------------------------------------------------------- */

static int
read_rss(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 1, 1048576, &n);
}

int
world_check_process(struct wr *c, const struct cJSON *v)
{
	int r;

	if (cJSON_GetObjectItemCaseSensitive(v, "no_uncaught") || cJSON_GetObjectItemCaseSensitive(v, "max_rss_mb"))
		return 0;
	r = wr_fail(c, -EPROTO, "the check says nothing that could hold or fail");
	diag_fix(c->d, "add \"no_uncaught\": true or \"max_rss_mb\": 256");
	return r;
}

const struct wr_key world_exit_keys[] = {
	CHECK_COMMON, { "code", read_code, 0, NULL }, { "signal", read_signal, 0, NULL }, CHECK_END
};
const struct wr_key world_stream_keys[] = { CHECK_COMMON,
					    { "equals", read_equals_text, 0, NULL },
					    { "contains", read_contains, 0, NULL },
					    { "matches", read_matches, 0, NULL },
					    { "json", read_json, 0, NULL },
					    CHECK_END };
const struct wr_key world_process_keys[] = {
	CHECK_COMMON, { "no_uncaught", check_read_yes, 0, NULL }, { "max_rss_mb", read_rss, 0, NULL }, CHECK_END
};
const struct wr_key world_alone_keys[] = { CHECK_COMMON, CHECK_END };
