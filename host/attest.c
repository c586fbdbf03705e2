/* SPDX-License-Identifier: GPL-2.0-or-later
 * attest.c - see attest.h. */
#include "host/attest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base64.h"
#include "proto/cursor.h"
#include "proto/sha256.h"

static void
subject(struct writer *w, const char *run_id, const char *suffix, const uint8_t digest[static 32])
{
	char hex[65], name[200];

	snprintf(name, sizeof(name), "%.100s%s", run_id, suffix);
	sha256_hex(digest, hex);
	write_text(w, "{\"name\":");
	json_text(w, name);
	write_format(w, ",\"digest\":{\"sha256\":\"%s\"}}", hex);
}

size_t
attest_statement(const struct attest *a, char out[static ATTEST_MAX])
{
	struct writer w;

	writer_init(&w, out, ATTEST_MAX - 1);
	write_text(&w, "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[");
	subject(&w, a->run_id, ".json", a->receipt);
	write_text(&w, ",");
	subject(&w, a->run_id, ".events.jsonl", a->events);
	write_text(&w, "],\"predicateType\":\"" ATTEST_PREDICATE "\",\"predicate\":{\"run\":");
	json_text(&w, a->run_id);
	write_text(&w, ",\"status\":");
	json_text(&w, a->status);
	write_format(&w, ",\"exit_code\":%" PRId64 ",\"seed\":%" PRIu64, a->exit_code, a->seed);
	write_text(&w, ",\"world_sha256\":");
	json_text(&w, a->world_sha256);
	write_text(&w, ",\"guest_sha256\":");
	json_text(&w, a->guest_sha256);
	write_text(&w, ",\"fingerprint\":");
	json_text(&w, a->fingerprint);
	write_text(&w, "}}");
	out[w.len] = '\0';
	return w.failed ? 0 : w.len;
}

size_t
attest_signed(const char *statement, size_t len, char out[static ATTEST_SIGNED_MAX])
{
	int n = snprintf(out, ATTEST_SIGNED_MAX, "DSSEv1 %zu %s %zu ", strlen(ATTEST_TYPE), ATTEST_TYPE, len);

	memcpy(out + n, statement, len);
	return (size_t)n + len;
}

static void
base64(struct writer *w, const void *data, size_t len)
{
	char text[BASE64_LEN(ATTEST_MAX)];

	write_text(w, "\"");
	write_bytes(w, text, base64_text(data, len, text));
	write_text(w, "\"");
}

size_t
attest_print(const char *statement, size_t len, const uint8_t *sig, size_t sig_len, const struct sign_public *p,
	     char out[static ATTEST_MAX])
{
	char pem[SIGN_PEM_MAX];
	struct writer w;

	sign_public_pem(p, pem);
	writer_init(&w, out, ATTEST_MAX - 1);
	write_text(&w, "{\"payloadType\":\"" ATTEST_TYPE "\",\"payload\":");
	base64(&w, statement, len);
	write_text(&w, ",\"signatures\":[{\"keyid\":");
	json_text(&w, p->id);
	write_text(&w, ",\"sig\":");
	base64(&w, sig, sig_len);
	write_text(&w, "}],\"public_key\":");
	json_text(&w, pem);
	write_text(&w, "}");
	out[w.len] = '\0';
	return w.failed ? 0 : w.len;
}

size_t
attest_envelope(const struct attest *a, const struct sign_key *k, char out[static ATTEST_MAX])
{
	char statement[ATTEST_MAX], text[ATTEST_SIGNED_MAX];
	uint8_t sig[SIGN_DER_MAX];
	size_t len = attest_statement(a, statement), sig_len;

	if (!len)
		return 0;
	sig_len = sign_make(k, text, attest_signed(statement, len, text), sig);
	return sig_len ? attest_print(statement, len, sig, sig_len, &k->public, out) : 0;
}

/* The member stands on a line of its own, as emit.c writes it, and nothing else in a receipt begins so: within a string a line
 * feed is escaped, and what is copied into a receipt is compact. */
int64_t
attest_find(const char *tail, size_t tail_len, uint64_t size, size_t *len)
{
	static const char lead[] = "\n    \"signature\": ";
	const char *at = NULL, *p = tail, *end = tail + tail_len, *eol;

	while ((p = memmem(p, (size_t)(end - p), lead, sizeof(lead) - 1)))
		at = p += sizeof(lead) - 1;
	if (!at || !(eol = memchr(at, '\n', (size_t)(end - at))))
		return -EPROTO;
	*len = (size_t)(eol - at);
	if (*len && at[*len - 1] == ',')
		(*len)--;
	return (int64_t)(size - (uint64_t)(end - at));
}

int
attest_digest(int fd, uint64_t from, uint64_t to, struct sha256 *h)
{
	uint8_t buf[8192];
	size_t want;
	ssize_t n;

	while (from < to) {
		want = to - from < sizeof(buf) ? (size_t)(to - from) : sizeof(buf);
		n = pread(fd, buf, want, (off_t)from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return to == UINT64_MAX ? 0 : -EIO;
		sha256_add(h, buf, (size_t)n);
		from += (uint64_t)n;
	}
	return 0;
}

static int
put(FILE *f, uint64_t at, const char *head, size_t head_len, const char *rest, size_t rest_len)
{
	errno = 0;
	if (fseeko(f, (off_t)at, SEEK_SET) < 0 || fwrite(head, 1, head_len, f) != head_len ||
	    fwrite(rest, 1, rest_len, f) != rest_len || fflush(f) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* Puts text where null stands. */
static int
splice(FILE *f, uint64_t size, const char *text, size_t text_len)
{
	size_t have = size < ATTEST_TAIL ? (size_t)size : ATTEST_TAIL, len;
	char *tail = malloc(have + 1);
	ssize_t n = tail ? pread(fileno(f), tail, have, (off_t)(size - have)) : -1;
	int64_t at;
	int r = -EIO;

	if (n == (ssize_t)have) {
		at = attest_find(tail, have, size, &len);
		if (at >= 0 && len == 4 && memcmp(tail + (have - (size - (uint64_t)at)), "null", 4) == 0)
			r = put(f, (uint64_t)at, text, text_len, tail + (have - (size - (uint64_t)at)) + 4,
				(size_t)(size - (uint64_t)at) - 4);
		else
			r = -EPROTO;
	} else if (!tail) {
		r = -ENOMEM;
	}
	free(tail);
	return r;
}

int
attest_sign(FILE *f, int events_fd, struct attest *a, const struct sign_key *k)
{
	char text[ATTEST_MAX];
	struct sha256 h;
	off_t size;
	size_t len;
	int r;

	errno = 0;
	if (fflush(f) != 0 || (size = ftello(f)) < 0)
		return errno ? -errno : -EIO;
	sha256_init(&h);
	if ((r = attest_digest(fileno(f), 0, (uint64_t)size, &h)) < 0)
		return r;
	sha256_get(&h, a->receipt);
	sha256_init(&h);
	if ((r = attest_digest(events_fd, 0, UINT64_MAX, &h)) < 0)
		return r;
	sha256_get(&h, a->events);
	len = attest_envelope(a, k, text);
	return len ? splice(f, (uint64_t)size, text, len) : -EIO;
}
