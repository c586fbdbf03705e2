/* SPDX-License-Identifier: GPL-2.0-or-later
 * answer_fault.c - what a fault makes of an answer: agenttwin-world(5), "Faults".  How the answer leaves is twin_fault.c's. */
#include <stdio.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/llm.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/sha256.h"

#define BEFORE (FAULT_BIT(FAULT_ACCEPTED) | FAULT_BIT(FAULT_BEFORE_EFFECT))
#define AFTER (FAULT_BIT(FAULT_AFTER_EFFECT) | FAULT_BIT(FAULT_MID_REPLY) | FAULT_BIT(FAULT_REDELIVER))
#define GARBLED_MIN 32u

static int
decide(struct world *w, struct service *s, const struct request *q, struct eval *e, struct answer *a, unsigned now,
       unsigned later)
{
	uint8_t key[40];
	struct fault_call call = { .service = s,
				   .route = a->route == NULL ? NULL : a->route->id,
				   .key = (const char *)key,
				   .key_len = sizeof(key),
				   .eval = e,
				   .t_ms = a->t_ms };
	int r = a->call.known ? 0 : draw_enter(w, s, q, &a->call);

	if (r < 0)
		return r;
	/* not the text of an idempotency key, which SDKs draw at random: the first key of such calls, the second, ... */
	memcpy(key, a->call.digest, 32);
	for (int i = 0; i < 8; i++)
		key[32 + i] = (uint8_t)(a->call.key >> (56 - 8 * i));
	return faults_decide(&w->faults, &call, now, later, &a->faults);
}

/* The error that a fault words in the service's form. */
static void
say_error(const struct service *s, const struct fault *f, struct answer *a)
{
	char seconds[24];

	answer_profile_error(s, a, f->status != 0 ? f->status : 500, f->code, NULL);
	if (!f->has_retry_after)
		return;
	snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)f->retry_after);
	answer_header(a, "Retry-After", seconds);
}

/* The reply is an error that the fault words, not what the service says. */
static bool
is_worded(const struct fault *f)
{
	return f->class == FAULT_SERVER_ERROR &&
	       (f->phase == FAULT_BEFORE_EFFECT ||
		(f->phase == FAULT_AFTER_EFFECT && (f->status != 0 || f->code != NULL || f->has_retry_after ||
						    f->body == FAULT_BODY_AS_IS || f->body == FAULT_BODY_HTML)));
}

/* see answer.h */
int
fault_before(struct world *w, struct service *s, const struct request *q, struct eval *e, struct answer *a, bool *go)
{
	int r;

	*go = true;
	if (a->copy != 0 || !faults_concern(&w->faults, s, BEFORE))
		return 0;
	r = decide(w, s, q, e, a, BEFORE, AFTER);
	if (r < 0 || a->faults.hit == NULL)
		return r;
	*go = false;
	if (a->faults.hit->phase == FAULT_BEFORE_EFFECT) {
		say_error(s, a->faults.hit, a);
	} else {
		a->view = "not-reached";
		a->status = 0;
	}
	return 0;
}

/* see answer.h */
int
fault_after(struct world *w, struct service *s, const struct request *q, struct eval *e, struct answer *a)
{
	const struct fault *f;
	int r;

	if (a->copy != 0 || strcmp(a->view, "applied") != 0 || a->unmatched || !faults_concern(&w->faults, s, AFTER))
		return 0;
	r = decide(w, s, q, e, a, AFTER, 0);
	f = a->faults.hit;
	if (r < 0 || f == NULL)
		return r;
	if (f->phase == FAULT_AFTER_EFFECT && is_worded(f)) {
		struct buf effects = a->effects; /* done is done, whatever the client is told */

		buf_init(&a->effects, 0);
		say_error(s, f, a);
		a->effects = effects;
		a->view = "applied";
	}
	return 0;
}

/* Bytes that are no text and no JSON, the same in every run of the seed. */
static void
garble(const struct world *w, const struct fault *f, struct answer *a)
{
	uint8_t digest[32];

	while (a->body.len < GARBLED_MIN && !a->body.failed)
		buf_text(&a->body, "x");
	sha256_of(&w->seed_exact, sizeof(w->seed_exact), digest);
	for (size_t i = 0; i < a->body.len; i++) {
		if (i % 32 == 0) {
			struct sha256 h;

			sha256_init(&h);
			sha256_add(&h, digest, sizeof(digest));
			sha256_add(&h, f->id, strlen(f->id));
			sha256_get(&h, digest);
		}
		a->body.at[i] = (char)(digest[i % 32] | 0x80);
	}
}

static bool
is_bodiless(const struct answer *a)
{
	return a->status == 204 || a->status == 304;
}

/* What a fault does can be seen by the client at all; if not, the call does not meet it. */
static bool
shows(const struct fault *f, const struct request *q, const struct answer *a)
{
	bool head = strcmp(q->method, "HEAD") == 0;

	if (fault_is_in_stream(f))
		return !head && a->frames_len > 0 && a->status == 200;
	if (f->body >= FAULT_BODY_BAD_CHUNK)
		return is_worded(f) || !(head || (f->body == FAULT_BODY_NO_LENGTH && is_bodiless(a)));
	if (f->body == FAULT_BODY_GARBLE || f->body == FAULT_BODY_WRONG_LENGTH)
		return !head || f->phase == FAULT_BEFORE_EFFECT || f->status != 0;
	if (f->phase == FAULT_MID_REPLY && f->end == FAULT_END_CLEAN)
		return !head && !is_bodiless(a) && a->body.len > 0;
	return true;
}

/* see answer.h */
void
fault_shape(const struct world *w, const struct request *q, struct answer *a)
{
	static const char page[] =
		"<html>\r\n<head><title>%d</title></head>\r\n<body>\r\n<center><h1>%d</h1></center>\r\n"
		"<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n";
	const struct fault *f = a->faults.hit;
	bool cleans = f != NULL && f->phase == FAULT_MID_REPLY && f->end == FAULT_END_CLEAN;

	if (f != NULL && !shows(f, q, a))
		f = a->faults.hit = NULL;
	if (f == NULL)
		return;
	if (fault_is_in_stream(f)) {
		fault_stream(f, a);
		return;
	}
	if (f->body != FAULT_BODY_AS_IS && f->body != FAULT_BODY_HTML && is_bodiless(a))
		a->status = 200; /* a body can only be broken where there is one */
	if (f->body == FAULT_BODY_HTML) {
		buf_wipe(&a->headers);
		buf_wipe(&a->body);
		buf_format(&a->body, page, a->status, a->status);
		buf_text(&a->headers, "Content-Type: text/html\r\n");
		a->has_type = true;
		if (f->has_retry_after)
			buf_format(&a->headers, "Retry-After: %llu\r\n", (unsigned long long)f->retry_after);
	} else if (f->body == FAULT_BODY_GARBLE || f->body == FAULT_BODY_NOT_HTTP) {
		garble(w, f, a);
	}
	/* whatever the status; nor can anybody read an acknowledgement in a broken body */
	if (is_worded(f) || (f->body != FAULT_BODY_AS_IS && f->body != FAULT_BODY_NO_LENGTH))
		a->tells_error = true;
	if (f->body != FAULT_BODY_AS_IS)
		a->frames_len = a->marks_len = 0;
	a->is_unended = f->body == FAULT_BODY_UNTERMINATED && strcmp(q->method, "HEAD") != 0;
	if (f->body == FAULT_BODY_WRONG_LENGTH || f->body >= FAULT_BODY_BAD_CHUNK)
		while (a->body.len < 2 && !a->body.failed)
			buf_text(&a->body, " ");
	if (cleans) {
		a->body.len = fault_cut(f, a, a->body.len);
		while (a->frames_len > 1 && a->frames[a->frames_len - 2] >= a->body.len)
			a->frames_len--;
		if (a->frames_len > 0)
			a->frames[a->frames_len - 1] = a->body.len;
	}
}

/* see answer.h */
size_t
fault_cut(const struct fault *f, const struct answer *a, size_t len)
{
	double part = f->has_at ? f->at : 0.5;
	size_t n = (size_t)(part * (double)len);

	if (f->has_bytes)
		n = f->bytes < len ? (size_t)f->bytes : len;
	else if (f->inside != FAULT_INSIDE_BODY)
		n = answer_cut(a, f->inside == FAULT_INSIDE_TEXT ? LLM_TEXT : LLM_ARGUMENTS, part,
			       f->end == FAULT_END_CLEAN);
	n = n < len ? n : len > 0 ? len - 1 : 0;
	if (f->end == FAULT_END_CLEAN && a->frames_len > 0) {
		size_t whole = 0; /* a stream that ends in order ends between two frames */

		for (size_t i = 0; i < a->frames_len && a->frames[i] <= n; i++)
			whole = a->frames[i];
		n = whole;
	}
	return n;
}
