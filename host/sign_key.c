/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign_key.c - see sign_key.h.  Files are read and written in sign_file.c. */
#include "host/sign_key.h"

#include <bearssl.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "host/sign_file.h"
#include "proto/sha256.h"

/* SubjectPublicKeyInfo of P-256 up to the point: id-ecPublicKey, prime256v1, BIT STRING without unused bits. */
static const uint8_t spki_head[SIGN_SPKI_LEN - SIGN_PUBLIC_LEN] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a,
								    0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
								    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
								    0x01, 0x07, 0x03, 0x42, 0x00 };

static void
spki(const uint8_t point[static SIGN_PUBLIC_LEN], uint8_t out[static SIGN_SPKI_LEN])
{
	memcpy(out, spki_head, sizeof(spki_head));
	memcpy(out + sizeof(spki_head), point, SIGN_PUBLIC_LEN);
}

/* The point is on the curve: a product with it exists. */
static bool
is_on_curve(const uint8_t point[static SIGN_PUBLIC_LEN])
{
	static const uint8_t one[] = { 1 };
	uint8_t copy[SIGN_PUBLIC_LEN];

	memcpy(copy, point, sizeof(copy));
	return point[0] == 4 && br_ec_get_default()->mul(copy, sizeof(copy), one, sizeof(one), BR_EC_secp256r1) == 1;
}

int
sign_public_take(const uint8_t *der, size_t len, struct sign_public *p)
{
	uint8_t digest[32];

	if (len != SIGN_SPKI_LEN || memcmp(der, spki_head, sizeof(spki_head)) != 0 ||
	    !is_on_curve(der + sizeof(spki_head)))
		return -EPROTO;
	memcpy(p->point, der + sizeof(spki_head), SIGN_PUBLIC_LEN);
	sha256_of(der, len, digest);
	sha256_hex(digest, p->id);
	return 0;
}

int
sign_secret_take(const uint8_t *secret, size_t len, struct sign_key *k)
{
	uint8_t der[SIGN_SPKI_LEN], space[BR_EC_KBUF_PUB_MAX_SIZE];
	br_ec_private_key key = { BR_EC_secp256r1, k->secret, sizeof(k->secret) };
	br_ec_public_key public;

	while (len > sizeof(k->secret) && *secret == 0) {
		secret++;
		len--;
	}
	if (len == 0 || len > sizeof(k->secret))
		return -EPROTO;
	memset(k->secret, 0, sizeof(k->secret));
	memcpy(k->secret + sizeof(k->secret) - len, secret, len);
	if (br_ec_compute_pub(br_ec_get_default(), &public, space, &key) != SIGN_PUBLIC_LEN)
		return -EPROTO;
	spki(public.q, der);
	return sign_public_take(der, sizeof(der), &k->public);
}

int
sign_key_make(struct sign_key *k)
{
	uint8_t seed[48], space[BR_EC_KBUF_PRIV_MAX_SIZE];
	br_hmac_drbg_context rng;
	br_ec_private_key key;
	int r = -EIO;

	if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return -EIO;
	br_hmac_drbg_init(&rng, &br_sha256_vtable, seed, sizeof(seed));
	if (br_ec_keygen(&rng.vtable, br_ec_get_default(), &key, space, BR_EC_secp256r1) != 0)
		r = sign_secret_take(key.x, key.xlen, k) == 0 ? 0 : -EIO;
	explicit_bzero(seed, sizeof(seed));
	explicit_bzero(space, sizeof(space));
	explicit_bzero(&rng, sizeof(rng));
	return r;
}

void
sign_key_wipe(struct sign_key *k)
{
	explicit_bzero(k, sizeof(*k));
}

size_t
sign_public_pem(const struct sign_public *p, char out[static SIGN_PEM_MAX])
{
	uint8_t der[SIGN_SPKI_LEN];

	spki(p->point, der);
	return br_pem_encode(out, der, sizeof(der), "PUBLIC KEY", BR_PEM_LINE64);
}

int
sign_public_parse(const char *pem, struct sign_public *p)
{
	char again[SIGN_PEM_MAX];
	int r = sign_pem_public(pem, strnlen(pem, SIGN_FILE_MAX), p);

	if (r < 0)
		return r;
	sign_public_pem(p, again);
	return strcmp(again, pem) == 0 ? 0 : -EPROTO;
}

size_t
sign_secret_pem(const struct sign_key *k, char out[static SIGN_PEM_MAX])
{
	br_ec_private_key key = { BR_EC_secp256r1, (unsigned char *)(uintptr_t)k->secret, sizeof(k->secret) };
	br_ec_public_key public = { BR_EC_secp256r1, (unsigned char *)(uintptr_t)k->public.point, SIGN_PUBLIC_LEN };
	uint8_t der[200];
	size_t len = br_encode_ec_pkcs8_der(NULL, &key, &public), n;

	if (len == 0 || len > sizeof(der) ||
	    br_pem_encode(NULL, NULL, len, "PRIVATE KEY", BR_PEM_LINE64) >= SIGN_PEM_MAX)
		return 0;
	br_encode_ec_pkcs8_der(der, &key, &public);
	n = br_pem_encode(out, der, len, "PRIVATE KEY", BR_PEM_LINE64);
	explicit_bzero(der, sizeof(der));
	return n;
}

size_t
sign_make(const struct sign_key *k, const void *data, size_t len, uint8_t out[static SIGN_DER_MAX])
{
	br_ec_private_key key = { BR_EC_secp256r1, (unsigned char *)(uintptr_t)k->secret, sizeof(k->secret) };
	uint8_t digest[32];

	sha256_of(data, len, digest);
	return br_ecdsa_sign_asn1_get_default()(br_ec_get_default(), &br_sha256_vtable, digest, &key, out);
}

bool
sign_check(const struct sign_public *p, const void *data, size_t len, const uint8_t *sig, size_t sig_len)
{
	br_ec_public_key key = { BR_EC_secp256r1, (unsigned char *)(uintptr_t)p->point, SIGN_PUBLIC_LEN };
	uint8_t digest[32];

	sha256_of(data, len, digest);
	return br_ecdsa_vrfy_asn1_get_default()(br_ec_get_default(), digest, sizeof(digest), &key, sig, sig_len) == 1;
}
