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
#include "guest/twin_hash.h"
#include "proto/cursor.h"
#include "proto/frame.h"
#include "proto/limits.h"

#define OP_MAX RECORD_MAX
#define SCRATCH_MAX (64u << 20)
#define REST_MAX 65536u
#define SEEN_MIN 256u
#define KEPT_MAX 65536u /* bytes of a buffer that stays for the next operation */

struct op {
	struct op *next;
	size_t text_len, len; /* of text: up to the client's view, and all */
	bool settled;
	enum op_told told;
	char text[];
};
struct op_seen {
	uint8_t digest[16]; /* all zero: free */
	uint64_t n;
};

static struct pool small = { .size = 2048,
			     .max = 64 }; /* nearly all operations; as many as wait for the monitor together */

/* see oprec.h */
void
ops_init(struct ops *o, struct world *w)
{
	*o = (struct ops){ .world = w };
	buf_init(&o->scratch, SCRATCH_MAX);
	buf_init(&o->text, OP_MAX - REST_MAX);
	buf_init(&o->rest, REST_MAX);
}

static void
op_free(struct op *op)
{
	if (sizeof(*op) + op->len <= small.size)
		pool_give(&small, op);
	else
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
	buf_wipe(&o->text);
	buf_wipe(&o->rest);
}

/* see oprec.h */
bool
ops_is_full(const struct ops *o)
{
	return o->len >= o->world->operations_max;
}

/* What s is with secrets named: itself if it has none, else in o->scratch until the next call. */
struct masked {
	const char *at;
	size_t len;
	bool any;
};

static struct masked
mask(struct ops *o, const char *s, size_t len)
{
	if (!mask_is_in(&o->world->mask, s, len))
		return (struct masked){ .at = s, .len = len };
	o->scratch.len = 0;
	(void)mask_add(&o->world->mask, s, len, &o->scratch);
	return (struct masked){ .at = o->scratch.at == NULL ? "" : o->scratch.at, .len = o->scratch.len, .any = true };
}

static struct masked
mask_buf(struct ops *o, const struct buf *b)
{
	return mask(o, b->at == NULL ? "" : b->at, b->len);
}

static void
put_text(struct ops *o, struct buf *out, const char *s)
{
	struct masked m;

	if (s == NULL) {
		buf_text(out, "null");
		return;
	}
	m = mask(o, s, strlen(s));
	buf_json_string(out, m.at, m.len);
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
	struct masked m = { .any = false };
	char plain[1024];
	struct buf named;
	int len = -1;

	if (strncasecmp(value, "basic ", 6) == 0)
		len = base64_decode(value + 6, strlen(value + 6), plain, sizeof(plain));
	if (len > 0)
		m = mask(o, plain, (size_t)len);
	if (m.any) {
		buf_init(&named, SCRATCH_MAX);
		buf_text(&named, "Basic ");
		buf_add(&named, m.at, m.len);
		buf_json_string(out, named.at == NULL ? "" : named.at, named.len);
		out->failed = out->failed || named.failed;
		buf_wipe(&named);
		return;
	}
	m = mask(o, value, strlen(value));
	if (m.any)
		buf_json_string(out, m.at, m.len);
	else
		buf_text(out, "\"(hidden)\"");
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

	twin_hash_of(data, len, digest);
	sha256_hex(digest, hex);
	buf_text(out, "\"sha256\":\"");
	buf_add(out, hex, 64);
	buf_text(out, "\"");
}

/* {"bytes","sha256"} and, of what there is, "json" or "excerpt".  The masked body. */
static struct masked
put_body(struct ops *o, struct buf *out, const struct op_input *in)
{
	const char *body = in->is_whole ? in->request->body : in->raw;
	size_t len = in->is_whole ? in->request->body_len : in->raw_len, cut;
	struct masked m = mask(o, body == NULL ? "" : body, len);
	struct json_scan scan;
	bool json;

	buf_text(out, "{\"bytes\":");
	buf_unsigned(out, len);
	buf_text(out, ",");
	put_digest(out, m.at, m.len);
	/* a name in place of a number or half a string would not be JSON any more */
	json = in->is_whole && in->request->body_json != NULL && m.len <= OP_JSON_MAX &&
	       !(m.any && json_scan(m.at, m.len, JSON_DEPTH_MAX, &scan) < 0);
	if (json) {
		buf_text(out, ",\"json\":");
		buf_add(out, m.at, m.len);
	} else if (m.len > 0) {
		cut = m.len < OP_EXCERPT_MAX ? m.len : OP_EXCERPT_MAX;
		while (cut < m.len && cut > 0 && ((unsigned char)m.at[cut] & 0xc0) == 0x80)
			cut--;
		buf_text(out, ",\"excerpt\":");
		buf_json_string(out, m.at, cut);
	}
	buf_text(out, "}");
	return m;
}

static struct op_seen *
seen_slot(struct op_seen *table, size_t size, const uint8_t digest[static 16])
{
	static const uint8_t none[16];
	uint64_t h;
	size_t i;

	memcpy(&h, digest, sizeof(h));
	h >>= 1; /* the first bit is always set */
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
add_string(struct twin_hash *h, const char *s)
{
	if (s == NULL)
		s = "";
	twin_hash_add(h, s, strlen(s) + 1);
}

/* The number of the first call that this one repeats: same key, else same body.  -1: none; it is noted. */
static int64_t
resend_of(struct ops *o, const struct op_input *in, const char *key, struct masked body)
{
	uint8_t digest[32];
	struct op_seen *slot;
	struct twin_hash h;

	if (!in->is_whole || in->request->method == NULL || !seen_grow(o))
		return -1;
	twin_hash_init(&h);
	add_string(&h, in->service->name);
	add_string(&h, in->request->method);
	add_string(&h, in->request->target);
	add_string(&h, key == NULL ? "body" : "key");
	if (key != NULL)
		add_string(&h, key);
	else
		twin_hash_add(&h, body.at, body.len);
	twin_hash_get(&h, digest);
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
	struct masked body;

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
	body = put_body(o, out, in);
	*resend = resend_of(o, in, key, body);
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

static void
empty(struct buf *b)
{
	if (b->failed || b->size > KEPT_MAX)
		buf_wipe(b);
	b->len = 0;
}

/* The last of all; NULL when there is no memory for it, or a part of it did not fit.  Both are empty afterwards. */
static struct op *
append(struct ops *o, struct buf *text, struct buf *rest)
{
	size_t len = text->len + rest->len;
	bool fits = !text->failed && !rest->failed && !o->scratch.failed;
	struct op *op = !fits ? NULL : sizeof(*op) + len <= small.size ? pool_take(&small) : malloc(sizeof(*op) + len);

	if (op != NULL) {
		*op = (struct op){ .text_len = text->len, .len = len };
		memcpy(op->text, text->at, text->len);
		memcpy(op->text + text->len, rest->at, rest->len);
		o->len++;
		o->bytes += len;
		if (o->last != NULL)
			o->last->next = op;
		else
			o->first = op;
		o->last = op;
	}
	empty(text);
	empty(rest);
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
	struct op *op = append(o, text, rest);

	buf_wipe(text);
	buf_wipe(rest);
	return op;
}

static void
put_reply(struct ops *o, struct buf *out, const struct op_input *in)
{
	const struct answer *a = in->answer;
	struct masked m = in->is_head ? mask(o, "", 0) : mask_buf(o, &a->body);

	buf_text(out, "\"reply\":{\"status\":");
	buf_unsigned(out, (unsigned)a->status);
	buf_text(out, ",\"bytes\":");
	buf_unsigned(out, in->is_head ? 0 : a->body.len);
	buf_text(out, ",");
	put_digest(out, m.at, m.len);
	buf_text(out, "}");
}

/* As they are, like the states: the host hides secrets in both before it writes them. */
static void
put_rows(struct buf *out, const struct answer *a)
{
	if (a->rows.failed) {
		buf_text(out, "\"rows\":null,");
		return;
	}
	buf_text(out, "\"rows\":[");
	buf_add(out, a->rows.at, a->rows.len);
	buf_text(out, "],");
}

/* see oprec.h */
struct op *
ops_add(struct ops *o, const struct op_input *in)
{
	const struct answer *a = in->answer;
	struct buf *out = &o->text;
	struct masked effects;
	int64_t resend;

	buf_text(out, "{\"n\":");
	buf_unsigned(out, o->len);
	buf_text(out, ",\"t_ms\":");
	buf_unsigned(out, in->t_ms);
	buf_text(out, ",\"service\":");
	buf_json_text(out, in->service->name);
	buf_text(out, a->faults.hit != NULL && a->faults.hit->phase == FAULT_CONNECT ? ",\"kind\":\"tcp\",\"conn\":"
										     : ",\"kind\":\"http\",\"conn\":");
	buf_unsigned(out, in->conn);
	buf_text(out, ",\"route\":");
	buf_json_text(out, a->route == NULL ? NULL : a->route->id);
	buf_text(out, ",");
	put_request(o, out, in, &resend);
	buf_text(out, ",\"idempotency\":");
	buf_json_text(out, a->idempotency);
	buf_text(out, ",\"resend_of\":");
	if (resend < 0)
		buf_text(out, "null");
	else
		buf_unsigned(out, (uint64_t)resend);
	buf_text(out, ",\"effects\":[");
	effects = mask_buf(o, &a->effects);
	buf_add(out, effects.at, effects.len);
	buf_text(out, "],");
	if (in->service->records_rows)
		put_rows(out, a);
	put_reply(o, out, in);
	buf_text(out, ",\"fault\":");
	put_fault(out, a);
	buf_text(out, ",\"views\":{\"service\":\"");
	buf_text(out, a->view);
	buf_text(out, "\",\"client\":\"");
	put_rest(o, &o->rest, a);
	return append(o, out, &o->rest);
}

/* A new operation of kind dns, up to its request. */
static void
begin_name(struct ops *o, const char *route, uint64_t t_ms)
{
	buf_format(&o->text,
		   "{\"n\":%llu,\"t_ms\":%llu,\"service\":\"dns\",\"kind\":\"dns\",\"conn\":null,\"route\":\"%s\","
		   "\"request\":{",
		   (unsigned long long)o->len, (unsigned long long)t_ms, route);
	buf_text(&o->rest, "\"},\"nearest\":null,\"unmatched\":false}");
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
	struct op *op;

	begin_name(o, refused ? "refused" : "answered", t_ms);
	put_name(o, &o->text, asked);
	buf_format(&o->text,
		   "},\"key\":null,\"idempotency\":null,\"resend_of\":null,\"effects\":[],\"reply\":{\"rcode\":\"%s\"},"
		   "\"fault\":null,\"views\":{\"service\":\"%s\",\"client\":\"",
		   refused ? "REFUSED" : "NOERROR", refused ? "rejected" : "applied");
	op = append(o, &o->text, &o->rest);
	if (op == NULL)
		return false;
	op_settle(op, refused ? OP_TOLD_ERROR : OP_TOLD_OK);
	return true;
}

/* see oprec.h */
bool
ops_add_malformed(struct ops *o, const struct dns_asked *asked, const char *transport, uint64_t count, uint64_t t_ms)
{
	const char *rcode = dns_problem_rcode(asked->problem);
	struct op *op;

	begin_name(o, "malformed", t_ms);
	buf_format(&o->text, "\"problem\":\"%s\",\"transport\":\"%s\",\"count\":%llu", dns_problem_name(asked->problem),
		   transport, (unsigned long long)count);
	if (asked->name[0] != '\0') {
		buf_text(&o->text, ",");
		put_name(o, &o->text, asked);
	}
	buf_text(&o->text, "},\"key\":null,\"idempotency\":null,\"resend_of\":null,\"effects\":[],\"reply\":");
	if (rcode != NULL)
		buf_format(&o->text, "{\"rcode\":\"%s\"}", rcode);
	else
		buf_text(&o->text, "null");
	buf_text(&o->text, ",\"fault\":null,\"views\":{\"service\":\"rejected\",\"client\":\"");
	op = append(o, &o->text, &o->rest);
	if (op == NULL)
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
	buf_add(out, op->text, op->text_len);
	buf_text(out, told[op->told]);
	buf_add(out, op->text + op->text_len, op->len - op->text_len);
	o->bytes -= op->len;
	o->first = op->next;
	if (o->first == NULL)
		o->last = NULL;
	op_free(op);
	return true;
}
