/* SPDX-License-Identifier: GPL-2.0-or-later
 * tls.c - see tls.h.  BearSSL's server engine; every record and message is parsed by it, nothing here looks into one but at the
 * first bytes of a connection that failed, to say what they were. */
#include "guest/tls.h"

#include <bearssl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/twin_http.h"
#include "guest/x509.h"
#include "proto/sha256.h"

#define INPUT_LEN BR_SSL_BUFSIZE_INPUT /* a client may send records of 16 KiB */
#define OUTPUT_LEN (8192u + 85u)       /* ours are shorter: half the memory */
#define SESSION_LEN 100u               /* bytes of one in BearSSL's cache */
#define FIRST_LEN 8u

struct tls_service {
	br_x509_certificate leaf; /* owned bytes */
	br_ec_private_key key;
	br_ssl_session_cache_lru cache;
	unsigned char *sessions; /* owned: TLS_SESSIONS of them */
};
struct tls_conn {
	br_ssl_server_context server;
	size_t taken;             /* bytes of the engine's output in records that have not all left */
	size_t received;          /* bytes of the client so far */
	uint8_t first[FIRST_LEN]; /* of those */
	bool sent;                /* a byte of ours has left */
	bool up, over, closing;
	uint8_t alert[7]; /* said in BearSSL's place where it says nothing */
	size_t alert_at, alert_len;
	unsigned char in[INPUT_LEN], out[OUTPUT_LEN];
};
_Static_assert(sizeof(struct tls_conn) <= TLS_CONNECTION_BYTES, "tls.h promises less");

/* ---- services ---------------------------------------------------------------------------------------------------- */

static int
service_init(struct tls *t, struct tls_service *s, const struct x509_authority *a, const struct tls_name *name,
	     const uint8_t *serial, int64_t now_s)
{
	struct x509_key key;
	size_t size = x509_leaf_max(name->hosts, name->hosts_len);
	long n;

	s->sessions = malloc((size_t)TLS_SESSIONS * SESSION_LEN);
	s->leaf.data = malloc(size);
	if (s->sessions == NULL || s->leaf.data == NULL)
		return -ENOMEM;
	memcpy(key.secret, t->secret, sizeof(key.secret));
	memcpy(key.public, t->public, sizeof(key.public));
	n = x509_leaf_make(a, &key, name->hosts, name->hosts_len, serial, now_s, s->leaf.data, size);
	explicit_bzero(&key, sizeof(key));
	if (n < 0)
		return (int)n;
	s->leaf.data_len = (size_t)n;
	s->key = (br_ec_private_key){ .curve = BR_EC_secp256r1, .x = t->secret, .xlen = sizeof(t->secret) };
	br_ssl_session_cache_lru_init(&s->cache, s->sessions, (size_t)TLS_SESSIONS * SESSION_LEN);
	return 0;
}

/* see tls.h */
int
tls_init(struct tls *t, const struct tls_name *names, size_t names_len, const uint8_t random[static TLS_RANDOM_LEN],
	 int64_t now_s)
{
	struct x509_authority a;
	struct x509_key key;
	uint8_t serial[32];
	int r;

	_Static_assert(TLS_RANDOM_LEN >= 2 * X509_SEED_LEN + 2 * X509_SERIAL_LEN, "two keys, two serial numbers");
	_Static_assert(sizeof(t->pem) >= X509_PEM_MAX, "PEM");
	*t = (struct tls){ .services = calloc(names_len + 1, sizeof(*t->services)) };
	if (t->services == NULL)
		return -ENOMEM;
	t->services_len = names_len;
	r = x509_authority_make(&a, random, random + (size_t)2 * X509_SEED_LEN, now_s);
	if (r == 0)
		r = x509_key_make(&key, random + X509_SEED_LEN);
	if (r < 0)
		goto out;
	memcpy(t->secret, key.secret, sizeof(t->secret));
	memcpy(t->public, key.public, sizeof(t->public));
	t->pem_len = x509_pem(&a, t->pem);
	sha256_of(a.der, a.der_len, t->sha256);
	for (size_t i = 0; i < names_len && r == 0; i++) {
		struct sha256 h;

		/* a serial number of its own for each, from the second random one */
		sha256_init(&h);
		sha256_add(&h, random + (size_t)2 * X509_SEED_LEN + X509_SERIAL_LEN, X509_SERIAL_LEN);
		sha256_add(&h, &i, sizeof(i));
		sha256_get(&h, serial);
		r = service_init(t, &t->services[i], &a, &names[i], serial, now_s);
	}
out:
	explicit_bzero(&key, sizeof(key));
	x509_forget(&a);
	return r;
}

/* see tls.h */
struct tls_service *
tls_service_at(struct tls *t, size_t i)
{
	return &t->services[i];
}

/* see tls.h */
void
tls_wipe(struct tls *t)
{
	for (size_t i = 0; i < t->services_len; i++) {
		free(t->services[i].leaf.data);
		free(t->services[i].sessions);
	}
	free(t->services);
	explicit_bzero(t, sizeof(*t));
}

/* ---- a connection ------------------------------------------------------------------------------------------------ */

static void
use_algorithms(br_ssl_engine_context *e)
{
	static const uint16_t suites[] = { BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
					   BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
					   BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 };

	br_ssl_engine_set_versions(e, BR_TLS12, BR_TLS12);
	br_ssl_engine_set_suites(e, suites, sizeof(suites) / sizeof(suites[0]));
	br_ssl_engine_set_hash(e, br_sha256_ID, &br_sha256_vtable);
	br_ssl_engine_set_hash(e, br_sha384_ID, &br_sha384_vtable);
	br_ssl_engine_set_hash(e, br_sha512_ID, &br_sha512_vtable);
	br_ssl_engine_set_prf_sha256(e, &br_tls12_sha256_prf);
	br_ssl_engine_set_prf_sha384(e, &br_tls12_sha384_prf);
	br_ssl_engine_set_default_aes_gcm(e);
	br_ssl_engine_set_default_chapol(e);
	br_ssl_engine_set_ec(e, &br_ec_all_m31); /* X25519 first: half the time of P-256 */
}

/* see tls.h */
struct tls_conn *
tls_open(struct tls_service *s, const uint8_t seed[static TLS_SEED_LEN])
{
	static const char *protocols[] = { "http/1.1" };
	struct tls_conn *t = malloc(sizeof(*t));
	br_ssl_engine_context *e;

	if (t == NULL)
		return NULL;
	memset(t, 0, offsetof(struct tls_conn, in)); /* the buffers stay untouched until they are filled */
	br_ssl_server_zero(&t->server);
	e = &t->server.eng;
	use_algorithms(e);
	br_ssl_server_set_single_ec(&t->server, &s->leaf, 1, &s->key, BR_KEYTYPE_SIGN, BR_KEYTYPE_EC, &br_ec_p256_m31,
				    br_ecdsa_i31_sign_asn1);
	br_ssl_engine_set_protocol_names(e, protocols, 1);
	br_ssl_engine_add_flags(e, BR_OPT_NO_RENEGOTIATION | BR_OPT_FAIL_ON_ALPN_MISMATCH);
	br_ssl_server_set_cache(&t->server, &s->cache.vtable);
	br_ssl_engine_set_buffers_bidi(e, t->in, sizeof(t->in), t->out, sizeof(t->out));
	/* the seed is all: BearSSL would open a file, which twins cannot */
	br_ssl_engine_inject_entropy(e, seed, TLS_SEED_LEN);
	e->rng_os_rand_done = 1;
	if (br_ssl_server_reset(&t->server) == 0) {
		free(t);
		return NULL;
	}
	return t;
}

/* see tls.h */
void
tls_free(struct tls_conn *t)
{
	if (t == NULL)
		return;
	explicit_bzero(t, offsetof(struct tls_conn, in));
	free(t);
}

/* ---- what went wrong --------------------------------------------------------------------------------------------- */

static bool
is_http(const struct tls_conn *t)
{
	static const char *const starts[] = { "GET ",     "HEAD ",  "POST ",    "PUT ",   "DELETE ",
					      "OPTIONS ", "PATCH ", "CONNECT ", "TRACE ", "PRI " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t n = strlen(starts[i]), have = t->received < FIRST_LEN ? t->received : FIRST_LEN;

		if (have >= 4 && memcmp(t->first, starts[i], n < have ? n : have) == 0)
			return true;
	}
	return false;
}

static const char *
alert_name(int alert)
{
	switch (alert) {
	case BR_ALERT_UNEXPECTED_MESSAGE:
		return "unexpected_message";
	case BR_ALERT_BAD_RECORD_MAC:
		return "bad_record_mac";
	case BR_ALERT_HANDSHAKE_FAILURE:
		return "handshake_failure";
	case BR_ALERT_BAD_CERTIFICATE:
		return "bad_certificate";
	case BR_ALERT_UNSUPPORTED_CERTIFICATE:
		return "unsupported_certificate";
	case BR_ALERT_CERTIFICATE_EXPIRED:
		return "certificate_expired";
	case BR_ALERT_CERTIFICATE_UNKNOWN:
		return "certificate_unknown";
	case BR_ALERT_ILLEGAL_PARAMETER:
		return "illegal_parameter";
	case BR_ALERT_UNKNOWN_CA:
		return "unknown_ca";
	case BR_ALERT_ACCESS_DENIED:
		return "access_denied";
	case BR_ALERT_DECODE_ERROR:
		return "decode_error";
	case BR_ALERT_DECRYPT_ERROR:
		return "decrypt_error";
	case BR_ALERT_PROTOCOL_VERSION:
		return "protocol_version";
	case BR_ALERT_INSUFFICIENT_SECURITY:
		return "insufficient_security";
	case BR_ALERT_INTERNAL_ERROR:
		return "internal_error";
	case BR_ALERT_NO_APPLICATION_PROTOCOL:
		return "no_application_protocol";
	default:
		return "";
	}
}

static bool
is_hello(const struct tls_conn *t)
{
	return t->received >= 3 && t->first[0] == 22 && t->first[1] == 3;
}

static bool
is_distrust(int error)
{
	return error == BR_ERR_RECV_FATAL_ALERT + BR_ALERT_UNKNOWN_CA ||
	       error == BR_ERR_RECV_FATAL_ALERT + BR_ALERT_BAD_CERTIFICATE ||
	       error == BR_ERR_RECV_FATAL_ALERT + BR_ALERT_CERTIFICATE_UNKNOWN;
}

/* A sentence about a connection that ended before anything was agreed; NULL: there is no better one than the error's. */
static const char *
describe_hello(const struct tls_conn *t, int error)
{
	if (is_http(t))
		return "plain HTTP was sent to a port that speaks TLS; the client needs https://";
	if (t->received >= 3 && t->first[0] & 0x80 && t->first[2] == 1)
		return "an SSL 2 hello; TLS 1.2 is spoken here";
	if (!is_hello(t))
		return "the first bytes are no TLS hello";
	switch (error) {
	case BR_ERR_SEND_FATAL_ALERT + BR_ALERT_NO_APPLICATION_PROTOCOL:
		return "the client's ALPN does not offer http/1.1; HTTP/2 is not spoken here";
	case BR_ERR_SEND_FATAL_ALERT + BR_ALERT_HANDSHAKE_FAILURE:
	case BR_ERR_BAD_CIPHER_SUITE:
		return "nothing in common; TLS 1.2 with ECDHE-ECDSA is spoken here, TLS 1.3 is not";
	case BR_ERR_UNSUPPORTED_VERSION:
	case BR_ERR_SEND_FATAL_ALERT + BR_ALERT_PROTOCOL_VERSION:
		return "the client's newest version is older than TLS 1.2, the one spoken here";
	default:
		return NULL;
	}
}

/* The last case is what has no name but BearSSL's number, in bearssl_ssl.h. */
static void
describe(const struct tls_conn *t, int error, char *text, size_t size)
{
	bool distrust = t->sent && is_distrust(error);
	const char *hello = t->up || distrust ? NULL : describe_hello(t, error);
	int alert = error & 0xff;

	if (hello != NULL)
		snprintf(text, size, "TLS: %s", hello);
	else if (distrust)
		snprintf(text, size,
			 "TLS: the client does not trust the run's authority (alert %d %s); see NODE_EXTRA_CA_CERTS",
			 alert, alert_name(alert));
	else if (error >= BR_ERR_SEND_FATAL_ALERT)
		snprintf(text, size, "TLS: the handshake failed with alert %d %s", alert, alert_name(alert));
	else if (error >= BR_ERR_RECV_FATAL_ALERT)
		snprintf(text, size, "TLS: the client ended the connection with alert %d %s", alert, alert_name(alert));
	else if (error == BR_ERR_BAD_MAC)
		snprintf(text, size, "TLS: a record was not encrypted as agreed");
	else
		snprintf(text, size, "TLS: a malformed message (error %d)", error);
}

static unsigned
alert_of(int error)
{
	switch (error) {
	case BR_ERR_BAD_VERSION:
	case BR_ERR_UNSUPPORTED_VERSION:
		return BR_ALERT_PROTOCOL_VERSION;
	case BR_ERR_TOO_LARGE:
	case BR_ERR_BAD_LENGTH:
		return BR_ALERT_RECORD_OVERFLOW;
	case BR_ERR_UNEXPECTED:
	case BR_ERR_UNKNOWN_TYPE:
		return BR_ALERT_UNEXPECTED_MESSAGE;
	default:
		return BR_ALERT_DECODE_ERROR;
	}
}

/* A failure that BearSSL tells nobody about, before anything was agreed: an alert in the clear, in the client's version. */
static void
say_alert(struct tls_conn *t, int error)
{
	uint8_t minor = is_hello(t) && t->first[2] <= 3 ? t->first[2] : 3;
	const uint8_t record[] = { 21, 3, minor, 0, 2, 2, (uint8_t)alert_of(error) };

	if (t->sent || error >= BR_ERR_RECV_FATAL_ALERT)
		return;
	memcpy(t->alert, record, sizeof(record));
	t->alert_len = sizeof(record);
}

/* BearSSL's engine has ended, in order or not. */
static void
end(struct tls_conn *t, struct http_conn *h)
{
	int error = br_ssl_engine_last_error(&t->server.eng);
	char text[256];

	if (t->over)
		return;
	t->over = true;
	if (t->closing || error == BR_ERR_OK) {
		http_input_ended(h);
		return;
	}
	say_alert(t, error);
	describe(t, error, text, sizeof(text));
	http_refused(h, text);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* What was decrypted goes into the engine.  False: it does not take all. */
static bool
give(struct tls_conn *t, struct http_conn *h)
{
	for (;;) {
		size_t len, n;
		const unsigned char *data = br_ssl_engine_recvapp_buf(&t->server.eng, &len);

		if (data == NULL || len == 0)
			return true;
		n = t->closing ? len : http_receive(h, (const char *)data, len);
		if (n == 0)
			return false;
		br_ssl_engine_recvapp_ack(&t->server.eng, n);
	}
}

/* see tls.h */
size_t
tls_receive(struct tls_conn *t, struct http_conn *h, const char *data, size_t len)
{
	br_ssl_engine_context *e = &t->server.eng;
	size_t used = 0;

	for (;;) {
		unsigned state = br_ssl_engine_current_state(e);
		unsigned char *room;
		size_t n;

		if (state & BR_SSL_CLOSED)
			end(t, h);
		if (t->over)
			return len;
		t->up = t->up || (state & (BR_SSL_SENDAPP | BR_SSL_RECVAPP)) != 0;
		if (!give(t, h) || used == len)
			return used;
		/* A goodbye may follow the request, after which no reply could leave; and a message that was not waited for
		 * is one too early. */
		tls_output(t, h, &n);
		if (n > 0)
			return used;
		room = br_ssl_engine_recvrec_buf(e, &n);
		if (room == NULL || n == 0) {
			if (br_ssl_engine_current_state(e) & BR_SSL_CLOSED)
				continue;
			return used; /* what waits to be sent comes first */
		}
		n = n < len - used ? n : len - used;
		memcpy(room, data + used, n);
		for (size_t i = 0; i < n && t->received + i < FIRST_LEN; i++)
			t->first[t->received + i] = (uint8_t)data[used + i];
		t->received += n;
		used += n;
		br_ssl_engine_recvrec_ack(e, n);
	}
}

/* Replies become a record, one at a time: none is made before the last has left. */
static void
seal(struct tls_conn *t, struct http_conn *h)
{
	br_ssl_engine_context *e = &t->server.eng;
	size_t len, room;
	const char *out = http_output(h, &len);
	unsigned char *to = len > 0 ? br_ssl_engine_sendapp_buf(e, &room) : NULL;

	if (to == NULL || room == 0)
		return;
	len = len < room ? len : room;
	memcpy(to, out, len);
	br_ssl_engine_sendapp_ack(e, len);
	br_ssl_engine_flush(e, 0);
	t->taken = len;
}

/* see tls.h */
const char *
tls_output(struct tls_conn *t, struct http_conn *h, size_t *len)
{
	br_ssl_engine_context *e = &t->server.eng;
	const unsigned char *out;

	*len = 0;
	if (t->alert_len > 0) {
		*len = t->alert_len - t->alert_at;
		return (const char *)t->alert + t->alert_at;
	}
	if (t->over)
		return "";
	out = br_ssl_engine_sendrec_buf(e, len);
	if (out == NULL || *len == 0) {
		if (br_ssl_engine_current_state(e) & BR_SSL_CLOSED) {
			end(t, h);
			*len = t->alert_len;
			return (const char *)t->alert;
		}
		seal(t, h);
		out = br_ssl_engine_sendrec_buf(e, len);
	}
	if (out == NULL)
		*len = 0;
	return *len == 0 ? "" : (const char *)out;
}

/* see tls.h */
void
tls_sent(struct tls_conn *t, struct http_conn *h, size_t len)
{
	br_ssl_engine_context *e = &t->server.eng;
	size_t left;

	t->sent = true;
	if (t->alert_len > 0) {
		t->alert_at += len;
		if (t->alert_at == t->alert_len)
			t->alert_at = t->alert_len = 0;
		return;
	}
	br_ssl_engine_sendrec_ack(e, len);
	if (t->taken > 0 && (br_ssl_engine_sendrec_buf(e, &left) == NULL || left == 0)) {
		size_t taken = t->taken;

		t->taken = 0;
		http_sent(h, taken);
	}
	if (br_ssl_engine_current_state(e) & BR_SSL_CLOSED)
		end(t, h);
}

/* see tls.h */
bool
tls_close(struct tls_conn *t)
{
	if (t->closing || t->over)
		return false;
	t->closing = true;
	br_ssl_engine_close(&t->server.eng);
	return true;
}

/* see tls.h */
bool
tls_is_up(const struct tls_conn *t)
{
	return t->up || (br_ssl_engine_current_state(&t->server.eng) & (BR_SSL_SENDAPP | BR_SSL_RECVAPP)) != 0;
}
