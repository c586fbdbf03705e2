/* SPDX-License-Identifier: GPL-2.0-or-later
 * route.c - which route a request belongs to, and when none: the nearest one and the first difference from it. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guest/answer.h"
#include "guest/eval.h"
#include "guest/request.h"
#include "guest/service.h"

/* see answer.h */
bool
host_is_of(const struct service *s, const char *host)
{
	char own[32];

	for (size_t i = 0; i < s->hosts_len; i++)
		if (strcasecmp(s->hosts[i], host) == 0)
			return true;
	/* the address a listener has: in a sandbox, and where there are no names */
	snprintf(own, sizeof(own), "127.64.0.%zu", s->index + 1);
	return strcmp(host, own) == 0 || strcmp(host, "127.0.0.1") == 0;
}

/* accept is user:password, or one of the two where the other is empty or anything (Stripe's keys are user names). */
static bool
is_basic(const char *encoded, const char *accept)
{
	char plain[1024];
	int len = base64_decode(encoded, strlen(encoded), plain, sizeof(plain) - 1);
	const char *colon;

	if (len <= 0)
		return false;
	plain[len] = '\0';
	if (strlen(plain) != (size_t)len)
		return false;
	if (strchr(accept, ':') != NULL)
		return strcmp(plain, accept) == 0;
	colon = strchr(plain, ':');
	if (colon == NULL)
		return false;
	return strcmp(colon + 1, accept) == 0 || (colon[1] == '\0' && strlen(accept) == (size_t)(colon - plain) &&
						  memcmp(plain, accept, strlen(accept)) == 0);
}

/* see answer.h */
bool
credential_is_accepted(const struct service *s, const struct request *q)
{
	const char *value = request_header(q, s->auth == AUTH_HEADER ? s->auth_header : "authorization"), *secret;
	size_t scheme;

	if (s->auth == AUTH_NONE)
		return true;
	if (value == NULL && s->profile == PROFILE_ANTHROPIC) /* its clients use either */
		value = request_header(q, s->auth == AUTH_HEADER ? "authorization" : "x-api-key");
	if (value == NULL)
		return false;
	if (strcmp(value, s->accept) == 0)
		return s->auth == AUTH_HEADER || s->profile == PROFILE_ANTHROPIC;
	if (s->auth == AUTH_HEADER && s->profile != PROFILE_ANTHROPIC)
		return false;
	scheme = strcspn(value, " ");
	if (value[scheme] != ' ')
		return false;
	secret = value + scheme + strspn(value + scheme, " ");
	if (scheme == 5 && strncasecmp(value, "basic", scheme) == 0)
		return (s->auth == AUTH_BASIC || s->profile == PROFILE_STRIPE) && is_basic(secret, s->accept);
	if ((s->auth != AUTH_BEARER && s->profile != PROFILE_ANTHROPIC) || strcmp(secret, s->accept) != 0)
		return false;
	/* GitHub's clients write "token", and it takes both */
	return (scheme == 6 && strncasecmp(value, "bearer", scheme) == 0) ||
	       (scheme == 5 && s->profile == PROFILE_GITHUB && strncasecmp(value, "token", scheme) == 0);
}

static bool
is_get(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* see answer.h */
int
route_verb_of(const struct route *route, const struct request *q)
{
	bool id;

	if (route->verb != ROUTE_RESOURCE)
		return (int)route->verb;
	id = route_has_id(route);
	if (is_get(q->method))
		return id ? ROUTE_GET : ROUTE_LIST;
	if (!id)
		return strcmp(q->method, "POST") == 0 ? ROUTE_CREATE : ROUTE_RESOURCE;
	if (strcmp(q->method, "POST") == 0 && route->post_updates)
		return ROUTE_MERGE;
	if (strcmp(q->method, "PUT") == 0)
		return ROUTE_REPLACE;
	if (strcmp(q->method, "PATCH") == 0)
		return ROUTE_MERGE;
	return strcmp(q->method, "DELETE") == 0 ? ROUTE_DELETE : ROUTE_RESOURCE;
}

static bool
is_method(const struct route *route, const struct request *q)
{
	if (route->method != NULL && strcmp(route->method, q->method) != 0 &&
	    !(strcmp(route->method, "GET") == 0 && strcmp(q->method, "HEAD") == 0))
		return false;
	return route->verb != ROUTE_RESOURCE || route_verb_of(route, q) != ROUTE_RESOURCE;
}

/* Index of the first segment that does not fit; the larger number of segments if only their number differs; SIZE_MAX
 * when all fit. */
static size_t
first_difference(const struct route *route, const struct request *q)
{
	for (size_t i = 0; i < route->segments_len && i < q->segments_len; i++) {
		const struct segment *s = &route->segments[i];

		if (s->is_param ? q->segments[i][0] == '\0' : strcmp(s->text, q->segments[i]) != 0)
			return i;
	}
	if (route->segments_len == q->segments_len)
		return SIZE_MAX;
	return route->segments_len < q->segments_len ? route->segments_len : q->segments_len;
}

static int
put_params(const struct route *route, struct request *q)
{
	int r = 0;

	request_path_clear(q);
	for (size_t i = 0; i < route->segments_len && r == 0; i++)
		if (route->segments[i].is_param)
			r = request_path_add(q, route->segments[i].text, q->segments[i]);
	return r;
}

static void
describe(const struct route *route, const struct request *q, char *out, size_t size)
{
	size_t at = first_difference(route, q);

	if (at != SIZE_MAX && at < route->segments_len && at < q->segments_len)
		snprintf(out, size, "segment %zu of the path is '%.60s', the route wants %s%.60s%s", at + 1,
			 q->segments[at], route->segments[at].is_param ? "a value for {" : "'",
			 route->segments[at].text, route->segments[at].is_param ? "}" : "'");
	else if (at != SIZE_MAX)
		snprintf(out, size, "the path has %zu segments, the route has %zu", q->segments_len,
			 route->segments_len);
	else if (!is_method(route, q))
		snprintf(out, size, "the method is %s, the route wants %s", q->method,
			 route->method != NULL ? route->method
			 : route_has_id(route) ? "GET, PUT, PATCH or DELETE"
					       : "GET or POST");
	else if (conditions_held(route->conditions, route->conditions_len, q) < route->conditions_len)
		conditions_describe(route->conditions, route->conditions_len, q, out, size);
	else
		snprintf(out, size, "the guard does not hold: %.200s", route->when_text);
}

/* see answer.h */
bool
route_is_at(const struct route *route, const struct request *q)
{
	return first_difference(route, q) == SIZE_MAX && is_method(route, q);
}

/* How near a route is that did not match, in the order in which it is compared: a segment, then the method, then what it
 * wants besides, then the guard. */
static size_t
nearness(const struct route *route, const struct request *q)
{
	size_t at = first_difference(route, q), n;
	bool method = is_method(route, q);

	if (at != SIZE_MAX)
		return 2 * at + (method ? 1 : 0);
	n = 2 * REQUEST_SEGMENTS_MAX + 2; /* all segments: more than any partial hit can have */
	return method ? n + 1 + conditions_held(route->conditions, route->conditions_len, q) : n;
}

static void
find_nearest(const struct service *s, const struct request *q, struct answer *a)
{
	size_t best = 0;

	for (size_t i = 0; i < s->routes_len; i++) {
		size_t points = nearness(&s->routes[i], q);

		if (a->nearest != NULL && points <= best)
			continue;
		a->nearest = &s->routes[i];
		best = points;
	}
	if (a->nearest != NULL)
		describe(a->nearest, q, a->difference, sizeof(a->difference));
	else
		snprintf(a->difference, sizeof(a->difference), "the service has no routes");
}

/* see answer.h.  Only routes of the right length and method are looked at closer. */
int
route_find(struct service *s, struct request *q, struct eval *e, struct answer *a)
{
	struct digest digest;
	int r;

	digest.filled = false;
	for (size_t i = 0; i < s->routes_len; i++) {
		const struct route *route = &s->routes[i];

		if (route->segments_len != q->segments_len || !route_is_at(route, q) ||
		    !conditions_hold(route->conditions, route->conditions_len, q, &digest))
			continue;
		if ((r = put_params(route, q)) < 0)
			return r;
		if (!route->has_when || eval_is_true(e, &route->when)) {
			a->route = route;
			return e->r;
		}
		if (e->r != 0)
			return e->r;
	}
	find_nearest(s, q, a);
	request_path_clear(q);
	return 0;
}
