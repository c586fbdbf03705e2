/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_read.c - see world_read.h. */
#include "host/world_read.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "proto/number.h"

#define TEXT_MAX 4096u

size_t
wr_enter(struct wr *c, const char *key)
{
	size_t mark = c->at_len, n = mark;
	const char *s;

	/* One that does not fit is not entered: the message then points at what holds it. */
	if (n + 1 >= sizeof(c->at))
		return mark;
	c->at[n++] = '/';
	for (s = key; *s; s++) {
		if (n + 3 >= sizeof(c->at)) {
			c->at[mark] = '\0';
			return mark;
		}
		if (*s == '~' || *s == '/') {
			c->at[n++] = '~';
			c->at[n++] = *s == '~' ? '0' : '1';
		} else {
			c->at[n++] = *s;
		}
	}
	c->at[n] = '\0';
	c->at_len = n;
	return mark;
}

size_t
wr_enter_index(struct wr *c, size_t index)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu", index);
	return wr_enter(c, text);
}

void
wr_leave(struct wr *c, size_t mark)
{
	c->at_len = mark;
	c->at[mark] = '\0';
}

static int __attribute__((format(printf, 4, 0))) fail(struct wr *c, int err, bool key, const char *format, va_list ap)
{
	(void)vsnprintf(c->d->problem, sizeof(c->d->problem), format, ap);
	c->d->fix[0] = '\0';
	world_place(c->w, c->at, key, c->d);
	return err;
}

int
wr_fail(struct wr *c, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	err = fail(c, err, false, format, ap);
	va_end(ap);
	return err;
}

int
wr_fail_key(struct wr *c, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	err = fail(c, err, true, format, ap);
	va_end(ap);
	return err;
}

int
wr_fail_later(struct wr *c, const char *what)
{
	int r = wr_fail_key(c, -EOPNOTSUPP, "%s is not supported by this version", what);

	diag_fix(c->d, "take it out; agenttwin-world(5) lists what version %s accepts", AGENTTWIN_VERSION);
	return r;
}

const char *
wr_type(const struct cJSON *v)
{
	switch (v->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
		return "true or false";
	case cJSON_NULL:
		return "null";
	case cJSON_Number:
		return "a number";
	case cJSON_String:
		return "a string";
	case cJSON_Array:
		return "an array";
	case cJSON_Object:
		return "an object";
	default:
		return "something else";
	}
}

static int
wrong_type(struct wr *c, const struct cJSON *v, const char *want)
{
	return wr_fail(c, -EPROTO, "expected %s, found %s", want, wr_type(v));
}

static int
unknown_key(struct wr *c, const char *name, const struct wr_key *keys, const char *what)
{
	char shown[64];
	const struct wr_key *k;
	struct nearest n;
	size_t mark, at = 0;
	int r, w;

	escape_text(name, strlen(name), shown, sizeof(shown));
	mark = wr_enter(c, name);
	r = wr_fail_key(c, -EPROTO, "unknown key \"%s\" in %s", shown, what);
	wr_leave(c, mark);
	nearest_init(&n, name);
	for (k = keys; k->name; k++)
		nearest_offer(&n, k->name);
	if (n.best) {
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
		return r;
	}
	at = (size_t)snprintf(c->d->fix, sizeof(c->d->fix), "keys here:");
	for (k = keys; k->name && at < sizeof(c->d->fix); k++) {
		if (k->flags & WR_LATER)
			continue;
		w = snprintf(c->d->fix + at, sizeof(c->d->fix) - at, " %s", k->name);
		at += w > 0 ? (size_t)w : 0;
	}
	return r;
}

static int
read_member(struct wr *c, const struct cJSON *v, const struct wr_key *keys, const char *what, void *arg)
{
	char text[96];
	const struct wr_key *k;
	size_t mark;
	int r = 0;

	for (k = keys; k->name; k++)
		if (strcmp(k->name, v->string) == 0)
			break;
	if (!k->name)
		return unknown_key(c, v->string, keys, what);
	mark = wr_enter(c, v->string);
	if (k->flags & WR_LATER) {
		(void)snprintf(text, sizeof(text), "key \"%s\" of %s", k->name, what);
		r = wr_fail_later(c, text);
	} else if (k->read) {
		r = k->read(c, v, arg);
	}
	wr_leave(c, mark);
	return r;
}

int
wr_object(struct wr *c, const struct cJSON *v, const struct wr_key *keys, const char *what, void *arg)
{
	const struct wr_key *k;
	const struct cJSON *m;
	int r;

	if (!cJSON_IsObject(v)) {
		r = wrong_type(c, v, "an object");
		diag_fix(c->d, "write %s as { ... }", what);
		return r;
	}
	for (m = v->child; m; m = m->next) {
		r = read_member(c, m, keys, what, arg);
		if (r < 0)
			return r;
	}
	for (k = keys; k->name; k++) {
		if (!(k->flags & WR_REQUIRED) || cJSON_GetObjectItemCaseSensitive(v, k->name))
			continue;
		r = wr_fail(c, -EPROTO, "%s has no \"%s\"", what, k->name);
		diag_fix(c->d, "add %s", k->fix ? k->fix : k->name);
		return r;
	}
	return 0;
}

int
wr_array(struct wr *c, const struct cJSON *v, size_t min, size_t max, const char *what, wr_read_fn *each, void *arg)
{
	const struct cJSON *m;
	size_t mark, i = 0;
	int r;

	if (!cJSON_IsArray(v)) {
		r = wrong_type(c, v, "an array");
		diag_fix(c->d, "write [ ... ] around it");
		return r;
	}
	for (m = v->child; m; m = m->next, i++) {
		mark = wr_enter_index(c, i);
		if (i >= max) {
			r = wr_fail(c, -EPROTO, "more than %zu %s", max, what);
			diag_fix(c->d, "shorten the array to %zu", max);
		} else {
			r = each(c, m, arg);
		}
		wr_leave(c, mark);
		if (r < 0)
			return r;
	}
	if (i < min) {
		r = wr_fail(c, -EPROTO, "the array is too short: %zu %s", i, what);
		diag_fix(c->d, "write at least %zu", min);
		return r;
	}
	return 0;
}

int
wr_string(struct wr *c, const struct cJSON *v, size_t min, size_t max, const char **out)
{
	size_t len;
	int r;

	if (!cJSON_IsString(v)) {
		r = wrong_type(c, v, "a string");
		if (cJSON_IsNumber(v) || cJSON_IsBool(v))
			diag_fix(c->d, "put it in double quotes");
		else if (cJSON_IsNull(v))
			diag_fix(c->d, "write a text in double quotes, or take the key out");
		else
			diag_fix(c->d, "write one text in double quotes");
		return r;
	}
	len = strlen(v->valuestring);
	if (len < min) {
		r = wr_fail(c, -EPROTO, len ? "the string is shorter than %zu bytes" : "the string is empty", min);
		diag_fix(c->d, "write something here or take the key out");
		return r;
	}
	if (len > max) {
		r = wr_fail(c, -EPROTO, "the string has %zu bytes; at most %zu are allowed here", len, max);
		diag_fix(c->d, "shorten it");
		return r;
	}
	*out = v->valuestring;
	return 0;
}

int
wr_integer(struct wr *c, const struct cJSON *v, uint64_t min, uint64_t max, uint64_t *out)
{
	double n;
	int r;

	if (!cJSON_IsNumber(v)) {
		r = wrong_type(c, v, "a number");
		if (cJSON_IsString(v) && v->valuestring[0] && !v->valuestring[strspn(v->valuestring, "0123456789")])
			diag_fix(c->d, "write the number without quotes");
		else
			diag_fix(c->d, "write a whole number from %" PRIu64 " to %" PRIu64 ", without quotes", min,
				 max);
		return r;
	}
	n = v->valuedouble;
	if (!(n >= 0 && n <= NUMBER_EXACT_MAX) || n < (double)min || n > (double)max || (double)(uint64_t)n < n) {
		r = wr_fail(c, -EPROTO, "%.17g is not a whole number from %" PRIu64 " to %" PRIu64, n, min, max);
		diag_fix(c->d, "write a whole number from %" PRIu64 " to %" PRIu64, min, max);
		return r;
	}
	*out = (uint64_t)n;
	return 0;
}

int
wr_bool(struct wr *c, const struct cJSON *v, bool *out)
{
	int r;

	if (!cJSON_IsBool(v)) {
		r = wrong_type(c, v, "true or false");
		diag_fix(c->d, "write true or false, without quotes");
		return r;
	}
	*out = cJSON_IsTrue(v);
	return 0;
}

static void
fix_words(struct diag *d, const char *const *words)
{
	size_t i, at = (size_t)snprintf(d->fix, sizeof(d->fix), "write one of:");
	int w;

	for (i = 0; words[i] && at < sizeof(d->fix); i++) {
		w = snprintf(d->fix + at, sizeof(d->fix) - at, " \"%s\"", words[i]);
		at += w > 0 ? (size_t)w : 0;
	}
}

int
wr_word(struct wr *c, const struct cJSON *v, const char *const *words, size_t *out)
{
	char shown[64];
	struct nearest n;
	size_t i;
	int r;

	if (!cJSON_IsString(v)) {
		r = wrong_type(c, v, "a string");
		fix_words(c->d, words);
		return r;
	}
	nearest_init(&n, v->valuestring);
	for (i = 0; words[i]; i++) {
		if (strcmp(words[i], v->valuestring) == 0) {
			*out = i;
			return 0;
		}
		nearest_offer(&n, words[i]);
	}
	escape_text(v->valuestring, strlen(v->valuestring), shown, sizeof(shown));
	r = wr_fail(c, -EPROTO, "\"%s\" is not one of the words known here", shown);
	if (n.best) {
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
		return r;
	}
	fix_words(c->d, words);
	return r;
}

int
wr_read_text(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *text;

	(void)arg;
	return wr_string(c, v, 0, TEXT_MAX, &text);
}

bool
is_identifier(const char *s, bool dash)
{
	size_t i;

	for (i = 0; s[i]; i++) {
		if (i >= 64)
			return false;
		if ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_')
			continue;
		if (i > 0 && ((s[i] >= '0' && s[i] <= '9') || (dash && s[i] == '-')))
			continue;
		return false;
	}
	return i > 0;
}

int
wr_method(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, methods, &which);
}
