/* SPDX-License-Identifier: GPL-2.0-or-later
 * service_routes.c - routes of the world, prepared: path templates in segments, guards and templates parsed, effects bound
 * to their collections. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guest/request.h"
#include "guest/service.h"

#define ROUTES_MAX 10000u

/* see lang.h: names bound by earlier effects */
static bool
known(void *arg, const char *name, size_t len)
{
	const struct reading *g = arg;

	for (size_t i = 0; i < g->bound_len; i++)
		if (g->bound[i].as != NULL && strlen(g->bound[i].as) == len && memcmp(g->bound[i].as, name, len) == 0)
			return true;
	return false;
}

static int
lang_failed(struct reading *g, int r, const struct lang_error *e)
{
	return r == -ENOMEM ? r : reading_fail(g, r, "%s at byte %zu", e->problem, e->offset);
}

/* see service.h */
int
template_read(struct reading *g, const struct cJSON *object, const char *name, const struct template **out)
{
	size_t len = g->pointer.len;
	const struct cJSON *json = reading_enter(g, object, name);
	struct lang_error e = { 0 };
	int r = 0;

	*out = NULL;
	if (json != NULL)
		r = template_compile(json, known, g, &g->world->arena, out, &e, &g->pointer);
	if (r < 0)
		return lang_failed(g, r, &e);
	g->pointer.len = len;
	return 0;
}

static int
read_string(struct reading *g, const struct cJSON *object, const char *name, const char **out)
{
	const struct cJSON *s = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsString(s) || s->valuestring[0] == '\0')
		return reading_fail(g, -EPROTO, "\"%s\" must be a string that is not empty", name);
	*out = s->valuestring;
	return 0;
}

static bool
is_header_name(const char *s)
{
	static const char *const ours[] = { "content-length", "transfer-encoding", "connection", "keep-alive",
					    "date",           "trailer",           "upgrade" };
	size_t len = strlen(s);

	if (len == 0 || len > 100 ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != len)
		return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strlen(ours[i]) == len && strncasecmp(ours[i], s, len) == 0)
			return false;
	return true;
}

/* see service.h */
int
reply_read(struct reading *g, const struct cJSON *object, const char *name, const struct reply_spec **out)
{
	size_t len = g->pointer.len;
	const struct cJSON *json = reading_enter(g, object, name), *status, *headers;
	struct reply_spec *reply;
	int r;

	*out = NULL;
	if (json == NULL)
		return 0;
	if ((r = reading_check_keys(g, json, "status headers body code")) < 0)
		return r;
	reply = arena_alloc(&g->world->arena, sizeof(*reply));
	if (reply == NULL)
		return -ENOMEM;
	status = cJSON_GetObjectItemCaseSensitive(json, "status");
	if (status != NULL) {
		double v = cJSON_IsNumber(status) ? status->valuedouble : 0;

		if (!(v >= 200 && v <= 599) || v > (int)v)
			return reading_fail(g, -EPROTO, "status must be a whole number from 200 to 599");
		reply->status = (int)v;
	}
	if (cJSON_GetObjectItemCaseSensitive(json, "code") != NULL) {
		if ((r = read_string(g, json, "code", &reply->code)) < 0)
			return r;
		if (cJSON_GetObjectItemCaseSensitive(json, "body") != NULL)
			return reading_fail(g, -EPROTO, "a reply has \"body\" or \"code\", not both");
	}
	headers = cJSON_GetObjectItemCaseSensitive(json, "headers");
	if (headers != NULL && !cJSON_IsObject(headers))
		return reading_fail(g, -EPROTO, "headers must be an object");
	for (const struct cJSON *h = headers == NULL ? NULL : headers->child; h != NULL; h = h->next)
		if (!is_header_name(h->string))
			return reading_fail(g, -EPROTO, "header \"%.60s\" may not be set", h->string);
	if ((r = template_read(g, json, "headers", &reply->headers)) < 0 ||
	    (r = template_read(g, json, "body", &reply->body)) < 0)
		return r;
	g->pointer.len = len;
	*out = reply;
	return 0;
}

static int
read_collection(struct reading *g, const struct cJSON *name, struct collection **out)
{
	*out = cJSON_IsString(name) ? state_collection(&g->service->state, name->valuestring) : NULL;
	return *out != NULL ? 0
			    : reading_fail(g, -EPROTO, "no collection \"%.64s\" in the service's state",
					   cJSON_IsString(name) ? name->valuestring : "");
}

static const struct {
	const char *word, *keys, *data;
	bool needs_id, needs_data;
} effect_forms[] = {
	[EFFECT_FIND] = { "find", "find id as else", NULL, true, false },
	[EFFECT_REQUIRE] = { "require", "require else", NULL, false, false },
	[EFFECT_CREATE] = { "create", "create id row as", "row", false, false },
	[EFFECT_UPDATE] = { "update", "update id set as", "set", true, true },
	[EFFECT_INCREMENT] = { "increment", "increment id field by", "by", true, false },
	[EFFECT_APPEND] = { "append", "append id field value", "value", true, true },
	[EFFECT_DELETE] = { "delete", "delete id", NULL, true, false },
	[EFFECT_SET] = { "set", "set to", "to", false, true },
};

/* The row's new name for later effects: no word of the language, not bound before. */
static int
read_as(struct reading *g, const struct cJSON *json, struct effect *e)
{
	static const char *const taken[] = { "request", "state", "vars", "id",   "now",   "seed",
					     "and",     "or",    "not",  "true", "false", "null" };
	int r;

	if (cJSON_GetObjectItemCaseSensitive(json, "as") == NULL)
		return 0;
	if ((r = read_string(g, json, "as", &e->as)) < 0)
		return r;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(taken[i], e->as) == 0)
			return reading_fail(g, -EPROTO, "\"as\" may not be a word of the language: %s", e->as);
	return 0;
}

static int
read_effect(struct reading *g, const struct cJSON *json, struct effect *e)
{
	const struct cJSON *subject;
	struct lang_error error = { 0 };
	const char *text = "";
	int r, kind = -1;

	/* "set" is a word of its own and a member of update: the first form in the table that fits is meant */
	for (int i = EFFECT_FIND; i <= EFFECT_SET && kind < 0; i++)
		if (cJSON_GetObjectItemCaseSensitive(json, effect_forms[i].word) != NULL)
			kind = i;
	if (kind < 0)
		return reading_fail(g, -EPROTO,
				    "an effect is find, require, create, update, increment, append, delete or set");
	if ((r = reading_check_keys(g, json, effect_forms[kind].keys)) < 0)
		return r;
	e->kind = (enum effect_kind)kind;
	subject = cJSON_GetObjectItemCaseSensitive(json, effect_forms[kind].word);
	if (kind == EFFECT_REQUIRE) {
		if ((r = read_string(g, json, "require", &text)) < 0)
			return r;
		r = expr_compile(text, known, g, &g->world->arena, &e->require, &error);
		if (r < 0)
			return lang_failed(g, r, &error);
	} else if (kind == EFFECT_SET) {
		r = read_string(g, json, "set", &e->name);
	} else {
		r = read_collection(g, subject, &e->collection);
	}
	if (r == 0 && (kind == EFFECT_INCREMENT || kind == EFFECT_APPEND))
		r = read_string(g, json, "field", &e->name);
	if (r == 0 && e->name != NULL && kind != EFFECT_SET && strcmp(e->name, "id") == 0)
		r = reading_fail(g, -EPROTO, "a row's id never changes");
	if (r == 0)
		r = template_read(g, json, "id", &e->id);
	if (r == 0 && effect_forms[kind].data != NULL)
		r = template_read(g, json, effect_forms[kind].data, &e->data);
	if (r == 0 && kind == EFFECT_UPDATE && !cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "set")))
		r = reading_fail(g, -EPROTO, "\"set\" of an update must be an object");
	if (r == 0 && effect_forms[kind].needs_id && e->id == NULL)
		r = reading_fail(g, -EPROTO, "%s needs \"id\"", effect_forms[kind].word);
	if (r == 0 && effect_forms[kind].needs_data && e->data == NULL)
		r = reading_fail(g, -EPROTO, "%s needs \"%s\"", effect_forms[kind].word, effect_forms[kind].data);
	if (r == 0)
		r = reply_read(g, json, "else", &e->otherwise);
	return r == 0 ? read_as(g, json, e) : r;
}

/* see service.h */
int
effects_read(struct reading *g, const struct cJSON *array, struct route *route)
{
	size_t len = g->pointer.len, n = (size_t)cJSON_GetArraySize(array);
	bool changes = false;

	if (!cJSON_IsArray(array) || n > EVAL_BOUND_MAX)
		return reading_fail(g, -EPROTO, "do is an array of at most %u effects", EVAL_BOUND_MAX);
	route->effects = arena_alloc(&g->world->arena, (n + 1) * sizeof(*route->effects));
	if (route->effects == NULL)
		return -ENOMEM;
	g->bound = route->effects;
	for (const struct cJSON *c = array->child; c != NULL; c = c->next) {
		struct effect *e = &route->effects[route->effects_len];
		int r;

		buf_format(&g->pointer, "/%zu", route->effects_len);
		if ((r = read_effect(g, c, e)) < 0)
			return r;
		if (e->kind <= EFFECT_REQUIRE && changes)
			return reading_fail(
				g, -EPROTO,
				"find and require stand before the first change, so that nothing is half done");
		changes = changes || e->kind > EFFECT_REQUIRE;
		g->bound_len = ++route->effects_len;
		g->pointer.len = len;
	}
	return 0;
}

static int
read_path(struct reading *g, const char *path, bool with_id, struct route *route)
{
	const char *at = path + 1;
	size_t n = 0, slashes = 0;
	struct segment *s;

	if (*path != '/')
		return reading_fail(g, -EPROTO, "a path starts with \"/\"");
	for (const char *c = path; *c != '\0'; c++)
		slashes += *c == '/';
	s = arena_alloc(&g->world->arena, (slashes + 1) * sizeof(*s)); /* one more for {id} */
	if (s == NULL)
		return -ENOMEM;
	for (;;) {
		size_t len = strcspn(at, "/");
		bool param = len > 2 && at[0] == '{' && at[len - 1] == '}';

		if (n == REQUEST_SEGMENTS_MAX)
			return reading_fail(g, -EPROTO, "more than %u segments", REQUEST_SEGMENTS_MAX);
		s[n] = (struct segment){ .text = arena_copy(&g->world->arena, param ? at + 1 : at,
							    param ? len - 2 : len),
					 .is_param = param };
		if (s[n].text == NULL)
			return -ENOMEM;
		if (strpbrk(s[n].text, param ? "{}?#" : "{}?#%") != NULL)
			return reading_fail(
				g, -EPROTO,
				"a parameter is a whole segment, {name}; write other characters as they are, not encoded");
		n++;
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	if (with_id)
		s[n++] = (struct segment){ .text = "id", .is_param = true };
	route->segments = s;
	route->segments_len = n;
	return 0;
}

/* see service.h */
bool
route_has_id(const struct route *route)
{
	for (size_t i = 0; i < route->segments_len; i++)
		if (route->segments[i].is_param && strcmp(route->segments[i].text, "id") == 0)
			return true;
	return false;
}

static int
read_filter(struct reading *g, const struct cJSON *json, struct route *route)
{
	size_t len = g->pointer.len;
	const struct cJSON *filter = reading_enter(g, json, "filter");

	if (filter != NULL && !cJSON_IsArray(filter))
		return reading_fail(g, -EPROTO, "filter is an array of field names");
	route->filter = arena_alloc(&g->world->arena,
				    ((size_t)cJSON_GetArraySize(filter) + 1) * sizeof(*route->filter));
	if (route->filter == NULL)
		return -ENOMEM;
	for (const struct cJSON *f = filter == NULL ? NULL : filter->child; f != NULL; f = f->next) {
		if (!cJSON_IsString(f))
			return reading_fail(g, -EPROTO, "filter is an array of field names");
		route->filter[route->filter_len++] = f->valuestring;
	}
	g->pointer.len = len;
	return 0;
}

/* Stripe and GitHub never list all. */
static int
read_page(struct reading *g, const struct cJSON *json, struct route *route)
{
	const struct cJSON *page = cJSON_GetObjectItemCaseSensitive(json, "page");

	route->post_updates = g->service->profile == PROFILE_STRIPE;
	route->page = g->service->profile == PROFILE_STRIPE   ? PAGE_CURSOR
		      : g->service->profile == PROFILE_GITHUB ? PAGE_PAGES
							      : PAGE_ALL;
	if (page == NULL)
		return 0;
	if (!cJSON_IsString(page) ||
	    (strcmp(page->valuestring, "cursor") != 0 && strcmp(page->valuestring, "pages") != 0))
		return reading_fail(g, -EPROTO, "page must be cursor or pages");
	route->page = page->valuestring[0] == 'c' ? PAGE_CURSOR : PAGE_PAGES;
	return 0;
}

/* { resource, path, filter, page }: five routes, update once for each method. */
static int
read_short_form(struct reading *g, const struct cJSON *json)
{
	static const struct {
		const char *verb, *method;
		bool with_id;
		enum route_verb what;
	} forms[] = {
		{ "list", "GET", false, ROUTE_LIST },      { "get", "GET", true, ROUTE_GET },
		{ "create", "POST", false, ROUTE_CREATE }, { "update", "PUT", true, ROUTE_REPLACE },
		{ "update", "PATCH", true, ROUTE_MERGE },  { "delete", "DELETE", true, ROUTE_DELETE },
		{ "update", "POST", true, ROUTE_MERGE }, /* the last: Stripe's only */
	};
	size_t n = sizeof(forms) / sizeof(forms[0]) - (g->service->profile == PROFILE_STRIPE ? 0 : 1);
	const char *resource = "", *path = "";
	int r;

	if ((r = reading_check_keys(g, json, "resource path filter page emit")) < 0 ||
	    (r = read_string(g, json, "resource", &resource)) < 0 || (r = read_string(g, json, "path", &path)) < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct route *route = &g->service->routes[g->service->routes_len];
		char *id = arena_alloc(&g->world->arena, strlen(resource) + 10);

		if (id == NULL)
			return -ENOMEM;
		sprintf(id, "%s.%s", resource, forms[i].verb);
		*route = (struct route){ .id = id, .method = forms[i].method, .verb = forms[i].what };
		if ((r = read_path(g, path, forms[i].with_id, route)) < 0 || (r = read_filter(g, json, route)) < 0 ||
		    (r = read_page(g, json, route)) < 0 ||
		    (r = read_collection(g, cJSON_GetObjectItemCaseSensitive(json, "resource"), &route->collection)) <
			    0)
			return r;
		if (!forms[i].with_id && route_has_id(route))
			return reading_fail(g, -EPROTO, "the short form's path has no {id}: it is added");
		if ((r = emits_read(g, json, route)) < 0)
			return r;
		g->service->routes_len++;
	}
	return 0;
}

static int
read_match(struct reading *g, const struct cJSON *json, struct route *route)
{
	size_t len = g->pointer.len;
	const struct cJSON *match = reading_enter(g, json, "match");
	const char *path = "";
	int r;

	if (match == NULL)
		return reading_fail(g, -EPROTO, "a route needs \"match\"");
	if ((r = reading_check_keys(g, match, "method path query headers body")) < 0 ||
	    (r = read_string(g, match, "path", &path)) < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(match, "method") != NULL &&
	    (r = read_string(g, match, "method", &route->method)) < 0)
		return r;
	if ((r = read_path(g, path, false, route)) < 0 ||
	    (r = conditions_read(g, match, &route->conditions, &route->conditions_len)) < 0)
		return r;
	g->pointer.len = len;
	return 0;
}

static int
read_route(struct reading *g, const struct cJSON *json)
{
	struct route *route = &g->service->routes[g->service->routes_len];
	const struct cJSON *effects;
	struct lang_error e = { 0 };
	size_t len = g->pointer.len;
	bool resource = cJSON_GetObjectItemCaseSensitive(json, "resource") != NULL;
	int r;

	g->bound_len = 0;
	if (resource && cJSON_GetObjectItemCaseSensitive(json, "match") == NULL)
		return read_short_form(g, json);
	*route = (struct route){ .verb = resource ? ROUTE_RESOURCE : ROUTE_CUSTOM };
	if ((r = reading_check_keys(
		     g, json, resource ? "id match when resource filter page emit" : "id match when do reply emit")) <
		    0 ||
	    (r = read_string(g, json, "id", &route->id)) < 0 || (r = read_match(g, json, route)) < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(json, "when") != NULL) {
		route->has_when = true;
		if ((r = read_string(g, json, "when", &route->when_text)) < 0)
			return r;
		if ((r = expr_compile(route->when_text, known, g, &g->world->arena, &route->when, &e)) < 0)
			return lang_failed(g, r, &e);
	}
	if (resource) {
		if ((r = read_filter(g, json, route)) < 0 || (r = read_page(g, json, route)) < 0 ||
		    (r = read_collection(g, cJSON_GetObjectItemCaseSensitive(json, "resource"), &route->collection)) <
			    0)
			return r;
	}
	effects = reading_enter(g, json, "do");
	if (effects != NULL && (r = effects_read(g, effects, route)) < 0)
		return r;
	g->pointer.len = len;
	if ((r = reply_read(g, json, "reply", &route->reply)) < 0 || (r = emits_read(g, json, route)) < 0)
		return r;
	g->service->routes_len++;
	return 0;
}

/* see service.h */
int
routes_read(struct reading *g, const struct cJSON *array)
{
	size_t n = (size_t)cJSON_GetArraySize(array), len = g->pointer.len, i = 0;

	if (!cJSON_IsArray(array) || n > ROUTES_MAX)
		return reading_fail(g, -EPROTO, "routes is an array of at most %u routes", ROUTES_MAX);
	g->service->routes = arena_alloc(&g->world->arena, (7 * n + 1) * sizeof(*g->service->routes));
	if (g->service->routes == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = array->child; c != NULL; c = c->next, i++) {
		int r;

		buf_format(&g->pointer, "/%zu", i);
		if ((r = read_route(g, c)) < 0)
			return r;
		g->pointer.len = len;
	}
	return 0;
}
