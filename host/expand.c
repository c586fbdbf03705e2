/* SPDX-License-Identifier: GPL-2.0-or-later
 * expand.c - see expand.h. */
#include "host/expand.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "proto/lang.h"

static bool
is_name(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_')
			continue;
		if (i > 0 && ((s[i] >= '0' && s[i] <= '9') || s[i] == '-'))
			continue;
		return false;
	}
	return len > 0 && len < 64;
}

static bool
takes(const char **s, size_t *len, const char *word)
{
	size_t n = strlen(word);

	if (*len < n || memcmp(*s, word, n) != 0)
		return false;
	*s += n;
	*len -= n;
	return true;
}

static bool
ends_with(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len > n && memcmp(s + len - n, word, n) == 0;
}

/* What stands between the braces. */
static int
parse(const char *s, size_t len, struct expand_part *part)
{
	static const struct {
		const char *end;
		enum expand_kind kind;
	} ends[] = { { ".url", EXPAND_URL }, { ".host", EXPAND_HOST }, { ".port", EXPAND_PORT } };
	size_t i;

	while (len > 0 && *s == ' ') {
		s++;
		len--;
	}
	while (len > 0 && s[len - 1] == ' ')
		len--;
	part->text = s;
	part->len = len;
	if (len == 6 && memcmp(s, "run.id", 6) == 0) {
		part->kind = EXPAND_RUN_ID;
		return 1;
	}
	if (len == 4 && memcmp(s, "seed", 4) == 0) {
		part->kind = EXPAND_SEED;
		return 1;
	}
	if (len == 4 && (memcmp(s, "'{{'", 4) == 0 || memcmp(s, "\"{{\"", 4) == 0)) {
		*part = (struct expand_part){ EXPAND_TEXT, s + 1, 2 };
		return 1;
	}
	if (takes(&s, &len, "secret.") && is_name(s, len)) {
		*part = (struct expand_part){ EXPAND_SECRET, s, len };
		return 1;
	}
	if (!takes(&s, &len, "service."))
		return -EPROTO;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!ends_with(s, len, ends[i].end) || !is_name(s, len - strlen(ends[i].end)))
			continue;
		*part = (struct expand_part){ ends[i].kind, s, len - strlen(ends[i].end) };
		return 1;
	}
	return -EPROTO;
}

int
expand_next(const char **s, struct expand_part *part)
{
	size_t before, expr_len, used, len = strlen(*s);
	const char *expr;
	int r;

	*part = (struct expand_part){ EXPAND_TEXT, *s, len };
	if (len == 0)
		return 0;
	r = lang_template_next(*s, len, &before, &expr, &expr_len, &used);
	if (r < 0)
		return r;
	if (r == 0 || before > 0) {
		part->len = r == 0 ? len : before;
		*s += part->len;
		return 1;
	}
	*s += used;
	return parse(expr, expr_len, part);
}
