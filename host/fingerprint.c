/* SPDX-License-Identifier: GPL-2.0-or-later
 * fingerprint.c - see fingerprint.h. */
#include "host/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
line(struct sha256 *h, const char *name, const char *value)
{
	sha256_add(h, name, strlen(name));
	sha256_add(h, "=", 1);
	sha256_add(h, value, strlen(value));
	sha256_add(h, "\n", 1);
}

void
fingerprint_begin(struct sha256 *h, const char *policy, const char *world_sha256, uint64_t seed, int code,
		  unsigned signal)
{
	char text[64];

	sha256_init(h);
	line(h, "fingerprint", "2");
	line(h, "policy", policy);
	line(h, "world", world_sha256);
	snprintf(text, sizeof(text), "%" PRIu64, seed);
	line(h, "seed", text);
	snprintf(text, sizeof(text), "%d/%u", code, signal);
	line(h, "exit", text);
}

void
fingerprint_operations(struct sha256 *h, struct trace_place *list, size_t len, const struct fingerprint_ops *ops)
{
	const uint8_t *content, *before = NULL;
	const char *label;
	char hex[65];
	size_t i;

	if (!list && len)
		line(h, "operations", "unknown");
	if (!list)
		return;
	trace_sort(list, len);
	for (i = 0; i < len; i++, before = content) {
		content = ops->content(list[i].origin);
		label = ops->label(ops->arg, list[i].service);
		if (!label && before && list[i - 1].service == list[i].service && memcmp(before, content, 32) == 0)
			continue;
		sha256_hex(content, hex);
		line(h, label ? label : "dns", hex);
	}
}

void
fingerprint_check(struct sha256 *h, const char *id, const char *held)
{
	line(h, id, held);
}

void
fingerprint_state(struct sha256 *h, const char *sha256)
{
	line(h, "state", sha256);
}

void
fingerprint_end(const struct sha256 *h, char out[static 65])
{
	uint8_t digest[32];

	sha256_get(h, digest);
	sha256_hex(digest, out);
}
