/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt_faults.c - the part `faults`: what the world declares, and what became of it. */
#include <cJSON.h>

#include "host/emit.h"
#include "host/json.h"
#include "host/receipt.h"

void
receipt_faults(struct emit *e, const struct receipt *r)
{
	const struct evidence *ev = r->evidence;
	const struct evidence_fault *one = ev->faults;
	bool armed = r->world->services_len > 0 && ev->states[0].have; /* the twins had read them, and served */
	const cJSON *f;
	uint64_t i;

	emit_open(e, "faults", '[');
	cJSON_ArrayForEach(f, r->world->faults)
	{
		emit_open(e, NULL, '{');
		emit_text(e, "id", json_get_text(f, "id"));
		emit_text(e, "class", json_get_text(f, "class"));
		emit_json(e, "declared", f);
		emit_bool(e, "armed", armed);
		emit_bool(e, "fired", one->fired > 0);
		emit_u64(e, "count", one->fired);
		emit_open(e, "operations", '['); /* the first ones */
		for (i = 0; i < one->fired && i < EVIDENCE_FAULT_OPS; i++)
			emit_u64(e, NULL, one->ops[i]);
		emit_close(e);
		emit_close(e);
		one++;
	}
	emit_close(e);
}
