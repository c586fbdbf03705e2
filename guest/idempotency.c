/* SPDX-License-Identifier: GPL-2.0-or-later
 * idempotency.c - a table of keys.  What was asked is kept as a digest over method, path and the parameters as they were
 * understood, so that another order of fields is the same request. */
#include "guest/idempotency.h"

#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/answer.h"
#include "guest/request.h"
#include "guest/service.h"
#include "guest/twin_hash.h"
#include "proto/frame.h"

#define TABLE_MIN 64u
#define CANON_MAX (64u << 20)
#define KEY_OVERHEAD (sizeof(struct idempotency_key) + 2 * sizeof(void *) + 32u)

struct idempotency_key {
	struct idempotency_key *chain;         /* of the table */
	struct idempotency_key *older, *newer; /* in order of arrival, which is that of expiry */
	uint8_t digest[32], asked[32];
	double expires;
	bool done;      /* a reply is stored */
	bool in_flight; /* it has not left yet */
	size_t charged; /* bytes of the budget */
	int status;
	const char *view;
	bool has_type;
	char *headers, *body; /* owned */
	size_t headers_len, body_len;
	char request_id[33];
};

/* ---- the table --------------------------------------------------------------------------------------------------------- */

static struct idempotency_key **
slot_of(const struct idempotency *t, const uint8_t digest[static 32])
{
	uint64_t h;

	memcpy(&h, digest, sizeof(h)); /* keyed with the run's random key: nobody can choose it */
	return &t->table[h & (t->table_len - 1)];
}

static struct idempotency_key *
find(const struct idempotency *t, const uint8_t digest[static 32])
{
	struct idempotency_key *k = t->table == NULL ? NULL : *slot_of(t, digest);

	while (k != NULL && memcmp(k->digest, digest, 32) != 0)
		k = k->chain;
	return k;
}

static void
key_free(struct idempotency_key *k)
{
	free(k->headers);
	free(k->body);
	free(k);
}

static void
take_out(struct idempotency *t, struct state_budget *budget, struct idempotency_key *k)
{
	struct idempotency_key **slot = slot_of(t, k->digest);

	while (*slot != k)
		slot = &(*slot)->chain;
	*slot = k->chain;
	if (k->older != NULL)
		k->older->newer = k->newer;
	else
		t->oldest = k->newer;
	if (k->newer != NULL)
		k->newer->older = k->older;
	else
		t->newest = k->older;
	t->len--;
	budget->used -= k->charged;
	key_free(k);
}

/* see idempotency.h */
void
idempotency_wipe(struct idempotency *t)
{
	while (t->oldest != NULL) {
		struct idempotency_key *k = t->oldest;

		t->oldest = k->newer;
		key_free(k);
	}
	free(t->table);
	t->table = NULL;
}

static bool
has_room(const struct state_budget *budget, size_t bytes)
{
	size_t used = budget->used + budget->indexes;

	return used <= budget->max && bytes <= budget->max - used;
}

/* Room for `bytes` more: what has expired goes first. */
static int
charge(struct service *s, double now, size_t bytes)
{
	struct state_budget *budget = s->state.budget;
	struct idempotency *t = &s->idempotency;

	for (struct idempotency_key *k = t->oldest, *next; k != NULL; k = next) {
		if (has_room(budget, bytes))
			break;
		next = k->newer;
		if (k->expires > now)
			break;
		if (!k->in_flight)
			take_out(t, budget, k);
	}
	if (!has_room(budget, bytes)) {
		budget->lost += bytes;
		return -ENOSPC;
	}
	budget->used += bytes;
	return 0;
}

static bool
grow(struct idempotency *t)
{
	size_t len = t->table_len == 0 ? TABLE_MIN : 2 * t->table_len;
	struct idempotency_key **old = t->table;

	if (t->len < t->table_len)
		return true;
	t->table = calloc(len, sizeof(void *));
	if (t->table == NULL) {
		t->table = old;
		return old != NULL; /* longer chains */
	}
	free(old);
	t->table_len = len;
	for (struct idempotency_key *k = t->oldest; k != NULL; k = k->newer) {
		struct idempotency_key **slot = slot_of(t, k->digest);

		k->chain = *slot;
		*slot = k;
	}
	return true;
}

static int
reserve(struct service *s, double now, const uint8_t digest[static 32], const uint8_t asked[static 32],
	struct answer *a)
{
	struct idempotency *t = &s->idempotency;
	struct idempotency_key *k, **slot;
	int r = charge(s, now, KEY_OVERHEAD);

	if (r < 0)
		return r;
	k = calloc(1, sizeof(*k));
	if (k == NULL || !grow(t)) {
		free(k);
		s->state.budget->used -= KEY_OVERHEAD;
		return -ENOMEM;
	}
	memcpy(k->digest, digest, 32);
	memcpy(k->asked, asked, 32);
	k->expires = now + (double)t->keep_ms;
	k->charged = KEY_OVERHEAD;
	k->in_flight = true;
	memcpy(k->request_id, a->request_id, sizeof(k->request_id));
	slot = slot_of(t, digest);
	k->chain = *slot;
	*slot = k;
	k->older = t->newest;
	if (t->newest != NULL)
		t->newest->newer = k;
	else
		t->oldest = k;
	t->newest = k;
	t->len++;
	a->key = k;
	return 0;
}

/* ---- what was asked ---------------------------------------------------------------------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct cJSON *const *)a)->string, (*(const struct cJSON *const *)b)->string);
}

/* Compact JSON with the members of each object in the order of their names.  Recurses as deep as a body may be. */
static int
put_canonical(struct buf *b, const struct cJSON *json)
{
	const struct cJSON **members;
	bool object = cJSON_IsObject(json);
	size_t n, i = 0;
	int r = 0;

	if (json == NULL || !(object || cJSON_IsArray(json))) {
		buf_json(b, json);
		return 0;
	}
	n = (size_t)cJSON_GetArraySize(json);
	members = calloc(n + 1, sizeof(void *));
	if (members == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = json->child; c != NULL; c = c->next)
		members[i++] = c;
	if (object)
		qsort(members, n, sizeof(void *), compare_names);
	buf_text(b, object ? "{" : "[");
	for (i = 0; i < n && r == 0; i++) {
		if (object)
			buf_json_text(b, members[i]->string);
		r = put_canonical(b, members[i]);
		buf_text(b, ",");
	}
	buf_text(b, object ? "}" : "]");
	free(members);
	return r;
}

static int
digest_asked(const struct request *q, uint8_t out[static 32])
{
	const struct cJSON *body = request_member(q, q->form_type ? "form" : "body");
	struct twin_hash h;
	struct buf b;
	int r;

	twin_hash_init(&h);
	twin_hash_add(&h, q->method, strlen(q->method) + 1);
	for (size_t i = 0; i < q->segments_len; i++)
		twin_hash_add(&h, q->segments[i], strlen(q->segments[i]) + 1);
	buf_init(&b, CANON_MAX);
	r = put_canonical(&b, request_member(q, "query"));
	if (r == 0 && body != NULL)
		r = put_canonical(&b, body);
	else
		buf_add(&b, q->body, q->body_len);
	if (b.failed)
		r = -ENOMEM; /* a body of 8 MiB is at most 48 in this form */
	twin_hash_add(&h, b.at == NULL ? "" : b.at, b.len);
	twin_hash_get(&h, out);
	buf_wipe(&b);
	return r;
}

/* The key as the header has it: IETF clients may write it as a structured string, in quotes. */
static const char *
key_text(const struct service *s, const struct request *q, size_t *len)
{
	const char *key = request_header(q, "idempotency-key");

	*len = key == NULL ? 0 : strlen(key);
	if (s->idempotency.form == IDEMPOTENCY_IETF && *len >= 2 && key[0] == '"' && key[*len - 1] == '"') {
		key++;
		*len -= 2;
	}
	return *len == 0 ? NULL : key;
}

/* A key means something within one account: Stripe's clients name another one in a header. */
static void
digest_key(const struct service *s, const struct request *q, const char *key, size_t len, uint8_t out[static 32])
{
	const char *account = s->idempotency.form == IDEMPOTENCY_STRIPE ? request_header(q, "stripe-account") : NULL;
	struct twin_hash h;

	twin_hash_init(&h);
	twin_hash_add(&h, s->state.budget->key, sizeof(s->state.budget->key));
	if (account != NULL)
		twin_hash_add(&h, account, strlen(account));
	twin_hash_add(&h, "", 1);
	twin_hash_add(&h, key, len);
	twin_hash_get(&h, out);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------------- */

static bool
counts(const struct idempotency *t, const char *method)
{
	for (size_t i = 0; i < t->methods_len; i++)
		if (strcmp(t->methods[i], method) == 0)
			return true;
	return false;
}

static void
mismatch(const struct service *s, struct answer *a)
{
	a->idempotency = "mismatch";
	if (s->idempotency.form == IDEMPOTENCY_STRIPE)
		answer_profile_error(
			s, a, 400, "idempotency_error",
			"Keys for idempotent requests can only be used with the same parameters they were "
			"first used with. Try using another key if you meant to execute a different request.");
	else
		answer_profile_error(s, a, 422, "idempotency_key_reused",
				     "this Idempotency-Key was used for another request");
}

static int
replay(const struct service *s, const struct idempotency_key *k, struct answer *a)
{
	a->idempotency = "replay";
	a->status = k->status;
	a->view = k->view;
	a->has_type = k->has_type;
	buf_add(&a->headers, k->headers, k->headers_len);
	buf_add(&a->body, k->body, k->body_len);
	answer_header(a, "Idempotent-Replayed", "true");
	if (s->profile == PROFILE_STRIPE)
		buf_format(&a->headers, "Original-Request: req_%.14s\r\n", k->request_id);
	return a->headers.failed || a->body.failed ? -ENOMEM : 0;
}

/* The table knows the key.  1: it has expired, and goes on as new. */
static int
known(struct service *s, struct idempotency_key *k, const uint8_t asked[static 32], double now, struct answer *a)
{
	if (now >= k->expires && !k->in_flight) {
		take_out(&s->idempotency, s->state.budget, k);
		a->idempotency = "expired";
		return 1;
	}
	if (memcmp(k->asked, asked, 32) != 0) {
		mismatch(s, a);
		return 0;
	}
	if (!k->in_flight)
		return replay(s, k, a);
	a->idempotency = "in-flight";
	answer_profile_error(
		s, a, 409, "idempotency_key_in_use",
		"There is currently another in-progress request using this Idempotency-Key. Please try again "
		"later.");
	return 0;
}

/* see idempotency.h */
int
idempotency_begin(struct service *s, const struct request *q, double now, struct answer *a, bool *go)
{
	struct idempotency *t = &s->idempotency;
	uint8_t digest[32], asked[32];
	struct idempotency_key *k;
	size_t len;
	const char *key = key_text(s, q, &len);
	int r;

	*go = true;
	a->key = NULL;
	if (t->form == IDEMPOTENCY_NONE || !counts(t, q->method) || (key == NULL && !t->required))
		return 0;
	*go = false;
	if (key == NULL || len > IDEMPOTENCY_KEY_MAX) {
		answer_profile_error(s, a, 400, key == NULL ? "idempotency_key_missing" : "idempotency_key_too_long",
				     key == NULL ? "this request needs an Idempotency-Key"
						 : "an Idempotency-Key has at most 255 characters");
		return 0;
	}
	if ((r = digest_asked(q, asked)) < 0)
		return r;
	digest_key(s, q, key, len, digest);
	a->idempotency = "first";
	k = find(t, digest);
	if (k != NULL && (r = known(s, k, asked, now, a)) != 1)
		return r;
	r = reserve(s, now, digest, asked, a);
	if (r == -ENOSPC) {
		answer_error(a, 507, "the run's limit of state is reached");
		return 0;
	}
	*go = r == 0;
	return r;
}

/* see idempotency.h */
int
idempotency_store(struct service *s, struct answer *a)
{
	struct idempotency_key *k = a->key;
	size_t bytes = a->headers.len + a->body.len + 64;
	int r = charge(s, 0, bytes); /* nothing is thrown out now: begin has just looked */

	if (r < 0)
		return r;
	k->headers = malloc(a->headers.len + 1);
	k->body = malloc(a->body.len + 1);
	if (k->headers == NULL || k->body == NULL) {
		s->state.budget->used -= bytes;
		return -ENOMEM;
	}
	if (a->headers.len > 0)
		memcpy(k->headers, a->headers.at, a->headers.len);
	if (a->body.len > 0)
		memcpy(k->body, a->body.at, a->body.len);
	k->headers_len = a->headers.len;
	k->body_len = a->body.len;
	k->charged += bytes;
	k->status = a->status;
	k->view = a->view;
	k->has_type = a->has_type;
	k->done = true;
	return 0;
}

/* see idempotency.h */
void
idempotency_drop(struct service *s, struct answer *a)
{
	if (a->key != NULL)
		take_out(&s->idempotency, s->state.budget, a->key);
	a->key = NULL;
}

/* see idempotency.h */
void
idempotency_release(struct idempotency_key *key)
{
	if (key != NULL)
		key->in_flight = false;
}
