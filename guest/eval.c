/* SPDX-License-Identifier: GPL-2.0-or-later
 * eval.c - walks the nodes of an expression.  Recursion is bounded by LANG_NODES_MAX. */
#include "guest/eval.h"

#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "guest/index.h"
#include "guest/service.h"
#include "guest/state.h"
#include "proto/number.h"

#define SCANNED_MAX 64u /* rows that are looked at one by one: no index is worth it */

static struct value eval_node(struct eval *e, const struct expr *x, uint8_t n);

static struct value
null_value(void)
{
	return (struct value){ .kind = VALUE_NULL };
}

static struct value
bool_value(bool v)
{
	return (struct value){ .kind = VALUE_BOOL, .yes = v };
}

/* From 2^53 on neighbours cannot be told apart: no number rather than a wrong one. */
static struct value
number_value(double v)
{
	if (!isfinite(v) || fabs(v) > NUMBER_EXACT_MAX)
		return null_value();
	return (struct value){ .kind = VALUE_NUMBER, .number = v };
}

static struct value
text_value(struct eval *e, const char *text)
{
	if (text == NULL) {
		if (e->r == 0)
			e->r = -ENOMEM;
		return null_value();
	}
	return (struct value){ .kind = VALUE_STRING, .text = text };
}

/* see eval.h */
struct value
value_of_json(const struct cJSON *json)
{
	switch (json == NULL ? cJSON_NULL : (json->type & 0xff)) {
	case cJSON_True:
		return bool_value(true);
	case cJSON_False:
		return bool_value(false);
	case cJSON_Number:
		return isfinite(json->valuedouble) ? (struct value){ .kind = VALUE_NUMBER, .number = json->valuedouble }
						   : null_value();
	case cJSON_String:
		return (struct value){ .kind = VALUE_STRING, .text = json->valuestring };
	case cJSON_Array:
	case cJSON_Object:
		return (struct value){ .kind = VALUE_JSON, .json = json };
	default:
		return null_value();
	}
}

static bool
is_json(const struct value *v, int type)
{
	return v->kind == VALUE_JSON && (v->json->type & 0xff) == type;
}

/* see eval.h */
bool
eval_is_equal(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case VALUE_NULL:
		return true;
	case VALUE_BOOL:
		return a->yes == b->yes;
	case VALUE_NUMBER:
		return number_is_equal(a->number, b->number);
	case VALUE_STRING:
		return strcmp(a->text, b->text) == 0;
	case VALUE_JSON:
	case VALUE_COLLECTION:
	case VALUE_STATE:
		break;
	}
	return false;
}

static void
print_rows(struct buf *b, const struct collection *rows)
{
	buf_text(b, "[");
	for (const struct row *row = rows->first; row != NULL; row = row->after) {
		buf_json(b, row->json);
		if (row->after != NULL)
			buf_text(b, ",");
	}
	buf_text(b, "]");
}

/* see eval.h */
const char *
eval_text(struct eval *e, const struct value *v)
{
	const char *text;
	struct buf b;

	if (v->kind == VALUE_STRING)
		return v->text;
	buf_init(&b, EVAL_TEXT_MAX);
	if (v->kind == VALUE_BOOL)
		buf_text(&b, v->yes ? "true" : "false");
	else if (v->kind == VALUE_NUMBER)
		buf_number(&b, v->number);
	else if (v->kind == VALUE_JSON)
		buf_json(&b, v->json);
	else if (v->kind == VALUE_COLLECTION)
		print_rows(&b, v->rows);
	text = b.failed ? NULL : arena_copy(e->arena, b.at, b.len);
	if (text == NULL && e->r == 0)
		e->r = -EMSGSIZE;
	buf_wipe(&b);
	return text;
}

static struct value
name(struct eval *e, const struct lang_node *n)
{
	static const char *const names[] = { "request", "state", "vars", "id", "now", "seed" };
	size_t i = 0;

	for (size_t b = e->bound_len; b-- > 0;)
		if (strlen(e->bound[b].name) == n->len && memcmp(e->bound[b].name, n->text, n->len) == 0)
			return value_of_json(e->bound[b].row);
	while (i < 6 && !(strlen(names[i]) == n->len && memcmp(names[i], n->text, n->len) == 0))
		i++;
	switch (i) {
	case 0:
		return value_of_json(e->request);
	case 1:
		return (struct value){ .kind = VALUE_STATE, .state = e->services == NULL ? e->state : NULL };
	case 2:
		return value_of_json(e->state->variables);
	case 3:
		if (e->id == NULL)
			e->id = e->draw(e->draw_arg);
		return text_value(e, e->id);
	case 4:
		return number_value(e->now);
	case 5:
		return number_value(e->seed);
	default:
		return null_value();
	}
}

static struct value
member(struct eval *e, const struct value *of, const char *key)
{
	const struct row *row;
	struct collection *c;

	if (of->kind == VALUE_STATE && of->state == NULL) {
		for (size_t i = 0; i < e->services_len; i++)
			if (strcmp(e->services[i].name, key) == 0)
				return (struct value){ .kind = VALUE_STATE, .state = &e->services[i].state };
		return null_value();
	}
	if (of->kind == VALUE_STATE) {
		c = state_collection(of->state, key);
		return c == NULL ? null_value() : (struct value){ .kind = VALUE_COLLECTION, .rows = c };
	}
	if (of->kind == VALUE_COLLECTION) {
		row = collection_row(e->state, of->rows, key);
		return value_of_json(row == NULL ? NULL : row->json);
	}
	if (is_json(of, cJSON_Object))
		return value_of_json(cJSON_GetObjectItemCaseSensitive(of->json, key));
	return null_value();
}

static struct value
field(struct eval *e, const struct value *of, const struct lang_node *n)
{
	char key[LANG_TEXT_MAX + 1];

	memcpy(key, n->text, n->len);
	key[n->len] = '\0';
	return member(e, of, key);
}

static struct value
at(struct eval *e, const struct value *of, const struct value *index)
{
	if (is_json(of, cJSON_Array)) {
		if (index->kind != VALUE_NUMBER || index->number < 0 || index->number > 1e9 ||
		    !number_is_whole(index->number))
			return null_value();
		return value_of_json(cJSON_GetArrayItem(of->json, (int)index->number));
	}
	if (index->kind == VALUE_STRING)
		return member(e, of, index->text);
	if (index->kind == VALUE_NUMBER && of->kind == VALUE_COLLECTION) {
		const char *text = eval_text(e, index);

		return text == NULL ? null_value() : member(e, of, text);
	}
	return null_value();
}

/* Digits with an optional sign, nothing else: what is not plainly an integer is none. */
static struct value
integer(const struct value *v)
{
	const char *s;
	double n = 0;
	bool minus;

	if (v->kind == VALUE_NUMBER)
		return number_is_whole(v->number) ? number_value(v->number) : null_value();
	if (v->kind != VALUE_STRING)
		return null_value();
	s = v->text;
	minus = *s == '-';
	s += minus;
	if (*s == '\0')
		return null_value();
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return null_value();
		n = n * 10 + (*s - '0');
		if (n > NUMBER_EXACT_MAX)
			return null_value();
	}
	return number_value(minus && n > 0 ? -n : n);
}

static struct value
lower(struct eval *e, const struct value *v)
{
	char *s;

	if (v->kind != VALUE_STRING)
		return null_value();
	s = arena_copy(e->arena, v->text, strlen(v->text));
	for (char *c = s; c != NULL && *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 0x20);
	return text_value(e, s);
}

static struct value
length(const struct value *v)
{
	double n = 0;

	switch (v->kind) {
	case VALUE_STRING:
		for (const char *s = v->text; *s != '\0'; s++)
			n += ((unsigned char)*s & 0xc0) != 0x80; /* characters, not bytes */
		return number_value(n);
	case VALUE_JSON:
		return number_value(cJSON_GetArraySize(v->json));
	case VALUE_COLLECTION:
		return number_value((double)v->rows->rows_len);
	case VALUE_NULL:
	case VALUE_BOOL:
	case VALUE_NUMBER:
	case VALUE_STATE:
		break;
	}
	return null_value();
}

/* One pass of count or sum. */
struct aggregate {
	const char *sum;   /* field to add up, or NULL: count */
	const char *field; /* only rows whose field equals value; NULL all */
	struct value value;
	double total;
	bool failed; /* something to add was not a number */
};

static void
take(struct aggregate *g, const struct cJSON *row)
{
	struct value v;

	if (g->field != NULL) {
		v = value_of_json(cJSON_GetObjectItemCaseSensitive(row, g->field));
		if (!eval_is_equal(&v, &g->value))
			return;
	}
	if (g->sum == NULL) {
		g->total += 1;
		return;
	}
	v = value_of_json(cJSON_GetObjectItemCaseSensitive(row, g->sum));
	if (v.kind == VALUE_NUMBER)
		g->total += v.number;
	else if (v.kind != VALUE_NULL)
		g->failed = true;
	if (fabs(g->total) > NUMBER_EXACT_MAX)
		g->failed = true;
}

/* Only the rows that the index finds.  False: there is no index to ask. */
static bool
aggregate_indexed(struct eval *e, struct aggregate *g, struct collection *rows)
{
	char number[NUMBER_TEXT_SIZE + 1];
	const struct index_bucket *found;
	enum index_kind kind = g->value.kind == VALUE_STRING   ? INDEX_STRING
			       : g->value.kind == VALUE_NUMBER ? INDEX_NUMBER
							       : INDEX_BOOL;
	const char *text = g->value.text;
	const struct index *x;

	if (g->field == NULL || rows->rows_len <= SCANNED_MAX ||
	    (g->value.kind != VALUE_STRING && g->value.kind != VALUE_NUMBER && g->value.kind != VALUE_BOOL))
		return false;
	x = index_get(e->state, rows, g->field);
	if (x == NULL)
		return false;
	if (kind == INDEX_NUMBER) {
		number[number_text(g->value.number, number)] = '\0';
		text = number;
	} else if (kind == INDEX_BOOL) {
		text = g->value.yes ? "true" : "false";
	}
	found = index_find(e->state, x, text);
	if (found == NULL)
		return true;
	if (g->sum == NULL) {
		g->total = (double)bucket_count(found, kind);
	} else if (bucket_len(found) > LANG_VISIT_MAX) {
		e->r = -E2BIG;
	} else {
		for (size_t i = 0; i < bucket_len(found); i++)
			take(g, bucket_at(found, i)->json);
	}
	return true;
}

static struct value
run_aggregate(struct eval *e, struct aggregate *g, const struct value *over)
{
	if (over->kind == VALUE_COLLECTION && aggregate_indexed(e, g, over->rows)) {
		if (e->r != 0)
			return null_value();
	} else if (over->kind == VALUE_COLLECTION) {
		if (over->rows->rows_len > LANG_VISIT_MAX) {
			if (e->r == 0)
				e->r = -E2BIG;
			return null_value();
		}
		for (const struct row *row = over->rows->first; row != NULL; row = row->after)
			take(g, row->json);
	} else if (is_json(over, cJSON_Array)) {
		for (const struct cJSON *item = over->json->child; item != NULL; item = item->next)
			take(g, item);
	} else {
		return null_value();
	}
	return g->failed ? null_value() : number_value(g->total);
}

static struct value
call(struct eval *e, const struct expr *x, const struct lang_node *n)
{
	struct value args[4] = { 0 };
	size_t len = 0;
	const char *text;

	for (uint8_t a = n->a; a != LANG_NONE && len < 4; a = x->nodes[a].next)
		args[len++] = eval_node(e, x, a);
	switch ((enum lang_fn)n->fn) {
	case LANG_INT:
		args[2] = integer(&args[0]);
		return args[2].kind == VALUE_NULL && len == 2 ? args[1] : args[2];
	case LANG_STR:
		text = eval_text(e, &args[0]);
		return text_value(e, text);
	case LANG_LOWER:
		return lower(e, &args[0]);
	case LANG_LEN:
		return length(&args[0]);
	case LANG_HAS:
		return bool_value(args[0].kind != VALUE_NULL);
	case LANG_COUNT:
		if (args[1].kind != VALUE_STRING)
			return null_value();
		return run_aggregate(e, &(struct aggregate){ .field = args[1].text, .value = args[2] }, &args[0]);
	case LANG_SUM:
		if (args[1].kind != VALUE_STRING || (len == 4 && args[2].kind != VALUE_STRING))
			return null_value();
		return run_aggregate(e,
				     &(struct aggregate){ .sum = args[1].text,
							  .field = len == 4 ? args[2].text : NULL,
							  .value = len == 4 ? args[3] : null_value() },
				     &args[0]);
	}
	return null_value();
}

static struct value
compare(uint8_t op, const struct value *a, const struct value *b)
{
	int order;

	if (op == LANG_EQ || op == LANG_NE)
		return bool_value(eval_is_equal(a, b) == (op == LANG_EQ));
	if (a->kind == VALUE_NUMBER && b->kind == VALUE_NUMBER)
		order = (a->number > b->number) - (a->number < b->number);
	else if (a->kind == VALUE_STRING && b->kind == VALUE_STRING)
		order = strcmp(a->text, b->text);
	else
		return bool_value(false);
	return bool_value(op == LANG_LT   ? order < 0
			  : op == LANG_LE ? order <= 0
			  : op == LANG_GT ? order > 0
					  : order >= 0);
}

static bool
is_true(struct eval *e, const struct expr *x, uint8_t n)
{
	struct value v = eval_node(e, x, n);

	return v.kind == VALUE_BOOL && v.yes;
}

static struct value
string(struct eval *e, const struct lang_node *n)
{
	char *text = arena_alloc(e->arena, (size_t)n->len + 1);
	int len = text == NULL ? -ENOMEM : lang_string(n, text, n->len);

	return text_value(e, len < 0 ? NULL : text);
}

static struct value
eval_node(struct eval *e, const struct expr *x, uint8_t i)
{
	const struct lang_node *n = &x->nodes[i];
	struct value a = { 0 }, b = { 0 };

	if (e->r != 0)
		return null_value();
	switch ((enum lang_op)n->op) {
	case LANG_NUMBER:
		return number_value(n->number);
	case LANG_STRING:
		return string(e, n);
	case LANG_TRUE:
	case LANG_FALSE:
		return bool_value(n->op == LANG_TRUE);
	case LANG_NULL:
		return null_value();
	case LANG_NAME:
		return name(e, n);
	case LANG_FIELD:
		a = eval_node(e, x, n->a);
		return field(e, &a, n);
	case LANG_INDEX:
		a = eval_node(e, x, n->a);
		b = eval_node(e, x, n->b);
		return at(e, &a, &b);
	case LANG_CALL:
		return call(e, x, n);
	case LANG_OR:
		return bool_value(is_true(e, x, n->a) || is_true(e, x, n->b));
	case LANG_AND:
		return bool_value(is_true(e, x, n->a) && is_true(e, x, n->b));
	case LANG_NOT:
		return bool_value(!is_true(e, x, n->a));
	case LANG_EQ:
	case LANG_NE:
	case LANG_LT:
	case LANG_LE:
	case LANG_GT:
	case LANG_GE:
		a = eval_node(e, x, n->a);
		b = eval_node(e, x, n->b);
		return compare(n->op, &a, &b);
	case LANG_ADD:
	case LANG_SUB:
		a = eval_node(e, x, n->a);
		b = eval_node(e, x, n->b);
		if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
			return null_value();
		return number_value(n->op == LANG_ADD ? a.number + b.number : a.number - b.number);
	}
	return null_value();
}

/* see eval.h */
struct value
eval_expr(struct eval *e, const struct expr *x)
{
	return eval_node(e, x, x->root);
}

/* see eval.h.  A failure half way (too many rows) is not true, nor is it false: the caller looks at e->r. */
bool
eval_is_true(struct eval *e, const struct expr *x)
{
	return is_true(e, x, x->root) && e->r == 0;
}
