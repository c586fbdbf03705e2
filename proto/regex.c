/* SPDX-License-Identifier: GPL-2.0-or-later
 * regex.c - a parser that emits steps of a non-deterministic automaton, and their simulation.  Jumps are relative, so a
 * repeated part is repeated by copying it. */
#include "proto/regex.h"

#include <errno.h>
#include <string.h>

#define REPEAT_MAX 255u
#define DEPTH_MAX 64u

enum op { OP_CHAR, OP_ANY, OP_SET, OP_NOT_SET, OP_SPLIT, OP_JUMP, OP_START, OP_END, OP_MATCH };

/* ---- compiling --------------------------------------------------------------------------------------------------------- */

static int
fail(struct regex_build *b, int err, const char *problem)
{
	if (b->problem == NULL)
		b->problem = problem;
	return err;
}

/* Makes room for n steps at `at`; nothing jumps over that place yet. */
static int
insert(struct regex_build *b, size_t at, size_t n)
{
	if (n > REGEX_INST_MAX - b->len)
		return fail(b, -EMSGSIZE, "the pattern has too many steps when its repetitions are written out");
	memmove(&b->inst[at + n], &b->inst[at], (b->len - at) * sizeof(b->inst[0]));
	b->len += n;
	return 0;
}

static int
emit(struct regex_build *b, enum op op, int a, int to, uint32_t c)
{
	int r = insert(b, b->len, 1);

	if (r == 0)
		b->inst[b->len - 1] = (struct regex_inst){ (uint8_t)op, (int16_t)a, (int16_t)to, c };
	return r;
}

static int
emit_at(struct regex_build *b, size_t at, int a, int to)
{
	int r = insert(b, at, 1);

	if (r == 0)
		b->inst[at] = (struct regex_inst){ OP_SPLIT, (int16_t)a, (int16_t)to, 0 };
	return r;
}

/* The next character of s[0..len) (len > 0), and its bytes. */
static uint32_t
decode(const char *s, size_t len, size_t *used)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : u[0] >= 0xc2 ? 2 : 0;
	uint32_t c = n <= 1 ? u[0] : u[0] & (0xffu >> (n + 1));

	*used = 1;
	if (n == 0 || n > len || u[0] > 0xf4)
		return 0x110000u + u[0];
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0x110000u + u[0];
		c = c << 6 | (u[i] & 0x3f);
	}
	*used = n;
	return c;
}

static bool
more(const struct regex_build *b)
{
	return b->at < b->text_len;
}

static uint32_t
take(struct regex_build *b)
{
	size_t used;
	uint32_t c = decode(b->text + b->at, b->text_len - b->at, &used);

	b->at += used;
	return c;
}

static int
add_range(struct regex_build *b, uint32_t low, uint32_t high)
{
	if (b->ranges_len == REGEX_RANGES_MAX)
		return fail(b, -EMSGSIZE, "too many ranges in brackets");
	b->ranges[b->ranges_len++] = (struct regex_range){ low, high };
	return 0;
}

/* [:name:], ASCII only. */
static int
read_class(struct regex_build *b)
{
	static const struct {
		const char *name, *ranges; /* pairs */
	} classes[] = {
		{ "alpha", "AZaz" },     { "digit", "09" },      { "alnum", "09AZaz" }, { "upper", "AZ" },
		{ "lower", "az" },       { "xdigit", "09AFaf" }, { "blank", "  \t\t" }, { "space", "  \t\r" },
		{ "punct", "!/:@[`{~" }, { "print", " ~" },      { "graph", "!~" },     { "cntrl", "\001\037\177\177" },
	};
	const char *s = b->text + b->at + 2;
	size_t left = b->text_len - b->at - 2;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t len = strlen(classes[i].name);
		int r = 0;

		if (left < len + 2 || memcmp(s, classes[i].name, len) != 0 || s[len] != ':' || s[len + 1] != ']')
			continue;
		for (const char *p = classes[i].ranges; *p != '\0' && r == 0; p += 2)
			r = add_range(b, (unsigned char)p[0], (unsigned char)p[1]);
		b->at += len + 4;
		return r;
	}
	return fail(b, -EPROTO,
		    "no such class of characters: write [:alpha:], [:digit:], [:alnum:], [:space:] and the like");
}

static int
read_brackets(struct regex_build *b)
{
	size_t first = b->ranges_len;
	bool negated = more(b) && b->text[b->at] == '^';
	int r = 0;

	b->at += negated;
	for (bool begun = false; r == 0; begun = true) {
		uint32_t low, high;

		if (!more(b))
			return fail(b, -EPROTO, "a bracket is not closed");
		if (b->text[b->at] == ']' && begun)
			break;
		if (b->text[b->at] == '[' && b->at + 1 < b->text_len && strchr(":.=", b->text[b->at + 1]) != NULL &&
		    b->text[b->at + 1] != '\0') {
			r = b->text[b->at + 1] == ':' ? read_class(b)
						      : fail(b, -EPROTO, "[. .] and [= =] are not known here");
			continue;
		}
		low = high = take(b);
		if (b->text_len - b->at >= 2 && b->text[b->at] == '-' && b->text[b->at + 1] != ']') {
			b->at++;
			high = take(b);
			if (high < low)
				return fail(b, -EPROTO, "a range in brackets runs backwards");
		}
		r = add_range(b, low, high);
	}
	if (r < 0)
		return r;
	b->at++;
	return emit(b, negated ? OP_NOT_SET : OP_SET, (int)first, (int)(b->ranges_len - first), 0);
}

static int read_alternatives(struct regex_build *b);

static int
read_atom(struct regex_build *b)
{
	uint32_t c = take(b);
	int r;

	switch (c) {
	case '(':
		if (++b->depth > DEPTH_MAX)
			return fail(b, -EMSGSIZE, "parentheses nest too deep");
		r = read_alternatives(b);
		if (r == 0 && !(more(b) && b->text[b->at] == ')'))
			r = fail(b, -EPROTO, "a parenthesis is not closed");
		b->at += r == 0;
		b->depth--;
		return r;
	case '[':
		return read_brackets(b);
	case '.':
		return emit(b, OP_ANY, 0, 0, 0);
	case '^':
		return emit(b, OP_START, 0, 0, 0);
	case '$':
		return emit(b, OP_END, 0, 0, 0);
	case '*':
	case '+':
	case '?':
	case '{':
		return fail(b, -EPROTO,
			    "nothing stands before a repetition; a literal one is written with \\ before it");
	case '\\':
		if (!more(b))
			return fail(b, -EPROTO, "a \\ at the end");
		c = take(b);
		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
			return fail(b, -EPROTO,
				    "a \\ before a letter or digit has no meaning in an ERE: write [0-9] for a digit, "
				    "[[:space:]] for space");
		break;
	default:
		break;
	}
	return emit(b, OP_CHAR, 0, 0, c);
}

/* Copies the part of `size` steps that starts at `start` to the end. */
static int
copy(struct regex_build *b, size_t start, size_t size)
{
	size_t end = b->len;
	int r = insert(b, end, size);

	if (r == 0)
		memcpy(&b->inst[end], &b->inst[start], size * sizeof(b->inst[0]));
	return r;
}

static int
star(struct regex_build *b, size_t start)
{
	int size = (int)(b->len - start), r = emit_at(b, start, 1, size + 2);

	return r < 0 ? r : emit(b, OP_JUMP, -(size + 1), 0, 0);
}

static int
optional(struct regex_build *b, size_t start)
{
	return emit_at(b, start, 1, (int)(b->len - start) + 1);
}

/* {n}, {n,} or {n,m}; the brace has been taken.  *high SIZE_MAX: no end. */
static int
read_bounds(struct regex_build *b, size_t *low, size_t *high)
{
	size_t n[2] = { 0, SIZE_MAX };

	for (int i = 0; i < 2; i++) {
		size_t digits = 0, v = 0;

		for (; more(b) && b->text[b->at] >= '0' && b->text[b->at] <= '9' && digits < 4; digits++)
			v = v * 10 + (size_t)(b->text[b->at++] - '0');
		if (digits == 0 && i == 0)
			return fail(b, -EPROTO,
				    "a { starts a repetition such as {2} or {1,3}; a literal one is written \\{");
		if (digits > 0 && v > REPEAT_MAX)
			return fail(b, -EMSGSIZE, "more than 255 repetitions");
		if (digits > 0)
			n[i] = v;
		if (i == 0 && more(b) && b->text[b->at] == ',') {
			b->at++;
			continue;
		}
		if (i == 0)
			n[1] = n[0];
		break;
	}
	if (!more(b) || b->text[b->at] != '}' || n[1] < n[0])
		return fail(b, -EPROTO, "a repetition is written {2}, {2,} or {2,5}");
	b->at++;
	*low = n[0];
	*high = n[1];
	return 0;
}

static int
repeat(struct regex_build *b, size_t start)
{
	size_t low = 0, high = 0, size = b->len - start, last = start;
	int r = read_bounds(b, &low, &high);

	if (r < 0)
		return r;
	if (high == 0) {
		b->len = start;
		return 0;
	}
	for (size_t i = 1; i < low && r == 0; i++) {
		last = b->len;
		r = copy(b, start, size);
	}
	if (r < 0)
		return r;
	if (high == SIZE_MAX)
		return low == 0 ? star(b, start) : emit(b, OP_SPLIT, -(int)(b->len - last), 1, 0);
	for (size_t i = low == 0 ? 1 : low; i < high && r == 0; i++) {
		last = b->len;
		r = copy(b, start, size);
		if (r == 0)
			r = optional(b, last);
	}
	return r == 0 && low == 0 ? optional(b, start) : r; /* last: copies are of the bare part */
}

static int
read_piece(struct regex_build *b)
{
	size_t start = b->len;
	int r = read_atom(b);

	while (r == 0 && more(b)) {
		char c = b->text[b->at];

		if (c != '*' && c != '+' && c != '?' && c != '{')
			break;
		b->at++;
		if (c == '*')
			r = star(b, start);
		else if (c == '+')
			r = emit(b, OP_SPLIT, -(int)(b->len - start), 1, 0);
		else if (c == '?')
			r = optional(b, start);
		else
			r = repeat(b, start);
	}
	return r;
}

/* a|b|c from the right: each | is a split before what stands left of it and a jump behind it. */
static int
read_alternatives(struct regex_build *b)
{
	size_t starts[REGEX_LEN_MAX + 1], n = 0;
	int r = 0;

	for (;;) {
		starts[n++] = b->len;
		while (r == 0 && more(b) && b->text[b->at] != '|' && b->text[b->at] != ')')
			r = read_piece(b);
		if (r < 0 || !more(b) || b->text[b->at] != '|')
			break;
		b->at++;
		r = emit(b, OP_JUMP, 0, 0, 0); /* filled below */
	}
	for (size_t i = n; r == 0 && i-- > 1;) {
		/* before starts[i] stands the jump of the left one; its target is the end */
		b->inst[starts[i] - 1].a = (int16_t)(b->len - (starts[i] - 1));
		r = emit_at(b, starts[i - 1], 1, (int)(starts[i] - starts[i - 1]) + 1);
	}
	return r;
}

/* see regex.h */
int
regex_compile(struct regex_build *b, const char *text, size_t len)
{
	int r;

	b->len = b->ranges_len = b->at = b->depth = 0;
	b->text = text;
	b->text_len = len;
	b->problem = NULL;
	if (len == 0 || len > REGEX_LEN_MAX)
		return fail(b, len == 0 ? -EPROTO : -EMSGSIZE,
			    len == 0 ? "the pattern is empty" : "more than 256 bytes");
	r = read_alternatives(b);
	if (r == 0 && more(b))
		r = fail(b, -EPROTO, "a ) without (");
	return r == 0 ? emit(b, OP_MATCH, 0, 0, 0) : r;
}

/* ---- matching ---------------------------------------------------------------------------------------------------------- */

struct states {
	size_t len;
	uint16_t at[REGEX_INST_MAX];
	uint32_t seen[REGEX_INST_MAX]; /* the step in which it was added, from 1 */
};

static bool
is_in(const struct regex *x, const struct regex_inst *i, uint32_t c)
{
	for (int n = 0; n < i->b; n++) {
		const struct regex_range *range = &x->ranges[i->a + n];

		if (c >= range->low && c <= range->high)
			return true;
	}
	return false;
}

/* Adds a state and all that follow without a character.  True: the end was reached. */
static bool
add(const struct regex *x, struct states *s, size_t first, uint32_t step, bool start, bool end)
{
	uint16_t stack[2 * REGEX_INST_MAX];
	size_t depth = 0;

	stack[depth++] = (uint16_t)first;
	while (depth > 0) {
		size_t at = stack[--depth];
		const struct regex_inst *i = &x->inst[at];

		if (s->seen[at] == step)
			continue;
		s->seen[at] = step;
		switch ((enum op)i->op) {
		case OP_MATCH:
			return true;
		case OP_SPLIT: /* each state is expanded once, so two for each fit */
			stack[depth++] = (uint16_t)((int)at + i->b);
			stack[depth++] = (uint16_t)((int)at + i->a);
			break;
		case OP_JUMP:
			stack[depth++] = (uint16_t)((int)at + i->a);
			break;
		case OP_START:
			if (start)
				stack[depth++] = (uint16_t)(at + 1);
			break;
		case OP_END:
			if (end)
				stack[depth++] = (uint16_t)(at + 1);
			break;
		case OP_CHAR:
		case OP_ANY:
		case OP_SET:
		case OP_NOT_SET:
			s->at[s->len++] = (uint16_t)at;
			break;
		}
	}
	return false;
}

static bool
accepts(const struct regex *x, const struct regex_inst *i, uint32_t c)
{
	return i->op == OP_CHAR  ? i->c == c
	       : i->op == OP_ANY ? true
	       : i->op == OP_SET ? is_in(x, i, c)
				 : !is_in(x, i, c);
}

/* see regex.h */
bool
regex_matches(const struct regex *x, const char *text, size_t len)
{
	struct states a, b, *now = &a, *next = &b, *other;
	size_t used;
	uint32_t step = 1;

	if (len > REGEX_TEXT_MAX || x->len > REGEX_INST_MAX)
		return false;
	memset(a.seen, 0, x->len * sizeof(a.seen[0]));
	memset(b.seen, 0, x->len * sizeof(b.seen[0]));
	a.len = b.len = 0;
	if (add(x, now, 0, step, true, len == 0))
		return true;
	for (size_t at = 0; at < len; at += used) {
		uint32_t c = decode(text + at, len - at, &used);
		bool end = at + used == len;

		step++;
		next->len = 0;
		for (size_t i = 0; i < now->len; i++)
			if (accepts(x, &x->inst[now->at[i]], c) &&
			    add(x, next, (size_t)now->at[i] + 1, step, false, end))
				return true;
		if (add(x, next, 0, step, false, end)) /* it may start here too */
			return true;
		other = now;
		now = next;
		next = other;
	}
	return false;
}
