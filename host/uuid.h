/* SPDX-License-Identifier: GPL-2.0-or-later
 * uuid.h - names of runs: UUID version 7 (RFC 9562), so that names sort by time. */
#ifndef HOST_UUID_H
#define HOST_UUID_H
#include <stdint.h>

#define UUID_TEXT_LEN 36
/* The text of a version 7 UUID from milliseconds since 1970 and ten random bytes.  Pure. */
void uuid_v7(uint64_t unix_ms, const uint8_t random[static 10], char out[static UUID_TEXT_LEN + 1])
	__attribute__((nonnull));
/* The same from getrandom(2).  0 or -errno. */
int uuid_make(uint64_t unix_ms, char out[static UUID_TEXT_LEN + 1]) __attribute__((warn_unused_result, nonnull));
#endif
