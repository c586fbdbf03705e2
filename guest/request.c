/* SPDX-License-Identifier: GPL-2.0-or-later
 * request.c - targets, queries, forms and bodies, all of them chosen by the workflow. */
#include "guest/request.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/cursor.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#define REQUEST_ARENA_MAX (64u << 20)
#define HEADERS_FIRST 16u
#define BODY_DEPTH_MAX (JSON_DEPTH_MAX - 8u) /* a row may be made of it, which stands some levels deep in a document */

/* see request.h */
void
request_init(struct request *q)
{
	*q = (struct request){ 0 };
	arena_init(&q->arena, REQUEST_ARENA_MAX);
}

/* see request.h */
void
request_wipe(struct request *q)
{
	cJSON_Delete(q->body_json);
	arena_wipe(&q->arena);
	*q = (struct request){ 0 };
}

/* ---- the object: nodes in the arena, and texts that lie there already; cJSON only reads it ------------------------------- */

/* At the end of parent, unless that is NULL.  NULL: no memory. */
static struct cJSON *
add_node(struct arena *a, struct cJSON *parent, const char *name, int type, const char *text)
{
	struct cJSON *node = arena_alloc(a, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->type = type;
	memcpy(&node->string, &name, sizeof(name)); /* nobody writes to it */
	memcpy(&node->valuestring, &text, sizeof(text));
	if (parent == NULL)
		return node;
	if (parent->child == NULL) {
		parent->child = node->prev = node; /* the first one's prev is the last one, as cJSON has it */
		return node;
	}
	node->prev = parent->child->prev;
	node->prev->next = node;
	parent->child->prev = node;
	return node;
}

static struct cJSON *
add_object(struct request *q, const char *name)
{
	return add_node(&q->arena, q->json, name, cJSON_Object, NULL);
}

static bool
add_text(struct request *q, struct cJSON *object, const char *name, const char *text)
{
	return add_node(&q->arena, object, name, cJSON_String, text) != NULL;
}

/* see request.h */
void
request_path_clear(struct request *q)
{
	q->path->child = NULL;
}

/* see request.h */
int
request_path_add(struct request *q, const char *name, const char *value)
{
	return add_text(q, q->path, name, value) ? 0 : -ENOMEM;
}

/* ---- headers ----------------------------------------------------------------------------------------------------------- */

static char *
lower_copy(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_copy(a, s, len);

	for (char *c = copy; c != NULL && *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 0x20);
	return copy;
}

/* The name without port and final dot. */
static int
set_host(struct request *q, const char *value, size_t len)
{
	size_t end = len;

	while (end > 0 && value[end - 1] >= '0' && value[end - 1] <= '9')
		end--;
	len = end > 0 && value[end - 1] == ':' ? end - 1 : len;
	if (len > 1 && value[len - 1] == '.')
		len--;
	q->host = lower_copy(&q->arena, value, len);
	return q->host == NULL ? -ENOMEM : 0;
}

static bool
grow_headers(struct request *q)
{
	size_t size = q->headers_size == 0 ? HEADERS_FIRST : 2 * q->headers_size;
	struct request_header *h;

	if (q->headers_len < q->headers_size)
		return true;
	h = arena_alloc(&q->arena, size * sizeof(*h));
	if (h == NULL)
		return false;
	if (q->headers_len > 0)
		memcpy(h, q->headers, q->headers_len * sizeof(*h));
	q->headers = h;
	q->headers_size = size;
	return true;
}

/* see request.h */
int
request_add_header(struct request *q, const char *name, size_t name_len, const char *value, size_t value_len)
{
	const char *lower = lower_copy(&q->arena, name, name_len), *joiner;
	struct request_header *h;
	size_t i = 0, old;
	char *joined;

	while (value_len > 0 && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
		value_len--;
	if (lower == NULL || !grow_headers(q))
		return -ENOMEM;
	h = q->headers;
	while (i < q->headers_len && strcmp(h[i].name, lower) != 0)
		i++;
	if (strcmp(lower, "host") == 0 && i < q->headers_len)
		return -EPROTO;
	if (i == q->headers_len) {
		if (i == HTTP_HEADERS_MAX)
			return -EMSGSIZE;
		h[i] = (struct request_header){ .name = lower, .value = arena_copy(&q->arena, value, value_len) };
		q->headers_len++;
		if (h[i].value == NULL)
			return -ENOMEM;
		return strcmp(lower, "host") == 0 ? set_host(q, value, value_len) : 0;
	}
	joiner = strcmp(lower, "cookie") == 0 ? "; " : ", ";
	old = strlen(h[i].value);
	joined = arena_alloc(&q->arena, old + 2 + value_len + 1);
	if (joined == NULL)
		return -ENOMEM;
	memcpy(joined, h[i].value, old);
	memcpy(joined + old, joiner, 2);
	memcpy(joined + old + 2, value, value_len);
	h[i].value = joined;
	return 0;
}

/* see request.h */
const char *
request_header(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->headers_len; i++)
		if (strcmp(q->headers[i].name, name) == 0)
			return q->headers[i].value;
	return NULL;
}

/* see request.h */
const struct cJSON *
request_member(const struct request *q, const char *name)
{
	return q->json == NULL ? NULL : cJSON_GetObjectItemCaseSensitive(q->json, name);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX, and + where plus.  NULL with *r: -EPROTO malformed, NUL or not UTF-8; -ENOMEM. */
static char *
decode(struct arena *a, const char *s, size_t len, bool plus, int *r)
{
	char *out = arena_alloc(a, len + 1);
	size_t n = 0;

	*r = -ENOMEM;
	if (out == NULL)
		return NULL;
	*r = -EPROTO;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (c == '%') {
			int high = len - i < 3 ? -1 : hex_digit(s[i + 1]), low = len - i < 3 ? -1 : hex_digit(s[i + 2]);

			if (high < 0 || low < 0)
				return NULL;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == '\0')
			return NULL;
		out[n++] = c;
	}
	if (!utf8_is_valid(out, n))
		return NULL;
	*r = 0;
	return out;
}

/* A repeated name becomes an array of its values. */
static int
add_field(struct request *q, struct cJSON *object, const char *name, const char *value)
{
	struct cJSON *old = cJSON_GetObjectItemCaseSensitive(object, name);

	if (old == NULL)
		return add_text(q, object, name, value) ? 0 : -ENOMEM;
	if (!cJSON_IsArray(old)) {
		const char *first = old->valuestring;

		old->type = cJSON_Array;
		old->valuestring = NULL;
		if (!add_text(q, old, NULL, first))
			return -ENOMEM;
	}
	return add_text(q, old, NULL, value) ? 0 : -ENOMEM;
}

/* a=1&b=2 into object. */
static int
add_fields(struct request *q, struct cJSON *object, const char *s, size_t len)
{
	size_t fields = 0;
	int r = 0;

	while (len > 0) {
		const char *amp = memchr(s, '&', len);
		size_t n = amp == NULL ? len : (size_t)(amp - s);
		const char *equals = memchr(s, '=', n), *name, *value = "";
		size_t name_len = equals == NULL ? n : (size_t)(equals - s);

		if (n > 0 && ++fields > REQUEST_FIELDS_MAX)
			return -EPROTO;
		if (n > 0) {
			name = decode(&q->arena, s, name_len, true, &r);
			if (name != NULL && equals != NULL)
				value = decode(&q->arena, equals + 1, n - name_len - 1, true, &r);
			if (name == NULL || value == NULL)
				return r;
			if ((r = add_field(q, object, name, value)) < 0)
				return r;
		}
		s += n;
		len -= n;
		if (len > 0) {
			s++; /* & */
			len--;
		}
	}
	return 0;
}

static int
split_path(struct request *q, const char *path, size_t len)
{
	size_t at = 1, n = 0, most = 1;
	int r = 0;

	for (size_t i = 1; i < len && most < REQUEST_SEGMENTS_MAX; i++)
		most += path[i] == '/';
	q->segments = arena_alloc(&q->arena, most * sizeof(*q->segments));
	if (q->segments == NULL)
		return -ENOMEM;
	do {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash == NULL ? len : (size_t)(slash - path);

		if (n == REQUEST_SEGMENTS_MAX)
			return -EPROTO;
		q->segments[n] = decode(&q->arena, path + at, end - at, false, &r);
		if (q->segments[n++] == NULL)
			return r;
		at = end + 1;
	} while (at <= len);
	q->segments_len = n;
	return 0;
}

/* Origin form, or absolute form (whose authority then counts as the host, RFC 9112 section 3.2.2). */
static int
take_target(struct request *q, struct cJSON *query, const char **problem)
{
	const char *target = q->target, *end, *mark;
	int r;

	if (strncasecmp(target, "http://", 7) == 0) {
		const char *authority = target + 7;
		size_t len = strcspn(authority, "/?");

		if ((r = set_host(q, authority, len)) < 0)
			return r;
		target = authority + len;
	}
	end = target + strcspn(target, "#");
	mark = memchr(target, '?', (size_t)(end - target));
	if (target == end && target != q->target)
		return split_path(q, "/", 1);
	if (*target != '/' && !(*target == '?' && target != q->target)) {
		*problem = "the target is no path";
		return -EPROTO;
	}
	*problem = "the query is not percent-encoded UTF-8, or has too many fields";
	if (mark != NULL && (r = add_fields(q, query, mark + 1, (size_t)(end - mark - 1))) < 0)
		return r;
	*problem = "the path is not percent-encoded UTF-8, or has too many segments";
	return *target == '?' ? split_path(q, "/", 1)
			      : split_path(q, target, (size_t)((mark == NULL ? end : mark) - target));
}

/* At most this many values: those outside of strings that a comma, bracket or brace starts. */
static size_t
count_values(const char *s, size_t len)
{
	bool in_string = false;
	size_t n = 1;

	for (size_t i = 0; i < len; i++) {
		if (in_string) {
			if (s[i] == '\\')
				i++;
			else
				in_string = s[i] != '"';
		} else if (s[i] == '"') {
			in_string = true;
		} else {
			n += s[i] == ',' || s[i] == '[' || s[i] == '{';
		}
	}
	return n;
}

static bool
is_blank(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(" \t\r\n", s[i]) == NULL || s[i] == '\0')
			return false;
	return true;
}

/* Anything that is no form is tried as JSON, whatever Content-Type says: fetch() sends JSON text as text/plain. */
static int
take_body(struct request *q)
{
	struct json_scan scan;
	struct cJSON *body;

	if (q->form_type || is_blank(q->body, q->body_len)) {
		if (q->json_type && q->body_len > 0)
			snprintf(q->body_problem, sizeof(q->body_problem), "the body is blank");
		return 0;
	}
	if (json_scan(q->body, q->body_len, BODY_DEPTH_MAX, &scan) < 0) {
		snprintf(q->body_problem, sizeof(q->body_problem), "%.60s, line %u column %u", scan.problem,
			 (unsigned)scan.line, (unsigned)scan.column);
		return 0;
	}
	if (count_values(q->body, q->body_len) > REQUEST_VALUES_MAX) {
		snprintf(q->body_problem, sizeof(q->body_problem), "more than %u values", REQUEST_VALUES_MAX);
		return 0;
	}
	body = cJSON_ParseWithLength(q->body, q->body_len);
	if (body == NULL)
		return -ENOMEM; /* json_scan accepted it */
	/* the last one there: deleting it deletes nothing else */
	if (cJSON_AddItemToObject(q->json, "body", body)) {
		q->body_json = body;
		return 0;
	}
	cJSON_Delete(body);
	return -ENOMEM;
}

static bool
is_type(const char *value, const char *type)
{
	size_t len = strcspn(value, "; \t,");

	return len == strlen(type) && strncasecmp(value, type, len) == 0;
}

/* application/json and anything/anything+json */
static bool
is_json_type(const char *value)
{
	size_t len = strcspn(value, "; \t,");

	return is_type(value, "application/json") || (len > 5 && strncasecmp(value + len - 5, "+json", 5) == 0);
}

/* see request.h */
int
request_finish(struct request *q, const char **problem)
{
	const char *type = request_header(q, "content-type"), *key = request_header(q, "idempotency-key");
	struct cJSON *query, *headers, *form;
	int r;

	*problem = "out of memory";
	q->json_type = type != NULL && is_json_type(type);
	q->form_type = type != NULL && is_type(type, "application/x-www-form-urlencoded");
	q->json = add_node(&q->arena, NULL, NULL, cJSON_Object, NULL);
	if (q->json == NULL || !add_text(q, q->json, "method", q->method) ||
	    !add_text(q, q->json, "target", q->target) || (q->path = add_object(q, "path")) == NULL ||
	    (query = add_object(q, "query")) == NULL || (headers = add_object(q, "headers")) == NULL ||
	    (form = add_object(q, "form")) == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < q->headers_len; i++)
		if (!add_text(q, headers, q->headers[i].name, q->headers[i].value))
			return -ENOMEM;
	if (key != NULL && !add_text(q, q->json, "key", key))
		return -ENOMEM;
	if ((r = take_target(q, query, problem)) < 0)
		return r;
	*problem = "the form is not percent-encoded UTF-8, or has too many fields";
	if (q->form_type && (r = add_fields(q, form, q->body, q->body_len)) < 0)
		return r;
	*problem = "out of memory";
	return take_body(q);
}
