// SPDX-License-Identifier: GPL-2.0-or-later
// test_pem.c - complete private keys, whole and cut at every place, and what is none.
#include "host/pem.h"

#include <stdlib.h>

#include "tests/lib/tap.h"

#define L64 "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC7VJTUt9Us8cKj"

static bool
is_key(const char *text, size_t cut, bool escaped)
{
	struct pem_scan p;
	size_t len = strlen(text), i;

	pem_scan_init(&p, escaped);
	if (cut == 0) {
		for (i = 0; i < len; i++)
			pem_scan_add(&p, text + i, 1);
	} else {
		pem_scan_add(&p, text, cut);
		pem_scan_add(&p, text + cut, len - cut);
	}
	return p.found;
}

static void
judge(const char *text, bool want, bool escaped, const char *name)
{
	size_t cut, wrong = 0;

	for (cut = 0; cut <= strlen(text); cut++)
		wrong += is_key(text, cut, escaped) != want;
	is_int((long long)wrong, 0, name);
}

int
main(void)
{
	judge("-----BEGIN PRIVATE KEY-----\n" L64 "\nabcd==\n-----END PRIVATE KEY-----\n", true, false, "PKCS 8");
	judge("x\r\n-----BEGIN RSA PRIVATE KEY-----\r\n" L64 "\r\nabcd==\r\n-----END RSA PRIVATE KEY-----", true, false,
	      "CR LF");
	judge("-----BEGIN EC PRIVATE KEY-----\n" L64 "\n\n" L64 "\n-----END EC PRIVATE KEY-----", true, false,
	      "an empty line within");
	judge("-----BEGIN OPENSSH PRIVATE KEY-----\n" L64 "\nabcd\n-----END OPENSSH PRIVATE KEY-----", true, false,
	      "OpenSSH");
	judge("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----",
	      true, false, "Ed25519 has one line");
	judge("key: |\n    -----BEGIN PRIVATE KEY-----\n    " L64 "\n    abcd==\n    -----END PRIVATE KEY-----\n", true,
	      false, "indented");
	judge("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n" L64
	      "\nabcd\n-----END RSA PRIVATE KEY-----",
	      true, false, "encrypted");
	judge("const k = `-----BEGIN PRIVATE KEY-----\n" L64 "\nabcd\n-----END PRIVATE KEY-----`;", true, false,
	      "in a program");
	judge("--------BEGIN PRIVATE KEY-----\n" L64 "\nabcd\n-----END PRIVATE KEY-----", true, false,
	      "more dashes before");
	judge("-----BEGIN PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\n" L64 "\nabcd\n-----END PRIVATE KEY-----",
	      true, false, "begun twice");
	judge("-----BEGIN CERTIFICATE-----\n" L64 "\nabcd\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n" L64
	      "\nabcd\n-----END PRIVATE KEY-----",
	      true, false, "after a certificate");
	judge("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n" L64
	      "\nabcd\n=xyzw\n-----END PGP PRIVATE KEY BLOCK-----",
	      true, false, "PGP");
	judge("{\"k\":\"-----BEGIN PRIVATE KEY-----\\n" L64 "\\nabcd==\\n-----END PRIVATE KEY-----\\n\"}", true, true,
	      "escaped line breaks");
	judge("{\"k\":\"-----BEGIN PRIVATE KEY-----\\n" L64 "\\nabcd==\\n-----END PRIVATE KEY-----\\n\"}", false, false,
	      "which count only where asked for");
	judge("-----BEGIN PRIVATE KEY-----", false, false, "the header alone");
	judge("if (s.startsWith('-----BEGIN PRIVATE KEY-----') && s.endsWith('-----END PRIVATE KEY-----'))", false,
	      true, "header and end in a program");
	judge("'-----BEGIN PRIVATE KEY-----\\n' + body + '\\n-----END PRIVATE KEY-----'", false, true,
	      "a program that builds one");
	judge("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", false, false, "a placeholder");
	judge("-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----", false, false, "one short line");
	judge("-----BEGIN PRIVATE KEY-----\n" L64 "\nabcd\n", false, false, "without an end");
	judge("-----BEGIN PUBLIC KEY-----\n" L64 "\nabcd\n-----END PUBLIC KEY-----", false, false, "a public key");
	judge("-----BEGIN CERTIFICATE-----\n" L64 "\nabcd\n-----END CERTIFICATE-----", false, false, "a certificate");
	judge("-----BEGIN PRIVATE KEY-----\nthis is how a key looks\nbut this is text\n-----END PRIVATE KEY-----",
	      false, false, "prose");
	return tap_done();
}
