/* SPDX-License-Identifier: GPL-2.0-or-later
 * drop.h - giving up root for good, in a child before it becomes something else. */
#ifndef GUEST_DROP_H
#define GUEST_DROP_H
#include <stdint.h>

/* Becomes uid and gid without supplementary groups and without any capability, in the one order that works, reads all of it
 * back and then tries to regain root, which must fail.  0; -errno of the step that failed; -EPERM for uid or gid 0, for an
 * identity that reads back differently, or if going back succeeded: the caller must end at once. */
int drop_identity(uint32_t uid, uint32_t gid) __attribute__((warn_unused_result));
/* The capabilities alone: the bounding set and all others emptied and read back; the identity stays.  Not for a program that
 * executes another: as uid 0 that would get them again, were the bounding set not empty. */
int drop_capabilities(void) __attribute__((warn_unused_result));
/* Makes the kernel kill this process when its parent ends; alive is the writing end of a pipe that only the parent reads,
 * or one of a pair of sockets: if nobody is at the other end any more the parent is already dead.  After drop_identity, because a change of uid clears the signal. */
int drop_die_with_parent(int alive) __attribute__((warn_unused_result));
/* no_new_privs, read back. */
int drop_no_new_privs(void) __attribute__((warn_unused_result));

#endif
