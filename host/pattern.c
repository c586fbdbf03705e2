/* SPDX-License-Identifier: GPL-2.0-or-later
 * pattern.c - see pattern.h. */
#include "host/pattern.h"

#include <string.h>

#include "proto/limits.h"

static bool
is_wild(const char *s, size_t len)
{
	return memchr(s, '*', len) || memchr(s, '?', len);
}

static bool
is_deep(const struct pattern *p, size_t i)
{
	return p->lengths[i] == 2 && memcmp(p->segments[i], "**", 2) == 0;
}

static const char *
check_segment(const char *s, size_t len, const char **fix)
{
	size_t i;

	*fix = "write the path relative to root with single slashes, such as src/**";
	if (len == 0)
		return "a pattern has no empty segment and no slash at the end";
	if (len == 1 && s[0] == '.')
		return "a pattern has no segment \".\"";
	if (len == 2 && s[0] == '.' && s[1] == '.')
		return "a pattern has no segment \"..\": only files below root can enter";
	*fix = "write ** between slashes, such as src/**";
	for (i = 0; len > 2 && i + 1 < len; i++)
		if (s[i] == '*' && s[i + 1] == '*')
			return "** stands for whole segments only";
	return NULL;
}

const char *
pattern_parse(const char *text, struct pattern *p, const char **fix)
{
	const char *s = text, *problem;
	size_t len;

	memset(p, 0, sizeof(*p));
	*fix = "write a path or pattern relative to root, such as src/**";
	if (*s == '!') {
		p->excludes = true;
		s++;
	}
	if (!*s)
		return "the pattern is empty";
	if (strlen(s) > BUNDLE_PATH_MAX)
		return "the pattern is longer than any path may be (1024 bytes)";
	if (*s == '/')
		return "the pattern is an absolute path; only files below root can enter";
	if (strchr(s, '\\')) {
		*fix = "separate folders with /; there is no escape";
		return "a pattern has no backslash";
	}
	p->literal = true;
	for (;; s += len + 1) {
		len = strcspn(s, "/");
		problem = check_segment(s, len, fix);
		if (problem)
			return problem;
		if (p->segments_len == PATTERN_SEGMENTS_MAX) {
			*fix = "use ** for the folders between";
			return "the pattern has more than 63 segments";
		}
		p->segments[p->segments_len] = s;
		p->lengths[p->segments_len++] = (uint16_t)len;
		p->dots |= s[0] == '.';
		p->literal &= !is_wild(s, len);
		if (!s[len])
			return NULL;
	}
}

/* One segment against one name; iterative with one point of return, so the time is at most len * len. */
static bool
glob(const char *s, size_t len, const char *name)
{
	size_t i = 0, n = 0, star = SIZE_MAX, again = 0, name_len = strlen(name);

	while (n < name_len) {
		if (i < len && s[i] == '*') {
			star = i++;
			again = n;
		} else if (i < len && (s[i] == name[n] || s[i] == '?')) {
			i++;
			n++;
			/* '?' is one character, not one byte of it */
			while (s[i - 1] == '?' && ((unsigned char)name[n] & 0xc0) == 0x80)
				n++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			n = ++again;
		} else {
			return false;
		}
	}
	while (i < len && s[i] == '*')
		i++;
	return i == len;
}

/* Two stars stand for no name at all too, but at the end for at least one: below src, not src itself. */
static pattern_state
close_over(const struct pattern *p, pattern_state s)
{
	size_t i;

	for (i = 0; i + 1 < p->segments_len; i++)
		if ((s >> i & 1) && is_deep(p, i))
			s |= (pattern_state)1 << (i + 1);
	return s;
}

pattern_state
pattern_start(const struct pattern *p)
{
	return close_over(p, 1);
}

static bool
takes_dot(const struct pattern *p, size_t i, bool in_modules)
{
	return p->excludes || p->dots || p->segments[i][0] == '.' || (in_modules && is_deep(p, i));
}

pattern_state
pattern_step(const struct pattern *p, pattern_state s, const char *name, bool in_modules, bool *by_name)
{
	pattern_state next = 0;
	size_t i;

	for (i = 0; i < p->segments_len; i++) {
		if (!(s >> i & 1) || (name[0] == '.' && !takes_dot(p, i, in_modules)))
			continue;
		if (is_deep(p, i)) {
			next |= (pattern_state)1 << i;
			if (i + 1u == p->segments_len)
				next |= (pattern_state)1 << (i + 1);
		} else if (glob(p->segments[i], p->lengths[i], name)) {
			next |= (pattern_state)1 << (i + 1);
			if (by_name && !is_wild(p->segments[i], p->lengths[i]))
				*by_name = true;
		}
	}
	return close_over(p, next);
}

bool
pattern_is_match(const struct pattern *p, pattern_state s)
{
	return s >> p->segments_len & 1;
}

bool
pattern_may_match_below(const struct pattern *p, pattern_state s)
{
	return (s & (((pattern_state)1 << p->segments_len) - 1)) != 0;
}

bool
pattern_takes_all_below(const struct pattern *p, pattern_state s)
{
	return (s >> (p->segments_len - 1u) & 1) && is_deep(p, p->segments_len - 1u);
}
