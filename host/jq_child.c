/* SPDX-License-Identifier: GPL-2.0-or-later
 * jq_child.c - see jq_run.h: what the child does, and the only file that meets libjq.  It never returns and may die at any
 * place: whatever libjq does to itself ends with this process. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <jq.h>

#include "host/jq_run.h"

#define MESSAGE_MAX 1024u

struct messages {
	char first[MESSAGE_MAX]; /* of libjq, as it came; "" none */
};

static void
out_of_memory(void *arg)
{
	(void)arg;
	_exit(JQ_EXIT_MEMORY);
}

static void
put(int out, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = write(out, p, len);
		if (n <= 0)
			_exit(1);
		p += n;
		len -= (size_t)n;
	}
}

static void
answer(int out, struct jq_record *r, const char *text)
{
	size_t len = strlen(text);

	r->len = (uint32_t)(len < JQ_TEXT_MAX ? len : JQ_TEXT_MAX);
	put(out, r, sizeof(*r));
	put(out, text, r->len);
}

/* ---- what libjq says of an expression that it cannot compile -------------------------------------------------------------- */

static void
take_message(void *arg, jv m)
{
	struct messages *all = arg;
	jv text = jq_format_error(m);

	if (jv_get_kind(text) == JV_KIND_STRING && !all->first[0])
		snprintf(all->first, sizeof(all->first), "%s", jv_string_value(text));
	jv_free(text);
}

static jv
no_input(jq_state *jq, void *arg)
{
	(void)jq;
	(void)arg;
	return jv_invalid_with_msg(jv_string("there is no other input"));
}

static void
drop_message(void *arg, jv m)
{
	(void)arg;
	jv_free(m);
}

static jq_state *
compile(const char *expr, struct messages *said)
{
	jq_state *jq = jq_init();

	if (!jq)
		_exit(JQ_EXIT_MEMORY);
	said->first[0] = '\0';
	jq_set_nomem_handler(jq, out_of_memory, NULL);
	jq_set_error_cb(jq, take_message, said);
	jq_set_debug_cb(jq, drop_message, NULL);
	jq_set_input_cb(jq, no_input, NULL);
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
	if (jq_compile(jq, expr))
		return jq;
	jq_teardown(&jq);
	return NULL;
}

static size_t
lines(const char *s, size_t len)
{
	size_t i, n = 1;

	for (i = 0; i < len; i++)
		n += s[i] == '\n';
	return n;
}

/* The first message names a syntax error in expr[0..len), not beyond it.  A line that is no jq follows, so that there is
 * always one, and libjq never goes on to what costs time. */
static bool
breaks_within(const char *expr, size_t len, char *buf)
{
	struct messages said;
	const char *at;
	jq_state *jq;

	memcpy(buf, expr, len);
	memcpy(buf + len, "\n`", 3);
	jq = compile(buf, &said);
	if (jq) {
		jq_teardown(&jq);
		return false;
	}
	at = strstr(said.first, ", line ");
	return !strstr(said.first, "unexpected $end") && !strstr(said.first, "unexpected end of file") && at &&
	       strtoull(at + 7, NULL, 10) < lines(buf, len + 1);
}

/* Where libjq stops (in bytes, from 1), which it does not say itself: the shortest beginning that is wrong.  0: unknown. */
static size_t
find_place(const char *expr)
{
	size_t low = 0, high = strlen(expr), middle;
	char *buf = malloc(high + 3);

	if (!buf || high == 0 || !breaks_within(expr, high, buf)) {
		free(buf);
		return 0;
	}
	while (high - low > 1) { /* low is right, high is wrong */
		middle = low + (high - low) / 2;
		if (breaks_within(expr, middle, buf))
			high = middle;
		else
			low = middle;
	}
	free(buf);
	return high;
}

/* Where a name that is not known stands, likewise. */
static size_t
find_name(const char *expr, const char *name, size_t len)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *at;

	for (at = expr; *at; at++)
		if (strncmp(at, name, len) == 0 && (at == expr || !strchr(word, at[-1])) &&
		    (!at[len] || !strchr(word, at[len])))
			return (size_t)(at - expr) + 1;
	return 0;
}

/* Characters up to byte n, from 1. */
static uint32_t
characters(const char *s, size_t n)
{
	uint32_t count = 0;
	size_t i;

	for (i = 0; i < n; i++)
		count += ((unsigned char)s[i] & 0xc0) != 0x80;
	return count;
}

/* libjq's words for a person who has written no program: "jq: error: X (Unix shell quoting issues?) at <top-level>, line 1:". */
static void
explain_compile(const char *expr, const char *said, char *text, size_t size, uint32_t *at)
{
	static const char lead[] = "jq: error: ";
	char from[MESSAGE_MAX], *end;
	size_t place = 0;

	snprintf(from, sizeof(from), "%s", strncmp(said, lead, sizeof(lead) - 1) == 0 ? said + sizeof(lead) - 1 : said);
	end = strstr(from, " (Unix shell");
	if (!end)
		end = strstr(from, " at <top-level>");
	if (!end)
		end = from + strcspn(from, "\n");
	*end = '\0'; /* the expression follows, and may say anything */
	if (strstr(from, "unexpected $end") || strstr(from, "unexpected end of file")) {
		snprintf(text, size, "it ends in the middle%s",
			 strstr(from, "QQSTRING_END") ? ": a string is not closed" : "");
	} else if (strncmp(from, "syntax error", 12) == 0) {
		place = find_place(expr);
		if (place && (unsigned char)expr[place - 1] < 0x80 && strstr(from, "INVALID_CHARACTER"))
			snprintf(text, size, "syntax error, unexpected '%c'", expr[place - 1]);
		else
			snprintf(text, size, "%s", from);
	} else {
		if (strstr(from, " is not defined"))
			place = find_name(expr, from, strcspn(from, "/ "));
		snprintf(text, size, "%s", *from ? from : "it cannot be compiled");
	}
	*at = characters(expr, place);
}

/* ---- evaluating ----------------------------------------------------------------------------------------------------------- */

/* One line of an error that an expression raised. */
static void
explain_error(jv invalid, char *text, size_t size)
{
	jv m = jv_invalid_get_msg(invalid);

	if (jv_get_kind(m) == JV_KIND_STRING) {
		snprintf(text, size, "error: %s", jv_string_value(m));
		jv_free(m);
		return;
	}
	m = jv_dump_string(m, 0);
	snprintf(text, size, "error: %s", jv_string_value(m));
	jv_free(m);
}

/* The expression over one value: a verdict and what to say.  The text is an owned jv. */
static enum jq_verdict
evaluate(jq_state *jq, jv input, jv *text)
{
	char why[MESSAGE_MAX];
	enum jq_verdict verdict = JQ_TROUBLE;
	bool errs;
	jv v, more;

	jq_start(jq, input, 0);
	v = jq_next(jq);
	if (!jv_is_valid(v)) {
		errs = jv_invalid_has_msg(jv_copy(v));
		if (errs)
			explain_error(v, why, sizeof(why));
		else
			jv_free(v);
		*text = jv_string(
			errs ? why
			     : "it gives nothing; a condition gives true or false once, as any(...) or all(...) do");
		return JQ_TROUBLE;
	}
	more = jq_next(jq);
	errs = !jv_is_valid(more) && jv_invalid_has_msg(jv_copy(more));
	if (errs) {
		explain_error(more, why, sizeof(why));
		*text = jv_string(why);
	} else if (jv_is_valid(more) || jq_halted(jq)) {
		*text = jv_string(
			"it gives more than one value; a condition gives true or false once, as any(...) or all(...) do");
	} else if (jv_get_kind(v) == JV_KIND_TRUE || jv_get_kind(v) == JV_KIND_FALSE) {
		verdict = jv_get_kind(v) == JV_KIND_TRUE ? JQ_TRUE : JQ_FALSE;
		*text = jv_string(verdict == JQ_TRUE ? "true" : "false");
	} else {
		*text = jv_string_concat(jv_dump_string(jv_copy(v), 0), jv_string(", which is neither true nor false"));
	}
	if (!errs)
		jv_free(more);
	jv_free(v);
	return verdict;
}

/* The element of .operations with this n.  They stand in the order of their numbers, but some may be missing. */
static jv
operation(jv list, uint32_t n, int *from)
{
	int i, len = jv_array_length(jv_copy(list));
	jv op, number;
	double is;

	for (i = *from; i < len; i++) {
		op = jv_array_get(jv_copy(list), i);
		number = jv_get_kind(op) == JV_KIND_OBJECT ? jv_object_get(jv_copy(op), jv_string("n")) : jv_null();
		is = jv_get_kind(number) == JV_KIND_NUMBER ? jv_number_value(number) : -1;
		jv_free(number);
		if (is >= (double)n) {
			*from = i;
			if (is <= (double)n)
				return op;
			jv_free(op);
			break;
		}
		jv_free(op);
	}
	return jv_invalid();
}

static void
each(jq_state *jq, const struct jq_task *t, jv doc, struct jq_record *r, int out)
{
	jv list = jv_object_get(doc, jv_string("operations")), op, text = jv_null();
	int from = 0;
	size_t i;

	r->verdict = JQ_TRUE;
	if (jv_get_kind(list) != JV_KIND_ARRAY) {
		r->verdict = JQ_TROUBLE;
		answer(out, r, "there are no operations");
		return;
	}
	for (i = 0; i < t->ops_len && r->verdict == JQ_TRUE; i++) {
		op = operation(list, t->ops[i], &from);
		jv_free(text);
		if (jv_is_valid(op)) {
			r->verdict = evaluate(jq, op, &text);
		} else {
			jv_free(op);
			r->verdict = JQ_TROUBLE;
			text = jv_string("it is not recorded");
		}
		r->op = t->ops[i];
	}
	answer(out, r, jv_get_kind(text) == JV_KIND_STRING ? jv_string_value(text) : "true");
	jv_free(text);
	jv_free(list);
}

static void
one(const struct jq_task *t, uint32_t index, bool compile_only, jv doc, int out)
{
	struct jq_record r = { .task = index, .verdict = JQ_TROUBLE, .op = UINT32_MAX };
	struct messages said;
	char why[MESSAGE_MAX];
	jq_state *jq;
	jv text;

	jq_jail_time(JQ_CPU_MS);
	jq = compile(t->expr, &said);
	if (!jq) {
		jq_jail_time(JQ_CPU_MS);
		explain_compile(t->expr, said.first, why, sizeof(why), &r.at);
		answer(out, &r, why);
		return;
	}
	jq_jail_time(JQ_CPU_MS);
	if (compile_only) {
		r.verdict = JQ_TRUE;
		answer(out, &r, "");
	} else if (t->each) {
		each(jq, t, jv_copy(doc), &r, out);
	} else {
		r.verdict = evaluate(jq, jv_copy(doc), &text);
		answer(out, &r, jv_string_value(text));
		jv_free(text);
	}
	jq_teardown(&jq);
	jq_jail_time(0);
}

static jv
load(const char *json, size_t len, int out)
{
	struct jq_record r = { .task = JQ_RECORD_LOADED };
	char why[MESSAGE_MAX];
	jv doc;

	doc = len <= INT_MAX ? jv_parse_sized(json, (int)len) : jv_invalid_with_msg(jv_string("too long"));
	if (!jv_is_valid(doc)) {
		explain_error(doc, why, sizeof(why));
		r.task = JQ_RECORD_NO_LOAD;
		answer(out, &r, why);
		_exit(0);
	}
	answer(out, &r, "");
	return doc;
}

void
jq_child(const struct jq_task *tasks, size_t len, const char *json, size_t json_len, int out)
{
	jv doc = jv_null();
	jq_state *first;
	int statm;
	size_t i;

	if (jq_jail_enter(&out, &statm) < 0)
		_exit(JQ_EXIT_ISOLATION);
	first = jq_init();
	if (!first)
		_exit(JQ_EXIT_MEMORY);
	jq_set_nomem_handler(first, out_of_memory, NULL); /* also while the document is read */
	jq_jail_memory(statm, JQ_LOAD_MEMORY);
	jq_jail_time(JQ_LOAD_CPU_S * 1000);
	if (json)
		doc = load(json, json_len, out);
	jq_jail_time(0);
	for (i = 0; i < len; i++) {
		jq_jail_memory(statm, JQ_MEMORY);
		one(&tasks[i], (uint32_t)i, !json, doc, out);
	}
	_exit(0);
}
