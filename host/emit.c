/* SPDX-License-Identifier: GPL-2.0-or-later
 * emit.c - see emit.h. */
#include "host/emit.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/json.h"
#include "proto/cursor.h"
#include "proto/frame.h"

static int
to_file(void *arg, const void *data, size_t len)
{
	struct emit *e = arg;

	errno = 0;
	if (fwrite(data, 1, len, e->f) != len)
		return errno ? -errno : -EIO;
	return 0;
}

int
emit_init(struct emit *e, FILE *f, const struct redact *r)
{
	memset(e, 0, sizeof(*e));
	e->f = f;
	return redact_stream_init(&e->redact, r, to_file, e);
}

static void
put(struct emit *e, const char *data, size_t len)
{
	if (e->error == 0 && len)
		e->error = redact_stream_add(&e->redact, data, len);
}

int
emit_finish(struct emit *e)
{
	int r = redact_stream_finish(&e->redact);

	redact_stream_wipe(&e->redact);
	if (e->error == 0)
		e->error = r;
	return e->error;
}

static void
string(struct emit *e, const void *data, size_t len)
{
	struct writer w;
	char *buf = malloc(6 * len + 16);

	if (!buf) {
		e->error = e->error ? e->error : -ENOMEM;
		return;
	}
	writer_init(&w, buf, 6 * len + 16);
	json_string(&w, data, len);
	put(e, buf, w.len);
	if (w.failed)
		e->error = e->error ? e->error : -ENOMEM;
	free(buf);
}

static void
lead(struct emit *e, const char *key)
{
	static const char space[] = "\n                                ";

	if (e->filled[e->depth])
		put(e, ",", 1);
	if (e->depth)
		put(e, space, 1 + 2 * e->depth);
	e->filled[e->depth] = true;
	if (key) {
		string(e, key, strlen(key));
		put(e, ": ", 2);
	}
}

void
emit_open(struct emit *e, const char *key, char kind)
{
	assert(e->depth < EMIT_DEPTH_MAX);
	lead(e, key);
	put(e, &kind, 1);
	e->closers[e->depth++] = kind == '{' ? '}' : ']';
	e->filled[e->depth] = false;
}

void
emit_close(struct emit *e)
{
	static const char space[] = "\n                                ";

	assert(e->depth > 0);
	e->depth--;
	if (e->filled[e->depth + 1])
		put(e, space, 1 + 2 * e->depth);
	put(e, &e->closers[e->depth], 1);
	if (e->depth == 0)
		put(e, "\n", 1);
}

void
emit_bytes(struct emit *e, const char *key, const void *data, size_t len)
{
	lead(e, key);
	string(e, data, len);
}

void
emit_text(struct emit *e, const char *key, const char *s)
{
	if (s)
		emit_bytes(e, key, s, strlen(s));
	else
		emit_null(e, key);
}

void
emit_raw(struct emit *e, const char *key, const char *json, size_t len)
{
	lead(e, key);
	put(e, json, len);
}

void
emit_u64(struct emit *e, const char *key, uint64_t v)
{
	char text[24];

	emit_raw(e, key, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, v));
}

void
emit_i64(struct emit *e, const char *key, int64_t v)
{
	char text[24];

	emit_raw(e, key, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, v));
}

void
emit_bool(struct emit *e, const char *key, bool v)
{
	emit_raw(e, key, v ? "true" : "false", v ? 4 : 5);
}

void
emit_null(struct emit *e, const char *key)
{
	emit_raw(e, key, "null", 4);
}

void
emit_hex(struct emit *e, const char *key, const uint8_t digest[static 32])
{
	char hex[65];

	sha256_hex(digest, hex);
	emit_text(e, key, hex);
}

void
emit_json(struct emit *e, const char *key, const struct cJSON *v)
{
	char *text = json_print(v);

	if (text)
		emit_raw(e, key, text, strlen(text));
	else
		emit_null(e, key);
	if (v && !text)
		e->error = e->error ? e->error : -ENOMEM;
	free(text);
}

void
emit_time(struct emit *e, const char *key, uint64_t unix_ms)
{
	time_t s = (time_t)(unix_ms / 1000);
	struct tm tm = { 0 };
	char day[32], text[48];

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(unix_ms % 1000));
	emit_text(e, key, text);
}
