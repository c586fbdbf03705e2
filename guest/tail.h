/* SPDX-License-Identifier: GPL-2.0-or-later
 * tail.h - one output stream of the workflow: a regular file that it appends to and the monitor follows, so that nothing is
 * lost when the workflow ends at once, and nothing grows, because what was read is punched out of the file.
 *
 * The file is a memfd (memfd_create(2)) sealed against shrinking: opening /dev/stdout anew with O_TRUNC once something was
 * written is EPERM for the program that does it, instead of the silent loss of what was not read yet. */
#ifndef GUEST_TAIL_H
#define GUEST_TAIL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

#define TAIL_CHUNK 65536u /* bytes read at once; one frame */

struct tail {
	int write_fd; /* the workflow's: O_APPEND; closed by tail_close_writer once it runs; -1 none */
	int read_fd;
	uint64_t limit;     /* bytes that are sent at most */
	uint64_t offset;    /* bytes of the file read so far */
	uint64_t sent;      /* bytes handed out, hashed */
	uint64_t punched;   /* private: what lies before was given back */
	uint64_t kept_from; /* private: what lies between here and offset was read and can be read again */
	struct sha256 kept; /* private: over those bytes */
	bool overwritten;   /* private */
	struct sha256 hash;
};
/* Makes the file, owned by uid and gid unless owner is false. */
int tail_open(struct tail *t, bool owner, uint32_t uid, uint32_t gid, uint64_t limit)
	__attribute__((warn_unused_result, nonnull));
void tail_close_writer(struct tail *t) __attribute__((nonnull));
void tail_close(struct tail *t) __attribute__((nonnull));
/* Reads the next bytes, at most TAIL_CHUNK and never past the limit.  Returns their number, 0 when there is nothing new, or
 * -errno. */
int tail_read(struct tail *t, uint8_t buf[static TAIL_CHUNK]) __attribute__((warn_unused_result, nonnull));
/* All bytes that the workflow wrote so far, read or not. */
uint64_t tail_written(const struct tail *t) __attribute__((nonnull));
/* More was written than may be sent. */
bool tail_is_over(const struct tail *t) __attribute__((nonnull));
/* Whether a writer that does not append (it opened the file anew) wrote over bytes that were read already: what it wrote is
 * lost.  Asked once, at the end. */
bool tail_is_overwritten(const struct tail *t) __attribute__((warn_unused_result, nonnull));
/* Waits: a descriptor for poll that becomes readable when one of the files grows; drained by tail_watch_drain.  -errno where
 * the kernel has none: then a timer must do. */
int tail_watch_open(const struct tail *a, const struct tail *b) __attribute__((warn_unused_result, nonnull));
void tail_watch_drain(int fd);

#endif
