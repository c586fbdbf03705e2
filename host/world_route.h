/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_route.h - one route while it is read.  Only for world_routes.c, world_match.c and world_effects.c. */
#ifndef HOST_WORLD_ROUTE_H
#define HOST_WORLD_ROUTE_H
#include "host/world_read.h"

struct route {
	const struct cJSON *json, *routes;
	const char *id;            /* NULL in the short form */
	const char *method, *path; /* of match */
	const char *resource;      /* or NULL */
	bool is_stripe;            /* the service's profile: POST with {id} is an update there */
	struct wr_scope scope;
	bool changed; /* an effect that changes something was read */
};

/* Readers of single values; arg is a struct route. */
int world_read_collection(struct wr *c, const struct cJSON *v, void *arg); /* the name of a collection of the service */
int world_read_guard(struct wr *c, const struct cJSON *v, void *arg);      /* an expression */
int world_read_reply(struct wr *c, const struct cJSON *v, void *arg);
int world_read_emit(struct wr *c, const struct cJSON *v, void *arg);    /* the array `emit`; after `do` */
int world_read_emit_on(struct wr *c, const struct cJSON *v, void *arg); /* of a resource's short form: each has `on` */
/* Parts of match (world_match.c). */
int world_read_match_query(struct wr *c, const struct cJSON *v, void *arg);
int world_read_match_headers(struct wr *c, const struct cJSON *v, void *arg);
int world_read_match_body(struct wr *c, const struct cJSON *v, void *arg);
int world_read_effects(struct wr *c, const struct cJSON *v, void *arg); /* the array `do` */
#endif
