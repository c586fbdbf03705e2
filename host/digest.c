/* SPDX-License-Identifier: GPL-2.0-or-later
 * digest.c - see digest.h.  FIPS 180-4; the order of the instructions is the one that Intel describes for them. */
#include "host/digest.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

bool
digest_is_hard(void)
{
	static int known = -1;
	unsigned a, b, c, d;

	if (known < 0) /* SSSE3, SSE4.1 and SHA */
		known = __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 9)) && (c & (1u << 19)) &&
			__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
	return known == 1;
}

#define HARD __attribute__((target("sha,sse4.1,ssse3")))

HARD static void
rounds(__m128i *s0, __m128i *s1, const uint8_t *block)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
	__m128i m[4], t;
	size_t i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++) {
		if (i < 4) {
			m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(block + 16 * i)), swap);
		} else {
			t = _mm_add_epi32(_mm_sha256msg1_epu32(m[i % 4], m[(i + 1) % 4]),
					  _mm_alignr_epi8(m[(i + 3) % 4], m[(i + 2) % 4], 4));
			m[i % 4] = _mm_sha256msg2_epu32(t, m[(i + 3) % 4]);
		}
		t = _mm_add_epi32(m[i % 4], _mm_loadu_si128((const void *)(constants + 4 * i)));
		*s1 = _mm_sha256rnds2_epu32(*s1, *s0, t);
		*s0 = _mm_sha256rnds2_epu32(*s0, *s1, _mm_shuffle_epi32(t, 0x0e));
	}
}

HARD static void
blocks(uint32_t state[static 8], const uint8_t *data, size_t n)
{
	__m128i low, s0, s1, before0, before1;

	low = _mm_shuffle_epi32(_mm_loadu_si128((const void *)state), 0xb1);
	s1 = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(state + 4)), 0x1b);
	s0 = _mm_alignr_epi8(low, s1, 8);
	s1 = _mm_blend_epi16(s1, low, 0xf0);
	for (; n; n--, data += 64) {
		before0 = s0;
		before1 = s1;
		rounds(&s0, &s1, data);
		s0 = _mm_add_epi32(s0, before0);
		s1 = _mm_add_epi32(s1, before1);
	}
	low = _mm_shuffle_epi32(s0, 0x1b);
	s1 = _mm_shuffle_epi32(s1, 0xb1);
	_mm_storeu_si128((void *)state, _mm_blend_epi16(low, s1, 0xf0));
	_mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(s1, low, 8));
}
#else
bool
digest_is_hard(void)
{
	return false;
}

static void
blocks(uint32_t state[static 8], const uint8_t *data, size_t n)
{
	(void)state;
	(void)data;
	(void)n;
}
#endif

void
digest_init(struct digest *d)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memset(d, 0, sizeof(*d));
	d->hard = digest_is_hard();
	memcpy(d->state, start, sizeof(start));
	if (!d->hard)
		sha256_init(&d->soft);
}

void
digest_add(struct digest *d, const void *data, size_t len)
{
	size_t have = (size_t)(d->bytes % 64), n;
	const uint8_t *at = data;

	if (!d->hard) {
		sha256_add(&d->soft, data, len);
		return;
	}
	if (len == 0)
		return;
	d->bytes += len;
	if (have) {
		n = 64 - have < len ? 64 - have : len;
		memcpy(d->block + have, at, n);
		at += n;
		len -= n;
		if (have + n < 64)
			return;
		blocks(d->state, d->block, 1);
	}
	blocks(d->state, at, len / 64);
	memcpy(d->block, at + len - len % 64, len % 64);
}

void
digest_get(const struct digest *d, uint8_t out[static 32])
{
	size_t have = (size_t)(d->bytes % 64), i;
	uint8_t end[128] = { 0 };
	uint32_t state[8];
	size_t n = have < 56 ? 64 : 128;

	if (!d->hard) {
		sha256_get(&d->soft, out);
		return;
	}
	memcpy(end, d->block, have);
	end[have] = 0x80;
	for (i = 0; i < 8; i++)
		end[n - 1 - i] = (uint8_t)(d->bytes * 8 >> (8 * i));
	memcpy(state, d->state, sizeof(state));
	blocks(state, end, n / 64);
	for (i = 0; i < 32; i++)
		out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
