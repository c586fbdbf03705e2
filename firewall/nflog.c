/* SPDX-License-Identifier: GPL-2.0-or-later
 * nflog.c - see nflog.h.  The bytes are the workflow's: nothing in them is believed, every read is bounded. */
#include "firewall/nflog.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <string.h>

#include "firewall/nl.h"

#define NO_OWNER 0xffffffffu
#define EXTENSIONS_MAX 16 /* headers; the kernel itself sends no longer chains */

enum { HOP = 0, TCP = 6, UDP = 17, ROUTING = 43, FRAGMENT = 44, AUTH = 51, DESTINATION = 60, MOBILITY = 135 };

static uint16_t
port_at(const uint8_t *packet, size_t len, size_t at, uint8_t protocol)
{
	if ((protocol != TCP && protocol != UDP) || at > len || len - at < 4)
		return 0;
	return (uint16_t)(packet[at + 2] << 8 | packet[at + 3]);
}

static int
parse4(const uint8_t *p, size_t len, struct fw_denied_row *out)
{
	size_t header = (size_t)(p[0] & 15) * 4;
	bool first;

	if (len < 20 || header < 20)
		return -EPROTO;
	first = ((p[6] & 0x1f) | p[7]) == 0;
	out->family = out->destination.family = 4;
	memcpy(out->destination.bytes, p + 16, 4);
	out->protocol = p[9];
	out->port = first ? port_at(p, len, header, out->protocol) : 0;
	return 0;
}

/* The final target hides in the first segment of a segment routing header and in the last of the others. */
static void
routing(const uint8_t *p, size_t len, size_t at, struct fw_denied_row *out)
{
	size_t size = ((size_t)p[at + 1] + 1) * 8;
	uint8_t type = p[at + 2], left = p[at + 3];

	if (left == 0 || size < 24 || len - at < size || (type != 2 && type != 4))
		return;
	memcpy(out->destination.bytes, type == 4 ? p + at + 8 : p + at + size - 16, 16);
}

static int
parse6(const uint8_t *p, size_t len, struct fw_denied_row *out)
{
	bool first = true;
	size_t at = 40, size;
	uint8_t next;

	if (len < 40)
		return -EPROTO;
	out->family = out->destination.family = 6;
	memcpy(out->destination.bytes, p + 24, 16);
	next = p[6];
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		if (next != HOP && next != ROUTING && next != FRAGMENT && next != AUTH && next != DESTINATION &&
		    next != MOBILITY)
			break;
		if (at > len || len - at < 8)
			break; /* cut: the header's own number is all there is to say */
		if (next == FRAGMENT) {
			first = ((p[at + 2] << 8 | p[at + 3]) & 0xfff8) == 0;
			size = 8;
		} else if (next == AUTH) {
			size = ((size_t)p[at + 1] + 2) * 4;
		} else {
			size = ((size_t)p[at + 1] + 1) * 8;
		}
		if (next == ROUTING)
			routing(p, len, at, out);
		next = p[at];
		at += size;
		if (!first)
			break; /* what follows is the middle of something */
	}
	out->protocol = next;
	out->port = first ? port_at(p, len, at, next) : 0;
	return 0;
}

int
fw_packet_parse(const uint8_t *packet, size_t len, struct fw_denied_row *out)
{
	struct fw_denied_row row;
	int r = -EPROTO;

	memset(&row, 0, sizeof(row));
	row.uid = NO_OWNER;
	if (len > 0 && packet[0] >> 4 == 4)
		r = parse4(packet, len, &row);
	else if (len > 0 && packet[0] >> 4 == 6)
		r = parse6(packet, len, &row);
	if (r == 0)
		*out = row;
	return r;
}

int
fw_log_parse(const uint8_t *attributes, size_t len, struct fw_denied_row *out)
{
	struct fw_attrs it = { attributes, len, false };
	struct fw_attr a, payload = { 0 };
	uint32_t uid = NO_OWNER, v;
	int r;

	while (fw_attr_next(&it, &a)) {
		if (a.type == NFULA_PAYLOAD)
			payload = a;
		else if (a.type == NFULA_UID && fw_attr_be32(&a, &v))
			uid = v;
	}
	if (it.bad || !payload.data || (r = fw_packet_parse(payload.data, payload.len, out)) < 0)
		return -EPROTO;
	out->uid = uid;
	return 0;
}

bool
fw_denied_add(struct fw_lock *l, const struct fw_denied_row *row, uint64_t now_ms)
{
	struct fw_denied_row *d;

	/* The latest rows first: attempts come in bursts to the same place. */
	for (uint32_t i = l->denied_len; i-- > 0;) {
		d = &l->denied[i];
		if (d->port == row->port && d->uid == row->uid && d->protocol == row->protocol &&
		    d->family == row->family &&
		    memcmp(&d->destination, &row->destination, sizeof(d->destination)) == 0) {
			d->count++;
			d->last_ms = now_ms;
			return true;
		}
	}
	if (l->denied_len == FW_DENIED_MAX)
		return false;
	d = &l->denied[l->denied_len++];
	*d = *row;
	d->count = 1;
	d->first_ms = d->last_ms = now_ms;
	return true;
}
