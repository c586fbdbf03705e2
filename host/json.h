/* SPDX-License-Identifier: GPL-2.0-or-later
 * json.h - foreign JSON: scanned strictly before anything is built, then read field by field with its type. */
#ifndef HOST_JSON_H
#define HOST_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct json_scan;

/* Scans, then parses.  NULL: malformed, *s says how; s->line is 0 when that has no place. */
struct cJSON *json_parse(const char *text, size_t len, uint32_t depth_max, struct json_scan *s)
	__attribute__((nonnull));
/* Scans (depth JSON_DEPTH_MAX, len at most max), then parses.  NULL: malformed, why[160] says how. */
struct cJSON *json_take(const char *text, size_t len, size_t max, char why[static 160]) __attribute__((nonnull));
/* A member, or NULL when o is not an object or has none of this name. */
const struct cJSON *json_get(const struct cJSON *o, const char *name) __attribute__((nonnull(2)));
/* The value of a member; NULL, false or fallback when it is absent or of another type. */
const char *json_get_text(const struct cJSON *o, const char *name) __attribute__((nonnull(2)));
bool json_get_true(const struct cJSON *o, const char *name) __attribute__((nonnull(2)));
/* A whole number from 0 to max (at most 2^53).  false: absent, another type, out of range. */
bool json_get_u64(const struct cJSON *o, const char *name, uint64_t max, uint64_t *out) __attribute__((nonnull(2, 4)));
bool json_as_u64(const struct cJSON *v, uint64_t max, uint64_t *out) __attribute__((nonnull(3)));
/* Equal as JSON values: numbers as doubles (exactly, unlike cJSON_Compare), objects without regard to order.  NULL equals
 * nothing. */
bool json_equal(const struct cJSON *a, const struct cJSON *b);
/* Compact JSON that reads back equal (unlike cJSON_PrintUnformatted).  NULL: v is NULL, or no memory; else the
 * caller frees it. */
char *json_print(const struct cJSON *v) __attribute__((warn_unused_result));
/* The value at a JSON Pointer (RFC 6901).  A token after an array of rows may be a row's "id" when ids is true. NULL: none. */
const struct cJSON *json_at(const struct cJSON *root, const char *pointer, bool ids) __attribute__((nonnull(2)));
/* The sum of a field (a name, or a pointer when it starts with a slash) over the rows.  NULL, or static text that says why there
 * is none.  Rows without the field count as nothing, but one must have it: else its name is wrong. */
const char *json_sum(const struct cJSON *rows, const char *field, double *out)
	__attribute__((warn_unused_result, nonnull(2, 3)));
/* Removes white space between tokens, in place; returns the new length.  text was scanned. */
size_t json_minify(char *text, size_t len) __attribute__((nonnull));
/* "64 lower-case hexadecimal digits". */
bool json_is_sha256(const char *s);
#endif
