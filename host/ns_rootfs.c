/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs in the init: root of the sandbox's user namespace, in its own mount namespace, without power over this machine (its
 * root is nobody, or the caller, outside).  Input: constants, sizes, and the place of Node that the host chose.  It only ever
 * shows things read-only; what is writable is new and lives in memory, and ends with the namespace. */
#include "host/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK_DEFAULT (256ull << 20)
#define INODES_MIN 65536ull
#define INODES_MAX 500000ull

static int
make_folder(const char *path, mode_t mode, uid_t uid, struct ns_report *fail)
{
	/* chmod besides: mkdir obeys the umask and drops the sticky bit on some filesystems. */
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || chown(path, uid, uid) < 0 || chmod(path, mode) < 0)
		return ns_fail(fail, "mkdir", path, errno);
	return 0;
}

static int
make_link(const char *text, const char *path, struct ns_report *fail)
{
	return symlink(text, path) < 0 ? ns_fail(fail, "symlink", path, errno) : 0;
}

static int
make_tmpfs(const char *path, unsigned long flags, const char *options, struct ns_report *fail)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return ns_fail(fail, "mkdir", path, errno);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | flags, options) < 0 ? ns_fail(fail, "tmpfs", path, errno) : 0;
}

/* see ns.h */
int
ns_rootfs_open(struct ns_rootfs *fs, struct ns_report *fail)
{
	static const char *const dirs[NS_NODE_DIRS] = { "bin", "lib/node_modules", "include" };
	char path[600];
	size_t i;

	for (i = 0; i < NS_NODE_DIRS; i++)
		fs->node_fds[i] = -1;
	if (fs->node_file[0]) {
		fs->node_fds[0] = open(fs->node_file, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		return fs->node_fds[0] < 0 ? ns_fail(fail, "node", fs->node_file, errno) : 0;
	}
	for (i = 0; i < NS_NODE_DIRS && fs->node_prefix[0]; i++) {
		snprintf(path, sizeof(path), "%s/%s", fs->node_prefix, dirs[i]);
		fs->node_fds[i] = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
		if (fs->node_fds[i] < 0 && i == 0)
			return ns_fail(fail, "node", path, errno);
	}
	return 0;
}

/* /usr, and what stands beside it: links into it on merged systems, folders on others. */
static int
show_system(struct ns_report *fail)
{
	static const char *const beside[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	char path[16], text[64];
	ssize_t n;
	size_t i;
	int r;

	if ((r = ns_bind("/usr", "usr", 0, fail)) < 0)
		return r;
	for (i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(path, sizeof(path), "/%s", beside[i]);
		n = readlink(path, text, sizeof(text) - 1);
		if (n > 0) {
			text[n] = '\0';
			if (strncmp(text, "usr/", 4) == 0 || strncmp(text, "/usr/", 5) == 0) {
				if ((r = make_link(text, beside[i], fail)) < 0)
					return r;
				continue;
			}
		}
		if ((r = ns_bind(path, beside[i], NS_BIND_OPTIONAL, fail)) < 0)
			return r;
	}
	return 0;
}

static int
show_etc(struct ns_report *fail)
{
	static const char *const shown[] = { "alternatives", "ld.so.cache", "ld.so.conf",
					     "ld.so.conf.d", "ssl",         "ca-certificates" };
	char source[64], target[64], text[256];
	ssize_t n;
	size_t i;
	int r;

	if ((r = make_tmpfs("etc", MS_NODEV | MS_NOEXEC, "mode=0755,size=4m,nr_inodes=256", fail)) < 0 ||
	    (r = ns_files_etc("etc", fail)) < 0 || (r = make_link("/proc/self/mounts", "etc/mtab", fail)) < 0)
		return r;
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		snprintf(source, sizeof(source), "/etc/%s", shown[i]);
		snprintf(target, sizeof(target), "etc/%s", shown[i]);
		if ((r = ns_bind(source, target, NS_BIND_OPTIONAL, fail)) < 0)
			return r;
	}
	/* Usually a link into /usr/share/zoneinfo, which is there under the same name. */
	n = readlink("/etc/localtime", text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		return make_link(text, "etc/localtime", fail);
	}
	return ns_bind("/etc/localtime", "etc/localtime", NS_BIND_OPTIONAL, fail);
}

static int
mount_sys(const char *path, struct ns_report *fail)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;

	if (mount("sysfs", path, "sysfs", flags, NULL) == 0)
		return 0;
	if (errno != EPERM && errno != EACCES)
		return ns_fail(fail, "sys", "/sys", errno);
	return mount("tmpfs", path, "tmpfs", flags, "mode=0555,size=4k") < 0 ? ns_fail(fail, "sys", "/sys", errno) : 0;
}

/* The kernel gives a new /proc and /sys only to a namespace that already sees a whole one: in an ordinary container /proc is
 * masked. */
static int
mount_views(const char *proc, const char *sys, struct ns_report *fail)
{
	if (mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return ns_fail(fail, "proc", "/proc", errno);
	return mount_sys(sys, fail);
}

/* These are the init's own; the guest gets others over them (ns_rootfs_views), since each shows one namespace. */
static int
make_kernel_views(struct ns_report *fail)
{
	int r;

	if ((r = make_folder("proc", 0555, 0, fail)) < 0 || (r = make_folder("sys", 0555, 0, fail)) < 0)
		return r;
	return mount_views("proc", "sys", fail);
}

/* see ns.h */
int
ns_rootfs_views(struct ns_report *fail)
{
	return mount_views("/proc", "/sys", fail);
}

static int
make_dev(struct ns_report *fail)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const char *const links[][2] = { { "/proc/self/fd", "dev/fd" },
						{ "/proc/self/fd/0", "dev/stdin" },
						{ "/proc/self/fd/1", "dev/stdout" },
						{ "/proc/self/fd/2", "dev/stderr" },
						{ "pts/ptmx", "dev/ptmx" } };
	char source[32], target[32];
	size_t i;
	int r;

	if ((r = make_tmpfs("dev", MS_NOEXEC, "mode=0755,size=64k,nr_inodes=64", fail)) < 0)
		return r;
	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		snprintf(source, sizeof(source), "/dev/%s", devices[i]);
		snprintf(target, sizeof(target), "dev/%s", devices[i]);
		/* A container may have no /dev/tty; the others are needed. */
		if ((r = ns_bind(source, target, NS_BIND_WRITABLE | NS_BIND_DEVICE | (i == 5 ? NS_BIND_OPTIONAL : 0u),
				 fail)) < 0)
			return r;
	}
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if ((r = make_link(links[i][0], links[i][1], fail)) < 0)
			return r;
	if ((r = make_folder("dev/pts", 0755, 0, fail)) < 0)
		return r;
	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") < 0)
		return ns_fail(fail, "devpts", "/dev/pts", errno);
	if ((r = make_tmpfs("dev/shm", MS_NODEV | MS_NOEXEC, "mode=1777,size=64m,nr_inodes=16k", fail)) < 0)
		return r;
	/* The devices stay usable; nobody adds names. */
	return mount(NULL, "dev", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL) < 0
		       ? ns_fail(fail, "dev.readonly", "/dev", errno)
		       : 0;
}

/* What the workflow may write: one filesystem in memory, shown at three places, so that the limit holds for them together. */
static int
make_disk(const struct ns_rootfs *fs, struct ns_report *fail)
{
	unsigned long long bytes = fs->disk_bytes ? fs->disk_bytes : DISK_DEFAULT, inodes = bytes / 1024;
	char options[96];
	int r;

	inodes = inodes < INODES_MIN ? INODES_MIN : inodes > INODES_MAX ? INODES_MAX : inodes;
	snprintf(options, sizeof(options), "mode=0700,size=%llu,nr_inodes=%llu", bytes, inodes);
	if ((r = make_tmpfs("disk", MS_NODEV, options, fail)) < 0 ||
	    (r = make_folder("disk/app", 0755, NS_UID_WORKFLOW, fail)) < 0 ||
	    (r = make_folder("disk/home", 0755, NS_UID_WORKFLOW, fail)) < 0 ||
	    (r = make_folder("disk/tmp", 01777, 0, fail)) < 0 || (r = make_folder("home", 0755, 0, fail)) < 0 ||
	    (r = ns_bind("disk/app", "app", NS_BIND_WRITABLE, fail)) < 0 ||
	    (r = ns_bind("disk/home", "home/node", NS_BIND_WRITABLE, fail)) < 0 ||
	    (r = ns_bind("disk/tmp", "tmp", NS_BIND_WRITABLE, fail)) < 0)
		return r;
	if (umount2("disk", MNT_DETACH) < 0 || rmdir("disk") < 0)
		return ns_fail(fail, "disk", "disk", errno);
	if ((r = make_tmpfs("run", MS_NODEV, "mode=0755,size=16m,nr_inodes=4096", fail)) < 0 ||
	    (r = make_folder("root", 0700, 0, fail)) < 0 || (r = make_folder("var", 0755, 0, fail)) < 0 ||
	    (r = make_link("../tmp", "var/tmp", fail)) < 0)
		return r;
	return make_link("../run", "var/run", fail);
}

static int
show_node(struct ns_rootfs *fs, struct ns_report *fail)
{
	static const char *const targets[NS_NODE_DIRS] = { "opt/node/bin", "opt/node/lib/node_modules",
							   "opt/node/include" };
	char source[32];
	size_t i;
	int r;

	if (fs->node_fds[0] < 0)
		return 0;
	if ((r = make_folder("opt", 0755, 0, fail)) < 0 || (r = make_folder("opt/node", 0755, 0, fail)) < 0 ||
	    (r = make_folder("opt/node/lib", 0755, 0, fail)) < 0 ||
	    (fs->node_file[0] && (r = make_folder("opt/node/bin", 0755, 0, fail)) < 0))
		return r;
	for (i = 0; i < NS_NODE_DIRS; i++) {
		if (fs->node_fds[i] < 0)
			continue;
		snprintf(source, sizeof(source), "/proc/self/fd/%d", fs->node_fds[i]);
		r = ns_bind(source, fs->node_file[0] ? "opt/node/bin/node" : targets[i], 0, fail);
		if (r < 0) /* the number says nothing to a person */
			return ns_fail(fail, "bind", fs->node_file[0] ? fs->node_file : fs->node_prefix, -r);
		close(fs->node_fds[i]);
		fs->node_fds[i] = -1;
	}
	return 0;
}

/* A new tmpfs over a folder that every system has becomes the current folder.  What it covers is not needed: descriptors of
 * Node's folders were opened before. */
static int
enter_new_root(struct ns_report *fail)
{
	static const char *const places[] = { "/tmp", "/mnt", "/run", "/dev" };
	size_t i;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return ns_fail(fail, "mount.private", "/", errno);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=1k") == 0)
			return chdir(places[i]) < 0 ? ns_fail(fail, "chdir", places[i], errno) : 0;
		else if (errno != ENOENT && errno != ENOTDIR)
			break;
	return ns_fail(fail, "mount.root", places[i < 4 ? i : 3], errno);
}

/* The old root is stacked on the new one and taken off: from here nothing of this machine is reachable but what was bound. */
static int
leave_old_root(struct ns_report *fail)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return ns_fail(fail, "pivot_root", "/", errno);
	if (umount2(".", MNT_DETACH) < 0)
		return ns_fail(fail, "umount", "old root", errno);
	if (chdir("/") < 0)
		return ns_fail(fail, "chdir", "/", errno);
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		return ns_fail(fail, "root.readonly", "/", errno);
	return 0;
}

/* see ns.h */
int
ns_rootfs_build(struct ns_rootfs *fs, struct ns_report *fail)
{
	int r;

	if ((r = enter_new_root(fail)) < 0 || (r = show_system(fail)) < 0 || (r = show_etc(fail)) < 0 ||
	    (r = make_dev(fail)) < 0 || (r = make_kernel_views(fail)) < 0 || (r = make_disk(fs, fail)) < 0 ||
	    (r = show_node(fs, fail)) < 0)
		return r;
	return leave_old_root(fail);
}
