/* SPDX-License-Identifier: GPL-2.0-or-later
 * The DNS stub: any datagram.  What it answers is bounded, never answers an answer, and says which name it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int holds)
{
	if (!holds)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dns_host list[] = { { "payments.internal", { 127, 64, 0, 1 } },
						{ "a", { 127, 64, 0, 2 } } };
	static const struct dns_hosts hosts = { list, 2 };
	uint8_t answer[DNS_ANSWER_MAX];
	struct dns_asked asked;
	size_t len = dns_answer(&hosts, data, size, answer, &asked);

	must(len <= size + (asked.verdict == DNS_ANSWERED ? 16 : 0) && (len == 0 || (len >= 12 && len <= 298)));
	must(strnlen(asked.name, sizeof(asked.name)) < sizeof(asked.name) &&
	     strnlen(asked.type, sizeof(asked.type)) < sizeof(asked.type));
	must(asked.verdict == DNS_MALFORMED || asked.name[0] != '\0');
	must((asked.name[0] == '\0') == (asked.type[0] == '\0'));
	must((asked.verdict == DNS_MALFORMED) == (asked.problem != DNS_NONE) && asked.problem < DNS_PROBLEMS);
	must(asked.verdict != DNS_MALFORMED || (len == 0) == (dns_problem_rcode(asked.problem) == NULL));
	for (const char *c = asked.name; *c != '\0'; c++)
		must(*c > ' ' && *c < 0x7f);
	if (len == 0)
		return 0;
	must((data[2] & 0x80) == 0 && (answer[2] & 0x80) != 0 && memcmp(answer, data, 2) == 0);
	/* its own answer is never a question */
	must(dns_answer(&hosts, answer, len, answer, &asked) == 0);
	return 0;
}
