/* SPDX-License-Identifier: GPL-2.0-or-later
 * duration.h - lengths of time as a world writes them: a whole number and ms, s, m, h or d. */
#ifndef PROTO_DURATION_H
#define PROTO_DURATION_H
#include <stdint.h>

#define DURATION_MAX_MS (3650ull * 86400000ull)

/* 0; -EPROTO no such text; -ERANGE 0, or more than 3650 days. */
int duration_read(const char *text, uint64_t *ms) __attribute__((warn_unused_result, nonnull));

#endif
