/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_hash.c - FIPS 180-4 with the SHA extensions of x86, else BearSSL's. */
#include "guest/twin_hash.h"

#include <string.h>

#include "guest/buf.h"

static enum { UNKNOWN, PORTABLE, NATIVE } kind;

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

static bool
is_there(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0 &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

static const uint32_t constants[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The instructions want the state as ABEF and CDGH, and do two rounds each; four words of the message are one vector. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
compress(uint32_t state[static 8], const uint8_t *data, size_t blocks)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i *place = (__m128i *)(void *)state;
	__m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(place), 0xb1);
	__m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(place + 1), 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0), feba, dchg;

	for (; blocks > 0; blocks--, data += 64) {
		__m128i w[4], abef_before = abef, cdgh_before = cdgh;

		for (int i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)),
						big_endian);
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			__m128i next = w[i % 4], last = w[(i + 3) % 4], sum;

			if (i >= 4) {
				sum = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) % 4]),
						    _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
				next = w[i % 4] = _mm_sha256msg2_epu32(sum, last);
			}
			sum = _mm_add_epi32(next, _mm_load_si128((const __m128i *)(const void *)(constants + 4 * i)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	feba = _mm_shuffle_epi32(abef, 0x1b);
	dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128(place, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128(place + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#else
static bool
is_there(void)
{
	return false;
}

static void
compress(uint32_t state[static 8], const uint8_t *data, size_t blocks)
{
	(void)state;
	(void)data;
	(void)blocks;
}
#endif

/* see twin_hash.h */
bool
twin_hash_native(bool wanted)
{
	bool was = kind == NATIVE || (kind == UNKNOWN && is_there());

	kind = wanted && is_there() ? NATIVE : PORTABLE;
	return was;
}

/* see twin_hash.h */
void
twin_hash_init(struct twin_hash *h)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	if (kind == UNKNOWN)
		kind = is_there() ? NATIVE : PORTABLE;
	h->native = kind == NATIVE;
	if (!h->native) {
		sha256_init(&h->portable);
		return;
	}
	h->held = 0;
	h->len = 0;
	memcpy(h->state, start, sizeof(start));
}

/* see twin_hash.h */
void
twin_hash_add(struct twin_hash *h, const void *data, size_t len)
{
	const uint8_t *at = data;

	if (!h->native) {
		sha256_add(&h->portable, data, len);
		return;
	}
	h->len += len;
	if (h->held > 0) {
		size_t n = len < 64 - h->held ? len : 64 - h->held;

		copy_bytes(h->block + h->held, at, n);
		at += n;
		len -= n;
		h->held += n;
		if (h->held < 64)
			return;
		compress(h->state, h->block, 1);
		h->held = 0;
	}
	compress(h->state, at, len / 64);
	h->held = len % 64;
	copy_bytes(h->block, at + len - h->held, h->held);
}

/* see twin_hash.h */
void
twin_hash_get(struct twin_hash *h, uint8_t out[static 32])
{
	if (!h->native) {
		sha256_get(&h->portable, out);
		return;
	}
	h->block[h->held++] = 0x80;
	memset(h->block + h->held, 0, 64 - h->held);
	if (h->held > 56) { /* no room for the length */
		compress(h->state, h->block, 1);
		memset(h->block, 0, 56);
	}
	for (int i = 0; i < 8; i++)
		h->block[56 + i] = (uint8_t)(h->len * 8 >> (56 - 8 * i));
	compress(h->state, h->block, 1);
	for (size_t i = 0; i < 32; i++)
		out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* see twin_hash.h */
void
twin_hash_of(const void *data, size_t len, uint8_t out[static 32])
{
	struct twin_hash h;

	twin_hash_init(&h);
	twin_hash_add(&h, data, len);
	twin_hash_get(&h, out);
}
