/* SPDX-License-Identifier: GPL-2.0-or-later
 * service_policy.c - what holds for all routes of a service, read: idempotency, rate limit. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "guest/service.h"
#include "proto/duration.h"

static int
read_methods(struct reading *g, const struct cJSON *json, struct idempotency *t)
{
	const struct cJSON *on = cJSON_GetObjectItemCaseSensitive(json, "on");
	static const char *post[] = { "POST" };

	t->methods = post;
	t->methods_len = 1;
	if (on == NULL)
		return 0;
	if (!cJSON_IsArray(on) || on->child == NULL)
		return reading_fail(g, -EPROTO, "on is an array of methods");
	t->methods_len = 0;
	t->methods = arena_alloc(&g->world->arena, (size_t)cJSON_GetArraySize(on) * sizeof(*t->methods));
	if (t->methods == NULL)
		return -ENOMEM;
	for (const struct cJSON *m = on->child; m != NULL; m = m->next) {
		if (!cJSON_IsString(m))
			return reading_fail(g, -EPROTO, "on is an array of methods");
		t->methods[t->methods_len++] = m->valuestring;
	}
	return 0;
}

/* see service.h */
int
idempotency_read(struct reading *g, const struct cJSON *service)
{
	size_t len = g->pointer.len;
	const struct cJSON *json = reading_enter(g, service, "idempotency"), *keep, *profile, *required;
	struct idempotency *t = &g->service->idempotency;
	int r;

	if (json == NULL)
		return 0;
	if ((r = reading_check_keys(g, json, "on keep profile required")) < 0 || (r = read_methods(g, json, t)) < 0)
		return r;
	keep = cJSON_GetObjectItemCaseSensitive(json, "keep");
	profile = cJSON_GetObjectItemCaseSensitive(json, "profile");
	required = cJSON_GetObjectItemCaseSensitive(json, "required");
	t->keep_ms = 86400000;
	if (keep != NULL && (!cJSON_IsString(keep) || duration_read(keep->valuestring, &t->keep_ms) < 0))
		return reading_fail(g, -EPROTO, "keep is a length of time such as \"24h\"");
	t->form = g->service->profile == PROFILE_STRIPE ? IDEMPOTENCY_STRIPE : IDEMPOTENCY_IETF;
	if (profile != NULL) {
		if (!cJSON_IsString(profile) ||
		    (strcmp(profile->valuestring, "stripe") != 0 && strcmp(profile->valuestring, "ietf") != 0))
			return reading_fail(g, -EPROTO, "profile must be stripe or ietf");
		t->form = profile->valuestring[0] == 's' ? IDEMPOTENCY_STRIPE : IDEMPOTENCY_IETF;
	}
	if (required != NULL && !cJSON_IsBool(required))
		return reading_fail(g, -EPROTO, "required is true or false");
	t->required = required != NULL ? cJSON_IsTrue(required) : t->form == IDEMPOTENCY_IETF;
	g->pointer.len = len;
	return 0;
}

static int
read_count(struct reading *g, const struct cJSON *json, const char *name, double max, uint64_t *out)
{
	const struct cJSON *n = cJSON_GetObjectItemCaseSensitive(json, name);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 1 && n->valuedouble <= max))
		return reading_fail(g, -EPROTO, "\"%s\" must be a number from 1 to %.0f", name, max);
	*out = (uint64_t)n->valuedouble;
	return 0;
}

/* see service.h */
int
rate_limit_read(struct reading *g, const struct cJSON *service)
{
	size_t len = g->pointer.len;
	const struct cJSON *json = reading_enter(g, service, "rate_limit"), *per;
	struct rate_limit *l = &g->service->rate_limit;
	int r;

	if (json == NULL)
		return 0;
	if ((r = reading_check_keys(g, json, "limit window_ms per")) < 0 ||
	    (r = read_count(g, json, "limit", 1e9, &l->limit)) < 0 ||
	    (r = read_count(g, json, "window_ms", 86400000.0, &l->window_ms)) < 0)
		return r;
	per = cJSON_GetObjectItemCaseSensitive(json, "per");
	if (per != NULL && !(cJSON_IsString(per) &&
			     (strcmp(per->valuestring, "service") == 0 || strcmp(per->valuestring, "route") == 0)))
		return reading_fail(g, -EPROTO, "per must be service or route");
	l->by_route = per != NULL && strcmp(per->valuestring, "route") == 0;
	l->windows = arena_alloc(&g->world->arena, (g->service->routes_len + 1) * sizeof(*l->windows));
	if (l->windows == NULL)
		return -ENOMEM;
	g->pointer.len = len;
	return 0;
}
