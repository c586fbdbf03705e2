/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_client.h - one connection of the workflow to a twin: bytes between its socket and the HTTP engine, and its end. */
#ifndef GUEST_TWIN_CLIENT_H
#define GUEST_TWIN_CLIENT_H
#include <stdbool.h>
#include <stdint.h>

#include "guest/twin_http.h"

struct client;
struct service;

/* So many operations wait for the monitor that no client is read. */
bool clients_must_wait(const struct http_core *core) __attribute__((nonnull));
/* The listener's next connection.  0 and *c; -EAGAIN there is none; -ENOMEM; -EMFILE, -ENFILE, -ENOBUFS: not now. */
int client_accept(struct http_core *core, struct service *s, int listener, uint64_t now, struct client **c)
	__attribute__((warn_unused_result, nonnull));
void client_free(struct client *c) __attribute__((nonnull)); /* closes */
int client_fd(const struct client *c) __attribute__((nonnull));
/* What to wait for: POLLIN, POLLOUT; 0: nothing that this socket could bring would be taken. */
short client_events(struct client *c) __attribute__((nonnull));
/* When it wants to be served although nothing happens on it, ms of core->t_ms; UINT64_MAX: never. */
uint64_t client_due(const struct client *c) __attribute__((nonnull));
/* Something can be done although its socket says nothing. */
bool client_is_ready(struct client *c) __attribute__((nonnull));
/* Reads and answers what can be now.  False: it is to be freed. */
bool client_serve(struct client *c, short events, uint64_t now) __attribute__((warn_unused_result, nonnull));
/* After client_serve of all clients: sends the answers, and looks whether the connection is at its end.  Many replies one right
 * after the other wake a program once that waits for any of them.  False: it is to be freed. */
bool client_flush(struct client *c, uint64_t now) __attribute__((warn_unused_result, nonnull));

#endif
