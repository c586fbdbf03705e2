/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_http.c - a request's head is collected first and checked for bare CR and LF, which llhttp 8.1 lets pass in places;
 * then llhttp takes it apart in one piece, so that every span is a slice of it.  Bodies go through llhttp as they come. */
#include "guest/twin_http.h"

#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "guest/answer.h"
#include "guest/events.h"
#include "guest/service.h"
#include "proto/limits.h"

#define TRAILER_MAX 16384u
#define FRAMING_MAX 65536u /* bytes between two parts of a chunked body */

struct http_waiting {
	struct http_waiting *next;
	struct op *op;
	uint64_t end; /* out_end right after its reply */
	enum op_told told;
	uint64_t again;              /* what waits for it, or 0 */
	struct idempotency_key *key; /* in use until then; or NULL */
};
static struct pool waits = { .size = sizeof(struct http_waiting), .max = 64 };

/* see twin_http.h */
void
http_core_init(struct http_core *core, struct world *w)
{
	*core = (struct http_core){ .world = w, .date_s = UINT64_MAX };
	ops_init(&core->ops, w);
}

/* see twin_http.h */
void
http_core_wipe(struct http_core *core)
{
	http_again_wipe(core);
	ops_wipe(&core->ops);
}

static void
begin_request(struct http_conn *c)
{
	request_wipe(&c->request);
	request_init(&c->request);
	c->head.len = 0;
	if (c->body.size > HTTP_OUTPUT_HIGH)
		buf_wipe(&c->body); /* a large one does not stay for a connection's life */
	c->body.len = 0;
	c->phase = HTTP_PHASE_HEAD;
	c->url = c->name = c->value = NULL;
	c->url_len = c->name_len = c->value_len = 0;
	c->begun = c->cr = c->complete = c->keep_alive = false;
	c->line_len = c->lines = c->trailer_len = c->framing = 0;
	c->error = 0;
	c->problem = NULL;
}

/* see twin_http.h */
void
http_init(struct http_conn *c, struct http_core *core, struct service *s)
{
	*c = (struct http_conn){ .core = core, .service = s, .number = core->conns++ };
	buf_init(&c->head, HTTP_HEAD_MAX);
	buf_init(&c->body, HTTP_BODY_MAX);
	buf_init(&c->out, HTTP_OUTPUT_HIGH + ANSWER_BODY_MAX + (1u << 20));
	begin_request(c);
}

static void
count_memory(struct http_conn *c)
{
	size_t now = c->body.size + c->out.size;

	c->core->memory = c->core->memory - c->counted + now;
	c->counted = now;
}

/* see twin_http.h */
void
http_wipe(struct http_conn *c)
{
	while (c->waiting != NULL) {
		struct http_waiting *next = c->waiting->next;

		op_settle(c->waiting->op, OP_TOLD_NOTHING);
		idempotency_release(c->waiting->key);
		http_again_left(c->core, c->waiting->again);
		pool_give(&waits, c->waiting);
		c->waiting = next;
	}
	c->waiting_last = NULL;
	request_wipe(&c->request);
	buf_wipe(&c->head);
	buf_wipe(&c->body);
	buf_wipe(&c->out);
	count_memory(c);
}

/* ---- llhttp's callbacks ------------------------------------------------------------------------------------------ */

static struct http_conn *
conn_of(llhttp_t *parser)
{
	return parser->data;
}

static void
extend(const char **span, size_t *span_len, const char *at, size_t len)
{
	if (*span == NULL)
		*span = at;
	*span_len += len; /* the head is one piece: parts of a span follow one another */
}

static int
on_url(llhttp_t *parser, const char *at, size_t len)
{
	struct http_conn *c = conn_of(parser);

	extend(&c->url, &c->url_len, at, len);
	return 0;
}

static int
refuse(struct http_conn *c, int status, const char *problem)
{
	if (c->error == 0) {
		c->error = status;
		c->problem = problem;
	}
	return -1;
}

static int
on_header_field(llhttp_t *parser, const char *at, size_t len)
{
	struct http_conn *c = conn_of(parser);

	if (c->phase == HTTP_PHASE_BODY) { /* a trailer: read over, but not without end */
		c->trailer_len += len;
		return c->trailer_len > TRAILER_MAX ? refuse(c, 431, "the trailer is too long") : 0;
	}
	extend(&c->name, &c->name_len, at, len);
	return 0;
}

static int
on_header_value(llhttp_t *parser, const char *at, size_t len)
{
	struct http_conn *c = conn_of(parser);

	if (c->phase == HTTP_PHASE_BODY)
		return on_header_field(parser, at, len);
	extend(&c->value, &c->value_len, at, len);
	return 0;
}

static int
on_header_value_complete(llhttp_t *parser)
{
	struct http_conn *c = conn_of(parser);
	int r;

	if (c->phase == HTTP_PHASE_BODY)
		return 0;
	r = request_add_header(&c->request, c->name == NULL ? "" : c->name, c->name_len,
			       c->value == NULL ? "" : c->value, c->value_len);
	c->name = c->value = NULL;
	c->name_len = c->value_len = 0;
	if (r == -EMSGSIZE)
		return refuse(c, 431, "too many header fields");
	if (r == -EPROTO)
		return refuse(c, 400, "more than one Host");
	if (r < 0) {
		c->core->failed = r;
		return refuse(c, 500, "out of memory");
	}
	return 0;
}

static int
on_headers_complete(llhttp_t *parser)
{
	struct http_conn *c = conn_of(parser);
	struct request *q = &c->request;

	parser->upgrade = 0; /* no other protocol is spoken here: an offer to change is ignored */
	q->method = llhttp_method_name((llhttp_method_t)parser->method);
	q->target = arena_copy(&q->arena, c->url == NULL ? "" : c->url, c->url_len);
	if (q->target == NULL) {
		c->core->failed = -ENOMEM;
		return refuse(c, 500, "out of memory");
	}
	if (parser->http_major != 1 || parser->http_minor > 1)
		return refuse(c, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	c->keep_alive = parser->http_minor == 1 && llhttp_should_keep_alive(parser) != 0;
	if (c->url_len > REQUEST_TARGET_MAX)
		return refuse(c, 414, "the target is too long");
	if (parser->http_minor == 1 && q->host == NULL)
		return refuse(c, 400, "no Host");
	if ((parser->flags & F_CHUNKED) == 0 && parser->content_length > HTTP_BODY_MAX)
		return refuse(c, 413, "the body is too long");
	return 0;
}

static int
on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct http_conn *c = conn_of(parser);

	if (len > HTTP_BODY_MAX - c->body.len)
		return refuse(c, 413, "the body is too long");
	buf_add(&c->body, at, len);
	count_memory(c);
	if (c->body.failed)
		c->core->failed = -ENOMEM; /* its length was looked at before */
	if (c->body.failed || c->core->memory > HTTP_MEMORY_MAX)
		return refuse(c, 503, "the twins have no memory left for this body");
	return 0;
}

static int
on_message_complete(llhttp_t *parser)
{
	conn_of(parser)->complete = true;
	return HPE_PAUSED; /* what follows is another request */
}

static const llhttp_settings_t settings = {
	.on_url = on_url,
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_header_value_complete = on_header_value_complete,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_message_complete,
};

/* ---- replies ----------------------------------------------------------------------------------------------------- */

static const char *
reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 402, "Payment Required" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 424, "Failed Dependency" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return ""; /* a reason may be empty, RFC 9112 section 4 */
}

static const char *
date(struct http_core *core)
{
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = (time_t)(twin_clock_now(&core->world->clock, core->t_ms) / 1000);
	struct tm tm;

	if (core->date_s != (uint64_t)now && gmtime_r(&now, &tm) != NULL) {
		core->date_s = (uint64_t)now;
		snprintf(core->date, sizeof(core->date), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
			 days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon, (tm.tm_year + 1900) % 10000,
			 tm.tm_hour, tm.tm_min, tm.tm_sec);
	}
	return core->date;
}

/* A stream leaves frame by frame, as chunks; whoever speaks HTTP/1.0, or gets a body that a fault has spoiled, gets it as one. */
static bool
is_chunked(const struct http_conn *c, const struct answer *a, bool head)
{
	const struct fault *f = a->faults.hit;

	return a->frames_len > 0 && !head && c->parser.http_minor == 1 &&
	       (f == NULL || f->body == FAULT_BODY_AS_IS || f->phase == FAULT_MID_REPLY);
}

static void
put_chunks(struct http_conn *c, const struct answer *a)
{
	size_t from = 0;

	for (size_t i = 0; i < a->frames_len; i++) {
		if (a->frames[i] == from)
			continue; /* an empty one would be the last */
		buf_format(&c->out, "%zx\r\n", a->frames[i] - from);
		buf_add(&c->out, a->body.at + from, a->frames[i] - from);
		buf_text(&c->out, "\r\n");
		from = a->frames[i];
	}
	c->tail = (from > 0 ? 2 : 0) + 5;
	buf_text(&c->out, "0\r\n\r\n");
}

static void
put_reply(struct http_conn *c, struct answer *a, bool head)
{
	const struct fault *f = a->faults.hit;
	size_t before, body, length = a->body.len;
	bool chunked = is_chunked(c, a, head);

	if (f != NULL && f->body == FAULT_BODY_NO_LENGTH)
		c->keep_alive = false;
	buf_cut(&c->out, c->out_at);
	c->out_at = 0;
	before = c->out.len;
	c->tail = 0;
	buf_text(&c->out, "HTTP/1.1 ");
	buf_unsigned(&c->out, (unsigned)a->status);
	buf_text(&c->out, " ");
	buf_text(&c->out, reason(a->status));
	buf_text(&c->out, "\r\nDate: ");
	buf_text(&c->out, date(c->core));
	buf_text(&c->out, "\r\n");
	buf_add(&c->out, a->headers.at, a->headers.len);
	if (a->status != 204 && a->status != 304) {
		if (!a->has_type)
			buf_text(&c->out, "Content-Type: application/json\r\n");
		if (f != NULL && f->body == FAULT_BODY_WRONG_LENGTH)
			length /= 2;
		if (chunked) {
			buf_text(&c->out, "Transfer-Encoding: chunked\r\n");
		} else if (!http_fault_framing(a, &c->out)) {
			buf_text(&c->out, "Content-Length: ");
			buf_unsigned(&c->out, length);
			buf_text(&c->out, "\r\n");
		}
	}
	/* the hint lets clients drop an idle connection before the twin does: no race between a request and a close */
	buf_text(&c->out, c->keep_alive ? "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n"
					: "Connection: close\r\n\r\n");
	body = c->out.len;
	if (chunked)
		put_chunks(c, a);
	else if (!head && a->status != 204 && a->status != 304)
		buf_add(&c->out, a->body.at, a->body.len);
	if (f != NULL)
		http_fault_reply(c, a, before, body, chunked);
	c->out_end += c->out.len - before;
	count_memory(c);
}

/* see twin_http.h */
void
http_record(struct http_conn *c, const struct answer *a, bool whole, bool reply)
{
	bool bodiless = a->status == 204 || a->status == 304;
	struct op_input in = { .service = c->service,
			       .conn = c->number,
			       .t_ms = c->core->t_ms,
			       .request = &c->request,
			       .is_whole = whole,
			       .is_head = bodiless ||
					  (c->request.method != NULL && strcmp(c->request.method, "HEAD") == 0),
			       .raw = c->phase == HTTP_PHASE_BODY ? c->body.at : c->head.at,
			       .raw_len = c->phase == HTTP_PHASE_BODY ? c->body.len : c->head.len,
			       .answer = a };
	struct http_waiting *w = pool_take(&waits);
	struct op *op = w == NULL ? NULL : ops_add(&c->core->ops, &in);

	if (op == NULL) {
		pool_give(&waits, w);
		c->core->failed = -ENOMEM;
		return;
	}
	if (!reply) {
		op_settle(op, OP_TOLD_NOTHING);
		idempotency_release(a->key);
		pool_give(&waits, w);
		return;
	}
	*w = (struct http_waiting){ .op = op, .end = c->out_end - c->tail, .told = http_told(a), .key = a->key };
	if (c->waiting_last != NULL)
		c->waiting_last->next = w;
	else
		c->waiting = w;
	c->waiting_last = w;
}

/* A request that cannot be read: it is answered, recorded, and ends the connection, since nobody knows where the next one
 * starts.  fails: it is an error of the run. */
static void
reject(struct http_conn *c, int status, const char *problem, bool fails, bool reply)
{
	struct answer a;

	answer_init(&a);
	answer_error(&a, status, problem);
	a.view = "not-reached";
	a.unmatched = fails;
	snprintf(a.difference, sizeof(a.difference), "%s", problem);
	c->keep_alive = false;
	if (!reply) {
		buf_wipe(&a.body);
		a.status = 0;
	}
	if (ops_is_full(&c->core->ops)) {
		c->core->ops.refused++;
		if (reply)
			put_reply(c, &a, false);
	} else {
		if (reply)
			put_reply(c, &a, c->request.method != NULL && strcmp(c->request.method, "HEAD") == 0);
		http_record(c, &a, false, reply);
	}
	answer_wipe(&a);
	begin_request(c); /* what was read is not needed any more */
	c->phase = HTTP_PHASE_CLOSING;
}

/* One whole request: everything happens here, between two others. */
static void
answer(struct http_conn *c)
{
	struct request *q = &c->request;
	struct http_core *core = c->core;
	const char *problem;
	struct answer a;
	int r;

	if (ops_is_full(&core->ops)) {
		core->ops.refused++;
		answer_init(&a);
		answer_error(&a, 503, "the run's limit of operations is reached");
		put_reply(c, &a, strcmp(q->method, "HEAD") == 0);
		answer_wipe(&a);
		return;
	}
	q->body = c->body.at == NULL ? "" : c->body.at;
	q->body_len = c->body.len;
	if (core->memory > HTTP_MEMORY_MAX - ANSWER_BODY_MAX) {
		reject(c, 503, "the twins have no memory left for a reply", true, true);
		return;
	}
	r = request_finish(q, &problem);
	if (r == -EPROTO) {
		reject(c, 400, problem, true, true);
		return;
	}
	answer_init(&a);
	a.t_ms = core->t_ms;
	if (r == 0)
		r = answer_request(core->world, c->service, q, twin_clock_call(&core->world->clock, core->t_ms), &a);
	if (r == 0) {
		put_reply(c, &a, strcmp(q->method, "HEAD") == 0);
		http_record(c, &a, true, a.faults.hit == NULL || a.sent > 0);
		if (a.faults.hit != NULL && c->waiting_last != NULL)
			c->waiting_last->again = http_fault_repeat(c, &a);
		if (c->out.failed)
			core->failed = -ENOMEM;
	} else {
		core->failed = r;
	}
	core->changes += r == 0 && a.effects.len > 0;
	if (r == 0 && core->events != NULL && strcmp(a.view, "applied") == 0) /* undone, it is not told either */
		events_take(core->events, c->service, &a);
	answer_wipe(&a);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void
finish(struct http_conn *c)
{
	bool last;

	answer(c);
	if (c->phase == HTTP_PHASE_CLOSING)
		return;
	last = !c->keep_alive;
	begin_request(c);
	count_memory(c);
	if (last)
		c->phase = HTTP_PHASE_CLOSING;
}

/* After llhttp has taken something: on to the next phase. */
static void
advance(struct http_conn *c, llhttp_errno_t e)
{
	const char *expect;

	if (c->error != 0) {
		reject(c, c->error, c->problem, true, true);
	} else if (c->complete) {
		finish(c);
	} else if (e != HPE_OK) {
		static const char *const names[] = {
#define NAME(number, name, text) [number] = #name,
			HTTP_ERRNO_MAP(NAME)
#undef NAME
		};
		char problem[96];

		snprintf(problem, sizeof(problem), "not HTTP/1.1: %s",
			 (size_t)e < sizeof(names) / sizeof(names[0]) && names[e] ? names[e] : "?");
		reject(c, 400, problem, true, true);
	} else if (c->phase == HTTP_PHASE_HEAD && http_fault_head(c)) {
		begin_request(c);
		c->phase = HTTP_PHASE_CLOSING;
	} else if (c->phase == HTTP_PHASE_HEAD) {
		c->phase = HTTP_PHASE_BODY;
		expect = request_header(&c->request, "expect");
		if (expect != NULL && c->parser.http_minor == 1 && strcasecmp(expect, "100-continue") != 0) {
			reject(c, 417, "this expectation is not known here", true, true);
		} else if (expect != NULL && c->parser.http_minor == 1) {
			buf_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
			c->out_end += 25;
		}
	}
}

static void
parse_head(struct http_conn *c)
{
	llhttp_init(&c->parser, HTTP_REQUEST, &settings);
	c->parser.data = c;
	advance(c, llhttp_execute(&c->parser, c->head.at, c->head.len));
}

/* Where a head ends, and that its lines end in CR LF and are not folded.  Returns the bytes looked at; NULL in *problem
 * while all is well. */
static size_t
scan_head(struct http_conn *c, const char *data, size_t len, bool *end, const char **problem)
{
	size_t i;

	*end = false;
	*problem = NULL;
	for (i = 0; i < len && *problem == NULL && !*end; i++) {
		char b = data[i];

		if (c->cr) {
			c->cr = false;
			if (b != '\n') {
				*problem = "a CR without LF";
			} else if (c->line_len > 0) {
				c->lines++;
				c->line_len = 0;
			} else {
				*end = true;
			}
		} else if (b == '\r') {
			c->cr = true;
		} else if (b == '\n' || b == '\0') {
			*problem = b == '\n' ? "an LF without CR" : "a NUL in the head";
		} else if (c->line_len++ == 0 && c->lines > 0 && (b == ' ' || b == '\t')) {
			*problem = "a folded header line";
		}
	}
	return i;
}

static size_t
receive_head(struct http_conn *c, const char *data, size_t len)
{
	const char *problem;
	bool end;
	size_t n = scan_head(c, data, len, &end, &problem), room = HTTP_HEAD_MAX - c->head.len;

	if (n > room) {
		buf_add(&c->head, data, room);
		reject(c, c->lines == 0 ? 414 : 431,
		       c->lines == 0 ? "the request line is too long" : "the header fields are too long", true, true);
		return n;
	}
	buf_add(&c->head, data, n);
	if (c->head.failed)
		c->core->failed = -ENOMEM;
	c->begun = c->begun || c->line_len > 0 || c->lines > 0;
	if (problem != NULL) {
		reject(c, 400, problem, true, true);
	} else if (end && c->lines == 0) {
		c->head.len = 0; /* an empty line before a request is left out, RFC 9112 section 2.2 */
	} else if (end) {
		parse_head(c);
	}
	return n;
}

static size_t
receive_body(struct http_conn *c, const char *data, size_t len)
{
	size_t before = c->body.len, used;
	llhttp_errno_t e = llhttp_execute(&c->parser, data, len);

	used = e == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&c->parser) - data);
	/* llhttp reads over the extension of a chunk, however long: nobody needs one */
	c->framing = c->body.len > before ? 0 : c->framing + used;
	if (e == HPE_OK && c->framing > FRAMING_MAX)
		refuse(c, 400, "a chunk's size and extension are too long");
	advance(c, e);
	return used;
}

/* see twin_http.h */
size_t
http_receive(struct http_conn *c, const char *data, size_t len)
{
	size_t used = 0;

	while (used < len && c->core->failed == 0) {
		if (c->phase == HTTP_PHASE_CLOSING)
			return len;
		if (c->out.len - c->out_at > HTTP_OUTPUT_HIGH && !c->begun)
			break;
		if (c->phase == HTTP_PHASE_HEAD)
			used += receive_head(c, data + used, len - used);
		else
			used += receive_body(c, data + used, len - used);
	}
	return used;
}

/* see twin_http.h */
void
http_input_ended(struct http_conn *c)
{
	if (c->phase == HTTP_PHASE_CLOSING)
		return;
	if (c->begun)
		reject(c, 400, "the connection ended inside the request", false, false);
	c->phase = HTTP_PHASE_CLOSING;
}

/* see twin_http.h */
void
http_refused(struct http_conn *c, const char *problem)
{
	if (c->phase != HTTP_PHASE_CLOSING)
		reject(c, 400, problem, true, false);
	c->phase = HTTP_PHASE_CLOSING;
}

/* see twin_http.h */
void
http_timed_out(struct http_conn *c)
{
	if (c->phase != HTTP_PHASE_CLOSING && c->begun)
		reject(c, 408, "the request did not come to its end in time", false, true);
	c->phase = HTTP_PHASE_CLOSING;
}

/* see twin_http.h */
const char *
http_output(const struct http_conn *c, size_t *len)
{
	*len = c->out.len - c->out_at;
	if (c->slow.on && c->slow.open - c->out_sent < *len)
		*len = (size_t)(c->slow.open - c->out_sent);
	return *len == 0 ? "" : c->out.at + c->out_at;
}

/* see twin_http.h */
void
http_sent(struct http_conn *c, size_t len)
{
	c->out_at += len;
	c->out_sent += len;
	if (c->out_at == c->out.len)
		c->out_at = c->out.len = 0;
	if (c->out.len == 0 && c->out.size > HTTP_OUTPUT_HIGH)
		buf_wipe(&c->out);
	count_memory(c);
	while (c->waiting != NULL && c->waiting->end <= c->out_sent) {
		struct http_waiting *w = c->waiting;

		op_settle(w->op, w->told);
		idempotency_release(w->key);
		http_again_left(c->core, w->again);
		c->waiting = w->next;
		if (c->waiting == NULL)
			c->waiting_last = NULL;
		pool_give(&waits, w);
	}
}

/* see twin_http.h */
bool
http_is_idle(const struct http_conn *c)
{
	return c->phase == HTTP_PHASE_HEAD && !c->begun && c->out.len == 0;
}

/* see twin_http.h */
bool
http_is_closing(const struct http_conn *c)
{
	return c->phase == HTTP_PHASE_CLOSING;
}

/* see twin_http.h */
enum http_end
http_end(const struct http_conn *c)
{
	if (c->phase != HTTP_PHASE_CLOSING || c->out.len > c->out_at)
		return HTTP_END_NONE;
	return c->how != HTTP_END_NONE ? c->how : HTTP_END_CLOSE;
}
