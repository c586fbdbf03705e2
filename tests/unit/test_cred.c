// SPDX-License-Identifier: GPL-2.0-or-later
// test_cred.c - credentials of a run: shapes, freshness, and what is expanded from them.
#include "host/cred.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/world.h"
#include "tests/lib/tap.h"

static const char text[] =
	"{\"agenttwin\":\"world/1\",\"name\":\"w\",\"seed\":9007199254740991,\"files\":[],"
	"\"env\":{\"KEY\":\"{{secret.pay}}\",\"URL\":\"{{service.pay.url}}/x\",\"HP\":\"{{ service.pay.host }}:{{service.pay.port}}\",\"ID\":\"{{run.id}}-{{seed}}\","
	"\"LIT\":\"{{'{{'}}a}}\",\"TZ\":\"Europe/Berlin\",\"HEX\":\"{{secret.h}}\",\"EMPTY\":\"\"},"
	"\"secrets\":{\"h\":{\"like\":\"hex\",\"length\":40},\"u\":{\"like\":\"uuid\"},\"al\":{\"like\":\"alnum\"}},"
	"\"services\":[{\"name\":\"pay\",\"kind\":\"http\",\"hosts\":[\"pay.internal\",\"pay2.internal\"],\"port\":8080,\"unmatched\":404,"
	"\"auth\":{\"scheme\":\"basic\",\"accept\":\"user:{{secret.pay}}\"},\"state\":{\"x\":[{\"id\":\"a\",\"v\":0.30000000000000004,\"s\":\"{{secret.pay}}\"}]}},"
	"{\"name\":\"st\",\"kind\":\"http\",\"hosts\":[\"api.stripe.com\"],\"profile\":\"stripe/v1\",\"auth\":{\"scheme\":\"bearer\",\"accept\":\"{{secret.sk}}\"},"
	"\"events\":{\"endpoint\":\"http://127.0.0.1:3000/h\",\"scheme\":\"stripe\",\"secret\":\"{{secret.hook}}\"}},"
	"{\"name\":\"ai\",\"kind\":\"http\",\"hosts\":[\"api.openai.com\"],\"profile\":\"openai/chat\",\"auth\":{\"scheme\":\"bearer\",\"accept\":\"{{secret.llm}}\"}}],"
	"\"workflow\":{\"command\":[\"x\"],\"trigger\":[{\"id\":\"ask\",\"http\":{\"url\":\"http://127.0.0.1:3000/\","
	"\"headers\":{\"authorization\":\"Bearer {{secret.pay}}\"}}}],\"ends\":{\"triggers\":true}},"
	"\"checks\":[{\"id\":\"e\",\"kind\":\"calls\",\"service\":\"trigger\"}]}";

static const char *
variable(const struct cred *c, const char *name)
{
	size_t i, n = strlen(name);

	for (i = 0; i < c->env_len; i++)
		if (strncmp(c->env[i], name, n) == 0 && c->env[i][n] == '=')
			return c->env[i] + n + 1;
	return NULL;
}

static const struct secret *
secret(const struct cred *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->secrets_len; i++)
		if (strcmp(c->secrets[i].name, name) == 0)
			return &c->secrets[i];
	return NULL;
}

static void
test_values(const struct cred *c, const struct cred *again)
{
	const char *v = secret(c, "pay")->value;
	bool sorted = true;
	size_t i;

	ok(strncmp(v, "at_test_", 8) == 0 && strlen(v) == 40 &&
		   strspn(v + 8, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == 32,
	   "generic shape");
	v = secret(c, "h")->value;
	ok(strlen(v) == 40 && strspn(v, "0123456789abcdef") == 40, "hexadecimal");
	v = secret(c, "u")->value;
	ok(strlen(v) == 36 && v[8] == '-' && v[14] == '4' && strchr("89ab", v[19]), "uuid");
	is_int((long long)strlen(secret(c, "al")->value), 32, "alphanumeric");
	v = secret(c, "sk")->value;
	ok(strncmp(v, "sk_test_", 8) == 0 && strlen(v) == 32, "the shape of a service's profile");
	v = secret(c, "llm")->value;
	ok(strncmp(v, "sk-test-", 8) == 0 && strlen(v) == 40, "and of a kind of it");
	v = secret(c, "hook")->value;
	ok(strncmp(v, "whsec_", 6) == 0 && strlen(v) == 38, "what signs webhooks");
	ok(strcmp(secret(c, "pay")->value, secret(again, "pay")->value) != 0, "another run has another value");
	ok(strncmp(c->secrets[0].fingerprint, "sha256:", 7) == 0 && strlen(c->secrets[0].fingerprint) == 23,
	   "fingerprint");
	is_str(variable(c, "KEY"), secret(c, "pay")->value, "secret in a variable");
	is_str(variable(c, "URL"), "http://pay.internal:8080/x", "url");
	is_str(variable(c, "HP"), "pay.internal:8080", "host and port");
	is_str(variable(c, "ID"), "run-1-9007199254740991", "run and seed");
	is_str(variable(c, "LIT"), "{{a}}", "literal braces");
	is_str(variable(c, "EMPTY"), "", "an empty value");
	is_str(variable(c, "TZ"), "Europe/Berlin", "the world overrides a default");
	is_str(variable(c, "LANG"), "C.UTF-8", "a default");
	is_str(variable(c, "HOME"), "/home/node", "home");
	is_str(variable(c, "PATH"), "/opt/node/bin:/usr/local/bin:/usr/bin:/bin:/app/node_modules/.bin", "path inside");
	is_str(variable(again, "PATH"), "/caller/bin", "path on local");
	is_str(variable(again, "URL"), "http://127.0.0.1:40001/x", "url on local");
	is_str(variable(again, "HP"), "127.0.0.1:40001", "host on local");
	for (i = 1; i < c->env_len; i++)
		sorted = sorted && strcmp(c->env[i - 1], c->env[i]) < 0;
	ok(sorted, "sorted");
}

static void
test_twins(const struct cred *c)
{
	cJSON *doc = cJSON_Parse(c->twins_json), *s;
	char want[300];

	s = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "services"), 0);
	snprintf(want, sizeof(want), "user:%s", secret(c, "pay")->value);
	is_str(cJSON_GetObjectItem(cJSON_GetObjectItem(s, "auth"), "accept")->valuestring, want,
	       "the twins know the value");
	is_str(cJSON_GetObjectItem(cJSON_GetObjectItem(doc, "secrets"), "pay")->valuestring, secret(c, "pay")->value,
	       "and its name");
	is_str(cJSON_GetObjectItem(s, "unmatched")->valuestring, "404", "404 is a word there");
	ok(strstr(c->twins_json, "\"seed\":9007199254740991,\"start_ms\":1764000000123}") != NULL, "numbers are exact");
	ok(strstr(c->twins_json, "\"v\":0.30000000000000004,\"s\":\"{{secret.pay}}\"") != NULL,
	   "state is not expanded by the host");
	s = cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "services"), 1), "events");
	is_str(cJSON_GetObjectItem(s, "secret")->valuestring, secret(c, "hook")->value, "the secret of webhooks");
	s = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(doc, "workflow"), "trigger"), 0);
	snprintf(want, sizeof(want), "Bearer %s", secret(c, "pay")->value);
	is_str(cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(s, "http"), "headers"), "authorization")
		       ->valuestring,
	       want, "a trigger's header has it");
	ok(strstr(c->twins_json, "\"ends\":{\"triggers\":true}") != NULL, "and when the workflow ends");
	cJSON_Delete(doc);
}

int
main(void)
{
	char path[] = "/tmp/test-cred-XXXXXX";
	struct cred a, b;
	struct world w;
	struct diag d;
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return 1;
	close(fd);
	if (!ok(world_load(path, &w, &d) == 0, "world"))
		printf("# %s: %s\n", d.pointer, d.problem);
	unlink(path);
	ok(cred_make(&w, "run-1", 1764000000123, NULL, &a, &d) == 0, "made");
	ok(world_check_local(&w, &d) < 0 && strcmp(d.pointer, "/services/0/port") == 0,
	   "an explicit port is refused on local");
	world_set_local(&w, (const uint16_t[]){ 40001, 40002, 40003 });
	ok(cred_make(&w, "run-2", 1764000000123, "/caller/bin", &b, &d) == 0, "made again");
	test_values(&a, &b);
	test_twins(&a);
	ok(cred_set_home(&b, "/tmp/h") == 0, "another home");
	is_str(variable(&b, "HOME"), "/tmp/h", "which the workflow sees");
	cred_wipe(&a);
	cred_wipe(&b);
	world_wipe(&w);
	return tap_done();
}
