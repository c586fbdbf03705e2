/* SPDX-License-Identifier: GPL-2.0-or-later
 * net.h - the network namespace around the table: devices, addresses, routes, listeners.  Private to firewall/. */
#ifndef FIREWALL_NET_H
#define FIREWALL_NET_H
#include <stddef.h>
#include <stdint.h>

#include "firewall/fw.h"

#define FW_VETH "atw0"
#define FW_VETH_PEER "atw1"

/* lo up; a veth pair with both ends inside and default routes for each family that has none, so that every attempt has
 * a route and reaches the hooks. */
int fw_net_prepare(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
/* Fills l->interfaces, params.own (sorted), gateway, gateway_index; for the outer lock params.closed and params.pinned. */
int fw_net_observe(struct fw_lock *l, struct fw_failure *f) __attribute__((warn_unused_result, nonnull));
/* 1 if a route event only repeats what l->interfaces has (a change of state that opens nothing), else 0.  h is any
 * message of the route socket. */
struct nlmsghdr;
int fw_net_is_harmless(const struct fw_lock *l, const struct nlmsghdr *h) __attribute__((nonnull));

/* One line of /proc/net/{tcp,tcp6,udp,udp6}.  A mapped IPv4 address becomes IPv4. */
struct fw_socket_line {
	struct fw_address local, remote;
	uint16_t local_port, remote_port;
	uint8_t state; /* 1 established, 7 closed (unconnected UDP), 10 listening */
};
/* 0; -EPROTO if the line is not of this form (the heading is not). */
int fw_socket_line(const char *line, struct fw_socket_line *out) __attribute__((warn_unused_result, nonnull));
/* Takes one socket into p's lists.  protocol 6 or 17.  -EMSGSIZE when a list is full. */
int fw_socket_add(struct fw_params *p, unsigned protocol, const struct fw_socket_line *s)
	__attribute__((warn_unused_result, nonnull));
#endif
