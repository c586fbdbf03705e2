/* SPDX-License-Identifier: GPL-2.0-or-later
 * node.h - which Node program a run uses: found, looked at, digested.  Nothing of a world is executed here but
 * `PROGRAM --version`, without rights of root, with an empty environment. */
#ifndef HOST_NODE_H
#define HOST_NODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NODE_MAJOR_MIN 18u
#define NODE_DIGEST_WAIT_MS 10000 /* 100 MB at 288 MB/s is 0.35 s; this is for a disk that sleeps */

struct diag;

struct node {
	char path[512];   /* real path on this machine */
	char inside[512]; /* its path in the namespace sandbox */
	char prefix[512]; /* folder whose bin, lib/node_modules and include are shown at /opt/node, or "" */
	char file[512];   /* the program alone is shown as /opt/node/bin/node, or "" */
	char version[32]; /* "20.20.2" */
	unsigned major;
	char sha256[65];  /* "" until node_digest_finish */
	pid_t digest_pid; /* private, -1 none */
	int digest_fd;    /* private, -1 none */
};
/* wanted: what --node or workflow.node says, or NULL for the first in PATH.  0; -ENOENT none; -EACCES not executable;
 * -ENOEXEC a script or a shim (then *d says how to find the real one); -EPROTO no answer to --version; -ENOTSUP older than 18. */
int node_find(const char *wanted, struct node *out, struct diag *d) __attribute__((warn_unused_result, nonnull(2, 3)));
/* The digest is computed by a child process meanwhile: it takes longer than starting a sandbox. */
int node_digest_start(struct node *n) __attribute__((warn_unused_result, nonnull));
/* Collects it, waiting at most timeout_ms.  0 or -ETIMEDOUT, -EIO. */
int node_digest_finish(struct node *n, int timeout_ms) __attribute__((nonnull));
void node_wipe(struct node *n) __attribute__((nonnull)); /* ends the child if it still runs */
/* Where it will be seen: pure, for tests.  real: absolute real path; home: of the caller, or NULL; has_modules: the
 * program's folder is called bin. */
void node_place(const char *real, const char *home, struct node *out) __attribute__((nonnull(1, 3)));
/* "v20.20.2\n" to version and major.  0 or -EPROTO. */
int node_version_parse(const char *text, struct node *out) __attribute__((warn_unused_result, nonnull));
#endif
