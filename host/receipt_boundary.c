/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_boundary.c - the part `boundary`: what the sandbox stated about its firewall, and what the host made of it. */
#include <cJSON.h>
#include <string.h>

#include "host/emit.h"
#include "host/json.h"
#include "host/receipt.h"

static void
verification(struct emit *e, const char *key, const cJSON *doc, bool accepted)
{
	static const char *const names[] = { "lock",     "kind",  "proved", "generation", "foreign_changes",
					     "counters", "probes" };
	const cJSON *lock;
	size_t i;

	if (!doc) {
		emit_null(e, key);
		return;
	}
	emit_open(e, key, '{');
	emit_bool(e, "proved", accepted);
	emit_open(e, "locks", '[');
	cJSON_ArrayForEach(lock, json_get(doc, "locks"))
	{
		emit_open(e, NULL, '{');
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			emit_json(e, names[i], json_get(lock, names[i]));
		emit_close(e);
	}
	emit_close(e);
	emit_json(e, "failure", json_get(doc, "failure"));
	emit_close(e);
}

static void
locks(struct emit *e, const cJSON *doc)
{
	static const char *const names[] = { "lock", "kind", "text_sha256", "text", "binding", "params", "interfaces" };
	const cJSON *lock;
	size_t i;

	emit_open(e, "locks", '[');
	cJSON_ArrayForEach(lock, json_get(doc, "locks"))
	{
		emit_open(e, NULL, '{');
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			emit_json(e, names[i], json_get(lock, names[i]));
		emit_close(e);
	}
	emit_close(e);
}

/* All probes of both verifications in one list, for tools that only count verdicts. */
static void
probes(struct emit *e, const cJSON *doc, const char *phase)
{
	const cJSON *lock, *probe;

	cJSON_ArrayForEach(lock, json_get(doc, "locks"))
	{
		cJSON_ArrayForEach(probe, json_get(lock, "probes"))
		{
			emit_open(e, NULL, '{');
			emit_text(e, "phase", phase);
			emit_json(e, "lock", json_get(lock, "lock"));
			emit_json(e, "what", json_get(probe, "what"));
			emit_json(e, "verdict", json_get(probe, "verdict"));
			emit_close(e);
		}
	}
}

/* Packets go to addresses; a name is only known for those that the sandbox itself gave a name to. */
static void
denied_name(struct emit *e, const struct evidence *ev, const cJSON *row)
{
	const char *destination = json_get_text(row, "destination"), *from,
		   *name = destination ? evidence_names_find(&ev->names, ev->w, destination, &from) : NULL;

	if (!name)
		return;
	emit_text(e, "name", name);
	emit_text(e, "name_from", from);
}

static void
denied(struct emit *e, const struct evidence *ev)
{
	static const char *const names[] = { "lock", "family", "protocol", "destination",
					     "port", "uid",    "owner",    "count" };
	const cJSON *row, *doc = ev->denied;
	uint64_t ms;
	size_t i;

	emit_open(e, "denied_egress", '[');
	cJSON_ArrayForEach(row, json_get(doc, "rows"))
	{
		emit_open(e, NULL, '{');
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			emit_json(e, names[i], json_get(row, names[i]));
		denied_name(e, ev, row);
		if (json_get_u64(row, "first_ms", UINT64_MAX, &ms))
			emit_time(e, "first", ms);
		if (json_get_u64(row, "last_ms", UINT64_MAX, &ms))
			emit_time(e, "last", ms);
		emit_close(e);
	}
	emit_close(e);
	if (!doc) {
		emit_null(e, "denied");
		return;
	}
	emit_open(e, "denied", '{');
	emit_json(e, "total", json_get(doc, "total"));
	emit_json(e, "recorded", json_get(doc, "recorded"));
	emit_json(e, "unrecorded", json_get(doc, "unrecorded"));
	emit_json(e, "lossy", json_get(doc, "lossy"));
	emit_close(e);
}

/* Names that the DNS stub refused, and how many queries that was, listed or not. */
static void
refused(struct emit *e, const struct receipt *r)
{
	const struct evidence_names *n = &r->evidence->names;
	size_t i;

	emit_open(e, "refused_names", '[');
	for (i = 0; i < n->len; i++) {
		emit_open(e, NULL, '{');
		emit_text(e, "name", n->list[i].name);
		emit_text(e, "type", n->list[i].type);
		emit_u64(e, "count", n->list[i].count);
		emit_time(e, "first", r->started_unix_ms + n->list[i].first_ms);
		emit_time(e, "last", r->started_unix_ms + n->list[i].last_ms);
		emit_close(e);
	}
	emit_close(e);
	emit_open(e, "refused", '{');
	emit_u64(e, "total", n->refused);
	emit_u64(e, "unlisted", n->unlisted);
	emit_close(e);
}

void
receipt_boundary(struct emit *e, const struct receipt *r)
{
	const struct evidence *ev = r->evidence;
	const cJSON *doc = ev->opening;

	emit_open(e, "boundary", '{');
	if (!ev->sandbox) {
		emit_text(e, "kind", "none");
		emit_null(e, "opening");
		emit_null(e, "closing");
		emit_open(e, "locks", '[');
		emit_close(e);
		emit_open(e, "probes", '[');
		emit_close(e);
		emit_open(e, "denied_egress", '[');
		emit_close(e);
		emit_open(e, "refused_names", '[');
		emit_close(e);
		emit_close(e);
		return;
	}
	emit_text(e, "kind", "firewall");
	emit_open(e, "policy", '{');
	emit_text(e, "sha256", ev->gate.policy_sha256);
	emit_json(e, "stated", json_get(json_get(doc, "policy"), "sha256"));
	emit_close(e);
	emit_json(e, "inner_room", json_get(doc, "inner_room"));
	emit_json(e, "reason", json_get(doc, "reason"));
	emit_json(e, "namespaces", json_get(doc, "namespaces"));
	emit_json(e, "af_unix", json_get(doc, "af_unix"));
	verification(e, "opening", doc, r->run->opening);
	verification(e, "closing", ev->closing, r->run->closing);
	locks(e, doc);
	emit_open(e, "probes", '[');
	probes(e, doc, "opening");
	probes(e, ev->closing, "closing");
	emit_close(e);
	emit_json(e, "changed", json_get(ev->changed, "failure"));
	denied(e, ev);
	refused(e, r);
	emit_json(e, "drop", json_get(doc, "drop"));
	emit_close(e);
}
