/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_names.c - the services, routes and collections that checks name: looked up when the whole world is read, since they may
 * stand below. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/nearest.h"
#include "host/world_read.h"

/* see world_read.h */
int
world_check_service(struct wr *c, const char *name, const struct world_service **out)
{
	struct nearest n;
	size_t i, mark;
	int r;

	nearest_init(&n, name);
	for (i = 0; i < c->w->services_len; i++) {
		*out = &c->w->services[i];
		if (strcmp((*out)->name, name) == 0)
			return 0;
		nearest_offer(&n, (*out)->name);
	}
	mark = wr_enter(c, "service");
	r = wr_fail(c, -EPROTO, "there is no service \"%s\"", name);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name a service of this world");
	wr_leave(c, mark);
	return r;
}

/* Whether a route, which may be a short form for five, has the id.  Offers its ids as near words. */
static bool
has_route_id(const struct cJSON *route, const char *id, char near[static 96], struct nearest *n)
{
	static const char *const verbs[] = { "list", "get", "create", "update", "delete" };
	const struct cJSON *m = cJSON_GetObjectItemCaseSensitive(route, "id");
	char text[96];
	size_t i;

	for (i = 0; i < (m ? 1 : sizeof(verbs) / sizeof(verbs[0])); i++) {
		if (m)
			(void)snprintf(text, sizeof(text), "%s", m->valuestring);
		else
			(void)snprintf(text, sizeof(text), "%s.%s",
				       cJSON_GetObjectItemCaseSensitive(route, "resource")->valuestring, verbs[i]);
		if (strcmp(text, id) == 0)
			return true;
		nearest_offer(n, text);
		if (n->best == text) {
			memcpy(near, text, sizeof(text));
			n->best = near;
		}
	}
	return false;
}

/* see world_read.h */
int
world_check_route(struct wr *c, const struct cJSON *v, const struct world_service *s)
{
	const struct cJSON *route = cJSON_GetObjectItemCaseSensitive(v, "route"), *m;
	char near[96] = "";
	struct nearest n;
	const char *id;
	size_t mark, i;
	int r;

	if (!route)
		return 0;
	mark = wr_enter(c, "route");
	if (!s) {
		r = wr_fail_key(c, -EPROTO, "\"route\" stands without \"service\"");
		diag_fix(c->d, "add \"service\": \"NAME\": ids of routes are unique within a service only");
		wr_leave(c, mark);
		return r;
	}
	nearest_init(&n, route->valuestring);
	if (world_event_find(c->w, s, route->valuestring, NULL)) {
		wr_leave(c, mark);
		return 0;
	}
	cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(s->json, "routes"))
	{
		if (has_route_id(m, route->valuestring, near, &n)) {
			wr_leave(c, mark);
			return 0;
		}
	}
	for (i = 0; (id = world_llm_route(s, i)); i++) {
		if (strcmp(id, route->valuestring) == 0) {
			wr_leave(c, mark);
			return 0;
		}
		nearest_offer(&n, id);
		if (n.best == id)
			(void)snprintf(near, sizeof(near), "%s", id);
	}
	r = wr_fail(c, -EPROTO, "service \"%s\" has no route \"%s\"", s->name, route->valuestring);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", near);
	else
		diag_fix(c->d, "name the id of a route of this service");
	wr_leave(c, mark);
	return r;
}

/* A verdict is of a service that keeps keys: of any other no call has one, and "never" would hold whatever happens. */
static int
check_verdict(struct wr *c, const struct cJSON *v, const struct world_service *s)
{
	size_t i, mark;
	int r;

	if (!cJSON_GetObjectItemCaseSensitive(v, "idempotency"))
		return 0;
	for (i = 0; i < c->w->services_len; i++)
		if ((!s || s == &c->w->services[i]) &&
		    cJSON_GetObjectItemCaseSensitive(c->w->services[i].json, "idempotency"))
			return 0;
	mark = wr_enter(c, "idempotency");
	if (s)
		r = wr_fail_key(c, -EPROTO, "service \"%s\" keeps no idempotency keys, so no call has a verdict",
				s->name);
	else
		r = wr_fail_key(c, -EPROTO, "no service keeps idempotency keys, so no call has a verdict");
	diag_fix(c->d, "add \"idempotency\": { \"on\": [ \"POST\" ] } to the service, or take this out");
	wr_leave(c, mark);
	return r;
}

static int
check_state_path(struct wr *c, const struct cJSON *v, const struct world_service *s)
{
	const char *path = cJSON_GetObjectItemCaseSensitive(v, "path")->valuestring;
	const struct cJSON *state = cJSON_GetObjectItemCaseSensitive(s->json, "state"), *m;
	size_t len = *path ? strcspn(path + 1, "/") : 0, mark;
	char name[96];
	struct nearest n;
	int r;

	(void)snprintf(name, sizeof(name), "%.*s", (int)(len < 90 ? len : 90), *path ? path + 1 : "");
	nearest_init(&n, name);
	for (m = state ? state->child : NULL; m; m = m->next) {
		if (*path && strcmp(m->string, name) == 0)
			return 0;
		nearest_offer(&n, m->string);
	}
	mark = wr_enter(c, "path");
	r = wr_fail(c, -EPROTO,
		    *path ? "service \"%s\" has no collection \"%s\""
			  : "the path must start with a collection of service \"%s\"",
		    s->name, name);
	if (n.best)
		diag_fix(c->d, "did you mean \"/%s\"?", n.best);
	else
		diag_fix(c->d, "write \"/COLLECTION\", \"/COLLECTION/ROW-ID\" or \"/COLLECTION/ROW-ID/field\"");
	wr_leave(c, mark);
	return r;
}

/* A sum, and a count, are over something that can hold several. */
static int
check_state_shape(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *sum = cJSON_GetObjectItemCaseSensitive(v, "sum");
	const char *path = cJSON_GetObjectItemCaseSensitive(v, "path")->valuestring;
	size_t mark;
	int r;

	if (!sum || !strchr(path + 1, '/'))
		return 0;
	mark = wr_enter(c, "path");
	r = wr_fail(c, -EPROTO, "a sum is over the rows of a collection");
	diag_fix(c->d, "end the path with the collection: \"%.*s\"", (int)(1 + strcspn(path + 1, "/")), path);
	wr_leave(c, mark);
	return r;
}

/* Triggers stand under a service of their own. */
static bool
is_of_triggers(const struct wr *c, const struct world_check *k, const struct cJSON *name)
{
	return k->kind != CHECK_STATE && cJSON_IsString(name) && strcmp(name->valuestring, "trigger") == 0 &&
	       cJSON_GetArraySize(c->w->triggers) > 0;
}

static int
check_trigger(struct wr *c, const struct cJSON *v)
{
	const struct cJSON *route = cJSON_GetObjectItemCaseSensitive(v, "route");
	struct nearest n;
	size_t mark;
	int r;

	if (!route)
		return 0;
	nearest_init(&n, route->valuestring);
	if (world_trigger_find(c->w, route->valuestring, NULL, &n))
		return 0;
	mark = wr_enter(c, "route");
	r = wr_fail(c, -EPROTO, "there is no trigger \"%s\"", route->valuestring);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name the id of a trigger of workflow.trigger");
	wr_leave(c, mark);
	return r;
}

/* Without a service there is nothing to call. */
static int
check_any_call(struct wr *c, const struct world_check *k)
{
	const struct cJSON *exactly = cJSON_GetObjectItemCaseSensitive(k->json, "exactly");
	int r;

	if (c->w->services_len > 0 || k->kind != CHECK_CALLS || (exactly && exactly->valueint == 0) ||
	    (!exactly && !cJSON_GetObjectItemCaseSensitive(k->json, "at_least") &&
	     cJSON_GetObjectItemCaseSensitive(k->json, "at_most")))
		return 0;
	r = wr_fail(c, -EPROTO, "the world has no service, so there is never a call");
	diag_fix(c->d, "add a service that the workflow calls, or take the check out");
	return r;
}

/* What a selector names. */
static int
check_selector(struct wr *c, const struct world_check *k, const struct cJSON *v)
{
	const struct cJSON *name = cJSON_GetObjectItemCaseSensitive(v, "service");
	const struct world_service *s = NULL;
	int r = 0;

	if (is_of_triggers(c, k, name))
		return check_trigger(c, v);
	if (name)
		r = world_check_service(c, name->valuestring, &s);
	if (r == 0)
		r = world_check_route(c, v, s);
	if (r == 0)
		r = check_verdict(c, v, s);
	return r;
}

static int
check_state_names(struct wr *c, const struct cJSON *v)
{
	const struct world_service *s = NULL;
	int r = world_check_service(c, cJSON_GetObjectItemCaseSensitive(v, "service")->valuestring, &s);

	if (r == 0 && s)
		r = check_state_path(c, v, s);
	return r < 0 ? r : check_state_shape(c, v);
}

static int
check_fault(struct wr *c, const struct cJSON *fault)
{
	const struct cJSON *f, *id;
	struct nearest n;
	size_t mark;
	int r;

	nearest_init(&n, fault->valuestring);
	cJSON_ArrayForEach(f, c->w->faults)
	{
		id = cJSON_GetObjectItemCaseSensitive(f, "id");
		if (strcmp(id->valuestring, fault->valuestring) == 0)
			return 0;
		nearest_offer(&n, id->valuestring);
	}
	mark = wr_enter(c, "fault");
	r = wr_fail(c, -EPROTO, "there is no fault \"%s\"", fault->valuestring);
	if (n.best)
		diag_fix(c->d, "did you mean \"%s\"?", n.best);
	else
		diag_fix(c->d, "name a fault of this world");
	wr_leave(c, mark);
	return r;
}

static int
check_order(struct wr *c, const struct world_check *k)
{
	static const char *const names[] = { "first", "then" };
	const struct cJSON *v, *fault;
	size_t i, mark;
	int r = 0;

	for (i = 0; i < 2 && r == 0; i++) {
		v = cJSON_GetObjectItemCaseSensitive(k->json, names[i]);
		fault = cJSON_GetObjectItemCaseSensitive(v, "fault");
		mark = wr_enter(c, names[i]);
		r = fault ? check_fault(c, fault) : check_selector(c, k, v);
		wr_leave(c, mark);
	}
	return r;
}

static int
check_relation(struct wr *c, const struct cJSON *check)
{
	static const char *const names[] = { "left", "right" };
	const struct cJSON *v;
	size_t i, mark;
	int r = 0;

	for (i = 0; i < 2 && r == 0; i++) {
		v = cJSON_GetObjectItemCaseSensitive(check, names[i]);
		mark = wr_enter(c, names[i]);
		if (!cJSON_GetObjectItemCaseSensitive(v, "value"))
			r = check_state_names(c, v);
		wr_leave(c, mark);
	}
	return r;
}

/* An exception that names what does not exist would let its own mistake through unseen. */
static int
check_exceptions(struct wr *c, const struct cJSON *check)
{
	const struct cJSON *v, *m;
	const struct world_service *s = NULL;
	size_t i = 0, k, len, outer = wr_enter(c, "except"), mark;
	const char *path;
	int r = 0;

	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(check, "except"))
	{
		mark = wr_enter_index(c, i++);
		path = strchr(v->valuestring, ':') + 1;
		len = (size_t)(path - 1 - v->valuestring);
		for (k = 0, s = NULL; k < c->w->services_len; k++)
			if (strlen(c->w->services[k].name) == len &&
			    memcmp(c->w->services[k].name, v->valuestring, len) == 0)
				s = &c->w->services[k];
		if (!s) {
			r = wr_fail(c, -EPROTO, "there is no service \"%.*s\"", (int)len, v->valuestring);
			diag_fix(c->d, "name a service of this world before the colon");
			wr_leave(c, mark);
			break;
		}
		len = strcspn(path + 1, "/");
		m = cJSON_GetObjectItemCaseSensitive(s->json, "state");
		for (m = m ? m->child : NULL; m; m = m->next)
			if (strlen(m->string) == len && memcmp(m->string, path + 1, len) == 0)
				break;
		if (!m && !(len == 1 && path[1] == '*')) {
			r = wr_fail(c, -EPROTO, "service \"%s\" has no collection \"%.*s\"", s->name, (int)len,
				    path + 1);
			diag_fix(c->d, "name a collection of its \"state\" after the slash");
		}
		wr_leave(c, mark);
		if (r < 0)
			break;
	}
	wr_leave(c, outer);
	return r;
}

static int
check_any_fault(struct wr *c)
{
	int r;

	if (c->w->faults && c->w->faults->child)
		return 0;
	r = wr_fail(c, -EPROTO, "the world has no fault, so there is nothing to recover from");
	diag_fix(c->d, "declare one under \"faults\", or take the check out");
	return r;
}

static int
check_any_service(struct wr *c)
{
	int r;

	if (c->w->services_len > 0)
		return 0;
	r = wr_fail(c, -EPROTO, "the world has no service, so there is never a write");
	diag_fix(c->d, "add a service that the workflow calls, or take the check out");
	return r;
}

/* What one check names. */
static int
check_names(struct wr *c, const struct world_check *k)
{
	int r;

	switch (k->kind) {
	case CHECK_CALLS:
	case CHECK_NEVER:
		r = check_selector(c, k, k->json);
		return r < 0 ? r : check_any_call(c, k);
	case CHECK_ORDER:
		return check_order(c, k);
	case CHECK_STATE:
		return check_state_names(c, k->json);
	case CHECK_RELATION:
		return check_relation(c, k->json);
	case CHECK_UNCHANGED:
		return check_exceptions(c, k->json);
	case CHECK_RECOVERS:
	case CHECK_NO_DUPLICATES:
	case CHECK_NO_LOST:
	case CHECK_IDEMPOTENT:
		if ((k->kind == CHECK_RECOVERS && (r = check_any_fault(c)) < 0) || (r = check_any_service(c)) < 0)
			return r;
		return check_selector(c, k, k->json);
	case CHECK_EXIT:
	case CHECK_STDOUT:
	case CHECK_STDERR:
	case CHECK_PROCESS:
	case CHECK_NO_EGRESS:
	case CHECK_JQ:
		break;
	}
	return 0;
}

int
world_check_references(struct wr *c)
{
	size_t i, outer, inner;
	int r = 0;

	outer = wr_enter(c, "checks");
	for (i = 0; i < c->w->checks_len && r == 0; i++) {
		inner = wr_enter_index(c, i);
		r = check_names(c, &c->w->checks[i]);
		wr_leave(c, inner);
	}
	wr_leave(c, outer);
	return r;
}
