/* SPDX-License-Identifier: GPL-2.0-or-later
 * pem.c - see pem.h.  A state machine over single bytes, so that where one buffer ends and the next begins means nothing. */
#include "host/pem.h"

#include <string.h>

enum {
	SEARCH,  /* for five dashes and a B; the only state that may skip bytes */
	WORD,    /* within "BEGIN " or "END " */
	LABEL,   /* within the label, up to its dashes */
	CLOSING, /* the five dashes after it */
	BODY,    /* lines of the key */
	DASHES,  /* a line of the body that starts with dashes */
};

void
pem_scan_init(struct pem_scan *p, bool escaped)
{
	memset(p, 0, sizeof(*p));
	p->escaped = escaped;
}

static void
search_again(struct pem_scan *p, unsigned char c)
{
	p->state = SEARCH;
	p->dashes = c == '-';
}

static bool
is_private(const struct pem_scan *p)
{
	static const char *const endings[] = { "PRIVATE KEY", "PRIVATE KEY BLOCK" };
	size_t i, n;

	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		n = strlen(endings[i]);
		if (p->at >= n && memcmp(p->label + p->at - n, endings[i], n) == 0)
			return true;
	}
	return false;
}

static void
start_line(struct pem_scan *p)
{
	p->line_len = 0;
	p->line_base64 = true;
	p->line_done = false;
}

static void
end_line(struct pem_scan *p)
{
	if (p->line_base64 && p->line_len > 0) {
		p->lines += p->lines < UINT32_MAX;
		if (p->line_len > p->longest)
			p->longest = p->line_len;
	}
	start_line(p);
}

static void
take_word(struct pem_scan *p, unsigned char c)
{
	const char *word = p->end ? "END " : "BEGIN ";

	if (c != (unsigned char)word[p->at]) {
		search_again(p, c);
	} else if (word[++p->at] == '\0') {
		p->state = LABEL;
		p->at = 0;
	}
}

static void
take_label(struct pem_scan *p, unsigned char c)
{
	if (c == '-') {
		p->state = CLOSING;
		p->dashes = 1;
	} else if (p->at < PEM_LABEL_MAX && ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ')) {
		p->label[p->at++] = (char)c;
	} else {
		search_again(p, c);
	}
}

static void
take_closing(struct pem_scan *p, unsigned char c)
{
	if (c != '-') {
		search_again(p, c);
		return;
	}
	if (++p->dashes < 5)
		return;
	if (!is_private(p)) {
		p->state = SEARCH; /* these five dashes may open the next block's */
		return;
	}
	if (p->end) {
		p->found = p->lines >= 2 || p->longest >= 60;
		search_again(p, 0);
		return;
	}
	p->state = BODY;
	p->lines = p->longest = 0;
	p->backslash = false;
	start_line(p);
	p->line_done = true; /* the rest of the BEGIN line must be empty */
}

static bool
is_base64(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
	       c == '=';
}

/* A header ("Proc-Type: 4,ENCRYPTED") may stand before the base64, nothing else may. */
static void
take_other(struct pem_scan *p, unsigned char c)
{
	if (!p->line_base64 && p->line_len < 1024) {
		p->line_len++;
	} else if ((c == ':' || c == '-') && p->lines == 0 && p->line_len > 0 && !p->line_done) {
		p->line_base64 = false;
	} else {
		search_again(p, c);
	}
}

static void
take_body(struct pem_scan *p, unsigned char c)
{
	if (p->escaped && p->backslash) {
		p->backslash = false;
		if (c == 'n')
			end_line(p);
		else if (c != 'r')
			search_again(p, c);
	} else if (c == '\n') {
		end_line(p);
	} else if (p->escaped && c == '\\') {
		p->backslash = true;
	} else if (c == ' ' || c == '\t' || c == '\r') {
		p->line_done |= p->line_len > 0;
	} else if (c == '-' && p->line_len == 0 && !p->line_done) {
		p->state = DASHES;
		p->dashes = 1;
	} else if (p->line_base64 && is_base64(c) && !p->line_done) {
		p->line_len += p->line_len < UINT32_MAX;
	} else {
		take_other(p, c);
	}
}

static void
take_dashes(struct pem_scan *p, unsigned char c)
{
	if (c == '-') {
		p->dashes = p->dashes < 5 ? (uint8_t)(p->dashes + 1) : 5;
	} else if (p->dashes == 5 && (c == 'E' || c == 'B')) {
		p->state = WORD;
		p->end = c == 'E';
		p->at = 1;
	} else {
		search_again(p, c);
	}
}

static const unsigned char *
take_search(struct pem_scan *p, const unsigned char *s, const unsigned char *end)
{
	if (p->dashes == 0) {
		s = memchr(s, '-', (size_t)(end - s));
		if (!s)
			return end;
	}
	if (*s == '-') {
		p->dashes = p->dashes < 5 ? (uint8_t)(p->dashes + 1) : 5;
	} else if (p->dashes == 5 && *s == 'B') {
		p->state = WORD;
		p->end = false;
		p->at = 1;
	} else {
		p->dashes = 0;
	}
	return s + 1;
}

void
pem_scan_add(struct pem_scan *p, const void *data, size_t len)
{
	const unsigned char *s = data, *end = s + len;

	while (s < end && !p->found) {
		switch (p->state) {
		case SEARCH:
			s = take_search(p, s, end);
			continue;
		case WORD:
			take_word(p, *s);
			break;
		case LABEL:
			take_label(p, *s);
			break;
		case CLOSING:
			take_closing(p, *s);
			break;
		case BODY:
			take_body(p, *s);
			break;
		case DASHES:
			take_dashes(p, *s);
			break;
		}
		s++;
	}
}
