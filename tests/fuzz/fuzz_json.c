/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_json.c - scanner and locator over any bytes.  What the scanner refuses it must place within the text; what it accepts
 * must be accepted as a string that was written too; a pointer that it gives must lead somewhere. */
#include <stdlib.h>
#include <string.h>

#include "proto/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char out[1 << 20];
	const char *text = (const char *)data;
	struct json_scan s, t;
	uint32_t line, column;
	struct writer w;
	int r;

	memset(&s, 0, sizeof(s));
	r = json_scan(text, len, 64, &s);
	if (r < 0 &&
	    (s.offset > len || s.line == 0 || s.column == 0 || !s.problem || !memchr(s.pointer, 0, sizeof(s.pointer))))
		abort();
	if (json_locate(text, len, r < 0 ? s.pointer : "/a/0/b", true, &line, &column) == 0 &&
	    (line == 0 || column == 0))
		abort();
	if (json_locate(text, len, "", false, &line, &column) < 0)
		abort();
	if (len > sizeof(out) / 8)
		return 0;
	writer_init(&w, out, sizeof(out));
	json_string(&w, text, len);
	if (w.failed || json_scan(out, w.len, 1, &t) < 0)
		abort();
	return 0;
}
