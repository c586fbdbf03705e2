/* SPDX-License-Identifier: GPL-2.0-or-later
 * room.h - the inner room: namespaces for network, processes, mounts and ipc in which the workflow lives, made from within
 * the sandbox.  A second boundary where the kernel and the capabilities allow one; never a reason to fail. */
#ifndef GUEST_ROOM_H
#define GUEST_ROOM_H
#include <stdbool.h>
#include <sys/types.h>

struct room {
	bool exists;
	int own_net, own_pid, own_ipc; /* the monitor's namespaces at its start; -1 none */
	int net, pid;                  /* the room's */
	pid_t init;                    /* process 1 of the room: its end is the end of everything in it */
	char reason[128];              /* why there is none, or "" */
};
/* Makes all four or none; afterwards the monitor itself is in the room's network and ipc namespaces, and forks outside of the
 * room's process namespace.  0, also when there is none (r->reason tells why); -errno only when the monitor could not go
 * back to where it was. */
int room_make(struct room *r) __attribute__((warn_unused_result, nonnull));
/* The next fork of the monitor lands in the room, or outside again. */
int room_enter_processes(const struct room *r) __attribute__((warn_unused_result, nonnull));
int room_leave_processes(const struct room *r) __attribute__((warn_unused_result, nonnull));
/* In a child that is still root: own mount namespace, /run empty, and with proc a /proc of the present process namespace. */
int room_hide(bool proc) __attribute__((warn_unused_result));

#endif
