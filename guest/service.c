/* SPDX-License-Identifier: GPL-2.0-or-later
 * service.c - the TWINS JSON as a whole: the run, its limits, its secrets, and each service but for its routes.  The host
 * has checked the world already; this checks again whatever the twins rely on. */
#include "guest/service.h"

#include <cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guest/llm.h"
#include "proto/cursor.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#define ARENA_MAX (256u << 20)
#define DUMP_MAX (RECORD_MAX - 65536u) /* bytes of one service's state: it travels as one record */

/* see service.h */
int
reading_fail(struct reading *g, int err, const char *format, ...)
{
	int n = 0;
	va_list ap;

	if (g->error[0] != '\0')
		return err;
	if (g->pointer.len > 0)
		n = snprintf(g->error, g->size, "%.*s: ", (int)(g->pointer.len < 300 ? g->pointer.len : 300),
			     g->pointer.at);
	if (n < 0 || (size_t)n >= g->size)
		n = 0;
	va_start(ap, format);
	vsnprintf(g->error + n, g->size - (size_t)n, format, ap);
	va_end(ap);
	return err;
}

/* see service.h */
const struct cJSON *
reading_enter(struct reading *g, const struct cJSON *object, const char *name)
{
	const struct cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

	if (member != NULL) {
		buf_text(&g->pointer, "/");
		buf_text(&g->pointer, name);
	}
	return member;
}

/* see service.h */
int
reading_check_keys(struct reading *g, const struct cJSON *object, const char *allowed)
{
	if (!cJSON_IsObject(object))
		return reading_fail(g, -EPROTO, "an object is wanted here");
	for (const struct cJSON *c = object->child; c != NULL; c = c->next) {
		size_t len = strlen(c->string);
		const char *hit = allowed;

		while (len > 0 && (hit = strstr(hit, c->string)) != NULL &&
		       !((hit == allowed || hit[-1] == ' ') && (hit[len] == ' ' || hit[len] == '\0')))
			hit++;
		if (hit == NULL || len == 0)
			return reading_fail(g, -EPROTO, "key \"%.60s\" is not supported by this version", c->string);
	}
	return 0;
}

static int
read_number(struct reading *g, const struct cJSON *object, const char *name, double max, double *out)
{
	const struct cJSON *n = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0 && n->valuedouble <= max))
		return reading_fail(g, -EPROTO, "\"%s\" must be a number from 0 to %.0f", name, max);
	*out = n->valuedouble;
	return 0;
}

/* Rows move from the document into the collection: they exist once. */
static int
read_rows(struct reading *g, struct collection *c, struct cJSON *rows)
{
	size_t len = g->pointer.len, i = 0;
	int r = 0;

	if (!cJSON_IsArray(rows))
		return reading_fail(g, -EPROTO, "a collection is an array of rows");
	for (; rows->child != NULL && r == 0; i++) {
		struct cJSON *row = rows->child;
		const struct cJSON *id = cJSON_GetObjectItemCaseSensitive(row, "id");
		char name[STATE_ID_MAX + 1];
		struct row *made;

		g->pointer.len = len;
		buf_format(&g->pointer, "/%zu", i);
		if (!cJSON_IsObject(row) || !cJSON_IsString(id) || id->valuestring[0] == '\0' ||
		    strlen(id->valuestring) > STATE_ID_MAX)
			return reading_fail(g, -EPROTO, "a row is an object with a string \"id\" of 1 to %u bytes",
					    STATE_ID_MAX);
		memcpy(name, id->valuestring, strlen(id->valuestring) + 1);
		r = state_create(&g->service->state, c, name, cJSON_DetachItemViaPointer(rows, row), &made);
		state_keep(&g->service->state);
		if (r == -EEXIST)
			return reading_fail(g, r, "a second row with id \"%.100s\"", name);
		if (r == -ENOSPC)
			return reading_fail(
				g, r, "the initial state is larger than limits.state_bytes, or than 16 MiB of JSON");
	}
	g->pointer.len = len;
	return r;
}

static int
read_state(struct reading *g, const struct cJSON *json)
{
	const struct cJSON *state, *variables;
	size_t len = g->pointer.len, inner;
	int r = 0;

	variables = reading_enter(g, json, "variables");
	if (variables != NULL) {
		if (!cJSON_IsObject(variables))
			return reading_fail(g, -EPROTO, "variables are an object");
		for (const struct cJSON *c = variables->child; c != NULL && r == 0; c = c->next)
			r = state_set(&g->service->state, c->string, cJSON_Duplicate(c, true));
		state_keep(&g->service->state);
	}
	g->pointer.len = len;
	state = reading_enter(g, json, "state");
	if (state == NULL || r < 0)
		return r;
	if (!cJSON_IsObject(state))
		return reading_fail(g, -EPROTO, "state is an object of collections");
	inner = g->pointer.len;
	for (const struct cJSON *c = state->child; c != NULL && r == 0; c = c->next) {
		struct collection *made;

		buf_text(&g->pointer, "/");
		buf_text(&g->pointer, c->string);
		made = c->string[0] == '\0' ? NULL : state_add_collection(&g->service->state, c->string);
		if (made == NULL)
			return reading_fail(g, -EPROTO, "a collection's name has 1 to %u bytes and stands once",
					    STATE_NAME_MAX);
		r = read_rows(g, made, cJSON_GetObjectItemCaseSensitive(state, c->string));
		if (r == 0)
			g->pointer.len = inner;
	}
	return r;
}

static int
read_hosts(struct reading *g, const struct cJSON *json)
{
	const struct cJSON *hosts = reading_enter(g, json, "hosts");
	struct service *s = g->service;

	if (!cJSON_IsArray(hosts) || hosts->child == NULL)
		return reading_fail(g, -EPROTO, "hosts is an array of at least one name");
	s->hosts = arena_alloc(&g->world->arena, (size_t)cJSON_GetArraySize(hosts) * sizeof(*s->hosts));
	if (s->hosts == NULL)
		return -ENOMEM;
	for (const struct cJSON *h = hosts->child; h != NULL; h = h->next) {
		if (!cJSON_IsString(h) || h->valuestring[0] == '\0' || strlen(h->valuestring) > PLAN_HOST_NAME_MAX)
			return reading_fail(g, -EPROTO, "a host is a name of 1 to %u bytes", PLAN_HOST_NAME_MAX);
		s->hosts[s->hosts_len++] = h->valuestring;
	}
	return 0;
}

static int
read_auth(struct reading *g, const struct cJSON *json)
{
	static const char *const schemes[] = { "", "bearer", "basic", "header" };
	const struct cJSON *auth = reading_enter(g, json, "auth"), *scheme, *header, *accept;
	struct service *s = g->service;
	int r;

	if (auth == NULL)
		return 0;
	if ((r = reading_check_keys(g, auth, "scheme header accept")) < 0)
		return r;
	scheme = cJSON_GetObjectItemCaseSensitive(auth, "scheme");
	header = cJSON_GetObjectItemCaseSensitive(auth, "header");
	accept = cJSON_GetObjectItemCaseSensitive(auth, "accept");
	for (size_t i = AUTH_BEARER; i <= AUTH_HEADER && cJSON_IsString(scheme); i++)
		if (strcmp(scheme->valuestring, schemes[i]) == 0)
			s->auth = (enum auth_scheme)i;
	if (s->auth == AUTH_NONE)
		return reading_fail(g, -EPROTO, "scheme must be bearer, basic or header");
	if ((s->auth == AUTH_HEADER) != cJSON_IsString(header))
		return reading_fail(g, -EPROTO, "scheme header, and no other, needs \"header\", a name");
	if (!cJSON_IsString(accept) || accept->valuestring[0] == '\0')
		return reading_fail(g, -EPROTO, "accept must be a string that is not empty");
	s->accept = accept->valuestring;
	if (s->auth == AUTH_HEADER) {
		char *name = arena_copy(&g->world->arena, header->valuestring, strlen(header->valuestring));

		if (name == NULL)
			return -ENOMEM;
		for (char *c = name; *c != '\0'; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c | 0x20);
		s->auth_header = name;
	}
	return 0;
}

static bool
is_text(const struct cJSON *v, const char *text)
{
	return cJSON_IsString(v) && strcmp(v->valuestring, text) == 0;
}

static int
read_service(struct reading *g, const struct cJSON *json)
{
	struct service *s = g->service;
	const struct cJSON *name, *kind, *profile, *unmatched, *routes;
	size_t len = g->pointer.len;
	bool is_404;
	int r;

	if ((r = reading_check_keys(
		     g, json,
		     "name kind hosts port tls profile auth state variables routes idempotency rate_limit "
		     "unmatched events script validate")) < 0)
		return r;
	name = cJSON_GetObjectItemCaseSensitive(json, "name");
	kind = cJSON_GetObjectItemCaseSensitive(json, "kind");
	profile = cJSON_GetObjectItemCaseSensitive(json, "profile");
	unmatched = cJSON_GetObjectItemCaseSensitive(json, "unmatched");
	if (!cJSON_IsString(name) || name->valuestring[0] == '\0')
		return reading_fail(g, -EPROTO, "a service needs a name");
	if (!is_text(kind, "http") && !is_text(kind, "llm"))
		return reading_fail(g, -EPROTO, "kind must be http or llm");
	s->tls = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "tls"));
	is_404 = unmatched != NULL &&
		 (cJSON_IsNumber(unmatched) ? unmatched->valueint == 404 : is_text(unmatched, "404"));
	if (unmatched != NULL && !is_404 && !is_text(unmatched, "fail"))
		return reading_fail(g, -EPROTO, "unmatched must be fail or 404");
	if (profile != NULL && (!cJSON_IsString(profile) || profile_of(profile->valuestring, &s->profile) < 0))
		return reading_fail(g, -EPROTO,
				    "profile must be generic, stripe/v1, github, slack, openai or anthropic");
	s->name = name->valuestring;
	s->unmatched_fails = !is_404;
	if ((r = read_hosts(g, json)) < 0)
		return r;
	g->pointer.len = len;
	if ((r = read_auth(g, json)) < 0)
		return r;
	g->pointer.len = len;
	if ((r = read_state(g, json)) < 0)
		return r;
	g->pointer.len = len;
	if ((r = events_read(g, json)) < 0)
		return r;
	g->pointer.len = len;
	routes = reading_enter(g, json, "routes");
	if (routes != NULL && (r = routes_read(g, routes)) < 0)
		return r;
	g->pointer.len = len;
	if (is_text(kind, "llm") && (r = llm_read(g, json)) < 0)
		return r;
	g->pointer.len = len;
	r = idempotency_read(g, json);
	return r < 0 ? r : rate_limit_read(g, json);
}

static int
read_run(struct reading *g)
{
	struct world *w = g->world;
	const struct cJSON *run = cJSON_GetObjectItemCaseSensitive(w->doc, "run");
	const struct cJSON *limits = cJSON_GetObjectItemCaseSensitive(w->doc, "limits");
	double start = 0, operations = 0, bytes = 0;
	int r;

	if ((r = reading_check_keys(g, w->doc, "run limits secrets services faults workflow")) < 0 ||
	    (r = read_number(g, run, "seed", 9007199254740992.0, &w->seed)) < 0 ||
	    (r = read_number(g, run, "start_ms", 9007199254740992.0, &start)) < 0 ||
	    (r = read_number(g, limits, "operations", 4294967295.0, &operations)) < 0 ||
	    (r = read_number(g, limits, "state_bytes", 9007199254740992.0, &bytes)) < 0)
		return r;
	w->seed_exact = (uint64_t)w->seed;
	w->start_ms = (uint64_t)start;
	w->operations_max = (uint64_t)operations;
	w->records_rows = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "rows"));
	w->budget.max = (size_t)bytes;
	if ((r = twin_clock_read(g, cJSON_GetObjectItemCaseSensitive(run, "clock"), start, &w->clock)) < 0)
		return r;
	r = mask_init(&w->mask, cJSON_GetObjectItemCaseSensitive(w->doc, "secrets"), &w->arena);
	return r < 0 ? reading_fail(g, r, "secrets: an object of names and strings is wanted") : 0;
}

static int
read_service_list(struct reading *g)
{
	struct world *w = g->world;
	const struct cJSON *services = reading_enter(g, w->doc, "services");
	size_t len = g->pointer.len, i = 0;

	if (!cJSON_IsArray(services))
		return reading_fail(g, -EPROTO, "services must be an array of services");
	w->services_len = (size_t)cJSON_GetArraySize(services);
	if (w->services_len == 0)
		return 0; /* a workflow that calls nobody */
	if (w->services_len > PLAN_SERVICES_MAX)
		return reading_fail(g, -EMSGSIZE, "more than %u services", PLAN_SERVICES_MAX);
	w->services = calloc(w->services_len, sizeof(*w->services));
	if (w->services == NULL) {
		w->services_len = 0;
		return -ENOMEM;
	}
	for (i = 0; i < w->services_len; i++) {
		w->services[i].index = i;
		w->services[i].records_rows = w->records_rows;
		state_init(&w->services[i].state, &w->budget, DUMP_MAX);
	}
	i = 0;
	for (const struct cJSON *c = services->child; c != NULL; c = c->next, i++) {
		int r;

		buf_format(&g->pointer, "/%zu", i);
		g->service = &w->services[i];
		if ((r = read_service(g, c)) < 0)
			return r;
		g->pointer.len = len;
	}
	return 0;
}

/* A workflow names services, so it comes after them. */
static int
read_services(struct reading *g)
{
	int r = read_service_list(g);

	g->pointer.len = 0;
	return r == 0 ? workflow_read(g) : r;
}

/* see service.h */
int
world_read(struct world *w, const char *text, size_t len, const uint64_t hash_key[static 2], char *error, size_t size)
{
	struct reading g = { .world = w, .error = error, .size = size };
	const struct cJSON *faults;
	struct json_scan scan;
	int r;

	*w = (struct world){ .budget = { .key = { hash_key[0], hash_key[1] } } };
	arena_init(&w->arena, ARENA_MAX);
	buf_init(&g.pointer, 1u << 20);
	error[0] = '\0';
	r = json_scan(text, len, JSON_DEPTH_MAX, &scan);
	if (r < 0) {
		reading_fail(&g, r, "%s at %s, byte %zu", scan.problem, scan.pointer, scan.offset);
		goto out;
	}
	r = -ENOMEM;
	w->doc = cJSON_ParseWithLength(text, len);
	if (w->doc == NULL)
		goto out;
	r = read_run(&g);
	if (r == 0)
		r = read_services(&g);
	if (r == 0) {
		g.pointer.len = 0;
		faults = reading_enter(&g, w->doc, "faults");
		r = faults == NULL ? 0 : faults_read(&g, faults);
	}
out:
	if (r < 0)
		reading_fail(&g, r, "%s",
			     r == -ENOMEM     ? "out of memory"
			     : r == -EMSGSIZE ? "nested too deep"
					      : "cannot be read");
	buf_wipe(&g.pointer);
	return r;
}

/* see service.h */
void
world_free(struct world *w)
{
	for (size_t i = 0; i < w->services_len; i++)
		state_wipe(&w->services[i].state);
	for (size_t i = 0; i < w->services_len; i++)
		idempotency_wipe(&w->services[i].idempotency);
	for (size_t i = 0; i < w->services_len; i++)
		draws_wipe(&w->services[i].draws);
	for (size_t i = 0; i < w->services_len; i++)
		if (w->services[i].llm != NULL)
			llm_wipe(w->services[i].llm);
	free(w->services);
	faults_wipe(&w->faults);
	arena_wipe(&w->arena);
	cJSON_Delete(w->doc);
	*w = (struct world){ 0 };
}
