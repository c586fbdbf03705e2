/* SPDX-License-Identifier: GPL-2.0-or-later
 * local_ports.c - see local_ports.h.  A port is tried by binding it, so nothing is sent to whoever has it; SO_REUSEADDR lets
 * pass what is left of connections, and of the run before. */
#include "host/local_ports.h"

#include <cJSON.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/json.h"
#include "host/world.h"

/* 0; -EADDRINUSE; -errno. */
static int
try_port(const struct sockaddr *a, socklen_t len)
{
	int on = 1, r = 0, fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno == EAFNOSUPPORT ? 0 : -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		r = -errno;
	else if (bind(fd, a, len) < 0 && (errno == EADDRINUSE || (errno == EACCES && connect(fd, a, len) == 0)))
		r = -EADDRINUSE; /* below 1024 only the second asks; loopback answers at once */
	close(fd);
	return r;
}

/* ::1 may be absent: then nobody listens there. */
static int
is_free(uint16_t port)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int r = try_port((const struct sockaddr *)&v4, sizeof(v4));

	return r < 0 ? r : try_port((const struct sockaddr *)&v6, sizeof(v6));
}

static int
check(const struct world *w, const char *pointer, uint16_t port, struct diag *d)
{
	int r = is_free(port);

	if (r == 0)
		return 0;
	world_place(w, pointer, false, d);
	if (r == -EADDRINUSE) {
		diag_set(d, r, "port %u is taken by another program already, which would be taken for the workflow",
			 port);
		diag_fix(d, "end that program, give the workflow another port, or use --runtime namespace");
		return r;
	}
	return diag_set(d, r, "port %u: %s", port, strerror(-r));
}

/* The URL was checked when the world was read: http://HOST[:PORT][/...], HOST perhaps in brackets. */
static int
check_url(const struct world *w, const char *pointer, const char *url, struct diag *d)
{
	const char *at = url + strlen("http://"), *end = at + strcspn(at, "/?#"), *colon = at;

	if (*at == '[')
		colon += strcspn(at, "]");
	colon += strcspn(colon, ":/?#");
	return check(w, pointer, colon < end ? (uint16_t)strtoul(colon + 1, NULL, 10) : 80, d);
}

/* see local_ports.h */
int
local_ports_free(const struct world *w, struct diag *d)
{
	const struct cJSON *port = json_get(w->ready, "port"), *t;
	const char *url;
	char pointer[64];
	size_t i = 0;
	int r = 0;

	if (port)
		r = check(w, "/workflow/ready/port", (uint16_t)port->valuedouble, d);
	cJSON_ArrayForEach(t, w->triggers)
	{
		url = json_get_text(json_get(t, "http"), "url");
		(void)snprintf(pointer, sizeof(pointer), "/workflow/trigger/%zu/http/url", i++);
		if (r == 0 && url)
			r = check_url(w, pointer, url, d);
	}
	for (i = 0; i < w->services_len && r == 0; i++) {
		url = json_get_text(json_get(w->services[i].json, "events"), "endpoint");
		(void)snprintf(pointer, sizeof(pointer), "/services/%zu/events/endpoint", i);
		if (url)
			r = check_url(w, pointer, url, d);
	}
	return r;
}
