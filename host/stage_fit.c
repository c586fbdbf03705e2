/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_fit.c - warnings about what enters and will not work there: addons of another machine, a program of npx that would
 * have to be fetched, packages that stayed outside. */
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/addon.h"
#include "host/diag.h"
#include "host/stage_walk.h"
#include "host/world.h"
#include "proto/plan.h"

static bool
is_taken(const struct walk *k, const char *path)
{
	size_t i = stage_lower_bound(k->s, path);

	return i < k->s->entries_len && strcmp(k->s->entries[i].path, path) == 0;
}

/* ---- addons ----------------------------------------------------------------------------------------------------------- */

/* Bytes of the path that name the package a file belongs to: up to the name after the last node_modules; 0 outside. */
static size_t
package_len(const char *path)
{
	const char *p = path, *name = NULL;
	size_t n;

	for (; (p = strstr(p, "node_modules/")); p += 13)
		if (p == path || p[-1] == '/')
			name = p + 13;
	if (!name)
		return 0;
	n = strcspn(name, "/");
	if (*name == '@' && name[n])
		n += 1 + strcspn(name + n + 1, "/");
	return (size_t)(name - path) + n;
}

/* The addons of one package, which often brings one for each machine: it is enough that one fits. */
struct package {
	const struct stage_entry *first; /* that does not fit; NULL: none seen, or one fits */
	size_t len;                      /* of the package in its path */
	const char *built_for;
};

static int
warn_package(struct walk *k, struct package *p)
{
	char shown[256];
	int r = 0;

	if (p->built_for)
		r = stage_warn(
			k,
			"%s is built for %s and cannot be loaded here: install the packages on this machine (npm ci), or take it out",
			stage_shown(p->first->path, shown), p->built_for);
	memset(p, 0, sizeof(*p));
	return r;
}

static int
warn_addons(struct walk *k)
{
	struct package p = { .first = NULL };
	bool fits = false;
	int r = 0;
	size_t i, len, n;

	for (i = 0; i < k->s->entries_len && r == 0; i++) {
		const struct stage_entry *e = &k->s->entries[i];
		const char *foreign;
		int fd;

		n = strlen(e->path);
		if (e->kind == PLAN_LINK || n < 5 || strcmp(e->path + n - 5, ".node") != 0)
			continue;
		fd = stage_open_beneath(k->s->root_fd, e->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			continue; /* stage_read finds out what happened to it */
		foreign = addon_foreign(fd);
		close(fd);
		len = package_len(e->path);
		if (!p.first || len == 0 || len != p.len || strncmp(p.first->path, e->path, len) != 0) {
			r = warn_package(k, &p);
			p = (struct package){ .first = e, .len = len };
			fits = false;
		}
		fits = fits || !foreign;
		p.built_for = fits ? NULL : p.built_for ? p.built_for : foreign;
	}
	return r < 0 ? r : warn_package(k, &p);
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

/* The first word of the command after options: what npx runs.  NULL: none, or an option says it otherwise. */
static const char *
npx_program(const struct cJSON *word)
{
	for (; word && word->valuestring[0] == '-'; word = word->next)
		if (strncmp(word->valuestring, "-p", 2) == 0 || strncmp(word->valuestring, "--package", 9) == 0 ||
		    strncmp(word->valuestring, "-c", 2) == 0 || strncmp(word->valuestring, "--call", 6) == 0)
			return NULL;
	return word && word->valuestring[0] ? word->valuestring : NULL;
}

/* npx asks the registry for what is not installed, and nothing answers there. */
static int
warn_npx(struct walk *k)
{
	const struct cJSON *first = k->w->command ? k->w->command->child : NULL;
	const char *cwd = k->w->cwd ? k->w->cwd : "", *name, *slash;
	char path[2 * BUNDLE_PATH_MAX + 32], shown[256];
	size_t n;

	if (!first || strcmp(first->valuestring, "npx") != 0)
		return 0;
	name = npx_program(first->next);
	if (!name || strlen(name) > BUNDLE_PATH_MAX)
		return 0;
	/* NAME@VERSION; a scoped package's program has the name after the slash */
	n = 1 + strcspn(name + 1, "@");
	slash = memchr(name, '/', n);
	if (slash) {
		n -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	(void)snprintf(path, sizeof(path), "%s%snode_modules/.bin/%.*s", cwd, *cwd ? "/" : "", (int)n, name);
	if (is_taken(k, path) || is_taken(k, path + (*cwd ? strlen(cwd) + 1 : 0)))
		return 0;
	return stage_warn(
		k,
		"the command runs npx %.*s, but node_modules/.bin/%.*s is not among the files taken, and nothing can be fetched: install it and list \"node_modules/**\"",
		(int)n, stage_shown(name, shown), (int)n, shown);
}

/* ---- packages --------------------------------------------------------------------------------------------------------- */

static int
warn_packages(struct walk *k)
{
	const struct cJSON *v;
	struct stat st;
	size_t i;

	if (!is_taken(k, "package.json") || fstatat(k->s->root_fd, "node_modules", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	i = stage_lower_bound(k->s, "node_modules/");
	if (i < k->s->entries_len && strncmp(k->s->entries[i].path, "node_modules/", 13) == 0)
		return 0;
	for (v = k->w->files->child; v; v = v->next)
		if (strncmp(v->valuestring, "!node_modules", 13) == 0)
			return 0;
	return stage_warn(
		k,
		"package.json enters, but none of node_modules: if the workflow imports packages, add \"node_modules/**\"");
}

int
stage_check_fit(struct walk *k)
{
	int r;

	if ((r = warn_addons(k)) < 0 || (r = warn_npx(k)) < 0)
		return r;
	return warn_packages(k);
}
