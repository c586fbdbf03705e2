/* SPDX-License-Identifier: GPL-2.0-or-later
 * jq_scan.c - see jq_run_forbidden in jq_run.h: the words of an expression, without its strings and comments.  The child
 * enforces the same by having nothing to give; this says it when the world is read, and where. */
#include <string.h>

#include "host/jq_run.h"

#define NESTING_MAX 512u /* deeper ones are all taken for parentheses; libjq refuses them or not */

struct scan {
	const char *at;
	char open[NESTING_MAX]; /* '(' '[' '{', and '"' for the parenthesis of an interpolation */
	size_t depth;
	char before; /* the last character that was neither space nor comment */
};

static const char *const functions[] = {
	"env",        "input",           "inputs", "input_filename", "input_line_number", "import", "include",
	"modulemeta", "get_search_list", "now",    "localtime",      "strflocaltime",     "halt",   "halt_error",
	"debug",      "stderr",          NULL
};
static const char *const variables[] = { "ENV", "__prog_args", NULL };

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Behind the opening quote, or behind an interpolation: to the end of the string, or into its next interpolation. */
static void
string(struct scan *s)
{
	for (; *s->at; s->at++) {
		if (*s->at == '"') {
			s->at++;
			s->before = '"';
			return;
		}
		if (*s->at != '\\')
			continue;
		s->at++;
		if (!*s->at)
			return;
		if (*s->at == '(') {
			if (s->depth < NESTING_MAX)
				s->open[s->depth] = '"';
			s->depth++;
			s->at++;
			s->before = '(';
			return;
		}
	}
}

static void
punctuation(struct scan *s)
{
	char c = *s->at++;

	if (c == '"') {
		string(s);
		return;
	}
	if (c == '(' || c == '[' || c == '{') {
		if (s->depth < NESTING_MAX)
			s->open[s->depth] = c;
		s->depth++;
	} else if ((c == ')' || c == ']' || c == '}') && s->depth > 0) {
		s->depth--;
		if (c == ')' && s->depth < NESTING_MAX && s->open[s->depth] == '"') {
			string(s);
			return;
		}
	}
	s->before = c;
}

static const char *
find(const char *const *words, const char *at, size_t len)
{
	for (; *words; words++)
		if (strlen(*words) == len && strncmp(*words, at, len) == 0)
			return *words;
	return NULL;
}

static uint32_t
characters(const char *from, const char *to)
{
	uint32_t n = 1;

	for (; from < to; from++)
		n += ((unsigned char)*from & 0xc0) != 0x80;
	return n;
}

/* A name where s->at stands: NULL, or the one that is forbidden. */
static const char *
word(struct scan *s)
{
	const char *from = s->at, *found;
	char before = s->before;
	bool key;

	while (is_word(*s->at) || (s->at[0] == ':' && s->at[1] == ':' && is_word(s->at[2])))
		s->at += *s->at == ':' ? 2 : 1;
	s->before = 'a';
	key = (before == '{' || before == ',') && s->depth > 0 && s->depth <= NESTING_MAX &&
	      s->open[s->depth - 1] == '{';
	if (before == '$')
		found = find(variables, from, (size_t)(s->at - from));
	else if (before == '.' || before == '@' || key)
		found = NULL;
	else
		found = find(functions, from, (size_t)(s->at - from));
	return found;
}

const char *
jq_run_forbidden(const char *expr, uint32_t *at)
{
	struct scan s = { .at = expr };
	const char *from, *found;

	while (*s.at) {
		if (*s.at == '#') {
			s.at += strcspn(s.at, "\n");
		} else if (*s.at == ' ' || *s.at == '\t' || *s.at == '\n' || *s.at == '\r') {
			s.at++;
		} else if (is_word(*s.at)) {
			from = s.at;
			if ((found = word(&s))) {
				*at = characters(expr, from);
				return found;
			}
		} else {
			punctuation(&s);
		}
	}
	return NULL;
}
