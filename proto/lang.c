/* SPDX-License-Identifier: GPL-2.0-or-later
 * lang.c - recursive descent over at most 1 KiB of text into an array of at most 64 nodes.  Every recursion is counted
 * against LANG_DEPTH_MAX, every node against LANG_NODES_MAX, so stack and memory are known beforehand. */
#include "proto/lang.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/utf8.h"

enum token { TOKEN_END, TOKEN_NUMBER, TOKEN_STRING, TOKEN_NAME, TOKEN_MARK };

struct parser {
	const char *text;
	size_t len, at; /* at: first byte after the current token */
	enum token token;
	size_t start;     /* of the current token */
	const char *word; /* of the current token; of a string without its quotes */
	size_t word_len;
	int op; /* of TOKEN_MARK: the character, or enum mark */
	uint32_t depth, aggregates;
	lang_known_fn *known;
	void *arg;
	struct lang_expr *out;
	struct lang_error *error;
	int r; /* first error, sticks */
};
enum mark { MARK_EQ = 256, MARK_NE, MARK_LE, MARK_GE };

static const struct {
	const char *name;
	uint8_t fn, min, max;
} functions[] = {
	{ "int", LANG_INT, 1, 2 }, { "str", LANG_STR, 1, 1 }, { "lower", LANG_LOWER, 1, 1 },
	{ "len", LANG_LEN, 1, 1 }, { "has", LANG_HAS, 1, 1 }, { "count", LANG_COUNT, 3, 3 },
	{ "sum", LANG_SUM, 2, 4 },
};
static const char *const own_names[] = { "request", "state", "vars", "id", "now", "seed" };
static const char *const keywords[] = { "and", "or", "not", "true", "false", "null" };

static uint8_t parse_expr(struct parser *p);

static bool
is_word(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

static bool
is_one_of(const char *word, size_t len, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_word(word, len, names[i]))
			return true;
	return false;
}

/* The first error wins; the current token becomes the end, so that every loop stops. */
static void __attribute__((format(printf, 4, 5)))
fail(struct parser *p, int err, const char *fix, const char *format, ...)
{
	va_list ap;

	if (p->r != 0)
		return;
	p->r = err;
	p->error->offset = p->start;
	va_start(ap, format);
	vsnprintf(p->error->problem, sizeof(p->error->problem), format, ap);
	va_end(ap);
	snprintf(p->error->fix, sizeof(p->error->fix), "%s", fix);
	p->token = TOKEN_END;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int
hex4(const char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = s[i];

		if (is_digit(c))
			v = v * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* Decodes the escape at s[0] == '\\'.  Returns the bytes it takes and sets *code, or 0 if it is none of the language's. */
static size_t
escape(const char *s, size_t len, uint32_t *code)
{
	int high, low;

	if (len < 2)
		return 0;
	switch (s[1]) {
	case '\\':
	case '\'':
	case '"':
		*code = (unsigned char)s[1];
		return 2;
	case 'n':
		*code = '\n';
		return 2;
	case 'u':
		break;
	default:
		return 0;
	}
	if (len < 6 || (high = hex4(s + 2)) <= 0)
		return 0;
	*code = (uint32_t)high;
	if (high < 0xd800 || high > 0xdfff)
		return 6;
	/* a pair of surrogates is one character; a lone one is none */
	if (high > 0xdbff || len < 12 || s[6] != '\\' || s[7] != 'u' || (low = hex4(s + 8)) < 0xdc00 || low > 0xdfff)
		return 0;
	*code = 0x10000u + (((uint32_t)high - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
	return 12;
}

static void
scan_string(struct parser *p)
{
	char quote = p->text[p->at];
	size_t i = p->at + 1;

	while (i < p->len && p->text[i] != quote) {
		uint32_t code;
		size_t n = 1;

		if (p->text[i] == '\\' && (n = escape(p->text + i, p->len - i, &code)) == 0) {
			p->start = i;
			fail(p, -EPROTO,
			     "escapes are \\\\ \\' \\\" \\n and \\uXXXX (not \\u0000, surrogates only as a pair)",
			     "unknown escape in a string");
			return;
		}
		i += n;
	}
	if (i >= p->len) {
		fail(p, -EPROTO, "close the string with the quote that opened it", "string without an end");
		return;
	}
	p->token = TOKEN_STRING;
	p->word = p->text + p->at + 1;
	p->word_len = i - p->at - 1;
	p->at = i + 1;
}

static void
scan_number(struct parser *p)
{
	size_t i = p->at;

	while (i < p->len && is_digit(p->text[i]))
		i++;
	if (i + 1 < p->len && p->text[i] == '.' && is_digit(p->text[i + 1])) {
		i++;
		while (i < p->len && is_digit(p->text[i]))
			i++;
	}
	if (i < p->len && is_letter(p->text[i])) {
		fail(p, -EPROTO, "write numbers as digits with an optional fraction: 42 or 0.5; put text into quotes",
		     "a letter follows a number");
		return;
	}
	p->token = TOKEN_NUMBER;
	p->word = p->text + p->at;
	p->word_len = i - p->at;
	p->at = i;
}

static void
scan_mark(struct parser *p)
{
	char c = p->text[p->at];
	bool equals = p->at + 1 < p->len && p->text[p->at + 1] == '=';

	p->token = TOKEN_MARK;
	p->op = (unsigned char)c;
	if (equals && (c == '=' || c == '!' || c == '<' || c == '>')) {
		p->op = c == '=' ? MARK_EQ : c == '!' ? MARK_NE : c == '<' ? MARK_LE : MARK_GE;
		p->at += 2;
	} else if (strchr("<>+-()[],.", c) != NULL && c != '\0') {
		p->at++;
	} else if (c == '=') {
		fail(p, -EPROTO, "compare with ==", "a single '='");
	} else if (c == '&' || c == '|' || c == '!') {
		fail(p, -EPROTO,
		     c == '&'   ? "write and"
		     : c == '|' ? "write or"
				: "write not",
		     "unexpected character '%c'", c);
	} else if (c >= 0x20 && c < 0x7f) {
		fail(p, -EPROTO, "operators are == != < <= > >= + - and or not", "unexpected character '%c'", c);
	} else {
		fail(p, -EPROTO, "use plain ASCII outside of quotes", "unexpected byte 0x%02x",
		     (unsigned)(unsigned char)c);
	}
}

static void
next(struct parser *p)
{
	if (p->r != 0)
		return;
	while (p->at < p->len && is_space(p->text[p->at]))
		p->at++;
	p->start = p->at;
	p->op = 0;
	if (p->at >= p->len) {
		p->token = TOKEN_END;
	} else if (p->text[p->at] == '\'' || p->text[p->at] == '"') {
		scan_string(p);
	} else if (is_digit(p->text[p->at])) {
		scan_number(p);
	} else if (is_letter(p->text[p->at])) {
		size_t i = p->at;

		while (i < p->len && (is_letter(p->text[i]) || is_digit(p->text[i])))
			i++;
		p->token = TOKEN_NAME;
		p->word = p->text + p->at;
		p->word_len = i - p->at;
		p->at = i;
	} else {
		scan_mark(p);
	}
}

/* After a failure every node is node 0: harmless, since the result is thrown away. */
static uint8_t
add_node(struct parser *p, uint8_t op, uint8_t a, uint8_t b)
{
	struct lang_node *n;

	if (p->r == 0 && p->out->nodes_len == LANG_NODES_MAX)
		fail(p, -EMSGSIZE, "split the guard into several require effects",
		     "more than %u operators, names and values", LANG_NODES_MAX);
	if (p->r != 0)
		return 0;
	n = &p->out->nodes[p->out->nodes_len];
	*n = (struct lang_node){ .op = op, .a = a, .b = b, .next = LANG_NONE };
	return p->out->nodes_len++;
}

static uint8_t
add_word(struct parser *p, uint8_t op, uint8_t a)
{
	uint8_t n = add_node(p, op, a, LANG_NONE);

	if (p->r == 0) {
		p->out->nodes[n].text = p->word;
		p->out->nodes[n].len = (uint16_t)p->word_len;
	}
	return n;
}

static bool
is_mark(const struct parser *p, int op)
{
	return p->token == TOKEN_MARK && p->op == op;
}

static bool
is_keyword(const struct parser *p, const char *word)
{
	return p->token == TOKEN_NAME && is_word(p->word, p->word_len, word);
}

static void
unexpected(struct parser *p, const char *wanted)
{
	if (p->token == TOKEN_END)
		fail(p, -EPROTO, "complete the expression", "%s expected at the end", wanted);
	else
		fail(p, -EPROTO, "see the grammar in agenttwin-world(5), The small language",
		     "%s expected, found '%.*s'", wanted, (int)(p->at - p->start > 40 ? 40 : p->at - p->start),
		     p->text + p->start);
}

static void
expect(struct parser *p, int op)
{
	char wanted[4] = { '\'', (char)op, '\'', '\0' };

	if (is_mark(p, op))
		next(p);
	else
		unexpected(p, wanted);
}

static uint8_t
parse_number(struct parser *p)
{
	char digits[64];
	uint8_t n = add_node(p, LANG_NUMBER, LANG_NONE, LANG_NONE);
	double v;

	if (p->word_len >= sizeof(digits)) {
		fail(p, -EPROTO, "use at most 15 digits", "number too long");
		return n;
	}
	memcpy(digits, p->word, p->word_len);
	digits[p->word_len] = '\0';
	v = strtod(digits, NULL);
	if (v > 9007199254740991.0)
		fail(p, -EPROTO, "integers are exact up to 9007199254740991; keep longer ones as text",
		     "number too large");
	if (p->r == 0)
		p->out->nodes[n].number = v;
	next(p);
	return n;
}

static uint8_t
parse_call(struct parser *p, const char *name, size_t name_len, size_t name_start)
{
	uint8_t call, last = LANG_NONE, count = 0;
	size_t f = 0;

	while (f < sizeof(functions) / sizeof(functions[0]) && !is_word(name, name_len, functions[f].name))
		f++;
	if (f == sizeof(functions) / sizeof(functions[0])) {
		p->start = name_start;
		fail(p, -EPROTO, "functions are int, str, lower, len, has, count, sum", "unknown function '%.*s'",
		     (int)(name_len > 60 ? 60 : name_len), name);
		return 0;
	}
	if ((functions[f].fn == LANG_COUNT || functions[f].fn == LANG_SUM) && ++p->aggregates > LANG_AGGREGATES_MAX)
		fail(p, -EMSGSIZE, "split the guard into several require effects",
		     "more than %u calls of count and sum", LANG_AGGREGATES_MAX);
	call = add_node(p, LANG_CALL, LANG_NONE, LANG_NONE);
	next(p); /* '(' */
	do {
		uint8_t arg;

		if (count > 0)
			next(p); /* ',' */
		arg = parse_expr(p);
		if (p->r != 0)
			return call;
		if (count++ == 0)
			p->out->nodes[call].a = arg;
		else
			p->out->nodes[last].next = arg;
		last = arg;
	} while (is_mark(p, ','));
	expect(p, ')');
	if (p->r != 0)
		return call;
	p->out->nodes[call].fn = functions[f].fn;
	if (count < functions[f].min || count > functions[f].max || (functions[f].fn == LANG_SUM && count == 3)) {
		p->start = name_start;
		fail(p, -EPROTO,
		     "int(x[, default]) str(x) lower(s) len(x) has(x) count(collection, 'field', value) "
		     "sum(collection, 'field'[, 'field2', value])",
		     "%s() does not take %u argument%s", functions[f].name, count, count == 1 ? "" : "s");
	}
	return call;
}

static uint8_t
parse_path(struct parser *p, const char *name, size_t name_len, size_t name_start)
{
	uint8_t n;

	if (p->known != NULL && !is_one_of(name, name_len, own_names, sizeof(own_names) / sizeof(own_names[0])) &&
	    !p->known(p->arg, name, name_len)) {
		p->start = name_start;
		fail(p, -EPROTO,
		     "names here: request, state, vars, id, now, seed, and rows bound by an earlier \"as\"; a key with a dash is "
		     "written ['like-this'], text 'in quotes'",
		     "unknown name '%.*s'", (int)(name_len > 60 ? 60 : name_len), name);
	}
	n = add_node(p, LANG_NAME, LANG_NONE, LANG_NONE);
	if (p->r == 0) {
		p->out->nodes[n].text = name;
		p->out->nodes[n].len = (uint16_t)name_len;
	}
	while (p->r == 0 && (is_mark(p, '.') || is_mark(p, '['))) {
		if (is_mark(p, '.')) {
			next(p);
			if (p->token != TOKEN_NAME) {
				unexpected(p, "a name after '.'");
				break;
			}
			n = add_word(p, LANG_FIELD, n);
			next(p);
		} else {
			uint8_t index;

			next(p);
			index = parse_expr(p);
			n = add_node(p, LANG_INDEX, n, index);
			expect(p, ']');
		}
	}
	return n;
}

static uint8_t
parse_word(struct parser *p)
{
	const char *name = p->word;
	size_t len = p->word_len, start = p->start;
	uint8_t op;

	if (is_keyword(p, "true") || is_keyword(p, "false") || is_keyword(p, "null")) {
		op = *name == 't' ? LANG_TRUE : *name == 'f' ? LANG_FALSE : LANG_NULL;
		next(p);
		return add_node(p, op, LANG_NONE, LANG_NONE);
	}
	if (is_one_of(name, len, keywords, sizeof(keywords) / sizeof(keywords[0]))) {
		unexpected(p, "a value");
		return 0;
	}
	next(p);
	if (is_mark(p, '('))
		return parse_call(p, name, len, start);
	return parse_path(p, name, len, start);
}

static uint8_t
parse_prim(struct parser *p)
{
	uint8_t n;

	switch (p->token) {
	case TOKEN_NUMBER:
		return parse_number(p);
	case TOKEN_STRING:
		n = add_word(p, LANG_STRING, LANG_NONE);
		next(p);
		return n;
	case TOKEN_NAME:
		return parse_word(p);
	case TOKEN_MARK:
		if (p->op == '(') {
			next(p);
			n = parse_expr(p);
			expect(p, ')');
			return n;
		}
		break;
	case TOKEN_END:
		break;
	}
	unexpected(p, "a value");
	return 0;
}

static uint8_t
parse_sum(struct parser *p)
{
	uint8_t left = parse_prim(p);

	while (is_mark(p, '+') || is_mark(p, '-')) {
		uint8_t op = p->op == '+' ? LANG_ADD : LANG_SUB, right;

		next(p);
		right = parse_prim(p);
		left = add_node(p, op, left, right);
	}
	return left;
}

static uint8_t
parse_cmp(struct parser *p)
{
	uint8_t left = parse_sum(p), right, op;

	if (p->token != TOKEN_MARK)
		return left;
	switch (p->op) {
	case MARK_EQ:
		op = LANG_EQ;
		break;
	case MARK_NE:
		op = LANG_NE;
		break;
	case MARK_LE:
		op = LANG_LE;
		break;
	case MARK_GE:
		op = LANG_GE;
		break;
	case '<':
		op = LANG_LT;
		break;
	case '>':
		op = LANG_GT;
		break;
	default:
		return left;
	}
	next(p);
	right = parse_sum(p);
	return add_node(p, op, left, right);
}

static uint8_t
parse_neg(struct parser *p)
{
	uint32_t nots = 0;
	uint8_t n;

	for (; is_keyword(p, "not"); next(p))
		nots++;
	n = parse_cmp(p);
	while (nots-- > 0 && p->r == 0)
		n = add_node(p, LANG_NOT, n, LANG_NONE);
	return n;
}

static uint8_t
parse_conj(struct parser *p)
{
	uint8_t left = parse_neg(p), right;

	while (is_keyword(p, "and")) {
		next(p);
		right = parse_neg(p);
		left = add_node(p, LANG_AND, left, right);
	}
	return left;
}

static uint8_t
parse_expr(struct parser *p)
{
	uint8_t left, right;

	if (p->depth > LANG_DEPTH_MAX) /* the outermost is level 0 */
		fail(p, -EMSGSIZE, "take parentheses away or split the guard", "nested deeper than %u", LANG_DEPTH_MAX);
	if (p->r != 0)
		return 0;
	p->depth++;
	left = parse_conj(p);
	while (is_keyword(p, "or")) {
		next(p);
		right = parse_conj(p);
		left = add_node(p, LANG_OR, left, right);
	}
	p->depth--;
	return left;
}

/* see lang.h */
int
lang_parse(const char *text, size_t len, lang_known_fn *known, void *arg, struct lang_expr *out, struct lang_error *e)
{
	struct parser p = { .text = text, .len = len, .known = known, .arg = arg, .out = out, .error = e };

	out->nodes_len = 0;
	e->offset = 0;
	e->problem[0] = e->fix[0] = '\0';
	if (len > LANG_TEXT_MAX) {
		fail(&p, -EMSGSIZE, "split the expression", "longer than %u bytes", LANG_TEXT_MAX);
		return p.r;
	}
	next(&p);
	out->root = parse_expr(&p);
	if (p.r == 0 && p.token != TOKEN_END) {
		if (p.token == TOKEN_MARK && (p.op >= MARK_EQ || p.op == '<' || p.op == '>'))
			fail(&p, -EPROTO, "join two comparisons with 'and'", "a comparison of a comparison");
		else
			unexpected(&p, "the end of the expression");
	}
	return p.r;
}

/* see lang.h */
int
lang_string(const struct lang_node *n, char *out, size_t size)
{
	size_t used = 0, i = 0;

	while (i < n->len) {
		char bytes[4];
		uint32_t code = 0;
		size_t took = 1, put = 1;

		bytes[0] = n->text[i];
		if (n->text[i] == '\\') {
			took = escape(n->text + i, n->len - i, &code);
			if (took == 0) /* lang_parse accepts no such string */
				return -EPROTO;
			put = utf8_encode(code, bytes);
		}
		if (put > size - used)
			return -ENOSPC;
		memcpy(out + used, bytes, put);
		used += put;
		i += took;
	}
	return (int)used;
}

/* see lang.h */
int
lang_template_next(const char *s, size_t len, size_t *before, const char **expr, size_t *expr_len, size_t *used)
{
	size_t open = 0;
	char quote = '\0';

	while (open + 1 < len && !(s[open] == '{' && s[open + 1] == '{'))
		open++;
	if (open + 1 >= len)
		return 0;
	for (size_t i = open + 2; i < len; i++) {
		if (quote != '\0') {
			if (s[i] == '\\')
				i++;
			else if (s[i] == quote)
				quote = '\0';
		} else if (s[i] == '\'' || s[i] == '"') {
			quote = s[i];
		} else if (s[i] == '}' && i + 1 < len && s[i + 1] == '}') {
			*before = open;
			*expr = s + open + 2;
			*expr_len = i - open - 2;
			*used = i + 2;
			return 1;
		}
	}
	return -EPROTO;
}
