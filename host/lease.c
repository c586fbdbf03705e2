/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/diag.h"
#include "host/process.h"

#define FOLDERS_MAX 3u
#define SUFFIX ".lease"

/* A value stands on one line of its own. */
static bool
is_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ')
			return false;
	return true;
}

/* Names the file: letters, digits, '-'. */
static bool
is_run_id(const char *s)
{
	return *s && strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(s);
}

/* see lease.h */
int
lease_render(const struct lease *l, char *out, size_t size)
{
	size_t i;
	int n, more;

	if (!is_run_id(l->run_id) || !l->backend[0] || !is_line(l->backend) || !is_line(l->id) || !is_line(l->folder) ||
	    !is_line(l->boot_id))
		return -EINVAL;
	n = snprintf(out, size,
		     "agenttwin-lease 1\nbackend %s\nrun_id %s\nid %s\nstart_time %llu\nexpires_s %llu\nhost_pid %llu\n"
		     "host_start_time %llu\nboot_id %s\nfolder %s\n",
		     l->backend, l->run_id, l->id, (unsigned long long)l->start_time, (unsigned long long)l->expires_s,
		     (unsigned long long)l->host_pid, (unsigned long long)l->host_start_time, l->boot_id, l->folder);
	for (i = 0; i < LEASE_CGROUPS && n >= 0 && (size_t)n < size; i++) {
		if (!l->cgroups[i][0])
			continue;
		if (!is_line(l->cgroups[i]))
			return -EINVAL;
		more = snprintf(out + n, size - (size_t)n, "cgroup %s\n", l->cgroups[i]);
		n = more < 0 ? more : n + more;
	}
	return n < 0 || (size_t)n >= size ? -ENOSPC : n;
}

/* Takes the line "name value\n" at *at.  Copies the value; -EPROTO when it is another line or too long. */
static int
take(const char **at, const char *end, const char *name, char *out, size_t size)
{
	size_t len = strlen(name), n;
	const char *nl;

	if ((size_t)(end - *at) <= len || memcmp(*at, name, len) != 0 || (*at)[len] != ' ')
		return -EPROTO;
	*at += len + 1;
	nl = memchr(*at, '\n', (size_t)(end - *at));
	if (!nl)
		return -EPROTO;
	n = (size_t)(nl - *at);
	if (n >= size || memchr(*at, '\0', n))
		return -EPROTO;
	memcpy(out, *at, n);
	out[n] = '\0';
	*at = nl + 1;
	return is_line(out) ? 0 : -EPROTO;
}

static int
take_number(const char **at, const char *end, const char *name, uint64_t *out)
{
	char text[24], *stop;

	if (take(at, end, name, text, sizeof(text)) < 0 || text[0] < '0' || text[0] > '9')
		return -EPROTO;
	errno = 0;
	*out = strtoull(text, &stop, 10);
	return errno || *stop ? -EPROTO : 0;
}

/* see lease.h */
int
lease_parse(const char *text, size_t len, struct lease *out)
{
	const char *at = text, *end = text + len;
	char version[4];
	struct lease l;
	size_t i;

	memset(&l, 0, sizeof(l));
	if (take(&at, end, "agenttwin-lease", version, sizeof(version)) < 0 || strcmp(version, "1") != 0 ||
	    take(&at, end, "backend", l.backend, sizeof(l.backend)) < 0 || !l.backend[0] ||
	    take(&at, end, "run_id", l.run_id, sizeof(l.run_id)) < 0 || !is_run_id(l.run_id) ||
	    take(&at, end, "id", l.id, sizeof(l.id)) < 0 || take_number(&at, end, "start_time", &l.start_time) < 0 ||
	    take_number(&at, end, "expires_s", &l.expires_s) < 0 ||
	    take_number(&at, end, "host_pid", &l.host_pid) < 0 ||
	    take_number(&at, end, "host_start_time", &l.host_start_time) < 0 ||
	    take(&at, end, "boot_id", l.boot_id, sizeof(l.boot_id)) < 0 ||
	    take(&at, end, "folder", l.folder, sizeof(l.folder)) < 0)
		return -EPROTO;
	for (i = 0; i < LEASE_CGROUPS && at != end; i++)
		if (take(&at, end, "cgroup", l.cgroups[i], sizeof(l.cgroups[i])) < 0 || !l.cgroups[i][0])
			return -EPROTO;
	if (at != end)
		return -EPROTO;
	memcpy(l.path, out->path, sizeof(l.path));
	*out = l;
	return 0;
}

/* Where leases may lie, the first is where new ones go.  Root's are in /run whatever the environment says: under sudo it may
 * name a folder of the invoking user. */
static size_t
candidates(char out[FOLDERS_MAX][400])
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct passwd *pw;
	struct stat st;
	size_t n = 0;

	if (geteuid() == 0) {
		if (stat("/run", &st) == 0)
			snprintf(out[n++], 400, "/run/agenttwin/leases");
	} else {
		/* Somebody else's folder (su, sudo -u) is none. */
		if (dir && *dir == '/' && strlen(dir) < 300 && stat(dir, &st) == 0 && st.st_uid == geteuid())
			snprintf(out[n++], 400, "%s/agenttwin/leases", dir);
		else
			dir = NULL;
		snprintf(out[n], 400, "/run/user/%u", (unsigned)geteuid());
		if ((!dir || strncmp(out[0], out[n], strlen(out[n])) != 0) && stat(out[n], &st) == 0 &&
		    st.st_uid == geteuid())
			snprintf(out[n++], 400, "/run/user/%u/agenttwin/leases", (unsigned)geteuid());
	}
	pw = getpwuid(geteuid());
	dir = pw && pw->pw_dir[0] == '/' ? pw->pw_dir : getenv("HOME");
	if (dir && *dir == '/' && strlen(dir) < 300)
		snprintf(out[n++], 400, "%s/.agenttwin/leases", dir);
	return n;
}

/* Both levels ours alone: who can write there could name processes for us to kill. */
static int
make_private(char *folder)
{
	char *slash = strrchr(folder, '/');
	struct stat st;
	int k;

	for (k = 0; k < 2; k++) {
		if (k == 0)
			*slash = '\0';
		else
			*slash = '/';
		if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
			k = -errno;
			*slash = '/';
			return k;
		}
		if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
			*slash = '/';
			return -EPERM;
		}
	}
	return 0;
}

/* see lease.h */
int
lease_folder(char *out, size_t size)
{
	char all[FOLDERS_MAX][400];
	size_t n = candidates(all), i;
	int r = -ENOENT;

	for (i = 0; i < n; i++)
		if ((r = make_private(all[i])) == 0)
			return snprintf(out, size, "%s", all[i]) < (int)size ? 0 : -ENAMETOOLONG;
	return r;
}

static int
write_whole(int dir, const char *name, const char *text, size_t len)
{
	int fd, r = 0;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		r = errno ? -errno : -EIO;
	close(fd);
	return r;
}

/* see backend.h */
int
lease_write(struct lease *l, struct diag *d)
{
	char folder[400], text[LEASE_TEXT_MAX], name[64], tmp[64];
	int dir = -1, r, n;

	l->host_pid = (uint64_t)getpid();
	if ((r = process_start_time(getpid(), &l->host_start_time)) < 0 || (r = process_boot_id(l->boot_id)) < 0)
		return diag_set(d, r, "/proc/self/stat cannot be read: is /proc mounted?");
	if ((r = n = lease_render(l, text, sizeof(text))) < 0)
		return diag_set(d, r, "the lease of run %s cannot be written down", l->run_id);
	if ((r = lease_folder(folder, sizeof(folder))) < 0)
		goto out;
	snprintf(name, sizeof(name), "%s" SUFFIX, l->run_id);
	snprintf(tmp, sizeof(tmp), ".%s.tmp", l->run_id);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0) {
		r = -errno;
		goto out;
	}
	if ((r = write_whole(dir, tmp, text, (size_t)n)) < 0)
		goto out;
	if (renameat(dir, tmp, dir, name) < 0 || fsync(dir) < 0)
		r = -errno;
	if (r == 0)
		snprintf(l->path, sizeof(l->path), "%s/%s", folder, name);
out:
	if (dir >= 0)
		close(dir);
	if (r == 0)
		return 0;
	diag_fix(d, "make $XDG_RUNTIME_DIR or ~/.agenttwin a folder that only you can write (root: /run/agenttwin)");
	return diag_set(d, r, "lease for run %s: %s", l->run_id, strerror(-r));
}

/* see backend.h */
int
lease_drop(const struct lease *l)
{
	if (!l->path[0])
		return 0;
	return unlink(l->path) < 0 && errno != ENOENT ? -errno : 0;
}

/* False when it is gone: its run ended meanwhile. */
static bool
read_one(int dir, const char *folder, const char *name, struct lease *l)
{
	char text[LEASE_TEXT_MAX + 1];
	struct stat st;
	ssize_t n = -1;
	int fd;

	memset(l, 0, sizeof(*l));
	if (snprintf(l->path, sizeof(l->path), "%s/%s", folder, name) >= (int)sizeof(l->path))
		return true; /* malformed by its name; lease_folder makes no such */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return false;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		n = read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	if (n < 0 || n > (ssize_t)LEASE_TEXT_MAX || lease_parse(text, (size_t)n, l) < 0)
		l->backend[0] = '\0';
	return true;
}

/* Leftovers of a program that died between write and rename say nothing that is needed: nothing was created yet, or the
 * lease itself still stands. */
static void
sweep_tmp(int dir, const char *name)
{
	struct stat st;

	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".tmp") == 0 &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > 3600)
		unlinkat(dir, name, 0);
}

static int
each_in(char *folder, int (*each)(const struct lease *l, void *arg), void *arg)
{
	struct dirent *e;
	struct stat st;
	struct lease l;
	int n = 0, r = 0;
	size_t len;
	DIR *dir;

	if (lstat(folder, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	dir = opendir(folder);
	if (!dir)
		return -errno;
	while (r >= 0 && (e = readdir(dir))) {
		len = strlen(e->d_name);
		if (e->d_name[0] == '.') {
			sweep_tmp(dirfd(dir), e->d_name);
			continue;
		}
		if (len <= sizeof(SUFFIX) - 1 || len > 64 ||
		    strcmp(e->d_name + len - (sizeof(SUFFIX) - 1), SUFFIX) != 0)
			continue;
		if (!read_one(dirfd(dir), folder, e->d_name, &l))
			continue;
		n++;
		r = each(&l, arg);
	}
	closedir(dir);
	return r < 0 ? r : n;
}

/* see backend.h */
int
lease_each(int (*each)(const struct lease *l, void *arg), void *arg)
{
	char all[FOLDERS_MAX][400];
	size_t n = candidates(all), i;
	int r, count = 0;

	for (i = 0; i < n; i++) {
		if ((r = each_in(all[i], each, arg)) < 0)
			return r;
		count += r;
	}
	return count;
}

static bool
same_boot(const struct lease *l)
{
	char now[40];

	return process_boot_id(now) == 0 && strcmp(now, l->boot_id) == 0;
}

/* see backend.h */
bool
lease_is_alive(const struct lease *l)
{
	long pid = strtol(l->id, NULL, 10);

	return pid > 0 && pid <= 0x7fffffff && same_boot(l) && process_is((pid_t)pid, l->start_time);
}

/* see backend.h */
bool
lease_is_held(const struct lease *l)
{
	return l->host_pid > 0 && l->host_pid <= 0x7fffffff && same_boot(l) &&
	       process_is((pid_t)l->host_pid, l->host_start_time);
}
