/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_report_show.c - a receipt in a terminal: width, and foreign bytes that a terminal would obey. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>

#include "host/report_show.h"
#include "tests/lib/tap.h"

static char *
render(const char *json, unsigned width, bool colour, int *r)
{
	cJSON *doc = cJSON_Parse(json);
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	*r = report_show(f, doc, width, colour);
	fclose(f);
	cJSON_Delete(doc);
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
	"{\"agenttwin\":\"receipt/1\",\"status\":\"passed\\u001b[31m\",\"why\":\"\\u001b]0;owned\\u0007 \\u009b2J a very long sentence with "
	"many words that has to be wrapped somewhere, gr\xc3\xbc\xc3\x9f"
	"e, and_a_word_that_is_longer_than_any_line_of_a_narrow_terminal_can_be\","
	"\"checks\":[{\"id\":\"a\\u001b[2J\",\"held\":false,\"expected\":\"x\",\"actual\":\"\\r\\n\\u001bc\"}],\"operations\":[{\"request\":{\"target\":\"/\\u001b[2J\"}},7],"
	"\"outcome\":{\"stdout\":{\"bytes\":3,\"tail\":\"one\\ntwo\\u001b[2J\\n\"}},\"limits\":[1,\"\\u001b\"]}";

int
main(void)
{
	static const char *const odd[] = {
		"{\"agenttwin\":\"receipt/1\"}",
		"{\"agenttwin\":\"receipt/1\",\"checks\":7,\"operations\":{},\"state\":[],\"boundary\":{\"locks\":1,\"denied_egress\":[1,{}]},\"run\":[]}"
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
	s = render("{\"agenttwin\":\"receipt/2\"}", 80, false, &r);
	is_int(r, -EPROTO, "another document is refused");
	free(s);
	s = render("[]", 80, false, &r);
	is_int(r, -EPROTO, "so is what is no object");
	free(s);
	return tap_done();
}
