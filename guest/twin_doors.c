/* SPDX-License-Identifier: GPL-2.0-or-later
 * twin_doors.c - see twin_doors.h.
 *
 * A listener that is shut down for reading is none any more: the kernel answers each SYN with a reset, which is what a client
 * calls refused.  A socket filter that takes nothing makes it say nothing, and counts what it dropped. */
#include "guest/twin_doors.h"

#include <errno.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include "guest/service.h"
#include "guest/twin_http.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#define MEMINFO_DROPS 8
#define MEMINFO_LEN 9

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
		    !(set->list[i].end == FAULT_END_REFUSE && set->list[i].active)) /* which is for good */
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
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	int unused = 0, r;

	r = drop ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program))
		 : setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
	return r < 0 ? -errno : 0;
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

static int
tick(struct doors *d, struct http_core *core, struct fault *f, int fd)
{
	size_t s = f->service->index, i = f->index;
	bool was = f->active && !f->over, open;
	int r = 0;

	if (f->end == FAULT_END_DROP && was && !d->seen[i] && count_drops(fd) != d->drops[i]) {
		d->seen[i] = true;
		http_fault_dropped(core, f);
	}
	if (f->over || (r = is_open(core, f, &open)) < 0)
		return r;
	if (f->end == FAULT_END_REFUSE && open && !d->refused[s]) {
		r = shutdown(fd, SHUT_RD) < 0 ? -errno : 0;
		d->refused[s] = r == 0;
	} else if (f->end == FAULT_END_DROP && !d->refused[s] && open != d->dropped[s]) {
		d->drops[i] = open ? count_drops(fd) : d->drops[i];
		r = set_drop(fd, open);
		d->dropped[s] = open;
	}
	d->failed = r < 0 ? f->id : NULL;
	return r;
}

/* see twin_doors.h */
void
doors_tick(struct doors *d, struct http_core *core, const int *listeners)
{
	struct fault_set *set = &core->world->faults;

	for (size_t i = 0; i < set->len && core->failed == 0; i++)
		if (is_door(&set->list[i]))
			core->failed = tick(d, core, &set->list[i], listeners[set->list[i].service->index]);
}
