/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_tail.c - following an output file: everything arrives once, memory goes back, limits and truncation are noticed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/tail.h"
#include "tests/lib/tap.h"

static uint8_t buf[TAIL_CHUNK], text[8u << 20];

static void
put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		printf("# write failed\n");
}

/* Reads to the end, comparing with want.  Returns bytes, or -1 at a difference. */
static long
read_all(struct tail *t, const uint8_t *want)
{
	long total = 0;
	int n;

	while ((n = tail_read(t, buf)) > 0) {
		if (memcmp(buf, want + total, (size_t)n) != 0)
			return -1;
		total += n;
	}
	return n < 0 ? n : total;
}

static void
test_whole(void)
{
	struct tail t;
	uint8_t got[32], want[32];
	struct stat s;
	size_t len = 3u << 20;

	is_int(tail_open(&t, false, 0, 0, 64u << 20), 0, "open");
	is_int(fstat(t.read_fd, &s), 0, "stat");
	ok(s.st_nlink == 0, "it has no name");
	put(t.write_fd, text, len);
	tail_close_writer(&t);
	is_int(read_all(&t, text), (long long)len, "3 MiB written at once arrive whole");
	sha256_get(&t.hash, got);
	sha256_of(text, len, want);
	ok(memcmp(got, want, 32) == 0, "digest");
	is_int((long long)tail_written(&t), (long long)len, "bytes written");
	is_int(fstat(t.read_fd, &s), 0, "stat");
	if (s.st_blocks * 512 < (2u << 20))
		ok(1, "what was read takes no room");
	else
		skip("this file system cannot punch holes");
	ok(!tail_is_over(&t), "not over the limit");
	tail_close(&t);
}

static void
test_pieces(void)
{
	struct tail t;
	size_t at = 0, len = 0;
	int wrong = 0;

	srand(7);
	is_int(tail_open(&t, false, 0, 0, 64u << 20), 0, "open");
	for (int i = 0; i < 400; i++) {
		size_t n = (size_t)rand() % 5000;
		long r;

		put(t.write_fd, text + len, n);
		len += n;
		if (rand() % 3)
			continue;
		r = read_all(&t, text + at);
		wrong += r < 0;
		at += r > 0 ? (size_t)r : 0;
	}
	at += (size_t)read_all(&t, text + at);
	ok(!wrong && at == len, "pieces arrive in order: %zu of %zu bytes", at, len);
	is_int(tail_read(&t, buf), 0, "then nothing");
	tail_close(&t);
}

static void
test_limit(void)
{
	struct tail t;

	is_int(tail_open(&t, false, 0, 0, 1000), 0, "open");
	put(t.write_fd, text, 1000);
	ok(!tail_is_over(&t), "exactly the limit is not over");
	put(t.write_fd, text + 1000, 1);
	ok(tail_is_over(&t), "one byte more is");
	put(t.write_fd, text, 200000);
	is_int(read_all(&t, text), 1000, "the limit is handed out, no more");
	is_int((long long)tail_written(&t), 201001, "all that was written is known");
	tail_close(&t);
}

static int
open_again(const struct tail *t, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", t->write_fd);
	return open(path, flags | O_CLOEXEC);
}

/* What /dev/stdout does: the same file opened by another. */
static void
test_opened_anew(void)
{
	struct tail t;
	int fd;

	is_int(tail_open(&t, false, 0, 0, 8u << 20), 0, "open");
	fd = open_again(&t, O_WRONLY | O_TRUNC);
	ok(fd >= 0, "truncation of nothing works");
	close(fd);
	put(t.write_fd, text, 5000);
	ok(open_again(&t, O_WRONLY | O_TRUNC) < 0 && errno == EPERM,
	   "truncation of something is refused where it is tried");
	ok(ftruncate(t.write_fd, 10) < 0 && errno == EPERM, "so is shrinking");
	is_int(read_all(&t, text), 5000, "nothing is lost");
	fd = open_again(&t, O_WRONLY | O_APPEND);
	put(fd, text + 5000, 3000);
	close(fd);
	is_int(read_all(&t, text + 5000), 3000, "another that appends is followed");
	ok(!tail_is_overwritten(&t), "nothing was written over");
	fd = open_again(&t, O_WRONLY);
	put(fd, "over", 4);
	ok(tail_is_overwritten(&t), "writing over what was read is noticed");
	close(fd);
	tail_close(&t);

	is_int(tail_open(&t, false, 0, 0, 8u << 20), 0, "open");
	put(t.write_fd, text, 3u << 20);
	is_int(read_all(&t, text), 3 << 20, "so much that it is punched out");
	ok(t.punched > 0 && !tail_is_overwritten(&t), "whole");
	fd = open_again(&t, O_WRONLY);
	put(fd, "over", 4);
	ok(tail_is_overwritten(&t), "writing into the hole is noticed");
	put(t.write_fd, text + (3u << 20), 3u << 20);
	is_int(read_all(&t, text + (3u << 20)), 3 << 20, "appending goes on");
	ok(tail_is_overwritten(&t), "and it is not forgotten");
	close(fd);
	tail_close(&t);
}

static void
test_watch(void)
{
	struct tail a, b;
	int fd;
	struct pollfd p;

	if (tail_open(&a, false, 0, 0, 1000) < 0 || tail_open(&b, false, 0, 0, 1000) < 0) {
		ok(0, "open");
		return;
	}
	fd = tail_watch_open(&a, &b);
	if (fd < 0) {
		skip("no inotify here");
	} else {
		p = (struct pollfd){ .fd = fd, .events = POLLIN };
		is_int(poll(&p, 1, 0), 0, "silent at first");
		put(b.write_fd, "x", 1);
		is_int(poll(&p, 1, 2000), 1, "wakes when a file without a name grows");
		tail_watch_drain(fd);
		is_int(poll(&p, 1, 0), 0, "drained");
		close(fd);
	}
	tail_close(&a);
	tail_close(&b);
	is_int(tail_read(&a, buf), 0, "a closed one has nothing");
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 2654435761u >> 13);
	test_whole();
	test_pieces();
	test_limit();
	test_opened_anew();
	test_watch();
	return tap_done();
}
