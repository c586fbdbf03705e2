// SPDX-License-Identifier: GPL-2.0-or-later
// test_mistakes.c - typical mistakes in the example world: each message names the place, the problem and a fix that works.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/world.h"
#include "tests/lib/tap.h"

#define EXAMPLE "templates/worlds/refund-agent/world.json"
static char folder[] = "/tmp/test-mistakes-XXXXXX";
static char good[16384], path[128];

static void
put(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

// The example with its first `from` replaced; "" appends.
static void
edit(char *out, size_t size, const char *from, const char *to)
{
	const char *at = *from ? strstr(good, from) : good + strlen(good);

	if (!at)
		abort();
	snprintf(out, size, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

// from is replaced by to; fixed is what somebody writes who follows the fix.
static const struct mistake {
	const char *from, *to, *pointer, *problem, *fix, *fixed;
} mistakes[] = {
	// not JSON
	{ "4211,", "4211", "/seed", "should be a comma", "put a comma", "4211," },
	{ "\"no-egress\" } ]", "\"no-egress\" }, ]", "/checks/4", "a comma before", "take this comma out",
	  "\"no-egress\" } ]" },
	{ "\"no-egress\" }", "\"no-egress\", }", "/checks/3", "a comma before", "take this comma out",
	  "\"no-egress\" }" },
	{ "\"files\"", "// what enters\n  \"files\"", "", "a key in double", "no comments", "\"files\"" },
	{ "\"files\"", "/* x */ \"files\"", "", "a key in double", "no comments", "\"files\"" },
	{ "4211,", "4211, # x\n", "", "a key in double", "no comments", "4211," },
	{ "\"refund-once\"", "'refund-once'", "/name", "double quotes", "write double quotes", "\"refund-once\"" },
	{ "\"refund-once\"", "\xe2\x80\x9crefund-once\xe2\x80\x9d", "/name", "should be a value", "typographic quotes",
	  "\"refund-once\"" },
	{ "\"refund-once\"", "refund-once", "/name", "should be a value", "put text in double quotes",
	  "\"refund-once\"" },
	{ "\"seed\"", "seed", "", "a key in double", "put the key in double quotes", "\"seed\"" },
	{ "4211", "042", "/seed", "may not start with 0", "without the 0", "42" },
	{ "4211", "+42", "/seed", "should be a value", "without +", "42" },
	{ "\"exit\": true", "\"exit\": True", "/workflow/ends/exit", "should be a value", "small letters",
	  "\"exit\": true" },
	{ "4211", "undefined", "/seed", "should be a value", "take the key out", "1" },
	{ "exactly once", "exactly\tonce", "/about", "control character", "\\t", "exactly\\tonce" },
	{ "exactly once", "exactly\nonce", "/about", "end on its line", "\\n", "exactly\\nonce" },
	{ "exactly once", "exactly \xe9", "/about", "not UTF-8", "save the file as UTF-8", "exactly once" },
	{ "\"agent.mjs\", \"order", "\"src\\agent.mjs\", \"order", "/files/0", "unknown escape", "slashes",
	  "\"src/agent.mjs\", \"order" },
	{ "", "}", "", "after the end", "take out what follows", "" },
	// keys and types
	{ "\"workflow\"", "\"workfow\"", "/workfow", "unknown key", "did you mean \"workflow\"?", "\"workflow\"" },
	{ "\"hosts\"", "\"host\"", "/services/0/host", "unknown key", "did you mean \"hosts\"?", "\"hosts\"" },
	{ "4211,", "4211, \"seed\": 1,", "/seed", "same key twice", "keep one", "4211," },
	{ "4211", "\"4211\"", "/seed", "expected a number", "without quotes", "4211" },
	{ "4211", "\"many\"", "/seed", "expected a number", "from 0 to", "4211" },
	{ "4211", "1.5", "/seed", "not a whole number", "write a whole number", "1" },
	{ "[\"node\", \"agent.mjs\"]", "\"node agent.mjs\"", "/workflow/command", "one string", "each word by itself",
	  "[ \"node\", \"agent.mjs\" ]" },
	{ "[\"node\", \"agent.mjs\"]", "[\"node agent.mjs\"]", "/workflow/command/0", "spaces", "each word by itself",
	  "[ \"node\", \"agent.mjs\" ]" },
	{ "\"refund-once\"", "\"refund once\"", "/name", "a name has", "\"refund-once\"", "\"refund-once\"" },
	// environment
	{ "{{service.payments.url}}", "{{service.payment.url}}", "/env/PAYMENTS_URL", "no service \"payment\"",
	  "did you mean \"payments\"?", "{{service.payments.url}}" },
	{ "{{service.payments.url}}", "{{service.payments.uri}}", "/env/PAYMENTS_URL", "not known here",
	  "service.NAME.url", "{{service.payments.url}}" },
	{ "{{service.payments.url}}", "{{service.payments.url}", "/env/PAYMENTS_URL", "without \"}}\"",
	  "close the template", "{{service.payments.url}}" },
	{ "{{service.payments.url}}", "${service.payments.url}", "/env/PAYMENTS_URL", "plain text here",
	  "{{service.NAME.url}}", "{{service.payments.url}}" },
	{ "\"{{secret.payments}}\" }", "\"{{secret.paymants}}\" }", "/env/PAYMENTS_KEY", "secret.paymants",
	  "declare it: \"secrets\": { \"paymants\"", "\"{{secret.payments}}\" }" },
	{ "PAYMENTS_KEY", "PAYMENTS-KEY", "/env/PAYMENTS-KEY", "not a name for a variable", "letters, digits and '_'",
	  "PAYMENTS_KEY" },
	{ "PAYMENTS_KEY", "PATH", "/env/PATH", "set by the sandbox", "take it out", "OTHER" },
	{ "\"{{secret.payments}}\" }", "[ \"x\" ] }", "/env/PAYMENTS_KEY", "found an array",
	  "one text in double quotes", "\"x\" }" },
	{ "\"{{secret.payments}}\" }", "null }", "/env/PAYMENTS_KEY", "found null", "take the key out", "\"\" }" },
	// services
	{ "payments.internal", "http://payments.internal", "/services/0/hosts/0", "without scheme",
	  "\"payments.internal\"", "payments.internal" },
	{ "payments.internal\"]", "payments.internal:8080\"]", "/services/0/hosts/0", "without scheme, port",
	  "\"port\": 8080", "payments.internal\"], \"port\": 8080" },
	{ "\"kind\": \"http\",", "\"kind\": \"http\", \"port\": 70000,", "/services/0/port", "from 1 to 65535",
	  "from 1 to 65535", "\"kind\": \"http\", \"port\": 7000," },
	{ "\"bearer\"", "\"Bearer\"", "/services/0/auth/scheme", "not one of the words", "did you mean \"bearer\"?",
	  "\"bearer\"" },
	{ "/charges/{id}", "/charges/:id", "/services/0/routes/1/match/path", "in braces", "{id} instead of :id",
	  "/charges/{id}" },
	{ "/charges/{id}", "/charges/ch_{id}", "/services/0/routes/1/match/path", "whole segment",
	  "between two slashes", "/charges/{id}" },
	{ "/charges/{id}", "/charges/{id}?a=1", "/services/0/routes/1/match/path", "parameter", "{id}",
	  "/charges/{id}" },
	{ "\"POST\"", "\"post\"", "/services/0/routes/0/match/method", "not one of the words", "did you mean \"POST\"?",
	  "\"POST\"" },
	{ "\"create\": \"refunds\"", "\"create\": \"refund\"", "/services/0/routes/0/do/2/create", "no collection",
	  "did you mean \"refunds\"?", "\"create\": \"refunds\"" },
	{ "charge.refunded +", "chrage.refunded +", "/services/0/routes/0/do/1/require", "unknown name 'chrage'",
	  "names here", "charge.refunded +" },
	{ "<= charge.amount", "<= charge.amount && true", "/services/0/routes/0/do/1/require", "'&'", "write and",
	  "<= charge.amount and true" },
	{ "<= charge.amount", "=== charge.amount", "/services/0/routes/0/do/1/require", "'='",
	  "compare with ==", "== charge.amount" },
	{ "\"status\": 201", "\"status\": \"201\"", "/services/0/routes/0/reply/status", "expected a number",
	  "without quotes", "\"status\": 201" },
	{ "\"refund.create\", \"match", "\"charge.get\", \"match", "/services/0/routes/1/id",
	  "id \"charge.get\" already", "an id of its own", "\"refund.create\", \"match" },
	// checks
	{ "\"route\": \"refund.create\"", "\"route\": \"refund.creat\"", "/checks/2/route", "no route \"refund.creat\"",
	  "did you mean \"refund.create\"?", "\"route\": \"refund.create\"" },
	{ "\"service\": \"payments\", \"route", "\"service\": \"payment\", \"route", "/checks/2/service",
	  "no service \"payment\"", "did you mean \"payments\"?", "\"service\": \"payments\", \"route" },
	{ "\"path\": \"/refunds\", \"count", "\"path\": \"refunds\", \"count", "/checks/1/path", "starts with a slash",
	  "\"/refunds", "\"path\": \"/refunds\", \"count" },
	{ "\"count\": 1", "\"count\": \"1\"", "/checks/1/count", "expected a number", "without quotes",
	  "\"count\": 1" },
	{ "\"id\": \"one-call\"", "\"id\": \"one-refund\"", "/checks/2/id", "id \"one-refund\" already",
	  "an id of its own", "\"id\": \"one-call\"" },
	{ "\"kind\": \"exit\", \"code\": 0", "\"kind\": \"exit\"", "/checks/0", "nothing that could hold",
	  "\"code\": 0", "\"kind\": \"exit\", \"code\": 0" },
	{ "\"kind\": \"exit\", ", "", "/checks/0", "no \"kind\"", "add one of exit", "\"kind\": \"exit\", " },
};

static void
test_one(const struct mistake *m)
{
	char text[sizeof(good) + 256], name[64];
	struct world w;
	struct diag d;
	int r;

	escape_text(m->to, strlen(m->to), name, sizeof(name));
	edit(text, sizeof(text), m->from, m->to);
	put(text);
	r = world_load(path, &w, &d);
	if (!ok(r < 0 && d.line > 0 && d.column > 0 && strcmp(d.pointer, m->pointer) == 0 &&
			strstr(d.problem, m->problem) && strstr(d.fix, m->fix) && strcmp(d.file, path) == 0,
		"%s: %s", m->pointer, name))
		printf("# %d %s:%u:%u at %s: %s (%s)\n", r, d.file, d.line, d.column, d.pointer, d.problem, d.fix);
	if (r == 0)
		world_wipe(&w);
	edit(text, sizeof(text), m->from, m->fixed);
	put(text);
	r = world_load(path, &w, &d);
	if (!ok(r == 0, "the fix works"))
		printf("# %u:%u at %s: %s (%s)\n", d.line, d.column, d.pointer, d.problem, d.fix);
	else
		world_wipe(&w);
}

// Line ends of Windows are no mistake.
static void
test_line_ends(void)
{
	char text[2 * sizeof(good)];
	struct world w;
	struct diag d;
	size_t i, n = 0;

	for (i = 0; good[i]; i++) {
		if (good[i] == '\n')
			text[n++] = '\r';
		text[n++] = good[i];
	}
	text[n] = '\0';
	put(text);
	if (ok(world_load(path, &w, &d) == 0, "lines may end in CR LF"))
		world_wipe(&w);
}

int
main(void)
{
	int fd = open(EXAMPLE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, good, sizeof(good) - 1);
	size_t i;

	if (n <= 0 || !mkdtemp(folder))
		return 1;
	close(fd);
	while (n > 0 && good[n - 1] == '\n')
		good[--n] = '\0';
	snprintf(path, sizeof(path), "%s/world.json", folder);
	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		test_one(&mistakes[i]);
	test_line_ends();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
