/* SPDX-License-Identifier: GPL-2.0-or-later
 * llm_embed.c - vectors for texts: of length one, the same for the same text, near to nothing else.  They say nothing about meaning. */
#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/llm.h"
#include "guest/profile.h"
#include "guest/request.h"
#include "guest/service.h"
#include "proto/sha256.h"

#define DIMENSIONS_USUAL 1536u

/* out[0..n): a unit vector that only the text decides on. */
static void
vector(const char *text, size_t len, float *out, size_t n)
{
	uint8_t digest[32], block[32];
	double sum = 0;

	sha256_of(text, len, digest);
	for (size_t i = 0; i < n; i++) {
		int32_t v;

		if (i % 8 == 0) {
			uint8_t number[4] = { (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i };
			struct sha256 h;

			sha256_init(&h);
			sha256_add(&h, digest, sizeof(digest));
			sha256_add(&h, number, sizeof(number));
			sha256_get(&h, block);
		}
		v = (int32_t)((uint32_t)block[i % 8 * 4] << 24 | (uint32_t)block[i % 8 * 4 + 1] << 16 |
			      (uint32_t)block[i % 8 * 4 + 2] << 8 | block[i % 8 * 4 + 3]);
		out[i] = (float)((double)v / 2147483648.0);
		sum += (double)out[i] * (double)out[i];
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (float)((double)out[i] / sqrt(sum));
}

static void
put_base64(struct buf *out, const uint8_t *data, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)data[i] << 16 | (i + 1 < len ? (uint32_t)data[i + 1] << 8 : 0) |
			     (i + 2 < len ? data[i + 2] : 0);
		char four[4] = { letters[v >> 18], letters[v >> 12 & 63], i + 1 < len ? letters[v >> 6 & 63] : '=',
				 i + 2 < len ? letters[v & 63] : '=' };

		buf_add(out, four, 4);
	}
}

static void
put_vector(struct buf *out, const float *v, size_t n, bool base64)
{
	if (base64) {
		buf_text(out, "\"");
		put_base64(out, (const void *)v,
			   n * sizeof(*v)); /* both machines that this runs on are little-endian */
		buf_text(out, "\"");
		return;
	}
	buf_text(out, "[");
	for (size_t i = 0; i < n; i++) {
		buf_number(out, (double)v[i]);
		buf_text(out, i + 1 < n ? "," : "]");
	}
}

/* A text, or the tokens of one as they stand.  False: neither. */
static bool
put_one(struct answer *a, const struct cJSON *input, size_t index, size_t n, bool base64, size_t *bytes)
{
	static float v[LLM_DIMENSIONS_MAX]; /* of the one request that is being answered */
	struct buf text;

	buf_init(&text, ANSWER_BODY_MAX);
	if (cJSON_IsString(input))
		buf_text(&text, input->valuestring);
	else if (cJSON_IsArray(input) && cJSON_IsNumber(input->child))
		buf_json(&text, input);
	else
		return false;
	*bytes += text.len;
	vector(text.at == NULL ? "" : text.at, text.len, v, n);
	buf_wipe(&text);
	buf_format(&a->body, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", index > 0 ? "," : "", index);
	put_vector(&a->body, v, n, base64);
	buf_text(&a->body, "}");
	return true;
}

/* see llm.h */
int
llm_embeddings(const struct service *s, struct request *q, struct answer *a, const struct llm_call *c)
{
	const struct cJSON *body = request_member(q, "body"), *input = cJSON_GetObjectItemCaseSensitive(body, "input"),
			   *format = cJSON_GetObjectItemCaseSensitive(body, "encoding_format"),
			   *dimensions = cJSON_GetObjectItemCaseSensitive(body, "dimensions"), *one;
	bool base64 = cJSON_IsString(format) && strcmp(format->valuestring, "base64") == 0, many, fine = true;
	size_t n = DIMENSIONS_USUAL, bytes = 0, i = 0, tokens;

	if (strcmp(c->model, "text-embedding-3-large") == 0)
		n = LLM_DIMENSIONS_MAX;
	if (dimensions != NULL) {
		if (!cJSON_IsNumber(dimensions) ||
		    !(dimensions->valuedouble >= 1 && dimensions->valuedouble <= LLM_DIMENSIONS_MAX)) {
			answer_profile_error(s, a, 400, NULL, "dimensions is a number from 1 to 3072");
			return 0;
		}
		n = (size_t)dimensions->valuedouble;
	}
	many = cJSON_IsArray(input) && input->child != NULL && !cJSON_IsNumber(input->child);
	if (many && cJSON_GetArraySize(input) > (int)LLM_INPUTS_MAX) {
		answer_profile_error(s, a, 400, NULL, "input has more than 2048 texts");
		return 0;
	}
	buf_text(&a->body, "{\"object\":\"list\",\"data\":[");
	if (many)
		for (one = input->child; one != NULL && fine; one = one->next, i++)
			fine = put_one(a, one, i, n, base64, &bytes);
	else
		fine = put_one(a, input, 0, n, base64, &bytes);
	if (!fine) {
		answer_profile_error(s, a, 400, NULL, "input is a text, an array of texts, or tokens of those");
		return 0;
	}
	tokens = (bytes + 3) / 4;
	buf_text(&a->body, "],\"model\":");
	buf_json_text(&a->body, c->model);
	buf_format(&a->body, ",\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu}}", tokens, tokens);
	return 0;
}
