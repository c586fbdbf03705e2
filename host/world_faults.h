/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_faults.h - one element of the key `faults`, between the reader and what looks for contradictions in it. */
#ifndef HOST_WORLD_FAULTS_H
#define HOST_WORLD_FAULTS_H
#include <cJSON.h>

#include "host/world_read.h"

enum { TIMEOUT_AFTER_WRITE, BLACKHOLE, SERVER_ERROR, DUPLICATE_WRITE };
enum { CONNECT, ACCEPTED, MID_REQUEST, BEFORE_EFFECT, AFTER_EFFECT, MID_REPLY, REDELIVER };
enum { STALL, FIN, RST, CLEAN, REFUSE, DROP, NO_END };

struct world_fault {
	const struct cJSON *json, *on, *call, *how, *lasts;
	const char *id;
	size_t class, phase, end;
	bool must_fire;
	const struct world_service *service; /* NULL: the triggers */
	struct wr_scope scope;
};
extern const char *const world_fault_classes[], *const world_fault_phases[], *const world_fault_ends[]; /* NULL last */

static inline const struct cJSON *
member(const struct cJSON *object, const char *name)
{
	return object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

/* The error at a member of the fault ("how", "end"); in NULL: the member itself. */
int world_fault_fail(struct wr *c, const char *name, const char *in, const char *fix, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* What cannot happen as it is written.  A phase that is not said becomes the usual one.  0 or -EPROTO. */
int world_fault_check(struct wr *c, struct world_fault *f) __attribute__((warn_unused_result, nonnull));

#endif
