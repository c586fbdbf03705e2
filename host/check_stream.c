/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_stream.c - checks of kind stdout and stderr, over the whole stream as it passes. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/diag.h"
#include "host/json.h"
#include "host/redact.h"

struct check_stream {
	enum check_stream_mode mode;
	enum check_mode when;
	const char *name; /* "stdout" */
	const char *want; /* borrowed */
	size_t want_len;
	const cJSON *equals; /* of json */
	const char *pointer;
	uint64_t bytes;
	bool differs, held, cut, failed;
	bool line_cut; /* of the line in buf: it went on */
	uint64_t differs_at;
	uint64_t lines, lines_held, line_at; /* matches along the run; line_at: the line that decides, from 1; 0 none */
	uint64_t found_at;                   /* contains: bytes up to the end of its first place */
	char decides[512];                   /* the line that does */
	size_t *fail, matched;               /* contains: Knuth-Morris-Pratt over the stream */
	regex_t regex;
	bool regex_made;
	char *buf; /* a line, or the JSON text */
	size_t have, size;
	char head[1024]; /* what the stream began with, for the explanation; more than is shown, so that */
			 /* a secret is seen whole and named before anything is cut off */
	size_t head_len;
};

static int
contains_prepare(struct check_stream *s)
{
	size_t i, k = 0;

	s->fail = calloc(s->want_len + 1, sizeof(*s->fail));
	if (!s->fail)
		return -ENOMEM;
	for (i = 1; i < s->want_len; i++) {
		while (k && s->want[i] != s->want[k])
			k = s->fail[k];
		if (s->want[i] == s->want[k])
			k++;
		s->fail[i + 1] = k;
	}
	s->held = s->want_len == 0;
	return 0;
}

struct check_stream *
check_stream_new(const struct world_check *def)
{
	struct check_stream *s = calloc(1, sizeof(*s));
	const cJSON *json = json_get(def->json, "json");
	const char *text;

	if (!s)
		return NULL;
	s->name = check_kind_name(def->kind);
	s->when = def->mode;
	if ((text = json_get_text(def->json, "equals"))) {
		s->mode = STREAM_EQUALS;
	} else if ((text = json_get_text(def->json, "contains"))) {
		s->mode = STREAM_CONTAINS;
	} else if ((text = json_get_text(def->json, "matches"))) {
		s->mode = STREAM_MATCHES;
		s->regex_made = regcomp(&s->regex, text, REG_EXTENDED) == 0;
		s->failed = !s->regex_made;
	} else if (json) {
		s->mode = STREAM_JSON;
		s->pointer = json_get_text(json, "pointer");
		s->equals = json_get(json, "equals");
	}
	s->want = text;
	s->want_len = text ? strlen(text) : 0;
	if (s->mode == STREAM_MATCHES) {
		s->size = CHECK_LINE_MAX;
		s->buf = malloc(s->size + 1);
		s->failed = s->failed || !s->buf;
	}
	if (s->mode == STREAM_CONTAINS && contains_prepare(s) < 0) {
		check_stream_free(s);
		return NULL;
	}
	return s;
}

void
check_stream_free(struct check_stream *s)
{
	if (!s)
		return;
	if (s->regex_made)
		regfree(&s->regex);
	free(s->fail);
	free(s->buf);
	free(s);
}

static void
equals_add(struct check_stream *s, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len && !s->differs; i++)
		if (s->bytes + i >= s->want_len || data[i] != s->want[s->bytes + i]) {
			s->differs = true;
			s->differs_at = s->bytes + i;
		}
}

static void
contains_add(struct check_stream *s, const char *data, size_t len)
{
	const char *at;
	size_t i;

	for (i = 0; i < len && !s->held; i++) {
		if (s->matched == 0) { /* most of the stream */
			at = memchr(data + i, s->want[0], len - i);
			if (!at)
				return;
			i = (size_t)(at - data);
		}
		while (s->matched && data[i] != s->want[s->matched])
			s->matched = s->fail[s->matched];
		if (data[i] == s->want[s->matched])
			s->matched++;
		s->held = s->matched == s->want_len;
		s->found_at = s->bytes + i + 1;
	}
}

static void
line_done(struct check_stream *s)
{
	regmatch_t range = { .rm_so = 0, .rm_eo = (regoff_t)s->have };

	bool holds;

	s->buf[s->have] = '\0'; /* for sanitizers, which do not know REG_STARTEND */
	/* Where a line was cut is not its end: $ does not match there. */
	holds = regexec(&s->regex, s->buf, 1, &range, REG_STARTEND | (s->line_cut ? REG_NOTEOL : 0)) == 0;
	s->held = s->held || holds;
	s->lines++;
	s->lines_held += holds;
	if (s->line_at == 0 && holds != (s->when == MODE_ALWAYS)) {
		s->line_at = s->lines;
		snprintf(s->decides, sizeof(s->decides), "%s", s->buf);
	}
	s->have = 0;
	s->line_cut = false;
}

/* Whether a line decides already, so that further ones need not be looked at. */
static bool
is_decided(const struct check_stream *s)
{
	return s->when == MODE_ALWAYS ? s->line_at != 0 : s->held;
}

static void
matches_add(struct check_stream *s, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len && !is_decided(s); i++) {
		if (data[i] == '\n')
			line_done(s);
		else if (s->have < CHECK_LINE_MAX)
			s->buf[s->have++] = data[i];
		else
			s->cut = s->line_cut = true;
	}
}

static void
json_add(struct check_stream *s, const char *data, size_t len)
{
	size_t size;
	char *p;

	if (s->cut || s->failed)
		return;
	if (len > CHECK_JSON_MAX - s->have) {
		s->cut = true;
		return;
	}
	if (s->have + len > s->size) {
		for (size = s->size ? s->size : 4096; size < s->have + len; size *= 2)
			;
		p = realloc(s->buf, size);
		if (!p) {
			s->failed = true;
			return;
		}
		s->buf = p;
		s->size = size;
	}
	memcpy(s->buf + s->have, data, len);
	s->have += len;
}

void
check_stream_add(struct check_stream *s, const void *data, size_t len)
{
	size_t n = sizeof(s->head) - s->head_len;

	if (n > len)
		n = len;
	memcpy(s->head + s->head_len, data, n);
	s->head_len += n;
	switch (s->mode) {
	case STREAM_EQUALS:
		equals_add(s, data, len);
		break;
	case STREAM_CONTAINS:
		contains_add(s, data, len);
		break;
	case STREAM_MATCHES:
		if (!s->failed)
			matches_add(s, data, len);
		break;
	case STREAM_JSON:
		json_add(s, data, len);
		break;
	case STREAM_NONE:
		break;
	}
	s->bytes += len;
}

static int
json_finish(struct check_stream *s, const struct redact *redact, struct check_result *r)
{
	char why[160], shown[4096];
	cJSON *doc;
	const cJSON *v;
	char *text;
	int rc;

	if (s->cut)
		return check_unknown(r, "%s is longer than %u bytes, too long to parse", s->name, CHECK_JSON_MAX);
	doc = json_take(s->buf ? s->buf : "", s->have, CHECK_JSON_MAX, why);
	if (!doc)
		return check_actual(r, "%s is not JSON: %s", s->name, why);
	v = json_at(doc, s->pointer ? s->pointer : "", false);
	r->held = json_equal(v, s->equals);
	text = json_print(v);
	snprintf(shown, sizeof(shown), "%s", text ? text : "nothing there");
	redact_text(redact, shown, sizeof(shown));
	rc = check_actual(r, "%.400s", shown);
	free(text);
	cJSON_Delete(doc);
	return rc;
}

static int
expect(struct check_stream *s, struct check_result *r)
{
	char shown[400], *text;
	int rc;

	escape_text(s->want ? s->want : "", s->want_len > 160 ? 160 : s->want_len, shown, sizeof(shown));
	if (s->mode == STREAM_MATCHES && s->when != MODE_AT_END)
		return check_expected(r, "%s line of %s matches '%s'",
				      s->when == MODE_ALWAYS  ? "every"
				      : s->when == MODE_NEVER ? "no"
							      : "some",
				      s->name, shown);
	if (s->mode == STREAM_CONTAINS && s->when == MODE_NEVER)
		return check_expected(r, "%s never contains '%s'%s", s->name, shown, s->want_len > 160 ? "..." : "");
	switch (s->mode) {
	case STREAM_EQUALS:
		return check_expected(r, "%s equals '%s'%s", s->name, shown, s->want_len > 160 ? "..." : "");
	case STREAM_CONTAINS:
		return check_expected(r, "%s contains '%s'%s", s->name, shown, s->want_len > 160 ? "..." : "");
	case STREAM_MATCHES:
		return check_expected(r, "a line of %s matches '%s'", s->name, shown);
	case STREAM_JSON:
		text = json_print(s->equals);
		rc = check_expected(r, "%s as JSON has %.300s at '%s'", s->name, text ? text : "?",
				    s->pointer ? s->pointer : "");
		free(text);
		return rc;
	case STREAM_NONE:
		break;
	}
	return check_expected(r, "a known parameter");
}

static void
hide(const struct redact *redact, const char *text, size_t len, char out[static 4096])
{
	char head[2048];

	if (len >= sizeof(head))
		len = sizeof(head) - 1;
	memcpy(head, text, len);
	head[len] = '\0';
	redact_text(redact, head, sizeof(head));
	escape_text(head, strlen(head), out, 4096);
}

/* always and never: not what there is as soon as it is there, but what there is all along. */
static int
modes_finish(struct check_stream *s, const struct redact *redact, struct check_result *r)
{
	char shown[4096];

	if (s->mode == STREAM_CONTAINS) {
		r->held = !s->held;
		r->idle = r->held && s->bytes == 0;
		if (r->held)
			return check_actual(r, "it does not, in %" PRIu64 " bytes", s->bytes);
		return check_actual(r, "it stands there, up to byte %" PRIu64, s->found_at);
	}
	if (s->lines == 0 && s->when == MODE_ALWAYS)
		return check_actual(r, "the workflow wrote no line to %s", s->name);
	if (s->line_at) {
		r->unknown = s->cut && s->when == MODE_ALWAYS;
		hide(redact, s->decides, strlen(s->decides), shown);
		return check_actual(r, "line %" PRIu64 " %s: '%.100s'%s", s->line_at,
				    s->when == MODE_ALWAYS ? "does not" : "does", shown,
				    strlen(shown) > 100 ? "..." : "");
	}
	if (s->cut && s->when == MODE_NEVER)
		return check_unknown(r, "a line is longer than %u bytes: what stands beyond was not judged",
				     CHECK_LINE_MAX);
	r->held = true;
	r->idle = s->bytes == 0;
	return check_actual(r, "so in each of %" PRIu64 " lines", s->lines);
}

int
check_stream_finish(struct check_stream *s, bool truncated, const struct redact *redact, struct check_result *r)
{
	char shown[4096];
	int rc;

	if ((rc = expect(s, r)) < 0)
		return rc;
	check_rests_on(r, "/outcome/%s", s->name);
	if (truncated)
		return check_unknown(r, "%s was cut off after %" PRIu64 " bytes: a truncated stream never holds",
				     s->name, s->bytes);
	if (s->failed || s->mode == STREAM_NONE)
		return check_unknown(r, "the check could not be evaluated (pattern or memory)");
	if (s->mode == STREAM_JSON)
		return json_finish(s, redact, r);
	if (s->mode == STREAM_MATCHES && s->have)
		line_done(s);
	if (s->when == MODE_ALWAYS || s->when == MODE_NEVER)
		return modes_finish(s, redact, r);
	if (s->mode == STREAM_EQUALS)
		r->held = !s->differs && s->bytes == s->want_len;
	else
		r->held = s->held;
	r->idle = r->held && s->bytes == 0;
	if (r->held)
		return check_actual(r, "it does, in %" PRIu64 " bytes", s->bytes);
	r->unknown = s->mode == STREAM_MATCHES && s->cut;
	if (s->bytes == 0)
		return check_actual(r, "nothing was written to %s", s->name);
	hide(redact, s->head, strnlen(s->head, s->head_len), shown);
	if (s->mode == STREAM_EQUALS)
		return check_actual(r, "%" PRIu64 " bytes that differ at byte %" PRIu64 ": '%.100s'%s", s->bytes,
				    s->differs ? s->differs_at : s->bytes, shown, s->bytes > 100 ? "..." : "");
	return check_actual(r, "%" PRIu64 " bytes without it%s: '%.100s'%s", s->bytes,
			    s->cut ? " (lines were cut at 65536 bytes)" : "", shown, s->bytes > 100 ? "..." : "");
}
