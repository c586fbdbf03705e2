/* SPDX-License-Identifier: GPL-2.0-or-later
 * oprec.c - operations as JSON.  Everything that came from a client passes through mask_add before it is hashed or written. */
#include "guest/oprec.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guest/answer.h"
#include "guest/dns.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/limits.h"

#define OP_MAX RECORD_MAX
#define SCRATCH_MAX (64u << 20)
#define SEEN_MIN 256u

struct op {
	struct op *next;
	struct buf text; /* up to the client's view */
	struct buf rest; /* after it */
	bool settled;
	enum op_told told;
};
struct op_seen {
	uint8_t digest[16]; /* all zero: free */
	uint64_t n;
};

/* see oprec.h */
void
ops_init(struct ops *o, struct world *w)
{
	*o = (struct ops){ .world = w };
	buf_init(&o->scratch, SCRATCH_MAX);
}

static void
op_free(struct op *op)
{
	buf_wipe(&op->text);
	buf_wipe(&op->rest);
	free(op);
}

/* see oprec.h */
void
ops_wipe(struct ops *o)
{
	while (o->first != NULL) {
		struct op *next = o->first->next;

		op_free(o->first);
		o->first = next;
	}
	free(o->seen);
	o->seen = NULL;
	buf_wipe(&o->scratch);
}

/* see oprec.h */
bool
ops_is_full(const struct ops *o)
{
	return o->len >= o->world->operations_max;
}

/* s with secrets named, in o->scratch until the next call.  True if there were any. */
static bool
mask(struct ops *o, const char *s, size_t len)
{
	o->scratch.len = 0;
	return mask_add(&o->world->mask, s, len, &o->scratch);
}

static void
put_text(struct ops *o, struct buf *out, const char *s)
{
	if (s == NULL) {
		buf_text(out, "null");
		return;
	}
	mask(o, s, strlen(s));
	buf_json_string(out, o->scratch.at == NULL ? "" : o->scratch.at, o->scratch.len);
}

/* An object of texts, or of arrays of texts: path, query. */
static void
put_fields(struct ops *o, struct buf *out, const struct cJSON *object)
{
	buf_text(out, "{");
	for (const struct cJSON *c = object == NULL ? NULL : object->child; c != NULL; c = c->next) {
		put_text(o, out, c->string);
		buf_text(out, ":");
		if (cJSON_IsArray(c)) {
			buf_text(out, "[");
			for (const struct cJSON *item = c->child; item != NULL; item = item->next) {
				put_text(o, out, item->valuestring);
				buf_text(out, item->next != NULL ? "," : "]");
			}
		} else {
			put_text(o, out, c->valuestring);
		}
		if (c->next != NULL)
			buf_text(out, ",");
	}
	buf_text(out, "}");
}

static bool
is_private(const struct service *s, const char *name)
{
	static const char *const names[] = { "authorization", "proxy-authorization", "cookie", "x-api-key" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return s->auth_header != NULL && strcmp(s->auth_header, name) == 0;
}

/* A header that carries credentials shows which of the run's secrets it holds, or nothing. */
static void
put_private(struct ops *o, struct buf *out, const char *value)
{
	char plain[1024];
	int len = -1;

	if (strncasecmp(value, "basic ", 6) == 0)
		len = base64_decode(value + 6, strlen(value + 6), plain, sizeof(plain));
	if (len > 0 && mask(o, plain, (size_t)len)) {
		struct buf named = o->scratch; /* moved */

		buf_init(&o->scratch, SCRATCH_MAX);
		buf_text(&o->scratch, "Basic ");
		buf_add(&o->scratch, named.at, named.len);
		buf_wipe(&named);
	} else if (!mask(o, value, strlen(value))) {
		buf_text(out, "\"(hidden)\"");
		return;
	}
	buf_json_string(out, o->scratch.at, o->scratch.len);
}

static void
put_headers(struct ops *o, struct buf *out, const struct op_input *in)
{
	const struct request *q = in->request;

	buf_text(out, "{");
	for (size_t i = 0; i < q->headers_len; i++) {
		put_text(o, out, q->headers[i].name);
		buf_text(out, ":");
		if (is_private(in->service, q->headers[i].name))
			put_private(o, out, q->headers[i].value);
		else
			put_text(o, out, q->headers[i].value);
		if (i + 1 < q->headers_len)
			buf_text(out, ",");
	}
	buf_text(out, "}");
}

static void
put_digest(struct buf *out, const void *data, size_t len)
{
	uint8_t digest[32];
	char hex[65];

	sha256_of(data, len, digest);
	sha256_hex(digest, hex);
	buf_text(out, "\"sha256\":\"");
	buf_text(out, hex);
	buf_text(out, "\"");
}

/* {"bytes","sha256"} and, of what there is, "json" or "excerpt".  Leaves the masked body in o->scratch. */
static void
put_body(struct ops *o, struct buf *out, const struct op_input *in)
{
	const char *body = in->is_whole ? in->request->body : in->raw;
	size_t len = in->is_whole ? in->request->body_len : in->raw_len, cut;
	bool json = in->is_whole && request_member(in->request, "body") != NULL,
	     named = mask(o, body == NULL ? "" : body, len);
	struct json_scan scan;

	buf_format(out, "{\"bytes\":%zu,", len);
	put_digest(out, o->scratch.at, o->scratch.len);
	/* a name in place of a number or half a string would not be JSON any more */
	json = json && o->scratch.len <= OP_JSON_MAX &&
	       !(named && json_scan(o->scratch.at, o->scratch.len, JSON_DEPTH_MAX, &scan) < 0);
	if (json) {
		buf_text(out, ",\"json\":");
		buf_add(out, o->scratch.at, o->scratch.len);
	} else if (o->scratch.len > 0) {
		cut = o->scratch.len < OP_EXCERPT_MAX ? o->scratch.len : OP_EXCERPT_MAX;
		while (cut < o->scratch.len && cut > 0 && ((unsigned char)o->scratch.at[cut] & 0xc0) == 0x80)
			cut--;
		buf_text(out, ",\"excerpt\":");
		buf_json_string(out, o->scratch.at, cut);
	}
	buf_text(out, "}");
}

static struct op_seen *
seen_slot(struct op_seen *table, size_t size, const uint8_t digest[static 16])
{
	static const uint8_t none[16];
	uint64_t h;
	size_t i;

	memcpy(&h, digest, sizeof(h));
	for (i = h & (size - 1); memcmp(table[i].digest, none, 16) != 0; i = (i + 1) & (size - 1))
		if (memcmp(table[i].digest, digest, 16) == 0)
			break;
	return &table[i];
}

static bool
seen_grow(struct ops *o)
{
	size_t size = o->seen_size == 0 ? SEEN_MIN : 2 * o->seen_size;
	struct op_seen *table;

	if (2 * (o->seen_len + 1) <= o->seen_size)
		return true;
	table = calloc(size, sizeof(*table));
	if (table == NULL)
		return false;
	for (size_t i = 0; i < o->seen_size; i++)
		*seen_slot(table, size, o->seen[i].digest) = o->seen[i];
	free(o->seen);
	o->seen = table;
	o->seen_size = size;
	return true;
}

static void
add_string(struct sha256 *h, const char *s)
{
	sha256_add(h, s, strlen(s) + 1);
}

/* The number of the first call that this one repeats: same key, else same body.  -1: none; it is noted.  The masked body
 * is in o->scratch. */
static int64_t
resend_of(struct ops *o, const struct op_input *in, const char *key)
{
	uint8_t digest[32];
	struct op_seen *slot;
	struct sha256 h;

	if (!in->is_whole || in->request->method == NULL || !seen_grow(o))
		return -1;
	sha256_init(&h);
	add_string(&h, in->service->name);
	add_string(&h, in->request->method);
	add_string(&h, in->request->target);
	add_string(&h, key == NULL ? "body" : "key");
	if (key != NULL)
		add_string(&h, key);
	else
		sha256_add(&h, o->scratch.at, o->scratch.len);
	sha256_get(&h, digest);
	digest[0] |= 1; /* never all zero */
	slot = seen_slot(o->seen, o->seen_size, digest);
	if (memcmp(slot->digest, digest, 16) == 0)
		return (int64_t)slot->n;
	memcpy(slot->digest, digest, 16);
	slot->n = o->len;
	o->seen_len++;
	return -1;
}

static void
put_request(struct ops *o, struct buf *out, const struct op_input *in, int64_t *resend)
{
	const struct request *q = in->request;
	const char *key = request_header(q, "idempotency-key");

	buf_text(out, "\"request\":{\"method\":");
	put_text(o, out, q->method == NULL ? "" : q->method);
	buf_text(out, ",\"target\":");
	put_text(o, out, q->target == NULL ? "" : q->target);
	buf_text(out, ",\"path\":");
	put_fields(o, out, request_member(q, "path"));
	buf_text(out, ",\"query\":");
	put_fields(o, out, request_member(q, "query"));
	buf_text(out, ",\"headers\":");
	put_headers(o, out, in);
	buf_text(out, ",\"body\":");
	put_body(o, out, in);
	*resend = resend_of(o, in, key);
	buf_text(out, "},\"key\":");
	put_text(o, out, key);
}

static void
put_rest(struct ops *o, struct buf *out, const struct answer *a)
{
	buf_text(out, "\"},\"nearest\":");
	if (a->difference[0] == '\0') {
		buf_text(out, "null");
	} else {
		buf_text(out, "{\"route\":");
		put_text(o, out, a->nearest == NULL ? NULL : a->nearest->id);
		buf_text(out, ",\"difference\":");
		put_text(o, out, a->difference);
		buf_text(out, "}");
	}
	buf_text(out, a->unmatched ? ",\"unmatched\":true}" : ",\"unmatched\":false}");
}

/* The last of all; NULL when a part of it did not fit. */
static struct op *
append(struct ops *o, struct op *op)
{
	if (op->text.failed || op->rest.failed || o->scratch.failed) {
		op_free(op);
		return NULL;
	}
	o->len++;
	o->bytes += op->text.len + op->rest.len;
	if (o->last != NULL)
		o->last->next = op;
	else
		o->first = op;
	o->last = op;
	return op;
}

/* What a fault did to the call; ids are the world's, which has no secrets in them. */
static void
put_fault(struct buf *out, const struct answer *a)
{
	const struct fault *f = a->faults.hit;

	if (f == NULL || (f->phase == FAULT_REDELIVER && a->copy == 0)) {
		buf_text(out, "null");
	} else {
		buf_text(out, "{\"id\":");
		buf_json_text(out, f->id);
		buf_format(out, ",\"phase\":\"%s\",\"end\":", fault_phase_name(f->phase));
		buf_json_text(out, fault_end_name(f->end));
		buf_text(out, ",\"draw\":");
		if (a->faults.drawn)
			buf_number(out, a->faults.draw);
		else
			buf_text(out, "null");
		buf_format(out, ",\"bytes\":%zu", a->sent);
		if (a->copy != 0)
			buf_format(out, ",\"copy\":%llu", (unsigned long long)a->copy);
		buf_text(out, "}");
	}
	if (a->faults.passed_over.len > 0) {
		buf_text(out, ",\"passed_over\":[");
		buf_add(out, a->faults.passed_over.at, a->faults.passed_over.len);
		buf_text(out, "]");
	}
	if (a->faults.draws.len > 0) {
		buf_text(out, ",\"draws\":[");
		buf_add(out, a->faults.draws.at, a->faults.draws.len);
		buf_text(out, "]");
	}
}

/* see oprec.h */
struct op *
ops_add_built(struct ops *o, struct buf *text, struct buf *rest)
{
	struct op *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		buf_wipe(text);
		buf_wipe(rest);
		return NULL;
	}
	op->text = *text; /* moved */
	op->rest = *rest; /* moved */
	return append(o, op);
}

/* see oprec.h */
struct op *
ops_add(struct ops *o, const struct op_input *in)
{
	const struct answer *a = in->answer;
	struct op *op = calloc(1, sizeof(*op));
	struct buf *out;
	int64_t resend;

	if (op == NULL)
		return NULL;
	out = &op->text;
	buf_init(out, OP_MAX - 65536u);
	buf_init(&op->rest, 65536u);
	buf_format(out, "{\"n\":%llu,\"t_ms\":%llu,\"service\":", (unsigned long long)o->len,
		   (unsigned long long)in->t_ms);
	buf_json_text(out, in->service->name);
	buf_format(out, ",\"kind\":\"%s\",\"conn\":%llu,\"route\":",
		   a->faults.hit != NULL && a->faults.hit->phase == FAULT_CONNECT ? "tcp" : "http",
		   (unsigned long long)in->conn);
	buf_json_text(out, a->route == NULL ? NULL : a->route->id);
	buf_text(out, ",");
	put_request(o, out, in, &resend);
	buf_text(out, ",\"idempotency\":");
	buf_json_text(out, a->idempotency);
	buf_text(out, ",\"resend_of\":");
	if (resend < 0)
		buf_text(out, "null");
	else
		buf_format(out, "%llu", (unsigned long long)resend);
	buf_text(out, ",\"effects\":[");
	mask(o, a->effects.at == NULL ? "" : a->effects.at, a->effects.len);
	buf_add(out, o->scratch.at, o->scratch.len);
	buf_format(out, "],\"reply\":{\"status\":%d,\"bytes\":%zu,", a->status, in->is_head ? (size_t)0 : a->body.len);
	mask(o, a->body.at == NULL ? "" : a->body.at, in->is_head ? 0 : a->body.len);
	put_digest(out, o->scratch.at, o->scratch.len);
	buf_text(out, "},\"fault\":");
	put_fault(out, a);
	buf_format(out, ",\"views\":{\"service\":\"%s\",\"client\":\"", a->view);
	put_rest(o, &op->rest, a);
	return append(o, op);
}

/* A new operation of kind dns, up to its request. */
static struct op *
new_name(struct ops *o, const char *route, uint64_t t_ms)
{
	struct op *op = calloc(1, sizeof(*op));

	if (op == NULL)
		return NULL;
	buf_init(&op->text, 65536u);
	buf_init(&op->rest, 256u);
	buf_format(&op->text,
		   "{\"n\":%llu,\"t_ms\":%llu,\"service\":\"dns\",\"kind\":\"dns\",\"conn\":null,\"route\":\"%s\","
		   "\"request\":{",
		   (unsigned long long)o->len, (unsigned long long)t_ms, route);
	buf_text(&op->rest, "\"},\"nearest\":null,\"unmatched\":false}");
	return op;
}

static void
put_name(struct ops *o, struct buf *out, const struct dns_asked *asked)
{
	buf_text(out, "\"name\":");
	o->scratch.len = 0;
	mask_add_name(&o->world->mask, asked->name, strlen(asked->name), &o->scratch);
	buf_json_string(out, o->scratch.at, o->scratch.len);
	buf_text(out, ",\"type\":");
	buf_json_text(out, asked->type);
}

/* see oprec.h */
bool
ops_add_name(struct ops *o, const struct dns_asked *asked, uint64_t t_ms)
{
	bool refused = asked->verdict == DNS_REFUSED;
	struct op *op = new_name(o, refused ? "refused" : "answered", t_ms);

	if (op == NULL)
		return false;
	put_name(o, &op->text, asked);
	buf_format(&op->text,
		   "},\"key\":null,\"idempotency\":null,\"resend_of\":null,\"effects\":[],\"reply\":{\"rcode\":\"%s\"},"
		   "\"fault\":null,\"views\":{\"service\":\"%s\",\"client\":\"",
		   refused ? "REFUSED" : "NOERROR", refused ? "rejected" : "applied");
	if (append(o, op) == NULL)
		return false;
	op_settle(op, refused ? OP_TOLD_ERROR : OP_TOLD_OK);
	return true;
}

/* see oprec.h */
bool
ops_add_malformed(struct ops *o, const struct dns_asked *asked, const char *transport, uint64_t count, uint64_t t_ms)
{
	const char *rcode = dns_problem_rcode(asked->problem);
	struct op *op = new_name(o, "malformed", t_ms);

	if (op == NULL)
		return false;
	buf_format(&op->text, "\"problem\":\"%s\",\"transport\":\"%s\",\"count\":%llu",
		   dns_problem_name(asked->problem), transport, (unsigned long long)count);
	if (asked->name[0] != '\0') {
		buf_text(&op->text, ",");
		put_name(o, &op->text, asked);
	}
	buf_text(&op->text, "},\"key\":null,\"idempotency\":null,\"resend_of\":null,\"effects\":[],\"reply\":");
	if (rcode != NULL)
		buf_format(&op->text, "{\"rcode\":\"%s\"}", rcode);
	else
		buf_text(&op->text, "null");
	buf_text(&op->text, ",\"fault\":null,\"views\":{\"service\":\"rejected\",\"client\":\"");
	if (append(o, op) == NULL)
		return false;
	op_settle(op, rcode != NULL ? OP_TOLD_ERROR : OP_TOLD_NOTHING);
	return true;
}

/* see oprec.h */
void
op_settle(struct op *op, enum op_told told)
{
	op->settled = true;
	op->told = told;
}

/* see oprec.h */
bool
ops_take(struct ops *o, struct buf *out)
{
	static const char *const told[] = {
		[OP_TOLD_OK] = "told-ok", [OP_TOLD_ERROR] = "told-error", [OP_TOLD_NOTHING] = "told-nothing"
	};
	struct op *op = o->first;

	if (op == NULL || !op->settled)
		return false;
	buf_add(out, op->text.at, op->text.len);
	buf_text(out, told[op->told]);
	buf_add(out, op->rest.at, op->rest.len);
	o->bytes -= op->text.len + op->rest.len;
	o->first = op->next;
	if (o->first == NULL)
		o->last = NULL;
	op_free(op);
	return true;
}
