/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hashing 100 MB takes longer than starting a sandbox, so a child does it meanwhile and writes it down for the next run: beside the
 * leases, in a folder that only we can write.  An entry names the file by device, inode, size, mtime and ctime, which nobody
 * but root can set back; one that changed less than two seconds ago is not written down, for the clock's grain. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/lease.h"
#include "host/node.h"
#include "host/process.h"
#include "proto/sha256.h"

#define NOTES_MAX 4096u /* bytes: about twenty programs, the latest first */
#define SETTLED_S 2

/* What stands before the digest on a line. */
static void
name_file(const struct stat *st, char out[static 160])
{
	snprintf(out, 160, "%llu %llu %lld %lld.%09ld %lld.%09ld ", (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static int
notes_path(char *out, size_t size, const char *name)
{
	char folder[400];
	int r;

	if ((r = lease_folder(folder, sizeof(folder))) < 0)
		return r;
	return snprintf(out, size, "%s/%s", folder, name) < (int)size ? 0 : -ENAMETOOLONG;
}

static bool
is_hex(const char *s)
{
	return strspn(s, "0123456789abcdef") == 64 && s[64] == '\n';
}

static bool
recall(const struct stat *st, char sha256[static 65])
{
	char path[512], text[NOTES_MAX], name[160], *line, *next;
	size_t len;

	if (notes_path(path, sizeof(path), "node-digests") < 0 || process_read(path, text, sizeof(text)) < 0)
		return false;
	name_file(st, name);
	len = strlen(name);
	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		if (!next++)
			return false;
		if (strncmp(line, name, len) == 0 && is_hex(line + len)) {
			memcpy(sha256, line + len, 64);
			sha256[64] = '\0';
			return true;
		}
	}
	return false;
}

/* In the child.  Failure costs time in the next run, nothing else. */
static void
remember(const struct stat *st, const char *hex)
{
	char path[512], tmp[512], own[32], text[NOTES_MAX * 2], old[NOTES_MAX], name[160];
	size_t len;
	ssize_t n;
	int fd;

	if (st->st_ctim.tv_sec + SETTLED_S > time(NULL))
		return;
	snprintf(own, sizeof(own), ".digests-%d.tmp", (int)getpid());
	if (notes_path(path, sizeof(path), "node-digests") < 0 || notes_path(tmp, sizeof(tmp), own) < 0)
		return;
	if (process_read(path, old, sizeof(old)) < 0)
		old[0] = '\0';
	name_file(st, name);
	len = (size_t)snprintf(text, sizeof(text), "%s%s\n%s", name, hex, old);
	/* The oldest fall off, whole. */
	while (len >= NOTES_MAX)
		for (len--; len > 0 && text[len - 1] != '\n'; len--)
			continue;
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	n = write(fd, text, len);
	close(fd);
	if (n != (ssize_t)len || rename(tmp, path) < 0)
		unlink(tmp);
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	char x[160], y[160];

	name_file(a, x);
	name_file(b, y);
	return strcmp(x, y) == 0;
}

/* In the child: the digest in hex goes to the pipe. */
static _Noreturn void
digest_child(const char *path, int out)
{
	static unsigned char buf[1 << 16];
	struct stat before, after;
	struct sha256 sha;
	unsigned char sum[32];
	char hex[65];
	ssize_t n;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &before) < 0)
		_exit(1);
	sha256_init(&sha);
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(1);
		sha256_add(&sha, buf, (size_t)n);
	}
	sha256_get(&sha, sum);
	sha256_hex(sum, hex);
	if (write(out, hex, 64) != 64)
		_exit(1);
	if (fstat(fd, &after) == 0 && is_same(&before, &after))
		remember(&after, hex);
	_exit(0);
}

/* see node.h */
int
node_digest_start(struct node *n)
{
	struct stat st;
	int pipes[2], r;

	if (stat(n->path, &st) == 0 && recall(&st, n->sha256))
		return 0;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	n->digest_pid = fork();
	if (n->digest_pid < 0) {
		r = -errno;
		close(pipes[0]);
		close(pipes[1]);
		return r;
	}
	if (n->digest_pid == 0) {
		/* It must not keep pipes of any run open: their end of file is how others learn that this program died. */
		if (dup2(pipes[1], 3) < 0 || syscall(SYS_close_range, 4u, ~0u, 0u) < 0)
			_exit(1);
		digest_child(n->path, 3);
	}
	close(pipes[1]);
	n->digest_fd = pipes[0];
	return 0;
}

/* see node.h */
int
node_digest_finish(struct node *n, int timeout_ms)
{
	struct pollfd p = { .fd = n->digest_fd, .events = POLLIN };
	char text[66];
	int r;

	if (n->digest_pid < 0)
		return n->sha256[0] ? 0 : -EIO;
	if (timeout_ms == 0 && poll(&p, 1, 0) <= 0)
		return -ETIMEDOUT;
	r = process_read_line(n->digest_fd, text, sizeof(text), timeout_ms ? timeout_ms : 1000);
	if (r == -ETIMEDOUT)
		return r;
	while (waitpid(n->digest_pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(n->digest_fd);
	n->digest_pid = -1;
	n->digest_fd = -1;
	if (r == 0 && strlen(text) == 64)
		memcpy(n->sha256, text, sizeof(n->sha256));
	return n->sha256[0] ? 0 : -EIO;
}

/* see node.h */
void
node_wipe(struct node *n)
{
	if (n->digest_pid > 0) {
		kill(n->digest_pid, SIGKILL);
		while (waitpid(n->digest_pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		close(n->digest_fd);
	}
	n->digest_pid = -1;
	n->digest_fd = -1;
}
