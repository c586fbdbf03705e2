/* SPDX-License-Identifier: GPL-2.0-or-later
 * seeds.h - which seeds a sweep runs over: "20" from the world's own on, or "100..119". */
#ifndef HOST_SEEDS_H
#define HOST_SEEDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEED_MAX 9007199254740991u /* 2^53-1: a number that JSON keeps exact */
#define SEEDS_MAX 10000u

struct seeds {
	uint32_t n;    /* 0: none asked for */
	bool absolute; /* first is given; else it is the run's seed */
	uint64_t first;
};
/* 0; -EPROTO and *problem static text. */
int seeds_parse(const char *text, struct seeds *out, const char **problem) __attribute__((warn_unused_result, nonnull));
/* A list of seeds in ascending order, as "1-3, 7" with at most size - 1 bytes, then ", ...". */
void seeds_list(const uint64_t *seeds, size_t len, char *out, size_t size) __attribute__((nonnull(3)));
#endif
