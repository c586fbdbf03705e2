/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_writes.c - see check_writes.h: which calls are one logical call, what each of them did, and what its client learned. */
#include "host/check_writes.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/grow.h"
#include "host/json.h"

#define TEXT_SIZE 2048u

struct check_writes *
check_writes_new(const struct world *w)
{
	struct check_writes *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->w = w;
	t->service_ok = calloc(w->services_len + 1, sizeof(*t->service_ok));
	if (t->service_ok)
		return t;
	free(t);
	return NULL;
}

void
check_writes_free(struct check_writes *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->routes_len; i++)
		free(t->routes[i]);
	free(t->routes);
	free(t->calls);
	free(t->logical);
	free(t->places);
	free(t->rows);
	free(t->service_ok);
	digest_map_wipe(&t->by_key);
	digest_map_wipe(&t->by_body);
	digest_map_wipe(&t->place_map);
	digest_map_wipe(&t->row_map);
	digest_map_wipe(&t->id_map);
	digest_map_wipe(&t->route_map);
	free(t);
}

/* Room for one more element, zeroed.  NULL: no memory, and the tracker has failed. */
static void *
one_more(struct check_writes *t, void *list, size_t *len, size_t *size, size_t width)
{
	void *p = grow_by_one(list, len, size, width);

	t->failed = t->failed || !p;
	return p;
}

/* The number of texts joined by bytes 0, which *count numbers from 1 when it is new.  NULL: no memory. */
static uint32_t *
number_of(struct check_writes *t, struct digest_map *m, const char *const *parts, size_t len, bool *added)
{
	char buf[TEXT_SIZE], *text = buf;
	size_t i, n = 0, size = 0;
	uint32_t *at;

	for (i = 0; i < len; i++)
		size += (parts[i] ? strlen(parts[i]) : 0) + 1;
	if (size > sizeof(buf) && !(text = malloc(size))) {
		t->failed = true;
		return NULL;
	}
	for (i = 0; i < len; i++) {
		size_t part = parts[i] ? strlen(parts[i]) : 0;

		memcpy(text + n, parts[i] ? parts[i] : "", part);
		n += part;
		text[n++] = '\0';
	}
	at = digest_map_add(m, text, n, added);
	if (!at)
		t->failed = true;
	if (text != buf)
		free(text);
	return at;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------- */

/* The index of a row, or with id NULL of the whole collection, from 1; 0: no memory. */
static uint32_t
row_of(struct check_writes *t, const char *service, const char *collection, const char *id)
{
	const char *parts[3] = { service, collection, id };
	uint32_t whole = id ? row_of(t, service, collection, NULL) : 0, *at;
	bool added;
	void *p;

	at = number_of(t, &t->row_map, parts, id ? 3 : 2, &added);
	if (!at || !added)
		return at ? *at : 0;
	p = one_more(t, t->rows, &t->rows_len, &t->rows_size, sizeof(*t->rows));
	if (!p)
		return 0;
	t->rows = p;
	t->rows[t->rows_len - 1].collection = whole;
	*at = (uint32_t)t->rows_len;
	return *at;
}

/* The first two tokens of a pointer, unescaped.  False: it has no second, or one that is too long for a row. */
static bool
split(const char *pointer, char collection[static 80], char id[static 300])
{
	char *out = collection;
	size_t n = 0, max = 80;
	const char *p;

	if (*pointer != '/')
		return false;
	for (p = pointer + 1;; p++) {
		char c = *p;

		if (c == '\0' || c == '/') {
			out[n] = '\0';
			if (out == id || c == '\0')
				return out == id;
			out = id;
			n = 0;
			max = 300;
			continue;
		}
		if (c == '~' && (p[1] == '0' || p[1] == '1'))
			c = *++p == '0' ? '~' : '/';
		if (n + 1 == max)
			return false;
		out[n++] = c;
	}
}

/* Notes one effect.  True: it adds something each time it is had; false: it puts the same there again. */
static bool
effect_add(struct check_writes *t, struct call_seen *c, const char *service, const cJSON *effect)
{
	const cJSON *v = effect->child;
	const char *verb = v && v->string ? v->string : "", *pointer = v && cJSON_IsString(v) ? v->valuestring : "";
	char collection[80], id[300];
	const char *parts[2] = { service, id };
	bool added;
	uint32_t row, *at;

	if (split(pointer, collection, id) && (row = row_of(t, service, collection, id))) {
		t->rows[row - 1].last = c->n + 1;
		if (!t->rows[row - 1].first)
			t->rows[row - 1].first = c->n + 1;
		if (t->rows[row - 1].collection)
			t->rows[t->rows[row - 1].collection - 1].last = c->n + 1;
		t->rows[row - 1].exists = strcmp(verb, "delete") != 0;
		if (!c->row)
			c->row = row;
		if ((at = number_of(t, &t->id_map, parts, 2, &added)))
			*at = row;
	}
	return strcmp(verb, "create") == 0 || strcmp(verb, "increment") == 0 || strcmp(verb, "append") == 0;
}

uint32_t
check_writes_row(const struct check_writes *t, size_t s, const char *collection, const char *id)
{
	const char *service = t->w->services[s].name;
	char text[800];
	int n = id ? snprintf(text, sizeof(text), "%s%c%s%c%s", service, 0, collection, 0, id)
		   : snprintf(text, sizeof(text), "%s%c%s", service, 0, collection);
	uint32_t *at = n > 0 && (size_t)n < sizeof(text) ? digest_map_find(&t->row_map, text, (size_t)n + 1) : NULL;

	return at ? *at : 0;
}

bool
check_writes_read_after(const struct check_writes *t, uint32_t row, uint32_t n)
{
	const struct row_seen *r = row ? &t->rows[row - 1] : NULL;

	return r && (r->read > n + 1 || (r->collection && t->rows[r->collection - 1].read > n + 1));
}

void
check_writes_rests(const struct check_writes *t, const char *where, struct check_result *r)
{
	const char *path = where + strcspn(where, "/");
	char collection[80], id[300], text[100];
	bool whole = *path == '\0' || strchr(path + 1, '/') == NULL;
	uint32_t row = 0, of;
	size_t s, i;

	for (s = 0; t && s < t->w->services_len; s++)
		if (strlen(t->w->services[s].name) == (size_t)(path - where) &&
		    memcmp(t->w->services[s].name, where, (size_t)(path - where)) == 0)
			break;
	if (!t || s == t->w->services_len)
		return;
	if (whole && *path) {
		snprintf(text, sizeof(text), "%s", path + 1);
		row = check_writes_row(t, s, text, NULL);
	} else if (!whole && split(path, collection, id)) {
		row = check_writes_row(t, s, collection, id);
	}
	for (i = 0; row && i < t->calls_len && r->rests_len + 2 < CHECK_RESTS_MAX; i++) {
		of = (t->calls[i].flags & CALL_EFFECT) ? t->calls[i].row : 0;
		if (of && (of == row || (whole && t->rows[of - 1].collection == row)))
			check_rests_op(r, t->calls[i].n);
	}
	if (row && t->rows[row - 1].first)
		check_rests_op(r, t->rows[row - 1].first - 1);
	if (row && t->rows[row - 1].last)
		check_rests_op(r, t->rows[row - 1].last - 1);
}

/* The route of the world that has the id. */
static const cJSON *
route_json(const struct world_service *s, const char *id)
{
	const cJSON *route;
	const char *own, *resource;
	size_t n;

	cJSON_ArrayForEach(route, json_get(s->json, "routes"))
	{
		own = json_get_text(route, "id");
		resource = json_get_text(route, "resource");
		n = resource ? strlen(resource) : 0;
		if (own ? strcmp(own, id) == 0 : resource && strncmp(id, resource, n) == 0 && id[n] == '.')
			return route;
	}
	return NULL;
}

/* Shows the row, when the call names its id, or every row of the collection, when it names none. */
static void
shows(struct check_writes *t, uint32_t n, size_t s, const char *collection, const cJSON *request)
{
	const cJSON *v;
	bool named = false;
	uint32_t row;

	cJSON_ArrayForEach(v, json_get(request, "path"))
	{
		named = true;
		if (cJSON_IsString(v) && (row = check_writes_row(t, s, collection, v->valuestring)))
			t->rows[row - 1].read = n + 1;
	}
	if (!named && (row = check_writes_row(t, s, collection, NULL)))
		t->rows[row - 1].read = n + 1;
}

static void
read_add(struct check_writes *t, uint32_t n, size_t s, const cJSON *op)
{
	const char *id = json_get_text(op, "route");
	const cJSON *route = id ? route_json(&t->w->services[s], id) : NULL, *effect;
	const char *resource = json_get_text(route, "resource"), *found;

	if (resource)
		shows(t, n, s, resource, json_get(op, "request"));
	cJSON_ArrayForEach(effect, json_get(route, "do"))
	{
		if ((found = json_get_text(effect, "find")))
			shows(t, n, s, found, json_get(op, "request"));
	}
}

/* The rows whose ids stand in what a webhook told.  JSON of a record is at most JSON_DEPTH_MAX deep. */
static void
told_add(struct check_writes *t, uint32_t n, const char *service, const cJSON *v)
{
	const cJSON *sub;
	char text[400];
	uint32_t *at;
	int len;

	if (cJSON_IsString(v)) {
		len = snprintf(text, sizeof(text), "%s%c%s", service, 0, v->valuestring);
		at = len > 0 && (size_t)len < sizeof(text) ? digest_map_find(&t->id_map, text, (size_t)len + 1) : NULL;
		if (at)
			t->rows[*at - 1].read = n + 1;
	}
	cJSON_ArrayForEach(sub, v)
	{
		told_add(t, n, service, sub);
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static uint32_t
logical_new(struct check_writes *t, uint32_t n, bool keyed)
{
	void *p = one_more(t, t->logical, &t->logical_len, &t->logical_size, sizeof(*t->logical));

	if (!p)
		return 0;
	t->logical = p;
	t->logical[t->logical_len - 1].first = n + 1;
	t->logical[t->logical_len - 1].keyed = keyed;
	return (uint32_t)t->logical_len - 1;
}

/* Which logical call it is: that of its key, else of an equal one.  A call under a new key is an equal one sent again when that was
 * never acknowledged: else it is one that the workflow wants besides. */
static void
find_logical(struct check_writes *t, struct call_seen *c, const cJSON *op, const char *service)
{
	const cJSON *request = json_get(op, "request");
	const char *key = json_get_text(op, "key"), *sha = json_get_text(json_get(request, "body"), "sha256");
	const char *parts[4] = { service, json_get_text(request, "method"), json_get_text(request, "target"), key };
	bool fresh = true, new_key = true;
	uint32_t *by_key = NULL, *by_body;

	if (key && !(by_key = number_of(t, &t->by_key, parts, 4, &new_key)))
		return;
	parts[3] = sha;
	if (!(by_body = number_of(t, &t->by_body, parts, 4, &fresh)))
		return;
	if (!new_key) {
		c->logical = *by_key;
	} else if (!fresh && (!key || t->logical[*by_body].last_ok == 0)) {
		c->logical = *by_body;
		if (key && t->logical[c->logical].keyed)
			c->flags |= CALL_OTHER_KEY;
	} else {
		c->logical = logical_new(t, c->n, key != NULL);
	}
	if (by_key)
		*by_key = c->logical;
	*by_body = c->logical;
}

/* What a call is of that has no whole request: of its target, or only of its service. */
static void
find_place(struct check_writes *t, struct call_seen *c, const cJSON *op, const char *service)
{
	const cJSON *request = json_get(op, "request");
	const char *method = json_get_text(request, "method"), *target = json_get_text(request, "target");
	const char *parts[3] = { service, method, target };
	bool added;
	uint32_t *at;
	void *p;

	if (c->flags & CALL_MODEL) {
		parts[1] = "";
		parts[2] = json_get_text(op, "route");
	} else if (!method || !*method) {
		return;
	}
	if (!(at = number_of(t, &t->place_map, parts, 3, &added)))
		return;
	if (added) {
		p = one_more(t, t->places, &t->places_len, &t->places_size, sizeof(*t->places));
		if (!p)
			return;
		t->places = p;
		*at = (uint32_t)t->places_len;
	}
	c->place = *at;
}

static uint16_t
find_route(struct check_writes *t, const char *route)
{
	const char *parts[1] = { route };
	bool added;
	uint32_t *at = number_of(t, &t->route_map, parts, 1, &added);
	void *p;

	if (!at)
		return 0;
	if (added && t->routes_len < UINT16_MAX) {
		p = one_more(t, t->routes, &t->routes_len, &t->routes_size, sizeof(*t->routes));
		if (!p)
			return 0;
		t->routes = p;
		t->routes[t->routes_len - 1] = strdup(route ? route : "");
		t->failed = t->failed || !t->routes[t->routes_len - 1];
		*at = (uint32_t)t->routes_len - 1;
	}
	return (uint16_t)*at;
}

/* A write has its effect once, however often it is sent, when the service keeps its key, or when the method is defined so. */
static void
judge_key(struct call_seen *c, const cJSON *op, bool adds)
{
	const char *key = json_get_text(op, "key"), *verdict = json_get_text(op, "idempotency"),
		   *method = json_get_text(json_get(op, "request"), "method");
	bool defined = method && (strcmp(method, "PUT") == 0 || strcmp(method, "DELETE") == 0);

	if (verdict && strcmp(verdict, "mismatch") == 0)
		c->flags |= CALL_MISMATCH;
	if (defined && !adds)
		return;
	if (!key || !*key)
		c->flags |= CALL_KEYLESS;
	else if (verdict ? strcmp(verdict, "expired") == 0 : (c->flags & CALL_APPLIED) != 0)
		c->flags |= CALL_UNKEPT;
}

/* Whether an effect that adds nothing changed something all the same; where that is not known, it did. */
static bool
changes(const struct check_model *m)
{
	size_t i;

	for (i = 0; m && i < m->touched_len && !m->touched[i].changed; i++)
		;
	return !m || m->broken || i < m->touched_len;
}

static void
effects_add(struct check_writes *t, struct call_seen *c, const cJSON *op, const char *service,
	    const struct check_model *m)
{
	const cJSON *effects = json_get(op, "effects"), *effect;
	struct logical_call *l;
	bool adds = false;

	if (!(c->flags & CALL_APPLIED))
		effects = NULL; /* what is told of it was undone */
	cJSON_ArrayForEach(effect, effects)
	{
		adds = effect_add(t, c, service, effect) || adds;
	}
	if (c->flags & CALL_WRITE)
		judge_key(c, op, adds);
	if (t->failed || !effects || !effects->child)
		return;
	c->flags |= CALL_EFFECT;
	t->effects++;
	if (!t->whole)
		return;
	l = &t->logical[c->logical];
	if (l->effect && (adds || changes(m)))
		c->flags |= CALL_AGAIN;
	if (!l->effect)
		l->effect = c->n + 1;
}

static bool
is_model(const struct world_service *s)
{
	const char *kind = json_get_text(s->json, "kind");

	return kind && strcmp(kind, "llm") == 0;
}

static void
acknowledged(struct check_writes *t, const struct call_seen *c, size_t s, const cJSON *op)
{
	t->logical[c->logical].last_ok = c->n + 1;
	if (c->place)
		t->places[c->place - 1].last_ok = c->n + 1;
	if (s == t->w->services_len)
		return;
	if (!(c->flags & CALL_SENT))
		t->service_ok[s] = c->n + 1;
	if (c->flags & CALL_SENT)
		told_add(t, c->n, t->w->services[s].name, json_get(json_get(json_get(op, "request"), "body"), "json"));
	else if (check_is_reading(op))
		read_add(t, c->n, s, op);
}

static void
flags_of(const struct check_writes *t, struct call_seen *c, size_t s, const cJSON *op)
{
	const cJSON *views = json_get(op, "views"), *fault = json_get(op, "fault");
	const char *service = json_get_text(views, "service"), *client = json_get_text(views, "client"),
		   *kind = json_get_text(op, "kind"), *phase = json_get_text(fault, "phase"),
		   *end = json_get_text(fault, "end"), *method = json_get_text(json_get(op, "request"), "method");

	if (s == t->w->services_len || (kind && strcmp(kind, "webhook") == 0))
		c->flags |= CALL_SENT;
	else if (is_model(&t->w->services[s]))
		c->flags |= CALL_MODEL;
	if (service && strcmp(service, "applied") == 0)
		c->flags |= CALL_APPLIED;
	/* A reply that a fault cut off in order looks whole, and tells nobody that it is. */
	if (client && strcmp(client, "told-ok") == 0 && !(end && strcmp(end, "clean") == 0))
		c->flags |= CALL_OK;
	if (json_get_text(fault, "id"))
		c->flags |= CALL_FAULT;
	if (json_get(fault, "copy"))
		c->flags |= CALL_COPY;
	if ((kind && strcmp(kind, "tcp") == 0) || !method || !*method || (phase && strcmp(phase, "mid-request") == 0))
		c->flags |= CALL_BARE;
	else if (!(c->flags & (CALL_SENT | CALL_MODEL)) && !check_is_reading(op))
		c->flags |= CALL_WRITE;
}

/* Deliveries of one event, or of one trigger, are one logical call. */
static void
find_sent(struct check_writes *t, struct call_seen *c, const cJSON *op, const char *service)
{
	const char *key = json_get_text(op, "key");
	const char *parts[4] = { service, "", json_get_text(op, "route"), key };
	bool fresh;
	uint32_t *at = number_of(t, &t->by_key, parts, 4, &fresh);

	if (!at)
		return;
	if (fresh)
		*at = logical_new(t, c->n, true);
	c->logical = *at;
}

static void
follow(struct check_writes *t, struct call_seen *c, size_t s, const cJSON *op, const struct check_model *m)
{
	const char *service = json_get_text(op, "service");

	c->route = find_route(t, json_get_text(op, "route"));
	if (c->flags & CALL_SENT)
		find_sent(t, c, op, service);
	else
		find_logical(t, c, op, service);
	find_place(t, c, op, service);
	if (t->failed)
		return;
	if (!(c->flags & CALL_SENT))
		effects_add(t, c, op, service, m);
	if (c->flags & CALL_OK)
		acknowledged(t, c, s, op);
}

void
check_writes_add(struct check_writes *t, uint64_t n, const struct cJSON *op, const struct check_model *m)
{
	const char *service = json_get_text(op, "service");
	struct call_seen c = { .n = (uint32_t)n };
	size_t s;
	void *p;

	for (s = 0; s < t->w->services_len; s++)
		if (service && strcmp(t->w->services[s].name, service) == 0)
			break;
	c.service = (uint16_t)s;
	flags_of(t, &c, s, op);
	if (t->whole)
		follow(t, &c, s, op, m);
	else if (!(c.flags & CALL_SENT))
		effects_add(t, &c, op, service, m);
	if (t->failed || (!t->whole && !(c.flags & CALL_EFFECT)))
		return;
	p = one_more(t, t->calls, &t->calls_len, &t->calls_size, sizeof(*t->calls));
	if (!p)
		return;
	t->calls = p;
	t->calls[t->calls_len - 1] = c;
}
