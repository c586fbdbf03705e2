/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_syntax.c - what to do about a world that is not strict JSON, by what stands at the first problem: people write it by
 * hand, with habits of JavaScript, YAML and word processors. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "host/world_read.h"
#include "proto/cursor.h"

static bool
is_word(const char *at, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && strncasecmp(at, word, n) == 0 && (len == n || !isalnum((unsigned char)at[n]));
}

static bool
is_any_word(const char *at, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (is_word(at, len, *words))
			return true;
	return false;
}

/* By the bytes where a value, a key or a comma should have stood; NULL: nothing is known of them. */
static const char *
fix_of_text(const char *at, size_t len)
{
	static const char *const constants[] = { "true", "false", "null", NULL };
	static const char *const missing[] = { "undefined", "none", "nil", "nan", "infinity", NULL };

	if (len == 0)
		return NULL;
	if (*at == '/' || *at == '#')
		return "JSON has no comments: take it out; \"about\" and a check's \"because\" hold text for people";
	if (*at == '\'' || *at == '`')
		return "write double quotes: \"...\"";
	if (len >= 3 && (memcmp(at, "\xe2\x80\x9c", 3) == 0 || memcmp(at, "\xe2\x80\x9d", 3) == 0 ||
			 memcmp(at, "\xe2\x80\x98", 3) == 0 || memcmp(at, "\xe2\x80\x99", 3) == 0))
		return "these are typographic quotes: write plain ones, \"...\"";
	if (is_any_word(at, len, constants))
		return "write true, false and null in small letters";
	if (is_any_word(at, len, missing))
		return "JSON has no such value: write null, or take the key out";
	if (*at == '+')
		return "write the number without +";
	if (*at == '.')
		return "write a digit before the point, such as 0.5";
	return NULL;
}

const char *
world_syntax_fix(const char *text, size_t len, const struct json_scan *s)
{
	static const struct {
		const char *in_problem, *fix;
	} fixes[] = {
		{ "same key twice", "keep one of the two, or give one another name" },
		{ "too early", "something is not closed: each { needs its }, each [ its ], each string its \"" },
		{ "after the end",
		  "a world is one object: take out what follows it; perhaps a bracket is one too many" },
		{ "a comma before", "take this comma out: none stands after the last item" },
		{ "start with 0", "write the number without the 0 before it, or in double quotes if it is a text" },
		{ "not UTF-8", "save the file as UTF-8" },
		{ "control character", "write a tab as \\t, or use spaces" },
		{ "on its line", "close the string with a double quote, or write \\n for a line break within it" },
		{ "unknown escape", "write a backslash as \\\\; paths have slashes: src/a.mjs" },
		{ "colon after the key", "write the key, a colon and its value: \"key\": value" },
	};
	const char *problem = s->problem ? s->problem : "", *at = text + (s->offset < len ? s->offset : len), *fix;
	size_t left = len - (size_t)(at - text), i;

	for (i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++)
		if (strstr(problem, fixes[i].in_problem))
			return fixes[i].fix;
	fix = fix_of_text(at, left);
	if (fix)
		return fix;
	if (strstr(problem, "should be a comma"))
		return "put a comma after the value that stands before this place";
	if (strstr(problem, "a key in double quotes") && left > 0 && (isalpha((unsigned char)*at) || *at == '_'))
		return "put the key in double quotes";
	if (strstr(problem, "should be a value") && left > 0 && isalpha((unsigned char)*at))
		return "put text in double quotes";
	return "a world is strict JSON: double quotes, no comments, no comma after the last item";
}
