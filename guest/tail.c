/* SPDX-License-Identifier: GPL-2.0-or-later
 * tail.c - see tail.h.
 *
 * Runs as: root, in the monitor.  Input: a file that the workflow writes.
 * A hostile sender gains nothing: bytes are copied, never read; the file has no name, cannot shrink, and grows no further than
 * RLIMIT_FSIZE; writing over what was read only damages the sender's own output, and is noticed. */
#include "guest/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/falloc.h>

#define PUNCH_STEP (1u << 20) /* bytes: a call for each frame would cost more than it frees */
#define PAGE 4096u

int
tail_open(struct tail *t, bool owner, uint32_t uid, uint32_t gid, uint64_t limit)
{
	char path[40];
	int r = 0;

	memset(t, 0, sizeof(*t));
	sha256_init(&t->hash);
	sha256_init(&t->kept);
	t->limit = limit;
	t->write_fd = -1;
	t->read_fd = memfd_create("agenttwin-output", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* writing: to punch holes */
	if (t->read_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t->read_fd);
	if (fchmod(t->read_fd, 0600) < 0 || fcntl(t->read_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
	    (t->write_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0 ||
	    (owner && fchown(t->read_fd, uid, gid) < 0))
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

	return size > t->offset ? size : t->offset;
}

bool
tail_is_over(const struct tail *t)
{
	return tail_written(t) > t->limit;
}

/* What was punched out reads as a hole unless somebody wrote there since. */
static bool
is_punched_clean(const struct tail *t)
{
	off_t data;

	if (t->punched == 0)
		return true;
	data = lseek(t->read_fd, 0, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (uint64_t)data >= t->punched;
}

/* Gives memory back. */
static void
punch(struct tail *t)
{
	uint64_t end = t->offset - t->offset % PAGE;

	if (end < t->punched + PUNCH_STEP)
		return;
	t->overwritten = t->overwritten || !is_punched_clean(t);
	if (fallocate(t->read_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)t->punched,
		      (off_t)(end - t->punched)) < 0)
		return;
	t->punched = end;
	sha256_init(&t->kept);
	t->kept_from = t->offset;
}

int
tail_read(struct tail *t, uint8_t buf[static TAIL_CHUNK])
{
	uint64_t left = t->limit - t->sent;
	ssize_t n;

	if (t->read_fd < 0 || left == 0)
		return 0;
	do
		n = pread(t->read_fd, buf, left < TAIL_CHUNK ? (size_t)left : TAIL_CHUNK, (off_t)t->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	t->offset += (uint64_t)n;
	t->sent += (uint64_t)n;
	sha256_add(&t->hash, buf, (size_t)n);
	sha256_add(&t->kept, buf, (size_t)n);
	punch(t);
	return (int)n;
}

bool
tail_is_overwritten(const struct tail *t)
{
	static uint8_t buf[4096];
	uint8_t then[32], now[32];
	uint64_t at = t->kept_from;
	struct sha256 again;

	if (t->overwritten || (t->read_fd >= 0 && !is_punched_clean(t)))
		return true;
	sha256_init(&again);
	while (t->read_fd >= 0 && at < t->offset) {
		uint64_t left = t->offset - at;
		ssize_t n = pread(t->read_fd, buf, left < sizeof(buf) ? (size_t)left : sizeof(buf), (off_t)at);

		if (n <= 0)
			return true;
		sha256_add(&again, buf, (size_t)n);
		at += (uint64_t)n;
	}
	sha256_get(&t->kept, then);
	sha256_get(&again, now);
	return memcmp(then, now, sizeof(now)) != 0;
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

	/* Bounded: writers may be as fast as this. */
	for (int i = 0; i < 64 && fd >= 0 && read(fd, events, sizeof(events)) > 0; i++)
		;
}
