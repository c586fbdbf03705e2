/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_state.c - collections, their journal and limit; then a long random walk against a plain model. */
#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>

#include "guest/object.h"
#include "guest/state.h"
#include "tests/lib/tap.h"

static struct state_budget budget = { .max = 1u << 20, .key = { 1, 2 } };

static struct cJSON *
row(const char *id, int v)
{
	struct cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "id", id);
	cJSON_AddNumberToObject(json, "v", v);
	return json;
}

static const char *
dump(const struct state *s)
{
	static struct buf out;

	buf_wipe(&out);
	buf_init(&out, 1u << 20);
	return state_dump(s, "s", &out) == 0 ? buf_terminate(&out) : NULL;
}

static void
basics(void)
{
	struct state s;
	struct collection *c;
	struct row *a, *b;

	state_init(&s, &budget, 1u << 20);
	c = state_add_collection(&s, "things");
	ok(c != NULL && state_add_collection(&s, "things") == NULL, "a collection's name stands once");
	ok(state_collection(&s, "things") == c && state_collection(&s, "others") == NULL, "found by name");
	is_int(state_create(&s, c, "b", row("b", 1), &b), 0, "create b");
	is_int(state_create(&s, c, "a", row("a", 2), &a), 0, "create a");
	is_int(state_create(&s, c, "a", row("a", 3), &a), -EEXIST, "not twice");
	state_keep(&s);
	ok(c->first == b && b->after == a, "in order of creation");
	is_str(dump(&s),
	       "{\"service\":\"s\",\"collections\":{\"things\":[{\"id\":\"a\",\"v\":2},{\"id\":\"b\",\"v\":1}]}}",
	       "dumped in order of id");
	is_int(state_replace(&s, c, b, row("b", 9)), 0, "replace");
	is_int(state_delete(&s, c, a), 0, "delete");
	is_int(state_create(&s, c, "c", row("c", 4), &a), 0, "create c");
	is_int(state_set(&s, "n", cJSON_CreateNumber(1)), 0, "set a variable");
	is_str(dump(&s),
	       "{\"service\":\"s\",\"collections\":{\"things\":[{\"id\":\"b\",\"v\":9},{\"id\":\"c\",\"v\":4}]},\"variables\":{\"n\":1}}",
	       "all done");
	state_undo(&s);
	is_str(dump(&s),
	       "{\"service\":\"s\",\"collections\":{\"things\":[{\"id\":\"a\",\"v\":2},{\"id\":\"b\",\"v\":1}]}}",
	       "all undone");
	ok(c->first == b && c->last == collection_row(&s, c, "a"), "in the old order");
	state_wipe(&s);
}

static void
limits(void)
{
	struct state s;
	struct collection *c;
	struct row *r;
	struct cJSON *deep, *inner;
	size_t used, before = budget.used;
	int n = 0, e;
	char id[16];

	state_init(&s, &budget, 1u << 20);
	c = state_add_collection(&s, "things");
	do {
		snprintf(id, sizeof(id), "r%d", n);
		e = state_create(&s, c, id, row(id, n), &r);
		n += e == 0;
	} while (e == 0);
	is_int(e, -ENOSPC, "the limit of bytes ends it");
	ok(n > 1000 && budget.used <= budget.max && budget.lost > 0, "after %d rows", n);
	used = budget.used;
	is_int(state_replace(&s, c, c->last, row(c->last->id, 77)), 0, "a replacement of the same size still fits");
	is_int((long long)budget.used, (long long)used, "and costs nothing");
	is_int(state_delete(&s, c, c->first), 0, "deleting makes room");
	is_int(state_create(&s, c, "z", row("z", 1), &r), 0, "for another");
	state_undo(&s);
	ok(budget.used == before && c->rows_len == 0, "undone to the beginning: %zu bytes", budget.used);
	s.text_max = s.text_len + 30;
	is_int(state_create(&s, c, "a", row("a", 1), &r), 0, "one row within the bound of the dump");
	is_int(state_create(&s, c, "b", row("b", 123456), &r), -ENOSPC, "not another");
	s.text_max = 1u << 20;
	deep = row("deep", 1);
	inner = deep;
	for (unsigned i = 0; i < STATE_DEPTH_MAX + 1; i++)
		inner = cJSON_AddObjectToObject(inner, "in");
	is_int(state_create(&s, c, "deep", deep, &r), -EMSGSIZE, "a row nested too deep");
	state_wipe(&s);
	budget.used = budget.lost = 0;
}

#define IDS 64
#define STEPS 20000

/* A model: which ids exist, with which value, in which order. */
struct model {
	int value[IDS];
	int order[IDS], len;
};

static void
model_remove(struct model *m, int id)
{
	int i = 0;

	while (m->order[i] != id)
		i++;
	memmove(&m->order[i], &m->order[i + 1], sizeof(int) * (size_t)(m->len - i - 1));
	m->len--;
	m->value[id] = 0;
}

static int
agrees(const struct state *s, const struct collection *c, const struct model *m)
{
	const struct row *r = c->first;

	if ((int)c->rows_len != m->len)
		return 0;
	for (int i = 0; i < m->len; i++, r = r->after) {
		char id[16];

		snprintf(id, sizeof(id), "k%d", m->order[i]);
		if (r == NULL || strcmp(r->id, id) != 0 || collection_row(s, c, id) != r ||
		    cJSON_GetObjectItem(r->json, "v")->valueint != m->value[m->order[i]])
			return 0;
	}
	return r == NULL && (m->len == 0 || c->last->after == NULL);
}

static void
random_walk(unsigned seed)
{
	struct state s;
	struct collection *c;
	struct model now = { 0 }, kept = { 0 };
	int good = 1, step;

	srand(seed);
	state_init(&s, &budget, 1u << 20);
	c = state_add_collection(&s, "things");
	for (step = 0; step < STEPS && good; step++) {
		int id = rand() % IDS, what = rand() % 10, v = 1 + rand() % 100000;
		struct row *r;
		char name[16];

		snprintf(name, sizeof(name), "k%d", id);
		r = collection_row(&s, c, name);
		if (what < 4) {
			int e = state_create(&s, c, name, row(name, v), &r);

			good = e == (now.value[id] ? -EEXIST : 0);
			if (e == 0) {
				now.value[id] = v;
				now.order[now.len++] = id;
			}
		} else if (what < 6 && r != NULL) {
			good = state_replace(&s, c, r, row(name, v)) == 0;
			now.value[id] = v;
		} else if (what < 8 && r != NULL) {
			good = state_delete(&s, c, r) == 0;
			model_remove(&now, id);
		} else if (what == 8) {
			state_keep(&s);
			kept = now;
		} else if (what == 9) {
			state_undo(&s);
			now = kept;
		}
		good = good && agrees(&s, c, &now);
	}
	ok(good, "random walk, seed %u: %d steps", seed, step);
	state_wipe(&s);
	budget.used = 0;
}

// An item that was a member before keeps nothing of it.
static void
test_object(void)
{
	cJSON *object = cJSON_Parse("{\"a\":1,\"b\":2}"), *other = cJSON_Parse("{\"to\":3,\"id\":4}");
	char *text;

	ok(object_put(object, "a", cJSON_Duplicate(other->child, true)), "a copy of another member replaces one");
	ok(object_put(object, "c", cJSON_Duplicate(other->child, true)), "and is added");
	ok(object_put(object, "b", cJSON_CreateNull()), "an item without a name");
	ok(object_put(object, object->child->string, cJSON_CreateTrue()), "under the name of what it replaces");
	ok(!object_put(object, "a", NULL), "nothing is not put");
	text = cJSON_PrintUnformatted(object);
	is_str(text, "{\"a\":true,\"b\":null,\"c\":3}", "all in place");
	cJSON_free(text);
	cJSON_Delete(object);
	cJSON_Delete(other);
}

/* The rows that changes left, as they are now. */
static void
changes(void)
{
	struct state s;
	struct collection *c;
	struct row *a, *b, *again;
	struct buf out;
	const char *text;

	buf_init(&out, 4096);
	state_init(&s, &budget, 1u << 20);
	c = state_add_collection(&s, "things");
	is_int(state_create(&s, c, "a", row("a", 1), &a), 0, "create a");
	is_int(state_create(&s, c, "b/~", row("b/~", 2), &b), 0, "create b");
	state_keep(&s);
	state_changes(&s, &out);
	is_int((long long)out.len, 0, "what was kept is no change");
	is_int(state_replace(&s, c, b, row("b/~", 3)), 0, "replace");
	is_int(state_replace(&s, c, b, row("b/~", 4)), 0, "twice");
	is_int(state_set(&s, "n", cJSON_CreateNumber(1)), 0, "set a variable");
	is_int(state_delete(&s, c, a), 0, "delete");
	state_changes(&s, &out);
	is_str(buf_terminate(&out),
	       "{\"at\":\"/things/a\",\"row\":null},{\"at\":\"/things/b~1~0\",\"row\":{\"id\":\"b/~\",\"v\":4}},"
	       "{\"at\":\"/things/b~1~0\",\"row\":{\"id\":\"b/~\",\"v\":4}}",
	       "each as it is now");
	is_int(state_create(&s, c, "a", row("a", 5), &again), 0, "and there again");
	out.len = 0;
	state_changes(&s, &out);
	text = buf_terminate(&out);
	ok(text && !strstr(text, "null") && strstr(text, "{\"at\":\"/things/a\",\"row\":{\"id\":\"a\",\"v\":5}}"),
	   "a row that came back is not gone: %s", text);
	state_undo(&s);
	out.len = 0;
	state_changes(&s, &out);
	is_int((long long)out.len, 0, "nor is what was undone");
	is_int(state_replace(&s, c, b, row("b/~", 3)), 0, "replace");
	buf_wipe(&out);
	buf_init(&out, 20);
	state_changes(&s, &out);
	ok(out.failed, "what is too large says so");
	buf_wipe(&out);
	state_undo(&s);
	state_wipe(&s);
}

int
main(void)
{
	basics();
	budget.used = 0;
	changes();
	budget.used = 0;
	limits();
	for (unsigned seed = 1; seed <= 3; seed++)
		random_walk(seed);
	test_object();
	return tap_done();
}
