/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32u /* descriptors in use at once; deeper folders are moved up and done later */
#define ROUNDS_MAX 1000000u

struct removal {
	int top; /* the folder itself */
	dev_t dev;
	unsigned moved; /* folders moved up in all; also their names */
	int err;        /* the first one */
};

/* Opens a folder whatever mode its maker gave it, never through a link. */
static int
open_folder(int parent, const char *name)
{
	char path[64];
	int fd, dir, r;

	fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, 0700); /* not ours: then it is as it is */
	dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : dir;
	close(fd);
	return r;
}

static void
note(struct removal *m, int err)
{
	if (!m->err)
		m->err = err;
}

static void remove_below(struct removal *m, int fd, unsigned depth);

static void
remove_entry(struct removal *m, int parent, const char *name, unsigned depth)
{
	char up[32];
	struct stat st;
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return;
	if (errno != EISDIR && errno != EPERM) {
		note(m, errno);
		return;
	}
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) {
		note(m, errno);
		return;
	}
	if (depth >= DEPTH_MAX) {
		snprintf(up, sizeof(up), ".moved-%u", m->moved++);
		if (m->moved > ROUNDS_MAX || renameat(parent, name, m->top, up) < 0)
			note(m, errno);
		return;
	}
	fd = open_folder(parent, name);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != m->dev) {
		note(m, fd < 0 ? -fd : EXDEV);
		if (fd >= 0)
			close(fd);
		return;
	}
	remove_below(m, fd, depth + 1);
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTEMPTY)
		note(m, errno);
}

/* Takes fd over. */
static void
remove_below(struct removal *m, int fd, unsigned depth)
{
	struct dirent *e;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		note(m, errno);
		close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_entry(m, dirfd(dir), e->d_name, depth);
	closedir(dir);
}

/* see remove.h */
int
remove_tree(const char *path)
{
	struct removal m = { .top = -1 };
	unsigned before, rounds = 0;
	struct stat st;
	int fd;

	m.top = open_folder(AT_FDCWD, path);
	if (m.top < 0)
		return m.top == -ENOENT ? 0 : m.top;
	if (fstat(m.top, &st) < 0) {
		close(m.top);
		return -EIO;
	}
	m.dev = st.st_dev;
	do {
		before = m.moved;
		fd = openat(m.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0) {
			note(&m, errno);
			break;
		}
		remove_below(&m, fd, 0);
	} while (m.moved != before && !m.err && rounds++ < ROUNDS_MAX);
	close(m.top);
	if (rmdir(path) < 0 && errno != ENOENT && !m.err)
		m.err = errno;
	return -m.err;
}
