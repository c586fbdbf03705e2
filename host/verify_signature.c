/* SPDX-License-Identifier: GPL-2.0-or-later
 * verify_signature.c - the envelope in integrity.signature: every byte of it is either recomputed or signed. */
#include <cJSON.h>
#include <errno.h>
#include <string.h>

#include "host/attest.h"
#include "host/base64.h"
#include "host/json.h"
#include "host/verify.h"
#include "proto/sha256.h"

struct envelope {
	uint8_t statement[ATTEST_MAX], sig[SIGN_DER_MAX];
	size_t statement_len, sig_len;
	struct sign_public key; /* that it names as its own */
};

static bool
decode(const char *text, uint8_t *out, size_t size, size_t *len)
{
	long n = text ? base64_bytes(text, strlen(text), out, size) : -EPROTO;

	*len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* NULL, or what is wrong.  text: the member's bytes in the file. */
static const char *
take(const cJSON *signature, const char *text, size_t len, struct envelope *e)
{
	const cJSON *list = json_get(signature, "signatures"), *one = list ? list->child : NULL;
	const char *key = json_get_text(signature, "public_key");
	char again[ATTEST_MAX];
	size_t n;

	if (!decode(json_get_text(signature, "payload"), e->statement, sizeof(e->statement), &e->statement_len))
		return "its payload is not base64";
	if (!decode(json_get_text(one, "sig"), e->sig, sizeof(e->sig), &e->sig_len))
		return "its sig is not base64";
	if (!key || sign_public_parse(key, &e->key) < 0)
		return "its public_key is no key of P-256";
	/* The same parts written again: no byte of the envelope is left that could be another one. */
	n = attest_print((const char *)e->statement, e->statement_len, e->sig, e->sig_len, &e->key, again);
	return n != len || memcmp(again, text, len) != 0 ? "it is not as it was written" : NULL;
}

/* The file with null in its place. */
static int
digest_without(struct verify *v, uint8_t out[static 32])
{
	static char buf[65536];
	uint64_t at = 0, end = v->doc->signature_at, n;
	struct sha256 h;
	int r;

	sha256_init(&h);
	while (at < v->doc->size) {
		n = end - at < sizeof(buf) ? end - at : sizeof(buf);
		if (n && (r = receipt_bytes(v->doc, at, buf, (size_t)n)) < 0)
			return r;
		sha256_add(&h, buf, (size_t)n);
		at += n;
		if (at == v->doc->signature_at) {
			sha256_add(&h, "null", 4);
			at += v->doc->signature_len;
			end = v->doc->size;
		}
	}
	sha256_get(&h, out);
	return 0;
}

static unsigned
digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

static bool
hex(const char *text, uint8_t out[static 32])
{
	size_t i;

	if (!json_is_sha256(text))
		return false;
	for (i = 0; i < 32; i++)
		out[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	return true;
}

/* The statement must be the one that this receipt has: made again from it, with the event file's digest taken from the statement. */
static bool
is_about(struct verify *v, const struct envelope *e, const uint8_t digest[static 32])
{
	const cJSON *r = v->doc->rest, *run = json_get(r, "run"), *code = json_get(r, "exit_code"), *subject;
	char text[ATTEST_MAX], why[160];
	struct attest a = { 0 };
	cJSON *doc;
	size_t n;

	memcpy(a.receipt, digest, 32);
	doc = json_take((const char *)e->statement, e->statement_len, ATTEST_MAX, why);
	subject = json_get(doc, "subject");
	subject = subject && subject->child ? subject->child->next : NULL;
	if (!hex(json_get_text(json_get(subject, "digest"), "sha256"), a.events) || !cJSON_IsNumber(code)) {
		cJSON_Delete(doc);
		return false;
	}
	cJSON_Delete(doc);
	a.run_id = json_get_text(run, "id");
	a.status = json_get_text(r, "status");
	a.fingerprint = json_get_text(run, "fingerprint");
	a.world_sha256 = json_get_text(json_get(run, "world"), "sha256");
	a.guest_sha256 = json_get_text(json_get(json_get(r, "runtime"), "guest"), "sha256");
	a.exit_code = (int64_t)code->valuedouble;
	if (!a.run_id || !json_get_u64(run, "seed", UINT64_MAX, &a.seed))
		return false;
	n = attest_statement(&a, text);
	memcpy(v->signed_events, a.events, 32);
	return n == e->statement_len && memcmp(text, e->statement, n) == 0;
}

static void
judge(struct verify *v, const struct envelope *e, const uint8_t digest[static 32])
{
	char text[ATTEST_SIGNED_MAX];
	size_t n = attest_signed((const char *)e->statement, e->statement_len, text);

	if (!sign_check(&e->key, text, n, e->sig, e->sig_len))
		verify_say(v, VERIFY_WRONG, "signature", "it is not one of key %.16s over its statement", e->key.id);
	else if (!is_about(v, e, digest))
		verify_say(v, VERIFY_WRONG, "signature",
			   "its statement is not about this receipt: the receipt was changed");
	else if (v->key && strcmp(v->key->id, e->key.id) != 0)
		verify_say(v, VERIFY_WRONG, "signature", "it is of key %.16s, not of the given one, %.16s", e->key.id,
			   v->key->id);
	else
		v->is_signed = v->anchored = true;
	if (!v->is_signed)
		return;
	verify_say(v, VERIFY_GOOD, "signature", "of key %s: nothing in the receipt was changed since", e->key.id);
	if (!v->key)
		verify_say(v, VERIFY_CANNOT, "signer",
			   "whose key that is: give it with --key, from a source that you trust");
}

int
verify_signature(struct verify *v)
{
	const cJSON *signature = json_get(json_get(v->doc->rest, "integrity"), "signature");
	char text[ATTEST_MAX];
	static struct envelope e; /* large */
	const char *problem;
	uint8_t digest[32];
	int r;

	if (cJSON_IsNull(signature) && v->key)
		verify_say(v, VERIFY_WRONG, "signature", "there is none, and one by the given key is wanted");
	else if (cJSON_IsNull(signature))
		verify_say(v, VERIFY_CANNOT, "signature",
			   "there is none: whoever could write the files could change them");
	if (cJSON_IsNull(signature))
		return 0;
	if (!v->doc->signature_at || v->doc->signature_len >= sizeof(text)) {
		verify_say(v, VERIFY_WRONG, "signature", "the member is missing, or too large");
		return 0;
	}
	if ((r = receipt_bytes(v->doc, v->doc->signature_at, text, (size_t)v->doc->signature_len)) < 0 ||
	    (r = digest_without(v, digest)) < 0)
		return r;
	problem = take(signature, text, (size_t)v->doc->signature_len, &e);
	if (problem)
		verify_say(v, VERIFY_WRONG, "signature", "%s", problem);
	else
		judge(v, &e, digest);
	return 0;
}
