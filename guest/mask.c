/* SPDX-License-Identifier: GPL-2.0-or-later
 * mask.c - a list of byte strings to look for, made once. */
#include "guest/mask.h"

#include <cJSON.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SECRET_MIN 4u
#define FORMS_PER_SECRET 11u

struct mask_form {
	const char *text;
	size_t len;
	const char *name; /* "{{secret.NAME}}" */
	size_t hit;       /* while masking: where it stands next */
};

static int
add_form(struct mask *m, const char *text, size_t len, const char *name, struct arena *arena)
{
	const char *copy;

	if (len < SECRET_MIN)
		return 0;
	for (size_t i = 0; i < m->forms_len; i++)
		if (m->forms[i].len == len && memcmp(m->forms[i].text, text, len) == 0)
			return 0;
	copy = arena_copy(arena, text, len);
	if (copy == NULL)
		return -ENOMEM;
	m->forms[m->forms_len++] = (struct mask_form){ .text = copy, .len = len, .name = name };
	return 0;
}

/* The characters that base64 gives a value standing `offset` bytes after a multiple of three, as far as the value alone
 * determines them. */
static void
base64_form(const char *value, size_t len, size_t offset, bool url, struct buf *out)
{
	const char *const alphabet = url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
					 : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t first = (8 * offset + 5) / 6, end = 8 * (offset + len) / 6;

	for (size_t i = first; i < end; i++) {
		unsigned v = 0;

		for (size_t bit = 6 * i; bit < 6 * i + 6; bit++)
			v = v << 1 | (((unsigned)(unsigned char)value[bit / 8 - offset] >> (7 - bit % 8)) & 1);
		buf_add(out, &alphabet[v], 1);
	}
}

static void
percent_form(const char *value, size_t len, bool upper, bool form, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		char c = value[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c != '\0' && strchr("-_.~", c)))
			buf_add(out, &c, 1);
		else if (c == ' ' && form)
			buf_text(out, "+");
		else
			buf_format(out, upper ? "%%%02X" : "%%%02x", (unsigned)(unsigned char)c);
	}
}

static int
add_forms(struct mask *m, const char *value, const char *name, struct arena *arena)
{
	size_t len = strlen(value);
	struct buf form;
	int r;

	buf_init(&form, 64u << 10);
	r = add_form(m, value, len, name, arena);
	for (size_t i = 0; i < FORMS_PER_SECRET - 1 && r == 0 && len >= SECRET_MIN; i++) {
		form.len = 0;
		if (i < 6) {
			base64_form(value, len, i % 3, i >= 3, &form);
		} else if (i < 9) {
			percent_form(value, len, i != 7, i == 8, &form);
		} else {
			buf_json_string(&form, value, len);
			if (form.len >= 2) {
				form.len--; /* without its quotes */
				buf_cut(&form, 1);
			}
		}
		r = form.failed ? -ENOMEM : add_form(m, form.at, form.len, name, arena);
	}
	buf_wipe(&form);
	return r;
}

/* see mask.h */
int
mask_init(struct mask *m, const struct cJSON *secrets, struct arena *arena)
{
	size_t n = secrets == NULL ? 0 : (size_t)cJSON_GetArraySize(secrets);

	*m = (struct mask){ 0 };
	if (n == 0)
		return 0;
	m->forms = arena_alloc(arena, n * FORMS_PER_SECRET * sizeof(*m->forms));
	if (m->forms == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = secrets->child; c != NULL; c = c->next) {
		char *name = arena_alloc(arena, strlen(c->string) + 16);
		int r;

		if (!cJSON_IsString(c))
			return -EPROTO;
		if (name == NULL)
			return -ENOMEM;
		sprintf(name, "{{secret.%s}}", c->string);
		if ((r = add_forms(m, c->valuestring, name, arena)) < 0)
			return r;
	}
	return 0;
}

/* The next place from `at` on where the form stands; len if there is none. */
static size_t
next_hit(const struct mask_form *f, const char *data, size_t len, size_t at)
{
	const char *hit = len - at < f->len ? NULL : memmem(data + at, len - at, f->text, f->len);

	return hit == NULL ? len : (size_t)(hit - data);
}

/* see mask.h.  Each form keeps its next hit and looks again only when that is passed, so that each walks over the data
 * once, however many hits there are. */
bool
mask_add(struct mask *m, const char *data, size_t len, struct buf *out)
{
	size_t at = 0;
	bool any = false;

	for (size_t i = 0; i < m->forms_len; i++)
		m->forms[i].hit = next_hit(&m->forms[i], data, len, 0);
	for (;;) {
		const struct mask_form *best = NULL;

		for (size_t i = 0; i < m->forms_len; i++) {
			struct mask_form *f = &m->forms[i];

			if (f->hit < at)
				f->hit = next_hit(f, data, len, at);
			if (f->hit < len &&
			    (best == NULL || f->hit < best->hit || (f->hit == best->hit && f->len > best->len)))
				best = f;
		}
		if (best == NULL)
			break;
		buf_add(out, data + at, best->hit - at);
		buf_text(out, best->name);
		at = best->hit + best->len;
		any = true;
	}
	if (at < len)
		buf_add(out, data + at, len - at);
	return any;
}

/* see mask.h */
bool
mask_is_in(const struct mask *m, const char *data, size_t len)
{
	for (size_t i = 0; i < m->forms_len; i++)
		if (next_hit(&m->forms[i], data, len, 0) < len)
			return true;
	return false;
}

/* see mask.h */
void
mask_add_name(const struct mask *m, const char *data, size_t len, struct buf *out)
{
	for (size_t at = 0; at < len;) {
		const struct mask_form *best = NULL;

		for (size_t i = 0; i < m->forms_len; i++) {
			const struct mask_form *f = &m->forms[i];

			if (f->len <= len - at && (best == NULL || f->len > best->len) &&
			    strncasecmp(f->text, data + at, f->len) == 0)
				best = f;
		}
		if (best != NULL)
			buf_text(out, best->name);
		else
			buf_add(out, data + at, 1);
		at += best != NULL ? best->len : 1;
	}
}

static int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* see mask.h */
int
base64_decode(const char *s, size_t len, char *out, size_t size)
{
	uint32_t bits = 0;
	size_t have = 0, n = 0;

	while (len > 0 && s[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		int v = base64_value(s[i]);

		if (v < 0)
			return -EPROTO;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8) {
			if (n == size)
				return -EPROTO;
			have -= 8;
			out[n++] = (char)(bits >> have & 0xff);
		}
	}
	return (int)n;
}
