/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_regex.c - our expressions against those of the C library, and their bounds. */
#include "proto/regex.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"

static struct regex_build build;

static int
matches(const char *pattern, const char *text)
{
	struct regex x;

	if (regex_compile(&build, pattern, strlen(pattern)) < 0) {
		printf("# %s: %s at %zu\n", pattern, build.problem, build.at);
		return -1;
	}
	x = (struct regex){ build.len, build.inst, build.ranges };
	return regex_matches(&x, text, strlen(text));
}

static int
theirs(const char *pattern, const char *text)
{
	regex_t x;
	int r;

	if (regcomp(&x, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return -1;
	r = regexec(&x, text, 0, NULL, 0) == 0;
	regfree(&x);
	return r;
}

static void
test_table(void)
{
	static const char *const patterns[] = {
		"a",
		"^a",
		"a$",
		"^a$",
		"^$",
		"ab|cd",
		"^(ab|cd)$",
		"a*",
		"^a*$",
		"^a+$",
		"^a?b$",
		"^(ab)+$",
		"a{2}",
		"^a{2}$",
		"^a{2,}$",
		"^a{1,3}$",
		"^a{0,2}$",
		"^(a|b){2,3}c$",
		"^[a-c]+$",
		"^[^a-c]+$",
		"[]]",
		"^[]a]+$",
		"^[^]a]+$",
		"^[a-]+$",
		"^[[:digit:]]{3}$",
		"^[[:alpha:]_][[:alnum:]_]*$",
		"\\.",
		"^a\\.b$",
		"\\$",
		".",
		"^.$",
		"^.{3}$",
		"(a*)*b",
		"^(a|ab)(c|bcd)$",
		"^ch_[a-z0-9]+$",
		"(^a|b$)",
		"^(a{2}){2}$",
		"a|",
		"^(a|)b$",
		"x(a|b|c|d)y",
		"^a{0}b$",
		"^(a?){3}$",
		"^(a*|b)+c$",
		"[[:space:]]",
	};
	static const char *const texts[] = {
		"",    "a",   "b",   "ab",  "ba",   "aa",  "aaa",   "aaaa", "abab", "cd",    "abcd", "xcdx",
		"abc", "a.b", "axb", "123", "12",   "a_1", "1a",    "]",    "a]-",  "ch_1x", "ch_",  "xay",
		"xdy", "xey", " ",   "a b", "aabb", "bbc", "ababc", "aac",  "c",    "$",     ".",    "aaab",
	};
	int bad = 0, n = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++, n++) {
			int own = matches(patterns[i], texts[k]), other = theirs(patterns[i], texts[k]);

			if (own != other && bad++ < 10)
				printf("# '%s' on '%s': %d, the C library says %d\n", patterns[i], texts[k], own,
				       other);
		}
	is_int(bad, 0, "as the C library");
	ok(n > 1000, "in many cases");
}

/* Random patterns over few characters, against the C library. */
static void
test_random(void)
{
	static const char *const parts[] = { "a",   "b",     "c",     "(", ")",    "|",    "*", "+", "?",
					     "{2}", "{1,2}", "{0,1}", ".", "[ab]", "[^a]", "^", "$" };
	unsigned seed = 7, bad = 0, compared = 0;
	char pattern[64], text[8];

	for (int round = 0; round < 20000; round++) {
		size_t n = 1 + (size_t)(seed % 7), len = 0;

		pattern[0] = '\0';
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245u + 12345u;
			strcat(pattern, parts[(seed >> 16) % (sizeof(parts) / sizeof(parts[0]))]);
		}
		seed = seed * 1103515245u + 12345u;
		for (len = (seed >> 16) % 6, n = 0; n < len; n++)
			text[n] = "abc"[(seed >> (17 + 2 * n)) % 3];
		text[len] = '\0';
		/* what POSIX leaves undefined the C library reads in its own way: anchors inside and repeated */
		if (strstr(pattern, "^*") || strstr(pattern, "^+") || strstr(pattern, "^?") || strstr(pattern, "^{") ||
		    strstr(pattern, "$*") || strstr(pattern, "$+") || strstr(pattern, "$?") || strstr(pattern, "${") ||
		    strstr(pattern, "(*") || strstr(pattern, "|*") || strchr("*+?{", pattern[0]) != NULL)
			continue;
		if (regex_compile(&build, pattern, strlen(pattern)) < 0 || theirs(pattern, text) < 0)
			continue;
		compared++;
		if (matches(pattern, text) != theirs(pattern, text) && bad++ < 10)
			printf("# '%s' on '%s': the C library says %d\n", pattern, text, theirs(pattern, text));
	}
	ok(compared > 2000, "%u random patterns", compared);
	is_int((int)bad, 0, "match as the C library says");
}

static void
test_refused(void)
{
	static const char *const bad[] = { "",       "*a",  "a|*", "(a",  "a)",         "[a",      "a{",   "a{x}",
					   "a{3,2}", "a\\", "\\d", "\\1", "[[:word:]]", "[[.a.]]", "[b-a]" };
	static char text[REGEX_TEXT_MAX + 2], pattern[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(regex_compile(&build, bad[i], strlen(bad[i])) == -EPROTO && build.problem != NULL, "refused: '%s'",
		   bad[i]);
	is_int(regex_compile(&build, "a{256}", 6), -EMSGSIZE, "too many repetitions");
	is_int(regex_compile(&build, "((a{200}){200}){200}", 20), -EMSGSIZE, "too many when written out");
	memset(pattern, 'a', sizeof(pattern));
	is_int(regex_compile(&build, pattern, 257), -EMSGSIZE, "too long");
	memset(pattern, '(', sizeof(pattern));
	is_int(regex_compile(&build, pattern, 256), -EMSGSIZE, "too deep");
	memset(text, 'a', sizeof(text) - 1);
	is_int(matches("a", text), 0, "a text beyond the bound matches nothing");
	text[REGEX_TEXT_MAX] = '\0';
	is_int(matches("^(a|aa)+$", text), 1, "what makes others try for ever");
	is_int(matches("(x+x+)+y", text), 0, "likewise");
	is_int(matches("^.{3}$", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 1, "characters, not bytes");
	is_int(matches("^[\xc3\xa0-\xc3\xbf]$", "\xc3\xa4"), 1, "ranges of them");
	is_int(matches("^.{2}$", "\xff\xc3"), 1, "bytes that are no characters");
}

int
main(void)
{
	test_table();
	test_random();
	test_refused();
	return tap_done();
}
