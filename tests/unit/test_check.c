/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_check.c - each kind of check, holding and not, and what it says. */
#include <signal.h>

#include "tests/unit/check_one.h"

static void
streams(void)
{
	static const struct {
		const char *json, *output;
		bool held;
	} all[] = {
		{ "{\"equals\":\"done\\n\"}", "done\n", true },
		{ "{\"equals\":\"done\\n\"}", "done", false },
		{ "{\"equals\":\"done\"}", "done\n", false },
		{ "{\"equals\":\"\"}", "", true },
		{ "{\"equals\":\"\"}", "x", false },
		{ "{\"equals\":\"done\"}", "dine", false },
		{ "{\"contains\":\"aab\"}", "aaaab", true },
		{ "{\"contains\":\"abab\"}", "abaabab", true },
		{ "{\"contains\":\"abc\"}", "ababab", false },
		{ "{\"contains\":\"x\\ny\"}", "1x\ny2", true },
		{ "{\"matches\":\"^re_[0-9]+$\"}", "a\nre_17\nb", true },
		{ "{\"matches\":\"^re_[0-9]+$\"}", "xre_17\nre_x\n", false },
		{ "{\"matches\":\"b$\"}", "a\nb", true },
		{ "{\"matches\":\"a.*b\"}", "a\nb\n", false },
		{ "{\"json\":{\"pointer\":\"/a/1\",\"equals\":7}}", "{\"a\":[1,7]}\n", true },
		{ "{\"json\":{\"pointer\":\"\",\"equals\":{\"b\":1,\"a\":2}}}", "{\"a\":2, \"b\":1}", true },
		{ "{\"json\":{\"pointer\":\"/a\",\"equals\":null}}", "{\"a\":null}", true },
		{ "{\"json\":{\"pointer\":\"/b\",\"equals\":null}}", "{\"a\":null}", false },
		{ "{\"json\":{\"pointer\":\"/a\",\"equals\":1}}", "{\"a\":1} trailing", false },
		{ "{\"json\":{\"pointer\":\"/a\",\"equals\":1}}", "", false },
		{ "{\"json\":{\"pointer\":\"/a\",\"equals\":1}}", "{\"a\":1,\"a\":1}", false },
		{ "{}", "x", false },
		/* along the run */
		{ "{\"contains\":\"aab\",\"mode\":\"never\"}", "aaaab", false },
		{ "{\"contains\":\"abc\",\"mode\":\"never\"}", "ababab", true },
		{ "{\"contains\":\"abc\",\"mode\":\"never\"}", "", true },
		{ "{\"contains\":\"abab\",\"mode\":\"sometimes\"}", "abaabab", true },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "{1\n{2\n", true },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "{1\n{2", true },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "{1\n2\n{3\n", false },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "{1\n{2\n3", false },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "{1\n\n", false },
		{ "{\"matches\":\"^[{]\",\"mode\":\"always\"}", "", false },
		{ "{\"matches\":\"b$\",\"mode\":\"never\"}", "ba\nba\n", true },
		{ "{\"matches\":\"b$\",\"mode\":\"never\"}", "ba\nab", false },
		{ "{\"matches\":\"b$\",\"mode\":\"sometimes\"}", "ba\nab\na", true },
		{ "{\"matches\":\"b$\",\"mode\":\"sometimes\"}", "ba\n", false },
	};
	size_t i, cut;
	bool held;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (cut = 1; cut < 9; cut += 7) {
			reset();
			held = holds(CHECK_STDOUT, all[i].json, all[i].output, cut, NULL);
			if (!ok(held == all[i].held, "stdout %s over %zu bytes in pieces of %zu", all[i].json,
				strlen(all[i].output), cut))
				printf("# %s\n", said);
		}
	facts.truncated[TRUNCATED_STDOUT] = true;
	ok(!holds(CHECK_STDOUT, "{\"contains\":\"done\"}", "done", 9, NULL), "a truncated stream never holds");
	reset();
	facts.exit = NULL;
	ok(!holds(CHECK_STDERR, "{\"contains\":\"done\"}", "done", 9, NULL), "nor one without EXIT");
}

static void
hides(void)
{
	secrets = redact_new();
	if (redact_add(secrets, "key", "at_test_0123456789abcdef0123456789abcdef", 40) < 0)
		return;
	reset();
	ok(!holds(CHECK_STDOUT, "{\"equals\":\"x\"}",
		  "................................................................................the key is at_test_0123456789abcdef0123456789abcdef",
		  7, NULL) &&
		   strstr(said, "{{secret") && !strstr(said, "at_te"),
	   "what is said hides secrets, also where it is cut: %s", said);
	ok(!holds(CHECK_STDOUT, "{\"json\":{\"pointer\":\"\",\"equals\":1}}",
		  "\"at_test_0123456789abcdef0123456789abcdef\"", 7, NULL) &&
		   !strstr(said, "at_te"),
	   "in JSON too: %s", said);
	redact_free(secrets);
	secrets = NULL;
}

static void
exits(void)
{
	reset();
	ok(holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "exit code 0");
	ended.code = 3;
	ok(!holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "another code");
	is_str(said, "expected exit code 0, actual exit code 3", "and it says which");
	ok(holds(CHECK_EXIT, "{\"code\":[0,3]}", NULL, 1, NULL), "one of a list");
	ok(!holds(CHECK_EXIT, "{\"signal\":\"SIGTERM\"}", NULL, 1, NULL), "no signal");
	ended.code = -1;
	ended.signal = SIGTERM;
	ok(holds(CHECK_EXIT, "{\"signal\":\"SIGTERM\"}", NULL, 1, NULL), "a signal by name");
	ok(!holds(CHECK_EXIT, "{\"signal\":\"SIGKILL\"}", NULL, 1, NULL), "another signal");
	ok(!holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "a signal is no code");
	ended.ended_by = ENDED_RUN_DEADLINE;
	ok(!holds(CHECK_EXIT, "{\"signal\":\"SIGTERM\"}", NULL, 1, NULL), "not when we ended it");
	ended.ended_by = ENDED_WORLD;
	ok(holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "ended as the world says: the code is not judged");
	ok(!holds(CHECK_EXIT, "{\"signal\":\"SIGTERM\"}", NULL, 1, NULL), "but the signal is ours");
	reset();
	ended.stage = EXEC_EXEC;
	ended.code = 0;
	ok(!holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "not when it never ran");
	facts.exit = NULL;
	ok(!holds(CHECK_EXIT, "{\"code\":0}", NULL, 1, NULL), "not without EXIT");
}

/* What the twins sent is seen only by a check that names it. */
static void
sent(void)
{
	static const char hook[] = "{\"service\":\"p\",\"kind\":\"webhook\",\"route\":\"paid\",\"key\":\"evt_1\","
				   "\"request\":{\"method\":\"POST\",\"target\":\"/h\"}}";
	static const char lost[] =
		"{\"service\":\"p\",\"kind\":\"webhook\",\"route\":\"paid\",\"key\":\"evt_1\","
		"\"request\":{\"method\":\"POST\",\"target\":\"/h\"},\"views\":{\"service\":\"not-reached\"}}";
	static const char trigger[] = "{\"service\":\"trigger\",\"kind\":\"http\",\"route\":\"ask\",\"key\":null,"
				      "\"request\":{\"method\":\"POST\",\"target\":\"/a\"}}";

	reset();
	ok(holds(CHECK_CALLS, "{\"service\":\"p\",\"exactly\":0}", NULL, 1, (const char *[]){ hook, NULL }),
	   "a webhook is no call of its service");
	ok(holds(CHECK_CALLS, "{\"service\":\"p\",\"route\":\"paid\",\"exactly\":1}", NULL, 1,
		 (const char *[]){ hook, NULL }),
	   "but by its event");
	ok(holds(CHECK_CALLS, "{\"service\":\"p\",\"route\":\"paid\",\"exactly\":0}", NULL, 1,
		 (const char *[]){ lost, NULL }),
	   "one that did not reach the workflow is none");
	ok(holds(CHECK_CALLS, "{\"exactly\":0}", NULL, 1, (const char *[]){ trigger, NULL }),
	   "a trigger is no call of the workflow");
	ok(holds(CHECK_CALLS, "{\"service\":\"trigger\",\"exactly\":1}", NULL, 1, (const char *[]){ trigger, NULL }),
	   "but of its own service");
}

/* However the request spells its target, the selector sees the path that the twins see. */
static void
selectors(void)
{
	static const char *const targets[] = {
		"/refunds",           "/refunds?a=/b",          "/%72efunds", "/refund%73#x", "http://p/refunds",
		"HTTP://p/refunds?x", "http://p:80/%72%65funds"
	};
	static const char *const others[] = { "/refunds/",      "/refund",     "/refunds/1", "http://p",
					      "http://refunds", "/%2frefunds", "/%zzrefunds" };
	static const char keyless[] =
		"{\"service\":\"p\",\"key\":null,\"request\":{\"method\":\"POST\",\"target\":\"/r\"}}";
	static const char keyed[] =
		"{\"service\":\"p\",\"key\":\"k\",\"request\":{\"method\":\"POST\",\"target\":\"/r\"}}";
	const char *ops[3] = { NULL };
	char op[200];
	size_t i;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		snprintf(op, sizeof(op), "{\"service\":\"p\",\"request\":{\"method\":\"POST\",\"target\":\"%s\"}}",
			 targets[i]);
		ops[0] = op;
		reset();
		ok(!holds(CHECK_NEVER, "{\"path\":\"/refunds\"}", NULL, 1, ops), "never /refunds: %s is", targets[i]);
	}
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(op, sizeof(op), "{\"service\":\"p\",\"request\":{\"method\":\"POST\",\"target\":\"%s\"}}",
			 others[i]);
		ops[0] = op;
		reset();
		ok(holds(CHECK_NEVER, "{\"path\":\"/refunds\"}", NULL, 1, ops), "never /refunds: %s is not", others[i]);
	}
	ops[0] = keyed;
	ops[1] = keyless;
	reset();
	ok(!holds(CHECK_CALLS, "{\"count\":\"keys\",\"exactly\":1}", NULL, 1, ops) &&
		   strstr(said, "1 writes without a key"),
	   "a write without a key may be another one: %s", said);
	ok(!holds(CHECK_CALLS, "{\"count\":\"keys\",\"at_most\":1}", NULL, 1, ops), "at most");
	ok(holds(CHECK_CALLS, "{\"count\":\"keys\",\"at_most\":2}", NULL, 1, ops), "not more than two");
	ok(holds(CHECK_CALLS, "{\"count\":\"keys\",\"at_least\":1}", NULL, 1, ops), "at least one");
	ok(!holds(CHECK_CALLS, "{\"count\":\"keys\",\"at_least\":2}", NULL, 1, ops), "not at least two");
}

/* A line of more than CHECK_LINE_MAX bytes has no end that is known. */
static void
long_lines(void)
{
	char *text = malloc(CHECK_LINE_MAX + 100);

	memset(text, 'a', CHECK_LINE_MAX + 50);
	snprintf(text + CHECK_LINE_MAX + 50, 50, "b\nc\n");
	reset();
	ok(!holds(CHECK_STDOUT, "{\"matches\":\"^a*$\"}", text, 1000, NULL), "$ does not match where a line was cut");
	ok(holds(CHECK_STDOUT, "{\"matches\":\"^aa\"}", text, 1000, NULL), "^ matches where it starts");
	ok(holds(CHECK_STDOUT, "{\"matches\":\"^c$\"}", text, 1000, NULL), "and the next line is whole again");
	ok(!holds(CHECK_STDOUT, "{\"matches\":\"zz\",\"mode\":\"never\"}", text, 1000, NULL) &&
		   strstr(said, "was not judged"),
	   "never: what was not looked at is not taken for good: %s", said);
	free(text);
}

static void
calls(void)
{
	static const char *const ops[] = {
		"{\"service\":\"payments\",\"route\":\"refund.create\",\"key\":\"k1\",\"request\":{\"method\":\"POST\",\"target\":\"/refunds?x=1\"},\"effects\":[1,2],\"reply\":{\"status\":201}}",
		"{\"service\":\"payments\",\"route\":\"refund.create\",\"key\":\"k1\",\"request\":{\"method\":\"POST\",\"target\":\"/refunds\"},\"effects\":[]}",
		"{\"service\":\"payments\",\"route\":\"charge.get\",\"key\":null,\"request\":{\"method\":\"GET\",\"target\":\"/charges/ch_1\"},\"effects\":[]}",
		NULL
	};
	static const struct {
		const char *json;
		bool held;
	} all[] = {
		{ "{\"route\":\"refund.create\",\"exactly\":2}", true },
		{ "{\"route\":\"refund.create\",\"status\":201,\"exactly\":1}", true },
		{ "{\"status\":409}", false }, /* and a call without a reply has none */
		{ "{\"route\":\"refund.create\",\"exactly\":1}", false },
		{ "{\"route\":\"refund.create\"}", true },
		{ "{\"route\":\"other\"}", false },
		{ "{\"at_least\":4}", false },
		{ "{\"at_least\":3}", true },
		{ "{\"at_most\":2}", false },
		{ "{\"route\":\"other\",\"at_most\":2}", true },
		{ "{\"at_least\":1,\"at_most\":3}", true },
		{ "{\"method\":\"GET\",\"exactly\":1}", true },
		{ "{\"path\":\"/refunds\",\"exactly\":2}", true },
		{ "{\"path\":\"/charges/{id}\",\"exactly\":1}", true },
		{ "{\"path\":\"/charges/*\",\"exactly\":1}", true },
		{ "{\"path\":\"/charges\",\"exactly\":0}", true },
		{ "{\"path\":\"/{a}\",\"exactly\":2}", true },
		{ "{\"count\":\"effects\",\"exactly\":2}", true },
		{ "{\"count\":\"keys\",\"exactly\":1}", true },
		{ "{\"service\":\"mail\",\"exactly\":0}", true },
		{ "{\"path\":\"/a b\",\"exactly\":0}", true },
		{ "{\"exactly\":3,\"all_equal\":\"/nowhere\"}", false },
		{ "{\"route\":\"charge.get\",\"all_equal\":\"/key\"}", false },
		{ "{\"route\":\"refund.create\",\"exactly\":2,\"all_equal\":\"/key\"}", true },
		{ "{\"exactly\":3,\"all_equal\":\"/request/method\"}", false },
		/* along the run: after each call that is chosen */
		{ "{\"at_most\":3,\"mode\":\"always\"}", true },
		{ "{\"at_most\":2,\"mode\":\"always\"}", false },
		{ "{\"exactly\":3,\"mode\":\"always\"}", false },
		{ "{\"mode\":\"always\"}", true },
		{ "{\"route\":\"charge.get\",\"exactly\":1,\"mode\":\"always\"}", true },
		{ "{\"route\":\"other\",\"mode\":\"always\"}", false },
		{ "{\"route\":\"other\",\"at_most\":2,\"mode\":\"always\"}", true },
		{ "{\"exactly\":2,\"mode\":\"sometimes\"}", true },
		{ "{\"exactly\":4,\"mode\":\"sometimes\"}", false },
		{ "{\"exactly\":2,\"mode\":\"never\"}", false },
		{ "{\"at_least\":4,\"mode\":\"never\"}", true },
		{ "{\"route\":\"other\",\"exactly\":0,\"mode\":\"never\"}", false },
		{ "{\"count\":\"keys\",\"at_most\":1,\"mode\":\"always\"}", true },
		{ "{\"count\":\"effects\",\"exactly\":2,\"mode\":\"always\"}", true },
		{ "{\"all_equal\":\"/request/method\",\"mode\":\"always\"}", false },
		{ "{\"route\":\"refund.create\",\"all_equal\":\"/request/method\",\"mode\":\"always\"}", true },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		reset();
		if (!ok(holds(CHECK_CALLS, all[i].json, NULL, 1, ops) == all[i].held, "calls %s", all[i].json))
			printf("# %s\n", said);
	}
	selectors();
	reset();
	ok(!holds(CHECK_NEVER, "{\"route\":\"charge.get\"}", NULL, 1, ops), "never: it did");
	ok(holds(CHECK_NEVER, "{\"route\":\"charge.delete\"}", NULL, 1, ops) && !was_idle, "never: it did not");
	ok(holds(CHECK_NEVER, "{\"service\":\"mail\"}", NULL, 1, ops) && was_idle,
	   "never of a service that nobody called rests on nothing");
	ok(!holds(CHECK_CALLS, "{\"at_most\":2,\"mode\":\"always\"}", NULL, 1, ops) &&
		   strncmp(rested, "/operations/2 ", 14) == 0,
	   "the operation that decides comes first: %s; %s", rested, said);
	facts.truncated[TRUNCATED_OPERATIONS] = true;
	ok(!holds(CHECK_NEVER, "{\"route\":\"charge.delete\"}", NULL, 1, ops),
	   "never: not when operations are missing");
}

static void
states(void)
{
	static const char text[] =
		"{\"service\":\"payments\",\"collections\":{\"charges\":[{\"id\":\"ch_1\",\"amount\":4200,\"tags\":[\"a\",\"b\"]},"
		"{\"id\":\"ch_2\",\"amount\":300}],\"refunds\":[],\"numbers\":[{\"id\":7,\"v\":1}]}}";
	static const struct {
		const char *json;
		bool held;
	} all[] = {
		{ "\"path\":\"/refunds\",\"count\":0", true },
		{ "\"path\":\"/charges\",\"count\":2", true },
		{ "\"path\":\"/charges\",\"count\":1", false },
		{ "\"path\":\"/charges/ch_1/amount\",\"equals\":4200", true },
		{ "\"path\":\"/charges/ch_1/amount\",\"equals\":\"4200\"", false },
		{ "\"path\":\"/charges/0/amount\",\"equals\":4200", false },
		{ "\"path\":\"/charges/ch_3\",\"exists\":false", true },
		{ "\"path\":\"/charges/ch_3\",\"exists\":true", false },
		{ "\"path\":\"/charges/ch_2\",\"exists\":true", true },
		{ "\"path\":\"/charges\",\"sum\":\"amount\",\"equals\":4500", true },
		{ "\"path\":\"/charges\",\"sum\":\"amount\",\"equals\":4501", false },
		{ "\"path\":\"/charges\",\"sum\":\"amuont\",\"equals\":0", false },
		{ "\"path\":\"/refunds\",\"sum\":\"amount\",\"equals\":0", true },
		{ "\"path\":\"/charges/ch_1/tags\",\"equals\":[\"a\",\"b\"]", true },
		{ "\"path\":\"/charges/ch_1/tags/1\",\"equals\":\"b\"", true },
		{ "\"path\":\"/nothing\",\"count\":0", false },
		{ "\"path\":\"/charges/ch_9/amount\",\"equals\":null", false },
		{ "\"path\":\"/numbers/7/v\",\"equals\":1", true },
		{ "\"path\":\"/charges/ch_1/amount\",\"count\":1", false },
	};
	char json[300];
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		reset();
		state_text = text;
		snprintf(json, sizeof(json), "{\"service\":\"payments\",%s}", all[i].json);
		if (!ok(holds(CHECK_STATE, json, NULL, 1, NULL) == all[i].held, "state %s", all[i].json))
			printf("# %s\n", said);
	}
	state_text = NULL;
	ok(!holds(CHECK_STATE, "{\"service\":\"payments\",\"path\":\"/refunds\",\"exists\":false}", NULL, 1, NULL),
	   "state: not without a final state");
	state_text = text;
	facts.truncated[TRUNCATED_STATE] = true;
	ok(!holds(CHECK_STATE, "{\"service\":\"payments\",\"path\":\"/refunds\",\"count\":0}", NULL, 1, NULL),
	   "state: not when it was cut off");
}

static void
egress(void)
{
	static const struct {
		const char *text;
		bool held;
	} ownerless[] = {
		{ "{\"total\":{\"workflow\":0,\"twins\":0,\"forward\":1},\"unrecorded\":0}", false },
		{ "{\"total\":{\"workflow\":0,\"twins\":0,\"forward\":0,\"closed\":2},\"unrecorded\":0}", true },
		{ "{\"total\":{\"workflow\":0,\"twins\":0,\"forward\":0,\"closed\":2},\"unrecorded\":1}", false },
		{ "{\"total\":{\"workflow\":0,\"twins\":0,\"postrouting\":1},\"unrecorded\":1}", false },
		{ "{\"total\":{\"workflow\":0,\"twins\":0,\"others\":9},\"unrecorded\":9}", true },
	};
	cJSON *none = cJSON_Parse("{\"total\":{\"workflow\":0,\"twins\":0}}"),
	      *some = cJSON_Parse("{\"total\":{\"workflow\":0,\"twins\":1}}");

	reset();
	ok(!holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: not without a count");
	facts.denied = none;
	ok(holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: nothing denied");
	facts.denied = some;
	ok(!holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: a packet of the twins counts");
	for (size_t i = 0; i < sizeof(ownerless) / sizeof(ownerless[0]); i++) {
		cJSON *doc = cJSON_Parse(ownerless[i].text);

		facts.denied = doc;
		ok(holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL) == ownerless[i].held, "no-egress: of no known owner, %u",
		   (unsigned)i);
		cJSON_Delete(doc);
	}
	facts.denied = none;
	facts.truncated[TRUNCATED_OPERATIONS] = true;
	ok(!holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: not when names may be missing");
	facts.truncated[TRUNCATED_OPERATIONS] = false;
	facts.names_refused = 1;
	facts.first_name = "example.com";
	facts.first_type = "A";
	ok(!holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: a refused name counts");
	ok(strstr(said, "asked for example.com (A), refused") != NULL, "and says which");
	facts.names_refused = 0;
	facts.sandbox = false;
	ok(!holds(CHECK_NO_EGRESS, "{}", NULL, 1, NULL), "no-egress: never without a boundary");
	cJSON_Delete(none);
	cJSON_Delete(some);
}

static void
built_in(void)
{
	struct world w = { 0 };
	struct checks c;
	size_t i;

	reset();
	facts.operations = 3;
	facts.unmatched = 1;
	facts.first_unmatched = 2;
	facts.truncated[0] = true;
	facts.twins_done = false;
	is_int(checks_init(&c, &w), 0, "a world without checks");
	is_int(checks_finish(&c, &facts), 0, "finishes");
	is_int((long long)c.results_len, CHECK_BUILT_IN, "four are always there");
	for (i = 1; i < c.results_len; i++)
		ok(!c.results[i].held && c.results[i].actual, "%s does not hold: %s", c.results[i].id,
		   c.results[i].actual);
	is_str(c.results[1].rests[0], "/operations/2", "it names the operation");
	is_int((long long)checks_not_held(&c), 3, "counted");
	checks_wipe(&c);
	reset();
	facts.triggers = 2;
	facts.triggers_answered = 1;
	facts.trigger_left = "ask";
	is_int(checks_init(&c, &w), 0, "a world with triggers");
	is_int(checks_finish(&c, &facts), 0, "finishes");
	is_int((long long)c.results_len, CHECK_BUILT_IN + 1, "has one more");
	is_str(c.results[CHECK_BUILT_IN].id, "triggers-answered", "of this name");
	ok(!c.results[CHECK_BUILT_IN].held, "that does not hold: %s", c.results[CHECK_BUILT_IN].actual);
	checks_wipe(&c);
	facts.trigger_left = NULL;
	facts.triggers_answered = 2;
	is_int(checks_init(&c, &w), 0, "once more");
	is_int(checks_finish(&c, &facts), 0, "finishes");
	ok(c.results[CHECK_BUILT_IN].held, "all are answered: %s", c.results[CHECK_BUILT_IN].actual);
	checks_wipe(&c);
}

int
main(void)
{
	streams();
	hides();
	exits();
	sent();
	long_lines();
	calls();
	states();
	egress();
	built_in();
	return tap_done();
}
