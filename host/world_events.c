/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_events.c - what a service sends to the workflow: `events` of the service and `emit` of its routes. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/json.h"
#include "host/nearest.h"
#include "host/world_route.h"

#define RETRIES_MAX 16u
#define EMITS_MAX 16u
#define EVENT_NAME_MAX 64u

/* ---- endpoints -------------------------------------------------------------------------------------------------------- */

/* NULL, or what is wrong with a URL that the twins are to call.  guest/call.c knows the same. */
static const char *
url_problem(const char *s, const char **fix)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]" };
	const char *at = s + 7, *end, *p;
	unsigned long port = 80;
	size_t i, n = 0;

	*fix = "write it like \"http://127.0.0.1:3000/hooks\"";
	if (strncmp(s, "https://", 8) == 0)
		return "the workflow is called without TLS: it listens on loopback";
	if (strncmp(s, "http://", 7) != 0)
		return "this is not a URL that starts with http://";
	end = at + strcspn(at, "/?#");
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		n = strlen(hosts[i]);
		if (strncmp(at, hosts[i], n) == 0 && (at + n == end || at[n] == ':'))
			break;
	}
	if (i == sizeof(hosts) / sizeof(hosts[0]))
		return "the workflow is called on 127.0.0.1, localhost or [::1] alone";
	if (at[n] == ':') {
		port = 0;
		for (p = at + n + 1; p < end && port <= 65535 && *p >= '0' && *p <= '9'; p++)
			port = port * 10 + (unsigned long)(*p - '0');
		if (p != end || port == 0 || port > 65535)
			return "a port is a number from 1 to 65535";
	}
	for (p = end; *p; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f || *p == '#')
			return "a path has no fragment, no space and no control characters";
	return NULL;
}

int
world_read_endpoint(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s, *problem, *fix;
	int r = wr_string(c, v, 1, 2048, &s);

	(void)arg;
	if (r < 0)
		return r;
	problem = url_problem(s, &fix);
	if (!problem)
		return 0;
	r = wr_fail(c, -EPROTO, "%s", problem);
	diag_fix(c->d, "%s", fix);
	return r;
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

static int
read_scheme(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const schemes[] = { "stripe", "github", "slack", "standard-webhooks", NULL };

	return wr_word(c, v, schemes, arg);
}

static int
read_secret(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 1024, &s);
}

static int
read_delay(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, RUN_MS_MAX, &n);
}

static int
read_retry(struct wr *c, const struct cJSON *v, void *arg)
{
	(void)arg;
	return wr_array(c, v, 0, RETRIES_MAX, "delays in milliseconds", read_delay, NULL);
}

static int
read_order(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const orders[] = { "emitted", "reversed", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, orders, &which);
}

static int
read_challenge(struct wr *c, const struct cJSON *v, void *arg)
{
	bool yes;

	(void)arg;
	return wr_bool(c, v, &yes);
}

int
world_read_events(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "endpoint", world_read_endpoint, WR_REQUIRED, "\"endpoint\": \"http://127.0.0.1:3000/hooks\"" },
		{ "scheme", read_scheme, WR_REQUIRED, "\"scheme\": \"stripe\"" },
		{ "secret", read_secret, WR_REQUIRED, "\"secret\": \"{{secret.hook}}\"" },
		{ "retry", read_retry, 0, NULL },
		{ "order", read_order, 0, NULL },
		{ "challenge", read_challenge, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	const struct cJSON *retry = cJSON_GetObjectItemCaseSensitive(v, "retry");
	size_t scheme = 0, mark;
	int r = wr_object(c, v, keys, "events", &scheme);

	(void)arg;
	if (r == 0 && scheme == 1 && cJSON_GetArraySize(retry) > 0) {
		mark = wr_enter(c, "retry");
		r = wr_fail_key(c, -EPROTO, "GitHub sends a delivery once, whatever becomes of it");
		diag_fix(c->d, "take \"retry\" out; a fault of class \"duplicate-write\" redelivers as its users may");
		wr_leave(c, mark);
		return r;
	}
	if (r < 0 || scheme == 2 || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(v, "challenge")))
		return r;
	mark = wr_enter(c, "challenge");
	r = wr_fail_key(c, -EPROTO, "only scheme \"slack\" asks an endpoint for a challenge");
	diag_fix(c->d, "take \"challenge\" out");
	wr_leave(c, mark);
	return r;
}

/* ---- emit ------------------------------------------------------------------------------------------------------------- */

int
world_read_event_name(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *s;
	int r = wr_string(c, v, 1, EVENT_NAME_MAX, &s);

	(void)arg;
	if (r == 0 && (s[strspn(s, allowed)] || strchr("._-", s[0]) || strcmp(s, "url_verification") == 0)) {
		r = wr_fail(c, -EPROTO,
			    "an event's name has letters, digits, '.', '_' and '-' only, a letter or digit first");
		diag_fix(c->d, "write a name like \"charge.refunded\"");
	}
	return r;
}

static int
read_data(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct route *t = arg;

	return wr_templates(c, v, &t->scope);
}

static int
read_emitted(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "event", world_read_event_name, WR_REQUIRED, "\"event\": \"charge.refunded\"" },
		{ "data", read_data, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "an event", arg);
}

static int
read_on(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const verbs[] = { "create", "update", "delete", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, verbs, &which);
}

static int
read_emitted_on(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "event", world_read_event_name, WR_REQUIRED, "\"event\": \"order.created\"" },
		{ "on", read_on, WR_REQUIRED, "\"on\": \"create\", or \"update\" or \"delete\"" },
		{ "data", read_data, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "an event of a resource", arg);
}

int
world_read_emit_on(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 0, EMITS_MAX, "events", read_emitted_on, arg);
}

int
world_read_emit(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 0, EMITS_MAX, "events", read_emitted, arg);
}

/* The id of the route, or in its short form one of its five. */
static bool
route_has_name(const struct cJSON *route, const char *name)
{
	static const char *const verbs[] = { "list", "get", "create", "update", "delete" };
	const struct cJSON *id = cJSON_GetObjectItemCaseSensitive(route, "id"),
			   *resource = cJSON_GetObjectItemCaseSensitive(route, "resource");
	size_t i, len = cJSON_IsString(resource) ? strlen(resource->valuestring) : 0;

	if (id)
		return cJSON_IsString(id) && strcmp(id->valuestring, name) == 0;
	if (len == 0 || strncmp(name, resource->valuestring, len) != 0 || name[len] != '.')
		return false;
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(name + len + 1, verbs[i]) == 0)
			return true;
	return false;
}

/* An event and a route of one service are told apart by their names alone. */
static int
check_name(struct wr *c, const struct cJSON *service, const char *name)
{
	const struct cJSON *route;
	int r;

	cJSON_ArrayForEach(route, cJSON_GetObjectItemCaseSensitive(service, "routes"))
	{
		if (!route_has_name(route, name))
			continue;
		r = wr_fail(c, -EPROTO, "a route of this service has the id \"%s\" already", name);
		diag_fix(c->d, "give the event or the route another name: receipts list both under it");
		return r;
	}
	return 0;
}

static int
check_emit(struct wr *c, const struct cJSON *service, const struct cJSON *route)
{
	const struct cJSON *emit = cJSON_GetObjectItemCaseSensitive(route, "emit"), *e;
	size_t outer, inner, i = 0;
	int r = 0;

	if (!emit)
		return 0;
	outer = wr_enter(c, "emit");
	if (!cJSON_GetObjectItemCaseSensitive(service, "events")) {
		r = wr_fail_key(c, -EPROTO, "the service does not say where its events go");
		diag_fix(
			c->d,
			"add to the service: \"events\": { \"endpoint\": \"http://127.0.0.1:3000/hooks\", \"scheme\": \"stripe\", \"secret\": \"{{secret.hook}}\" }");
	}
	for (e = emit->child; e && r == 0; e = e->next, i++) {
		inner = wr_enter_index(c, i);
		wr_enter(c, "event");
		r = check_name(c, service, cJSON_GetObjectItemCaseSensitive(e, "event")->valuestring);
		wr_leave(c, inner);
	}
	wr_leave(c, outer);
	return r;
}

int
world_check_emits(struct wr *c, const struct cJSON *service)
{
	const struct cJSON *routes = cJSON_GetObjectItemCaseSensitive(service, "routes"), *route;
	size_t outer, inner, i = 0;
	int r = 0;

	outer = wr_enter(c, "routes");
	for (route = routes ? routes->child : NULL; route && r == 0; route = route->next, i++) {
		inner = wr_enter_index(c, i);
		r = check_emit(c, service, route);
		wr_leave(c, inner);
	}
	wr_leave(c, outer);
	return r;
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

const char *
world_event_find(const struct world *w, const struct world_service *s, const char *name, struct nearest *near)
{
	const struct cJSON *route, *e, *t, *event;
	const char *text;

	cJSON_ArrayForEach(route, json_get(s->json, "routes"))
	{
		cJSON_ArrayForEach(e, json_get(route, "emit"))
		{
			text = json_get_text(e, "event");
			if (text && strcmp(text, name) == 0)
				return text;
			if (near && text)
				nearest_offer(near, text);
		}
	}
	cJSON_ArrayForEach(t, w->triggers)
	{
		event = json_get(t, "event");
		text = json_get_text(event, "event");
		if (text && strcmp(text, name) == 0 && json_get_text(event, "service") &&
		    strcmp(json_get_text(event, "service"), s->name) == 0)
			return text;
	}
	if (strcmp(name, "url_verification") == 0 && json_get_true(json_get(s->json, "events"), "challenge"))
		return "url_verification";
	return NULL;
}

const char *
world_trigger_find(const struct world *w, const char *id, size_t *index, struct nearest *near)
{
	const struct cJSON *t;
	const char *text;
	size_t i = 0;

	cJSON_ArrayForEach(t, w->triggers)
	{
		text = json_get_text(t, "id");
		if (text && strcmp(text, id) == 0) {
			if (index)
				*index = i;
			return text;
		}
		if (near && text)
			nearest_offer(near, text);
		i++;
	}
	return NULL;
}
