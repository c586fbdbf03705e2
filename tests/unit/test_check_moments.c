/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_check_moments.c - what the services held on the way: the model that is followed from row to row, its own check, and the
 * checks that rest on it. */
#include "host/check_model.h"
#include "host/json.h"
#include "tests/unit/check_one.h"

static const char before[] =
	"{\"collections\":{\"charges\":[{\"id\":\"a\",\"n\":1,\"s\":\"open\"},{\"id\":\"b\",\"n\":2}],"
	"\"mails\":[]}}";
#define OP(rows) \
	"{\"service\":\"payments\",\"kind\":\"http\",\"key\":null,\"request\":{\"method\":\"POST\",\"target\":\"/x\"}," \
	"\"effects\":[{\"update\":\"/charges/a\"}],\"rows\":[" rows \
	"],\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}}"
#define ROW(at, row) "{\"at\":\"" at "\",\"row\":" row "}"
#define A(n, s) ROW("/charges/a", "{\"id\":\"a\",\"n\":" n ",\"s\":\"" s "\"}")
#define GONE(at) ROW(at, "null")
#define MAIL(id) ROW("/mails/" id, "{\"id\":\"" id "\"}")
#define FINAL(a, mails) \
	"{\"collections\":{\"charges\":[{\"id\":\"a\"," a "},{\"id\":\"b\",\"n\":2}],\"mails\":[" mails "]}}"
#define SAME "\"n\":1,\"s\":\"open\""

/* As holds(), with the states handed over on the way. */
static bool
along(enum check_kind kind, const char *json, const char *first, const char *const *ops, const char *last)
{
	static const char *const modes[] = { "at_end", "always", "never", "sometimes" };
	struct world_service service = { .name = "payments" };
	struct world_check def = { .id = "it", .kind = kind };
	struct world w = { .checks_len = 1, .checks = &def, .services_len = 1, .services = &service };
	cJSON *doc = cJSON_Parse(json), *own = cJSON_Parse("{}"), *v = cJSON_GetObjectItem(doc, "mode");
	struct checks c;
	size_t i;
	bool held;

	service.json = own;
	def.json = doc;
	for (i = 0; v && i < 4; i++)
		if (strcmp(modes[i], v->valuestring) == 0)
			def.mode = (enum check_mode)i;
	if (!doc || checks_init(&c, &w) < 0)
		abort();
	if (first) {
		v = cJSON_Parse(first);
		checks_state(&c, 0, 0, v);
		cJSON_Delete(v);
	}
	for (i = 0; ops[i]; i++) {
		v = cJSON_Parse(ops[i]);
		if (!v)
			abort();
		checks_operation(&c, i, v);
		cJSON_Delete(v);
	}
	if (last) {
		v = cJSON_Parse(last);
		checks_state(&c, 1, 0, v);
		cJSON_Delete(v);
	}
	if (checks_finish(&c, &facts) < 0)
		abort();
	held = c.results[0].held;
	was_idle = c.results[0].idle;
	snprintf(said, sizeof(said), "expected %s, actual %s", c.results[0].expected, c.results[0].actual);
	snprintf(rested, sizeof(rested), "%s", c.results[0].rests_len ? c.results[0].rests[0] : "");
	checks_wipe(&c);
	cJSON_Delete(doc);
	cJSON_Delete(own);
	return held;
}

#define STATE(rest, mode) "{\"service\":\"payments\"," rest ",\"mode\":\"" mode "\"}"
#define OPEN(mode) STATE("\"path\":\"/charges/a/s\",\"equals\":\"open\"", mode)
#define SUM(n, mode) STATE("\"path\":\"/charges\",\"sum\":\"n\",\"equals\":" n, mode)
#define COUNT(n, mode) STATE("\"path\":\"/mails\",\"count\":" n, mode)
#define OPS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE ((const char *const[]){ NULL })

static void
one(const char *name, enum check_kind kind, const char *json, const char *const *ops, const char *last, bool held,
    const char *why)
{
	bool now;

	reset();
	now = along(kind, json, before, ops, last);
	if (!ok(now == held && strstr(said, why), "%s", name))
		printf("# %s; rests on %s\n", said, rested);
}

static void
states(void)
{
	enum check_kind k = CHECK_STATE;

	one("always: nothing happened", k, OPEN("always"), NONE, before, true, "after each of 0");
	ok(was_idle, "which rests on nothing");
	one("always: all along", k, OPEN("always"), OPS(OP(A("3", "open"))), FINAL("\"n\":3,\"s\":\"open\"", ""), true,
	    "each of 1");
	ok(!was_idle, "which rests on it");
	one("always: not in between", k, OPEN("always"), OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, false,
	    "after operation 0: \"paid\"");
	is_str(rested, "/operations/0", "it names the operation first");
	one("always: not at first", k, STATE("\"path\":\"/charges/a/n\",\"equals\":7", "always"),
	    OPS(OP(A("7", "open"))), FINAL("\"n\":7,\"s\":\"open\"", ""), false, "before the first operation: 1");
	one("never: not in between either", k, STATE("\"path\":\"/charges/a/s\",\"equals\":\"paid\"", "never"),
	    OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, false, "after operation 0");
	one("never: so it is", k, STATE("\"path\":\"/charges/a/s\",\"equals\":\"lost\"", "never"),
	    OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, true, "");
	one("sometimes: in between", k, STATE("\"path\":\"/charges/a/s\",\"equals\":\"paid\"", "sometimes"),
	    OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, true, "after operation 0");
	one("sometimes: at no time", k, STATE("\"path\":\"/charges/a/s\",\"equals\":\"lost\"", "sometimes"),
	    OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, false, "nor after any of 2");
	one("count: never two", k, COUNT("2", "never"), OPS(OP(MAIL("x")), OP(GONE("/mails/x")), OP(MAIL("y"))),
	    FINAL(SAME, "{\"id\":\"y\"}"), true, "");
	one("count: two for a moment", k, COUNT("2", "never"), OPS(OP(MAIL("x")), OP(MAIL("y")), OP(GONE("/mails/x"))),
	    FINAL(SAME, "{\"id\":\"y\"}"), false, "after operation 1: it counts 2");
	one("exists: for a moment", k, STATE("\"path\":\"/mails/x\",\"exists\":true", "sometimes"),
	    OPS(OP(MAIL("x")), OP(GONE("/mails/x"))), before, true, "after operation 0: it exists");
	one("exists: a row that came back", k, STATE("\"path\":\"/mails/x\",\"exists\":false", "sometimes"),
	    OPS(OP(MAIL("x"))), FINAL(SAME, "{\"id\":\"x\"}"), true, "before the first");
	one("sum: kept up to date", k, SUM("3", "always"),
	    OPS(OP(A("1", "paid")), OP(A("2", "paid") "," ROW("/charges/b", "{\"id\":\"b\",\"n\":1}"))),
	    "{\"collections\":{\"charges\":[{\"id\":\"a\",\"n\":2,\"s\":\"paid\"},{\"id\":\"b\",\"n\":1}],\"mails\":[]}}",
	    true, "");
	one("sum: not after this", k, SUM("3", "always"), OPS(OP(A("2", "paid"))), FINAL("\"n\":2,\"s\":\"paid\"", ""),
	    false, "after operation 0: sum 4");
	one("sum: of a text", k, SUM("3", "always"), OPS(OP(A("\"x\"", "paid"))),
	    FINAL("\"n\":\"x\",\"s\":\"paid\"", ""), false, "not numbers");
	one("sum: of parts", k, SUM("2.5", "sometimes"), OPS(OP(A("0.5", "paid"))),
	    FINAL("\"n\":0.5,\"s\":\"paid\"", ""), true, "sum 2.5");
	one("sum: of parts, and whole again", k, SUM("5", "sometimes"), OPS(OP(A("0.5", "paid")), OP(A("3", "paid"))),
	    FINAL("\"n\":3,\"s\":\"paid\"", ""), true, "after operation 1: sum 5");
}

/* What cannot be followed is not taken for followed. */
static void
broken(void)
{
	enum check_kind k = CHECK_STATE;

	one("final state: another value", k, OPEN("always"), OPS(OP(A("3", "open"))),
	    FINAL("\"n\":4,\"s\":\"open\"", ""), false, "does not lead to the final state of payments/charges/a");
	one("final state: a row more", k, OPEN("always"), OPS(OP(A("3", "open"))),
	    FINAL("\"n\":3,\"s\":\"open\"", "{\"id\":\"x\"}"), false, "payments/mails");
	one("final state: a row less", k, OPEN("always"), OPS(OP(MAIL("x"))), before, false, "does not lead");
	one("final state: none", k, OPEN("always"), OPS(OP(A("3", "open"))), NULL, false,
	    "final state was not recorded");
	one("rows: null", k, OPEN("sometimes"),
	    OPS("{\"service\":\"payments\",\"effects\":[{\"update\":\"/charges/a\"}],\"rows\":null,\"views\":{\"service\":\"applied\"}}"),
	    before, false, "larger than 64 KiB");
	one("rows: missing", k, OPEN("always"),
	    OPS("{\"service\":\"payments\",\"effects\":[{\"update\":\"/charges/a\"}],\"views\":{\"service\":\"applied\"}}"),
	    before, false, "not recorded");
	one("rows: of a refused call", k, OPEN("always"),
	    OPS("{\"service\":\"payments\",\"effects\":[],\"rows\":[],\"views\":{\"service\":\"rejected\"}}"), before,
	    true, "");
	one("rows: another id", k, OPEN("always"), OPS(OP(ROW("/charges/a", "{\"id\":\"b\"}"))), before, false,
	    "cannot be followed");
	one("rows: no such collection", k, OPEN("always"), OPS(OP(ROW("/lists/a", "{\"id\":\"a\"}"))), before, false,
	    "cannot be followed");
	one("rows: no id", k, OPEN("always"), OPS(OP(ROW("/charges", "{\"id\":\"a\"}"))), before, false,
	    "cannot be followed");
	one("rows: a path below", k, OPEN("always"), OPS(OP(ROW("/charges/a/n", "{\"id\":\"n\"}"))), before, false,
	    "cannot be followed");
	reset();
	ok(!along(k, OPEN("never"), NULL, OPS(OP(A("1", "paid"))), before) && strstr(said, "initial state"),
	   "no initial state: %s", said);
	reset();
	facts.truncated[TRUNCATED_OPERATIONS] = true;
	ok(!along(k, OPEN("always"), before, OPS(OP(A("3", "open"))), FINAL("\"n\":3,\"s\":\"open\"", "")),
	   "not when operations are missing: %s", said);
}

#define SIDE(path, rest) "{\"service\":\"payments\",\"path\":\"" path "\"" rest "}"
#define RELATION(left, op, right, mode) \
	"{\"left\":" left ",\"op\":\"" op "\",\"right\":" right ",\"mode\":\"" mode "\"}"

static void
others(void)
{
	one("relation: always", CHECK_RELATION,
	    RELATION(SIDE("/mails", ",\"count\":true"), "<=", SIDE("/charges/a/n", ""), "always"),
	    OPS(OP(MAIL("x")), OP(A("2", "open")), OP(MAIL("y"))),
	    FINAL("\"n\":2,\"s\":\"open\"", "{\"id\":\"x\"},{\"id\":\"y\"}"), true, "each of 3");
	one("relation: the other way round", CHECK_RELATION,
	    RELATION(SIDE("/mails", ",\"count\":true"), "<=", SIDE("/charges/a/n", ""), "always"),
	    OPS(OP(MAIL("x")), OP(MAIL("y")), OP(A("2", "open"))),
	    FINAL("\"n\":2,\"s\":\"open\"", "{\"id\":\"x\"},{\"id\":\"y\"}"), false,
	    "after operation 1: 2 on the left, 1 on the right");
	one("relation: a sum", CHECK_RELATION,
	    RELATION(SIDE("/charges", ",\"sum\":\"n\""), "<", "{\"value\":4}", "always"),
	    OPS(OP(A("2", "open")), OP(A("1", "open"))), before, false, "after operation 0: 4 on the left");
	one("unchanged: it came back", CHECK_UNCHANGED, "{\"mode\":\"always\"}",
	    OPS(OP(A("1", "paid")), OP(A("1", "open"))), before, false,
	    "after operation 0: payments:/charges/a/s was \"open\", is \"paid\"");
	one("unchanged: what is excepted", CHECK_UNCHANGED,
	    "{\"mode\":\"always\",\"except\":[\"payments:/charges/*/s\",\"payments:/mails\"]}",
	    OPS(OP(A("1", "paid") "," MAIL("x")), OP(GONE("/mails/x"))), FINAL("\"n\":1,\"s\":\"paid\"", ""), true,
	    "each of 2");
	one("unchanged: a row that was there for a moment", CHECK_UNCHANGED, "{\"mode\":\"always\"}",
	    OPS(OP(MAIL("x")), OP(GONE("/mails/x"))), before, false, "/mails/x was nothing");
	one("unchanged: a row that was gone for a moment", CHECK_UNCHANGED,
	    "{\"mode\":\"always\",\"except\":[\"payments:/charges/a/n\"]}",
	    OPS(OP(GONE("/charges/a")), OP(A("1", "open"))), before, false, "/charges/a was");
	one("unchanged: told, not changed", CHECK_UNCHANGED, "{\"mode\":\"always\"}", OPS(OP(A("1", "open"))), before,
	    true, "");
	one("duplicates: what it did is not known", CHECK_NO_DUPLICATES, "{}",
	    OPS(OP(A("2", "paid")),
		"{\"service\":\"payments\",\"kind\":\"http\",\"key\":null,\"request\":{\"method\":\"POST\","
		"\"target\":\"/x\"},\"effects\":[{\"update\":\"/charges/a\"}],\"rows\":null,"
		"\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}}"),
	    NULL, false, "operation 1 had an effect");
	/* What an update did tells whether it did it again. */
	one("duplicates: the same is there again", CHECK_NO_DUPLICATES, "{}",
	    OPS(OP(A("2", "paid")), OP(A("2", "paid"))), NULL, true, "");
	one("duplicates: it changed again", CHECK_NO_DUPLICATES, "{}", OPS(OP(A("2", "paid")), OP(A("3", "paid"))),
	    NULL, false, "operation 1 had an effect");
}

/* Each step costs the same, however many rows there are. */
static void
many(void)
{
	struct world_service service = { .name = "payments" };
	cJSON *own = cJSON_Parse("{}"), *doc = cJSON_Parse(before), *op;
	struct world w = { .services_len = 1, .services = &service };
	struct check_model *m = check_model_new(&w);
	const char *why = "?";
	char text[300];
	uint64_t count = 0;
	double sum = 0;
	unsigned i;

	service.json = own;
	if (!m || !check_model_want(m, "payments", "/mails", "n"))
		abort();
	check_model_begin(m, 0, doc);
	for (i = 0; i < 60000; i++) {
		snprintf(
			text, sizeof(text),
			"{\"service\":\"payments\",\"rows\":[{\"at\":\"/mails/m%u\",\"row\":{\"id\":\"m%u\",\"n\":2}}]}",
			i, i);
		op = cJSON_Parse(text);
		check_model_step(m, i, op);
		cJSON_Delete(op);
		if (!check_model_sum(m, 0, "/mails", "n", &sum, &why) || why || sum < 2 * i)
			break;
	}
	ok(i == 60000 && check_model_count(m, 0, "/mails", &count) && count == 60000, "60000 rows: sum %g", sum);
	ok(check_model_at(m, 0, "/mails/m59999/n") && !check_model_at(m, 0, "/mails/m60000"), "each is found");
	is_int(check_model_last(m, 0, "/mails/m7/n"), 8, "and who made it");
	check_model_free(m);
	cJSON_Delete(doc);
	cJSON_Delete(own);
}

int
main(void)
{
	states();
	broken();
	others();
	many();
	return tap_done();
}
