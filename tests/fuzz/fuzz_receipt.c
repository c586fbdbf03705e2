/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_receipt.c - receipts of anybody: read, shown, turned into evidence, and compared.  An input that starts with '{' is a
 * receipt; any other is a list of edits to one, since few mutations of JSON are JSON. */
#include <cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/compare.h"
#include "host/json.h"
#include "host/receipt_read.h"
#include "host/report_evidence.h"
#include "host/report_page.h"
#include "host/report_show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define D "\"1111111111111111111111111111111111111111111111111111111111111111\""
#define VIEWS(service, client) "\"views\":{\"service\":\"" service "\",\"client\":\"" client "\"}"

static const char base[] =
	"{\"agenttwin\":\"receipt/1\",\"status\":\"failed\",\"why\":\"one\",\"exit_code\":1,\"run\":{\"id\":\"r\",\"started\":\"now\",\"duration_ms\":5,"
	"\"seed\":7,\"world\":{\"name\":\"w\",\"about\":\"x\",\"path\":\"w.json\",\"sha256\":" D "},\"fingerprint\":" D
	",\"reproduce\":\"a b\"},"
	"\"bundle\":{\"files\":[{\"path\":\"a\",\"kind\":\"file\",\"mode\":\"0644\",\"sha256\":" D
	"},{\"path\":\"b\",\"kind\":\"file\",\"sha256\":" D "}]},"
	"\"runtime\":{\"backend\":\"namespace\",\"guest\":{\"sha256\":" D
	"},\"kernel\":\"6\",\"node\":{\"version\":\"20\"},\"limits\":{\"reached\":{"
	"\"oom_kills\":1,\"pids_refused\":2}}},"
	"\"boundary\":{\"kind\":\"firewall\",\"policy\":{\"sha256\":" D
	"},\"opening\":{\"proved\":true,\"failure\":{\"step\":\"s\",\"errno\":\"E\",\"text\":\"t\"}},"
	"\"closing\":{\"proved\":false},\"locks\":[{}],\"probes\":[{}],\"denied_egress\":[{\"family\":4,\"protocol\":\"tcp\",\"destination\":\"1.2.3.4\",\"port\":443,"
	"\"owner\":\"workflow\",\"count\":2,\"name\":\"n\"}],\"refused_names\":[{\"name\":\"x.org\",\"type\":\"A\",\"count\":3}],\"refused\":{\"unlisted\":4}},"
	"\"outcome\":{\"declared\":[{\"id\":\"good\",\"verdict\":\"passed\",\"matches\":false,\"conditions\":[{\"check\":\"a\",\"met\":false,\"actual\":\"2\"},{\"jq\":\"1\",\"met\":null}]}],"
	"\"matched\":null,\"nearest\":\"good\",\"exit\":{\"code\":null,\"signal\":9,\"signal_name\":\"KILL\","
	"\"ended_by\":\"limit\",\"oom\":true},\"failure\":{\"step\":\"s\",\"errno\":\"E\",\"text\":\"t\"},\"stdout\":{\"bytes\":9,\"tail\":\"one\\ntwo\\n\"},"
	"\"stderr\":{\"bytes\":9,\"tail\":\"f:1\\n  x\\n  ^\\n\\nError: e\\n    at a\\n    at b\\n\\nv\\n\",\"truncated\":true}},"
	"\"operations\":[{\"n\":0,\"t_ms\":1,\"service\":\"pay\",\"kind\":\"http\",\"route\":\"make\",\"request\":{\"method\":\"POST\",\"target\":\"/rows\",\"body\":{\"bytes\":2,"
	"\"sha256\":" D
	",\"json\":{\"a\":[1]}}},\"key\":\"k\",\"idempotency\":\"first\",\"effects\":[{\"create\":\"/rows/1\"}],\"reply\":{\"status\":201,\"sha256\":" D
	"},"
	"\"fault\":{\"id\":\"f1\",\"phase\":\"after-effect\",\"end\":\"rst\"}," VIEWS(
		"applied",
		"told-nothing") "},"
				"{\"n\":1,\"service\":\"pay\",\"kind\":\"http\",\"route\":null,\"request\":{\"method\":\"GET\",\"target\":\"/\",\"body\":{\"excerpt\":\"e\"}},\"resend_of\":0,\"reply\":null,"
				"\"nearest\":{\"route\":\"make\",\"difference\":\"method\"},\"unmatched\":true," VIEWS(
					"rejected",
					"told-error") "},"
						      "{\"n\":2,\"service\":\"dns\",\"kind\":\"dns\",\"route\":\"refused\",\"request\":{\"name\":\"x\",\"type\":\"A\"},\"reply\":{\"rcode\":\"REFUSED\"}},"
						      "{\"n\":3,\"service\":\"dns\",\"kind\":\"dns\",\"route\":\"malformed\",\"request\":{\"problem\":\"short\",\"transport\":\"udp\",\"count\":2},\"reply\":null},"
						      "{\"n\":4,\"service\":\"pay\",\"kind\":\"webhook\",\"route\":\"e\",\"request\":{\"method\":\"POST\",\"target\":\"/h\"},\"event\":{\"id\":\"e1\",\"attempt\":2,\"copy\":2},"
						      "\"problem\":\"no answer\"," VIEWS(
							      "unknown",
							      "told-nothing") "},"
									      "{\"n\":5,\"service\":\"trigger\",\"kind\":\"signal\",\"route\":\"t\",\"request\":{}," VIEWS(
										      "not-reached",
										      "told-nothing") "}],"
												      "\"faults\":[{\"id\":\"f1\",\"class\":\"c\",\"declared\":{\"must_fire\":false},\"armed\":true,\"fired\":true,\"count\":1,\"operations\":[0]},{\"id\":\"f2\",\"class\":\"c\","
												      "\"declared\":{},\"armed\":false,\"fired\":false,\"count\":0,\"operations\":[]}],"
												      "\"checks\":[{\"id\":\"a\",\"role\":\"required\",\"held\":false,\"expected\":\"1\",\"actual\":\"2\",\"because\":\"b\",\"rests_on\":[\"/operations/0\",\"/operations/4\"]},"
												      "{\"id\":\"b\",\"role\":\"evidence\",\"held\":false,\"expected\":\"1\",\"actual\":\"2\",\"rests_on\":[\"/state/final/pay/rows/1\"]},{\"id\":\"c\",\"held\":null,"
												      "\"actual\":\"s\"},{\"id\":\"d\",\"held\":true,\"expected\":\"e\"},{\"id\":\"f\",\"held\":false,\"rests_on\":[\"/outcome/exit\"]}],"
												      "\"state\":{\"final\":{\"pay\":{\"rows\":[{\"id\":\"1\",\"x\":1},{\"id\":\"2\"}]}},\"final_sha256\":{\"pay\":" D
												      "},\"diff\":[{\"service\":\"pay\",\"path\":\"/rows/1\","
												      "\"before\":null,\"after\":{\"id\":\"1\"}},{\"service\":\"pay\",\"path\":\"/x\",\"before\":1,\"after\":2}],\"diff_left_out\":3},"
												      "\"cleanup\":{\"confirmed\":false,\"reason\":\"r\"},"
												      "\"integrity\":{\"frames\":{\"agreed\":false},\"truncated\":[{\"what\":\"stdout\",\"kept\":1,\"lost\":2}],\"signature\":{\"signatures\":[{\"keyid\":\"k\"}]}},"
												      "\"limits\":[\"l\"]}";

#define EDITS_MAX 24u /* one may double what another made */

struct input {
	const uint8_t *at;
	size_t left;
};

static unsigned
byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* The n-th value, children after their parent. */
static cJSON *
nth(cJSON *v, unsigned *n)
{
	cJSON *child, *found;

	if ((*n)-- == 0)
		return v;
	for (child = v->child; child; child = child->next)
		if ((found = nth(child, n)))
			return found;
	return NULL;
}

static cJSON *
text_of(struct input *in)
{
	char text[300];
	size_t n = byte(in), times = 1 + byte(in) % 200, i;
	cJSON *v;
	char *all;

	for (i = 0; i < n && in->left; i++)
		text[i] = (char)byte(in);
	text[i] = '\0';
	all = calloc(strlen(text) + 1, times);
	for (n = 0; n < times; n++)
		strcat(all, text);
	v = cJSON_CreateString(all);
	free(all);
	return v;
}

static cJSON *
value_of(struct input *in, cJSON *doc)
{
	unsigned n;
	cJSON *other;

	switch (byte(in) % 8) {
	case 0:
		return cJSON_CreateNull();
	case 1:
		return cJSON_CreateBool(byte(in) & 1);
	case 2:
		return cJSON_CreateNumber((double)byte(in) - 1 + (byte(in) == 1 ? 9007199254740992.0 : 0));
	case 3:
		return cJSON_CreateArray();
	case 4:
		return cJSON_CreateObject();
	case 5:
		n = byte(in) << 8 | byte(in);
		n %= 400;
		other = nth(doc, &n);
		return other && other != doc ? cJSON_Duplicate(other, true) : cJSON_CreateNull();
	default:
		return text_of(in);
	}
}

static void
edit(struct input *in, cJSON *doc)
{
	unsigned n = (byte(in) << 8 | byte(in)) % 400, how = byte(in) % 8;
	cJSON *at = nth(doc, &n), *v;

	if (!at || at == doc)
		return;
	v = value_of(in, doc);
	if (how == 0 && cJSON_IsArray(at)) {
		cJSON_AddItemToArray(at, v);
		return;
	}
	free(at->valuestring);
	cJSON_Delete(at->child);
	at->child = v->child;
	at->valuestring = v->valuestring;
	at->valuedouble = v->valuedouble;
	at->valueint = v->valueint;
	at->type = v->type;
	v->child = NULL;
	v->valuestring = NULL;
	cJSON_Delete(v);
}

static void
check_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f)
			abort();
}

static void
use(const char *text, size_t len, unsigned seed)
{
	char why[RECEIPT_WHY_MAX], first[COMPARE_TEXT_MAX], *out = NULL;
	struct compare c = { .limit = 1 + seed % 5 };
	struct receipt_doc doc, other;
	struct page page = { .width = 40 + seed % 100 };
	size_t size, max = EVIDENCE_BYTES_MIN + (size_t)seed * 97;
	int r;

	if (receipt_open_text(text, len, &doc, why) < 0) {
		if (!why[0])
			abort();
		return;
	}
	page.f = open_memstream(&out, &size);
	r = report_show(&page, &doc);
	fclose(page.f);
	if (r < 0 && (size || !doc.why[0]))
		abort();
	check_text(out, size);
	free(out);

	page.f = open_memstream(&out, &size);
	if ((report_evidence(page.f, &doc, "/a b/c.json", max) < 0) != (r < 0))
		abort();
	fclose(page.f);
	if (size > max)
		abort();
	check_text(out, size);
	free(out);

	if (compare_receipts(&doc, &doc, first) != (r < 0 ? r : 0))
		abort(); /* nothing differs from itself */
	if (receipt_open_text(base, sizeof(base) - 1, &other, why) < 0)
		abort();
	if (compare_all(&other, &doc, &c) == 0 && c.len > COMPARE_PARTS * c.limit)
		abort();
	compare_wipe(&c);
	receipt_close(&other);
	receipt_close(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .at = data, .left = size };
	unsigned seed, edits;
	cJSON *doc;
	char *text;

	if (size && data[0] == '{') {
		use((const char *)data, size, (unsigned)size % 256);
		return 0;
	}
	doc = cJSON_Parse(base);
	if (!doc)
		abort();
	seed = byte(&in);
	for (edits = 0; in.left && edits < EDITS_MAX; edits++)
		edit(&in, doc);
	text = json_print(doc);
	cJSON_Delete(doc);
	if (text)
		use(text, strlen(text), seed);
	free(text);
	return 0;
}
