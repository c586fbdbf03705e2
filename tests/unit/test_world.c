// SPDX-License-Identifier: GPL-2.0-or-later
// test_world.c - worlds that are accepted, and the exact place, problem and fix of those that are not.
#include "host/world.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/cred.h"
#include "host/diag.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/test-world-XXXXXX";
static char path[256];

static void
put(const char *name, const char *text, size_t len)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	close(fd);
}

// A whole world around some of its parts; NULL takes a good one.
struct parts {
	const char *top, *service, *route, *workflow, *checks;
};
static const char good_route[] =
	"{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{id}\"},\"reply\":{\"status\":200}}";

static void
compose(const struct parts *p, char *out, size_t size)
{
	snprintf(
		out, size,
		"{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [],\n%s\n"
		"\"services\": [ { \"name\": \"pay\", \"kind\": \"http\", \"hosts\": [\"pay.internal\"], \"state\": {\"rows\":[{\"id\":\"a\",\"n\":1}]},\n%s\n"
		"\"routes\": [\n%s\n] } ],\n"
		"\"workflow\": { \"command\": [\"node\", \"a.mjs\"]%s },\n"
		"\"checks\": [ %s ] }\n",
		p->top ? p->top : "", p->service ? p->service : "", p->route ? p->route : good_route,
		p->workflow ? p->workflow : "",
		p->checks ? p->checks : "{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }");
}

static int
load(const char *text, size_t len, struct diag *d)
{
	struct world w;
	int r;

	put("t.world.json", text, len);
	r = world_load(path, &w, d);
	if (r == 0)
		world_wipe(&w);
	return r;
}

static void
accepted(const char *name, struct parts p)
{
	char text[65536];
	struct diag d;

	compose(&p, text, sizeof(text));
	if (!ok(load(text, strlen(text), &d) == 0, "accepted: %s", name))
		printf("# %u:%u at %s: %s (%s)\n", d.line, d.column, d.pointer, d.problem, d.fix);
}

static void
refused_text(const char *name, const char *text, size_t len, int err, unsigned line, const char *pointer,
	     const char *problem, const char *fix)
{
	struct diag d;
	int r = load(text, len, &d);

	if (!ok(r == err && d.line == line && strcmp(d.pointer, pointer) == 0 && strstr(d.problem, problem) &&
			strstr(d.fix, fix) && *d.fix && strcmp(d.file, path) == 0,
		"refused: %s", name))
		printf("# %d %s %u:%u at %s: %s (%s)\n", r, d.file, d.line, d.column, d.pointer, d.problem, d.fix);
}

static void
refused(struct parts p, int err, unsigned line, const char *pointer, const char *problem, const char *fix)
{
	char text[65536];

	compose(&p, text, sizeof(text));
	refused_text(problem, text, strlen(text), err, line, pointer, problem, fix);
}

#define TOP(t) \
	(struct parts) \
	{ \
		.top = t "," \
	}
#define SERVICE(t) \
	(struct parts) \
	{ \
		.service = t "," \
	}
#define ROUTE(t) \
	(struct parts) \
	{ \
		.route = t \
	}
#define WANTS(m) ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"POST\",\"path\":\"/x\"," m "},\"reply\":{}}")
#define MATCHED(t) ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"POST\",\"path\":\"/x/{id}\"}," t "}")
#define DO(t) MATCHED("\"do\":[" t "]")
#define HOOKS "\"endpoint\":\"http://127.0.0.1:3000/hooks\""
#define EVENTS(t) "\"events\":{" t ",\"scheme\":\"stripe\",\"secret\":\"{{secret.hook}}\"}"
#define TOLD(t) \
	(struct parts) \
	{ \
		.service = EVENTS(HOOKS) ",", .route = t \
	}
#define WORKFLOW(t) \
	(struct parts) \
	{ \
		.workflow = "," t \
	}
#define CHECKS(t) \
	(struct parts) \
	{ \
		.checks = t \
	}
#define ROUTE0 "/services/0/routes/0"

static void
test_top(void)
{
	refused(TOP("\"sede\": 1"), -EPROTO, 2, "/sede", "unknown key \"sede\" in the world", "did you mean \"seed\"?");
	refused(TOP("\"seed\": 1, \"seed\": 2"), -EPROTO, 2, "/seed", "same key twice", "keep one");
	refused(TOP("\"seed\": \"1\""), -EPROTO, 2, "/seed", "expected a number, found a string", "without quotes");
	refused(TOP("\"seed\": -1"), -EPROTO, 2, "/seed", "whole number from 0 to 9007199254740991",
		"write a whole number");
	refused(TOP("\"seed\": 1.5"), -EPROTO, 2, "/seed", "whole number", "write a whole number");
	refused(TOP("\"seed\": 9007199254740992"), -EPROTO, 2, "/seed", "too large to be exact", "2^53-1");
	refused(TOP("\"about\": 1e999"), -EPROTO, 2, "/about", "too large", "2^53-1");
	refused(TOP("\"root\": \"/etc\""), -EPROTO, 2, "/root", "absolute path", "relative to the world's folder");
	refused(TOP("\"root\": \"nowhere\""), -ENOENT, 2, "/root", "no such folder", "relative to the world file");
	refused(TOP("\"root\": \"sub\""), -EPROTO, 2, "/root", "does not contain the world file", "\"..\"");
	refused(TOP("\"limits\": {\"run_ms\": 0}"), -EPROTO, 2, "/limits/run_ms", "whole number from 1 to 86400000",
		"write a whole");
	refused(TOP("\"limits\": {\"trigger_ms\": 0}"), -EPROTO, 2, "/limits/trigger_ms", "whole number from 1",
		"write a whole");
	refused(TOP("\"limits\": {\"cpus\": 0.01}"), -EPROTO, 2, "/limits/cpus", "from 0.05 to 1024", "such as 0.5");
	refused(TOP("\"limits\": {\"cpus\": 0.1234}"), -EPROTO, 2, "/limits/cpus", "steps of 0.001", "such as 0.5");
	refused(TOP("\"limits\": {\"cpus\": 1025}"), -EPROTO, 2, "/limits/cpus", "from 0.05 to 1024", "such as 0.5");
	refused(TOP("\"limits\": {\"cpus\": -1}"), -EPROTO, 2, "/limits/cpus", "from 0.05 to 1024", "such as 0.5");
	refused(TOP("\"limits\": {\"cpus\": \"1\"}"), -EPROTO, 2, "/limits/cpus", "from 0.05 to 1024", "such as 0.5");
	refused(TOP("\"limits\": []"), -EPROTO, 2, "/limits", "expected an object, found an array", "{ ... }");
	refused(TOP("\"env\": {\"PATH\": \"/x\"}"), -EPROTO, 2, "/env/PATH", "PATH is set by the sandbox itself",
		"take it out");
	refused(TOP("\"env\": {\"A-B\": \"x\"}"), -EPROTO, 2, "/env/A-B", "not a name for a variable",
		"letters, digits");
	refused(TOP("\"env\": {\"A\": 1}"), -EPROTO, 2, "/env/A", "expected a string, found a number", "double quotes");
	refused(TOP("\"env\": {\"A\": \"{{secret.pay}}\"}"), -EPROTO, 2, "/env/A", "no service accepts secret.pay",
		"auth.accept or events.secret, or declare it");
	refused(TOP("\"env\": {\"A\": \"{{service.pya.url}}\"}"), -EPROTO, 2, "/env/A", "there is no service \"pya\"",
		"did you mean \"pay\"?");
	refused(TOP("\"env\": {\"A\": \"{{process.env.HOME}}\"}"), -EPROTO, 2, "/env/A",
		"\"process.env.HOME\" is not known here", "secret.NAME");
	refused(TOP("\"env\": {\"A\": \"x{{secret.pay\"}"), -EPROTO, 2, "/env/A", "without \"}}\"",
		"close the template");
	refused(TOP("\"secrets\": {\"a\": {\"like\": \"pem-rsa\"}}"), -EOPNOTSUPP, 2, "/secrets/a/like", "pem-rsa",
		"take it out");
	refused(TOP("\"secrets\": {\"a\": {\"like\": \"hex\", \"length\": 8}}"), -EPROTO, 2, "/secrets/a/length",
		"from 16 to 200", "write a whole");
	refused(TOP("\"secrets\": {\"a\": {\"like\": \"uuid\", \"length\": 36}}"), -EPROTO, 2, "/secrets/a/length",
		"one length only", "take");
	accepted(
		"secrets",
		TOP("\"secrets\": {\"a\": {\"like\": \"uuid\"}}, \"env\": {\"A\": \"{{secret.a}} {{run.id}} {{seed}} {{'{{'}}\"}"));
	accepted(
		"$schema, limits, root",
		TOP("\"$schema\": \"x\", \"limits\": {\"idle_ms\": 0, \"cpus\": 0.05, \"state_bytes\": 4096}, \"root\": \".\", \"about\": \"\""));
}

static void
test_files(void)
{
	static const struct {
		const char *pattern, *problem, *fix;
	} bad[] = {
		{ "/etc/passwd", "absolute path", "relative to root" },
		{ "../x", "\\\"..\\\"" + 1, "src/**" },
		{ "a/../x", "\"..\"", "src/**" },
		{ "./a", "no segment \".\"", "src/**" },
		{ "a//b", "empty segment", "single slashes" },
		{ "src/", "slash at the end", "src/**" },
		{ "src/a**", "whole segments only", "between slashes" },
		{ "", "the string is empty", "write" },
		{ "!", "the pattern is empty", "src/**" },
		{ ".agenttwin/**", "receipts", "take the pattern out" },
		{ "a\\\\b", "backslash", "separate folders with /" },
	};
	char text[2048];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 "{ \"agenttwin\": \"world/1\", \"name\": \"w\",\n\"files\": [\n\"ok\", \"%s\" ] }",
			 bad[i].pattern);
		refused_text(bad[i].pattern, text, strlen(text), -EPROTO, 3, "/files/1",
			     i == 1 ? "\"..\"" : bad[i].problem, bad[i].fix);
	}
	refused(TOP("\"keep\": [\"src/key.pem\"]"), -EPROTO, 2, "/keep/0", "below node_modules only", "take it out");
	refused(TOP("\"keep\": [\"node_modules/**\"]"), -EPROTO, 2, "/keep/0", "not patterns", "file's path");
}

static bool
names_authority(const struct world *w)
{
	const char *env[CRED_BASE_MAX];
	size_t n = cred_base_env(w, env);

	for (size_t i = 0; i < n; i++)
		if (strcmp(env[i], "NODE_EXTRA_CA_CERTS=/etc/agenttwin-ca.pem") == 0)
			return true;
	return false;
}

static void
test_tls(void)
{
	static const struct {
		const char *members, *url;
		unsigned port;
		bool tls;
	} good[] = {
		{ "\"tls\": true,", "https://pay.internal", 443, true },
		{ "\"tls\": false,", "http://pay.internal", 80, false },
		{ "\"tls\": true, \"port\": 8443,", "https://pay.internal:8443", 8443, true },
		{ "\"tls\": true, \"port\": 80,", "https://pay.internal:80", 80, true },
		{ "\"port\": 443,", "http://pay.internal:443", 443, false },
	};
	char text[4096];
	struct world w;
	struct diag d;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct parts p = { .service = good[i].members };

		compose(&p, text, sizeof(text));
		put("t.world.json", text, strlen(text));
		if (!ok(world_load(path, &w, &d) == 0, "accepted: %s", good[i].members))
			continue;
		is_str(w.services[0].url, good[i].url, "its url");
		is_int(w.services[0].port, good[i].port, "its port");
		ok(names_authority(&w) == good[i].tls, "NODE_EXTRA_CA_CERTS only with tls");
		if (good[i].tls)
			ok(world_check_local(&w, &d) == -EOPNOTSUPP && strcmp(d.pointer, "/services/0/tls") == 0 &&
				   strstr(d.problem, "TLS cannot be had on local") && d.fix[0],
			   "refused on local");
		world_wipe(&w);
	}
}

static void
test_services(void)
{
	test_tls();
	refused(SERVICE("\"tls\": 1"), -EPROTO, 4, "/services/0/tls", "expected true or false", "write");
	refused(SERVICE("\"prot\": 1"), -EPROTO, 4, "/services/0/prot", "unknown key \"prot\"",
		"did you mean \"port\"?");
	refused(SERVICE("\"port\": 0"), -EPROTO, 4, "/services/0/port", "from 1 to 65535", "write");
	refused(SERVICE("\"auth\": {\"scheme\": \"header\", \"accept\": \"x\"}"), -EPROTO, 4, "/services/0/auth",
		"needs the header's name", "x-api-key");
	refused(SERVICE("\"auth\": {\"scheme\": \"bearer\", \"header\": \"x\", \"accept\": \"x\"}"), -EPROTO, 4,
		"/services/0/auth", "Authorization", "take");
	refused(SERVICE("\"auth\": {\"scheme\": \"bearer\", \"accept\": \"a\\nb\"}"), -EPROTO, 4,
		"/services/0/auth/accept", "printable", "{{secret.NAME}}");
	refused(SERVICE("\"auth\": {\"scheme\": \"bearer\", \"accept\": \"{{seed}}\"}"), -EPROTO, 4,
		"/services/0/auth/accept", "cannot stand here", "secret.NAME");
	refused(SERVICE("\"auth\": {\"scheme\": \"bearr\", \"accept\": \"x\"}"), -EPROTO, 4, "/services/0/auth/scheme",
		"\"bearr\"", "did you mean \"bearer\"?");
	refused(SERVICE("\"unmatched\": \"ignore\""), -EPROTO, 4, "/services/0/unmatched", "\"ignore\"", "\"fail\"");
	accepted(
		"auth",
		SERVICE("\"auth\": {\"scheme\": \"basic\", \"accept\": \"u:{{secret.pay}}\"}, \"unmatched\": \"404\", \"port\": 8080"));
}

static void
test_service_list(void)
{
	static const struct {
		const char *services, *pointer, *problem, *fix;
		int err;
	} bad[] = {
		{ "{}", "/services", "expected an array", "[ ... ]", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"postgres\",\"role\":\"x\"}]", "/services/0/kind",
		  "kind \"postgres\" is not supported by this version", "\"http\"", -EOPNOTSUPP },
		{ "[{\"name\":\"a\",\"kind\":\"http\"}]", "/services/0", "has no \"hosts\"", "add \"hosts\"", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[]}]", "/services/0/hosts", "too short", "at least 1",
		  -EPROTO },
		{ "[{\"name\":\"a b\",\"kind\":\"http\",\"hosts\":[\"a.b\"]}]", "/services/0/name", "letters, digits",
		  "payments", -EPROTO },
		{ "[{\"name\":\"trigger\",\"kind\":\"http\",\"hosts\":[\"a.b\"]}]", "/services/0/name", "is taken",
		  "another name", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"]},{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"b.b\"]}]",
		  "/services/1/name", "there is a service \"a\" already", "name of its own", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"]},{\"name\":\"b\",\"kind\":\"http\",\"hosts\":[\"x.b\",\"a.b\"]}]",
		  "/services/1/hosts/1", "host \"a.b\" belongs to service \"a\" already", "one host is one service",
		  -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\",\"a.b\"]}]", "/services/0/hosts/1",
		  "stands here twice", "keep one", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"localhost\"]}]", "/services/0/hosts/0",
		  "machine itself", "payments.internal", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"127.0.0.1\"]}]", "/services/0/hosts/0", "IP address",
		  "payments.internal", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"::1\"]}]", "/services/0/hosts/0", "IP address",
		  "payments.internal", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"printer.local\"]}]", "/services/0/hosts/0",
		  "multicast", "payments.internal", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"https://a.b\"]}]", "/services/0/hosts/0",
		  "without scheme", "payments.internal", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"Api.b\"]}]", "/services/0/hosts/0",
		  "not a host name", "lower-case", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"],\"state\":{\"x\":[{}]}}]",
		  "/services/0/state/x/0", "no \"id\"", "add \"id\"", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"],\"state\":{\"x\":[{\"id\":1}]}}]",
		  "/services/0/state/x/0/id", "expected a string", "quotes", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"],\"state\":{\"x\":[{\"id\":\"1\"},{\"id\":\"2\"},{\"id\":\"1\"}]}}]",
		  "/services/0/state/x/2/id", "row 0 of the collection has this id", "id of its own", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"],\"state\":{\"not\":[]}}]",
		  "/services/0/state/not", "not a name for a collection", "word of the language", -EPROTO },
		{ "[{\"name\":\"a\",\"kind\":\"http\",\"hosts\":[\"a.b\"],\"state\":{\"x\":{}}}]",
		  "/services/0/state/x", "expected an array", "[ ... ]", -EPROTO },
	};
	char text[4096];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 "{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [],\n\"services\": %s }",
			 bad[i].services);
		refused_text(bad[i].problem, text, strlen(text), bad[i].err, 2, bad[i].pointer, bad[i].problem,
			     bad[i].fix);
	}
}

static void
test_policy(void)
{
	refused(SERVICE("\"profile\": \"stripe\""), -EPROTO, 4, "/services/0/profile", "\"stripe\"", "stripe/v1");
	refused(SERVICE("\"variables\": {\"a b\":1}"), -EPROTO, 4, "/services/0/variables/a b", "name for a variable",
		"letters");
	refused(SERVICE("\"idempotency\": {\"on\":[\"post\"]}"), -EPROTO, 4, "/services/0/idempotency/on/0", "\"post\"",
		"\"POST\"");
	refused(SERVICE("\"idempotency\": {\"on\":[\"POST\",\"POST\"]}"), -EPROTO, 4, "/services/0/idempotency/on/1",
		"twice", "keep one");
	refused(SERVICE("\"idempotency\": {\"keep\":\"1 day\"}"), -EPROTO, 4, "/services/0/idempotency/keep",
		"no length of time", "24h");
	refused(SERVICE("\"idempotency\": {\"keep\":\"99999999d\"}"), -EPROTO, 4, "/services/0/idempotency/keep",
		"3650d", "24h");
	refused(SERVICE("\"rate_limit\": {\"limit\":1}"), -EPROTO, 4, "/services/0/rate_limit", "window_ms", "60000");
	refused(SERVICE("\"rate_limit\": {\"limit\":0,\"window_ms\":1}"), -EPROTO, 4, "/services/0/rate_limit/limit",
		"from 1", "");
	accepted(
		"idempotency and rate limit",
		SERVICE("\"profile\":\"openai/chat\",\"variables\":{\"n\":[1]},\"idempotency\":{\"on\":[\"POST\",\"DELETE\"],\"keep\":\"30d\",\"profile\":\"ietf\",\"required\":false},"
			"\"rate_limit\":{\"limit\":10,\"window_ms\":1000,\"per\":\"route\"}"));
}

static void
test_routes(void)
{
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"}}"), -EPROTO, 6, ROUTE0,
		"neither \"do\" nor \"reply\"", "add \"reply\"");
	refused(ROUTE("{\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"reply\":{}}"), -EPROTO, 6, ROUTE0,
		"has no \"id\"", "add \"id\"");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"get\",\"path\":\"/x\"},\"reply\":{}}"), -EPROTO, 6,
		ROUTE0 "/match/method", "\"get\"", "did you mean \"GET\"?");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"x\"},\"reply\":{}}"), -EPROTO, 6,
		ROUTE0 "/match/path", "starts with a slash", "/charges/{id}");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x?y=1\"},\"reply\":{}}"), -EPROTO, 6,
		ROUTE0 "/match/path", "none of", "query strings");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x/*\"},\"reply\":{}}"), -EPROTO, 6,
		ROUTE0 "/match/path", "none of", "{name}");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/{a}/{a}\"},\"reply\":{}}"), -EPROTO, 6,
		ROUTE0 "/match/path", "same name", "differently");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x\",\"query\":{}},\"reply\":{}}"),
		-EPROTO, 6, ROUTE0 "/match/query", "between 1 and 64", "\"*\"");
	refused(WANTS("\"query\":{\"a\":null}"), -EPROTO, 6, ROUTE0 "/match/query/a", "expected a text", "\"*\"");
	refused(WANTS("\"query\":{\"a\":{\"contains\":1}}"), -EPROTO, 6, ROUTE0 "/match/query/a", "found an object",
		"matches");
	refused(WANTS("\"query\":{\"a\":{\"matches\":\"(a\"}}"), -EPROTO, 6, ROUTE0 "/match/query/a/matches",
		"parenthesis is not closed, at byte 3", "extended");
	refused(WANTS("\"headers\":{\"a b\":1}"), -EPROTO, 6, ROUTE0 "/match/headers/a b", "HTTP header",
		"x-request-id");
	refused(WANTS("\"headers\":{\"x-a\":1,\"X-A\":2}"), -EPROTO, 6, ROUTE0 "/match/headers/X-A", "same header",
		"keep one");
	refused(WANTS("\"body\":{}"), -EPROTO, 6, ROUTE0 "/match/body", "neither", "\"form\"");
	refused(WANTS("\"body\":{\"json\":1,\"form\":{\"a\":\"*\"}}"), -EPROTO, 6, ROUTE0 "/match/body",
		"one of the two", "\"form\"");
	refused(WANTS("\"body\":{\"json\":{\"a\":{\"not\":\"{{id}}\"}}}"), -EPROTO, 6, ROUTE0 "/match/body/json/a/not",
		"template cannot", "\"when\"");
	accepted(
		"all forms of match",
		WANTS("\"query\":{\"a\":\"*\",\"b\":[\"1\",2]},\"headers\":{\"X-A\":{\"not\":{\"matches\":\"^a{2}\"}}},"
		      "\"body\":{\"json\":{\"a\":null,\"b\":{\"c\":[1,{\"d\":\"*\"}],\"e\":{\"contains\":{\"equals\":\"*\"}}}}}"));
	accepted("two routes that want different things",
		 ROUTE("{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/x\",\"query\":{\"a\":1}},\"reply\":{}},"
		       "{\"id\":\"b\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"reply\":{}}"));
	refused(ROUTE("{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/x\",\"query\":{\"a\":1}},\"reply\":{}},"
		      "{\"id\":\"b\",\"match\":{\"method\":\"GET\",\"path\":\"/x\",\"query\":{\"a\":1}},\"reply\":{}}"),
		-EPROTO, 6, "/services/0/routes/1", "never reached", "something to match");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"DELETE\",\"path\":\"/x\"},\"resource\":\"rows\"}"),
		-EPROTO, 6, ROUTE0, "none of list, get", "DELETE /x/{id}");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"resource\":\"rwos\"}"), -EPROTO,
		6, ROUTE0 "/resource", "no collection", "did you mean \"rows\"?");
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"resource\":\"rows\",\"do\":[]}"),
		-EPROTO, 6, ROUTE0 "/do", "unknown key \"do\" in a route with \"resource\"", "keys here");
	refused(ROUTE("{\"resource\":\"rows\",\"path\":\"/x/{id}\"}"), -EPROTO, 6, ROUTE0 "/path", "/{id} is added",
		"without {id}");
	refused(ROUTE("{\"resource\":\"rows\",\"path\":\"/x\"},{\"id\":\"rows.get\",\"match\":{\"method\":\"GET\",\"path\":\"/y\"},\"reply\":{}}"),
		-EPROTO, 6, "/services/0/routes/1/id", "id \"rows.get\" already", "id of its own");
	refused(ROUTE("{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{a}\"},\"reply\":{}},{\"id\":\"b\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{b}\"},\"reply\":{}}"),
		-EPROTO, 6, "/services/0/routes/1", "never reached: route \"a\"", "\"when\"");
	refused(MATCHED("\"reply\":{\"status\":99}"), -EPROTO, 6, ROUTE0 "/reply/status", "from 200 to 599", "write");
	refused(MATCHED("\"reply\":{\"status\":204,\"body\":1}"), -EPROTO, 6, ROUTE0 "/reply/body", "has no body",
		"take");
	refused(MATCHED("\"reply\":{\"code\":\"no such\"}"), -EPROTO, 6, ROUTE0 "/reply/code", "letters",
		"resource_missing");
	refused(MATCHED("\"reply\":{\"status\":404,\"code\":\"x\",\"body\":1}"), -EPROTO, 6, ROUTE0 "/reply/code",
		"\"body\" too", "keep one");
	refused(MATCHED("\"reply\":{\"status\":200,\"code\":\"x\"}"), -EPROTO, 6, ROUTE0 "/reply/code", "is none",
		"from 400 on");
	refused(MATCHED("\"reply\":{\"headers\":{\"Content-Length\":\"1\"}}"), -EPROTO, 6,
		ROUTE0 "/reply/headers/Content-Length", "writes this header itself", "take it out");
	refused(MATCHED("\"reply\":{},\"emit\":[]"), -EPROTO, 6, ROUTE0 "/emit", "where its events go", "endpoint");
	refused(MATCHED("\"reply\":{},\"emit\":[{\"event\":\"a b\"}]"), -EPROTO, 6, ROUTE0 "/emit/0/event",
		"an event's name", "charge.refunded");
	refused(MATCHED("\"reply\":{},\"emit\":[{\"event\":\"a\",\"data\":\"{{nothing}}\"}]"), -EPROTO, 6,
		ROUTE0 "/emit/0/data", "unknown name", "names here");
	refused(SERVICE(EVENTS("\"endpoint\":\"http://hooks.example/\"")), -EPROTO, 4, "/services/0/events/endpoint",
		"on 127.0.0.1, localhost or [::1] alone", "http://127.0.0.1:3000");
	refused(SERVICE(EVENTS("\"endpoint\":\"https://127.0.0.1/\"")), -EPROTO, 4, "/services/0/events/endpoint",
		"without TLS", "http://");
	refused(SERVICE(EVENTS("\"endpoint\":\"http://127.0.0.1:70000/\"")), -EPROTO, 4, "/services/0/events/endpoint",
		"1 to 65535", "3000");
	refused(SERVICE(EVENTS(HOOKS ",\"challenge\":true")), -EPROTO, 4, "/services/0/events/challenge",
		"only scheme \"slack\"", "take");
	refused(SERVICE("\"events\":{" HOOKS ",\"scheme\":\"github\",\"secret\":\"{{secret.hook}}\",\"retry\":[1000]}"),
		-EPROTO, 4, "/services/0/events/retry", "GitHub sends a delivery once", "duplicate-write");
	refused(SERVICE(EVENTS(HOOKS ",\"retry\":[-1]")), -EPROTO, 4, "/services/0/events/retry/0", "whole number",
		"write");
	refused(SERVICE(EVENTS(HOOKS ",\"order\":\"random\"")), -EPROTO, 4, "/services/0/events/order",
		"words known here", "emitted");
	refused(((struct parts){ .service = EVENTS(HOOKS) ",",
				 .route = "{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/\"},\"reply\":{},"
					  "\"emit\":[{\"event\":\"a\"}]}" }),
		-EPROTO, 6, ROUTE0 "/emit/0/event", "has the id \"a\" already", "another name");
	accepted("events",
		 (struct parts){ .service = EVENTS(HOOKS ",\"retry\":[0,1000],\"order\":\"reversed\"") ",",
				 .route = "{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/\"},\"reply\":{},"
					  "\"emit\":[{\"event\":\"a.b\",\"data\":{\"x\":\"{{request.method}}\"}}]}" });
	refused(TOLD("{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{id}\"},\"resource\":\"rows\","
		     "\"emit\":[{\"event\":\"a.b\"}]}"),
		-EPROTO, 6, ROUTE0 "/emit", "nothing to tell", "updates");
	refused(TOLD("{\"resource\":\"rows\",\"path\":\"/x\",\"emit\":[{\"event\":\"a.b\"}]}"), -EPROTO, 6,
		ROUTE0 "/emit/0", "\"on\"", "create");
	refused(TOLD("{\"resource\":\"rows\",\"path\":\"/x\",\"emit\":[{\"event\":\"a.b\",\"on\":\"list\"}]}"), -EPROTO,
		6, ROUTE0 "/emit/0/on", "words known here", "create");
	refused(TOLD("{\"resource\":\"rows\",\"path\":\"/x\",\"emit\":[{\"event\":\"rows.create\",\"on\":\"create\"}]}"),
		-EPROTO, 6, ROUTE0 "/emit/0/event", "has the id \"rows.create\" already", "another name");
	refused(TOLD("{\"id\":\"a\",\"match\":{\"method\":\"POST\",\"path\":\"/x\"},\"resource\":\"rows\","
		     "\"emit\":[{\"event\":\"a.b\",\"data\":\"{{rwo.id}}\"}]}"),
		-EPROTO, 6, ROUTE0 "/emit/0/data", "unknown name", "row");
	refused(ROUTE("{\"resource\":\"rows\",\"path\":\"/x\",\"emit\":[{\"event\":\"a.b\",\"on\":\"create\"}]}"),
		-EPROTO, 6, ROUTE0 "/emit", "where its events go", "endpoint");
	accepted("events of resources",
		 TOLD("{\"id\":\"a\",\"match\":{\"method\":\"DELETE\",\"path\":\"/y/{id}\"},\"resource\":\"rows\","
		      "\"emit\":[{\"event\":\"a.b\",\"data\":{\"id\":\"{{row.id}}\"}}]},"
		      "{\"resource\":\"rows\",\"path\":\"/x\",\"emit\":[{\"event\":\"a.c\",\"on\":\"update\"},"
		      "{\"event\":\"a.d\",\"on\":\"delete\",\"data\":\"{{row}}\"}]}"));
	refused(ROUTE("{\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{id}\"},\"resource\":\"rows\",\"page\":\"cursor\"}"),
		-EPROTO, 6, ROUTE0 "/page", "can be paged", "take \"page\" out");
	refused(ROUTE("{\"resource\":\"rows\",\"path\":\"/x\",\"page\":\"page\"}"), -EPROTO, 6, ROUTE0 "/page",
		"\"page\"", "\"pages\"");
	accepted("a paged resource", ROUTE("{\"resource\":\"rows\",\"path\":\"/x\",\"page\":\"pages\"}"));
	accepted("resources", ROUTE("{\"resource\":\"rows\",\"path\":\"/x\",\"filter\":[\"n\"]}"));
	accepted(
		"a guard before the general route",
		ROUTE("{\"id\":\"a\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"when\":\"not has(request.headers['idempotency-key'])\",\"reply\":{}},"
		      "{\"id\":\"b\",\"match\":{\"method\":\"GET\",\"path\":\"/x\"},\"reply\":{\"status\":201}}"));
}

static void
test_effects(void)
{
	refused(DO("{\"crate\":\"rows\"}"), -EPROTO, 6, ROUTE0 "/do/0", "no verb",
		"did you mean \"create\" instead of \"crate\"?");
	refused(DO("{\"create\":\"rows\",\"delete\":\"rows\"}"), -EPROTO, 6, ROUTE0 "/do/0", "two verbs",
		"two effects");
	refused(DO("{\"create\":\"nothing\"}"), -EPROTO, 6, ROUTE0 "/do/0/create", "no collection", "\"state\"");
	refused(DO("{\"create\":\"rows\"},{\"require\":\"true\"}"), -EPROTO, 6, ROUTE0 "/do/1",
		"\"require\" stands after", "before the first change");
	refused(DO("{\"find\":\"rows\",\"id\":\"{{request.path.di}}\"}"), -EPROTO, 6, ROUTE0 "/do/0/id",
		"no parameter {di}", "match.path");
	refused(DO("{\"find\":\"rows\",\"id\":\"{{row.id}}\",\"as\":\"row\"}"), -EPROTO, 6, ROUTE0 "/do/0/id", "row",
		"");
	refused(DO("{\"find\":\"rows\",\"id\":\"a\",\"as\":\"x\"},{\"find\":\"rows\",\"id\":\"a\",\"as\":\"x\"}"),
		-EPROTO, 6, ROUTE0 "/do/1/as", "calls its row \"x\" already", "another name");
	refused(DO("{\"find\":\"rows\",\"id\":\"a\",\"as\":\"state\"}"), -EPROTO, 6, ROUTE0 "/do/0/as",
		"word of the language", "another name");
	refused(DO("{\"find\":\"rows\"}"), -EPROTO, 6, ROUTE0 "/do/0", "has no \"id\"", "add \"id\"");
	refused(DO("{\"require\":\"{{true}}\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "not a template", "braces");
	refused(DO("{\"require\":\"frob(1)\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "frob", "");
	refused(DO("{\"require\":\"len(state.rosw) > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require",
		"no collection \"rosw\"", "did you mean \"rows\"?");
	refused(DO("{\"require\":\"len(state) > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require",
		"\"state\" alone is no value", "state.COLLECTION");
	refused(DO("{\"require\":\"count(rows, 'n', 1) > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "rows", "");
	refused(DO("{\"require\":\"count(request.body, 'n', 1) > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require",
		"not a collection", "state.COLLECTION");
	refused(DO("{\"require\":\"sum(state.rows, 'n', 'm') > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require",
		"does not take 3 arguments", "sum(collection");
	refused(DO("{\"require\":\"sum(state.rows, request.body.x) > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require",
		"in quotes", "'field'");
	refused(DO("{\"require\":\"request.boddy.x == 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "no \"boddy\"",
		"did you mean request.body?");
	refused(DO("{\"require\":\"has(request.headers['X-Key'])\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "lower case",
		"lower case");
	refused(DO("{\"require\":\"vars.count > 1\"}"), -EPROTO, 6, ROUTE0 "/do/0/require", "no variable \"count\"",
		"\"variables\"");
	refused(DO("{\"create\":\"rows\",\"row\":[]}"), -EPROTO, 6, ROUTE0 "/do/0/row", "a row is an object",
		"{{request.body}}");
	refused(DO("{\"create\":\"rows\",\"id\":\"a\",\"row\":{\"id\":\"b\"}}"), -EPROTO, 6, ROUTE0 "/do/0/row/id",
		"both here", "keep one");
	refused(DO("{\"create\":\"rows\",\"row\":{\"{{id}}\":1}}"), -EPROTO, 6, ROUTE0 "/do/0/row/{{id}}",
		"key cannot be a template", "write the key");
	refused(DO("{\"create\":\"rows\",\"row\":{\"a\":\"{{id\"}}"), -EPROTO, 6, ROUTE0 "/do/0/row/a",
		"without \"}}\"", "close the template");
	refused(DO("{\"update\":\"rows\",\"id\":\"a\",\"set\":{\"id\":\"b\"}}"), -EPROTO, 6, ROUTE0 "/do/0/set/id",
		"keeps its id", "take");
	refused(DO("{\"increment\":\"rows\",\"id\":\"a\",\"field\":\"n\",\"by\":\"1\"}"), -EPROTO, 6, ROUTE0 "/do/0/by",
		"is a number", "write 1");
	refused(DO("{\"increment\":\"rows\",\"id\":\"a\",\"field\":\"id\",\"by\":1}"), -EPROTO, 6, ROUTE0 "/do/0/field",
		"keeps its id", "name one field");
	refused(DO("{\"set\":\"a b\",\"to\":1}"), -EPROTO, 6, ROUTE0 "/do/0/set", "name for a variable", "letters");
	accepted(
		"all effects",
		DO("{\"find\":\"rows\",\"id\":\"{{request.path.id}}\",\"as\":\"row\",\"else\":{\"status\":404,\"body\":{\"e\":\"{{request.body.x}}\"}}},"
		   "{\"require\":\"row.n + int(request.form.n, 1) <= sum(state.rows, 'n', 'id', row.id) and not (vars.seen == true)\",\"else\":{}},"
		   "{\"create\":\"rows\",\"id\":\"re_{{id}}\",\"row\":{\"n\":\"{{now}}\",\"s\":[\"{{seed}}\",{\"x\":\"{{count(state.rows, 'n', 1)}}\"}]},\"as\":\"made\"},"
		   "{\"create\":\"rows\"},{\"update\":\"rows\",\"id\":\"{{row.id}}\",\"set\":{\"n\":2},\"as\":\"now2\"},"
		   "{\"increment\":\"rows\",\"id\":\"{{row.id}}\",\"field\":\"n\",\"by\":\"{{made.n}}\"},"
		   "{\"append\":\"rows\",\"id\":\"{{row.id}}\",\"field\":\"list\",\"value\":{\"a\":\"{{request.query.q}}\"}},"
		   "{\"delete\":\"rows\",\"id\":\"{{row.id}}\"},{\"set\":\"seen\",\"to\":true}"));
}

static void
test_state_bytes(void)
{
	struct parts p = { .top = "\"limits\": {\"state_bytes\": 4096}," };
	char text[16384], *at;

	compose(&p, text, sizeof(text));
	at = strstr(text, "{\"id\":\"a\",");
	memmove(at + 5000, at, strlen(at) + 1);
	memset(at, ' ', 5000);
	memcpy(at, "{\"id\":\"long\",\"v\":\"", 18);
	memset(at + 18, 'x', 4979);
	memcpy(at + 4997, "\"},", 3);
	refused_text("a state larger than its limit", text, strlen(text), -EPROTO, 2, "/limits/state_bytes",
		     "initial state", "raise state_bytes");
}

static void
test_workflow(void)
{
	refused(WORKFLOW("\"cwd\":\"../x\""), -EPROTO, 8, "/workflow/cwd", "not a path within", "relative to root");
	refused(WORKFLOW("\"ready\":{\"port\":0}"), -EPROTO, 8, "/workflow/ready/port", "1 to 65535", "write");
	refused(WORKFLOW("\"ready\":{}"), -EPROTO, 8, "/workflow/ready", "one of \"port\" and \"line\"", "3000");
	refused(WORKFLOW("\"ready\":{\"line\":\"a\\nb\"}"), -EPROTO, 8, "/workflow/ready/line", "one line", "within");
	refused(WORKFLOW("\"ends\":{\"exit\":false}"), -EPROTO, 8, "/workflow/ends/exit", "says nothing", "true");
	refused(WORKFLOW("\"ends\":{\"exit\":true,\"when\":\"true\"}"), -EPROTO, 8, "/workflow/ends", "one end",
		"exit");
	refused(WORKFLOW("\"ends\":{\"exit\":true,\"settle_ms\":1}"), -EPROTO, 8, "/workflow/ends/settle_ms",
		"own exit", "take");
	refused(WORKFLOW("\"ends\":{\"triggers\":true}"), -EPROTO, 8, "/workflow/ends/triggers", "no triggers", "add");
	refused(WORKFLOW("\"ends\":{\"when\":\"len(state.nobody.rows) > 0\"}"), -EPROTO, 8, "/workflow/ends/when",
		"no service \"nobody\"", "state.");
	refused(WORKFLOW("\"ends\":{\"when\":\"len(state.pay.nothing) > 0\"}"), -EPROTO, 8, "/workflow/ends/when",
		"no collection \"nothing\"", "");
	refused(WORKFLOW("\"ends\":{\"when\":\"len(state.pay) > 0\"}"), -EPROTO, 8, "/workflow/ends/when",
		"state of a service alone", "state.SERVICE.COLLECTION");
	refused(WORKFLOW("\"ends\":{\"when\":\"request.method == 'GET'\"}"), -EPROTO, 8, "/workflow/ends/when",
		"no request is current", "state.SERVICE");
	refused(WORKFLOW("\"trigger\":[{\"id\":\"a\"}]"), -EPROTO, 8, "/workflow/trigger/0", "one of \"http\"", "url");
	refused(WORKFLOW("\"trigger\":[{\"id\":\"a\",\"signal\":\"SIGKILL\"}]"), -EPROTO, 8,
		"/workflow/trigger/0/signal", "SIGKILL", "SIGINT");
	refused(WORKFLOW("\"trigger\":[{\"id\":\"a\",\"signal\":\"SIGHUP\"},{\"id\":\"a\",\"signal\":\"SIGHUP\"}]"),
		-EPROTO, 8, "/workflow/trigger/1/id", "already", "of its own");
	refused(WORKFLOW(
			"\"trigger\":[{\"id\":\"a\",\"http\":{\"url\":\"http://127.0.0.1/\",\"headers\":{\"Host\":\"x\"}}}]"),
		-EPROTO, 8, "/workflow/trigger/0/http/headers/Host", "set by the twins", "take");
	refused(WORKFLOW(
			"\"trigger\":[{\"id\":\"a\",\"http\":{\"url\":\"http://127.0.0.1/\",\"json\":1,\"body\":\"\"}}]"),
		-EPROTO, 8, "/workflow/trigger/0/http", "one body", "keep one");
	refused(WORKFLOW(
			"\"trigger\":[{\"id\":\"a\",\"http\":{\"url\":\"http://127.0.0.1/\",\"json\":{\"k\":\"{{secret.no}}\"}}}]"),
		-EPROTO, 8, "/workflow/trigger/0/http/json/k", "secret.no", "declare it");
	refused(WORKFLOW("\"trigger\":[{\"id\":\"a\",\"event\":{\"service\":\"shop\",\"event\":\"x\"}}]"), -EPROTO, 8,
		"/workflow/trigger/0/event/service", "sends events", "\"events\"");
	accepted(
		"a driven workflow",
		((struct parts){
			.workflow =
				",\"ready\":{\"line\":\"up\"},\"trigger\":[{\"id\":\"a\",\"at\":5,\"after\":\"len(state.pay.rows) == 0\","
				"\"http\":{\"url\":\"http://localhost:3000\",\"form\":{\"a\":1}}},{\"id\":\"b\",\"after\":10,"
				"\"signal\":\"SIGHUP\"}],\"ends\":{\"when\":\"count(state.pay.rows, 'a', 1) >= 1\",\"settle_ms\":10}",
			.checks =
				"{\"id\":\"s\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows\",\"count\":2}" }));
	refused(WORKFLOW("\"stdin\":1"), -EPROTO, 8, "/workflow/stdin", "expected a string", "quotes");
	accepted("workflow",
		 WORKFLOW("\"cwd\":\".\",\"stdin\":\"x\",\"node\":\"/usr/bin/node\",\"ends\":{\"exit\":true}"));
}

static void
test_checks(void)
{
	static const struct {
		const char *check, *pointer, *problem, *fix;
		int err;
	} bad[] = {
		{ "", "/checks", "no check", "add one", -EPROTO },
		{ "{\"id\":\"a\"}", "/checks/0", "no \"kind\"", "add one of", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exti\"}", "/checks/0/kind", "\"exti\"", "did you mean \"exit\"?", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"jq\",\"expr\":\"x\"}", "/checks/0/expr",
		  "x/0 is not defined, at character 1", "jq(1)", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"sql\"}", "/checks/0/kind",
		  "check kind \"sql\" is not supported by this version", "kinds so far", -EOPNOTSUPP },
		{ "{\"id\":\"A\",\"kind\":\"exit\",\"code\":0}", "/checks/0/id", "small letters", "one-refund",
		  -EPROTO },
		{ "{\"id\":\"no-unmatched\",\"kind\":\"exit\",\"code\":0}", "/checks/0/id", "every run has already",
		  "another id", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"code\":0},{\"id\":\"a\",\"kind\":\"exit\",\"code\":0}",
		  "/checks/1/id", "check 0 has the id", "its own", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\"}", "/checks/0", "says nothing", "\"code\": 0", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"code\":0,\"signal\":\"SIGTERM\"}", "/checks/0/signal",
		  "beside another", "two checks", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"code\":256}", "/checks/0/code", "from 0 to 255", "write",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"signal\":\"TERM\"}", "/checks/0/signal", "\"TERM\"", "SIGTERM",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"exit\",\"code\":0,\"mode\":\"always\"}", "/checks/0/mode",
		  "judged at the end", "take \"mode\" out", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"stdout\",\"equals\":\"x\",\"contains\":\"x\"}", "/checks/0/contains",
		  "beside another", "two checks", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"stdout\",\"contains\":\"\"}", "/checks/0/contains", "empty", "write",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"stdout\",\"matches\":\"(\"}", "/checks/0/matches", "regular expression",
		  "regex(7)", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"stdout\",\"matches\":\"((a{255}){255}){255}\"}", "/checks/0/matches",
		  "more than 1000", "use *", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"stdout\",\"json\":{\"pointer\":\"x\",\"equals\":1}}",
		  "/checks/0/json/pointer", "starts with a slash", "pointer", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"service\":\"pya\"}", "/checks/0/service", "no service \"pya\"",
		  "did you mean \"pay\"?", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"service\":\"pay\",\"route\":\"q\"}", "/checks/0/route",
		  "no route \"q\"", "", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"route\":\"r\"}", "/checks/0/route", "without \"service\"",
		  "add \"service\"", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"exactly\":1,\"at_most\":2}", "/checks/0",
		  "\"exactly\" stands beside", "keep", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"at_least\":3,\"at_most\":2}", "/checks/0", "never hold", "swap",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"at_least\":0}", "/checks/0", "always holds", "at_least 1",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"never\",\"service\":\"pay\",\"idempotency\":\"replay\"}",
		  "/checks/0/idempotency", "keeps no idempotency keys", "take this out", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"idempotency\":\"repeat\"}", "/checks/0/idempotency", "\"repeat\"",
		  "replay", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"each\":\"x |\"}", "/checks/0/each", "ends in the middle", "jq(1)",
		  -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rosw\",\"count\":1}",
		  "/checks/0/path", "no collection \"rosw\"", "did you mean \"/rows\"?", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"\",\"count\":1}", "/checks/0/path",
		  "must start with a collection", "/COLLECTION", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows\",\"sum\":\"n\"}", "/checks/0",
		  "says nothing", "add one", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows/a\",\"sum\":\"n\",\"equals\":1}",
		  "/checks/0/path", "over the rows", "\"/rows\"", -EPROTO },
		// vacuous
		{ "{\"id\":\"a\",\"kind\":\"no-egress\"}", "/checks", "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"never\",\"service\":\"pay\"},{\"id\":\"b\",\"kind\":\"calls\",\"exactly\":0}",
		  "/checks", "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"calls\",\"at_most\":4},{\"id\":\"b\",\"kind\":\"stdout\",\"equals\":\"\"}",
		  "/checks", "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows\",\"count\":1}", "/checks",
		  "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows/a/n\",\"equals\":1}",
		  "/checks", "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows/b\",\"exists\":false}",
		  "/checks", "nothing has run", "add a check", -EPROTO },
		{ "{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows\",\"sum\":\"n\",\"equals\":1}",
		  "/checks", "nothing has run", "add a check", -EPROTO },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(CHECKS(bad[i].check), bad[i].err, 9, bad[i].pointer, bad[i].problem, bad[i].fix);
	accepted(
		"a state that is not there yet",
		CHECKS("{\"id\":\"a\",\"kind\":\"state\",\"service\":\"pay\",\"path\":\"/rows\",\"count\":2},{\"id\":\"b\",\"kind\":\"never\",\"path\":\"/y\"}"));
	accepted(
		"calls",
		CHECKS("{\"id\":\"a\",\"kind\":\"calls\",\"service\":\"pay\",\"route\":\"r\",\"method\":\"GET\",\"path\":\"/x/{id}\",\"count\":\"effects\",\"at_least\":1,\"at_most\":2}"));
	accepted(
		"streams",
		CHECKS("{\"id\":\"a\",\"kind\":\"stdout\",\"matches\":\"^a+$\",\"because\":\"x\"},{\"id\":\"b\",\"kind\":\"stderr\",\"json\":{\"pointer\":\"\",\"equals\":null}}"));
	accepted("codes", CHECKS("{\"id\":\"a\",\"kind\":\"exit\",\"code\":[0,75]}"));
}

static void
test_text(void)
{
	static char text[20002];
	size_t i;
	struct diag d;
	struct world w;

	refused_text("an empty file", "", 0, -EPROTO, 1, "", "empty", "world/1");
	refused_text("a BOM", "\xef\xbb\xbf{}", 5, -EPROTO, 1, "", "byte order mark", "without a BOM");
	refused_text("UTF-16", "\xff\xfe{\0}\0", 6, -EPROTO, 1, "", "UTF-16", "UTF-8");
	refused_text("a NUL byte", "{\"a\":\"\0\"}", 9, -EPROTO, 1, "", "NUL byte at offset 6", "plain UTF-8");
	refused_text("a comment", "{ // x\n}", 8, -EPROTO, 1, "", "", "no comments");
	refused_text("another document", "[]", 2, -EPROTO, 1, "", "expected an object, found an array", "{ ... }");
	refused_text("no version", "{}", 2, -EPROTO, 1, "", "no \"agenttwin\"", "world/1");
	refused_text("a later version", "{\"agenttwin\":\"world/2\"}", 23, -EOPNOTSUPP, 1, "/agenttwin",
		     "\"world/1\" only", "newer version");
	memset(text, '[', 10000);
	memset(text + 10000, ']', 10000);
	i = (size_t)load(text, 20000, &d);
	ok((int)i == -EMSGSIZE && strstr(d.fix, "at most 32"), "10,000 nested arrays");
	put("t.world.json", "{", 1);
	ok(truncate(path, 100 << 20) == 0 && world_load(path, &w, &d) == -EMSGSIZE && strstr(d.problem, "104857600"),
	   "a world of 100 MiB is not even read");
	unlink(path);
	ok(world_load(path, &w, &d) == -ENOENT && strstr(d.fix, "world file"), "no such file");
	put("a.world.json", "{}", 2);
	put("b.world.json", "{}", 2);
	ok(world_load(folder, &w, &d) == -ENOENT && strstr(d.fix, "a.world.json, b.world.json") &&
		   strstr(d.file, "/world.json"),
	   "a folder without world.json names what it has");
	unlink(path);
	snprintf(path, sizeof(path), "%s/a.world.json", folder);
	unlink(path);
	ok(world_load(folder, &w, &d) == -ENOENT && strstr(d.fix, "write a world.json"), "and when it has none");
	ok(world_load("/dev/null", &w, &d) == -EPROTO && strstr(d.problem, "not a regular file"),
	   "a device is no world");
}

static void
test_examples(void)
{
	struct world w;
	struct diag d;

	ok(world_load("tests/data/worlds/first-run.world.json", &w, &d) == 0, "the example is accepted");
	is_str(w.name, "refund-once", "name");
	is_int((long long)w.seed, 4211, "seed");
	is_str(w.services[0].url, "http://payments.internal", "url");
	ok(w.services[0].address[0] == 127 && w.services[0].address[1] == 64 && w.services[0].address[3] == 1,
	   "address");
	is_int((long long)w.checks_len, 4, "checks");
	is_int(w.limits.run_ms, RUN_MS_DEFAULT, "limits by default");
	ok(world_check_local(&w, &d) == -EOPNOTSUPP && strcmp(d.pointer, "/checks/3") == 0,
	   "no-egress is refused on local");
	world_set_local(&w, (const uint16_t[]){ 40123 });
	is_str(w.services[0].url, "http://127.0.0.1:40123", "url on local");
	world_wipe(&w);
	ok(world_load("tests/data/worlds/refund.world.json", &w, &d) == -EOPNOTSUPP && d.pointer[0] == '/',
	   "a world of a later version is refused");
	is_int(world_load("tests/data/worlds/support.world.json", &w, &d), 0,
	       "one with more than one good end is read");
	is_int((long long)w.outcomes_len, 2, "both");
	world_wipe(&w);
}

static void
test_many(void)
{
	static char text[1 << 17];
	size_t n = 0, i;
	struct world w;
	struct diag d;

	for (i = 0; i < 251; i++) {
		n = (size_t)snprintf(text, sizeof(text),
				     "{\"agenttwin\":\"world/1\",\"name\":\"w\",\"files\":[],\"services\":[");
		for (size_t k = 0; k < i; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s{\"name\":\"s%zu\",\"kind\":\"http\",\"hosts\":[\"s%zu.internal\"]}",
					      k ? "," : "", k, k);
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"],\"workflow\":{\"command\":[\"x\"]},\"checks\":[{\"id\":\"e\",\"kind\":\"exit\",\"code\":0}]}");
		if (i < 249)
			continue;
		put("t.world.json", text, n);
		if (i == 250) {
			ok(world_load(path, &w, &d) == 0 && w.services[249].address[3] == 250, "250 services");
			world_wipe(&w);
		}
	}
	memcpy(strstr(text, "],\"workflow\""), "]", 1);
	n = (size_t)(strstr(text, "],\"workflow\"") - text);
	snprintf(text + n, sizeof(text) - n, ",{\"name\":\"x\",\"kind\":\"http\",\"hosts\":[\"x.internal\"]}]}");
	put("t.world.json", text, strlen(text));
	ok(world_load(path, &w, &d) == -EPROTO && strcmp(d.pointer, "/services/250") == 0 &&
		   strstr(d.problem, "more than 250"),
	   "251 services are refused");
}

int
main(void)
{
	char sub[256];

	if (!mkdtemp(folder))
		return 1;
	snprintf(sub, sizeof(sub), "%s/sub", folder);
	mkdir(sub, 0755);
	test_top();
	test_files();
	test_services();
	test_service_list();
	test_policy();
	test_routes();
	test_effects();
	test_state_bytes();
	test_workflow();
	test_checks();
	test_text();
	test_examples();
	test_many();
	rmdir(sub);
	unlink(path);
	rmdir(folder);
	return tap_done();
}
