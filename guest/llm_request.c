/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm_request.c - one conversation out of three ways to write it.  Shapes: the API references of OpenAI (chat completions,
 * responses) and Anthropic (messages). */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guest/llm.h"
#include "guest/request.h"

struct taking {
	struct request *q;
	struct llm_call *c;
	size_t number; /* of the array's element */
	int r;
};

static const struct cJSON *
get(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *
text_of(const struct cJSON *object, const char *name)
{
	const struct cJSON *v = get(object, name);

	return cJSON_IsString(v) ? v->valuestring : NULL;
}

static void
problem(struct taking *t, const char *what, const char *field)
{
	char place[96];

	if (t->c->problem != NULL || t->r < 0)
		return;
	snprintf(place, sizeof(place), "%s[%zu]%s%s", t->c->api == LLM_RESPONSES ? "input" : "messages", t->number,
		 field[0] == '\0' ? "" : ".", field);
	t->c->problem = what;
	t->c->param = arena_copy(&t->q->arena, place, strlen(place));
	if (t->c->param == NULL)
		t->r = -ENOMEM;
}

/* The texts of a content: itself, or those of its blocks. */
static const char *
join(struct taking *t, const struct cJSON *content)
{
	const struct cJSON *block;
	size_t len = 0, n;
	char *out;

	if (content == NULL)
		return "";
	if (cJSON_IsString(content)) {
		t->c->input_len += strlen(content->valuestring);
		return content->valuestring;
	}
	if (!cJSON_IsArray(content))
		return "";
	for (block = content->child; block != NULL; block = block->next)
		len += text_of(block, "text") == NULL ? 0 : strlen(text_of(block, "text")) + 1;
	out = arena_alloc(&t->q->arena, len + 1);
	if (out == NULL) {
		t->r = -ENOMEM;
		return "";
	}
	t->c->input_len += len;
	len = 0;
	for (block = content->child; block != NULL; block = block->next) {
		const char *text = text_of(block, "text");

		if (text == NULL)
			continue;
		n = strlen(text);
		if (len > 0)
			out[len++] = '\n';
		memcpy(out + len, text, n);
		len += n;
	}
	return out;
}

static struct llm_message *
add_message(struct taking *t, const char *role, const struct cJSON *content)
{
	struct llm_message *m;

	if (t->c->messages == NULL || t->c->messages_len == LLM_MESSAGES_MAX) {
		problem(t, "too many messages for this twin", "");
		return NULL;
	}
	m = &t->c->messages[t->c->messages_len++];
	m->role = role;
	m->text = join(t, content);
	m->calls_at = t->c->calls_len;
	m->number = t->number;
	return m;
}

static void
add_call(struct taking *t, struct llm_message *m, const char *id, const char *name, const char *field)
{
	if (m == NULL)
		return;
	if (id == NULL || name == NULL) {
		problem(t, "a tool call needs an id and a name", field);
		return;
	}
	if (t->c->calls_len == LLM_CALLS_MAX) {
		problem(t, "too many tool calls for this twin", field);
		return;
	}
	t->c->calls[t->c->calls_len++] = (struct llm_tool){ .id = id, .name = name };
	m->calls_len++;
}

static void
add_result(struct taking *t, const char *of, const struct cJSON *content, const char *field)
{
	struct llm_message *m;

	if (of == NULL) {
		problem(t, "a tool's result names the call that it answers", field);
		return;
	}
	m = add_message(t, "tool", content);
	if (m == NULL)
		return;
	m->result_of = of;
	for (size_t k = t->c->calls_len; k > 0 && m->tool == NULL; k--)
		if (strcmp(t->c->calls[k - 1].id, of) == 0)
			m->tool = t->c->calls[k - 1].name;
}

/* Of who speaks; results of tools are another matter. */
static bool
is_role(const char *role)
{
	static const char *const roles[] = { "system", "developer", "user", "assistant" };

	for (size_t i = 0; role != NULL && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(role, roles[i]) == 0)
			return true;
	return false;
}

static void
take_chat(struct taking *t, const struct cJSON *message)
{
	const char *role = text_of(message, "role");
	const struct cJSON *calls = get(message, "tool_calls");
	struct llm_message *m;

	if (!is_role(role) && (role == NULL || strcmp(role, "tool") != 0)) {
		problem(t, "the role of a message is system, developer, user, assistant or tool", "role");
		return;
	}
	if (strcmp(role, "tool") == 0) {
		add_result(t, text_of(message, "tool_call_id"), get(message, "content"), "tool_call_id");
		return;
	}
	m = add_message(t, strcmp(role, "developer") == 0 ? "system" : role, get(message, "content"));
	for (const struct cJSON *call = cJSON_IsArray(calls) ? calls->child : NULL; call != NULL; call = call->next) {
		const struct cJSON *function = get(call, "function"), *arguments = get(function, "arguments");

		if (!cJSON_IsString(arguments))
			problem(t, "the arguments of a tool call are a string of JSON", "tool_calls");
		add_call(t, m, text_of(call, "id"), text_of(function, "name"), "tool_calls");
	}
}

static void
take_item(struct taking *t, const struct cJSON *item)
{
	const char *type = text_of(item, "type"), *role = text_of(item, "role");
	struct llm_message *last = t->c->messages_len == 0 ? NULL : &t->c->messages[t->c->messages_len - 1];

	if (type == NULL || strcmp(type, "message") == 0) {
		if (!is_role(role))
			problem(t, "the role of a message is system, developer, user or assistant", "role");
		else
			add_message(t, strcmp(role, "developer") == 0 ? "system" : role, get(item, "content"));
	} else if (strcmp(type, "function_call") == 0) {
		/* calls of one reply follow one another, and its text */
		if (last == NULL || strcmp(last->role, "assistant") != 0)
			last = add_message(t, "assistant", NULL);
		add_call(t, last, text_of(item, "call_id"), text_of(item, "name"), "call_id");
	} else if (strcmp(type, "function_call_output") == 0) {
		add_result(t, text_of(item, "call_id"), get(item, "output"), "call_id");
	}
}

static void
take_blocks(struct taking *t, const struct cJSON *message)
{
	const char *role = text_of(message, "role");
	const struct cJSON *content = get(message, "content"), *block;
	struct llm_message *m = NULL;
	bool results = false, other = !cJSON_IsArray(content);

	if (role == NULL || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)) {
		problem(t, "the role of a message is user or assistant", "role");
		return;
	}
	for (block = cJSON_IsArray(content) ? content->child : NULL; block != NULL; block = block->next) {
		const char *type = text_of(block, "type");

		if (type != NULL && strcmp(type, "tool_result") == 0) {
			results = true;
			add_result(t, text_of(block, "tool_use_id"), get(block, "content"), "content");
		} else {
			other = true;
		}
	}
	if (other || !results)
		m = add_message(t, role, content);
	for (block = m != NULL && cJSON_IsArray(content) ? content->child : NULL; block != NULL; block = block->next)
		if (text_of(block, "type") != NULL && strcmp(text_of(block, "type"), "tool_use") == 0)
			add_call(t, m, text_of(block, "id"), text_of(block, "name"), "content");
}

static void
take_all(struct taking *t, const struct cJSON *array)
{
	for (const struct cJSON *v = array->child; v != NULL && t->c->problem == NULL && t->r == 0; v = v->next) {
		if (!cJSON_IsObject(v))
			problem(t, "a message is an object", "");
		else if (t->c->api == LLM_CHAT)
			take_chat(t, v);
		else if (t->c->api == LLM_RESPONSES)
			take_item(t, v);
		else
			take_blocks(t, v);
		t->number++;
	}
}

static void
count_turns(struct llm_call *c)
{
	c->turn = 1;
	for (size_t i = 0; i < c->messages_len; i++)
		if (strcmp(c->messages[i].role, "assistant") == 0 &&
		    (i == 0 || strcmp(c->messages[i - 1].role, "assistant") != 0))
			c->turn++;
}

/* A text of the user, or all that the array says.  False: it is neither. */
static bool
take_input(struct taking *t, const struct cJSON *input)
{
	if (t->c->api == LLM_RESPONSES && cJSON_IsString(input))
		add_message(t, "user", input);
	else if (cJSON_IsArray(input) && input->child != NULL)
		take_all(t, input);
	else
		return false;
	return true;
}

/* What the model said: its text and calls, with the ids that the response had. */
static void
take_reply(struct taking *t, const struct llm_stored *s)
{
	struct llm_message *m = add_message(t, "assistant", NULL);
	const struct cJSON *call = s->turn->calls == NULL ? NULL : s->turn->calls->child;
	char id[64];

	if (m != NULL && s->turn->text != NULL) {
		m->text = s->turn->text;
		t->c->input_len += strlen(m->text);
	}
	for (size_t i = 0; call != NULL && t->r == 0; call = call->next, i++) {
		const char *copy;

		snprintf(id, sizeof(id), "call_%s%02zu", s->id, i);
		copy = arena_copy(&t->q->arena, id, strlen(id));
		if (copy == NULL)
			t->r = -ENOMEM;
		else
			add_call(t, m, copy, text_of(call, "name"), "");
	}
}

/* The conversation up to the response that is named, from its beginning. */
static int
take_previous(struct taking *t, struct llm *l, const struct cJSON *name)
{
	const struct llm_stored *s, **chain;
	size_t len = 0;
	char text[200];

	if (cJSON_IsNull(name))
		return 0;
	s = cJSON_IsString(name) ? llm_stored_find(l, name->valuestring) : NULL;
	if (s == NULL && l->lost)
		return llm_refuse(t->q, t->c, 507, NULL, "more responses were stored than this twin keeps");
	if (s == NULL) {
		snprintf(text, sizeof(text), "Previous response with id '%.100s' not found.",
			 cJSON_IsString(name) ? name->valuestring : "");
		return llm_refuse(t->q, t->c, 400, "previous_response_not_found", text);
	}
	t->c->previous = s;
	chain = arena_alloc(&t->q->arena, LLM_MESSAGES_MAX * sizeof(*chain));
	if (chain == NULL)
		return -ENOMEM;
	for (; s != NULL && len < LLM_MESSAGES_MAX; s = s->before)
		chain[len++] = s;
	if (s != NULL)
		problem(t, "too many messages for this twin", "");
	while (len > 0 && t->c->problem == NULL && t->r == 0) {
		s = chain[--len];
		(void)take_input(t, s->input); /* it was one when it was kept */
		take_reply(t, s);
	}
	return t->r;
}

/* see llm.h */
int
llm_request(struct llm *l, struct request *q, enum llm_api api, struct llm_call *c)
{
	const struct cJSON *body = request_member(q, "body"), *array, *usage;
	struct taking t = { .q = q, .c = c };
	int r;

	*c = (struct llm_call){ .api = api, .model = "" };
	if (api == LLM_MODELS)
		return 0;
	if (!cJSON_IsObject(body)) {
		c->problem = "the body is a JSON object";
		return 0;
	}
	if (text_of(body, "model") == NULL) {
		c->problem = "you must provide a model parameter";
		c->param = "model";
		return 0;
	}
	c->model = text_of(body, "model");
	c->streams = cJSON_IsTrue(get(body, "stream"));
	usage = get(body, "stream_options");
	c->tells_usage = cJSON_IsTrue(get(usage, "include_usage"));
	if (api == LLM_EMBEDDINGS)
		return 0;
	if (api == LLM_RESPONSES && get(body, "conversation") != NULL && !cJSON_IsNull(get(body, "conversation"))) {
		c->problem = "this twin keeps no conversations: name the response before as previous_response_id";
		c->param = "conversation";
		return 0;
	}
	c->messages = arena_alloc(&q->arena, LLM_MESSAGES_MAX * sizeof(*c->messages));
	c->calls = arena_alloc(&q->arena, LLM_CALLS_MAX * sizeof(*c->calls));
	if (c->messages == NULL || c->calls == NULL)
		return -ENOMEM;
	if (api == LLM_RESPONSES && get(body, "previous_response_id") != NULL) {
		r = take_previous(&t, l, get(body, "previous_response_id"));
		if (r < 0 || c->status != 0)
			return r;
	}
	array = get(body, api == LLM_RESPONSES ? "input" : "messages");
	t.number = 0;
	if (!take_input(&t, array))
		c->problem = api == LLM_RESPONSES ? "input is a text or an array of items"
						  : "messages is an array of at least one message";
	if (c->problem == NULL && c->messages_len == 0)
		c->problem = "nothing in the request is a message";
	if (c->problem != NULL && c->param == NULL)
		c->param = api == LLM_RESPONSES ? "input" : "messages";
	count_turns(c);
	return t.r;
}
