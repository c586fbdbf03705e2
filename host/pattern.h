/* SPDX-License-Identifier: GPL-2.0-or-later
 * pattern.h - the patterns of `files`: segments between slashes, '*' and '?' within a name, "**" as a whole segment, a
 * leading '!' excludes.  Matched one name at a time, so that a folder is read only when something below it can match.
 *
 * Dotfiles: a wildcard takes a name that starts with a dot only when some segment of the pattern starts with a dot, or
 * when the wildcard is "**" and the name lies below node_modules.  Patterns that exclude know no such rule. */
#ifndef HOST_PATTERN_H
#define HOST_PATTERN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_SEGMENTS_MAX 63u

struct pattern {
	bool excludes;
	bool dots;    /* some segment starts with a dot */
	bool literal; /* no wildcard at all */
	uint8_t segments_len;
	const char *segments[PATTERN_SEGMENTS_MAX]; /* borrowed from the text, not terminated */
	uint16_t lengths[PATTERN_SEGMENTS_MAX];
};
/* NULL and *p (borrows text), or what is wrong with the pattern: static text; *fix static text. */
const char *pattern_parse(const char *text, struct pattern *p, const char **fix)
	__attribute__((warn_unused_result, nonnull));

/* Where a pattern stands: bit i set: segment i may come next; bit segments_len: the whole pattern is matched. */
typedef uint64_t pattern_state;
pattern_state pattern_start(const struct pattern *p) __attribute__((nonnull));
/* The state after one more name.  in_modules: the name lies below a node_modules folder.  *by_name (may be NULL): a segment
 * without wildcards took the name. */
pattern_state pattern_step(const struct pattern *p, pattern_state s, const char *name, bool in_modules, bool *by_name)
	__attribute__((nonnull(1, 3)));
bool pattern_is_match(const struct pattern *p, pattern_state s) __attribute__((nonnull));
/* Something below a folder in this state can still match. */
bool pattern_may_match_below(const struct pattern *p, pattern_state s) __attribute__((nonnull));
/* Everything below a folder in this state matches ("**" at the end; of patterns that exclude). */
bool pattern_takes_all_below(const struct pattern *p, pattern_state s) __attribute__((nonnull));
#endif
