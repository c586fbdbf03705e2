/* SPDX-License-Identifier: GPL-2.0-or-later
 * state.h - the declared data of one service: collections of rows, and variables.  Finding, creating, changing and deleting
 * a row costs the same whatever the number of rows.  Changes stand in a journal until they are kept or undone together. */
#ifndef GUEST_STATE_H
#define GUEST_STATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"
#include "proto/limits.h"

struct cJSON;

#define STATE_ID_MAX 255u /* bytes of a row's id */
#define STATE_DEPTH_MAX \
	(JSON_DEPTH_MAX - 8u) /* levels of a row: with the document around it no reader's bound is met */
#define STATE_NAME_MAX 64u    /* bytes of a collection's name */

struct row {
	char *id;                   /* owned */
	struct cJSON *json;         /* owned; an object whose member "id" is id.  Never changed in place: replaced */
	struct row *before, *after; /* in order of creation */
	struct row *chain;          /* private: hash table */
	uint64_t hash;              /* private */
	uint64_t number;            /* in order of creation */
	struct posting *postings;   /* private: of indexes */
};
struct collection {
	char name[STATE_NAME_MAX + 1];
	struct row *first, *last; /* in order of creation */
	size_t rows_len;
	struct row **table;      /* private */
	size_t table_len;        /* private: power of two */
	uint64_t numbers;        /* private: rows ever created */
	struct index *indexes;   /* private: index.c */
	struct collection *next; /* private: of the same state */
};

/* What all states of a run share: the limit. */
struct state_budget {
	size_t used, max; /* bytes of heap, estimated */
	size_t indexes;   /* bytes of indexes, which count too */
	size_t lost;      /* bytes that did not fit, over all refused changes */
	uint64_t key[2];  /* of the hash, random: ids come from the workflow */
};
struct state {
	struct state_budget *budget; /* borrowed */
	struct collection *collections;
	struct cJSON *variables;      /* owned object */
	size_t text_len, text_max;    /* bytes of state_dump, and their bound */
	struct state_change *journal; /* private: newest first */
};

void state_init(struct state *s, struct state_budget *budget, size_t text_max) __attribute__((nonnull));
void state_wipe(struct state *s) __attribute__((nonnull));
/* An empty collection.  NULL: no memory, or the name is too long or taken. */
struct collection *state_add_collection(struct state *s, const char *name) __attribute__((nonnull));
struct collection *state_collection(const struct state *s, const char *name) __attribute__((nonnull)); /* NULL: none */
/* A hash that the workflow cannot foresee. */
uint64_t state_hash(const struct state *s, const char *text, size_t len) __attribute__((nonnull));
struct row *collection_row(const struct state *s, const struct collection *c, const char *id) __attribute__((nonnull));

/* Each takes over json (also when it fails: it is freed then) and writes the change into the journal.  0; -ENOSPC the
 * limit; -EEXIST the id is taken; -EMSGSIZE nested too deep; -ENOMEM.  json must be an object whose "id" is id. */
int state_create(struct state *s, struct collection *c, const char *id, struct cJSON *json, struct row **out)
	__attribute__((warn_unused_result, nonnull(1, 2, 3)));
int state_replace(struct state *s, struct collection *c, struct row *row, struct cJSON *json)
	__attribute__((warn_unused_result, nonnull(1, 2, 3)));
int state_set(struct state *s, const char *variable, struct cJSON *value)
	__attribute__((warn_unused_result, nonnull(1, 2)));
/* The row is out of the collection, but its memory lives until state_keep, like that of replaced contents. */
int state_delete(struct state *s, struct collection *c, struct row *row) __attribute__((warn_unused_result, nonnull));
/* Every row that the changes since the last keep or undo touched, as it is now, joined by commas:
 * {"at":"/COLLECTION/ID","row":{...}}, null for one that is gone.  A row that was touched twice may stand there twice. */
void state_changes(const struct state *s, struct buf *out) __attribute__((nonnull));
void state_keep(struct state *s) __attribute__((nonnull)); /* makes all changes since the last keep or undo final */
void state_undo(struct state *s) __attribute__((nonnull)); /* takes them all back */

/* {"service":NAME,"collections":{...rows in id order (bytes)...}} and, where there are any, "variables". */
int state_dump(const struct state *s, const char *service, struct buf *out)
	__attribute__((warn_unused_result, nonnull));

#endif
