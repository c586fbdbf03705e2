/* SPDX-License-Identifier: GPL-2.0-or-later
 * fault_stream.c - a stream of a language model in which one frame is broken, or an error: agenttwin-world(5), "Faults". */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/llm.h"
#include "guest/profile.h"
#include "guest/service.h"

/* see answer.h */
bool
fault_is_in_stream(const struct fault *f)
{
	return f->class == FAULT_SERVER_ERROR && f->phase == FAULT_MID_REPLY &&
	       (f->code != NULL || f->body == FAULT_BODY_GARBLE);
}

static size_t
start_of(const struct answer *a, size_t frame)
{
	return frame == 0 ? 0 : a->frames[frame - 1];
}

static bool
begins(const struct answer *a, size_t frame, const char *text)
{
	size_t from = start_of(a, frame), len = strlen(text);

	return a->frames[frame] - from >= len && memcmp(a->body.at + from, text, len) == 0;
}

/* The second half of what the frame says does not come, which is no JSON then; its line and the frame end as they should. */
static void
break_frame(struct answer *a, size_t frame)
{
	size_t from = start_of(a, frame), end = a->frames[frame] - 2, n;

	if (begins(a, frame, "event: "))
		while (from < end && a->body.at[from++] != '\n')
			;
	from += 6; /* "data: " */
	n = from + (end - from) / 2;
	while (n > from && (a->body.at[n] & 0xc0) == 0x80)
		n--; /* no character is cut apart */
	memmove(a->body.at + n, a->body.at + end, a->body.len - end);
	a->body.len -= end - n;
	for (size_t i = frame; i < a->frames_len; i++)
		a->frames[i] -= end - n;
}

/* The error in the words of the service, which it says in a stream as its reply would, or (responses) flat. */
static void
put_error(const struct service *s, const struct fault *f, struct answer *a, bool flat)
{
	struct cJSON *json = NULL, *error;
	struct answer e;
	char number[16];

	answer_init(&e);
	answer_profile_error(s, &e, 500, f->code, NULL);
	if (flat)
		json = cJSON_ParseWithLength(e.body.at == NULL ? "" : e.body.at, e.body.len);
	error = cJSON_GetObjectItemCaseSensitive(json, "error");
	if (flat && error != NULL) {
		const struct cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");

		snprintf(number, sizeof(number), "%zu", a->frames_len);
		buf_text(&a->body, "{\"type\":\"error\",\"code\":");
		buf_json_text(&a->body, f->code);
		buf_text(&a->body, ",\"message\":");
		buf_json_text(&a->body, cJSON_IsString(message) ? message->valuestring : f->code);
		buf_text(&a->body, ",\"param\":null,\"sequence_number\":");
		buf_text(&a->body, number);
		buf_text(&a->body, "}");
	} else {
		buf_add(&a->body, e.body.at == NULL ? "" : e.body.at, e.body.len);
	}
	a->body.failed = a->body.failed || e.body.failed || (flat && error == NULL);
	cJSON_Delete(json);
	answer_wipe(&e);
}

/* see answer.h */
void
fault_stream(const struct fault *f, struct answer *a)
{
	const struct service *s = a->service;
	size_t cut = fault_cut(f, a, a->body.len), frame = 0;
	bool flat = begins(a, 0, "event: response.");

	while (frame + 1 < a->frames_len && a->frames[frame] <= cut)
		frame++;
	if (f->body == FAULT_BODY_GARBLE) {
		if (begins(a, frame, "event: ping") && frame + 1 < a->frames_len)
			frame++; /* no client reads those */
		if (begins(a, frame, "data: [DONE]") && frame > 0)
			frame--; /* nor is that JSON */
		break_frame(a, frame);
	} else {
		a->body.len = start_of(a, frame);
		a->frames_len = frame;
		if (flat || s->profile == PROFILE_ANTHROPIC)
			buf_text(&a->body, "event: error\n");
		buf_text(&a->body, "data: ");
		put_error(s, f, a, flat);
		buf_text(&a->body, "\n\n");
		answer_frame(a);
	}
	a->marks_len = 0; /* they stood elsewhere */
	a->tells_error = true;
}
