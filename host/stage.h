/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage.h - which files enter the sandbox, and their bytes as recorded frames.  Rules: world reference section 6. */
#ifndef HOST_STAGE_H
#define HOST_STAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;
struct diag;

struct stage_entry {
	char *path;    /* relative to root; owned */
	char *target;  /* of a link, else NULL; owned */
	uint8_t kind;  /* enum plan_file_kind */
	uint16_t mode; /* 0644, 0755 */
	uint64_t size;
	uint8_t sha256[32];
};
struct stage_left_out {
	char *path;       /* owned */
	const char *rule; /* static: ".npmrc", "private key", ... */
};
struct stage {
	int root_fd; /* O_PATH of the root, for re-opening; -1 none */
	size_t entries_len;
	struct stage_entry *entries; /* owned, sorted by path */
	uint64_t bytes;              /* of all files */
	size_t left_out_len;
	struct stage_left_out *left_out; /* owned */
	size_t warnings_len;
	char **warnings; /* owned: case-colliding names, ... */
};
/* Finds, checks and hashes what the world lists.  0 or -errno with *d: -EPERM for a refused file (credentials, symlink out
 * of place, device), -ENOENT a pattern without match, -EMSGSIZE a limit. */
int stage_collect(const struct world *w, struct stage *out, struct diag *d)
	__attribute__((warn_unused_result, nonnull));
/* Where bytes of the bundle go: returns 0 or -errno; may block. */
typedef int stage_sink(void *arg, const void *data, size_t len);
/* Reads entry i again (beneath root, no symlink followed) and hands its bytes to sink in order.  -EBUSY with *d when size
 * or digest is not what stage_collect saw: the file changed meanwhile. */
int stage_read(const struct stage *s, size_t i, stage_sink *sink, void *arg, struct diag *d)
	__attribute__((warn_unused_result, nonnull(1, 3, 5)));
void stage_wipe(struct stage *s) __attribute__((nonnull));
#endif
