/* SPDX-License-Identifier: GPL-2.0-or-later
 * stage_file.c - one file: opened without following anything, read once for digest and keys, compared with itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/credential.h"
#include "host/diag.h"
#include "host/pem.h"
#include "host/stage_walk.h"
#include "proto/frame.h"
#include "proto/plan.h"
#include "proto/utf8.h"

/* Kernels before 5.6, and sandboxes that do not know the call: one folder after the other, none through a link. */
static int
open_by_segments(int root_fd, const char *path, int flags)
{
	char name[WALK_PATH_MAX];
	int fd = root_fd, next;
	size_t n;

	for (;;) {
		n = strcspn(path, "/");
		if (n == 0 || n >= sizeof(name) || (n == 2 && memcmp(path, "..", 2) == 0)) {
			next = -1;
			errno = EXDEV;
		} else {
			memcpy(name, path, n);
			name[n] = '\0';
			next = openat(fd, name,
				      path[n] ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags | O_NOFOLLOW);
		}
		if (fd != root_fd)
			close(fd); /* errno stays: close of an O_PATH descriptor cannot fail */
		if (next < 0)
			return -errno;
		if (!path[n])
			return next;
		fd = next;
		path += n + 1;
	}
}

int
stage_open_beneath(int root_fd, const char *path, int flags)
{
	struct open_how how;
	long fd;

	memset(&how, 0, sizeof(how));
	how.flags = (unsigned)(flags | O_CLOEXEC);
	how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	do
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd >= 0)
		return (int)fd;
	/* EPERM: how some container engines answer a call they do not know */
	if (errno == ENOSYS || errno == EPERM)
		return open_by_segments(root_fd, path, flags | O_CLOEXEC);
	return -errno;
}

static int
check_name(struct walk *k, size_t pattern)
{
	char shown[256];
	int r;

	if (k->path_len > BUNDLE_PATH_MAX) {
		r = stage_fail(k, -EMSGSIZE, pattern, "the path has more than %u bytes: %s", BUNDLE_PATH_MAX,
			       stage_shown(k->path, shown));
		diag_fix(k->d, "shorten it, or leave it out with a pattern that starts with !");
		return r;
	}
	if (plan_path_check(k->path) == 0)
		return 0;
	r = stage_fail(k, -EPERM, pattern, "%s: the name is not UTF-8", stage_shown(k->path, shown));
	diag_fix(k->d, "rename the file, or leave its folder out with \"!folder/**\"");
	return r;
}

static struct walk_keep *
find_kept(struct walk *k)
{
	size_t i;

	for (i = 0; i < k->keep_len; i++) {
		if (strcmp(k->keep[i].path, k->path) != 0)
			continue;
		k->keep[i].seen = true;
		return &k->keep[i];
	}
	return NULL;
}

/* A file that looks like a credential.  0: not taken, listed; 1: taken knowingly; else the refusal. */
static int
credential_found(struct walk *k, const char *rule, bool in_modules, size_t pattern)
{
	struct walk_keep *kept = in_modules ? find_kept(k) : NULL;
	char shown[256];
	bool key = strcmp(rule, "private key") == 0;
	int r;

	if (kept) {
		kept->needed = true;
		return 1;
	}
	if (in_modules)
		return stage_leave_out(k, k->path, rule);
	(void)stage_shown(k->path, shown);
	if (key)
		r = stage_fail(k, -EPERM, pattern, "%s holds a complete private key (PEM)", shown);
	else
		r = stage_fail(k, -EPERM, pattern, "%s looks like a credential (rule %s)", shown, rule);
	diag_fix(k->d,
		 "leave it out: add \"!%s\" after this pattern; give test values through \"env\" with {{secret.NAME}}",
		 shown);
	return r;
}

static int
fail_changed(struct walk *k, size_t pattern)
{
	char shown[256];
	int r = stage_fail(k, -EBUSY, pattern, "%s changed while it was being read", stage_shown(k->path, shown));

	diag_fix(k->d, "stop what writes to it (a build, a watcher), or leave it out with \"!%s\"", shown);
	return r;
}

static int
check_size(struct walk *k, uint64_t size, size_t pattern)
{
	char shown[256];
	int r = 0;

	if (size > BUNDLE_FILE_MAX)
		r = stage_fail(k, -EMSGSIZE, pattern, "%s has %llu bytes; at most 1 GiB a file enters",
			       stage_shown(k->path, shown), (unsigned long long)size);
	else if (size > BUNDLE_BYTES_MAX - k->s->bytes)
		r = stage_fail(k, -EMSGSIZE, pattern, "with %s the files have more than 4 GiB in all",
			       stage_shown(k->path, shown));
	if (r < 0)
		diag_fix(k->d, "leave large files out with a pattern that starts with !");
	return r;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ino == b->st_ino;
}

/* Reads it all: digest, and whether a complete key is in it. */
static int
read_all(struct walk *k, int fd, const struct stat *before, struct stage_entry *e, struct pem_scan *pem, size_t pattern)
{
	char shown[256];
	struct sha256 hash;
	struct stat after;
	uint64_t have = 0;
	ssize_t n;

	sha256_init(&hash);
	for (;;) {
		n = read(fd, k->buffer, WALK_BUFFER);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return stage_fail(k, -errno, pattern, "%s cannot be read: %s", stage_shown(k->path, shown),
					  strerror(errno));
		if (n == 0)
			break;
		have += (uint64_t)n;
		if (have > (uint64_t)before->st_size)
			return fail_changed(k, pattern);
		sha256_add(&hash, k->buffer, (size_t)n);
		pem_scan_add(pem, k->buffer, (size_t)n);
	}
	if (have != (uint64_t)before->st_size || fstat(fd, &after) < 0 || !is_same(before, &after))
		return fail_changed(k, pattern);
	sha256_get(&hash, e->sha256);
	e->size = have;
	return 0;
}

static int
read_file(struct walk *k, int fd, bool in_modules, size_t pattern)
{
	struct stage_entry e = { .kind = PLAN_FILE };
	struct pem_scan pem;
	struct stat st;
	char shown[256];
	int r;

	if (fstat(fd, &st) < 0)
		return stage_fail(k, -errno, pattern, "%s cannot be looked at: %s", stage_shown(k->path, shown),
				  strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail_changed(k, pattern); /* it was a file when its folder was read */
	r = check_size(k, (uint64_t)st.st_size, pattern);
	if (r < 0)
		return r;
	/* In source code below node_modules "\n" within a string is no line: those hold examples and tests. */
	pem_scan_init(&pem, !in_modules);
	r = read_all(k, fd, &st, &e, &pem, pattern);
	if (r < 0)
		return r;
	if (pem.found) {
		r = credential_found(k, "private key", in_modules, pattern);
		if (r <= 0)
			return r;
	}
	e.mode = st.st_mode & S_IXUSR ? 0755 : 0644;
	return stage_add(k, &e);
}

int
stage_take_file(struct walk *k, int folder, const char *name, bool in_modules, size_t pattern)
{
	const char *rule;
	char shown[256];
	int fd, r = check_name(k, pattern);

	if (r < 0)
		return r;
	if (in_modules)
		(void)find_kept(k); /* notes that it was seen */
	rule = credential_rule(k->path, in_modules);
	if (rule) {
		r = credential_found(k, rule, in_modules, pattern);
		if (r <= 0)
			return r;
	}
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		r = stage_fail(k, -errno, pattern, "%s cannot be opened: %s", stage_shown(k->path, shown),
			       strerror(errno));
		diag_fix(k->d, "make it readable for you, or leave it out with \"!%s\"", shown);
		return r;
	}
	r = read_file(k, fd, in_modules, pattern);
	close(fd);
	return r;
}

int
stage_take_link(struct walk *k, int folder, const char *name, size_t pattern)
{
	struct stage_entry e = { .kind = PLAN_LINK, .mode = 0755 };
	char target[BUNDLE_PATH_MAX + 2], shown[256];
	ssize_t n;
	int r = check_name(k, pattern);

	if (r < 0)
		return r;
	n = readlinkat(folder, name, target, sizeof(target));
	if (n < 0)
		return stage_fail(k, -errno, pattern, "the link %s cannot be read: %s", stage_shown(k->path, shown),
				  strerror(errno));
	if ((size_t)n > BUNDLE_PATH_MAX)
		return stage_fail(k, -EMSGSIZE, pattern, "the link %s leads to a path of more than %u bytes",
				  stage_shown(k->path, shown), BUNDLE_PATH_MAX);
	target[n] = '\0';
	if (n == 0 || !utf8_is_valid(target, (size_t)n)) {
		r = stage_fail(k, -EPERM, pattern, "the link %s leads to a name that is not UTF-8",
			       stage_shown(k->path, shown));
		diag_fix(k->d, "leave the link out with \"!%s\"", shown);
		return r;
	}
	e.target = strdup(target);
	if (!e.target)
		return stage_out_of_memory(k);
	sha256_of("", 0, e.sha256);
	r = stage_add(k, &e);
	if (r < 0)
		free(e.target);
	return r;
}
