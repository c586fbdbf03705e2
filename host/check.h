/* SPDX-License-Identifier: GPL-2.0-or-later
 * check.h - the assertions of a world, and the four built-in ones.  Output and operations are judged as they arrive, state
 * and exit at the end; memory is bounded by the world's limits.  A check that cannot be judged does not hold and says why. */
#ifndef HOST_CHECK_H
#define HOST_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/digest_map.h"
#include "host/world.h"
#include "proto/plan.h"

struct cJSON;
struct redact;

#define CHECK_LINE_MAX 65536u      /* bytes of a line that `matches` sees; of a longer one the first that many */
#define CHECK_JSON_MAX (16u << 20) /* bytes of output that `json` parses; more is an error of the check */
#define CHECK_RESTS_MAX 8u         /* operations named per check; the rest is counted */
#define CHECK_BUILT_IN 4u          /* and one more for a world with triggers */

enum check_stream_mode { STREAM_NONE, STREAM_EQUALS, STREAM_CONTAINS, STREAM_MATCHES, STREAM_JSON };
struct check_stream; /* private to check_stream.c */
struct check_writes; /* private to check_writes.c and those that include check_writes.h */
struct check_model;  /* check_model.h */

struct check_result {
	const char *id, *kind, *because; /* borrowed from the world, or static; because may be NULL */
	const char *role; /* "required"; "evidence": an outcome asks for it; "sweep": judged over all runs of one */
	bool held;        /* false of a sweep's: no single run can tell */
	bool held_here; /* of a sweep's: whether it held in this run; until checks_jq_take also of a half judged one */
	bool unknown;   /* it could not be judged: not held, but nobody may conclude the contrary */
	bool idle;      /* held, but nothing happened that it could have been about: it rests on nothing */
	char *expected, *actual; /* owned; one line of text each */
	size_t rests_len;        /* JSON Pointers into the receipt */
	char rests[CHECK_RESTS_MAX + 1][160];
};
/* What was judged along the run, in the modes always, never and sometimes. */
struct check_moments {
	uint64_t seen, held;
	bool marked; /* of always the first moment that did not hold, of the others the first that did: */
	uint64_t at; /* after this operation; UINT64_MAX: none was */
};
struct check {
	const struct world_check *def;
	struct check_moments moments;
	struct check_stream *stream;   /* of stdout and stderr */
	uint64_t near;                 /* of calls and never: calls of the same service, selected or not */
	uint64_t matched, counted;     /* of calls and never: operations selected; what `count` counts */
	uint64_t ops[CHECK_RESTS_MAX]; /* the first ones */
	struct digest_map keys;        /* owned: those seen, for count: keys */
	uint64_t keyless;              /* of count: keys, writes that have none */
	uint64_t counted_then;         /* at moments.at */
	struct cJSON *first;           /* owned: of all_equal, the first value */
	char *then;                    /* owned: what a state was at moments.at */
	bool differs, nothing, failed; /* nothing: there was no value; failed: no memory */
	uint32_t *each;                /* owned: of `each`, the operations selected */
	size_t each_len, each_size;
	struct check_order *order; /* owned, private to check_order.c, as the next to check_process.c */
	struct check_trace *trace;
};
struct checks {
	const struct world *w;       /* borrowed */
	const struct redact *redact; /* borrowed, set by the caller; NULL: nothing to hide in what results say */
	size_t len;
	struct check *list;          /* owned, one for each world check */
	struct check_model *model;   /* owned: the states on the way; NULL: no check asks for them */
	bool quiet;                  /* the workflow made no call and wrote nothing: known at the end */
	bool begun;                  /* the state before the first operation was judged */
	struct check_writes *writes; /* owned: what the named properties share; NULL: the world has none */
	size_t results_len;
	struct check_result *results; /* owned, after checks_finish: the world's, then the built-in ones */
};
/* What is known at the end.  A state is NULL when it never came; denied NULL likewise. */
struct check_facts {
	const struct plan_exit *exit; /* NULL: no EXIT came */
	bool sandbox;
	const struct cJSON *denied; /* the last DENIED */
	bool truncated[8];          /* by enum truncated_what; index 0: the spool */
	/* What the backend counted from outside of the sandbox; all 0 where it cannot. */
	uint64_t memory_most, oom_kills, pids_refused;
	bool oom_elsewhere;
	uint32_t pids; /* the world's */
	uint64_t operations, unmatched;
	uint64_t first_unmatched;
	const char *unmatched_text;          /* what was asked, the nearest route and the difference; NULL or "" none */
	uint64_t names_refused;              /* queries of the workflow that the DNS stub refused */
	const char *first_name, *first_type; /* of those; NULL none */
	uint64_t faults, faults_fired;       /* declared by the world; of those, at least once */
	uint64_t faults_idle;                /* that did not and need not */
	uint64_t faults_silent;              /* that did not and should have */
	const char *first_silent;            /* of those; NULL none */
	bool twins_done;                     /* every final state came */
	size_t triggers, triggers_answered;  /* of the world */
	const char *trigger_left;            /* the first one without an answer; NULL none */
	bool trigger_sent;                   /* it was sent at least */
	/* The final state of a service as a new document, or NULL; the initial one likewise. */
	struct cJSON *(*state)(void *arg, size_t service);
	struct cJSON *(*initial)(void *arg, size_t service);
	void *arg;
};
int checks_init(struct checks *c, const struct world *w) __attribute__((warn_unused_result, nonnull));
void checks_wipe(struct checks *c) __attribute__((nonnull));
/* Output as it arrives, raw; kind CHECK_STDOUT or CHECK_STDERR. */
void checks_output(struct checks *c, enum check_kind kind, const void *data, size_t len) __attribute__((nonnull(1, 3)));
/* A state as it comes, of phase 0 (initial) or 1 (final), validated. */
void checks_state(struct checks *c, unsigned phase, size_t service, const struct cJSON *doc) __attribute__((nonnull));
/* One operation, validated, number n. */
void checks_operation(struct checks *c, uint64_t n, const struct cJSON *op) __attribute__((nonnull));
int checks_finish(struct checks *c, const struct check_facts *f) __attribute__((warn_unused_result, nonnull));
/* How many are required, and of those did not hold or could not be judged. */
size_t checks_required(const struct checks *c) __attribute__((nonnull));
size_t checks_not_held(const struct checks *c) __attribute__((nonnull));
/* Whether operations have to tell the rows that they left: a check asks what the services held on the way. */
bool checks_want_rows(const struct world *w) __attribute__((nonnull));
/* check_jq.c.  What checks and outcomes ask of jq, after checks_finish: for each check with an expression, then for each such
 * condition of an outcome, one task, in the order of the world.  *tasks is owned by the caller; NULL when there are none. */
struct jq_task;
int checks_jq_tasks(const struct checks *c, struct jq_task **tasks, size_t *len)
	__attribute__((warn_unused_result, nonnull));
/* What came of them goes into the results. */
int checks_jq_take(struct checks *c, const struct jq_task *tasks) __attribute__((warn_unused_result, nonnull(1)));
/* The check is of kind jq, or has an `each`: until then its result is not whole, and the draft leaves it out. */
bool check_has_jq(const struct check *c) __attribute__((nonnull));
const char *check_kind_name(enum check_kind k) __attribute__((returns_nonnull));

/* Private to check_*.c: set what a result says; 0 or -ENOMEM. */
int check_expected(struct check_result *r, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));
int check_actual(struct check_result *r, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));
/* The same of one that cannot be judged: it does not hold, and is unknown. */
int check_unknown(struct check_result *r, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));
void check_rests_on(struct check_result *r, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));

/* The same, before all that stands there; an operation stands there once. */
void check_rests_first(struct check_result *r, uint64_t operation) __attribute__((nonnull));
/* An operation, unless it stands there already. */
void check_rests_op(struct check_result *r, uint64_t operation) __attribute__((nonnull));
/* "" or "always ", "never " and so on: what stands before what is expected. */
const char *check_mode_text(enum check_mode mode) __attribute__((returns_nonnull));
/* One moment, after operation n.  True: it is the one that decides, so its particulars are to be kept. */
bool check_moment(struct check *c, bool holds, uint64_t n) __attribute__((nonnull));
bool check_moments_hold(enum check_mode mode, const struct check_moments *m) __attribute__((nonnull));

/* check_select.c.  A call of a service, a trigger or a webhook: not a name that was asked for, nor a connection that a fault met
 * before there was a request. */
bool check_is_call(const struct cJSON *op) __attribute__((nonnull));
bool check_is_reading(const struct cJSON *op) __attribute__((nonnull)); /* by its method */
bool check_selects(const struct cJSON *selector, const struct cJSON *op) __attribute__((nonnull));
/* Of the service of the selector, whatever else it asks for. */
bool check_is_near(const struct cJSON *selector, const struct cJSON *op) __attribute__((nonnull));
void check_describe(const struct cJSON *selector, char *out, size_t size) __attribute__((nonnull));

struct check_stream *check_stream_new(const struct world_check *def) __attribute__((nonnull)); /* NULL: no memory */
void check_stream_free(struct check_stream *s);
void check_stream_add(struct check_stream *s, const void *data, size_t len) __attribute__((nonnull(1)));
int check_stream_finish(struct check_stream *s, bool truncated, const struct redact *redact, struct check_result *r)
	__attribute__((nonnull(1, 4)));

void check_calls_add(struct check *c, uint64_t n, const struct cJSON *op) __attribute__((nonnull));
int check_calls_finish(struct check *c, struct check_result *r) __attribute__((nonnull));
/* What a single run says of a check over a sweep decides nothing in it. */
void check_set_aside(struct check_result *r) __attribute__((nonnull));
int check_jq_finish(const struct world_check *def, struct check_result *r) __attribute__((nonnull));

struct check_order *check_order_new(void); /* NULL: no memory */
void check_order_free(struct check_order *o);
void check_order_add(struct check *c, uint64_t n, const struct cJSON *op) __attribute__((nonnull));
int check_order_finish(struct check *c, struct check_result *r) __attribute__((nonnull));

struct check_trace *check_trace_new(void); /* NULL: no memory */
void check_trace_free(struct check_trace *t);
/* What the workflow wrote to stderr. */
void check_trace_add(struct check_trace *t, const void *data, size_t len) __attribute__((nonnull(1)));
int check_process_finish(struct check *c, const struct check_facts *f, const struct redact *redact,
			 struct check_result *r) __attribute__((nonnull(1, 2, 4)));

/* The state of a service at one moment. */
struct check_view {
	struct cJSON *doc;               /* owned by who made the view; NULL: it is not known */
	const struct cJSON *collections; /* in it */
	const struct check_model *model; /* or it is what that holds of service now; NULL: of the document */
	size_t service;
};
const struct cJSON *check_view_at(const struct check_view *view, const char *path) __attribute__((nonnull));
/* v is what stands at path.  False: it cannot be counted. */
bool check_view_count(const struct check_view *view, const char *path, const struct cJSON *v, uint64_t *out)
	__attribute__((nonnull(1, 2, 4)));
/* NULL, or why there is no sum: json_sum. */
const char *check_view_sum(const struct check_view *view, const char *path, const struct cJSON *v, const char *field,
			   double *out) __attribute__((nonnull(1, 2, 4, 5)));
/* What there is goes into actual[0..size); size 0: nobody asks. */
bool check_state_holds(const struct cJSON *def, const struct check_view *view, char *actual, size_t size)
	__attribute__((nonnull));
/* views: one for each service of the world. */
bool check_relation_holds(const struct cJSON *def, const struct world *w, const struct check_view *views, char *actual,
			  size_t size) __attribute__((nonnull));
int check_state_expect(const struct world_check *def, struct check_result *r) __attribute__((nonnull));
int check_relation_expect(const struct world_check *def, struct check_result *r) __attribute__((nonnull));
/* Whether a row that is before in the initial state and after now (NULL: not there) differs beyond what is excepted; then also
 * how, into text[0..size), unless that is 0. */
bool check_unchanged_row(const struct world_check *def, const char *service, const char *at, const struct cJSON *before,
			 const struct cJSON *after, char *text, size_t size) __attribute__((nonnull(1, 2, 3)));
int check_unchanged_expect(const struct world_check *def, struct check_result *r) __attribute__((nonnull));

/* check_moments.c: state, relation and unchanged along the run. */
bool check_is_of_states(const struct world_check *def) __attribute__((nonnull)); /* it is such a one */
int check_moments_prepare(struct check_model *m, const struct world_check *def)
	__attribute__((nonnull)); /* or -ENOMEM */
/* What the model holds now, after operation n; UINT64_MAX: before the first. */
void check_moments_add(struct check *c, const struct check_model *m, uint64_t n) __attribute__((nonnull));
int check_moments_finish(struct check *c, const struct check_model *m, const struct redact *redact,
			 struct check_result *r) __attribute__((nonnull(1, 2, 4)));

int check_unchanged_finish(const struct world_check *def, const struct world *w, const struct check_facts *f,
			   const struct check_writes *t, struct check_result *r) __attribute__((nonnull(1, 2, 3, 5)));
int check_named_finish(const struct world_check *def, struct check_writes *t, const struct check_facts *f,
		       struct check_result *r) __attribute__((nonnull(1, 3, 4)));
int check_state_finish(const struct world_check *def, const struct world *w, const struct check_facts *f,
		       const struct check_writes *t, struct check_result *r) __attribute__((nonnull(1, 2, 3, 5)));
int check_exit_finish(const struct world_check *def, const struct check_facts *f, struct check_result *r)
	__attribute__((nonnull));
int check_egress_finish(const struct check_facts *f, struct check_result *r) __attribute__((nonnull));
/* "memory limit of 448 MiB reached", or "" when the kernel killed nobody for lack of memory. */
void check_memory_text(const struct check_facts *f, char *out, size_t size) __attribute__((nonnull));
/* i from 0 to CHECK_BUILT_IN - 1, or CHECK_BUILT_IN in a world with triggers. */
int check_built_in(size_t i, const struct check_facts *f, struct check_result *r) __attribute__((nonnull));
#endif
