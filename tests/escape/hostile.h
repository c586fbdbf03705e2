/* SPDX-License-Identifier: GPL-2.0-or-later
 * hostile.h - what the parts of `hostile` share: see hostile.c. */
#ifndef HOSTILE_H
#define HOSTILE_H

/* What a packet of the next attempt looks like, and how far it came: say() prints and forgets both. */
extern char wire[128], stage[16];

/* Prints the line of an attempt; result < 0 is failure, and errno says why. */
void say(const char *id, long result);

/* hostile_net.c: the groups `net`, `daemons`, `successor`, and the eye of the control. */
void net_find_devices(void);
void net_all(void);
void net_daemons(void);
void net_successor(void);
_Noreturn void net_sniff(const char *interface);
#endif
