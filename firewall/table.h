/* SPDX-License-Identifier: GPL-2.0-or-later
 * table.h - what install, readback, prove and watch share about our table in the kernel.  Private to firewall/. */
#ifndef FIREWALL_TABLE_H
#define FIREWALL_TABLE_H
#include "firewall/fw.h"
#include "firewall/ruleset.h"

struct fw_nl;
struct fw_attr;

/* Append one message to a batch; flags are added to those of its kind.  type: NFT_MSG_NEWTABLE or NFT_MSG_DELTABLE.
 * hook < 0: not a base chain.  -ENOMEM, or 0. */
int fw_encode_table(struct fw_nl *n, uint16_t type, enum fw_nfproto nfproto, const char *name, uint16_t flags)
	__attribute__((warn_unused_result, nonnull));
int fw_encode_chain(struct fw_nl *n, enum fw_nfproto nfproto, const char *table, const char *name, int hook,
		    int priority, uint32_t policy, uint16_t flags) __attribute__((warn_unused_result, nonnull));
int fw_encode_rule(struct fw_nl *n, enum fw_nfproto nfproto, const char *table, const char *chain,
		   const struct fw_expr *exprs, unsigned exprs_len, uint16_t flags)
	__attribute__((warn_unused_result, nonnull(1, 3, 4)));
/* Appends table, chains and rules to a batch.  -ENOMEM, or 0. */
int fw_encode_ruleset(struct fw_nl *n, const struct fw_ruleset *rs) __attribute__((warn_unused_result, nonnull));
/* One element of a rule's list of expressions; false if it is not exactly what a rule of ours could hold. */
struct fw_decoded {
	struct fw_expr e;
	uint64_t packets; /* of a counter */
};
bool fw_decode_expr(const struct fw_attr *element, struct fw_decoded *d) __attribute__((warn_unused_result, nonnull));
/* The chain of ours that has this name; false if none has. */
bool fw_decode_chain(const struct fw_attr *a, uint8_t *out) __attribute__((warn_unused_result, nonnull));
/* The ruleset's generation id now. */
int fw_generation(struct fw_lock *l, uint32_t *out) __attribute__((warn_unused_result, nonnull));
/* Reads our table back and compares everything with what l->params asks for.  0 intact: the generation that the reading
 * belongs to and a digest of the handles; -EPERM it differs, f says where; other -errno it could not be read. */
int fw_readback(struct fw_lock *l, const char *step, uint32_t *generation, uint64_t *handles, struct fw_failure *f)
	__attribute__((warn_unused_result, nonnull));
/* Reads the counters into l->counters. */
int fw_counters_read(struct fw_lock *l) __attribute__((warn_unused_result, nonnull));
/* Opens change, route and log sockets; route events are subscribed now, so nothing of the set-up is in them. */
int fw_watch_open(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
int fw_log_open(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
/* Throws away what the log socket has.  0 or -errno. */
int fw_log_discard(struct fw_lock *l) __attribute__((warn_unused_result, nonnull));
#endif
