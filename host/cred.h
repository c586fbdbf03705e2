/* SPDX-License-Identifier: GPL-2.0-or-later
 * cred.h - synthetic credentials of one run, and what is expanded from them: the workflow's environment, the twins' JSON. */
#ifndef HOST_CRED_H
#define HOST_CRED_H
#include <stddef.h>
#include <stdint.h>

struct world;
struct diag;

struct secret {
	char name[64];
	char value[256];      /* marked as a test value: at_test_... ; wiped by cred_wipe */
	char fingerprint[24]; /* "sha256:" and 16 hex digits of SHA-256(value) */
};
struct cred {
	size_t secrets_len;
	struct secret *secrets; /* owned; by name */
	size_t env_len;
	char **env; /* owned: "NAME=value", the world's and the defaults of world reference section 4, sorted by name */
	char *twins_json; /* owned: RUN section TWINS */
	size_t twins_json_len;
};
/* Makes the run's secrets (32 random bytes by getrandom) and expands everything.  run_id and start_ms go into the twins' JSON.
 * path_local: on the local backend the caller's PATH, else NULL. */
int cred_make(const struct world *w, const char *run_id, uint64_t start_ms, const char *path_local, struct cred *out,
	      struct diag *d) __attribute__((warn_unused_result, nonnull(1, 2, 5, 6)));
/* The variables that every run has ("NAME=value", static text), without those that the world sets itself; PATH is that of
 * the sandbox.  Returns how many, at most CRED_BASE_MAX. */
#define CRED_BASE_MAX 24u
size_t cred_base_env(const struct world *w, const char *out[static CRED_BASE_MAX]) __attribute__((nonnull));
/* HOME becomes this folder: on the local backend, where /home/node is not the run's own.  0 or -ENOMEM. */
int cred_set_home(struct cred *c, const char *home) __attribute__((warn_unused_result, nonnull));
void cred_wipe(struct cred *c) __attribute__((nonnull));
#endif
