/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd.h - the commands of agenttwin-host, one a file.  argv[0] is the command's own name; the result is the exit status. */
#ifndef HOST_CMD_H
#define HOST_CMD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which backends work here: 0 the asked one (default: at least one) works, 4 not, 2 usage. */
int cmd_doctor(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Ends what dead hosts left behind: 0 nothing is left, 4 something is, 2 usage. */
int cmd_reap(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Keys that receipts are signed with: 0 done, 2 not. */
int cmd_key(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* The run itself: the status table of agenttwin-host(1) is its result. */
int cmd_run(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* A run for each of many seeds; the worst of them is its result. */
int cmd_sweep(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* What can be done with receipts: a table of the commands below, one a file, which are called with their own name in argv[0]. */
int cmd_receipt(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Every world below folders, several at once; the worst of their runs is its result. */
int cmd_test(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Shows a receipt: 0 shown, 2 usage or unreadable. */
int receipt_cmd_show(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* What is different between two receipts: 0 nothing, 1 something, 2 trouble. */
int receipt_cmd_diff(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* What somebody needs who has to repair the workflow, as Markdown: 0 written, 2 usage or unreadable. */
int receipt_cmd_evidence(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Lists receipts, or removes old ones: 0 done, 2 usage or a folder that cannot be read or changed. */
int receipt_cmd_ls(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
int receipt_cmd_prune(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Writes one as a page of HTML: 0 written, 2 not. */
int receipt_cmd_html(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Recomputes what a receipt says: 0 intact, 1 not, 2 usage or unreadable. */
int receipt_cmd_verify(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
int cmd_check(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
int cmd_audit(int argc, char **argv) __attribute__((warn_unused_result, nonnull));

/* For those: an error with its place and its fix (or NULL); the result is 2. */
int receipt_complain(const char *file, const char *problem, const char *fix) __attribute__((nonnull(1, 2)));
/* Options as `--name`, `--name VALUE` or `--name=VALUE`, and -h, which prints usage; what is none goes to args, at most max.
 * -1: go on; else the exit status, after an error was told. */
struct receipt_option {
	const char *name;   /* with its dashes */
	const char **value; /* of those that take one */
	bool *flag;         /* of the others */
};
int receipt_options(int argc, char **argv, const char *usage, const struct receipt_option *options, size_t len,
		    const char **args, size_t max, size_t *args_len)
	__attribute__((warn_unused_result, nonnull(2, 3, 8)));
/* A whole number of an option, from min to max.  0, or 2 after an error was told. */
int receipt_number(const char *option, const char *value, uint64_t min, uint64_t max, uint64_t *out)
	__attribute__((warn_unused_result, nonnull));
/* The path of the receipt that is meant.  0, or 2 after an error was told. */
int receipt_named(const char *what, char *path, size_t size) __attribute__((warn_unused_result, nonnull));
#endif
