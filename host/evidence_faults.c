/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence_faults.c - which declared faults fired, and on which operations. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/evidence.h"
#include "host/json.h"

int
evidence_faults_init(struct evidence *e)
{
	e->faults_len = e->w->faults ? (size_t)cJSON_GetArraySize(e->w->faults) : 0;
	e->faults = calloc(e->faults_len + 1, sizeof(*e->faults));
	return e->faults ? 0 : -ENOMEM;
}

int
evidence_faults_add(struct evidence *e, const struct cJSON *op, uint64_t n)
{
	const cJSON *v = json_get(op, "fault"), *f;
	const char *id = json_get_text(v, "id");
	struct evidence_fault *to = e->faults;

	if (!v || cJSON_IsNull(v))
		return 0;
	cJSON_ArrayForEach(f, e->w->faults)
	{
		if (id && strcmp(json_get_text(f, "id"), id) == 0) {
			if (to->fired < EVIDENCE_FAULT_OPS)
				to->ops[to->fired] = (uint32_t)n;
			to->fired++;
			return 0;
		}
		to++;
	}
	return -EPROTO;
}

void
evidence_faults_facts(const struct evidence *e, struct check_facts *out)
{
	const struct evidence_fault *one = e->faults;
	const cJSON *f;

	cJSON_ArrayForEach(f, e->w->faults)
	{
		out->faults++;
		if (one->fired) {
			out->faults_fired++;
		} else if (cJSON_IsFalse(json_get(f, "must_fire"))) {
			out->faults_idle++;
		} else if (out->faults_silent++ == 0) {
			out->first_silent = json_get_text(f, "id");
		}
		one++;
	}
}
