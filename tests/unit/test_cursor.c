/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_cursor.c - reader and writer: exact fits, failures that stick, an unreadable page behind the input. */
#include "proto/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/utf8.h"
#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

static void
test_numbers(void)
{
	static const uint8_t want[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
					0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f };
	uint8_t buf[15];
	struct writer w;
	struct reader r;

	writer_init(&w, buf, sizeof(buf));
	write_u8(&w, 0x01);
	write_u16(&w, 0x0203);
	write_u32(&w, 0x04050607);
	write_u64(&w, 0x08090a0b0c0d0e0f);
	ok(!w.failed && w.len == 15, "numbers fill the buffer exactly");
	ok(memcmp(buf, want, sizeof(want)) == 0, "numbers are big-endian");
	write_u8(&w, 1);
	ok(w.failed && w.len == 15, "one byte more fails and changes nothing");

	reader_init(&r, guard_copy(buf, sizeof(buf)), sizeof(buf));
	ok(read_u8(&r) == 1 && read_u16(&r) == 0x0203 && read_u32(&r) == 0x04050607 &&
		   read_u64(&r) == 0x08090a0b0c0d0e0f,
	   "numbers read back before an unreadable page");
	is_int(reader_finish(&r), 0, "nothing is left");
	is_int(read_u8(&r), 0, "a read past the end gives 0");
	is_int(reader_finish(&r), -EPROTO, "and is a failure");
}

static void
test_sticking(void)
{
	uint8_t data[4] = { 1, 2, 3, 4 };
	struct reader r;

	reader_init(&r, data, sizeof(data));
	is_int((long long)read_u64(&r), 0, "eight bytes of four");
	ok(r.failed && r.left == 4, "fail without being taken");
	ok(read_u8(&r) == 0 && !read_bytes(&r, 0) && !read_string(&r), "nothing is given after a failure");
	reader_init(&r, data, sizeof(data));
	ok(!read_bytes(&r, SIZE_MAX), "a length that would wrap is refused");
	reader_init(&r, data, sizeof(data));
	ok(!read_string(&r), "a string without its end is refused");
	reader_init(&r, data, sizeof(data));
	(void)read_u8(&r);
	is_int(reader_finish(&r), -EPROTO, "bytes that are left are a failure");
	reader_init(&r, NULL, 0);
	ok(read_bytes(&r, 0) == NULL && !r.failed && reader_finish(&r) == 0, "an empty reader of NULL is whole");
}

static void
test_strings(void)
{
	char buf[16];
	struct writer w;
	struct reader r;
	const char *s;

	writer_init(&w, buf, sizeof(buf));
	write_string(&w, "abc");
	write_string(&w, "");
	write_text(&w, "xyz");
	is_int((long long)w.len, 8, "a string has its end, a text has none");
	reader_init(&r, guard_copy(buf, 8), 8);
	s = read_string(&r);
	is_str(s, "abc", "first string");
	s = read_string(&r);
	is_str(s, "", "empty string");
	ok(!read_string(&r), "the text before the unreadable page is no string");

	writer_init(&w, buf, 8);
	write_format(&w, "%d-%s", 123, "abc");
	ok(!w.failed && w.len == 7, "a format that leaves one byte fits");
	writer_init(&w, buf, 8);
	write_format(&w, "%d-%s", 1234, "abc");
	ok(w.failed && w.len == 0, "a format that needs the last byte does not");
	writer_init(&w, buf, 0);
	write_format(&w, "%s", "");
	ok(w.failed, "a writer without room fails");
	writer_init(&w, buf, 2);
	write_text(&w, "abc");
	write_text(&w, "a");
	ok(w.failed && w.len == 0, "nothing is written after what did not fit");
}

static void
test_utf8(void)
{
	static const struct {
		const char *text;
		int valid;
	} t[] = {
		{ "", 1 },
		{ "aé€😀", 1 },
		{ "\xc0\x80", 0 },
		{ "\xc1\xbf", 0 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xe0\xa0\x80", 1 },
		{ "\xed\x9f\xbf", 1 },
		{ "\xed\xa0\x80", 0 },
		{ "\xed\xbf\xbf", 0 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf0\x90\x80\x80", 1 },
		{ "\xf4\x8f\xbf\xbf", 1 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 },
		{ "\x80", 0 },
		{ "\xe2\x82", 0 },
		{ "\xff", 0 },
	};
	int same = 1;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		size_t len = strlen(t[i].text);

		is_int(utf8_is_valid((const char *)guard_copy(t[i].text, len), len), t[i].valid, "UTF-8");
	}
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		uint32_t back = 0;
		char buf[4];
		size_t n;

		if (code == 0xd800)
			code = 0xe000;
		n = utf8_encode(code, buf);
		same &= utf8_decode(buf, n, &back) == n && back == code && utf8_decode(buf, n - 1, &back) == 0;
	}
	ok(same, "every code point comes back, and no code point cut short does");
}

int
main(void)
{
	test_numbers();
	test_sticking();
	test_strings();
	test_utf8();
	return tap_done();
}
