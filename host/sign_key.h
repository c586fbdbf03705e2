/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign_key.h - the keys that receipts are signed with: ECDSA over P-256 with SHA-256 (FIPS 186-4), nonces as RFC 6979 makes
 * them, signatures as DER (RFC 3279 section 2.2.3), which is what openssl dgst reads.  A secret key lies in a PEM file of mode
 * 0600, PKCS#8 (RFC 5958) or SEC 1 (RFC 5915), a public one in a PEM file as SubjectPublicKeyInfo (RFC 5480). */
#ifndef HOST_SIGN_KEY_H
#define HOST_SIGN_KEY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;

#define SIGN_PUBLIC_LEN 65u /* an uncompressed point */
#define SIGN_DER_MAX 72u    /* bytes of a signature */
#define SIGN_ID_LEN 64u     /* of a key: the SHA-256 of its SubjectPublicKeyInfo, hexadecimal */
#define SIGN_PEM_MAX 400u   /* of either key, with its NUL */
#define SIGN_FILE_MAX 8192u /* bytes of a key file */
#define SIGN_ENV "AGENTTWIN_SIGNING_KEY"

struct sign_public {
	uint8_t point[SIGN_PUBLIC_LEN];
	char id[SIGN_ID_LEN + 1];
};
struct sign_key {
	uint8_t secret[32];
	struct sign_public public;
};
/* A new one from the system's random numbers.  0 or -EIO. */
int sign_key_make(struct sign_key *k) __attribute__((warn_unused_result, nonnull));
/* Reads a secret key.  The file must be a regular one that nobody but its owner can read.  0; -errno or -EPROTO, and *d says
 * what to do; the file's bytes are wiped in every case. */
int sign_key_read(const char *path, struct sign_key *k, struct diag *d) __attribute__((warn_unused_result, nonnull));
/* Writes path (mode 0600) and path.pub (0644); neither may be there.  0 or -errno, *d filled and neither left behind. */
int sign_key_write(const char *path, const struct sign_key *k, struct diag *d)
	__attribute__((warn_unused_result, nonnull));
void sign_key_wipe(struct sign_key *k) __attribute__((nonnull));
/* Reads a public key, or the public part of a secret one.  0; -errno or -EPROTO, and *d. */
int sign_public_read(const char *path, struct sign_public *p, struct diag *d)
	__attribute__((warn_unused_result, nonnull));
/* The same from PEM text of one public key, exactly as sign_public_pem writes it.  0 or -EPROTO. */
int sign_public_parse(const char *pem, struct sign_public *p) __attribute__((warn_unused_result, nonnull));
/* As PEM, NUL-terminated; its length. */
size_t sign_public_pem(const struct sign_public *p, char out[static SIGN_PEM_MAX]) __attribute__((nonnull));
/* Signs; the length of the signature, or 0 when it could not be made. */
size_t sign_make(const struct sign_key *k, const void *data, size_t len, uint8_t out[static SIGN_DER_MAX])
	__attribute__((warn_unused_result, nonnull));
bool sign_check(const struct sign_public *p, const void *data, size_t len, const uint8_t *sig, size_t sig_len)
	__attribute__((warn_unused_result, nonnull));
#endif
