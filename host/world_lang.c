/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_lang.c - what guards and templates of a service may name: the parser knows the words of the language, this file
 * knows the collections, variables, rows and path parameters of the world. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"
#include "proto/lang.h"

static bool
known_name(void *arg, const char *name, size_t len)
{
	const struct wr_scope *s = arg;
	size_t i;

	for (i = 0; i < s->bound_len; i++)
		if (strlen(s->bound[i]) == len && memcmp(s->bound[i], name, len) == 0)
			return true;
	return false;
}

bool
path_has_param(const char *pattern, const char *name, size_t len)
{
	const char *p;

	for (p = pattern; (p = strstr(p, "/{")); p += 2)
		if (strncmp(p + 2, name, len) == 0 && p[2 + len] == '}')
			return true;
	return false;
}

/* The field that a path takes of its object, when it is written out: .NAME or ['NAME'].  1 and *out, or 0. */
static int
field_text(const struct lang_expr *e, const struct lang_node *n, char out[64])
{
	const struct lang_node *index;

	if (n->op == LANG_FIELD) {
		(void)snprintf(out, 64, "%.*s", (int)n->len, n->text);
		return 1;
	}
	index = &e->nodes[n->b];
	return index->op == LANG_STRING && lang_string(index, out, 64) >= 0;
}

static bool
is_root(const struct lang_expr *e, uint8_t i, const char *name)
{
	const struct lang_node *n = &e->nodes[i];

	return n->op == LANG_NAME && n->len == strlen(name) && memcmp(n->text, name, n->len) == 0;
}

int
wr_collection(struct wr *c, const struct wr_scope *s, const char *name)
{
	const struct cJSON *m;
	struct nearest n;
	int r;

	nearest_init(&n, name);
	for (m = s->state ? s->state->child : NULL; m; m = m->next) {
		if (strcmp(m->string, name) == 0)
			return 0;
		nearest_offer(&n, m->string);
	}
	r = wr_fail(c, -EPROTO, "this service's state has no collection \"%s\"", name);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "add it to the service: \"state\": { \"%s\": [] }", name);
	return r;
}

static bool
sets_variable(const struct cJSON *route, const char *name)
{
	const struct cJSON *e, *v;

	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(route, "do"))
	{
		v = cJSON_GetObjectItemCaseSensitive(e, "set");
		if (cJSON_IsString(v) && strcmp(v->valuestring, name) == 0)
			return true;
	}
	return false;
}

static int
check_variable(struct wr *c, const struct wr_scope *s, const char *name)
{
	const struct cJSON *route;
	int r;

	if (cJSON_GetObjectItemCaseSensitive(s->variables, name))
		return 0;
	for (route = s->routes ? s->routes->child : NULL; route; route = route->next)
		if (sets_variable(route, name))
			return 0;
	r = wr_fail(c, -EPROTO, "this service has no variable \"%s\", and no effect sets vars.%s", name, name);
	diag_fix(c->d, "add it: \"variables\": { \"%s\": ... }", name);
	return r;
}

static int
check_request_field(struct wr *c, const char *name)
{
	static const char *const fields[] = { "method", "target", "path", "query", "headers",
					      "body",   "form",   "key",  NULL };
	struct nearest n;
	size_t i;
	int r;

	nearest_init(&n, name);
	for (i = 0; fields[i]; i++) {
		if (strcmp(fields[i], name) == 0)
			return 0;
		nearest_offer(&n, fields[i]);
	}
	r = wr_fail(c, -EPROTO, "a request has no \"%s\"", name);
	if (n.best)
		diag_fix(c->d, "did you mean request.%s?", n.best);
	else
		diag_fix(
			c->d,
			"write request.method, .target, .path.PARAM, .query.NAME, .headers['name'], .body, .form or .key");
	return r;
}

/* request.path.X and request.headers['X']: one level below the request. */
static int
check_request_below(struct wr *c, const struct wr_scope *s, const char *of, const char *name)
{
	const char *p;
	int r;

	if (strcmp(of, "path") == 0 && !path_has_param(s->path, name, strlen(name))) {
		r = wr_fail(c, -EPROTO, "the route's path has no parameter {%s}", name);
		diag_fix(c->d, "write it into match.path, such as \"/things/{%s}\", or use request.target", name);
		return r;
	}
	for (p = name; strcmp(of, "headers") == 0 && *p; p++) {
		if (*p < 'A' || *p > 'Z')
			continue;
		r = wr_fail(c, -EPROTO, "names of headers are in lower case here, so \"%s\" is never found", name);
		diag_fix(c->d, "write it in lower case");
		return r;
	}
	return 0;
}

/* Where no service is current: state.SERVICE, then a collection of it. */
static int
check_world_access(struct wr *c, const struct wr_scope *s, const struct lang_expr *e, const struct lang_node *n)
{
	const struct lang_node *below = &e->nodes[n->a];
	char name[64], of[64];
	struct nearest near;
	size_t i;
	int r;

	if (is_root(e, n->a, "vars") || is_root(e, n->a, "request")) {
		r = wr_fail(c, -EPROTO, "no service and no request is current here");
		diag_fix(c->d, "write state.SERVICE.COLLECTION");
		return r;
	}
	if (is_root(e, n->a, "state")) {
		if (!field_text(e, n, name))
			(void)snprintf(name, sizeof(name), "?");
		nearest_init(&near, name);
		for (i = 0; i < s->world->services_len; i++) {
			if (strcmp(s->world->services[i].name, name) == 0)
				return 0;
			nearest_offer(&near, s->world->services[i].name);
		}
		r = wr_fail(
			c, -EPROTO,
			"there is no service \"%s\": no service is current here, so state.SERVICE.COLLECTION is meant",
			name);
		if (near.best)
			diag_fix(c->d, "did you mean state.%s?", near.best);
		else
			diag_fix(c->d, "write state.SERVICE.COLLECTION");
		return r;
	}
	if ((below->op != LANG_FIELD && below->op != LANG_INDEX) || !is_root(e, below->a, "state") ||
	    !field_text(e, below, of))
		return 0;
	for (i = 0; i < s->world->services_len; i++) {
		const struct wr_scope one = {
			.state = cJSON_GetObjectItemCaseSensitive(s->world->services[i].json, "state"), .path = ""
		};

		if (strcmp(s->world->services[i].name, of) == 0)
			return wr_collection(c, &one, field_text(e, n, name) ? name : "?");
	}
	return 0;
}

/* A node that takes a field of something: what it takes must be there to take. */
static int
check_access(struct wr *c, const struct wr_scope *s, const struct lang_expr *e, const struct lang_node *n)
{
	char name[64], of[64];
	int written = field_text(e, n, name), r;

	if (s->world)
		return check_world_access(c, s, e, n);
	if (is_root(e, n->a, "state") || is_root(e, n->a, "vars")) {
		if (!written) {
			r = wr_fail(c, -EPROTO, "what stands after \"%.*s\" must be a name", (int)e->nodes[n->a].len,
				    e->nodes[n->a].text);
			diag_fix(c->d, "write state.COLLECTION or vars.NAME");
			return r;
		}
		return is_root(e, n->a, "state") ? wr_collection(c, s, name) : check_variable(c, s, name);
	}
	if (!written)
		return 0;
	if (is_root(e, n->a, "request"))
		return check_request_field(c, name);
	n = &e->nodes[n->a];
	if ((n->op == LANG_FIELD || n->op == LANG_INDEX) && is_root(e, n->a, "request") && field_text(e, n, of))
		return check_request_below(c, s, of, name);
	return 0;
}

static int
check_aggregate(struct wr *c, const struct wr_scope *s, const struct lang_expr *e, const struct lang_node *n)
{
	const struct lang_node *first = &e->nodes[n->a], *of;
	const char *fn = n->fn == LANG_COUNT ? "count" : "sum";
	uint8_t i = first->next;
	unsigned k;
	int r;

	of = s->world && (first->op == LANG_FIELD || first->op == LANG_INDEX) ? &e->nodes[first->a] : first;
	if ((first->op != LANG_FIELD && first->op != LANG_INDEX) || (of->op != LANG_FIELD && of->op != LANG_INDEX) ||
	    !is_root(e, of->a, "state")) {
		r = wr_fail(c, -EPROTO, "the first argument of %s is not a collection", fn);
		diag_fix(c->d, "write %s(state.COLLECTION, 'field'...)", fn);
		return r;
	}
	/* count: field, value; sum: field [, field, value] */
	for (k = 1; i != LANG_NONE; i = e->nodes[i].next, k++) {
		if (k == 3 || (n->fn == LANG_COUNT && k == 2) || e->nodes[i].op == LANG_STRING)
			continue;
		r = wr_fail(c, -EPROTO, "argument %u of %s is the name of a field, in quotes", k + 1, fn);
		diag_fix(c->d, "write %s(state.COLLECTION, 'field'%s)", fn,
			 n->fn == LANG_COUNT ? ", value" : ", 'field', value");
		return r;
	}
	return 0;
}

/* state, vars and request are no values themselves: they stand before a dot or bracket. */
/* Where no service is current a service's state is not a value either. */
static bool
is_service_state(const struct wr_scope *s, const struct lang_expr *e, size_t i)
{
	const struct lang_node *n = &e->nodes[i];

	return s->world && (n->op == LANG_FIELD || n->op == LANG_INDEX) && is_root(e, n->a, "state");
}

static int
check_bare(struct wr *c, const struct lang_expr *e, const struct wr_scope *s)
{
	bool below[LANG_NODES_MAX] = { false };
	size_t i;
	int r;

	for (i = 0; i < e->nodes_len; i++)
		if (e->nodes[i].op == LANG_FIELD || e->nodes[i].op == LANG_INDEX)
			below[e->nodes[i].a] = true;
	for (i = 0; i < e->nodes_len; i++) {
		if (!below[i] && is_service_state(s, e, i)) {
			r = wr_fail(c, -EPROTO, "the state of a service alone is no value");
			diag_fix(c->d, "write state.SERVICE.COLLECTION");
			return r;
		}
		if (below[i] || !(is_root(e, (uint8_t)i, "state") || is_root(e, (uint8_t)i, "vars") ||
				  is_root(e, (uint8_t)i, "request")))
			continue;
		r = wr_fail(c, -EPROTO, "\"%.*s\" alone is no value", (int)e->nodes[i].len, e->nodes[i].text);
		diag_fix(c->d, "write a part of it, such as request.body, state.COLLECTION, vars.NAME");
		return r;
	}
	return 0;
}

static int
check_text(struct wr *c, const char *text, size_t len, const struct wr_scope *s)
{
	struct lang_expr e;
	struct lang_error error;
	char shown[160];
	size_t i;
	union {
		const struct wr_scope *in;
		void *out;
	} same = { .in = s };
	int r;

	memset(&error, 0, sizeof(error));
	r = lang_parse(text, len, known_name, same.out, &e, &error);
	if (r < 0) {
		escape_text(text, len, shown, sizeof(shown));
		r = wr_fail(c, -EPROTO, "%s, at character %zu of: %s", error.problem, error.offset + 1, shown);
		diag_fix(c->d, "%s", error.fix);
		return r;
	}
	r = check_bare(c, &e, s);
	for (i = 0; i < e.nodes_len && r == 0; i++) {
		const struct lang_node *n = &e.nodes[i];

		if (n->op == LANG_FIELD || n->op == LANG_INDEX)
			r = check_access(c, s, &e, n);
		else if (n->op == LANG_CALL && (n->fn == LANG_COUNT || n->fn == LANG_SUM))
			r = check_aggregate(c, s, &e, n);
	}
	return r;
}

int
wr_expr(struct wr *c, const struct cJSON *v, const struct wr_scope *s)
{
	const char *text;
	int r = wr_string(c, v, 1, WORLD_BYTES_MAX, &text);

	if (r < 0)
		return r;
	if (strstr(text, "{{")) {
		r = wr_fail(c, -EPROTO, "this is an expression by itself, not a template");
		diag_fix(c->d, "take the braces away");
		return r;
	}
	return check_text(c, text, strlen(text), s);
}

static int
check_string(struct wr *c, const char *text, const struct wr_scope *s)
{
	size_t left = strlen(text), before, len, used;
	const char *expr;
	int r;

	while ((r = lang_template_next(text, left, &before, &expr, &len, &used)) == 1) {
		r = check_text(c, expr, len, s);
		if (r < 0)
			return r;
		text += used;
		left -= used;
	}
	if (r == 0)
		return 0;
	r = wr_fail(c, -EPROTO, "\"{{\" without \"}}\"");
	diag_fix(c->d, "close the template, or write {{'{{'}} for two braces");
	return r;
}

int
wr_templates(struct wr *c, const struct cJSON *v, const struct wr_scope *s)
{
	const struct cJSON *m;
	size_t mark, i = 0;
	int r = 0;

	if (cJSON_IsString(v))
		return check_string(c, v->valuestring, s);
	if (!cJSON_IsObject(v) && !cJSON_IsArray(v))
		return 0;
	for (m = v->child; m && r == 0; m = m->next, i++) {
		mark = m->string ? wr_enter(c, m->string) : wr_enter_index(c, i);
		if (m->string && strstr(m->string, "{{")) {
			r = wr_fail_key(c, -EPROTO, "a key cannot be a template");
			diag_fix(c->d, "write the key out; templates stand in values");
		} else {
			r = wr_templates(c, m, s);
		}
		wr_leave(c, mark);
	}
	return r;
}

bool
is_one_template(const struct cJSON *v)
{
	size_t before, len, used;
	const char *expr;

	return cJSON_IsString(v) &&
	       lang_template_next(v->valuestring, strlen(v->valuestring), &before, &expr, &len, &used) == 1 &&
	       before == 0 && v->valuestring[used] == '\0';
}
