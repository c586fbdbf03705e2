/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_lang.c - the small language: what is an expression, what is not, and where the bounds lie. */
#include <errno.h>
#include <stdlib.h>

#include "proto/lang.h"
#include "tests/lib/tap.h"

static bool
known(void *arg, const char *name, size_t len)
{
	(void)arg;
	return (len == 6 && memcmp(name, "charge", 6) == 0) || (len == 6 && memcmp(name, "refund", 6) == 0) ||
	       (len == 5 && memcmp(name, "order", 5) == 0);
}

/* The text lies in a block of exactly its size, so that a read past the end is found. */
static int
parse(const char *text, struct lang_expr *out, struct lang_error *e)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int r;

	memcpy(copy, text, len);
	r = lang_parse(copy, len, known, NULL, out, e);
	free(copy);
	return r;
}

static void
valid(void)
{
	static const char *const texts[] = {
		"charge.refunded + int(request.body.amount) <= charge.amount",
		"request.body.charge",
		"refund",
		"int(request.form.amount, charge.amount)",
		"order.status == 'open'",
		"len(state.mail.sent) >= 1",
		"not has(request.headers['idempotency-key'])",
		"sum(state.refunds, 'amount', 'charge', request.form.charge) + 100 <= 4200",
		"sum(state.refunds, 'amount')",
		"count(state.refunds, 'charge', charge.id) == 0",
		"'{{'",
		"\"a\\\"b\\u00e9\\n\"",
		"'\\ud83d\\ude00'",
		"1.5",
		"0",
		"not not not true",
		"id",
		"now - 1",
		"seed",
		"vars.count + 1",
		"charge['a'][0].b[request.query.x]",
		"(((((((((((((((1)))))))))))))))",
		"true and false or null",
		"charge.amount-1",
		"request.and.or.not",
		"\t1 +\n2 ",
		"9007199254740991",
	};
	static const char *const pretty[] = { "str(1)", "lower('A')", "has(null)" };
	struct lang_expr x;
	struct lang_error e;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!ok(parse(texts[i], &x, &e) == 0, "accepted: %s", texts[i]))
			printf("# %zu: %s\n", e.offset, e.problem);
	for (size_t i = 0; i < sizeof(pretty) / sizeof(pretty[0]); i++)
		ok(parse(pretty[i], &x, &e) == 0, "accepted: %s", pretty[i]);
}

static void
invalid(void)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *problem;
	} cases[] = {
		{ "", 0, "a value expected at the end" },
		{ "1 +", 3, "a value expected at the end" },
		{ "chrage.amount", 0, "unknown name 'chrage'" },
		{ "1 + chrage.amount", 4, "unknown name 'chrage'" },
		{ "max(1, 2)", 0, "unknown function 'max'" },
		{ "count(state.a, 'b')", 0, "count() does not take 2 arguments" },
		{ "sum(state.a, 'b', 'c')", 0, "sum() does not take 3 arguments" },
		{ "int()", 4, "a value expected, found ')'" },
		{ "1 < 2 < 3", 6, "a comparison of a comparison" },
		{ "charge.amount = 3", 14, "a single '='" },
		{ "charge.", 7, "a name after '.' expected at the end" },
		{ "charge.0", 7, "a name after '.' expected, found '0'" },
		{ "charge[1", 8, "']' expected at the end" },
		{ "(1", 2, "')' expected at the end" },
		{ "1)", 1, "the end of the expression expected, found ')'" },
		{ "1 2", 2, "the end of the expression expected, found '2'" },
		{ "'abc", 0, "string without an end" },
		{ "'a\\x'", 2, "unknown escape in a string" },
		{ "'\\u0000'", 1, "unknown escape in a string" },
		{ "'\\ud800'", 1, "unknown escape in a string" },
		{ "'\\ud800\\u0041'", 1, "unknown escape in a string" },
		{ "'\\u12'", 1, "unknown escape in a string" },
		{ "1.", 1, "the end of the expression expected, found '.'" },
		{ "12ab", 0, "a letter follows a number" },
		{ "9007199254740992", 0, "number too large" },
		{ "charge $ b", 7, "unexpected character '$'" },
		{ "1 * 2", 2, "unexpected character '*'" },
		{ "1 \xc3\xa9", 2, "unexpected byte 0xc3" },
		{ "and", 0, "a value expected, found 'and'" },
		{ "1 and", 5, "a value expected at the end" },
		{ "request.headers.idempotency-key", 28, "unknown name 'key'" },
		{ "-1", 0, "a value expected, found '-'" },
		{ "true == (false", 14, "')' expected at the end" },
	};
	struct lang_expr x;
	struct lang_error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = parse(cases[i].text, &x, &e);

		if (!ok(r == -EPROTO && e.offset == cases[i].offset && strcmp(e.problem, cases[i].problem) == 0 &&
				e.fix[0],
			"refused: %s", cases[i].text))
			printf("# %d at %zu: %s\n", r, e.offset, e.problem);
	}
}

static void
repeat(char *out, const char *before, const char *what, int n, const char *after)
{
	strcpy(out, before);
	while (n-- > 0)
		strcat(out, what);
	strcat(out, after);
}

static void
bounds(void)
{
	static char text[4096];
	struct lang_expr x;
	struct lang_error e;

	repeat(text, "1", "+1", 31, "");
	is_int(parse(text, &x, &e), 0, "63 nodes");
	is_int(x.nodes_len, 63, "counted");
	repeat(text, "1", "+1", 32, "");
	is_int(parse(text, &x, &e), -EMSGSIZE, "65 nodes");
	repeat(text, "", "(", 16, "1))))))))))))))))");
	is_int(parse(text, &x, &e), 0, "depth 16");
	repeat(text, "", "(", 17, "1)))))))))))))))))");
	is_int(parse(text, &x, &e), -EMSGSIZE, "depth 17");
	repeat(text, "", "(", 1000, "");
	is_int(parse(text, &x, &e), -EMSGSIZE, "1000 open parentheses");
	repeat(text, "", "not ", 200, "1");
	is_int(parse(text, &x, &e), -EMSGSIZE, "200 times not");
	repeat(text, "'", "x", 1022, "'");
	is_int(parse(text, &x, &e), 0, "1 KiB");
	repeat(text, "'", "x", 1023, "'");
	is_int(parse(text, &x, &e), -EMSGSIZE, "1 KiB and a byte");
	repeat(text, "0", "+sum(id,id)", 8, "");
	is_int(parse(text, &x, &e), 0, "8 aggregates");
	repeat(text, "0", "+sum(id,id)", 9, "");
	is_int(parse(text, &x, &e), -EMSGSIZE, "9 aggregates");
	is_int(lang_parse("anything.goes", 13, NULL, NULL, &x, &e), 0, "without a list of names all are known");
}

static void
shape(void)
{
	const char *text = "charge.refunded + int('7', 1) <= request['a'] and not true";
	struct lang_expr x;
	struct lang_error e;
	const struct lang_node *n;

	is_int(lang_parse(text, strlen(text), known, NULL, &x, &e), 0, "parsed");
	n = &x.nodes[x.root];
	is_int(n->op, LANG_AND, "and at the root");
	is_int(x.nodes[n->b].op, LANG_NOT, "not on the right");
	n = &x.nodes[n->a];
	is_int(n->op, LANG_LE, "comparison on the left");
	is_int(x.nodes[n->b].op, LANG_INDEX, "index");
	n = &x.nodes[x.nodes[n->a].b];
	is_int(n->op, LANG_CALL, "call");
	is_int(n->fn, LANG_INT, "of int");
	is_int(x.nodes[n->a].op, LANG_STRING, "first argument");
	is_int((long long)x.nodes[x.nodes[n->a].next].number, 1, "second argument");
	is_int(x.nodes[x.nodes[n->a].next].next, LANG_NONE, "no third");
	is_int(lang_parse("1 - 2 - 3", 9, NULL, NULL, &x, &e), 0, "minus");
	is_int(x.nodes[x.nodes[x.root].a].op, LANG_SUB, "groups to the left");
}

static void
strings(void)
{
	const char *text = "'a\\'\\\\\\u00e9\\ud83d\\ude00\\n'";
	struct lang_expr x;
	struct lang_error e;
	char out[16];
	int r;

	is_int(lang_parse(text, strlen(text), NULL, NULL, &x, &e), 0, "string with every escape");
	r = lang_string(&x.nodes[x.root], out, sizeof(out));
	ok(r == 10 && memcmp(out, "a'\\\xc3\xa9\xf0\x9f\x98\x80\n", 10) == 0, "its value");
	is_int(lang_string(&x.nodes[x.root], out, 9), -ENOSPC, "a buffer one too short");
	is_int(lang_string(&x.nodes[x.root], out, 10), 10, "one just long enough");
}

static void
templates(void)
{
	size_t before, len, used;
	const char *expr;
	const char *s = "re_{{id}}-{{ '}}' }}";

	is_int(lang_template_next(s, strlen(s), &before, &expr, &len, &used), 1, "a template");
	ok(before == 3 && len == 2 && memcmp(expr, "id", 2) == 0 && used == 9, "where it is");
	s += used;
	is_int(lang_template_next(s, strlen(s), &before, &expr, &len, &used), 1, "another, with braces in quotes");
	ok(before == 1 && len == 6 && used == strlen(s), "whole");
	is_int(lang_template_next("plain } }} {", 12, &before, &expr, &len, &used), 0, "none");
	is_int(lang_template_next("a {{ id }", 9, &before, &expr, &len, &used), -EPROTO, "unclosed");
	is_int(lang_template_next("{{ '}}", 6, &before, &expr, &len, &used), -EPROTO, "unclosed quote");
	is_int(lang_template_next("{{ '\\", 5, &before, &expr, &len, &used), -EPROTO, "ends in an escape");
	is_int(lang_template_next("{{", 2, &before, &expr, &len, &used), -EPROTO, "only open");
	is_int(lang_template_next("", 0, &before, &expr, &len, &used), 0, "empty");
	is_int(lang_template_next("{{'{{'}}", 8, &before, &expr, &len, &used), 1, "literal braces");
	ok(len == 4 && used == 8, "as one string");
}

int
main(void)
{
	valid();
	invalid();
	bounds();
	shape();
	strings();
	templates();
	return tap_done();
}
