/* SPDX-License-Identifier: GPL-2.0-or-later
 * redeliver.c - see redeliver.h.  The decision is fault.c's, like that of any other fault. */
#include "guest/redeliver.h"

#include <string.h>

#include "guest/service.h"

/* see redeliver.h */
int
redelivery_decide(struct world *w, struct service *s, const char *name, const char *key, uint64_t t_ms,
		  struct redelivery *out)
{
	struct arena arena;
	struct eval e = { .services = s == NULL ? w->services : NULL,
			  .services_len = s == NULL ? w->services_len : 0,
			  .state = s != NULL             ? &s->state
				   : w->services_len > 0 ? &w->services[0].state
							 : NULL,
			  .arena = &arena,
			  .id = "", /* no effect is current */
			  .now = twin_clock_now(&w->clock, t_ms),
			  .seed = w->seed };
	struct fault_call call = { .service = s,
				   .route = s == NULL ? name : NULL,
				   .event = s != NULL ? name : NULL,
				   .key = key,
				   .key_len = strlen(key),
				   .eval = &e,
				   .t_ms = t_ms };
	struct fault_verdict v;
	int r;

	*out = (struct redelivery){ .times = 1 };
	if (w->faults.len == 0)
		return 0;
	arena_init(&arena, 1u << 20);
	fault_verdict_init(&v);
	r = faults_decide(&w->faults, &call, FAULT_BIT(FAULT_REDELIVER), 0, &v);
	if (r == 0 && v.hit != NULL)
		*out = (struct redelivery){
			.fault = v.hit->id,
			.times = v.hit->times > REDELIVER_TIMES_MAX ? REDELIVER_TIMES_MAX : (unsigned)v.hit->times,
			.after = v.hit->spacing == FAULT_AFTER,
			.delay_ms = v.hit->spacing == FAULT_SPACED ? (uint32_t)v.hit->spacing_ms : 0,
			.same_id = !v.hit->new_id,
			.drawn = v.drawn,
			.draw = v.draw
		};
	fault_verdict_wipe(&v);
	arena_wipe(&arena);
	return r;
}
