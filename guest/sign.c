/* SPDX-License-Identifier: GPL-2.0-or-later
 * sign.c - see sign.h. */
#include "guest/sign.h"

#include <bearssl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guest/mask.h"
#include "proto/sha256.h"

#define BLOCK 64u
#define STANDARD_KEY_MIN 24
#define STANDARD_KEY_MAX 64

/* A message in up to two parts, since what is signed is a prefix and the body as it is. */
static void
hmac(const void *key, size_t key_len, const void *prefix, size_t prefix_len, const void *data, size_t len,
     uint8_t out[static 32])
{
	uint8_t pad[BLOCK] = { 0 }, inner[32];
	struct sha256 h;

	if (key_len > BLOCK)
		sha256_of(key, key_len, pad);
	else
		memcpy(pad, key, key_len);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36;
	sha256_init(&h);
	sha256_add(&h, pad, BLOCK);
	sha256_add(&h, prefix, prefix_len);
	sha256_add(&h, data, len);
	sha256_get(&h, inner);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&h);
	sha256_add(&h, pad, BLOCK);
	sha256_add(&h, inner, sizeof(inner));
	sha256_get(&h, out);
	explicit_bzero(pad, sizeof(pad));
}

/* see sign.h */
void
hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t out[static 32])
{
	hmac(key, key_len, "", 0, data, len, out);
}

/* see sign.h */
int
sign_scheme_of(const char *name, enum sign_scheme *out)
{
	static const char *const names[] = { [SIGN_STRIPE] = "stripe",
					     [SIGN_GITHUB] = "github",
					     [SIGN_SLACK] = "slack",
					     [SIGN_STANDARD] = "standard-webhooks" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0) {
			*out = (enum sign_scheme)i;
			return 0;
		}
	return -EPROTO;
}

static void
base64(const uint8_t in[static 32], char out[static 45])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	for (size_t i = 0; i < 32; i += 3) {
		uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < 32 ? (uint32_t)in[i + 1] << 8 : 0) |
			     (i + 2 < 32 ? in[i + 2] : 0u);

		for (unsigned k = 0; k < 4; k++)
			out[n++] = i + k > 32 ? '=' : digits[v >> (18 - 6 * k) & 63];
	}
	out[n] = '\0';
}

/* see sign.h */
int
sign_text(enum sign_scheme scheme, const char *secret, const char *id, uint64_t seconds, const void *body, size_t len,
	  char out[static SIGN_MAX])
{
	unsigned long long s = seconds;
	char prefix[160] = "", key[STANDARD_KEY_MAX], hex[65], text[45];
	const char *encoded = strncmp(secret, "whsec_", 6) == 0 ? secret + 6 : secret;
	uint8_t mac[32];
	int n = scheme == SIGN_STANDARD ? base64_decode(encoded, strlen(encoded), key, sizeof(key)) : 0;

	if (scheme == SIGN_STANDARD && n < STANDARD_KEY_MIN)
		return -EPROTO;
	if (scheme == SIGN_STRIPE)
		snprintf(prefix, sizeof(prefix), "%llu.", s);
	else if (scheme == SIGN_SLACK)
		snprintf(prefix, sizeof(prefix), "v0:%llu:", s);
	else if (scheme == SIGN_STANDARD)
		snprintf(prefix, sizeof(prefix), "%.100s.%llu.", id, s);
	if (scheme == SIGN_STANDARD)
		hmac(key, (size_t)n, prefix, strlen(prefix), body, len, mac);
	else
		hmac(secret, strlen(secret), prefix, strlen(prefix), body, len, mac);
	sha256_hex(mac, hex);
	base64(mac, text);
	if (scheme == SIGN_STRIPE)
		snprintf(out, SIGN_MAX, "t=%llu,v1=%s", s, hex);
	else if (scheme == SIGN_GITHUB)
		snprintf(out, SIGN_MAX, "sha256=%s", hex);
	else if (scheme == SIGN_SLACK)
		snprintf(out, SIGN_MAX, "v0=%s", hex);
	else
		snprintf(out, SIGN_MAX, "v1,%s", text);
	explicit_bzero(key, sizeof(key));
	return 0;
}

/* see sign.h */
void
sign_text_sha1(const char *secret, const void *body, size_t len, char out[static SIGN_MAX])
{
	br_hmac_key_context key;
	br_hmac_context hmac_sha1;
	uint8_t mac[br_sha1_SIZE];
	size_t at;

	br_hmac_key_init(&key, &br_sha1_vtable, secret, strlen(secret));
	br_hmac_init(&hmac_sha1, &key, 0);
	br_hmac_update(&hmac_sha1, body, len);
	br_hmac_out(&hmac_sha1, mac);
	at = (size_t)snprintf(out, SIGN_MAX, "sha1=");
	for (size_t i = 0; i < sizeof(mac); i++)
		at += (size_t)snprintf(out + at, SIGN_MAX - at, "%02x", mac[i]);
	explicit_bzero(&key, sizeof(key));
}
