/* SPDX-License-Identifier: GPL-2.0-or-later
 * options.h - options that several commands have: their values read, and what is wrong said on stderr. */
#ifndef HOST_OPTIONS_H
#define HOST_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

struct backend_ops;
struct nearest;

/* Says the problem and what to do about it.  Returns the exit status, 2. */
int options_complain(const char *problem, const char *fix) __attribute__((nonnull));
/* Says that a command has no such option; near was offered those that it has.  Returns the exit status, 2. */
int options_unknown(const char *command, const struct nearest *near) __attribute__((nonnull));
/* A decimal number from 0 to max at the start of s; *rest is what follows it. */
bool options_number(const char *s, uint64_t max, uint64_t *out, const char **rest)
	__attribute__((warn_unused_result, nonnull));
/* --seed and --timeout ("30s", "1500ms", "2m").  0, or the exit status when it was complained about. */
int options_seed(const char *value, uint64_t *seed) __attribute__((warn_unused_result, nonnull));
int options_timeout(const char *value, uint32_t *ms) __attribute__((warn_unused_result, nonnull));
/* --runtime; name NULL is the default.  0 and *ops, or the exit status when it was complained about. */
int options_runtime(const char *name, const struct backend_ops **ops) __attribute__((warn_unused_result, nonnull(2)));
#endif
