/* SPDX-License-Identifier: GPL-2.0-or-later
 * x509.h - the certificates of one run: an authority whose key never leaves the twins' memory, and a leaf for each service.
 * ECDSA over P-256 with SHA-256, version 3, written by a DER writer of its own that knows no more than these two forms. */
#ifndef GUEST_X509_H
#define GUEST_X509_H
#include <stddef.h>
#include <stdint.h>

#define X509_SEED_LEN 48u   /* random bytes for each key */
#define X509_SERIAL_LEN 16u /* random bytes of a serial number */
#define X509_AUTHORITY_MAX 768u
#define X509_PEM_MAX 1152u   /* of an authority */
#define X509_BEFORE_S 86400  /* a certificate is valid a day before it was made ... */
#define X509_AFTER_S 2592000 /* ... and 30 days after: a run takes a day at the most */

struct x509_key {
	uint8_t secret[32], public[65]; /* big-endian; uncompressed point */
};
struct x509_authority {
	struct x509_key key;
	char name[40]; /* its common name */
	uint8_t der[X509_AUTHORITY_MAX];
	size_t der_len;
};
/* A key from random bytes, the same from the same bytes.  0 or -EIO. */
int x509_key_make(struct x509_key *key, const uint8_t seed[static X509_SEED_LEN])
	__attribute__((warn_unused_result, nonnull));
/* An authority that may sign leaves only, valid around now_s (seconds since the epoch).  0; -EIO; -ERANGE for a time before 1971
 * or after 9998. */
int x509_authority_make(struct x509_authority *a, const uint8_t seed[static X509_SEED_LEN],
			const uint8_t serial[static X509_SERIAL_LEN], int64_t now_s)
	__attribute__((warn_unused_result, nonnull));
/* Bytes that x509_leaf_make needs at the most. */
size_t x509_leaf_max(const char *const *hosts, size_t hosts_len) __attribute__((nonnull));
/* A server's certificate for all hosts, the first of them its common name where it is short enough; into out[0..size).
 * Returns its length; -ENOSPC, -EIO, -ERANGE. */
long x509_leaf_make(const struct x509_authority *a, const struct x509_key *key, const char *const *hosts,
		    size_t hosts_len, const uint8_t serial[static X509_SERIAL_LEN], int64_t now_s, uint8_t *out,
		    size_t size) __attribute__((warn_unused_result, nonnull));
/* The authority's certificate as PEM, NUL-terminated; its length. */
size_t x509_pem(const struct x509_authority *a, char out[static X509_PEM_MAX]) __attribute__((nonnull));
/* Forgets the secret key: no further leaf can be signed. */
void x509_forget(struct x509_authority *a) __attribute__((nonnull));

#endif
