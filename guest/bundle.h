/* SPDX-License-Identifier: GPL-2.0-or-later
 * bundle.h - lays the bundle out in the application's folder, in a child that has the workflow's identity, so that whatever
 * a path or link does, it does with the workflow's own powers. */
#ifndef GUEST_BUNDLE_H
#define GUEST_BUNDLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/frame.h"

struct bundle {
	pid_t pid;         /* of the writer, 0 none */
	int fd;            /* SEQPACKET to it, -1 none */
	char problem[300]; /* why it failed, printable text, or "" */
};
/* Starts the writer beneath folder.  sandbox: as uid and gid; else as the caller. */
int bundle_start(struct bundle *b, const char *folder, bool sandbox, uint32_t uid, uint32_t gid)
	__attribute__((warn_unused_result, nonnull));
/* Hands one FILE or DATA body on, unread.  -EPROTO with b->problem when the writer refused an earlier one. */
int bundle_put(struct bundle *b, uint8_t type, const void *body, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* COMMIT came: waits until all is written and verified, and for the writer's end. */
int bundle_finish(struct bundle *b) __attribute__((warn_unused_result, nonnull));
/* Kills the writer if there is one; b may be used after bundle_start failed. */
void bundle_stop(struct bundle *b) __attribute__((nonnull));

/* The writer itself, for tests: reads packets from fd (u8 frame type, body) until an empty COMMIT, writes beneath dir.  0, or
 * -errno with text in problem. */
int bundle_write(int fd, int dir, char *problem, size_t problem_size) __attribute__((warn_unused_result, nonnull));

#endif
