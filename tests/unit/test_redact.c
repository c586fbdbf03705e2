/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_redact.c - secret values in every form, cut at every place. */
#include <stdlib.h>

#include "host/redact.h"
#include "tests/lib/tap.h"

struct out {
	char text[200000];
	size_t len;
};
static int
sink(void *arg, const void *data, size_t len)
{
	struct out *o = arg;

	if (len > sizeof(o->text) - 1 - o->len)
		return -1;
	memcpy(o->text + o->len, data, len);
	o->len += len;
	o->text[o->len] = '\0';
	return 0;
}

static struct out one, two;
static const char token[] = "at_test_Zm9vYmFy0123456789abcdefghijkl";
static const char pem[] = "-----BEGIN KEY-----\nAB+/cd==\n\"quoted\\ \" \xc3\xa4\n-----END KEY-----\n";

static const char *
whole(const struct redact *r, const char *text, size_t len)
{
	one.len = 0;
	one.text[0] = '\0';
	if (redact_whole(r, text, len, sink, &one) < 0)
		return "error";
	return one.text;
}

static size_t
base64(const char *in, size_t len, char *out, int url)
{
	const char *digits = url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
				 : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i, n = 0;

	for (i = 0; i < len; i += 3) {
		unsigned v = (unsigned)(unsigned char)in[i] << 16;

		v |= i + 1 < len ? (unsigned)(unsigned char)in[i + 1] << 8 : 0;
		v |= i + 2 < len ? (unsigned)(unsigned char)in[i + 2] : 0;
		out[n++] = digits[v >> 18];
		out[n++] = digits[v >> 12 & 63];
		out[n++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
		out[n++] = i + 2 < len ? digits[v & 63] : '=';
	}
	out[n] = '\0';
	return n;
}

static void
encodings(const struct redact *r)
{
	char plain[300], enc[600], text[900];
	unsigned before, after, url;
	const char *s;

	is_str(whole(r, token, strlen(token)), "{{secret.key}}", "the value itself");
	is_str(whole(r, "at_test_Zm9v", 12), "at_test_Zm9v", "a part of it stays");
	for (url = 0; url < 2; url++)
		for (before = 0; before < 7; before++)
			for (after = 0; after < 4; after++) {
				snprintf(plain, sizeof(plain), "%.*s%s%.*s", (int)before, "prefix:", token, (int)after,
					 "~~~");
				base64(plain, strlen(plain), enc, (int)url);
				snprintf(text, sizeof(text), "Basic %s.", enc);
				s = whole(r, text, strlen(text));
				/* At most the characters shared with the neighbours remain. */
				if (!strstr(s, "{{secret.key}}") ||
				    strlen(s) > 6 + 14 + 2 + (before + after + 8) * 4 / 3 + 4) {
					ok(0, "base64, %u bytes before, %u after: %s", before, after, s);
					return;
				}
			}
	ok(1, "base64 at all alignments, both alphabets");
	is_str(whole(r, pem, strlen(pem)), "{{secret.pem}}", "a value of several lines");
	s = "-----BEGIN KEY-----\\nAB+/cd==\\n\\\"quoted\\\\ \\\" \xc3\xa4\\n-----END KEY-----\\n";
	is_str(whole(r, s, strlen(s)), "{{secret.pem}}", "JSON-escaped");
	s = "-----BEGIN KEY-----\\nAB+\\/cd==\\n\\\"quoted\\\\ \\\" \xc3\xa4\\n-----END KEY-----\\n";
	is_str(whole(r, s, strlen(s)), "{{secret.pem}}", "JSON-escaped with slashes");
	s = "-----BEGIN%20KEY-----%0AAB%2B%2Fcd%3D%3D%0A%22quoted%5C%20%22%20%C3%A4%0A-----END%20KEY-----%0A";
	is_str(whole(r, s, strlen(s)), "{{secret.pem}}", "URL-escaped");
	s = "-----BEGIN%20KEY-----%0aAB%2b%2fcd%3d%3d%0a%22quoted%5c%20%22%20%c3%a4%0a-----END%20KEY-----%0a";
	is_str(whole(r, s, strlen(s)), "{{secret.pem}}", "URL-escaped, small digits");
	s = "-----BEGIN+KEY-----%0AAB%2B%2Fcd%3D%3D%0A%22quoted%5C+%22+%C3%A4%0A-----END+KEY-----%0A";
	is_str(whole(r, s, strlen(s)), "{{secret.pem}}", "as a form field");
}

/* What comes out does not depend on how it is cut. */
static void
splits(const struct redact *r)
{
	static char text[20000];
	struct redact_stream s;
	size_t len = 0, at, n, i, bad = 0;
	unsigned seed, k;

	for (i = 0; len < 15000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "line %zu %s|%.*s|%s\n", i,
					i % 3 ? token : "at_test_", (int)(i % 38), token, i % 5 ? "" : pem);
	whole(r, text, len);
	for (seed = 1; seed <= 200; seed++) {
		srand(seed);
		two.len = 0;
		if (redact_stream_init(&s, r, sink, &two) < 0)
			break;
		for (at = 0; at < len; at += n) {
			n = (size_t)(rand() % (seed % 3 ? 5 : 3000)) + 1;
			if (n > len - at)
				n = len - at;
			if (redact_stream_add(&s, text + at, n) < 0)
				bad++;
		}
		bad += redact_stream_finish(&s) < 0;
		redact_stream_wipe(&s);
		bad += two.len != one.len || memcmp(one.text, two.text, one.len) != 0;
	}
	is_int((long long)bad, 0, "two hundred ways to cut, one result (seeds 1 to 200)");
	for (k = 0, at = 0; at + sizeof(token) <= one.len; at++)
		k += memcmp(one.text + at, token, sizeof(token) - 1) == 0;
	is_int(k, 0, "no value is left");
}

/* Against the plain way: at each place the longest value that fits, else one byte. */
static void
naive(const char *const *values, size_t values_len, const char *text, size_t len)
{
	size_t i = 0, k, n, best, which = 0;

	two.len = 0;
	while (i < len) {
		for (best = 0, k = 0; k < values_len; k++) {
			n = strlen(values[k]);
			if (n > best && n <= len - i && memcmp(text + i, values[k], n) == 0) {
				best = n;
				which = k;
			}
		}
		if (best)
			two.len += (size_t)sprintf(two.text + two.len, "{{secret.%zu}}", which);
		else
			two.text[two.len++] = text[i];
		i += best ? best : 1;
	}
	two.text[two.len] = '\0';
}

static void
shapes(void)
{
	/* Short alphabets and values that begin, end and contain each other; none is long enough for base64 of text. */
	static const char *const sets[][4] = {
		{ "abab", "ababab", "babc", "b" },
		{ "aa", "aaa", "aaaaaaaa", "ba" },
		{ "abcabcab", "cabcab", "abc", "ca" },
		{ "aaaaaaaaab", "baaaaaaaaa", "ab", "bb" },
		{ "cccccccccccccccccccc", "abcc", "ccab", "cb" },
	};
	static char text[4000];
	char name[24];
	size_t i, k, bad = 0, at, n;
	unsigned seed;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		for (seed = 1; seed <= 60; seed++) {
			struct redact *r = redact_new();
			size_t count = 1 + seed % 4, len = 50 + seed * 60;
			struct redact_stream s;

			srand(seed);
			for (k = 0; k < len; k++)
				text[k] = (char)('a' + rand() % (seed % 2 ? 2 : 3));
			for (k = 0; k < count; k++) {
				snprintf(name, sizeof(name), "%zu", k);
				bad += redact_add(r, name, sets[i][k], strlen(sets[i][k])) < 0;
			}
			naive(sets[i], count, text, len);
			one.len = 0;
			bad += redact_stream_init(&s, r, sink, &one) < 0;
			for (at = 0; at < len; at += n) {
				n = (size_t)(rand() % 40) + 1;
				n = n > len - at ? len - at : n;
				bad += redact_stream_add(&s, text + at, n) < 0;
			}
			bad += redact_stream_finish(&s) < 0;
			redact_stream_wipe(&s);
			bad += one.len != two.len || memcmp(one.text, two.text, one.len) != 0;
			redact_free(r);
		}
	is_int((long long)bad, 0, "the same as the plain way, over three hundred texts (seeds 1 to 60)");
}

static const char *
in_json(const struct redact *r, const char *json)
{
	one.len = 0;
	one.text[0] = '\0';
	return redact_json(r, json, strlen(json), sink, &one) < 0 ? "error" : one.text;
}

static void
written(void)
{
	static const struct {
		const char *text, *what;
	} of[] = { { "Ab1-/9z", "the value" },
		   { "4162312d2f397a", "hexadecimal" },
		   { "4162312D2F397A", "in capitals" },
		   { "41 62 31 2d 2f 39 7a", "as Node shows a Buffer" },
		   { "41:62:31:2d:2f:39:7a", "with colons" },
		   { "Ab1-%2F9z", "URL-escaped" },
		   { "Ab1-%252f9z", NULL },
		   { "Ab1-%252F9z", "twice" },
		   { "%41%62%31%2d%2f%39%7a", "every byte" },
		   { "%41%62%31%2D%2F%39%7A", "in capitals" },
		   { "Ab1-\\/9z", "JSON with escaped slashes" },
		   { "\\u0041\\u0062\\u0031\\u002d\\u002f\\u0039\\u007a", "unicode escapes" },
		   { "\\\\u0041\\\\u0062\\\\u0031\\\\u002d\\\\u002f\\\\u0039\\\\u007a", "in a string" },
		   { "\\x41\\x62\\x31\\x2d\\x2f\\x39\\x7a", "JavaScript" },
		   { "&#65;&#98;&#49;&#45;&#47;&#57;&#122;", "entities" },
		   { "&#x41;&#x62;&#x31;&#x2d;&#x2f;&#x39;&#x7a;", "hexadecimal ones" },
		   { "IFRDCLJPHF", NULL } };
	struct redact *r = redact_new();
	size_t i;

	is_int(redact_add(r, "k", "Ab1-/9z", 7), 0, "a value with a slash");
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		is_str(whole(r, of[i].text, strlen(of[i].text)), of[i].what ? "{{secret.k}}" : of[i].text,
		       of[i].what ? of[i].what : "what is none stays");
	is_str(whole(r, "A\0b\0001\0-\0/\0009\0z\0", 14), "{{secret.k}}", "UTF-16");
	/* python3: base64.b32encode(b"xAb1-/9zy") is PBAWEMJNF44XU6I= */
	is_str(whole(r, "PBAWEMJNF44XU6I=", 16), "PB{{secret.k}}U6I=", "base32 with a byte before and after");
	redact_free(r);
}

/* What was JSON stays JSON. */
static void
json(void)
{
	struct redact *r = redact_new();

	is_int(redact_add(r, "n", "12345678901234567890", 20), 0, "a value of digits");
	is_str(in_json(r, "{\"a\":12345678901234567890,\"b\":[1,12345678901234567890]}"),
	       "{\"a\":\"{{secret.n}}\",\"b\":[1,\"{{secret.n}}\"]}", "as a number");
	is_str(in_json(r, "[-9912345678901234567890.5e3,7]"), "[\"{{secret.n}}\",7]", "within a number");
	is_str(in_json(r, "{\"a \\\" 12345678901234567890\":\"12345678901234567890\"}"),
	       "{\"a \\\" {{secret.n}}\":\"{{secret.n}}\"}", "in strings");
	is_str(in_json(r, "[1234567890123456789,true,null]"), "[1234567890123456789,true,null]", "another number");
	is_str(in_json(r, "12345678901234567890"), "\"{{secret.n}}\"", "alone");
	is_str(in_json(r, "\"cut \\"), "\"cut \\", "a string without an end");
	is_str(in_json(NULL, "[12345678901234567890]"), "[12345678901234567890]", "without patterns");
	redact_free(r);
}

/* Two forms of one value as keys of one object are still two keys. */
static void
keys(void)
{
	static char many[100000];
	struct redact *r = redact_new();
	size_t n = 0, i;
	const char *text;

	is_int(redact_add(r, "k", "Ab1-/9z", 7), 0, "a value");
	is_str(in_json(r, "{\"Ab1-/9z\":1,\"4162312d2f397a\":2,\"Ab1-%2F9z\":3}"),
	       "{\"{{secret.k}}\":1,\"{{secret.k}}#2\":2,\"{{secret.k}}#3\":3}", "three forms in one object");
	is_str(in_json(r, "[{\"Ab1-/9z\":{\"4162312d2f397a\":1}},{\"Ab1-/9z\" : 2}]"),
	       "[{\"{{secret.k}}\":{\"{{secret.k}}\":1}},{\"{{secret.k}}\" : 2}]", "other objects are others");
	is_str(in_json(r, "{\"a\":[{\"Ab1-/9z\":1}],\"Ab1-/9z\":2,\"b\":{\"c\":\"Ab1-/9z\"},\"4162312d2f397a\":3}"),
	       "{\"a\":[{\"{{secret.k}}\":1}],\"{{secret.k}}\":2,\"b\":{\"c\":\"{{secret.k}}\"},\"{{secret.k}}#2\":3}",
	       "across what stands between them");
	is_str(in_json(r, "{\"{{secret.k}}\":1,\"Ab1-/9z\":2}"), "{\"{{secret.k}}\":1,\"{{secret.k}}#2\":2}",
	       "a key that reads so already");
	is_str(in_json(r, "{\"\\u007b{secret.k}}\":1,\"Ab1-/9z\":2}"),
	       "{\"\\u007b{secret.k}}\":1,\"{{secret.k}}#2\":2}", "written in another way");
	is_str(in_json(r, "{\"{{secret.k}}#2\":1,\"Ab1-/9z\":2,\"4162312d2f397a\":3,\"{{secret.k}}#3\":4}"),
	       "{\"{{secret.k}}#2\":1,\"{{secret.k}}\":2,\"{{secret.k}}#3\":3,\"{{secret.k}}#3#2\":4}",
	       "nor does a number make two equal");
	is_str(in_json(r, "{\"a\":\"Ab1-/9z\",\"b\":[\"Ab1-/9z\",\"Ab1-/9z\"]}"),
	       "{\"a\":\"{{secret.k}}\",\"b\":[\"{{secret.k}}\",\"{{secret.k}}\"]}", "values may be equal");
	is_str(in_json(r, "{\"x-Ab1-/9z\\\"\":1,\"x-4162312d2f397a\\\"\":2,\"y\":0,\"y\":0}"),
	       "{\"x-{{secret.k}}\\\"\":1,\"x-{{secret.k}}\\\"#2\":2,\"y\":0,\"y\":0}", "a part of a key; others stay");
	is_str(in_json(r, "{\"Ab1-/9z\":1,\"Ab1-/9z"), "{\"{{secret.k}}\":1,\"{{secret.k}}", "a key without an end");
	many[n++] = '{';
	for (i = 0; i < 5000; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "%s\"Ab1-/9z\":1", i ? "," : "");
	snprintf(many + n, sizeof(many) - n, "}");
	text = in_json(r, many);
	ok(strstr(text, "\"{{secret.k}}#5000\":1}") && !strstr(text, "#5001"), "five thousand of one object");
	for (i = 0; i < 200; i++)
		memcpy(many + 5 * i, "{\"a\":", 6);
	snprintf(many + 5 * i, 100, "{\"Ab1-/9z\":1}");
	text = in_json(r, many);
	ok(strstr(text, "{\"{{secret.k}}\":1}") != NULL, "deeper than anybody reads");
	redact_free(r);
}

int
main(void)
{
	struct redact *r = redact_new(), *none = redact_new();

	ok(redact_add(r, "key", token, strlen(token)) == 0 && redact_add(r, "pem", pem, strlen(pem)) == 0, "patterns");
	is_int(redact_add(r, "empty", "", 0), 0, "an empty value is ignored");
	encodings(r);
	splits(r);
	shapes();
	written();
	json();
	keys();
	is_str(whole(none, token, strlen(token)), token, "without secrets nothing changes");
	is_str(whole(NULL, token, strlen(token)), token, "nor without patterns");
	is_int(redact_add(none, "a", "abcd1234", 8), 0, "a value");
	is_int(redact_add(none, "b", "abcd1234efgh", 12), 0, "a longer one that starts alike");
	is_str(whole(none, "-abcd1234efgh-abcd1234-", 23), "-{{secret.b}}-{{secret.a}}-", "the longer one wins");
	redact_free(r);
	redact_free(none);
	return tap_done();
}
