/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_report_show.c - a receipt in a terminal: width, and foreign bytes that a terminal would obey. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>

#include "host/report_show.h"
#include "tests/lib/receipt_text.h"
#include "tests/lib/tap.h"

static char *
render(const char *members, unsigned width, bool colour, int *r)
{
	char *text = receipt_text(members), *out = NULL, why[RECEIPT_WHY_MAX];
	struct receipt_doc doc;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	*r = receipt_open_text(text, strlen(text), &doc, why);
	if (*r == 0) {
		*r = report_show(f, &doc, width, colour);
		receipt_close(&doc);
	}
	fclose(f);
	free(text);
	return out;
}

static size_t
widest(const char *s)
{
	size_t most = 0, n = 0;

	for (; *s; s++) {
		n = *s == '\n' ? 0 : n + (((unsigned char)*s & 0xc0) != 0x80);
		if (n > most)
			most = n;
	}
	return most;
}

static const char nasty[] =
	"\"status\":\"passed\\u001b[31m\",\"why\":\"\\u001b]0;owned\\u0007 \\u009b2J a very long sentence with "
	"many words that has to be wrapped somewhere, gr\xc3\xbc\xc3\x9f"
	"e, and_a_word_that_is_longer_than_any_line_of_a_narrow_terminal_can_be\","
	"\"checks\":[{\"id\":\"a\\u001b[2J\",\"held\":false,\"expected\":\"x\",\"actual\":\"\\r\\n\\u001bc\"}],\"operations\":[{\"request\":{\"target\":\"/\\u001b[2J\"}},{}],"
	"\"outcome\":{\"stdout\":{\"bytes\":3,\"tail\":\"one\\ntwo\\u001b[2J\\n\"}},\"limits\":[1,\"\\u001b\"]";

int
main(void)
{
	static const char *const odd[] = {
		"",
		"\"checks\":[7,{}],\"operations\":[{}],\"state\":{\"diff\":7},\"boundary\":{\"locks\":1,\"denied_egress\":[1,{}]}"
	};
	unsigned width;
	size_t i;
	char *s;
	int r;

	for (width = 40; width <= 120; width += 20) {
		s = render(nasty, width, false, &r);
		ok(r == 0 && widest(s) <= width, "fits %u columns (%zu)", width, widest(s));
		ok(!strchr(s, 0x1b) && !strchr(s, '\r') && !strchr(s, 7), "nothing that a terminal obeys");
		free(s);
	}
	s = render(nasty, 80, true, &r);
	ok(strstr(s, "\033[1;33m") != NULL && !strstr(s, "\033[2J"), "colour is ours alone");
	free(s);
	for (i = 0; i < 2; i++) {
		s = render(odd[i], 80, false, &r);
		is_int(r, 0, "odd types do no harm");
		free(s);
	}
	s = render("\"operations\":[{},7]", 80, false, &r);
	is_int(r, -EPROTO, "an operation that is none is told");
	free(s);
	return tap_done();
}
