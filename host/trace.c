/* SPDX-License-Identifier: GPL-2.0-or-later
 * trace.c - see trace.h. */
#include "host/trace.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "proto/sha256.h"

static void
hash_text(struct sha256 *h, const char *text)
{
	sha256_add(h, text ? text : "", text ? strlen(text) : 0);
	sha256_add(h, "", 1);
}

static void
hash_json(struct sha256 *h, const cJSON *v)
{
	char *text = json_print(v);

	hash_text(h, text);
	free(text);
}

const char *
trace_fault(const cJSON *op)
{
	const cJSON *fault = json_get(op, "fault");

	/* Of a fault only its id: how many bytes had left before it cut depends on the machine. */
	return cJSON_IsString(fault) ? fault->valuestring : json_get_text(fault, "id");
}

/* Which of the deliveries of an event. */
static void
hash_delivery(struct sha256 *h, const cJSON *event)
{
	if (!cJSON_IsObject(event))
		return;
	hash_json(h, json_get(event, "id"));
	hash_json(h, json_get(event, "attempt"));
	hash_json(h, json_get(event, "copy"));
}

/* The twins asked: what the workflow answers to that is its own affair, times and all. */
bool
trace_is_sent(const cJSON *op)
{
	const char *kind = json_get_text(op, "kind"), *service = json_get_text(op, "service");

	return (kind && strcmp(kind, "webhook") == 0) || (service && strcmp(service, "trigger") == 0);
}

void
trace_call(const cJSON *op, struct trace_op *out)
{
	const cJSON *request = json_get(op, "request"), *reply = json_get(op, "reply"), *views = json_get(op, "views");
	const char *method = json_get_text(request, "method"), *target = json_get_text(request, "target");
	const char *body = json_get_text(json_get(request, "body"), "sha256"), *key = json_get_text(op, "key");
	const cJSON *event = json_get(op, "event");
	uint8_t digest[32];
	struct sha256 h;

	if (cJSON_IsObject(event)) /* a webhook's bytes have the time of sending in them; this is what stays the same */
		body = json_get_text(event, "data_sha256");
	sha256_init(&h);
	hash_text(&h, json_get_text(op, "route"));
	hash_text(&h, method);
	hash_text(&h, target);
	hash_text(&h, body);
	hash_delivery(&h, event); /* attempts end in any order */
	sha256_get(&h, out->group);
	memset(out->key, 0, sizeof(out->key));
	if (key) {
		sha256_of(key, strlen(key), digest);
		memcpy(out->key, digest, sizeof(out->key));
	}

	sha256_init(&h);
	hash_text(&h, json_get_text(op, "route"));
	hash_text(&h, method);
	hash_text(&h, target);
	hash_text(&h, body);
	hash_json(&h, json_get(op, "effects"));
	hash_json(&h, json_get(reply, "status"));
	hash_text(&h, trace_is_sent(op) ? NULL : json_get_text(reply, "sha256"));
	hash_delivery(&h, event);
	hash_text(&h, trace_fault(op));
	hash_text(&h, json_get_text(views, "service"));
	hash_text(&h, json_get_text(views, "client"));
	sha256_get(&h, out->content);
}

static int
by_key(const void *a, const void *b)
{
	const struct trace_place *x = a, *y = b;
	int r;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if ((r = memcmp(x->group, y->group, sizeof(x->group))) != 0 ||
	    (r = memcmp(x->key, y->key, sizeof(x->key))) != 0)
		return r;
	return x->n < y->n ? -1 : x->n > y->n;
}

static int
by_rank(const void *a, const void *b)
{
	const struct trace_place *x = a, *y = b;
	int r;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if ((r = memcmp(x->group, y->group, sizeof(x->group))) != 0)
		return r;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

void
trace_sort(struct trace_place *list, size_t len)
{
	size_t i;

	if (len == 0)
		return;
	qsort(list, len, sizeof(*list), by_key);
	for (i = 0; i < len; i++)
		list[i].rank = i > 0 && list[i - 1].service == list[i].service &&
					       memcmp(list[i - 1].group, list[i].group, sizeof(list[i].group)) == 0 &&
					       memcmp(list[i - 1].key, list[i].key, sizeof(list[i].key)) == 0
				       ? list[i - 1].rank
				       : list[i].n;
	qsort(list, len, sizeof(*list), by_rank);
}
