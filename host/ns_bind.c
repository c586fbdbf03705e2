/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs in the init.  A bind mount shows a file or folder of this machine; here is what makes it harmless: read-only, no
 * setuid, no devices, for the mount itself and for every mount below it, and never less than the source's own restrictions
 * (inside a user namespace the kernel insists on that). */
#include "host/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define ATTR_RDONLY 1u
#define ATTR_NOSUID 2u
#define ATTR_NODEV 4u
#define ATTR_NOEXEC 8u

/* linux/mount.h and sys/mount.h of older C libraries cannot be included together: the struct of mount_setattr(2) by hand. */
struct attr {
	uint64_t set, clear, propagation, userns_fd;
};

/* see ns.h */
int
ns_fail(struct ns_report *fail, const char *step, const char *what, int err)
{
	fail->kind = NS_FAILED;
	fail->err = err;
	snprintf(fail->step, sizeof(fail->step), "%s", step);
	snprintf(fail->what, sizeof(fail->what), "%s", what);
	return -err;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void
unescape(char *s)
{
	char *out = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	*out = '\0';
}

/* One mount: flags added to those that it has. */
static int
remount(const char *path, unsigned long flags)
{
	struct statvfs v;

	if (statvfs(path, &v) < 0)
		return -errno;
	if (v.f_flag & ST_RDONLY)
		flags |= MS_RDONLY;
	if (v.f_flag & ST_NOSUID)
		flags |= MS_NOSUID;
	if (v.f_flag & ST_NODEV)
		flags |= MS_NODEV;
	if (v.f_flag & ST_NOEXEC)
		flags |= MS_NOEXEC;
	if (v.f_flag & ST_NOATIME)
		flags |= MS_NOATIME;
	if (v.f_flag & ST_NODIRATIME)
		flags |= MS_NODIRATIME;
	if (v.f_flag & ST_RELATIME)
		flags |= MS_RELATIME;
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0 ? -errno : 0;
}

/* Kernels before 5.12: each mount at or below target by itself.  One that we cannot reach (a folder closed to us above it)
 * fails the run rather than staying writable. */
static int
remount_all(const char *target, unsigned long flags)
{
	char *line = NULL, root[4096], *point, *save;
	size_t size = 0, len;
	int r = 0, field;
	FILE *f;

	if (!realpath(target, root))
		return -errno;
	len = strlen(root);
	f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return -errno;
	while (r == 0 && getline(&line, &size, f) > 0) {
		point = strtok_r(line, " ", &save);
		for (field = 1; point && field < 5; field++)
			point = strtok_r(NULL, " ", &save);
		if (!point)
			continue;
		unescape(point);
		if (strncmp(point, root, len) == 0 && (point[len] == '\0' || point[len] == '/'))
			r = remount(point, flags);
	}
	free(line);
	fclose(f);
	return r;
}

static int
restrict_mount(const char *target, unsigned flags)
{
	struct attr a = { .set = ATTR_NOSUID };
	unsigned long old = MS_NOSUID;

	if (flags & NS_BIND_DEVICE) {
		a.set |= ATTR_NOEXEC;
		old |= MS_NOEXEC;
	} else {
		a.set |= ATTR_NODEV;
		old |= MS_NODEV;
	}
	if (!(flags & NS_BIND_WRITABLE)) {
		a.set |= ATTR_RDONLY;
		old |= MS_RDONLY;
	}
	if (syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &a, sizeof(a)) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM) /* EPERM: a container's syscall filter that does not know the call */
		return -errno;
	return remount_all(target, old);
}

/* An empty file or folder to mount on, of the kind that source is. */
static int
make_target(const char *target, bool folder)
{
	int fd;

	if (folder)
		return mkdir(target, 0755) < 0 && errno != EEXIST ? -errno : 0;
	fd = open(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* see ns.h */
int
ns_bind(const char *source, const char *target, unsigned flags, struct ns_report *fail)
{
	struct stat st;
	int r;

	if (stat(source, &st) < 0)
		return (flags & NS_BIND_OPTIONAL) ? 0 : ns_fail(fail, "bind", source, errno);
	if ((r = make_target(target, S_ISDIR(st.st_mode))) < 0)
		return ns_fail(fail, "bind.target", target, -r);
	if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
		return ns_fail(fail, "bind", source, errno);
	if ((r = restrict_mount(target, flags)) < 0)
		return ns_fail(fail, "bind.restrict", source, -r);
	return 0;
}
