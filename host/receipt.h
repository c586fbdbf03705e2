/* SPDX-License-Identifier: GPL-2.0-or-later
 * receipt.h - the document of a run: agenttwin-receipt(5), docs/schema/receipt.schema.json.  Everything in it is known when
 * it is written; operations and states are read from the spool one at a time. */
#ifndef HOST_RECEIPT_H
#define HOST_RECEIPT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host/backend.h"
#include "host/cred.h"
#include "host/evidence.h"
#include "host/outcome.h"
#include "host/reproduce.h"
#include "host/run.h"
#include "host/stage.h"
#include "host/world.h"

#define RECEIPT_DIFF_MAX 10000u /* entries of state.diff */

struct receipt { /* all borrowed */
	const struct world *world;
	const struct stage *stage;
	const struct cred *cred;
	const struct redact *redact;
	struct evidence *evidence;
	const struct checks *checks;
	const struct outcomes *outcomes;
	bool draft; /* for expressions: without the verdict, what rests on them, and what is computed over the whole */
	const struct run_facts *run;
	const struct run_verdict *verdict;
	const struct backend_ops *backend;
	const struct backend_limits *limits;
	const struct facts *facts;
	const struct cleanup *cleanup;
	const char *run_id, *world_path, *reproduce, *events_name, *guest_version;
	const char *guest_sha256;
	const char *seed_from, *fingerprint;
	const char *signer;                /* the id of the key that this receipt will be signed with, or NULL */
	const struct reference *reference; /* the run that this one was to be like, or NULL */
	uint64_t seed, started_unix_ms, ended_unix_ms, duration_ms;
};
/* 0 or -errno. */
int receipt_write(FILE *f, const struct receipt *r) __attribute__((warn_unused_result, nonnull));

struct emit;
/* Private to receipt*.c. */
void receipt_boundary(struct emit *e, const struct receipt *r) __attribute__((nonnull));
void receipt_outcomes(struct emit *e, const struct receipt *r) __attribute__((nonnull));
void receipt_checks(struct emit *e, const struct receipt *r) __attribute__((nonnull));
void receipt_faults(struct emit *e, const struct receipt *r) __attribute__((nonnull));
void receipt_state(struct emit *e, const struct receipt *r) __attribute__((nonnull));
#endif
