/* SPDX-License-Identifier: GPL-2.0-or-later
 * cgroup_find.c - where this process may make groups, see cgroup.h.
 *
 * Version 1: below the caller's own group of the controller.  Version 2: a group that holds processes cannot hand controllers
 * on to groups below it (but for the root), so the new one stands beside the caller's own.  Groups of others are never
 * changed: where a controller is not handed on already, the limit is not enforced. */
#include "host/cgroup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/process.h"

static const char *const controllers[CGROUP_KINDS] = {
	[CGROUP_PIDS] = "pids", [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu"
};

/* A word of a list; at is right behind its separator. */
static bool
has_word(const char *list, const char *word, const char *separators)
{
	size_t len = strlen(word), n;

	for (; *list; list += n + (list[n] != '\0')) {
		n = strcspn(list, separators);
		if (n == len && memcmp(list, word, len) == 0)
			return true;
	}
	return false;
}

/* see cgroup.h */
bool
cgroup_line(const char *line, const char *controller, char *path, size_t size)
{
	const char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
	char names[256];
	size_t n;

	if (!at || at[1] != '/' || (size_t)(at - list) > sizeof(names))
		return false;
	n = (size_t)(at - list) - 1;
	memcpy(names, list + 1, n);
	names[n] = '\0';
	if (controller ? !has_word(names, controller, ",") : names[0] != '\0' || strncmp(line, "0:", 2) != 0)
		return false;
	n = strcspn(at + 1, "\n");
	if (n >= size)
		return false;
	memcpy(path, at + 1, n);
	path[n] = '\0';
	return true;
}

/* The next field of mountinfo, with its \040 made characters again. */
static bool
next_field(const char **at, char *out, size_t size)
{
	size_t n = 0;
	const char *s = *at;

	while (*s == ' ')
		s++;
	if (*s == '\0' || *s == '\n')
		return false;
	for (; *s && *s != ' ' && *s != '\n'; s++) {
		if (n + 1 >= size)
			return false;
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			out[n++] = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			out[n++] = *s;
		}
	}
	out[n] = '\0';
	*at = s;
	return true;
}

/* see cgroup.h */
bool
cgroup_mount(const char *line, const char *controller, const char *own, char *dir, size_t size, size_t *base)
{
	char skipped[CGROUP_PATH_MAX], root[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX], type[32], options[512];
	const char *at = line, *rest = strstr(line, " - ");
	size_t len;
	int i, n;

	if (!rest)
		return false;
	rest += 3;
	if (!next_field(&rest, type, sizeof(type)) || strcmp(type, controller ? "cgroup" : "cgroup2") != 0)
		return false;
	for (i = 0; i < 3; i++)
		if (!next_field(&at, skipped, sizeof(skipped)))
			return false;
	if (!next_field(&at, root, sizeof(root)) || !next_field(&at, point, sizeof(point)) ||
	    !next_field(&rest, skipped, sizeof(skipped)) || !next_field(&rest, options, sizeof(options)))
		return false;
	if (controller && !has_word(options, controller, ","))
		return false;
	/* Groups outside of a cgroup namespace show as /.. and more. */
	if (strstr(own, "/..") || strstr(root, "/.."))
		return false;
	len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(own, root, len) != 0 || (own[len] != '/' && own[len] != '\0'))
		return false;
	own += len;
	n = snprintf(dir, size, "%s%s", point, strcmp(own, "/") == 0 ? "" : own);
	*base = strlen(point);
	return n > 0 && (size_t)n < size;
}

/* Each line of a file until one is taken. */
struct search {
	const char *root, *controller;
	char own[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX];
	size_t base;
};

static bool
take_own(struct search *s, const char *line)
{
	return cgroup_line(line, s->controller, s->own, sizeof(s->own));
}

static bool
take_mount(struct search *s, const char *line)
{
	char dir[CGROUP_PATH_MAX];
	int n;

	if (!cgroup_mount(line, s->controller, s->own, dir, sizeof(dir), &s->base))
		return false;
	n = snprintf(s->dir, sizeof(s->dir), "%s%s", s->root, dir);
	s->base += strlen(s->root);
	return n > 0 && (size_t)n < sizeof(s->dir);
}

static bool
each_line(struct search *s, const char *file, bool (*take)(struct search *s, const char *line))
{
	char path[CGROUP_PATH_MAX], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", s->root, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		found = take(s, line);
	free(line);
	fclose(f);
	return found;
}

/* see cgroup.h */
bool
cgroup_own(const char *root, const char *controller, char *dir, size_t size, size_t *base)
{
	struct search s = { .root = root, .controller = controller };
	int n;

	if (!each_line(&s, "/proc/self/cgroup", take_own) || !each_line(&s, "/proc/self/mountinfo", take_mount))
		return false;
	*base = s.base;
	n = snprintf(dir, size, "%s", s.dir);
	return n > 0 && (size_t)n < size;
}

static void __attribute__((format(printf, 2, 3))) because(struct cgroup_place *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->why, sizeof(p->why), format, ap);
	va_end(ap);
}

/* The group can be made in dir, as far as permissions tell. */
static bool
can_make(struct cgroup_place *p, const char *dir, const char *run_id, unsigned version)
{
	size_t i = strlen(dir);
	int n;

	if (access(dir, W_OK | X_OK) < 0) {
		because(p, "%.90s: %s", dir, errno == EACCES ? "not delegated to this user" : strerror(errno));
		return false;
	}
	while (i > 0 && (unsigned char)dir[i - 1] >= ' ') /* it will stand in a line of the lease */
		i--;
	n = snprintf(p->path, sizeof(p->path), "%s/agenttwin-%s", dir, run_id);
	if (i > 0 || n < 0 || (size_t)n >= sizeof(p->path)) {
		p->path[0] = '\0';
		because(p, "the group's path is too long or has line breaks");
		return false;
	}
	p->why[0] = '\0';
	p->version = version;
	return true;
}

/* The folder hands the controller on to groups below it. */
static bool
hands_on(const char *dir, const char *controller)
{
	char path[CGROUP_PATH_MAX + 32], text[512];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	return process_read(path, text, sizeof(text)) > 0 && has_word(text, controller, " \n");
}

static bool
is_there(const char *dir, const char *controller)
{
	char path[CGROUP_PATH_MAX + 32], text[512];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	return process_read(path, text, sizeof(text)) > 0 && has_word(text, controller, " \n");
}

/* The caller's own group, where it may (the root), else the one above it, else the root. */
static bool
find_v2(struct cgroup_place *p, struct search *s, const char *controller, const char *run_id)
{
	char dir[CGROUP_PATH_MAX], top[CGROUP_PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", s->dir);
	snprintf(top, sizeof(top), "%.*s", (int)s->base, s->dir);
	if (!is_there(top, controller)) {
		because(p, "no controller %s in the control groups here", controller);
		snprintf(p->fix, sizeof(p->fix), "use a kernel or container with the controller %s", controller);
		return false;
	}
	snprintf(p->fix, sizeof(p->fix), "%s",
		 geteuid() == 0 ? "systemd-run --scope -p Delegate=yes agenttwin-host ..."
				: "systemd-run --user --scope -p Delegate=yes agenttwin-host ...");
	if (hands_on(dir, controller) && can_make(p, dir, run_id, 2))
		return true;
	slash = strrchr(dir + s->base, '/');
	if (slash)
		*slash = '\0';
	if (slash && hands_on(dir, controller) && can_make(p, dir, run_id, 2))
		return true;
	if (hands_on(top, controller) && access(top, W_OK) == 0)
		return can_make(p, top, run_id, 2);
	if (!p->why[0])
		because(p, "%.80s hands no controller %s on", slash ? dir : s->dir, controller);
	return false;
}

static void
find_one(const char *root, const char *run_id, enum cgroup_kind kind, struct cgroup_place *p)
{
	struct search s = { .root = root, .controller = controllers[kind] };

	if (each_line(&s, "/proc/self/cgroup", take_own) && each_line(&s, "/proc/self/mountinfo", take_mount)) {
		snprintf(p->fix, sizeof(p->fix), "run as root: sudo agenttwin-host ...");
		(void)can_make(p, s.dir, run_id, 1);
		return;
	}
	s = (struct search){ .root = root };
	if (each_line(&s, "/proc/self/cgroup", take_own) && each_line(&s, "/proc/self/mountinfo", take_mount)) {
		(void)find_v2(p, &s, controllers[kind], run_id);
		return;
	}
	because(p, "no control groups are mounted");
	snprintf(p->fix, sizeof(p->fix), "mount -t cgroup2 none /sys/fs/cgroup");
}

/* see cgroup.h */
void
cgroup_find(const char *root, const char *run_id, const struct cgroup_limits *asked, struct cgroup *c)
{
	const bool is_asked[CGROUP_KINDS] = { [CGROUP_PIDS] = asked->pids > 0,
					      [CGROUP_MEMORY] = asked->memory_bytes > 0,
					      [CGROUP_CPU] = asked->cpu_milli > 0 };
	int k;

	memset(c, 0, sizeof(*c));
	c->asked = *asked;
	for (k = 0; k < CGROUP_KINDS; k++)
		if (is_asked[k])
			find_one(root, run_id, (enum cgroup_kind)k, &c->places[k]);
		else
			because(&c->places[k], "not asked");
}
