/* SPDX-License-Identifier: GPL-2.0-or-later
 * tls_peer.h - for tests: a client of BearSSL's against the twins' TLS, both in memory.  It verifies the leaf with another
 * reader of certificates than the one that wrote it. */
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H
#include <bearssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "guest/service.h"
#include "guest/tls.h"
#include "guest/twin_http.h"

#define PEER_NOW 1800000000

struct peer {
	br_ssl_client_context client;
	br_x509_minimal_context x509;
	br_x509_trust_anchor anchor;
	unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
	struct tls_conn *tls; /* the other side */
	struct http_conn http;
	char got[1 << 16]; /* what the client received, decrypted */
	size_t got_len;
	uint64_t wire; /* bytes of the client so far */
	/* An enemy between them: at byte `at` of the client's stream, xor `with`.  Sorted by nothing. */
	struct {
		uint64_t at;
		unsigned char with;
	} edits[16];
	size_t edits_len;
	size_t piece; /* bytes given to the server at a time; 0: all */
	bool record;  /* keeps the client's bytes in `sent` */
	unsigned char sent[1 << 15];
	size_t sent_len;
};

static unsigned char peer_dn[256], peer_key[65];
static size_t peer_dn_len;
static unsigned peer_seed; /* of the server; the same gives the same bytes */

static inline void
peer_add_dn(void *arg, const void *data, size_t len)
{
	(void)arg;
	if (len > sizeof(peer_dn) - peer_dn_len)
		abort();
	memcpy(peer_dn + peer_dn_len, data, len);
	peer_dn_len += len;
}

static inline void
peer_add_der(void *arg, const void *data, size_t len)
{
	br_x509_decoder_push(arg, data, len);
}

/* The authority of t as the one that the client trusts. */
static inline void
peer_trust(struct peer *p, const struct tls *t)
{
	br_pem_decoder_context pem;
	br_x509_decoder_context der;
	const br_x509_pkey *key;
	size_t at = 0;

	peer_dn_len = 0;
	br_pem_decoder_init(&pem);
	br_x509_decoder_init(&der, peer_add_dn, NULL);
	while (at < t->pem_len) {
		at += br_pem_decoder_push(&pem, t->pem + at, t->pem_len - at);
		if (br_pem_decoder_event(&pem) == BR_PEM_BEGIN_OBJ)
			br_pem_decoder_setdest(&pem, peer_add_der, &der);
	}
	key = br_x509_decoder_get_pkey(&der);
	if (key == NULL || key->key_type != BR_KEYTYPE_EC || key->key.ec.qlen != sizeof(peer_key))
		abort();
	memcpy(peer_key, key->key.ec.q, sizeof(peer_key));
	p->anchor = (br_x509_trust_anchor){ .dn = { peer_dn, peer_dn_len },
					    .flags = br_x509_decoder_isCA(&der) ? BR_X509_TA_CA : 0,
					    .pkey = { .key_type = BR_KEYTYPE_EC,
						      .key = { .ec = { BR_EC_secp256r1, peer_key, 65 } } } };
}

/* session: to be resumed, or NULL. */
static inline void
peer_open(struct peer *p, const struct tls *t, struct tls_service *s, struct http_core *core, struct service *service,
	  const char *name, const br_ssl_session_parameters *session)
{
	const uint8_t seed[TLS_SEED_LEN] = { 1, 2, 3, (uint8_t)peer_seed, (uint8_t)(peer_seed >> 8) };

	memset(p, 0, sizeof(*p));
	peer_trust(p, t);
	br_ssl_client_init_full(&p->client, &p->x509, &p->anchor, 1);
	br_x509_minimal_set_time(&p->x509, PEER_NOW / 86400 + 719528, PEER_NOW % 86400);
	br_ssl_engine_set_buffer(&p->client.eng, p->buffer, sizeof(p->buffer), 1);
	br_ssl_engine_inject_entropy(&p->client.eng, "deterministic", 13);
	p->client.eng.rng_os_rand_done = 1;
	if (session != NULL)
		br_ssl_engine_set_session_parameters(&p->client.eng, session);
	br_ssl_client_reset(&p->client, name, session != NULL);
	http_init(&p->http, core, service);
	p->tls = tls_open(s, seed);
	if (p->tls == NULL)
		abort();
}

static inline void
peer_close(struct peer *p)
{
	http_wipe(&p->http);
	tls_free(p->tls);
}

/* The server's bytes to the client. */
static inline bool
peer_from_server(struct peer *p)
{
	size_t len, room;
	const char *out = tls_output(p->tls, &p->http, &len);
	unsigned char *to = len > 0 ? br_ssl_engine_recvrec_buf(&p->client.eng, &room) : NULL;

	if (len == 0)
		return false;
	if (to == NULL) { /* the client is gone: lost on the way */
		tls_sent(p->tls, &p->http, len);
		return true;
	}
	len = len < room ? len : room;
	memcpy(to, out, len);
	br_ssl_engine_recvrec_ack(&p->client.eng, len);
	tls_sent(p->tls, &p->http, len);
	return true;
}

/* The client's bytes to the server. */
static inline bool
peer_from_client(struct peer *p)
{
	size_t len, used = 0;
	const unsigned char *out = br_ssl_engine_sendrec_buf(&p->client.eng, &len);
	static char bytes[BR_SSL_BUFSIZE_BIDI];

	if (out == NULL || len == 0)
		return false;
	if (p->piece > 0 && len > p->piece)
		len = p->piece;
	memcpy(bytes, out, len);
	for (size_t i = 0; i < p->edits_len; i++)
		if (p->edits[i].at >= p->wire && p->edits[i].at < p->wire + len)
			bytes[p->edits[i].at - p->wire] ^= (char)p->edits[i].with;
	if (p->record && len <= sizeof(p->sent) - p->sent_len) {
		memcpy(p->sent + p->sent_len, bytes, len);
		p->sent_len += len;
	}
	p->wire += len;
	br_ssl_engine_sendrec_ack(&p->client.eng, len);
	while (used < len) {
		size_t n = tls_receive(p->tls, &p->http, bytes + used, len - used);

		used += n;
		if (n == 0 && !peer_from_server(p))
			abort(); /* it neither takes nor gives */
	}
	return true;
}

/* Until neither side has anything to say.  Replies are collected. */
static inline void
peer_run(struct peer *p)
{
	for (bool moved = true; moved;) {
		size_t len;
		unsigned char *in;

		moved = peer_from_client(p);
		moved = peer_from_server(p) || moved;
		in = br_ssl_engine_recvapp_buf(&p->client.eng, &len);
		if (in != NULL && len > 0) {
			if (len <= sizeof(p->got) - 1 - p->got_len) {
				memcpy(p->got + p->got_len, in, len);
				p->got_len += len;
			}
			br_ssl_engine_recvapp_ack(&p->client.eng, len);
			moved = true;
		}
	}
}

/* Says text, in records as large as fit. */
static inline void
peer_say(struct peer *p, const char *text, size_t len)
{
	peer_run(p);
	while (len > 0) {
		size_t room;
		unsigned char *to = br_ssl_engine_sendapp_buf(&p->client.eng, &room);

		if (to == NULL)
			return;
		room = room < len ? room : len;
		memcpy(to, text, room);
		br_ssl_engine_sendapp_ack(&p->client.eng, room);
		br_ssl_engine_flush(&p->client.eng, 0);
		text += room;
		len -= room;
		peer_run(p);
	}
}

#endif
