/* SPDX-License-Identifier: GPL-2.0-or-later
 * services.h - what the synthetic services need from root before they are unprivileged: names, listeners, a process. */
#ifndef GUEST_SERVICES_H
#define GUEST_SERVICES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/filter.h"
#include "proto/plan.h"

struct services {
	size_t listeners_len;
	int listeners[PLAN_SERVICES_MAX]; /* -1 none */
	int dns;                          /* -1 none */
	char problem[200];
};
/* /etc/hosts and /etc/resolv.conf.  0 or -errno with s->problem; -EPERM for a name that has no place in a hosts file. */
int services_write_names(struct services *s, const struct plan_policy *p) __attribute__((warn_unused_result, nonnull));
/* The run's authority, unread, as PLAN_CA_FILE: the workflow may read it and not write it.  0 or -errno with s->problem. */
int services_write_authority(struct services *s, const void *pem, size_t len)
	__attribute__((warn_unused_result, nonnull));
/* Listeners, and in a sandbox the DNS stub's socket, in the present network namespace.  0 or -errno with s->problem. */
int services_listen(struct services *s, const struct plan_policy *p) __attribute__((warn_unused_result, nonnull));
/* Forks the twins with the listeners and one end of a pair of sockets.  Returns the process and sets *records, the monitor's
 * end; or -errno.  hide: own mount namespace. */
pid_t services_start(struct services *s, const struct plan_policy *p, bool hide, const struct filter_program *filter,
		     int *records) __attribute__((warn_unused_result, nonnull));
void services_close(struct services *s) __attribute__((nonnull));

#endif
