/* SPDX-License-Identifier: GPL-2.0-or-later
 * service.h - what the twins play: the services of the world, read from the TWINS JSON and prepared for answering. */
#ifndef GUEST_SERVICE_H
#define GUEST_SERVICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"
#include "guest/call.h"
#include "guest/draw.h"
#include "guest/eval.h"
#include "guest/fault.h"
#include "guest/idempotency.h"
#include "guest/mask.h"
#include "guest/match.h"
#include "guest/message.h"
#include "guest/profile.h"
#include "guest/rate.h"
#include "guest/sign.h"
#include "guest/state.h"
#include "guest/twin_clock.h"

struct cJSON;
struct llm;
struct tls_service;

enum effect_kind {
	EFFECT_FIND,
	EFFECT_REQUIRE, /* those that only look come first */
	EFFECT_CREATE,
	EFFECT_UPDATE,
	EFFECT_INCREMENT,
	EFFECT_APPEND,
	EFFECT_DELETE,
	EFFECT_SET,
};
struct reply_spec {
	int status;                            /* 0: the default */
	const char *code;                      /* of the profile's error body, or NULL */
	const struct template *headers, *body; /* or NULL */
};
struct effect {
	enum effect_kind kind;
	struct collection *collection;
	const char *name; /* field of INCREMENT and APPEND, variable of SET */
	const char *as;   /* or NULL */
	struct expr require;
	const struct template *id;          /* or NULL */
	const struct template *data;        /* row, set, by, value, to; or NULL */
	const struct reply_spec *otherwise; /* or NULL */
};
enum route_verb {
	ROUTE_CUSTOM,
	ROUTE_LIST,
	ROUTE_GET,
	ROUTE_CREATE,
	ROUTE_REPLACE,
	ROUTE_MERGE,
	ROUTE_DELETE,
	ROUTE_RESOURCE
};
enum route_page { PAGE_ALL, PAGE_CURSOR, PAGE_PAGES };
struct segment {
	const char *text; /* literal text, or the parameter's name */
	bool is_param;
};
struct route {
	const char *id;
	const char *method; /* NULL: any */
	const struct segment *segments;
	size_t segments_len;
	const struct condition *conditions; /* query, headers, body */
	size_t conditions_len;
	bool has_when;
	struct expr when;
	const char *when_text;
	enum route_verb verb;          /* ROUTE_RESOURCE: by the request's method */
	struct collection *collection; /* of a resource */
	const char **filter;
	size_t filter_len;
	enum route_page page; /* of its list */
	bool post_updates;    /* POST with {id} is an update: Stripe has neither PUT nor PATCH */
	struct effect *effects;
	size_t effects_len;
	const struct reply_spec *reply; /* or NULL */
	const struct emit_spec *emits;
	size_t emits_len;
};
/* What the twins send to the workflow: events.c, drive.c; read by service_events.c. */
#define EVENTS_RETRIES_MAX 16u
#define TRIGGERS_MAX 256u
struct emit_spec {
	const char *event;
	const struct template *data; /* NULL: an empty object */
};
struct events_spec {
	struct endpoint endpoint;
	enum sign_scheme scheme;
	const char *secret;
	uint32_t retry[EVENTS_RETRIES_MAX]; /* ms from a failed attempt to the next */
	size_t retry_len;
	bool reversed;  /* what comes within a short while leaves newest first */
	bool challenge; /* slack: the endpoint proves itself before anything is sent */
};
enum trigger_kind { TRIGGER_HTTP, TRIGGER_EVENT, TRIGGER_SIGNAL };
struct trigger_spec {
	const char *id;
	enum trigger_kind kind;
	uint32_t at_ms, after_ms; /* since ready; since the end of the trigger before */
	bool has_after;           /* an expression over the state */
	struct expr after;
	struct message message; /* of TRIGGER_HTTP */
	struct endpoint endpoint;
	struct service *service; /* of TRIGGER_EVENT */
	const char *event;
	const struct cJSON *data; /* or NULL */
	int signal;               /* of TRIGGER_SIGNAL */
	const char *signal_name;
};
enum workflow_ends { ENDS_EXIT, ENDS_TRIGGERS, ENDS_WHEN };
struct workflow_spec {
	bool has_ready_port;
	struct endpoint ready;  /* both addresses */
	const char *ready_line; /* or NULL */
	struct trigger_spec *triggers;
	size_t triggers_len;
	uint32_t trigger_ms;
	enum workflow_ends ends;
	uint32_t settle_ms;
	struct expr when;
};
enum auth_scheme { AUTH_NONE, AUTH_BEARER, AUTH_BASIC, AUTH_HEADER };
struct service {
	const char *name;
	size_t index;
	const char **hosts;
	size_t hosts_len;
	enum auth_scheme auth;
	const char *auth_header; /* lower case */
	const char *accept;
	enum profile profile;
	bool unmatched_fails; /* an unmatched call is an error of the run */
	bool tls;
	bool records_rows;          /* an operation tells the rows that it left */
	struct tls_service *secure; /* borrowed: its certificate and sessions; NULL without tls */
	struct state state;
	struct idempotency idempotency;
	struct rate_limit rate_limit;
	struct llm *llm; /* in the world's arena; NULL: of kind http */
	struct route *routes;
	size_t routes_len;
	struct draws draws;               /* which calls drew something */
	const struct events_spec *events; /* NULL: it sends none */
	bool events_proved;               /* its endpoint answered the challenge */
};
struct world {
	struct cJSON *doc; /* owned; everything below borrows from it */
	struct arena arena;
	struct mask mask;
	double seed;
	uint64_t seed_exact, start_ms;
	bool records_rows; /* a check wants to know every state on the way */
	struct twin_clock clock;
	uint64_t operations_max;
	struct state_budget budget;
	struct service *services; /* owned array */
	size_t services_len;
	struct fault_set faults;
	struct workflow_spec workflow;
};
/* Reads and checks text.  0; -EPROTO, -EMSGSIZE or -ENOMEM with "pointer: problem" in error[0..size).  *w must be wiped in
 * any case. */
int world_read(struct world *w, const char *text, size_t len, const uint64_t hash_key[static 2], char *error,
	       size_t size) __attribute__((warn_unused_result, nonnull));
void world_free(struct world *w) __attribute__((nonnull));

/* Shared by the files that read the world: where they are, and the first problem. */
struct reading {
	struct world *world;
	struct service *service;    /* the current one */
	const struct effect *bound; /* effects of the current route so far: their rows are known names */
	size_t bound_len;
	struct buf pointer;
	char *error; /* filled by the first failure */
	size_t size;
};
/* Notes the first problem; returns err. */
int reading_fail(struct reading *g, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 3)));
/* The member, its place pushed on the pointer; the caller sets g->pointer.len back.  NULL: there is none. */
const struct cJSON *reading_enter(struct reading *g, const struct cJSON *object, const char *name)
	__attribute__((nonnull));
/* Every member of object is one of the words in allowed ("id match do"). */
int reading_check_keys(struct reading *g, const struct cJSON *object, const char *allowed)
	__attribute__((warn_unused_result, nonnull));
/* Reads service->routes from the array; short forms become their five. */
int routes_read(struct reading *g, const struct cJSON *array) __attribute__((warn_unused_result, nonnull));
/* Keys of the service itself; the rate limit after the routes. */
int idempotency_read(struct reading *g, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
int rate_limit_read(struct reading *g, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
/* A segment of the path is {id}. */
bool route_has_id(const struct route *route) __attribute__((nonnull));
/* Reads `do` and `reply` of one route. */
int effects_read(struct reading *g, const struct cJSON *array, struct route *route)
	__attribute__((warn_unused_result, nonnull));
int reply_read(struct reading *g, const struct cJSON *object, const char *name, const struct reply_spec **out)
	__attribute__((warn_unused_result, nonnull));
/* A member that is a template over what the route's effects bound so far; *out NULL when there is none. */
int template_read(struct reading *g, const struct cJSON *object, const char *name, const struct template **out)
	__attribute__((warn_unused_result, nonnull));
/* service_events.c: `events` of a service, `emit` of a route, the world's `workflow`; each may be absent. */
int events_read(struct reading *g, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
int emits_read(struct reading *g, const struct cJSON *json, struct route *route)
	__attribute__((warn_unused_result, nonnull));
int workflow_read(struct reading *g) __attribute__((warn_unused_result, nonnull));

#endif
