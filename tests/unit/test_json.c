/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_json.c - JSON written, scanned and located. */
#include <errno.h>
#include <stdlib.h>

#include "proto/cursor.h"
#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

static struct json_scan scan;

static int
scan_text(const char *text, size_t len, uint32_t depth)
{
	return json_scan((const char *)guard_copy(text, len), len, depth, &scan);
}

static void
test_accepted(void)
{
	static const char *const good[] = {
		"0",
		"-0",
		"1e5",
		"-1.5E+10",
		"0.1",
		"\"\"",
		"true",
		"false",
		"null",
		"[]",
		"{}",
		" [ ] ",
		"\t{\r\n}\n",
		"[1,2,3]",
		"{\"a\":1,\"b\":[{}]}",
		"\"\\u00e9\\ud83d\\ude00\\\\\\\"\\/\\b\\f\\n\\r\\t\"",
		"\"é€😀\"",
		"{\"a\":{\"a\":{\"a\":1}}}",
		"[{\"a\":1},{\"a\":1}]",
		"{\"\":0,\"a\":1}",
		"[[[[]]]]",
		"\"\x7f\"",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(scan_text(good[i], strlen(good[i]), 8) == 0, "accepted: %zu", i);
}

static void
test_refused(void)
{
	static const struct {
		const char *text;
		size_t len; /* 0: strlen */
		size_t offset;
		const char *pointer;
	} bad[] = {
		{ "", 0, 0, "" },
		{ "  ", 0, 2, "" },
		{ "nul", 0, 0, "" },
		{ "01", 0, 0, "" },
		{ "-", 0, 1, "" },
		{ "1.", 0, 2, "" },
		{ ".5", 0, 0, "" },
		{ "1e", 0, 2, "" },
		{ "+1", 0, 0, "" },
		{ "1 2", 0, 2, "" },
		{ "[1,]", 0, 3, "/1" },
		{ "[1 2]", 0, 3, "/0" },
		{ "{\"a\":1,}", 0, 7, "" },
		{ "{a:1}", 0, 1, "" },
		{ "{\"a\" 1}", 0, 5, "/a" },
		{ "{\"a\":}", 0, 5, "/a" },
		{ "{\"a\":1 \"b\":2}", 0, 7, "/a" },
		{ "[", 0, 1, "/0" },
		{ "{\"a\":[1,{\"b/~\":tru}]}", 0, 15, "/a/1/b~1~0" },
		{ "\"a", 0, 2, "" },
		{ "\"a\nb\"", 0, 2, "" },
		{ "\"a\tb\"", 0, 2, "" },
		{ "\"\\x\"", 0, 1, "" },
		{ "\"\\u12\"", 0, 5, "" },
		{ "\"\\u0000\"", 0, 1, "" },
		{ "\"\\ud800\"", 0, 1, "" },
		{ "\"\\ud800\\u0041\"", 0, 1, "" },
		{ "\"\\udc00\"", 0, 1, "" },
		{ "\"\xff\"", 0, 1, "" },
		{ "\"\xc0\x80\"", 0, 1, "" },
		{ "\"a\0b\"", 5, 2, "" },
		{ "\0", 1, 0, "" },
		{ "1\0", 2, 1, "" },
		{ "\"\\\0\"", 4, 1, "" },
		{ "\xef\xbb\xbf{}", 0, 0, "" },
		{ "'a'", 0, 0, "" },
		{ "// x\n1", 0, 0, "" },
		{ "]", 0, 0, "" },
		{ "[}", 0, 1, "/0" },
		{ "{\"a\":1,\"b\":2,\"a\":3}", 0, 13, "/a" },
		{ "{\"x\":{\"a\":1,\"\\u0061\":3},\"x\":1}", 0, 12, "/x/a" },
		{ "{\"\":1,\"\":2}", 0, 6, "/" },
		{ "{\"a\":1,\"a\":1,\"a\":1}", 0, 7, "/a" },
		{ "{\"\\ud83d\\ude00\":1,\"😀\":1}", 0, 18, "/😀" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t len = bad[i].len ? bad[i].len : strlen(bad[i].text);
		int r;

		memset(&scan, 0, sizeof(scan));
		r = scan_text(bad[i].text, len, 8);
		if (!ok(r == -EPROTO && scan.offset == bad[i].offset && strcmp(scan.pointer, bad[i].pointer) == 0 &&
				scan.problem,
			"refused: %zu: %s", i, scan.problem ? scan.problem : "?"))
			printf("# r %d offset %zu pointer '%s'\n", r, scan.offset, scan.pointer);
	}
}

static void
test_depth(void)
{
	char text[1024];

	memset(text, '[', 512);
	memset(text + 512, ']', 512);
	is_int(scan_text(text + 504, 16, 8), 0, "eight deep of eight");
	is_int(scan_text(text + 503, 18, 8), -EMSGSIZE, "nine deep of eight");
	is_str(scan.pointer, "/0/0/0/0/0/0/0/0", "the pointer leads to what is too deep");
	is_int(scan_text(text + 256, 512, JSON_SCAN_DEPTH_MAX), 0, "256 deep");
	is_int(scan_text(text + 255, 514, JSON_SCAN_DEPTH_MAX), -EMSGSIZE, "257 deep");
	is_int(scan_text("1", 1, 0), 0, "no depth needed");
	is_int(scan_text("[]", 2, 0), -EMSGSIZE, "no depth allowed");
}

static void
test_place(void)
{
	static const char text[] = "{\n  \"a\": [1, 2,\n\t{\"b~/\": true}],\n  \"é\": \"x\"\n}\n";
	uint32_t line = 0, column = 0;
	static const struct {
		const char *pointer;
		bool key;
		int r;
		uint32_t line, column;
	} t[] = {
		{ "", false, 0, 1, 1 },           { "/a", false, 0, 2, 8 },
		{ "/a", true, 0, 2, 3 },          { "/a/0", false, 0, 2, 9 },
		{ "/a/1", true, 0, 2, 12 },       { "/a/2/b~0~1", false, 0, 3, 10 },
		{ "/a/2/b~0~1", true, 0, 3, 3 },  { "/é", false, 0, 4, 9 },
		{ "/a/3", false, -ENOENT, 0, 0 }, { "/a/01", false, -ENOENT, 0, 0 },
		{ "/b", false, -ENOENT, 0, 0 },   { "/a/0/x", false, -ENOENT, 0, 0 },
		{ "a", false, -ENOENT, 0, 0 },    { "/", false, -ENOENT, 0, 0 },
		{ "/a/", false, -ENOENT, 0, 0 },  { "/a/-", false, -ENOENT, 0, 0 },
	};

	is_int(scan_text(text, strlen(text), 8), 0, "text to be located in");
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int r = json_locate((const char *)guard_copy(text, strlen(text)), strlen(text), t[i].pointer, t[i].key,
				    &line, &column);

		if (!ok(r == t[i].r && (r < 0 || (line == t[i].line && column == t[i].column)), "located: %s",
			t[i].pointer))
			printf("# r %d at %u:%u\n", r, line, column);
	}
	is_int(scan_text("{\n \"a\": 1,\n \"a\": 2}", 20, 8), -EPROTO, "duplicate key over lines");
	ok(scan.line == 3 && scan.column == 2, "line and column of the second");
}

static void
test_pointer_cut(void)
{
	char text[4096];
	struct writer w;

	writer_init(&w, text, sizeof(text));
	write_text(&w, "{\"");
	for (int i = 0; i < 700; i++)
		write_text(&w, "é");
	write_text(&w, "\":x}");
	is_int(scan_text(text, w.len, 8), -EPROTO, "a long key");
	ok(strlen(scan.pointer) < sizeof(scan.pointer) && strcmp(scan.pointer + strlen(scan.pointer) - 3, "...") == 0,
	   "the pointer is cut and says so");
}

static void
test_many_keys(void)
{
	size_t size = 2u << 20;
	char *text = malloc(size);
	struct writer w;

	for (unsigned last = 0; last < 2; last++) {
		writer_init(&w, text, size);
		for (unsigned i = 0; i < 50000; i++) {
			write_text(&w, i ? "," : "{");
			write_format(&w, "\"key%u\":%u", i * 7919 % 50000, i);
		}
		write_text(&w, last ? ",\"key25000\":1}" : "}");
		is_int(scan_text(text, w.len, 8), last ? -EPROTO : 0,
		       last ? "one duplicate among 50,001 keys" : "50,000 keys");
	}
	is_str(scan.pointer, "/key25000", "which one");
	writer_init(&w, text, size);
	for (unsigned i = 0; i <= JSON_SCAN_KEYS_MAX; i++) {
		write_text(&w, i ? "," : "{");
		write_format(&w, "\"%u\":0", i);
	}
	write_text(&w, "}");
	is_int(scan_text(text, w.len, 8), -EMSGSIZE, "65,537 keys");
	free(text);
}

static void
test_written(void)
{
	static const char in[] = "a\"\\\n\x01\x7f\xc2\x85\xe2\x80\xae\xff\xe2\x82é😀/\0z";
	static const char want[] =
		"\"a\\\"\\\\\\n\\u0001\\u007f\\u0085\\u202e\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdé😀/\xef\xbf\xbdz\"";
	static const uint8_t bytes[] = { 0x00, 0xab, 0xff };
	char buf[256];
	struct writer w;

	writer_init(&w, buf, sizeof(buf));
	json_string(&w, (const char *)guard_copy(in, sizeof(in) - 1), sizeof(in) - 1);
	write_u8(&w, 0);
	is_str(buf, want, "escapes and replacements");
	writer_init(&w, buf, sizeof(buf));
	json_u64(&w, 0);
	write_text(&w, " ");
	json_u64(&w, UINT64_MAX);
	write_text(&w, " ");
	json_bool(&w, true);
	write_text(&w, " ");
	json_text(&w, NULL);
	write_text(&w, " ");
	json_hex(&w, bytes, sizeof(bytes));
	write_u8(&w, 0);
	is_str(buf, "0 18446744073709551615 true null \"00abff\"", "other values");
	for (size_t size = 0; size < 8; size++) {
		writer_init(&w, buf, size);
		json_string(&w, "abc\ndef", 7);
		if (!w.failed)
			break;
	}
	ok(w.failed, "what does not fit fails");
}

/* Whatever bytes are written as a string, the scanner accepts them. */
static void
test_random_strings(void)
{
	char in[64], out[512];
	int good = 1;

	for (int i = 0; i < 20000 && good; i++) {
		size_t len = guard_random() % sizeof(in);
		struct writer w;

		for (size_t k = 0; k < len; k++)
			in[k] = (char)(guard_random() % 4 ? guard_random() : 0xe0 + guard_random() % 32);
		writer_init(&w, out, sizeof(out));
		json_string(&w, in, len);
		good = !w.failed && scan_text(out, w.len, 1) == 0;
	}
	ok(good, "every random string that is written is accepted");
}

/* A random document is accepted; every truncation of it is refused; a changed byte never crashes. */
static void
make_value(struct writer *w, unsigned depth)
{
	unsigned kind = (unsigned)(guard_random() % (depth ? 6 : 4)), n = (unsigned)(guard_random() % 4);

	if (kind < 4) {
		static const char *const leaves[] = { "12.5e-3", "\"s\\u00e9\\n\"", "null", "true" };

		write_text(w, leaves[kind]);
		return;
	}
	write_text(w, kind == 4 ? "[" : "{");
	for (unsigned i = 0; i < n; i++) {
		write_text(w, i ? " , " : " ");
		if (kind == 5)
			write_format(w, "\"k%u\" :\n", i);
		make_value(w, depth - 1);
	}
	write_text(w, kind == 4 ? "]" : "}");
}

static void
test_random_documents(void)
{
	static char text[1 << 16];
	int accepted = 1, refused = 1;
	unsigned changed = 0;

	for (int i = 0; i < 300; i++) {
		struct writer w;
		uint32_t line, column;

		writer_init(&w, text, sizeof(text));
		write_text(&w, "[");
		make_value(&w, 6);
		write_text(&w, "]");
		accepted &= !w.failed && scan_text(text, w.len, 8) == 0;
		for (size_t n = 0; n < w.len; n++)
			refused &= scan_text(text, n, 8) == -EPROTO;
		for (int k = 0; k < 50; k++) {
			size_t at = guard_random() % w.len;
			char old = text[at];

			text[at] = (char)guard_random();
			changed += scan_text(text, w.len, 8) < 0;
			changed += json_locate((const char *)guard_copy(text, w.len), w.len, "/0/k1/1/k0", true, &line,
					       &column) < 0;
			text[at] = old;
		}
	}
	ok(accepted, "random documents are accepted");
	ok(refused, "every truncation of them is refused");
	ok(changed > 0, "changed bytes are read without harm");
}

int
main(void)
{
	guard_random_start();
	test_accepted();
	test_refused();
	test_depth();
	test_place();
	test_pointer_cut();
	test_many_keys();
	test_written();
	test_random_strings();
	test_random_documents();
	return tap_done();
}
