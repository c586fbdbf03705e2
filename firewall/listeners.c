/* SPDX-License-Identifier: GPL-2.0-or-later
 * listeners.c - the socket tables in /proc, line by line: which loopback ports to close, which connections to pin.
 * Pure.  See net.h. */
#include "firewall/net.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define STATE_ESTABLISHED 1u
#define STATE_LISTEN 10u
#define TCP 6u
#define UDP 17u

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits up to something else; false if none or more than max. */
static bool
hex(const char **at, unsigned max, uint32_t *out)
{
	uint32_t v = 0;
	unsigned n = 0;
	int d;

	while ((d = digit(**at)) >= 0) {
		if (n++ == max)
			return false;
		v = v << 4 | (uint32_t)d;
		(*at)++;
	}
	*out = v;
	return n > 0;
}

/* "0100007F:C33F": words of the address in host byte order, then the port. */
static bool
endpoint(const char **at, struct fw_address *a, uint16_t *port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	size_t digits = strspn(*at, "0123456789ABCDEFabcdef");
	uint32_t word, v;
	char part[9];
	const char *p;

	memset(a, 0, sizeof(*a));
	if (digits != 8 && digits != 32)
		return false;
	a->family = digits == 8 ? 4 : 6;
	for (unsigned i = 0; i < digits / 8; i++, *at += 8) {
		memcpy(part, *at, 8);
		part[8] = '\0';
		p = part;
		if (!hex(&p, 8, &word))
			return false;
		memcpy(a->bytes + (size_t)4 * i, &word, 4);
	}
	if (a->family == 6 && memcmp(a->bytes, mapped, 12) == 0) {
		memmove(a->bytes, a->bytes + 12, 4);
		memset(a->bytes + 4, 0, 12);
		a->family = 4;
	}
	if (**at != ':')
		return false;
	(*at)++;
	if (!hex(at, 4, &v))
		return false;
	*port = (uint16_t)v;
	return true;
}

int
fw_socket_line(const char *line, struct fw_socket_line *out)
{
	const char *at = strchr(line, ':'); /* behind the slot's number */
	struct fw_socket_line s;
	uint32_t state;

	if (!at)
		return -EPROTO;
	at += 1 + strspn(at + 1, " ");
	if (!endpoint(&at, &s.local, &s.local_port))
		return -EPROTO;
	at += strspn(at, " ");
	if (!endpoint(&at, &s.remote, &s.remote_port))
		return -EPROTO;
	at += strspn(at, " ");
	if (!hex(&at, 2, &state))
		return -EPROTO;
	s.state = (uint8_t)state;
	*out = s;
	return 0;
}

static int
close_port(struct fw_params *p, unsigned protocol, uint16_t port)
{
	struct fw_closed *c = p->closed;
	unsigned i = 0;

	/* Sorted, so that the same sockets always give the same rules. */
	while (i < p->closed_len && (c[i].protocol < protocol || (c[i].protocol == protocol && c[i].port < port)))
		i++;
	if (i < p->closed_len && c[i].protocol == protocol && c[i].port == port)
		return 0;
	if (p->closed_len == FW_CLOSED_MAX)
		return -EMSGSIZE;
	memmove(&c[i + 1], &c[i], (p->closed_len - i) * sizeof(c[0]));
	c[i].protocol = (uint8_t)protocol;
	c[i].port = port;
	p->closed_len++;
	return 0;
}

static int
pin(struct fw_params *p, const struct fw_socket_line *s)
{
	for (unsigned i = 0; i < p->pinned_len; i++)
		if (p->pinned[i].peer_port == s->remote_port &&
		    memcmp(&p->pinned[i].peer, &s->remote, sizeof(s->remote)) == 0)
			return 0;
	if (p->pinned_len == FW_PINNED_MAX)
		return -EMSGSIZE;
	p->pinned[p->pinned_len].peer = s->remote;
	p->pinned[p->pinned_len++].peer_port = s->remote_port;
	return 0;
}

int
fw_socket_add(struct fw_params *p, unsigned protocol, const struct fw_socket_line *s)
{
	static const uint8_t one[16] = { [15] = 1 };
	bool loopback = s->remote.family == 4 ? s->remote.bytes[0] == 127 : memcmp(s->remote.bytes, one, 16) == 0;

	if (protocol == TCP && s->state == STATE_LISTEN)
		return close_port(p, TCP, s->local_port);
	/* A connected datagram socket takes from its peer alone, but anyone may be that when the peer is gone. */
	if (protocol == UDP)
		return close_port(p, UDP, s->local_port);
	if (protocol == TCP && s->state == STATE_ESTABLISHED && p->control_port != 0 &&
	    s->local_port == p->control_port && !loopback)
		return pin(p, s);
	return 0;
}
