/* SPDX-License-Identifier: GPL-2.0-or-later
 * attest.h - what is signed of a receipt: an in-toto Statement (v1) in a DSSE envelope (v1.0.2), the member
 * integrity.signature of the receipt.  The statement's subjects are the receipt's bytes with that member's value replaced by
 * null, and the event file's.  agenttwin-receipt(5), "Signatures". */
#ifndef HOST_ATTEST_H
#define HOST_ATTEST_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/sign_key.h"

struct sha256;

#define ATTEST_TYPE "application/vnd.in-toto+json" /* of the envelope's payload */
#define ATTEST_PREDICATE "urn:agenttwin:receipt:1"
#define ATTEST_MAX 3072u   /* bytes of a statement, and of an envelope, with its NUL */
#define ATTEST_TAIL 65536u /* of a receipt: integrity.signature stands within so many bytes from its end */

struct attest { /* what a statement says; all from the receipt but the digests.  Borrowed */
	const char *run_id, *status, *fingerprint, *world_sha256, *guest_sha256;
	uint64_t seed;
	int64_t exit_code;
	uint8_t receipt[32], events[32]; /* SHA-256 */
};
/* The statement as JSON, NUL-terminated; a pure function of *a.  Its length. */
size_t attest_statement(const struct attest *a, char out[static ATTEST_MAX]) __attribute__((nonnull));
/* The envelope around it, signed; NUL-terminated.  Its length, or 0 when it could not be signed. */
size_t attest_envelope(const struct attest *a, const struct sign_key *k, char out[static ATTEST_MAX])
	__attribute__((warn_unused_result, nonnull));
/* The envelope again from its parts: what attest_envelope writes.  Its length. */
size_t attest_print(const char *statement, size_t len, const uint8_t *sig, size_t sig_len, const struct sign_public *p,
		    char out[static ATTEST_MAX]) __attribute__((nonnull));
/* The bytes that are signed (the envelope's pre-authentication encoding) into out; their number. */
#define ATTEST_SIGNED_MAX (ATTEST_MAX + 64u)
size_t attest_signed(const char *statement, size_t len, char out[static ATTEST_SIGNED_MAX]) __attribute__((nonnull));

/* Where in a receipt of size bytes the value of integrity.signature stands: its offset, and *len.  tail holds the last tail_len
 * bytes of it.  -EPROTO: there is none. */
int64_t attest_find(const char *tail, size_t tail_len, uint64_t size, size_t *len)
	__attribute__((warn_unused_result, nonnull));
/* Signs the receipt in f (written, open for reading too, its signature null) and puts the envelope into its place; fills
 * a->receipt and a->events, which is read from events_fd.  0 or -errno. */
int attest_sign(FILE *f, int events_fd, struct attest *a, const struct sign_key *k)
	__attribute__((warn_unused_result, nonnull));
/* SHA-256 of all bytes of a file from offset from to to; to UINT64_MAX: to its end.  0 or -errno. */
int attest_digest(int fd, uint64_t from, uint64_t to, struct sha256 *h) __attribute__((warn_unused_result, nonnull));
#endif
