/* SPDX-License-Identifier: GPL-2.0-or-later
 * events_read.h - the event file of a run, read again line by line: spool.h.  Its bytes may be an attacker's.  Memory is bounded
 * by the longest line. */
#ifndef HOST_EVENTS_READ_H
#define HOST_EVENTS_READ_H
#include <stddef.h>
#include <stdint.h>

#include "proto/sha256.h"

struct cJSON;

#define EVENTS_LINE_MAX \
	(64u << 20) /* a record has 16 MiB at the most; redaction makes it longer by less than three times */

struct event_file {
	uint64_t lines, bytes; /* read so far */
	uint8_t chain[32];     /* over the lines so far */
	struct sha256 whole;   /* of all bytes so far */
	char why[200];         /* what event_file_next has against the file */
	const char *value;     /* of the last line: its third member's value as text, borrowed until the next call */
	size_t value_len;
	/* private */
	int fd;
	char *buf;
	size_t have, at, size;
};
/* 0 or -errno; -EINVAL: no regular file. */
int event_file_open(const char *path, struct event_file *e) __attribute__((warn_unused_result, nonnull));
/* The next line as an object {"event", "t_ms", VALUE}: 1 and *line, owned by the caller; 0 at the end; -EPROTO: it is none; another
 * -errno.  e->why tells place and problem. */
int event_file_next(struct event_file *e, struct cJSON **line) __attribute__((warn_unused_result, nonnull));
void event_file_close(struct event_file *e) __attribute__((nonnull));
#endif
