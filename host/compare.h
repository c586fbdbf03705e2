/* SPDX-License-Identifier: GPL-2.0-or-later
 * compare.h - why the fingerprints of two receipts differ: the first difference, for a person. */
#ifndef HOST_COMPARE_H
#define HOST_COMPARE_H
#include <stdbool.h>
#include <stddef.h>

struct cJSON;

#define COMPARE_TEXT_MAX 800u

/* before and now are receipts.  False: they show no difference in what the fingerprint takes, nor in what entered. */
bool compare_receipts(const struct cJSON *before, const struct cJSON *now, char out[static COMPARE_TEXT_MAX])
	__attribute__((warn_unused_result, nonnull));
/* Which files of two lists as bundle.files have been changed, are new, or are missing: "a.mjs is changed, b.mjs is new and 3
 * more".  False: none. */
bool compare_files(const struct cJSON *before, const struct cJSON *now, char *out, size_t size)
	__attribute__((warn_unused_result, nonnull(3)));
#endif
