/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_walk.c - goes down from the root, one open folder a level, in byte order of names; enters a folder only when some
 * pattern can still match below it. */
#include "host/stage_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/world.h"

/* One descriptor a level: the usual limit is 1024. */
#define WALK_DEPTH_MAX 256u

struct name {
	char *text;
	unsigned char type; /* DT_... */
};
struct folder {
	int fd;
	DIR *dir;        /* owns fd */
	bool in_modules; /* what it holds lies below node_modules */
	unsigned depth;
	size_t names_len, names_size;
	struct name *names;
	pattern_state *next; /* of the name being looked at, one a pattern */
};

static int
compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int
add_name(struct walk *k, struct folder *f, const struct dirent *e)
{
	size_t size = f->names_size ? f->names_size * 2 : 32;
	struct name *p = f->names;

	if (f->names_len == f->names_size) {
		p = realloc(f->names, size * sizeof(*p));
		if (!p)
			return stage_out_of_memory(k);
		f->names = p;
		f->names_size = size;
	}
	p[f->names_len].type = e->d_type;
	p[f->names_len].text = strdup(e->d_name);
	if (!p[f->names_len].text)
		return stage_out_of_memory(k);
	f->names_len++;
	return 0;
}

static int
read_names(struct walk *k, struct folder *f)
{
	const struct dirent *e;
	char shown[256];
	int r = 0;

	while (r == 0) {
		errno = 0;
		e = readdir(f->dir); /* cppcheck-suppress readdirCalled; the program has one thread */
		if (!e)
			break;
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = add_name(k, f, e);
	}
	if (r == 0 && errno)
		return stage_fail(k, -errno, SIZE_MAX, "the folder %s cannot be read: %s", stage_shown(k->path, shown),
				  strerror(errno));
	if (r == 0 && f->names_len > 0)
		qsort(f->names, f->names_len, sizeof(*f->names), compare_names);
	return r;
}

static int
type_of(struct folder *f, struct name *n)
{
	struct stat st;

	if (n->type != DT_UNKNOWN)
		return 0;
	if (fstatat(f->fd, n->text, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	n->type = (unsigned char)IFTODT(st.st_mode);
	return 0;
}

/* The last pattern that matches decides; SIZE_MAX: none, or one that excludes. */
static size_t
decide(struct walk *k, const struct folder *f)
{
	size_t i, last = SIZE_MAX;

	for (i = 0; i < k->patterns_len; i++)
		if (pattern_is_match(&k->patterns[i].p, f->next[i]))
			last = i;
	return last == SIZE_MAX || k->patterns[last].p.excludes ? SIZE_MAX : last;
}

static void
note_found(struct walk *k, const struct folder *f, bool is_folder)
{
	size_t i;

	for (i = 0; i < k->patterns_len; i++) {
		if (!pattern_is_match(&k->patterns[i].p, f->next[i]))
			continue;
		if (is_folder)
			k->patterns[i].folder = true;
		else
			k->patterns[i].found = true;
	}
}

/* Whether something below the folder can still be taken.  One that excludes all below ends every pattern before it. */
static bool
is_worth_entering(struct walk *k, struct folder *f)
{
	size_t i, j;
	bool worth = false;

	for (i = 0; i < k->patterns_len; i++) {
		if (!k->patterns[i].p.excludes || !pattern_takes_all_below(&k->patterns[i].p, f->next[i]))
			continue;
		for (j = 0; j < i; j++)
			f->next[j] = 0;
	}
	for (i = 0; i < k->patterns_len; i++)
		if (!k->patterns[i].p.excludes)
			worth |= pattern_may_match_below(&k->patterns[i].p, f->next[i]);
	return worth;
}

static int
fail_folder(struct walk *k, size_t pattern)
{
	bool excludes = k->patterns[pattern].p.excludes;
	char shown[256];
	int r = stage_fail(k, -EPERM, pattern, "%s is a folder: named alone it would %s", stage_shown(k->path, shown),
			   excludes ? "leave nothing out" : "bring everything in it");

	if (excludes)
		diag_fix(k->d, "write \"!%s/**\" to leave out everything below", shown);
	else
		diag_fix(k->d, "write \"%s/**\" if that is what you want, or name the files", shown);
	return r;
}

static int
fail_link(struct walk *k, int folder, const char *name, size_t pattern)
{
	char target[512], shown[256], shown_target[256];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
	int r;

	target[n > 0 ? n : 0] = '\0';
	r = stage_fail(k, -EPERM, pattern, "%s is a symbolic link (to %s); outside node_modules none enters",
		       stage_shown(k->path, shown), stage_shown(target, shown_target));
	if (strcmp(name, "node_modules") == 0)
		diag_fix(k->d, "install the packages into a real node_modules folder (npm ci) below root");
	else
		diag_fix(k->d, "copy the file in its place, or leave it out with \"!%s\"", shown);
	return r;
}

static int
fail_type(struct walk *k, unsigned char type, size_t pattern)
{
	const char *what = type == DT_FIFO                    ? "a fifo"
			   : type == DT_SOCK                  ? "a socket"
			   : type == DT_CHR || type == DT_BLK ? "a device"
							      : "not a regular file";
	char shown[256];
	int r = stage_fail(k, -EPERM, pattern, "%s is %s; only regular files enter", stage_shown(k->path, shown), what);

	diag_fix(k->d, "remove it, or leave it out with \"!%s\"", shown);
	return r;
}

static int walk_folder(struct walk *k, int fd, const pattern_state *states, bool in_modules, unsigned depth);

static int
enter(struct walk *k, struct folder *f, const char *name)
{
	char shown[256];
	int fd, r;

	if (f->depth + 1 >= WALK_DEPTH_MAX) {
		r = stage_fail(k, -EMSGSIZE, SIZE_MAX, "folders are nested more than %u deep: %s", WALK_DEPTH_MAX,
			       stage_shown(k->path, shown));
		diag_fix(k->d, "leave it out with a pattern that starts with !");
		return r;
	}
	fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		r = stage_fail(k, -errno, SIZE_MAX, "the folder %s cannot be opened: %s", stage_shown(k->path, shown),
			       strerror(errno));
		diag_fix(k->d, "make it readable for you, or leave it out with \"!%s/**\"", shown);
		return r;
	}
	return walk_folder(k, fd, f->next, f->in_modules || strcmp(name, "node_modules") == 0, f->depth + 1);
}

static int
visit_folder(struct walk *k, struct folder *f, const char *name)
{
	size_t i;

	note_found(k, f, true);
	for (i = 0; i < k->patterns_len; i++)
		if (k->patterns[i].p.literal && pattern_is_match(&k->patterns[i].p, f->next[i]))
			return fail_folder(k, i);
	return is_worth_entering(k, f) ? enter(k, f, name) : 0;
}

/* A link that is not taken itself, but that a pattern names as a folder to go through, is no folder for us. */
static int
visit_link(struct walk *k, struct folder *f, const char *name, size_t taken, size_t through)
{
	if (taken != SIZE_MAX) {
		note_found(k, f, false);
		return f->in_modules ? stage_take_link(k, f->fd, name, taken) : fail_link(k, f->fd, name, taken);
	}
	return through != SIZE_MAX && !f->in_modules ? fail_link(k, f->fd, name, through) : 0;
}

static int
visit(struct walk *k, struct folder *f, const pattern_state *states, struct name *n)
{
	size_t i, taken, through = SIZE_MAX;
	bool any = false;
	int r;

	for (i = 0; i < k->patterns_len; i++) {
		bool by_name = false;

		f->next[i] = states[i] ? pattern_step(&k->patterns[i].p, states[i], n->text, f->in_modules, &by_name)
				       : 0;
		if (k->patterns[i].p.excludes)
			continue;
		any |= f->next[i] != 0;
		if (by_name && pattern_may_match_below(&k->patterns[i].p, f->next[i]))
			through = i;
	}
	if (!any)
		return 0;
	r = type_of(f, n);
	if (r < 0)
		return r == -ENOENT ? 0
				    : stage_fail(k, r, SIZE_MAX, "%s cannot be looked at: %s", k->path, strerror(-r));
	if (n->type == DT_DIR)
		return visit_folder(k, f, n->text);
	taken = decide(k, f);
	if (n->type == DT_LNK)
		return visit_link(k, f, n->text, taken, through);
	if (n->type == DT_REG)
		note_found(k, f, false);
	if (taken == SIZE_MAX)
		return 0;
	return n->type == DT_REG ? stage_take_file(k, f->fd, n->text, f->in_modules, taken)
				 : fail_type(k, n->type, taken);
}

static int
walk_names(struct walk *k, struct folder *f, const pattern_state *states)
{
	size_t i, mark = k->path_len, len;
	char shown[256];
	int r = read_names(k, f);

	for (i = 0; i < f->names_len && r == 0; i++) {
		/* receipts of earlier runs, of this application or one below it */
		if (strcmp(f->names[i].text, ".agenttwin") == 0)
			continue;
		len = strlen(f->names[i].text);
		if (mark + len + 2 > sizeof(k->path)) {
			r = stage_fail(k, -EMSGSIZE, SIZE_MAX, "a path is too long, below %s",
				       stage_shown(k->path, shown));
			diag_fix(k->d, "leave it out with a pattern that starts with !");
			break;
		}
		if (mark > 0)
			k->path[k->path_len++] = '/';
		memcpy(k->path + k->path_len, f->names[i].text, len + 1);
		k->path_len += len;
		r = visit(k, f, states, &f->names[i]);
		k->path_len = mark;
		k->path[mark] = '\0';
	}
	return r;
}

/* fd moved. */
static int
walk_folder(struct walk *k, int fd, const pattern_state *states, bool in_modules, unsigned depth)
{
	struct folder f = { .fd = fd, .in_modules = in_modules, .depth = depth };
	size_t i;
	int r;

	f.next = calloc(k->patterns_len + 1, sizeof(*f.next));
	f.dir = fdopendir(fd);
	if (!f.next || !f.dir)
		r = stage_out_of_memory(k);
	else
		r = walk_names(k, &f, states);
	for (i = 0; i < f.names_len; i++)
		free(f.names[i].text);
	free(f.names);
	free(f.next);
	if (f.dir)
		closedir(f.dir);
	else
		close(fd);
	return r;
}

int
stage_walk(struct walk *k)
{
	pattern_state *states = calloc(k->patterns_len + 1, sizeof(*states));
	size_t i;
	int fd, r;

	if (!states)
		return stage_out_of_memory(k);
	for (i = 0; i < k->patterns_len; i++)
		states[i] = pattern_start(&k->patterns[i].p);
	fd = openat(k->s->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		r = stage_fail(k, -errno, SIZE_MAX, "the application's folder %s cannot be read: %s", k->w->root,
			       strerror(errno));
		diag_fix(k->d, "make it readable for you");
	} else {
		r = walk_folder(k, fd, states, false, 0);
	}
	free(states);
	return r;
}
