/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_x509.c - certificates byte by byte, and as openssl reads and verifies them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/x509.h"
#include "tests/lib/tap.h"

#define NOW 1800000000 /* 2027-01-15 */

static uint8_t seed[X509_SEED_LEN], serial[X509_SERIAL_LEN];
static char folder[] = "/tmp/agenttwin-x509.XXXXXX";

struct tlv {
	unsigned tag;
	const uint8_t *at;
	size_t len;
};

/* The object at *p, which moves behind it.  False: it does not lie within end, or its length is not the shortest form. */
static bool
next(const uint8_t **p, const uint8_t *end, struct tlv *t)
{
	const uint8_t *s = *p;
	size_t n;

	if (end - s < 2)
		return false;
	t->tag = s[0];
	t->len = s[1];
	s += 2;
	if (t->len >= 128) {
		n = t->len & 0x7f;
		if (n == 0 || n > 3 || end - s < (long)n || s[0] == 0)
			return false;
		for (t->len = 0; n > 0; n--)
			t->len = t->len << 8 | *s++;
		if (t->len < 128)
			return false;
	}
	t->at = s;
	*p = s + t->len;
	return (size_t)(end - s) >= t->len;
}

/* Every object is well formed, down to the leaves. */
static bool
is_der(const uint8_t *p, const uint8_t *end)
{
	struct tlv t;

	while (p < end) {
		if (!next(&p, end, &t))
			return false;
		if (t.tag & 0x20 && !is_der(t.at, t.at + t.len))
			return false;
	}
	return p == end;
}

static bool
contains(const uint8_t *at, size_t len, const void *what, size_t what_len)
{
	return memmem(at, len, what, what_len) != NULL;
}

static void
write_file(const char *name, const void *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		abort();
}

/* What a command of openssl prints, in the folder of the files. */
static const char *
openssl(const char *arguments)
{
	static char out[131072];
	char command[512];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "cd %s && openssl %s 2>&1", folder, arguments);
	f = popen(command, "r");
	n = f == NULL ? 0 : fread(out, 1, sizeof(out) - 1, f);
	out[n] = '\0';
	if (f != NULL)
		pclose(f);
	return out;
}

static bool
says(const char *text, const char *part)
{
	if (strstr(text, part) != NULL)
		return true;
	printf("# not in the text: %s\n", part);
	return false;
}

static void
bytes(void)
{
	static const uint8_t
		constraints[] = { 0x06, 3, 0x55, 0x1d, 19, 1, 1, 0xff, 4, 8, 0x30, 6, 1, 1, 0xff, 2, 1, 0 },
		leaf_constraints[] = { 0x06, 3, 0x55, 0x1d, 19, 1, 1, 0xff, 4, 2, 0x30, 0 },
		usage[] = { 0x06, 3, 0x55, 0x1d, 15, 1, 1, 0xff, 4, 4, 3, 2, 1, 0x06 },
		leaf_usage[] = { 0x06, 3, 0x55, 0x1d, 15, 1, 1, 0xff, 4, 4, 3, 2, 7, 0x80 },
		names[] = "\x30\x0c\x82\x03"
			  "a.b"
			  "\x82\x05"
			  "c.d.e",
		version[] = { 0xa0, 3, 2, 1, 2, 2, 16, 0x7f, 0xff },
		before[] = "\x17\x0d"
			   "270114080000Z",
		after[] = "\x17\x0d"
			  "270214080000Z";
	static const char *const hosts[] = { "a.b", "c.d.e" };
	struct x509_authority a, b;
	struct x509_key key;
	uint8_t leaf[2048];
	long n;

	memset(serial, 0xff, sizeof(serial));
	is_int(x509_authority_make(&a, seed, serial, NOW), 0, "an authority is made");
	ok(is_der(a.der, a.der + a.der_len), "it is DER");
	ok(contains(a.der, a.der_len, constraints, sizeof(constraints)), "CA:TRUE, critical, no authority below it");
	ok(contains(a.der, a.der_len, usage, sizeof(usage)), "it may sign certificates, and nothing else");
	ok(contains(a.der, a.der_len, version, sizeof(version)), "version 3, a positive serial number of 16 bytes");
	ok(contains(a.der, a.der_len, before, sizeof(before) - 1), "valid from a day before");
	ok(contains(a.der, a.der_len, after, sizeof(after) - 1), "until 30 days after");
	is_int(x509_authority_make(&b, seed, serial, NOW), 0, "again");
	ok(a.der_len == b.der_len && memcmp(a.der, b.der, a.der_len) == 0, "the same from the same bytes");
	seed[0]++;
	is_int(x509_key_make(&key, seed), 0, "a key is made");
	ok(memcmp(key.public, a.key.public, sizeof(key.public)) != 0, "another from other bytes");
	n = x509_leaf_make(&a, &key, hosts, 2, serial, NOW, leaf, sizeof(leaf));
	ok(n > 0 && is_der(leaf, leaf + n), "a leaf is DER");
	ok(contains(leaf, (size_t)n, leaf_constraints, sizeof(leaf_constraints)), "CA:FALSE");
	ok(contains(leaf, (size_t)n, leaf_usage, sizeof(leaf_usage)), "it may sign handshakes");
	ok(contains(leaf, (size_t)n, names, sizeof(names) - 1), "both hosts are its names");
	ok(!contains(leaf, (size_t)n, key.secret, 32) && !contains(leaf, (size_t)n, a.key.secret, 32),
	   "no secret is in it");
	for (size_t size = 0; size < (size_t)n; size++)
		if (x509_leaf_make(&a, &key, hosts, 2, serial, NOW, leaf, size) != -ENOSPC) {
			ok(false, "a room of %zu bytes is too small", size);
			break;
		}
	ok(true, "a room that is too small is said, whatever its size");
	is_int(x509_authority_make(&b, seed, serial, 0), -ERANGE, "no clock, no certificate");
	is_int(x509_authority_make(&b, seed, serial, INT64_MAX), -ERANGE, "nor in the year 10000");
	is_int(x509_authority_make(&b, seed, serial, 2524608000 + 86400), 0, "made in 2050");
	ok(contains(b.der, b.der_len,
		    "\x18\x0f"
		    "20500101000000Z",
		    17),
	   "the year has four digits from then on");
	x509_forget(&a);
	memset(leaf, 0, sizeof(leaf));
	ok(memcmp(a.key.secret, leaf, 32) == 0, "a forgotten key is gone");
}

static void
many_hosts(void)
{
	static char texts[1000][64];
	static const char *hosts[1000];
	struct x509_authority a;
	struct x509_key key;
	size_t size;
	uint8_t *out;
	long n;

	for (size_t i = 0; i < 1000; i++) {
		snprintf(texts[i], sizeof(texts[i]), "host-%zu.a-name-that-is-rather-long-for-a-test.example", i);
		hosts[i] = texts[i];
	}
	size = x509_leaf_max(hosts, 1000);
	out = malloc(size);
	if (out == NULL || x509_authority_make(&a, seed, serial, NOW) < 0 || x509_key_make(&key, seed) < 0)
		abort();
	n = x509_leaf_make(&a, &key, hosts, 1000, serial, NOW, out, size);
	ok(n > 50000 && is_der(out, out + n), "1,000 hosts in one leaf");
	write_file("many.der", out, (size_t)n);
	free(out);
}

static void
by_openssl(void)
{
	static char long_name[200];
	static const char *const hosts[] = { "api.stripe.com", "files.stripe.com" }, *const odd[] = { long_name };
	char pem[X509_PEM_MAX];
	struct x509_authority a, other;
	struct x509_key key;
	uint8_t leaf[2048];
	const char *text;
	size_t len;
	long n;

	if (system("openssl version >/dev/null 2>&1") != 0) {
		skip("what openssl says: openssl is not installed");
		return;
	}
	for (size_t i = 0; i < 190; i++)
		long_name[i] = i % 50 == 49 ? '.' : 'x';
	seed[1]++;
	if (x509_authority_make(&a, seed, serial, NOW) < 0 || x509_key_make(&key, seed) < 0)
		abort();
	len = x509_pem(&a, pem);
	ok(len > 0 && strlen(pem) == len && strncmp(pem, "-----BEGIN CERTIFICATE-----\n", 28) == 0, "PEM");
	write_file("ca.pem", pem, len);
	n = x509_leaf_make(&a, &key, hosts, 2, serial, NOW, leaf, sizeof(leaf));
	write_file("leaf.der", leaf, (size_t)n);
	seed[1]++;
	if (x509_authority_make(&other, seed, serial, NOW) < 0)
		abort();
	len = x509_pem(&other, pem);
	write_file("other.pem", pem, len);
	n = x509_leaf_make(&a, &key, odd, 1, serial, NOW, leaf, sizeof(leaf));
	write_file("odd.der", leaf, (size_t)n);
	text = openssl("x509 -in ca.pem -noout -text");
	ok(says(text, "Version: 3 (0x2)") && says(text, "CA:TRUE, pathlen:0") &&
		   says(text, "Certificate Sign, CRL Sign") && says(text, "X509v3 Subject Key Identifier") &&
		   says(text, "ecdsa-with-SHA256") && says(text, "prime256v1") && says(text, "AgentTwin run "),
	   "openssl reads the authority");
	text = openssl("x509 -inform DER -in leaf.der -noout -text");
	ok(says(text, "CA:FALSE") && says(text, "Digital Signature") && says(text, "TLS Web Server Authentication") &&
		   says(text, "DNS:api.stripe.com, DNS:files.stripe.com") && says(text, "CN = api.stripe.com") &&
		   says(text, "X509v3 Authority Key Identifier"),
	   "and the leaf");
	openssl("x509 -inform DER -in leaf.der -out leaf.pem; openssl x509 -inform DER -in odd.der -out odd.pem; "
		"openssl x509 -inform DER -in many.der -out many.pem");
	ok(says(openssl("verify -x509_strict -attime 1800000000 -purpose sslserver -verify_hostname files.stripe.com "
			"-CAfile ca.pem leaf.pem"),
		"leaf.pem: OK"),
	   "the leaf verifies, strictly, for its second host");
	ok(says(openssl("verify -attime 1800000000 -verify_hostname evil.example -CAfile ca.pem leaf.pem"),
		"hostname mismatch"),
	   "not for another host");
	ok(!strstr(openssl("verify -attime 1800000000 -CAfile other.pem leaf.pem"), "OK"), "not by another authority");
	ok(says(openssl("verify -attime 1803000000 -CAfile ca.pem leaf.pem"), "expired"), "not after a month");
	ok(says(openssl("verify -x509_strict -attime 1800000000 -CAfile ca.pem odd.pem"), "odd.pem: OK"),
	   "a host that is too long for a common name stands among the names alone");
	ok(says(openssl("x509 -in many.pem -noout -ext subjectAltName"), "host-999."), "the thousandth host is read");
}

int
main(void)
{
	char command[128];

	if (mkdtemp(folder) == NULL)
		abort();
	bytes();
	many_hosts();
	by_openssl();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		printf("# %s is left\n", folder);
	return tap_done();
}
