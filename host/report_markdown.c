/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_markdown.c - see report_markdown.h. */
#include "host/report_markdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/diag.h"
#include "host/report_line.h"

#define CODE_MAX 2000u

static void
piece_start(struct markdown *m)
{
	if (m->f)
		fclose(m->f);
	free(m->piece);
	m->piece = NULL;
	m->piece_len = 0;
	m->f = open_memstream(&m->piece, &m->piece_len);
	m->failed = m->failed || !m->f;
}

int
markdown_init(struct markdown *m, size_t max)
{
	memset(m, 0, sizeof(*m));
	m->text = malloc(max + 1);
	m->max = m->limit = max;
	if (!m->text)
		return -ENOMEM;
	m->text[0] = '\0';
	piece_start(m);
	return m->failed ? -ENOMEM : 0;
}

void
markdown_wipe(struct markdown *m)
{
	if (m->f)
		fclose(m->f);
	free(m->piece);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

bool
markdown_take(struct markdown *m)
{
	bool taken = false;

	if (m->failed)
		return false;
	if (fflush(m->f) != 0 || ferror(m->f)) {
		m->failed = true;
		return false;
	}
	if (m->piece_len == 0)
		return true;
	if (m->left_out == 0 && m->len <= m->limit && m->piece_len <= m->limit - m->len) {
		memcpy(m->text + m->len, m->piece, m->piece_len);
		m->len += m->piece_len;
		m->text[m->len] = '\0';
		taken = true;
	} else {
		m->left_out++;
	}
	piece_start(m);
	return taken && !m->failed;
}

void
markdown_begin(struct markdown *m, const char *title, unsigned percent)
{
	size_t left = m->max - m->len;

	m->left_out = 0;
	m->limit = m->len + left / 100 * percent + left % 100 * percent / 100;
	if (m->f && title)
		fprintf(m->f, "\n## %s\n\n", title);
	markdown_take(m);
}

void
markdown_end(struct markdown *m)
{
	unsigned n = m->left_out;

	m->left_out = 0;
	m->limit = m->max;
	if (n && m->f) {
		fprintf(m->f, "\n(%u more left out: --max-bytes)\n", n);
		markdown_take(m);
	}
	m->left_out = 0;
}

static size_t
longest_run(const char *text)
{
	size_t most = 0, n = 0;

	for (; *text; text++) {
		n = *text == '`' ? n + 1 : 0;
		most = n > most ? n : most;
	}
	return most;
}

static void
ticks(FILE *f, size_t n)
{
	while (n-- > 0)
		fputc('`', f);
}

void
markdown_code(struct markdown *m, const char *text, size_t max)
{
	char cut[CODE_MAX + 8], shown[4 * CODE_MAX + 40];
	const char *pad;
	size_t n;

	if (!m->f)
		return;
	report_cut(text, cut, max < CODE_MAX ? max : CODE_MAX);
	escape_text(cut, strlen(cut), shown, sizeof(shown));
	n = longest_run(shown) + 1;
	pad = shown[0] == '`' || shown[0] == ' ' || !shown[0] || shown[strlen(shown) - 1] == '`' ? " " : "";
	ticks(m->f, n);
	fprintf(m->f, "%s%s%s", pad, shown, pad);
	ticks(m->f, n);
}

void
markdown_block(struct markdown *m, const char *kind, const char *text, size_t len)
{
	char *shown = malloc(4 * len + 8), *at = shown;
	const char *line = text, *end;
	size_t n;

	if (!shown || !m->f) {
		m->failed = true;
		free(shown);
		return;
	}
	for (; line < text + len; line = end + 1) {
		end = memchr(line, '\n', len - (size_t)(line - text));
		if (!end)
			end = text + len;
		escape_text(line, (size_t)(end - line), at, 4 * (size_t)(end - line) + 5);
		at += strlen(at);
		*at++ = '\n';
	}
	*at = '\0';
	n = longest_run(shown) + 1;
	ticks(m->f, n < 3 ? 3 : n);
	fprintf(m->f, "%s\n%s", kind, shown);
	ticks(m->f, n < 3 ? 3 : n);
	fputc('\n', m->f);
	free(shown);
}
