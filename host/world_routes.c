/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_routes.c - the routes of a service: what they match, their effects and replies.  As strict as the twins need: what
 * is accepted here can be run without a further look. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"

#define ROUTES_MAX 1000u
#define EFFECTS_MAX 64u
#define ROUTE_ID_MAX 64u
#define SEGMENTS_MAX 250u

/* One route while it is read. */
struct route {
	const struct cJSON *json, *routes;
	const char *id;              /* NULL in the short form */
	const char *method, *path;   /* of match */
	const char *resource;        /* or NULL */
	struct wr_scope scope;
	bool changed;                /* an effect that changes something was read */
};

static int
check_collection(struct wr *c, const struct route *t, const char *name)
{
	const struct cJSON *m;
	struct nearest n;
	int r;

	nearest_init(&n, name);
	for (m = t->scope.state ? t->scope.state->child : NULL; m; m = m->next) {
		if (strcmp(m->string, name) == 0)
			return 0;
		nearest_offer(&n, m->string);
	}
	r = wr_fail(c, -EPROTO, "this service's state has no such collection");
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "add it to the service's \"state\", with [] for an empty one");
	return r;
}

static int
read_collection(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *name;
	int r = wr_string(c, v, 1, 64, &name);

	return r < 0 ? r : check_collection(c, arg, name);
}

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
		{ "method", read_method, WR_REQUIRED, "\"method\": \"GET\"" }, { "path", read_path, WR_REQUIRED, "\"path\": \"/charges/{id}\"" },
		{ "query", NULL, WR_LATER, NULL }, { "headers", NULL, WR_LATER, NULL }, { "body", NULL, WR_LATER, NULL }, { NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "match", arg);
}

/* ---- reply ------------------------------------------------------------------------------------------------------------ */

static int
read_status(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 200, 599, &n);
}

static int
read_header(struct wr *c, const struct cJSON *v, const struct route *t)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	static const char *const ours[] = { "content-length", "transfer-encoding", "connection", "date", "trailer", "upgrade", "keep-alive", NULL };
	const char *text;
	size_t i;
	int r;

	if (!*v->string || strlen(v->string) > 100 || v->string[strspn(v->string, token)]) {
		r = wr_fail_key(c, -EPROTO, "this is not the name of an HTTP header");
		diag_fix(c->d, "write a name such as \"x-request-id\"");
		return r;
	}
	for (i = 0; ours[i]; i++) {
		if (strcasecmp(ours[i], v->string) != 0)
			continue;
		r = wr_fail_key(c, -EPROTO, "the twin writes this header itself");
		diag_fix(c->d, "take it out");
		return r;
	}
	r = wr_string(c, v, 0, 8192, &text);
	for (i = 0; r == 0 && text[i]; i++) {
		if (((unsigned char)text[i] >= 0x20 && text[i] != 0x7f) || text[i] == '\t')
			continue;
		r = wr_fail(c, -EPROTO, "a header's value has no line break or other control character");
		diag_fix(c->d, "take it out");
	}
	return r < 0 ? r : wr_templates(c, v, &t->scope);
}

static int
read_headers(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *m;
	size_t mark, n = 0;
	int r = 0;

	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
		diag_fix(c->d, "write \"headers\": { \"name\": \"value\" }");
		return r;
	}
	for (m = v->child; m && r == 0; m = m->next) {
		mark = wr_enter(c, m->string);
		if (++n > 64)
			r = wr_fail_key(c, -EMSGSIZE, "more than 64 headers");
		else
			r = read_header(c, m, arg);
		wr_leave(c, mark);
	}
	return r;
}

static int
read_body(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_templates(c, v, &t->scope);
}

static int
read_reply(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "status", read_status, 0, NULL }, { "headers", read_headers, 0, NULL }, { "body", read_body, 0, NULL },
		{ "code", NULL, WR_LATER, NULL }, { "stream", NULL, WR_LATER, NULL }, { NULL, NULL, 0, NULL },
	};
	const struct cJSON *status;
	size_t mark;
	int r = wr_object(c, v, keys, "a reply", arg);

	if (r < 0)
		return r;
	status = cJSON_GetObjectItemCaseSensitive(v, "status");
	if (status && (status->valueint == 204 || status->valueint == 304) && cJSON_GetObjectItemCaseSensitive(v, "body")) {
		mark = wr_enter(c, "body");
		r = wr_fail_key(c, -EPROTO, "a reply with status %d has no body", status->valueint);
		diag_fix(c->d, "take \"body\" out, or use status 200");
		wr_leave(c, mark);
	}
	return r;
}

/* ---- effects ---------------------------------------------------------------------------------------------------------- */

static int
read_template(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_templates(c, v, &t->scope);
}

static int
read_row_id(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	const char *s;
	int r = wr_string(c, v, 1, 1024, &s);

	return r < 0 ? r : wr_templates(c, v, &t->scope);
}

static int
read_as(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const taken[] = { "request", "state", "vars", "id", "now", "seed", "event", "and", "or", "not", "true", "false",
		"null", "int", "str", "lower", "len", "has", "count", "sum", NULL };
	const struct route *t = arg;
	const char *s;
	size_t i;
	int r = wr_string(c, v, 1, 64, &s);

	if (r < 0)
		return r;
	if (!is_identifier(s, false)) {
		r = wr_fail(c, -EPROTO, "this is not a name for a row");
		diag_fix(c->d, "use letters, digits and '_', not a digit first");
		return r;
	}
	for (i = 0; taken[i]; i++) {
		if (strcmp(taken[i], s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "\"%s\" is a word of the language", s);
		diag_fix(c->d, "choose another name for the row");
		return r;
	}
	for (i = 0; i < t->scope.bound_len; i++) {
		if (strcmp(t->scope.bound[i], s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "an earlier effect of this route calls its row \"%s\" already", s);
		diag_fix(c->d, "choose another name for the row");
		return r;
	}
	return 0;
}

static int
read_require(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_expr(c, v, &t->scope);
}

static int
read_create_row(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	int r;

	if (!cJSON_IsObject(v) && !is_one_template(v)) {
		r = wr_fail(c, -EPROTO, "a row is an object, or one template that gives an object");
		diag_fix(c->d, "write { \"field\": value }, or \"{{request.body}}\"");
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_set_fields(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	size_t mark;
	int r;

	if (!cJSON_IsObject(v)) {
		r = wr_fail(c, -EPROTO, "\"set\" of an update is an object of fields, found %s", wr_type(v));
		diag_fix(c->d, "write { \"field\": value }");
		return r;
	}
	if (cJSON_GetObjectItemCaseSensitive(v, "id")) {
		mark = wr_enter(c, "id");
		r = wr_fail_key(c, -EPROTO, "a row keeps its id");
		diag_fix(c->d, "take \"id\" out; to rename a row, delete it and create another");
		wr_leave(c, mark);
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_field(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 128, &s);

	(void)arg;
	if (r < 0)
		return r;
	if (strstr(s, "{{") || strcmp(s, "id") == 0) {
		r = wr_fail(c, -EPROTO, strcmp(s, "id") == 0 ? "a row keeps its id" : "the name of a field cannot be a template");
		diag_fix(c->d, "name one field of the row");
	}
	return r;
}

static int
read_by(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;
	int r;

	if (!cJSON_IsNumber(v) && !is_one_template(v)) {
		r = wr_fail(c, -EPROTO, "\"by\" is a number, or one template that gives a number");
		diag_fix(c->d, "write 1, or \"{{request.body.amount}}\"");
		return r;
	}
	return wr_templates(c, v, &t->scope);
}

static int
read_variable(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 64, &s);

	(void)arg;
	if (r == 0 && !is_identifier(s, false)) {
		r = wr_fail(c, -EPROTO, "this is not a name for a variable");
		diag_fix(c->d, "use letters, digits and '_', not a digit first");
	}
	return r;
}

#define NEEDS_ID "\"id\": \"{{request.path.id}}\""
static const struct wr_key find_keys[] = {
	{ "find", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID }, { "as", read_as, 0, NULL },
	{ "else", read_reply, 0, NULL }, { NULL, NULL, 0, NULL },
}, require_keys[] = {
	{ "require", read_require, WR_REQUIRED, NULL },
	{ "else", read_reply, 0, NULL }, { NULL, NULL, 0, NULL },
}, create_keys[] = {
	{ "create", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, 0, NULL }, { "row", read_create_row, 0, NULL },
	{ "as", read_as, 0, NULL }, { NULL, NULL, 0, NULL },
}, update_keys[] = {
	{ "update", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "set", read_set_fields, WR_REQUIRED, "\"set\": { \"field\": value }" }, { "as", read_as, 0, NULL }, { NULL, NULL, 0, NULL },
}, increment_keys[] = {
	{ "increment", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "field", read_field, WR_REQUIRED, "\"field\": \"NAME\"" }, { "by", read_by, WR_REQUIRED, "\"by\": 1" }, { NULL, NULL, 0, NULL },
}, append_keys[] = {
	{ "append", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID },
	{ "field", read_field, WR_REQUIRED, "\"field\": \"NAME\"" }, { "value", read_template, WR_REQUIRED, "\"value\": ..." },
	{ NULL, NULL, 0, NULL },
}, delete_keys[] = {
	{ "delete", read_collection, WR_REQUIRED, NULL }, { "id", read_row_id, WR_REQUIRED, NEEDS_ID }, { NULL, NULL, 0, NULL },
}, set_keys[] = {
	{ "set", read_variable, WR_REQUIRED, NULL }, { "to", read_template, WR_REQUIRED, "\"to\": ..." }, { NULL, NULL, 0, NULL },
};

/* set stands last: it is also a key of update. */
static const struct {
	const char *verb;
	const struct wr_key *keys;
	bool changes;
} effects[] = {
	{ "find", find_keys, false }, { "require", require_keys, false }, { "create", create_keys, true }, { "update", update_keys, true },
	{ "increment", increment_keys, true }, { "append", append_keys, true }, { "delete", delete_keys, true }, { "set", set_keys, true },
};
#define EFFECTS (sizeof(effects) / sizeof(effects[0]))

static int
fail_no_verb(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *m;
	struct nearest n;
	size_t i;
	int r;

	r = wr_fail(c, -EPROTO, cJSON_IsObject(v) ? "the effect has no verb" : "an effect is an object");
	diag_fix(c->d, "write one of find, require, create, update, increment, append, delete, set");
	for (m = cJSON_IsObject(v) ? v->child : NULL; m; m = m->next) {
		nearest_init(&n, m->string);
		for (i = 0; i < EFFECTS; i++)
			nearest_offer(&n, effects[i].verb);
		if (n.best)
			diag_fix(c->d, "did you mean \"%s\" instead of \"%s\"?", n.best, m->string);
	}
	return r;
}

static int
find_verb(struct wr *c, const struct cJSON *v, size_t *out)
{
	size_t i, found = EFFECTS;
	int r;

	for (i = 0; i < EFFECTS; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(v, effects[i].verb))
			continue;
		if (found == EFFECTS) {
			found = i;
		} else if (i != EFFECTS - 1 || strcmp(effects[found].verb, "update") != 0) {
			r = wr_fail(c, -EPROTO, "one effect has two verbs, \"%s\" and \"%s\"", effects[found].verb, effects[i].verb);
			diag_fix(c->d, "write two effects, in the order they shall happen");
			return r;
		}
	}
	if (found == EFFECTS)
		return fail_no_verb(c, v);
	*out = found;
	return 0;
}

static int
read_effect(struct wr *c, const struct cJSON *v, void *arg)
{
	struct route *t = arg;
	const struct cJSON *as, *row;
	char what[24];
	size_t verb = 0, mark;
	int r = find_verb(c, v, &verb);

	if (r < 0)
		return r;
	if (t->changed && !effects[verb].changes) {
		r = wr_fail(c, -EPROTO, "\"%s\" stands after an effect that changes something", effects[verb].verb);
		diag_fix(c->d, "move every find and require before the first change, so that nothing is ever half done");
		return r;
	}
	(void)snprintf(what, sizeof(what), "\"%s\"", effects[verb].verb);
	r = wr_object(c, v, effects[verb].keys, what, t);
	if (r < 0)
		return r;
	t->changed |= effects[verb].changes;
	row = cJSON_GetObjectItemCaseSensitive(v, "row");
	if (row && cJSON_GetObjectItemCaseSensitive(row, "id") && cJSON_GetObjectItemCaseSensitive(v, "id")) {
		mark = wr_enter(c, "row");
		wr_enter(c, "id");
		r = wr_fail_key(c, -EPROTO, "the row's id stands both here and beside \"create\"");
		diag_fix(c->d, "keep one of the two");
		wr_leave(c, mark);
		return r;
	}
	as = cJSON_GetObjectItemCaseSensitive(v, "as");
	if (as)
		t->scope.bound[t->scope.bound_len++] = as->valuestring; /* at most EFFECTS_MAX of them */
	return 0;
}

static int
read_do(struct wr *c, const struct cJSON *v, void *arg)
{
	_Static_assert(EFFECTS_MAX <= SCOPE_BOUND_MAX, "every effect can bind a row");

	return wr_array(c, v, 0, EFFECTS_MAX, "effects", read_effect, arg);
}

/* ---- resources -------------------------------------------------------------------------------------------------------- */

static int
read_resource(struct wr *c, const struct cJSON *v, void *arg)
{
	struct route *t = arg;
	int r = wr_string(c, v, 1, 64, &t->resource);

	return r < 0 ? r : check_collection(c, t, t->resource);
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

/* The verb follows from method and path; what follows none is an error. */
static int
check_resource(struct wr *c, const struct route *t)
{
	bool one = path_has_param(t->path, "id", 2), list = strcmp(t->method, "GET") == 0 && !one;
	size_t mark;
	int r;

	if (list || strcmp(t->method, "GET") == 0 || (strcmp(t->method, "POST") == 0 && !one) ||
	    (one && (strcmp(t->method, "PUT") == 0 || strcmp(t->method, "PATCH") == 0 || strcmp(t->method, "DELETE") == 0))) {
		if (list || !cJSON_GetObjectItemCaseSensitive(t->json, "filter"))
			return 0;
		mark = wr_enter(c, "filter");
		r = wr_fail_key(c, -EPROTO, "only a list (GET without {id}) can be filtered");
		diag_fix(c->d, "take \"filter\" out");
		wr_leave(c, mark);
		return r;
	}
	r = wr_fail(c, -EPROTO, "%s %s is none of list, get, create, update, delete", t->method, t->path);
	diag_fix(c->d, "GET /x list, GET /x/{id} get, POST /x create, PUT or PATCH /x/{id} update, DELETE /x/{id} delete");
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
		      : !dot || strlen(resource->valuestring) != (size_t)(dot - id) || strncmp(resource->valuestring, id, (size_t)(dot - id)) != 0 ||
				(strcmp(dot, ".list") != 0 && strcmp(dot, ".get") != 0 && strcmp(dot, ".create") != 0 && strcmp(dot, ".update") != 0 && strcmp(dot, ".delete") != 0))
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
		r = wr_fail(c, -EPROTO, "a route's id has letters, digits, '.', '_' and '-' only, a letter or digit first");
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

static int
check_reachable(struct wr *c, const struct route *t)
{
	const struct cJSON *other, *match;
	int r;

	for (other = t->routes->child; other != t->json; other = other->next) {
		match = cJSON_GetObjectItemCaseSensitive(other, "match");
		if (!match || cJSON_GetObjectItemCaseSensitive(other, "when") ||
		    strcmp(cJSON_GetObjectItemCaseSensitive(match, "method")->valuestring, t->method) != 0 ||
		    !is_same_path(cJSON_GetObjectItemCaseSensitive(match, "path")->valuestring, t->path))
			continue;
		r = wr_fail(c, -EPROTO, "this route is never reached: route \"%s\" takes every %s %s before it",
			cJSON_GetObjectItemCaseSensitive(other, "id")->valuestring, t->method, t->path);
		diag_fix(c->d, "give the earlier route a \"when\", or take one of the two out");
		return r;
	}
	return 0;
}

static int
read_plain_route(struct wr *c, struct route *t)
{
	static const struct wr_key first[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"refund.create\"" }, { "match", read_match, WR_REQUIRED, "\"match\": { \"method\": \"GET\", \"path\": \"/...\" }" },
		{ "when", NULL, 0, NULL }, { "do", NULL, 0, NULL }, { "reply", NULL, 0, NULL }, { "resource", NULL, 0, NULL }, { "filter", NULL, 0, NULL },
		{ "emit", NULL, WR_LATER, NULL }, { "page", NULL, WR_LATER, NULL }, { "path", NULL, 0, NULL }, { NULL, NULL, 0, NULL },
	};
	static const struct wr_key custom[] = {
		{ "id", NULL, 0, NULL }, { "match", NULL, 0, NULL }, { "when", read_require, 0, NULL }, { "do", read_do, 0, NULL },
		{ "reply", NULL, 0, NULL }, { NULL, NULL, 0, NULL },
	};
	static const struct wr_key resource[] = {
		{ "id", NULL, 0, NULL }, { "match", NULL, 0, NULL }, { "when", read_require, 0, NULL }, { "resource", read_resource, WR_REQUIRED, NULL },
		{ "filter", read_filter, 0, NULL }, { NULL, NULL, 0, NULL },
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
		return r < 0 ? r : check_resource(c, t);
	}
	r = wr_object(c, t->json, custom, "a route", t);
	if (r < 0)
		return r;
	/* Last: it may name every row. */
	reply = cJSON_GetObjectItemCaseSensitive(t->json, "reply");
	if (!reply) {
		if (cJSON_GetObjectItemCaseSensitive(t->json, "do"))
			return 0;
		r = wr_fail(c, -EPROTO, "the route has neither \"do\" nor \"reply\" nor \"resource\"");
		diag_fix(c->d, "add \"reply\": { \"status\": 200, \"body\": ... }");
		return r;
	}
	mark = wr_enter(c, "reply");
	r = read_reply(c, reply, t);
	wr_leave(c, mark);
	return r;
}

static int
read_short_route(struct wr *c, struct route *t)
{
	static const struct wr_key keys[] = {
		{ "resource", read_resource, WR_REQUIRED, "\"resource\": \"COLLECTION\"" }, { "path", read_path, WR_REQUIRED, "\"path\": \"/things\"" },
		{ "filter", read_filter, 0, NULL }, { "page", NULL, WR_LATER, NULL }, { NULL, NULL, 0, NULL },
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
	return r;
}

static int
read_route(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *service = arg, *match;
	struct route t;
	int r;

	memset(&t, 0, sizeof(t));
	t.json = v;
	t.routes = cJSON_GetObjectItemCaseSensitive(service, "routes");
	t.scope.state = cJSON_GetObjectItemCaseSensitive(service, "state");
	t.scope.routes = t.routes;
	t.scope.path = "";
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
