/* SPDX-License-Identifier: GPL-2.0-or-later
 * report_pick.h - the operations that a report of a receipt speaks of, found in one pass over all: those that checks which did
 * not hold rest on, those that met a fault or ended in doubt and what came after them, the first and the last ones.  Bounded: of each
 * check and each list only the first are kept, the others are counted. */
#ifndef HOST_REPORT_PICK_H
#define HOST_REPORT_PICK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct receipt_doc;

#define PICK_CHECKS_MAX 64u /* checks that did not hold, whose operations are looked for */
#define PICK_OF_CHECK 20u   /* operations kept for each of them */
#define PICK_FIRST 40u      /* operations at the beginning */
#define PICK_ODD 40u        /* of those that met a fault or ended in doubt */
#define PICK_LAST 10u       /* operations at the end */

struct picked {
	uint64_t index;   /* in the list of operations */
	struct cJSON *op; /* owned; what is long in a large one is left out */
	uint64_t checks;  /* bit k: the k-th check that did not hold rests on it */
	bool odd;         /* a fault, a view that is not fine, no route */
	bool last;        /* one of the last, kept for nothing else */
	uint64_t after;   /* index + 1 of the odd one after which the client did this next; 0: of none */
};
struct pick {
	struct picked *list; /* owned; in the order of index */
	size_t len, size;
	uint64_t of_check[PICK_CHECKS_MAX]; /* how many operations each of them rests on, kept or not */
	bool derived[PICK_CHECKS_MAX];      /* they are those that changed the state it rests on */
	uint64_t odd, calls, webhooks, triggers, names, connections, resent, replayed;
	uint64_t lost_acknowledgements, lost_requests, unmatched, denied; /* denied: told an error although applied */
};
/* 0; -errno and doc->why.  pick_wipe in every case. */
int pick_operations(struct receipt_doc *doc, struct pick *p) __attribute__((warn_unused_result, nonnull));
void pick_wipe(struct pick *p) __attribute__((nonnull));
/* The kept operation at an index, or NULL. */
const struct picked *pick_at(const struct pick *p, uint64_t index) __attribute__((nonnull));
/* Did the check not hold?  One that was not judged is not meant. */
bool check_failed(const struct cJSON *check);
/* Applied and told so, or rejected and told so. */
bool views_fine(const struct cJSON *op);
/* "lost acknowledgement", "lost request" and the like, or NULL: nothing to say. */
const char *views_meaning(const struct cJSON *op);
#endif
