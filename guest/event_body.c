/* SPDX-License-Identifier: GPL-2.0-or-later
 * event_body.c - see event_body.h.  Ids come from the seed, so that two runs of one seed send the same ones; times are real, since
 * the verifiers of the workflow compare them with their own clock. */
#include "guest/event_body.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "guest/service.h"
#include "proto/cursor.h"
#include "proto/limits.h"
#include "proto/sha256.h"

/* What an event says, and how often it was said before, make its id: whichever of two others comes first, each keeps its own. */
static int
draw(const struct world *w, struct service *s, const uint8_t said[static 32], uint8_t digest[static 32])
{
	struct draw_call c = { 0 };
	struct sha256 h;
	int r;

	sha256_init(&h);
	sha256_add(&h, "event", 6); /* with its NUL */
	sha256_add(&h, s->name, strlen(s->name) + 1);
	sha256_add(&h, said, 32);
	sha256_get(&h, c.digest);
	r = draw_again(s, &c);
	if (r == 0)
		draw_take(w, &c, "agenttwin-event/2", 0, digest);
	return r;
}

static void
put_id(enum sign_scheme scheme, const uint8_t d[static 32], char out[static 64])
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789",
			  upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = 0;

	if (scheme == SIGN_GITHUB) {
		snprintf(out, 64, "%02x%02x%02x%02x-%02x%02x-4%01x%02x-a%01x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1],
			 d[2], d[3], d[4], d[5], d[6] & 15u, d[7], d[8] & 15u, d[9], d[10], d[11], d[12], d[13], d[14],
			 d[15]);
		return;
	}
	n = (size_t)snprintf(out, 64, "%s", scheme == SIGN_STRIPE ? "evt_" : scheme == SIGN_SLACK ? "Ev" : "msg_");
	for (size_t i = 0; i < (scheme == SIGN_SLACK ? 10u : 24u); i++)
		out[n++] = (scheme == SIGN_SLACK ? upper : lower)[d[i] % 36];
	out[n] = '\0';
}

static uint64_t
seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec;
}

/* GitHub names an event "issues" and what happened to it in the body's "action"; worlds write "issues.opened". */
static void
put_github(struct buf *out, const char *name, const struct cJSON *data)
{
	const char *dot = strchr(name, '.');
	bool wants = dot != NULL && cJSON_IsObject(data) && cJSON_GetObjectItemCaseSensitive(data, "action") == NULL;

	if (!wants) {
		buf_json(out, data);
		return;
	}
	buf_text(out, "{\"action\":");
	buf_json_text(out, dot + 1);
	for (const struct cJSON *c = data->child; c != NULL; c = c->next) {
		buf_text(out, ",");
		buf_json_text(out, c->string);
		buf_text(out, ":");
		buf_json(out, c);
	}
	buf_text(out, "}");
}

/* The event inside of Slack's envelope has its name as "type". */
static void
put_slack_event(struct buf *out, const char *name, const struct cJSON *data)
{
	bool typed = cJSON_GetObjectItemCaseSensitive(data, "type") != NULL;
	const char *comma = "";

	buf_text(out, "{");
	if (!typed) {
		buf_text(out, "\"type\":");
		buf_json_text(out, name);
		comma = ",";
	}
	for (const struct cJSON *c = cJSON_IsObject(data) ? data->child : NULL; c != NULL; c = c->next) {
		buf_text(out, comma);
		buf_json_text(out, c->string);
		buf_text(out, ":");
		buf_json(out, c);
		comma = ",";
	}
	buf_text(out, "}");
}

static void
put_time(struct buf *out, uint64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm = { 0 };

	gmtime_r(&t, &tm);
	buf_format(out, "\"%04d-%02d-%02dT%02d:%02d:%02dZ\"", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday,
		   tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void
put_body(struct event_body *b, enum sign_scheme scheme, const char *name, const struct cJSON *data)
{
	unsigned long long now = seconds_now();
	struct buf *out = &b->bytes;

	switch (scheme) {
	case SIGN_STRIPE:
		buf_format(
			out,
			"{\"id\":\"%s\",\"object\":\"event\",\"api_version\":\"2025-03-31.basil\",\"created\":%llu,\"data\":{"
			"\"object\":",
			b->id, now);
		buf_json(out, data);
		buf_text(
			out,
			"},\"livemode\":false,\"pending_webhooks\":1,\"request\":{\"id\":null,\"idempotency_key\":null},"
			"\"type\":");
		buf_json_text(out, name);
		buf_text(out, "}");
		break;
	case SIGN_GITHUB:
		put_github(out, name, data);
		break;
	case SIGN_SLACK:
		buf_text(
			out,
			"{\"token\":\"agenttwin\",\"team_id\":\"T0AGENTTWIN\",\"api_app_id\":\"A0AGENTTWIN\",\"event\":");
		put_slack_event(out, name, data);
		buf_format(
			out,
			",\"type\":\"event_callback\",\"event_id\":\"%s\",\"event_time\":%llu,\"authorizations\":[]}",
			b->id, now);
		break;
	case SIGN_STANDARD:
		buf_text(out, "{\"type\":");
		buf_json_text(out, name);
		buf_text(out, ",\"timestamp\":");
		put_time(out, now);
		buf_text(out, ",\"data\":");
		buf_json(out, data);
		buf_text(out, "}");
		break;
	}
}

/* see event_body.h */
int
event_body_make(struct event_body *b, const struct world *w, struct service *s, const char *name,
		const struct cJSON *data, bool challenge)
{
	static const struct cJSON nothing = { .type = cJSON_Object };
	uint8_t digest[32] = { 0 };
	char hex[65];
	int r;

	*b = (struct event_body){ .id = "" };
	buf_init(&b->bytes, EVENT_BODY_MAX);
	if (data == NULL)
		data = &nothing;
	buf_json_text(&b->bytes, name);
	buf_json(&b->bytes, data);
	if (b->bytes.failed)
		return -EMSGSIZE;
	sha256_of(b->bytes.at, b->bytes.len, b->data_sha256);
	b->bytes.len = 0;
	r = draw(w, s, b->data_sha256, digest);
	if (r < 0)
		return r;
	put_id(s->events->scheme, digest, b->id);
	if (challenge) {
		sha256_hex(digest, hex);
		snprintf(b->challenge, sizeof(b->challenge), "%.32s", hex);
		buf_format(&b->bytes, "{\"token\":\"agenttwin\",\"challenge\":\"%s\",\"type\":\"url_verification\"}",
			   b->challenge);
	} else {
		put_body(b, s->events->scheme, name, data);
	}
	return b->bytes.failed ? -EMSGSIZE : 0;
}

/* see event_body.h */
const char *
event_body_fields(const struct event_body *b, const struct events_spec *s, const char *name, unsigned attempt,
		  const char *reason, uint64_t seconds, struct buf *out)
{
	static const char *const agents[] = { [SIGN_STRIPE] = "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
					      [SIGN_GITHUB] = "GitHub-Hookshot/agenttwin",
					      [SIGN_SLACK] = "Slackbot 1.0 (+https://api.slack.com/robots)",
					      [SIGN_STANDARD] = "agenttwin-webhooks" };
	unsigned long long t = seconds;
	char signature[SIGN_MAX];

	if (sign_text(s->scheme, s->secret, b->id, seconds, b->bytes.at == NULL ? "" : b->bytes.at, b->bytes.len,
		      signature) < 0)
		return NULL;
	buf_format(out, "User-Agent: %s\r\nAccept: */*\r\n", agents[s->scheme]);
	switch (s->scheme) {
	case SIGN_STRIPE:
		buf_format(out, "Content-Type: application/json; charset=utf-8\r\nStripe-Signature: %s\r\n", signature);
		break;
	case SIGN_GITHUB:
		buf_format(out,
			   "Content-Type: application/json\r\nX-GitHub-Event: %.*s\r\nX-GitHub-Delivery: %s\r\n"
			   "X-GitHub-Hook-ID: 1\r\nX-Hub-Signature-256: %s\r\n",
			   (int)strcspn(name, "."), name, b->id, signature);
		sign_text_sha1(s->secret, b->bytes.at == NULL ? "" : b->bytes.at, b->bytes.len, signature);
		buf_format(out, "X-Hub-Signature: %s\r\n", signature);
		break;
	case SIGN_SLACK:
		buf_format(
			out,
			"Content-Type: application/json\r\nX-Slack-Request-Timestamp: %llu\r\nX-Slack-Signature: %s\r\n",
			t, signature);
		if (attempt > 0)
			buf_format(out, "X-Slack-Retry-Num: %u\r\nX-Slack-Retry-Reason: %s\r\n", attempt,
				   reason == NULL ? "http_error" : reason);
		break;
	case SIGN_STANDARD:
		buf_format(out,
			   "Content-Type: application/json\r\nwebhook-id: %s\r\nwebhook-timestamp: %llu\r\n"
			   "webhook-signature: %s\r\n",
			   b->id, t, signature);
		break;
	}
	return buf_terminate(out);
}

/* see event_body.h */
bool
event_body_is_proof(const struct event_body *b, const char *answer, size_t len)
{
	size_t want = strlen(b->challenge);
	struct json_scan scan;
	struct cJSON *doc;
	const char *text;
	bool proof;

	while (len > 0 && (answer[len - 1] == '\n' || answer[len - 1] == '\r' || answer[len - 1] == ' '))
		len--;
	if (len == want && memcmp(answer, b->challenge, want) == 0)
		return true;
	if (len == 0 || len > 65536 || json_scan(answer, len, JSON_DEPTH_MAX, &scan) < 0)
		return false;
	doc = cJSON_ParseWithLength(answer, len);
	text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "challenge"));
	proof = text != NULL && strcmp(text, b->challenge) == 0;
	cJSON_Delete(doc);
	return proof;
}

/* see event_body.h */
void
event_body_wipe(struct event_body *b)
{
	buf_wipe(&b->bytes);
}
