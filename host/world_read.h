/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_read.h - how the parts of a world are read: tables of keys, typed values, and the place of each for messages.
 * Only for world.c and world_*.c. */
#ifndef HOST_WORLD_READ_H
#define HOST_WORLD_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/diag.h"
#include "host/world.h"

struct cJSON;

/* Where the reader stands.  Its first error is the only one: it fills *d and every caller returns it. */
struct wr {
	struct world *w;
	struct diag *d;
	size_t at_len;
	char at[1024]; /* JSON Pointer of the value being read; too deep or long a name is cut */
};
/* Steps into a member or an element; wr_leave(c, the value wr_enter returned) steps out. */
size_t wr_enter(struct wr *c, const char *key) __attribute__((nonnull));
size_t wr_enter_index(struct wr *c, size_t index) __attribute__((nonnull));
void wr_leave(struct wr *c, size_t mark) __attribute__((nonnull));

/* The error at the value where the reader stands; wr_fail_key points at its key instead.  The fix follows with
 * diag_fix(c->d, ...).  Return err. */
int wr_fail(struct wr *c, int err, const char *format, ...) __attribute__((format(printf, 3, 4), nonnull(1, 3)));
int wr_fail_key(struct wr *c, int err, const char *format, ...) __attribute__((format(printf, 3, 4), nonnull(1, 3)));
/* "not supported by this version", for what (`key "tls"`). */
int wr_fail_later(struct wr *c, const char *what) __attribute__((nonnull));

typedef int wr_read_fn(struct wr *c, const struct cJSON *v, void *arg);
enum wr_flag { WR_REQUIRED = 1, WR_LATER = 2 };
struct wr_key {
	const char *name; /* NULL ends the table */
	wr_read_fn *read; /* NULL: the caller reads it */
	unsigned flags;
	const char *fix; /* of WR_REQUIRED: what to add; NULL: nothing to say */
};
/* Reads an object by its table: -EPROTO for another type, an unknown key or a missing one; -EOPNOTSUPP for WR_LATER. */
int wr_object(struct wr *c, const struct cJSON *v, const struct wr_key *keys, const char *what, void *arg)
	__attribute__((warn_unused_result, nonnull(1, 2, 3, 4)));
/* Reads an array of min..max elements. */
int wr_array(struct wr *c, const struct cJSON *v, size_t min, size_t max, const char *what, wr_read_fn *each, void *arg)
	__attribute__((warn_unused_result, nonnull(1, 2, 5, 6)));
/* A string of min..max bytes; *out borrowed. */
int wr_string(struct wr *c, const struct cJSON *v, size_t min, size_t max, const char **out)
	__attribute__((warn_unused_result, nonnull));
int wr_integer(struct wr *c, const struct cJSON *v, uint64_t min, uint64_t max, uint64_t *out)
	__attribute__((warn_unused_result, nonnull));
int wr_bool(struct wr *c, const struct cJSON *v, bool *out) __attribute__((warn_unused_result, nonnull));
/* One of words (NULL ends them); *out its index. */
int wr_word(struct wr *c, const struct cJSON *v, const char *const *words, size_t *out)
	__attribute__((warn_unused_result, nonnull));
/* A wr_read_fn that accepts a method of HTTP. */
int wr_method(struct wr *c, const struct cJSON *v, void *arg);
/* "an object", "a string", ... */
const char *wr_type(const struct cJSON *v) __attribute__((nonnull, returns_nonnull));
/* A wr_read_fn that accepts any string of at most 4 KiB. */
int wr_read_text(struct wr *c, const struct cJSON *v, void *arg);

/* [A-Za-z_][A-Za-z0-9_]*, at most 64 bytes, and also '-' after the first where dash is true. */
bool is_identifier(const char *s, bool dash) __attribute__((nonnull));

/* The world from w->text alone, without its folder: no I/O.  As world_load. */
int world_read_text(struct world *w, struct diag *d) __attribute__((warn_unused_result, nonnull));

struct json_scan;
/* What to do about text[0..len), which is not strict JSON: s says where and why.  Static text. */
const char *world_syntax_fix(const char *text, size_t len, const struct json_scan *s)
	__attribute__((nonnull, returns_nonnull)); /* world_syntax.c */

/* ---- the subjects; each file reads one part and leaves c->at as it was ---------------------------------------------- */
int world_read_limits(struct wr *c, const struct cJSON *v, void *arg); /* world_workflow.c */
int world_read_files(struct wr *c, const struct cJSON *v, void *arg);  /* world_files.c */
int world_read_keep(struct wr *c, const struct cJSON *v, void *arg);
int world_read_env(struct wr *c, const struct cJSON *v, void *arg); /* world_env.c */
int world_read_secrets(struct wr *c, const struct cJSON *v, void *arg);
int world_read_services(struct wr *c, const struct cJSON *v, void *arg); /* world_services.c */
int world_read_workflow(struct wr *c, const struct cJSON *v, void *arg); /* world_workflow.c */
int world_read_checks(struct wr *c, const struct cJSON *v, void *arg);   /* world_checks.c */
int world_read_sweep(struct wr *c, const struct cJSON *v, void *arg);    /* world_sweep.c */
int world_read_clock(struct wr *c, const struct cJSON *v, void *arg);
/* After all parts: templates of env, which may name services and secrets that stand below it. */
int world_check_env(struct wr *c) __attribute__((warn_unused_result, nonnull));
/* A template of the host (env, auth.accept): only names that exist.  run_names: run.id and seed may stand in it. */
int world_check_host_template(struct wr *c, const char *text, bool run_names)
	__attribute__((warn_unused_result, nonnull));
int world_read_routes(struct wr *c, const struct cJSON *service)
	__attribute__((warn_unused_result, nonnull)); /* world_routes.c */
/* world_policy.c: how a service words its errors, variables, idempotency, rates. */
int world_read_profile(struct wr *c, const struct cJSON *v, void *arg);
int world_read_variables(struct wr *c, const struct cJSON *v, void *arg);
/* world_events.c: what a service sends; a URL of the workflow; names of events.  world_trigger.c: of workflow. */
int world_read_events(struct wr *c, const struct cJSON *v, void *arg);
int world_read_endpoint(struct wr *c, const struct cJSON *v, void *arg);
int world_read_event_name(struct wr *c, const struct cJSON *v, void *arg);
int world_check_emits(struct wr *c, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
int world_read_ready(struct wr *c, const struct cJSON *v, void *arg);
int world_read_triggers(struct wr *c, const struct cJSON *v, void *arg);
int world_read_ends(struct wr *c, const struct cJSON *v, void *arg);
/* After all parts: conditions, templates and names that may stand below. */
int world_check_drive(struct wr *c) __attribute__((warn_unused_result, nonnull));
int world_read_idempotency(struct wr *c, const struct cJSON *v, void *arg);
int world_read_rate_limit(struct wr *c, const struct cJSON *v, void *arg);
/* world_llm.c: script and validate of a service of kind llm, and that no other kind has them. */
int world_read_llm(struct wr *c, const struct cJSON *service) __attribute__((warn_unused_result, nonnull));
/* What clients of the profile take for the base of its paths. */
void world_llm_url(struct world_service *s) __attribute__((nonnull));
/* Checks name services and routes that may stand below them. */
int world_check_references(struct wr *c) __attribute__((warn_unused_result, nonnull)); /* world_names.c */
/* The service of a name; the member `route` of v as a route or an event of s (world_names.c). */
int world_check_service(struct wr *c, const char *name, const struct world_service **out)
	__attribute__((warn_unused_result, nonnull));
int world_check_route(struct wr *c, const struct cJSON *v, const struct world_service *s)
	__attribute__((warn_unused_result, nonnull(1, 2)));
/* The key `faults`, which names services, routes and events. */
int world_check_faults(struct wr *c) __attribute__((warn_unused_result, nonnull)); /* world_faults.c */
/* world_outcomes.c: the key `outcomes`, which names checks.  Marks those as evidence. */
int world_check_outcomes(struct wr *c) __attribute__((warn_unused_result, nonnull));
/* world_jq.c: text from v on is an expression of jq; without its syntax, which world_compile_jq checks in other processes. */
int wr_jq(struct wr *c, const struct cJSON *v, const char *text) __attribute__((warn_unused_result, nonnull));
int world_compile_jq(struct world *w, struct diag *d) __attribute__((warn_unused_result, nonnull));
/* -EPROTO when every check holds before anything ran. */
int world_check_vacuous(struct wr *c) __attribute__((warn_unused_result, nonnull)); /* world_vacuous.c */

/* ---- what the language may name (world_lang.c) ----------------------------------------------------------------------- */
#define SCOPE_BOUND_MAX 64u
struct wr_scope {
	const struct world
		*world; /* no service is current: state.SERVICE.COLLECTION, no request, no variables; else NULL */
	const struct cJSON *state;     /* the service's collections, or NULL */
	const struct cJSON *variables; /* those that it starts with, or NULL */
	const struct cJSON *routes;    /* for the variables its effects set */
	const char *path;              /* the route's path pattern */
	size_t bound_len;
	const char *bound[SCOPE_BOUND_MAX];
};
/* A collection of the service by its name. */
int wr_collection(struct wr *c, const struct wr_scope *s, const char *name)
	__attribute__((warn_unused_result, nonnull));
/* An expression: syntax, names, collections, variables, path parameters. */
int wr_expr(struct wr *c, const struct cJSON *v, const struct wr_scope *s) __attribute__((warn_unused_result, nonnull));
/* Every template in every string of v. */
int wr_templates(struct wr *c, const struct cJSON *v, const struct wr_scope *s)
	__attribute__((warn_unused_result, nonnull));
/* v is a string that is one template and nothing else. */
bool is_one_template(const struct cJSON *v) __attribute__((nonnull));
/* pattern ("/charges/{id}") has a parameter of this name. */
bool path_has_param(const char *pattern, const char *name, size_t len) __attribute__((nonnull));
#endif
