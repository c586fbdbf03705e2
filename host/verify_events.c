/* SPDX-License-Identifier: GPL-2.0-or-later
 * verify_events.c - the event file beside a receipt: its chain, and that receipt and file tell the same operations, states and
 * output. */
#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base64.h"
#include "host/events_read.h"
#include "host/evidence.h"
#include "host/json.h"
#include "host/verify.h"
#include "proto/cursor.h"

struct stream {
	const char *name;
	struct sha256 h;
	uint64_t bytes;
	bool redacted;
	uint8_t tail[EVIDENCE_TAIL]; /* byte k lies at k % EVIDENCE_TAIL */
};
struct walk {
	struct verify *v;
	struct receipt_cursor cursor;
	uint64_t operations, different, states, states_different;
	bool receipt_ended;
	struct stream out, err;
};

/* Where the receipt says that the file lies: a name, beside it. */
static bool
locate(const struct verify *v, char out[static 4400])
{
	const char *name = json_get_text(json_get(json_get(v->doc->rest, "integrity"), "spool"), "file");
	const char *slash = strrchr(v->path, '/');

	if (v->events) {
		snprintf(out, 4400, "%s", v->events);
		return true;
	}
	if (!name || !*name || strchr(name, '/') || strlen(name) > 320)
		return false;
	snprintf(out, 4400, "%.*s%s", slash ? (int)(slash + 1 - v->path) : 0, v->path, name);
	return true;
}

static void
stream_add(struct stream *s, const void *data, size_t len)
{
	static const char token[] = "{{secret.";
	const uint8_t *p = data;
	size_t i;

	s->redacted = s->redacted || memmem(data, len, token, sizeof(token) - 1);
	sha256_add(&s->h, data, len);
	for (i = len > EVIDENCE_TAIL ? len - EVIDENCE_TAIL : 0; i < len; i++)
		s->tail[(s->bytes + i) % EVIDENCE_TAIL] = p[i];
	s->bytes += len;
}

static int
take_output(struct walk *w, struct stream *s, const cJSON *line)
{
	const char *text = json_get_text(line, "text"), *coded = json_get_text(line, "base64");
	size_t len;
	uint8_t *p;
	long n;

	if (text) {
		stream_add(s, text, strlen(text));
		return 0;
	}
	len = coded ? strlen(coded) : 0;
	p = malloc(len + 1);
	if (!p)
		return -ENOMEM;
	n = coded ? base64_bytes(coded, len, p, len) : -EPROTO;
	if (n >= 0)
		stream_add(s, p, (size_t)n);
	else
		verify_say(w->v, VERIFY_WRONG, s->name, "the event file holds output that is neither text nor base64");
	free(p);
	return 0;
}

/* The next operation of the receipt must be this one. */
static int
take_operation(struct walk *w, const cJSON *op)
{
	cJSON *stated = NULL;
	int r = w->receipt_ended ? 0 : receipt_next(w->v->doc, &w->cursor, &stated);

	if (r < 0)
		return r;
	w->receipt_ended = r == 0;
	if (r == 0 || !json_equal(stated, op))
		w->different++;
	w->operations++;
	cJSON_Delete(stated);
	return 0;
}

static void
take_state(struct walk *w, const struct event_file *e, const cJSON *state, const char *phase)
{
	const cJSON *all = json_get(w->v->doc->rest, "state");
	const char *service = json_get_text(state, "service"), *stated;
	uint8_t digest[32];
	char hex[65];

	w->states++;
	if (!service || !json_equal(json_get(json_get(all, phase), service), json_get(state, "collections")))
		w->states_different++;
	if (!service || strcmp(phase, "final") != 0 || !e->value)
		return;
	sha256_of(e->value, e->value_len, digest);
	sha256_hex(digest, hex);
	stated = json_get_text(json_get(all, "final_sha256"), service);
	w->states_different += !stated || strcmp(stated, hex) != 0;
}

static int
take_line(struct walk *w, const struct event_file *e, const cJSON *line)
{
	const char *event = json_get_text(line, "event");

	if (strcmp(event, "operation") == 0)
		return take_operation(w, json_get(line, "op"));
	if (strcmp(event, "stdout") == 0)
		return take_output(w, &w->out, line);
	if (strcmp(event, "stderr") == 0)
		return take_output(w, &w->err, line);
	if (strcmp(event, "state-initial") == 0)
		take_state(w, e, json_get(line, "state"), "initial");
	else if (strcmp(event, "state-final") == 0)
		take_state(w, e, json_get(line, "state"), "final");
	return 0;
}

/* ---- what it comes to ------------------------------------------------------------------------------------------------------ */

static bool
number_is(const cJSON *o, const char *name, uint64_t value)
{
	uint64_t n;

	return json_get_u64(o, name, UINT64_MAX, &n) && n == value;
}

/* The last bytes, as the receipt shows them: from the first whole character on, what is no text replaced. */
static bool
tail_is(const struct stream *s, const char *stated)
{
	size_t len = s->bytes < EVIDENCE_TAIL ? (size_t)s->bytes : EVIDENCE_TAIL, i = 0, k;
	uint64_t from = s->bytes - len;
	char bytes[EVIDENCE_TAIL], why[160];
	char *text = malloc(6 * EVIDENCE_TAIL + 16);
	struct writer w;
	cJSON *again;
	bool same;

	if (!text)
		return false;
	for (k = 0; k < len; k++)
		bytes[k] = (char)s->tail[(from + k) % EVIDENCE_TAIL];
	while (from && i < 3 && i < len && ((unsigned char)bytes[i] & 0xc0) == 0x80)
		i++;
	writer_init(&w, text, 6 * EVIDENCE_TAIL + 16);
	json_string(&w, bytes + i, len - i);
	again = json_take(text, w.len, 6 * EVIDENCE_TAIL + 16, why);
	same = cJSON_IsString(again) && stated && strcmp(again->valuestring, stated) == 0;
	cJSON_Delete(again);
	free(text);
	return same;
}

static void
tell_stream(struct verify *v, const struct stream *s)
{
	const cJSON *stated = json_get(json_get(v->doc->rest, "outcome"), s->name);
	const char *digest = json_get_text(stated, "sha256");
	uint8_t raw[32];
	char hex[65];

	sha256_get(&s->h, raw);
	sha256_hex(raw, hex);
	if (!tail_is(s, json_get_text(stated, "tail")))
		verify_say(v, VERIFY_WRONG, s->name, "its tail is not the end of what the event file holds");
	else if (digest && strcmp(digest, hex) == 0 && number_is(stated, "bytes", s->bytes))
		verify_say(v, VERIFY_GOOD, s->name, "%" PRIu64 " bytes, SHA-256 %.16s", s->bytes, hex);
	else if (s->redacted)
		verify_say(
			v, VERIFY_CANNOT, s->name,
			"its digest is over bytes that were taken out as secrets; its tail is the end of what was kept");
	else
		verify_say(v, VERIFY_WRONG, s->name, "its digest or length is not that of what the event file holds");
}

static void
tell_contents(struct walk *w)
{
	struct verify *v = w->v;
	uint64_t all = v->doc->operations;

	if (w->different || w->operations != all)
		verify_say(v, VERIFY_WRONG, "operations",
			   "%" PRIu64 " in the receipt, %" PRIu64 " in the event file, %" PRIu64 " differ", all,
			   w->operations, w->different);
	else
		verify_say(v, VERIFY_GOOD, "operations", "%" PRIu64 " of %" PRIu64 " as in the event file",
			   w->operations, all);
	if (w->states_different)
		verify_say(v, VERIFY_WRONG, "states", "%" PRIu64 " of %" PRIu64 " are not as in the event file",
			   w->states_different, w->states);
	else
		verify_say(v, VERIFY_GOOD, "states", "%" PRIu64 " as in the event file", w->states);
	tell_stream(v, &w->out);
	tell_stream(v, &w->err);
}

static void
tell_chain(struct verify *v, const struct event_file *e)
{
	const cJSON *spool = json_get(json_get(v->doc->rest, "integrity"), "spool");
	const char *chain = json_get_text(spool, "chain");
	uint8_t digest[32];
	char hex[65];

	sha256_hex(e->chain, hex);
	sha256_get(&e->whole, digest);
	if (!chain || strcmp(chain, hex) != 0)
		verify_say(v, VERIFY_WRONG, "events",
			   "the chain over %" PRIu64 " lines is not the receipt's: the file was changed or cut",
			   e->lines);
	else if (!number_is(spool, "records", e->lines) || !number_is(spool, "bytes", e->bytes))
		verify_say(v, VERIFY_WRONG, "events",
			   "it has %" PRIu64 " lines and %" PRIu64 " bytes, which the receipt does not say", e->lines,
			   e->bytes);
	else if (v->is_signed && memcmp(digest, v->signed_events, 32) != 0)
		verify_say(v, VERIFY_WRONG, "events", "it is not the file that was signed");
	else
		verify_say(v, VERIFY_GOOD, "events", "%" PRIu64 " lines, chain %.16s%s", e->lines, hex,
			   v->is_signed ? ", and signed" : "");
}

static int
read_all(struct walk *w, struct event_file *e)
{
	cJSON *line;
	int r;

	while ((r = event_file_next(e, &line)) == 1) {
		r = take_line(w, e, line);
		cJSON_Delete(line);
		if (r < 0)
			return r;
	}
	if (r < 0 && r != -EPROTO)
		verify_say(w->v, VERIFY_WRONG, "events", "it could not be read: %.150s", e->why);
	else if (r < 0)
		verify_say(w->v, VERIFY_WRONG, "events", "it is not as it was written: %.150s", e->why);
	if (r < 0)
		return 0;
	tell_chain(w->v, e);
	tell_contents(w);
	return 0;
}

int
verify_events(struct verify *v)
{
	const cJSON *spool = json_get(json_get(v->doc->rest, "integrity"), "spool");
	static struct walk w; /* large */
	struct event_file e;
	char path[4400];
	int r;

	if (!locate(v, path)) {
		verify_say(v, VERIFY_WRONG, "events", "integrity.spool.file is no name of a file");
		return 0;
	}
	if (!cJSON_IsNull(json_get(spool, "error"))) {
		verify_say(v, VERIFY_CANNOT, "events", "the file could not be written to its end, the receipt says");
		return 0;
	}
	if ((r = event_file_open(path, &e)) < 0) {
		verify_say(v, v->events ? VERIFY_WRONG : VERIFY_CANNOT, "events",
			   "%.200s: %s; operations, states and output are compared with nothing", path, strerror(-r));
		return 0;
	}
	memset(&w, 0, sizeof(w));
	w.v = v;
	w.out.name = "stdout";
	w.err.name = "stderr";
	sha256_init(&w.out.h);
	sha256_init(&w.err.h);
	v->anchored = true;
	r = read_all(&w, &e);
	event_file_close(&e);
	return r;
}
