/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_eval.c - values of expressions and templates. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>

#include "guest/eval.h"
#include "guest/state.h"
#include "tests/lib/tap.h"

static struct state_budget budget = { .max = 256u << 20, .key = { 1, 2 } };
static struct state state;
static struct arena arena;
static struct bound bound[EVAL_BOUND_MAX];
static struct eval eval;
static int drawn;

static const char *
draw(void *arg)
{
	(void)arg;
	drawn++;
	return "fresh";
}

/* The value of an expression as JSON. */
static const char *
value(const char *text)
{
	static struct buf out;
	struct lang_error error;
	const struct template *t;
	struct buf pointer;
	struct cJSON *source, *result;
	char quoted[2048];

	snprintf(quoted, sizeof(quoted), "{{%s}}", text);
	source = cJSON_CreateString(quoted);
	buf_init(&pointer, 1000);
	if (template_compile(source, NULL, NULL, &arena, &t, &error, &pointer) < 0) {
		printf("# %s: %s\n", text, error.problem);
		return "?";
	}
	eval.r = 0;
	eval.id = NULL;
	result = template_render(&eval, t);
	buf_wipe(&out);
	buf_init(&out, 1u << 20);
	if (eval.r == 0)
		buf_json(&out, result);
	else
		buf_format(&out, "error %d", eval.r);
	cJSON_Delete(result);
	cJSON_Delete(source);
	buf_wipe(&pointer);
	return buf_terminate(&out);
}

static void
is_value(const char *text, const char *want)
{
	is_str(value(text), want, text);
}

static void
expressions(void)
{
	static const char *const cases[][2] = {
		{ "1 + 2 - 4", "-1" },
		{ "0.5 + 0.25", "0.75" },
		{ "'a' + 'b'", "null" },
		{ "1 + '1'", "null" },
		{ "9007199254740991 + 1", "null" },
		{ "9007199254740990 + 1", "9007199254740991" },
		{ "0 - 0", "0" },
		{ "0.1 + 0.2", "0.30000000000000004" },
		{ "request.body.charge", "\"ch_1\"" },
		{ "request.body.missing.deeper", "null" },
		{ "request.body.list[1]", "20" },
		{ "request.body.list[9]", "null" },
		{ "request.body.list['0']", "null" },
		{ "request.body['charge']", "\"ch_1\"" },
		{ "request.headers['x-one']", "\"1\"" },
		{ "state.things.a.v", "10" },
		{ "state.things['a'].v", "10" },
		{ "state.things[7].v", "70" },
		{ "state.things.zz", "null" },
		{ "state.nothing", "null" },
		{ "int('42')", "42" },
		{ "int('-42')", "-42" },
		{ "int('4.2')", "null" },
		{ "int('')", "null" },
		{ "int(' 1')", "null" },
		{ "int('1e3')", "null" },
		{ "int(1.5)", "null" },
		{ "int(3)", "3" },
		{ "int(null, 7)", "7" },
		{ "int('x', 'y')", "\"y\"" },
		{ "int(true)", "null" },
		{ "int('9007199254740993')", "null" },
		{ "int('-')", "null" },
		{ "int('+1')", "null" },
		{ "str(12)", "\"12\"" },
		{ "str(null)", "\"\"" },
		{ "str(request.body.list)", "\"[10,20]\"" },
		{ "str(1.25)", "\"1.25\"" },
		{ "lower('AbC\\u00c9')", "\"abc\xc3\x89\"" },
		{ "lower(1)", "null" },
		{ "len('h\\u00e9')", "2" },
		{ "len(request.body.list)", "2" },
		{ "len(state.things)", "3" },
		{ "len(null)", "null" },
		{ "len(request.body)", "3" },
		{ "has(request.body.charge)", "true" },
		{ "has(request.body.zz)", "false" },
		{ "has('')", "true" },
		{ "not has(request.headers['idempotency-key'])", "true" },
		{ "sum(state.things, 'v', 'id', 'a') + 100 <= 4200", "true" },
		{ "has(request.body.charge) and int(request.form.amount, 5) == 5", "true" },
		{ "1 == 1", "true" },
		{ "1 == '1'", "false" },
		{ "null == request.zz", "true" },
		{ "request.body == request.body", "false" },
		{ "request.body != request.body", "true" },
		{ "true == true", "true" },
		{ "'a' < 'b'", "true" },
		{ "'b' < 1", "false" },
		{ "null < 1", "false" },
		{ "null >= null", "false" },
		{ "2 >= 2", "true" },
		{ "1 != 2", "true" },
		{ "true and 1", "false" },
		{ "1 or true", "true" },
		{ "not 1", "true" },
		{ "not true", "false" },
		{ "1 or 2", "false" },
		{ "not null == null", "false" },
		{ "count(state.things, 'v', 10)", "1" },
		{ "count(state.things, 'kind', 'x')", "2" },
		{ "count(state.things, 1, 1)", "null" },
		{ "count(null, 'a', 1)", "null" },
		{ "sum(state.things, 'v')", "100" },
		{ "sum(state.things, 'v', 'kind', 'x')", "80" },
		{ "sum(state.things, 'kind')", "null" },
		{ "sum(state.things, 'none')", "0" },
		{ "sum(request.body.rows, 'n')", "3" },
		{ "row.v + 1", "6" },
		{ "now", "1790000000000" },
		{ "seed", "4211" },
		{ "vars.mode", "\"on\"" },
		{ "vars.zz", "null" },
		{ "state", "null" },
		{ "request.body.list", "[10,20]" },
		{ "unbound", "null" },
		{ "state.others", "[]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_value(cases[i][0], cases[i][1]);
	drawn = 0;
	is_value("id == id", "true");
	is_int(drawn, 1, "one draw for one effect");
}

/* A template in JSON, with and without failures. */
static void
is_template(const char *json, const char *want)
{
	struct cJSON *source = cJSON_Parse(json), *result;
	struct buf pointer, out;
	struct lang_error error;
	const struct template *t;

	buf_init(&pointer, 1000);
	buf_init(&out, 100000);
	if (template_compile(source, NULL, NULL, &arena, &t, &error, &pointer) < 0) {
		buf_add(&out, pointer.at, pointer.len);
		buf_format(&out, " %zu %s", error.offset, error.problem);
	} else {
		eval.r = 0;
		eval.id = NULL;
		result = template_render(&eval, t);
		buf_json(&out, result);
		cJSON_Delete(result);
	}
	is_str(buf_terminate(&out), want, json);
	buf_wipe(&out);
	buf_wipe(&pointer);
	cJSON_Delete(source);
}

static void
templates(void)
{
	/* what one request may copy is bounded, whatever its author names and how often */
	eval.copied = EVAL_JSON_MAX - 100;
	is_template("[\"{{row}}\", \"{{row}}\"]", "null");
	is_int(eval.r, -EMSGSIZE, "objects beyond the bound of copies are a failure");
	eval.copied = EVAL_JSON_MAX - 100;
	is_template("\"{{state.things}}\"", "null");
	is_int(eval.r, -EMSGSIZE, "a collection too");
	eval.copied = 0;
	is_template("\"{{1}}\"", "1");
	is_template("\"{{ row }}\"", "{\"id\":\"r\",\"v\":5}");
	is_template("\"x{{1}}\"", "\"x1\"");
	is_template("\"{{1}} \"", "\"1 \"");
	is_template("\"{{null}}{{request.zz}}\"", "\"\"");
	is_template("\"a{{row}}b\"", "\"a{\\\"id\\\":\\\"r\\\",\\\"v\\\":5}b\"");
	is_template("\"{{'{{'}}\"", "\"{{\"");
	is_template("\"a {{'{{'}} b }}\"", "\"a {{ b }}\"");
	is_template("{\"a\":[\"{{row.v}}\",{\"b\":\"re_{{id}}\"},null,true,1.5],\"c\":\"plain\"}",
		    "{\"a\":[5,{\"b\":\"re_fresh\"},null,true,1.5],\"c\":\"plain\"}");
	is_template("{\"a\":{\"b\":[1,\"x{{1 +}}\"]}}", "/a/b/1 6 a value expected at the end");
	is_template("[\"{{1\"]", "/0 0 \"{{\" without \"}}\"");
	is_template("[]", "[]");
	is_template("\"{{state.others}}\"", "[]");
}

static void
too_many(void)
{
	struct collection *many = state_add_collection(&state, "many");
	int made = 1;

	for (int i = 0; i <= (int)LANG_VISIT_MAX && made; i++) {
		struct cJSON *json = cJSON_CreateObject();
		struct row *r;
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		cJSON_AddStringToObject(json, "id", id);
		made = state_create(&state, many, id, json, &r) == 0;
		state_keep(&state);
		if (i == (int)LANG_VISIT_MAX - 1)
			is_value("count(state.many, 'id', '5')", "1");
	}
	ok(made, "100,001 rows");
	is_value("count(state.many, 'id', '5')", "1");
	is_value("sum(state.many, 'n', 'id', '5')", "0");
	is_value("count(state.many, 'id', null)", "error -7");
	is_value("sum(state.many, 'n')", "error -7");
	is_value("len(state.many)", "100001");
}

int
main(void)
{
	struct collection *things;
	struct row *r;

	arena_init(&arena, 64u << 20);
	state_init(&state, &budget, 16u << 20);
	things = state_add_collection(&state, "things");
	state_add_collection(&state, "others");
	if (things == NULL ||
	    state_create(&state, things, "a", cJSON_Parse("{\"id\":\"a\",\"v\":10,\"kind\":\"x\"}"), &r) < 0 ||
	    state_create(&state, things, "b", cJSON_Parse("{\"id\":\"b\",\"v\":20}"), &r) < 0 ||
	    state_create(&state, things, "7", cJSON_Parse("{\"id\":\"7\",\"v\":70,\"kind\":\"x\"}"), &r) < 0 ||
	    state_set(&state, "mode", cJSON_CreateString("on")) < 0)
		return 1;
	state_keep(&state);
	bound[0] = (struct bound){ .name = "row", .row = cJSON_Parse("{\"id\":\"r\",\"v\":5}") };
	eval = (struct eval){
		.state = &state,
		.bound = bound,
		.bound_len = 1,
		.arena = &arena,
		.now = 1790000000000.0,
		.seed = 4211,
		.draw = draw,
		.request = cJSON_Parse(
			"{\"body\":{\"charge\":\"ch_1\",\"list\":[10,20],\"rows\":[{\"n\":1},{\"n\":2},{}]},"
			"\"headers\":{\"x-one\":\"1\"}}")
	};
	expressions();
	templates();
	too_many();
	cJSON_Delete((struct cJSON *)(uintptr_t)bound[0].row);
	cJSON_Delete((struct cJSON *)(uintptr_t)eval.request);
	state_wipe(&state);
	arena_wipe(&arena);
	return tap_done();
}
