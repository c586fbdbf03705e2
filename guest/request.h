/* SPDX-License-Identifier: GPL-2.0-or-later
 * request.h - one HTTP request as the twins see it: pieces collected while it is parsed, then the object that the language
 * calls `request`. */
#ifndef GUEST_REQUEST_H
#define GUEST_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/buf.h"

struct cJSON;

#define REQUEST_TARGET_MAX 16384u  /* bytes; more is answered 414 */
#define REQUEST_SEGMENTS_MAX 256u  /* of the path */
#define REQUEST_FIELDS_MAX 4096u   /* of a query, of a form */
#define REQUEST_VALUES_MAX 262144u /* values in a JSON body; bounds the memory it takes when parsed, about 25 MiB */

struct request_header {
	const char *name;  /* lower case */
	const char *value; /* without surrounding space */
};
struct request {
	struct arena arena; /* of everything below, and of evaluation */
	const char *method, *target;
	const char *host; /* lower case without port, or NULL */
	size_t headers_len, headers_size;
	struct request_header *headers; /* repeated ones joined by ", " */
	const char *body;               /* borrowed from the connection */
	size_t body_len;
	size_t segments_len;
	const char **segments;   /* of the path, decoded; "/" has one, empty */
	struct cJSON *json;      /* {method, target, path, query, headers, body, form, key}: read only, in the arena */
	struct cJSON *path;      /* of it */
	struct cJSON *body_json; /* owned: of it, what cJSON made of the body; or NULL */
	bool json_type, form_type; /* what Content-Type says */
	char body_problem[96];     /* why the body is no JSON, or "" */
};
void request_init(struct request *q) __attribute__((nonnull));
void request_wipe(struct request *q) __attribute__((nonnull));
/* One header field in order of arrival.  0; -EPROTO a second Host; -ENOMEM. */
int request_add_header(struct request *q, const char *name, size_t name_len, const char *value, size_t value_len)
	__attribute__((warn_unused_result, nonnull));
const char *request_header(const struct request *q, const char *name) __attribute__((nonnull)); /* NULL: none */
/* After all headers and the whole body: takes target, query, form and body apart and builds json.  method and target are
 * set by the caller.  0; -EPROTO with *problem static text; -ENOMEM. */
int request_finish(struct request *q, const char **problem) __attribute__((warn_unused_result, nonnull));
/* Empties json's path, and adds a parameter to it.  -ENOMEM. */
void request_path_clear(struct request *q) __attribute__((nonnull));
int request_path_add(struct request *q, const char *name, const char *value)
	__attribute__((warn_unused_result, nonnull));
/* The query and the path parameters as the record shows them are members of json. */
const struct cJSON *request_member(const struct request *q, const char *name) __attribute__((nonnull));

#endif
