/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm.c - the script: read, and which of its turns answers. */
#include "guest/llm.h"

#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"

#define CHUNK_USUAL 16u

static const struct cJSON *
get(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* ---- the world -------------------------------------------------------------------------------------------------------- */

/* NULL stays where there is none. */
static int
read_text(struct reading *g, const struct cJSON *object, const char *name, const char **out)
{
	const struct cJSON *v = get(object, name);

	if (v == NULL)
		return 0;
	if (!cJSON_IsString(v))
		return reading_fail(g, -EPROTO, "%s is a text", name);
	*out = v->valuestring;
	return 0;
}

static int
read_count(struct reading *g, const struct cJSON *object, const char *name, uint64_t *out)
{
	const struct cJSON *v = get(object, name);

	if (v == NULL)
		return 0;
	if (!cJSON_IsNumber(v) || v->valuedouble < 0 || v->valuedouble > 1e9 || floor(v->valuedouble) != v->valuedouble)
		return reading_fail(g, -EPROTO, "%s is a whole number", name);
	*out = (uint64_t)v->valuedouble;
	return 0;
}

static int
read_when(struct reading *g, const struct cJSON *when, struct llm_turn *t)
{
	int r;

	if (when == NULL)
		return 0;
	if ((r = reading_check_keys(g, when, "turn last_role tool_result_for contains")) < 0 ||
	    (r = read_count(g, when, "turn", &t->turn)) < 0 ||
	    (r = read_text(g, when, "last_role", &t->last_role)) < 0 ||
	    (r = read_text(g, when, "tool_result_for", &t->tool_result_for)) < 0)
		return r;
	return read_text(g, when, "contains", &t->contains);
}

static int
read_reply(struct reading *g, const struct cJSON *reply, struct llm_turn *t)
{
	const struct cJSON *usage = get(reply, "usage");
	int r;

	if (!cJSON_IsObject(reply))
		return reading_fail(g, -EPROTO, "a turn has a reply");
	if ((r = reading_check_keys(g, reply, "text tool_calls finish usage")) < 0 ||
	    (r = read_text(g, reply, "text", &t->text)) < 0)
		return r;
	t->calls = get(reply, "tool_calls");
	if (t->calls != NULL && (!cJSON_IsArray(t->calls) || t->calls->child == NULL))
		return reading_fail(g, -EPROTO, "tool_calls is an array of at least one call");
	for (const struct cJSON *c = t->calls == NULL ? NULL : t->calls->child; c != NULL; c = c->next)
		if (!cJSON_IsString(get(c, "name")) || !cJSON_IsObject(get(c, "arguments")))
			return reading_fail(g, -EPROTO, "a tool call has a name and arguments, an object");
	t->finish = t->calls != NULL ? "tool_calls" : "stop";
	if ((r = read_text(g, reply, "finish", &t->finish)) < 0)
		return r;
	t->has_usage = usage != NULL;
	return usage == NULL || (r = read_count(g, usage, "input", &t->input)) < 0
		       ? (usage == NULL ? 0 : r)
		       : read_count(g, usage, "output", &t->output);
}

static int
read_turn(struct reading *g, const struct cJSON *turn, struct llm_turn *t, struct route *route)
{
	const struct cJSON *stream = get(turn, "stream"), *id = get(turn, "id");
	uint64_t chunk = CHUNK_USUAL;
	int r;

	if ((r = reading_check_keys(g, turn, "id when reply stream")) < 0)
		return r;
	if (!cJSON_IsString(id))
		return reading_fail(g, -EPROTO, "a turn has an id");
	route->id = id->valuestring;
	route->method = "POST";
	route->when_text = "";
	if ((r = read_when(g, get(turn, "when"), t)) < 0 || (r = read_reply(g, get(turn, "reply"), t)) < 0)
		return r;
	if (stream != NULL &&
	    ((r = reading_check_keys(g, stream, "chunk")) < 0 || (r = read_count(g, stream, "chunk", &chunk)) < 0))
		return r;
	t->chunk = chunk == 0 ? 1 : (size_t)chunk;
	return 0;
}

static int
read_validate(struct reading *g, const struct cJSON *validate, struct llm *l)
{
	const struct cJSON *models = get(validate, "models"), *checks = get(validate, "tool_messages_answer_calls");
	int r;

	l->calls_are_checked = !cJSON_IsFalse(checks);
	if (validate == NULL)
		return 0;
	if ((r = reading_check_keys(g, validate, "tool_messages_answer_calls models")) < 0)
		return r;
	if (models == NULL)
		return 0;
	if (!cJSON_IsArray(models))
		return reading_fail(g, -EPROTO, "models is an array of texts");
	l->models = arena_alloc(&g->world->arena, ((size_t)cJSON_GetArraySize(models) + 1) * sizeof(*l->models));
	if (l->models == NULL)
		return -ENOMEM;
	for (const struct cJSON *m = models->child; m != NULL; m = m->next) {
		if (!cJSON_IsString(m))
			return reading_fail(g, -EPROTO, "models is an array of texts");
		l->models[l->models_len++] = m->valuestring;
	}
	return 0;
}

/* see llm.h */
int
llm_read(struct reading *g, const struct cJSON *service)
{
	struct service *s = g->service;
	size_t len = g->pointer.len, script_len, i = 0;
	const struct cJSON *script;
	struct arena *arena = &g->world->arena;
	int r;

	s->llm = arena_alloc(arena, sizeof(*s->llm));
	if (s->llm == NULL)
		return -ENOMEM;
	if ((r = read_validate(g, get(service, "validate"), s->llm)) < 0)
		return r;
	script = reading_enter(g, service, "script");
	script_len = g->pointer.len;
	if (!cJSON_IsArray(script) || cJSON_GetArraySize(script) > (int)LLM_TURNS_MAX)
		return reading_fail(g, -EPROTO, "script is an array of at most %u turns", LLM_TURNS_MAX);
	s->llm->turns_len = (size_t)cJSON_GetArraySize(script);
	/* three more for what needs no script */
	s->llm->turns = arena_alloc(arena, (s->llm->turns_len + 3) * sizeof(*s->llm->turns));
	s->routes = arena_alloc(arena, (s->llm->turns_len + 3) * sizeof(*s->routes));
	if (s->llm->turns == NULL || s->routes == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = script->child; c != NULL; c = c->next, i++) {
		buf_format(&g->pointer, "/%zu", i);
		if ((r = read_turn(g, c, &s->llm->turns[i], &s->routes[i])) < 0)
			return r;
		g->pointer.len = script_len;
	}
	s->routes[i] = (struct route){ .id = "embeddings", .method = "POST", .when_text = "" };
	s->routes[i + 1] = (struct route){ .id = "models", .method = "GET", .when_text = "" };
	s->routes[i + 2] = (struct route){ .id = "refused", .method = "POST", .when_text = "" };
	s->routes_len = i + 3;
	g->pointer.len = len;
	return 0;
}

/* ---- requests --------------------------------------------------------------------------------------------------------- */

/* '*' is any run of characters.  The pattern is the world's: short, and no backtracking further than its last star. */
static bool
is_like(const char *pattern, const char *text)
{
	const char *star = NULL, *again = NULL;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			again = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool
is_model(const struct llm *l, const char *model)
{
	for (size_t i = 0; i < l->models_len; i++)
		if (is_like(l->models[i], model))
			return true;
	return l->models_len == 0;
}

static bool
find_api(const struct service *s, const struct request *q, enum llm_api *api)
{
	static const struct {
		enum profile profile;
		const char *method, *path;
		enum llm_api api;
	} apis[] = {
		{ PROFILE_OPENAI, "POST", "chat/completions", LLM_CHAT },
		{ PROFILE_OPENAI, "POST", "responses", LLM_RESPONSES },
		{ PROFILE_OPENAI, "POST", "embeddings", LLM_EMBEDDINGS },
		{ PROFILE_OPENAI, "GET", "models", LLM_MODELS },
		{ PROFILE_ANTHROPIC, "POST", "messages", LLM_MESSAGES },
		{ PROFILE_ANTHROPIC, "GET", "models", LLM_MODELS },
	};
	char path[64];
	size_t at = q->segments_len > 0 && strcmp(q->segments[0], "v1") == 0 ? 1 : 0;

	if (q->segments_len - at < 1 || q->segments_len - at > 2)
		return false;
	snprintf(path, sizeof(path), "%s%s%s", q->segments[at], q->segments_len - at == 2 ? "/" : "",
		 q->segments_len - at == 2 ? q->segments[at + 1] : "");
	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		if (apis[i].profile != s->profile || strcmp(apis[i].method, q->method) != 0 ||
		    strcmp(apis[i].path, path) != 0)
			continue;
		*api = apis[i].api;
		return true;
	}
	return false;
}

/* Messages of one call's results stand right behind it. */
static size_t
results_end(const struct llm_call *c, size_t i)
{
	for (i++; i < c->messages_len && strcmp(c->messages[i].role, "tool") == 0;)
		i++;
	return i;
}

static bool
is_answered(const struct llm_call *c, size_t from, size_t to, const char *id)
{
	for (size_t i = from; i < to; i++)
		if (strcmp(c->messages[i].result_of, id) == 0)
			return true;
	return false;
}

static bool
is_called(const struct llm_call *c, size_t from, size_t to, const char *id)
{
	for (size_t i = from; i < to; i++)
		if (strcmp(c->calls[i].id, id) == 0)
			return true;
	return false;
}

/* see llm.h */
int
llm_refuse(struct request *q, struct llm_call *c, int status, const char *code, const char *text)
{
	c->status = status;
	c->code = code;
	c->refusal = arena_copy(&q->arena, text, strlen(text));
	return c->refusal == NULL ? -ENOMEM : 0;
}

static int
refuse_call(struct request *q, struct llm_call *c, const struct llm_message *m, const char *id, bool unanswered)
{
	char text[512];

	if (c->api == LLM_MESSAGES)
		snprintf(text, sizeof(text),
			 unanswered
				 ? "messages.%zu: `tool_use` ids were found without `tool_result` blocks immediately "
				   "after: %.100s. Each `tool_use` block must have a corresponding `tool_result` "
				   "block in the next message."
				 : "messages.%zu: unexpected `tool_use_id` found in `tool_result` blocks: %.100s. Each "
				   "`tool_result` block must have a corresponding `tool_use` block in the previous "
				   "message.",
			 m->number, id);
	else if (c->api == LLM_RESPONSES)
		snprintf(text, sizeof(text),
			 unanswered ? "No tool output found for function call %.100s."
				    : "No tool call found for function call output with call_id %.100s.",
			 id);
	else if (unanswered)
		snprintf(text, sizeof(text),
			 "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
			 "'tool_call_id'. The following tool_call_ids did not have response messages: %.100s "
			 "(messages[%zu])",
			 id, m->number);
	else
		snprintf(text, sizeof(text),
			 "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
			 "'tool_calls' (messages[%zu].tool_call_id is %.100s)",
			 m->number, id);
	return llm_refuse(q, c, 400, NULL, text);
}

/* Every call is answered right behind it, and nothing is answered that was not called. */
static int
check_calls(struct request *q, struct llm_call *c)
{
	for (size_t i = 0; i < c->messages_len; i++) {
		const struct llm_message *m = &c->messages[i];
		size_t end = results_end(c, i);

		if (m->result_of != NULL) /* of no assistant's: those are skipped below */
			return refuse_call(q, c, m, m->result_of, false);
		for (size_t k = m->calls_at; k < m->calls_at + m->calls_len; k++)
			if (!is_answered(c, i + 1, end, c->calls[k].id))
				return refuse_call(q, c, m, c->calls[k].id, true);
		if (m->calls_len == 0)
			continue;
		for (size_t k = i + 1; k < end; k++)
			if (!is_called(c, m->calls_at, m->calls_at + m->calls_len, c->messages[k].result_of))
				return refuse_call(q, c, &c->messages[k], c->messages[k].result_of, false);
		i = end - 1;
	}
	return 0;
}

/* A result behind the assistant's last message is one of the tool that has this name. */
static bool
has_result_for(const struct llm_call *c, const char *name)
{
	for (size_t i = c->messages_len; i > 0 && strcmp(c->messages[i - 1].role, "assistant") != 0; i--)
		if (c->messages[i - 1].tool != NULL && strcmp(c->messages[i - 1].tool, name) == 0)
			return true;
	return false;
}

/* How many of a turn's conditions hold before the first that does not, which out names.  True: all hold. */
static bool
fits(const struct llm_turn *t, const struct llm_call *c, size_t *held, char *out, size_t size)
{
	const struct llm_message *last = &c->messages[c->messages_len - 1];

	*held = 0;
	if (t->turn != 0 && t->turn != c->turn) {
		snprintf(out, size, "this is turn %zu of the conversation, the script's is turn %llu", c->turn,
			 (unsigned long long)t->turn);
		return false;
	}
	*held += t->turn != 0;
	if (t->last_role != NULL && strcmp(t->last_role, last->role) != 0) {
		snprintf(out, size, "the last message is of role '%.20s', the turn wants '%.20s'", last->role,
			 t->last_role);
		return false;
	}
	*held += t->last_role != NULL;
	if (t->tool_result_for != NULL && !has_result_for(c, t->tool_result_for)) {
		snprintf(out, size, "no result of the tool '%.60s' stands at the end", t->tool_result_for);
		return false;
	}
	*held += t->tool_result_for != NULL;
	if (t->contains != NULL && strstr(last->text, t->contains) == NULL) {
		snprintf(out, size, "the last message does not contain '%.100s'", t->contains);
		return false;
	}
	return true;
}

static void
find_turn(struct service *s, struct answer *a, const struct llm_call *c)
{
	char difference[sizeof(a->difference)] = "the script has no turns";
	size_t best = 0, held;

	for (size_t i = 0; i < s->llm->turns_len; i++) {
		if (fits(&s->llm->turns[i], c, &held, difference, sizeof(difference))) {
			a->route = &s->routes[i];
			a->nearest = NULL;
			a->difference[0] = '\0';
			return;
		}
		if (a->nearest != NULL && held <= best)
			continue;
		a->nearest = &s->routes[i];
		best = held;
		memcpy(a->difference, difference, sizeof(difference));
	}
	if (a->nearest == NULL)
		memcpy(a->difference, difference, sizeof(difference));
}

static int
check_request(const struct service *s, struct request *q, struct llm_call *c)
{
	char text[400];

	if (c->status != 0) {
		s->state.budget->lost += c->status == 507;
		return 0;
	}
	if (c->problem != NULL) {
		snprintf(text, sizeof(text), "%.200s%s%.96s%s", c->problem, c->param == NULL ? "" : " (",
			 c->param == NULL ? "" : c->param, c->param == NULL ? "" : ")");
		return llm_refuse(q, c, 400, NULL, text);
	}
	if (c->api != LLM_MODELS && !is_model(s->llm, c->model)) {
		snprintf(text, sizeof(text),
			 s->profile == PROFILE_ANTHROPIC
				 ? "model: %.100s"
				 : "The model `%.100s` does not exist or you do not have access to it.",
			 c->model);
		return llm_refuse(q, c, 404, s->profile == PROFILE_ANTHROPIC ? NULL : "model_not_found", text);
	}
	return s->llm->calls_are_checked ? check_calls(q, c) : 0;
}

/* see llm.h */
int
llm_find(struct service *s, struct request *q, struct answer *a, struct llm_call *c)
{
	size_t own = s->llm->turns_len;
	enum llm_api api;
	int r;

	if (!find_api(s, q, &api)) {
		snprintf(a->difference, sizeof(a->difference), "%.20s %.150s is no call that this twin plays",
			 q->method, q->target);
		return 0;
	}
	if ((r = llm_request(s->llm, q, api, c)) < 0 || (r = check_request(s, q, c)) < 0)
		return r;
	if (c->status != 0)
		a->route = &s->routes[own + 2];
	else if (api == LLM_EMBEDDINGS)
		a->route = &s->routes[own];
	else if (api == LLM_MODELS)
		a->route = &s->routes[own + 1];
	else
		find_turn(s, a, c);
	return 0;
}
