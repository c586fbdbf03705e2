/* SPDX-License-Identifier: GPL-2.0-or-later
 * dns.h - the DNS stub: one query in, one answer out, and what was asked.  RFC 1035, with OPT as RFC 6891 has it.
 * It knows the hosts of the world and nobody else: an address for them, no data of other types, REFUSED for the rest.
 * Pure: no sockets, no clock, no memory of its own. */
#ifndef GUEST_DNS_H
#define GUEST_DNS_H
#include <stddef.h>
#include <stdint.h>

#define DNS_QUERY_MAX 1232u /* bytes of a query that is looked at; what OPT of our answers says */
#define DNS_ANSWER_MAX 512u /* bytes, RFC 1035 section 2.3.4; none of ours is longer than 298 */
#define DNS_NAME_MAX 1024u  /* bytes of a name as text: 253 characters, each at most \DDD, and NUL */
#define DNS_TYPE_MAX 24u    /* bytes of "CLASS65535 TYPE65535" and NUL */

struct dns_host {
	const char *name; /* compared without regard to case */
	uint8_t address[4];
};
struct dns_hosts { /* borrowed */
	const struct dns_host *at;
	size_t len;
};
enum dns_verdict {
	DNS_MALFORMED, /* silence, or an error: no question, or none that is answered; problem says why */
	DNS_ANSWERED,  /* a host of the world, or localhost */
	DNS_REFUSED,
};
enum dns_problem {
	DNS_NONE,
	DNS_SHORT,    /* no whole header: silence */
	DNS_RESPONSE, /* silence */
	DNS_OPCODE,   /* NOTIMP */
	DNS_LONG,     /* over DNS_QUERY_MAX: FORMERR */
	DNS_FORMAT,   /* FORMERR */
	DNS_VERSION,  /* of OPT, for a known name: BADVERS */
	DNS_PROBLEMS,
};
struct dns_asked {
	enum dns_verdict verdict;
	enum dns_problem problem; /* DNS_NONE unless malformed */
	/* Of what is malformed: the first of its questions' names that would be refused and can be read as it stands; ""
	 * none. */
	char name
		[DNS_NAME_MAX]; /* without the final dot, as it was written; "." is the root.  Printable ASCII: a dot or backslash
				    within a label has a backslash, other bytes are \DDD */
	char type
		[DNS_TYPE_MAX]; /* "AAAA", "TYPE65"; of another class than IN "CLASS3 TXT"; "NONE": the message ends before
				    it */
};
/* Answers query[0..len).  Returns the length of the answer; 0: silence is the answer (too short, or itself a response).
 * An answer is longer than its query by 16 bytes where it holds an address, else not longer.  *asked is always set. */
size_t dns_answer(const struct dns_hosts *hosts, const uint8_t *query, size_t len, uint8_t out[static DNS_ANSWER_MAX],
		  struct dns_asked *asked) __attribute__((nonnull));
/* "format"; and what its client is told, NULL: nothing. */
const char *dns_problem_name(enum dns_problem problem);
const char *dns_problem_rcode(enum dns_problem problem);

#endif
