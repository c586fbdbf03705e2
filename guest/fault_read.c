/* SPDX-License-Identifier: GPL-2.0-or-later
 * fault_read.c - the world's member "faults".  The host has refused contradictions; this checks what the twins rely on. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/fault.h"
#include "guest/service.h"

#define NUMBER_MAX 9007199254740991.0

/* The index of v in words, which may have holes; *has: there is a v. */
static int
read_word(struct reading *g, const struct cJSON *object, const char *name, const char *const *words, size_t len,
	  size_t *out)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

	if (v == NULL)
		return 0;
	for (size_t i = 0; i < len && cJSON_IsString(v); i++) {
		if (words[i] != NULL && strcmp(v->valuestring, words[i]) == 0) {
			*out = i;
			return 0;
		}
	}
	return reading_fail(g, -EPROTO, "\"%s\" has a word that is not known", name);
}

static bool
is_count(const struct cJSON *v, double min, uint64_t *out)
{
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= min && v->valuedouble <= NUMBER_MAX))
		return false;
	*out = (uint64_t)v->valuedouble;
	return true;
}

/* The member, if there is one, as a whole number. */
static int
read_count(struct reading *g, const struct cJSON *object, const char *name, double min, bool *has, uint64_t *out)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

	if (v == NULL)
		return 0;
	if (!is_count(v, min, out))
		return reading_fail(g, -EPROTO, "\"%s\" must be a number of at least %.0f", name, min);
	if (has != NULL)
		*has = true;
	return 0;
}

/* Rows are not bound here: there is no route. */
static bool
known(void *arg, const char *name, size_t len)
{
	(void)arg;
	(void)name;
	(void)len;
	return false;
}

static int
read_expr(struct reading *g, const struct cJSON *object, const char *name, bool *has, struct expr *out)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);
	struct lang_error e = { 0 };
	int r;

	if (v == NULL)
		return 0;
	if (!cJSON_IsString(v))
		return reading_fail(g, -EPROTO, "\"%s\" must be an expression", name);
	r = expr_compile(v->valuestring, known, NULL, &g->world->arena, out, &e);
	if (r < 0)
		return r == -ENOMEM ? r : reading_fail(g, r, "\"%s\": %s at byte %zu", name, e.problem, e.offset);
	*has = true;
	return 0;
}

static int
read_on(struct reading *g, const struct cJSON *json, struct fault *f)
{
	const struct cJSON *on = reading_enter(g, json, "on"), *service, *route, *event;
	struct world *w = g->world;
	int r;

	if (on == NULL)
		return reading_fail(g, -EPROTO, "a fault needs \"on\"");
	if ((r = reading_check_keys(g, on, "service route event")) < 0)
		return r;
	service = cJSON_GetObjectItemCaseSensitive(on, "service");
	route = cJSON_GetObjectItemCaseSensitive(on, "route");
	event = cJSON_GetObjectItemCaseSensitive(on, "event");
	for (size_t i = 0; i < w->services_len && cJSON_IsString(service); i++)
		if (strcmp(w->services[i].name, service->valuestring) == 0)
			f->service = &w->services[i];
	/* a trigger has no service */
	if (f->service == NULL && !(cJSON_IsString(service) && strcmp(service->valuestring, "trigger") == 0))
		return reading_fail(g, -EPROTO, "\"service\" must be one of the services");
	f->route = cJSON_IsString(route) ? route->valuestring : NULL;
	f->event = cJSON_IsString(event) ? event->valuestring : NULL;
	return 0;
}

static int
read_nth(struct reading *g, const struct cJSON *v, struct fault *f)
{
	f->nth_len = 0;
	if (!cJSON_IsArray(v)) {
		f->nth_len = 1;
		return is_count(v, 1, &f->nth[0]) ? 0 : reading_fail(g, -EPROTO, "nth counts from 1");
	}
	for (const struct cJSON *n = v->child; n != NULL; n = n->next)
		if (f->nth_len == FAULT_NTH_MAX || !is_count(n, 1, &f->nth[f->nth_len++]))
			return reading_fail(g, -EPROTO, "nth is at most %u numbers that count from 1", FAULT_NTH_MAX);
	return 0;
}

static int
read_call(struct reading *g, const struct cJSON *json, struct fault *f)
{
	static const char *const selects[] = {
		[FAULT_NTH] = "nth", [FAULT_FIRST] = "first", [FAULT_EVERY] = "every", [FAULT_CHANCE] = "chance"
	};
	const struct cJSON *call = reading_enter(g, json, "call"), *v = NULL;
	int r;

	f->select = FAULT_NTH;
	f->nth[0] = f->nth_len = 1;
	if (call == NULL)
		return 0;
	if ((r = reading_check_keys(g, call, "nth first every chance key after")) < 0)
		return r;
	for (size_t i = 0; i < sizeof(selects) / sizeof(selects[0]) && v == NULL; i++) {
		v = cJSON_GetObjectItemCaseSensitive(call, selects[i]);
		f->select = v == NULL ? FAULT_NTH : (enum fault_select)i;
	}
	if (f->select == FAULT_CHANCE) {
		f->chance = cJSON_IsNumber(v) ? v->valuedouble : -1;
		if (!(f->chance >= 0 && f->chance <= 1))
			r = reading_fail(g, -EPROTO, "chance is a number from 0 to 1");
	} else if (v != NULL && f->select == FAULT_NTH) {
		r = read_nth(g, v, f);
	} else if (v != NULL && !is_count(v, 1, &f->count)) {
		r = reading_fail(g, -EPROTO, "\"%s\" counts from 1", selects[f->select]);
	}
	if (r < 0 || (r = read_expr(g, call, "after", &f->has_after, &f->after)) < 0)
		return r;
	return read_expr(g, call, "key", &f->has_key, &f->key);
}

static int
read_slow(struct reading *g, const struct cJSON *how, struct fault *f)
{
	const struct cJSON *slow = cJSON_GetObjectItemCaseSensitive(how, "slow");
	int r;

	if (slow == NULL)
		return 0;
	f->is_slow = true;
	f->chunk_bytes = 256;
	if ((r = reading_check_keys(g, slow, "first_ms chunk_ms chunk_bytes")) < 0 ||
	    (r = read_count(g, slow, "first_ms", 0, NULL, &f->first_ms)) < 0 ||
	    (r = read_count(g, slow, "chunk_ms", 0, NULL, &f->chunk_ms)) < 0)
		return r;
	return read_count(g, slow, "chunk_bytes", 1, NULL, &f->chunk_bytes);
}

static int
read_spacing(struct reading *g, const struct cJSON *how, struct fault *f)
{
	static const char *const words[] = { [FAULT_AFTER] = "after", [FAULT_DURING] = "during" };
	size_t which = FAULT_AFTER;
	int r;

	if (is_count(cJSON_GetObjectItemCaseSensitive(how, "spacing"), 0, &f->spacing_ms)) {
		f->spacing = FAULT_SPACED;
		return 0;
	}
	r = read_word(g, how, "spacing", words, 2, &which);
	f->spacing = (enum fault_spacing)which;
	return r;
}

static int
read_cut(struct reading *g, const struct cJSON *how, struct fault *f)
{
	static const char *const ends[] = { NULL, "stall", "fin", "rst", "clean", "refuse", "drop" };
	static const char *const insides[] = { NULL, "text", "tool_arguments" };
	const struct cJSON *at = cJSON_GetObjectItemCaseSensitive(how, "at");
	size_t which = 0, inside = 0;
	int r = read_word(g, how, "end", ends, sizeof(ends) / sizeof(ends[0]), &which);

	if (r < 0)
		return r;
	f->end = (enum fault_end)which;
	f->has_at = at != NULL;
	f->at = at != NULL && cJSON_IsNumber(at) ? at->valuedouble : 0;
	if (at != NULL && !(cJSON_IsNumber(at) && f->at >= 0 && f->at <= 1))
		return reading_fail(g, -EPROTO, "at is a number from 0 to 1");
	if ((r = read_word(g, how, "inside", insides, sizeof(insides) / sizeof(insides[0]), &inside)) < 0)
		return r;
	f->inside = (enum fault_inside)inside;
	return read_count(g, how, "bytes", 0, &f->has_bytes, &f->bytes);
}

static int
read_how(struct reading *g, const struct cJSON *json, struct fault *f)
{
	static const char *const bodies[] = { NULL,       "garble",    "html",         "wrong-length",
					      "not-http", "bad-chunk", "unterminated", "no-length" };
	const struct cJSON *how = reading_enter(g, json, "how"), *code;
	uint64_t status = 0;
	size_t which = 0;
	int r;

	f->times = 2;
	if (how == NULL)
		return 0;
	if ((r = reading_check_keys(
		     g, how, "end bytes inside at status code retry_after body slow times spacing same_id")) < 0 ||
	    (r = read_cut(g, how, f)) < 0 ||
	    (r = read_word(g, how, "body", bodies, sizeof(bodies) / sizeof(bodies[0]), &which)) < 0 ||
	    (r = read_count(g, how, "status", 200, NULL, &status)) < 0 ||
	    (r = read_count(g, how, "retry_after", 0, &f->has_retry_after, &f->retry_after)) < 0 ||
	    (r = read_count(g, how, "times", 2, NULL, &f->times)) < 0 || (r = read_spacing(g, how, f)) < 0)
		return r;
	if (status > 599)
		return reading_fail(g, -EPROTO, "status is at most 599");
	code = cJSON_GetObjectItemCaseSensitive(how, "code");
	f->body = (enum fault_body)which;
	f->code = cJSON_IsString(code) ? code->valuestring : NULL;
	f->new_id = cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(how, "same_id"));
	f->status = (int)status;
	return read_slow(g, how, f);
}

static int
read_lasts(struct reading *g, const struct cJSON *json, struct fault *f)
{
	const struct cJSON *lasts = reading_enter(g, json, "lasts");
	bool calls = false, ms = false, until = false;
	int r;

	if (lasts == NULL)
		return 0;
	if (cJSON_IsString(lasts) && strcmp(lasts->valuestring, "to the end") == 0) {
		f->lasts = FAULT_TO_THE_END;
		return 0;
	}
	if ((r = reading_check_keys(g, lasts, "calls ms until")) < 0 ||
	    (r = read_count(g, lasts, "calls", 1, &calls, &f->length)) < 0 ||
	    (r = read_count(g, lasts, "ms", 1, &ms, &f->length)) < 0 ||
	    (r = read_expr(g, lasts, "until", &until, &f->until)) < 0)
		return r;
	if (calls + ms + until != 1)
		return reading_fail(g, -EPROTO, "lasts is one of calls, ms, until");
	f->lasts = calls ? FAULT_CALLS : ms ? FAULT_MS : FAULT_UNTIL;
	return 0;
}

static int
read_kind(struct reading *g, const struct cJSON *json, struct fault *f)
{
	static const char *const classes[] = { "timeout-after-write", "blackhole", "server-error", "duplicate-write" };
	static const char *const phases[] = { "connect",      "accepted",  "mid-request", "before-effect",
					      "after-effect", "mid-reply", "redeliver" };
	static const enum fault_phase usual[] = { FAULT_AFTER_EFFECT, FAULT_ACCEPTED, FAULT_BEFORE_EFFECT,
						  FAULT_REDELIVER };
	const struct cJSON *id = cJSON_GetObjectItemCaseSensitive(json, "id");
	size_t which = sizeof(classes) / sizeof(classes[0]);
	int r;

	if (!cJSON_IsString(id) || id->valuestring[0] == '\0')
		return reading_fail(g, -EPROTO, "a fault needs an id");
	f->id = id->valuestring;
	if ((r = read_word(g, json, "class", classes, sizeof(classes) / sizeof(classes[0]), &which)) < 0)
		return r;
	if (which == sizeof(classes) / sizeof(classes[0]))
		return reading_fail(g, -EPROTO, "a fault needs a class");
	f->class = (enum fault_class)which;
	which = usual[which];
	r = read_word(g, json, "phase", phases, sizeof(phases) / sizeof(phases[0]), &which);
	f->phase = (enum fault_phase)which;
	return r;
}

static int
read_fault(struct reading *g, const struct cJSON *json, struct fault *f)
{
	static int (*const parts[])(struct reading *, const struct cJSON *,
				    struct fault *) = { read_kind, read_on, read_call, read_how, read_lasts };
	size_t len = g->pointer.len;
	int r = reading_check_keys(g, json, "id class on call phase how lasts must_fire");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && r == 0; i++) {
		r = parts[i](g, json, f);
		if (r == 0)
			g->pointer.len = len;
	}
	if (f->end == FAULT_END_NONE && f->class <= FAULT_BLACKHOLE)
		f->end = FAULT_END_STALL;
	return r;
}

/* see fault.h */
int
faults_read(struct reading *g, const struct cJSON *array)
{
	struct fault_set *set = &g->world->faults;
	size_t len = g->pointer.len;
	int r = 0;

	set->seed = g->world->seed_exact;
	set->mask = &g->world->mask;
	if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > (int)FAULTS_MAX)
		return reading_fail(g, -EPROTO, "faults are an array of at most %u", FAULTS_MAX);
	set->list = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*set->list));
	if (set->list == NULL)
		return -ENOMEM;
	for (const struct cJSON *c = array->child; c != NULL && r == 0; c = c->next) {
		struct fault *f = &set->list[set->len];

		buf_format(&g->pointer, "/%zu", set->len);
		f->index = set->len++;
		r = read_fault(g, c, f);
		if (r == 0)
			g->pointer.len = len;
	}
	return r;
}
