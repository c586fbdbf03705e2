// SPDX-License-Identifier: GPL-2.0-or-later
// test_names.c - operations of kind dns as the host takes them: nothing that a guest says of a name is believed that contradicts
// itself or the world, and the list of refused names is bounded and exact.
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/evidence.h"
#include "tests/lib/tap.h"

static struct world_service service = { .name = "payments" };
static struct world w = { .services = &service, .services_len = 1 };
static char why[320], text[8192];

/* The operation with one part replaced. */
static const char *
op(const char *from, const char *to)
{
	static const char whole[] =
		"{\"n\":0,\"t_ms\":5,\"service\":\"dns\",\"kind\":\"dns\",\"conn\":null,\"route\":\"refused\","
		"\"request\":{\"name\":\"example.com\",\"type\":\"A\"},\"key\":null,\"idempotency\":null,\"resend_of\":null,"
		"\"effects\":[],\"reply\":{\"rcode\":\"REFUSED\"},\"fault\":null,\"views\":{\"service\":\"rejected\","
		"\"client\":\"told-error\"},\"nearest\":null,\"unmatched\":false}";
	const char *at = strstr(whole, from);

	if (!at)
		abort();
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
	return text;
}

static int
take(const char *json, size_t *index, const char **route)
{
	cJSON *doc = NULL;
	int r = evidence_parse_op(&w, json, strlen(json), 0, &doc, index, route, why);

	cJSON_Delete(doc);
	return r;
}

static void
shapes(void)
{
	static const char *const broken[][2] = {
		{ "\"service\":\"dns\"", "\"service\":\"payments\"" },
		{ "\"route\":\"refused\"", "\"route\":null" },
		{ "\"route\":\"refused\"", "\"route\":\"answered\"" },
		{ "\"route\":\"refused\"", "\"route\":\"maybe\"" },
		{ "\"name\":\"example.com\"", "\"name\":\"\"" },
		{ "\"name\":\"example.com\"", "\"name\":7" },
		{ "\"name\":\"example.com\"", "\"name\":\"a b\"" },
		{ "\"name\":\"example.com\"", "\"name\":\"\\u001b[31m\"" },
		{ "\"name\":\"example.com\"", "\"name\":\"\xc3\xa4\"" },
		{ "\"name\":\"example.com\",", "" },
		{ "\"type\":\"A\"", "\"type\":\"a\"" },
		{ "\"type\":\"A\"", "\"type\":\"AAAAAAAAAAAAAAAAAAAAAAAA\"" },
		{ "\"type\":\"A\"", "\"type\":1" },
		{ "\"rcode\":\"REFUSED\"", "\"rcode\":\"NOERROR\"" },
		{ "\"rcode\":\"REFUSED\"", "\"rcode\":5" },
		{ "\"reply\":{\"rcode\":\"REFUSED\"},", "" },
		{ "\"rejected\"", "\"applied\"" },
		{ "\"told-error\"", "\"told-ok\"" },
		{ "\"effects\":[]", "\"effects\":[{\"create\":\"/a/b\"}]" },
		{ "\"key\":null", "\"key\":\"k\"" },
		{ "\"unmatched\":false", "\"unmatched\":true" },
		{ "\"unmatched\":false", "\"unmatched\":0" },
		{ "\"n\":0", "\"n\":1" },
		{ "\"kind\":\"dns\"", "\"kind\":\"DNS\"" },
	};
	static const char *const types[] = { "AAAA", "TYPE65535", "CLASS65535 TYPE65535" };
	const char *route;
	char long_name[5000];
	size_t i, index = 0;

	ok(take(op("A", "A"), &index, &route) == 0 && index == EVIDENCE_DNS && strcmp(route, "refused") == 0,
	   "a refused name");
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ok(take(op(broken[i][0], broken[i][1]), &index, &route) < 0, "not %s: %s", broken[i][1], why);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char with[64];

		snprintf(with, sizeof(with), "\"type\":\"%s\"", types[i]);
		ok(take(op("\"type\":\"A\"", with), &index, &route) == 0, "type %s", types[i]);
	}
	memset(long_name, 'a', sizeof(long_name));
	memcpy(long_name, "\"name\":\"", 8);
	memcpy(long_name + 8 + 4096, "\"", 2);
	ok(take(op("\"name\":\"example.com\"", long_name), &index, &route) == 0, "a name of 4096 bytes");
	memcpy(long_name + 8 + 4097, "\"", 2);
	long_name[8 + 4096] = 'a';
	ok(take(op("\"name\":\"example.com\"", long_name), &index, &route) < 0, "but not of 4097");
}

static const char *
malformed(const char *from, const char *to)
{
	static const char whole[] =
		"{\"n\":0,\"t_ms\":5,\"service\":\"dns\",\"kind\":\"dns\",\"conn\":null,\"route\":\"malformed\","
		"\"request\":{\"problem\":\"format\",\"transport\":\"udp\",\"count\":1,\"name\":\"e.example\",\"type\":\"A\"},"
		"\"key\":null,\"idempotency\":null,\"resend_of\":null,\"effects\":[],\"reply\":{\"rcode\":\"FORMERR\"},"
		"\"fault\":null,\"views\":{\"service\":\"rejected\",\"client\":\"told-error\"},\"nearest\":null,"
		"\"unmatched\":false}";
	const char *at = strstr(whole, from);

	if (!at)
		abort();
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
	return text;
}

static void
messages(void)
{
	static const char nameless[] = ",\"name\":\"e.example\",\"type\":\"A\"";
	static const char *const broken[][2] = {
		{ "\"service\":\"dns\"", "\"service\":\"payments\"" },
		{ "\"format\"", "\"odd\"" },
		{ "\"format\"", "\"opcode\"" },
		{ "\"format\"", "\"short\"" },
		{ "\"format\"", "null" },
		{ "\"udp\"", "\"icmp\"" },
		{ "\"count\":1", "\"count\":0" },
		{ "\"count\":1", "\"count\":2" },
		{ "\"count\":1", "\"count\":-1" },
		{ "\"count\":1,", "" },
		{ "\"e.example\"", "\"\"" },
		{ "\"e.example\"", "7" },
		{ "\"e.example\"", "\"a b\"" },
		{ "\"name\":\"e.example\",", "" },
		{ ",\"type\":\"A\"", "" },
		{ "{\"rcode\":\"FORMERR\"}", "null" },
		{ "FORMERR", "NOERROR" },
		{ "rejected", "applied" },
		{ "told-error", "told-nothing" },
		{ "\"effects\":[]", "\"effects\":[{\"create\":\"/a/b\"}]" },
		{ "\"key\":null", "\"key\":\"k\"" },
		{ "\"unmatched\":false", "\"unmatched\":true" },
	};
	struct evidence_names n = { 0 };
	uint8_t a[32], b[32];
	const char *route;
	size_t i, index = 0;
	cJSON *doc;

	ok(take(malformed("A", "A"), &index, &route) == 0 && index == EVIDENCE_DNS && strcmp(route, "malformed") == 0,
	   "a malformed message with a name");
	ok(take(malformed(nameless, ""), &index, &route) == 0, "and one without");
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ok(take(malformed(broken[i][0], broken[i][1]), &index, &route) < 0, "not %s: %s", broken[i][1], why);
	doc = cJSON_Parse(malformed(nameless, ""));
	ok(evidence_names_add(&n, doc, 1, a) == 0 && n.asked == 1 && n.refused == 0 && n.len == 0,
	   "what names nothing is no refused name, and no call either");
	cJSON_Delete(doc);
	doc = cJSON_Parse(malformed("\"count\":1,\"name\":\"e.example\",\"type\":\"A\"", "\"count\":977"));
	ok(evidence_names_add(&n, doc, 2, b) == 0 && memcmp(a, b, 32) == 0, "how often is nothing to the fingerprint");
	cJSON_Delete(doc);
	doc = cJSON_Parse(malformed("A", "A"));
	ok(evidence_names_add(&n, doc, 3, b) == 0 && n.asked == 3 && n.refused == 1 && n.len == 1 &&
		   strcmp(n.list[0].name, "e.example") == 0 && memcmp(a, b, 32) != 0,
	   "a name that it carries is one");
	cJSON_Delete(doc);
	doc = cJSON_Parse(op("\"name\":\"example.com\"", "\"name\":\"E.example\""));
	ok(evidence_names_add(&n, doc, 4, a) == 0 && n.len == 1 && n.list[0].count == 2 && memcmp(a, b, 32) != 0,
	   "one row with the same name well asked, and another line of the fingerprint");
	cJSON_Delete(doc);
	evidence_names_wipe(&n);
}

static int
answered(const char *name)
{
	const char *route;
	size_t index;

	snprintf(
		text, sizeof(text),
		"{\"n\":0,\"t_ms\":5,\"service\":\"dns\",\"kind\":\"dns\",\"route\":\"answered\",\"request\":{\"name\":\"%s\","
		"\"type\":\"A\"},\"key\":null,\"reply\":{\"rcode\":\"NOERROR\"},\"views\":{\"service\":\"applied\","
		"\"client\":\"told-ok\"},\"unmatched\":false}",
		name);
	return take(text, &index, &route);
}

static void
list(void)
{
	struct evidence_names n = { 0 };
	uint8_t a[32], b[32];
	cJSON *doc;
	size_t i;

	for (i = 0; i < 3 * (EVIDENCE_NAMES_MAX + 7); i++) {
		char name[64];

		snprintf(name, sizeof(name), "\"name\":\"%c%zu.example\"", i % 2 ? 'n' : 'N',
			 i % (EVIDENCE_NAMES_MAX + 7));
		doc = cJSON_Parse(op("\"name\":\"example.com\"", name));
		if (evidence_names_add(&n, doc, i, i % 2 ? a : b) < 0)
			abort();
		cJSON_Delete(doc);
	}
	ok(n.len == EVIDENCE_NAMES_MAX && n.refused == 3 * (EVIDENCE_NAMES_MAX + 7) && n.unlisted == 21 &&
		   n.asked == n.refused,
	   "1,000 names are listed, of the others only the number");
	ok(strcmp(n.list[0].name, "N0.example") == 0 && n.list[0].count == 3 && n.list[0].first_ms == 0 &&
		   n.list[0].last_ms == 2 * (EVIDENCE_NAMES_MAX + 7),
	   "as it was asked first, whatever its case later; count, first and last time");
	doc = cJSON_Parse(op("\"name\":\"example.com\"", "\"name\":\"EXAMPLE.com\""));
	ok(evidence_names_add(&n, doc, 0, a) == 0, "taken");
	cJSON_Delete(doc);
	doc = cJSON_Parse(op("A", "A"));
	ok(evidence_names_add(&n, doc, 9, b) == 0 && memcmp(a, b, 32) == 0,
	   "case and time are nothing to the fingerprint");
	cJSON_Delete(doc);
	doc = cJSON_Parse(op("\"type\":\"A\"", "\"type\":\"MX\""));
	ok(evidence_names_add(&n, doc, 9, b) == 0 && memcmp(a, b, 32) != 0, "the type is");
	cJSON_Delete(doc);
	evidence_names_wipe(&n);
}

/* Asks in the guest's words, and sees what a destination is called then. */
static void
asked(struct evidence_names *n, const struct world *of, const char *name, const char *type, const char *how)
{
	cJSON *doc;

	snprintf(text, sizeof(text), "{\"route\":\"%s\",\"request\":{\"name\":\"%s\",\"type\":\"%s\"}}", how, name,
		 type);
	doc = cJSON_Parse(text);
	if (!doc || evidence_names_answered(n, of, doc) < 0)
		abort();
	cJSON_Delete(doc);
}

static const char *
called(const struct evidence_names *n, const struct world *of, const char *destination)
{
	static char out[128];
	const char *from = "?", *name = evidence_names_find(n, of, destination, &from);

	snprintf(out, sizeof(out), "%s %s", name ? name : "-", name ? from : "-");
	return out;
}

static void
destinations(void)
{
	static const char *const none[] = { "203.0.113.9",  "127.64.0.3",
					    "127.64.0.0",   "127.64.0.",
					    "127.64.0.1.1", "127.64.0.254",
					    "127.64.0.1 ",  "127.0.0.2",
					    "::",           "",
					    "127.64.0.-1",  "127.64.0.0x1",
					    "2001:db8::",   "127.64.0.9999999999999999999999" };
	cJSON *first = cJSON_Parse("[\"a.internal\",\"b.internal\"]"), *second = cJSON_Parse("[\"c.internal\"]");
	struct world_service two[2] = { { .name = "a", .hosts = first }, { .name = "c", .hosts = second } };
	struct world of = { .services = two, .services_len = 2 };
	struct evidence_names n = { 0 };
	size_t i;

	is_str(called(&n, &of, "127.64.0.1"), "a.internal hosts", "nobody asked: the first host of the service");
	is_str(called(&n, &of, "127.0.0.1"), "localhost hosts", "nobody asked: localhost");
	is_str(called(&n, &of, "::1"), "localhost hosts", "and by IPv6");
	asked(&n, &of, "B.internal", "AAAA", "answered");
	asked(&n, &of, "b.internal", "A", "refused");
	is_str(called(&n, &of, "127.64.0.1"), "a.internal hosts", "an answer without an address names nothing");
	asked(&n, &of, "B.Internal", "A", "answered");
	asked(&n, &of, "a.internal", "A", "answered");
	is_str(called(&n, &of, "127.64.0.1"), "b.internal dns",
	       "the name that was asked first, as the world writes it");
	is_str(called(&n, &of, "127.64.0.2"), "c.internal hosts", "and no other service");
	asked(&n, &of, "x.localhost", "A", "answered");
	asked(&n, &of, "localhost", "A", "answered");
	is_str(called(&n, &of, "127.0.0.1"), "x.localhost dns", "below localhost");
	is_str(called(&n, &of, "::1"), "localhost hosts", "which is no IPv6 address");
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		is_str(called(&n, &of, none[i]), "- -", none[i]);
	evidence_names_wipe(&n);
	cJSON_Delete(first);
	cJSON_Delete(second);
}

int
main(void)
{
	destinations();
	service.hosts = cJSON_Parse("[\"payments.internal\",\"b.example\"]");
	service.json = cJSON_Parse("{\"name\":\"payments\",\"routes\":[]}");
	shapes();
	messages();
	ok(answered("payments.internal") == 0 && answered("B.Example") == 0 && answered("a.localhost") == 0,
	   "answered: names of the world");
	ok(answered("example.com") < 0 && strstr(why, "'example.com'") != NULL,
	   "an answer for any other name is a lie: %s", why);
	ok(answered("x.payments.internal") < 0 && answered("evil\\\\.localhost") < 0, "also below a host");
	list();
	{
		cJSON *hosts = NULL;

		memcpy(&hosts, &service.hosts, sizeof(hosts));
		cJSON_Delete(hosts);
		memcpy(&hosts, &service.json, sizeof(hosts));
		cJSON_Delete(hosts);
	}
	return tap_done();
}
