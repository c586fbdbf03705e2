/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence_parse.c - the JSON records of the guest: HELLO, OP, STATE, DENIED.  Everything the host later reads from them is
 * checked here for its type, and names against the world. */
#include <cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/evidence.h"
#include "host/json.h"

static int __attribute__((format(printf, 2, 3))) bad(char *why, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, 320, format, ap);
	va_end(ap);
	return -EPROTO;
}

static cJSON *
take(const char *name, const char *text, size_t len, size_t max, char *why)
{
	char problem[160];
	cJSON *doc = json_take(text, len, max, problem);

	if (!doc)
		bad(why, "guest sent %s that is not JSON: %s", name, problem);
	return doc;
}

int
evidence_parse_hello(const char *text, size_t len, struct cJSON **doc, char why[static 320])
{
	const cJSON *guest;
	uint64_t version;

	*doc = take("HELLO", text, len, 65536, why);
	if (!*doc)
		return -EPROTO;
	guest = json_get(*doc, "guest");
	if (json_get_u64(*doc, "version", FRAME_VERSION_MAX, &version) && version >= FRAME_VERSION_MIN &&
	    json_get_text(guest, "version") && json_is_sha256(json_get_text(guest, "sha256")) &&
	    json_get_text(*doc, "kernel") && json_get_text(*doc, "arch"))
		return 0;
	cJSON_Delete(*doc);
	*doc = NULL;
	return bad(why, "guest sent HELLO without version, guest, kernel or arch");
}

/* The world's own text for a route's name, so that what is kept never points into a record.  Short forms of resources
 * ("orders") stand for orders.list, orders.get, orders.create, orders.update and orders.delete. */
static const char *
route_find(const struct world_service *s, const char *name, char *why)
{
	static const char *const verbs[] = { ".list", ".get", ".create", ".update", ".delete" };
	const cJSON *route;
	const char *id, *resource;
	size_t i, n;

	cJSON_ArrayForEach(route, json_get(s->json, "routes"))
	{
		id = json_get_text(route, "id");
		resource = json_get_text(route, "resource");
		if (id && strcmp(id, name) == 0)
			return id;
		if (id || !resource)
			continue;
		n = strlen(resource);
		for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
			if (strncmp(name, resource, n) == 0 && strcmp(name + n, verbs[i]) == 0)
				return resource;
	}
	if ((id = world_llm_find(s, name)))
		return id;
	bad(why, "guest sent OP with route '%.80s', which service %s does not have", name, s->name);
	return NULL;
}

/* What the twins sent by themselves: the event of a webhook, the id of a trigger. */
static const char *
sent_find(const struct world *w, size_t service, const char *name, char *why)
{
	const char *found = NULL;

	if (name && service == EVIDENCE_TRIGGER)
		found = world_trigger_find(w, name, NULL, NULL);
	else if (name)
		found = world_event_find(w, &w->services[service], name, NULL);
	if (!found)
		bad(why, "guest sent OP of a webhook or trigger '%.80s', which the world does not have",
		    name ? name : "");
	return found;
}

static bool
is_text_or_null(const cJSON *o, const char *name)
{
	const cJSON *v = json_get(o, name);

	return !v || cJSON_IsNull(v) || cJSON_IsString(v);
}

/* words: each followed by a space. */
static bool
is_one_of(const char *word, const char *words)
{
	size_t n = word ? strlen(word) : 0, len;

	for (; n && *words; words += len + 1) {
		len = strcspn(words, " ");
		if (n == len && memcmp(word, words, n) == 0)
			return true;
	}
	return false;
}

static int
op_shape(const cJSON *op, uint64_t n, char *why)
{
	const cJSON *request = json_get(op, "request"), *reply = json_get(op, "reply"),
		    *body = json_get(request, "body");
	const cJSON *effects = json_get(op, "effects"), *effect, *views = json_get(op, "views");
	uint64_t v;

	if (!json_get_u64(op, "n", UINT32_MAX, &v) || v != n)
		return bad(why, "guest sent OP whose n is not %llu", (unsigned long long)n);
	if (!json_get_u64(op, "t_ms", UINT64_MAX, &v) || !json_get_text(op, "service") || !json_get_text(op, "kind"))
		return bad(why, "guest sent OP %llu without t_ms, service or kind", (unsigned long long)n);
	if (!is_text_or_null(op, "route") || !is_text_or_null(op, "key") || !is_text_or_null(op, "idempotency"))
		return bad(why, "guest sent OP %llu whose route, key or idempotency is not text",
			   (unsigned long long)n);
	if (!cJSON_IsBool(json_get(op, "unmatched")))
		return bad(why, "guest sent OP %llu without unmatched", (unsigned long long)n);
	if (strcmp(json_get_text(op, "kind"), "dns") == 0)
		return 0; /* evidence_parse_name has the rest */
	if (!json_get_text(request, "method") || !json_get_text(request, "target"))
		return bad(why, "guest sent OP %llu without request.method or request.target", (unsigned long long)n);
	if (body && !cJSON_IsNull(body) &&
	    (!json_get_u64(body, "bytes", UINT64_MAX, &v) || !json_is_sha256(json_get_text(body, "sha256"))))
		return bad(why, "guest sent OP %llu whose request.body has no bytes or sha256", (unsigned long long)n);
	if (effects && !cJSON_IsNull(effects) && !cJSON_IsArray(effects))
		return bad(why, "guest sent OP %llu whose effects are not a list", (unsigned long long)n);
	cJSON_ArrayForEach(effect, effects)
	{
		if (!cJSON_IsObject(effect))
			return bad(why, "guest sent OP %llu whose effects are not objects", (unsigned long long)n);
	}
	if (reply && !cJSON_IsNull(reply) && !json_get_u64(reply, "status", 999, &v))
		return bad(why, "guest sent OP %llu whose reply has no status", (unsigned long long)n);
	if (!is_one_of(json_get_text(views, "service"), "applied rejected not-reached unknown ") ||
	    !is_one_of(json_get_text(views, "client"), "told-ok told-error told-nothing "))
		return bad(why, "guest sent OP %llu without views", (unsigned long long)n);
	return 0;
}

int
evidence_parse_op(const struct world *w, const char *text, size_t len, uint64_t n, struct cJSON **doc, size_t *service,
		  const char **route, char why[static 320])
{
	const char *name;
	size_t i;
	int r;

	*doc = take("OP", text, len, RECORD_MAX, why);
	if (!*doc)
		return -EPROTO;
	if ((r = op_shape(*doc, n, why)) < 0)
		goto out;
	if (strcmp(json_get_text(*doc, "kind"), "dns") == 0) {
		*service = EVIDENCE_DNS;
		r = evidence_parse_name(w, *doc, n, route, why);
		goto out;
	}
	name = json_get_text(*doc, "service");
	for (i = 0; i < w->services_len; i++)
		if (strcmp(w->services[i].name, name) == 0)
			break;
	if (i == w->services_len && strcmp(name, "trigger") == 0)
		i = EVIDENCE_TRIGGER;
	if (i == w->services_len) {
		r = bad(why, "guest sent OP of service '%.80s', which the world does not have", name);
		goto out;
	}
	*service = i;
	*route = "";
	name = json_get_text(*doc, "route");
	if (i == EVIDENCE_TRIGGER || strcmp(json_get_text(*doc, "kind"), "webhook") == 0) {
		*route = sent_find(w, i, name, why);
		r = *route ? 0 : -EPROTO;
	} else if (name && !(*route = route_find(&w->services[i], name, why)))
		r = -EPROTO;
out:
	if (r < 0) {
		cJSON_Delete(*doc);
		*doc = NULL;
	}
	return r;
}

/* The rows of one collection: objects with an id, no two alike.  The twins write them in the order of their ids. */
static int
state_rows(const char *service, const cJSON *rows, char *why)
{
	const cJSON *row, *id, *before = NULL;

	if (!cJSON_IsArray(rows))
		return bad(why, "guest sent STATE of %s whose '%.80s' is not a list of rows", service, rows->string);
	cJSON_ArrayForEach(row, rows)
	{
		id = json_get(row, "id");
		if (!cJSON_IsObject(row) || (!cJSON_IsString(id) && !cJSON_IsNumber(id)))
			return bad(why, "guest sent STATE of %s whose '%.80s' holds something without an id", service,
				   rows->string);
		if (before && json_equal(before, id))
			return bad(why, "guest sent STATE of %s whose '%.80s' has a row twice", service, rows->string);
		before = id;
	}
	return 0;
}

/* A collection that the world declares and the state lacks would make "nothing is there" true. */
static int
state_collections(const struct world_service *s, const cJSON *collections, char *why)
{
	const cJSON *c;
	int r;

	if (!cJSON_IsObject(collections))
		return bad(why, "guest sent STATE of %s without collections", s->name);
	cJSON_ArrayForEach(c, json_get(s->json, "state"))
	{
		if (!json_get(collections, c->string))
			return bad(why, "guest sent STATE of %s without '%.80s'", s->name, c->string);
	}
	cJSON_ArrayForEach(c, collections)
	{
		if ((r = state_rows(s->name, c, why)) < 0)
			return r;
	}
	return 0;
}

int
evidence_parse_state(const struct world *w, size_t service, const char *text, size_t len, struct cJSON **doc,
		     char why[static 320])
{
	const char *name;
	int r;

	*doc = NULL;
	if (service >= w->services_len)
		return bad(why, "guest sent STATE of service %zu, the world has %zu", service, w->services_len);
	*doc = take("STATE", text, len, RECORD_MAX, why);
	if (!*doc)
		return -EPROTO;
	name = json_get_text(*doc, "service");
	if (!name || strcmp(name, w->services[service].name) != 0)
		r = bad(why, "guest sent STATE %zu that is not of service %s", service, w->services[service].name);
	else
		r = state_collections(&w->services[service], json_get(*doc, "collections"), why);
	if (r < 0) {
		cJSON_Delete(*doc);
		*doc = NULL;
	}
	return r;
}

static bool
denied_row(const cJSON *row)
{
	uint64_t v;

	return json_get_u64(row, "lock", GATE_LOCKS_MAX, &v) && json_get_u64(row, "family", 6, &v) &&
	       json_get_text(row, "protocol") && json_get_text(row, "destination") &&
	       json_get_u64(row, "port", 65535, &v) &&
	       (cJSON_IsNull(json_get(row, "uid")) || json_get_u64(row, "uid", UINT32_MAX, &v)) && /* null: no owner */
	       json_get_text(row, "owner") && json_get_u64(row, "count", UINT64_MAX, &v);
}

int
evidence_parse_denied(const char *text, size_t len, struct cJSON **doc, char why[static 320])
{
	static const char *const names[] = { "workflow", "twins", "others", "kernel" };
	const cJSON *row, *rows;
	uint64_t v;
	size_t i;
	int r = 0;

	*doc = take("DENIED", text, len, RECORD_MAX, why);
	if (!*doc)
		return -EPROTO;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!json_get_u64(json_get(*doc, "total"), names[i], UINT64_MAX, &v))
			r = bad(why, "guest sent DENIED without total.%s", names[i]);
	rows = json_get(*doc, "rows");
	if (!cJSON_IsArray(rows) || cJSON_GetArraySize(rows) > (int)(2 * DENIED_ROWS_MAX))
		r = bad(why, "guest sent DENIED without rows, or with too many");
	if (r == 0) {
		cJSON_ArrayForEach(row, rows)
		{
			if (!denied_row(row))
				r = bad(why, "guest sent DENIED with a malformed row");
		}
	}
	if (r < 0) {
		cJSON_Delete(*doc);
		*doc = NULL;
	}
	return r;
}
