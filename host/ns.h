/* SPDX-License-Identifier: GPL-2.0-or-later
 * ns.h - the parts of the namespace backend among themselves.  Nobody else includes this.
 *
 * The host clones one process, the init: PID 1 of the sandbox's pid namespace, root of its user namespace, running this
 * program's code.  It builds the root filesystem, starts the guest, and ends when the guest, the host or the time ends;
 * with it the kernel ends every process of the sandbox and takes down every mount.
 * The guest gets a second set of namespaces below the first, with the same ids.  There it is root and may do all that it needs,
 * but the mounts that it found are locked: not even its root can make them writable or look beneath them. */
#ifndef HOST_NS_H
#define HOST_NS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct diag;
struct doctor;

/* What the workflow's machine looks like from inside; the numbers also stand in its /etc/passwd. */
#define NS_UID_WORKFLOW 1000u
#define NS_UID_TWINS 991u
#define NS_UID_POSTGRES 992u
#define NS_IDS_MIN 1001u /* ids 0..1000: root, twins, postgres, workflow */
#define NS_IDS_MAX 65536u

/* ---- ids: which ids of this machine the sandbox gets (ns_ids.c) --------------------------------------------------------- */
#define NS_EXTENTS_MAX 8u
struct ns_extent {
	uint32_t inside, outside, count;
};
struct ns_map {
	uint32_t len, total; /* extents; ids from 0 without a gap */
	struct ns_extent extents[NS_EXTENTS_MAX];
};
struct ns_ids {
	bool direct; /* as root: written straight to /proc; else by newuidmap */
	struct ns_map uid, gid;
	int lock; /* held while the block is in use, -1 none; inherited by the init */
	char newuidmap[64], newgidmap[64];
	char mode[64]; /* for the receipt */
};
/* 0; -ENOTSUP with *d: what is missing and the command that mends it; other -errno. */
int ns_ids_choose(const char *run_id, struct ns_ids *ids, struct diag *d) __attribute__((warn_unused_result, nonnull));
/* Gives the user namespace of the process pid its ids. */
int ns_ids_write(const struct ns_ids *ids, pid_t pid, struct diag *d) __attribute__((warn_unused_result, nonnull));
/* The same ids once more for the user namespace of pid, a child in a namespace below the caller's. */
int ns_ids_repeat(const struct ns_ids *ids, pid_t pid) __attribute__((warn_unused_result, nonnull));
void ns_ids_wipe(struct ns_ids *ids) __attribute__((nonnull));
/* Ranges of a user in /etc/subuid or /etc/subgid as a map that starts with id `inside`.  text is the file's text. */
void ns_ids_parse(const char *text, const char *user, uint32_t uid, uint32_t inside, struct ns_map *map)
	__attribute__((nonnull));
/* True when this process is root of a user namespace in which it can hand out ids. */
bool ns_ids_is_root(void);
bool ns_ids_tool(const char *name, char *out, size_t size) __attribute__((nonnull)); /* finds newuidmap, newgidmap */

/* ---- reports of the init ------------------------------------------------------------------------------------------------ */
enum ns_report_kind { NS_HELLO = 1, NS_READY = 2, NS_STARTED = 3, NS_ENDED = 4, NS_FAILED = 5 };
struct ns_report { /* one write, below PIPE_BUF */
	uint8_t kind;
	int32_t err;    /* positive errno of NS_FAILED; wait status of NS_ENDED */
	char step[32];  /* "mount", "pivot", "exec", ... */
	char what[128]; /* the path or word that the step was about */
};

/* ---- the root filesystem (ns_rootfs.c, ns_files.c), called in the init ---------------------------------------------------- */
#define NS_NODE_DIRS 3u
struct ns_rootfs {
	uint64_t disk_bytes;
	/* Node when it lies outside /usr: what is bound below /opt/node.  Opened before the init gives up the caller's
	 * identity, because the folders above may be closed to everyone else (a home of mode 0700). */
	const char *node_prefix;    /* "" none */
	const char *node_file;      /* bound alone, as /opt/node/bin/node; "" none */
	int node_fds[NS_NODE_DIRS]; /* private */
};
int ns_rootfs_open(struct ns_rootfs *fs, struct ns_report *fail) __attribute__((warn_unused_result, nonnull));
int ns_rootfs_build(struct ns_rootfs *fs, struct ns_report *fail) __attribute__((warn_unused_result, nonnull));
/* /proc of the pid namespace and read-only /sys of the network namespace that the caller is in, over those that it found. */
int ns_rootfs_views(struct ns_report *fail) __attribute__((warn_unused_result, nonnull));
/* Fills *fail and returns -err. */
int ns_fail(struct ns_report *fail, const char *step, const char *what, int err) __attribute__((nonnull));
/* Writes the sandbox's own /etc files into the folder etc (relative to the current one). */
int ns_files_etc(const char *etc, struct ns_report *fail) __attribute__((warn_unused_result, nonnull));
/* A file or folder of this machine, seen at target: read-only (if so), nosuid, nodev (unless device), with all below. */
enum ns_bind_flag { NS_BIND_WRITABLE = 1, NS_BIND_DEVICE = 2, NS_BIND_OPTIONAL = 4 };
int ns_bind(const char *source, const char *target, unsigned flags, struct ns_report *fail)
	__attribute__((warn_unused_result, nonnull));

/* ---- the init (ns_init.c) ------------------------------------------------------------------------------------------------- */
struct ns_init {
	int go;              /* read: 'm' maps written, 's' start the guest; end of file: the host is gone */
	int report;          /* write: struct ns_report */
	int guest;           /* the program, a sealed memfd */
	int in, out, log;    /* the guest's stdin, stdout, stderr */
	int lock;            /* ns_ids.lock, or -1 */
	uint64_t expires_ms; /* CLOCK_MONOTONIC */
	const struct ns_ids *ids;
	struct ns_rootfs fs;
};
/* The init from its first instruction after clone. */
_Noreturn void ns_init_main(struct ns_init *in) __attribute__((nonnull));

/* ---- doctor (ns_doctor.c) --------------------------------------------------------------------------------------------------- */
int ns_doctor(struct doctor *d) __attribute__((nonnull));
/* "docker", "podman", "kubernetes", "lxc", "container", or NULL on a machine of its own. */
const char *ns_container(void);
bool ns_apparmor_blocks(void); /* kernel.apparmor_restrict_unprivileged_userns is on */
/* Explains a failure of the kernel (clone, mount) by what this machine is: the way out for containers, AppArmor, sysctls. */
void ns_explain(int err, struct diag *d) __attribute__((nonnull));
#endif
