/* SPDX-License-Identifier: GPL-2.0-or-later
 * cgroup.h - control groups of one run: processes, memory and processor, in version 2 or version 1 hierarchies, whichever this machine
 * has and the caller may use.  Only groups named agenttwin-RUNID are ever made, written to or removed, and only processes of
 * the run are put into them; where that is not enough for a limit, it is not enforced and the reason is kept in words. */
#ifndef HOST_CGROUP_H
#define HOST_CGROUP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH_MAX 512u
/* Processes in the group that are not the workflow's: init, parent and monitor, the room's init, twins; one child each of the
 * monitor and of the bundle, one to spare. */
#define CGROUP_OWN_PIDS 8u

enum cgroup_kind { CGROUP_PIDS, CGROUP_MEMORY, CGROUP_CPU, CGROUP_KINDS };

struct cgroup_limits { /* 0: not asked */
	uint64_t memory_bytes;
	uint32_t pids;
	uint32_t cpu_milli; /* thousandths of one processor */
};

struct cgroup_place {     /* where one limit is set */
	unsigned version; /* 1 or 2; 0: it is not enforced */
	bool made;
	char path[CGROUP_PATH_MAX]; /* of the group; "" none */
	char why[160];              /* of version 0: half a sentence */
	char fix[160];              /* of version 0: a command, or "" */
};
struct cgroup_counts {         /* read before the groups are removed */
	uint64_t oom_kills;    /* processes that the kernel killed because memory ended */
	bool oom_elsewhere;    /* the group's own limit was not reached: memory ended further up */
	uint64_t pids_refused; /* processes refused at the limit */
};
struct cgroup {
	struct cgroup_place places[CGROUP_KINDS];
	struct cgroup_limits asked;
	bool swap; /* the memory limit holds for swap too */
	struct cgroup_counts counts;
};

/* The group that this process is in: of that version 1 controller, or with NULL of version 2.  dir is its folder, *base the length
 * of the mount point in it.  False: none that can be seen. */
bool cgroup_own(const char *root, const char *controller, char *dir, size_t size, size_t *base)
	__attribute__((warn_unused_result, nonnull(1, 3, 5)));
/* Where groups for what is asked can be made.  root is put before every path ("" for this machine).  Makes nothing. */
void cgroup_find(const char *root, const char *run_id, const struct cgroup_limits *asked, struct cgroup *c)
	__attribute__((nonnull));
/* Makes the groups and sets the limits.  What the kernel refuses becomes "not enforced". */
void cgroup_make(struct cgroup *c) __attribute__((nonnull));
/* Puts a process of the run in, before it has children.  What the kernel refuses becomes "not enforced". */
void cgroup_enter(struct cgroup *c, pid_t pid) __attribute__((nonnull));
/* Version 2: the kernel kills all that is inside. */
void cgroup_kill(const struct cgroup *c) __attribute__((nonnull));
/* Fills counts, while the groups stand. */
void cgroup_count(struct cgroup *c) __attribute__((nonnull));
/* Removes what was made, waiting for the last process to be gone.  0 or -errno; *path (if not NULL) is what is left. */
int cgroup_remove(struct cgroup *c, int timeout_ms, const char **path) __attribute__((warn_unused_result, nonnull(1)));
/* The same from a path in a lease: kills and removes it if it is a control group that belongs to this run.  0 gone. */
int cgroup_reap(const char *path, const char *run_id, int timeout_ms) __attribute__((warn_unused_result, nonnull));
/* In words, for the receipt: "pids by cgroup v1 (264); memory by cgroup v1 (448 MiB, swap included); cpu not asked". */
void cgroup_describe(const struct cgroup *c, char *out, size_t size) __attribute__((nonnull));

/* ---- parsers, for tests ------------------------------------------------------------------------------------------------- */
/* A line of /proc/PID/cgroup: true, and the path, when it is that of this version 1 controller, or with NULL of version 2. */
bool cgroup_line(const char *line, const char *controller, char *path, size_t size) __attribute__((nonnull(1, 3)));
/* A line of mountinfo: true when it mounts that hierarchy and shows the group own; dir is where, *base the length of the
 * mount point in it. */
bool cgroup_mount(const char *line, const char *controller, const char *own, char *dir, size_t size, size_t *base)
	__attribute__((nonnull(1, 3, 4, 6)));
/* The number behind a word at the start of a line of "word number" lines; 0 when there is none. */
uint64_t cgroup_number(const char *text, const char *word) __attribute__((nonnull));
/* The path ends in the name of this run's group, without detours. */
bool cgroup_is_named(const char *path, const char *run_id) __attribute__((nonnull));
#endif
