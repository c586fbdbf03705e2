/* SPDX-License-Identifier: GPL-2.0-or-later
 * diag.c - see diag.h. */
#include "host/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096u

int
diag_set(struct diag *d, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(d->problem, sizeof(d->problem), format, ap);
	va_end(ap);
	return err;
}

void
diag_fix(struct diag *d, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(d->fix, sizeof(d->fix), format, ap);
	va_end(ap);
}

bool
log_is_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(STDERR_FILENO) == 1 && (!no || !*no);
}

/* Bytes of the UTF-8 character at s[0..len), 0 when it is none or one that a terminal obeys (C0, DEL, C1). */
static size_t
printable_len(const unsigned char *s, size_t len)
{
	size_t n, i;
	uint32_t c;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	c = s[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	/* surrogates, what is no character, and the marks that turn the direction of what follows */
	if ((c >= 0xd800 && c <= 0xdfff) || (c & 0xfffe) == 0xfffe || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

void
escape_text(const char *s, size_t len, char *out, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *in = (const unsigned char *)s;
	size_t i = 0, o = 0, n;

	if (size == 0)
		return;
	while (i < len) {
		n = printable_len(in + i, len - i);
		if (n > 0) {
			if (n >= size - o)
				break;
			memcpy(out + o, in + i, n);
			o += n;
			i += n;
			continue;
		}
		if (size - o <= 4)
			break;
		out[o++] = '\\';
		out[o++] = 'x';
		out[o++] = digits[in[i] >> 4];
		out[o++] = digits[in[i] & 15];
		i++;
	}
	out[o] = '\0';
}

static void
put_line(const char *prefix, const char *colour, const char *text, size_t len)
{
	char line[LINE_MAX_BYTES + 64], escaped[LINE_MAX_BYTES];
	bool paint = *prefix && log_is_colour();
	size_t at = 0, n;
	ssize_t done;
	int r;

	escape_text(text, len, escaped, sizeof(escaped));
	r = snprintf(line, sizeof(line), "%s%s%s%s\n", paint ? colour : "", prefix, paint ? "\033[0m" : "", escaped);
	if (r < 0)
		return;
	n = (size_t)r < sizeof(line) ? (size_t)r : sizeof(line) - 1;
	while (at < n) {
		done = write(STDERR_FILENO, line + at, n - at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		at += (size_t)done;
	}
}

void
log_line(enum log_level level, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	const char *prefix = "", *colour = "";
	int saved = errno, r;
	va_list ap;

	va_start(ap, format);
	r = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	switch (level) {
	case LOG_LEVEL_ERROR:
		prefix = "error: ";
		colour = "\033[1;31m";
		break;
	case LOG_LEVEL_WARN:
		prefix = "warning: ";
		colour = "\033[1;33m";
		break;
	case LOG_LEVEL_NOTE:
		prefix = "note: ";
		colour = "\033[1m";
		break;
	case LOG_LEVEL_PHASE:
		break;
	}
	if (r >= 0)
		put_line(prefix, colour, text, (size_t)r < sizeof(text) ? (size_t)r : sizeof(text) - 1);
	errno = saved;
}

void
log_diag(const struct diag *d)
{
	char place[sizeof(d->file) + 32] = "";

	if (d->file[0] && d->line)
		(void)snprintf(place, sizeof(place), "%s:%u:%u: ", d->file, d->line, d->column);
	else if (d->file[0])
		(void)snprintf(place, sizeof(place), "%s: ", d->file);
	log_line(LOG_LEVEL_ERROR, "%s%s%s%s%s", place, d->pointer[0] ? "at " : "", d->pointer,
		 d->pointer[0] ? ": " : "", d->problem);
	if (d->fix[0])
		log_line(LOG_LEVEL_PHASE, "  fix: %s", d->fix);
}
