/* SPDX-License-Identifier: GPL-2.0-or-later
 * verify.h - is a receipt what was written?  Everything that can be recomputed is: the signature, the chain and the contents of
 * the event file beside it, the fingerprint, the diff of states, and that the verdict follows from what the receipt says.  What
 * cannot be is said too.  Both files are an attacker's.  Memory: the receipt without its operations, one line of the event file,
 * and about 130 bytes an operation. */
#ifndef HOST_VERIFY_H
#define HOST_VERIFY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/receipt_read.h"
#include "host/sign_key.h"

struct cJSON;

#define VERIFY_ITEMS_MAX 48u
#define VERIFY_TEXT_MAX 400u

enum verify_verdict { VERIFY_GOOD, VERIFY_CANNOT, VERIFY_WRONG };
struct verify_item {
	enum verify_verdict verdict;
	const char *what; /* static: "signature" */
	char text[VERIFY_TEXT_MAX];
};
struct verify {
	/* the caller's */
	struct receipt_doc *doc;       /* just opened */
	const char *path;              /* of the receipt */
	const char *events;            /* of the event file; NULL: where the receipt says, beside it */
	const struct sign_public *key; /* by which it must be signed; NULL: by any */
	const char *guest_sha256;      /* of the guest in this program, or NULL */
	/* the result */
	size_t len;
	struct verify_item items[VERIFY_ITEMS_MAX];
	bool anchored; /* by a signature or an event file: the receipt was compared with something */
	/* private */
	bool is_signed;
	uint8_t signed_events[32]; /* the event file's digest, of a signature that is right */
};
/* 0; -errno: it could not be read to its end (doc->why). */
int verify_receipt(struct verify *v) __attribute__((warn_unused_result, nonnull));
size_t verify_count(const struct verify *v, enum verify_verdict verdict) __attribute__((nonnull));
/* Anchored, and nothing is wrong. */
bool verify_is_intact(const struct verify *v) __attribute__((nonnull));

/* Private to verify*.c. */
void verify_say(struct verify *v, enum verify_verdict verdict, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull));
int verify_signature(struct verify *v) __attribute__((warn_unused_result, nonnull));
int verify_events(struct verify *v) __attribute__((warn_unused_result, nonnull));
int verify_fingerprint(struct verify *v) __attribute__((warn_unused_result, nonnull));
#endif
