/* SPDX-License-Identifier: GPL-2.0-or-later
 * lang.h - the small language of guards and templates (agenttwin-world(5), "The small language"): the parser, shared by the
 * host, which checks a world with it, and the twins, which evaluate what it built.  Pure: no allocation, no I/O. */
#ifndef PROTO_LANG_H
#define PROTO_LANG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

enum lang_op {
	LANG_NUMBER,
	LANG_STRING,
	LANG_TRUE,
	LANG_FALSE,
	LANG_NULL,
	LANG_NAME,  /* text/len: the first name of a path */
	LANG_FIELD, /* a = object, text/len = field name */
	LANG_INDEX, /* a = object, b = expression */
	LANG_CALL,  /* fn, arguments: a = first, chained by next */
	LANG_OR,
	LANG_AND,
	LANG_NOT,
	LANG_EQ,
	LANG_NE,
	LANG_LT,
	LANG_LE,
	LANG_GT,
	LANG_GE,
	LANG_ADD,
	LANG_SUB,
};
enum lang_fn { LANG_INT, LANG_STR, LANG_LOWER, LANG_LEN, LANG_HAS, LANG_COUNT, LANG_SUM };

#define LANG_NONE 0xffu
struct lang_node {
	uint8_t op;   /* enum lang_op */
	uint8_t fn;   /* enum lang_fn, of LANG_CALL */
	uint8_t a, b; /* children: indexes into nodes, LANG_NONE none */
	uint8_t next; /* next argument of the same call */
	double number;
	const char *text; /* borrowed from the source; of a LANG_STRING still with its escapes, without quotes */
	uint16_t len;
};
struct lang_expr {
	uint8_t root, nodes_len;
	struct lang_node nodes[LANG_NODES_MAX];
};
struct lang_error {
	size_t offset;     /* bytes from the start of the text */
	char problem[128]; /* "unknown name 'chrage'" */
	char fix[160];     /* "names here: request, state, vars, id, now, seed, charge" */
};
/* Which names may stand first in a path besides request, state, vars, id, now and seed, which always may: the rows that
 * earlier effects bound.  A caller that refuses some of those looks for LANG_NAME nodes itself. */
typedef bool lang_known_fn(void *arg, const char *name, size_t len);

/* Parses text[0..len).  Names are letters, digits and '_'; a key with a dash is written in brackets.  0; -EPROTO syntax,
 * arity or unknown name; -EMSGSIZE a bound (1 KiB, 64 nodes, depth 16, 8 aggregates).  known may be NULL: every name is
 * accepted. */
int lang_parse(const char *text, size_t len, lang_known_fn *known, void *arg, struct lang_expr *out,
	       struct lang_error *e) __attribute__((warn_unused_result, nonnull(1, 5, 6)));

/* The value of a LANG_STRING node, unescaped into out[0..size).  Returns its length, or -ENOSPC. */
int lang_string(const struct lang_node *n, char *out, size_t size) __attribute__((warn_unused_result, nonnull));

/* Finds the next template in s[0..len): sets *before to the bytes of literal text, *expr and *expr_len to the text inside
 * the braces, *used to all bytes up to and including "}}".  Returns 1 found, 0 none (the rest is literal), -EPROTO an
 * unclosed "{{".  Quotes inside an expression hide braces, so "{{'{{'}}" is the literal "{{". */
int lang_template_next(const char *s, size_t len, size_t *before, const char **expr, size_t *expr_len, size_t *used)
	__attribute__((warn_unused_result, nonnull));
#endif
