/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_find.c - worlds below folders, see test.h.  Symbolic links are not followed, so the search stays below the paths that
 * were named, and ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/test.h"
#include "proto/sha256.h"

#define PATH_LEN_MAX 4000u
#define FOLDERS_DEEP_MAX 64u

struct item {
	struct test_found found;
	char *real; /* owned; NULL for a folder that could not be searched */
};
struct search {
	struct item *items; /* owned */
	size_t len, size;
	char path[PATH_LEN_MAX + 300]; /* of the folder or file that is looked at */
	struct diag *d;
};

static int
out_of_memory(struct search *s)
{
	return diag_set(s->d, -ENOMEM, "not enough memory");
}

/* Adds what s->path names.  problem: moved; NULL: a world. */
static int
add(struct search *s, struct diag *problem)
{
	struct item *items, *it;
	size_t size;

	if (s->len == s->size) {
		size = s->size ? 2 * s->size : 64;
		items = realloc(s->items, size * sizeof(*items));
		if (!items) {
			free(problem);
			return out_of_memory(s);
		}
		s->items = items;
		s->size = size;
	}
	if (s->len == TEST_WORLDS_MAX) {
		free(problem);
		diag_fix(s->d, "name fewer folders, or run them in parts");
		return diag_set(s->d, -E2BIG, "more than %u worlds", TEST_WORLDS_MAX);
	}
	it = &s->items[s->len];
	it->found.problem = problem;
	it->found.path = strdup(s->path);
	it->real = problem ? NULL : realpath(s->path, NULL);
	if (!it->found.path || (!problem && !it->real && errno == ENOMEM)) {
		free(it->found.path);
		free(it->real);
		free(problem);
		return out_of_memory(s);
	}
	s->len++;
	return 0;
}

/* A folder whose worlds cannot be known is a result, not something to pass over. */
static int
add_problem(struct search *s, int err, const char *what)
{
	struct diag *d = calloc(1, sizeof(*d));

	if (!d)
		return out_of_memory(s);
	snprintf(d->file, sizeof(d->file), "%.500s", s->path);
	diag_set(d, err, "%s: %s", what, strerror(-err));
	diag_fix(d, "make it readable, or do not name a folder above it");
	return add(s, d);
}

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static bool
is_world_name(const char *name)
{
	return name[0] != '.' && (strcmp(name, "world.json") == 0 || ends_with(name, ".world.json"));
}

static int walk(struct search *s, int fd, unsigned depth);

/* One name in the folder at s->path, whose length is base. */
static int
look(struct search *s, int dir, const char *name, unsigned depth)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : add_problem(s, -errno, "cannot be looked at");
	if (S_ISLNK(st.st_mode)) {
		if (is_world_name(name))
			log_line(LOG_LEVEL_NOTE, "%s is a symbolic link and is left out; name it to run it", s->path);
		return 0;
	}
	if (S_ISREG(st.st_mode))
		return is_world_name(name) ? add(s, NULL) : 0;
	if (!S_ISDIR(st.st_mode) || name[0] == '.' || strcmp(name, "node_modules") == 0)
		return 0;
	if (depth == FOLDERS_DEEP_MAX)
		return add_problem(s, -ELOOP, "folders within folders are not searched any deeper");
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : add_problem(s, -errno, "the folder cannot be searched for worlds");
	return walk(s, fd, depth + 1);
}

/* Takes fd over. */
static int
walk(struct search *s, int fd, unsigned depth)
{
	bool here = strcmp(s->path, ".") == 0;
	size_t base = strlen(s->path);
	struct dirent *e;
	DIR *dir = fdopendir(fd);
	int r = 0;

	if (!dir) {
		close(fd);
		return out_of_memory(s);
	}
	for (errno = 0; r == 0 && (e = readdir(dir)); errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (base + 1 + strlen(e->d_name) > PATH_LEN_MAX) {
			r = add_problem(s, -ENAMETOOLONG, "paths in it are too long");
			break;
		}
		if (here)
			snprintf(s->path, sizeof(s->path), "%s", e->d_name);
		else
			snprintf(s->path + base, sizeof(s->path) - base, "%s%s",
				 base && s->path[base - 1] == '/' ? "" : "/", e->d_name);
		r = look(s, dirfd(dir), e->d_name, depth);
		s->path[base] = '\0';
		if (here)
			s->path[0] = '.';
	}
	if (r == 0 && !e && errno)
		r = add_problem(s, -errno, "the folder cannot be searched for worlds");
	closedir(dir);
	return r;
}

/* As people write it: from the current folder where it lies below, without ./ and doubled slashes. */
static void
normalize(const char *path, char *out, size_t size)
{
	static char here[4096];
	size_t n = 0, h;

	if (path[0] == '/' && getcwd(here, sizeof(here))) {
		h = strlen(here);
		if (strncmp(path, here, h) == 0 && h > 1 && (path[h] == '/' || path[h] == '\0'))
			for (path += h; *path == '/'; path++)
				;
	}
	while (*path && n + 1 < size) {
		if ((n == 0 || out[n - 1] == '/') && path[0] == '.' && (path[1] == '/' || path[1] == '\0')) {
			for (path++; *path == '/'; path++)
				;
			continue;
		}
		if (*path == '/' && n && out[n - 1] == '/') {
			path++;
			continue;
		}
		out[n++] = *path++;
	}
	while (n > 1 && out[n - 1] == '/')
		n--;
	if (n == 0)
		out[n++] = '.';
	out[n] = '\0';
}

/* One path of the command line. */
static int
search_path(struct search *s, const char *path)
{
	size_t before = s->len;
	struct stat st;
	int fd, r;

	snprintf(s->d->file, sizeof(s->d->file), "%.500s", path);
	if (!*path || strlen(path) > PATH_LEN_MAX || stat(path, &st) < 0) {
		r = !*path ? -ENOENT : strlen(path) > PATH_LEN_MAX ? -ENAMETOOLONG : -errno;
		diag_fix(s->d, "name world files, or folders that have worlds in them");
		return diag_set(s->d, r, "%s", strerror(-r));
	}
	normalize(path, s->path, sizeof(s->path));
	if (S_ISREG(st.st_mode)) {
		r = add(s, NULL);
	} else if (S_ISDIR(st.st_mode)) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? -errno : walk(s, fd, 0);
		if (fd < 0) {
			diag_fix(s->d, "make it readable");
			return diag_set(s->d, r, "the folder cannot be searched for worlds: %s", strerror(-r));
		}
	} else {
		diag_fix(s->d, "name world files, or folders that have worlds in them");
		return diag_set(s->d, -EINVAL, "neither a file nor a folder");
	}
	if (r == 0 && s->len == before) {
		diag_fix(s->d, "a world is a file world.json or NAME.world.json; node_modules and folders whose name "
			       "begins with a dot are not searched");
		return diag_set(s->d, -ENOENT, "there is no world in it");
	}
	return r;
}

static int
by_real(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int r;

	if (!x->real || !y->real)
		return (x->real != NULL) - (y->real != NULL);
	r = strcmp(x->real, y->real);
	if (r == 0) /* the shortest name of a file is kept */
		r = (strlen(x->found.path) > strlen(y->found.path)) - (strlen(x->found.path) < strlen(y->found.path));
	return r ? r : strcmp(x->found.path, y->found.path);
}

static int
by_path(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return strcmp(x->found.path, y->found.path);
}

static void
drop(struct item *it)
{
	free(it->found.path);
	free(it->found.problem);
	free(it->real);
}

/* Paths may overlap: each file once; likewise each folder that could not be searched. */
static void
make_unique(struct search *s)
{
	size_t i, n = 0;

	qsort(s->items, s->len, sizeof(*s->items), by_real);
	for (i = 0; i < s->len; i++) {
		if (n && s->items[i].real && s->items[n - 1].real &&
		    strcmp(s->items[i].real, s->items[n - 1].real) == 0)
			drop(&s->items[i]);
		else
			s->items[n++] = s->items[i];
	}
	s->len = n;
	qsort(s->items, s->len, sizeof(*s->items), by_path);
	for (i = n = 0; i < s->len; i++) {
		if (n && strcmp(s->items[i].found.path, s->items[n - 1].found.path) == 0)
			drop(&s->items[i]);
		else
			s->items[n++] = s->items[i];
	}
	s->len = n;
}

/* see test.h */
int
test_find(const char *const *paths, size_t paths_len, struct test_found **out, size_t *len, struct diag *d)
{
	struct search s = { .d = d };
	size_t i;
	int r = 0;

	memset(d, 0, sizeof(*d));
	if (paths_len == 0)
		r = search_path(&s, ".");
	for (i = 0; r == 0 && i < paths_len; i++)
		r = search_path(&s, paths[i]);
	if (r == 0 && s.len == 0) /* each path had one */
		r = -ENOENT;
	if (r == 0)
		make_unique(&s);
	*out = r == 0 ? calloc(s.len, sizeof(**out)) : NULL;
	if (r == 0 && !*out)
		r = out_of_memory(&s);
	for (i = 0; i < s.len; i++) {
		free(s.items[i].real);
		if (*out) {
			(*out)[i] = s.items[i].found; /* moved */
		} else {
			free(s.items[i].found.path);
			free(s.items[i].found.problem);
		}
	}
	free(s.items);
	*len = r == 0 ? s.len : 0;
	return r;
}

/* see test.h */
uint32_t
test_shard(const char *path, uint32_t n)
{
	uint8_t digest[32];
	uint64_t v = 0;
	int i;

	sha256_of(path, strlen(path), digest);
	for (i = 0; i < 8; i++)
		v = v << 8 | digest[i];
	return (uint32_t)(v % n) + 1;
}
