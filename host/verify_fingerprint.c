/* SPDX-License-Identifier: GPL-2.0-or-later
 * verify_fingerprint.c - run.fingerprint, made again from the receipt. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/evidence.h"
#include "host/fingerprint.h"
#include "host/grow.h"
#include "host/json.h"
#include "host/verify.h"

struct op {
	size_t service;
	uint8_t group[32], key[16], content[32];
};
struct ops {
	struct op *list; /* owned */
	size_t len, size;
	const cJSON *services;       /* the world's, in their order: state.initial */
	struct evidence_names names; /* not used but by what counts them */
};

static const uint8_t *
content_of(const void *origin)
{
	const struct op *o = origin;

	return o->content;
}

static const char *
label_of(const void *arg, size_t service)
{
	const struct ops *o = arg;

	return service == EVIDENCE_TRIGGER ? "trigger"
	       : service == EVIDENCE_DNS   ? NULL
					   : cJSON_GetArrayItem(o->services, (int)service)->string;
}

/* False: a service that the receipt has no state of. */
static bool
find_service(const struct ops *o, const char *name, size_t *out)
{
	const cJSON *s;

	*out = 0;
	cJSON_ArrayForEach(s, o->services)
	{
		if (strcmp(s->string, name) == 0)
			return true;
		(*out)++;
	}
	return false;
}

static int
take(struct ops *o, const cJSON *op)
{
	const char *service = json_get_text(op, "service"), *kind = json_get_text(op, "kind");
	struct trace_op t;
	struct op *p;
	int r;

	if (!(p = grow_by_one(o->list, &o->len, &o->size, sizeof(*p))))
		return -ENOMEM;
	o->list = p;
	p = &o->list[o->len - 1];
	if (kind && strcmp(kind, "dns") == 0) {
		p->service = EVIDENCE_DNS;
		r = evidence_names_add(&o->names, op, 0, p->content);
		memcpy(p->group, p->content, sizeof(p->group));
		return r;
	}
	if (service && strcmp(service, "trigger") == 0)
		p->service = EVIDENCE_TRIGGER;
	else if (!service || !find_service(o, service, &p->service))
		return -EPROTO;
	trace_call(op, &t);
	memcpy(p->group, t.group, sizeof(p->group));
	memcpy(p->key, t.key, sizeof(p->key));
	memcpy(p->content, t.content, sizeof(p->content));
	return 0;
}

static int
collect(struct verify *v, struct ops *o)
{
	struct receipt_cursor c = { 0 };
	cJSON *op;
	int r, taken;

	while ((r = receipt_next(v->doc, &c, &op)) == 1) {
		taken = take(o, op);
		cJSON_Delete(op);
		if (taken < 0)
			return taken;
	}
	return r;
}

static void
end_of(const cJSON *receipt, int *code, unsigned *signal)
{
	const cJSON *exit = json_get(json_get(receipt, "outcome"), "exit"), *c = json_get(exit, "code"),
		    *s = json_get(exit, "signal");

	*code = cJSON_IsNumber(c) ? c->valueint : cJSON_IsObject(exit) ? -1 : -2;
	*signal = cJSON_IsNumber(s) ? (unsigned)s->valueint : 0;
}

static void
make(struct verify *v, struct ops *o, struct trace_place *places, char out[static 65])
{
	const cJSON *r = v->doc->rest, *run = json_get(r, "run"), *x;
	const char *policy = json_get_text(json_get(json_get(r, "boundary"), "policy"), "sha256");
	const char *world = json_get_text(json_get(run, "world"), "sha256");
	const struct fingerprint_ops ops = { content_of, label_of, o };
	struct sha256 h;
	uint64_t seed = 0;
	unsigned signal;
	size_t i;
	int code;

	json_get_u64(run, "seed", UINT64_MAX, &seed);
	end_of(r, &code, &signal);
	fingerprint_begin(&h, policy ? policy : "", world ? world : "", seed, code, signal);
	for (i = 0; i < o->len; i++) {
		places[i].service = o->list[i].service;
		memcpy(places[i].group, o->list[i].group, sizeof(places[i].group));
		memcpy(places[i].key, o->list[i].key, sizeof(places[i].key));
		places[i].n = i;
		places[i].origin = &o->list[i];
	}
	fingerprint_operations(&h, places, o->len, &ops);
	cJSON_ArrayForEach(x, json_get(r, "checks"))
	{
		fingerprint_check(&h, json_get_text(x, "id") ? json_get_text(x, "id") : "",
				  cJSON_IsNull(json_get(x, "held")) ? "not judged"
				  : json_get_true(x, "held")        ? "held"
								    : "not held");
	}
	cJSON_ArrayForEach(x, json_get(json_get(r, "state"), "final_sha256"))
	{
		fingerprint_state(&h, cJSON_IsString(x) ? x->valuestring : "");
	}
	fingerprint_end(&h, out);
}

int
verify_fingerprint(struct verify *v)
{
	const cJSON *integrity = json_get(v->doc->rest, "integrity");
	const char *stated = json_get_text(json_get(v->doc->rest, "run"), "fingerprint");
	struct ops o = { .services = json_get(json_get(v->doc->rest, "state"), "initial") };
	struct trace_place *places = NULL;
	uint64_t lost = 0;
	char again[65];
	int r;

	if (json_get_u64(json_get(integrity, "spool"), "lost", UINT64_MAX, &lost) && lost) {
		verify_say(v, VERIFY_CANNOT, "fingerprint",
			   "%llu events did not fit: it is over operations that are not there",
			   (unsigned long long)lost);
		return 0;
	}
	r = collect(v, &o);
	if (r == 0 && o.len && !(places = calloc(o.len, sizeof(*places))))
		r = -ENOMEM;
	if (r == 0) {
		make(v, &o, places, again);
		if (stated && strcmp(again, stated) == 0)
			verify_say(v, VERIFY_GOOD, "fingerprint", "%.16s, made again from the receipt", again);
		else
			verify_say(v, VERIFY_WRONG, "fingerprint", "what the receipt says comes to %.16s, not to %.16s",
				   again, stated ? stated : "nothing");
	} else if (r == -EPROTO && !v->doc->why[0]) {
		verify_say(v, VERIFY_WRONG, "fingerprint", "an operation is of a service that the world does not have");
		r = 0;
	}
	free(places);
	free(o.list);
	evidence_names_wipe(&o.names);
	return r;
}
