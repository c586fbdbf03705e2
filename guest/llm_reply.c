/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm_reply.c - one turn of the script in the three forms that it has for clients, whole or as a stream of server-sent events.
 * Shapes: the API references of OpenAI (chat completions, responses) and Anthropic (messages); events: the HTML standard,
 * section 9.2. */
#include <cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/eval.h"
#include "guest/llm.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/utf8.h"

#define CREATED 1735689600 /* a fixed second: replies of the same call are the same in every run */
#define TOKEN_LEN 4u       /* bytes that stand for one token where the script does not say */
#define CALLS_MAX 128u     /* tool calls of one turn that get ids of their own text */

struct telling {
	const struct llm_turn *turn;
	const struct llm_call *c;
	struct answer *a;
	struct buf *out;
	struct arena *arena;
	char id[40];            /* of the reply, without its prefix */
	const char **arguments; /* of each call, JSON text */
	size_t calls_len;
	unsigned sequence; /* of an event of responses */
	uint64_t input, output;
};

/* ---- marks and frames of a stream ------------------------------------------------------------------------------------ */

/* Room for one more element of size bytes: the lengths at which it is doubled are powers of two.  False: no memory. */
static bool
make_room(struct answer *a, void **at, size_t len, size_t size)
{
	void *grown;

	if (len != 0 && (len < 64 || (len & (len - 1)) != 0))
		return true;
	grown = realloc(*at, (len == 0 ? 64 : 2 * len) * size);
	if (grown == NULL)
		a->body.failed = true;
	else
		*at = grown;
	return grown != NULL;
}

/* see llm.h */
void
answer_frame(struct answer *a)
{
	void *at = a->frames;

	if (!make_room(a, &at, a->frames_len, sizeof(*a->frames)))
		return;
	a->frames = at;
	a->frames[a->frames_len++] = a->body.len;
}

/* see llm.h */
void
answer_mark(struct answer *a, enum llm_part part, size_t from)
{
	void *at = a->marks;

	if (!make_room(a, &at, a->marks_len, sizeof(*a->marks)))
		return;
	a->marks = at;
	a->marks[a->marks_len++] = (struct answer_mark){ .part = part, .from = from, .to = a->body.len };
}

/* see llm.h */
size_t
answer_cut(const struct answer *a, enum llm_part part, double at, bool whole_frames)
{
	size_t all = 0, left, cut = a->body.len;

	for (size_t i = 0; i < a->marks_len; i++)
		all += a->marks[i].part == part ? a->marks[i].to - a->marks[i].from : 0;
	if (all == 0)
		return cut;
	left = (size_t)((double)all * at);
	for (size_t i = 0; i < a->marks_len; i++) {
		size_t len = a->marks[i].to - a->marks[i].from;

		if (a->marks[i].part != part)
			continue;
		if (left <= len) {
			cut = a->marks[i].from + left;
			break;
		}
		left -= len;
	}
	if (!whole_frames || a->frames_len == 0)
		return cut;
	/* the end of the last frame before that point: what follows of the text is missing, and no frame is broken */
	left = 0;
	for (size_t i = 0; i < a->frames_len && a->frames[i] <= cut; i++)
		left = a->frames[i];
	return left;
}

/* "data: " with what the caller puts, and the end of the event.  name NULL: an event without one. */
static void
event_begin(struct telling *t, const char *name)
{
	if (name != NULL)
		buf_format(t->out, "event: %s\n", name);
	buf_text(t->out, "data: ");
}

static void
event_end(struct telling *t)
{
	buf_text(t->out, "\n\n");
	answer_frame(t->a);
}

/* The next piece of text: as many characters as the turn says, none cut apart. */
static size_t
piece(const struct telling *t, const char *text)
{
	size_t at = 0, len = strlen(text);

	for (size_t n = 0; n < t->turn->chunk && at < len; n++) {
		uint32_t code;
		size_t step = utf8_decode(text + at, len - at, &code);

		at += step == 0 ? 1 : step;
	}
	return at;
}

/* The text as a JSON string, marked. */
static void
put_marked(struct telling *t, enum llm_part part, const char *text, size_t len)
{
	size_t from;

	from = t->out->len + 1; /* behind the quote */
	buf_json_string(t->out, text, len);
	if (t->out->len > from) {
		t->out->len--; /* before the other */
		answer_mark(t->a, part, from);
		t->out->len++;
	}
}

static void
put_id(struct telling *t, const char *prefix, size_t i)
{
	buf_format(t->out, "\"%s%s%02zu\"", prefix, t->id, i);
}

static const char *
name_of(const struct telling *t, size_t i)
{
	const struct cJSON *call = cJSON_GetArrayItem(t->turn->calls, (int)i);

	return cJSON_GetObjectItemCaseSensitive(call, "name")->valuestring;
}

/* ---- chat completions ------------------------------------------------------------------------------------------------- */

static void
chat_usage(struct telling *t)
{
	buf_format(t->out, "{\"prompt_tokens\":%llu,\"completion_tokens\":%llu,\"total_tokens\":%llu}",
		   (unsigned long long)t->input, (unsigned long long)t->output,
		   (unsigned long long)t->input + t->output);
}

static void
chat_head(struct telling *t, const char *object)
{
	buf_format(t->out, "{\"id\":\"chatcmpl-%s\",\"object\":\"%s\",\"created\":%d,\"model\":", t->id, object,
		   CREATED);
	buf_json_text(t->out, t->c->model);
	buf_text(t->out, ",\"service_tier\":\"default\",\"system_fingerprint\":null,\"choices\":[");
}

static void
chat_whole(struct telling *t)
{
	chat_head(t, "chat.completion");
	buf_text(t->out, "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
	if (t->turn->text != NULL)
		put_marked(t, LLM_TEXT, t->turn->text, strlen(t->turn->text));
	else
		buf_text(t->out, "null");
	buf_text(t->out, ",\"refusal\":null,\"annotations\":[]");
	for (size_t i = 0; i < t->calls_len; i++) {
		buf_text(t->out, i == 0 ? ",\"tool_calls\":[{\"id\":" : ",{\"id\":");
		put_id(t, "call_", i);
		buf_text(t->out, ",\"type\":\"function\",\"function\":{\"name\":");
		buf_json_text(t->out, name_of(t, i));
		buf_text(t->out, ",\"arguments\":");
		put_marked(t, LLM_ARGUMENTS, t->arguments[i], strlen(t->arguments[i]));
		buf_text(t->out, i + 1 == t->calls_len ? "}}]" : "}}");
	}
	buf_text(t->out, "},\"logprobs\":null,\"finish_reason\":");
	buf_json_text(t->out, t->turn->finish);
	buf_text(t->out, "}],\"usage\":");
	chat_usage(t);
	buf_text(t->out, "}");
}

static void
chunk_begin(struct telling *t)
{
	event_begin(t, NULL);
	chat_head(t, "chat.completion.chunk");
	buf_text(t->out, "{\"index\":0,\"delta\":{");
}

static void
chunk_end(struct telling *t, const char *finish)
{
	buf_text(t->out, "},\"logprobs\":null,\"finish_reason\":");
	buf_json_text(t->out, finish);
	buf_text(t->out, t->c->tells_usage ? "}],\"usage\":null}" : "}]}");
	event_end(t);
}

static void
chat_stream(struct telling *t)
{
	size_t n;

	chunk_begin(t);
	buf_format(t->out, "\"role\":\"assistant\",\"content\":%s,\"refusal\":null",
		   t->turn->text != NULL ? "\"\"" : "null");
	chunk_end(t, NULL);
	for (const char *s = t->turn->text == NULL ? "" : t->turn->text; *s != '\0'; s += n) {
		n = piece(t, s);
		chunk_begin(t);
		buf_text(t->out, "\"content\":");
		put_marked(t, LLM_TEXT, s, n);
		chunk_end(t, NULL);
	}
	for (size_t i = 0; i < t->calls_len; i++) {
		chunk_begin(t);
		buf_format(t->out, "\"tool_calls\":[{\"index\":%zu,\"id\":", i);
		put_id(t, "call_", i);
		buf_text(t->out, ",\"type\":\"function\",\"function\":{\"name\":");
		buf_json_text(t->out, name_of(t, i));
		buf_text(t->out, ",\"arguments\":\"\"}}]");
		chunk_end(t, NULL);
		for (const char *s = t->arguments[i]; *s != '\0'; s += n) {
			n = piece(t, s);
			chunk_begin(t);
			buf_format(t->out, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", i);
			put_marked(t, LLM_ARGUMENTS, s, n);
			buf_text(t->out, "}}]");
			chunk_end(t, NULL);
		}
	}
	chunk_begin(t);
	chunk_end(t, t->turn->finish);
	if (t->c->tells_usage) {
		event_begin(t, NULL);
		chat_head(t, "chat.completion.chunk");
		buf_text(t->out, "],\"usage\":");
		chat_usage(t);
		buf_text(t->out, "}");
		event_end(t);
	}
	event_begin(t, NULL);
	buf_text(t->out, "[DONE]");
	event_end(t);
}

/* ---- responses -------------------------------------------------------------------------------------------------------- */

static void
item_text(struct telling *t, bool done)
{
	buf_text(t->out, "{\"id\":");
	put_id(t, "msg_", 0);
	buf_format(t->out, ",\"type\":\"message\",\"status\":\"%s\",\"role\":\"assistant\",\"content\":[",
		   done ? "completed" : "in_progress");
	if (done) {
		buf_text(t->out, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
		buf_json_text(t->out, t->turn->text);
		buf_text(t->out, "}");
	}
	buf_text(t->out, "]}");
}

static void
item_call(struct telling *t, size_t i, bool done)
{
	buf_text(t->out, "{\"id\":");
	put_id(t, "fc_", i);
	buf_format(t->out,
		   ",\"type\":\"function_call\",\"status\":\"%s\",\"call_id\":", done ? "completed" : "in_progress");
	put_id(t, "call_", i);
	buf_text(t->out, ",\"name\":");
	buf_json_text(t->out, name_of(t, i));
	buf_text(t->out, ",\"arguments\":");
	if (done && !t->c->streams)
		put_marked(t, LLM_ARGUMENTS, t->arguments[i], strlen(t->arguments[i]));
	else
		buf_json_text(t->out, done ? t->arguments[i] : "");
	buf_text(t->out, "}");
}

static void
response(struct telling *t, bool done)
{
	bool cut = strcmp(t->turn->finish, "length") == 0 || strcmp(t->turn->finish, "content_filter") == 0;

	buf_format(t->out,
		   "{\"id\":\"resp_%s\",\"object\":\"response\",\"created_at\":%d,\"status\":\"%s\",\"error\":null,",
		   t->id, CREATED,
		   !done ? "in_progress"
		   : cut ? "incomplete"
			 : "completed");
	if (done && cut)
		buf_format(t->out, "\"incomplete_details\":{\"reason\":\"%s\"},",
			   t->turn->finish[0] == 'l' ? "max_output_tokens" : "content_filter");
	else
		buf_text(t->out, "\"incomplete_details\":null,");
	buf_text(t->out, "\"instructions\":null,\"max_output_tokens\":null,\"metadata\":{},\"model\":");
	buf_json_text(t->out, t->c->model);
	buf_text(t->out, ",\"parallel_tool_calls\":true,\"previous_response_id\":");
	if (t->c->previous != NULL)
		buf_format(t->out, "\"resp_%s\"", t->c->previous->id);
	else
		buf_text(t->out, "null");
	buf_text(t->out, ",\"temperature\":1,\"tool_choice\":\"auto\","
			 "\"tools\":[],\"top_p\":1,\"output\":[");
	if (done && t->turn->text != NULL)
		item_text(t, true);
	for (size_t i = 0; done && i < t->calls_len; i++) {
		if (i > 0 || t->turn->text != NULL)
			buf_text(t->out, ",");
		item_call(t, i, true);
	}
	buf_text(t->out, "],\"usage\":");
	if (done)
		buf_format(
			t->out,
			"{\"input_tokens\":%llu,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":%llu,"
			"\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%llu}",
			(unsigned long long)t->input, (unsigned long long)t->output,
			(unsigned long long)t->input + t->output);
	else
		buf_text(t->out, "null");
	buf_text(t->out, "}");
}

static void
step_begin(struct telling *t, const char *type)
{
	event_begin(t, type);
	buf_format(t->out, "{\"type\":\"%s\",\"sequence_number\":%u", type, t->sequence++);
}

static void
step_end(struct telling *t)
{
	buf_text(t->out, "}");
	event_end(t);
}

static void
step_response(struct telling *t, const char *type, bool done)
{
	step_begin(t, type);
	buf_text(t->out, ",\"response\":");
	response(t, done);
	step_end(t);
}

static void
step_place(struct telling *t, const char *type, const char *prefix, size_t i, size_t output)
{
	step_begin(t, type);
	buf_text(t->out, ",\"item_id\":");
	put_id(t, prefix, i);
	buf_format(t->out, ",\"output_index\":%zu", output);
}

static void
stream_text(struct telling *t)
{
	static const char part[] =
		",\"content_index\":0,\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":";
	size_t n;

	step_begin(t, "response.output_item.added");
	buf_text(t->out, ",\"output_index\":0,\"item\":");
	item_text(t, false);
	step_end(t);
	step_place(t, "response.content_part.added", "msg_", 0, 0);
	buf_text(t->out, part);
	buf_text(t->out, "\"\"}");
	step_end(t);
	for (const char *s = t->turn->text; *s != '\0'; s += n) {
		n = piece(t, s);
		step_place(t, "response.output_text.delta", "msg_", 0, 0);
		buf_text(t->out, ",\"content_index\":0,\"logprobs\":[],\"delta\":");
		put_marked(t, LLM_TEXT, s, n);
		step_end(t);
	}
	step_place(t, "response.output_text.done", "msg_", 0, 0);
	buf_text(t->out, ",\"content_index\":0,\"logprobs\":[],\"text\":");
	buf_json_text(t->out, t->turn->text);
	step_end(t);
	step_place(t, "response.content_part.done", "msg_", 0, 0);
	buf_text(t->out, part);
	buf_json_text(t->out, t->turn->text);
	buf_text(t->out, "}");
	step_end(t);
	step_begin(t, "response.output_item.done");
	buf_text(t->out, ",\"output_index\":0,\"item\":");
	item_text(t, true);
	step_end(t);
}

static void
stream_call(struct telling *t, size_t i, size_t output)
{
	size_t n;

	step_begin(t, "response.output_item.added");
	buf_format(t->out, ",\"output_index\":%zu,\"item\":", output);
	item_call(t, i, false);
	step_end(t);
	for (const char *s = t->arguments[i]; *s != '\0'; s += n) {
		n = piece(t, s);
		step_place(t, "response.function_call_arguments.delta", "fc_", i, output);
		buf_text(t->out, ",\"delta\":");
		put_marked(t, LLM_ARGUMENTS, s, n);
		step_end(t);
	}
	step_place(t, "response.function_call_arguments.done", "fc_", i, output);
	buf_text(t->out, ",\"name\":");
	buf_json_text(t->out, name_of(t, i));
	buf_text(t->out, ",\"arguments\":");
	buf_json_text(t->out, t->arguments[i]);
	step_end(t);
	step_begin(t, "response.output_item.done");
	buf_format(t->out, ",\"output_index\":%zu,\"item\":", output);
	item_call(t, i, true);
	step_end(t);
}

static void
response_stream(struct telling *t)
{
	bool cut = strcmp(t->turn->finish, "length") == 0 || strcmp(t->turn->finish, "content_filter") == 0;

	step_response(t, "response.created", false);
	step_response(t, "response.in_progress", false);
	if (t->turn->text != NULL)
		stream_text(t);
	for (size_t i = 0; i < t->calls_len; i++)
		stream_call(t, i, i + (t->turn->text != NULL));
	step_response(t, cut ? "response.incomplete" : "response.completed", true);
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static const char *
stop_reason(const struct telling *t)
{
	static const char *const reasons[][2] = { { "stop", "end_turn" },
						  { "tool_calls", "tool_use" },
						  { "length", "max_tokens" },
						  { "content_filter", "refusal" } };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i][0], t->turn->finish) == 0)
			return reasons[i][1];
	return t->turn->finish;
}

static void
message_head(struct telling *t)
{
	buf_format(t->out, "{\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", t->id);
	buf_json_text(t->out, t->c->model);
	buf_text(t->out, ",\"content\":[");
}

static void
message_tail(struct telling *t, bool done)
{
	buf_text(t->out, "],\"stop_reason\":");
	buf_json_text(t->out, done ? stop_reason(t) : NULL);
	buf_format(t->out, ",\"stop_sequence\":null,\"usage\":{\"input_tokens\":%llu,\"output_tokens\":%llu}}",
		   (unsigned long long)t->input, (unsigned long long)(done ? t->output : 1));
}

static void
message_whole(struct telling *t)
{
	message_head(t);
	if (t->turn->text != NULL) {
		buf_text(t->out, "{\"type\":\"text\",\"text\":");
		put_marked(t, LLM_TEXT, t->turn->text, strlen(t->turn->text));
		buf_text(t->out, "}");
	}
	for (size_t i = 0; i < t->calls_len; i++) {
		size_t from;

		buf_text(t->out, i > 0 || t->turn->text != NULL ? ",{\"type\":\"tool_use\",\"id\":"
								: "{\"type\":\"tool_use\",\"id\":");
		put_id(t, "toolu_", i);
		buf_text(t->out, ",\"name\":");
		buf_json_text(t->out, name_of(t, i));
		buf_text(t->out, ",\"input\":");
		from = t->out->len;
		buf_text(t->out, t->arguments[i]);
		answer_mark(t->a, LLM_ARGUMENTS, from);
		buf_text(t->out, "}");
	}
	message_tail(t, true);
}

static void
block_begin(struct telling *t, size_t index, bool call, size_t i)
{
	event_begin(t, "content_block_start");
	buf_format(t->out, "{\"type\":\"content_block_start\",\"index\":%zu,\"content_block\":", index);
	if (call) {
		buf_text(t->out, "{\"type\":\"tool_use\",\"id\":");
		put_id(t, "toolu_", i);
		buf_text(t->out, ",\"name\":");
		buf_json_text(t->out, name_of(t, i));
		buf_text(t->out, ",\"input\":{}}}");
	} else {
		buf_text(t->out, "{\"type\":\"text\",\"text\":\"\"}}");
	}
	event_end(t);
}

static void
block_pieces(struct telling *t, size_t index, enum llm_part part, const char *text)
{
	size_t n;

	for (const char *s = text; *s != '\0'; s += n) {
		n = piece(t, s);
		event_begin(t, "content_block_delta");
		buf_format(t->out, "{\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":{\"type\":\"%s\":", index,
			   part == LLM_TEXT ? "text_delta\",\"text" : "input_json_delta\",\"partial_json");
		put_marked(t, part, s, n);
		buf_text(t->out, "}}");
		event_end(t);
	}
	event_begin(t, "content_block_stop");
	buf_format(t->out, "{\"type\":\"content_block_stop\",\"index\":%zu}", index);
	event_end(t);
}

static void
message_stream(struct telling *t)
{
	size_t index = 0;

	event_begin(t, "message_start");
	buf_text(t->out, "{\"type\":\"message_start\",\"message\":");
	message_head(t);
	message_tail(t, false);
	buf_text(t->out, "}");
	event_end(t);
	event_begin(t, "ping");
	buf_text(t->out, "{\"type\":\"ping\"}");
	event_end(t);
	if (t->turn->text != NULL) {
		block_begin(t, index, false, 0);
		block_pieces(t, index++, LLM_TEXT, t->turn->text);
	}
	for (size_t i = 0; i < t->calls_len; i++) {
		block_begin(t, index, true, i);
		block_pieces(t, index++, LLM_ARGUMENTS, t->arguments[i]);
	}
	event_begin(t, "message_delta");
	buf_text(t->out, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":");
	buf_json_text(t->out, stop_reason(t));
	buf_format(t->out, ",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%llu}}",
		   (unsigned long long)t->output);
	event_end(t);
	event_begin(t, "message_stop");
	buf_text(t->out, "{\"type\":\"message_stop\"}");
	event_end(t);
}

/* ---- models ----------------------------------------------------------------------------------------------------------- */

static void
models(const struct service *s, struct buf *out)
{
	bool open = s->profile == PROFILE_ANTHROPIC, first = true;

	buf_text(out, open ? "{\"data\":[" : "{\"object\":\"list\",\"data\":[");
	for (size_t i = 0; i < s->llm->models_len; i++) {
		if (strchr(s->llm->models[i], '*') != NULL)
			continue; /* a pattern is no model */
		buf_text(out, first ? "{\"id\":" : ",{\"id\":");
		first = false;
		buf_json_text(out, s->llm->models[i]);
		if (open) {
			buf_text(out, ",\"type\":\"model\",\"created_at\":\"2025-01-01T00:00:00Z\",\"display_name\":");
			buf_json_text(out, s->llm->models[i]);
			buf_text(out, "}");
		} else {
			buf_format(out, ",\"object\":\"model\",\"created\":%d,\"owned_by\":\"agenttwin\"}", CREATED);
		}
	}
	buf_text(out, open ? "],\"has_more\":false,\"first_id\":null,\"last_id\":null}" : "]}");
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

static int
prepare(struct telling *t, struct eval *e)
{
	const struct cJSON *call;
	size_t said = t->turn->text == NULL ? 0 : strlen(t->turn->text), i = 0;
	const char *id;

	e->id = NULL;
	id = e->draw(e->draw_arg);
	if (id == NULL)
		return -ENOMEM;
	snprintf(t->id, sizeof(t->id), "%s", id);
	t->calls_len = t->turn->calls == NULL ? 0 : (size_t)cJSON_GetArraySize(t->turn->calls);
	t->arguments = arena_alloc(t->arena, (t->calls_len + 1) * sizeof(*t->arguments));
	if (t->arguments == NULL)
		return -ENOMEM;
	for (call = t->turn->calls == NULL ? NULL : t->turn->calls->child; call != NULL; call = call->next, i++) {
		struct buf text;

		buf_init(&text, ANSWER_BODY_MAX);
		buf_json(&text, cJSON_GetObjectItemCaseSensitive(call, "arguments"));
		t->arguments[i] = text.failed ? NULL : arena_copy(t->arena, text.at, text.len);
		said += text.len;
		buf_wipe(&text);
		if (t->arguments[i] == NULL)
			return -ENOMEM;
	}
	t->input = t->turn->has_usage ? t->turn->input : (t->c->input_len + TOKEN_LEN - 1) / TOKEN_LEN;
	t->output = t->turn->has_usage ? t->turn->output : (said + TOKEN_LEN - 1) / TOKEN_LEN;
	return 0;
}

/* see llm.h */
int
llm_run(struct service *s, struct request *q, struct eval *e, struct answer *a, const struct llm_call *c)
{
	struct telling t = { .c = c, .a = a, .out = &a->body, .arena = &q->arena };
	int r;

	a->executed = true;
	if (c->api == LLM_MODELS) {
		models(s, &a->body);
		return 0;
	}
	if (c->api == LLM_EMBEDDINGS)
		return llm_embeddings(s, q, a, c);
	t.turn = &s->llm->turns[a->route - s->routes];
	if ((r = prepare(&t, e)) < 0)
		return r;
	if (c->streams) {
		buf_text(&a->headers, "Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n");
		a->has_type = true;
	}
	if (c->api == LLM_CHAT)
		(c->streams ? chat_stream : chat_whole)(&t);
	else if (c->api == LLM_RESPONSES && c->streams)
		response_stream(&t);
	else if (c->api == LLM_RESPONSES)
		response(&t, true);
	else
		(c->streams ? message_stream : message_whole)(&t);
	return c->api == LLM_RESPONSES ? llm_keep(s, q, c, t.turn, t.id) : 0;
}
