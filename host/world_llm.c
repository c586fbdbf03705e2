/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_llm.c - a service of kind llm: the script of its turns, and what it refuses.  guest/llm.c reads the same. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/world_read.h"

#define TURNS_MAX 1000u
#define CALLS_MAX 99u /* tool calls of one turn: their ids end in two digits */
#define MODELS_MAX 100u
#define TEXT_MAX (256u << 10)
#define TURN_MAX 4096u /* a conversation has no more messages */

/* Routes of calls that no turn answers. */
#define OWN 3u
static const char *const own[OWN] = { "embeddings", "models", "refused" };

static bool
is_own(const char *id)
{
	for (size_t i = 0; i < OWN; i++)
		if (strcmp(own[i], id) == 0)
			return true;
	return false;
}

static const struct cJSON *
get(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static int
read_text(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, TEXT_MAX, &s);
}

static int
read_tokens(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;

	(void)arg;
	return wr_integer(c, v, 0, 1000000000, &n);
}

static int
read_turn_number(struct wr *c, const struct cJSON *v, void *arg)
{
	uint64_t n;
	int r = wr_integer(c, v, 1, TURN_MAX, &n);

	(void)arg;
	if (r < 0)
		diag_fix(c->d, "turn 1 answers the first message, turn 2 the one after the model's first reply");
	return r;
}

static int
read_role(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const roles[] = { "system", "user", "assistant", "tool", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, roles, &which);
}

static int
read_when(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "turn", read_turn_number, 0, NULL },
		{ "last_role", read_role, 0, NULL },
		{ "tool_result_for", read_text, 0, NULL },
		{ "contains", read_text, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "when", arg);
}

static int
read_tool_name(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;
	int r = wr_string(c, v, 1, 64, &s);

	(void)arg;
	if (r == 0 && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")]) {
		r = wr_fail(c, -EPROTO, "a tool's name has letters, digits, '_' and '-' only");
		diag_fix(c->d, "write the name as the workflow declares the tool");
	}
	return r;
}

static int
read_arguments(struct wr *c, const struct cJSON *v, void *arg)
{
	int r;

	(void)arg;
	if (cJSON_IsObject(v))
		return 0;
	r = wr_fail(c, -EPROTO, "expected an object, found %s", wr_type(v));
	diag_fix(c->d, "write \"arguments\": { ... }; the twin makes the text of it that the API has");
	return r;
}

static int
read_call(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "name", read_tool_name, WR_REQUIRED, "\"name\": \"find_order\"" },
		{ "arguments", read_arguments, WR_REQUIRED, "\"arguments\": {}" },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "a tool call", arg);
}

static int
read_calls(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 1, CALLS_MAX, "tool_calls", read_call, arg);
}

static int
read_finish(struct wr *c, const struct cJSON *v, void *arg)
{
	static const char *const words[] = { "stop", "tool_calls", "length", "content_filter", NULL };
	size_t which;

	(void)arg;
	return wr_word(c, v, words, &which);
}

static int
read_usage(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "input", read_tokens, 0, NULL },
		{ "output", read_tokens, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "usage", arg);
}

static int
read_reply(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "text", read_text, 0, NULL },
		{ "tool_calls", read_calls, 0, NULL },
		{ "finish", read_finish, 0, NULL },
		{ "usage", read_usage, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	const struct cJSON *finish;
	int r = wr_object(c, v, keys, "a reply", arg);

	if (r < 0)
		return r;
	finish = get(v, "finish");
	if (!get(v, "text") && !get(v, "tool_calls")) {
		r = wr_fail(c, -EPROTO, "the reply says nothing and calls nothing");
		diag_fix(c->d, "add \"text\" or \"tool_calls\"");
	} else if (finish && strcmp(finish->valuestring, "tool_calls") == 0 && !get(v, "tool_calls")) {
		r = wr_fail(c, -EPROTO, "the reply ends for its tool calls, but has none");
		diag_fix(c->d, "add \"tool_calls\", or take \"finish\" out");
	}
	return r;
}

static int
read_stream(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "chunk", read_turn_number, WR_REQUIRED, "\"chunk\": 8, the characters of one piece" },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "stream", arg);
}

static int
read_id(struct wr *c, const struct cJSON *v, void *arg)
{
	const struct cJSON *script = arg, *other;
	const char *s;
	int r = wr_string(c, v, 1, 64, &s);

	if (r == 0 && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")]) {
		r = wr_fail(c, -EPROTO, "an id has letters, digits, '_', '-' and '.' only");
		diag_fix(c->d, "write an id such as \"ask\"");
	} else if (r == 0 && (is_own(s))) {
		r = wr_fail(c, -EPROTO, "the id \"%s\" is taken: calls that need no script have it", s);
		diag_fix(c->d, "choose another id");
	}
	for (other = r == 0 ? script->child : NULL; other && get(other, "id") != v; other = other->next) {
		if (!cJSON_IsString(get(other, "id")) || strcmp(get(other, "id")->valuestring, s) != 0)
			continue;
		r = wr_fail(c, -EPROTO, "there is a turn \"%s\" already", s);
		diag_fix(c->d, "give each turn an id of its own");
		break;
	}
	return r;
}

static int
read_turn(struct wr *c, const struct cJSON *v, void *arg)
{
	static const struct wr_key keys[] = {
		{ "id", read_id, WR_REQUIRED, "\"id\": \"ask\"" },
		{ "when", read_when, 0, NULL },
		{ "reply", read_reply, WR_REQUIRED, "\"reply\": { \"text\": \"...\" }" },
		{ "stream", read_stream, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "a turn", arg);
}

static int
read_flag(struct wr *c, const struct cJSON *v, void *arg)
{
	bool yes;

	(void)arg;
	return wr_bool(c, v, &yes);
}

static int
read_model(struct wr *c, const struct cJSON *v, void *arg)
{
	const char *s;

	(void)arg;
	return wr_string(c, v, 1, 200, &s);
}

static int
read_models(struct wr *c, const struct cJSON *v, void *arg)
{
	return wr_array(c, v, 1, MODELS_MAX, "models", read_model, arg);
}

static int
read_validate(struct wr *c, const struct cJSON *v)
{
	static const struct wr_key keys[] = {
		{ "tool_messages_answer_calls", read_flag, 0, NULL },
		{ "models", read_models, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return wr_object(c, v, keys, "validate", NULL);
}

/* A key that the other kind has. */
static int
refuse_keys(struct wr *c, const struct cJSON *service, const char *const *names, const char *kind)
{
	for (size_t i = 0; names[i]; i++) {
		size_t mark;
		int r;

		if (!get(service, names[i]))
			continue;
		mark = wr_enter(c, names[i]);
		r = wr_fail_key(c, -EPROTO, "a service of kind \"%s\" has no \"%s\"", kind, names[i]);
		diag_fix(c->d, "take it out, or change the kind");
		wr_leave(c, mark);
		return r;
	}
	return 0;
}

static int
check_profile(struct wr *c, const struct cJSON *service)
{
	const struct cJSON *profile = get(service, "profile");
	int r;

	if (profile &&
	    (strncmp(profile->valuestring, "openai", 6) == 0 || strncmp(profile->valuestring, "anthropic", 9) == 0))
		return 0;
	r = wr_fail(c, -EPROTO, "a service of kind \"llm\" needs a profile that says whose API it has");
	diag_fix(c->d,
		 "write \"profile\": \"openai\" (chat completions, responses, embeddings) or \"anthropic\" (messages)");
	return r;
}

int
world_read_llm(struct wr *c, const struct cJSON *service)
{
	static const char *const http[] = { "routes", "state", "variables", "idempotency", NULL };
	static const char *const llm[] = { "script", "validate", NULL };
	const struct cJSON *script = get(service, "script"), *validate = get(service, "validate");
	union {
		const struct cJSON *in;
		void *out;
	} same = { .in = script };
	size_t mark;
	int r;

	if (strcmp(get(service, "kind")->valuestring, "llm") != 0)
		return refuse_keys(c, service, llm, "http");
	if ((r = refuse_keys(c, service, http, "llm")) < 0 || (r = check_profile(c, service)) < 0)
		return r;
	if (!script) {
		r = wr_fail(c, -EPROTO, "a service of kind \"llm\" needs a script");
		diag_fix(c->d, "add \"script\": [ { \"id\": \"hello\", \"reply\": { \"text\": \"Hello.\" } } ]");
		return r;
	}
	mark = wr_enter(c, "script");
	r = wr_array(c, script, 0, TURNS_MAX, "turns", read_turn, same.out);
	wr_leave(c, mark);
	if (r < 0 || !validate)
		return r;
	mark = wr_enter(c, "validate");
	r = read_validate(c, validate);
	wr_leave(c, mark);
	return r;
}

const char *
world_llm_route(const struct world_service *s, size_t i)
{
	const struct cJSON *script = get(s->json, "script"), *turn;
	size_t n = 0;

	if (!script)
		return NULL;
	cJSON_ArrayForEach(turn, script)
	{
		if (n++ == i)
			return get(turn, "id")->valuestring;
	}
	return i - n < OWN ? own[i - n] : NULL;
}

const char *
world_llm_find(const struct world_service *s, const char *name)
{
	const struct cJSON *script = get(s->json, "script"), *turn;

	if (!script)
		return NULL;
	cJSON_ArrayForEach(turn, script)
	{
		if (strcmp(get(turn, "id")->valuestring, name) == 0)
			return get(turn, "id")->valuestring;
	}
	for (size_t i = 0; i < OWN; i++)
		if (strcmp(own[i], name) == 0)
			return own[i];
	return NULL;
}

void
world_llm_url(struct world_service *s)
{
	const struct cJSON *profile = get(s->json, "profile");
	size_t len = strlen(s->url);

	if (get(s->json, "script") && cJSON_IsString(profile) && strncmp(profile->valuestring, "openai", 6) == 0)
		(void)snprintf(s->url + len, sizeof(s->url) - len, "/v1");
}
