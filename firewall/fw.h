/* SPDX-License-Identifier: GPL-2.0-or-later
 * fw.h - the firewall room as its callers see it: parameters in, a lock installed, proved, watched and verified.
 * The room includes nothing of ours but its own files.  Errors are -errno plus a struct fw_failure that names the step. */
#ifndef FIREWALL_FW_H
#define FIREWALL_FW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_PINNED_MAX 8u
#define FW_CLOSED_MAX 64u
#define FW_OWN_MAX 16u
#define FW_PROBES_MAX 64u
#define FW_DENIED_MAX 1024u
#define FW_INTERFACES_MAX 16u
#define FW_TEXT_MAX 32768u
#define FW_SPACE 262144u /* bytes: the largest batch (two tables, every list full) and one answer */
#define FW_LOG_GROUP 7u  /* NFLOG group of denied packets */

enum fw_lock_kind { FW_OUTER = 1, FW_INNER = 2 };
enum fw_family { FW_INET = 0, FW_SPLIT = 1 }; /* one table in inet; or one in ip and one in ip6, in one batch */

struct fw_address {
	uint8_t family; /* 4 or 6 */
	uint8_t bytes[16];
};
struct fw_pinned { /* an established control connection, host byte order ports */
	struct fw_address peer;
	uint16_t peer_port;
};
struct fw_closed {        /* a loopback port that only root may reach */
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port;
};
/* What the rules are made from.  Everything that can differ between machines; the template is the same for all. */
struct fw_params {
	enum fw_lock_kind lock;
	enum fw_family family;
	bool reject; /* kernel has reject; else drop */
	bool log;    /* kernel has the NFLOG statement */
	bool ipv6;   /* kernel has IPv6; split mode without it installs the ip table only */
	uint32_t uid_workflow, uid_twins;
	uint16_t control_port; /* 0: none */
	uint8_t pinned_len, closed_len, own_len;
	struct fw_pinned pinned[FW_PINNED_MAX];
	struct fw_closed closed[FW_CLOSED_MAX];
	struct fw_address own[FW_OWN_MAX]; /* own addresses but 127.0.0.0/8 and ::1, sorted */
};

/* Digest and text, pure; also linked by the host. -------------------------------------------------------------------- */

/* The template of one lock in canonical form: family written inet, placeholders for closed ports, own addresses, pinned
 * connections and uids.  NUL-terminated.  Depends on lock and control_port only.  Returns the length, or -ENOSPC. */
int fw_text_policy(enum fw_lock_kind lock, uint16_t control_port, char *out, size_t size)
	__attribute__((warn_unused_result, nonnull));
/* The policy of a run, what GATE holds: both templates, outer then inner. */
int fw_text_policy_all(uint16_t control_port, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* The concrete rules as a script that `nft -f` takes (two tables in split mode).  Also the canonical text of what is
 * installed: rendering what was read back must give the same bytes. */
int fw_text_script(const struct fw_params *p, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* What `audit --nft` prints: the script of a lock in a sandbox that has no route of its own, with the ids of a namespace
 * sandbox.  Closed ports and pinned connections are found out where a run takes place. */
int fw_text_usual(enum fw_lock_kind lock, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* The binding in canonical form, one "name value" line each: lock, family, reject, log, ipv6, uids, control port, closed,
 * own, pinned; sorted.  Its SHA-256 is the binding digest (computed by the caller). */
int fw_text_binding(const struct fw_params *p, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* "192.0.2.1" or "2001:db8::1"; out has at least 46 bytes. */
void fw_text_address(const struct fw_address *a, char out[static 46]) __attribute__((nonnull));

/* Installing, as root of a network namespace. -------------------------------------------------------------------------- */

struct fw_failure {
	char step[48];  /* "net.veth", "features", "install", "readback", "generation", "prove", "watch", "closing" */
	int err;        /* positive errno; 0 if the kernel answered but wrongly */
	char text[256]; /* one sentence: what, and what to do */
};

enum fw_verdict { FW_PASS = 0, FW_FAIL = 1, FW_UNKNOWN = 2, FW_ABSENT = 3 };
const char *fw_verdict_name(enum fw_verdict v) __attribute__((returns_nonnull)); /* "PASS" ... */

struct fw_probe {
	char what[96]; /* "tcp4 198.51.100.1:443 documentation" */
	enum fw_verdict verdict;
	uint32_t packets; /* the probe says it caused */
	uint32_t denied;  /* the workflow's deny counter rose by */
	uint32_t escaped; /* postrouting's deny counter rose by */
	int err;          /* errno the probe saw; 0 none */
};
struct fw_interface {
	char name[16];
	uint32_t index;
};
struct fw_counters { /* packets and bytes that each chain denied so far */
	uint64_t workflow, twins, others, kernel, input, forward, postrouting, closed;
};
struct fw_denied_row {
	uint8_t family, protocol;
	struct fw_address destination;
	uint16_t port; /* 0: protocol has none, or not a first fragment */
	uint32_t uid;  /* 0xffffffff: no owner */
	uint64_t count;
	uint64_t first_ms, last_ms; /* CLOCK_REALTIME */
};

/* One lock.  Placed by the caller (static: about 260 KiB), bound to the network namespace that the thread is in when
 * fw_lock_init is called: sockets opened there stay there, so later calls work from any namespace, but fw_lock_prove,
 * whose child must be started in the lock's namespace (enter below may setns). */
struct fw_lock {
	struct fw_params params; /* after fw_lock_install: what was installed */
	struct fw_interface interfaces[FW_INTERFACES_MAX];
	uint8_t interfaces_len;
	bool installed, proved_opening, proved_closing;
	uint32_t generation;                      /* ruleset generation after the read-back */
	struct fw_probe probes[2][FW_PROBES_MAX]; /* opening, closing */
	uint8_t probes_len[2];
	struct fw_counters counters; /* latest reading */
	struct fw_denied_row denied[FW_DENIED_MAX];
	uint32_t denied_len;
	uint64_t denied_overflow; /* packets with a record but no free row */
	bool denied_lossy;        /* ENOBUFS on the log socket: rows count "at least" */
	uint32_t foreign_changes; /* of tables that are not ours */
	uint32_t route_changes;   /* address, route and link events seen in the outer namespace */
	/* What the run itself was denied = before_closing - baseline (fw_lock_run_counters): the proofs' own packets lie
	 * outside.  The log records of the proofs are thrown away, never aggregated. */
	struct fw_counters baseline;       /* at the end of the opening proof */
	struct fw_counters before_closing; /* at the start of the closing proof */
	/* Only where the control connection cannot be pinned (control_port set, no peer to be seen): called by
	 * fw_lock_install at least three times; must make the guest write a heartbeat frame that the host answers.  Set
	 * between fw_lock_init and fw_lock_install; NULL: such an installation fails with -ENOTCONN. */
	int (*heartbeat)(void *arg);
	void *heartbeat_arg;
	int nl_fd, watch_fd, route_fd, log_fd; /* private, -1 none; watch, route and log are poll()able */
	uint32_t seq;                          /* private */
	uint64_t handles;                      /* private: digest of the kernel's handles of our table */
	uint32_t generation_seen;              /* private: last one that a change event explained */
	bool ipv6_disabled;                    /* private: kernel has IPv6, but it is switched off on every device */
	struct fw_address gateway[2];          /* private: of the default routes, IPv4 and IPv6; family 0 none */
	uint32_t gateway_index;                /* private: device of an IPv6 link-local probe, 0 none */
	_Alignas(8) uint8_t space[FW_SPACE];   /* private: messages to and from the kernel */
};

/* Opens the sockets in the present network namespace.  want: lock kind, uids, control port; the rest is found out. */
int fw_lock_init(struct fw_lock *l, const struct fw_params *want, struct fw_failure *f)
	__attribute__((warn_unused_result, nonnull));
/* Steps 0-4: brings lo up; veth pair with both ends inside and default routes when there is no default route (addresses
 * nodad, generation mode none); own addresses; listeners that exist become closed ports; control connections are pinned;
 * features probed; one atomic batch; read back with flags and compared expression by expression; generation stored;
 * change, route and log sockets subscribed (before the batch). */
int fw_lock_install(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));

/* How a probe child becomes the workflow: called in a forked child that is still root; drops to the workflow's uid under
 * its filter, in the lock's network namespace.  0 or -errno. */
typedef int fw_enter_fn(void *arg);
/* Forks children that try to get out, phase 0 opening, 1 closing.  0: every probe PASS or ABSENT and the positive
 * controls work.  -EPERM: a probe FAILed; -EPROTO: one was UNKNOWN; other -errno: could not be run.  Results are in
 * l->probes[phase] in every case. */
int fw_lock_prove(struct fw_lock *l, unsigned phase, fw_enter_fn *enter, void *arg, struct fw_failure *f)
	__attribute__((warn_unused_result, nonnull(1, 3, 5)));

/* To be called when watch_fd or route_fd is readable, and at any time.  0: our table is intact.  1: something foreign
 * changed and ours was read back intact (foreign_changes counted, a new generation stored).  -EPERM: our table changed, or
 * an address, route or link changed in the inner namespace: fatal. */
int fw_lock_watch(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
/* Reads what the log socket has and aggregates it into denied[].  Returns rows changed, or -errno. */
int fw_lock_denied(struct fw_lock *l) __attribute__((warn_unused_result, nonnull));
/* Reads all counters (without reset). */
int fw_lock_counters(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
/* What was denied between the two proofs: the difference of the latest reading (or of before_closing once the closing
 * proof has begun) and the baseline. */
void fw_lock_run_counters(const struct fw_lock *l, struct fw_counters *out) __attribute__((nonnull));
/* Closing verification, after every process of the run is dead: generation explained, read back, proved again. */
int fw_lock_close_verify(struct fw_lock *l, fw_enter_fn *enter, void *arg, struct fw_failure *f)
	__attribute__((warn_unused_result, nonnull(1, 2, 4)));
void fw_lock_wipe(struct fw_lock *l) __attribute__((nonnull)); /* closes the sockets; the table stays */

#endif
