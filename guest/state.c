/* SPDX-License-Identifier: GPL-2.0-or-later
 * state.c - a hash table with chains over rows that also form a list in order of creation. */
#include "guest/state.h"

#include <cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/index.h"
#include "guest/object.h"

#define TABLE_MIN 16u
#define ROW_OVERHEAD (sizeof(struct row) + 2 * sizeof(struct row *) + 32u)

enum change { CHANGE_CREATE, CHANGE_REPLACE, CHANGE_DELETE, CHANGE_SET };

struct state_change {
	struct state_change *older;
	enum change what;
	struct collection *collection;
	struct row *row;
	struct cJSON *before; /* replaced contents, or variables; owned */
	size_t used_before, text_before;
};

static uint64_t
rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static void
sip_round(uint64_t v[static 4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3: the workflow chooses ids, so the table must not be slowed down by chosen ones. */
static uint64_t
hash(const uint64_t key[static 2], const char *s, size_t len)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
			  key[1] ^ 0x7465646279746573u };
	uint64_t last = (uint64_t)len << 56;

	for (; len >= 8; len -= 8, s += 8) {
		uint64_t m;

		memcpy(&m, s, 8);
		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)(unsigned char)s[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* see state.h */
uint64_t
state_hash(const struct state *s, const char *text, size_t len)
{
	return hash(s->budget->key, text, len);
}

/* see state.h */
void
state_init(struct state *s, struct state_budget *budget, size_t text_max)
{
	*s = (struct state){ .budget = budget, .text_max = text_max, .text_len = 64 };
}

static void
row_free(struct row *row)
{
	if (row == NULL)
		return;
	cJSON_Delete(row->json);
	free(row->id);
	free(row);
}

/* see state.h */
void
state_wipe(struct state *s)
{
	state_keep(s);
	while (s->collections != NULL) {
		struct collection *c = s->collections;

		s->collections = c->next;
		index_wipe(s, c);
		while (c->first != NULL) {
			struct row *after = c->first->after;

			row_free(c->first);
			c->first = after;
		}
		free(c->table);
		free(c);
	}
	cJSON_Delete(s->variables);
	s->variables = NULL;
}

/* see state.h */
struct collection *
state_add_collection(struct state *s, const char *name)
{
	struct collection *c, **end = &s->collections;
	struct buf text;

	if (strlen(name) > STATE_NAME_MAX || state_collection(s, name) != NULL || (c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->table = calloc(TABLE_MIN, sizeof(struct row *));
	if (c->table == NULL) {
		free(c);
		return NULL;
	}
	c->table_len = TABLE_MIN;
	memcpy(c->name, name, strlen(name) + 1);
	while (*end != NULL)
		end = &(*end)->next;
	*end = c;
	buf_init_count(&text);
	buf_json_text(&text, name);
	s->text_len += text.len + 4; /* :[], */
	return c;
}

/* see state.h */
struct collection *
state_collection(const struct state *s, const char *name)
{
	struct collection *c = s->collections;

	while (c != NULL && strcmp(c->name, name) != 0)
		c = c->next;
	return c;
}

/* see state.h */
struct row *
collection_row(const struct state *s, const struct collection *c, const char *id)
{
	uint64_t h = hash(s->budget->key, id, strlen(id));
	struct row *row = c->table[h & (c->table_len - 1)];

	while (row != NULL && !(row->hash == h && strcmp(row->id, id) == 0))
		row = row->chain;
	return row;
}

static void
table_add(struct collection *c, struct row *row)
{
	struct row **slot = &c->table[row->hash & (c->table_len - 1)];

	row->chain = *slot;
	*slot = row;
}

static void
table_remove(struct collection *c, const struct row *row)
{
	struct row **slot = &c->table[row->hash & (c->table_len - 1)];

	while (*slot != row)
		slot = &(*slot)->chain;
	*slot = row->chain;
}

/* Without memory for a larger table the old one still works, only slower. */
static void
table_grow(struct collection *c)
{
	struct row **table, **old = c->table;

	if (c->rows_len < c->table_len || (table = calloc(c->table_len * 2, sizeof(struct row *))) == NULL)
		return;
	c->table = table;
	c->table_len *= 2;
	for (struct row *row = c->first; row != NULL; row = row->after)
		table_add(c, row);
	free(old);
}

/* Into the list between row->before and row->after, which are still what they were or have been set. */
static void
link_row(struct state *s, struct collection *c, struct row *row)
{
	if (row->before != NULL)
		row->before->after = row;
	else
		c->first = row;
	if (row->after != NULL)
		row->after->before = row;
	else
		c->last = row;
	c->rows_len++;
	table_add(c, row);
	index_added(s, c, row);
}

static void
unlink_row(struct state *s, struct collection *c, struct row *row)
{
	index_removed(s, c, row);
	if (row->before != NULL)
		row->before->after = row->after;
	else
		c->first = row->after;
	if (row->after != NULL)
		row->after->before = row->before;
	else
		c->last = row->before;
	c->rows_len--;
	table_remove(c, row);
}

static size_t
text_len(const struct cJSON *json)
{
	struct buf count;

	buf_init_count(&count);
	buf_json(&count, json);
	return count.len + 1; /* the comma */
}

/* Levels below json, at most max + 1: a row may be set into itself again and again, and everything that walks a tree
 * recurses. */
static size_t
depth(const struct cJSON *json, size_t max)
{
	size_t deepest = 0;

	for (const struct cJSON *c = json->child; c != NULL && deepest <= max; c = c->next) {
		size_t d = max == 0 ? 1 : 1 + depth(c, max - 1);

		if (d > deepest)
			deepest = d;
	}
	return deepest;
}

/* Takes the new contents into the accounts instead of the old, and opens a journal entry. */
static int
begin(struct state *s, enum change what, const struct cJSON *old, const struct cJSON *new, size_t overhead,
      struct state_change **out)
{
	size_t used = s->budget->used, text = s->text_len;
	struct state_change *change;

	if (new != NULL && depth(new, STATE_DEPTH_MAX) > STATE_DEPTH_MAX)
		return -EMSGSIZE;
	if (old != NULL) {
		used -= json_heap(old);
		text -= text_len(old);
	}
	if (what == CHANGE_DELETE)
		used -= overhead;
	if (new != NULL) {
		size_t heap = json_heap(new) + (what == CHANGE_CREATE ? overhead : 0), more = text_len(new);

		if (heap > s->budget->max || used + s->budget->indexes > s->budget->max - heap || more > s->text_max ||
		    text > s->text_max - more) {
			s->budget->lost += heap;
			return -ENOSPC;
		}
		used += heap;
		text += more;
	}
	change = calloc(1, sizeof(*change));
	if (change == NULL)
		return -ENOMEM;
	*change = (struct state_change){
		.older = s->journal, .what = what, .used_before = s->budget->used, .text_before = s->text_len
	};
	s->journal = change;
	s->budget->used = used;
	s->text_len = text;
	*out = change;
	return 0;
}

/* see state.h */
int
state_create(struct state *s, struct collection *c, const char *id, struct cJSON *json, struct row **out)
{
	struct state_change *change;
	struct row *row = NULL;
	int r = -ENOMEM;

	if (json == NULL)
		goto out;
	r = -EEXIST;
	if (collection_row(s, c, id) != NULL)
		goto out;
	r = -ENOMEM;
	row = calloc(1, sizeof(*row));
	if (row == NULL || (row->id = strdup(id)) == NULL)
		goto out;
	r = begin(s, CHANGE_CREATE, NULL, json, ROW_OVERHEAD + strlen(id), &change);
	if (r < 0)
		goto out;
	change->collection = c;
	change->row = row;
	row->json = json; /* moved */
	json = NULL;
	row->hash = hash(s->budget->key, id, strlen(id));
	row->number = c->numbers++;
	row->before = c->last;
	link_row(s, c, row);
	table_grow(c);
	*out = row; /* moved */
	row = NULL;
out:
	cJSON_Delete(json);
	row_free(row);
	return r;
}

/* see state.h */
int
state_replace(struct state *s, struct collection *c, struct row *row, struct cJSON *json)
{
	struct state_change *change;
	int r = json == NULL ? -ENOMEM : begin(s, CHANGE_REPLACE, row->json, json, 0, &change);

	if (r < 0) {
		cJSON_Delete(json);
		return r;
	}
	change->collection = c;
	change->row = row;
	change->before = row->json; /* moved */
	row->json = json;           /* moved */
	index_changed(s, c, row, change->before);
	return 0;
}

/* see state.h */
int
state_delete(struct state *s, struct collection *c, struct row *row)
{
	struct state_change *change;
	int r = begin(s, CHANGE_DELETE, row->json, NULL, ROW_OVERHEAD + strlen(row->id), &change);

	if (r < 0)
		return r;
	change->collection = c;
	change->row = row;
	unlink_row(s, c, row);
	return 0;
}

/* see state.h.  Variables are few: the whole object is copied. */
int
state_set(struct state *s, const char *variable, struct cJSON *value)
{
	struct cJSON *variables = s->variables != NULL ? cJSON_Duplicate(s->variables, true) : cJSON_CreateObject();
	struct state_change *change;
	int r = -ENOMEM;

	if (variables == NULL) {
		cJSON_Delete(value);
		return r;
	}
	if (!object_put(variables, variable, value)) /* moved */
		goto out;
	r = begin(s, CHANGE_SET, s->variables, variables, 0, &change);
	if (r < 0)
		goto out;
	change->before = s->variables; /* moved */
	s->variables = variables;      /* moved */
	return 0;
out:
	cJSON_Delete(variables);
	return r;
}

static void
put_token(struct buf *out, const char *name)
{
	buf_text(out, "/");
	for (const char *c = name; *c != '\0'; c++) {
		if (*c == '~' || *c == '/')
			buf_text(out, *c == '~' ? "~0" : "~1");
		else
			buf_add(out, c, 1);
	}
}

/* see state.h */
void
state_changes(const struct state *s, struct buf *out)
{
	struct buf at;

	buf_init(&at, 2 * (STATE_ID_MAX + STATE_NAME_MAX) + 2);
	for (const struct state_change *change = s->journal; change != NULL && !out->failed; change = change->older) {
		const struct row *now;

		if (change->what == CHANGE_SET)
			continue;
		now = collection_row(s, change->collection, change->row->id);
		at.len = 0;
		put_token(&at, change->collection->name);
		put_token(&at, change->row->id);
		buf_text(out, out->len > 0 ? ",{\"at\":" : "{\"at\":");
		buf_json_string(out, at.at == NULL ? "" : at.at, at.len);
		buf_text(out, ",\"row\":");
		if (now != NULL)
			buf_json(out, now->json);
		else
			buf_text(out, "null");
		buf_text(out, "}");
	}
	if (at.failed)
		out->failed = true;
	buf_wipe(&at);
}

/* see state.h */
void
state_keep(struct state *s)
{
	while (s->journal != NULL) {
		struct state_change *change = s->journal;

		s->journal = change->older;
		cJSON_Delete(change->before);
		if (change->what == CHANGE_DELETE)
			row_free(change->row);
		free(change);
	}
}

/* see state.h.  Newest first, so that a deleted row finds its old neighbours again. */
void
state_undo(struct state *s)
{
	while (s->journal != NULL) {
		struct state_change *change = s->journal;
		struct cJSON *undone;

		s->journal = change->older;
		s->budget->used = change->used_before;
		s->text_len = change->text_before;
		switch (change->what) {
		case CHANGE_CREATE:
			unlink_row(s, change->collection, change->row);
			row_free(change->row);
			break;
		case CHANGE_REPLACE:
			undone = change->row->json;
			change->row->json = change->before; /* moved */
			index_changed(s, change->collection, change->row, undone);
			cJSON_Delete(undone);
			break;
		case CHANGE_DELETE:
			link_row(s, change->collection, change->row);
			break;
		case CHANGE_SET:
			cJSON_Delete(s->variables);
			s->variables = change->before; /* moved */
			break;
		}
		free(change);
	}
}

static int
compare_ids(const void *a, const void *b)
{
	return strcmp((*(const struct row *const *)a)->id, (*(const struct row *const *)b)->id);
}

static int
dump_rows(const struct collection *c, struct buf *out)
{
	const struct row **rows = calloc(c->rows_len + 1, sizeof(void *));
	size_t n = 0;

	if (rows == NULL)
		return -ENOMEM;
	for (const struct row *row = c->first; row != NULL; row = row->after)
		rows[n++] = row;
	qsort(rows, n, sizeof(void *), compare_ids);
	buf_text(out, "[");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_text(out, ",");
		buf_json(out, rows[i]->json);
	}
	buf_text(out, "]");
	free(rows);
	return 0;
}

/* see state.h */
int
state_dump(const struct state *s, const char *service, struct buf *out)
{
	buf_text(out, "{\"service\":");
	buf_json_text(out, service);
	buf_text(out, ",\"collections\":{");
	for (const struct collection *c = s->collections; c != NULL; c = c->next) {
		int r;

		buf_json_text(out, c->name);
		buf_text(out, ":");
		if ((r = dump_rows(c, out)) < 0)
			return r;
		if (c->next != NULL)
			buf_text(out, ",");
	}
	buf_text(out, "}");
	if (s->variables != NULL) {
		buf_text(out, ",\"variables\":");
		buf_json(out, s->variables);
	}
	buf_text(out, "}");
	return out->failed ? -EMSGSIZE : 0;
}
