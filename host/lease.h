/* SPDX-License-Identifier: GPL-2.0-or-later
 * lease.h - the text of a lease file; where they lie is lease.c's business.  lease_write and the others: backend.h. */
#ifndef HOST_LEASE_H
#define HOST_LEASE_H
#include <stddef.h>

struct lease;

#define LEASE_TEXT_MAX 3072u

/* "agenttwin-lease 1", then one "name value" line for each field, and one more for each control group.  The length, or -EINVAL for a field that cannot be
 * written (line break, bad run id), -ENOSPC. */
int lease_render(const struct lease *l, char *out, size_t size) __attribute__((warn_unused_result, nonnull));
/* Strict: every field once, in order.  0 or -EPROTO.  path is not touched. */
int lease_parse(const char *text, size_t len, struct lease *out) __attribute__((warn_unused_result, nonnull));
/* The folder that new leases go to, made if missing (0700, ours).  0 or -errno. */
int lease_folder(char *out, size_t size) __attribute__((warn_unused_result, nonnull));
#endif
