/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_one.h - judges one check over output, operations and states, for test_check*.c. */
#ifndef TESTS_CHECK_ONE_H
#define TESTS_CHECK_ONE_H
#include <cJSON.h>
#include <stdlib.h>

#include "host/check.h"
#include "host/redact.h"
#include "tests/lib/tap.h"

static const char *state_text, *initial_text; /* parsed anew each time; NULL: none came */
static const char *service_text;              /* of payments, as the world has it; NULL: nothing but its name */
static size_t services_len = 1;               /* 2: and a language model */

static struct cJSON *
state(void *arg, size_t service)
{
	(void)arg;
	if (service == 1)
		return cJSON_Parse("{\"collections\":{}}");
	return state_text ? cJSON_Parse(state_text) : NULL;
}

static struct cJSON *
initial(void *arg, size_t service)
{
	(void)arg;
	if (service == 1)
		return cJSON_Parse("{\"collections\":{}}");
	return initial_text ? cJSON_Parse(initial_text) : NULL;
}

static struct plan_exit ended;
static struct check_facts facts;
static char said[8192], rested[2048];
static bool was_idle;
static struct redact *secrets;

static void
reset(void)
{
	memset(&ended, 0, sizeof(ended));
	memset(&facts, 0, sizeof(facts));
	facts.exit = &ended;
	facts.sandbox = facts.twins_done = true;
	facts.state = state;
	facts.initial = initial;
	state_text = initial_text = NULL;
}

/* Judges one check over output cut into pieces of `cut` bytes, and operations.  Its mode is the one that it states. */
static bool __attribute__((unused))
holds(enum check_kind kind, const char *json, const char *output, size_t cut, const char *const *ops)
{
	static const char *const modes[] = { "at_end", "always", "never", "sometimes" };
	struct world_service services[2] = { { .name = "payments" }, { .name = "llm" } };
	struct world_check def = { .id = "it", .kind = kind };
	struct world w = { .checks_len = 1, .checks = &def, .services_len = services_len, .services = services };
	cJSON *own = cJSON_Parse(service_text ? service_text : "{}"), *model = cJSON_Parse("{\"kind\":\"llm\"}");
	struct checks c;
	cJSON *doc = cJSON_Parse(json), *op, *mode = cJSON_GetObjectItem(doc, "mode");
	size_t i, len = output ? strlen(output) : 0;
	bool held;

	services[0].json = own;
	services[1].json = model;
	def.json = doc;
	for (i = 0; mode && i < 4; i++)
		if (strcmp(modes[i], mode->valuestring) == 0)
			def.mode = (enum check_mode)i;
	if (!doc || checks_init(&c, &w) < 0)
		abort();
	c.redact = secrets;
	for (i = 0; i < len; i += cut)
		checks_output(&c, kind == CHECK_PROCESS ? CHECK_STDERR : kind, output + i,
			      len - i < cut ? len - i : cut);
	for (i = 0; ops && ops[i]; i++) {
		op = cJSON_Parse(ops[i]);
		if (!op)
			abort();
		checks_operation(&c, i, op);
		cJSON_Delete(op);
	}
	if (checks_finish(&c, &facts) < 0)
		abort();
	held = c.results[0].held;
	was_idle = c.results[0].idle;
	snprintf(said, sizeof(said), "expected %s, actual %s", c.results[0].expected, c.results[0].actual);
	rested[0] = '\0';
	for (i = 0; i < c.results[0].rests_len; i++)
		snprintf(rested + strlen(rested), sizeof(rested) - strlen(rested), "%s%s", i ? " " : "",
			 c.results[0].rests[i]);
	checks_wipe(&c);
	cJSON_Delete(doc);
	cJSON_Delete(own);
	cJSON_Delete(model);
	return held;
}
#endif
