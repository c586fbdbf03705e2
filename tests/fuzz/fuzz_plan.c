/* SPDX-License-Identifier: GPL-2.0-or-later
 * fuzz_plan.c - the flat bodies.  Byte 0 chooses the decoder; what it accepts is encoded again and must be the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "proto/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint8_t again[PLAN_EXEC_MAX];
static union {
	struct plan_exec exec;
	struct plan_policy policy;
	struct plan_file file;
	struct plan_commit commit;
	struct plan_exit exit;
	struct plan_truncated truncated;
	struct plan_fail fail;
	struct plan_end end;
	uint8_t digest[32];
} got;

#define BOTH(n, name, member) \
	case n: \
		if (plan_##name##_decode(data + 1, len - 1, &got.member) < 0) \
			return 0; \
		plan_##name##_encode(&w, &got.member); \
		break

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct writer w;

	if (len == 0)
		return 0;
	writer_init(&w, again, sizeof(again));
	switch (data[0] % 9) {
		BOTH(0, exec, exec);
		BOTH(1, policy, policy);
		BOTH(2, file, file);
		BOTH(3, commit, commit);
		BOTH(4, exit, exit);
		BOTH(5, truncated, truncated);
		BOTH(6, fail, fail);
		BOTH(7, end, end);
	default:
		if (plan_gate_decode(data + 1, len - 1, got.digest) < 0)
			return 0;
		plan_gate_encode(&w, got.digest);
	}
	if (w.failed || w.len != len - 1 || memcmp(again, data + 1, w.len) != 0)
		abort();
	return 0;
}
