/* SPDX-License-Identifier: GPL-2.0-or-later
 * expand.h - the templates that the host expands itself: {{secret.NAME}}, {{service.NAME.url}}, {{run.id}}, {{seed}}.
 * Borrows from its input; never allocates. */
#ifndef HOST_EXPAND_H
#define HOST_EXPAND_H
#include <stddef.h>

enum expand_kind { EXPAND_TEXT, EXPAND_SECRET, EXPAND_URL, EXPAND_HOST, EXPAND_PORT, EXPAND_RUN_ID, EXPAND_SEED };
struct expand_part {
	enum expand_kind kind;
	const char *text; /* EXPAND_TEXT: the literal; EXPAND_SECRET, _URL, _HOST, _PORT: the name */
	size_t len;
};
/* Takes the next part off *s (NUL-terminated).  1 and *part; 0 at the end; -EPROTO an unclosed "{{" (*part: from there), or
 * something else inside the braces (*part: that). */
int expand_next(const char **s, struct expand_part *part) __attribute__((warn_unused_result, nonnull));
#endif
