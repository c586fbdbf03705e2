/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_spool.c - the event file: chain, redaction, bound, a full disk; and small neighbours: uuid, json, emit. */
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/emit.h"
#include "host/json.h"
#include "host/spool.h"
#include "host/store.h"
#include "host/uuid.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "tests/lib/tap.h"

static struct spool spool;

static char *
contents(int fd, size_t *len)
{
	char *text = calloc(1, 1 << 20);
	ssize_t n = pread(fd, text, (1 << 20) - 1, 0);

	*len = n < 0 ? 0 : (size_t)n;
	return text;
}

static void
chain(void)
{
	char path[] = "/tmp/test_spool.XXXXXX", *text, *line, *next, *back;
	const char secret[] = "at_test_secretsecret0123456789";
	struct redact *r = redact_new();
	struct spool_place place;
	uint8_t value[32];
	struct sha256 h;
	size_t len, lines = 0;
	int fd = mkstemp(path), i;

	ok(redact_add(r, "key", secret, strlen(secret)) == 0, "a secret");
	spool_init(&spool, dup(fd), r);
	for (i = 0; i < 3000; i++)
		if (spool_event(&spool, "operation", 7, "op", "{\"k\":\"at_test_secretsecret0123456789\"}", 38,
				&place) < 0)
			break;
	is_int(spool_bytes(&spool, "stdout", 8, (const uint8_t *)"gr\xc3\xbc\xc3\x9f\n\"x\"", 10), 0, "text");
	is_int(spool_bytes(&spool, "stdout", 8, (const uint8_t *)"\xff\x00\x01", 3), 0, "bytes");
	is_int(spool_read(&spool, &place, &back), 0, "read back");
	is_str(back, "{\"k\":\"{{secret.key}}\"}", "redacted, and nothing around it");
	free(back);
	/* The same length, another value: as a workflow might write it where there is no boundary. */
	ok(pwrite(fd, "K", 1, (off_t)place.offset + 2) == 1 && spool_read(&spool, &place, &back) == -EBADMSG,
	   "a changed value is noticed");
	ok(pwrite(fd, "k", 1, (off_t)place.offset + 2) == 1, "and put back");
	is_int(spool_flush(&spool), 0, "flush");
	text = contents(fd, &len);
	ok(len == spool.bytes && spool.records == 3002, "length and records");
	ok(!strstr(text, "at_test_"), "no secret in the file");
	ok(strstr(text, "{\"event\":\"stdout\",\"t_ms\":8,\"base64\":\"/wAB\"}\n") != NULL,
	   "what is not UTF-8 is base64");
	sha256_of("agenttwin-spool/1", 17, value);
	for (line = text; *line; line = next, lines++) {
		next = strchr(line, '\n') + 1;
		sha256_init(&h);
		sha256_add(&h, value, 32);
		sha256_add(&h, line, (size_t)(next - line));
		sha256_get(&h, value);
	}
	ok(lines == 3002 && memcmp(value, spool.chain, 32) == 0, "the chain can be computed again");
	free(text);
	spool_wipe(&spool);
	close(fd);
	unlink(path);
	redact_free(r);
}

static void
bounds(void)
{
	char path[] = "/tmp/test_spool.XXXXXX";
	int fd = mkstemp(path), r = 0, i;

	spool_init(&spool, fd, NULL);
	spool.max = 1000;
	for (i = 0; i < 50; i++)
		r = spool_event(&spool, "log", 1, "text", "\"0123456789\"", 12, NULL);
	ok(r == -ENOSPC && spool.error == 0 && spool.lost > 0 && spool.bytes < 1100,
	   "beyond the bound events are counted as lost");
	spool_wipe(&spool);
	unlink(path);
	fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		skip("no /dev/full");
		return;
	}
	spool_init(&spool, fd, NULL);
	for (r = 0, i = 0; i < 40000 && r == 0; i++)
		r = spool_event(&spool, "log", 1, "text", "\"0123456789\"", 12, NULL);
	ok(r == -ENOSPC && spool.error == -ENOSPC, "a full disk is an error that sticks");
	ok(spool_sync(&spool) < 0 && spool_event(&spool, "log", 1, "text", "1", 1, NULL) < 0, "ever after");
	spool_wipe(&spool);
}

/* --receipt FILE: what may stand there before. */
static void
places(void)
{
	static const struct {
		const char *text;
		int r;
	} all[] = { { "", 0 },
		    { "{\n  \"agenttwin\": \"receipt/1\",\n", 0 },
		    { "{ \"agenttwin\": \"world/1\" }", -EEXIST },
		    { "x", -EEXIST } };
	char dir[] = "/tmp/test_spool.XXXXXX", path[100], other[100];
	struct store s;
	struct diag d;
	size_t i;
	FILE *f;
	int fd;

	if (!mkdtemp(dir))
		return;
	snprintf(path, sizeof(path), "%s/r.json", dir);
	snprintf(other, sizeof(other), "%s/link", dir);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		f = fopen(path, "w");
		if (f) {
			fputs(all[i].text, f);
			fclose(f);
		}
		memset(&d, 0, sizeof(d));
		fd = store_open(&s, dir, "0", path, &d);
		ok(fd < 0 ? fd == all[i].r : all[i].r == 0, "a receipt in place of '%.20s': %s", all[i].text,
		   d.problem);
		ok((access(path, F_OK) == 0) == (all[i].r != 0), "it is gone before anything runs, or stays");
		if (fd >= 0)
			close(fd);
		store_forget(&s);
		store_wipe(&s);
	}
	ok(symlink("r.json", other) == 0 && store_open(&s, dir, "0", other, &d) == -EISDIR, "not in place of a link");
	ok(store_open(&s, dir, "0", "/dev/null", &d) == -EISDIR, "nor of a device");
	ok(store_open(&s, dir, "0", dir, &d) == -EISDIR, "nor of a folder");
	unlink(path);
	unlink(other);
	rmdir(dir);
}

static void
small(void)
{
	static const uint8_t random[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	char id[UUID_TEXT_LEN + 1], other[UUID_TEXT_LEN + 1], why[160],
		text[] = " { \"a b\" : [ 1 , \"x \\\" y\" ] }\n", *out = NULL;
	struct redact *r = redact_new();
	struct emit e;
	uint64_t v;
	size_t size;
	cJSON *doc;
	FILE *f;

	uuid_v7(0x0123456789abull, random, id);
	is_str(id, "01234567-89ab-7102-8304-05060708090a", "UUID version 7");
	ok(uuid_make(1, id) == 0 && uuid_make(2, other) == 0 && strcmp(id, other) < 0, "names sort by time");
	text[json_minify(text, strlen(text))] = '\0';
	is_str(text, "{\"a b\":[1,\"x \\\" y\"]}", "white space is taken out, not from strings");
	ok(!json_take("{\"a\":1,\"a\":2}", 13, 100, why), "a key twice is refused: %s", why);
	ok(!json_take("[1]", 3, 2, why), "too long is refused: %s", why);
	doc = json_take("{\"n\":9007199254740993,\"m\":-1,\"h\":1.5,\"o\":12}", 44, 100, why);
	ok(!json_get_u64(doc, "m", 100, &v) && !json_get_u64(doc, "h", 100, &v) && !json_get_u64(doc, "x", 100, &v),
	   "no whole numbers");
	ok(json_get_u64(doc, "o", 12, &v) && v == 12 && !json_get_u64(doc, "o", 11, &v),
	   "a whole number within its bound");
	cJSON_Delete(doc);
	ok(redact_add(r, "k", "hunter2hunter2", 14) == 0, "a secret");
	f = open_memstream(&out, &size);
	ok(emit_init(&e, f, r) == 0, "emit");
	emit_open(&e, NULL, '{');
	emit_text(&e, "a", "x\n\xff hunter2hunter2");
	emit_open(&e, "b", '[');
	emit_close(&e);
	emit_time(&e, "t", 1700000000123ull);
	emit_null(&e, "n");
	emit_close(&e);
	is_int(emit_finish(&e), 0, "finish");
	fclose(f);
	is_str(out,
	       "{\n  \"a\": \"x\\n\xef\xbf\xbd {{secret.k}}\",\n  \"b\": [],\n  \"t\": \"2023-11-14T22:13:20.123Z\",\n  \"n\": null\n}\n",
	       "a document");
	free(out);
	redact_free(r);
	f = fopen("/dev/full", "w");
	if (f && emit_init(&e, f, NULL) == 0) {
		emit_open(&e, NULL, '[');
		for (v = 0; v < 100000; v++)
			emit_u64(&e, NULL, v);
		emit_close(&e);
		ok(emit_finish(&e) < 0, "a full disk is an error");
		fclose(f);
	}
}

/* The quick way of writing text gives what json_string gives. */
static void
texts(void)
{
	static const char *const pieces[] = { "a",
					      "\"",
					      "\\",
					      "\n",
					      "\r",
					      "\x01",
					      "\x7f",
					      "\xc2\x80",
					      "\xc2\xa0",
					      "\xd8\x9c",
					      "\xd9\x81",
					      "\xe2\x80\xae",
					      "\xe2\x82\xac",
					      "\xef\xbb\xbf",
					      "\xef\xbf\xbd",
					      "\xf0\x9f\x98\x80",
					      "plain text of some length",
					      "\t" };
	static uint8_t text[4000];
	static char got[24002], want[24002];
	size_t len, n, bad = 0, k;
	unsigned seed, cut = 0;
	struct writer w;

	for (seed = 1; seed <= 300; seed++) {
		srand(seed);
		for (len = 0; len < seed * 10; len += n) {
			const char *piece = pieces[(size_t)rand() % (sizeof(pieces) / sizeof(pieces[0]))];

			n = strlen(piece);
			memcpy(text + len, piece, n);
			if (rand() % 50 == 0) {
				text[len] = 0;
				n = 1;
			}
		}
		bad += !spool_is_text(text, len);
		n = spool_text(text, len, got);
		writer_init(&w, want, sizeof(want));
		json_string(&w, (const char *)text, len);
		bad += n != w.len || memcmp(got, want, n) != 0;
		for (k = 0; k < len && k < 40; k++) {
			n = spool_text_whole(text, len - k);
			bad += !spool_is_text(text, n) || len - k - n > 3;
			cut += n != len - k;
		}
	}
	is_int((long long)bad, 0, "text as json_string writes it (seeds 1 to 300)");
	ok(cut > 0, "characters that are cut at the end are left for later (%u)", cut);
	ok(!spool_is_text((const uint8_t *)"12345678\xc3", 9) && !spool_is_text((const uint8_t *)"\xed\xa0\x80", 3) &&
		   !spool_is_text((const uint8_t *)"\xf5\x80\x80\x80", 4),
	   "what is no UTF-8");
	for (n = 0; n < 6; n++)
		bad += spool_text_whole((const uint8_t *)"\x80\x80\x80\x80\x80\x80", n) > n;
	is_int((long long)bad, 0, "bytes that are no text are not held back for ever");
}

int
main(void)
{
	chain();
	bounds();
	places();
	small();
	texts();
	return tap_done();
}
