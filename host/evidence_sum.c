/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence_sum.c - what the evidence comes to at the end: facts for the checks, and the fingerprint. */
#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "host/evidence.h"
#include "host/fingerprint.h"
#include "host/json.h"

struct cJSON *
evidence_state_doc(struct evidence *e, unsigned phase, size_t service)
{
	const struct evidence_state *s = &e->states[phase * e->w->services_len + service];
	char *text;
	cJSON *doc;

	int r;

	if (!s->have || s->place.len == 0)
		return NULL;
	if ((r = spool_read(e->spool, &s->place, &text)) < 0) {
		e->spool->error = e->spool->error ? e->spool->error : r; /* the record is not what was written */
		return NULL;
	}
	doc = cJSON_Parse(text);
	free(text);
	return doc;
}

static struct cJSON *
final_state(void *arg, size_t service)
{
	return evidence_state_doc(arg, 1, service);
}

static struct cJSON *
initial_state(void *arg, size_t service)
{
	return evidence_state_doc(arg, 0, service);
}

/* The first trigger that was not answered, if there is one. */
static void
fact_trigger(const struct evidence *e, struct check_facts *out)
{
	const cJSON *t;
	size_t i = 0;

	cJSON_ArrayForEach(t, e->w->triggers)
	{
		if (i < EVIDENCE_TRIGGERS_MAX && e->triggers[i] != TRIGGER_ANSWERED && !out->trigger_left) {
			out->trigger_left = json_get_text(t, "id");
			out->trigger_sent = e->triggers[i] == TRIGGER_UNANSWERED;
		}
		i++;
	}
	out->triggers = i;
}

void
evidence_facts(struct evidence *e, struct check_facts *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	out->exit = e->have_exit ? &e->exit : NULL;
	out->sandbox = e->sandbox;
	out->denied = e->denied_last ? e->denied : NULL; /* an earlier count says nothing of what came later */
	out->operations = e->ops_len - e->names.asked;
	out->names_refused = e->names.refused;
	if (e->names.len) {
		out->first_name = e->names.list[0].name;
		out->first_type = e->names.list[0].type;
	}
	out->unmatched = e->unmatched;
	out->first_unmatched = e->first_unmatched;
	out->unmatched_text = e->unmatched_text;
	for (i = 0; i < e->truncated_len; i++)
		out->truncated[e->truncated[i].what] = true;
	out->truncated[0] = e->spool->lost != 0;
	out->twins_done = true;
	for (i = 0; i < e->w->services_len; i++)
		if (!e->states[e->w->services_len + i].have)
			out->twins_done = false;
	for (i = 0; i < EVIDENCE_TRIGGERS_MAX; i++)
		out->triggers_answered += e->triggers[i] == TRIGGER_ANSWERED;
	fact_trigger(e, out);
	out->state = final_state;
	out->initial = initial_state;
	out->arg = e;
	evidence_faults_facts(e, out);
}

static const uint8_t *
content_of(const void *origin)
{
	const struct evidence_op *o = origin;

	return o->content;
}

static const char *
label_of(const void *arg, size_t service)
{
	const struct evidence *e = arg;

	return service == EVIDENCE_TRIGGER ? "trigger" : service == EVIDENCE_DNS ? NULL : e->w->services[service].name;
}

static void
hash_operations(struct sha256 *h, const struct evidence *e)
{
	struct trace_place *list = e->ops_len ? calloc(e->ops_len, sizeof(*list)) : NULL;
	const struct fingerprint_ops ops = { content_of, label_of, e };
	size_t i;

	for (i = 0; list && i < e->ops_len; i++) {
		list[i].service = e->ops[i].service;
		memcpy(list[i].group, e->ops[i].group, sizeof(list[i].group));
		memcpy(list[i].key, e->ops[i].key, sizeof(list[i].key));
		list[i].n = e->ops[i].n;
		list[i].origin = &e->ops[i];
	}
	fingerprint_operations(h, list, e->ops_len, &ops);
	free(list);
}

bool
evidence_state_digest(const struct evidence *e, size_t service, uint8_t out[static 32])
{
	const struct evidence_state *s = &e->states[e->w->services_len + service];

	if (!s->have)
		return false;
	/* Of what was kept, with credentials named: a row that holds one is the same in every run.  What did not fit into
	 * the event file has no place, and within-limits says so. */
	memcpy(out, s->place.len ? s->place.digest : s->digest, 32);
	return true;
}

void
evidence_fingerprint(struct evidence *e, uint64_t seed, char out[static 65])
{
	struct sha256 h;
	char hex[65];
	uint8_t digest[32];
	size_t i;

	sha256_hex(e->w->sha256, hex);
	fingerprint_begin(&h, e->gate.policy_sha256, hex, seed, e->have_exit ? e->exit.code : -2,
			  e->have_exit ? e->exit.signal : 0u);
	hash_operations(&h, e);
	for (i = 0; i < e->checks->results_len; i++) {
		const struct check_result *c = &e->checks->results[i];

		fingerprint_check(&h, c->id,
				  c->role && strcmp(c->role, "sweep") == 0 ? "not judged"
				  : c->held                                ? "held"
									   : "not held");
	}
	for (i = 0; i < e->w->services_len; i++) {
		if (!evidence_state_digest(e, i, digest))
			continue;
		sha256_hex(digest, hex);
		fingerprint_state(&h, hex);
	}
	fingerprint_end(&h, out);
}
