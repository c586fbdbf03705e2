/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin.c - the process around the engine: one poll loop over listeners, clients and the records socket.
 *
 * Runs unprivileged under the syscall filter.  Its inputs are the world (from the monitor) and whatever the workflow sends;
 * nothing that comes from there is ever handed to the monitor but as the body of a record. */
#include "guest/twin.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "guest/drive.h"
#include "guest/record.h"
#include "guest/service.h"
#include "guest/tls.h"
#include "guest/twin_client.h"
#include "guest/twin_dns.h"
#include "guest/twin_doors.h"
#include "guest/twin_http.h"
#include "guest/twin_records.h"
#include "proto/cursor.h"
#include "proto/plan.h"
#include "proto/sha256.h"

#define FIXED 2u /* polled before the listeners: records, DNS */
#define FINISH_MS 200u
/* Operations leave when there is nothing else to do, when so many bytes of them wait, or after so long: many at once wake the
 * monitor once. */
#define HOLD_BYTES 65536u
#define HOLD_MS 5u
#define NAMES_LEFT_MAX 1024u /* times 64 queries; more than a socket holds */

struct twin {
	const struct twin_start *start;
	struct world world;
	struct http_core core;
	struct records records;
	struct twin_dns dns;
	struct tls tls;
	struct drive drive;
	struct doors doors;
	struct client **clients; /* HTTP_CONNECTIONS_MAX of them, the first clients_len in use */
	size_t clients_len;
	struct pollfd *polls; /* records, DNS, listeners, clients, the twins' own calls */
	size_t calls;         /* of them: where those begin */
	uint64_t begin_ms;
	uint64_t finish_ms; /* when RECORD_FINISH came, 0: not yet */
	uint64_t sent_ms;   /* when operations were sent last */
	bool paused;        /* no descriptor or no memory for one more connection */
};

static uint64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t
tick(struct twin *t)
{
	uint64_t now = clock_ms();

	t->core.t_ms = now - t->begin_ms;
	t->drive.events.now = now;
	return now;
}

static void
drop_client(struct twin *t, size_t i)
{
	client_free(t->clients[i]);
	t->clients[i] = t->clients[--t->clients_len];
	t->clients[t->clients_len] = NULL;
	t->paused = false;
}

static void
accept_client(struct twin *t, size_t service, uint64_t now)
{
	struct client *c;
	int r = client_accept(&t->core, &t->world.services[service], t->start->listeners[service], now, &c);

	if (r == 0)
		t->clients[t->clients_len++] = c;
	else if (r == -ENOMEM)
		t->core.failed = r;
	else
		t->paused = r == -EMFILE || r == -ENFILE || r == -ENOBUFS;
}

/* Before the last brace: which authority signed for the service. */
static void
add_authority(struct twin *t, struct buf *text)
{
	char hex[65];

	sha256_hex(t->tls.sha256, hex);
	text->len--;
	buf_format(text, ",\"ca_sha256\":\"%s\"}", hex);
}

/* Each service's whole state as one record. */
static int
send_states(struct twin *t, uint8_t phase)
{
	for (size_t i = 0; i < t->world.services_len; i++) {
		uint8_t head[2] = { phase, (uint8_t)i };
		struct buf text;
		int r;

		buf_init(&text, RECORD_MAX);
		buf_add(&text, head, sizeof(head));
		r = state_dump(&t->world.services[i].state, t->world.services[i].name, &text);
		if (r == 0 && phase == 1 && t->world.services[i].secure != NULL)
			add_authority(t, &text);
		if (r == 0)
			r = records_send(&t->records, RECORD_STATE, text.at, text.len);
		buf_wipe(&text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
send_truncated(struct twin *t, uint8_t what, uint64_t kept, uint64_t lost)
{
	struct plan_truncated p = { .what = what, .kept = kept, .lost = lost };
	uint8_t body[64];
	struct writer w;

	if (lost == 0)
		return 0;
	writer_init(&w, body, sizeof(body));
	plan_truncated_encode(&w, &p);
	return records_send(&t->records, RECORD_TRUNCATED, body, w.len);
}

/* Every name that was asked is one that was asked, whether or not anybody waits for the answer still. */
static int
finish_names(struct twin *t)
{
	int r = 1;

	for (unsigned i = 0; i < NAMES_LEFT_MAX && r > 0; i++)
		r = twin_dns_serve(&t->dns, &t->core.ops, t->core.t_ms);
	if (r > 0)
		t->core.ops.refused++;
	return r < 0 ? r : twin_dns_sum(&t->dns, &t->core.ops, t->core.t_ms);
}

/* The workflow is dead.  What is still open gets nothing more. */
static int
finish(struct twin *t)
{
	int r;

	while (t->clients_len > 0)
		drop_client(t, t->clients_len - 1);
	doors_tick(&t->doors, &t->core, t->start->listeners);
	http_again(&t->core, true); /* what was sent twice arrives twice, however late */
	if (t->core.failed != 0)
		return t->core.failed;
	if (t->dns.fd >= 0 && (r = finish_names(t)) < 0)
		return r;
	drive_finish(&t->drive, tick(t));
	if (t->drive.failed != 0)
		return t->drive.failed;
	do {
		r = records_pump(&t->records);
		if (r == 0)
			(void)poll(&(struct pollfd){ .fd = t->records.fd, .events = POLLOUT }, 1, -1);
	} while (r == 0);
	if (r < 0 || (r = send_truncated(t, TRUNCATED_OPERATIONS, t->core.ops.len, t->core.ops.refused)) < 0 ||
	    (r = send_truncated(t, TRUNCATED_STATE, t->world.budget.used, t->world.budget.lost)) < 0 ||
	    (r = send_states(t, 2)) < 0)
		return r;
	return records_send(&t->records, RECORD_DONE, NULL, 0);
}

static int
read_record(struct twin *t, uint64_t now)
{
	struct buf body;
	int r;

	buf_init(&body, RECORD_CHUNK);
	r = records_receive(&t->records, RECORD_CHUNK, &body);
	if (r == RECORD_OUTPUT)
		drive_output(&t->drive, body.at == NULL ? "" : body.at, body.len, now);
	else if (r >= 0 && body.len > 0)
		r = -EPROTO;
	buf_wipe(&body);
	if (r == RECORD_STARTED && t->drive.phase == DRIVE_BEFORE)
		drive_started(&t->drive, now);
	if (r < 0 || r == RECORD_OUTPUT || r == RECORD_STARTED)
		return r < 0 ? r : 0;
	if (r != RECORD_FINISH || t->finish_ms != 0)
		return -EPROTO;
	t->finish_ms = now;
	return 0;
}

/* After the end of the workflow: all that it sent is in the sockets already; read on until nothing is left there. */
static bool
is_finished(const struct twin *t, bool quiet, uint64_t now)
{
	return t->finish_ms != 0 && ((quiet && t->clients_len == 0) || now - t->finish_ms >= FINISH_MS);
}

static nfds_t
prepare(struct twin *t, bool records_full)
{
	size_t n = FIXED, listeners = t->world.services_len;
	bool open = !clients_must_wait(&t->core) && t->clients_len < HTTP_CONNECTIONS_MAX && !t->paused;

	t->polls[0] = (struct pollfd){ .fd = t->records.fd,
				       .events = (short)(records_full ? POLLIN | POLLOUT : POLLIN) };
	t->polls[1] = (struct pollfd){ .fd = clients_must_wait(&t->core) ? -1 : t->dns.fd, .events = POLLIN };
	for (size_t i = 0; i < listeners; i++)
		t->polls[n++] = (struct pollfd){ .fd = open && !t->doors.refused[i] ? t->start->listeners[i] : -1,
						 .events = POLLIN };
	for (size_t i = 0; i < t->clients_len; i++) {
		short events = client_events(t->clients[i]);

		/* a client that may do neither is not asked: POLLHUP would come again and again */
		t->polls[n++] = (struct pollfd){ .fd = events != 0 ? client_fd(t->clients[i]) : -1, .events = events };
	}
	t->calls = n;
	return (nfds_t)(n + drive_polls(&t->drive, t->polls + n));
}

/* How long nothing needs to happen, ms. */
static int
patience(const struct twin *t, bool feeding)
{
	int most = t->finish_ms != 0 ? 10 : t->clients_len > 0 ? 250 : -1;
	uint64_t due = doors_wait(&t->core) ? t->core.t_ms + DOORS_MS : http_again_due(&t->core);

	for (size_t i = 0; i < t->clients_len; i++)
		if (client_due(t->clients[i]) < due)
			due = client_due(t->clients[i]);
	if (feeding || due <= t->core.t_ms)
		return 0;
	if (due == UINT64_MAX)
		return most;
	due -= t->core.t_ms;
	if (due > 250)
		due = 250;
	return most >= 0 && most < (int)due ? most : (int)due;
}

/* The same for the twins' own calls, and triggers that are due. */
static int
sooner(const struct twin *t, int ms)
{
	int drive = drive_patience(&t->drive, clock_ms());

	return ms < 0 || (drive >= 0 && drive < ms) ? drive : ms;
}

/* Sends operations if it is time to; idle: there is nothing else to do.  *full: the socket takes no more; *held: some wait for
 * their time. */
static int
send_operations(struct twin *t, bool idle, uint64_t now, bool *full, bool *held)
{
	int r;

	*held = false;
	if (!idle && !*full && t->core.ops.bytes < HOLD_BYTES && now - t->sent_ms < HOLD_MS) {
		*held = t->core.ops.bytes > 0;
		return 0;
	}
	t->sent_ms = now;
	r = records_pump(&t->records);
	*full = r == 0;
	return r < 0 ? r : 0;
}

static int
serve(struct twin *t)
{
	bool full = false, feeding = false, held = false;
	uint64_t now;
	int r, ready;

	for (;;) {
		nfds_t n = prepare(t, full);
		size_t services = t->world.services_len;
		bool quiet = true;

		ready = poll(t->polls, n, held ? 0 : sooner(t, patience(t, feeding)));
		if (ready < 0 && errno != EINTR)
			return -errno;
		now = tick(t);
		if (t->finish_ms == 0)
			drive_serve(&t->drive, t->polls + t->calls, (size_t)n - t->calls, now);
		if (t->core.failed == 0)
			t->core.failed = t->drive.failed;
		/* clients from the end, so that dropping one moves only those already served */
		for (size_t i = t->calls - FIXED - services; i-- > 0;)
			if (!client_serve(t->clients[i], t->polls[FIXED + services + i].revents, now))
				drop_client(t, i);
		for (size_t i = t->clients_len; i-- > 0;)
			if (!client_flush(t->clients[i], now))
				drop_client(t, i);
		for (size_t i = 0; i < services; i++) {
			if ((t->polls[FIXED + i].revents & POLLIN) == 0)
				continue;
			quiet = false;
			if (t->clients_len < HTTP_CONNECTIONS_MAX)
				accept_client(t, i, now);
		}
		if (t->polls[1].revents != 0) {
			quiet = false;
			if (twin_dns_serve(&t->dns, &t->core.ops, t->core.t_ms) < 0)
				return -ENOMEM;
		}
		http_again(&t->core, false);
		doors_tick(&t->doors, &t->core, t->start->listeners);
		if (t->core.failed != 0)
			return t->core.failed;
		if ((r = send_operations(t, ready == 0, now, &full, &held)) < 0)
			return r;
		feeding = false;
		for (size_t i = 0; i < t->clients_len; i++)
			feeding = feeding || client_is_ready(t->clients[i]);
		if ((t->polls[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && (r = read_record(t, now)) < 0)
			return r;
		if (is_finished(t, quiet && t->polls[0].revents == 0, now))
			return finish(t);
	}
}

static int
configure(struct twin *t, char *error, size_t size)
{
	struct buf text;
	uint64_t key[2];
	int r;

	buf_init(&text, TWINS_JSON_MAX);
	r = records_receive(&t->records, TWINS_JSON_MAX, &text);
	t->begin_ms = clock_ms();
	if (r != RECORD_CONFIG) {
		snprintf(error, size, "no configuration came");
		r = r < 0 ? r : -EPROTO;
	} else if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
		snprintf(error, size, "no random numbers");
		r = -EIO;
	} else {
		r = world_read(&t->world, text.at == NULL ? "" : text.at, text.len, key, error, size);
	}
	buf_wipe(&text);
	if (r == 0 && t->world.services_len != t->start->listeners_len) {
		snprintf(error, size, "%zu services but %zu listeners", t->world.services_len, t->start->listeners_len);
		r = -EPROTO;
	}
	if (r < 0)
		return r;
	t->clients = calloc(HTTP_CONNECTIONS_MAX, sizeof(struct client *));
	t->polls = calloc(FIXED + t->world.services_len + HTTP_CONNECTIONS_MAX + DRIVE_POLLS_MAX, sizeof(*t->polls));
	if (t->clients == NULL || t->polls == NULL) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	http_core_init(&t->core, &t->world);
	t->records.ops = &t->core.ops;
	drive_init(&t->drive, &t->core, &t->records);
	r = twin_dns_init(&t->dns, t->start, &t->world);
	if (r < 0)
		snprintf(error, size, "out of memory");
	return r;
}

/* Certificates for the services that speak TLS; the monitor gets the authority's. */
static int
secure(struct twin *t)
{
	struct tls_name names[PLAN_SERVICES_MAX];
	uint8_t random[TLS_RANDOM_LEN];
	struct timespec now;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < t->world.services_len; i++)
		if (t->world.services[i].tls)
			names[n++] = (struct tls_name){ t->world.services[i].hosts, t->world.services[i].hosts_len };
	if (n == 0)
		return 0;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	clock_gettime(CLOCK_REALTIME, &now);
	r = tls_init(&t->tls, names, n, random, now.tv_sec);
	explicit_bzero(random, sizeof(random));
	if (r < 0)
		return r;
	n = 0;
	for (size_t i = 0; i < t->world.services_len; i++)
		if (t->world.services[i].tls)
			t->world.services[i].secure = tls_service_at(&t->tls, n++);
	return records_send(&t->records, RECORD_CA, t->tls.pem, t->tls.pem_len);
}

static int
run(struct twin *t, char *error, size_t size)
{
	int r = configure(t, error, size);

	if (r < 0)
		return r;
	r = secure(t);
	if (r == 0)
		r = send_states(t, 1);
	if (r == 0) {
		doors_tick(&t->doors, &t->core, t->start->listeners); /* before anybody can come */
		r = t->core.failed;
	}
	if (r == 0)
		r = records_send(&t->records, RECORD_SERVING, NULL, 0);
	if (r == 0)
		r = serve(t);
	if (r == -E2BIG)
		snprintf(error, size, "count() or sum() over more than %u rows: no value is better than a wrong one",
			 LANG_VISIT_MAX);
	else if (r == -ENOMEM)
		snprintf(error, size, "out of memory");
	else if (r < 0 && t->doors.failed != NULL)
		snprintf(error, size, "fault %s cannot be had here: %s; write \"end\": \"stall\"", t->doors.failed,
			 errno_name(-r));
	else if (r < 0 && error[0] == '\0')
		snprintf(error, size, "the twins cannot go on: %s", errno_name(-r));
	return r;
}

/* see twin.h */
int
twin_main(const struct twin_start *start)
{
	struct twin *t = calloc(1, sizeof(*t));
	char error[1024] = "";
	int r;

	if (t == NULL) {
		struct records records;

		records_init(&records, start->records);
		(void)!records_send(&records, RECORD_FAILED, "out of memory", 13);
		return 1;
	}
	t->start = start;
	records_init(&t->records, start->records);
	r = run(t, error, sizeof(error));
	if (r < 0) {
		/* the record that says why is the last one, whatever else would still wait */
		(void)!records_pump(&t->records);
		t->records.ops = NULL;
		t->records.leaving = t->records.leaving && t->records.sent > 0;
		(void)!records_send(&t->records, RECORD_FAILED, error, strlen(error));
	}
	while (t->clients_len > 0)
		drop_client(t, t->clients_len - 1);
	if (t->core.world != NULL) {
		drive_wipe(&t->drive);
		http_core_wipe(&t->core);
	}
	twin_dns_wipe(&t->dns);
	tls_wipe(&t->tls);
	world_free(&t->world);
	records_wipe(&t->records);
	free(t->clients);
	free(t->polls);
	free(t);
	return r < 0 ? 1 : 0;
}
