/* SPDX-License-Identifier: GPL-2.0-or-later
 * rate.c - see rate.h */
#include "guest/rate.h"

#include <stdio.h>
#include <time.h>

#include "guest/answer.h"
#include "guest/service.h"

/* see rate.h */
bool
rate_take(struct service *s, double now, struct answer *a)
{
	struct rate_limit *l = &s->rate_limit;
	struct rate_window *w;

	if (l->limit == 0)
		return true;
	w = &l->windows[l->by_route ? (size_t)(a->route - s->routes) : 0];
	if (now >= w->ends) {
		w->ends = now + (double)l->window_ms;
		w->used = 0;
	}
	a->rate.counted = true;
	a->rate.ends = w->ends;
	a->rate.now = now;
	a->rate.used = w->used;
	if (w->used >= l->limit) {
		answer_profile_error(s, a, 429, NULL, NULL);
		return false;
	}
	w->used++;
	a->rate.used++;
	return true;
}

static void
put_number(struct answer *a, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	answer_header(a, name, text);
}

/* "1m2s", "350ms": as OpenAI writes the time that is left. */
static void
put_span(struct answer *a, const char *name, uint64_t ms)
{
	char text[48];

	if (ms < 1000)
		snprintf(text, sizeof(text), "%llums", (unsigned long long)ms);
	else if (ms < 60000)
		snprintf(text, sizeof(text), "%llus", (unsigned long long)((ms + 999) / 1000));
	else
		snprintf(text, sizeof(text), "%llum%llus", (unsigned long long)(ms / 60000),
			 (unsigned long long)(ms % 60000 / 1000));
	answer_header(a, name, text);
}

static void
put_time(struct answer *a, const char *name, double ms)
{
	time_t t = (time_t)(ms / 1000);
	char text[32];
	struct tm tm;

	if (gmtime_r(&t, &tm) != NULL && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
		answer_header(a, name, text);
}

/* see rate.h */
void
rate_headers(const struct service *s, struct answer *a)
{
	uint64_t limit = s->rate_limit.limit, left, used = a->rate.used;
	bool refused = a->status == 429;

	if (!a->rate.counted)
		return;
	left = (uint64_t)(a->rate.ends - a->rate.now + 0.999);
	if (refused) {
		put_number(a, "Retry-After", left <= 1000 ? 1 : (left + 999) / 1000);
		if (s->profile == PROFILE_OPENAI || s->profile == PROFILE_ANTHROPIC)
			put_number(a, "Retry-After-Ms", left);
	}
	switch (s->profile) {
	case PROFILE_STRIPE:
		if (refused)
			answer_header(a, "Stripe-Rate-Limited-Reason", "global-rate");
		break;
	case PROFILE_SLACK:
		break;
	case PROFILE_GENERIC:
	case PROFILE_GITHUB:
		put_number(a, "X-RateLimit-Limit", limit);
		put_number(a, "X-RateLimit-Remaining", limit - used);
		put_number(a, "X-RateLimit-Used", used);
		put_number(a, "X-RateLimit-Reset", (uint64_t)((a->rate.ends + 999) / 1000));
		if (s->profile == PROFILE_GITHUB)
			answer_header(a, "X-RateLimit-Resource", "core");
		break;
	case PROFILE_OPENAI:
		put_number(a, "X-RateLimit-Limit-Requests", limit);
		put_number(a, "X-RateLimit-Remaining-Requests", limit - used);
		put_span(a, "X-RateLimit-Reset-Requests", left);
		break;
	case PROFILE_ANTHROPIC:
		put_number(a, "Anthropic-RateLimit-Requests-Limit", limit);
		put_number(a, "Anthropic-RateLimit-Requests-Remaining", limit - used);
		put_time(a, "Anthropic-RateLimit-Requests-Reset", a->rate.ends);
		break;
	}
}
