/* SPDX-License-Identifier: GPL-2.0-or-later
 * local_ports.h - on local the workflow shares its loopback with the whole machine: whoever listens on a port that the world
 * names would be taken for the workflow. */
#ifndef HOST_LOCAL_PORTS_H
#define HOST_LOCAL_PORTS_H

struct diag;
struct world;

/* The ports of `ready`, of triggers and of events' endpoints are free, on 127.0.0.1 and ::1.  0; -EADDRINUSE with *d naming
 * the port and where the world has it; another -errno when it cannot be known. */
int local_ports_free(const struct world *w, struct diag *d) __attribute__((warn_unused_result, nonnull));

#endif
