/* SPDX-License-Identifier: GPL-2.0-or-later
 * world_check.h - what the readers of `checks` share: the values that several kinds take, and the keys that each kind has.
 * Only for world_check*.c. */
#ifndef HOST_WORLD_CHECK_H
#define HOST_WORLD_CHECK_H
#include "host/world_read.h"

/* Readers of one value. */
int check_read_any(struct wr *c, const struct cJSON *v, void *arg);
int check_read_count(struct wr *c, const struct cJSON *v, void *arg);
int check_read_yes_no(struct wr *c, const struct cJSON *v, void *arg);
int check_read_yes(struct wr *c, const struct cJSON *v, void *arg); /* false says nothing */
int check_read_pointer(struct wr *c, const struct cJSON *v, void *arg);
int check_read_field(struct wr *c, const struct cJSON *v, void *arg); /* a name of 1 to 128 bytes */
/* What every check has; arg is its struct world_check. */
int check_read_id(struct wr *c, const struct cJSON *v, void *arg);
int check_read_because(struct wr *c, const struct cJSON *v, void *arg);
int check_read_mode(struct wr *c, const struct cJSON *v, void *arg);
int check_read_over(struct wr *c, const struct cJSON *v, void *arg);
int check_read_jq(struct wr *c, const struct cJSON *v, void *arg); /* world_jq.c */
/* -EPROTO unless exactly one of the keys (NULL ends them) is there. */
int check_need_one(struct wr *c, const struct cJSON *v, const char *const *keys, const char *example)
	__attribute__((nonnull));

#define CHECK_COMMON \
	{ "id", check_read_id, WR_REQUIRED, "\"id\": \"what-holds\"" }, { "kind", NULL, WR_REQUIRED, NULL }, \
		{ "because", check_read_because, 0, NULL }, { "over", check_read_over, 0, NULL }, \
	{ \
		"mode", check_read_mode, 0, NULL \
	}
#define CHECK_END \
	{ \
		NULL, NULL, 0, NULL \
	}

/* The keys of each kind, and what one key alone cannot tell. */
extern const struct wr_key world_jq_keys[]; /* world_jq.c */
extern const struct wr_key world_exit_keys[], world_stream_keys[], world_process_keys[], world_alone_keys[];
int world_check_exit(struct wr *c, const struct cJSON *v);
int world_check_stream(struct wr *c, const struct cJSON *v);
int world_check_process(struct wr *c, const struct cJSON *v);
extern const struct wr_key world_calls_keys[], world_never_keys[], world_order_keys[], world_writes_keys[];
int world_check_calls(struct wr *c, const struct cJSON *v);
int world_check_order(struct wr *c, const struct cJSON *v);
extern const struct wr_key world_state_keys[], world_relation_keys[], world_unchanged_keys[];
int world_check_state(struct wr *c, const struct cJSON *v);
int world_check_relation(struct wr *c, const struct cJSON *v);
#endif
