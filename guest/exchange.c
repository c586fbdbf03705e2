/* SPDX-License-Identifier: GPL-2.0-or-later
 * exchange.c - see exchange.h.  llhttp takes the answer apart; everything that grows is counted here. */
#include "guest/exchange.h"

#include <string.h>
#include <strings.h>

static int
fail(struct exchange *x, const char *problem)
{
	if (x->problem == NULL)
		x->problem = problem;
	return -1;
}

/* Status line, names and values: counted in all, so that no header can grow without end. */
static int
count_head(struct exchange *x, size_t len)
{
	x->head_len += len;
	return x->head_len > EXCHANGE_HEAD_MAX ? fail(x, "its header fields are too long") : 0;
}

static int
on_status(llhttp_t *parser, const char *at, size_t len)
{
	(void)at;
	return count_head(parser->data, len);
}

static int
on_header_field(llhttp_t *parser, const char *at, size_t len)
{
	struct exchange *x = parser->data;
	size_t room = sizeof(x->name) - x->name_len;

	memcpy(x->name + x->name_len, at, len < room ? len : room);
	x->name_len += len < room ? len : room;
	return count_head(x, len + 4);
}

static bool
is_named(const struct exchange *x, const char *name)
{
	return x->name_len == strlen(name) && strncasecmp(x->name, name, x->name_len) == 0;
}

static int
on_header_value(llhttp_t *parser, const char *at, size_t len)
{
	struct exchange *x = parser->data;
	size_t have = strlen(x->type), room = sizeof(x->type) - 1 - have;

	if (is_named(x, "content-type") && memchr(at, '\0', len) == NULL) {
		memcpy(x->type + have, at, len < room ? len : room);
		x->type[have + (len < room ? len : room)] = '\0';
	} else if (is_named(x, "x-slack-no-retry")) {
		for (size_t i = 0; i < len; i++) /* perhaps in pieces; spaces behind it are part of a value */
			if (at[i] != ' ' && at[i] != '\t')
				x->no_retry_len = x->no_retry_len == 0 && at[i] == '1' ? 1 : 2;
	}
	return count_head(x, len);
}

static int
on_header_value_complete(llhttp_t *parser)
{
	struct exchange *x = parser->data;

	x->no_retry = x->no_retry || x->no_retry_len == 1;
	x->no_retry_len = 0;
	x->name_len = 0;
	return 0;
}

static int
on_headers_complete(llhttp_t *parser)
{
	struct exchange *x = parser->data;

	if (parser->http_major != 1 || parser->http_minor > 1)
		return fail(x, "it is not HTTP/1.1");
	if (parser->status_code < 100 || parser->status_code > 599)
		return fail(x, "its status is none of HTTP");
	if (parser->status_code == 101)
		return fail(x, "it changes to another protocol");
	if ((parser->flags & F_CHUNKED) == 0 && (parser->flags & F_CONTENT_LENGTH) != 0 && !x->head &&
	    parser->content_length > EXCHANGE_BODY_MAX)
		return fail(x, "its body is longer than 8 MiB");
	x->status = parser->status_code;
	return x->head ? 1 : 0;
}

static int
on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct exchange *x = parser->data;

	if (len > EXCHANGE_BODY_MAX - x->body.len)
		return fail(x, "its body is longer than 8 MiB");
	buf_add(&x->body, at, len);
	return x->body.failed ? fail(x, "the twins have no memory left for it") : 0;
}

static int
on_message_complete(llhttp_t *parser)
{
	struct exchange *x = parser->data;

	if (x->status >= 200) {
		x->done = true;
		return HPE_PAUSED;
	}
	x->status = 0; /* an interim answer: the final one follows */
	x->type[0] = '\0';
	x->no_retry = false;
	x->body.len = 0;
	return 0;
}

static const llhttp_settings_t settings = {
	.on_status = on_status,
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_header_value_complete = on_header_value_complete,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_message_complete,
};

/* see exchange.h */
bool
exchange_init(struct exchange *x, const void *request, size_t len, bool head)
{
	*x = (struct exchange){ .head = head };
	buf_init(&x->out, len + 1);
	buf_init(&x->body, EXCHANGE_BODY_MAX);
	buf_add(&x->out, request, len);
	llhttp_init(&x->parser, HTTP_RESPONSE, &settings);
	return !x->out.failed;
}

/* see exchange.h */
void
exchange_wipe(struct exchange *x)
{
	buf_wipe(&x->out);
	buf_wipe(&x->body);
}

/* see exchange.h */
void
exchange_receive(struct exchange *x, const char *data, size_t len)
{
	llhttp_errno_t e;

	if (x->done || x->problem != NULL)
		return;
	x->bytes += len;
	if (x->bytes > EXCHANGE_BYTES_MAX) {
		fail(x, "it does not come to its end");
		return;
	}
	x->parser.data = x; /* the struct may have been moved */
	e = llhttp_execute(&x->parser, data, len);
	if (e != HPE_OK && !x->done)
		fail(x, "it is not HTTP/1.1");
}

/* see exchange.h */
void
exchange_input_ended(struct exchange *x)
{
	if (x->done || x->problem != NULL)
		return;
	x->parser.data = x;
	if (x->bytes == 0)
		fail(x, "the connection ended without an answer");
	else if ((llhttp_finish(&x->parser) != HPE_OK && !x->done) || !x->done)
		fail(x, "the connection ended inside the answer");
}
