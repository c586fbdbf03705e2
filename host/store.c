/* SPDX-License-Identifier: GPL-2.0-or-later
 * store.c - see store.h.  Under sudo this runs as root in a folder that another user controls: folders are opened without
 * following a link, files are created exclusively. */
#include "host/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/diag.h"
#include "host/store_list.h"

static void
owner(struct store *s)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	char *end;
	unsigned long v;

	s->uid = (uid_t)-1;
	s->gid = (gid_t)-1;
	if (geteuid() != 0 || !uid || !gid || !*uid || !*gid)
		return;
	v = strtoul(uid, &end, 10);
	if (*end || v >= UINT32_MAX)
		return;
	s->uid = (uid_t)v;
	v = strtoul(gid, &end, 10);
	if (*end || v >= UINT32_MAX)
		s->uid = (uid_t)-1;
	else
		s->gid = (gid_t)v;
}

static void
give(const struct store *s, int fd)
{
	if (s->uid != (uid_t)-1 && fchown(fd, s->uid, s->gid) < 0)
		log_line(LOG_LEVEL_WARN, "receipt: cannot give it to uid %u: %s", s->uid, strerror(errno));
}

/* Opens name below fd, making it when missing.  Descriptor or -errno. */
static int
folder(const struct store *s, int fd, const char *name)
{
	bool made = mkdirat(fd, name, 0755) == 0;
	int sub;

	if (!made && errno != EEXIST)
		return -errno;
	sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0)
		return -errno;
	if (made)
		give(s, sub);
	return sub;
}

static void
ignore_file(const struct store *s, int fd)
{
	int f = openat(fd, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (f < 0)
		return;
	if (write(f, "*\n", 2) == 2)
		give(s, f);
	close(f);
}

static int
in_root(struct store *s, const char *root)
{
	int fd, top, receipts;

	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	top = folder(s, fd, ".agenttwin");
	close(fd);
	if (top < 0)
		return top;
	ignore_file(s, top);
	receipts = folder(s, top, "receipts");
	close(top);
	if (receipts >= 0 && faccessat(receipts, ".", W_OK, AT_EACCESS) < 0) {
		int r = -errno;

		close(receipts);
		return r;
	}
	if (receipts >= 0)
		snprintf(s->path, sizeof(s->path), "%s/.agenttwin/receipts", root);
	return receipts;
}

/* Every missing folder on the way is made. */
static int
in_state_home(struct store *s)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[4000], *at;
	int fd;

	if (state && state[0] == '/')
		snprintf(path, sizeof(path), "%s/agenttwin", state);
	else if (home && home[0] == '/')
		snprintf(path, sizeof(path), "%s/.local/state/agenttwin", home);
	else
		return -ENOENT;
	for (at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES && errno != EPERM)
			return -errno;
		*at = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	give(s, fd);
	snprintf(s->path, sizeof(s->path), "%s", path);
	return fd;
}

/* What stands in the receipt's place goes before anything runs: an old receipt must not pass for the new one when that
 * cannot be written.  Only a receipt or an empty file goes; not a device, a link, or a file of another kind. */
static int
make_way(int dir, const char *name)
{
	char head[64] = "";
	struct stat st;
	int fd, r = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	if (st.st_size) {
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (read(fd, head, sizeof(head) - 1) < 0)
			r = -errno;
		else if (!strstr(head, "\"agenttwin\": \"receipt/"))
			r = -EEXIST;
		close(fd);
	}
	if (r == 0 && unlinkat(dir, name, 0) < 0)
		r = -errno;
	return r;
}

static int
for_file(struct store *s, const char *file)
{
	const char *slash = strrchr(file, '/');
	char dir[4096];
	int fd, r;

	if (!slash) {
		snprintf(dir, sizeof(dir), ".");
		snprintf(s->name, sizeof(s->name), "%s", file);
	} else {
		snprintf(dir, sizeof(dir), "%.*s", slash == file ? 1 : (int)(slash - file), file);
		snprintf(s->name, sizeof(s->name), "%s", slash + 1);
	}
	if (!s->name[0] || strlen(s->name) > 200 || strlen(file) >= sizeof(dir))
		return -EINVAL;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(s->path, sizeof(s->path), "%s", file);
	if (fd < 0)
		return -errno;
	r = make_way(fd, s->name);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* Before a run begins, so that its own receipt is the last one that is kept. */
static void
prune(const struct store *s)
{
	struct store_prune p = { .keep = STORE_KEEP - 1, .days = STORE_DAYS, .now_ms = (uint64_t)time(NULL) * 1000 };
	int r = store_prune(s->dir_fd, &p);

	if (r == 0 && p.failed)
		r = p.error;
	if (r < 0)
		log_line(LOG_LEVEL_WARN, "old receipts cannot be removed: %s", strerror(-r));
}

static int
events_create(struct store *s)
{
	int fd;

	snprintf(s->temporary, sizeof(s->temporary), ".%s.tmp", s->name);
	if (unlinkat(s->dir_fd, s->events, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(s->dir_fd, s->events, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	give(s, fd);
	return fd;
}

int
store_open(struct store *s, const char *root, const char *run_id, const char *file, struct diag *d)
{
	size_t n;
	int fd;

	memset(s, 0, sizeof(*s));
	owner(s);
	s->dir_fd = file ? for_file(s, file) : in_root(s, root);
	if (!file && (s->dir_fd == -EROFS || s->dir_fd == -EACCES || s->dir_fd == -EPERM)) {
		fd = in_state_home(s);
		if (fd != -ENOENT) /* else there is no such folder to speak of */
			s->dir_fd = fd;
	}
	if (s->dir_fd < 0) {
		fd = s->dir_fd;
		s->dir_fd = -1;
		snprintf(d->file, sizeof(d->file), "%.500s", file ? file : root);
		diag_fix(d, "name a file in a folder that you can write: --receipt FILE");
		if (fd == -EEXIST)
			return diag_set(d, fd, "this file is there and is not a receipt; it is not overwritten");
		if (fd == -EISDIR || fd == -EINVAL)
			return diag_set(d, fd, "the receipt's name is not one of a file");
		return diag_set(d, fd, "the receipt's folder cannot be used: %s", strerror(-fd));
	}
	if (!file) {
		prune(s);
		snprintf(s->name, sizeof(s->name), "%s.json", run_id);
		n = strlen(s->path);
		snprintf(s->path + n, sizeof(s->path) - n, "/%s", s->name);
		snprintf(s->events, sizeof(s->events), "%s.events.jsonl", run_id);
	} else {
		snprintf(s->events, sizeof(s->events), "%s.events.jsonl", s->name);
	}
	fd = events_create(s);
	if (fd < 0) {
		snprintf(d->file, sizeof(d->file), "%.500s", s->path);
		return diag_set(d, fd, "the event file beside the receipt cannot be made: %s", strerror(-fd));
	}
	return fd;
}

FILE *
store_temporary(struct store *s)
{
	int fd;
	FILE *f;

	if (unlinkat(s->dir_fd, s->temporary, 0) < 0 && errno != ENOENT)
		return NULL;
	fd = openat(s->dir_fd, s->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return NULL;
	give(s, fd);
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}

int
store_commit(struct store *s, FILE *f)
{
	int r = 0;

	if (fflush(f) != 0 || ferror(f))
		r = errno ? -errno : -EIO;
	if (r == 0 && fsync(fileno(f)) < 0 && errno != EINVAL)
		r = -errno;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(s->dir_fd, s->temporary, s->dir_fd, s->name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(s->dir_fd, s->temporary, 0);
	else if (fsync(s->dir_fd) < 0 && errno != EINVAL && errno != EROFS)
		r = -errno;
	return r;
}

int
store_read(struct store *s)
{
	int fd = openat(s->dir_fd, s->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

void
store_abandon(struct store *s, FILE *f)
{
	if (f)
		fclose(f);
	unlinkat(s->dir_fd, s->temporary, 0);
}

void
store_forget(struct store *s)
{
	if (s->dir_fd >= 0)
		unlinkat(s->dir_fd, s->events, 0);
}

void
store_wipe(struct store *s)
{
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	s->dir_fd = -1;
}

#define RECEIPT_NAME_LEN 41u /* of RUNID.json */

static bool
is_receipt_name(const char *name)
{
	size_t n = strlen(name);

	return n == RECEIPT_NAME_LEN && name[0] != '.' && strcmp(name + 36, ".json") == 0;
}

/* The last by name in a folder: names of runs sort by time. */
static int
latest(const char *dir, char *path, size_t size)
{
	char best[64] = "";
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return -errno;
	/* cppcheck-suppress readdirCalled; the program has one thread */
	while ((e = readdir(d)))
		if (is_receipt_name(e->d_name) && strcmp(e->d_name, best) > 0)
			memcpy(best, e->d_name, RECEIPT_NAME_LEN + 1);
	closedir(d);
	if (!best[0])
		return -ENOENT;
	snprintf(path, size, "%s/%s", dir, best);
	return 0;
}

int
store_find(const char *what, char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char dirs[2][4000] = { ".agenttwin/receipts", "" };
	struct stat st;
	size_t i;
	int r = -ENOENT;

	if (state && state[0] == '/')
		snprintf(dirs[1], sizeof(dirs[1]), "%s/agenttwin", state);
	else if (home)
		snprintf(dirs[1], sizeof(dirs[1]), "%s/.local/state/agenttwin", home);
	if (strcmp(what, "latest") != 0 && stat(what, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(dirs[0], sizeof(dirs[0]), "%.3900s/.agenttwin/receipts", what);
		r = latest(dirs[0], path, size);
		return r < 0 ? latest(what, path, size) : r;
	}
	if (strcmp(what, "latest") != 0 && access(what, R_OK) == 0) {
		snprintf(path, size, "%s", what);
		return 0;
	}
	for (i = 0; i < 2 && r < 0; i++) {
		if (!dirs[i][0])
			continue;
		if (strcmp(what, "latest") == 0) {
			r = latest(dirs[i], path, size);
		} else if (!strchr(what, '/')) {
			snprintf(path, size, "%s/%s.json", dirs[i], what);
			r = access(path, R_OK) == 0 ? 0 : -errno;
		}
	}
	return r;
}
