/* SPDX-License-Identifier: GPL-2.0-or-later
 * reaper.h - finds and kills every process of the run, in the three ways that exist: all of the inner room at once; by uid in a
 * sandbox without one; by process tree where the run shares the machine (local), and never by uid there. */
#ifndef GUEST_REAPER_H
#define GUEST_REAPER_H
#include <stdint.h>
#include <sys/types.h>

enum reaper_way { REAPER_ROOM, REAPER_UID, REAPER_TREE };

struct reaper {
	enum reaper_way way;
	pid_t room_init;   /* REAPER_ROOM */
	uint32_t uid, gid; /* REAPER_UID: of the workflow, never 0 */
	pid_t keep;        /* the twins: never killed here; 0 none */
};
/* Processes of the run that live (zombies do not), or -errno. */
int reaper_count(const struct reaper *r) __attribute__((warn_unused_result, nonnull));
/* One round: SIGKILL to all that can be found now.  The caller reaps and repeats until reaper_count says 0.  0 or -errno. */
int reaper_kill(const struct reaper *r) __attribute__((nonnull));

#endif
