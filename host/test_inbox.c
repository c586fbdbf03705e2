/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_inbox.c - what the process of a run hands back, piece by piece, see test_child.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/options.h"
#include "host/test_child.h"
#include "host/uuid.h"

#define HEAD_MAX 200u
#define DAYS_MS (4u * 86400000u)

/* "WORD NUMBER", the number up to stop. */
static bool
word_number(const char **at, const char *word, uint64_t max, char stop, uint64_t *out)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0 || !options_number(*at + n, max, out, at) || **at != stop)
		return false;
	(*at)++;
	return true;
}

/* The length of the first line with its end; 0 it is not whole yet. */
static size_t
line_len(const char *s, size_t len)
{
	const char *end = memchr(s, '\n', len);

	return end ? (size_t)(end - s) + 1 : 0;
}

static bool
take_begin(struct test_inbox *b)
{
	size_t n = line_len(b->text, b->len);
	char line[HEAD_MAX + 1];
	const char *at = line;

	if (n == 0)
		return b->len < HEAD_MAX;
	if (n > HEAD_MAX)
		return false;
	memcpy(line, b->text, n);
	line[n] = '\0';
	/* A run that was refused begins with its record. */
	if (strncmp(at, "begin ", 6) != 0)
		return strncmp(at, "record ", 7) == 0;
	at += 6;
	if (strspn(at, "0123456789abcdef-") != UUID_TEXT_LEN)
		return false;
	at += UUID_TEXT_LEN;
	if (!word_number(&at, " ", 1ull << 50, ' ', &b->bundle_bytes) ||
	    !word_number(&at, "", DAYS_MS, '\n', &b->longest_ms))
		return false;
	b->begun = true;
	b->len -= n;
	memmove(b->text, b->text + n, b->len);
	return true;
}

/* see test_child.h */
bool
test_inbox_add(struct test_inbox *b, const char *data, size_t len)
{
	size_t size = b->size ? b->size : 4096;
	char *text;

	if (b->broken || len > TEST_RECORD_MAX + 2 * HEAD_MAX - b->len)
		b->broken = true;
	while (!b->broken && size < b->len + len + 1)
		size *= 2;
	if (!b->broken && size != b->size) {
		text = realloc(b->text, size);
		b->broken = text == NULL;
		b->text = text ? text : b->text;
		b->size = text ? size : b->size;
	}
	if (b->broken)
		return false;
	if (len)
		memcpy(b->text + b->len, data, len);
	b->len += len;
	if (!b->begun && b->len && !take_begin(b))
		b->broken = true;
	return !b->broken;
}

/* see test_child.h */
const char *
test_inbox_record(const struct test_inbox *b, size_t *len)
{
	size_t n = b->len ? line_len(b->text, b->len < HEAD_MAX ? b->len : HEAD_MAX) : 0;
	char line[HEAD_MAX + 1];
	const char *at = line;
	uint64_t size;

	if (b->broken || n == 0)
		return NULL;
	memcpy(line, b->text, n);
	line[n] = '\0';
	if (!word_number(&at, "record ", TEST_RECORD_MAX, '\n', &size) || *at || size != b->len - n)
		return NULL;
	*len = (size_t)size;
	return b->text + n;
}

/* see test_child.h */
void
test_inbox_wipe(struct test_inbox *b)
{
	free(b->text);
	memset(b, 0, sizeof(*b));
}
