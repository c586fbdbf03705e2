/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_guest_json.c - the JSON records of a guest: the first byte chooses HELLO, OP, STATE, DENIED, FIREWALL. */
#include <cJSON.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/evidence.h"
#include "host/gate.h"
#include "host/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char world[] =
		"{\"name\":\"payments\",\"routes\":[{\"id\":\"refund.create\",\"emit\":[{\"event\":\"paid\"}]},{\"resource\":\"orders\",\"path\":\"/orders\"}]}";
	struct gate_want want = { .workflow_uid = 1000, .workflow_gid = 1000, .twins_uid = 991 };
	struct world_service service = { .name = "payments" };
	struct world w = { .services_len = 1, .services = &service };
	const char *text = (const char *)data + 1, *route;
	struct gate g = { 0 };
	char why[320], problem[160];
	size_t which;
	cJSON *doc = NULL, *json, *triggers;
	int r = -1;

	if (len < 1)
		return 0;
	json = cJSON_Parse(world);
	service.json = json;
	triggers = cJSON_Parse("[{\"id\":\"ask\"}]");
	w.triggers = triggers;
	switch (data[0] % 5) {
	case 0:
		r = evidence_parse_hello(text, len - 1, &doc, why);
		break;
	case 1:
		r = evidence_parse_op(&w, text, len - 1, 0, &doc, &which, &route, why);
		break;
	case 2:
		r = evidence_parse_state(&w, 0, text, len - 1, &doc, why);
		break;
	case 3:
		r = evidence_parse_denied(text, len - 1, &doc, why);
		break;
	default:
		doc = json_take(text, len - 1, GATE_BYTES_MAX, problem);
		if (doc && gate_check(&g, &want, 1, doc, why) == 0 && gate_check(&g, &want, 2, doc, why) < 0)
			abort(); /* what was accepted before is accepted after */
		break;
	}
	if (data[0] % 5 < 4 && (r < 0) != (doc == NULL))
		abort();
	cJSON_Delete(doc);
	cJSON_Delete(json);
	cJSON_Delete(triggers);
	return 0;
}
