/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_walk.h - the parts of staging.  Only for stage.c and stage_*.c. */
#ifndef HOST_STAGE_WALK_H
#define HOST_STAGE_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/pattern.h"
#include "host/stage.h"

#define WALK_PATH_MAX 4096u
#define WALK_BUFFER (256u << 10)

struct walk_pattern {
	struct pattern p;
	const char *text; /* borrowed from the world */
	bool found;       /* a file or link matched */
	bool folder;      /* a folder matched, which is not enough */
};
struct walk_keep {
	const char *path; /* borrowed from the world */
	bool seen, needed;
};
/* One collection while it goes on. */
struct walk {
	const struct world *w;
	struct stage *s;
	struct diag *d;
	size_t patterns_len, keep_len;
	struct walk_pattern *patterns;
	struct walk_keep *keep;
	size_t entries_size, left_out_size, warnings_size;
	uint8_t *buffer; /* WALK_BUFFER bytes */
	size_t path_len;
	char path[WALK_PATH_MAX]; /* relative to root, of what is looked at */
};

/* Opens a path beneath root_fd with no symlink followed on the way, nor at its end.  A descriptor or -errno (-ELOOP a link,
 * -EXDEV). */
int stage_open_beneath(int root_fd, const char *path, int flags) __attribute__((warn_unused_result, nonnull));

/* Finds and reads every file that the patterns take; links are only noted. */
int stage_walk(struct walk *k) __attribute__((warn_unused_result, nonnull)); /* stage_walk.c */
/* Reads, hashes and judges one file; adds it to the entries or to what is left out. */
int stage_take_file(struct walk *k, int folder, const char *name, bool in_modules, size_t pattern)
	__attribute__((warn_unused_result, nonnull)); /* stage_file.c */
int stage_take_link(struct walk *k, int folder, const char *name, size_t pattern)
	__attribute__((warn_unused_result, nonnull));
/* After the entries are sorted: every link must lead to something that is taken, or it is refused. */
int stage_check_links(struct walk *k) __attribute__((warn_unused_result, nonnull)); /* stage_links.c */

/* Every pattern found something, every kept file is there, and the workflow's folder too. */
int stage_check_found(struct walk *k) __attribute__((warn_unused_result, nonnull)); /* stage_missing.c */

/* Warns about what enters and cannot work there. */
int stage_check_fit(struct walk *k) __attribute__((warn_unused_result, nonnull)); /* stage_fit.c */

/* The error at a pattern of the world (or at "files" as a whole: SIZE_MAX), with problem and fix. */
int stage_fail(struct walk *k, int err, size_t pattern, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull(1, 4)));
int stage_out_of_memory(struct walk *k) __attribute__((nonnull));
/* The path being looked at, escaped for a message. */
const char *stage_shown(const char *path, char out[static 256]) __attribute__((nonnull, returns_nonnull));
/* Takes over the path's copy; link target moved, or NULL. */
int stage_add(struct walk *k, const struct stage_entry *e) __attribute__((warn_unused_result, nonnull));
int stage_leave_out(struct walk *k, const char *path, const char *rule) __attribute__((warn_unused_result, nonnull));
int stage_warn(struct walk *k, const char *format, ...)
	__attribute__((warn_unused_result, format(printf, 2, 3), nonnull));
/* The first entry whose path is not less than path; entries_len: none. */
size_t stage_lower_bound(const struct stage *s, const char *path) __attribute__((nonnull));
#endif
