/* SPDX-License-Identifier: GPL-2.0-or-later
 * job.h - one run from a world to its receipt: what `run` does, in order.  Whatever happens after job_prepare, job_conclude
 * destroys the sandbox and writes the receipt. */
#ifndef HOST_JOB_H
#define HOST_JOB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/backend.h"
#include "host/cred.h"
#include "host/diag.h"
#include "host/evidence.h"
#include "host/loop.h"
#include "host/progress.h"
#include "host/receipt.h"
#include "host/reproduce.h"
#include "host/run.h"
#include "host/sign_key.h"
#include "host/stage.h"
#include "host/store.h"
#include "host/uuid.h"
#include "host/world.h"

struct job_options {
	const char *world, *runtime, *receipt, *node; /* NULL: default */
	bool seed_given, json, quiet;
	bool series, again;    /* one of several runs: its verdict is not printed; not the first of them */
	const char *receipts;  /* of a series: the folder where receipts go; NULL: ROOT/.agenttwin/receipts */
	const char *seed_from; /* "option", "sweep", "receipt"; NULL: the world's own */
	const struct reproduce *reproduce; /* what went into the run is compared with it; NULL: with nothing */
	const struct reference *reference; /* what came of it is; NULL: with nothing */
	uint64_t seed;
	uint32_t timeout_ms; /* 0: the world's */
};
struct job { /* large: static storage */
	struct job_options o;
	const struct backend_ops *ops;
	const uint8_t *guest; /* the image; borrowed */
	size_t guest_len;
	char guest_sha256[65];
	bool sandbox, staged, made; /* made: store, spool, evidence exist: a receipt will be written */

	struct world world;
	struct stage stage;
	struct cred cred;
	struct redact *redact;
	struct store store;
	struct spool spool;
	struct checks checks;
	struct outcomes outcomes;
	struct evidence evidence;
	struct run run;
	struct loop loop;
	struct progress progress;
	struct sign_key sign; /* what receipts are signed with */
	bool signs;           /* there is one */

	struct backend_limits limits;
	struct backend *backend;
	struct facts facts;
	struct cleanup cleanup;
	bool opening; /* the backend's open was called and may have made something */
	char run_id[UUID_TEXT_LEN + 1];
	char reproduce[1024];
	char fingerprint[65]; /* this and the next after job_conclude */
	uint64_t took_ms;
	uint64_t start_ms, started_unix_ms;
	int backend_in, backend_out; /* of start, until the loop owns them */
	struct diag diag;            /* of backend calls; when job_prepare refused: why */
	struct run_verdict verdict;
	char *world_shown;
};
/* Reads the world, stages, makes credentials and the store.  0; the exit status when nothing may run (said on stderr): 2 what
 * was asked, 4 this machine. */
int job_prepare(struct job *j) __attribute__((warn_unused_result, nonnull));
/* After job_prepare: all of the rest takes no longer, whatever happens; who waits for longer waits in vain. */
uint64_t job_longest_ms(const struct job *j) __attribute__((warn_unused_result, nonnull));
/* Provisions and runs, until the state machine is over. */
void job_execute(struct job *j) __attribute__((nonnull));
/* Destroys, evaluates, writes the receipt, prints.  Returns the exit status. */
int job_conclude(struct job *j) __attribute__((warn_unused_result, nonnull));
void job_wipe(struct job *j) __attribute__((nonnull));

/* job_judge.c: checks, outcomes and the verdict, once the sandbox is gone; took_ms: the run's duration. */
void job_judge(struct job *j, uint64_t took_ms) __attribute__((nonnull));
/* What the receipt is written from; all borrowed from j. */
void job_receipt(struct job *j, uint64_t took_ms, struct receipt *r) __attribute__((nonnull));
/* job_bundle.c: the plan and the files as frames; what loop.bundle is set to. */
int job_bundle(void *arg, struct loop *l, char why[static 320]) __attribute__((warn_unused_result, nonnull));
#endif
