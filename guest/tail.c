/* SPDX-License-Identifier: GPL-2.0-or-later
 * tail.c - see tail.h.
 *
 * Runs as: root, in the monitor.  Input: a file that the workflow writes.
 * A hostile sender gains nothing: bytes are copied, never read; the file has no name and lies on a file system where it cannot
 * meet another; truncating or seeking only damages the sender's own output, and is noticed. */
#include "guest/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/falloc.h>

#define PUNCH_STEP (1u << 20) /* bytes: a call for each frame would cost more than it frees */
#define PAGE 4096u

int
tail_open(struct tail *t, int dir, bool owner, uint32_t uid, uint32_t gid, uint64_t limit)
{
	static const char name[] = "agenttwin-output";
	int r = 0;

	memset(t, 0, sizeof(*t));
	sha256_init(&t->hash);
	t->limit = limit;
	t->read_fd = -1;
	t->write_fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t->write_fd < 0)
		return -errno;
	t->read_fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC); /* writing: to punch holes */
	if (t->read_fd < 0 || (owner && fchown(t->write_fd, uid, gid) < 0))
		r = -errno;
	if (unlinkat(dir, name, 0) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		tail_close(t);
	return r;
}

void
tail_close_writer(struct tail *t)
{
	if (t->write_fd >= 0)
		close(t->write_fd);
	t->write_fd = -1;
}

void
tail_close(struct tail *t)
{
	tail_close_writer(t);
	if (t->read_fd >= 0)
		close(t->read_fd);
	t->read_fd = -1;
}

static uint64_t
size_now(const struct tail *t)
{
	struct stat s;

	if (t->read_fd < 0 || fstat(t->read_fd, &s) < 0 || s.st_size < 0)
		return 0;
	return (uint64_t)s.st_size;
}

uint64_t
tail_written(const struct tail *t)
{
	uint64_t size = size_now(t);

	return t->before + (size > t->offset ? size : t->offset);
}

bool
tail_is_over(const struct tail *t)
{
	return tail_written(t) > t->limit;
}

/* Opening /dev/stdout anew with truncation starts the file again.  What was unread is gone, what follows is read from its
 * start. */
static void
restart(struct tail *t)
{
	t->before += t->offset;
	t->offset = 0;
	t->punched = 0;
	t->was_cut = true;
}

/* Gives memory back.  Not every file system can; then the file keeps its size, bounded by the limit. */
static void
punch(struct tail *t)
{
	uint64_t end = t->offset - t->offset % PAGE;

	if (end - t->punched < PUNCH_STEP)
		return;
	(void)fallocate(t->read_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)t->punched,
			(off_t)(end - t->punched));
	t->punched = end;
}

int
tail_read(struct tail *t, uint8_t buf[static TAIL_CHUNK])
{
	uint64_t left = t->limit - t->sent;
	ssize_t n;

	if (t->read_fd < 0 || left == 0)
		return 0;
	if (size_now(t) < t->offset)
		restart(t);
	do
		n = pread(t->read_fd, buf, left < TAIL_CHUNK ? (size_t)left : TAIL_CHUNK, (off_t)t->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	t->offset += (uint64_t)n;
	t->sent += (uint64_t)n;
	sha256_add(&t->hash, buf, (size_t)n);
	punch(t);
	return (int)n;
}

int
tail_watch_open(const struct tail *a, const struct tail *b)
{
	const struct tail *both[2] = { a, b };
	char path[40];
	int fd, r;

	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", both[i]->read_fd);
		if (inotify_add_watch(fd, path, IN_MODIFY) < 0) {
			r = -errno;
			close(fd);
			return r;
		}
	}
	return fd;
}

void
tail_watch_drain(int fd)
{
	char events[4096];

	while (fd >= 0 && read(fd, events, sizeof(events)) > 0)
		;
}
