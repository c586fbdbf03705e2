/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_digest.c - the same digests as the other implementation, at every length and cut anyhow. */
#include <stdlib.h>

#include "host/digest.h"
#include "tests/lib/tap.h"

int
main(void)
{
	static uint8_t data[5000];
	uint8_t got[32], again[32], want[32];
	size_t len, at, n, bad = 0, i;
	struct digest d;

	printf("# %s\n", digest_is_hard() ? "instructions of the processor" : "plain");
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 167 + i / 251);
	for (len = 0; len < 400; len++) {
		digest_init(&d);
		digest_add(&d, data, len);
		digest_get(&d, got);
		sha256_of(data, len, want);
		bad += memcmp(got, want, 32) != 0;
	}
	is_int((long long)bad, 0, "every length up to 400");
	for (bad = 0, i = 1; i <= 200; i++) {
		srand((unsigned)i);
		digest_init(&d);
		for (at = 0; at < sizeof(data); at += n) {
			n = (size_t)rand() % (i % 2 ? 9 : 300);
			if (n > sizeof(data) - at)
				n = sizeof(data) - at;
			digest_add(&d, data + at, n);
			if (n % 7 == 0)
				digest_get(&d, again); /* in between, without consequence */
		}
		digest_get(&d, got);
		sha256_of(data, sizeof(data), want);
		bad += memcmp(got, want, 32) != 0;
	}
	is_int((long long)bad, 0, "two hundred ways to cut (seeds 1 to 200)");
	return tap_done();
}
