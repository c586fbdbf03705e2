/* SPDX-License-Identifier: GPL-2.0-or-later
 * nflog.h - what one packet says of itself: the parser of logged packets.  Pure.  Private to firewall/. */
#ifndef FIREWALL_NFLOG_H
#define FIREWALL_NFLOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firewall/fw.h"

/* Destination, protocol and port of an IPv4 or IPv6 packet's first bytes (it may be cut anywhere).  IPv6 extension headers
 * are walked; a routing header's last segment is where the packet would go.  port is 0 unless the protocol is TCP or UDP,
 * the fragment is the first and both bytes are there.  0; -EPROTO if it is neither or too short to say where it goes. */
int fw_packet_parse(const uint8_t *packet, size_t len, struct fw_denied_row *out)
	__attribute__((warn_unused_result, nonnull));
/* The same from the attributes of one NFLOG message (behind its netlink and family headers), with the owner's uid. */
int fw_log_parse(const uint8_t *attributes, size_t len, struct fw_denied_row *out)
	__attribute__((warn_unused_result, nonnull));
/* Finds or adds the row; false when there is no room. */
bool fw_denied_add(struct fw_lock *l, const struct fw_denied_row *row, uint64_t now_ms) __attribute__((nonnull));
#endif
