/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage.c - see stage.h.  Walks with the world's patterns, then looks at what only the whole can tell: links, patterns
 * that found nothing, names that differ in case alone. */
#include "host/stage.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/stage_walk.h"
#include "host/world.h"
#include "proto/frame.h"
#include "proto/plan.h"

#define WARNINGS_MAX 20u

/* ---- messages --------------------------------------------------------------------------------------------------------- */

int
stage_fail(struct walk *k, int err, size_t pattern, const char *format, ...)
{
	char pointer[40] = "/files";
	va_list ap;

	if (pattern != SIZE_MAX)
		(void)snprintf(pointer, sizeof(pointer), "/files/%zu", pattern);
	world_place(k->w, pointer, pattern == SIZE_MAX, k->d);
	k->d->fix[0] = '\0';
	va_start(ap, format);
	(void)vsnprintf(k->d->problem, sizeof(k->d->problem), format, ap);
	va_end(ap);
	return err;
}

int
stage_out_of_memory(struct walk *k)
{
	return diag_set(k->d, -ENOMEM, "not enough memory");
}

const char *
stage_shown(const char *path, char out[static 256])
{
	escape_text(path, strlen(path), out, 256);
	return out;
}

/* ---- growing arrays --------------------------------------------------------------------------------------------------- */

static bool
grow(void **array, size_t len, size_t *size, size_t each)
{
	size_t want = *size ? *size * 2 : 64, bytes;
	void *p;

	if (len < *size)
		return true;
	if (__builtin_mul_overflow(want, each, &bytes))
		return false;
	p = realloc(*array, bytes);
	if (!p)
		return false;
	*array = p;
	*size = want;
	return true;
}

int
stage_add(struct walk *k, const struct stage_entry *e)
{
	struct stage *s = k->s;
	void *array = s->entries;
	int r;

	if (s->entries_len >= BUNDLE_ENTRIES_MAX) {
		r = stage_fail(k, -EMSGSIZE, SIZE_MAX, "the patterns take more than %u files", BUNDLE_ENTRIES_MAX);
		diag_fix(k->d, "list less, or leave parts out with \"!folder/**\"");
		return r;
	}
	if (!grow(&array, s->entries_len, &k->entries_size, sizeof(*s->entries)))
		return stage_out_of_memory(k);
	s->entries = array;
	s->entries[s->entries_len] = *e;
	s->entries[s->entries_len].path = strdup(k->path);
	if (!s->entries[s->entries_len].path)
		return stage_out_of_memory(k);
	s->entries_len++;
	s->bytes += e->size;
	return 0;
}

int
stage_leave_out(struct walk *k, const char *path, const char *rule)
{
	struct stage *s = k->s;
	void *array = s->left_out;

	if (!grow(&array, s->left_out_len, &k->left_out_size, sizeof(*s->left_out)))
		return stage_out_of_memory(k);
	s->left_out = array;
	s->left_out[s->left_out_len].rule = rule;
	s->left_out[s->left_out_len].path = strdup(path);
	if (!s->left_out[s->left_out_len].path)
		return stage_out_of_memory(k);
	s->left_out_len++;
	return 0;
}

int
stage_warn(struct walk *k, const char *format, ...)
{
	void *array = k->s->warnings;
	char *text = NULL;
	va_list ap;
	int n;

	if (k->s->warnings_len >= WARNINGS_MAX)
		return 0;
	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		return stage_out_of_memory(k);
	if (!grow(&array, k->s->warnings_len, &k->warnings_size, sizeof(char *))) {
		free(text);
		return stage_out_of_memory(k);
	}
	k->s->warnings = array;
	k->s->warnings[k->s->warnings_len++] = text;
	return 0;
}

/* ---- order ------------------------------------------------------------------------------------------------------------ */

static int
compare_entries(const void *a, const void *b)
{
	const struct stage_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int
compare_left_out(const void *a, const void *b)
{
	const struct stage_left_out *x = a, *y = b;

	return strcmp(x->path, y->path);
}

size_t
stage_lower_bound(const struct stage *s, const char *path)
{
	size_t low = 0, high = s->entries_len, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(s->entries[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static unsigned char
folded(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int
compare_folded(const void *a, const void *b)
{
	const struct stage_entry *const *x = a, *const *y = b;
	const char *s = (*x)->path, *t = (*y)->path;

	while (*s && folded(*s) == folded(*t)) {
		s++;
		t++;
	}
	return folded(*s) != folded(*t) ? folded(*s) - folded(*t) : strcmp((*x)->path, (*y)->path);
}

/* Length of the first segments of a and b that differ in case alone, 0: none. */
static size_t
collision(const char *a, const char *b)
{
	size_t i, start = 0;
	bool differ = false;

	for (i = 0;; i++) {
		bool ends_a = a[i] == '/' || !a[i], ends_b = b[i] == '/' || !b[i];

		if (ends_a && ends_b && differ)
			return i;
		if (ends_a != ends_b || folded(a[i]) != folded(b[i]) || !a[i])
			return 0;
		if (a[i] == '/')
			start = i + 1;
		differ |= i >= start && a[i] != b[i];
	}
}

/* On a file system that folds case one of the two would replace the other. */
static int
warn_case(struct walk *k)
{
	const struct stage_entry **by_fold;
	size_t i, n;
	int r = 0;

	if (k->s->entries_len < 2)
		return 0;
	by_fold = calloc(k->s->entries_len, sizeof(*by_fold));
	if (!by_fold)
		return stage_out_of_memory(k);
	for (i = 0; i < k->s->entries_len; i++)
		by_fold[i] = &k->s->entries[i];
	qsort(by_fold, k->s->entries_len, sizeof(*by_fold), compare_folded);
	for (i = 1; i < k->s->entries_len && r == 0; i++) {
		n = collision(by_fold[i - 1]->path, by_fold[i]->path);
		if (n > 0)
			r = stage_warn(k, "%.*s and %.*s differ in case alone", (int)n, by_fold[i - 1]->path, (int)n,
				       by_fold[i]->path);
	}
	free(by_fold);
	return r;
}

/* ---- the collection --------------------------------------------------------------------------------------------------- */

static int
prepare(struct walk *k)
{
	const struct cJSON *keep = cJSON_GetObjectItemCaseSensitive(k->w->doc, "keep"), *v;
	const char *problem, *fix;
	size_t n, i = 0;

	n = (size_t)cJSON_GetArraySize(k->w->files);
	k->patterns = calloc(n + 1, sizeof(*k->patterns));
	k->keep_len = keep ? (size_t)cJSON_GetArraySize(keep) : 0;
	k->keep = calloc(k->keep_len + 1, sizeof(*k->keep));
	k->buffer = malloc(WALK_BUFFER);
	if (!k->patterns || !k->keep || !k->buffer)
		return stage_out_of_memory(k);
	cJSON_ArrayForEach(v, k->w->files)
	{
		problem = pattern_parse(v->valuestring, &k->patterns[i].p, &fix);
		if (problem) /* the world was read with the same parser */
			return stage_fail(k, -EPROTO, i, "%s", problem);
		k->patterns[i++].text = v->valuestring;
	}
	k->patterns_len = n;
	i = 0;
	for (v = keep ? keep->child : NULL; v; v = v->next)
		k->keep[i++].path = v->valuestring;
	k->s->root_fd = open(k->w->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (k->s->root_fd < 0) {
		(void)snprintf(k->d->file, sizeof(k->d->file), "%s", k->w->root);
		return diag_set(k->d, -errno, "the application's folder cannot be opened: %s", strerror(errno));
	}
	return 0;
}

int
stage_collect(const struct world *w, struct stage *out, struct diag *d)
{
	struct stage s = { .root_fd = -1 };
	struct walk *k = calloc(1, sizeof(*k));
	int r;

	memset(d, 0, sizeof(*d));
	if (!k)
		return diag_set(d, -ENOMEM, "not enough memory");
	k->w = w;
	k->s = &s;
	k->d = d;
	r = prepare(k);
	if (r == 0)
		r = stage_walk(k);
	if (r == 0) {
		if (s.entries_len > 0)
			qsort(s.entries, s.entries_len, sizeof(*s.entries), compare_entries);
		if (s.left_out_len > 0)
			qsort(s.left_out, s.left_out_len, sizeof(*s.left_out), compare_left_out);
		r = stage_check_links(k);
	}
	if (r < 0 && r != -ENOMEM && !d->fix[0])
		diag_fix(d, "see that you may read it and that nothing else changes it, then try again");
	if (r < 0 || (r = stage_check_found(k)) < 0 || (r = stage_check_fit(k)) < 0 || (r = warn_case(k)) < 0)
		stage_wipe(&s);
	else
		*out = s;
	free(k->patterns);
	free(k->keep);
	free(k->buffer);
	free(k);
	return r;
}

static int
fail_changed(const struct stage_entry *e, struct diag *d)
{
	char shown[256];

	memset(d, 0, sizeof(*d));
	(void)stage_shown(e->path, shown);
	(void)snprintf(d->file, sizeof(d->file), "%s", shown);
	diag_set(d, -EBUSY, "the file changed while it was being staged");
	diag_fix(d, "stop what writes to it (a build, a watcher), then run again");
	return -EBUSY;
}

int
stage_read(const struct stage *s, size_t i, stage_sink *sink, void *arg, struct diag *d)
{
	const struct stage_entry *e = &s->entries[i];
	uint8_t *buffer, digest[32];
	struct sha256 hash;
	uint64_t have = 0;
	ssize_t n;
	int fd, r = 0;

	if (e->kind == PLAN_LINK)
		return 0;
	fd = stage_open_beneath(s->root_fd, e->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_changed(e, d);
	buffer = malloc(WALK_BUFFER);
	if (!buffer) {
		close(fd);
		return diag_set(d, -ENOMEM, "not enough memory");
	}
	sha256_init(&hash);
	while (r == 0) {
		n = read(fd, buffer, WALK_BUFFER);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (uint64_t)n;
		if (have > e->size)
			break;
		sha256_add(&hash, buffer, (size_t)n);
		r = sink(arg, buffer, (size_t)n);
	}
	sha256_get(&hash, digest);
	if (r == 0 && (have != e->size || memcmp(digest, e->sha256, sizeof(digest)) != 0))
		r = fail_changed(e, d);
	free(buffer);
	close(fd);
	return r;
}

void
stage_wipe(struct stage *s)
{
	size_t i;

	for (i = 0; i < s->entries_len; i++) {
		free(s->entries[i].path);
		free(s->entries[i].target);
	}
	for (i = 0; i < s->left_out_len; i++)
		free(s->left_out[i].path);
	for (i = 0; i < s->warnings_len; i++)
		free(s->warnings[i]);
	free(s->entries);
	free(s->left_out);
	free(s->warnings);
	if (s->root_fd >= 0)
		close(s->root_fd);
	memset(s, 0, sizeof(*s));
	s->root_fd = -1;
}
