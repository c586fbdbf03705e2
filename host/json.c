/* SPDX-License-Identifier: GPL-2.0-or-later
 * json.c - see json.h. */
#include "host/json.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/cursor.h"
#include "proto/limits.h"
#include "proto/number.h"

/* 1e999 is JSON, but compares and adds up in ways nobody means. */
static bool
is_finite(const cJSON *v)
{
	for (; v; v = v->next)
		if ((cJSON_IsNumber(v) && !(v->valuedouble - v->valuedouble >= 0)) || !is_finite(v->child))
			return false;
	return true;
}

struct cJSON *
json_parse(const char *text, size_t len, uint32_t depth_max, struct json_scan *s)
{
	cJSON *doc;

	if (json_scan(text, len, depth_max, s) < 0)
		return NULL;
	doc = cJSON_ParseWithLength(text, len);
	s->problem = doc ? NULL : "cannot be parsed";
	if (doc && !is_finite(doc)) {
		s->problem = "a number that is too large";
		cJSON_Delete(doc);
		doc = NULL;
	}
	return doc;
}

struct cJSON *
json_take(const char *text, size_t len, size_t max, char why[static 160])
{
	struct json_scan s = { 0 };
	cJSON *doc;

	if (len > max) {
		snprintf(why, 160, "%zu bytes, more than %zu", len, max);
		return NULL;
	}
	doc = json_parse(text, len, JSON_DEPTH_MAX, &s);
	if (!doc && s.line)
		snprintf(why, 160, "byte %zu: %s", s.offset, s.problem);
	else if (!doc)
		snprintf(why, 160, "%s", s.problem);
	return doc;
}

const struct cJSON *
json_get(const struct cJSON *o, const char *name)
{
	return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, name) : NULL;
}

const char *
json_get_text(const struct cJSON *o, const char *name)
{
	const cJSON *v = json_get(o, name);

	return cJSON_IsString(v) ? v->valuestring : NULL;
}

bool
json_get_true(const struct cJSON *o, const char *name)
{
	return cJSON_IsTrue(json_get(o, name));
}

bool
json_as_u64(const struct cJSON *v, uint64_t max, uint64_t *out)
{
	double d;

	if (!cJSON_IsNumber(v))
		return false;
	d = v->valuedouble;
	if (!(d >= 0) || d > 9007199254740992.0 || d > (double)max)
		return false;
	*out = (uint64_t)d;
	return !((double)*out < d) && !((double)*out > d);
}

bool
json_get_u64(const struct cJSON *o, const char *name, uint64_t max, uint64_t *out)
{
	return json_as_u64(json_get(o, name), max, out);
}

static bool
token(const char **at, char *out, size_t size)
{
	size_t n = 0;
	const char *p = *at + 1;

	for (; *p && *p != '/'; p++) {
		char c = *p;

		if (c == '~' && (p[1] == '0' || p[1] == '1')) {
			c = p[1] == '0' ? '~' : '/';
			p++;
		}
		if (n + 1 == size)
			return false; /* no name is that long; a shorter one is not meant */
		out[n++] = c;
	}
	out[n] = '\0';
	*at = p;
	return true;
}

static const struct cJSON *
row(const struct cJSON *rows, const char *name, bool ids)
{
	const cJSON *r;
	uint64_t index = 0;
	size_t i;

	if (ids) {
		cJSON_ArrayForEach(r, rows)
		{
			const cJSON *id = json_get(r, "id");
			char text[32];

			if (cJSON_IsString(id) && strcmp(id->valuestring, name) == 0)
				return r;
			if (json_as_u64(id, UINT64_MAX, &index)) {
				snprintf(text, sizeof(text), "%llu", (unsigned long long)index);
				if (strcmp(text, name) == 0)
					return r;
			}
		}
		return NULL;
	}
	if (!*name || strlen(name) > 9 || (name[0] == '0' && name[1]))
		return NULL;
	for (index = 0, i = 0; name[i]; i++) {
		if (name[i] < '0' || name[i] > '9')
			return NULL;
		index = index * 10 + (uint64_t)(name[i] - '0');
	}
	return cJSON_GetArrayItem(rows, (int)index);
}

const struct cJSON *
json_at(const struct cJSON *root, const char *pointer, bool ids)
{
	const struct cJSON *v = root;
	const char *at = pointer;
	char name[512];
	int depth = 0;

	if (*at && *at != '/')
		return NULL;
	while (v && *at == '/') {
		if (!token(&at, name, sizeof(name)))
			return NULL;
		/* /COLLECTION/ID: only the array directly beneath a collection is rows with ids. */
		if (cJSON_IsArray(v))
			v = row(v, name, ids && depth == 1);
		else
			v = json_get(v, name);
		depth++;
	}
	return v;
}

const char *
json_sum(const cJSON *rows, const char *field, double *out)
{
	const cJSON *v, *n;
	bool found = false;

	*out = 0;
	if (!cJSON_IsArray(rows) && !cJSON_IsObject(rows))
		return "neither a list nor an object: no sum";
	cJSON_ArrayForEach(v, rows)
	{
		n = field[0] == '/' ? json_at(v, field, false) : json_get(v, field);
		if (n && !cJSON_IsNumber(n))
			return "values that are not numbers: no sum";
		found = found || n;
		*out += n ? n->valuedouble : 0;
		if (!(fabs(*out) <= NUMBER_EXACT_MAX))
			return "too large to be exact: no sum"; /* a wrong sum could look right */
	}
	return !rows->child || found ? NULL : "no row has that field: no sum";
}

size_t
json_minify(char *text, size_t len)
{
	size_t i, n = 0;
	bool string = false;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (string && c == '\\' && i + 1 < len) {
			text[n++] = c;
			c = text[++i];
		} else if (c == '"') {
			string = !string;
		} else if (!string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
			continue;
		}
		text[n++] = c;
	}
	return n;
}

bool
json_is_sha256(const char *s)
{
	return s && strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}
