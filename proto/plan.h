/* SPDX-License-Identifier: GPL-2.0-or-later
 * plan.h - the bodies of RUN, FILE, COMMIT, EXIT, TRUNCATED, FAIL and END, agenttwin-frames(7): flat, fixed order, big-endian,
 * so that the root monitor parses no text format.  Decoded structs borrow from the input.
 *
 * RUN comes as four records, each once and in this order; the first byte of a record is its section. */
#ifndef PROTO_PLAN_H
#define PROTO_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cursor.h"
#include "proto/limits.h"

enum plan_section { PLAN_EXEC = 1, PLAN_POLICY = 2, PLAN_GATE = 3, PLAN_TWINS = 4 };

/* EXEC: u8 section, u16 argc, u16 envc, u32 stdin_len, argc strings, envc strings "NAME=value", cwd string (relative to
 * the application's folder, "" is the folder itself), stdin bytes.  stdin_len 0xffffffff: no stdin, /dev/null. */
#define PLAN_STDIN_NONE 0xffffffffu
struct plan_exec {
	uint16_t argc, envc;
	const char *argv[PLAN_ARGS_MAX + 1]; /* NULL-terminated */
	const char *envp[PLAN_ENV_MAX + 1];
	const char *cwd;
	const uint8_t *stdin_data; /* NULL: /dev/null */
	uint32_t stdin_len;
};
/* All decoders: 0; -EPROTO for anything that is not exactly the form; -EMSGSIZE over a limit; -EPERM for a value that has the
 * form but is refused: a path (see FILE), or in POLICY of a sandbox a workflow or twins identity that is 0 or 2^32-1, or
 * one uid for both.  On failure *out is undefined.  Encoders report through the writer. */
int plan_exec_decode(const uint8_t *body, size_t len, struct plan_exec *out)
	__attribute__((warn_unused_result, nonnull));
void plan_exec_encode(struct writer *w, const struct plan_exec *in) __attribute__((nonnull));

enum plan_mode { PLAN_SANDBOX = 0, PLAN_LOCAL = 1 }; /* local: no firewall, no user drop, no namespaces */
enum plan_flag {
	PLAN_WRITE_HOSTS = 1,   /* the guest writes /etc/hosts (else the backend gave the names) */
	PLAN_EXIT_ON_CLOSE = 2, /* live stream: end of input ends the run */
	PLAN_DRIVEN = 4,        /* the twins are told when the workflow runs; they may signal and end it */
	PLAN_READY = 8,         /* it is ready when they say so, within start_ms; with PLAN_DRIVEN only */
	PLAN_READY_LINE = 16,   /* until then they see its stdout; with PLAN_READY only */
};
/* Where the guest puts the certificate of the authority that signed for services with TLS; NODE_EXTRA_CA_CERTS names it. */
#define PLAN_CA_FILE "/etc/agenttwin-ca.pem"
struct plan_service {
	uint16_t port;
	uint8_t address[4]; /* 127.64.0.k; on local 127.0.0.1 */
};
struct plan_host {
	uint8_t service; /* index */
	const char *name;
};
/* POLICY: u8 section, then the fields in this order with these widths; services; hosts (u8 service, string). */
struct plan_policy {
	uint8_t mode;   /* enum plan_mode */
	uint32_t flags; /* enum plan_flag */
	uint32_t workflow_uid, workflow_gid, twins_uid, twins_gid, postgres_uid, postgres_gid;
	uint32_t run_ms, start_ms, idle_ms, grace_ms; /* idle 0: off */
	uint64_t memory_bytes;
	uint32_t pids, files;
	uint64_t disk_bytes, output_bytes;
	uint32_t operations;
	uint64_t state_bytes;
	uint16_t control_port; /* 0: none */
	char app_dir[256];     /* absolute folder of the application ("/app"); string */
	char home_dir[256];    /* "/home/node"; string */
	uint8_t services_len;
	struct plan_service services[PLAN_SERVICES_MAX];
	uint16_t hosts_len;
	struct plan_host hosts[PLAN_HOSTS_MAX];
};
int plan_policy_decode(const uint8_t *body, size_t len, struct plan_policy *out)
	__attribute__((warn_unused_result, nonnull));
void plan_policy_encode(struct writer *w, const struct plan_policy *in) __attribute__((nonnull));

/* GATE: u8 section, 32 bytes: the policy digest that FIREWALL(opening) must have; all zero on local. */
int plan_gate_decode(const uint8_t *body, size_t len, uint8_t digest[static 32])
	__attribute__((warn_unused_result, nonnull));
void plan_gate_encode(struct writer *w, const uint8_t digest[static 32]) __attribute__((nonnull));
/* TWINS: u8 section, JSON.  The monitor hands everything after the first byte on unread. */

/* FILE: u8 kind, u16 mode, u64 size, 32 bytes SHA-256, path string; a link then its target string (size 0, digest of
 * the empty string).  Paths are relative to the application's folder, UTF-8, no empty, "." or ".." segment. */
enum plan_file_kind { PLAN_FILE = 1, PLAN_LINK = 2, PLAN_TWINS_FILE = 3 };
struct plan_file {
	uint8_t kind;
	uint16_t mode; /* 0644 or 0755 */
	uint64_t size;
	uint8_t sha256[32];
	const char *path;
	const char *target; /* NULL but for a link */
};
/* -EPROTO malformed; -EPERM for a path or target that may not be (absolute, "..", empty segment, too long, not UTF-8). */
int plan_file_decode(const uint8_t *body, size_t len, struct plan_file *out)
	__attribute__((warn_unused_result, nonnull));
void plan_file_encode(struct writer *w, const struct plan_file *in) __attribute__((nonnull));
/* The path rule alone, for both sides.  0 or -EPERM. */
int plan_path_check(const char *path) __attribute__((warn_unused_result, nonnull));

/* COMMIT: u32 files (FILE frames), u64 bytes (of DATA), chain[32] over all frames before it. */
struct plan_commit {
	uint32_t files;
	uint64_t bytes;
	uint8_t chain[32];
};
int plan_commit_decode(const uint8_t *body, size_t len, struct plan_commit *out)
	__attribute__((warn_unused_result, nonnull));
void plan_commit_encode(struct writer *w, const struct plan_commit *in) __attribute__((nonnull));

enum cancel_reason { CANCEL_SIGNAL = 1, CANCEL_DEADLINE = 2, CANCEL_HOST_ERROR = 3 };

/* Where a spawn failed; 0: the program ran. */
enum exec_stage {
	EXEC_OK = 0,
	EXEC_FORK = 1,
	EXEC_SESSION = 2,
	EXEC_FDS = 3,
	EXEC_NAMESPACE = 4,
	EXEC_LIMITS = 5,
	EXEC_DROP = 6,
	EXEC_CWD = 7,
	EXEC_FILTER = 8,
	EXEC_EXEC = 9,
};
const char *exec_stage_name(uint8_t stage) __attribute__((returns_nonnull));

/* Why the guest ended the workflow, if it did. */
enum exit_ended_by {
	ENDED_ITSELF = 0,
	ENDED_RUN_DEADLINE = 1,
	ENDED_IDLE = 2,
	ENDED_CANCEL = 3,
	ENDED_OUTPUT_LIMIT = 4,
	ENDED_FIREWALL = 5,
	ENDED_HOST_LOST = 6,
	ENDED_START_DEADLINE = 7,
	ENDED_TWINS = 8,
	ENDED_OOM = 9,
	ENDED_WORLD = 10, /* by workflow.ends of the world: nothing went wrong */
};
const char *exit_ended_by_name(uint8_t v) __attribute__((returns_nonnull));

/* EXIT, in this order.  An unstarted workflow has stage != EXEC_OK, code -1. */
struct plan_exit {
	int32_t code;                 /* exit code, or -1 when a signal ended it or it never ran */
	uint8_t signal;               /* 0: none */
	uint8_t core, oom, pipe_held; /* bools; pipe_held: others of the run still lived after the direct child's end */
	uint8_t stage;                /* enum exec_stage */
	uint8_t ended_by;             /* enum exit_ended_by */
	char errno_name[16];          /* "ENOENT", or "" ; string */
	uint64_t user_us, system_us, wall_us;
	uint64_t max_rss_kib;
	uint64_t stdout_bytes, stderr_bytes;          /* all that the workflow wrote, sent or not */
	uint8_t stdout_sha256[32], stderr_sha256[32]; /* of all that was sent */
};
int plan_exit_decode(const uint8_t *body, size_t len, struct plan_exit *out)
	__attribute__((warn_unused_result, nonnull));
void plan_exit_encode(struct writer *w, const struct plan_exit *in) __attribute__((nonnull));

enum truncated_what {
	TRUNCATED_STDOUT = 1,
	TRUNCATED_STDERR = 2,
	TRUNCATED_OPERATIONS = 3,
	TRUNCATED_STATE = 4,
	TRUNCATED_DENIED = 5
};
const char *truncated_what_name(uint8_t what) __attribute__((returns_nonnull));
struct plan_truncated {
	uint8_t what;
	uint64_t kept, lost; /* bytes for streams and state, records for operations, packets for denied */
};
int plan_truncated_decode(const uint8_t *body, size_t len, struct plan_truncated *out)
	__attribute__((warn_unused_result, nonnull));
void plan_truncated_encode(struct writer *w, const struct plan_truncated *in) __attribute__((nonnull));

/* FAIL: three strings: step ("firewall.install", "bundle", "twins", ...), errno name, text. */
struct plan_fail {
	const char *step, *errno_name, *text;
};
int plan_fail_decode(const uint8_t *body, size_t len, struct plan_fail *out)
	__attribute__((warn_unused_result, nonnull));
void plan_fail_encode(struct writer *w, const struct plan_fail *in) __attribute__((nonnull));

enum end_result { END_OK = 0, END_FAILED = 1, END_FIREWALL = 2, END_CANCELLED = 3, END_TIMEOUT = 4 };
/* END: u64 frames before it, chain[32] over them, u8 result. */
struct plan_end {
	uint64_t frames;
	uint8_t chain[32];
	uint8_t result;
};
int plan_end_decode(const uint8_t *body, size_t len, struct plan_end *out) __attribute__((warn_unused_result, nonnull));
void plan_end_encode(struct writer *w, const struct plan_end *in) __attribute__((nonnull));

/* "ECONNREFUSED" for ECONNREFUSED (positive); "E123" style for one without a name here.  Names, since numbers differ
 * between machines.  The text is static, or in a per-thread buffer until the next call. */
const char *errno_name(int err) __attribute__((returns_nonnull));

#endif
