/* SPDX-License-Identifier: GPL-2.0-or-later
 * store.h - where receipts and event files lie, and how they get there: never half, never readable by others while raw.
 * ROOT/.agenttwin/receipts/RUNID.json and RUNID.events.jsonl; where ROOT cannot be written, $XDG_STATE_HOME/agenttwin or
 * ~/.local/state/agenttwin.  Under sudo everything made belongs to the invoking user. */
#ifndef HOST_STORE_H
#define HOST_STORE_H
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct diag;

struct store {
	int dir_fd;       /* -1 none */
	char path[4200];  /* of the receipt, for people */
	char name[300];   /* of the receipt within the folder */
	char events[320]; /* of the event file within the folder */
	char temporary[320];
	uid_t uid; /* to whom files are given; (uid_t)-1: nobody else */
	gid_t gid;
};
/* Opens or makes the folder and creates the event file, mode 0600.  file: --receipt, or NULL.  Returns a descriptor, or
 * -errno with *d filled. */
int store_open(struct store *s, const char *root, const char *run_id, const char *file, struct diag *d)
	__attribute__((warn_unused_result, nonnull(1, 2, 3, 5)));
/* A new temporary file in the folder, or NULL with errno. */
FILE *store_temporary(struct store *s) __attribute__((nonnull));
/* Puts it in the receipt's place: flush, fsync, rename, fsync of the folder.  f is closed in every case. */
int store_commit(struct store *s, FILE *f) __attribute__((warn_unused_result, nonnull));
int store_read(struct store *s) __attribute__((warn_unused_result, nonnull)); /* the receipt, opened; or -errno */
void store_abandon(struct store *s, FILE *f)
	__attribute__((nonnull(1)));                         /* removes the temporary file; f may be NULL */
void store_forget(struct store *s) __attribute__((nonnull)); /* removes the event file: nothing ran */
void store_wipe(struct store *s) __attribute__((nonnull));
/* Finds a receipt: a file, a run's id, "latest" (of the folder below the current one), or the folder
 * whose latest is meant.  0 and its path, or -errno. */
int store_find(const char *what, char *path, size_t size) __attribute__((warn_unused_result, nonnull));
#endif
