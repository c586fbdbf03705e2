/* SPDX-License-Identifier: GPL-2.0-or-later
 * store_list.h - the runs in a folder of receipts, and how old ones leave it.  Other hosts write to and prune the same folder
 * at the same time: what vanishes meanwhile is no error.  Only files named after a run are looked at, links never are. */
#ifndef HOST_STORE_LIST_H
#define HOST_STORE_LIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_KEEP 1000u /* receipts */
#define STORE_DAYS 30u
#define STORE_ID_LEN 36u

struct store_run {
	char id[STORE_ID_LEN + 1]; /* UUID version 7 */
	uint64_t unix_ms;          /* when it began, from its id */
	bool receipt, events, temporary;
};
struct store_runs {
	struct store_run *list; /* owned; the newest first */
	size_t len;
};
/* The folder of receipts below root; opened without following a link below root.  itself: root is taken for one when it has
 * none.  Descriptor or -errno; path is its name. */
int store_folder(const char *root, bool itself, char *path, size_t size) __attribute__((warn_unused_result, nonnull));
/* The folder that receipts go to where no root can be written.  Descriptor or -errno. */
int store_state_folder(char *path, size_t size) __attribute__((warn_unused_result, nonnull));
/* All runs with a file in the folder.  0 or -errno; store_runs_wipe in every case. */
int store_runs_read(int dir_fd, struct store_runs *out) __attribute__((warn_unused_result, nonnull));
void store_runs_wipe(struct store_runs *r) __attribute__((nonnull));

struct store_prune {
	uint64_t keep, days;
	uint64_t now_ms;
	bool dry_run;
	/* Told each run that goes (or would); may be NULL. */
	void (*told)(void *arg, const struct store_run *run, const char *why);
	void *arg;
	uint64_t removed, kept, failed; /* runs; out */
	int error;                      /* of the first that failed */
};
/* Removes receipt, event file and temporary file of runs beyond the newest keep ones or older than days.  What a run left that
 * has no receipt goes two days after it began: before that it may be running.  0, or -errno when the folder cannot be read. */
int store_prune(int dir_fd, struct store_prune *p) __attribute__((warn_unused_result, nonnull));
#endif
