/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_twin_hash.c - the processor's SHA-256 against FIPS 180-4's examples and BearSSL's, at every length up to five blocks and in
 * pieces of every size. */
#include <string.h>

#include "guest/twin_hash.h"
#include "tests/lib/tap.h"

static void
examples(void)
{
	static char million[1000000];
	uint8_t digest[32];
	char hex[65];

	memset(million, 'a', sizeof(million));
	twin_hash_of("abc", 3, digest);
	sha256_hex(digest, hex);
	is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
	twin_hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, digest);
	sha256_hex(digest, hex);
	is_str(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "two blocks");
	twin_hash_of(NULL, 0, digest);
	sha256_hex(digest, hex);
	is_str(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
	twin_hash_of(million, sizeof(million), digest);
	sha256_hex(digest, hex);
	is_str(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "a million times a");
}

static void
lengths(const uint8_t *data, size_t len)
{
	uint8_t digest[32], other[32];
	size_t bad = 0;

	for (size_t n = 0; n <= len; n++) {
		twin_hash_of(data + (len - n), n, digest);
		sha256_of(data + (len - n), n, other);
		bad += memcmp(digest, other, 32) != 0;
	}
	is_int((long)bad, 0, "every length is as BearSSL has it");
}

static void
pieces(const uint8_t *data, size_t len)
{
	uint8_t digest[32], other[32];
	size_t bad = 0;

	sha256_of(data, len, other);
	for (size_t size = 1; size <= 130; size++) {
		struct twin_hash h;

		twin_hash_init(&h);
		for (size_t at = 0; at < len; at += size) {
			twin_hash_add(&h, data + at, len - at < size ? len - at : size);
			twin_hash_add(&h, NULL, 0);
		}
		twin_hash_get(&h, digest);
		bad += memcmp(digest, other, 32) != 0;
	}
	is_int((long)bad, 0, "in pieces of every size");
}

int
main(void)
{
	static uint8_t data[320];
	uint32_t x = 1;
	bool native;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	examples();
	lengths(data, sizeof(data));
	pieces(data, sizeof(data));
	native = twin_hash_native(false);
	ok(!twin_hash_native(false), "the portable one is chosen");
	examples();
	lengths(data, sizeof(data));
	pieces(data, sizeof(data));
	is_int(twin_hash_native(true) || twin_hash_native(true), native, "the processor's again, if it has one");
	return tap_done();
}
