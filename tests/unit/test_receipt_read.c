/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_receipt_read.c - receipts read again: whole ones, broken ones, and files that change meanwhile. */
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/json.h"
#include "host/receipt_read.h"
#include "tests/lib/receipt_text.h"
#include "tests/lib/tap.h"

static char why[RECEIPT_WHY_MAX];
static struct receipt_doc doc;

/* Opens and walks.  The number of operations, or -errno. */
static long
walk(const char *text, size_t len)
{
	struct receipt_cursor c = { 0 };
	cJSON *op;
	long n = 0;
	int r = receipt_open_text(text, len, &doc, why);

	if (r < 0)
		return r;
	while ((r = receipt_next(&doc, &c, &op)) == 1) {
		n += cJSON_IsObject(op);
		cJSON_Delete(op);
	}
	snprintf(why, sizeof(why), "%s", r < 0 ? doc.why : "");
	if (r == 0 && (uint64_t)n != doc.operations)
		n = -1;
	receipt_close(&doc);
	return r < 0 ? r : n;
}

static void
reads(const char *members, long want, const char *name)
{
	char *text = receipt_text(members);

	is_int(walk(text, strlen(text)), want, name);
	free(text);
}

static void
refuses(const char *members, const char *want, const char *name)
{
	char *text = receipt_text(members);

	ok(walk(text, strlen(text)) < 0 && strstr(why, want), "%s: %s", name, why);
	free(text);
}

static void
test_whole(void)
{
	reads("", 0, "no operation");
	reads("\"operations\":[ ]", 0, "none, with a blank");
	reads("\"operations\":[{}]", 1, "one");
	reads("\"operations\": [ {\"a\":\"]}\\\"\"} ,\n{\"b\":[[{}]]}\n, {} ]", 3, "three, with brackets in a string");
	reads("\"later\":[1,2],\"operations\":[{}]", 1, "a part of a later version");
}

static void
test_refused(void)
{
	static const char *const cut[] = { "", " ", "{", "[]", "7", "\"x\"", "{}", "{\"agenttwin\":\"receipt/1\"" };
	size_t i;

	for (i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		ok(walk(cut[i], strlen(cut[i])) < 0 && why[0], "refused: %s", why);
	refuses("\"agenttwin\":\"receipt/2\"", "not a receipt/1 but \"receipt/2\"", "another version");
	refuses("\"agenttwin\":7", "not a receipt", "no version");
	refuses("\"run\":[]", "at /run: it must be an object", "a wrong type");
	refuses("\"operations\":{}", "at /operations: it must be an array", "operations that are no list");
	refuses("\"operations\":null", "at /operations: it must be an array", "operations that are nothing");
	refuses("\"status\":\"passed\",\"sta\\u0074us\":\"failed\"", "twice", "a part twice, once escaped");
	refuses("\"operations\":[{}],\"operations\":[]", "twice", "operations twice");
	refuses("\"run\":{\"a\":1,\"a\":2}", "at /run/a: the same key twice", "a key twice");
	refuses("\"operations\":[{},{\"a\":1,\"a\":2}]", "at /operations/1/a: the same key twice", "in an operation");
	refuses("\"operations\":[7]", "at /operations/0: it must be an object", "an operation that is a number");
	refuses("\"operations\":[{},]", "comma before", "a comma too many");
	refuses("\"operations\":[{} {}]", "comma or the closing bracket", "a comma too few");
	refuses("\"operations\":[{\"a\":[1}]", "", "brackets that do not match");
	refuses("\"operations\":[}]", "at /operations/0", "a bracket that closes nothing");
	refuses("\"operations\":[,]", "at /operations/0", "a comma alone");
	refuses("\"run\":{\"a\":1e999}", "too large", "a number too large");
	refuses("\"run\":{\"a\":\"\\u0000\"}", "\\u0000", "a NUL");
}

static void
test_ends(void)
{
	char *text = receipt_text("\"operations\":[{\"n\":0},{\"n\":1}]"), *more;
	size_t len = strlen(text), i, bad = 0;

	for (i = 0; i < len; i++)
		bad += walk(text, i) >= 0;
	is_int((long long)bad, 0, "each beginning of a receipt is refused");
	more = malloc(len + 8);
	sprintf(more, "%s \n\t", text);
	is_int(walk(more, len + 3), 2, "blanks behind it");
	sprintf(more, "%s x", text);
	ok(walk(more, len + 2) < 0 && strstr(why, "text after the end"), "text behind it: %s", why);
	sprintf(more, "%s%c", text, 0);
	ok(walk(more, len + 1) < 0, "a NUL behind it");
	free(more);
	free(text);
	text = receipt_text("\"why\":\"x\"");
	*strstr(text, "\"x\"") = '\0';
	ok(walk(text, strlen(text) + 3) < 0, "a NUL within");
	free(text);
}

/* Values that end where the window does, and operations larger than it. */
static void
test_window(void)
{
	size_t pad, bad = 0, i;
	char *text, *all = malloc(600000);

	for (pad = 262000; pad < 262300; pad += 7) {
		sprintf(all, "\"operations\":[{\"n\":0,\"x\":\"");
		memset(all + strlen(all) + 1, 0, 1);
		i = strlen(all);
		memset(all + i, 'y', pad - i);
		sprintf(all + pad, "\\\"]\"},{\"n\":1},{\"n\":2}]");
		text = receipt_text(all);
		bad += walk(text, strlen(text)) != 3;
		free(text);
	}
	is_int((long long)bad, 0, "values across the end of the window");
	free(all);
}

static void
test_depth(void)
{
	char deep[400] = "\"operations\":[{\"request\":{\"body\":{\"json\":", *text;
	size_t n = strlen(deep), i;

	for (i = 0; i < 64; i++)
		deep[n + i] = '[';
	for (i = 0; i < 64; i++)
		deep[n + 64 + i] = ']';
	strcpy(deep + n + 128, "}}}]");
	text = receipt_text(deep);
	is_int(walk(text, strlen(text)), 1, "a body as deep as a body may be");
	free(text);
}

static void
test_signature(void)
{
	char *text = receipt_text("\"integrity\": { \"a\":{\"signature\":1}, \"signature\" : {\"x\":[1]} , \"b\":2}");
	char got[32] = "";

	is_int(receipt_open_text(text, strlen(text), &doc, why), 0, "a signed one");
	ok(doc.signature_len == 9 && receipt_bytes(&doc, doc.signature_at, got, 9) == 0, "its signature has a place");
	is_str(got, "{\"x\":[1]}", "which is right");
	ok(receipt_bytes(&doc, doc.size - 1, got, 2) < 0, "nothing is read beyond the end");
	receipt_close(&doc);
	free(text);
}

static void
test_again(void)
{
	char *text = receipt_text("\"operations\":[{\"n\":10},{\"n\":11},{\"n\":12}]");
	struct receipt_cursor c = { 0 }, kept;
	uint64_t n = 0;
	cJSON *op;

	is_int(receipt_open_text(text, strlen(text), &doc, why), 0, "three operations");
	is_int(receipt_next(&doc, &c, &op), 1, "the first");
	cJSON_Delete(op);
	kept = c;
	is_int(receipt_next(&doc, &c, &op), 1, "the second");
	cJSON_Delete(op);
	is_int(receipt_next(&doc, &c, &op), 1, "the third");
	cJSON_Delete(op);
	is_int(receipt_next(&doc, &c, &op), 0, "no fourth");
	is_int(receipt_next(&doc, &kept, &op), 1, "the second again");
	json_get_u64(op, "n", 99, &n);
	is_int((long long)n, 11, "it is the same");
	cJSON_Delete(op);
	receipt_close(&doc);
	free(text);
}

/* A file that is cut or written while it is read. */
static void
test_changing(void)
{
	char path[] = "/tmp/test_receipt_read.XXXXXX", *all = malloc(2000000), *text;
	struct receipt_cursor c = { 0 };
	int fd = mkstemp(path), r;
	size_t i, n;
	cJSON *op;

	n = (size_t)sprintf(all, "\"operations\":[{}");
	for (i = 0; i < 100000; i++)
		n += (size_t)sprintf(all + n, ",{\"n\":%zu}", i);
	sprintf(all + n, "]");
	text = receipt_text(all);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	is_int(receipt_open(path, &doc, why), 0, "a file");
	is_int((long long)doc.operations, 100001, "its operations");
	if (ftruncate(fd, 1000) < 0)
		abort();
	while ((r = receipt_next(&doc, &c, &op)) == 1)
		cJSON_Delete(op);
	ok(r == -ESTALE && strstr(doc.why, "shorter"), "it is cut meanwhile: %s", doc.why);
	receipt_close(&doc);

	if (pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
	c = (struct receipt_cursor){ 0 };
	is_int(receipt_open(path, &doc, why), 0, "the file again");
	if (pwrite(fd, "\n", 1, (off_t)strlen(text)) != 1)
		abort();
	while ((r = receipt_next(&doc, &c, &op)) == 1)
		cJSON_Delete(op);
	ok(r == -ESTALE && strstr(doc.why, "changed"), "it grows meanwhile: %s", doc.why);
	receipt_close(&doc);
	is_int(receipt_open_head(AT_FDCWD, path, &doc, why), -EPROTO,
	       "without a run before the operations it has no head");
	close(fd);
	unlink(path);
	is_int(receipt_open(path, &doc, why), -ENOENT, "no file");
	is_int(receipt_open("/tmp", &doc, why), -EISDIR, "a folder");
	free(text);
	free(all);
}

int
main(void)
{
	test_whole();
	test_refused();
	test_ends();
	test_window();
	test_depth();
	test_signature();
	test_again();
	test_changing();
	return tap_done();
}
