/* SPDX-License-Identifier: GPL-2.0-or-later
 * reproduce.h - a run that is made again from its receipt: is everything here that went into it, and did it come out alike? */
#ifndef HOST_REPRODUCE_H
#define HOST_REPRODUCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/compare.h"

struct cJSON;
struct diag;
struct stage;
struct world;

struct reference { /* the run that another one shall be like */
	char run_id[64], fingerprint[65];
	char path[4200]; /* of its receipt */
};
struct reproduce {
	struct reference reference;
	struct cJSON *doc; /* owned: the receipt; strings below borrow from it */
	uint64_t seed;
	uint32_t run_ms; /* the limit that it ran with */
	const char *runtime, *node_version;
	char world[4200]; /* where its world is */
};
/* Reads a receipt, named as for `receipt show`.  world: what the user names instead of the receipt's, or NULL.  0, or -errno
 * with *d filled. */
int reproduce_load(const char *what, const char *world, struct reproduce *out, struct diag *d)
	__attribute__((warn_unused_result, nonnull(1, 3, 4)));
void reproduce_wipe(struct reproduce *r) __attribute__((nonnull));
/* 0 when the world, what would enter the sandbox and Node (node: the program asked for, or NULL) are what the receipt says;
 * else -ESTALE and the exact difference. */
int reproduce_check(const struct reproduce *r, const struct world *w, const struct stage *s, const char *node,
		    struct diag *d) __attribute__((warn_unused_result, nonnull(1, 2, 3, 5)));
/* Is the run with this fingerprint, whose receipt lies at path, like the reference?  Else text is the first difference. */
bool reference_compare(const struct reference *r, const char *fingerprint, const char *path,
		       char text[static COMPARE_TEXT_MAX]) __attribute__((warn_unused_result, nonnull));
#endif
