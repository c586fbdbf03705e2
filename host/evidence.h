/* SPDX-License-Identifier: GPL-2.0-or-later
 * evidence.h - what the guest says, taken frame by frame: judged as an attacker's, written to the spool, handed to the
 * checks, and turned into events of the run.  Memory is bounded: one record of at most 16 MiB, an index of operations. */
#ifndef HOST_EVIDENCE_H
#define HOST_EVIDENCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/check.h"
#include "host/gate.h"
#include "host/run.h"
#include "host/spool.h"
#include "proto/frame.h"
#include "proto/plan.h"

struct cJSON;

#define EVIDENCE_TAIL 8192u /* bytes of output kept for the receipt, redacted */
#define EVIDENCE_TRUNCATED_MAX 16u
#define EVIDENCE_NAMES_MAX 1000u                  /* refused names that are listed; of more only the number is kept */
#define EVIDENCE_DNS PLAN_SERVICES_MAX            /* stands for a service's index: the DNS stub */
#define EVIDENCE_TRIGGER (PLAN_SERVICES_MAX + 1u) /* likewise: what the world asks of the workflow */
#define EVIDENCE_TRIGGERS_MAX 256u                /* world_trigger.c reads no more */

struct evidence_op { /* what is kept of an operation; its text is in the spool */
	struct spool_place place;
	const char *route; /* borrowed from the world, "" none */
	uint32_t n;
	uint8_t service;     /* or EVIDENCE_DNS */
	uint8_t group[32];   /* trace.h, as the next two; of a name its content */
	uint8_t key[16];     /* zero: none */
	uint8_t content[32]; /* SHA-256 of what the fingerprint takes of it */
};
struct evidence_name {     /* that was asked of the DNS stub and refused; the same in any case is one */
	char *name, *type; /* owned; as it was asked first */
	uint64_t count, first_ms, last_ms;
	uint64_t hash; /* private */
};
struct evidence_names {
	size_t len;
	struct evidence_name *list; /* owned, in the order in which they were asked first */
	uint64_t asked;             /* operations of kind dns: answered, refused, malformed */
	uint64_t refused;           /* queries, and malformed messages with a foreign name */
	uint64_t unlisted;          /* of those */
	/* By address that the stub gives out: the name that was asked first.  Borrowed from the world; NULL none. */
	const char *answered[PLAN_SERVICES_MAX];
	char *loopback; /* owned: the same for 127.0.0.1 */
};
#define EVIDENCE_FAULT_OPS 64u /* operations that are listed of a fault; further ones are counted */
struct evidence_fault {        /* one for each of the world's */
	uint64_t fired;
	uint32_t ops[EVIDENCE_FAULT_OPS];
};
struct evidence_stream {
	struct sha256 raw;
	uint64_t bytes;
	struct redact_stream redact; /* its sink fills tail and spool */
	uint8_t tail[EVIDENCE_TAIL];
	uint64_t tail_total; /* redacted bytes so far; the tail is the last EVIDENCE_TAIL of them */
	struct evidence *owner;
	const char *event;      /* "stdout" */
	uint8_t pending[32768]; /* redacted, not yet in the spool: one line for many small writes */
	size_t pending_len;
};
enum evidence_trigger { TRIGGER_NEVER, TRIGGER_UNANSWERED, TRIGGER_ANSWERED };
struct evidence_state { /* of one service in one phase */
	bool have;
	struct spool_place place;
	uint8_t digest[32]; /* of the text, redacted by the twins, minified */
};
struct evidence {
	const struct world *w; /* borrowed, as all pointers here but those said to be owned */
	struct spool *spool;
	struct checks *checks;
	struct gate_want want;
	bool sandbox;
	char guest_sha256[65]; /* of the image that was sent in */
	uint64_t t_ms;         /* of the frame being taken, since the run's start */

	struct cJSON *hello, *opening, *closing, *changed, *denied; /* owned */
	bool denied_last; /* the last DENIED came after EXIT: it counts all of the workflow's packets */
	struct gate gate;
	bool have_exit, have_end, have_fail;
	struct plan_exit exit;
	struct plan_end end;
	char fail_step[64], fail_errno[32], fail_text[256];
	struct evidence_stream out, err;
	size_t truncated_len;
	struct plan_truncated truncated[EVIDENCE_TRUNCATED_MAX];
	size_t ops_len, ops_size;
	struct evidence_op *ops; /* owned */
	uint64_t unmatched, first_unmatched;
	char unmatched_text
		[320]; /* of the first one: what was asked, the nearest route, the difference; foreign bytes */
	struct evidence_names names;
	size_t faults_len;
	struct evidence_fault *faults;           /* owned */
	uint8_t triggers[EVIDENCE_TRIGGERS_MAX]; /* enum evidence_trigger, by the index in the world */
	struct evidence_state *states;           /* owned: [phase 0 initial, 1 final][service] */
	uint64_t frames;
	uint8_t chain[32]; /* over all frames accepted */
	uint64_t logs;

	uint8_t *record; /* owned: of several frames */
	size_t record_len, record_size;
	uint8_t record_type; /* of the record being collected, 0 none */
	char why[320];       /* of the event returned last */
};
int evidence_init(struct evidence *e, const struct world *w, struct spool *spool, struct checks *checks, bool sandbox,
		  const char guest_sha256[static 65]) __attribute__((warn_unused_result, nonnull));
/* Sets the redaction of output, once the secrets are made. */
int evidence_redact(struct evidence *e, const struct redact *r) __attribute__((warn_unused_result, nonnull));
void evidence_wipe(struct evidence *e) __attribute__((nonnull));
/* Takes a frame that frame_receive accepted; chain and chain_before are the receiver's.  Fills *ev: RUN_EV_HEARD when
 * the frame only says that the guest lives, RUN_EV_BAD when it lies.  ev->why is e->why or NULL. */
void evidence_frame(struct evidence *e, const struct frame *f, const struct frame_chain *chain,
		    const struct frame_chain *chain_before, uint64_t t_ms, struct run_event *ev)
	__attribute__((nonnull));
/* Hands on what the redaction held back.  0 or -errno. */
int evidence_finish(struct evidence *e) __attribute__((warn_unused_result, nonnull));
/* The state of a service as a new document from the spool; phase 0 initial, 1 final.  NULL: none. */
struct cJSON *evidence_state_doc(struct evidence *e, unsigned phase, size_t service) __attribute__((nonnull));
/* The digest of a service's final state, credentials named.  False: none came. */
bool evidence_state_digest(const struct evidence *e, size_t service, uint8_t out[static 32]) __attribute__((nonnull));
/* 64 hexadecimal digits; what the receipt calls run.fingerprint.  Reads the results in checks. */
void evidence_fingerprint(struct evidence *e, uint64_t seed, char out[static 65]) __attribute__((nonnull));
/* 0 or -ENOMEM. */
int evidence_faults_init(struct evidence *e) __attribute__((warn_unused_result, nonnull));
/* The fault that an operation met, if any.  0; -EPROTO: the world has no such fault. */
int evidence_faults_add(struct evidence *e, const struct cJSON *op, uint64_t n)
	__attribute__((warn_unused_result, nonnull));
void evidence_faults_facts(const struct evidence *e, struct check_facts *out) __attribute__((nonnull));
void evidence_facts(struct evidence *e, struct check_facts *out) __attribute__((nonnull));

/* One validated operation of kind dns, at t_ms of the run: counted, its name listed when it was refused or is in a
 * malformed message; content gets what the fingerprint takes of it.  0 or -ENOMEM. */
int evidence_names_add(struct evidence_names *n, const struct cJSON *op, uint64_t t_ms, uint8_t content[static 32])
	__attribute__((warn_unused_result, nonnull));
/* Remembers a validated question that an address was the answer to.  0 or -ENOMEM. */
int evidence_names_answered(struct evidence_names *n, const struct world *w, const struct cJSON *op)
	__attribute__((warn_unused_result, nonnull));
/* The name of a destination: what the workflow asked the stub for when that was its answer, *from "dns"; else what
 * /etc/hosts of the sandbox calls it, *from "hosts"; NULL: none is known.  Borrowed. */
const char *evidence_names_find(const struct evidence_names *n, const struct world *w, const char *destination,
				const char **from) __attribute__((nonnull));
void evidence_names_wipe(struct evidence_names *n) __attribute__((nonnull));

/* The parsers alone, for tests and fuzzing.  0; -EPROTO and why.  *doc is owned by the caller. */
int evidence_parse_hello(const char *text, size_t len, struct cJSON **doc, char why[static 320]);
int evidence_parse_op(const struct world *w, const char *text, size_t len, uint64_t n, struct cJSON **doc,
		      size_t *service, const char **route, char why[static 320]);
/* The part that an operation of kind dns has of its own. */
int evidence_parse_name(const struct world *w, const struct cJSON *op, uint64_t n, const char **route,
			char why[static 320]);
int evidence_parse_state(const struct world *w, size_t service, const char *text, size_t len, struct cJSON **doc,
			 char why[static 320]);
int evidence_parse_denied(const char *text, size_t len, struct cJSON **doc, char why[static 320]);
#endif
