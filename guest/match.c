/* SPDX-License-Identifier: GPL-2.0-or-later
 * match.c - values that a route wants, compared with those that came.  Linear in both: an expression is one pass over a
 * text, a subset looks at each member that is wanted once. */
#include "guest/match.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guest/request.h"
#include "guest/service.h"
#include "proto/number.h"
#include "proto/regex.h"

enum matcher_kind {
	MATCH_PRESENT,
	MATCH_VALUE,
	MATCH_EXACT,
	MATCH_REGEX,
	MATCH_NOT,
	MATCH_CONTAINS,
	MATCH_LIST,
	MATCH_SUBSET
};
struct matcher {
	enum matcher_kind kind;
	bool is_text;             /* of a query, header or form: all values are texts, repeated ones an array of them */
	const char *text;         /* of VALUE where is_text, and of REGEX: as the world has it */
	const struct cJSON *json; /* of VALUE, EXACT, SUBSET: names */
	struct regex regex;
	size_t len;
	const struct matcher *const *items; /* of NOT and CONTAINS one, of LIST and SUBSET len */
};

/* ---- reading ----------------------------------------------------------------------------------------------------------- */

static int read_matcher(struct reading *g, const struct cJSON *json, bool text, const struct matcher **out);

static int
read_regex(struct reading *g, const struct cJSON *json, struct matcher *m)
{
	static struct regex_build build; /* worlds are read one at a time */
	struct regex_inst *inst;
	struct regex_range *ranges;
	int r;

	if (!cJSON_IsString(json))
		return reading_fail(g, -EPROTO, "matches is an extended regular expression");
	r = regex_compile(&build, json->valuestring, strlen(json->valuestring));
	if (r < 0)
		return reading_fail(g, r, "%s, at byte %zu", build.problem, build.at + 1);
	inst = arena_alloc(&g->world->arena, build.len * sizeof(*inst));
	ranges = arena_alloc(&g->world->arena, (build.ranges_len + 1) * sizeof(*ranges));
	if (inst == NULL || ranges == NULL)
		return -ENOMEM;
	memcpy(inst, build.inst, build.len * sizeof(*inst));
	memcpy(ranges, build.ranges, build.ranges_len * sizeof(*ranges));
	m->kind = MATCH_REGEX;
	m->text = json->valuestring;
	m->regex = (struct regex){ .len = build.len, .inst = inst, .ranges = ranges };
	return 0;
}

/* The children of json, each a matcher. */
static int
read_items(struct reading *g, const struct cJSON *json, bool text, struct matcher *m)
{
	size_t n = (size_t)cJSON_GetArraySize(json), i = 0;
	const struct matcher **items = arena_alloc(&g->world->arena, (n + 1) * sizeof(void *));
	int r = 0;

	if (items == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = json->child; c != NULL && r == 0; c = c->next)
		r = read_matcher(g, c, text, &items[i++]);
	m->json = json;
	m->items = items;
	m->len = n;
	return r;
}

/* An object with one member that is a word of its own: 1, or 0 when it is none, or a failure. */
static int
read_operator(struct reading *g, const struct cJSON *json, bool text, struct matcher *m)
{
	const struct cJSON *only = json->child;
	const struct matcher **item;
	bool negated, contains;

	if (only == NULL || only->next != NULL)
		return 0;
	if (strcmp(only->string, "matches") == 0) {
		int r = read_regex(g, only, m);

		return r < 0 ? r : 1;
	}
	if (!text && strcmp(only->string, "equals") == 0) {
		m->kind = MATCH_EXACT;
		m->json = only;
		return 1;
	}
	negated = strcmp(only->string, "not") == 0;
	contains = !text && strcmp(only->string, "contains") == 0;
	if (!negated && !contains)
		return 0;
	item = arena_alloc(&g->world->arena, sizeof(*item));
	if (item == NULL)
		return -ENOMEM;
	m->kind = negated ? MATCH_NOT : MATCH_CONTAINS;
	m->items = item;
	m->len = 1;
	return read_matcher(g, only, text, item) < 0 ? -EPROTO : 1;
}

/* What a number or truth value looks like in a query. */
static int
read_text(struct reading *g, const struct cJSON *json, struct matcher *m)
{
	char text[NUMBER_TEXT_SIZE + 1] = "";

	m->kind = MATCH_VALUE;
	m->json = json;
	if (cJSON_IsString(json)) {
		m->text = json->valuestring;
		return 0;
	}
	if (cJSON_IsNumber(json))
		text[number_text(json->valuedouble, text)] = '\0';
	else if (cJSON_IsBool(json))
		snprintf(text, sizeof(text), "%s", cJSON_IsTrue(json) ? "true" : "false");
	else
		return reading_fail(g, -EPROTO, "a text, number, true or false is wanted here, or matches or not");
	m->text = arena_copy(&g->world->arena, text, strlen(text));
	return m->text == NULL ? -ENOMEM : 0;
}

static int
read_matcher(struct reading *g, const struct cJSON *json, bool text, const struct matcher **out)
{
	struct matcher *m = arena_alloc(&g->world->arena, sizeof(*m));
	int r;

	if (m == NULL)
		return -ENOMEM;
	*out = m;
	m->is_text = text;
	if (cJSON_IsString(json) && strcmp(json->valuestring, "*") == 0) {
		m->kind = MATCH_PRESENT;
		return 0;
	}
	if (cJSON_IsArray(json)) {
		m->kind = MATCH_LIST;
		return read_items(g, json, text, m);
	}
	if (cJSON_IsObject(json)) {
		if ((r = read_operator(g, json, text, m)) != 0)
			return r < 0 ? r : 0;
		if (text)
			return reading_fail(g, -EPROTO, "an object here is { \"matches\": ... } or { \"not\": ... }");
		m->kind = MATCH_SUBSET;
		return read_items(g, json, text, m);
	}
	if (text)
		return read_text(g, json, m);
	m->kind = MATCH_VALUE;
	m->json = json;
	return 0;
}

static uint32_t
hash_add(uint32_t h, const char *s)
{
	do
		h = (h ^ (unsigned char)*s) * 16777619u; /* with the NUL, so that two texts do not run into one */
	while (*s++ != '\0');
	return h;
}

/* Of a field that is there, and of one that has this text; never 0. */
static uint32_t
hash_of(enum condition_of of, const char *name, const char *text)
{
	uint32_t h = hash_add((2166136261u ^ (uint32_t)of) * 16777619u, name);

	if (text != NULL)
		h = hash_add(h ^ 1u, text);
	h ^= h >> 15;
	h *= 2654435761u;
	h ^= h >> 13;
	return h == 0 ? 1 : h;
}

/* The text of a scalar that two equal ones have in common, or NULL. */
static const char *
scalar_text(const struct cJSON *json, char out[static NUMBER_TEXT_SIZE + 1])
{
	if (cJSON_IsString(json))
		return json->valuestring;
	if (!cJSON_IsNumber(json))
		return NULL;
	out[number_text(json->valuedouble, out)] = '\0';
	return out;
}

static uint32_t
need_of(const struct condition *c)
{
	char text[NUMBER_TEXT_SIZE + 1];
	const struct matcher *m = c->matcher;

	if (c->name == NULL || m->kind == MATCH_NOT || m->kind == MATCH_EXACT)
		return 0;
	if (m->kind != MATCH_VALUE)
		return hash_of(c->of, c->name, NULL);
	return hash_of(c->of, c->name, m->is_text ? m->text : scalar_text(m->json, text));
}

/* Each member of object becomes a condition. */
static int
read_fields(struct reading *g, const struct cJSON *object, enum condition_of of, struct condition *out, size_t *len)
{
	size_t at = g->pointer.len;
	int r = 0;

	if (!cJSON_IsObject(object))
		return reading_fail(g, -EPROTO, "an object of names and values is wanted here");
	for (const struct cJSON *c = object->child; c != NULL && r == 0; c = c->next) {
		struct condition *made = &out[*len];
		char *name = arena_copy(&g->world->arena, c->string, strlen(c->string));

		if (name == NULL)
			return -ENOMEM;
		for (char *p = name; of == CONDITION_HEADER && *p != '\0'; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p | 0x20);
		buf_text(&g->pointer, "/");
		buf_text(&g->pointer, c->string);
		*made = (struct condition){ .of = of, .name = name };
		r = read_matcher(g, c, of != CONDITION_BODY, &made->matcher);
		if (r == 0) {
			made->need = need_of(made);
			++*len;
			g->pointer.len = at;
		}
	}
	return r;
}

/* An object is its members one by one, so that a difference can be named; any other value is one condition. */
static int
read_json(struct reading *g, const struct cJSON *json, struct condition *out, size_t *len)
{
	const struct matcher *m;
	int r = read_matcher(g, json, false, &m);

	if (r < 0)
		return r;
	if (m->kind == MATCH_SUBSET && m->len > 0)
		return read_fields(g, json, CONDITION_BODY, out, len);
	out[(*len)++] = (struct condition){ .of = CONDITION_BODY, .matcher = m };
	return 0;
}

/* see match.h */
int
conditions_read(struct reading *g, const struct cJSON *match, const struct condition **out, size_t *len)
{
	static const struct {
		const char *key;
		enum condition_of of;
	} parts[] = { { "query", CONDITION_QUERY }, { "headers", CONDITION_HEADER } };
	size_t at = g->pointer.len, n = 1;
	const struct cJSON *body = cJSON_GetObjectItemCaseSensitive(match, "body");
	const struct cJSON *json = cJSON_GetObjectItemCaseSensitive(body, "json");
	const struct cJSON *form = cJSON_GetObjectItemCaseSensitive(body, "form"), *part;
	struct condition *c;
	int r = 0;

	for (size_t i = 0; i < 2; i++)
		n += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(match, parts[i].key));
	n += (size_t)cJSON_GetArraySize(json) + (size_t)cJSON_GetArraySize(form);
	c = arena_alloc(&g->world->arena, n * sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	*len = 0;
	*out = c;
	for (size_t i = 0; i < 2 && r == 0; i++) {
		part = reading_enter(g, match, parts[i].key);
		if (part != NULL)
			r = read_fields(g, part, parts[i].of, c, len);
		g->pointer.len = r == 0 ? at : g->pointer.len;
	}
	if (body == NULL || r < 0)
		return r;
	reading_enter(g, match, "body");
	if ((r = reading_check_keys(g, body, "json form")) < 0)
		return r;
	if ((json == NULL) == (form == NULL))
		return reading_fail(g, -EPROTO, "body is { \"json\": ... } or { \"form\": ... }");
	reading_enter(g, body, json != NULL ? "json" : "form");
	r = json != NULL ? read_json(g, json, c, len) : read_fields(g, form, CONDITION_FORM, c, len);
	g->pointer.len = r == 0 ? at : g->pointer.len;
	return r;
}

/* ---- matching ---------------------------------------------------------------------------------------------------------- */

static bool fits(const struct matcher *m, const struct cJSON *value);

static bool
is_same(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *c, *d;

	if ((a->type & 0xff) != (b->type & 0xff))
		return false;
	switch (a->type & 0xff) {
	case cJSON_Number:
		return number_is_equal(a->valuedouble, b->valuedouble);
	case cJSON_String:
		return strcmp(a->valuestring, b->valuestring) == 0;
	case cJSON_Array:
		for (c = a->child, d = b->child; c != NULL && d != NULL; c = c->next, d = d->next)
			if (!is_same(c, d))
				return false;
		return c == NULL && d == NULL;
	case cJSON_Object:
		if (cJSON_GetArraySize(a) != cJSON_GetArraySize(b))
			return false;
		for (c = a->child; c != NULL; c = c->next) {
			d = cJSON_GetObjectItemCaseSensitive(b, c->string);
			if (d == NULL || !is_same(c, d))
				return false;
		}
		return true;
	default:
		return true; /* true, false and null are types */
	}
}

/* All items in their order. */
static bool
fits_list(const struct matcher *m, const struct cJSON *value)
{
	const struct cJSON *v = value->child;

	for (size_t i = 0; i < m->len; i++, v = v->next)
		if (v == NULL || !fits(m->items[i], v))
			return false;
	return v == NULL;
}

static bool
fits_subset(const struct matcher *m, const struct cJSON *value)
{
	const struct cJSON *name = m->json->child;

	for (size_t i = 0; i < m->len; i++, name = name->next)
		if (!fits(m->items[i], cJSON_GetObjectItemCaseSensitive(value, name->string)))
			return false;
	return true;
}

static bool
fits_any(const struct matcher *m, const struct cJSON *array)
{
	for (const struct cJSON *v = array->child; v != NULL; v = v->next)
		if (fits(m, v))
			return true;
	return false;
}

/* value NULL: it is not there. */
static bool
fits(const struct matcher *m, const struct cJSON *value)
{
	if (m->kind == MATCH_NOT)
		return !fits(m->items[0], value);
	if (value == NULL)
		return false;
	if (m->is_text && cJSON_IsArray(value) && m->kind != MATCH_LIST)
		return fits_any(m, value); /* a field that is repeated */
	switch (m->kind) {
	case MATCH_PRESENT:
		return true;
	case MATCH_VALUE:
		return m->is_text ? strcmp(m->text, value->valuestring) == 0 : is_same(m->json, value);
	case MATCH_EXACT:
		return is_same(m->json, value);
	case MATCH_REGEX:
		return cJSON_IsString(value) &&
		       regex_matches(&m->regex, value->valuestring, strlen(value->valuestring));
	case MATCH_CONTAINS:
		return cJSON_IsArray(value) && fits_any(m->items[0], value);
	case MATCH_LIST:
		if (m->is_text && !cJSON_IsArray(value))
			return m->len == 1 && fits(m->items[0], value);
		return cJSON_IsArray(value) && fits_list(m, value);
	case MATCH_SUBSET:
		return cJSON_IsObject(value) && fits_subset(m, value);
	case MATCH_NOT:
		break;
	}
	return false;
}

static const char *const parts[] = { [CONDITION_QUERY] = "query",
				     [CONDITION_HEADER] = "headers",
				     [CONDITION_FORM] = "form",
				     [CONDITION_BODY] = "body" };

static bool
holds(const struct condition *c, const struct request *q)
{
	const struct cJSON *part = request_member(q, parts[c->of]);

	if (c->name == NULL)
		return fits(c->matcher, part);
	if (c->of == CONDITION_FORM && !q->form_type)
		return false; /* not even that a field is missing can be said of another body */
	if (c->of == CONDITION_BODY && !cJSON_IsObject(part))
		return false;
	return fits(c->matcher, cJSON_GetObjectItemCaseSensitive(part, c->name));
}

static void
digest_add(struct digest *d, uint32_t h)
{
	d->bits[h / 64 % DIGEST_WORDS] |= (uint64_t)1 << h % 64;
}

static void
digest_fill(struct digest *d, const struct request *q)
{
	char text[NUMBER_TEXT_SIZE + 1];

	memset(d->bits, 0, sizeof(d->bits));
	for (int of = CONDITION_QUERY; of <= CONDITION_BODY; of++) {
		const struct cJSON *part = request_member(q, parts[of]);

		if (!cJSON_IsObject(part))
			continue;
		for (const struct cJSON *c = part->child; c != NULL; c = c->next) {
			const struct cJSON *v = of != CONDITION_BODY && cJSON_IsArray(c) ? c->child : c;

			digest_add(d, hash_of((enum condition_of)of, c->string, NULL));
			for (; v != NULL; v = v == c ? NULL : v->next) {
				const char *t = scalar_text(v, text);

				if (t != NULL)
					digest_add(d, hash_of((enum condition_of)of, c->string, t));
			}
		}
	}
	d->filled = true;
}

static size_t
first_not_held(const struct condition *c, size_t len, const struct request *q)
{
	size_t i = 0;

	while (i < len && holds(&c[i], q))
		i++;
	return i;
}

/* see match.h */
bool
conditions_hold(const struct condition *c, size_t len, const struct request *q, struct digest *d)
{
	if (len > 0 && !d->filled)
		digest_fill(d, q);
	for (size_t i = 0; i < len; i++)
		if (c[i].need != 0 && (d->bits[c[i].need / 64 % DIGEST_WORDS] >> c[i].need % 64 & 1) == 0)
			return false;
	return first_not_held(c, len, q) == len;
}

/* see match.h */
size_t
conditions_held(const struct condition *c, size_t len, const struct request *q)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += holds(&c[i], q);
	return n;
}

/* ---- describing -------------------------------------------------------------------------------------------------------- */

static void
describe_wanted(const struct matcher *m, bool negated, char *out, size_t size)
{
	const char *no = negated ? "not " : "";
	struct buf text;

	switch (m->kind) {
	case MATCH_PRESENT:
		snprintf(out, size, negated ? "that it is absent" : "any value");
		return;
	case MATCH_NOT:
		describe_wanted(m->items[0], !negated, out, size);
		return;
	case MATCH_REGEX:
		snprintf(out, size, "%swhat matches %.80s", no, m->text);
		return;
	case MATCH_CONTAINS:
		snprintf(out, size, "%san array that contains a certain item", no);
		return;
	case MATCH_VALUE:
	case MATCH_EXACT:
	case MATCH_LIST:
	case MATCH_SUBSET:
		break;
	}
	buf_init(&text, 65536);
	buf_json(&text, m->json);
	snprintf(out, size, "%s%.*s", no, (int)(text.len < 80 ? text.len : 80), text.at == NULL ? "" : text.at);
	buf_wipe(&text);
}

/* see match.h */
void
conditions_describe(const struct condition *c, size_t len, const struct request *q, char *out, size_t size)
{
	static const char *const words[] = { [CONDITION_QUERY] = "the query's field",
					     [CONDITION_HEADER] = "the header",
					     [CONDITION_FORM] = "the form's field",
					     [CONDITION_BODY] = "the body's member" };
	size_t i = first_not_held(c, len, q);
	const struct cJSON *part;
	char wanted[128];

	if (i == len)
		return;
	c += i;
	part = request_member(q, parts[c->of]);
	describe_wanted(c->matcher, false, wanted, sizeof(wanted));
	if (c->of == CONDITION_FORM && !q->form_type)
		snprintf(out, size, "the body is no form, the route wants one with '%.60s'", c->name);
	else if (c->of == CONDITION_BODY && part == NULL)
		snprintf(out, size, "there is no JSON body, the route wants one");
	else if (c->name == NULL)
		snprintf(out, size, "the body differs, the route wants %s", wanted);
	else
		snprintf(out, size, "%s '%.60s' %s, the route wants %s", words[c->of], c->name,
			 cJSON_GetObjectItemCaseSensitive(part, c->name) == NULL ? "is missing" : "differs", wanted);
}
