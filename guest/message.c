/* SPDX-License-Identifier: GPL-2.0-or-later
 * message.c - see message.h.  Like all that is recorded, what stands in a message and its answer passes through mask_add first:
 * an application under test may well answer with a credential. */
#include "guest/message.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "guest/call.h"
#include "guest/service.h"
#include "proto/cursor.h"
#include "proto/limits.h"
#include "proto/sha256.h"

#define NOT_SENT (-1)

/* see message.h */
bool
message_put(struct message *m, struct buf *out, const char *method, const struct endpoint *to, const char *fields,
	    const void *body, size_t len)
{
	bool wants_length = len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
			    strcmp(method, "PATCH") == 0;

	out->len = 0;
	*m = (struct message){ .method = method, .target = to->target };
	buf_format(out, "%s %s HTTP/1.1\r\n", method, to->target);
	m->fields = out->len;
	buf_format(out, "Host: %s\r\n", to->authority);
	buf_text(out, fields);
	if (wants_length)
		buf_format(out, "Content-Length: %zu\r\n", len);
	buf_text(out, "Connection: close\r\n");
	m->fields_len = out->len - m->fields;
	buf_text(out, "\r\n");
	m->body = out->len;
	buf_add(out, len > 0 ? body : "", len);
	m->bytes = out->at;
	m->len = out->len;
	return !out->failed;
}

static void
put_masked(struct ops *o, struct buf *out, const char *s, size_t len)
{
	struct buf named;

	buf_init(&named, EXCHANGE_BODY_MAX * 2);
	(void)mask_add(&o->world->mask, s, len, &named);
	buf_json_string(out, named.at == NULL ? "" : named.at, named.len);
	out->failed = out->failed || named.failed;
	buf_wipe(&named);
}

static bool
is_private(const char *name, size_t len)
{
	static const char *const names[] = { "authorization", "proxy-authorization", "cookie", "x-api-key" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			return true;
	return false;
}

/* "Name: value" lines as an object; names in lower case, one that stands twice only once, the first. */
static void
put_fields(struct ops *o, struct buf *out, const char *at, size_t len)
{
	const char *end = at + len, *start = at, *line, *colon, *cr;
	bool first = true;

	buf_text(out, "{");
	for (line = at; line < end; line = cr + 2) {
		char name[128];
		size_t n;
		bool again = false;

		colon = memchr(line, ':', (size_t)(end - line));
		cr = memchr(line, '\r', (size_t)(end - line));
		if (colon == NULL || cr == NULL || colon > cr)
			break;
		n = (size_t)(colon - line);
		for (const char *other = start; other < line && !again; other = strchr(other, '\n') + 1)
			again = strncasecmp(other, line, n + 1) == 0;
		if (again || n >= sizeof(name))
			continue;
		for (size_t i = 0; i < n; i++)
			name[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] | 0x20 : line[i]);
		buf_text(out, first ? "" : ",");
		first = false;
		buf_json_string(out, name, n);
		buf_text(out, ":");
		if (is_private(line, n)) {
			struct buf named;
			bool secret;

			buf_init(&named, 65536);
			secret = mask_add(&o->world->mask, colon + 2, (size_t)(cr - colon - 2), &named);
			buf_json_string(out, secret ? named.at : "(hidden)", secret ? named.len : 8);
			buf_wipe(&named);
		} else {
			put_masked(o, out, colon + 2, (size_t)(cr - colon - 2));
		}
	}
	buf_text(out, "}");
}

/* "bytes":N,"sha256":"..." and "json" or "excerpt", without braces. */
static void
put_content(struct ops *o, struct buf *out, const char *s, size_t len, bool json)
{
	struct json_scan scan;
	struct buf named;
	uint8_t digest[32];
	char hex[65];
	size_t cut;

	buf_init(&named, EXCHANGE_BODY_MAX * 2);
	(void)mask_add(&o->world->mask, s, len, &named);
	sha256_of(named.at == NULL ? "" : named.at, named.len, digest);
	sha256_hex(digest, hex);
	buf_format(out, "\"bytes\":%zu,\"sha256\":\"%s\"", len, hex);
	json = json && named.at != NULL && named.len > 0 && named.len <= OP_JSON_MAX &&
	       json_scan(named.at, named.len, JSON_DEPTH_MAX - 8, &scan) == 0;
	if (json) {
		buf_text(out, ",\"json\":");
		buf_add(out, named.at, named.len);
	} else if (named.at != NULL && named.len > 0) {
		cut = named.len < OP_EXCERPT_MAX ? named.len : OP_EXCERPT_MAX;
		while (cut < named.len && cut > 0 && ((unsigned char)named.at[cut] & 0xc0) == 0x80)
			cut--;
		buf_text(out, ",\"excerpt\":");
		buf_json_string(out, named.at, cut);
	}
	out->failed = out->failed || named.failed;
	buf_wipe(&named);
}

static bool
is_json_type(const char *type)
{
	return strcasestr(type, "json") != NULL;
}

static bool
has_json_body(const struct message *m)
{
	const char *type = m->bytes + m->fields;

	for (size_t i = 0; i + 13 < m->fields_len; i++)
		if (strncasecmp(type + i, "Content-Type:", 13) == 0)
			return strncasecmp(type + i + 13, " application/json", 17) == 0;
	return false;
}

static void
put_request(struct ops *o, struct buf *out, const struct message *m)
{
	buf_text(out, "\"request\":{\"method\":");
	buf_json_text(out, m->method);
	buf_text(out, ",\"target\":");
	put_masked(o, out, m->target, strlen(m->target));
	buf_text(out, ",\"path\":{},\"query\":{},\"headers\":");
	put_fields(o, out, m->bytes + m->fields, m->fields_len);
	buf_text(out, ",\"body\":{");
	put_content(o, out, m->bytes + m->body, m->len - m->body, has_json_body(m));
	buf_text(out, "}}");
}

static void
put_text(struct ops *o, struct buf *out, const char *s)
{
	if (s == NULL)
		buf_text(out, "null");
	else
		put_masked(o, out, s, strlen(s));
}

/* What the workflow did with it, as far as anyone can tell, and what the twins heard of it. */
static void
judge(const struct message_end *end, const char **view, enum op_told *told)
{
	const struct call *c = end->call;

	*told = OP_TOLD_NOTHING;
	*view = "not-reached";
	if (end->told_ok) {
		*told = OP_TOLD_OK;
		*view = "applied";
	}
	if (c == NULL)
		return;
	if (c->end == CALL_ANSWERED) {
		*view = end->rejected ? "rejected" : "applied";
		*told = end->rejected ? OP_TOLD_ERROR : OP_TOLD_OK;
	} else if (c->connected && c->exchange.out_at > 0) {
		*view = "unknown"; /* it may have been handled */
	}
}

static void
put_reply(struct ops *o, struct buf *out, const struct call *c)
{
	if (c == NULL || c->end != CALL_ANSWERED || c->exchange.status == 0) {
		buf_text(out, ",\"reply\":null");
		return;
	}
	buf_format(out, ",\"reply\":{\"status\":%d,", c->exchange.status);
	put_content(o, out, c->exchange.body.at == NULL ? "" : c->exchange.body.at, c->exchange.body.len,
		    is_json_type(c->exchange.type));
	buf_text(out, "}");
}

/* see message.h */
int64_t
message_record(struct ops *o, const struct message *m, const struct message_end *end)
{
	const struct call *c = end->call;
	const char *view, *problem = end->problem != NULL ? end->problem : c != NULL ? c->problem : NULL;
	struct buf text, rest;
	enum op_told told;
	struct op *op;

	if (ops_is_full(o)) {
		o->refused++;
		return NOT_SENT;
	}
	judge(end, &view, &told);
	buf_init(&text, RECORD_MAX - 65536u);
	buf_init(&rest, 65536u);
	buf_format(&text, "{\"n\":%llu,\"t_ms\":%llu,\"service\":", (unsigned long long)o->len,
		   (unsigned long long)end->t_ms);
	buf_json_text(&text, end->service);
	buf_text(&text, ",\"kind\":");
	buf_json_text(&text, end->kind);
	buf_text(&text, ",\"route\":");
	buf_json_text(&text, end->route);
	buf_text(&text, ",");
	put_request(o, &text, m);
	buf_text(&text, ",\"key\":");
	put_text(o, &text, end->key);
	buf_text(&text, ",\"idempotency\":null,\"resend_of\":");
	if (end->resend_of < 0)
		buf_text(&text, "null");
	else
		buf_format(&text, "%lld", (long long)end->resend_of);
	buf_text(&text, ",\"effects\":[]");
	put_reply(o, &text, c);
	buf_format(&text,
		   ",\"took_ms\":%llu,\"problem\":", (unsigned long long)(c == NULL ? 0 : c->ended_ms - c->started_ms));
	put_text(o, &text, problem);
	buf_text(&text, ",\"event\":");
	buf_text(&text, end->event == NULL ? "null" : end->event);
	buf_text(&text, ",\"fault\":");
	buf_text(&text, end->fault == NULL ? "null" : end->fault);
	buf_format(&text, ",\"views\":{\"service\":\"%s\",\"client\":\"", view);
	buf_text(&rest, "\"},\"nearest\":null,\"unmatched\":false}");
	op = ops_add_built(o, &text, &rest);
	if (op == NULL)
		return -ENOMEM;
	op_settle(op, told);
	return (int64_t)o->len - 1;
}
