/* SPDX-License-Identifier: GPL-2.0-or-later
 * fault.c - see fault.h. */
#include "guest/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/mask.h"
#include "guest/service.h"
#include "proto/sha256.h"

#define SEEN_MIN 256u
#define KEY_MAX (1u << 20) /* bytes of one key with its secrets named; of a longer one those count */

struct fault_seen {
	uint8_t digest[16]; /* all zero: free */
	uint64_t count;
};

/* see fault.h */
const char *
fault_phase_name(enum fault_phase phase)
{
	static const char *const names[] = {
		[FAULT_CONNECT] = "connect",           [FAULT_ACCEPTED] = "accepted",
		[FAULT_MID_REQUEST] = "mid-request",   [FAULT_BEFORE_EFFECT] = "before-effect",
		[FAULT_AFTER_EFFECT] = "after-effect", [FAULT_MID_REPLY] = "mid-reply",
		[FAULT_REDELIVER] = "redeliver",
	};

	return names[phase];
}

/* see fault.h */
const char *
fault_end_name(enum fault_end end)
{
	static const char *const names[] = {
		[FAULT_END_NONE] = NULL,   [FAULT_END_STALL] = "stall", [FAULT_END_FIN] = "fin",
		[FAULT_END_RST] = "rst",   [FAULT_END_CLEAN] = "clean", [FAULT_END_REFUSE] = "refuse",
		[FAULT_END_DROP] = "drop",
	};

	return names[end];
}

/* see fault.h */
void
faults_wipe(struct fault_set *set)
{
	free(set->list);
	free(set->seen);
	*set = (struct fault_set){ 0 };
}

/* see fault.h */
bool
faults_concern(const struct fault_set *set, const struct service *s, unsigned phases)
{
	for (size_t i = 0; i < set->len; i++)
		if (set->list[i].service == s && (phases & FAULT_BIT(set->list[i].phase)) != 0)
			return true;
	return false;
}

/* see fault.h */
void
fault_verdict_init(struct fault_verdict *v)
{
	*v = (struct fault_verdict){ 0 };
	buf_init(&v->passed_over, 65536);
	buf_init(&v->draws, 65536);
}

/* see fault.h */
void
fault_verdict_wipe(struct fault_verdict *v)
{
	buf_wipe(&v->passed_over);
	buf_wipe(&v->draws);
}

static void
put_u64(uint8_t *out, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(v >> (56 - 8 * i));
}

/* see fault.h */
double
fault_draw(uint64_t seed, const char *fault, const uint8_t key[static 32], uint64_t ordinal)
{
	uint8_t numbers[16], digest[32];
	struct sha256 h;
	uint64_t v = 0;

	put_u64(numbers, seed);
	put_u64(numbers + 8, ordinal);
	sha256_init(&h);
	sha256_add(&h, "agenttwin-draw/1", 17); /* with its NUL */
	sha256_add(&h, numbers, sizeof(numbers));
	sha256_add(&h, key, 32);
	sha256_add(&h, fault, strlen(fault));
	sha256_get(&h, digest);
	for (int i = 0; i < 8; i++)
		v = v << 8 | digest[i];
	return (double)(v >> 11) / 9007199254740992.0;
}

static struct fault_seen *
slot_of(struct fault_seen *table, size_t size, const uint8_t digest[static 16])
{
	static const uint8_t none[16];
	uint64_t h;
	size_t i;

	memcpy(&h, digest, sizeof(h));
	for (i = h & (size - 1); memcmp(table[i].digest, none, 16) != 0; i = (i + 1) & (size - 1))
		if (memcmp(table[i].digest, digest, 16) == 0)
			break;
	return &table[i];
}

static bool
make_room(struct fault_set *set)
{
	size_t size = set->seen_size == 0 ? SEEN_MIN : 2 * set->seen_size;
	struct fault_seen *table;

	if (2 * (set->seen_len + 1) <= set->seen_size)
		return true;
	table = calloc(size, sizeof(*table));
	if (table == NULL)
		return false;
	for (size_t i = 0; i < set->seen_size; i++)
		if (set->seen[i].count != 0)
			*slot_of(table, size, set->seen[i].digest) = set->seen[i];
	free(set->seen);
	set->seen = table;
	set->seen_size = size;
	return true;
}

/* How often this fault has met this key, the present call among them; commit: it counts.  0: no memory. */
static uint64_t
count_key(struct fault_set *set, const struct fault *f, const uint8_t key[static 32], bool commit)
{
	uint8_t index[8], digest[32];
	struct fault_seen *slot;
	struct sha256 h;

	if (!make_room(set))
		return 0;
	put_u64(index, f->index);
	sha256_init(&h);
	sha256_add(&h, index, sizeof(index));
	sha256_add(&h, key, 32);
	sha256_get(&h, digest);
	digest[0] |= 1; /* never all zero */
	slot = slot_of(set->seen, set->seen_size, digest);
	if (!commit)
		return slot->count + 1;
	if (slot->count == 0) {
		memcpy(slot->digest, digest, sizeof(slot->digest));
		set->seen_len++;
	}
	return ++slot->count;
}

/* The digest of what identifies the call for this fault, secrets replaced by their names. */
static int
key_of(struct fault_set *set, const struct fault *f, const struct fault_call *call, uint8_t digest[static 32])
{
	const char *key = call->key;
	size_t len = call->key_len;
	struct buf named;

	if (f->has_key) {
		struct value v = eval_expr(call->eval, &f->key);

		key = eval_text(call->eval, &v);
		if (key == NULL)
			return call->eval->r < 0 ? call->eval->r : -ENOMEM;
		len = strlen(key);
	}
	buf_init(&named, KEY_MAX);
	mask_add(set->mask, key, len, &named);
	sha256_of(named.at == NULL ? "" : named.at, named.len, digest);
	buf_wipe(&named);
	return 0;
}

static void
note_draw(struct fault_verdict *v, const struct fault *f, const uint8_t key[static 32], uint64_t ordinal, double draw)
{
	char hex[65];

	sha256_hex(key, hex);
	buf_text(&v->draws, v->draws.len > 0 ? ",{\"fault\":" : "{\"fault\":");
	buf_json_text(&v->draws, f->id);
	buf_format(&v->draws, ",\"key_sha256\":\"%s\",\"ordinal\":%llu,\"value\":", hex, (unsigned long long)ordinal);
	buf_number(&v->draws, draw);
	buf_text(&v->draws, "}");
}

static bool
is_nth(const struct fault *f, uint64_t ordinal)
{
	for (size_t i = 0; i < f->nth_len; i++)
		if (f->nth[i] == ordinal)
			return true;
	return false;
}

struct decision {
	bool yes, drawn;
	double draw;
};

/* A call that a fault fits, outside of its window: is it one of those meant? */
static int
select_call(struct fault_set *set, struct fault *f, const struct fault_call *call, bool commit, struct fault_verdict *v,
	    struct decision *d)
{
	uint8_t key[32];
	uint64_t ordinal = f->calls + 1;
	int r;

	if (f->has_key || f->select == FAULT_CHANCE) {
		if ((r = key_of(set, f, call, key)) < 0)
			return r;
		ordinal = count_key(set, f, key, commit);
		if (ordinal == 0)
			return -ENOMEM;
	}
	f->calls += commit;
	switch (f->select) {
	case FAULT_NTH:
		d->yes = is_nth(f, ordinal);
		break;
	case FAULT_FIRST:
		d->yes = ordinal <= f->count;
		break;
	case FAULT_EVERY:
		d->yes = ordinal % f->count == 0;
		break;
	case FAULT_CHANCE:
		d->drawn = true;
		d->draw = fault_draw(set->seed, f->id, key, ordinal);
		d->yes = d->draw < f->chance;
		if (commit)
			note_draw(v, f, key, ordinal, d->draw);
		break;
	}
	return 0;
}

/* Whether an open window has come to its end. */
static bool
is_past(const struct fault *f, struct eval *e, uint64_t t_ms)
{
	switch (f->lasts) {
	case FAULT_CALLS:
		return f->left == 0;
	case FAULT_MS:
		return t_ms >= f->until_ms;
	case FAULT_UNTIL:
		return eval_is_true(e, &f->until);
	default:
		return false;
	}
}

static void
open_window(struct fault *f, uint64_t t_ms)
{
	f->active = true;
	f->left = f->length;
	f->until_ms = f->length > UINT64_MAX - t_ms ? UINT64_MAX : t_ms + f->length;
}

/* Does the call meet the fault?  Not commit: everything stays as it is. */
static int
meets(struct fault_set *set, struct fault *f, const struct fault_call *call, bool commit, struct fault_verdict *v,
      struct decision *d)
{
	bool past;
	int r;

	*d = (struct decision){ 0 };
	if (f->over)
		return 0;
	if (f->active) {
		past = is_past(f, call->eval, call->t_ms);
		d->yes = !past;
		if (commit) {
			f->over = past;
			f->left -= !past && f->left > 0;
		}
		return call->eval->r;
	}
	if (f->has_after && !f->begun) {
		if (!eval_is_true(call->eval, &f->after))
			return call->eval->r;
		f->begun = commit;
	}
	if ((r = select_call(set, f, call, commit, v, d)) < 0)
		return r;
	if (d->yes && f->lasts == FAULT_UNTIL && eval_is_true(call->eval, &f->until)) {
		d->yes = false;
		f->over = commit;
	}
	if (d->yes && commit && f->lasts != FAULT_ONE_CALL) {
		open_window(f, call->t_ms);
		f->left -= f->lasts == FAULT_CALLS;
	}
	return call->eval->r;
}

static bool
is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
fits(const struct fault *f, const struct fault_call *call)
{
	return f->end < FAULT_END_REFUSE && /* twin_doors.c has those */
	       f->service == call->service && is_same(f->event, call->event) &&
	       (f->route == NULL || is_same(f->route, call->route));
}

/* see fault.h */
int
faults_decide(struct fault_set *set, const struct fault_call *call, unsigned now, unsigned later,
	      struct fault_verdict *v)
{
	bool taken = v->hit != NULL;

	for (size_t i = 0; i < set->len; i++) {
		struct fault *f = &set->list[i];
		bool is_now = (now & FAULT_BIT(f->phase)) != 0;
		struct decision d;
		int r;

		if (!fits(f, call) || (!is_now && (taken || (later & FAULT_BIT(f->phase)) == 0)))
			continue;
		if ((r = meets(set, f, call, is_now, v, &d)) < 0)
			return r;
		if (d.yes && taken) {
			buf_text(&v->passed_over, v->passed_over.len > 0 ? "," : "");
			buf_json_text(&v->passed_over, f->id);
		} else if (d.yes && is_now) {
			v->hit = f;
			v->drawn = d.drawn;
			v->draw = d.draw;
		}
		taken = taken || d.yes;
	}
	return 0;
}

/* see fault.h */
int
fault_is_open(struct fault *f, struct eval *e, uint64_t t_ms, bool *open)
{
	*open = false;
	if (f->over)
		return 0;
	if (!f->active) {
		if (f->has_after && !eval_is_true(e, &f->after))
			return e->r;
		open_window(f, t_ms);
	}
	f->over = is_past(f, e, t_ms);
	*open = !f->over;
	return e->r;
}
