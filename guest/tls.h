/* SPDX-License-Identifier: GPL-2.0-or-later
 * tls.h - TLS 1.2 between a client's bytes and the HTTP engine, without I/O: ECDHE (X25519 or P-256) with an ECDSA
 * key on P-256, AES-GCM or ChaCha20-Poly1305, ALPN http/1.1, sessions resumed by their id.
 *
 * Memory: TLS_CONNECTION_BYTES a connection, of which the buffers are only touched as far as records fill them: 1,000 connections
 * take 30 MB at the most.  A service keeps TLS_SESSIONS sessions, the longest unused one makes room. */
#ifndef GUEST_TLS_H
#define GUEST_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_conn;
struct tls_conn;
struct tls_service;

#define TLS_CONNECTION_BYTES 30720u
#define TLS_SESSIONS 256u

/* The run's authority and a leaf for every service that speaks TLS; random has TLS_RANDOM_LEN fresh bytes.  The authority's key is
 * forgotten afterwards.  0; -ENOMEM, -EIO, -ERANGE (no usable clock). */
#define TLS_RANDOM_LEN 128u
struct tls {
	char pem[1152]; /* the authority's certificate */
	size_t pem_len;
	uint8_t sha256[32];           /* of its DER */
	struct tls_service *services; /* owned: of those that speak TLS */
	size_t services_len;
	uint8_t secret[32], public[65]; /* the key of the leaves */
};
struct tls_name {
	const char *const *hosts;
	size_t hosts_len;
};
int tls_init(struct tls *t, const struct tls_name *names, size_t names_len, const uint8_t random[static TLS_RANDOM_LEN],
	     int64_t now_s) __attribute__((warn_unused_result, nonnull(1, 4)));
struct tls_service *tls_service_at(struct tls *t, size_t i) __attribute__((nonnull));
void tls_wipe(struct tls *t) __attribute__((nonnull));

/* A connection to s; seed: fresh random bytes.  NULL: no memory. */
#define TLS_SEED_LEN 32u
struct tls_conn *tls_open(struct tls_service *s, const uint8_t seed[static TLS_SEED_LEN]) __attribute__((nonnull));
void tls_free(struct tls_conn *t);
/* Takes bytes of the client and gives what they hold to the engine.  Returns how many it took: fewer than len only while there is
 * output to leave first; all of them, ignored, once the connection is over. */
size_t tls_receive(struct tls_conn *t, struct http_conn *h, const char *data, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* Bytes to send, replies of the engine among them; *len 0: none. */
const char *tls_output(struct tls_conn *t, struct http_conn *h, size_t *len) __attribute__((nonnull));
void tls_sent(struct tls_conn *t, struct http_conn *h, size_t len) __attribute__((nonnull));
/* Says goodbye: close_notify is among the output now.  False: it was said already, or cannot be. */
bool tls_close(struct tls_conn *t) __attribute__((nonnull));
/* The handshake is done. */
bool tls_is_up(const struct tls_conn *t) __attribute__((nonnull));

#endif
