/* SPDX-License-Identifier: GPL-2.0-or-later
 * jq_run.h - expressions of jq over one JSON document, each judged in a child process that can do nothing but compute: no
 * files, no network, no other processes, no environment, no modules, bounded time and memory.  Whatever ends the child is an
 * error of the expression that it was at, never of the host. */
#ifndef HOST_JQ_RUN_H
#define HOST_JQ_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JQ_EXPR_MAX 8192u           /* bytes of an expression */
#define JQ_INPUT_MAX (256u << 20)   /* bytes of the document */
#define JQ_TEXT_MAX 65536u          /* bytes of what an expression gives, as text; the rest is cut off */
#define JQ_CPU_MS 1000u             /* of processor time: to compile, and again to evaluate */
#define JQ_LOAD_CPU_S 10u           /* to read the document */
#define JQ_WALL_MS 30000u           /* for either, should the machine be that busy */
#define JQ_MEMORY (256ull << 20)    /* that an expression may take */
#define JQ_LOAD_MEMORY (1ull << 30) /* that the document may take */
#define JQ_OPERATIONS_MAX 20000u    /* of a document; with more nothing is evaluated */

/* An expression is a condition: it gives true or false, once.  Anything else, and any error, is trouble: not judged. */
enum jq_verdict { JQ_TROUBLE, JQ_FALSE, JQ_TRUE };

struct jq_task {
	const char *expr; /* borrowed */
	bool each;        /* over each of these elements of .operations, known by their n, ascending; else over all */
	const uint32_t *ops;
	size_t ops_len;
	/* What came of it. */
	enum jq_verdict verdict; /* of each: of the first that is not true */
	char *text;              /* owned; what it gave as JSON, or why there is no verdict; never NULL after success */
	uint32_t op;             /* of each, not JQ_TRUE: which operation, by its n; or UINT32_MAX */
	uint32_t at;             /* when it cannot be compiled: the character, from 1; 0 unknown */
};

/* Compiles only: verdict is JQ_TRUE, or JQ_TROUBLE with text and at.  0, or -errno: there is no memory, no process. */
int jq_run_compile(struct jq_task *tasks, size_t len) __attribute__((warn_unused_result, nonnull));
/* Evaluates over json[0..json_len).  0 or -errno, after which no verdict means anything. */
int jq_run_all(struct jq_task *tasks, size_t len, const char *json, size_t json_len)
	__attribute__((warn_unused_result, nonnull));
void jq_run_wipe(struct jq_task *tasks, size_t len) __attribute__((nonnull));

/* A function, variable or keyword that no expression here may use, since it is not about the document.  NULL: none; else
 * its name (borrowed, static), *at its character from 1.  Linear; strings, comments, fields and keys are told apart. */
const char *jq_run_forbidden(const char *expr, uint32_t *at) __attribute__((warn_unused_result, nonnull));

/* ---- between jq_run.c and jq_child.c ---------------------------------------------------------------------------------- */
#define JQ_RECORD_LOADED UINT32_MAX         /* the document is read, text is empty */
#define JQ_RECORD_NO_LOAD (UINT32_MAX - 1u) /* it cannot be, text says why */
#define JQ_EXIT_MEMORY 100                  /* the child's exit status when memory ended */
#define JQ_EXIT_ISOLATION 101               /* it could not be shut in */
struct jq_record {                          /* then len bytes of text */
	uint32_t task, verdict, op, at, len;
};
/* The child: never returns.  json NULL: compiles only. */
void jq_child(const struct jq_task *tasks, size_t len, const char *json, size_t json_len, int out)
	__attribute__((noreturn, nonnull(1)));
/* jq_jail.c: descriptors other than out are closed (out becomes 3), signals are as they were at birth, the environment is
 * empty, and the kernel answers EPERM to all but computing.  *statm: /proc/self/statm, or -1.  0 or -errno. */
int jq_jail_enter(int *out, int *statm) __attribute__((warn_unused_result, nonnull));
/* What may be taken beyond what is taken now. */
void jq_jail_memory(int statm, uint64_t more);
/* Processor time from now on, after which SIGPROF ends the process. */
void jq_jail_time(uint32_t ms);
#endif
