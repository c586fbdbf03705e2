/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_tls.c - the twins' TLS against a client in memory: the same conversation in records and pieces of every size, sessions,
 * ends with and without a goodbye, and what is no TLS. */
// LINK: -Wl,--wrap=malloc,--wrap=calloc
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/tls_peer.h"

static const char world_text[] =
	"{\"run\":{\"id\":\"r\",\"seed\":7,\"start_ms\":1790000000000},\"limits\":{\"operations\":1000,\"state_bytes\":9000000},"
	"\"secrets\":{},\"services\":[{\"name\":\"shop\",\"kind\":\"http\",\"tls\":true,\"hosts\":[\"shop.example\",\"b.example\"],"
	"\"state\":{\"orders\":[{\"id\":\"o1\",\"n\":1}]},\"routes\":[{\"resource\":\"orders\",\"path\":\"/orders\"}]},"
	"{\"name\":\"other\",\"kind\":\"http\",\"tls\":true,\"hosts\":[\"other.example\"],\"state\":{},\"routes\":[]}]}";
static const char get[] = "GET /orders/o1 HTTP/1.1\r\nHost: shop.example\r\n\r\n";
static const char last[] = "GET /orders/o1 HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n";

static int allocations = INT_MAX; /* so many still succeed */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *
__wrap_malloc(size_t size)
{
	return allocations-- > 0 ? __real_malloc(size) : NULL;
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return allocations-- > 0 ? __real_calloc(n, size) : NULL;
}

static struct tls tls;
static struct world world;
static struct http_core core;
static struct peer peer;

static void
start(void)
{
	static const uint64_t key[2] = { 1, 2 };
	uint8_t random[TLS_RANDOM_LEN];
	struct tls_name names[2];
	char error[200];

	for (size_t i = 0; i < sizeof(random); i++)
		random[i] = (uint8_t)(i * 11 + 5);
	if (world_read(&world, world_text, sizeof(world_text) - 1, key, error, sizeof(error)) < 0)
		abort();
	http_core_init(&core, &world);
	for (size_t i = 0; i < 2; i++)
		names[i] = (struct tls_name){ world.services[i].hosts, world.services[i].hosts_len };
	is_int(tls_init(&tls, names, 2, random, PEER_NOW), 0, "certificates for two services");
}

static void
stop(void)
{
	tls_wipe(&tls);
	http_core_wipe(&core);
	world_free(&world);
}

static void
open_to(size_t service, const char *name, const br_ssl_session_parameters *session)
{
	peer_seed++;
	peer_open(&peer, &tls, tls_service_at(&tls, service), &core, &world.services[service], name, session);
}

/* The texts of all operations so far, in place until the next call. */
static const char *
operations(void)
{
	static struct buf text;

	buf_wipe(&text);
	buf_init(&text, 1u << 24);
	while (ops_take(&core.ops, &text))
		buf_text(&text, "\n");
	return text.len > 0 ? buf_terminate(&text) : "";
}

static size_t
count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
		n++;
	return n;
}

static void
test_pieces(void)
{
	static const size_t pieces[] = { 0, 1, 2, 3, 5, 64, 1000 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		open_to(0, "b.example", NULL);
		peer.piece = pieces[i];
		peer_say(&peer, get, sizeof(get) - 1);
		peer_say(&peer, get, 10);
		peer_say(&peer, get + 10, sizeof(get) - 11);
		ok(count(peer.got, "HTTP/1.1 200 OK") == 2 && count(peer.got, "{\"id\":\"o1\",\"n\":1}") == 2,
		   "two replies, the client's bytes by %zu", pieces[i]);
		ok(tls_is_up(peer.tls) && br_ssl_engine_last_error(&peer.client.eng) == 0, "the leaf verifies");
		peer_close(&peer);
		is_int((long long)count(operations(), "told-ok"), 2, "two operations that were told");
	}
}

static void
test_large(void)
{
	static char body[300000], head[200];
	int n = snprintf(head, sizeof(head),
			 "POST /orders HTTP/1.1\r\nHost: shop.example\r\nContent-Length: %zu\r\n"
			 "Content-Type: application/json\r\n\r\n",
			 sizeof(body));

	memset(body, 'x', sizeof(body));
	memcpy(body, "{\"id\":\"big\",\"x\":\"", 17);
	memcpy(body + sizeof(body) - 2, "\"}", 2);
	open_to(0, "shop.example", NULL);
	peer_say(&peer, head, (size_t)n);
	peer_say(&peer, body, sizeof(body));
	ok(strncmp(peer.got, "HTTP/1.1 201", 12) == 0, "a large body arrives, in records of 16 KiB");
	peer.got_len = 0;
	peer_say(&peer, "GET /orders/big HTTP/1.1\r\nHost: shop.example\r\n\r\n", 48);
	ok(peer.got_len > 60000, "and comes back");
	peer_close(&peer);
	is_int((long long)count(operations(), "told-ok"), 2, "both were told, when the last record had left");
	is_int((long long)core.memory, 0, "no memory is left behind");
}

static void
test_told(void)
{
	size_t len;

	open_to(0, "shop.example", NULL);
	peer_run(&peer);
	/* the request arrives, but the reply's record does not leave whole */
	br_ssl_engine_sendapp_ack(&peer.client.eng, 0);
	memcpy(br_ssl_engine_sendapp_buf(&peer.client.eng, &len), get, sizeof(get) - 1);
	br_ssl_engine_sendapp_ack(&peer.client.eng, sizeof(get) - 1);
	br_ssl_engine_flush(&peer.client.eng, 0);
	while (peer_from_client(&peer))
		;
	tls_output(peer.tls, &peer.http, &len);
	ok(len > 100, "a record waits");
	tls_sent(peer.tls, &peer.http, len - 1);
	peer_close(&peer);
	is_int((long long)count(operations(), "\"service\":\"applied\",\"client\":\"told-nothing\""), 1,
	       "a reply whose record has not all left was told to nobody");
}

static void
test_sessions(void)
{
	br_ssl_session_parameters first, other;
	static br_ssl_session_parameters many[TLS_SESSIONS + 1];
	size_t resumed = 0;

	open_to(0, "shop.example", NULL);
	peer_say(&peer, get, sizeof(get) - 1);
	br_ssl_engine_get_session_parameters(&peer.client.eng, &first);
	peer_close(&peer);
	is_int(first.session_id_len, 32, "a session has an id");
	open_to(0, "shop.example", &first);
	peer_say(&peer, get, sizeof(get) - 1);
	br_ssl_engine_get_session_parameters(&peer.client.eng, &other);
	ok(peer.got_len > 0 && memcmp(first.session_id, other.session_id, 32) == 0 &&
		   memcmp(first.master_secret, other.master_secret, 48) == 0,
	   "it is resumed");
	peer_close(&peer);
	open_to(1, "other.example", &first);
	peer_run(&peer);
	br_ssl_engine_get_session_parameters(&peer.client.eng, &other);
	ok(tls_is_up(peer.tls) && memcmp(first.session_id, other.session_id, 32) != 0,
	   "not by another service: a full handshake");
	peer_close(&peer);
	for (size_t i = 0; i <= TLS_SESSIONS; i++) {
		open_to(0, "shop.example", NULL);
		peer_run(&peer);
		br_ssl_engine_get_session_parameters(&peer.client.eng, &many[i]);
		peer_close(&peer);
	}
	open_to(0, "shop.example", &first);
	peer_run(&peer);
	br_ssl_engine_get_session_parameters(&peer.client.eng, &other);
	ok(tls_is_up(peer.tls) && memcmp(first.session_id, other.session_id, 32) != 0,
	   "the longest unused of more than %u made room", TLS_SESSIONS);
	peer_close(&peer);
	for (size_t i = TLS_SESSIONS; i > TLS_SESSIONS - 3; i--) {
		open_to(0, "shop.example", &many[i]);
		peer_run(&peer);
		br_ssl_engine_get_session_parameters(&peer.client.eng, &other);
		resumed += memcmp(many[i].session_id, other.session_id, 32) == 0;
		peer_close(&peer);
	}
	is_int((long long)resumed, 3, "the newest are still known");
	(void)operations();
}

/* Request and goodbye arrive in one piece: the reply leaves all the same. */
static void
goodbye_behind_request(void)
{
	static char bytes[4096];
	const unsigned char *out;
	size_t len = 0, n, used = 0;
	unsigned char *to;

	open_to(0, "shop.example", NULL);
	peer_run(&peer);
	to = br_ssl_engine_sendapp_buf(&peer.client.eng, &n);
	memcpy(to, get, sizeof(get) - 1);
	br_ssl_engine_sendapp_ack(&peer.client.eng, sizeof(get) - 1);
	br_ssl_engine_flush(&peer.client.eng, 0);
	for (int i = 0; i < 2; i++) {
		while ((out = br_ssl_engine_sendrec_buf(&peer.client.eng, &n)) != NULL && n > 0) {
			memcpy(bytes + len, out, n);
			len += n;
			br_ssl_engine_sendrec_ack(&peer.client.eng, n);
		}
		br_ssl_engine_close(&peer.client.eng);
	}
	while (used < len) {
		used += tls_receive(peer.tls, &peer.http, bytes + used, len - used);
		for (tls_output(peer.tls, &peer.http, &n); n > 0; tls_output(peer.tls, &peer.http, &n))
			tls_sent(peer.tls, &peer.http, n);
	}
	is_int(http_end(&peer.http), HTTP_END_CLOSE, "request and goodbye in one piece end the connection");
	peer_close(&peer);
	is_int((long long)count(operations(), "told-ok"), 1, "the reply left before that");
}

static void
test_end(void)
{
	open_to(0, "shop.example", NULL);
	peer_say(&peer, last, sizeof(last) - 1);
	is_int(http_end(&peer.http), HTTP_END_CLOSE, "after the last reply the engine ends in order");
	ok(br_ssl_engine_current_state(&peer.client.eng) != BR_SSL_CLOSED, "nothing was said of it yet");
	ok(tls_close(peer.tls) && !tls_close(peer.tls), "a goodbye is said once");
	peer_run(&peer);
	ok(br_ssl_engine_current_state(&peer.client.eng) == BR_SSL_CLOSED &&
		   br_ssl_engine_last_error(&peer.client.eng) == 0,
	   "and heard as one in order");
	is_int((long long)tls_receive(peer.tls, &peer.http, "anything", 8), 8, "what comes later is ignored");
	peer_close(&peer);
	is_int((long long)count(operations(), "told-ok"), 1, "the reply was told");
	open_to(0, "shop.example", NULL);
	peer_say(&peer, get, sizeof(get) - 1);
	br_ssl_engine_close(&peer.client.eng);
	peer_run(&peer);
	is_int(http_end(&peer.http), HTTP_END_CLOSE, "the client's goodbye ends the connection");
	ok(!tls_close(peer.tls), "which was answered already");
	peer_close(&peer);
	open_to(0, "shop.example", NULL);
	peer_say(&peer, get, 20);
	br_ssl_engine_close(&peer.client.eng);
	peer_run(&peer);
	peer_close(&peer);
	is_int((long long)count(operations(), "the connection ended inside the request"), 1,
	       "a goodbye inside a request is one that the client cut off");
	goodbye_behind_request();
	open_to(0, "shop.example", NULL);
	peer_run(&peer);
	peer_close(&peer);
	is_str(operations(), "", "a handshake without a request is no operation");
}

/* bytes: the client's first.  The alert that comes back, -1 none. */
static int
alert_for(const char *bytes, size_t len, const char *what)
{
	const char *out, *text;
	size_t n;
	int alert = -1;

	open_to(0, "shop.example", NULL);
	for (size_t used = 0; used < len;)
		used += tls_receive(peer.tls, &peer.http, bytes + used, len - used);
	out = tls_output(peer.tls, &peer.http, &n);
	if (n >= 7 && out[0] == 21)
		alert = out[6];
	while (n > 0) {
		tls_sent(peer.tls, &peer.http, n);
		tls_output(peer.tls, &peer.http, &n);
	}
	ok(http_is_closing(&peer.http), "%s: the connection ends", what);
	peer_close(&peer);
	text = operations();
	if (strstr(text, what) == NULL || strstr(text, "\"unmatched\":true") == NULL)
		printf("# not told: %s in %s\n", what, text);
	return strstr(text, what) != NULL && strstr(text, "told-nothing") != NULL ? alert : -2;
}

static void
test_refused(void)
{
	static char noise[5000];

	memset(noise, 0x5a, sizeof(noise));
	is_int(alert_for(get, sizeof(get) - 1, "plain HTTP"), 70, "protocol_version");
	is_int(alert_for("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, "plain HTTP"), 70, "protocol_version");
	is_int(alert_for("\x80\x2e\x01\x00\x02\x00\x15", 7, "SSL 2"), 70, "protocol_version");
	is_int(alert_for(noise, sizeof(noise), "no TLS hello"), 70, "protocol_version");
	is_int(alert_for("\x16\x03\x01\xff\xff", 5, "malformed message"), 22, "record_overflow");
	is_int(alert_for("\x17\x03\x03\x00\x05hello", 10, "no TLS hello"), 10, "unexpected_message");
	is_int(alert_for("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", 10, "malformed message"), 50, "decode_error");
	is_int(alert_for("\x15\x03\x01\x00\x02\x02\x30", 7, "no TLS hello"), -1, "an alert is not answered by one");
}

static void
test_enemy(void)
{
	size_t over = 0, silent = 0, n = 0, end;

	/* every byte of a client's stream, one after the other, is changed on its way */
	open_to(0, "shop.example", NULL);
	peer_say(&peer, get, sizeof(get) - 1);
	end = peer.wire;
	peer_close(&peer);
	(void)operations();
	for (uint64_t at = 0; at < end; at += 3, n++) {
		const char *text;

		open_to(0, "shop.example", NULL);
		peer.edits[0].at = at;
		peer.edits[0].with = (unsigned char)(1u << (at % 8));
		peer.edits_len = 1;
		peer_say(&peer, get, sizeof(get) - 1);
		over += count(peer.got, "200 OK") == 0;
		silent += !http_is_closing(&peer.http);
		peer_close(&peer);
		text = operations();
		if (count(text, "told-ok") > 0)
			break;
	}
	printf("# %zu changes, %zu left waiting for more bytes\n", n, silent);
	ok(over == n && n > 100, "no request is answered whose stream was changed, wherever");
}

static void
test_limits(void)
{
	static const char *const hosts[] = { "a.example" };
	const struct tls_name names[] = { { hosts, 1 }, { hosts, 1 } };
	struct tls t;
	static const uint8_t random[TLS_RANDOM_LEN];
	int most = 0, r;

	do {
		allocations = most++;
		r = tls_init(&t, names, 2, random, PEER_NOW);
		allocations = INT_MAX;
		tls_wipe(&t);
	} while (r == -ENOMEM && most < 100);
	ok(r == 0 && most == 6, "five allocations for two services, each of which may fail");
	allocations = 0;
	ok(tls_open(tls_service_at(&tls, 0), random) == NULL, "no memory, no connection");
	allocations = INT_MAX;

	is_int(tls_init(&t, NULL, 0, random, 5), -ERANGE, "a clock that was never set is told");
	tls_wipe(&t);
}

int
main(void)
{
	start();
	test_pieces();
	test_large();
	test_told();
	test_sessions();
	test_end();
	test_refused();
	test_enemy();
	test_limits();
	stop();
	return tap_done();
}
