/* SPDX-License-Identifier: GPL-2.0-or-later
 * world.h - the specification of a run, read and checked.  World reference: agenttwin-world(5). */
#ifndef HOST_WORLD_H
#define HOST_WORLD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/seeds.h"
#include "proto/limits.h"

struct cJSON;
struct diag;

struct world_limits {
	uint32_t run_ms, start_ms, idle_ms /* 0 off */, grace_ms, memory_mb, pids, files, disk_mb, operations;
	uint32_t trigger_ms;
	uint32_t cpu_milli; /* thousandths of one processor; 0 no limit */
	uint64_t output_bytes, state_bytes;
};
enum world_stop_on { STOP_NEVER, STOP_FAILED, STOP_ERROR }; /* a sweep: after a run that is not passed; not judged */
enum world_clock_mode { WORLD_CLOCK_REAL, WORLD_CLOCK_FIXED, WORLD_CLOCK_VIRTUAL };
struct world_clock { /* of the services */
	enum world_clock_mode mode;
	bool have_start, have_step;
	uint64_t start_ms, step_ms; /* since the epoch; of a virtual clock, a call */
};
struct world_service {
	const char *name;          /* borrowed from doc, like all strings here */
	const struct cJSON *json;  /* the service object */
	const struct cJSON *hosts; /* array of strings */
	bool tls;
	uint16_t port;
	uint8_t address[4]; /* 127.64.0.(k+1) */
	char url[300];      /* http[s]://FIRST_HOST[:PORT], or http://127.0.0.1:PORT on local */
};
enum check_kind {
	CHECK_EXIT,
	CHECK_STDOUT,
	CHECK_STDERR,
	CHECK_CALLS,
	CHECK_NEVER,
	CHECK_ORDER,
	CHECK_STATE,
	CHECK_RELATION,
	CHECK_UNCHANGED,
	CHECK_PROCESS,
	CHECK_NO_EGRESS,
	CHECK_NO_DUPLICATES,
	CHECK_NO_LOST,
	CHECK_IDEMPOTENT,
	CHECK_RECOVERS,
	CHECK_JQ,
};
enum check_mode { MODE_AT_END, MODE_ALWAYS, MODE_NEVER, MODE_SOMETIMES };
struct world_check {
	const char *id;
	enum check_kind kind;
	enum check_mode mode;
	bool sweep;                 /* over: sweep, so it decides nothing in a single run */
	enum check_mode sweep_mode; /* then: over its runs; never MODE_AT_END */
	bool evidence;              /* an outcome names it */
	const char *expr;           /* the condition of kind jq, or `each`; or NULL */
	const char *because;        /* or NULL */
	const struct cJSON *json;   /* the check object: parameters validated, read them from here */
};
struct world_when {   /* one condition of an outcome */
	size_t check; /* by index, or */
	const char *expr;
};
struct world_outcome {
	const char *id;
	bool passed; /* its verdict */
	size_t when_len;
	struct world_when *when; /* owned */
	const struct cJSON *json;
};
struct world_jq { /* an expression of jq anywhere in the world */
	const char *expr;
	char *pointer; /* owned: where it stands */
};
struct world {
	char *path; /* of the world file, as given or found; owned */
	char *root; /* absolute, real path of the application's folder; owned */
	char *text; /* the file's bytes, NUL-terminated; owned */
	size_t text_len;
	uint8_t sha256[32];       /* of the file's bytes */
	struct cJSON *doc;        /* owned */
	const char *name, *about; /* about may be NULL */
	uint64_t seed;
	struct seeds sweep; /* n 0: none */
	enum world_stop_on stop_on;
	struct world_clock clock;
	struct world_limits limits;
	const struct cJSON *files, *env; /* array of patterns; object or NULL */
	size_t services_len;
	struct world_service *services;              /* owned array; NULL or empty: a workflow that calls nobody */
	const struct cJSON *command;                 /* workflow.command: array of strings, at least one */
	const char *cwd, *stdin_text, *node;         /* or NULL */
	const struct cJSON *ready, *triggers, *ends; /* of workflow: object, array, object; or NULL */
	const struct cJSON *faults;                  /* array, or NULL */
	size_t checks_len;
	struct world_check *checks; /* owned array */
	size_t outcomes_len;
	struct world_outcome *outcomes; /* owned array */
	size_t jq_len;
	struct world_jq *jq; /* owned array */
};
/* Reads and validates.  where: a file, a folder with world.json, or NULL for the current folder.  0, or -errno with *d
 * filled: -ENOENT, -EMSGSIZE (over 1 MiB, too deep), -EPROTO (syntax, keys, types, contradictions), -EOPNOTSUPP (a key of
 * the specification that this version does not support). *out is owned by the caller on success (world_wipe). */
int world_load(const char *where, struct world *out, struct diag *d) __attribute__((warn_unused_result, nonnull(2, 3)));
/* The twins have something to do by themselves: find out when the workflow is ready, trigger it, end it, send it webhooks. */
bool world_is_driven(const struct world *w) __attribute__((nonnull));
/* The world's own text for the name of an event that service s sends, and for the id of a trigger with its index (or NULL);
 * NULL: there is none.  near (or NULL) is offered all that there are. */
struct nearest;
const char *world_event_find(const struct world *w, const struct world_service *s, const char *name,
			     struct nearest *near) __attribute__((nonnull(1, 2, 3)));
const char *world_trigger_find(const struct world *w, const char *id, size_t *index, struct nearest *near)
	__attribute__((nonnull(1, 2)));
void world_wipe(struct world *w) __attribute__((nonnull));
/* Fills *d's file, pointer, line and column for a JSON Pointer in w's text. */
void world_place(const struct world *w, const char *pointer, bool key, struct diag *d) __attribute__((nonnull));
/* What must not be asked of the local backend: the no-egress check, explicit ports, tls.  0, or -EOPNOTSUPP with *d filled.
 * Warns on stderr about a variable that hard-codes a service's host name, which nothing resolves there. */
int world_check_local(const struct world *w, struct diag *d) __attribute__((warn_unused_result, nonnull));
/* The id of route i of a service of kind llm: its turns, then what needs no script.  NULL: there are no more. */
const char *world_llm_route(const struct world_service *s, size_t i) __attribute__((nonnull)); /* world_llm.c */
/* The same text as name, the world's own.  NULL: none of them. */
const char *world_llm_find(const struct world_service *s, const char *name) __attribute__((nonnull));
/* Services on 127.0.0.1 at these ports (one a service), for the local backend.  Before cred_make. */
void world_set_local(struct world *w, const uint16_t *ports) __attribute__((nonnull(1)));
#endif
