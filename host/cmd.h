/* SPDX-License-Identifier: GPL-2.0-or-later
 * cmd.h - the commands of agenttwin-host, one a file.  argv[0] is the command's own name; the result is the exit status. */
#ifndef HOST_CMD_H
#define HOST_CMD_H

/* Which backends work here: 0 the asked one (default: at least one) works, 4 not, 2 usage. */
int cmd_doctor(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
/* Ends what dead hosts left behind: 0 nothing is left, 4 something is, 2 usage. */
int cmd_reap(int argc, char **argv) __attribute__((warn_unused_result, nonnull));
#endif
