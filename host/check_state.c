/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_state.c - checks of kind state and relation: what the services hold. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check_model.h"
#include "host/check_writes.h"
#include "host/json.h"
#include "proto/number.h"

#define TEXT_SHOWN 400u

/* What there is instead, into out[0..size). */
static void __attribute__((format(printf, 3, 4))) tell(char *out, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(out, size, format, ap);
	va_end(ap);
}

static void
tell_value(char *out, size_t size, const cJSON *v)
{
	char *text = json_print(v);

	tell(out, size, "%.*s", (int)TEXT_SHOWN, text ? text : "?");
	free(text);
}

/* ---- state ------------------------------------------------------------------------------------------------------------ */

bool
check_state_holds(const struct cJSON *def, const struct check_view *view, char *actual, size_t size)
{
	const cJSON *equals = json_get(def, "equals"), *exists = json_get(def, "exists");
	const char *field = json_get_text(def, "sum"),
		   *path = json_get_text(def, "path") ? json_get_text(def, "path") : "", *why;
	const cJSON *v = check_view_at(view, path);
	char number[NUMBER_TEXT_SIZE];
	uint64_t count, there;
	double total = 0;

	if (exists) {
		tell(actual, size, v ? "it exists" : "it does not exist");
		return cJSON_IsBool(exists) && (v != NULL) == (bool)cJSON_IsTrue(exists);
	}
	if (!v) {
		tell(actual, size, "nothing there");
		return false;
	}
	if (json_get_u64(def, "count", UINT32_MAX, &count)) {
		if (!check_view_count(view, path, v, &there)) {
			tell(actual, size, "neither a list nor an object, cannot be counted");
			return false;
		}
		tell(actual, size, "it counts %" PRIu64, there);
		return there == count;
	}
	if (field) {
		if ((why = check_view_sum(view, path, v, field, &total))) {
			tell(actual, size, "%s", why);
			return false;
		}
		(void)number_text(total, number);
		tell(actual, size, "sum %s", number);
		return cJSON_IsNumber(equals) && number_is_equal(equals->valuedouble, total);
	}
	if (size)
		tell_value(actual, size, v);
	return json_equal(v, equals);
}

int
check_state_expect(const struct world_check *def, struct check_result *r)
{
	const cJSON *count = json_get(def->json, "count"), *exists = json_get(def->json, "exists"),
		    *equals = json_get(def->json, "equals");
	const char *field = json_get_text(def->json, "sum"), *service = json_get_text(def->json, "service"),
		   *path = json_get_text(def->json, "path"), *mode = check_mode_text(def->mode);
	char *text = json_print(count ? count : exists ? exists : equals);
	int rc;

	if (exists)
		rc = check_expected(r, "%s%s %s %s", mode, service, path,
				    cJSON_IsTrue(exists) ? "exists" : "does not exist");
	else
		rc = check_expected(r, "%s%s %s %s%s%s %.300s", mode, service, path,
				    count   ? "counts"
				    : field ? "sum of "
					    : "equals",
				    field ? field : "", field ? " is" : "", text ? text : "?");
	free(text);
	return rc;
}

/* ---- relation --------------------------------------------------------------------------------------------------------- */

/* One side of a relation: a single value, or why there is none. */
struct side {
	const cJSON *value; /* borrowed; NULL: it is the number, unless there is a why */
	double number;
	const char *why;
};

static void
side_of(const cJSON *operand, const struct check_view *views, const struct world *w, struct side *out)
{
	const char *service = json_get_text(operand, "service"), *path = json_get_text(operand, "path"),
		   *field = json_get_text(operand, "sum");
	const cJSON *v;
	uint64_t count = 0;
	size_t i;

	*out = (struct side){ .value = json_get(operand, "value") };
	out->why = out->value ? NULL : "is not recorded";
	for (i = 0; !out->value && service && path && i < w->services_len; i++) {
		if (strcmp(w->services[i].name, service) != 0)
			continue;
		v = check_view_at(&views[i], path);
		if (!v)
			out->why = "is not there";
		else if (field)
			out->why = check_view_sum(&views[i], path, v, field, &out->number);
		else if (json_get(operand, "count"))
			out->why = check_view_count(&views[i], path, v, &count) ? NULL : "cannot be counted";
		else
			out->why = cJSON_IsObject(v) || cJSON_IsArray(v) ? "is no single value" : NULL;
		if (!out->why && !field && json_get(operand, "count"))
			out->number = (double)count;
		else if (!out->why && !field)
			out->value = v;
	}
	if (!out->why && out->value && cJSON_IsNumber(out->value)) {
		out->number = out->value->valuedouble;
		out->value = NULL;
	}
}

static void
side_text(const struct side *s, char *out, size_t size)
{
	char number[NUMBER_TEXT_SIZE];

	if (s->why) {
		tell(out, size, "(%s)", s->why);
	} else if (s->value) {
		tell_value(out, size, s->value);
	} else {
		(void)number_text(s->number, number);
		tell(out, size, "%s", number);
	}
}

/* -1, 0, 1; 2: they are of two types, or of one that has no order. */
static int
compare(const struct side *a, const struct side *b)
{
	int r;

	if (!a->value && !b->value)
		return number_is_equal(a->number, b->number) ? 0 : a->number < b->number ? -1 : 1;
	if (!a->value || !b->value)
		return 2;
	if (cJSON_IsString(a->value) && cJSON_IsString(b->value)) {
		r = strcmp(a->value->valuestring, b->value->valuestring);
		return r < 0 ? -1 : r > 0;
	}
	return json_equal(a->value, b->value) ? 0 : 2;
}

static bool
is_related(const char *op, const struct side *a, const struct side *b)
{
	int r = compare(a, b);
	bool ordered = (!a->value && !b->value) ||
		       (a->value && b->value && cJSON_IsString(a->value) && cJSON_IsString(b->value));

	if (strcmp(op, "==") == 0)
		return r == 0;
	if (strcmp(op, "!=") == 0)
		return r != 0;
	if (!ordered)
		return false;
	if (op[0] == '<')
		return r < 0 || (op[1] == '=' && r == 0);
	return r > 0 || (op[1] == '=' && r == 0);
}

bool
check_relation_holds(const struct cJSON *def, const struct world *w, const struct check_view *views, char *actual,
		     size_t size)
{
	const cJSON *operands[2] = { json_get(def, "left"), json_get(def, "right") };
	const char *op = json_get_text(def, "op");
	char left[TEXT_SHOWN + 8], right[TEXT_SHOWN + 8];
	struct side sides[2];
	size_t i;

	for (i = 0; i < 2; i++)
		side_of(operands[i], views, w, &sides[i]);
	if (size) {
		side_text(&sides[0], left, sizeof(left));
		side_text(&sides[1], right, sizeof(right));
		tell(actual, size, "%s on the left, %s on the right", left, right);
	}
	return op && !sides[0].why && !sides[1].why && is_related(op, &sides[0], &sides[1]);
}

static void
operand_text(const cJSON *operand, char *out, size_t size)
{
	const char *field = json_get_text(operand, "sum");

	if (json_get(operand, "value"))
		tell_value(out, size, json_get(operand, "value"));
	else
		tell(out, size, "%s%s%s%s %s",
		     field                        ? "sum of "
		     : json_get(operand, "count") ? "count of "
						  : "",
		     field ? field : "", field ? " in " : "", json_get_text(operand, "service"),
		     json_get_text(operand, "path"));
}

int
check_relation_expect(const struct world_check *def, struct check_result *r)
{
	char left[TEXT_SHOWN + 300], right[TEXT_SHOWN + 300];

	operand_text(json_get(def->json, "left"), left, sizeof(left));
	operand_text(json_get(def->json, "right"), right, sizeof(right));
	return check_expected(r, "%s%.500s %s %.500s", check_mode_text(def->mode), left,
			      json_get_text(def->json, "op") ? json_get_text(def->json, "op") : "?", right);
}

/* ---- at the end ------------------------------------------------------------------------------------------------------- */

/* The final states that the check names.  0; else *rc and what it says. */
static bool
views_make(const struct world *w, const struct check_facts *f, const cJSON *const *operands, size_t len,
	   struct check_view *views, struct check_result *r, int *rc)
{
	const char *service;
	size_t i, k;

	for (i = 0; i < w->services_len; i++)
		for (k = 0; k < len && !views[i].doc; k++) {
			service = json_get_text(operands[k], "service");
			if (!service || strcmp(service, w->services[i].name) != 0)
				continue;
			views[i].doc = f->state(f->arg, i);
			views[i].collections = json_get(views[i].doc, "collections");
			if (views[i].doc)
				continue;
			*rc = check_unknown(r, "no final state of %s was recorded", service);
			return false;
		}
	return true;
}

int
check_state_finish(const struct world_check *def, const struct world *w, const struct check_facts *f,
		   const struct check_writes *t, struct check_result *r)
{
	const cJSON *sides[2] = { json_get(def->json, "left"), json_get(def->json, "right") };
	bool relation = def->kind == CHECK_RELATION;
	char actual[1024] = "";
	struct check_view *views;
	size_t i;
	int rc = relation ? check_relation_expect(def, r) : check_state_expect(def, r);

	if (rc < 0)
		return rc;
	for (i = 0; i < (relation ? 2 : 1); i++) {
		if (!relation)
			sides[0] = def->json;
		if (json_get_text(sides[i], "service"))
			check_rests_on(r, "/state/final/%s%s", json_get_text(sides[i], "service"),
				       json_get_text(sides[i], "path"));
	}
	if (f->truncated[TRUNCATED_STATE])
		return check_unknown(r, "the final state is not whole: the limit was reached");
	views = calloc(w->services_len + 1, sizeof(*views));
	if (!views)
		return -ENOMEM;
	if (views_make(w, f, sides, relation ? 2 : 1, views, r, &rc)) {
		for (i = 0; !relation && i < w->services_len; i++)
			if (views[i].doc)
				r->held = check_state_holds(def->json, &views[i], actual, sizeof(actual));
		if (relation)
			r->held = check_relation_holds(def->json, w, views, actual, sizeof(actual));
		rc = check_actual(r, "%s", actual[0] ? actual : "the check names no service of this world");
		r->idle = r->held && t && !t->effects;
		for (i = 0; i < (relation ? 2 : 1); i++)
			if (!r->held && json_get_text(sides[i], "service")) {
				snprintf(actual, sizeof(actual), "%s%s", json_get_text(sides[i], "service"),
					 json_get_text(sides[i], "path"));
				check_writes_rests(t, actual, r);
			}
	}
	for (i = 0; i < w->services_len; i++)
		cJSON_Delete(views[i].doc);
	free(views);
	return rc;
}

/* ---- a state ---------------------------------------------------------------------------------------------------------- */

const struct cJSON *
check_view_at(const struct check_view *view, const char *path)
{
	if (view->model)
		return check_model_at(view->model, view->service, path);
	return json_at(view->collections, path, true);
}

bool
check_view_count(const struct check_view *view, const char *path, const struct cJSON *v, uint64_t *out)
{
	if (view->model && check_model_count(view->model, view->service, path, out))
		return true;
	if (!cJSON_IsArray(v) && !cJSON_IsObject(v))
		return false;
	*out = (uint64_t)cJSON_GetArraySize(v);
	return true;
}

const char *
check_view_sum(const struct check_view *view, const char *path, const struct cJSON *v, const char *field, double *out)
{
	const char *why;

	if (view->model && check_model_sum(view->model, view->service, path, field, out, &why))
		return why;
	return json_sum(v, field, out);
}
