/* SPDX-License-Identifier: GPL-2.0-or-later
 * profile.c - error bodies and headers as the clients of these services expect them: their libraries choose the class of an
 * error, and whether to try again, by what stands here. */
#include "guest/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guest/answer.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/frame.h"

/* see profile.h */
int
profile_of(const char *name, enum profile *out)
{
	static const struct {
		const char *name;
		enum profile profile;
		bool kinds; /* name/anything too */
	} profiles[] = {
		{ "generic", PROFILE_GENERIC, false }, { "stripe/v1", PROFILE_STRIPE, false },
		{ "github", PROFILE_GITHUB, false },   { "slack", PROFILE_SLACK, false },
		{ "openai", PROFILE_OPENAI, true },    { "anthropic", PROFILE_ANTHROPIC, true },
	};

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		size_t len = strlen(profiles[i].name);

		if (strncmp(profiles[i].name, name, len) != 0 ||
		    !(name[len] == '\0' || (profiles[i].kinds && name[len] == '/' && name[len + 1] != '\0')))
			continue;
		*out = profiles[i].profile;
		return 0;
	}
	return -EPROTO;
}

/* What is said of a status when nobody says more. */
static const char *
status_text(int status)
{
	switch (status) {
	case 400:
		return "bad request";
	case 401:
		return "unauthorized";
	case 402:
		return "payment required";
	case 403:
		return "forbidden";
	case 404:
		return "not found";
	case 409:
		return "conflict";
	case 422:
		return "the request cannot be processed";
	case 429:
		return "too many requests";
	case 529:
		return "overloaded";
	default:
		return status >= 500 ? "the service has a problem" : "the request was refused";
	}
}

/* "resource_missing" as "resource missing", first letter large. */
static void
put_words(struct buf *b, const char *code)
{
	char text[128];
	size_t n = 0;

	for (; *code != '\0' && n < sizeof(text); code++, n++)
		text[n] = *code == '_' ? ' ' : *code;
	if (n > 0 && text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 0x20);
	buf_json_string(b, text, n);
}

static void
put_member(struct buf *b, const char *name, const char *text)
{
	buf_text(b, b->len > 0 && b->at[b->len - 1] != '{' ? "," : "");
	buf_json_text(b, name);
	buf_text(b, ":");
	buf_json_text(b, text);
}

static void
put_message(struct buf *b, const char *message, const char *code, int status)
{
	put_member(b, "message", "");
	b->len -= b->failed ? 0 : 2; /* the empty text */
	if (message != NULL)
		buf_json_text(b, message);
	else
		put_words(b, code != NULL ? code : status_text(status));
}

static void
generic(struct buf *b, int status, const char *code, const char *message)
{
	buf_text(b, "{");
	if (code == NULL) {
		put_member(b, "error", message != NULL ? message : status_text(status));
	} else {
		put_member(b, "error", message != NULL ? message : code);
		put_member(b, "code", code);
	}
	buf_text(b, "}");
}

static bool
is(const char *code, const char *word)
{
	return code != NULL && strcmp(code, word) == 0;
}

/* Which class stripe-node raises: 400 by type, all others by status. */
static const char *
stripe_type(int status, const char *code)
{
	if (is(code, "idempotency_error"))
		return "idempotency_error";
	if (status == 402)
		return "card_error";
	return status >= 500 ? "api_error" : "invalid_request_error";
}

static void
stripe(struct buf *b, int status, const char *code, const char *message)
{
	if (code == NULL && status == 404)
		code = "resource_missing";
	if (code == NULL && status == 429)
		code = "rate_limit";
	buf_text(b, "{\"error\":{");
	if (code != NULL && !is(code, "idempotency_error")) {
		put_member(b, "code", code);
		buf_text(b, ",\"doc_url\":\"https://stripe.com/docs/error-codes/");
		for (const char *c = code; *c != '\0'; c++)
			buf_add(b, *c == '_' ? "-" : c, 1);
		buf_text(b, "\"");
	}
	if (is(code, "card_declined"))
		put_member(b, "decline_code", "generic_decline");
	if (message == NULL && is(code, "resource_missing"))
		message = "No such resource.";
	put_message(b, message, code, status);
	put_member(b, "type", stripe_type(status, code));
	buf_text(b, "}}");
}

static void
github(const struct answer *a, struct buf *b, int status, const char *code, const char *message)
{
	char text[16], resource[64];

	snprintf(text, sizeof(text), "%d", status);
	buf_text(b, "{");
	if (message == NULL && (code == NULL || status == 422))
		message = status == 404   ? "Not Found"
			  : status == 401 ? "Bad credentials"
			  : status == 409 ? "Conflict"
			  : status == 422 ? "Validation Failed"
			  : status == 429 ? "API rate limit exceeded"
			  : status >= 500 ? "Server Error"
					  : NULL;
	put_message(b, message, code, status);
	if (status == 422 && code != NULL) {
		const char *id = a->route == NULL ? "" : a->route->id;

		snprintf(resource, sizeof(resource), "%.*s", (int)strcspn(id, "."), id);
		buf_text(b, ",\"errors\":[{");
		put_member(b, "resource", resource);
		put_member(b, "code", code);
		buf_text(b, "}]");
	}
	put_member(b, "documentation_url", "https://docs.github.com/rest");
	put_member(b, "status", text);
	buf_text(b, "}");
}

static void
slack(struct buf *b, int status, const char *code)
{
	if (code == NULL)
		code = status == 401   ? "invalid_auth"
		       : status == 404 ? "not_found"
		       : status == 403 ? "missing_scope"
		       : status == 409 ? "conflict"
		       : status == 429 ? "ratelimited"
		       : status >= 500 ? "internal_error"
				       : "invalid_arguments";
	buf_text(b, "{\"ok\":false");
	put_member(b, "error", code);
	buf_text(b, "}");
}

static void
openai(struct buf *b, int status, const char *code, const char *message)
{
	const char *type = status >= 500 ? "server_error" : "invalid_request_error";

	if (status == 429) {
		code = code == NULL ? "rate_limit_exceeded" : code;
		type = is(code, "rate_limit_exceeded") ? "requests" : code;
	}
	buf_text(b, "{\"error\":{");
	put_message(b, message, code, status);
	put_member(b, "type", type);
	buf_text(b, ",\"param\":null");
	put_member(b, "code", code);
	buf_text(b, "}}");
}

static void
anthropic(struct buf *b, int status, const char *code, const char *message)
{
	size_t len = code == NULL ? 0 : strlen(code);
	const char *type = status == 401   ? "authentication_error"
			   : status == 402 ? "billing_error"
			   : status == 403 ? "permission_error"
			   : status == 404 ? "not_found_error"
			   : status == 413 ? "request_too_large"
			   : status == 429 ? "rate_limit_error"
			   : status == 504 ? "timeout_error"
			   : status == 529 ? "overloaded_error"
			   : status >= 500 ? "api_error"
					   : "invalid_request_error";

	if (len > 6 && strcmp(code + len - 6, "_error") == 0)
		type = code;
	buf_text(b, "{\"type\":\"error\",\"error\":{");
	put_member(b, "type", type);
	put_message(b, message, code, status);
	buf_text(b, "}}");
}

/* see profile.h */
void
answer_profile_error(const struct service *s, struct answer *a, int status, const char *code, const char *message)
{
	buf_wipe(&a->headers);
	buf_wipe(&a->body);
	buf_wipe(&a->effects);
	a->frames_len = a->marks_len = 0;
	a->has_type = false;
	a->status = status;
	a->view = "rejected";
	a->tells_error = true;
	if (message != NULL && s->profile != PROFILE_GENERIC && strcmp(message, status_text(status)) == 0)
		message = NULL; /* the profile has words of its own for that */
	switch (s->profile) {
	case PROFILE_GENERIC:
		generic(&a->body, status, code, message);
		break;
	case PROFILE_STRIPE:
		stripe(&a->body, status, code, message);
		break;
	case PROFILE_GITHUB:
		github(a, &a->body, status, code, message);
		break;
	case PROFILE_SLACK:
		slack(&a->body, status, code);
		a->status = status == 429 || status >= 500 ? status : 200;
		break;
	case PROFILE_OPENAI:
		openai(&a->body, status, code, message);
		break;
	case PROFILE_ANTHROPIC:
		anthropic(&a->body, status, code, message);
		break;
	}
}

/* see profile.h */
void
profile_unauthorized(const struct service *s, struct answer *a, bool missing)
{
	const char *code = NULL, *message = NULL;

	switch (s->profile) {
	case PROFILE_GENERIC:
		message = "unauthorized";
		break;
	case PROFILE_STRIPE:
		message = missing ? "You did not provide an API key. You need to provide your API key in the "
				    "Authorization header, using Bearer auth."
				  : "Invalid API Key provided.";
		break;
	case PROFILE_GITHUB:
		message = missing ? "Requires authentication" : "Bad credentials";
		break;
	case PROFILE_SLACK:
		code = missing ? "not_authed" : "invalid_auth";
		break;
	case PROFILE_OPENAI:
		code = missing ? NULL : "invalid_api_key";
		message = missing ? "You didn't provide an API key. You need to provide your API key in an "
				    "Authorization header using Bearer auth."
				  : "Incorrect API key provided.";
		break;
	case PROFILE_ANTHROPIC:
		message = missing ? "x-api-key header is required" : "invalid x-api-key";
		break;
	}
	answer_profile_error(s, a, 401, code, message);
	if (s->profile == PROFILE_STRIPE)
		buf_text(&a->headers, "WWW-Authenticate: Basic realm=\"Stripe\"\r\n");
	else if (s->auth == AUTH_BEARER && s->profile == PROFILE_GENERIC)
		buf_text(&a->headers, "WWW-Authenticate: Bearer\r\n");
	else if (s->auth == AUTH_BASIC && s->profile == PROFILE_GENERIC)
		buf_text(&a->headers, "WWW-Authenticate: Basic realm=\"agenttwin\"\r\n");
}

/* see profile.h */
int
profile_request_id(struct world *w, struct service *s, const struct request *q, struct answer *a)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[32];
	int r;

	if (s->profile == PROFILE_GENERIC && s->idempotency.form == IDEMPOTENCY_NONE)
		return 0; /* nobody will see it */
	r = draw_enter(w, s, q, &a->call);
	if (r < 0)
		return r;
	draw_take(w, &a->call, "agenttwin-request/2", 0, digest);
	for (size_t i = 0; i < sizeof(a->request_id) / 2; i++) {
		a->request_id[2 * i] = hex[digest[i] >> 4];
		a->request_id[2 * i + 1] = hex[digest[i] & 15];
	}
	a->request_id[sizeof(a->request_id) - 1] = '\0';
	return 0;
}

/* A header that the route wrote itself stays. */
static bool
has_header(const struct answer *a, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < a->headers.len;) {
		const char *line = a->headers.at + at, *end = memchr(line, '\n', a->headers.len - at);

		if (a->headers.len - at > len && line[len] == ':' && strncasecmp(line, name, len) == 0)
			return true;
		at = end == NULL ? a->headers.len : (size_t)(end - a->headers.at) + 1;
	}
	return false;
}

/* see profile.h */
void
answer_header(struct answer *a, const char *name, const char *value)
{
	if (has_header(a, name))
		return;
	buf_text(&a->headers, name);
	buf_text(&a->headers, ": ");
	for (const char *c = value; *c != '\0'; c++) {
		char safe = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c; /* no line of its own */

		buf_add(&a->headers, &safe, 1);
	}
	buf_text(&a->headers, "\r\n");
}

/* see profile.h */
void
profile_headers(const struct service *s, const struct request *q, struct answer *a)
{
	const char *id = a->request_id, *value;
	char text[64];

	switch (s->profile) {
	case PROFILE_GENERIC:
		break;
	case PROFILE_STRIPE:
		snprintf(text, sizeof(text), "req_%.14s", id);
		answer_header(a, "Request-Id", text);
		value = request_header(q, "stripe-version");
		answer_header(a, "Stripe-Version", value != NULL ? value : "2024-06-20");
		value = request_header(q, "idempotency-key");
		if (value != NULL)
			answer_header(a, "Idempotency-Key", value);
		break;
	case PROFILE_GITHUB:
		snprintf(text, sizeof(text), "%.4s:%.4s:%.6s:%.6s:%.8s", id, id + 4, id + 8, id + 14, id + 20);
		answer_header(a, "X-GitHub-Request-Id", text);
		answer_header(a, "X-GitHub-Media-Type", "github.v3; format=json");
		break;
	case PROFILE_SLACK:
		answer_header(a, "X-Slack-Req-Id", id);
		break;
	case PROFILE_OPENAI:
		snprintf(text, sizeof(text), "req_%s", id);
		answer_header(a, "X-Request-Id", text);
		answer_header(a, "OpenAI-Version", "2020-10-01");
		break;
	case PROFILE_ANTHROPIC:
		snprintf(text, sizeof(text), "req_%.24s", id);
		answer_header(a, "Request-Id", text);
		break;
	}
}
