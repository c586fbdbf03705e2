/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_routes.c - the routes of a service: what they match, and the forms they come in.  Effects and replies:
 * world_effects.c. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/json.h"
#include "host/world_route.h"

#define ROUTES_MAX 1000u
#define ROUTE_ID_MAX 64u
#define SEGMENTS_MAX 250u

/* ---- match ------------------------------------------------------------------------------------------------------------ */

static int
read_method(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", NULL };
	struct route *t = arg;
	size_t which = 0;
	int r = wr_word(c, v, methods, &which);

	if (r == 0)
		t->method = methods[which];
	return r;
}

/* NULL, or what is wrong with a path pattern. */
static const char *
path_problem(const char *s, const char **fix)
{
	const char *seg = s;
	char name[66];
	size_t n, segments = 0;

	*fix = "write a path such as \"/charges/{id}\"";
	if (*s != '/')
		return "a path starts with a slash";
	while (*seg == '/') {
		if (++segments > SEGMENTS_MAX)
			return "a path has at most 250 segments";
		seg++;
		n = strcspn(seg, "/");
		if (n == 0 && *seg)
			return "a path has no empty segment";
		if (*seg == '{') {
			if (n < 3 || seg[n - 1] != '}' || n - 2 >= sizeof(name))
				return "a parameter is a whole segment: {name}";
			(void)snprintf(name, sizeof(name), "%.*s", (int)(n - 2), seg + 1);
			*fix = "name it with letters, digits and '_', each parameter differently";
			if (!is_identifier(name, false))
				return "this is not a name for a parameter";
			if (path_has_param(seg + n, name, strlen(name)))
				return "two parameters have the same name";
		} else if (*seg == ':') {
			*fix = "write {id} instead of :id";
			return "a parameter is written in braces";
		} else if (memchr(seg, '{', n)) {
			*fix = "write {id} between two slashes: it takes the whole segment";
			return "a parameter is a whole segment";
		} else if (strcspn(seg, "{}?#%*\\\"<> ") < n) {
			*fix = "write {name} for a segment that varies; query strings are not part of a path, and % is written decoded";
			return "a path has none of { } ? # % * \\ \" < > or a space outside parameters";
		}
		seg += n;
	}
	return NULL;
}

static int
read_path(struct wr *c, const struct cJSON *v, void *arg)
{
	struct route *t = arg;
	const char *s, *problem, *fix;
	int r = wr_string(c, v, 1, 1024, &s);

	if (r < 0)
		return r;
	problem = path_problem(s, &fix);
	if (problem) {
		r = wr_fail(c, -EPROTO, "%s", problem);
		diag_fix(c->d, "%s", fix);
		return r;
	}
	t->path = s;
	return 0;
}

static int
read_match(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "method", read_method, WR_REQUIRED, "\"method\": \"GET\"" },
		{ "path", read_path, WR_REQUIRED, "\"path\": \"/charges/{id}\"" },
		{ "query", world_read_match_query, 0, NULL },
		{ "headers", world_read_match_headers, 0, NULL },
		{ "body", world_read_match_body, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "match", arg);
}

/* ---- resources -------------------------------------------------------------------------------------------------------- */

static int
read_resource(struct wr *c, const struct cJSON *v, void *arg)
{
	struct route *t = arg;
	int r = wr_string(c, v, 1, 64, &t->resource);

	return r < 0 ? r : world_read_collection(c, v, t);
}

static int
read_filter_field(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 128, &s);
}

static int
read_filter(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_array(c, v, 1, 64, "fields", read_filter_field, NULL);
}

static int
read_page(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "cursor", "pages", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

/* The verb follows from method and path; what follows none is an error. */
static int
check_resource(struct wr *c, const struct route *t)
{
	bool one = path_has_param(t->path, "id", 2), list = strcmp(t->method, "GET") == 0 && !one;
	const struct cJSON *only;
	size_t mark;
	int r;

	if (list || strcmp(t->method, "GET") == 0 || (strcmp(t->method, "POST") == 0 && (!one || t->is_stripe)) ||
	    (one &&
	     (strcmp(t->method, "PUT") == 0 || strcmp(t->method, "PATCH") == 0 || strcmp(t->method, "DELETE") == 0))) {
		only = cJSON_GetObjectItemCaseSensitive(t->json, "filter");
		if (!only)
			only = cJSON_GetObjectItemCaseSensitive(t->json, "page");
		if (list || !only)
			return 0;
		mark = wr_enter(c, only->string);
		r = wr_fail_key(c, -EPROTO, "only a list (GET without {id}) can be %s",
				strcmp(only->string, "page") == 0 ? "paged" : "filtered");
		diag_fix(c->d, "take \"%s\" out", only->string);
		wr_leave(c, mark);
		return r;
	}
	r = wr_fail(c, -EPROTO, "%s %s is none of list, get, create, update, delete", t->method, t->path);
	diag_fix(c->d,
		 "GET /x list, GET /x/{id} get, POST /x create, PUT or PATCH /x/{id} update, DELETE /x/{id} delete");
	return r;
}

/* What a resource tells of: the row that was made, changed or deleted. */
static int
read_resource_emit(struct wr *c, struct route *t)
{
	const struct cJSON *emit = cJSON_GetObjectItemCaseSensitive(t->json, "emit");
	size_t mark;
	int r;

	if (!emit)
		return 0;
	mark = wr_enter(c, "emit");
	if (t->method && strcmp(t->method, "GET") == 0) {
		r = wr_fail_key(c, -EPROTO, "a route that lists or gets has nothing to tell");
		diag_fix(c->d, "move \"emit\" to the route that creates, updates or deletes");
	} else {
		t->scope.bound[0] = "row";
		t->scope.bound_len = 1;
		r = t->method ? world_read_emit(c, emit, t) : world_read_emit_on(c, emit, t);
	}
	wr_leave(c, mark);
	return r;
}

/* ---- one route -------------------------------------------------------------------------------------------------------- */

static int
check_id_twice(struct wr *c, const struct route *t, const char *id)
{
	const struct cJSON *other, *m, *resource;
	const char *dot = strrchr(id, '.');
	int r;

	for (other = t->routes->child; other && other != t->json; other = other->next) {
		m = cJSON_GetObjectItemCaseSensitive(other, "id");
		resource = cJSON_GetObjectItemCaseSensitive(other, "resource");
		if (m ? strcmp(m->valuestring, id) != 0
		      : !dot || strlen(resource->valuestring) != (size_t)(dot - id) ||
				    strncmp(resource->valuestring, id, (size_t)(dot - id)) != 0 ||
				    (strcmp(dot, ".list") != 0 && strcmp(dot, ".get") != 0 &&
				     strcmp(dot, ".create") != 0 && strcmp(dot, ".update") != 0 &&
				     strcmp(dot, ".delete") != 0))
			continue;
		r = wr_fail(c, -EPROTO, "another route of this service has the id \"%s\" already", id);
		diag_fix(c->d, "give each route an id of its own");
		return r;
	}
	return 0;
}

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct route *t = arg;
	int r = wr_string(c, v, 1, ROUTE_ID_MAX, &t->id);

	if (r < 0)
		return r;
	if (t->id[strspn(t->id, allowed)] || strchr("._-", t->id[0])) {
		r = wr_fail(c, -EPROTO,
			    "a route's id has letters, digits, '.', '_' and '-' only, a letter or digit first");
		diag_fix(c->d, "write an id like \"refund.create\"");
		return r;
	}
	return check_id_twice(c, t, t->id);
}

/* "/a/{x}/b" and "/a/{y}/b" match the same requests. */
static bool
is_same_path(const char *a, const char *b)
{
	while (*a && *b) {
		if (*a == '{' && *b == '{') {
			a += strcspn(a, "/");
			b += strcspn(b, "/");
			continue;
		}
		if (*a++ != *b++)
			return false;
	}
	return *a == *b;
}

/* What the earlier route wants besides method and path the later one wants too, in the same words. */
static bool
wants_no_more(const struct cJSON *earlier, const struct cJSON *later)
{
	static const char *const parts[] = { "query", "headers", "body" };
	const struct cJSON *a, *b;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		a = cJSON_GetObjectItemCaseSensitive(earlier, parts[i]);
		b = cJSON_GetObjectItemCaseSensitive(later, parts[i]);
		if (a && !(b && json_equal(a, b)))
			return false;
	}
	return true;
}

static int
check_reachable(struct wr *c, const struct route *t)
{
	const struct cJSON *other, *match;
	int r;

	for (other = t->routes->child; other != t->json; other = other->next) {
		match = cJSON_GetObjectItemCaseSensitive(other, "match");
		if (!match || cJSON_GetObjectItemCaseSensitive(other, "when") ||
		    strcmp(cJSON_GetObjectItemCaseSensitive(match, "method")->valuestring, t->method) != 0 ||
		    !is_same_path(cJSON_GetObjectItemCaseSensitive(match, "path")->valuestring, t->path) ||
		    !wants_no_more(match, cJSON_GetObjectItemCaseSensitive(t->json, "match")))
			continue;
		r = wr_fail(c, -EPROTO, "this route is never reached: route \"%s\" takes every %s %s before it",
			    cJSON_GetObjectItemCaseSensitive(other, "id")->valuestring, t->method, t->path);
		diag_fix(c->d, "give the earlier route a \"when\" or something to match, or take one of the two out");
		return r;
	}
	return 0;
}

static int
read_plain_route(struct wr *c, struct route *t)
{
	static const struct wr_key first[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"refund.create\"" },
		{ "match", read_match, WR_REQUIRED, "\"match\": { \"method\": \"GET\", \"path\": \"/...\" }" },
		{ "when", NULL, 0, NULL },
		{ "do", NULL, 0, NULL },
		{ "reply", NULL, 0, NULL },
		{ "resource", NULL, 0, NULL },
		{ "filter", NULL, 0, NULL },
		{ "emit", NULL, 0, NULL },
		{ "page", NULL, 0, NULL },
		{ "path", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const struct wr_key custom[] = {
		{ "id", NULL, 0, NULL },
		{ "match", NULL, 0, NULL },
		{ "when", world_read_guard, 0, NULL },
		{ "do", world_read_effects, 0, NULL },
		{ "reply", NULL, 0, NULL },
		{ "emit", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const struct wr_key resource[] = {
		{ "id", NULL, 0, NULL },
		{ "match", NULL, 0, NULL },
		{ "when", world_read_guard, 0, NULL },
		{ "resource", read_resource, WR_REQUIRED, NULL },
		{ "filter", read_filter, 0, NULL },
		{ "page", read_page, 0, NULL },
		{ "emit", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	const struct cJSON *reply;
	size_t mark;
	int r;

	/* Twice: the parameters of match must be known before the first template is looked at. */
	r = wr_object(c, t->json, first, "a route", t);
	if (r < 0)
		return r;
	t->scope.path = t->path;
	r = check_reachable(c, t);
	if (r < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(t->json, "resource")) {
		r = wr_object(c, t->json, resource, "a route with \"resource\"", t);
		return r < 0 || (r = check_resource(c, t)) < 0 ? r : read_resource_emit(c, t);
	}
	r = wr_object(c, t->json, custom, "a route", t);
	if (r < 0)
		return r;
	/* Last: they may name every row. */
	reply = cJSON_GetObjectItemCaseSensitive(t->json, "emit");
	if (reply) {
		mark = wr_enter(c, "emit");
		r = world_read_emit(c, reply, t);
		wr_leave(c, mark);
		if (r < 0)
			return r;
	}
	reply = cJSON_GetObjectItemCaseSensitive(t->json, "reply");
	if (!reply) {
		if (cJSON_GetObjectItemCaseSensitive(t->json, "do"))
			return 0;
		r = wr_fail(c, -EPROTO, "the route has neither \"do\" nor \"reply\" nor \"resource\"");
		diag_fix(c->d, "add \"reply\": { \"status\": 200, \"body\": ... }");
		return r;
	}
	mark = wr_enter(c, "reply");
	r = world_read_reply(c, reply, t);
	wr_leave(c, mark);
	return r;
}

static int
read_short_route(struct wr *c, struct route *t)
{
	static const struct wr_key keys[] = {
		{ "resource", read_resource, WR_REQUIRED, "\"resource\": \"COLLECTION\"" },
		{ "path", read_path, WR_REQUIRED, "\"path\": \"/things\"" },
		{ "filter", read_filter, 0, NULL },
		{ "page", read_page, 0, NULL },
		{ "emit", NULL, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static const char *const verbs[] = { "list", "get", "create", "update", "delete" };
	char id[ROUTE_ID_MAX + 16];
	size_t i, mark;
	int r = wr_object(c, t->json, keys, "a route without \"match\"", t);

	if (r == 0 && (path_has_param(t->path, "id", 2) || t->path[strlen(t->path) - 1] == '/')) {
		mark = wr_enter(c, "path");
		r = wr_fail(c, -EPROTO, "the path of the short form names the collection; /{id} is added to it");
		diag_fix(c->d, "write it without {id} and without a slash at the end");
		wr_leave(c, mark);
	}
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && r == 0; i++) {
		(void)snprintf(id, sizeof(id), "%s.%s", t->resource, verbs[i]);
		r = check_id_twice(c, t, id);
	}
	return r < 0 ? r : read_resource_emit(c, t);
}

static int
read_route(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *service = arg, *match, *profile;
	struct route t;
	int r;

	memset(&t, 0, sizeof(t));
	t.json = v;
	t.routes = cJSON_GetObjectItemCaseSensitive(service, "routes");
	t.scope.state = cJSON_GetObjectItemCaseSensitive(service, "state");
	t.scope.variables = cJSON_GetObjectItemCaseSensitive(service, "variables");
	t.scope.routes = t.routes;
	t.scope.path = "";
	profile = cJSON_GetObjectItemCaseSensitive(service, "profile");
	t.is_stripe = profile && strcmp(profile->valuestring, "stripe/v1") == 0;
	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "a route is an object, found %s", wr_type(v));
		diag_fix(c->d, "write { \"id\": ..., \"match\": ..., \"reply\": ... }");
		return r;
	}
	match = cJSON_GetObjectItemCaseSensitive(v, "match");
	if (!match && cJSON_GetObjectItemCaseSensitive(v, "resource") && !cJSON_GetObjectItemCaseSensitive(v, "id"))
		return read_short_route(c, &t);
	return read_plain_route(c, &t);
}

int
world_read_routes(struct wr *c, const struct cJSON *service)
{
	const struct cJSON *routes = cJSON_GetObjectItemCaseSensitive(service, "routes");
	union {
		const struct cJSON *in;
		void *out;
	} same = { .in = service };
	size_t mark;
	int r;

	if (!routes)
		return 0;
	mark = wr_enter(c, "routes");
	r = wr_array(c, routes, 0, ROUTES_MAX, "routes", read_route, same.out);
	wr_leave(c, mark);
	return r;
}
