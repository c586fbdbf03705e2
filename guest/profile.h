/* SPDX-License-Identifier: GPL-2.0-or-later
 * profile.h - how a service of a certain kind words its errors, and which headers its clients read: agenttwin-world(5),
 * "Profiles". */
#ifndef GUEST_PROFILE_H
#define GUEST_PROFILE_H
#include <stdbool.h>
#include <stdint.h>

struct answer;
struct request;
struct service;
struct world;

enum profile {
	PROFILE_GENERIC,
	PROFILE_STRIPE,
	PROFILE_GITHUB,
	PROFILE_SLACK,
	PROFILE_OPENAI,
	PROFILE_ANTHROPIC,
};
/* The profile that a world calls name ("stripe/v1", "openai/chat"); -EPROTO: there is none. */
int profile_of(const char *name, enum profile *out) __attribute__((warn_unused_result, nonnull));

/* The service's own error body for a status, instead of what stands in the answer; the view becomes "rejected".  code and
 * message may be NULL: those that fit the status.  A Slack-like error is a reply 200 with ok false, unless its status is 429
 * or 5xx.  Sets a->tells_error. */
void answer_profile_error(const struct service *s, struct answer *a, int status, const char *code, const char *message)
	__attribute__((nonnull(1, 2)));
/* 401 in the service's form; missing: the request has no credential at all. */
void profile_unauthorized(const struct service *s, struct answer *a, bool missing) __attribute__((nonnull));
/* One header line, unless the answer has one of this name; control characters of the value become spaces. */
void answer_header(struct answer *a, const char *name, const char *value) __attribute__((nonnull));
/* Request ids and what else such a service puts on each reply.  a->request_id is set already. */
void profile_headers(const struct service *s, const struct request *q, struct answer *a) __attribute__((nonnull));
/* Draws a->request_id from the run's seed, where the profile has one.  0 or -ENOMEM. */
int profile_request_id(struct world *w, struct service *s, const struct request *q, struct answer *a)
	__attribute__((warn_unused_result, nonnull));

#endif
