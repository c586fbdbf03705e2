/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_gate.c - evidence that is right is accepted; with any one thing changed it is refused, unless the change denies more. */
#include <stdlib.h>

#include "host/gate.h"
#include "host/json.h"
#include "tests/lib/fakeguest.c"
#include "tests/lib/tap.h"

static const struct gate_want want = {
	.control_port = 0, .workflow_uid = 1000, .workflow_gid = 1000, .twins_uid = 991
};
static char why[320];

static int
judge(const cJSON *doc, unsigned phase)
{
	struct gate g = { 0 };
	cJSON *good = fake_evidence(1000, 1000, 991);
	int r = 0;

	if (phase == 2)
		r = gate_check(&g, &want, 1, good, why);
	cJSON_Delete(good);
	return r < 0 ? -999 : gate_check(&g, &want, phase, doc, why);
}

static cJSON *
at(cJSON *root, const char *pointer)
{
	cJSON *v = root;
	char name[64];
	size_t n;

	while (v && *pointer == '/') {
		pointer++;
		n = strcspn(pointer, "/");
		snprintf(name, sizeof(name), "%.*s", (int)n, pointer);
		v = cJSON_IsArray(v) ? cJSON_GetArrayItem(v, atoi(name)) : cJSON_GetObjectItemCaseSensitive(v, name);
		pointer += n;
	}
	return v;
}

/* Puts JSON text (NULL: nothing) in the place of a member. */
static void
change(cJSON *root, const char *pointer, const char *json)
{
	char parent[128];
	char *slash;
	cJSON *p;

	snprintf(parent, sizeof(parent), "%s", pointer);
	slash = strrchr(parent, '/');
	*slash = '\0';
	p = at(root, parent);
	if (!p)
		abort();
	if (cJSON_IsArray(p)) {
		if (json)
			cJSON_ReplaceItemInArray(p, atoi(slash + 1), cJSON_Parse(json));
		else
			cJSON_DeleteItemFromArray(p, atoi(slash + 1));
		return;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(p, slash + 1);
	if (json)
		cJSON_AddItemToObject(p, slash + 1, cJSON_Parse(json));
}

static void
tampered(void)
{
	static const struct {
		const char *pointer, *json;
	} all[] = {
		{ "/policy", NULL },
		{ "/policy/sha256", "\"00\"" },
		{ "/policy/sha256", "\"0000000000000000000000000000000000000000000000000000000000000000\"" },
		{ "/policy/sha256", "7" },
		{ "/inner_room", NULL },
		{ "/inner_room", "false" },
		{ "/inner_room", "\"yes\"" },
		{ "/locks", NULL },
		{ "/locks", "{}" },
		{ "/locks", "[]" },
		{ "/locks/1", NULL },
		{ "/locks/0", NULL },
		{ "/locks/0", "null" },
		{ "/mode", "\"local\"" },
		{ "/mode", "1" },
		{ "/mode", NULL },
		{ "/drop/attempts", NULL },
		{ "/drop/attempts", "[]" },
		{ "/locks/0/generation", NULL },
		{ "/locks/0/generation", "-1" },
		{ "/locks/0/generation", "4294967296" },
		{ "/locks/1/foreign_changes", NULL },
		{ "/locks/1/foreign_changes", "\"0\"" },
		{ "/locks/0/proved", "false" },
		{ "/locks/1/proved", "false" },
		{ "/locks/0/proved", "\"true\"" },
		{ "/locks/0/proved", NULL },
		{ "/locks/0/lock", "2" },
		{ "/locks/0/kind", "\"inner\"" },
		{ "/locks/1/kind", "\"outer\"" },
		{ "/locks/0/text", "\"\"" },
		{ "/locks/0/text", NULL },
		{ "/locks/1/text", "\"table inet agenttwin {}\"" },
		{ "/locks/0/text_sha256", "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"" },
		{ "/locks/0/text_sha256", NULL },
		{ "/locks/0/binding", NULL },
		{ "/locks/0/binding/text", "\"\"" },
		{ "/locks/0/binding/sha256", "\"\"" },
		{ "/locks/0/params", NULL },
		{ "/locks/0/params/family", "\"ip\"" },
		{ "/locks/0/params/family", "\"ip6\"" },
		{ "/locks/0/params/family", NULL },
		{ "/locks/0/params/reject", NULL },
		{ "/locks/0/params/reject", "false" },
		{ "/locks/0/params/log", "false" },
		{ "/locks/0/params/log", "0" },
		{ "/locks/0/params/ipv6", NULL },
		{ "/locks/0/params/uid_workflow", "0" },
		{ "/locks/0/params/uid_workflow", "1001" },
		{ "/locks/0/params/uid_twins", "1000" },
		{ "/locks/0/params/uid_twins", "-1" },
		{ "/locks/0/params/control_port", "49983" },
		{ "/locks/0/params/control_port", "0.5" },
		{ "/locks/0/params/closed", NULL },
		{ "/locks/0/params/closed", "[{\"protocol\":\"tcp\",\"port\":22}]" },
		{ "/locks/0/params/closed", "[{\"protocol\":\"sctp\",\"port\":22}]" },
		{ "/locks/0/params/closed", "[{\"protocol\":\"tcp\",\"port\":70000}]" },
		{ "/locks/0/params/own", "[\"10.0.0.1\"]" },
		{ "/locks/0/params/own", "[\"169.254.169.254\"]" },
		{ "/locks/0/params/own", "[\"0.0.0.0\"]" },
		{ "/locks/0/params/own", "[\"::\"]" },
		{ "/locks/0/params/own", "[7]" },
		{ "/locks/0/params/own", "[\"1.2.3\"]" },
		{ "/locks/0/params/own", NULL },
		{ "/locks/0/params/pinned", "[{\"peer\":\"10.0.0.1\",\"port\":443}]" },
		{ "/locks/1/params/pinned", "[{\"peer\":\"10.0.0.1\",\"port\":443}]" },
		{ "/locks/0/params/pinned", NULL },
		{ "/locks/0/probes", NULL },
		{ "/locks/0/probes", "[]" },
		{ "/locks/1/probes", "[]" },
		{ "/locks/0/probes/0/verdict", "\"FAIL\"" },
		{ "/locks/0/probes/0/verdict", "\"UNKNOWN\"" },
		{ "/locks/1/probes/3/verdict", "\"FAIL\"" },
		{ "/locks/0/probes/0/verdict", "\"ABSENT\"" },
		{ "/locks/0/probes/2/verdict", "\"ABSENT\"" },
		{ "/locks/0/probes/0/verdict", "\"pass\"" },
		{ "/locks/0/probes/0/verdict", NULL },
		{ "/locks/0/probes/0/packets", "0" },
		{ "/locks/0/probes/0/denied", "0" },
		{ "/locks/0/probes/0/denied", "2" },
		{ "/locks/0/probes/0/escaped", "1" },
		{ "/locks/0/probes/0/what", "\"tcp4\"" },
		{ "/locks/0/probes/0", NULL },
		{ "/locks/0/probes/1", NULL },
		{ "/locks/0/probes/2", NULL },
		{ "/locks/0/probes/3", NULL },
		{ "/locks/0/probes/8", NULL },
		{ "/locks/0/probes/10", NULL },
		{ "/locks/0/probes/12", NULL },
		{ "/locks/0/probes/14", NULL },
		{ "/locks/0/probes/14/denied", "1" },
		{ "/locks/0/probes/14/escaped", "1" },
		{ "/drop", NULL },
		{ "/drop/uid", "0" },
		{ "/drop/uid", "1001" },
		{ "/drop/gid", "0" },
		{ "/drop/groups", "[27]" },
		{ "/drop/groups", NULL },
		{ "/drop/capabilities", "\"cap_net_admin\"" },
		{ "/drop/no_new_privs", "false" },
		{ "/drop/no_new_privs", NULL },
		{ "/drop/regain", "\"possible\"" },
		{ "/drop/filter_sha256", NULL },
		{ "/drop/filter_sha256", "\"\"" },
		{ "/drop/attempts", "[{\"what\":\"socket AF_VSOCK\",\"refused\":false}]" },
		{ "/failure", "{\"step\":\"install\",\"errno\":\"EPERM\",\"text\":\"\"}" },
		{ "/failure", "{}" },
		{ "/failure", "7" },
	};
	size_t i;
	cJSON *doc;
	unsigned phase;

	for (phase = 1; phase <= 2; phase++)
		for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
			doc = fake_evidence(1000, 1000, 991);
			change(doc, all[i].pointer, all[i].json);
			why[0] = '\0';
			ok(judge(doc, phase) < 0 && judge(doc, phase) != -999 && why[0], "phase %u, %s = %s: refused",
			   phase, all[i].pointer, all[i].json ? all[i].json : "(nothing)");
			cJSON_Delete(doc);
		}
}

/* Renders a lock anew from parameters, as a guest on another machine would. */
static void
render(cJSON *doc, int i, const struct fw_params *p, const char *own, const char *closed, const char *pinned)
{
	cJSON *lock = cJSON_GetArrayItem(at(doc, "/locks"), i), *binding = cJSON_GetObjectItem(lock, "binding");
	cJSON *params = cJSON_GetObjectItem(lock, "params");
	char *text = malloc(FW_TEXT_MAX);

	cJSON_DeleteItemFromObject(lock, "text");
	cJSON_DeleteItemFromObject(lock, "text_sha256");
	cJSON_DeleteItemFromObject(binding, "text");
	cJSON_DeleteItemFromObject(binding, "sha256");
	if (fw_text_script(p, text, FW_TEXT_MAX) > 0)
		add_text(lock, "text_sha256", text);
	if (fw_text_binding(p, text, FW_TEXT_MAX) > 0)
		add_text(binding, "sha256", text);
	cJSON_ReplaceItemInObject(params, "family", cJSON_CreateString(p->family == FW_INET ? "inet" : "ip+ip6"));
	cJSON_ReplaceItemInObject(params, "reject", cJSON_CreateBool(p->reject));
	cJSON_ReplaceItemInObject(params, "log", cJSON_CreateBool(p->log));
	cJSON_ReplaceItemInObject(params, "ipv6", cJSON_CreateBool(p->ipv6));
	cJSON_ReplaceItemInObject(params, "uid_workflow", cJSON_CreateNumber(p->uid_workflow));
	cJSON_ReplaceItemInObject(params, "own", cJSON_Parse(own));
	cJSON_ReplaceItemInObject(params, "closed", cJSON_Parse(closed));
	cJSON_ReplaceItemInObject(params, "pinned", cJSON_Parse(pinned));
	free(text);
}

static struct fw_params
usual(enum fw_lock_kind lock)
{
	return (struct fw_params){
		.lock = lock, .reject = true, .log = true, .ipv6 = true, .uid_workflow = 1000, .uid_twins = 991
	};
}

static void
denies_more(void)
{
	struct fw_params p = usual(FW_OUTER);
	cJSON *doc = fake_evidence(1000, 1000, 991), *probe;

	is_int(judge(doc, 1), 0, "right evidence is accepted at the opening");
	is_int(judge(doc, 2), 0, "and at the closing");
	p.reject = false;
	render(doc, 0, &p, "[]", "[]", "[]");
	is_int(judge(doc, 1), 0, "drop instead of reject is accepted");
	ok(judge(doc, 2) == -EPERM && strstr(why, "differ"), "but not when the opening had reject");
	p = usual(FW_OUTER);
	p.log = false;
	render(doc, 0, &p, "[]", "[]", "[]");
	is_int(judge(doc, 1), 0, "a kernel without NFLOG is accepted");
	p = usual(FW_OUTER);
	p.family = FW_SPLIT;
	render(doc, 0, &p, "[]", "[]", "[]");
	is_int(judge(doc, 1), 0, "ip and ip6 instead of inet is accepted");
	p = usual(FW_OUTER);
	p.closed_len = 1;
	p.closed[0] = (struct fw_closed){ 6, 22 };
	p.own_len = 1;
	p.own[0] = (struct fw_address){ 4, { 198, 18, 255, 1 } };
	render(doc, 0, &p, "[\"198.18.255.1\"]", "[{\"protocol\":\"tcp\",\"port\":22}]", "[]");
	if (!ok(judge(doc, 1) == 0, "closed ports and own addresses are accepted"))
		printf("# %s\n", why);
	p = usual(FW_OUTER);
	p.pinned_len = 1;
	p.pinned[0] = (struct fw_pinned){ { 4, { 10, 0, 0, 1 } }, 443 };
	render(doc, 0, &p, "[]", "[]", "[{\"peer\":\"10.0.0.1\",\"port\":443}]");
	ok(judge(doc, 1) == -EPERM, "a pinned connection without a control port is refused although the text agrees");
	p = usual(FW_OUTER);
	p.uid_workflow = 0;
	render(doc, 0, &p, "[]", "[]", "[]");
	ok(judge(doc, 1) == -EPERM, "another uid is refused although the text agrees");
	p = usual(FW_OUTER);
	p.own_len = 1;
	p.own[0] = (struct fw_address){ 4, { 169, 254, 169, 254 } };
	render(doc, 0, &p, "[\"169.254.169.254\"]", "[]", "[]");
	ok(judge(doc, 1) == -EPERM, "the metadata address as an own one is refused although the text agrees");
	p = usual(FW_OUTER);
	p.ipv6 = false;
	render(doc, 0, &p, "[]", "[]", "[]");
	p = usual(FW_INNER);
	p.ipv6 = false;
	render(doc, 1, &p, "[]", "[]", "[]");
	for (int lock = 0; lock < 2; lock++)
		cJSON_ArrayForEach(
			probe,
			at(doc, lock ? "/locks/1/probes"
				     : "/locks/0/probes")) if (cJSON_GetObjectItem(probe, "what")->valuestring[3] ==
							       '6')
		{
			cJSON_ReplaceItemInObject(probe, "verdict", cJSON_CreateString("ABSENT"));
			cJSON_ReplaceItemInObject(probe, "packets", cJSON_CreateNumber(0));
			cJSON_ReplaceItemInObject(probe, "denied", cJSON_CreateNumber(0));
		}
	if (!ok(judge(doc, 1) == 0, "a kernel without IPv6: its probes are ABSENT"))
		printf("# %s\n", why);
	cJSON_Delete(doc);
	doc = fake_evidence(1000, 1000, 991);
	change(doc, "/locks/1", NULL);
	change(doc, "/inner_room", "false");
	ok(judge(doc, 1) < 0, "no inner room without a reason is refused");
	change(doc, "/reason", "\"no namespaces\"");
	is_int(judge(doc, 1), 0, "with a reason it is accepted");
	ok(judge(doc, 2) < 0, "but not when the opening had one");
	cJSON_Delete(doc);
}

static void
others(void)
{
	static const char *const docs[] = { "null", "[]", "{}", "\"x\"", "{\"locks\":[{}]}", "{\"failure\":null}" };
	struct gate g = { 0 };
	cJSON *doc;
	size_t i;

	for (i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		doc = cJSON_Parse(docs[i]);
		ok(judge(doc, 1) < 0, "%s is refused", docs[i]);
		cJSON_Delete(doc);
	}
	doc = fake_evidence(1000, 1000, 991);
	ok(gate_check(&g, &want, 2, doc, why) == -EPERM, "a closing without an opening is refused");
	cJSON_Delete(doc);
}

/* Between opening and closing the generation moves by what is counted as foreign, no more and no less. */
static void
generations(void)
{
	static const struct {
		const char *generation, *foreign;
		bool fits;
	} all[] = { { "3", "0", true },  { "4", "1", true },  { "9", "6", true }, { "4", "0", false },
		    { "3", "1", false }, { "2", "0", false }, { "5", "1", false } };
	cJSON *doc;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		doc = fake_evidence(1000, 1000, 991);
		change(doc, "/locks/0/generation", all[i].generation);
		change(doc, "/locks/0/foreign_changes", all[i].foreign);
		ok((judge(doc, 2) == 0) == all[i].fits, "generation 3, then %s with %s foreign changes: %s",
		   all[i].generation, all[i].foreign, all[i].fits ? "accepted" : "refused");
		cJSON_Delete(doc);
	}
}

int
main(void)
{
	generations();
	denies_more();
	tampered();
	others();
	return tap_done();
}
