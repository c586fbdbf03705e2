/* SPDX-License-Identifier: GPL-2.0-or-later
 * template.c - JSON whose strings may hold {{ expressions }}: prepared once when the world is read, rendered per request. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "guest/eval.h"
#include "guest/state.h"

enum template_kind { TEMPLATE_LITERAL, TEMPLATE_VALUE, TEMPLATE_TEXT, TEMPLATE_LIST };

struct part {
	const char *text; /* literal text before the expression */
	size_t len;
	bool has_expr;
	struct expr expr;
};
struct template
{
	enum template_kind kind;
	const struct cJSON *json; /* where it comes from: literal, key names */
	size_t len;
	const struct part *parts;            /* of VALUE (one) and TEXT */
	const struct template *const *items; /* of LIST: an array's or object's children */
};

/* see eval.h */
int
expr_compile(const char *text, lang_known_fn *known, void *arg, struct arena *arena, struct expr *out,
	     struct lang_error *error)
{
	struct lang_expr x;
	struct lang_node *nodes;
	int r = lang_parse(text, strlen(text), known, arg, &x, error);

	if (r < 0)
		return r;
	nodes = arena_alloc(arena, x.nodes_len * sizeof(*nodes));
	if (nodes == NULL)
		return -ENOMEM;
	memcpy(nodes, x.nodes, x.nodes_len * sizeof(*nodes));
	*out = (struct expr){ .root = x.root, .nodes = nodes };
	return 0;
}

static int
compile_part(const char *s, size_t len, lang_known_fn *known, void *arg, struct arena *arena, struct expr *out,
	     struct lang_error *error)
{
	char *text = arena_copy(arena, s, len);

	return text == NULL ? -ENOMEM : expr_compile(text, known, arg, arena, out, error);
}

/* Counts the parts of a string: 0 if it is literal, -EPROTO if a template is not closed. */
static int
count_parts(const char *s, struct lang_error *error)
{
	size_t len = strlen(s), at = 0, before, expr_len, used;
	const char *expr;
	int n = 0, r;

	while ((r = lang_template_next(s + at, len - at, &before, &expr, &expr_len, &used)) == 1) {
		at += used;
		n++;
	}
	if (r < 0) {
		error->offset = at;
		strcpy(error->problem, "\"{{\" without \"}}\"");
		strcpy(error->fix, "close the template, or write literal braces as {{'{{'}}");
		return r;
	}
	return n == 0 ? 0 : n + (at < len);
}

static int
compile_string(const struct cJSON *json, lang_known_fn *known, void *arg, struct arena *arena, struct template *t,
	       struct lang_error *error)
{
	const char *s = json->valuestring, *expr;
	size_t left = strlen(s), before, expr_len, used;
	int n = count_parts(s, error), r;
	struct part *parts;

	if (n <= 0) {
		t->kind = TEMPLATE_LITERAL;
		return n;
	}
	parts = arena_alloc(arena, (size_t)n * sizeof(*parts));
	if (parts == NULL)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		r = lang_template_next(s, left, &before, &expr, &expr_len, &used);
		if (r <= 0) {
			parts[i] = (struct part){ .text = s, .len = left };
			break;
		}
		parts[i] = (struct part){ .text = s, .len = before, .has_expr = true };
		if ((r = compile_part(expr, expr_len, known, arg, arena, &parts[i].expr, error)) < 0) {
			error->offset += (size_t)(expr - json->valuestring);
			return r;
		}
		s += used;
		left -= used;
	}
	t->parts = parts;
	t->len = (size_t)n;
	t->kind = n == 1 && parts[0].len == 0 ? TEMPLATE_VALUE : TEMPLATE_TEXT;
	return 0;
}

/* Adds a member's name or an item's number to the place that is being compiled. */
static void
push(struct buf *pointer, const struct cJSON *child, size_t index)
{
	buf_text(pointer, "/");
	if (child->string != NULL)
		buf_text(pointer, child->string);
	else
		buf_format(pointer, "%zu", index);
}

/* see eval.h */
int
template_compile(const struct cJSON *json, lang_known_fn *known, void *arg, struct arena *arena,
		 const struct template **out, struct lang_error *error, struct buf *pointer)
{
	struct template *t = arena_alloc(arena, sizeof(*t));
	const struct template **items;
	bool literal = true;
	size_t i = 0;
	int r = 0;

	if (t == NULL)
		return -ENOMEM;
	*t = (struct template){ .kind = TEMPLATE_LITERAL, .json = json };
	*out = t;
	if (cJSON_IsString(json))
		return compile_string(json, known, arg, arena, t, error);
	if (json->child == NULL)
		return 0;
	t->len = (size_t)cJSON_GetArraySize(json);
	items = arena_alloc(arena, t->len * sizeof(void *));
	if (items == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = json->child; c != NULL; c = c->next, i++) {
		size_t len = pointer->len;

		push(pointer, c, i);
		r = template_compile(c, known, arg, arena, &items[i], error, pointer);
		if (r < 0)
			return r;
		pointer->len = len;
		literal = literal && items[i]->kind == TEMPLATE_LITERAL;
	}
	t->items = items;
	t->kind = literal ? TEMPLATE_LITERAL : TEMPLATE_LIST;
	return 0;
}

/* see eval.h */
struct value
template_value(struct eval *e, const struct template *t)
{
	struct value v = { .kind = VALUE_NULL };
	struct buf b;

	if (t->kind == TEMPLATE_LITERAL)
		return value_of_json(t->json);
	if (t->kind == TEMPLATE_VALUE)
		return eval_expr(e, &t->parts[0].expr);
	if (t->kind != TEMPLATE_TEXT)
		return v;
	buf_init(&b, EVAL_TEXT_MAX);
	for (size_t i = 0; i < t->len && e->r == 0; i++) {
		struct value part;
		const char *text;

		buf_add(&b, t->parts[i].text, t->parts[i].len);
		if (!t->parts[i].has_expr)
			continue;
		part = eval_expr(e, &t->parts[i].expr);
		text = eval_text(e, &part);
		if (text != NULL)
			buf_text(&b, text);
	}
	v = (struct value){ .kind = VALUE_STRING, .text = b.failed ? NULL : arena_copy(e->arena, b.at, b.len) };
	buf_wipe(&b);
	if (v.text == NULL) {
		v.kind = VALUE_NULL;
		if (e->r == 0)
			e->r = -EMSGSIZE;
	}
	return v;
}

/* False, and the failure noted, when copying json too would be more than one request may have: a reply can name a whole
 * collection as often as its author likes. */
static bool
may_copy(struct eval *e, const struct cJSON *json)
{
	size_t heap = json_heap(json);

	if (heap > EVAL_JSON_MAX - e->copied) {
		e->r = -EMSGSIZE;
		return false;
	}
	e->copied += heap;
	return true;
}

static struct cJSON *
copy_rows(struct eval *e, const struct collection *rows)
{
	struct cJSON *array = cJSON_CreateArray();

	for (const struct row *row = rows->first; row != NULL && array != NULL; row = row->after) {
		struct cJSON *copy = may_copy(e, row->json) ? cJSON_Duplicate(row->json, true) : NULL;

		if (copy == NULL || !cJSON_AddItemToArray(array, copy)) {
			cJSON_Delete(copy);
			cJSON_Delete(array);
			return NULL;
		}
	}
	return array;
}

static struct cJSON *
value_json(struct eval *e, const struct value *v)
{
	switch (v->kind) {
	case VALUE_BOOL:
		return cJSON_CreateBool(v->yes);
	case VALUE_NUMBER:
		return cJSON_CreateNumber(v->number);
	case VALUE_STRING:
		return cJSON_CreateString(v->text);
	case VALUE_JSON:
		return may_copy(e, v->json) ? cJSON_Duplicate(v->json, true) : NULL;
	case VALUE_COLLECTION:
		return copy_rows(e, v->rows);
	case VALUE_NULL:
	case VALUE_STATE:
		break;
	}
	return cJSON_CreateNull();
}

static struct cJSON *
render_list(struct eval *e, const struct template *t)
{
	bool object = cJSON_IsObject(t->json);
	struct cJSON *out = object ? cJSON_CreateObject() : cJSON_CreateArray();
	const struct cJSON *c = t->json->child;

	for (size_t i = 0; i < t->len && out != NULL; i++, c = c->next) {
		struct cJSON *item = template_render(e, t->items[i]);

		if (item == NULL ||
		    !(object ? cJSON_AddItemToObject(out, c->string, item) : cJSON_AddItemToArray(out, item))) {
			cJSON_Delete(item);
			cJSON_Delete(out);
			return NULL;
		}
	}
	return out;
}

/* see eval.h */
struct cJSON *
template_render(struct eval *e, const struct template *t)
{
	struct cJSON *out = NULL;
	struct value v;

	if (t->kind == TEMPLATE_LITERAL) {
		out = cJSON_Duplicate(t->json, true);
	} else if (t->kind == TEMPLATE_LIST) {
		out = render_list(e, t);
	} else {
		v = template_value(e, t);
		out = e->r == 0 ? value_json(e, &v) : NULL;
	}
	if (out == NULL && e->r == 0)
		e->r = -ENOMEM;
	return out;
}
