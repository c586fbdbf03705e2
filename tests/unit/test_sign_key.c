/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_sign_key.c - base64, keys and their files, and what is signed of a receipt; openssl is the outside judge. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/attest.h"
#include "host/base64.h"
#include "host/diag.h"
#include "host/sign_key.h"
#include "proto/sha256.h"
#include "tests/lib/tap.h"

static char folder[] = "/tmp/agenttwin-sign.XXXXXX";

static const char *
in(const char *name)
{
	static char path[4][200];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, 200, "%s/%s", folder, name);
	return p;
}

static void
write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) < 0)
		exit(1);
	close(fd);
}

/* A command in the folder; its exit status. */
static int
sh(const char *command)
{
	char text[1200];
	int r;

	snprintf(text, sizeof(text), "cd %s && { %s ; } >out 2>&1", folder, command);
	r = system(text);
	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

static void
test_base64(void)
{
	static const struct {
		const char *bytes, *text;
	} good[] = { { "", "" },
		     { "f", "Zg==" },
		     { "fo", "Zm8=" },
		     { "foo", "Zm9v" },
		     { "foob", "Zm9vYg==" },
		     { "fooba", "Zm9vYmE=" },
		     { "foobar", "Zm9vYmFy" } };
	static const char *const bad[] = { "Z",    "Zg",   "Zg=",  "Zh==", "Zm9=", "Zm8=Zm8=",
					   "Z===", "====", "Zm 8", "Zm8-", "Z=g=" };
	uint8_t out[16];
	char text[32];
	size_t i, n;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		n = base64_text(good[i].bytes, strlen(good[i].bytes), text);
		text[n] = '\0';
		is_str(text, good[i].text, "encoded as RFC 4648 has it");
		is_int((long long)n, (long long)BASE64_LEN(strlen(good[i].bytes)), "and as long");
		is_int(base64_bytes(text, n, out, sizeof(out)), (long long)strlen(good[i].bytes), "decoded");
		ok(memcmp(out, good[i].bytes, strlen(good[i].bytes)) == 0, "to what it was");
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(base64_bytes(bad[i], strlen(bad[i]), out, sizeof(out)) == -EPROTO, "\"%s\" is refused", bad[i]);
	is_int(base64_bytes("Zm9vYmFy", 8, out, 5), -EMSGSIZE, "no room");
}

static void
test_files(struct sign_key *k)
{
	struct diag d = { 0 };
	struct sign_key again;
	struct sign_public p;
	struct stat st;

	is_int(sign_key_make(k), 0, "a key");
	is_int(sign_key_write(in("key"), k, &d), 0, "is written");
	ok(stat(in("key"), &st) == 0 && (st.st_mode & 07777) == 0600, "for its owner only");
	is_int(sign_key_read(in("key"), &again, &d), 0, "is read again");
	ok(memcmp(&again, k, sizeof(again)) == 0, "and is the same");
	is_int(sign_public_read(in("key.pub"), &p, &d), 0, "its public part is read");
	is_str(p.id, k->public.id, "and has its id");
	is_int(sign_public_read(in("key"), &p, &d), 0, "the public part of the secret file");
	is_str(p.id, k->public.id, "is the same");
	memset(&d, 0, sizeof(d));
	is_int(sign_key_write(in("key"), &again, &d), -EEXIST, "a key is never overwritten");
	ok(strstr(d.fix, "another name") != NULL, "which is said");
	unlink(in("key"));
	is_int(sign_key_write(in("key"), &again, &d), -EEXIST, "nor is a public one");
	ok(access(in("key"), F_OK) < 0, "then the secret one is not left behind");
	unlink(in("key.pub"));
	is_int(sign_key_write(in("key"), k, &d), 0, "written once more");
	is_int(sign_key_write(in("none/key"), k, &d), -ENOENT, "a folder that is not there");
	is_int(sign_key_read(folder, &again, &d), -EINVAL, "a folder is no key");
	is_int(sign_key_read(in("nothing"), &again, &d), -ENOENT, "what is not there");
	chmod(in("key"), 0640);
	memset(&d, 0, sizeof(d));
	is_int(sign_key_read(in("key"), &again, &d), -EPERM, "a key that others may read");
	ok(strstr(d.fix, "chmod 600") != NULL, "is refused with the fix");
	ok(again.secret[0] == 0 && again.public.id[0] == '\0', "and nothing of it is left in memory");
	chmod(in("key"), 0600);
}

static void
test_foreign(void)
{
	struct diag d = { 0 };
	struct sign_key k;
	struct sign_public p;
	char large[SIGN_FILE_MAX + 10];

	write_file("empty", "", 0600);
	is_int(sign_key_read(in("empty"), &k, &d), -EPROTO, "an empty file");
	write_file("text", "hello\n-----BEGIN EC PRIVATE KEY-----\n", 0600);
	is_int(sign_key_read(in("text"), &k, &d), -EPROTO, "a key that begins only");
	write_file("rubbish", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0600);
	is_int(sign_key_read(in("rubbish"), &k, &d), -EPROTO, "a key that is none");
	is_int(sign_public_read(in("rubbish"), &p, &d), -EPROTO, "neither way");
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	write_file("large", large, 0600);
	is_int(sign_key_read(in("large"), &k, &d), -EFBIG, "a file too large for a key");
	is_int(sign_key_read(in("key.pub"), &k, &d), -EPERM, "a public key has a public mode");
	chmod(in("key.pub"), 0600);
	is_int(sign_key_read(in("key.pub"), &k, &d), -EPROTO, "and is no secret one");
	ok(strstr(d.problem, "public key") != NULL, "which is said");
	if (sh("openssl version") != 0) {
		skip("openssl is not installed");
		return;
	}
	is_int(sh("umask 077 && openssl ecparam -name prime256v1 -genkey -out sec1"), 0, "openssl makes a SEC 1 key");
	is_int(sign_key_read(in("sec1"), &k, &d), 0, "which is read, past its parameters");
	is_int(sh("umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out p8 && openssl pkey -in p8 -pubout -out p8.pub"),
	       0, "and a PKCS#8 key");
	is_int(sign_key_read(in("p8"), &k, &d), 0, "which is read");
	is_int(sign_public_read(in("p8.pub"), &p, &d), 0, "and its public part");
	is_str(p.id, k.public.id, "of the same id");
	is_int(sh("openssl pkey -pubin -in p8.pub -outform DER | sha256sum | cut -c1-64 | tr -d '\\n' >id"), 0,
	       "openssl's id");
	{
		char id[80] = "";
		int fd = open(in("id"), O_RDONLY);

		ok(fd >= 0 && read(fd, id, 79) == 64 && strcmp(id, p.id) == 0, "is the same");
		close(fd);
	}
	is_int(sh("umask 077 && openssl ecparam -name secp384r1 -genkey -noout -out p384"), 0, "a key of P-384");
	is_int(sign_key_read(in("p384"), &k, &d), -EPROTO, "is refused");
	is_int(sh("umask 077 && openssl genrsa -out rsa 2048"), 0, "an RSA key");
	is_int(sign_key_read(in("rsa"), &k, &d), -EPROTO, "is refused");
	is_int(sh("umask 077 && openssl pkcs8 -topk8 -in p8 -passout pass:x -out locked"), 0,
	       "a key with a passphrase");
	is_int(sign_key_read(in("locked"), &k, &d), -EPROTO, "is refused");
	ok(strstr(d.problem, "passphrase") != NULL, "for that reason");
}

static void
test_signature(const struct sign_key *k)
{
	uint8_t sig[SIGN_DER_MAX];
	size_t n = sign_make(k, "hello", 5, sig), i, caught = 0;
	unsigned bit;
	FILE *f;

	ok(n > 60 && n <= SIGN_DER_MAX, "a signature of %zu bytes", n);
	ok(sign_check(&k->public, "hello", 5, sig, n), "is right");
	ok(!sign_check(&k->public, "hellp", 5, sig, n), "of other bytes it is not");
	for (i = 0; i < n; i++)
		for (bit = 0; bit < 8; bit++) {
			sig[i] ^= (uint8_t)(1u << bit);
			caught += !sign_check(&k->public, "hello", 5, sig, n);
			sig[i] ^= (uint8_t)(1u << bit);
		}
	is_int((long long)caught, (long long)n * 8, "nor with any bit of it changed");
	ok(!sign_check(&k->public, "hello", 5, sig, n - 1) && !sign_check(&k->public, "hello", 5, sig, 0), "nor cut");
	f = fopen(in("sig"), "w");
	fwrite(sig, 1, n, f);
	fclose(f);
	write_file("message", "hello", 0600);
	if (sh("openssl version") == 0)
		is_int(sh("openssl dgst -sha256 -verify key.pub -signature sig message"), 0, "openssl agrees");
	else
		skip("openssl is not installed");
}

static void
test_public_text(const struct sign_key *k)
{
	char pem[SIGN_PEM_MAX], text[SIGN_PEM_MAX + 8];
	struct sign_public p;
	size_t i, n = sign_public_pem(&k->public, pem), taken = 0;

	is_int(sign_public_parse(pem, &p), 0, "a public key as text");
	is_str(p.id, k->public.id, "is the same key");
	for (i = 0; i < n; i++) {
		memcpy(text, pem, n + 1);
		text[i] ^= 1;
		taken += sign_public_parse(text, &p) == 0 && strcmp(p.id, k->public.id) == 0;
	}
	is_int((long long)taken, 0, "with any byte changed it is not");
	snprintf(text, sizeof(text), "%s\n", pem);
	is_int(sign_public_parse(text, &p), -EPROTO, "one key has one text");
}

static void
test_sign_receipt(const struct sign_key *k)
{
	static const char head[] =
		"{\n  \"agenttwin\": \"receipt/1\",\n  \"x\": \"\\n    \\\"signature\\\": null\",\n  \"integrity\": {\n    \"truncated\": [],\n    \"signature\": ",
			  rest[] = "\n  },\n  \"limits\": [\n    \"x\"\n  ]\n}\n";
	struct attest a = { .run_id = "r",
			    .status = "passed",
			    .fingerprint = "f",
			    .world_sha256 = "w",
			    .guest_sha256 = "g",
			    .seed = 7 };
	char text[8192], envelope[ATTEST_MAX];
	uint8_t want[32];
	FILE *f = fopen(in("receipt"), "w+"), *events = fopen(in("events"), "w+");
	size_t n, len;
	int64_t at;

	fprintf(f, "%snull%s", head, rest);
	fputs("events\n", events);
	fflush(events);
	is_int(attest_sign(f, fileno(events), &a, k), 0, "a receipt is signed");
	fclose(f);
	fclose(events);
	n = (size_t)snprintf(text, sizeof(text), "%snull%s", head, rest);
	sha256_of(text, n, want);
	ok(memcmp(a.receipt, want, 32) == 0, "its digest is that of the document with null");
	sha256_of("events\n", 7, want);
	ok(memcmp(a.events, want, 32) == 0, "and that of the events");
	f = fopen(in("receipt"), "r");
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	at = attest_find(text, n, n, &len);
	ok(at == (int64_t)sizeof(head) - 1 && memcmp(text, head, sizeof(head) - 1) == 0, "it stands where null stood");
	ok(n == sizeof(head) - 1 + len + sizeof(rest) - 1 &&
		   memcmp(text + n - (sizeof(rest) - 1), rest, sizeof(rest) - 1) == 0,
	   "and nothing else has changed");
	is_int((long long)attest_envelope(&a, k, envelope), (long long)len, "the same again is as long");
	ok(memcmp(envelope, text + at, len) == 0, "and the same: nonces are made from what is signed");
	f = fopen(in("unsigned"), "w+");
	events = fopen(in("events"), "r");
	fputs("{\n}\n", f);
	is_int(attest_sign(f, fileno(events), &a, k), -EPROTO, "a document without the member");
	fclose(f);
	fclose(events);
	ok(attest_find("\n    \"signature\": null", 22, 22, &len) < 0, "a member without an end of line is none");
}

int
main(void)
{
	struct sign_key k;
	char command[200];

	if (!mkdtemp(folder))
		return 1;
	test_base64();
	test_files(&k);
	test_foreign();
	test_signature(&k);
	test_public_text(&k);
	test_sign_receipt(&k);
	sign_key_wipe(&k);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
