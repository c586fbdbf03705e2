/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_llm.c - language models by script: which turn answers, in the three forms of its clients, whole and frame by frame; what a
 * service would refuse; where a reply is cut. */
#include "guest/answer.h"
#include "guest/llm.h"
#include "tests/lib/twinask.h"

#define CHAT "/v1/chat/completions"
#define SCRIPT \
	"\"script\":[" \
	"{\"id\":\"ask\",\"when\":{\"turn\":1,\"last_role\":\"user\"},\"reply\":{\"text\":\"\\u00fcn\\u00efc\\u00f6de\"," \
	"\"tool_calls\":[{\"name\":\"find\",\"arguments\":{\"email\":\"a@b\"}},{\"name\":\"look\",\"arguments\":{}}]," \
	"\"usage\":{\"input\":18,\"output\":22}},\"stream\":{\"chunk\":3}}," \
	"{\"id\":\"act\",\"when\":{\"tool_result_for\":\"find\"},\"reply\":{\"text\":\"Found.\"}}," \
	"{\"id\":\"long\",\"when\":{\"contains\":\"more\"},\"reply\":{\"text\":\"And\",\"finish\":\"length\"}}]"

static void
start(const char *profile, const char *script, const char *more, const char *faults)
{
	static bool loaded;
	char text[8192];

	if (loaded)
		unload();
	snprintf(text, sizeof(text),
		 "{\"name\":\"s\",\"kind\":\"llm\",\"hosts\":[\"s.internal\"],\"profile\":\"%s\",%s%s}", profile,
		 script, more);
	loaded = load_with(text, faults);
	ok(loaded, "a service of profile %s%s", profile, faults);
}

static int
say(const char *target, const char *text)
{
	return ask("POST", target, "Content-Type: application/json\r\n", text);
}

/* The reply's body without its chunks: each piece is one frame.  Their number; -1 when they are not in order. */
static struct buf plain;
static int
unchunk(void)
{
	const char *at = body();
	int n = 0;

	buf_wipe(&plain);
	buf_init(&plain, 64u << 20);
	for (;;) {
		char *end;
		unsigned long len = strtoul(at, &end, 16);

		if (end == at || strncmp(end, "\r\n", 2) != 0)
			return -1;
		at = end + 2;
		if (len == 0)
			break;
		if (strlen(at) < len + 2 || strncmp(at + len, "\r\n", 2) != 0 || len < 2 ||
		    strncmp(at + len - 2, "\n\n", 2) != 0)
			return -1;
		buf_add(&plain, at, len);
		at += len + 2;
		n++;
	}
	buf_terminate(&plain);
	return strcmp(at, "\r\n") == 0 ? n : -1;
}

static bool
holds(const char *text)
{
	bool found = plain.at != NULL && strstr(plain.at, text) != NULL;

	if (!found)
		printf("# no %s in: %s\n", text, plain.at == NULL ? "" : plain.at);
	return found;
}

/* What the frames say behind key, joined: strings without escapes for quotes. */
static const char *
joined(const char *key, char *out, size_t size)
{
	size_t len = 0;

	for (const char *at = plain.at == NULL ? "" : plain.at; (at = strstr(at, key)) != NULL;) {
		at += strlen(key);
		for (; *at != '"' && *at != '\0' && len + 1 < size; at++) {
			if (*at == '\\')
				at++;
			out[len++] = *at;
		}
	}
	out[len] = '\0';
	return out;
}

#define HI "{\"role\":\"user\",\"content\":\"hi\"}"
#define TWO(a, b) \
	"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" a \
	"\",\"type\":\"function\",\"function\":{" \
	"\"name\":\"find\",\"arguments\":\"{}\"}},{\"id\":\"" b \
	"\",\"type\":\"function\",\"function\":{\"name\":\"look\"," \
	"\"arguments\":\"{}\"}}]}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"x\"}"
#define ASK(messages) "{\"model\":\"gpt-4o\",\"messages\":[" messages "]}"

static void
turns(void)
{
	start("openai/chat", SCRIPT, "", "");
	is_int(say(CHAT, ASK(HI)), 200, "the first turn");
	ok(says("\"route\":\"ask\"") && has("\"finish_reason\":\"tool_calls\"") && has("\"name\":\"find\"") &&
		   has("\"arguments\":\"{\\\"email\\\":\\\"a@b\\\"}\"") &&
		   has("\"prompt_tokens\":18,\"completion_tokens\":22,\"total_tokens\":40"),
	   "its calls, end and usage");
	is_int(say(CHAT, ASK(HI "," TWO("c1", "c2") "," RESULT("c1") "," RESULT("c2"))), 200, "results of tools");
	ok(says("\"route\":\"act\"") && has("\"content\":\"Found.\"") && has("\"finish_reason\":\"stop\""),
	   "pick the turn of the tool");
	is_int(say(CHAT, ASK(HI ",{\"role\":\"assistant\",\"content\":\"x\"},{\"role\":\"user\",\"content\":["
				"{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"more\"}]}")),
	       200, "a text in parts");
	ok(says("\"route\":\"long\"") && has("\"finish_reason\":\"length\""), "is searched in all of them");
	is_int(say(CHAT, ASK(HI ",{\"role\":\"assistant\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"no\"}")),
	       404, "what no turn answers");
	ok(says("\"unmatched\":true") && says("\"route\":\"ask\"") &&
		   has("this is turn 2 of the conversation, the script's is turn 1"),
	   "is told with the nearest turn");
	is_int(say(CHAT, ASK("{\"role\":\"system\",\"content\":\"s\"}")), 404, "a last role");
	ok(has("the last message is of role 'system', the turn wants 'user'"), "that differs");
	is_int(say("/v1/audio", ASK(HI)), 404, "another call");
	ok(has("POST /v1/audio is no call that this twin plays"), "is none");
	is_int(ask("GET", CHAT, "", ""), 404, "nor is another method");
	start("openai", "\"script\":[{\"id\":\"a\",\"when\":{\"tool_result_for\":\"t\"},\"reply\":{\"text\":\"x\"}}]",
	      "", "");
	say(CHAT, ASK(HI));
	ok(has("no result of the tool 't' stands at the end"), "a tool");
	start("openai", "\"script\":[{\"id\":\"a\",\"when\":{\"contains\":\"zz\"},\"reply\":{\"text\":\"x\"}}]", "",
	      "");
	say(CHAT, ASK(HI));
	ok(has("the last message does not contain 'zz'"), "a text");
	start("openai", "\"script\":[]", "", "");
	is_int(say(CHAT, ASK(HI)), 404, "no script");
	ok(has("the script has no turns"), "says so");
}

static void
refusals(void)
{
	start("openai", SCRIPT, ",\"validate\":{\"models\":[\"gpt-4o*\",\"text-embedding-3-small\"]}", "");
	is_int(say(CHAT, ASK(HI "," TWO("c1", "c2") "," RESULT("c1"))), 400, "chat: a call without its result");
	ok(has("must be followed by tool messages") && has("c2") && says("\"route\":\"refused\"") &&
		   says("\"service\":\"rejected\"") && !strstr(op.at, "\"unmatched\":true"),
	   "refused as by the service");
	is_int(say(CHAT, ASK(HI "," TWO("c1", "c2") "," RESULT("c1") "," RESULT("c2") "," RESULT("c9"))), 400,
	       "chat: a result of no call");
	ok(has("must be a response to a preceding message"), "refused");
	is_int(say(CHAT, ASK(RESULT("c1"))), 400, "chat: a result at the start");
	is_int(say(CHAT, ASK("")), 400, "chat: no messages");
	is_int(say(CHAT, "{\"model\":\"gpt-4o\"}"), 400, "chat: none at all");
	is_int(say(CHAT, "{\"messages\":[" HI "]}"), 400, "chat: no model");
	ok(has("you must provide a model parameter"), "in its words");
	is_int(say(CHAT, "[]"), 400, "chat: no object");
	is_int(say(CHAT, ASK("{\"role\":\"king\",\"content\":\"x\"}")), 400, "chat: a role");
	is_int(say(CHAT, ASK("7")), 400, "chat: a number as message");
	is_int(say(CHAT,
		   ASK("{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]}")),
	       400, "chat: arguments that are no text");
	is_int(say(CHAT, "{\"model\":\"gpt-3\",\"messages\":[" HI "]}"), 404, "chat: a model");
	ok(has("\"code\":\"model_not_found\""), "that there is not");
	is_int(say("/v1/responses",
		   "{\"model\":\"gpt-4o\",\"input\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}]}"),
	       400, "responses: a call without its output");
	ok(has("No tool output found for function call c"), "in its words");
	is_int(say("/v1/responses",
		   "{\"model\":\"gpt-4o\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"x\"}]}"),
	       400, "responses: an output of no call");
	is_int(say("/v1/responses", "{\"model\":\"gpt-4o\",\"conversation\":\"c\",\"input\":\"x\"}"), 400,
	       "responses: a conversation kept elsewhere");
	ok(has("(conversation)"), "says which");
	start("anthropic", SCRIPT, "", "");
	is_int(say("/v1/messages",
		   ASK(HI
		       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"find\",\"input\":{}}]},"
		       "{\"role\":\"user\",\"content\":\"no\"}")),
	       400, "messages: a call without its result");
	ok(has("\"type\":\"invalid_request_error\"") && has("messages.1: `tool_use` ids were found without"),
	   "refused");
	is_int(say("/v1/messages",
		   ASK("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}")),
	       400, "messages: a result of no call");
	is_int(say("/v1/messages", ASK("{\"role\":\"tool\",\"content\":\"x\"}")), 400, "messages: a role");
	start("openai", SCRIPT, ",\"validate\":{\"tool_messages_answer_calls\":false}", "");
	is_int(say(CHAT, ASK(HI "," TWO("c1", "c2") "," RESULT("c1"))), 200, "unless it is not to be checked");
}

static void
chat_frames(void)
{
	static const char old[] = "POST " CHAT " HTTP/1.0\r\nHost: s.internal\r\nContent-Length: 76\r\n\r\n"
				  "{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[" HI "]}";
	char text[200];

	start("openai", SCRIPT, "", "");
	is_int(say(CHAT,
		   "{\"model\":\"gpt-4o\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":[" HI
		   "]}"),
	       200, "chat: a stream");
	ok(has("Content-Type: text/event-stream") && has("Transfer-Encoding: chunked\r\n") &&
		   strstr(reply.at, "Content-Length") == NULL,
	   "in chunks");
	/* the role, 3 pieces of 7 characters, 2 calls, 5 pieces of 15, 1 of 2, the end, the usage, [DONE] */
	is_int(unchunk(), 1 + 3 + 2 + 5 + 1 + 3, "a frame each");
	is_str(joined("\"content\":\"", text, sizeof(text)), "\303\274n\303\257c\303\266de", "no character is cut");
	is_str(joined("\"arguments\":\"", text, sizeof(text)), "{\"email\":\"a@b\"}{}", "the calls' arguments");
	ok(holds("\"choices\":[],\"usage\":{\"prompt_tokens\":18") && holds("\"usage\":null"), "its usage");
	ok(plain.len > 14 && strcmp(plain.at + plain.len - 14, "data: [DONE]\n\n") == 0, "and the last line");
	is_int(say(CHAT, "{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[" HI "]}"), 200, "without usage");
	is_int(unchunk(), 14, "one frame less");
	ok(strstr(plain.at, "\"usage\"") == NULL, "and none in the others");
	ok(http_receive(&conn, old, strlen(old)) == strlen(old), "HTTP/1.0");
	is_int(get(&conn), 200, "is answered");
	ok(has("Content-Length: ") && strstr(reply.at, "chunked") == NULL && strncmp(body(), "data: {", 7) == 0,
	   "without chunks");
}

static void
other_frames(void)
{
	char text[200];

	start("openai", SCRIPT, "", "");
	is_int(say("/v1/responses", "{\"model\":\"gpt-4o\",\"input\":\"hi\"}"), 200, "responses: whole");
	ok(has("\"object\":\"response\"") && has("\"status\":\"completed\"") && has("\"type\":\"function_call\"") &&
		   has("\"type\":\"output_text\""),
	   "its items");
	is_int(say("/v1/responses", "{\"model\":\"gpt-4o\",\"stream\":true,\"input\":\"hi\"}"), 200,
	       "responses: a stream");
	is_int(unchunk(), 2 + 2 + 3 + 3 + 2 * 3 + 6 + 1, "its events");
	is_str(joined("\"logprobs\":[],\"delta\":\"", text, sizeof(text)), "\303\274n\303\257c\303\266de", "the text");
	ok(holds("event: response.created\n") && holds("event: response.completed\n") &&
		   holds("\"sequence_number\":22,"),
	   "in order");
	is_int(say("/v1/responses",
		   "{\"model\":\"gpt-4o\",\"input\":[{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"more\"}]}"),
	       200, "responses: cut by length");
	ok(has("\"status\":\"incomplete\"") && has("\"reason\":\"max_output_tokens\""), "is incomplete");
	start("anthropic", SCRIPT, "", "");
	is_int(say("/v1/messages", ASK(HI)), 200, "messages: whole");
	ok(has("\"stop_reason\":\"tool_use\"") && has("\"input\":{\"email\":\"a@b\"}") && has("\"id\":\"toolu_"),
	   "its blocks");
	is_int(say("/v1/messages", "{\"model\":\"c\",\"stream\":true,\"messages\":[" HI "]}"), 200,
	       "messages: a stream");
	is_int(unchunk(), 2 + 5 + (2 + 5) + (2 + 1) + 2, "its events");
	is_str(joined("\"text_delta\",\"text\":\"", text, sizeof(text)), "\303\274n\303\257c\303\266de", "the text");
	is_str(joined("\"partial_json\":\"", text, sizeof(text)), "{\"email\":\"a@b\"}{}", "the input");
	ok(holds("event: message_start\n") && holds("event: message_stop\n") && holds("\"stop_reason\":\"tool_use\""),
	   "in order");
}

static void
same_again(void)
{
	char *first;

	start("openai", SCRIPT, "", "");
	say(CHAT, ASK(HI));
	first = strdup(strstr(body(), "chatcmpl-") == NULL ? "" : strstr(body(), "chatcmpl-"));
	start("openai", SCRIPT, "", "");
	say(CHAT, ASK(HI));
	is_str(strstr(body(), "chatcmpl-"), first, "the next run says the same");
	free(first);
}

/* a stream that a fault cuts */
#define FAULT(how) \
	",\"faults\":[{\"id\":\"f\",\"class\":\"server-error\",\"on\":{\"service\":\"s\",\"route\":\"ask\"},\"phase\":" \
	"\"mid-reply\",\"how\":{" how "}}]"
#define LOST(how) \
	",\"faults\":[{\"id\":\"f\",\"class\":\"timeout-after-write\",\"on\":{\"service\":\"s\",\"route\":\"ask\"}," \
	"\"phase\":\"mid-reply\",\"how\":{" how "}}]"
#define STREAM "{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[" HI "]}"

static void
cuts(void)
{
	char text[200];
	size_t len;

	start("openai", SCRIPT, "", FAULT("\"end\":\"clean\",\"inside\":\"tool_arguments\",\"at\":0.6"));
	is_int(say(CHAT, STREAM), 200, "a clean end inside the arguments");
	ok(unchunk() > 0 && http_end(&conn) == HTTP_END_NONE, "is an end in order");
	is_str(joined("\"arguments\":\"", text, sizeof(text)), "{\"email\":", "between two frames");
	ok(strstr(plain.at, "[DONE]") == NULL && strstr(plain.at, "\"tool_calls\"}") == NULL,
	   "that says nothing of it");
	is_int(say(CHAT, STREAM), 200, "the next call");
	ok(unchunk() == 14 && holds("[DONE]"), "is whole, on the same connection");
	start("openai", SCRIPT, "", FAULT("\"end\":\"clean\",\"bytes\":1000000"));
	say(CHAT, STREAM);
	ok(unchunk() == 13 && holds("\"finish_reason\":\"tool_calls\"") && strstr(plain.at, "[DONE]") == NULL,
	   "all of it but the last line");
	start("openai", SCRIPT, "", FAULT("\"end\":\"clean\",\"bytes\":3"));
	say(CHAT, STREAM);
	is_int(unchunk(), 0, "not even one frame");
	start("openai", SCRIPT, "", LOST("\"end\":\"fin\",\"inside\":\"text\",\"at\":0.5"));
	is_int(say(CHAT, STREAM), 200, "FIN inside the text");
	len = strlen(body());
	ok(http_end(&conn) == HTTP_END_FIN && unchunk() == -1, "breaks a chunk");
	ok(len > 10 && strncmp(strrchr(body(), '{'), "{\"content\":\"", 12) == 0, "in the middle of a frame");
	start("openai", SCRIPT, "", LOST("\"end\":\"rst\",\"inside\":\"tool_arguments\",\"at\":0.9"));
	say(CHAT, STREAM);
	ok(http_end(&conn) == HTTP_END_RST && strstr(body(), "a@b") == NULL && unchunk() == -1,
	   "RST inside the arguments");
	start("openai", SCRIPT, "", FAULT("\"end\":\"clean\",\"inside\":\"tool_arguments\",\"at\":0.6"));
	is_int(say(CHAT, ASK(HI)), 200, "a reply in one piece");
	ok(has("Content-Length: ") && strlen(body()) > 100 && body()[strlen(body()) - 1] != '}', "is cut at the byte");
	start("openai", SCRIPT, "", FAULT("\"slow\":{\"first_ms\":0,\"chunk_ms\":1,\"chunk_bytes\":1}"));
	put(&conn, "POST", CHAT, "Content-Type: application/json\r\n", STREAM);
	do {
		http_tick(&conn);
		get(&conn);
		core.t_ms++;
	} while (op.len == 0 && core.t_ms < 100000);
	ok(says("\"client\":\"told-ok\"") && http_due(&conn) != UINT64_MAX,
	   "a slow stream is told once its last frame has left, before the last chunk");
	start("openai", SCRIPT, "",
	      ",\"faults\":[{\"id\":\"f\",\"class\":\"server-error\",\"on\":{\"service\":\"s\",\"route\":\"ask\"},"
	      "\"phase\":\"after-effect\",\"how\":{\"body\":\"garble\"}}]");
	is_int(say(CHAT, STREAM), 200, "what nobody can read");
	ok(has("Content-Length: ") && strstr(reply.at, "chunked") == NULL, "is one piece");
}

#define MESSAGES "{\"model\":\"c\",\"max_tokens\":9,\"stream\":true,\"messages\":[" HI "]}"
#define RESPONSES "{\"model\":\"gpt-4o\",\"stream\":true,\"input\":\"hi\"}"

/* One frame of a stream that is broken, or an error. */
static void
in_stream(void)
{
	char text[200];
	const char *at;

	start("openai", SCRIPT, "", FAULT("\"code\":\"server_is_tired\",\"inside\":\"tool_arguments\",\"at\":0.6"));
	is_int(say(CHAT, STREAM), 200, "an error in a stream");
	ok(unchunk() > 3 && http_end(&conn) == HTTP_END_NONE && strstr(plain.at, "[DONE]") == NULL, "is its end");
	is_str(joined("\"arguments\":\"", text, sizeof(text)), "{\"email\":", "whole frames go before it");
	at = strstr(plain.at, "data: {\"error\":{\"message\":");
	ok(at != NULL && strstr(at, "\"code\":\"server_is_tired\"") != NULL && strstr(at, "}}\n\n") != NULL &&
		   strstr(at, "}}\n\n")[4] == '\0',
	   "in the words of the service");
	ok(says("\"service\":\"applied\",\"client\":\"told-error\"") && says("\"phase\":\"mid-reply\""),
	   "told as an error");
	is_int(say(CHAT, STREAM), 200, "the next call");
	ok(unchunk() == 14 && holds("[DONE]"), "is whole");
	start("openai", SCRIPT, "", FAULT("\"code\":\"server_is_tired\",\"at\":0"));
	say("/v1/responses", RESPONSES);
	is_int(unchunk(), 1, "before the first frame");
	is_str(plain.at,
	       "event: error\ndata: {\"type\":\"error\",\"code\":\"server_is_tired\",\"message\":"
	       "\"Server is tired\",\"param\":null,\"sequence_number\":0}\n\n",
	       "as responses have it");
	start("anthropic", SCRIPT, "", FAULT("\"code\":\"overloaded_error\",\"inside\":\"text\""));
	say("/v1/messages", MESSAGES);
	ok(unchunk() > 3 && holds("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"") &&
		   strstr(plain.at, "message_stop") == NULL,
	   "as messages have it");
	start("openai", SCRIPT, "", FAULT("\"body\":\"garble\",\"inside\":\"tool_arguments\",\"at\":0.6"));
	say(CHAT, STREAM);
	ok(unchunk() == 14 && holds("[DONE]") &&
		   strstr(joined("\"arguments\":\"", text, sizeof(text)), "a@b\"}") == NULL,
	   "a frame that is no JSON, and all the others");
	ok(says("\"service\":\"applied\",\"client\":\"told-error\""), "told as an error");
	start("openai", SCRIPT, "", FAULT("\"body\":\"garble\",\"bytes\":1000000"));
	say(CHAT, STREAM);
	ok(unchunk() == 14 && holds("[DONE]") && strstr(plain.at, "\"finish_reason\":\"tool_calls\"") == NULL,
	   "the end itself is no JSON: the frame before it");
	start("anthropic", SCRIPT, "", FAULT("\"body\":\"garble\",\"bytes\":360"));
	say("/v1/messages", MESSAGES);
	ok(unchunk() > 3 && holds("data: {\"type\":\"ping\"}\n\n") && holds("event: message_stop"), "a ping stays");
	start("openai", SCRIPT, "", FAULT("\"body\":\"garble\""));
	is_int(say(CHAT, ASK(HI)), 200, "a reply in one piece");
	ok(says("\"fault\":null") && body()[strlen(body()) - 1] == '}', "has no frame, and does not meet the fault");
}

static void
cut_points(void)
{
	struct answer a;

	answer_init(&a);
	buf_text(&a.body, "AAbcdCCefghDD");
	a.body.len = 2;
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.5, false), 2, "nothing of the kind: all of it");
	a.body.len = 5;
	answer_mark(&a, LLM_TEXT, 2);
	a.body.len = 7;
	answer_frame(&a);
	a.body.len = 11;
	answer_mark(&a, LLM_TEXT, 7);
	a.body.len = 13;
	answer_frame(&a);
	is_int((long long)answer_cut(&a, LLM_TEXT, 0, false), 2, "the start");
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.3, false), 4, "in the first piece");
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.72, false), 9, "in the second");
	is_int((long long)answer_cut(&a, LLM_TEXT, 1, false), 11, "the end");
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.3, true), 0, "before the first frame");
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.72, true), 7, "behind it");
	is_int((long long)answer_cut(&a, LLM_ARGUMENTS, 0.5, false), 13, "no arguments");
	a.frames_len = 0;
	is_int((long long)answer_cut(&a, LLM_TEXT, 0.72, true), 9, "no frames");
	answer_wipe(&a);
}

static void
embeddings(void)
{
	char *first;

	start("openai", SCRIPT, ",\"validate\":{\"models\":[\"gpt-*\",\"text-embedding-3-small\"]}", "");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":[\"a\",\"b\"],\"dimensions\":4}"),
	       200, "embeddings");
	ok(says("\"route\":\"embeddings\"") && has("\"index\":1") && has("\"prompt_tokens\":1"), "of two texts");
	first = strdup(body());
	say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":[\"a\",\"b\"],\"dimensions\":4}");
	is_str(body(), first, "always the same");
	free(first);
	say("/v1/embeddings",
	    "{\"model\":\"text-embedding-3-small\",\"input\":\"a\",\"dimensions\":3,\"encoding_format\":\"base64\"}");
	ok(has("\"embedding\":\"") && strlen(strstr(body(), "\"embedding\":\"")) > 29 &&
		   strstr(body(), "\"embedding\":\"")[13 + 16] == '"',
	   "12 bytes are 16 letters");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":[1,2,3]}"), 200, "tokens");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":[\"a\",7]}"), 400, "no text");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":[]}"), 400, "none");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\"}"), 400, "none at all");
	is_int(say("/v1/embeddings", "{\"model\":\"text-embedding-3-small\",\"input\":\"a\",\"dimensions\":4000}"), 400,
	       "too many dimensions");
	is_int(say("/v1/embeddings", "{\"model\":\"x\",\"input\":\"a\"}"), 404, "another model");
	is_int(ask("GET", "/v1/models", "", ""), 200, "models");
	ok(has("\"id\":\"text-embedding-3-small\"") && strstr(body(), "gpt-*") == NULL, "those that have a whole name");
}

static void
bounds(void)
{
	struct buf text;

	start("openai", SCRIPT, "", "");
	for (size_t n = LLM_MESSAGES_MAX; n <= LLM_MESSAGES_MAX + 1; n++) {
		buf_init(&text, 1u << 20);
		buf_text(&text, "{\"model\":\"m\",\"messages\":[" HI);
		for (size_t i = 1; i < n; i++)
			buf_text(&text, "," HI);
		buf_text(&text, "]}");
		buf_terminate(&text);
		is_int(say(CHAT, text.at), n > LLM_MESSAGES_MAX ? 400 : 200, "4096 messages and one more");
		buf_wipe(&text);
	}
	ok(has("too many messages for this twin"), "says so");
	for (size_t n = LLM_CALLS_MAX; n <= LLM_CALLS_MAX + 1; n++) {
		buf_init(&text, 1u << 20);
		buf_text(&text, "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"more\"}");
		for (size_t i = 0; i < n; i++)
			buf_format(
				&text,
				",{\"type\":\"function_call\",\"call_id\":\"c%zu\",\"name\":\"find\",\"arguments\":\"\"}",
				i);
		for (size_t i = 0; i < n; i++)
			buf_format(&text, ",{\"type\":\"function_call_output\",\"call_id\":\"c%zu\",\"output\":\"\"}",
				   i);
		buf_text(&text, "]}");
		buf_terminate(&text);
		is_int(say("/v1/responses", text.at), n > LLM_CALLS_MAX ? 400 : 200, "1024 calls and one more");
		buf_wipe(&text);
	}
	ok(has("too many tool calls for this twin"), "says so");
}

/* The last response's id, as the service gave it. */
static const char *
response_id(void)
{
	static char id[64];
	const char *at = strstr(body(), "\"id\":\"resp_");

	snprintf(id, sizeof(id), "%.*s", at == NULL ? 0 : (int)strcspn(at + 6, "\""), at == NULL ? "" : at + 6);
	return id;
}

static int
go_on(const char *previous, const char *input, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"model\":\"gpt-4o\",\"previous_response_id\":\"%s\",\"input\":%s%s}", previous,
		 input, more);
	return say("/v1/responses", text);
}

static void
test_previous(void)
{
	static const char script[] =
		"\"script\":[{\"id\":\"one\",\"when\":{\"turn\":1},\"reply\":{\"text\":\"Hm.\",\"tool_calls\":["
		"{\"name\":\"find\",\"arguments\":{}},{\"name\":\"look\",\"arguments\":{}}]}},"
		"{\"id\":\"two\",\"when\":{\"turn\":2,\"tool_result_for\":\"look\"},\"reply\":{\"text\":\"Found.\"}},"
		"{\"id\":\"three\",\"when\":{\"turn\":3},\"reply\":{\"text\":\"Bye.\"}}]";
	char first[64], second[64], results[300];

	start("openai", script, "", "");
	is_int(go_on("resp_nothing", "\"x\"", ""), 400, "previous: none of this name");
	ok(has("\"code\":\"previous_response_not_found\"") && has("'resp_nothing' not found") &&
		   says("\"route\":\"refused\""),
	   "in its words");
	is_int(say("/v1/responses", "{\"model\":\"gpt-4o\",\"input\":\"x\",\"previous_response_id\":null}"), 200,
	       "previous: null is none");
	snprintf(first, sizeof(first), "%s", response_id());
	ok(strlen(first) > 10 && has("\"previous_response_id\":null"), "a response");
	is_int(go_on(first, "\"and?\"", ""), 400, "previous: its calls want results");
	ok(has("No tool output found for function call call_"), "in its words");
	snprintf(results, sizeof(results),
		 "[{\"type\":\"function_call_output\",\"call_id\":\"call_%s00\",\"output\":\"a\"},"
		 "{\"type\":\"function_call_output\",\"call_id\":\"call_%s01\",\"output\":\"b\"}]",
		 first + 5, first + 5);
	is_int(go_on(first, results, ""), 200, "previous: results of its calls");
	snprintf(second, sizeof(second), "%s", response_id());
	ok(has("Found.") && has(first) && strcmp(first, second) != 0, "go on with the conversation");
	is_int(go_on(second, "\"thanks\"", ",\"store\":false"), 200, "previous: twice");
	ok(has("Bye.") && has(second), "is the third turn");
	is_int(go_on(response_id(), "\"x\"", ""), 400, "previous: not stored is not found");
	is_int(go_on(first, results, ""), 200, "previous: two may follow one");
	is_int(go_on(second, "\"thanks\"", ",\"stream\":true"), 200, "previous: streamed");
	world.services[0].llm->stored_len = LLM_STORED_MAX;
	is_int(say("/v1/responses", "{\"model\":\"gpt-4o\",\"input\":\"y\"}"), 200, "previous: no room for more");
	is_int(go_on(response_id(), "\"x\"", ""), 507,
	       "previous: that one is not there, and not by the workflow's fault");
	ok(world.budget.lost == 1, "the run is over its limits");
	is_int(go_on(second, "\"thanks\"", ""), 200, "previous: the others are");
}

int
main(void)
{
	turns();
	refusals();
	chat_frames();
	other_frames();
	same_again();
	cuts();
	in_stream();
	cut_points();
	embeddings();
	bounds();
	buf_wipe(&plain);
	unload();
	test_previous();
	return tap_done();
}
