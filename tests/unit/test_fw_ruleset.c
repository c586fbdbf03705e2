/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/tap.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "firewall/net.h"
#include "firewall/nflog.h"
#include "firewall/nl.h"
#include "firewall/ruleset.h"
#include "firewall/table.h"
#include "proto/frame.h"

static char text[2 * FW_TEXT_MAX], again[2 * FW_TEXT_MAX];

static const struct fw_params plain = {
	.lock = FW_INNER,
	.family = FW_INET,
	.reject = true,
	.log = true,
	.ipv6 = true,
	.uid_workflow = 1000,
	.uid_twins = 991,
	.own_len = 3,
	.own = { { 4, { 198, 18, 255, 1 } },
		 { 6, { 0xfd, 0, 0, 0xa7, [15] = 1 } },
		 { 6, { 0xfe, 0x80, [15] = 0xa7 } } },
};
static const char inner[] =
	"table inet agenttwin {\n"
	"\tchain input {\n\t\ttype filter hook input priority 300; policy drop;\n\t\tiif \"lo\" accept\n\t\tcounter drop\n\t}\n"
	"\tchain forward {\n\t\ttype filter hook forward priority 300; policy drop;\n\t\tcounter log group 7 drop\n\t}\n"
	"\tchain output {\n\t\ttype filter hook output priority -140; policy drop;\n"
	"\t\toif \"lo\" ip daddr 127.0.0.0/8 accept\n\t\toif \"lo\" ip daddr 198.18.255.1 accept\n"
	"\t\toif \"lo\" ip6 daddr ::1 accept\n\t\toif \"lo\" ip6 daddr fd00:a7::1 accept\n\t\toif \"lo\" ip6 daddr fe80::a7 accept\n"
	"\t\tmeta skuid 1000 goto workflow\n\t\tmeta skuid 991 goto twins\n\t\tmeta skuid != 4294967295 goto others\n"
	"\t\tcounter drop\n\t}\n"
	"\tchain workflow {\n\t\tcounter log group 7 goto answer\n\t}\n"
	"\tchain twins {\n\t\tcounter log group 7 goto answer\n\t}\n"
	"\tchain others {\n\t\tcounter log group 7 goto answer\n\t}\n"
	"\tchain answer {\n\t\tmeta l4proto tcp reject with tcp reset\n\t\treject with icmpx admin-prohibited\n\t}\n"
	"\tchain postrouting {\n\t\ttype filter hook postrouting priority 300; policy drop;\n\t\toif \"lo\" accept\n"
	"\t\tcounter log group 7 drop\n\t}\n"
	"}\n";

static bool
has(const char *needle)
{
	return strstr(text, needle) != NULL;
}

static void
test_text(void)
{
	struct fw_params p = plain;
	int len;

	len = fw_text_script(&p, text, sizeof(text));
	is_int(len, (long long)strlen(inner), "length of the inner lock's script");
	is_str(text, inner, "inner lock, golden");
	p.family = FW_SPLIT;
	ok(fw_text_script(&p, text, sizeof(text)) > 0 && has("table ip agenttwin {") && has("table ip6 agenttwin {") &&
		   has("reject with icmp admin-prohibited") && has("reject with icmpv6 admin-prohibited") &&
		   !has("icmpx"),
	   "split: two tables");
	ok(strstr(strstr(text, "table ip6"), "ip daddr") == NULL, "no IPv4 address in the ip6 table");
	p.ipv6 = false;
	ok(fw_text_script(&p, text, sizeof(text)) > 0 && !has("ip6"), "split without IPv6: the ip table alone");
	p = plain;
	p.reject = p.log = false;
	ok(fw_text_script(&p, text, sizeof(text)) > 0 && !has("reject") && !has("log") &&
		   has("chain answer {\n\t\tdrop\n"),
	   "no reject: drop");
	is_int(fw_text_script(&plain, text, 100), -ENOSPC, "a small buffer");
	is_str(text, "", "and nothing half-written in it");
}

static void
test_outer(void)
{
	struct fw_params p = plain;

	p.lock = FW_OUTER;
	p.control_port = 49983;
	p.closed_len = 2;
	p.closed[0] = (struct fw_closed){ 6, 49983 };
	p.closed[1] = (struct fw_closed){ 17, 111 };
	p.pinned_len = 2;
	p.pinned[0] = (struct fw_pinned){ { 4, { 10, 0, 0, 1 } }, 4000 };
	p.pinned[1] = (struct fw_pinned){ { 6, { 0xfd, [15] = 9 } }, 4001 };
	ok(fw_text_script(&p, text, sizeof(text)) > 0, "outer lock");
	ok(has("\t\tip saddr 10.0.0.1 tcp sport 4000 tcp dport 49983 accept\n"), "pinned on input");
	ok(has("\t\tip6 daddr fd00::9 tcp sport 49983 tcp dport 4001 accept\n"), "pinned on output");
	ok(has("tcp dport 49983 goto closed\n\t\tmeta skuid 1000 tcp sport 49983 goto closed\n"
	       "\t\tudp dport 111 goto closed\n\t\tmeta skuid 1000 udp sport 111 goto closed\n"
	       "\t\tip daddr 127.0.0.11 goto refuse\n"),
	   "closed ports, forwarder");
	ok(strstr(text, "tcp sport 49983 meta skuid != 0 goto refuse") < strstr(text, "ip daddr 10.0.0.1"),
	   "owner guard stands first");
	ok(strstr(text, "meta skuid 0 accept") < strstr(text, "goto closed"), "root before closed ports");
	ok(has("\t\toif \"lo\" meta skuid 0 accept\n\t\toif \"lo\" tcp dport 49983 goto stray\n"
	       "\t\toif \"lo\" udp dport 111 goto stray\n\t\toif \"lo\" accept\n"),
	   "closed ports once more after translation");
	ok(has("\tchain stray {\n\t\tcounter log group 7 drop\n\t}\n"), "and there without an answer");
	ok(!has("ct state"), "pinned: no connection tracking");
	p.pinned_len = 0;
	ok(fw_text_script(&p, text, sizeof(text)) > 0 && has("tcp dport 49983 ct state established accept"),
	   "not pinned: established");
	p.control_port = 0;
	p.closed_len = 0;
	ok(fw_text_script(&p, text, sizeof(text)) > 0 && !has("ct state") && !has("sport"),
	   "no control port: nothing but loopback");
}

static void
test_policy(void)
{
	struct fw_params p = plain;
	int a, b;

	ok(fw_text_policy(FW_INNER, 0, text, sizeof(text)) > 0 && has("meta skuid {workflow}") && has("ip daddr {own}"),
	   "template has holes");
	ok(!has("1000") && !has("198.18"), "and no values");
	a = fw_text_policy(FW_INNER, 49983, again, sizeof(again));
	ok(a > 0 && strcmp(text, again) == 0, "the inner template does not depend on the control port");
	ok(fw_text_policy(FW_OUTER, 49983, text, sizeof(text)) > 0 && has("{closed port}") && has("{control to peer}"),
	   "outer template");
	a = fw_text_policy_all(0, text, sizeof(text));
	b = fw_text_policy(FW_OUTER, 0, again, sizeof(again));
	ok(a > b && memcmp(text, again, (size_t)b) == 0, "both, outer first");
	a = fw_text_binding(&p, text, sizeof(text));
	is_str(text,
	       "control-port 0\nfamily inet\nipv6 yes\nlock inner\nlog yes\nown 198.18.255.1\nown fd00:a7::1\nown fe80::a7\n"
	       "reject yes\nuid-twins 991\nuid-workflow 1000\n",
	       "binding, golden");
	ok(a > 0, "binding's length");
}

static bool
batch_fits(const struct fw_params *p)
{
	static struct fw_ruleset rs;
	static _Alignas(8) uint8_t space[FW_SPACE];
	uint32_t seq = 1;
	struct fw_nl n;

	fw_nl_begin(&n, -1, &seq, space, sizeof(space));
	for (unsigned i = 0; i < 2; i++) {
		fw_ruleset_build(p, i ? FW_NF_IP6 : FW_NF_IP, &rs);
		if (fw_encode_ruleset(&n, &rs) < 0)
			return false;
	}
	(void)fw_nl_message(&n, NLMSG_NOOP, 0); /* settles the one before */
	return !n.full;
}

static void
test_full(void)
{
	static struct fw_ruleset rs;
	static struct fw_params p;
	struct fw_expr e[FW_EXPRS_MAX];
	unsigned most = 0, n;

	p = plain;
	p.lock = FW_OUTER;
	p.control_port = 1;
	p.own_len = FW_OWN_MAX;
	for (unsigned i = 0; i < FW_OWN_MAX; i++)
		p.own[i] = (struct fw_address){ 6, { 0xfd, [15] = (uint8_t)i } };
	p.pinned_len = FW_PINNED_MAX;
	for (unsigned i = 0; i < FW_PINNED_MAX; i++)
		p.pinned[i] = (struct fw_pinned){ { 6, { 0xfd, [14] = 1, [15] = (uint8_t)i } }, (uint16_t)(i + 1) };
	p.closed_len = FW_CLOSED_MAX;
	for (unsigned i = 0; i < FW_CLOSED_MAX; i++)
		p.closed[i] = (struct fw_closed){ 6, (uint16_t)(i + 1) };
	fw_ruleset_build(&p, FW_NF_INET, &rs);
	ok(rs.rules_len <= FW_RULES_MAX, "every list full: %u rules", (unsigned)rs.rules_len);
	for (unsigned i = 0; i < rs.rules_len; i++) {
		n = fw_rule_expand(&rs.rules[i], FW_NF_INET, e);
		most = n > most ? n : most;
		if (i > 0 && rs.rules[i].chain < rs.rules[i - 1].chain)
			ok(0, "rules are grouped in chain order");
	}
	ok(most <= FW_EXPRS_MAX, "longest rule: %u expressions", most);
	ok(batch_fits(&p), "two tables of them fit one batch");
	ok(fw_text_script(&p, text, FW_TEXT_MAX) > 0, "and the text fits FW_TEXT_MAX");
	p.family = FW_SPLIT;
	ok(fw_text_script(&p, text, FW_TEXT_MAX) > 0, "in split form too");
}

static void
test_sockets(void)
{
	static const char head[] = "  sl  local_address rem_address   st tx_queue rx_queue";
	static struct fw_params p;
	struct fw_socket_line s;

	is_int(fw_socket_line(head, &s), -EPROTO, "the heading is no socket");
	is_int(fw_socket_line("   0: 0100007F:006F 00000000:0000 0A 00000000:00000000", &s), 0, "a listener");
	ok(s.local.family == 4 && s.local.bytes[0] == 127 && s.local_port == 111 && s.state == 10,
	   "its address, port and state");
	is_int(fw_socket_add(&p, 6, &s), 0, "closed");
	is_int(fw_socket_add(&p, 6, &s), 0, "twice");
	ok(p.closed_len == 1 && p.closed[0].port == 111 && p.closed[0].protocol == 6, "once in the list");
	p.control_port = 49983;
	is_int(fw_socket_line("   3: 0000000000000000FFFF00000100A8C0:C33F 0000000000000000FFFF00000200A8C0:9C40 01 0",
			      &s),
	       0, "a mapped connection");
	ok(s.remote.family == 4 && s.remote.bytes[0] == 192 && s.remote.bytes[3] == 2, "is IPv4");
	ok(fw_socket_add(&p, 6, &s) == 0 && p.pinned_len == 1 && p.pinned[0].peer_port == 40000, "pinned");
	is_int(fw_socket_line("   1: 00000000:01F4 00000000:0000 07 0", &s), 0, "a datagram socket");
	ok(fw_socket_add(&p, 17, &s) == 0 && p.closed_len == 2 && p.closed[1].protocol == 17, "closed");
	is_int(fw_socket_line("   1: 0100007F:1B5D 0100007F:1B5E 01 0", &s), 0, "a datagram socket with a peer");
	ok(fw_socket_add(&p, 17, &s) == 0 && p.closed_len == 3 && p.closed[2].port == 7005,
	   "closed too: another may become that peer");
	for (unsigned i = 0; i < FW_CLOSED_MAX; i++) {
		s.local_port = (uint16_t)(60000 - i);
		if (fw_socket_add(&p, 17, &s) < 0)
			break;
	}
	is_int(p.closed_len, FW_CLOSED_MAX, "the list is full");
	s.local_port = 7;
	is_int(fw_socket_add(&p, 17, &s), -EMSGSIZE, "one more is an error, never a hole");
	for (unsigned i = 1; i < p.closed_len; i++)
		if (p.closed[i - 1].protocol > p.closed[i].protocol ||
		    (p.closed[i - 1].protocol == p.closed[i].protocol && p.closed[i - 1].port >= p.closed[i].port))
			ok(0, "sorted");
	ok(fw_socket_line("0: 0100007F", &s) < 0 && fw_socket_line("0: 01:1 02:2 01", &s) < 0 &&
		   fw_socket_line("", &s) < 0 && fw_socket_line("0: 0100007F:12345 00000000:0000 0A", &s) < 0,
	   "broken lines");
}

/* The packet ends at an unreadable page. */
static int
parse(const void *packet, size_t len, struct fw_denied_row *row)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE) < 0)
		return -ENOMEM;
	memcpy(p + page - len, packet, len);
	r = fw_packet_parse(p + page - len, len, row);
	munmap(p, 2 * page);
	return r;
}

static void
test_packets(void)
{
	uint8_t v4[28] = { 0x45, [9] = 6, [16] = 203, 0, 113, 9, [22] = 1, 0xbb };
	uint8_t v6[128] = { 0x60, [6] = 0, [24] = 0x20, 1, 0x0d, 0xb8, [39] = 1 };
	struct fw_denied_row row;

	ok(parse(v4, 24, &row) == 0 && row.port == 443 && row.protocol == 6 && row.destination.bytes[0] == 203 &&
		   row.family == 4,
	   "IPv4, TCP");
	ok(parse(v4, 23, &row) == 0 && row.port == 0, "cut before the port's end");
	ok(parse(v4, 19, &row) < 0, "cut in the header");
	v4[7] = 5;
	ok(parse(v4, 24, &row) == 0 && row.port == 0, "a later fragment has no port");
	v4[7] = 0;
	v4[0] = 0x4f;
	ok(parse(v4, 28, &row) == 0 && row.port == 0, "options beyond the end");
	v4[0] = 0x44;
	ok(parse(v4, 28, &row) < 0, "a header shorter than a header");
	/* hop-by-hop, segment routing (first segment is the real target), fragment, UDP */
	v6[40] = 43;
	v6[48] = 44, v6[49] = 2, v6[50] = 4, v6[51] = 1;
	v6[56] = 0xfd, v6[71] = 7;
	v6[72] = 17;
	v6[82] = 0, v6[83] = 53;
	ok(parse(v6, 128, &row) == 0 && row.protocol == 17 && row.port == 53, "IPv6 extension headers are walked");
	ok(row.destination.bytes[0] == 0xfd && row.destination.bytes[15] == 7,
	   "the routing header's target is reported");
	v6[74] = 1;
	ok(parse(v6, 128, &row) == 0 && row.port == 0, "a later fragment has no port");
	for (size_t len = 0; len <= 128; len++)
		if (parse(v6, len, &row) == 0 && len < 40)
			ok(0, "cut at %zu", len);
	memset(v6, 0, sizeof(v6));
	v6[0] = 0x60;
	ok(parse(v6, 128, &row) == 0, "an endless chain of headers ends");
	ok(parse("", 0, &row) < 0 && parse("\x50zzzzzzzzzzzzzzzzzzzzzzzz", 25, &row) < 0, "neither");
}

int
main(void)
{
	test_text();
	test_outer();
	test_policy();
	test_full();
	test_sockets();
	test_packets();
	return tap_done();
}
