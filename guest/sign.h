/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign.h - how services sign the webhooks that they send: HMAC-SHA256 (RFC 2104) over the exact bytes of the body.  Never
 * allocates. */
#ifndef GUEST_SIGN_H
#define GUEST_SIGN_H
#include <stddef.h>
#include <stdint.h>

enum sign_scheme { SIGN_STRIPE, SIGN_GITHUB, SIGN_SLACK, SIGN_STANDARD };
#define SIGN_MAX 192u /* bytes of one signature's text, with its NUL */

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t out[static 32])
	__attribute__((nonnull(1, 5)));
/* -EPROTO: none of "stripe", "github", "slack", "standard-webhooks". */
int sign_scheme_of(const char *name, enum sign_scheme *out) __attribute__((warn_unused_result, nonnull));
/* The value of the scheme's signature field, as a NUL-terminated text: stripe "t=S,v1=HEX", github "sha256=HEX", slack
 * "v0=HEX", standard-webhooks "v1,BASE64".  id: of the message, for standard-webhooks; seconds: since the epoch.  0; -EPROTO
 * the secret of standard-webhooks is not base64 (after an optional "whsec_") of 24 to 64 bytes. */
int sign_text(enum sign_scheme scheme, const char *secret, const char *id, uint64_t seconds, const void *body,
	      size_t len, char out[static SIGN_MAX]) __attribute__((warn_unused_result, nonnull(2, 3, 7)));
/* GitHub's older field, which it sends beside the other: "sha1=HEX". */
void sign_text_sha1(const char *secret, const void *body, size_t len, char out[static SIGN_MAX])
	__attribute__((nonnull(1, 4)));

#endif
