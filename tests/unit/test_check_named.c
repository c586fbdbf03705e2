/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_check_named.c - the named properties: duplicate effects, lost writes, keys, recovery from faults; and that they cost the
 * same per call however many there are. */
#include <time.h>

#include "tests/unit/check_one.h"

static char made[16][1200];
static size_t made_len;

/* An operation: what is NULL takes what a good call has. */
struct call {
	const char *method, *target, *key, *verdict, *body, *effects, *service, *client, *fault, *kind, *route, *of,
		*path;
};

static const char *
quoted(const char *s, char out[static 100])
{
	if (s)
		snprintf(out, 100, "\"%s\"", s);
	else
		snprintf(out, 100, "null");
	return out;
}

static const char *
op(struct call c)
{
	char key[100], verdict[100], route[100];
	char *to = made[made_len++ % 16];

	snprintf(
		to, sizeof(made[0]),
		"{\"t_ms\":1,\"service\":\"%s\",\"kind\":\"%s\",\"route\":%s,\"key\":%s,\"idempotency\":%s,"
		"\"request\":{\"method\":\"%s\",\"target\":\"%s\",\"path\":{%s},\"body\":{\"bytes\":1,\"sha256\":\"%s\"%s}},"
		"\"effects\":[%s],\"fault\":%s,\"views\":{\"service\":\"%s\",\"client\":\"%s\"}}",
		c.of ? c.of : "payments", c.kind ? c.kind : "http", quoted(c.route, route), quoted(c.key, key),
		quoted(c.verdict, verdict), c.method ? c.method : "POST", c.target ? c.target : "/refunds",
		c.path ? c.path : "", c.body && c.body[0] != '{' ? c.body : "b1",
		c.body && c.body[0] == '{' ? c.body + 1 : "", c.effects ? c.effects : "", c.fault ? c.fault : "null",
		c.service ? c.service : "applied", c.client ? c.client : "told-ok");
	return to;
}
#define OP(...) op((struct call){ __VA_ARGS__ })
#define MADE(id) .effects = "{\"create\":\"/refunds/" id "\"}"
#define LOST .client = "told-nothing"
#define MET .fault = "{\"id\":\"f\"}"
static const char empty[] = "{\"collections\":{\"refunds\":[],\"charges\":[]}}";
static const char one[] = "{\"collections\":{\"refunds\":[{\"id\":\"r1\"}],\"charges\":[]}}";
static const char two[] = "{\"collections\":{\"refunds\":[{\"id\":\"r1\"},{\"id\":\"r2\"}],\"charges\":[]}}";

static void
judge(const char *name, enum check_kind kind, const char *def, const char *final, bool held, const char *why,
      const char *const *ops)
{
	bool now;

	reset();
	services_len = 2;
	service_text = "{\"kind\":\"http\",\"routes\":[{\"resource\":\"refunds\",\"path\":\"/refunds\"},"
		       "{\"id\":\"look\",\"do\":[{\"find\":\"refunds\",\"id\":\"{{request.path.id}}\"}]}]}";
	state_text = final;
	now = holds(kind, def, NULL, 1, ops);
	if (!ok(now == held && strstr(said, why), "%s", name))
		printf("# %s; rests on %s\n", said, rested);
	made_len = 0;
}
#define OPS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE ((const char *const[]){ NULL })

static void
duplicates(void)
{
	enum check_kind k = CHECK_NO_DUPLICATES;

	judge("dup: nothing at all", k, "{}", one, true, "no call had an effect", NONE);
	ok(was_idle, "dup: which rests on nothing");
	judge("dup: one", k, "{}", one, true, "each of 1", OPS(OP(MADE("r1"))));
	ok(!was_idle, "dup: which rests on it");
	judge("dup: the same twice without a key", k, "{}", two, false, "operation 1 had an effect that operation 0",
	      OPS(OP(MADE("r1")), OP(MADE("r2"))));
	is_str(rested, "/operations/0 /operations/1", "dup: and it names both");
	judge("dup: a retry after a lost acknowledgement", k, "{}", two, false, "",
	      OPS(OP(MADE("r1"), LOST), OP(MADE("r2"))));
	judge("dup: another body", k, "{}", two, true, "", OPS(OP(MADE("r1")), OP(MADE("r2"), .body = "b2")));
	judge("dup: another target", k, "{}", two, true, "", OPS(OP(MADE("r1")), OP(MADE("r2"), .target = "/x")));
	judge("dup: a key that is kept", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(.key = "k", .verdict = "replay")));
	judge("dup: a key that is not kept", k, "{}", two, false, "",
	      OPS(OP(MADE("r1"), .key = "k"), OP(MADE("r2"), .key = "k")));
	judge("dup: the key decides, not the body", k, "{}", two, false, "",
	      OPS(OP(MADE("r1"), .key = "k"), OP(MADE("r2"), .key = "k", .body = "b2")));
	judge("dup: two keys, both acknowledged, are two writes", k, "{}", two, true, "",
	      OPS(OP(MADE("r1"), .key = "k"), OP(MADE("r2"), .key = "l")));
	judge("dup: a retry under another key is the same", k, "{}", two, false, "",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(MADE("r2"), .key = "l")));
	judge("dup: and a third one", k, "{}", two, false, "and 1 more",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(MADE("r2"), .key = "l", LOST), OP(MADE("r3"), .key = "m")));
	judge("dup: a retry without the key", k, "{}", two, false, "", OPS(OP(MADE("r1"), .key = "k"), OP(MADE("r2"))));
	judge("dup: a refused one had no effect", k, "{}", one, true, "",
	      OPS(OP(.service = "rejected", .client = "told-error"), OP(MADE("r1"))));
	judge("dup: PUT that adds", k, "{}", one, false, "",
	      OPS(OP(.method = "PUT", .effects = "{\"increment\":\"/refunds/r1/n\"}"),
		  OP(.method = "PUT", .effects = "{\"increment\":\"/refunds/r1/n\"}")));
	judge("dup: what an update did again is not known here", k, "{}", one, false, "",
	      OPS(OP(.effects = "{\"update\":\"/refunds/r1\"}"), OP(.effects = "{\"update\":\"/refunds/r1\"}")));
	judge("dup: of another service", k, "{\"service\":\"llm\"}", two, true, "no call",
	      OPS(OP(MADE("r1")), OP(MADE("r2"))));
	judge("dup: of another route", k, "{\"service\":\"payments\",\"route\":\"a\"}", two, true, "",
	      OPS(OP(MADE("r1"), .route = "b"), OP(MADE("r2"), .route = "b"),
		  OP(MADE("r3"), .route = "a", .target = "/a")));
	judge("dup: of this route", k, "{\"service\":\"payments\",\"route\":\"b\"}", two, false, "",
	      OPS(OP(MADE("r1"), .route = "b"), OP(MADE("r2"), .route = "b")));
	judge("dup: what the network brought twice", k, "{}", two, false, "",
	      OPS(OP(MADE("r1")), OP(MADE("r2"), LOST, .fault = "{\"id\":\"f\",\"copy\":1}")));
}

static void
lost(void)
{
	enum check_kind k = CHECK_NO_LOST;

	judge("lost: nothing at all", k, "{}", one, true, "made no write", NONE);
	ok(was_idle, "lost: which rests on nothing");
	judge("lost: nothing but a reading", k, "{}", one, true, "made no write", OPS(OP(.method = "GET", LOST)));
	judge("lost: none", k, "{}", one, true, "each of 1 write", OPS(OP(MADE("r1"))));
	judge("lost: not in the final state", k, "{}", empty, false, "not in the final state", OPS(OP(MADE("r1"))));
	judge("lost: a second row that is not there", k, "{}", one, false, "not in the final state",
	      OPS(OP(.effects = "{\"create\":\"/refunds/r1\"},{\"create\":\"/refunds/r9\"}")));
	judge("lost: deleted since", k, "{}", empty, true, "",
	      OPS(OP(MADE("r1")),
		  OP(.method = "DELETE", .target = "/refunds/r1", .effects = "{\"delete\":\"/refunds/r1\"}")));
	judge("lost: deleted and there", k, "{}", one, false, "still in the final state",
	      OPS(OP(.method = "DELETE", .target = "/refunds/r1", .effects = "{\"delete\":\"/refunds/r1\"}")));
	judge("lost: no final state", k, "{}", NULL, false, "not whole", OPS(OP(MADE("r1"))));
	judge("lost: told ok, not done", k, "{}", one, false, "did not do it", OPS(OP(.service = "rejected")));
	is_str(rested, "/operations/0", "lost: and it names the operation");
	judge("lost: told an error, not done", k, "{}", one, true, "",
	      OPS(OP(.service = "rejected", .client = "told-error")));
	judge("lost: an acknowledgement", k, "{}", one, false, "did not look", OPS(OP(MADE("r1"), LOST)));
	judge("lost: one that was an error", k, "{}", one, false, "", OPS(OP(MADE("r1"), .client = "told-error")));
	judge("lost: repeated under the key", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(.key = "k", .verdict = "replay")));
	judge("lost: repeated in vain", k, "{}", one, false, "",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(.key = "k", .verdict = "replay", LOST)));
	judge("lost: repeated, another key", k, "{}", two, true, "",
	      OPS(OP(MADE("r1"), .key = "k", LOST), OP(MADE("r2"), .key = "l")));
	judge("lost: another call does not say so", k, "{}", two, false, "",
	      OPS(OP(MADE("r1"), LOST), OP(MADE("r2"), .body = "b2")));
	judge("lost: read by its id", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), LOST),
		  OP(.method = "GET", .target = "/refunds/r1", .route = "refunds.get", .path = "\"id\":\"r1\"")));
	judge("lost: another id", k, "{}", one, false, "",
	      OPS(OP(MADE("r1"), LOST),
		  OP(.method = "GET", .target = "/refunds/r2", .route = "refunds.get", .path = "\"id\":\"r2\"")));
	judge("lost: read in a list", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), LOST), OP(.method = "GET", .route = "refunds.list")));
	judge("lost: a list that failed", k, "{}", one, false, "",
	      OPS(OP(MADE("r1"), LOST), OP(.method = "GET", .route = "refunds.list", .client = "told-error")));
	judge("lost: a list before it", k, "{}", one, false, "",
	      OPS(OP(.method = "GET", .route = "refunds.list"), OP(MADE("r1"), LOST)));
	judge("lost: read by a route that finds it", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), LOST),
		  OP(.method = "GET", .target = "/look/r1", .route = "look", .path = "\"id\":\"r1\"")));
	judge("lost: told by a webhook", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), LOST), OP(.kind = "webhook", .route = "refunded", .key = "evt_1",
					   .body = "{,\"json\":{\"data\":[{\"id\":\"r1\"}]}")));
	judge("lost: by one of another row", k, "{}", one, false, "",
	      OPS(OP(MADE("r1"), LOST), OP(.kind = "webhook", .route = "refunded", .key = "evt_1",
					   .body = "{,\"json\":{\"data\":[{\"id\":\"r2\"}]}")));
	judge("lost: by one that the workflow refused", k, "{}", one, false, "",
	      OPS(OP(MADE("r1"), LOST), OP(.kind = "webhook", .route = "refunded", .key = "evt_1",
					   .client = "told-error", .body = "{,\"json\":{\"id\":\"r1\"}")));
	judge("lost: calls of a model are no writes", k, "{}", one, true, "made no write", OPS(OP(.of = "llm", LOST)));
}

static void
keys(void)
{
	enum check_kind k = CHECK_IDEMPOTENT;

	judge("key: nothing at all", k, "{}", one, true, "made no write", NONE);
	judge("key: none", k, "{}", one, false, "no idempotency key", OPS(OP(MADE("r1"))));
	judge("key: one that is kept", k, "{}", one, true, "", OPS(OP(MADE("r1"), .key = "k", .verdict = "first")));
	judge("key: one that nobody keeps", k, "{}", one, false, "does not keep", OPS(OP(MADE("r1"), .key = "k")));
	judge("key: refused before it counted", k, "{}", one, true, "",
	      OPS(OP(.key = "k", .service = "rejected", .client = "told-error")));
	judge("key: none, and refused", k, "{}", one, false, "",
	      OPS(OP(.service = "rejected", .client = "told-error")));
	judge("key: empty", k, "{}", one, false, "", OPS(OP(.key = "")));
	judge("key: expired", k, "{}", one, false, "no longer", OPS(OP(MADE("r1"), .key = "k", .verdict = "expired")));
	judge("key: of another request", k, "{}", one, false, "another request",
	      OPS(OP(.key = "k", .verdict = "mismatch", .service = "rejected", .client = "told-error")));
	judge("key: PUT and DELETE need none", k, "{}", one, true, "",
	      OPS(OP(.method = "PUT", .effects = "{\"update\":\"/refunds/r1\"}"),
		  OP(.method = "DELETE", .target = "/y")));
	judge("key: a PUT that adds does", k, "{}", one, false, "",
	      OPS(OP(.method = "PUT", .effects = "{\"append\":\"/refunds/r1/l\"}")));
	judge("key: PATCH does", k, "{}", one, false, "", OPS(OP(.method = "PATCH")));
	judge("key: sent again under another one", k, "{}", one, false, "under another key",
	      OPS(OP(MADE("r1"), .key = "k", .verdict = "first", LOST),
		  OP(MADE("r2"), .key = "l", .verdict = "first")));
	judge("key: another one for another write", k, "{}", one, true, "",
	      OPS(OP(MADE("r1"), .key = "k", .verdict = "first"), OP(MADE("r2"), .key = "l", .verdict = "first")));
	judge("key: the model's calls are no writes", k, "{}", one, true, "", OPS(OP(.of = "llm")));
	judge("key: nor what a fault brought again", k, "{}", one, true, "made no write",
	      OPS(OP(.fault = "{\"id\":\"f\",\"copy\":1}")));
}

static void
faults(void)
{
	enum check_kind k = CHECK_RECOVERS;

	judge("fault: none", k, "{}", one, true, "no call met", OPS(OP(MADE("r1"))));
	ok(was_idle, "fault: which rests on nothing");
	judge("fault: met, and that was it", k, "{}", one, false, "was not made again",
	      OPS(OP(MET, .service = "not-reached", LOST)));
	is_str(rested, "/operations/0", "fault: and it names the operation");
	judge("fault: made again", k, "{}", one, true, "each of 1 call",
	      OPS(OP(MET, .service = "not-reached", LOST), OP(MADE("r1"))));
	judge("fault: made before", k, "{}", one, false, "",
	      OPS(OP(MADE("r1")), OP(MET, .service = "not-reached", LOST)));
	judge("fault: again in vain", k, "{}", one, false, "",
	      OPS(OP(MET, LOST), OP(.service = "rejected", .client = "told-error")));
	judge("fault: another call", k, "{}", one, false, "", OPS(OP(MET, LOST), OP(.body = "b2")));
	judge("fault: told ok all the same", k, "{}", one, true, "", OPS(OP(MET)));
	judge("fault: half a reply that looks whole", k, "{}", one, false, "",
	      OPS(OP(.fault = "{\"id\":\"f\",\"phase\":\"mid-reply\",\"end\":\"clean\"}")));
	judge("fault: half a reply, and again", k, "{}", one, true, "",
	      OPS(OP(.fault = "{\"id\":\"f\",\"phase\":\"mid-reply\",\"end\":\"clean\"}"), OP(.key = NULL)));
	judge("fault: the result was read", k, "{}", one, true, "",
	      OPS(OP(MET, MADE("r1"), LOST), OP(.method = "GET", .route = "refunds.list")));
	judge("fault: the result was not there to be read", k, "{}", one, false, "",
	      OPS(OP(MET, .service = "not-reached", LOST), OP(.method = "GET", .route = "refunds.list")));
	judge("fault: a connection, and a call after it", k, "{}", one, true, "",
	      OPS(OP(MET, .kind = "tcp", .method = "", .target = "", .service = "not-reached", LOST),
		  OP(.body = "b7")));
	judge("fault: a connection, and a call of another service", k, "{}", one, false, "",
	      OPS(OP(MET, .kind = "tcp", .method = "", .target = "", .service = "not-reached", LOST), OP(.of = "llm")));
	judge("fault: half a request", k, "{}", one, true, "",
	      OPS(OP(.fault = "{\"id\":\"f\",\"phase\":\"mid-request\"}", .body = "half", .service = "not-reached",
		     LOST),
		  OP(.body = "b7")));
	judge("fault: half a request to another place", k, "{}", one, false, "",
	      OPS(OP(.fault = "{\"id\":\"f\",\"phase\":\"mid-request\"}", .body = "half", .service = "not-reached",
		     LOST),
		  OP(.target = "/x")));
	judge("fault: of a model, the turn counts", k, "{}", one, true, "",
	      OPS(OP(MET, .of = "llm", .route = "act", LOST), OP(.of = "llm", .route = "act", .body = "b2")));
	judge("fault: another turn", k, "{}", one, false, "",
	      OPS(OP(MET, .of = "llm", .route = "act", LOST), OP(.of = "llm", .route = "say", .body = "b2")));
	judge("fault: a webhook that came later", k, "{}", one, true, "",
	      OPS(OP(MET, .kind = "webhook", .key = "e", .service = "not-reached", LOST),
		  OP(.kind = "webhook", .key = "e")));
	judge("fault: a webhook that never came", k, "{}", one, false, "",
	      OPS(OP(MET, .kind = "webhook", .key = "e", .service = "not-reached", LOST),
		  OP(.kind = "webhook", .key = "f")));
}

/* Many calls, all alike and all different: each costs the same. */
static void
many(void)
{
	struct world_service service = { .name = "payments" };
	struct world_check def = { .id = "it", .kind = CHECK_NO_DUPLICATES };
	struct world w = { .checks_len = 1, .checks = &def, .services_len = 1, .services = &service };
	cJSON *none = cJSON_Parse("{}"), *json;
	char text[600];
	struct checks c;
	unsigned i;

	service.json = def.json = none;
	if (checks_init(&c, &w) < 0)
		abort();
	for (i = 0; i < 60000; i++) {
		snprintf(text, sizeof(text),
			 "{\"service\":\"payments\",\"kind\":\"http\",\"key\":\"k%u\",\"request\":{\"method\":\"POST\","
			 "\"target\":\"/r\",\"body\":{\"sha256\":\"%u\"}},\"effects\":[{\"create\":\"/r/%u\"}],"
			 "\"views\":{\"service\":\"applied\",\"client\":\"told-ok\"}}",
			 i, i % 2 ? 0 : i, i);
		json = cJSON_Parse(text);
		checks_operation(&c, i, json);
		cJSON_Delete(json);
	}
	reset();
	is_int(checks_finish(&c, &facts), 0, "60000 calls are judged");
	ok(c.results[0].held && strstr(c.results[0].actual, "60000"), "and hold: %s", c.results[0].actual);
	checks_wipe(&c);
	cJSON_Delete(none);
}

int
main(void)
{
	duplicates();
	lost();
	keys();
	faults();
	many();
	return tap_done();
}
