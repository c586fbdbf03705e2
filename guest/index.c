/* SPDX-License-Identifier: GPL-2.0-or-later
 * index.c - a hash table of buckets, each a treap: a search tree by number of creation that is a heap by a random priority,
 * so it stays as deep as the logarithm of its rows.  A bucket lives as long as it has rows. */
#include "guest/index.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "guest/state.h"

#define TABLE_MIN 16u
#define OVERHEAD 16u /* of one piece of heap */

struct posting {
	struct posting *left, *right;
	struct posting *next; /* of the same row */
	struct row *row;
	struct index *index;
	struct index_bucket *bucket;
	uint64_t priority;
	size_t size; /* rows in this subtree */
	enum index_kind kind;
};
struct index_bucket {
	struct index_bucket *chain;
	char *text; /* owned */
	uint64_t hash;
	struct posting *root;
	size_t counts[INDEX_KINDS];
};
struct index {
	struct index *next; /* of the same collection */
	char *field;        /* owned; NULL: all rows */
	struct index_bucket **table;
	size_t table_len, buckets;
};

/* ---- trees ------------------------------------------------------------------------------------------------------------- */

static size_t
size_of(const struct posting *p)
{
	return p == NULL ? 0 : p->size;
}

static struct posting *
resized(struct posting *p)
{
	p->size = 1 + size_of(p->left) + size_of(p->right);
	return p;
}

/* Those before number, and the others. */
static void
split(struct posting *p, uint64_t number, struct posting **before, struct posting **others)
{
	if (p == NULL) {
		*before = *others = NULL;
	} else if (p->row->number < number) {
		split(p->right, number, &p->right, others);
		*before = resized(p);
	} else {
		split(p->left, number, before, &p->left);
		*others = resized(p);
	}
}

static struct posting *
merge(struct posting *before, struct posting *others)
{
	if (before == NULL || others == NULL)
		return before == NULL ? others : before;
	if (before->priority > others->priority) {
		before->right = merge(before->right, others);
		return resized(before);
	}
	others->left = merge(before, others->left);
	return resized(others);
}

static void
tree_add(struct index_bucket *b, struct posting *p)
{
	struct posting *before, *others;

	p->left = p->right = NULL;
	split(b->root, p->row->number, &before, &others);
	b->root = merge(merge(before, resized(p)), others);
	b->counts[p->kind]++;
}

static void
tree_remove(struct index_bucket *b, const struct posting *p)
{
	struct posting *before, *others, *only;

	split(b->root, p->row->number, &before, &others);
	split(others, p->row->number + 1, &only, &others);
	b->root = merge(before, others);
	b->counts[p->kind]--;
}

/* see index.h */
size_t
bucket_len(const struct index_bucket *b)
{
	return size_of(b->root);
}

/* see index.h */
size_t
bucket_count(const struct index_bucket *b, enum index_kind kind)
{
	return b->counts[kind];
}

/* see index.h */
struct row *
bucket_at(const struct index_bucket *b, size_t n)
{
	const struct posting *p = b->root;

	for (;;) {
		size_t left = size_of(p->left);

		if (n == left)
			return p->row;
		if (n < left) {
			p = p->left;
		} else {
			n -= left + 1;
			p = p->right;
		}
	}
}

/* see index.h */
size_t
bucket_rank(const struct index_bucket *b, uint64_t number)
{
	const struct posting *p = b->root;
	size_t rank = 0;

	while (p != NULL) {
		if (p->row->number < number) {
			rank += size_of(p->left) + 1;
			p = p->right;
		} else {
			p = p->left;
		}
	}
	return rank;
}

/* ---- buckets ----------------------------------------------------------------------------------------------------------- */

/* see index.h */
const char *
index_text(const struct cJSON *field, char out[static NUMBER_TEXT_SIZE + 1], enum index_kind *kind)
{
	if (cJSON_IsString(field)) {
		*kind = INDEX_STRING;
		return field->valuestring;
	}
	if (cJSON_IsBool(field)) {
		*kind = INDEX_BOOL;
		return cJSON_IsTrue(field) ? "true" : "false";
	}
	if (!cJSON_IsNumber(field))
		return NULL;
	*kind = INDEX_NUMBER;
	out[number_text(field->valuedouble, out)] = '\0';
	return out;
}

static struct index_bucket **
slot_of(const struct index *x, uint64_t hash)
{
	return &x->table[hash & (x->table_len - 1)];
}

static struct index_bucket *
find(const struct index *x, uint64_t hash, const char *text)
{
	struct index_bucket *b = *slot_of(x, hash);

	while (b != NULL && !(b->hash == hash && strcmp(b->text, text) == 0))
		b = b->chain;
	return b;
}

/* see index.h */
const struct index_bucket *
index_find(const struct state *s, const struct index *x, const char *text)
{
	return find(x, state_hash(s, text, strlen(text)), text);
}

/* Without memory the old table still works. */
static void
grow(struct state *s, struct index *x)
{
	struct index_bucket **old = x->table, **table, *next;
	size_t old_len = x->table_len;

	if (x->buckets < old_len || (table = calloc(2 * old_len, sizeof(void *))) == NULL)
		return;
	x->table = table;
	x->table_len = 2 * old_len;
	for (size_t i = 0; i < old_len; i++) {
		for (struct index_bucket *b = old[i]; b != NULL; b = next) {
			struct index_bucket **slot = slot_of(x, b->hash);

			next = b->chain;
			b->chain = *slot;
			*slot = b;
		}
	}
	s->budget->indexes += old_len * sizeof(void *);
	free(old);
}

static struct index_bucket *
bucket_make(struct state *s, struct index *x, const char *text)
{
	size_t len = strlen(text);
	uint64_t hash = state_hash(s, text, len);
	struct index_bucket *b = find(x, hash, text), **slot;

	if (b != NULL)
		return b;
	b = calloc(1, sizeof(*b));
	if (b == NULL || (b->text = strdup(text)) == NULL) {
		free(b);
		return NULL;
	}
	b->hash = hash;
	slot = slot_of(x, hash);
	b->chain = *slot;
	*slot = b;
	x->buckets++;
	s->budget->indexes += sizeof(*b) + len + 2 * OVERHEAD;
	grow(s, x);
	return b;
}

static void
bucket_free(struct state *s, struct index *x, struct index_bucket *b)
{
	struct index_bucket **slot = slot_of(x, b->hash);

	while (*slot != b)
		slot = &(*slot)->chain;
	*slot = b->chain;
	x->buckets--;
	s->budget->indexes -= sizeof(*b) + strlen(b->text) + 2 * OVERHEAD;
	free(b->text);
	free(b);
}

/* ---- rows -------------------------------------------------------------------------------------------------------------- */

static const char *
text_of(const struct index *x, const struct cJSON *json, char out[static NUMBER_TEXT_SIZE + 1], enum index_kind *kind)
{
	if (x->field != NULL)
		return index_text(cJSON_GetObjectItemCaseSensitive(json, x->field), out, kind);
	*kind = INDEX_STRING;
	return "";
}

/* False: no memory. */
static bool
put(struct state *s, struct index *x, struct row *row)
{
	char number[NUMBER_TEXT_SIZE + 1];
	enum index_kind kind;
	const char *text = text_of(x, row->json, number, &kind);
	struct posting *p;

	if (text == NULL)
		return true;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return false;
	p->bucket = bucket_make(s, x, text);
	if (p->bucket == NULL) {
		free(p);
		return false;
	}
	p->row = row;
	p->index = x;
	p->kind = kind;
	p->priority = state_hash(s, (const char *)&row->number, sizeof(row->number));
	p->next = row->postings;
	row->postings = p;
	s->budget->indexes += sizeof(*p) + OVERHEAD;
	tree_add(p->bucket, p);
	return true;
}

static void
take(struct state *s, struct index *x, struct row *row)
{
	struct posting **link = &row->postings, *p;

	while (*link != NULL && (*link)->index != x)
		link = &(*link)->next;
	p = *link;
	if (p == NULL)
		return;
	*link = p->next;
	tree_remove(p->bucket, p);
	if (p->bucket->root == NULL)
		bucket_free(s, x, p->bucket);
	s->budget->indexes -= sizeof(*p) + OVERHEAD;
	free(p);
}

/* An index that cannot follow any more is none. */
static void
discard(struct state *s, struct collection *c, struct index *x)
{
	struct index **link = &c->indexes;

	while (*link != x)
		link = &(*link)->next;
	*link = x->next;
	for (struct row *row = c->first; row != NULL; row = row->after)
		take(s, x, row);
	s->budget->indexes -= x->table_len * sizeof(void *) + sizeof(*x);
	free(x->table);
	free(x->field);
	free(x);
}

/* see index.h */
void
index_added(struct state *s, struct collection *c, struct row *row)
{
	for (struct index *x = c->indexes, *next; x != NULL; x = next) {
		next = x->next;
		if (!put(s, x, row))
			discard(s, c, x);
	}
}

/* see index.h */
void
index_removed(struct state *s, struct collection *c, struct row *row)
{
	for (struct index *x = c->indexes; x != NULL; x = x->next)
		take(s, x, row);
}

/* see index.h */
void
index_changed(struct state *s, struct collection *c, struct row *row, const struct cJSON *before)
{
	char old_number[NUMBER_TEXT_SIZE + 1], new_number[NUMBER_TEXT_SIZE + 1];
	enum index_kind old_kind = INDEX_STRING, new_kind = INDEX_STRING;

	for (struct index *x = c->indexes, *next; x != NULL; x = next) {
		const char *old = text_of(x, before, old_number, &old_kind);
		const char *new = text_of(x, row->json, new_number, &new_kind);

		next = x->next;
		if (old == NULL ? new == NULL : new != NULL && old_kind == new_kind &&strcmp(old, new) == 0)
			continue;
		take(s, x, row);
		if (!put(s, x, row))
			discard(s, c, x);
	}
}

/* see index.h */
void
index_wipe(struct state *s, struct collection *c)
{
	while (c->indexes != NULL)
		discard(s, c, c->indexes);
}

/* see index.h */
struct index *
index_get(struct state *s, struct collection *c, const char *field)
{
	size_t n = 0, need = c->rows_len * (sizeof(struct posting) + OVERHEAD), used;
	struct index *x;

	for (x = c->indexes; x != NULL; x = x->next, n++)
		if (x->field == NULL ? field == NULL : field != NULL && strcmp(x->field, field) == 0)
			return x;
	used = s->budget->used + s->budget->indexes;
	if (n >= INDEXES_MAX || used > s->budget->max || need > s->budget->max - used)
		return NULL;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return NULL;
	x->table = calloc(TABLE_MIN, sizeof(void *));
	if (field != NULL)
		x->field = strdup(field);
	if (x->table == NULL || (field != NULL && x->field == NULL)) {
		free(x->table);
		free(x->field);
		free(x);
		return NULL;
	}
	x->table_len = TABLE_MIN;
	s->budget->indexes += TABLE_MIN * sizeof(void *) + sizeof(*x);
	x->next = c->indexes;
	c->indexes = x;
	for (struct row *row = c->first; row != NULL; row = row->after) {
		if (put(s, x, row))
			continue;
		discard(s, c, x);
		return NULL;
	}
	return x;
}
