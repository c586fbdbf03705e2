/* SPDX-License-Identifier: GPL-2.0-or-later
 * check_writes.h - what the named properties rest on: agenttwin-world(5), "Named properties".  A call leaves at most some 400 bytes,
 * whatever it holds, and a row that it touched 300; a call costs the same however many came before it.  Of a world without such
 * a property only calls with an effect are kept, to tell who made a state what it is: 48 bytes each. */
#ifndef HOST_CHECK_WRITES_H
#define HOST_CHECK_WRITES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/check.h"
#include "host/check_model.h"
#include "host/digest_map.h"

enum call_flag {
	CALL_WRITE = 1,        /* asked of a service that has state, by a method that is no reading */
	CALL_SENT = 2,         /* a webhook or a trigger: the twins asked, the workflow answered */
	CALL_APPLIED = 4,      /* by the service, or by the workflow */
	CALL_OK = 8,           /* the client was told that it is done */
	CALL_EFFECT = 16,      /* it changed something */
	CALL_AGAIN = 32,       /* and an earlier one of the same logical call had done that already */
	CALL_FAULT = 64,       /* it met one */
	CALL_COPY = 128,       /* a fault sent it once more: it is none of the workflow's */
	CALL_BARE = 256,       /* a connection without a request, or a part of one */
	CALL_MODEL = 512,      /* of a language model */
	CALL_KEYLESS = 1024,   /* a write that may have its effect twice, and has no key */
	CALL_UNKEPT = 2048,    /* its key is not one that the service keeps for it */
	CALL_OTHER_KEY = 4096, /* sent again under another key, when the first was not acknowledged */
	CALL_MISMATCH = 8192,  /* its key was that of another request */
};
struct call_seen {
	uint32_t n, logical; /* number of the operation; index of the logical call */
	uint32_t row;        /* that its first effect made or changed, from 1; 0 none */
	uint32_t place;      /* of the target: index into places; of a model's, of the route */
	uint16_t service, route, flags;
};
struct logical_call {
	uint32_t first, last_ok,
		effect; /* operations, from 1: the first, the last acknowledged one, the first with an effect */
	bool keyed;
};
struct place_seen {
	uint32_t last_ok; /* the last operation here that the client was told is done, from 1 */
};
struct row_seen {
	uint32_t first, last; /* operations that touched it, from 1; of a collection only the last */
	uint32_t read;        /* that showed it to the workflow last, from 1 */
	uint32_t collection;  /* index into rows: the row of the whole collection, which lists are of */
	bool exists, found;   /* after the last one; in the final state */
};
struct check_writes {
	const struct world *w; /* borrowed */
	size_t calls_len, calls_size, logical_len, logical_size, places_len, places_size, rows_len, rows_size,
		routes_len, routes_size;
	struct call_seen *calls; /* owned, as all of these */
	struct logical_call *logical;
	struct place_seen *places;
	struct row_seen *rows;
	char **routes;
	struct digest_map by_key, by_body, place_map, row_map, id_map, route_map;
	uint32_t *service_ok; /* by service, as place_seen.last_ok */
	uint64_t effects;     /* calls that had one */
	bool whole;           /* a named property is judged: set before the first call */
	bool failed;          /* no memory */
};
struct check_writes *check_writes_new(const struct world *w) __attribute__((nonnull)); /* NULL: no memory */
void check_writes_free(struct check_writes *t);
/* m: the states on the way, this operation included; NULL: nobody follows them. */
void check_writes_add(struct check_writes *t, uint64_t n, const struct cJSON *op, const struct check_model *m)
	__attribute__((nonnull(1, 3)));
/* The calls that touched what stands at "SERVICE/COLLECTION[/ID...]", as far as there is room. */
void check_writes_rests(const struct check_writes *t, const char *where, struct check_result *r)
	__attribute__((nonnull(2, 3)));
/* The index of the row "/COLLECTION/ID" of service s, from 1, or with id NULL of the collection; 0: none was touched so. */
uint32_t check_writes_row(const struct check_writes *t, size_t s, const char *collection, const char *id)
	__attribute__((nonnull(1, 3)));
/* After operation n the workflow was shown the row, or a list of its collection. */
bool check_writes_read_after(const struct check_writes *t, uint32_t row, uint32_t n) __attribute__((nonnull));
#endif
