/* SPDX-License-Identifier: GPL-2.0-or-later
 * monitor.h - the root process of a run: takes the bundle, makes the boundary, starts twins and workflow, ends them, and tells
 * the host all of it. */
#ifndef GUEST_MONITOR_H
#define GUEST_MONITOR_H

/* Runs one run.  in: the bundle file, or NULL for a live stream on descriptor 0; frames go to descriptor 1.  Returns the
 * program's exit status: 0 when END with result OK was sent, else 1. */
int monitor_run(const char *in) __attribute__((warn_unused_result));

#endif
