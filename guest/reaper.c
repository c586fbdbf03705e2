/* SPDX-License-Identifier: GPL-2.0-or-later
 * reaper.c - see reaper.h.
 *
 * Runs as: root, in the monitor (local: the caller).  Input: /proc, whose text a process can shape only in its own name, which
 * is skipped by looking for the last ')' and for lines that start with the field's name.
 * A hostile sender gains nothing: a process is killed by a descriptor that is opened before it is judged, so that a reused
 * number cannot hit another; by uid only ids that are the workflow's own. */
#include "guest/reaper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/drop.h"

#define SEEN_MAX 32768 /* processes looked at in a round; more are found in the next */

struct process {
	pid_t pid, parent;
	bool dead; /* zombie */
	bool is_ours;
};
static struct process table[SEEN_MAX];

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static ssize_t
read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	buf[n] = '\0';
	return n;
}

/* State and parent from /proc/PID/stat. */
static int
read_stat(pid_t pid, struct process *p)
{
	char path[40], buf[1024], *s, state;
	long parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_file(path, buf, sizeof(buf)) <= 0 || !(s = strrchr(buf, ')')) || s[1] != ' ' || s[2] == '\0' ||
	    s[3] != ' ')
		return -ESRCH;
	state = s[2];
	parent = strtol(s + 4, NULL, 10);
	*p = (struct process){ .pid = pid, .parent = (pid_t)parent, .dead = state == 'Z' || state == 'X' };
	return 0;
}

/* The text after "NAME:\t" in /proc/PID/status, which escapes line feeds in a process's own name. */
static const char *
status_field(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[40];
	const char *s;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_file(path, buf, size) <= 0)
		return NULL;
	s = strstr(buf, name);
	return s ? s + strlen(name) : NULL;
}

static bool
has_uid(pid_t pid, uint32_t uid)
{
	char buf[4096], *end;
	const char *s = status_field(pid, "\nUid:\t", buf, sizeof(buf));

	for (int i = 0; s && i < 4; i++) {
		unsigned long v = strtoul(s, &end, 10);

		if (end == s)
			return false;
		if (v == uid)
			return true;
		s = end;
	}
	return false;
}

/* Inside a process namespace below ours a process has more numbers than one.  NSpid lists them, ours first. */
static bool
is_in_room(pid_t pid)
{
	char buf[4096];
	const char *s = status_field(pid, "\nNSpid:\t", buf, sizeof(buf));
	size_t len = s ? strcspn(s, "\n") : 0;

	return s && memchr(s, '\t', len) != NULL;
}

static int
table_read(void)
{
	char buf[8192] __attribute__((aligned(8)));
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	long n;

	if (fd < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent_raw *d = (const void *)(buf + at);
			long pid = strtol(d->name, NULL, 10);

			at += d->len;
			if (pid > 0 && count < SEEN_MAX && read_stat((pid_t)pid, &table[count]) == 0)
				count++;
		}
	}
	close(fd);
	return n < 0 ? -EIO : count;
}

static const struct process *
table_find(int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (table[i].pid == pid)
			return &table[i];
	return NULL;
}

/* A descendant of this process, but not one of the twins. */
static bool
is_descendant(const struct reaper *r, int count, const struct process *p)
{
	pid_t self = getpid();

	for (int depth = 0; p && depth < 4096; depth++) {
		if (p->pid == r->keep)
			return false;
		if (p->parent == self)
			return p->pid != self;
		p = table_find(count, p->parent);
	}
	return false;
}

static bool
is_of_run(const struct reaper *r, int count, const struct process *p)
{
	if (p->dead || p->pid == r->keep || p->pid == getpid())
		return false;
	switch (r->way) {
	case REAPER_ROOM:
		return p->pid != r->room_init && is_in_room(p->pid);
	case REAPER_UID:
		return has_uid(p->pid, r->uid);
	case REAPER_TREE:
		return is_descendant(r, count, p);
	}
	return false;
}

/* Marks and counts. */
static int
judge(const struct reaper *r)
{
	int count = table_read(), ours = 0;

	for (int i = 0; i < count; i++) {
		table[i].is_ours = is_of_run(r, count, &table[i]);
		ours += table[i].is_ours;
	}
	for (int i = 0, at = 0; i < count; i++)
		if (table[i].is_ours)
			table[at++] = table[i];
	return count < 0 ? count : ours;
}

int
reaper_count(const struct reaper *r)
{
	int ours = judge(r);

	/* A child whose number wrapped around, of a parent that ended meanwhile, is behind one walk through /proc: not behind two. */
	return ours == 0 ? judge(r) : ours;
}

/* Opens first and judges then: what is killed is what was judged. */
static void
kill_one(const struct reaper *r, const struct process *p)
{
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0u);
	struct process now;
	bool same;

	if (fd < 0)
		return;
	if (r->way == REAPER_UID)
		same = has_uid(p->pid, r->uid);
	else
		same = read_stat(p->pid, &now) == 0 && now.parent == p->parent;
	if (same)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
	close(fd);
}

/* All of a uid in one call, from a process that has no other power.  A fork that races it meets the next round. */
static void
kill_by_uid(const struct reaper *r)
{
	const struct timespec pause = { 0, 1000000 };
	pid_t child = fork();

	if (child == 0) {
		(void)syscall(SYS_close_range, 0u, ~0u,
			      0u); /* the only process of ours that lives beside those of its uid */
		if (drop_identity(r->uid, r->gid) == 0)
			(void)kill(-1, SIGKILL);
		_exit(0);
	}
	if (child <= 0)
		return;
	/* Once it has that uid it may be stopped by those that it is to kill: it is not waited for longer than it needs. */
	for (int i = 0; i < 200; i++) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return;
		(void)nanosleep(&pause, NULL);
	}
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

int
reaper_kill(const struct reaper *r)
{
	int ours;

	if (r->way == REAPER_ROOM)
		return r->room_init > 0 && kill(r->room_init, SIGKILL) < 0 && errno != ESRCH ? -errno : 0;
	if (r->way == REAPER_UID) {
		if (r->uid == 0)
			return -EPERM;
		kill_by_uid(r);
	}
	ours = judge(r);
	for (int i = 0; i < ours; i++)
		kill_one(r, &table[i]);
	return ours < 0 ? ours : 0;
}
