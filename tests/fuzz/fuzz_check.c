/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_check.c - what checks make of a guest's records; the first byte chooses OP, STATE, DENIED.  Without the record that
 * it is about no check may hold. */
#include <cJSON.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/evidence.h"
#include "host/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char service_json[] =
	"{\"name\":\"p\",\"state\":{\"c\":[]},\"routes\":[{\"id\":\"r\"},{\"resource\":\"o\",\"path\":\"/o\"}],\"unmatched\":404}";
static const char *const check_json[] = {
	"{\"service\":\"p\",\"path\":\"/o/{id}\",\"count\":\"keys\",\"exactly\":1,\"all_equal\":\"/request/method\"}",
	"{\"service\":\"p\",\"path\":\"/c\",\"sum\":\"n\",\"equals\":3}",
	"{\"service\":\"p\",\"path\":\"/c/a/n\",\"equals\":{\"a\":[1]}}",
	"{}",
	"{\"first\":{\"service\":\"p\"},\"then\":{\"fault\":\"f\"}}",
	"{\"left\":{\"service\":\"p\",\"path\":\"/c\",\"sum\":\"n\"},\"op\":\"<=\",\"right\":{\"service\":\"p\",\"path\":\"/c/a/n\"}}",
	"{\"except\":[\"p:/c/*/n\"]}",
	"{\"service\":\"p\",\"path\":\"/c\",\"sum\":\"/n\",\"equals\":0}", /* along the run, as the two that follow */
	"{\"left\":{\"service\":\"p\",\"path\":\"/c\",\"count\":true},\"op\":\"!=\",\"right\":{\"value\":7}}",
	"{\"except\":[\"p:/c/b\"]}",
	"{}",
	"{}",
	"{\"service\":\"p\"}",
	"{}",
};
static const enum check_kind check_kind[] = { CHECK_CALLS,    CHECK_STATE,        CHECK_STATE,     CHECK_NO_EGRESS,
					      CHECK_ORDER,    CHECK_RELATION,     CHECK_UNCHANGED, CHECK_STATE,
					      CHECK_RELATION, CHECK_UNCHANGED,    CHECK_NO_LOST,   CHECK_IDEMPOTENT,
					      CHECK_RECOVERS, CHECK_NO_DUPLICATES };
#define MODES 7 /* the first of three along the run */
#define CHECKS (sizeof(check_json) / sizeof(check_json[0]))

static cJSON *state_doc;

static struct cJSON *
state(void *arg, size_t service)
{
	(void)arg;
	(void)service;
	return cJSON_Duplicate(state_doc, true);
}

static struct cJSON *
initial(void *arg, size_t service)
{
	(void)arg;
	(void)service;
	return cJSON_Parse("{\"collections\":{\"c\":[{\"id\":\"a\",\"n\":1}]}}");
}

static void
judge(const struct world *w, const cJSON *op, const cJSON *denied)
{
	struct check_facts f = { .sandbox = true, .denied = denied, .state = state, .initial = initial };
	cJSON *first = initial(NULL, 0);
	struct checks c;

	if (checks_init(&c, w) < 0)
		abort();
	checks_state(&c, 0, 0, first);
	if (op) { /* twice: a step from what the first one left */
		checks_operation(&c, 0, op);
		checks_operation(&c, 1, op);
	}
	if (state_doc)
		checks_state(&c, 1, 0, state_doc);
	if (checks_finish(&c, &f) < 0)
		abort();
	cJSON_Delete(first);
	for (size_t i = MODES; i < MODES + 3; i++)
		if (!state_doc && c.results[i].held)
			abort();
	if (!state_doc && (c.results[5].held || c.results[6].held || c.results[10].held))
		abort();
	if ((!op && c.results[0].held) || (!state_doc && (c.results[1].held || c.results[2].held)) ||
	    (!denied && c.results[3].held))
		abort();
	checks_wipe(&c);
}

static void
name(const cJSON *op, const char *route)
{
	struct evidence_names n = { 0 };
	uint8_t content[32];

	bool foreign = route[0] == 'r' || (route[0] == 'm' && json_get_text(json_get(op, "request"), "name"));

	if (evidence_names_add(&n, op, 1, content) < 0 || n.asked != 1 || n.refused != foreign || n.len != n.refused)
		abort();
	evidence_names_wipe(&n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world_service service = { .name = "p" };
	static struct world_check defs[CHECKS];
	static struct world w;
	const char *text = (const char *)data + 1, *route;
	cJSON *doc = NULL;
	char why[320];
	size_t i;
	int r = -1;

	if (!service.json) {
		service.json = cJSON_Parse(service_json);
		for (i = 0; i < CHECKS; i++) {
			defs[i].id = "it";
			defs[i].kind = check_kind[i];
			defs[i].mode = i >= MODES && i < MODES + 3 ? MODE_ALWAYS : MODE_AT_END;
			defs[i].json = cJSON_Parse(check_json[i]);
		}
		w.services = &service;
		w.services_len = 1;
		w.checks = defs;
		w.checks_len = CHECKS;
	}
	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		r = evidence_parse_op(&w, text, size - 1, 0, &doc, &i, &route, why);
		if (r == 0 && i == EVIDENCE_DNS)
			name(doc, route);
		else if (r == 0)
			judge(&w, doc, NULL);
		break;
	case 1:
		r = evidence_parse_state(&w, 0, text, size - 1, &doc, why);
		state_doc = doc;
		if (r == 0)
			judge(&w, NULL, NULL);
		state_doc = NULL;
		break;
	default:
		r = evidence_parse_denied(text, size - 1, &doc, why);
		if (r == 0)
			judge(&w, NULL, doc);
		break;
	}
	if ((r == 0) != (doc != NULL))
		abort();
	cJSON_Delete(doc);
	return 0;
}
