/* SPDX-License-Identifier: GPL-2.0-or-later
 * backend.h - where a run happens: two byte streams and a lifetime.  Knows no world, frame or receipt. */
#ifndef HOST_BACKEND_H
#define HOST_BACKEND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct backend; /* private to each backend */

struct backend_limits {
	uint64_t memory_bytes; /* bundle and tmpfs bytes are included */
	uint64_t disk_bytes;   /* of /app, /home, /tmp together, each tmpfs sized so */
	uint64_t output_bytes; /* of the private output tmpfs, a stream */
	uint32_t pids;
	uint32_t cpu_milli; /* thousandths of one processor; 0 no limit */
};
struct host_addr {
	const char *name;
	uint8_t address[4];
};
struct backend_spec {       /* borrowed until the run ends */
	const char *run_id; /* UUIDv7: name, label or metadata on everything that is created */
	uint64_t expires_s; /* CLOCK_REALTIME; the backend's own backstop: deadline + 60 s */
	const struct host_addr *hosts;
	size_t hosts_len;
	struct backend_limits limits;
	const char *image; /* template or image; NULL = default */
	const char *node;  /* Node program to make visible (--node, workflow.node); NULL: first in PATH */
	const void *guest; /* the static binary, guest_len bytes */
	size_t guest_len;
	bool allow_unlimited;
};
enum backend_flag { BACKEND_DUPLEX = 1, BACKEND_SANDBOX = 2, BACKEND_EXPIRES = 4, BACKEND_HOSTS = 8 };

struct cleanup {
	bool confirmed;
	uint32_t attempts;
	uint64_t expires_s; /* the backstop when not confirmed */
	char reason[256];   /* why not confirmed, or "" */
};
struct facts { /* for the receipt; "" unknown */
	char sandbox_id[64];
	char image_digest[72];
	char mode[64];         /* "root", "user with newuidmap", "direct" */
	char node_path[512];   /* on this machine */
	char node_inside[512]; /* in the sandbox */
	char node_version[32];
	char node_sha256[65];
	char limits_enforced[900]; /* "pids by rlimit; memory not enforced; ..." */
	char limits_fix[160];      /* what would make more limits enforced, or "" */
	uint32_t pids_most; /* processes that the sandbox may have in all, ours included; 0 not enforced from outside */
	uint64_t memory_most;  /* bytes of memory likewise */
	uint32_t cpu_most;     /* thousandths of one processor likewise */
	uint64_t oom_kills;    /* after destroy: processes that the kernel killed because memory ended ... */
	bool oom_elsewhere;    /* ... though the sandbox was below its own limit */
	uint64_t pids_refused; /* after destroy: processes refused at pids_most */
	uint32_t workflow_uid, workflow_gid, twins_uid, twins_gid, postgres_uid, postgres_gid; /* as seen inside */
	char app_dir[256];       /* as seen by the guest: "/app", on local a folder below $TMPDIR */
	char home_dir[256];      /* "/home/node" */
	char guest_stderr[2048]; /* the last bytes the guest wrote there: only set when it could not speak in frames */
};
#define LEASE_CGROUPS 3u
struct lease { /* one journal line: a file in the lease folder */
	char backend[16];
	char run_id[40];
	char id[64];         /* pid for namespaces; "" until the first creating call has returned */
	uint64_t start_time; /* field 22 of /proc/PID/stat, so a reused pid is not mistaken */
	uint64_t expires_s;
	uint64_t host_pid, host_start_time; /* of the program that holds the run; filled by lease_write */
	char boot_id[40];                   /* pids of another boot mean nothing; filled by lease_write */
	char folder[256];                   /* to be removed with the run, or "" */
	char cgroups[LEASE_CGROUPS][512];   /* control groups to be removed with the run, or "" */
	char path[512];                     /* the lease file itself */
};
struct doctor_item {
	bool ok;
	char what[96]; /* "user namespaces" */
	char found[512];
	char fix[512]; /* the command that mends it, or "" */
};
#define DOCTOR_ITEMS_MAX 24
struct doctor {
	size_t items_len;
	struct doctor_item items[DOCTOR_ITEMS_MAX];
};

struct backend_ops {
	const char *name;
	uint32_t flags;        /* without BACKEND_SANDBOX the receipt says boundary.kind "none" */
	uint16_t control_port; /* 49983 for e2b, else 0: then no established rule exists */
	/* 0, or -errno and *d filled.  The lease is on disk before the first call that can create.  Fills facts early (node,
	 * uids), because the plan needs them. */
	int (*open)(struct backend **b, const struct backend_spec *s, struct diag *d);
	/* Duplex: the guest runs, *in (to the guest) and *out (from it) are moved to the caller, CLOEXEC. Called once. */
	int (*start)(struct backend *b, int bundle, int *in, int *out, struct diag *d);
	int (*cancel)(struct backend *b);                     /* asks, returns at once */
	int (*destroy)(struct backend *b, struct cleanup *c); /* idempotent; kills, waits, removes, drops the lease */
	int (*describe)(struct backend *b, struct facts *f);
	int (*reap)(const struct lease *l, struct cleanup *c); /* from a lease alone */
	int (*doctor)(struct doctor *d);                       /* 0 works, -ENOTSUP does not; items say why */
	void (*release)(struct backend *b);                    /* frees b after destroy; NULL accepted */
};
extern const struct backend_ops backend_namespace, backend_local;
const struct backend_ops *backend_find(const char *name); /* NULL: no such */

/* Leases: $XDG_RUNTIME_DIR/agenttwin/leases (root: /run/agenttwin/leases; else ~/.agenttwin/leases), folder 0700. */
int lease_write(struct lease *l, struct diag *d)
	__attribute__((warn_unused_result, nonnull)); /* fills l->path; fsync */
int lease_drop(const struct lease *l) __attribute__((nonnull));
/* Calls each for every lease on disk; a malformed file is reported through each with backend "". Returns the count or -errno. */
int lease_each(int (*each)(const struct lease *l, void *arg), void *arg)
	__attribute__((warn_unused_result, nonnull(1)));
/* The run's process is still there (boot, pid and start time match). */
bool lease_is_alive(const struct lease *l) __attribute__((nonnull));
/* The program that wrote the lease is still there: the run is its own, nobody else's to end. */
bool lease_is_held(const struct lease *l) __attribute__((nonnull));
#endif
