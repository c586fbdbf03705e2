/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_llm.c - conversations with a language model, through each API: whatever stands in a request, it is answered, a stream's
 * frames cover its body, and a cut falls within it.  The first byte says how. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/llm.h"
#include "guest/request.h"
#include "guest/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCRIPT \
	"\"script\":[{\"id\":\"act\",\"when\":{\"tool_result_for\":\"f\"},\"reply\":{\"text\":\"d\\u00f6ne\"}}," \
	"{\"id\":\"two\",\"when\":{\"turn\":2},\"reply\":{\"text\":\"x\",\"finish\":\"length\"}}," \
	"{\"id\":\"has\",\"when\":{\"contains\":\"b\",\"last_role\":\"user\"},\"reply\":{\"tool_calls\":[{\"name\":" \
	"\"f\",\"arguments\":{\"a\":1}},{\"name\":\"g\",\"arguments\":{}}]},\"stream\":{\"chunk\":2}}," \
	"{\"id\":\"any\",\"when\":{\"turn\":1},\"reply\":{\"text\":\"h\\u00e9llo\"},\"stream\":{\"chunk\":1}}]"
static struct world world;

static void
begin(void)
{
	static const char text[] =
		"{\"run\":{\"id\":\"r\",\"seed\":1,\"start_ms\":1790000000000},\"limits\":{\"operations\":1000,\"state_bytes\":"
		"1000000},\"secrets\":{},\"services\":["
		"{\"name\":\"o\",\"kind\":\"llm\",\"hosts\":[\"o.internal\"],\"profile\":\"openai\",\"validate\":{\"models\":[\"m*\"]}," SCRIPT
		"},{\"name\":\"a\",\"kind\":\"llm\",\"hosts\":[\"a.internal\"],\"profile\":\"anthropic\"," SCRIPT
		",\"validate\":{\"tool_messages_answer_calls\":false}}]}";
	uint64_t key[2] = { 1, 2 };
	char error[300];
	int r = world_read(&world, text, sizeof(text) - 1, key, error, sizeof(error));

	assert(r == 0);
}

static void
check(const struct answer *a)
{
	size_t last = 0;

	for (size_t i = 0; i < a->frames_len; i++) {
		assert(a->frames[i] > last && a->frames[i] <= a->body.len);
		last = a->frames[i];
	}
	assert(a->frames_len == 0 || last == a->body.len);
	for (size_t i = 0; i < a->marks_len; i++)
		assert(a->marks[i].from <= a->marks[i].to && a->marks[i].to <= a->body.len);
	for (int part = LLM_TEXT; part <= LLM_ARGUMENTS; part++)
		for (int i = 0; i <= 4; i++) {
			size_t cut = answer_cut(a, (enum llm_part)part, i / 4.0, false);

			assert(cut <= a->body.len && answer_cut(a, (enum llm_part)part, i / 4.0, true) <= a->body.len);
		}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "/v1/chat/completions", "/v1/responses", "/v1/embeddings",
					     "/v1/messages" };
	struct request q;
	struct answer a;
	const char *problem;
	unsigned which;

	if (size < 1)
		return 0;
	if (world.services == NULL)
		begin();
	which = data[0] & 3;
	request_init(&q);
	q.method = "POST";
	q.target = paths[which];
	assert(request_add_header(&q, "Content-Type", 12, "application/json", 16) == 0);
	q.body = (const char *)data + 1;
	q.body_len = size - 1;
	answer_init(&a);
	if (request_finish(&q, &problem) == 0) {
		int r = answer_request(&world, &world.services[which == 3], &q, 1790000000000, &a);

		assert(r == 0 && a.status >= 200 && a.status < 600 && !a.body.failed);
		check(&a);
	}
	answer_wipe(&a);
	request_wipe(&q);
	return 0;
}
