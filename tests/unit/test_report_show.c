/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_report_show.c - a receipt in a terminal: width, and foreign bytes that a terminal would obey. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>

#include "host/report_page.h"
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
		struct page page = { .f = f, .width = width, .colour = colour };

		*r = report_show(&page, &doc);
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

#define CALL(n, more) \
	"{\"n\":" #n \
	",\"t_ms\":5,\"service\":\"pay\",\"kind\":\"http\",\"route\":\"make\",\"request\":{\"method\":\"POST\",\"target\":" \
	"\"/rows\"},\"effects\":[{\"create\":\"/rows/" #n "\"}],\"reply\":{\"status\":201}," more "}"
#define FINE "\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}"
#define LOST \
	"\"fault\":{\"id\":\"f1\",\"phase\":\"after-effect\",\"end\":\"rst\"},\"key\":\"k\",\"views\":{\"service\":\"applied\"," \
	"\"client\":\"told-nothing\"}"

static const char failed[] = "\"status\":\"failed\",\"operations\":[" CALL(0, LOST) "," CALL(
	1, FINE
	",\"resend_of\":0") "],"
			    "\"checks\":[{\"id\":\"fine\",\"held\":true,\"expected\":\"all\"},"
			    "{\"id\":\"later\",\"held\":null,\"actual\":\"only a sweep can tell\"},"
			    "{\"id\":\"hint\",\"role\":\"evidence\",\"held\":false,\"expected\":\"x\",\"actual\":\"y\"},"
			    "{\"id\":\"one-call\",\"role\":\"required\",\"held\":false,\"expected\":\"exactly 1\",\"actual\":\"2\",\"rests_on\":["
			    "\"/operations/0\",\"/operations/1\",\"/operations/99999999999999999999\",\"/operations/x\"]},"
			    "{\"id\":\"one-row\",\"held\":false,\"expected\":\"1\",\"actual\":\"2\",\"because\":\"twice\",\"rests_on\":["
			    "\"/state/final/pay/rows/1\"]}],"
			    "\"faults\":[{\"id\":\"f1\",\"class\":\"c\",\"fired\":true,\"count\":1,\"operations\":[0]},{\"id\":\"f2\",\"class\":\"c\",\"fired\":false,"
			    "\"armed\":true}],"
			    "\"outcome\":{\"declared\":[{\"id\":\"good\",\"verdict\":\"passed\",\"matches\":false,\"conditions\":[{\"check\":\"one-call\",\"met\":false,\"actual\":\"2\"},{\"jq\":\"1\",\"met\":true}]}],\"matched\":null,\"nearest\":\"good\",\"exit\":{\"signal\":9,\"signal_name\":\"KILL\",\"ended_by\":\"limit\"}},"
			    "\"state\":{\"diff\":[{\"service\":\"pay\",\"path\":\"/rows/1\",\"before\":null,\"after\":{\"id\":1}}]},"
			    "\"integrity\":{\"truncated\":[{\"what\":\"stdout\",\"kept\":5,\"lost\":6}],\"frames\":{\"agreed\":true},\"signature\":{\"signatures\":["
			    "{\"keyid\":\"abcd\"}]}}";

static void
test_failed(void)
{
	static const char *const says[] = {
		"failed\n",
		"  NOT HELD    one-call\n              expected  exactly 1\n              actual    2\n"
		"              0  5 ms  pay  POST /rows -> 201  (make)  fault f1 after-effect rst  key k  applied,\n"
		"                told-nothing: lost acknowledgement\n"
		"              1  5 ms  pay  POST /rows -> 201  (make)  repeats 0  applied, told-ok\n",
		"  NOT HELD    one-row: twice\n              expected  1\n              actual    2\n              changed by\n"
		"              1  5 ms",
		"  not held    hint (evidence)\n",
		"  held        fine: all\n",
		"  not judged  later: only a sweep can tell\n",
		"  fired       f1 (c), 1 time: 0\n",
		"  not fired   f2 (c)\n",
		"outcomes\n              0 of 1 matched, where one must\n  nearest     good (passed)\n              check one-call is not met: 2\n",
		"operations (2)\n              2 calls, 1 repeats an earlier one, 1 lost acknowledgement\n",
		"pay/rows/1: new, {\"id\":1}\n",
		"exit          signal 9 (SIGKILL), ended by limit\n",
		"TRUNCATED     stdout: 5 kept, 6 lost\n",
		"signature     there is one, of key abcd;",
	};
	size_t i;
	int r;
	char *s = render(failed, 100, false, &r);

	for (i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (!ok(r == 0 && strstr(s, says[i]) != NULL, "a failed run, %zu", i))
			printf("# not there: %s\n", says[i]);
	ok(strstr(s, "NOT HELD") < strstr(s, "  held "), "what did not hold comes first");
	free(s);
	s = render(failed, 40, false, &r);
	ok(r == 0 && widest(s) <= 40 && strstr(s, "  NOT HELD\n    one-call\n"), "40 columns");
	free(s);
}

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
	test_failed();
	return tap_done();
}
