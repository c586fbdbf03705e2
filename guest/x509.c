/* SPDX-License-Identifier: GPL-2.0-or-later
 * x509.c - see x509.h.  DER is written from its end to its start, so that the length of what an object holds is known when its
 * head is written. */
#include "guest/x509.h"

#include <bearssl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/sha256.h"

#define SEQUENCE 0x30
#define SET 0x31
#define INTEGER 0x02
#define BIT_STRING 0x03
#define OCTET_STRING 0x04
#define UTF8_STRING 0x0c
#define UTC_TIME 0x17
#define GENERAL_TIME 0x18
#define TAGGED(n) (0xa0 + (n))      /* context, constructed */
#define TAGGED_TEXT(n) (0x80 + (n)) /* context, primitive */
#define KEY_ID_LEN 20u
#define NAME_MAX_LEN 64u /* of a common name, RFC 5280 */
#define SIGNATURE_MAX 80u
#define LEAF_FIXED 1024u

/* What is written lies in at[pos..size). */
struct der {
	uint8_t *at;
	size_t size, pos;
	bool failed;
};

static const uint8_t oid_ecdsa_sha256[] = { 0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2 };
static const uint8_t oid_ec_key[] = { 0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1 };
static const uint8_t oid_p256[] = { 0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7 };
static const uint8_t oid_common_name[] = { 0x06, 3, 0x55, 4, 3 };
static const uint8_t oid_organization[] = { 0x06, 3, 0x55, 4, 10 };
static const uint8_t oid_key_id[] = { 0x06, 3, 0x55, 0x1d, 14 };
static const uint8_t oid_key_usage[] = { 0x06, 3, 0x55, 0x1d, 15 };
static const uint8_t oid_alt_name[] = { 0x06, 3, 0x55, 0x1d, 17 };
static const uint8_t oid_constraints[] = { 0x06, 3, 0x55, 0x1d, 19 };
static const uint8_t oid_authority_key_id[] = { 0x06, 3, 0x55, 0x1d, 35 };
static const uint8_t oid_extended_usage[] = { 0x06, 3, 0x55, 0x1d, 37 };
static const uint8_t oid_server_auth[] = { 0x06, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1 };
static const uint8_t true_value[] = { 0x01, 1, 0xff };

static void
put(struct der *d, const void *data, size_t len)
{
	if (d->failed || len > d->pos) {
		d->failed = true;
		return;
	}
	d->pos -= len;
	memcpy(d->at + d->pos, data, len);
}

static void
put_byte(struct der *d, unsigned v)
{
	uint8_t b = (uint8_t)v;

	put(d, &b, 1);
}

/* The head of all that was written since pos was end. */
static void
wrap(struct der *d, unsigned tag, size_t end)
{
	size_t len = end - d->pos, n = 0;

	if (d->failed)
		return;
	if (len < 128) {
		put_byte(d, (unsigned)len);
	} else {
		for (; len > 0; len >>= 8, n++)
			put_byte(d, len & 0xff);
		put_byte(d, 0x80u | (unsigned)n);
	}
	put_byte(d, tag);
}

static void
put_text(struct der *d, unsigned tag, const void *text, size_t len)
{
	size_t end = d->pos;

	put(d, text, len);
	wrap(d, tag, end);
}

/* SEQUENCE { SET { SEQUENCE { type, text } } ... }: an organization and, where it is short enough, a common name. */
static void
put_name(struct der *d, const char *common)
{
	static const char organization[] = "AgentTwin";
	size_t all = d->pos, end = all;

	if (strlen(common) <= NAME_MAX_LEN) {
		put_text(d, UTF8_STRING, common, strlen(common));
		put(d, oid_common_name, sizeof(oid_common_name));
		wrap(d, SEQUENCE, end);
		wrap(d, SET, end);
		end = d->pos;
	}
	put_text(d, UTF8_STRING, organization, sizeof(organization) - 1);
	put(d, oid_organization, sizeof(oid_organization));
	wrap(d, SEQUENCE, end);
	wrap(d, SET, end);
	wrap(d, SEQUENCE, all);
}

/* UTCTime until 2049, RFC 5280 section 4.1.2.5. */
static void
put_time(struct der *d, int64_t s)
{
	time_t t = (time_t)s;
	char text[64];
	struct tm tm;
	int n;

	if (gmtime_r(&t, &tm) == NULL || tm.tm_year < 70 || tm.tm_year > 8099) {
		d->failed = true;
		return;
	}
	n = snprintf(text, sizeof(text), "%04d%02d%02d%02d%02d%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		     tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (tm.tm_year < 150)
		put_text(d, UTC_TIME, text + 2, (size_t)n - 2);
	else
		put_text(d, GENERAL_TIME, text, (size_t)n);
}

static void
put_validity(struct der *d, int64_t now_s)
{
	size_t end = d->pos;

	put_time(d, now_s + X509_AFTER_S);
	put_time(d, now_s - X509_BEFORE_S);
	wrap(d, SEQUENCE, end);
}

static void
put_public_key(struct der *d, const struct x509_key *key)
{
	size_t end = d->pos, inner;

	put(d, key->public, sizeof(key->public));
	put_byte(d, 0); /* no unused bits */
	wrap(d, BIT_STRING, end);
	inner = d->pos;
	put(d, oid_p256, sizeof(oid_p256));
	put(d, oid_ec_key, sizeof(oid_ec_key));
	wrap(d, SEQUENCE, inner);
	wrap(d, SEQUENCE, end);
}

/* SEQUENCE { oid, critical?, OCTET STRING { what was written since end } } */
static void
wrap_extension(struct der *d, const uint8_t *oid, size_t oid_len, bool critical, size_t end)
{
	wrap(d, OCTET_STRING, end);
	if (critical)
		put(d, true_value, sizeof(true_value));
	put(d, oid, oid_len);
	wrap(d, SEQUENCE, end);
}

static void
key_id(const struct x509_key *key, uint8_t id[static 32])
{
	sha256_of(key->public, sizeof(key->public), id); /* its first 20 bytes, RFC 7093 method 1 */
}

static void
put_key_ids(struct der *d, const struct x509_key *subject, const struct x509_key *issuer)
{
	uint8_t id[32];
	size_t end = d->pos;

	if (issuer != NULL) {
		key_id(issuer, id);
		put_text(d, TAGGED_TEXT(0), id, KEY_ID_LEN);
		wrap(d, SEQUENCE, end);
		wrap_extension(d, oid_authority_key_id, sizeof(oid_authority_key_id), false, end);
		end = d->pos;
	}
	key_id(subject, id);
	put_text(d, OCTET_STRING, id, KEY_ID_LEN);
	wrap_extension(d, oid_key_id, sizeof(oid_key_id), false, end);
}

/* bits: of the one byte that is used; unused: its zero bits at the end. */
static void
put_key_usage(struct der *d, unsigned bits, unsigned unused)
{
	size_t end = d->pos;

	put_byte(d, bits);
	put_byte(d, unused);
	wrap(d, BIT_STRING, end);
	wrap_extension(d, oid_key_usage, sizeof(oid_key_usage), true, end);
}

/* CA:TRUE with no authority below it, or CA:FALSE. */
static void
put_constraints(struct der *d, bool authority)
{
	static const uint8_t no_path[] = { INTEGER, 1, 0 };
	size_t end = d->pos;

	if (authority) {
		put(d, no_path, sizeof(no_path));
		put(d, true_value, sizeof(true_value));
	}
	wrap(d, SEQUENCE, end);
	wrap_extension(d, oid_constraints, sizeof(oid_constraints), true, end);
}

static void
put_authority_extensions(struct der *d, const struct x509_key *key)
{
	size_t end = d->pos;

	put_key_ids(d, key, NULL);
	put_key_usage(d, 0x06, 1); /* keyCertSign, cRLSign */
	put_constraints(d, true);
	wrap(d, SEQUENCE, end);
	wrap(d, TAGGED(3), end);
}

static void
put_leaf_extensions(struct der *d, const struct x509_authority *a, const struct x509_key *key, const char *const *hosts,
		    size_t hosts_len)
{
	size_t all = d->pos, end = all;

	for (size_t i = hosts_len; i-- > 0;)
		put_text(d, TAGGED_TEXT(2), hosts[i], strlen(hosts[i])); /* dNSName */
	wrap(d, SEQUENCE, end);
	wrap_extension(d, oid_alt_name, sizeof(oid_alt_name), false, end);
	put_key_ids(d, key, &a->key);
	end = d->pos;
	put(d, oid_server_auth, sizeof(oid_server_auth));
	wrap(d, SEQUENCE, end);
	wrap_extension(d, oid_extended_usage, sizeof(oid_extended_usage), false, end);
	put_key_usage(d, 0x80, 7); /* digitalSignature */
	put_constraints(d, false);
	wrap(d, SEQUENCE, all);
	wrap(d, TAGGED(3), all);
}

/* version, serial, algorithm, issuer, validity, subject, key, before the extensions that stand there already. */
static void
put_body(struct der *d, const struct x509_key *key, const char *issuer, const char *subject,
	 const uint8_t serial[static X509_SERIAL_LEN], int64_t now_s)
{
	static const uint8_t version[] = { TAGGED(0), 3, INTEGER, 1, 2 };
	uint8_t number[X509_SERIAL_LEN];
	size_t end;

	put_public_key(d, key);
	put_name(d, subject);
	put_validity(d, now_s);
	put_name(d, issuer);
	end = d->pos;
	put(d, oid_ecdsa_sha256, sizeof(oid_ecdsa_sha256));
	wrap(d, SEQUENCE, end);
	memcpy(number, serial, sizeof(number));
	number[0] = (uint8_t)((number[0] & 0x3f) | 0x40); /* positive, and always of this length */
	put_text(d, INTEGER, number, sizeof(number));
	put(d, version, sizeof(version));
}

/* From the body at d->pos to the whole certificate at out[0..): the body moves to make room for its signature. */
static long
sign(struct der *d, const struct x509_key *key)
{
	br_ec_private_key k = { .curve = BR_EC_secp256r1, .xlen = sizeof(key->secret) };
	uint8_t secret[sizeof(key->secret)], digest[32], signature[SIGNATURE_MAX], *body = d->at + d->pos;
	size_t len = d->size - d->pos, n, end;

	if (d->failed)
		return -ENOSPC;
	memcpy(secret, key->secret, sizeof(secret));
	k.x = secret;
	sha256_of(body, len, digest);
	n = br_ecdsa_i31_sign_asn1(&br_ec_p256_m31, &br_sha256_vtable, digest, &k, signature);
	explicit_bzero(secret, sizeof(secret));
	if (n == 0 || n > sizeof(signature))
		return -EIO;
	/* the body to the front of the room, then what follows it to the end, then the body before that */
	memmove(d->at, body, len);
	d->pos = d->size;
	put(d, signature, n);
	put_byte(d, 0);
	wrap(d, BIT_STRING, d->size);
	end = d->pos;
	put(d, oid_ecdsa_sha256, sizeof(oid_ecdsa_sha256));
	wrap(d, SEQUENCE, end);
	if (d->failed || d->pos < len)
		return -ENOSPC;
	d->pos -= len;
	memmove(d->at + d->pos, d->at, len);
	wrap(d, SEQUENCE, d->size);
	if (d->failed)
		return -ENOSPC;
	memmove(d->at, d->at + d->pos, d->size - d->pos);
	return (long)(d->size - d->pos);
}

/* see x509.h */
int
x509_key_make(struct x509_key *key, const uint8_t seed[static X509_SEED_LEN])
{
	uint8_t point[BR_EC_KBUF_PUB_MAX_SIZE], secret[BR_EC_KBUF_PRIV_MAX_SIZE];
	br_hmac_drbg_context random;
	br_ec_private_key k;
	br_ec_public_key p;
	int r = -EIO;

	br_hmac_drbg_init(&random, &br_sha256_vtable, seed, X509_SEED_LEN);
	if (br_ec_keygen(&random.vtable, &br_ec_p256_m31, &k, secret, BR_EC_secp256r1) == sizeof(key->secret) &&
	    br_ec_compute_pub(&br_ec_p256_m31, &p, point, &k) == sizeof(key->public)) {
		memcpy(key->secret, k.x, sizeof(key->secret));
		memcpy(key->public, p.q, sizeof(key->public));
		r = 0;
	}
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(&random, sizeof(random));
	return r;
}

static bool
is_time(int64_t now_s)
{
	return now_s >= 31536000 && now_s <= 253339228800;
}

/* see x509.h */
int
x509_authority_make(struct x509_authority *a, const uint8_t seed[static X509_SEED_LEN],
		    const uint8_t serial[static X509_SERIAL_LEN], int64_t now_s)
{
	struct der d = { .at = a->der, .size = sizeof(a->der), .pos = sizeof(a->der) };
	uint8_t id[32];
	long n;
	int r;

	a->der_len = 0;
	if (!is_time(now_s))
		return -ERANGE;
	r = x509_key_make(&a->key, seed);
	if (r < 0)
		return r;
	key_id(&a->key, id);
	/* two runs have two names: a client that was told of both authorities finds the right one */
	snprintf(a->name, sizeof(a->name), "AgentTwin run %02x%02x%02x%02x%02x%02x", id[0], id[1], id[2], id[3], id[4],
		 id[5]);
	put_authority_extensions(&d, &a->key);
	put_body(&d, &a->key, a->name, a->name, serial, now_s);
	wrap(&d, SEQUENCE, d.size);
	n = sign(&d, &a->key);
	if (n < 0)
		return (int)n;
	a->der_len = (size_t)n;
	return 0;
}

/* see x509.h */
size_t
x509_leaf_max(const char *const *hosts, size_t hosts_len)
{
	size_t n = LEAF_FIXED;

	for (size_t i = 0; i < hosts_len; i++)
		n += strlen(hosts[i]) + 4;
	return n;
}

/* see x509.h */
long
x509_leaf_make(const struct x509_authority *a, const struct x509_key *key, const char *const *hosts, size_t hosts_len,
	       const uint8_t serial[static X509_SERIAL_LEN], int64_t now_s, uint8_t *out, size_t size)
{
	struct der d = { .at = out, .size = size, .pos = size };

	if (!is_time(now_s) || hosts_len == 0)
		return -ERANGE;
	put_leaf_extensions(&d, a, key, hosts, hosts_len);
	put_body(&d, key, a->name, hosts[0], serial, now_s);
	wrap(&d, SEQUENCE, d.size);
	return sign(&d, &a->key);
}

/* see x509.h */
size_t
x509_pem(const struct x509_authority *a, char out[static X509_PEM_MAX])
{
	size_t n = br_pem_encode(NULL, NULL, a->der_len, "CERTIFICATE", 0);

	if (n >= X509_PEM_MAX) {
		out[0] = '\0';
		return 0;
	}
	return br_pem_encode(out, a->der, a->der_len, "CERTIFICATE", 0);
}

/* see x509.h */
void
x509_forget(struct x509_authority *a)
{
	explicit_bzero(a->key.secret, sizeof(a->key.secret));
}
