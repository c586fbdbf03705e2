/* SPDX-License-Identifier: GPL-2.0-or-later
 * index.h - rows of a collection by the text of one field, in order of creation: found, counted and stepped through in time
 * that does not grow with the rows (finding by hash, stepping by a balanced tree).  An index is made when it is first asked
 * for, follows every change, and is thrown away when there is no memory for it: it is never wrong, only absent. */
#ifndef GUEST_INDEX_H
#define GUEST_INDEX_H
#include <stddef.h>
#include <stdint.h>

#include "proto/number.h"

struct cJSON;
struct collection;
struct row;
struct state;

#define INDEXES_MAX 64u /* of one collection */

enum index_kind { INDEX_STRING, INDEX_NUMBER, INDEX_BOOL, INDEX_KINDS };
struct index; /* private */
struct index_bucket;
struct posting;

/* The index over a field; NULL as field: all rows, in one bucket.  NULL: there are too many, or no room. */
struct index *index_get(struct state *s, struct collection *c, const char *field) __attribute__((nonnull(1, 2)));
/* The rows whose field has this text.  NULL: none. */
const struct index_bucket *index_find(const struct state *s, const struct index *x, const char *text)
	__attribute__((nonnull));
size_t bucket_len(const struct index_bucket *b) __attribute__((nonnull));
size_t bucket_count(const struct index_bucket *b, enum index_kind kind)
	__attribute__((nonnull)); /* with a field of it */
/* The n-th in order of creation (n < bucket_len), and how many were created before the row with this number. */
struct row *bucket_at(const struct index_bucket *b, size_t n) __attribute__((nonnull));
size_t bucket_rank(const struct index_bucket *b, uint64_t number) __attribute__((nonnull));

/* The text by which a field is found: of a string, number or truth value; NULL for all else.  May lie in out. */
const char *index_text(const struct cJSON *field, char out[static NUMBER_TEXT_SIZE + 1], enum index_kind *kind)
	__attribute__((nonnull(2, 3)));

/* What state.c tells: a row came, is about to go, has other contents now. */
void index_added(struct state *s, struct collection *c, struct row *row) __attribute__((nonnull));
void index_removed(struct state *s, struct collection *c, struct row *row) __attribute__((nonnull));
void index_changed(struct state *s, struct collection *c, struct row *row, const struct cJSON *before)
	__attribute__((nonnull));
void index_wipe(struct state *s, struct collection *c) __attribute__((nonnull)); /* all of them */

#endif
