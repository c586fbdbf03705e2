// SPDX-License-Identifier: GPL-2.0-or-later
// test_dns.c - the DNS stub's engine: answers byte by byte, and what is no question.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/dns.h"
#include "tests/lib/guard.h"
#include "tests/lib/tap.h"

static const struct dns_host list[] = {
	{ "payments.internal", { 127, 64, 0, 1 } },
	{ "Mail.Example", { 127, 64, 0, 2 } },
	{ "x", { 127, 64, 0, 250 } },
};
static const struct dns_hosts hosts = { list, sizeof(list) / sizeof(list[0]) };
static struct dns_asked asked;
static uint8_t answer[DNS_ANSWER_MAX];
static char hex[2 * DNS_ANSWER_MAX + 1];

struct bytes {
	uint8_t at[4096];
	size_t len;
};

static void
add(struct bytes *b, const char *digits)
{
	for (; digits[0] != '\0' && digits[1] != '\0'; digits += 2) {
		unsigned v;

		while (*digits == ' ')
			digits++;
		sscanf(digits, "%2x", &v);
		b->at[b->len++] = (uint8_t)v;
	}
}

static void
add_label(struct bytes *b, const char *s, size_t len)
{
	b->at[b->len++] = (uint8_t)len;
	memcpy(b->at + b->len, s, len);
	b->len += len;
}

/* "a.b" as labels, with the final zero. */
static void
add_name(struct bytes *b, const char *name)
{
	while (*name != '\0') {
		size_t n = strcspn(name, ".");

		add_label(b, name, n);
		name += n + (name[n] == '.');
	}
	b->at[b->len++] = 0;
}

/* The query lies against an unreadable page.  Returns the answer as hexadecimal digits. */
static const char *
ask(const struct bytes *b)
{
	size_t n = dns_answer(&hosts, guard_copy(b->at, b->len), b->len, answer, &asked);

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", answer[i]);
	hex[2 * n] = '\0';
	return hex;
}

/* One question: HEAD are the twelve bytes, TAIL type, class and what follows. */
static const char *
ask_name(const char *head, const char *name, const char *tail)
{
	struct bytes b = { .len = 0 };

	add(&b, head);
	add_name(&b, name);
	add(&b, tail);
	return ask(&b);
}

static const char *
ask_hex(const char *digits)
{
	struct bytes b = { .len = 0 };

	add(&b, digits);
	return ask(&b);
}

static void
was(enum dns_verdict verdict, const char *name, const char *type, const char *what)
{
	ok(asked.verdict == verdict && strcmp(asked.name, name) == 0 && strcmp(asked.type, type) == 0 &&
		   (verdict == DNS_MALFORMED) == (asked.problem != DNS_NONE),
	   "%s: it says %d, %s, %s", what, (int)asked.verdict, asked.name, asked.type);
}

static void
wrong(enum dns_problem problem, const char *name, const char *type, const char *what)
{
	ok(asked.verdict == DNS_MALFORMED && asked.problem == problem && strcmp(asked.name, name) == 0 &&
		   strcmp(asked.type, type) == 0,
	   "%s: it says %s, '%s', %s", what, dns_problem_name(asked.problem), asked.name, asked.type);
}

#define QUERY "1234 0100 0001 0000 0000 0000"
#define PAYMENTS "087061796d656e747308696e7465726e616c00"

static void
answers(void)
{
	is_str(ask_name(QUERY, "payments.internal", "0001 0001"),
	       "123485800001000100000000" PAYMENTS "00010001c00c000100010000000000047f400001",
	       "A of a host: its address, authoritative, nothing to keep");
	was(DNS_ANSWERED, "payments.internal", "A", "A");
	is_str(ask_name(QUERY, "payments.internal", "001c 0001"), "123485800001000000000000" PAYMENTS "001c0001",
	       "AAAA of a host: no error and no data");
	was(DNS_ANSWERED, "payments.internal", "AAAA", "AAAA");
	is_str(ask_name(QUERY, "example.com", "0001 0001"),
	       "123481850001000000000000076578616d706c6503636f6d0000010001", "any other name: refused");
	was(DNS_REFUSED, "example.com", "A", "refused");
	is_str(ask_name("ffff 0000 0001 0000 0000 0000", "x", "0001 0001"),
	       "ffff84800001000100000000"
	       "017800"
	       "00010001c00c000100010000000000047f4000fa",
	       "recursion not desired is not desired in the answer");
	is_str(ask_name("0000 0130 0001 0000 0000 0000", "x", "0010 0001"),
	       "000085900001000000000000"
	       "017800"
	       "00100001",
	       "checking disabled is copied, authentic data is not");
	is_str(ask_name(QUERY, "PayMents.INTERNAL", "0001 0001"),
	       "123485800001000100000000"
	       "085061794d656e747308494e5445524e414c00"
	       "00010001c00c000100010000000000047f400001",
	       "any case fits, and comes back as it was asked");
	was(DNS_ANSWERED, "PayMents.INTERNAL", "A", "case");
	ask_name(QUERY, "mail.example", "0001 0001");
	ok(asked.verdict == DNS_ANSWERED && answer[12 + 14 + 4 + 15] == 2,
	   "the host's own case does not matter either");
	for (const char *const *n = (const char *const[]){ "internal", "a.payments.internal", "payments.interna",
							   "payments.internal.", "payments", "ayments.internal", NULL };
	     *n != NULL; n++) {
		ask_name(QUERY, *n, "0001 0001");
		ok(asked.verdict == ((*n)[strlen(*n) - 1] == '.' ? DNS_ANSWERED : DNS_REFUSED), "%s", *n);
	}
	ask_name(QUERY, "localhost", "0001 0001");
	ok(asked.verdict == DNS_ANSWERED && memcmp(answer + 12 + 11 + 4 + 12, "\x7f\0\0\1", 4) == 0,
	   "localhost is here");
	ask_name(QUERY, "a.LOCALHOST", "001c 0001");
	was(DNS_ANSWERED, "a.LOCALHOST", "AAAA", "below localhost");
	ask_name(QUERY, "notlocalhost", "0001 0001");
	was(DNS_REFUSED, "notlocalhost", "A", "not below localhost");
	is_str(ask_name(QUERY, "", "0002 0001"),
	       "123481850001000000000000"
	       "00"
	       "00020001",
	       "the root is refused");
	was(DNS_REFUSED, ".", "NS", "root");
}

static void
types(void)
{
	static const struct {
		const char *tail, *name;
	} all[] = { { "0002 0001", "NS" },     { "0005 0001", "CNAME" },    { "0006 0001", "SOA" },
		    { "000c 0001", "PTR" },    { "000f 0001", "MX" },       { "0010 0001", "TXT" },
		    { "0021 0001", "SRV" },    { "0041 0001", "HTTPS" },    { "00ff 0001", "ANY" },
		    { "00fc 0001", "AXFR" },   { "0101 0001", "CAA" },      { "0000 0001", "TYPE0" },
		    { "0029 0001", "TYPE41" }, { "ffff 0001", "TYPE65535" } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ask_name(QUERY, "x", all[i].tail);
		was(DNS_ANSWERED, "x", all[i].name, "a host");
		ok(answer[7] == 0, "no data for %s", all[i].name);
		ask_name(QUERY, "y", all[i].tail);
		was(DNS_REFUSED, "y", all[i].name, "another");
	}
	is_str(ask_name(QUERY, "x", "0001 0003"),
	       "123481850001000000000000"
	       "017800"
	       "00010003",
	       "another class: refused");
	was(DNS_REFUSED, "x", "CLASS3 A", "class");
	ask_name(QUERY, "version.bind", "0010 0003");
	was(DNS_REFUSED, "version.bind", "CLASS3 TXT", "version.bind");
	ask_name(QUERY, "x", "ffff ffff");
	was(DNS_REFUSED, "x", "CLASS65535 TYPE65535", "the longest type");
	ask_name(QUERY, "x", "0001 00ff");
	was(DNS_REFUSED, "x", "CLASS255 A", "any class");
}

static void
extended(void)
{
#define OPT "00 0029 04d0 00000000 0000"
#define ADDITIONAL "1234 0100 0001 0000 0000 0001"
	is_str(ask_name(ADDITIONAL, "x", "0001 0001" OPT),
	       "123485800001000100000001"
	       "017800"
	       "00010001c00c000100010000000000047f4000fa"
	       "00002904d0000000000000",
	       "OPT is answered with OPT");
	is_str(ask_name(ADDITIONAL, "y", "0001 0001 00 0029 1000 00008000 000c 000a0008 0102030405060708"),
	       "123481850001000000000001"
	       "017900"
	       "00010001"
	       "00002904d0000000000000",
	       "options and DO are not answered");
	was(DNS_REFUSED, "y", "A", "with OPT");
	is_str(ask_name(ADDITIONAL, "x", "0001 0001 00 0029 0000 00000000 0000") + 70, "00002904d0000000000000",
	       "a size below 512 means 512");
	is_str(ask_name(ADDITIONAL, "x", "0001 0001 00 0029 04d0 00010000 0000"),
	       "123481800001000000000001"
	       "017800"
	       "00010001"
	       "00002904d0010000000000",
	       "a newer version: BADVERS");
	wrong(DNS_VERSION, "", "", "BADVERS");
	ask_name(ADDITIONAL, "y", "0001 0001 00 0029 04d0 00010000 0000");
	was(DNS_REFUSED, "y", "A", "a newer version does not hide a name");
	for (const char *const *t = (const char *const[]){ "0001 0001 00 0029 04d0 00000000 0001",
							   "0001 0001 00 0029 04d0 00000000 0000 00",
							   "0001 0001 00 0029 04d0 00000000 0003 000a00",
							   "0001 0001 00 0029 04d0 00000000 0004 000a0001",
							   "0001 0001 0178 00 0029 04d0 00000000 0000",
							   "0001 0001 00 0001 0001 00000000 0000",
							   "0001 0001 c00c 0029 04d0 00000000 0000", "0001 0001",
							   "0001 0001 00 0029 04d0 00000000 00", NULL };
	     *t != NULL; t++) {
		is_str(ask_name(ADDITIONAL, "x", *t), "123481810000000000000000", *t);
		wrong(DNS_FORMAT, "", "", *t);
	}
	is_str(ask_name("1234 0100 0001 0000 0000 0002", "x", "0001 0001" OPT OPT), "123481810000000000000000",
	       "two OPT records");
	is_str(ask_name(QUERY, "x", "0001 0001" OPT), "123481810000000000000000",
	       "an OPT that the header does not count");
}

static void
malformed(void)
{
	struct bytes b = { .len = 0 }, part;

	for (size_t i = 0; i < 12; i++) {
		part = (struct bytes){ .len = i };
		ok(*ask(&part) == '\0', "%zu bytes: silence", i);
	}
	add(&b, QUERY);
	add_name(&b, "payments.internal");
	add(&b, "00010001");
	for (size_t i = 12; i < b.len; i++) {
		part = b;
		part.len = i;
		if (strcmp(ask(&part), "123481810000000000000000") != 0 || asked.problem != DNS_FORMAT ||
		    asked.name[0] != '\0')
			ok(false, "cut after %zu bytes", i);
	}
	b.at[b.len++] = 0;
	is_str(ask(&b), "123481810000000000000000", "a byte too many");
	is_str(ask_hex("1234 8100 0001 0000 0000 0000 017800 0001 0001"), "", "a response: silence");
	is_str(ask_hex("1234 8000 0000 0000 0000 0000"), "", "an empty response: silence");
	is_str(ask_hex("1234 0300 0001 0000 0000 0000 017800 0001 0001"), "123481810000000000000000", "truncated");
	is_str(ask_hex("1234 0100 0000 0000 0000 0000"), "123481810000000000000000", "no question");
	is_str(ask_hex("1234 0100 0002 0000 0000 0000 017800 0001 0001 017900 0001 0001"), "123481810000000000000000",
	       "two questions");
	is_str(ask_hex("1234 0100 ffff 0000 0000 0000 017800 0001 0001"), "123481810000000000000000",
	       "65535 questions");
	is_str(ask_hex("1234 0100 0001 0001 0000 0000 017800 0001 0001"), "123481810000000000000000",
	       "an answer in a query");
	is_str(ask_hex("1234 0100 0001 0000 0001 0000 017800 0001 0001"), "123481810000000000000000",
	       "an authority in a query");
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		char digits[64], want[32];

		snprintf(digits, sizeof(digits), "1234%02x000001000000000000017800 0001 0001", opcode << 3 | 1);
		snprintf(want, sizeof(want), "1234%02x840000000000000000", 0x80 | opcode << 3 | 1);
		is_str(ask_hex(digits), want, "another opcode: not implemented");
	}
	is_str(ask_hex(QUERY "c00c 0001 0001"), "123481810000000000000000", "a pointer to itself");
	is_str(ask_hex(QUERY "0178 c00c 0001 0001"), "123481810000000000000000", "a pointer after a label");
	is_str(ask_hex(QUERY "4178 00 0001 0001"), "123481810000000000000000", "label type 01");
	is_str(ask_hex(QUERY "8178 00 0001 0001"), "123481810000000000000000", "label type 10");
}

static void
lengths(void)
{
	char label[64], want[DNS_NAME_MAX];
	struct bytes b = { .len = 0 };

	memset(label, 'a', sizeof(label));
	add(&b, QUERY);
	for (unsigned i = 0; i < 3; i++)
		add_label(&b, label, 63);
	add_label(&b, label, 61);
	add(&b, "00 0001 0001");
	ask(&b);
	ok(asked.verdict == DNS_REFUSED && strlen(asked.name) == 253, "a name of 255 bytes");
	is_int((int)strlen(hex) / 2, (int)b.len, "its answer is as long as the query");
	b.len = 0;
	add(&b, QUERY);
	for (unsigned i = 0; i < 3; i++)
		add_label(&b, label, 63);
	add_label(&b, label, 62);
	add(&b, "00 0001 0001");
	is_str(ask(&b), "123481810000000000000000", "a name of 256 bytes");
	b.len = 0;
	add(&b, QUERY);
	for (unsigned i = 0; i < 127; i++)
		add_label(&b, "a", 1);
	add(&b, "00 0001 0001");
	ask(&b);
	ok(asked.verdict == DNS_REFUSED && strlen(asked.name) == 253, "127 labels");
	b.len = 0;
	add(&b, QUERY);
	memset(label, '\0', sizeof(label));
	for (unsigned i = 0; i < 3; i++)
		add_label(&b, label, 63);
	add_label(&b, label, 61);
	add(&b, "00 0001 0001");
	ask(&b);
	want[0] = '\0';
	for (unsigned i = 0; i < 250; i++)
		strcat(want, i == 63 || i == 126 || i == 189 ? ".\\000" : "\\000");
	is_str(asked.name, want, "the longest text: every byte escaped");
	b.len = 0;
	add(&b, QUERY);
	add_label(&b, "a.b", 3);
	add_label(&b, "\\ \x7f\xff\n", 5);
	add(&b, "00 0001 0001");
	ask(&b);
	is_str(asked.name, "a\\.b.\\\\\\032\\127\\255\\010", "what is no letter is escaped");
	b.len = 0;
	add(&b, QUERY);
	add_label(&b, "payments.internal", 17);
	add(&b, "00 0001 0001");
	ask(&b);
	was(DNS_REFUSED, "payments\\.internal", "A", "a dot within a label does not make a host");
	b.len = 0;
	add(&b, QUERY);
	add_label(&b, "a.localhost", 11);
	add(&b, "00 0001 0001");
	ask(&b);
	was(DNS_REFUSED, "a\\.localhost", "A", "nor localhost");
	b.len = 0;
	add(&b, "1234 0100 0001 0000 0000 0001");
	add_name(&b, "x");
	add(&b, "0001 0001 00 0029 04d0 00000000 04b2 000c04ae");
	b.len += DNS_QUERY_MAX - b.len;
	ask(&b);
	was(DNS_ANSWERED, "x", "A", "a query of 1232 bytes");
	is_int((int)strlen(hex) / 2, 12 + 7 + 16 + 11, "whose answer does not grow with it");
	b.at[b.len++] = 0;
	is_str(ask(&b), "123481810000000000000000", "and one of 1233");
	wrong(DNS_LONG, "", "", "which is too long");
}

/* What is wrong with a message, and which name of others it carries all the same. */
static void
problems(void)
{
	struct bytes b = { .len = 0 };

	ask_hex("");
	wrong(DNS_SHORT, "", "", "nothing");
	ask_hex("1234 0100 0001 0000 0000 00");
	wrong(DNS_SHORT, "", "", "11 bytes");
	ask_hex("1234 8000 0000 0000 0000 0000");
	wrong(DNS_RESPONSE, "", "", "a response");
	ask_name("1234 8100 0001 0000 0000 0000", "evil.example", "0001 0001");
	wrong(DNS_RESPONSE, "evil.example", "A", "a response with a name");
	ask_name("1234 2800 0001 0000 0000 0000", "x", "0006 0001");
	wrong(DNS_OPCODE, "", "", "an update of a known name");
	is_str(ask_name("1234 2800 0001 0000 0000 0000", "evil.example", "0006 0001"), "1234a8840000000000000000",
	       "an update of a name is not implemented");
	wrong(DNS_OPCODE, "evil.example", "SOA", "and its name is seen");
	ask_hex(QUERY);
	wrong(DNS_FORMAT, "", "", "a question that is not there");
	ask_name("1234 0100 0000 0000 0000 0000", "evil.example", "0001 0001");
	wrong(DNS_FORMAT, "", "", "a name that the header does not count");
	ask_name(QUERY, "evil.example", "0001 0001 00");
	wrong(DNS_FORMAT, "evil.example", "A", "a byte left over");
	ask_name(QUERY, "evil.example", "0001 00");
	wrong(DNS_FORMAT, "evil.example", "NONE", "cut after the name");
	ask_name(QUERY, "x", "0001 00");
	wrong(DNS_FORMAT, "", "", "cut after a known name");
	ask_name("1234 0100 0002 0000 0000 0000", "x", "0001 0001 046576696c00 00ff 0001");
	wrong(DNS_FORMAT, "evil", "ANY", "the second of two questions");
	ask_name("1234 0100 0002 0000 0000 0000", "x", "0001 0001 046576696cc00c 00ff 0001");
	wrong(DNS_FORMAT, "", "", "a pointer is not followed");
	ask_name("1234 0100 0003 0000 0000 0000", "x", "0001 0003 046576696c00 00ff 0001");
	wrong(DNS_FORMAT, "x", "CLASS3 A", "a known name of another class is another name");
	ask_name("1234 0100 ffff 0000 0000 0000", "evil", "0001 0001");
	wrong(DNS_FORMAT, "evil", "A", "65535 questions of which one is there");
	ask_hex("1234 0300 0001 0000 0000 0000 0178");
	wrong(DNS_FORMAT, "", "", "half a name");
	add(&b, "1234 0100 ffff 0000 0000 0000");
	while (b.len + 7 <= DNS_QUERY_MAX)
		add(&b, "017800 0001 0001");
	add(&b, "046576696c00 0010 0001");
	ask(&b);
	wrong(DNS_LONG, "evil", "TXT", "behind 174 known names");
	for (unsigned i = 1; i < DNS_PROBLEMS; i++)
		ok(dns_problem_name((enum dns_problem)i)[0] != '\0', "problem %s: %s",
		   dns_problem_name((enum dns_problem)i),
		   dns_problem_rcode((enum dns_problem)i) ? dns_problem_rcode((enum dns_problem)i) : "silence");
}

/* Whatever is asked: one of two lengths, never more than 16 bytes above the query. */
static void
chance(void)
{
	struct bytes b;
	unsigned grown = 0;

	guard_random_start();

	for (unsigned i = 0; i < 200000; i++) {
		size_t n;

		b.len = 0;
		add(&b, "1234 0100 0001 0000 0000 0001");
		add_name(&b, i % 2 ? "payments.internal" : "y.z");
		add(&b, "0001 0001" OPT);
		for (unsigned k = 0; k < 1 + i % 4; k++)
			b.at[guard_random() % b.len] = (uint8_t)guard_random();
		b.len = i % 3 ? b.len : guard_random() % (b.len + 1);
		n = dns_answer(&hosts, b.at, b.len, answer, &asked);
		grown += n > b.len + (asked.verdict == DNS_ANSWERED ? 16 : 0) || n > DNS_ANSWER_MAX;
	}
	is_int((int)grown, 0, "200,000 broken queries: no answer is longer than it may be");
}

int
main(void)
{
	answers();
	types();
	extended();
	malformed();
	lengths();
	problems();
	chance();
	return tap_done();
}
