/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign_file.h - private to sign_key.c and sign_file.c: keys as bytes and as PEM. */
#ifndef HOST_SIGN_FILE_H
#define HOST_SIGN_FILE_H
#include "host/sign_key.h"

#define SIGN_SPKI_LEN 91u /* bytes of a SubjectPublicKeyInfo of P-256 */

/* From a SubjectPublicKeyInfo; from a big-endian number, which also makes the public part.  0 or -EPROTO. */
int sign_public_take(const uint8_t *der, size_t len, struct sign_public *p)
	__attribute__((warn_unused_result, nonnull));
int sign_secret_take(const uint8_t *secret, size_t len, struct sign_key *k)
	__attribute__((warn_unused_result, nonnull));
/* The first public key in PEM text.  0 or -EPROTO. */
int sign_pem_public(const char *text, size_t len, struct sign_public *p) __attribute__((warn_unused_result, nonnull));
/* A secret key as PKCS#8 PEM; 0 when it does not fit. */
size_t sign_secret_pem(const struct sign_key *k, char out[static SIGN_PEM_MAX])
	__attribute__((warn_unused_result, nonnull));
#endif
