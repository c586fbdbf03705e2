/* SPDX-License-Identifier: GPL-2.0-or-later
 * html.c - see html.h. */
#include "host/html.h"

#include <cJSON.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "proto/utf8.h"

#define INDENT_MAX 32u

void
html_raw(FILE *f, const char *markup)
{
	fputs(markup, f);
}

void
html_format(FILE *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
}

/* Characters that have no shape of their own, or change how others are shown. */
static bool
is_hidden(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x061c ||
	       c == 0x180e || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

void
html_text_len(FILE *f, const char *s, size_t len)
{
	size_t i, n;
	uint32_t c = 0;

	for (i = 0; i < len; i += n) {
		n = utf8_decode(s + i, len - i, &c);
		if (n == 0) {
			fprintf(f, "<span class=esc>\\x%02x</span>", (unsigned char)s[i]);
			n = 1;
		} else if (is_hidden(c)) {
			fprintf(f, "<span class=esc>\\u%04x</span>", (unsigned)c);
		} else if (c == '<') {
			fputs("&lt;", f);
		} else if (c == '>') {
			fputs("&gt;", f);
		} else if (c == '&') {
			fputs("&amp;", f);
		} else if (c == '"') {
			fputs("&quot;", f);
		} else if (c == '\'') {
			fputs("&#39;", f);
		} else {
			fwrite(s + i, 1, n, f);
		}
	}
}

void
html_text(FILE *f, const char *s)
{
	html_text_len(f, s, strlen(s));
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

struct pretty {
	FILE *f;
	size_t left;
	bool cut;
};

static void
put(struct pretty *p, const char *s)
{
	size_t n = strlen(s);

	if (p->cut)
		return;
	if (n > p->left) {
		for (n = p->left; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
			;
		p->cut = true;
	}
	html_text_len(p->f, s, n);
	p->left -= n;
}

static void
line(struct pretty *p, unsigned depth)
{
	char space[2 * INDENT_MAX + 2] = "\n";
	unsigned n = 2 * (depth < INDENT_MAX ? depth : INDENT_MAX);

	memset(space + 1, ' ', n);
	space[1 + n] = '\0';
	put(p, space);
}

static void
leaf(struct pretty *p, const cJSON *v)
{
	char *text = json_print(v);

	put(p, text ? text : "...");
	free(text);
}

static void
value(struct pretty *p, const cJSON *v, unsigned depth)
{
	const cJSON *x;
	cJSON key = { .type = cJSON_String };

	if ((!cJSON_IsObject(v) && !cJSON_IsArray(v)) || !v->child || depth >= INDENT_MAX) {
		leaf(p, v);
		return;
	}
	put(p, cJSON_IsObject(v) ? "{" : "[");
	for (x = v->child; x && !p->cut; x = x->next) {
		line(p, depth + 1);
		if (cJSON_IsObject(v)) {
			key.valuestring = x->string;
			leaf(p, &key);
			put(p, ": ");
		}
		value(p, x, depth + 1);
		if (x->next)
			put(p, ",");
	}
	line(p, depth);
	put(p, cJSON_IsObject(v) ? "}" : "]");
}

void
html_json(FILE *f, const struct cJSON *v, size_t max)
{
	struct pretty p = { .f = f, .left = max };

	if (!v) {
		html_raw(f, "none");
		return;
	}
	value(&p, v, 0);
	if (p.cut)
		html_raw(f, "\n<i>... the rest is in the receipt</i>");
}
