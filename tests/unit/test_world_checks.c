// SPDX-License-Identifier: GPL-2.0-or-later
// test_world_checks.c - checks in a world: which are accepted, and what is said of those that are not.
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/world.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/test-checks-XXXXXX";
static char path[256];

// A world of one service with these checks; one more that nothing but the workflow can make true, unless they stand alone.
static int
load(const char *checks, bool alone, struct diag *d)
{
	char text[8192];
	struct world w;
	int fd, r, n;

	n = snprintf(
		text, sizeof(text),
		"{ \"agenttwin\": \"world/1\", \"name\": \"w\", \"files\": [],\n"
		"\"services\": [ { \"name\": \"pay\", \"kind\": \"http\", \"hosts\": [\"pay.internal\"],\n"
		"\"state\": {\"rows\":[{\"id\":\"a\",\"n\":1,\"s\":\"open\"}],\"mails\":[]},\n"
		"\"idempotency\": { \"on\": [\"POST\"] },\n"
		"\"routes\": [ {\"id\":\"r\",\"match\":{\"method\":\"GET\",\"path\":\"/x/{id}\"},\"reply\":{}},\n"
		"{\"resource\":\"rows\",\"path\":\"/rows\"} ] } ],\n"
		"\"faults\": [ {\"id\":\"busy\",\"class\":\"server-error\",\"on\":{\"service\":\"pay\"},\"call\":{\"nth\":1}} ],\n"
		"\"workflow\": { \"command\": [\"node\", \"a.mjs\"] },\n"
		"\"checks\": [ %s%s ] }\n",
		checks, alone ? "" : ",{ \"id\": \"exit\", \"kind\": \"exit\", \"code\": 0 }");
	snprintf(path, sizeof(path), "%s/t.world.json", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		abort();
	close(fd);
	r = world_load(path, &w, d);
	if (r == 0)
		world_wipe(&w);
	return r;
}

#define IS(kind) "{\"id\":\"a\",\"kind\":\"" kind "\""

static void
refuses(void)
{
	static const struct {
		const char *check, *pointer, *problem, *fix;
		int err;
	} bad[] = {
		{ IS("exti") "}", "/kind", "\"exti\"", "did you mean \"exit\"?", -EPROTO },
		{ IS("sql") "}", "/kind", "not supported", "kinds so far: exit, stdout", -EOPNOTSUPP },
		// order
		{ IS("order") ",\"first\":{\"service\":\"pay\"}}", "", "then", "\"then\": {", -EPROTO },
		{ IS("order") ",\"first\":{},\"then\":{\"service\":\"pay\"}}", "/first", "every call", "\"fault\"",
		  -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"bsuy\"},\"then\":{\"service\":\"pay\"}}", "/first/fault",
		  "no fault \"bsuy\"", "did you mean \"busy\"?", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\",\"service\":\"pay\"},\"then\":{\"service\":\"pay\"}}",
		  "/first/service", "unknown key", "", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pya\"}}", "/then/service",
		  "no service \"pya\"", "did you mean \"pay\"?", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pay\",\"route\":\"q\"}}",
		  "/then/route", "no route \"q\"", "", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"route\":\"r\"}}", "/then/route",
		  "without \"service\"", "add", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pay\",\"exactly\":1}}",
		  "/then/exactly", "unknown key", "", -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pay\"},\"min_gap_ms\":0}",
		  "/min_gap_ms", "from 1", "", -EPROTO },
		// relation
		{ IS("relation") ",\"left\":{\"value\":1},\"op\":\"==\",\"right\":{\"value\":1}}", "",
		  "both sides are values", "name a \"service\"", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows/a/n\"},\"op\":\"=\",\"right\":{\"value\":1}}",
		  "/op", "\"=\"", "", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rwos\",\"count\":true},\"op\":\"==\",\"right\":{\"value\":1}}",
		  "/left/path", "no collection \"rwos\"", "did you mean \"/rows\"?", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows\",\"count\":false},\"op\":\"==\",\"right\":{\"value\":1}}",
		  "/left/count", "false asks for nothing", "true", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows\",\"count\":true,\"sum\":\"n\"},\"op\":\"==\",\"right\":{\"value\":1}}",
		  "/left", "beside \"count\"", "keep one", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows/a\",\"sum\":\"n\"},\"op\":\"==\",\"right\":{\"value\":1}}",
		  "/left/path", "over the rows", "\"/rows\"", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows/a/n\"},\"op\":\"==\",\"right\":{\"value\":[1]}}",
		  "/right/value", "between numbers", "\"state\"", -EPROTO },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows/a/n\"},\"op\":\"==\",\"right\":{\"service\":\"pay\",\"sql\":\"select 1\"}}",
		  "/right/sql", "not supported", "", -EOPNOTSUPP },
		{ IS("relation") ",\"left\":{\"service\":\"pay\"},\"op\":\"==\",\"right\":{\"value\":1}}", "/left",
		  "path", "\"/COLLECTION\"", -EPROTO },
		// unchanged
		{ IS("unchanged") ",\"except\":[\"rows\"]}", "/except/0", "SERVICE:/COLLECTION", "shop:/orders",
		  -EPROTO },
		{ IS("unchanged") ",\"except\":[\"pay:/rows\",\"pay:rows\"]}", "/except/1", "SERVICE:/COLLECTION",
		  "shop", -EPROTO },
		{ IS("unchanged") ",\"except\":[\"pay:/\"]}", "/except/0", "SERVICE:/COLLECTION", "shop", -EPROTO },
		{ IS("unchanged") ",\"except\":[\"pya:/rows\"]}", "/except/0", "no service \"pya\"", "before the colon",
		  -EPROTO },
		{ IS("unchanged") ",\"except\":[\"pay:/rosw/a\"]}", "/except/0", "no collection \"rosw\"",
		  "after the slash", -EPROTO },
		{ IS("unchanged") ",\"except\":\"pay:/rows\"}", "/except", "expected an array", "", -EPROTO },
		// process
		{ IS("process") "}", "", "says nothing", "\"no_uncaught\": true", -EPROTO },
		{ IS("process") ",\"no_uncaught\":false}", "/no_uncaught", "false asks for nothing", "true", -EPROTO },
		{ IS("process") ",\"max_rss_mb\":0}", "/max_rss_mb", "from 1", "", -EPROTO },
		// named properties
		{ IS("no-lost-writes") ",\"service\":\"pya\"}", "/service", "no service \"pya\"",
		  "did you mean \"pay\"?", -EPROTO },
		{ IS("no-lost-writes") ",\"route\":\"r\"}", "/route", "without \"service\"", "add", -EPROTO },
		{ IS("no-duplicate-effects") ",\"method\":\"GET\"}", "/method", "unknown key", "", -EPROTO },
		{ IS("recovers-from-faults") ",\"mode\":\"always\"}", "/mode", "judged at the end", "take", -EPROTO },
		// modes that are not judged
		{ IS("unchanged") ",\"mode\":\"never\"}", "/mode", "has no mode \"never\"", "take", -EPROTO },
		{ IS("state") ",\"service\":\"pay\",\"path\":\"/mails\",\"equals\":[],\"mode\":\"always\"}", "/mode",
		  "at the end only", "/mails/ID", -EPROTO },
		{ IS("exit") ",\"code\":0,\"mode\":\"always\"}", "/mode", "judged at the end", "take \"mode\" out",
		  -EPROTO },
		{ IS("exit") ",\"code\":0,\"mode\":\"alwyas\"}", "/mode", "\"alwyas\"", "did you mean \"always\"?",
		  -EPROTO },
		{ IS("never") ",\"service\":\"pay\",\"mode\":\"never\"}", "/mode", "judged at the end", "take",
		  -EPROTO },
		{ IS("process") ",\"no_uncaught\":true,\"mode\":\"always\"}", "/mode", "judged at the end", "take",
		  -EPROTO },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pay\"},\"mode\":\"always\"}",
		  "/mode", "judged at the end", "take", -EPROTO },
		{ IS("stdout") ",\"contains\":\"x\",\"mode\":\"always\"}", "/mode", "cannot hold always",
		  "line by line", -EPROTO },
		{ IS("stdout") ",\"equals\":\"x\",\"mode\":\"never\"}", "/mode", "\"contains\" and \"matches\" only",
		  "take", -EPROTO },
		{ IS("stdout") ",\"json\":{\"pointer\":\"\",\"equals\":1},\"mode\":\"sometimes\"}", "/mode",
		  "\"matches\" only", "take", -EPROTO },
	};
	char pointer[128];
	struct diag d;
	size_t i;
	int r;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&d, 0, sizeof(d));
		r = load(bad[i].check, false, &d);
		snprintf(pointer, sizeof(pointer), "/checks/0%s", bad[i].pointer);
		if (!ok(r == bad[i].err && strcmp(d.pointer, pointer) == 0 && strstr(d.problem, bad[i].problem) &&
				strstr(d.fix, bad[i].fix) && *d.fix,
			"refused: %s", bad[i].check))
			printf("# %d at %s: %s (%s)\n", r, d.pointer, d.problem, d.fix);
	}
}

// Each holds, or does not, when nothing has run.
static void
vacuous(void)
{
	static const struct {
		const char *check;
		bool refused;
	} all[] = {
		{ IS("unchanged") "}", true },
		{ IS("unchanged") ",\"mode\":\"always\"}", true },
#define ROWS(rest) IS("state") ",\"service\":\"pay\",\"path\":\"/rows\"," rest "}"
		{ ROWS("\"count\":1,\"mode\":\"always\""), true },
		{ ROWS("\"count\":1,\"mode\":\"sometimes\""), true },
		{ ROWS("\"count\":1,\"mode\":\"never\""), false },
		{ ROWS("\"count\":2,\"mode\":\"always\""), false },
		{ ROWS("\"count\":2,\"mode\":\"sometimes\""), false },
		{ ROWS("\"count\":2,\"mode\":\"never\""), true },
		{ ROWS("\"sum\":\"n\",\"equals\":1,\"mode\":\"always\""), true },
		{ IS("process") ",\"no_uncaught\":true}", true },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows\",\"count\":true},\"op\":\"==\",\"right\":{\"value\":1}}",
		  true },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows\",\"sum\":\"n\"},\"op\":\">\",\"right\":{\"service\":\"pay\",\"path\":\"/mails\",\"count\":true}}",
		  true },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows\",\"count\":true},\"op\":\"==\",\"right\":{\"value\":2}}",
		  false },
		{ IS("relation") ",\"left\":{\"service\":\"pay\",\"path\":\"/rows/a/s\"},\"op\":\"!=\",\"right\":{\"value\":\"paid\"}}",
		  true },
		{ IS("order") ",\"first\":{\"fault\":\"busy\"},\"then\":{\"service\":\"pay\"}}", false },
		{ IS("no-duplicate-effects") "}", true },
		{ IS("no-lost-writes") "}", true },
		{ IS("every-write-idempotent") ",\"service\":\"pay\",\"route\":\"r\"}", true },
		{ IS("recovers-from-faults") "}", true },
		{ IS("stdout") ",\"contains\":\"x\",\"mode\":\"never\"}", true },
		{ IS("stdout") ",\"matches\":\"x\",\"mode\":\"never\"}", true },
		{ IS("stdout") ",\"matches\":\"x\",\"mode\":\"always\"}", false },
		{ IS("stdout") ",\"contains\":\"x\",\"mode\":\"sometimes\"}", false },
		{ IS("calls") ",\"at_most\":2,\"mode\":\"always\"}", true },
		{ IS("calls") ",\"at_least\":2,\"mode\":\"never\"}", true },
		{ IS("calls") ",\"exactly\":2,\"mode\":\"sometimes\"}", false },
	};
	struct diag d;
	size_t i;
	int r;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		memset(&d, 0, sizeof(d));
		r = load(all[i].check, true, &d);
		if (!ok(all[i].refused ? r == -EPROTO && strstr(d.problem, "nothing has run") : r == 0, "alone %s: %s",
			all[i].refused ? "refused" : "accepted", all[i].check))
			printf("# %d at %s: %s (%s)\n", r, d.pointer, d.problem, d.fix);
		r = load(all[i].check, false, &d);
		if (!ok(r == 0, "accepted beside another: %s", all[i].check))
			printf("# %d at %s: %s (%s)\n", r, d.pointer, d.problem, d.fix);
	}
}

static void
accepts(void)
{
	static const char *const good[] = {
		IS("order") ",\"first\":{\"service\":\"pay\",\"route\":\"rows.create\"},\"then\":{\"path\":\"/x/*\",\"method\":\"GET\"},\"min_gap_ms\":5}",
		IS("unchanged") ",\"except\":[\"pay:/rows/*/n\",\"pay:/*\",\"pay:/mails\"],\"because\":\"x\"}",
		IS("unchanged") ",\"except\":[]}",
		IS("process") ",\"no_uncaught\":true,\"max_rss_mb\":200}",
		IS("exit") ",\"code\":0,\"mode\":\"at_end\"}",
		IS("calls") ",\"service\":\"pay\",\"idempotency\":\"replay\",\"mode\":\"sometimes\"}",
	};
	struct diag d;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!ok(load(good[i], false, &d) == 0, "accepted: %s", good[i]))
			printf("# at %s: %s (%s)\n", d.pointer, d.problem, d.fix);
}

int
main(void)
{
	if (!mkdtemp(folder))
		abort();
	refuses();
	vacuous();
	accepts();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
