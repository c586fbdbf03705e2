/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_dns.h - the DNS stub's socket in the twins' loop: datagrams through the engine of dns.h, what was asked into the
 * operations. */
#ifndef GUEST_TWIN_DNS_H
#define GUEST_TWIN_DNS_H
#include <stdbool.h>
#include <stdint.h>

#include "guest/dns.h"

struct ops;
struct twin_start;
struct world;

struct twin_dns {
	int fd; /* borrowed; -1: no stub */
	struct dns_host *list;
	struct dns_hosts hosts;
};
/* Hosts and addresses.  0 or -ENOMEM.  *d must be wiped in any case. */
int twin_dns_init(struct twin_dns *d, const struct twin_start *start, const struct world *w)
	__attribute__((warn_unused_result, nonnull));
void twin_dns_wipe(struct twin_dns *d) __attribute__((nonnull));
/* Answers some of what waits, without waiting.  1: there may be more; 0: nothing is left; -ENOMEM. */
int twin_dns_serve(struct twin_dns *d, struct ops *ops, uint64_t t_ms) __attribute__((warn_unused_result, nonnull));
/* At the end: queries that the kernel had no room for.  They are among the operations that were refused. */
void twin_dns_count_lost(const struct twin_dns *d, struct ops *ops) __attribute__((nonnull));

#endif
