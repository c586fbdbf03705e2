/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_missing.c - patterns that found nothing, kept files and a workflow that are not there: with the nearest name. */
#include <cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/nearest.h"
#include "host/stage_walk.h"
#include "host/world.h"

/* The name in the folder that is nearest to one that is not there: "" none.  folder "" is the root. */
static void
nearest_name(const struct walk *k, const char *folder, const char *name, char out[static 256])
{
	int fd = stage_open_beneath(k->s->root_fd, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct nearest n;

	out[0] = '\0';
	nearest_init(&n, name);
	/* cppcheck-suppress readdirCalled; the program has one thread */
	while (dir && (e = readdir(dir))) {
		nearest_offer(&n, e->d_name);
		/* the name lives only until the next one */
		if (n.best == e->d_name) {
			escape_text(e->d_name, strlen(e->d_name), out, 256);
			n.best = NULL;
		}
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* Follows the pattern's plain segments down to the first that is not there. */
static int
fail_not_found(struct walk *k, size_t i)
{
	const struct pattern *p = &k->patterns[i].p;
	char folder[BUNDLE_PATH_MAX + 2] = "", name[BUNDLE_PATH_MAX + 2], near[256], shown[256],
				      above[BUNDLE_PATH_MAX + 8];
	size_t s, len = 0;
	struct stat st;
	int r = stage_fail(k, -ENOENT, i, "\"%s\" matches no file", stage_shown(k->patterns[i].text, shown));

	diag_fix(k->d,
		 "correct the pattern, or take it out; names starting with a dot need a pattern that names the dot");
	for (s = 0; s < p->segments_len; s++) {
		if (memchr(p->segments[s], '*', p->lengths[s]) || memchr(p->segments[s], '?', p->lengths[s]))
			return r;
		(void)snprintf(name, sizeof(name), "%.*s", (int)p->lengths[s], p->segments[s]);
		if (fstatat(k->s->root_fd, *folder ? folder : ".", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode))
			return r;
		len += (size_t)snprintf(folder + len, sizeof(folder) - len, "%s%s", len ? "/" : "", name);
		if (fstatat(k->s->root_fd, folder, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		len -= strlen(name) + (len > strlen(name));
		folder[len] = '\0';
		nearest_name(k, folder, name, near);
		(void)snprintf(above, sizeof(above), "../%s", name);
		if (len == 0 && !cJSON_GetObjectItemCaseSensitive(k->w->doc, "root") &&
		    fstatat(k->s->root_fd, above, &st, AT_SYMLINK_NOFOLLOW) == 0)
			diag_fix(k->d,
				 "%s is in the folder above: patterns start at \"root\", so write \"root\": \"..\"",
				 stage_shown(name, shown));
		else if (*near)
			diag_fix(k->d, "did you mean %s%s%s?", folder, len ? "/" : "", near);
		else
			diag_fix(k->d, "there is no %s in %s", stage_shown(name, shown), len ? folder : k->w->root);
		return r;
	}
	return r;
}

static int
check_patterns(struct walk *k)
{
	char shown[256];
	size_t i;
	int r;

	for (i = 0; i < k->patterns_len; i++) {
		if (k->patterns[i].found || k->patterns[i].p.excludes)
			continue;
		if (!k->patterns[i].folder)
			return fail_not_found(k, i);
		r = stage_fail(k, -ENOENT, i, "\"%s\" matches folders only, and a folder alone brings no files",
			       stage_shown(k->patterns[i].text, shown));
		diag_fix(k->d, "write \"%s/**\" to take everything below", shown);
		return r;
	}
	return 0;
}

static int
check_keep(struct walk *k)
{
	char pointer[40], shown[256];
	size_t i;
	int r = 0;

	for (i = 0; i < k->keep_len && r == 0; i++) {
		if (k->keep[i].needed)
			continue;
		(void)stage_shown(k->keep[i].path, shown);
		if (k->keep[i].seen) {
			r = stage_warn(k, "keep names %s, which would not be left out anyway", shown);
			continue;
		}
		(void)snprintf(pointer, sizeof(pointer), "/keep/%zu", i);
		world_place(k->w, pointer, false, k->d);
		r = diag_set(k->d, -ENOENT, "no pattern takes a file %s", shown);
		diag_fix(k->d, "correct the path, take it out, or list the file in \"files\"");
	}
	return r;
}

/* The workflow's own folder and program: found missing here, not a minute later inside the sandbox. */
static int
check_workflow(struct walk *k)
{
	const char *cwd = k->w->cwd ? k->w->cwd : "", *program, *script;
	char path[2 * BUNDLE_PATH_MAX + 2], shown[256];
	const struct cJSON *first = k->w->command ? k->w->command->child : NULL;
	size_t n = strlen(cwd), i;
	int r;

	(void)snprintf(path, sizeof(path), "%s/", cwd);
	i = stage_lower_bound(k->s, path);
	if (n > 0 && (i >= k->s->entries_len || strncmp(k->s->entries[i].path, path, n + 1) != 0)) {
		world_place(k->w, "/workflow/cwd", false, k->d);
		r = diag_set(k->d, -ENOENT, "the workflow's folder %s holds none of the files taken",
			     stage_shown(cwd, shown));
		diag_fix(k->d, "correct cwd, or list files below it in \"files\"");
		return r;
	}
	program = first ? first->valuestring : "";
	script = first && first->next ? first->next->valuestring : "";
	if (strcmp(program, "node") != 0 || !*script || *script == '-' || *script == '/' ||
	    strlen(script) > BUNDLE_PATH_MAX)
		return 0;
	if (strncmp(script, "./", 2) == 0)
		script += 2;
	if (strstr(script, "..") || !strrchr(script, '.'))
		return 0;
	(void)snprintf(path, sizeof(path), "%s%s%s", cwd, n ? "/" : "", script);
	i = stage_lower_bound(k->s, path);
	if (i < k->s->entries_len && strcmp(k->s->entries[i].path, path) == 0)
		return 0;
	return stage_warn(k, "the command runs %s, which is not among the files taken: add it to \"files\"",
			  stage_shown(path, shown));
}

int
stage_check_found(struct walk *k)
{
	int r;

	if ((r = check_patterns(k)) < 0 || (r = check_keep(k)) < 0)
		return r;
	return check_workflow(k);
}
