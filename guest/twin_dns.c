/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_dns.c - see twin_dns.h. */
#include "guest/twin_dns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guest/oprec.h"
#include "guest/service.h"
#include "guest/twin.h"

#define AT_ONCE 64u        /* queries, before the other clients have their turn */
#define MEMINFO_DROPS 8u   /* SK_MEMINFO_DROPS of linux/sock_diag.h */
#define MEMINFO_FIELDS 16u /* more than the kernel has */

/* see twin_dns.h */
int
twin_dns_init(struct twin_dns *d, const struct twin_start *start, const struct world *w)
{
	size_t len = 0;

	*d = (struct twin_dns){ .fd = start->dns };
	for (size_t i = 0; i < w->services_len; i++)
		len += w->services[i].hosts_len;
	d->list = calloc(len + 1, sizeof(*d->list));
	if (d->list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < w->services_len; i++)
		for (size_t k = 0; k < w->services[i].hosts_len; k++) {
			struct dns_host *h = &d->list[d->hosts.len++];

			h->name = w->services[i].hosts[k];
			memcpy(h->address, start->addresses[i], sizeof(h->address));
		}
	d->hosts.at = d->list;
	return 0;
}

/* see twin_dns.h */
void
twin_dns_wipe(struct twin_dns *d)
{
	free(d->list);
	*d = (struct twin_dns){ .fd = -1 };
}

static const char *const transports[DNS_TRANSPORTS] = { [DNS_UDP] = "udp" };

/* What was asked is recorded; what names nothing of others is counted, and recorded by twin_dns_sum.  0 or -ENOMEM. */
static int
take(struct twin_dns *d, struct ops *ops, enum dns_transport transport, const struct dns_asked *asked, uint64_t t_ms)
{
	bool added;

	if (asked->verdict == DNS_MALFORMED && asked->name[0] == '\0') {
		d->malformed[transport][asked->problem]++;
		return 0;
	}
	if (ops_is_full(ops)) {
		ops->refused++;
		return 0;
	}
	added = asked->verdict == DNS_MALFORMED ? ops_add_malformed(ops, asked, transports[transport], 1, t_ms)
						: ops_add_name(ops, asked, t_ms);
	return added ? 0 : -ENOMEM;
}

/* see twin_dns.h */
int
twin_dns_serve(struct twin_dns *d, struct ops *ops, uint64_t t_ms)
{
	uint8_t query[DNS_QUERY_MAX + 1], answer[DNS_ANSWER_MAX];
	struct dns_asked asked;

	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(d->fd, query, sizeof(query), MSG_DONTWAIT, (void *)&from, &from_len);
		size_t len;

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			continue; /* an error of an earlier answer */
		len = dns_answer(&d->hosts, query, (size_t)n, answer, &asked);
		if (take(d, ops, DNS_UDP, &asked, t_ms) < 0)
			return -ENOMEM;
		/* a client that has gone, or that reads nothing, loses its answer */
		if (len > 0)
			(void)!sendto(d->fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL, (void *)&from, from_len);
	}
	return 1;
}

/* see twin_dns.h */
int
twin_dns_sum(const struct twin_dns *d, struct ops *ops, uint64_t t_ms)
{
	struct dns_asked asked = { .verdict = DNS_MALFORMED };
	uint32_t info[MEMINFO_FIELDS] = { 0 };
	socklen_t len = sizeof(info);

	for (unsigned i = 0; i < DNS_TRANSPORTS; i++)
		for (unsigned k = 0; k < DNS_PROBLEMS; k++) {
			uint64_t count = d->malformed[i][k];

			if (count == 0)
				continue;
			asked.problem = (enum dns_problem)k;
			if (ops_is_full(ops))
				ops->refused += count;
			else if (!ops_add_malformed(ops, &asked, transports[i], count, t_ms))
				return -ENOMEM;
		}
	if (d->fd >= 0 && getsockopt(d->fd, SOL_SOCKET, SO_MEMINFO, info, &len) == 0)
		ops->refused += info[MEMINFO_DROPS];
	return 0;
}
