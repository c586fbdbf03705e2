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

enum dns_transport { DNS_UDP, DNS_TRANSPORTS };

struct twin_dns {
	int fd;                                           /* borrowed; -1: no stub */
	uint64_t malformed[DNS_TRANSPORTS][DNS_PROBLEMS]; /* messages that carry no foreign name */
	struct dns_host *list;
	struct dns_hosts hosts;
};
/* Hosts and addresses.  0 or -ENOMEM.  *d must be wiped in any case. */
int twin_dns_init(struct twin_dns *d, const struct twin_start *start, const struct world *w)
	__attribute__((warn_unused_result, nonnull));
void twin_dns_wipe(struct twin_dns *d) __attribute__((nonnull));
/* Answers some of what waits, without waiting.  1: there may be more; 0: nothing is left; -ENOMEM. */
int twin_dns_serve(struct twin_dns *d, struct ops *ops, uint64_t t_ms) __attribute__((warn_unused_result, nonnull));
/* At the end: an operation for each problem and transport with how many messages had it, and queries that the kernel had no
 * room for, which are among the operations that were refused.  0 or -ENOMEM. */
int twin_dns_sum(const struct twin_dns *d, struct ops *ops, uint64_t t_ms) __attribute__((warn_unused_result, nonnull));

#endif
