/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_read.c - see receipt_read.h.  Bytes come through a window by pread: under mmap a file that another process cuts
 * would end this one with SIGBUS.  A value is first delimited by its brackets, in any length, then judged as a whole by the
 * scanner that all foreign JSON meets. */
#include "host/receipt_read.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/json.h"
#include "proto/cursor.h"
#include "proto/json_text.h"
#include "proto/limits.h"

#define WINDOW (256u << 10)
#define HEAD_WINDOW (16u << 10)
#define MEMBERS_MAX 64u /* receipt/1 has 16; those of later versions are kept */
#define KEY_MAX 128u
/* A body may be nested as deeply as foreign JSON may be, and stands some levels down in an operation or a row. */
#define DEPTH_MAX (JSON_DEPTH_MAX + 16u)

static int __attribute__((format(printf, 3, 4))) fail(struct receipt_doc *d, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(d->why, sizeof(d->why), format, ap);
	va_end(ap);
	return err < 0 ? err : -EIO;
}

static int
fail_at(struct receipt_doc *d, uint64_t at, const char *problem)
{
	if (at >= d->size)
		return fail(d, -EPROTO, "byte %" PRIu64 ": the text ends too early", d->size);
	return fail(d, -EPROTO, "byte %" PRIu64 ": %s", at, problem);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------ */

int
receipt_bytes(struct receipt_doc *d, uint64_t at, void *out, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (at > d->size || len > d->size - at)
		return fail_at(d, d->size, "");
	if (d->fd < 0) {
		memcpy(out, d->text + at, len);
		return 0;
	}
	while (done < len) {
		n = pread(d->fd, (char *)out + done, len - done, (off_t)(at + done));
		if (n > 0)
			done += (size_t)n;
		else if (n == 0)
			return fail(d, -ESTALE, "the file became shorter while it was read");
		else if (errno != EINTR)
			return fail(d, -errno, "%s", strerror(errno));
	}
	return 0;
}

/* Makes the window hold all of [at, at + len), which is within the file. */
static int
load(struct receipt_doc *d, uint64_t at, size_t len)
{
	char *more;
	int r;

	if (at >= d->window_at && at - d->window_at <= d->window_len && len <= d->window_len - (at - d->window_at))
		return 0;
	if (len > d->window_size) {
		more = realloc(d->window, len);
		if (!more) {
			fail(d, -ENOMEM, "%s", strerror(ENOMEM));
			return -ENOMEM;
		}
		d->window = more;
		d->window_size = len;
	}
	len = d->size - at < d->window_size ? (size_t)(d->size - at) : d->window_size;
	d->window_len = 0;
	r = receipt_bytes(d, at, d->window, len);
	if (r < 0)
		return r;
	d->window_at = at;
	d->window_len = len;
	return 0;
}

/* What the window has from at on, at least a byte.  -EPROTO at the end of the file. */
static int
peek(struct receipt_doc *d, uint64_t at, const char **bytes, size_t *len)
{
	int r;

	*bytes = NULL;
	*len = 0;
	if (at >= d->size) {
		fail_at(d, at, "");
		return -EPROTO;
	}
	r = load(d, at, 1);
	if (r < 0)
		return r;
	*bytes = d->window + (at - d->window_at);
	*len = d->window_len - (size_t)(at - d->window_at);
	return 0;
}

/* The next byte that is not blank, and its place. */
static int
next_byte(struct receipt_doc *d, uint64_t *at, char *c)
{
	const char *p;
	size_t n, i;
	int r;

	*c = '\0';
	for (;;) {
		r = peek(d, *at, &p, &n);
		if (r < 0)
			return r;
		i = json_skip_blank(p, n, 0);
		*at += i;
		if (i < n) {
			*c = p[i];
			return 0;
		}
	}
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

struct lexer {
	unsigned depth;
	bool begun, string, escaped, plain;
};

static const uint8_t brackets[256] = { ['"'] = 1, ['{'] = 2, ['['] = 2, ['}'] = 3, [']'] = 3 };

/* Outside strings, within brackets. */
static size_t
lex_brackets(struct lexer *l, const char *p, size_t n, size_t i)
{
	for (; i < n; i++) {
		switch (brackets[(uint8_t)p[i]]) {
		case 1:
			l->string = true;
			return i + 1;
		case 2:
			l->depth++;
			break;
		case 3:
			if (--l->depth == 0)
				return i + 1;
			break;
		default:
			break;
		}
	}
	return n;
}

/* From after the opening quote to after the closing one. */
static size_t
lex_string(struct lexer *l, const char *p, size_t n, size_t i)
{
	for (; i < n; i++) {
		if (l->escaped) {
			l->escaped = false;
		} else if (p[i] == '\\') {
			l->escaped = true;
		} else if (p[i] == '"') {
			l->string = false;
			return i + 1;
		}
	}
	return n;
}

/* Goes on over n bytes, at least one.  Returns those up to the end of the value, or n + 1 when it does not end in them. */
static size_t
lex(struct lexer *l, const char *p, size_t n)
{
	size_t i = 0;

	if (!l->begun) {
		l->begun = true;
		l->string = p[0] == '"';
		l->depth = p[0] == '{' || p[0] == '[';
		l->plain = !l->string && !l->depth; /* a number or a literal, or something that the scanner refuses */
		i = 1;
	}
	if (l->plain) {
		while (i < n && p[i] != ',' && p[i] != ']' && p[i] != '}' && !json_is_blank(p[i]))
			i++;
		return i < n ? i : n + 1;
	}
	while (i < n) {
		i = l->string ? lex_string(l, p, n, i) : lex_brackets(l, p, n, i);
		if (!l->string && l->depth == 0)
			return i;
	}
	return n + 1;
}

/* The bytes of the value that starts at at, at most max. */
static int
value_len(struct receipt_doc *d, uint64_t at, uint64_t max, size_t *len)
{
	struct lexer l = { 0 };
	uint64_t total = 0;
	const char *p;
	size_t n, i;
	int r;

	*len = 0;
	do {
		r = peek(d, at + total, &p, &n);
		if (r < 0)
			return r;
		i = lex(&l, p, n);
		total += i > n ? n : i;
		if (total > max)
			return fail(d, -EMSGSIZE, "byte %" PRIu64 ": a value of more than %" PRIu64 " bytes", at, max);
	} while (i > n);
	*len = (size_t)total;
	return 0;
}

/* The value of len bytes, checked and built.  where: its place in the document, for the message. */
static int
take(struct receipt_doc *d, uint64_t at, size_t len, const char *where, cJSON **out)
{
	struct json_scan s = { 0 };
	int r = load(d, at, len);

	*out = NULL;
	if (r < 0)
		return r;
	*out = json_parse(d->window + (at - d->window_at), len, DEPTH_MAX, &s);
	if (!*out)
		return fail(d, -EPROTO, "byte %" PRIu64 ", at %s%.160s: %s", at + s.offset, where, s.pointer,
			    s.problem ? s.problem : "malformed");
	return 0;
}

/* ---- members ------------------------------------------------------------------------------------------------------------ */

/* The parts of receipt/1. */
static const struct {
	const char *name;
	int type;
} parts[] = {
	{ "agenttwin", cJSON_String }, { "status", cJSON_String },   { "why", cJSON_String },
	{ "exit_code", cJSON_Number }, { "run", cJSON_Object },      { "bundle", cJSON_Object },
	{ "runtime", cJSON_Object },   { "boundary", cJSON_Object }, { "outcome", cJSON_Object },
	{ "operations", cJSON_Array }, { "faults", cJSON_Array },    { "checks", cJSON_Array },
	{ "state", cJSON_Object },     { "cleanup", cJSON_Object },  { "integrity", cJSON_Object },
	{ "limits", cJSON_Array },
};

static const char *
type_name(int type)
{
	return type == cJSON_String   ? "a string"
	       : type == cJSON_Number ? "a number"
	       : type == cJSON_Object ? "an object"
				      : "an array";
}

/* Where integrity.signature stands, whose value a signature leaves out of what it signs. */
static void
find_signature(struct receipt_doc *d, uint64_t at, size_t len)
{
	const char *p = d->window + (at - d->window_at);
	size_t i = 1, end, from;

	while ((i = json_skip_blank(p, len, i)) < len && p[i] == '"') {
		end = json_skip_value(p, len, i);
		from = json_skip_blank(p, len, json_skip_blank(p, len, end) + 1);
		if (end - i == 11 && memcmp(p + i, "\"signature\"", 11) == 0) {
			d->signature_at = at + from;
			d->signature_len = json_skip_value(p, len, from) - from;
			return;
		}
		i = json_skip_blank(p, len, json_skip_value(p, len, from)) + 1;
	}
}

static int
count_operations(struct receipt_doc *d, uint64_t *at)
{
	size_t len;
	char c;
	int r;

	(*at)++;
	if ((r = next_byte(d, at, &c)) < 0)
		return r;
	d->list_at = *at;
	while (c != ']') {
		if ((r = value_len(d, *at, RECEIPT_OPERATION_MAX, &len)) < 0)
			return r;
		d->operations++;
		*at += len;
		if ((r = next_byte(d, at, &c)) < 0)
			return r;
		if (c != ',' && c != ']')
			return fail_at(d, *at, "here should be a comma or the closing bracket");
		if (c == ',') {
			(*at)++;
			if ((r = next_byte(d, at, &c)) < 0)
				return r;
			if (c == ']')
				return fail_at(d, *at, "a comma before the closing bracket");
		}
	}
	(*at)++;
	return 0;
}

static int
key(struct receipt_doc *d, uint64_t *at, char name[static KEY_MAX])
{
	cJSON *text = NULL;
	size_t len;
	char c;
	int r;

	if ((r = next_byte(d, at, &c)) < 0)
		return r;
	if (c != '"')
		return fail_at(d, *at, "here should be a key in double quotes");
	if ((r = value_len(d, *at, KEY_MAX, &len)) < 0 || (r = take(d, *at, len, "/", &text)) < 0)
		return r;
	snprintf(name, KEY_MAX, "%s", text->valuestring);
	cJSON_Delete(text);
	if (cJSON_GetObjectItemCaseSensitive(d->rest, name))
		return fail_at(d, *at, "the same part twice");
	*at += len;
	if ((r = next_byte(d, at, &c)) < 0)
		return r;
	if (c != ':')
		return fail_at(d, *at, "here should be a colon after the key");
	(*at)++;
	return next_byte(d, at, &c);
}

/* The value of a part; *left is what the parts may still hold. */
static int
part(struct receipt_doc *d, uint64_t *at, const char *name, uint64_t *left)
{
	char where[KEY_MAX + 2], c;
	cJSON *v = NULL;
	size_t len;
	int r;

	if ((r = next_byte(d, at, &c)) < 0)
		return r;
	if (strcmp(name, "operations") == 0 && c == '[') {
		v = cJSON_CreateArray();
		r = count_operations(d, at);
	} else {
		snprintf(where, sizeof(where), "/%s", name);
		if ((r = value_len(d, *at, *left, &len)) < 0 || (r = take(d, *at, len, where, &v)) < 0)
			return r;
		if (strcmp(name, "integrity") == 0 && cJSON_IsObject(v))
			find_signature(d, *at, len);
		*left -= len;
		*at += len;
	}
	if (r == 0 && (!v || !cJSON_AddItemToObject(d->rest, name, v))) {
		cJSON_Delete(v);
		return fail(d, -ENOMEM, "%s", strerror(ENOMEM));
	}
	if (r < 0)
		cJSON_Delete(v);
	return r;
}

static int
nothing_left(struct receipt_doc *d, uint64_t at)
{
	const char *p;
	size_t n, i;
	int r;

	while (at < d->size) {
		if ((r = peek(d, at, &p, &n)) < 0)
			return r;
		i = json_skip_blank(p, n, 0);
		at += i;
		if (i < n)
			return fail_at(d, at, "text after the end of the receipt");
	}
	return 0;
}

/* Up to the closing brace, or up to the end of the part named last. */
static int
members(struct receipt_doc *d, const char *last, uint64_t left)
{
	uint64_t at = 0;
	char name[KEY_MAX], c;
	size_t n = 0;
	int r;

	if ((r = next_byte(d, &at, &c)) < 0)
		return r;
	if (c != '{')
		return fail_at(d, at, "here should be the opening brace of a receipt");
	do {
		at++;
		if (n++ == MEMBERS_MAX)
			return fail_at(d, at, "too many parts");
		if ((r = key(d, &at, name)) < 0)
			return r;
		if (last && strcmp(name, "operations") == 0)
			return fail_at(d, at, "operations before run");
		if ((r = part(d, &at, name, &left)) < 0)
			return r;
		if (last && strcmp(name, last) == 0)
			return 0;
		if ((r = next_byte(d, &at, &c)) < 0)
			return r;
	} while (c == ',');
	if (c != '}')
		return fail_at(d, at, "here should be a comma or the closing brace");
	return nothing_left(d, at + 1);
}

/* Are the parts there, and of their types? */
static int
check_parts(struct receipt_doc *d, size_t count)
{
	const char *version = json_get_text(d->rest, "agenttwin");
	const cJSON *v;
	size_t i;

	if (!version)
		return fail(d, -EPROTO, "this is not a receipt: its member agenttwin is not \"receipt/1\"");
	if (strcmp(version, "receipt/1") != 0)
		return fail(d, -EPROTO, "this is not a receipt/1 but \"%.60s\"", version);
	for (i = 0; i < count; i++) {
		v = json_get(d->rest, parts[i].name);
		if (!v)
			return fail(d, -EPROTO, "the part %s is missing in this receipt", parts[i].name);
		if ((v->type & 0xff) != parts[i].type)
			return fail(d, -EPROTO, "at /%s: it must be %s", parts[i].name, type_name(parts[i].type));
	}
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------ */

static int
open_file(int dir_fd, const char *path, int flags, struct receipt_doc *d)
{
	struct stat st;

	d->fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (d->fd < 0 || fstat(d->fd, &st) < 0)
		return fail(d, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(d, -EISDIR, "this is not a file");
	d->size = (uint64_t)st.st_size;
	d->changed = st.st_mtim;
	return 0;
}

static int
start(struct receipt_doc *d, size_t window)
{
	d->rest = cJSON_CreateObject();
	d->window = malloc(window);
	d->window_size = window;
	return d->rest && d->window ? 0 : fail(d, -ENOMEM, "%s", strerror(ENOMEM));
}

static int
finish(struct receipt_doc *d, int r, char *why)
{
	char *less;

	if (r < 0) {
		snprintf(why, RECEIPT_WHY_MAX, "%s", d->why);
		receipt_close(d);
		return r;
	}
	if (d->window_size > WINDOW) { /* a large part is no reason to keep as much for small operations */
		d->window_len = 0;
		less = realloc(d->window, WINDOW);
		d->window = less ? less : d->window;
		d->window_size = less ? WINDOW : d->window_size;
	}
	return 0;
}

static int
whole(struct receipt_doc *d)
{
	int r = start(d, WINDOW);

	if (r == 0)
		r = members(d, NULL, RECEIPT_REST_MAX);
	return r == 0 ? check_parts(d, sizeof(parts) / sizeof(parts[0])) : r;
}

int
receipt_open(const char *path, struct receipt_doc *d, char why[static RECEIPT_WHY_MAX])
{
	int r;

	memset(d, 0, sizeof(*d));
	r = open_file(AT_FDCWD, path, 0, d);
	return finish(d, r == 0 ? whole(d) : r, why);
}

int
receipt_open_text(const char *text, size_t len, struct receipt_doc *d, char why[static RECEIPT_WHY_MAX])
{
	memset(d, 0, sizeof(*d));
	d->fd = -1;
	d->text = text;
	d->size = len;
	return finish(d, whole(d), why);
}

int
receipt_open_head(int dir_fd, const char *path, struct receipt_doc *d, char why[static RECEIPT_WHY_MAX])
{
	int r;

	memset(d, 0, sizeof(*d));
	r = open_file(dir_fd, path, O_NOFOLLOW, d);
	if (r == 0)
		r = start(d, HEAD_WINDOW);
	if (r == 0)
		r = members(d, "run", RECEIPT_HEAD_MAX);
	return finish(d, r == 0 ? check_parts(d, 5) : r, why);
}

void
receipt_close(struct receipt_doc *d)
{
	cJSON_Delete(d->rest);
	free(d->window);
	if (d->fd >= 0)
		close(d->fd);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
}

/* ---- operations --------------------------------------------------------------------------------------------------------- */

/* At the end of the list: what was read is worth something only if the file stayed as it was. */
static int
unchanged(struct receipt_doc *d)
{
	struct stat st;

	if (d->fd < 0)
		return 0;
	if (fstat(d->fd, &st) < 0)
		return fail(d, -errno, "%s", strerror(errno));
	if ((uint64_t)st.st_size != d->size || st.st_mtim.tv_sec != d->changed.tv_sec ||
	    st.st_mtim.tv_nsec != d->changed.tv_nsec)
		return fail(d, -ESTALE, "the file was changed while it was read");
	return 0;
}

int
receipt_next(struct receipt_doc *d, struct receipt_cursor *cursor, cJSON **op)
{
	uint64_t at = cursor->at ? cursor->at : d->list_at;
	char where[48], c;
	size_t len;
	int r;

	if (cursor->index >= d->operations)
		return unchanged(d);
	snprintf(where, sizeof(where), "/operations/%" PRIu64, cursor->index);
	*op = NULL;
	if ((r = value_len(d, at, RECEIPT_OPERATION_MAX, &len)) < 0 || (r = take(d, at, len, where, op)) < 0)
		return r;
	if (!cJSON_IsObject(*op)) {
		r = fail(d, -EPROTO, "byte %" PRIu64 ", at %s: it must be an object", at, where);
		goto out;
	}
	at += len;
	if ((r = next_byte(d, &at, &c)) < 0)
		goto out;
	if (c != ',' && c != ']') {
		r = fail_at(d, at, "here should be a comma or the closing bracket");
		goto out;
	}
	at++;
	if ((r = next_byte(d, &at, &c)) < 0) /* the next one, or what follows the list */
		goto out;
	cursor->at = at;
	cursor->index++;
	return 1;
out:
	cJSON_Delete(*op);
	*op = NULL;
	return r;
}
