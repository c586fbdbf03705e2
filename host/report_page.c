/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_page.c - see report_page.h. */
#include "host/report_page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/report_line.h"
#include "host/wrap.h"

void
page_init(struct page *p, int fd, FILE *f)
{
	const char *no = getenv("NO_COLOR");

	p->f = f;
	p->width = wrap_width(fd, 100);
	if (p->width < PAGE_WIDTH_MIN)
		p->width = PAGE_WIDTH_MIN;
	p->colour = isatty(fd) == 1 && (!no || !*no);
}

const char *
page_paint(const struct page *p, enum colour c)
{
	static const char *const codes[] = { "", "\033[1;32m", "\033[1;31m", "\033[1;33m" };

	return p->colour ? codes[c] : "";
}

const char *
page_unpaint(const struct page *p, enum colour c)
{
	return p->colour && c != PLAIN ? "\033[0m" : "";
}

void
page_text(struct page *p, enum colour c, const char *label, const char *raw)
{
	char shown[4 * REPORT_LINE_MAX + 8];
	const char *at = shown, *lead = label;
	unsigned indent = p->width < 60 ? 4 : 14;
	size_t n, end;

	escape_text(raw, strlen(raw), shown, sizeof(shown));
	if (indent == 4 && *label) {
		fprintf(p->f, "%s%s%s\n", page_paint(p, c), label, page_unpaint(p, c));
		lead = "";
	}
	do {
		n = end = wrap_fitting(at, p->width - indent);
		while (end > 0 && at[end - 1] == ' ')
			end--;
		fprintf(p->f, "%s%-*s%s%.*s\n", *lead ? page_paint(p, c) : "", (int)indent, lead,
			*lead ? page_unpaint(p, c) : "", (int)end, at);
		indent += at == shown && !*label ? 2 : 0;
		lead = "";
		at += n;
		while (*at == ' ')
			at++;
	} while (*at);
}

void
page_field(struct page *p, enum colour c, const char *label, const char *format, ...)
{
	char raw[REPORT_LINE_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(raw, sizeof(raw), format, ap);
	va_end(ap);
	page_text(p, c, label, raw);
}

void
page_heading(struct page *p, const char *title, uint64_t n)
{
	fprintf(p->f, "\n%s", title);
	if (n != UINT64_MAX)
		fprintf(p->f, " (%" PRIu64 ")", n);
	fprintf(p->f, "\n");
}
