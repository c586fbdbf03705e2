/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_links.c - where the links of node_modules lead, followed within what is taken: that is how they will be followed
 * inside the sandbox, where nothing else exists. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/diag.h"
#include "host/stage_walk.h"
#include "host/world.h"
#include "proto/plan.h"

#define HOPS_MAX 40u /* as the kernel */

enum lead { LEADS_IN, LEADS_OUT, LEADS_ABSOLUTE, LEADS_ROUND, LEADS_NOWHERE, LEADS_TO_LEFT_OUT };

/* A path while it is followed: what is resolved, and what is still to come. */
struct follow {
	const struct stage *s;
	char at[2 * BUNDLE_PATH_MAX + 4];
	size_t at_len;
	char rest[4 * BUNDLE_PATH_MAX];
	unsigned hops;
};

static const struct stage_entry *
find_entry(const struct stage *s, const char *path)
{
	size_t i = stage_lower_bound(s, path);

	return i < s->entries_len && strcmp(s->entries[i].path, path) == 0 ? &s->entries[i] : NULL;
}

static bool
is_taken_folder(const struct stage *s, const char *path)
{
	char prefix[2 * BUNDLE_PATH_MAX + 8];
	size_t i;
	int n;

	if (!*path)
		return true;
	n = snprintf(prefix, sizeof(prefix), "%s/", path);
	i = stage_lower_bound(s, prefix);
	return i < s->entries_len && strncmp(s->entries[i].path, prefix, (size_t)n) == 0;
}

static bool
is_left_out(const struct stage *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->left_out_len; i++)
		if (strcmp(s->left_out[i].path, path) == 0)
			return true;
	return false;
}

static void
go_up(struct follow *f)
{
	char *slash = strrchr(f->at, '/');

	f->at_len = slash ? (size_t)(slash - f->at) : 0;
	f->at[f->at_len] = '\0';
}

/* Puts a link's target before what is still to come. */
static enum lead
go_through(struct follow *f, const struct stage_entry *link)
{
	char rest[sizeof(f->rest)];
	int n;

	if (link->target[0] == '/')
		return LEADS_ABSOLUTE;
	if (++f->hops > HOPS_MAX)
		return LEADS_ROUND;
	n = snprintf(rest, sizeof(rest), "%s%s%s", link->target, *f->rest ? "/" : "", f->rest);
	if (n < 0 || (size_t)n >= sizeof(rest))
		return LEADS_ROUND;
	memcpy(f->rest, rest, (size_t)n + 1);
	go_up(f);
	return LEADS_IN;
}

/* Takes one segment off f->rest. */
static enum lead
step(struct follow *f)
{
	const struct stage_entry *e;
	size_t n = strcspn(f->rest, "/"), skip = n + (f->rest[n] == '/');
	char name[sizeof(f->rest)];

	memcpy(name, f->rest, n);
	name[n] = '\0';
	memmove(f->rest, f->rest + skip, strlen(f->rest + skip) + 1);
	if (n == 0 || strcmp(name, ".") == 0)
		return LEADS_IN;
	if (strcmp(name, "..") == 0) {
		if (f->at_len == 0)
			return LEADS_OUT;
		go_up(f);
		return LEADS_IN;
	}
	if (f->at_len + n + 2 > sizeof(f->at))
		return LEADS_NOWHERE;
	f->at_len += (size_t)snprintf(f->at + f->at_len, sizeof(f->at) - f->at_len, "%s%s", f->at_len ? "/" : "", name);
	e = find_entry(f->s, f->at);
	if (e && e->kind == PLAN_LINK)
		return go_through(f, e);
	if (is_taken_folder(f->s, f->at) || (e && !*f->rest))
		return LEADS_IN;
	return is_left_out(f->s, f->at) ? LEADS_TO_LEFT_OUT : LEADS_NOWHERE;
}

/* Also read as text the target may not climb above root: the guest, which follows nothing, refuses that. */
static bool
climbs_out(const char *path, const char *target)
{
	size_t depth = 0, n;
	const char *s;

	for (s = path; *s; s++)
		depth += *s == '/';
	for (s = target;; s += n + 1) {
		n = strcspn(s, "/");
		if (n == 2 && memcmp(s, "..", 2) == 0) {
			if (depth-- == 0)
				return true;
		} else if (n > 0 && !(n == 1 && *s == '.')) {
			depth++;
		}
		if (!s[n])
			return false;
	}
}

static enum lead
follow(struct follow *f, const struct stage *s, const struct stage_entry *link)
{
	enum lead lead;

	f->s = s;
	f->hops = 0;
	f->rest[0] = '\0';
	f->at_len = (size_t)snprintf(f->at, sizeof(f->at), "%s", link->path);
	lead = climbs_out(link->path, link->target) && link->target[0] != '/' ? LEADS_OUT : go_through(f, link);
	while (lead == LEADS_IN && *f->rest)
		lead = step(f);
	return lead;
}

static int
fail_link(struct walk *k, const struct stage_entry *e, struct follow *f, enum lead lead)
{
	char from[256], to[256], at[256];
	struct stat st;
	bool exists;
	int r;

	(void)stage_shown(e->path, from);
	(void)stage_shown(e->target, to);
	(void)stage_shown(f->at, at);
	switch (lead) {
	case LEADS_ABSOLUTE:
		r = stage_fail(k, -EPERM, SIZE_MAX, "the link %s leads to %s, an absolute path of this machine", from,
			       to);
		diag_fix(k->d, "install the package into node_modules (npm ci), or leave the link out with \"!%s\"",
			 from);
		return r;
	case LEADS_OUT:
		r = stage_fail(k, -EPERM, SIZE_MAX, "the link %s leads to %s, outside root", from, to);
		diag_fix(k->d, "set \"root\" to a folder that holds both, or leave the link out with \"!%s\"", from);
		return r;
	case LEADS_ROUND:
		r = stage_fail(k, -EPERM, SIZE_MAX, "the link %s leads to %s, which leads back: a loop", from, to);
		diag_fix(k->d, "remove the link, or leave it out with \"!%s\"", from);
		return r;
	case LEADS_IN:
	case LEADS_NOWHERE:
	case LEADS_TO_LEFT_OUT:
		break;
	}
	/* It stopped at the first folder that nothing was taken of: the message is about where it was going. */
	if (*f->rest && strlen(f->rest) + f->at_len + 2 < sizeof(f->at)) {
		(void)snprintf(f->at + f->at_len, sizeof(f->at) - f->at_len, "/%s", f->rest);
		(void)stage_shown(f->at, at);
	}
	exists = fstatat(k->s->root_fd, f->at, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (exists) {
		r = stage_fail(k, -EPERM, SIZE_MAX, "the link %s leads to %s (%s), which no pattern takes", from, to,
			       at);
		diag_fix(k->d,
			 S_ISDIR(st.st_mode) ? "list \"%s/**\" too, or leave the link out with \"!%s\""
					     : "list \"%s\" too, or leave the link out with \"!%s\"",
			 at, from);
	} else {
		r = stage_fail(k, -EPERM, SIZE_MAX, "the link %s leads to %s, which does not exist", from, to);
		diag_fix(k->d, "install the package again (npm ci), or leave the link out with \"!%s\"", from);
	}
	return r;
}

/* A link to a file that was left out is left out with it.  Goes on until no link is added to what is left out, since links
 * may lead to links. */
static int
drop_link(struct walk *k, size_t i)
{
	struct stage *s = k->s;
	int r = stage_leave_out(k, s->entries[i].path, "link to a file left out");

	free(s->entries[i].path);
	free(s->entries[i].target);
	memmove(&s->entries[i], &s->entries[i + 1], (s->entries_len - i - 1) * sizeof(*s->entries));
	s->entries_len--;
	return r;
}

int
stage_check_links(struct walk *k)
{
	struct follow *f = malloc(sizeof(*f));
	bool again = true;
	enum lead lead;
	size_t i;
	int r = 0;

	if (!f)
		return stage_out_of_memory(k);
	while (again && r == 0) {
		again = false;
		for (i = 0; i < k->s->entries_len && r == 0; i++) {
			if (k->s->entries[i].kind != PLAN_LINK)
				continue;
			lead = follow(f, k->s, &k->s->entries[i]);
			if (lead == LEADS_TO_LEFT_OUT) {
				r = drop_link(k, i--);
				again = true;
			} else if (lead != LEADS_IN) {
				r = fail_link(k, &k->s->entries[i], f, lead);
			}
		}
	}
	free(f);
	return r;
}
