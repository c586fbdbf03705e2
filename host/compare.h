/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare.h - what is different between two receipts, for a person: what entered, then what came of it.  Operations are paired
 * in the order of the fingerprint, so that the order in which they arrived does not matter, and told in the order in which
 * they happened.  Times, ids of runs, connections, ports and output are not compared. */
#ifndef HOST_COMPARE_H
#define HOST_COMPARE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct receipt_doc;

#define COMPARE_TEXT_MAX 800u
#define COMPARE_LIMIT_MAX 1000u

/* In the order in which they are told.  Of them only runtime and egress are no part of the fingerprint. */
enum compare_part {
	COMPARE_FILES,
	COMPARE_WORLD,
	COMPARE_SEED,
	COMPARE_POLICY,
	COMPARE_RUNTIME, /* backend, guest, Node */
	COMPARE_OPERATIONS,
	COMPARE_EXIT,
	COMPARE_STATE,
	COMPARE_CHECKS,
	COMPARE_EGRESS,
	COMPARE_VERDICT,
	COMPARE_PARTS
};
struct compare_item {
	enum compare_part part;
	char text[COMPARE_TEXT_MAX];
	char before[192], now[192]; /* JSON Pointers into the receipts, or "": it is not there */
};
struct compare {
	size_t limit;               /* the caller's: items kept of each part, 1 to COMPARE_LIMIT_MAX */
	struct compare_item *items; /* owned */
	size_t len, size;
	uint64_t found[COMPARE_PARTS]; /* all differences, kept or not */
	int error;
	const char *why; /* borrowed from a receipt, or static */
};
/* All differences.  0; -errno and c->why: a receipt cannot be read to its end, or memory ended.  Holds about 110 bytes for
 * each operation of both.  compare_wipe in every case. */
int compare_all(struct receipt_doc *before, struct receipt_doc *now, struct compare *c)
	__attribute__((warn_unused_result, nonnull));
void compare_wipe(struct compare *c) __attribute__((nonnull));
/* "operations" */
const char *compare_part_name(enum compare_part part);
/* Why the fingerprints of two receipts differ: the first difference.  1; 0: they show none; -errno, and out says why. */
int compare_receipts(struct receipt_doc *before, struct receipt_doc *now, char out[static COMPARE_TEXT_MAX])
	__attribute__((warn_unused_result, nonnull));
/* Which files of two lists as bundle.files have been changed, are new, or are missing: "a.mjs is changed, b.mjs is new and 3
 * more".  False: none. */
bool compare_files(const struct cJSON *before, const struct cJSON *now, char *out, size_t size)
	__attribute__((warn_unused_result, nonnull(3)));

/* Private to compare*.c.  The next item of a part, zeroed but for its part, or NULL when enough are kept; counted in both
 * cases. */
struct compare_item *compare_add(struct compare *c, enum compare_part part) __attribute__((nonnull));
/* A difference of two values, if they differ: "WHAT: BEFORE, now NOW"; where both are objects or lists, of the first value
 * within. */
bool compare_value(struct compare *c, enum compare_part part, const char *what, const struct cJSON *before,
		   const struct cJSON *now) __attribute__((nonnull(1, 3)));
bool compare_text(const char *what, const struct cJSON *before, const struct cJSON *now, char *out, size_t size)
	__attribute__((nonnull(1, 4)));
void compare_operations(struct receipt_doc *before, struct receipt_doc *now, struct compare *c)
	__attribute__((nonnull));
void compare_state(const struct cJSON *before, const struct cJSON *now, struct compare *c) __attribute__((nonnull));
#endif
