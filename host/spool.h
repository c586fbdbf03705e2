/* SPDX-License-Identifier: GPL-2.0-or-later
 * spool.h - the bounded event file of a run, beside its receipt: one JSON object a line (docs/schema/events.schema.json),
 * mode 0600, redacted as it is written.  Its chain: S0 = SHA-256("agenttwin-spool/1"), Sn = SHA-256(Sn-1 || line n with
 * its newline).  Operations and states are read back from here, so that memory does not grow with them. */
#ifndef HOST_SPOOL_H
#define HOST_SPOOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/sha256.h"
#include "host/redact.h"
#include "proto/frame.h"

#define SPOOL_BYTES_MAX (1ull << 30) /* of the file; what comes later is counted as lost, never silently */
#define SPOOL_BUFFER 262144u

struct spool_place { /* of the JSON value of one event, redacted */
	uint64_t offset;
	uint64_t len;
	uint8_t digest[32]; /* SHA-256 of it */
};
struct spool {
	int fd;                        /* owned */
	const struct redact *redact;   /* borrowed */
	uint64_t bytes, records, lost; /* lost: events that did not fit */
	uint64_t max;                  /* SPOOL_BYTES_MAX, less in tests */
	uint8_t chain[32];
	int error;                 /* the first -errno of a write: sticks, the run is an error */
	struct sha256 line;        /* private: of the line being written */
	struct sha256 value;       /* private: of the value within it */
	bool in_value;             /* private */
	size_t have;               /* private */
	uint8_t buf[SPOOL_BUFFER]; /* private */
};
/* fd is moved: opened for reading and writing, empty. */
void spool_init(struct spool *s, int fd, const struct redact *r) __attribute__((nonnull(1)));
/* Sets the patterns once the run's secrets are made; before, nothing of the run is written. */
void spool_redact(struct spool *s, const struct redact *r) __attribute__((nonnull(1)));
/* Writes {"event":NAME,"t_ms":N,"KEY":VALUE}; json is one valid JSON value without line feeds.  *place (may be NULL) tells
 * where VALUE stands.  0; -ENOSPC when the bound is reached (counted in lost); another -errno, which sticks. */
int spool_event(struct spool *s, const char *event, uint64_t t_ms, const char *key, const char *json, size_t len,
		struct spool_place *place) __attribute__((warn_unused_result, nonnull(1, 2, 4, 5)));
/* The same for raw bytes that were redacted already: "text" when they are UTF-8, else "base64". */
int spool_bytes(struct spool *s, const char *event, uint64_t t_ms, const uint8_t *data, size_t len)
	__attribute__((warn_unused_result, nonnull(1, 2, 4)));
/* Reads place into a new NUL-terminated buffer.  0 or -errno; -EBADMSG when the file does not hold what was written. */
int spool_read(struct spool *s, const struct spool_place *place, char **out)
	__attribute__((warn_unused_result, nonnull));
int spool_flush(struct spool *s) __attribute__((warn_unused_result, nonnull)); /* to the kernel */
int spool_sync(struct spool *s) __attribute__((warn_unused_result, nonnull));  /* to the disk */
void spool_wipe(struct spool *s) __attribute__((nonnull));                     /* closes; the file stays */

/* Private to spool*.c, and for tests: valid UTF-8; what is left of len when a character that is cut at its end is left out;
 * the text as a JSON string with its quotes, out of 6 * len + 2 bytes: its length. */
bool spool_is_text(const uint8_t *p, size_t len) __attribute__((nonnull));
size_t spool_text_whole(const uint8_t *p, size_t len) __attribute__((nonnull));
size_t spool_text(const uint8_t *p, size_t len, char *out) __attribute__((nonnull));
#endif
