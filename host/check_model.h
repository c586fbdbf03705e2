/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_model.h - what the services held at each moment: from their initial state on, row by row, as each operation tells what it
 * left.  It ends in the final state, or it is not what happened, and nothing that rests on it holds. */
#ifndef HOST_CHECK_MODEL_H
#define HOST_CHECK_MODEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/digest_map.h"

struct cJSON;
struct world;

struct model_sum { /* of one field over the rows of one collection, kept up to date */
	size_t collection;
	char *field;     /* owned */
	__int128 whole;  /* exact: of the numbers that are whole */
	uint64_t parts;  /* rows whose value is no whole number */
	uint64_t texts;  /* rows whose value is no number */
	uint64_t having; /* rows that have the field */
};
struct model_row {
	struct cJSON *now;            /* in the collection; NULL: there is none */
	const struct cJSON *at_first; /* in the initial state; NULL: there was none */
	uint32_t last;                /* operation that touched it last, from 1; 0 none */
	size_t collection;
};
struct model_collection {
	size_t service;
	struct cJSON *rows; /* in now[service] */
	uint64_t len;
	uint32_t last; /* operation that touched a row of it last, from 1; 0 none */
};
struct model_touched {
	size_t service, row; /* row: index into rows */
	const char *at;      /* "/COLLECTION/ID", borrowed until the next step */
	bool changed;        /* it is not what it was before */
};
struct check_model {
	const struct world *w; /* borrowed */
	struct cJSON **now;    /* owned, by service: {"COLLECTION":[...]}; NULL: its state did not come yet */
	struct cJSON **first;  /* owned: the same as it came */
	size_t rows_len, rows_size, collections_len, collections_size, sums_len, touched_len, touched_size;
	struct model_row *rows;
	struct model_collection *collections;
	struct model_sum *sums;
	struct model_touched *touched; /* by the last step */
	struct digest_map row_map, collection_map;
	uint64_t steps; /* operations that changed something */
	bool broken, ended;
	char why[240];
};
struct check_model *check_model_new(const struct world *w) __attribute__((nonnull)); /* NULL: no memory */
void check_model_free(struct check_model *m);
/* A sum that will be asked for, before any state comes.  False: no memory. */
bool check_model_want(struct check_model *m, const char *service, const char *path, const char *field)
	__attribute__((nonnull));
/* {"collections":...}, as the guest sent it. */
void check_model_begin(struct check_model *m, size_t service, const struct cJSON *doc) __attribute__((nonnull));
/* All initial states must have come: what follows is judged from them on. */
void check_model_start(struct check_model *m) __attribute__((nonnull));
/* Operation n.  touched says which rows it left; none when it changed nothing, or the model is broken. */
void check_model_step(struct check_model *m, uint64_t n, const struct cJSON *op) __attribute__((nonnull));
/* The final state must be the one that the model ended in. */
void check_model_end(struct check_model *m, size_t service, const struct cJSON *doc) __attribute__((nonnull));
/* NULL: the model can be relied on; else why not. */
const char *check_model_trouble(const struct check_model *m) __attribute__((nonnull));

/* What stands at a path now, as json_at finds it. */
const struct cJSON *check_model_at(const struct check_model *m, size_t service, const char *path)
	__attribute__((nonnull));
/* The number of rows, when path is that of a collection.  False: it is not. */
bool check_model_count(const struct check_model *m, size_t service, const char *path, uint64_t *out)
	__attribute__((nonnull));
/* As json_sum.  False: nobody said that it would be asked for. */
bool check_model_sum(const struct check_model *m, size_t service, const char *path, const char *field, double *out,
		     const char **why) __attribute__((nonnull));
/* The operation, from 1, that last touched what stands at path; 0: none did. */
uint32_t check_model_last(const struct check_model *m, size_t service, const char *path) __attribute__((nonnull));
#endif
