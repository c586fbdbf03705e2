/* SPDX-License-Identifier: GPL-2.0-or-later
 * dns.c - see dns.h.  Section numbers are those of RFC 1035 where no other is named. */
#include "guest/dns.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEADER_LEN 12u
#define OPT_LEN 11u
#define LABEL_MAX 63u /* 2.3.4 */
#define WIRE_MAX 255u
#define FLAG_QR 0x8000u
#define FLAG_OPCODE 0x7800u
#define FLAG_AA 0x0400u
#define FLAG_TC 0x0200u
#define FLAG_RD 0x0100u
#define FLAG_RA 0x0080u
#define FLAG_CD 0x0010u
#define TYPE_A 1u
#define TYPE_OPT 41u
#define CLASS_IN 1u

enum rcode { RCODE_OK = 0, RCODE_FORMERR = 1, RCODE_NOTIMP = 4, RCODE_REFUSED = 5, RCODE_BADVERS = 16 };

struct query {
	uint16_t id, flags;
	const uint8_t *question; /* name, type, class */
	size_t question_len;
	uint16_t type, class;
	bool has_opt;
	uint8_t version; /* of OPT */
};

static uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint8_t *
put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static size_t
put_byte(char *out, uint8_t c)
{
	if (c == '.' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	if (c > ' ' && c < 0x7f) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = '\\';
	out[1] = (char)('0' + c / 100);
	out[2] = (char)('0' + c / 10 % 10);
	out[3] = (char)('0' + c % 10);
	return 4;
}

/* The name at p[0..len) as text.  Returns its bytes, or 0: cut short, a label or name too long, or a pointer, which has
 * nothing to point back to in a question. */
static size_t
read_name(const uint8_t *p, size_t len, char text[static DNS_NAME_MAX])
{
	size_t at = 0, n = 0;

	while (at < len && p[at] != 0) {
		size_t label = p[at++];

		/* 253 characters are the most that 255 bytes can hold: text never overflows */
		if (label > LABEL_MAX || label >= len - at || at + label + 1 > WIRE_MAX)
			return 0;
		if (n > 0)
			text[n++] = '.';
		for (size_t i = 0; i < label; i++)
			n += put_byte(text + n, p[at + i]);
		at += label;
	}
	if (at == len)
		return 0;
	if (n == 0)
		text[n++] = '.';
	text[n] = '\0';
	return at + 1;
}

/* The options of an OPT record fill it exactly, RFC 6891 6.1.2; none of them means anything here. */
static bool
options_are_whole(const uint8_t *p, size_t len)
{
	while (len > 0) {
		size_t n;

		if (len < 4)
			return false;
		n = get16(p + 2);
		if (n > len - 4)
			return false;
		p += 4 + n;
		len -= 4 + n;
	}
	return true;
}

/* What follows the question: nothing, or one OPT record with the root as its name. */
static bool
read_rest(struct query *q, unsigned records, const uint8_t *p, size_t len)
{
	if (records == 0)
		return len == 0;
	if (records > 1 || len < OPT_LEN || p[0] != 0 || get16(p + 1) != TYPE_OPT || get16(p + 9) != len - OPT_LEN)
		return false;
	q->has_opt = true;
	q->version = p[6];
	return options_are_whole(p + OPT_LEN, len - OPT_LEN);
}

static bool
read_query(struct query *q, const uint8_t *p, size_t len, char name[static DNS_NAME_MAX])
{
	size_t n;

	if (len > DNS_QUERY_MAX || (q->flags & FLAG_TC) != 0 || get16(p + 4) != 1 || get16(p + 6) != 0 ||
	    get16(p + 8) != 0)
		return false;
	n = read_name(p + HEADER_LEN, len - HEADER_LEN, name);
	if (n == 0 || len - HEADER_LEN - n < 4)
		return false;
	q->question = p + HEADER_LEN;
	q->question_len = n + 4;
	q->type = get16(q->question + n);
	q->class = get16(q->question + n + 2);
	n = HEADER_LEN + q->question_len;
	return read_rest(q, get16(p + 10), p + n, len - n);
}

static void
type_name(const struct query *q, char out[static DNS_TYPE_MAX])
{
	static const struct {
		uint16_t type;
		const char *name;
	} names[] = {
		{ 1, "A" },     { 2, "NS" },     { 5, "CNAME" },  { 6, "SOA" },    { 12, "PTR" },   { 13, "HINFO" },
		{ 15, "MX" },   { 16, "TXT" },   { 28, "AAAA" },  { 33, "SRV" },   { 35, "NAPTR" }, { 52, "TLSA" },
		{ 64, "SVCB" }, { 65, "HTTPS" }, { 251, "IXFR" }, { 252, "AXFR" }, { 255, "ANY" },  { 257, "CAA" },
	};
	int n = 0;

	if (q->class != CLASS_IN)
		n = snprintf(out, DNS_TYPE_MAX, "CLASS%u ", q->class);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == q->type) {
			(void)snprintf(out + n, DNS_TYPE_MAX - (size_t)n, "%s", names[i].name);
			return;
		}
	(void)snprintf(out + n, DNS_TYPE_MAX - (size_t)n, "TYPE%u", q->type);
}

/* The address of a host of the world; NULL: none.  localhost and what lies below it never leave a machine, RFC 6761 6.3. */
static const uint8_t *
find(const struct dns_hosts *hosts, const char *name)
{
	static const uint8_t loopback[4] = { 127, 0, 0, 1 };
	size_t len = strlen(name);

	for (size_t i = 0; i < hosts->len; i++)
		if (strcasecmp(hosts->at[i].name, name) == 0)
			return hosts->at[i].address;
	if (strcasecmp(name, "localhost") == 0 ||
	    (len > 10 && strcasecmp(name + len - 10, ".localhost") == 0 && name[len - 11] != '\\'))
		return loopback;
	return NULL;
}

/* What is malformed may still carry a name out: the first that no host of the world has.  Pointers are not followed. */
static void
find_foreign(const struct dns_hosts *hosts, const uint8_t *p, size_t len, struct dns_asked *asked)
{
	unsigned left = len < HEADER_LEN ? 0 : get16(p + 4);
	size_t at = HEADER_LEN;

	for (; left > 0 && at < len; left--) {
		struct query q = { .class = CLASS_IN };
		size_t n = read_name(p + at, len - at, asked->name);
		bool whole;

		if (n == 0)
			break;
		at += n;
		whole = len - at >= 4;
		if (whole) {
			q.type = get16(p + at);
			q.class = get16(p + at + 2);
		}
		if (q.class != CLASS_IN || find(hosts, asked->name) == NULL) {
			if (whole)
				type_name(&q, asked->type);
			else
				memcpy(asked->type, "NONE", sizeof("NONE"));
			return;
		}
		if (!whole)
			break;
		at += 4;
	}
	asked->name[0] = asked->type[0] = '\0';
}

static uint8_t *
put_header(uint8_t *p, const struct query *q, unsigned flags, enum rcode rcode)
{
	p = put16(p, q->id);
	p = put16(p,
		  FLAG_QR | (q->flags & (FLAG_OPCODE | FLAG_RD | FLAG_CD)) | FLAG_RA | flags | ((unsigned)rcode & 15u));
	memset(p, 0, 8);
	return p + 8;
}

static size_t
put_error(uint8_t *out, const struct query *q, enum rcode rcode)
{
	return (size_t)(put_header(out, q, 0, rcode) - out);
}

static size_t
put_answer(uint8_t *out, const struct query *q, enum rcode rcode, const uint8_t *address)
{
	bool known = rcode == RCODE_OK;
	uint8_t *p = put_header(out, q, known ? FLAG_AA : 0, rcode);

	put16(out + 4, 1);
	memcpy(p, q->question, q->question_len);
	p += q->question_len;
	if (address != NULL) {
		put16(out + 6, 1);
		p = put16(p, 0xc000u | HEADER_LEN); /* the question's name */
		p = put16(p, TYPE_A);
		p = put16(p, CLASS_IN);
		p = put16(put16(p, 0), 0); /* nobody keeps it: the next run may have another */
		p = put16(p, 4);
		memcpy(p, address, 4);
		p += 4;
	}
	if (q->has_opt) {
		put16(out + 10, 1);
		*p++ = 0;
		p = put16(p, TYPE_OPT);
		p = put16(p, DNS_QUERY_MAX);
		*p++ = (uint8_t)((unsigned)rcode >> 4);
		memset(p, 0, 5); /* version, flags, no options */
		p += 5;
	}
	return (size_t)(p - out);
}

static void
malformed(const struct dns_hosts *hosts, const uint8_t *query, size_t len, struct dns_asked *asked,
	  enum dns_problem problem)
{
	asked->problem = problem;
	asked->name[0] = asked->type[0] = '\0';
	find_foreign(hosts, query, len, asked);
}

/* see dns.h */
const char *
dns_problem_name(enum dns_problem problem)
{
	static const char *const names[DNS_PROBLEMS] = {
		"", "short", "response", "opcode", "long", "format", "version"
	};

	return names[problem];
}

/* see dns.h */
const char *
dns_problem_rcode(enum dns_problem problem)
{
	switch (problem) {
	case DNS_OPCODE:
		return "NOTIMP";
	case DNS_LONG:
	case DNS_FORMAT:
		return "FORMERR";
	case DNS_VERSION:
		return "BADVERS";
	default:
		return NULL;
	}
}

/* see dns.h */
size_t
dns_answer(const struct dns_hosts *hosts, const uint8_t *query, size_t len, uint8_t out[static DNS_ANSWER_MAX],
	   struct dns_asked *asked)
{
	struct query q = { 0 };
	const uint8_t *address;

	asked->verdict = DNS_MALFORMED;
	asked->problem = DNS_NONE;
	asked->name[0] = asked->type[0] = '\0';
	if (len < HEADER_LEN) {
		malformed(hosts, query, len, asked, DNS_SHORT);
		return 0;
	}
	q.id = get16(query);
	q.flags = get16(query + 2);
	if ((q.flags & FLAG_QR) != 0) {
		malformed(hosts, query, len, asked, DNS_RESPONSE);
		return 0; /* an answer to an answer could go on for ever */
	}
	if ((q.flags & FLAG_OPCODE) != 0) {
		malformed(hosts, query, len, asked, DNS_OPCODE);
		return put_error(out, &q, RCODE_NOTIMP);
	}
	if (!read_query(&q, query, len, asked->name)) {
		malformed(hosts, query, len, asked, len > DNS_QUERY_MAX ? DNS_LONG : DNS_FORMAT);
		return put_error(out, &q, RCODE_FORMERR);
	}
	type_name(&q, asked->type);
	address = q.class == CLASS_IN ? find(hosts, asked->name) : NULL;
	if (address == NULL) {
		asked->verdict = DNS_REFUSED;
		return put_answer(out, &q, RCODE_REFUSED, NULL);
	}
	if (q.version != 0) { /* its client asks again as we can, RFC 6891 6.1.3 */
		asked->problem = DNS_VERSION;
		asked->name[0] = asked->type[0] = '\0';
		return put_answer(out, &q, RCODE_BADVERS, NULL);
	}
	asked->verdict = DNS_ANSWERED;
	return put_answer(out, &q, RCODE_OK, q.type == TYPE_A ? address : NULL);
}
