/* SPDX-License-Identifier: GPL-2.0-or-later
 * eval.h - evaluation of the small language and of templates, over one request and the state of one service.
 * Total: a missing thing is null, nothing stops a request but a lack of memory and an aggregate over too many rows. */
#ifndef GUEST_EVAL_H
#define GUEST_EVAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"
#include "proto/lang.h"

struct cJSON;
struct collection;
struct service;
struct state;

#define EVAL_TEXT_MAX (16u << 20) /* bytes of one text that templates build */
#define EVAL_JSON_MAX (64u << 20) /* estimated heap of all objects and arrays that the templates of one request copy */
#define EVAL_BOUND_MAX 64u        /* rows bound by one route */

/* A parsed expression of only as many nodes as it has. */
struct expr {
	uint8_t root;
	const struct lang_node *nodes;
};
enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_NUMBER, VALUE_STRING, VALUE_JSON, VALUE_COLLECTION, VALUE_STATE };
struct value {
	enum value_kind kind;
	bool yes;
	double number;
	const char *text;         /* NUL-terminated; borrowed from the request, a row or the arena */
	const struct cJSON *json; /* object or array */
	struct collection *rows;
	struct state *state; /* of VALUE_STATE; NULL: of all services, state.SERVICE */
};
struct bound {
	const char *name;
	const struct cJSON *row;
};
struct eval {
	const struct cJSON *request; /* the object that `request` is */
	struct state *
		state; /* of the current service; without one, any; read only, but for the indexes it makes on the way */
	struct service *services; /* where no service is current: state.SERVICE.COLLECTION; else NULL */
	size_t services_len;
	struct bound *bound; /* EVAL_BOUND_MAX of them */
	size_t bound_len;
	struct arena *arena; /* for texts made on the way; lives as long as the values */
	double now, seed;
	const char *(*draw)(void *arg); /* the fresh id of the current effect; asked at most once */
	void *draw_arg;
	const char *id; /* what it gave; the caller sets NULL before each effect */
	size_t copied;  /* towards EVAL_JSON_MAX */
	int r;          /* first failure, sticks: -ENOMEM, -EMSGSIZE text or copies too large, -E2BIG too many rows */
};

struct value eval_expr(struct eval *e, const struct expr *x) __attribute__((nonnull));
bool eval_is_true(struct eval *e, const struct expr *x) __attribute__((nonnull)); /* exactly true, and no failure */
/* The text that a value has inside other text: null is "", objects are compact JSON.  NULL after a failure. */
const char *eval_text(struct eval *e, const struct value *v) __attribute__((nonnull));
/* Scalars of the same type and value; objects, arrays and collections are equal to nothing. */
bool eval_is_equal(const struct value *a, const struct value *b) __attribute__((nonnull));
struct value value_of_json(const struct cJSON *json); /* NULL is null */

/* JSON in which strings may be templates, prepared. */
struct template;
/* known: as lang_parse.  pointer: grows by the place of the failure.  0; -EPROTO or -EMSGSIZE with *error and pointer;
 * -ENOMEM.  json must outlive the result, which lies in the arena. */
int template_compile(const struct cJSON *json, lang_known_fn *known, void *arg, struct arena *arena,
		     const struct template **out, struct lang_error *error, struct buf *pointer)
	__attribute__((warn_unused_result, nonnull(1, 4, 5, 6, 7)));
int expr_compile(const char *text, lang_known_fn *known, void *arg, struct arena *arena, struct expr *out,
		 struct lang_error *error) __attribute__((warn_unused_result, nonnull(1, 4, 5, 6)));
/* The value, owned by the caller; NULL with e->r set after a failure. */
struct cJSON *template_render(struct eval *e, const struct template *t) __attribute__((nonnull));
/* Of a template that is a string: its value without a copy. */
struct value template_value(struct eval *e, const struct template *t) __attribute__((nonnull));

#endif
