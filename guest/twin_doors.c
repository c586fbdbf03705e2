/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_doors.c - see twin_doors.h.
 *
 * A listener that is shut down for reading is none any more, but it keeps its port: the kernel answers each SYN with a reset,
 * which is what a client calls refused, until somebody listens there again.  One that wants packets of a higher TTL than anybody
 * here sends drops each SYN without a word, and counts it; no packet filter and no privilege are needed for that. */
#include "guest/twin_doors.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "guest/service.h"
#include "guest/twin.h"
#include "guest/twin_http.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#ifndef IP_MINTTL
#define IP_MINTTL 21
#endif
#define MEMINFO_DROPS 8
#define MEMINFO_LEN 9
#define TTL_MAX 255

static bool
is_door(const struct fault *f)
{
	return f->phase == FAULT_CONNECT && (f->end == FAULT_END_REFUSE || f->end == FAULT_END_DROP);
}

/* see twin_doors.h */
bool
doors_wait(const struct http_core *core)
{
	const struct fault_set *set = &core->world->faults;

	for (size_t i = 0; i < set->len; i++)
		if (is_door(&set->list[i]) && !set->list[i].over &&
		    !(set->list[i].end == FAULT_END_REFUSE && set->list[i].active &&
		      set->list[i].lasts == FAULT_TO_THE_END))
			return true;
	return false;
}

/* How many packets the socket has dropped so far; it starts anywhere. */
static uint32_t
count_drops(int fd)
{
	uint32_t info[MEMINFO_LEN] = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0 ? 0 : info[MEMINFO_DROPS];
}

static int
set_drop(int fd, bool drop)
{
	int least = drop ? TTL_MAX : 0, usual = 0;
	socklen_t len = sizeof(usual);

	if (drop && (getsockopt(fd, IPPROTO_IP, IP_TTL, &usual, &len) < 0 || usual >= TTL_MAX))
		return -EOPNOTSUPP; /* everybody's packets would come through */
	return setsockopt(fd, IPPROTO_IP, IP_MINTTL, &least, sizeof(least)) < 0 ? -errno : 0;
}

static int
set_reuse(int fd, int on)
{
	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ? -errno : 0;
}

/* While the port is shut nobody else may have it; to listen again beside connections that were made before, it must be shared. */
static int
set_refuse(int fd, bool refuse)
{
	int r = set_reuse(fd, !refuse);

	if (r < 0)
		return r;
	return (refuse ? shutdown(fd, SHUT_RD) : listen(fd, TWIN_BACKLOG)) < 0 ? -errno : 0;
}

/* Connections that were made before and wait to be taken, which closing the port would reset. */
static bool
somebody_waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int
is_open(struct http_core *core, struct fault *f, bool *open)
{
	struct arena arena;
	struct eval e = { .state = &core->world->services[f->service->index].state,
			  .arena = &arena,
			  .id = "", /* no effect is current */
			  .now = twin_clock_now(&core->world->clock, core->t_ms),
			  .seed = core->world->seed };
	int r;

	arena_init(&arena, 1u << 20);
	r = fault_is_open(f, &e, core->t_ms, open);
	arena_wipe(&arena);
	return r;
}

/* The door of service s from what it is to what fault f, or nobody (NULL), wants. */
static int
turn(struct doors *d, const struct http_core *core, size_t s, const struct fault *f, int fd)
{
	bool refuse = f != NULL && f->end == FAULT_END_REFUSE, drop = f != NULL && f->end == FAULT_END_DROP;
	int r = 0;

	if ((refuse && !d->refused[s]) || (drop && !d->dropped[s])) {
		if (d->due_ms[s] == 0)
			d->due_ms[s] = core->t_ms + DOORS_WAIT_MS;
		if (!d->refused[s] && core->t_ms < d->due_ms[s] && somebody_waits(fd))
			return 0; /* they come first: the next round asks again */
	}
	d->due_ms[s] = 0;
	if (drop && !d->dropped[s]) /* before it listens again, if it did not */
		r = set_drop(fd, true);
	if (r == 0 && refuse != d->refused[s])
		r = set_refuse(fd, refuse);
	if (r == 0 && !drop && d->dropped[s])
		r = set_drop(fd, false);
	d->refused[s] = refuse;
	d->dropped[s] = drop;
	if (drop)
		d->drops[s] = count_drops(fd); /* from now on it is this fault that drops */
	if (r < 0)
		d->failed = f != NULL ? f->id : d->of[s] != NULL ? d->of[s]->id : NULL;
	d->of[s] = f;
	return r;
}

/* see twin_doors.h */
void
doors_tick(struct doors *d, struct http_core *core, const int *listeners)
{
	const struct fault *want[PLAN_SERVICES_MAX] = { NULL };
	struct fault_set *set = &core->world->faults;
	bool any = false, open;
	int r = core->failed;

	for (size_t i = 0; i < set->len && r == 0; i++) {
		struct fault *f = &set->list[i];
		size_t s;

		if (!is_door(f))
			continue;
		any = true;
		s = f->service->index;
		if (d->of[s] == f && d->dropped[s] && !d->seen[i] && count_drops(listeners[s]) != d->drops[s]) {
			d->seen[i] = true;
			http_fault_dropped(core, f);
		}
		r = is_open(core, f, &open);
		if (r == 0 && open && want[s] == NULL)
			want[s] = f;
	}
	for (size_t s = 0; any && s < core->world->services_len && r == 0; s++)
		if (want[s] != d->of[s])
			r = turn(d, core, s, want[s], listeners[s]);
	if (core->failed == 0)
		core->failed = r;
}
