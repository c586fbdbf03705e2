/* SPDX-License-Identifier: GPL-2.0-or-later
 * bundle_write.c - the writer's side of bundle.h: paths, bytes and digests to files beneath one folder.
 *
 * Runs as: the workflow's identity, without capabilities (local: the caller).  Input: bodies of FILE and DATA.
 * A hostile sender gains nothing: paths are checked by the stream's own rule and walked one segment at a time without following
 * a link; a file is only ever created, never opened; and everything happens with the powers of the workflow. */
#include "guest/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/plan.h"

struct writing {
	int dir;       /* the application's folder */
	int fd;        /* the present file, -1 none */
	uint64_t left; /* bytes of it that are still to come */
	uint32_t entries;
	uint64_t bytes;
	uint8_t want[32]; /* its digest */
	struct sha256 hash;
	struct timespec times[2]; /* of every file: the run's start */
	char path[BUNDLE_PATH_MAX + 1];
	char *problem;
	size_t problem_size;
};

static int
fail(struct writing *w, int err, const char *what)
{
	snprintf(w->problem, w->problem_size, "%.180s: %s", w->path, what);
	return err;
}

/* The folder that holds path's last segment, made where it is missing; *name is that segment. */
static int
open_parent(const struct writing *w, const char **name)
{
	const char *p = w->path, *slash;
	char segment[256];
	int at = dup(w->dir), next;

	while (at >= 0 && (slash = strchr(p, '/'))) {
		size_t len = (size_t)(slash - p);

		if (len >= sizeof(segment)) {
			close(at);
			return -ENAMETOOLONG;
		}
		memcpy(segment, p, len);
		segment[len] = '\0';
		next = openat(at, segment, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 && errno == ENOENT && mkdirat(at, segment, 0755) == 0)
			next = openat(at, segment, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			int r = -errno;

			close(at);
			return r;
		}
		close(at);
		at = next;
		p = slash + 1;
	}
	*name = p;
	return at < 0 ? -errno : at;
}

static int
file_end(struct writing *w)
{
	uint8_t digest[32];
	int r = 0;

	if (w->fd < 0)
		return 0;
	if (w->left > 0)
		return fail(w, -EPROTO, "has fewer bytes than announced");
	sha256_get(&w->hash, digest);
	if (memcmp(digest, w->want, sizeof(digest)) != 0)
		return fail(w, -EPROTO, "its bytes do not have the announced digest");
	if (futimens(w->fd, w->times) < 0)
		r = fail(w, -errno, "its time cannot be set");
	if (close(w->fd) < 0 && r == 0)
		r = fail(w, -errno, "cannot be written");
	w->fd = -1;
	return r;
}

static int
link_make(struct writing *w, int parent, const char *name, const char *target)
{
	if (symlinkat(target, parent, name) < 0)
		return fail(w, -errno, "the link cannot be made");
	if (utimensat(parent, name, w->times, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(w, -errno, "its time cannot be set");
	return 0;
}

static int
file_begin(struct writing *w, const uint8_t *body, size_t len)
{
	struct plan_file f;
	const char *name = w->path;
	int parent, r;

	r = plan_file_decode(body, len, &f);
	if (r < 0) {
		snprintf(w->path, sizeof(w->path), "entry %u", (unsigned)w->entries + 1);
		return fail(w, r, "is malformed, or its path may not be");
	}
	snprintf(w->path, sizeof(w->path), "%s", f.path);
	if (++w->entries > BUNDLE_ENTRIES_MAX)
		return fail(w, -EMSGSIZE, "one entry too many");
	if (f.size > BUNDLE_FILE_MAX || f.size > BUNDLE_BYTES_MAX - w->bytes)
		return fail(w, -EMSGSIZE, "too large");
	if (f.kind != PLAN_FILE && f.kind != PLAN_LINK)
		return fail(w, -EOPNOTSUPP, "a kind of file that this guest does not know");
	w->bytes += f.size;
	parent = open_parent(w, &name);
	if (parent < 0)
		return fail(w, parent, "its folder cannot be made");
	if (f.kind == PLAN_LINK) {
		r = link_make(w, parent, name, f.target);
	} else {
		w->fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, f.mode);
		r = w->fd < 0 ? fail(w, -errno, errno == EEXIST ? "comes twice" : "cannot be made") : 0;
		w->left = f.size;
		memcpy(w->want, f.sha256, sizeof(w->want));
		sha256_init(&w->hash);
	}
	close(parent);
	return r;
}

static int
file_data(struct writing *w, const uint8_t *data, size_t len)
{
	if (w->fd < 0 || len > w->left)
		return fail(w, -EPROTO, "more bytes come than announced");
	w->left -= len;
	sha256_add(&w->hash, data, len);
	while (len > 0) {
		ssize_t n = write(w->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(w, -errno, errno == ENOSPC ? "no space is left for it" : "cannot be written");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int
bundle_write(int fd, int dir, char *problem, size_t problem_size)
{
	static uint8_t packet[1 + FRAME_BODY_MAX + 1];
	static struct writing w;
	int r = 0;

	w = (struct writing){ .dir = dir, .fd = -1, .problem = problem, .problem_size = problem_size };
	clock_gettime(CLOCK_REALTIME, &w.times[0]);
	w.times[1] = w.times[0];
	snprintf(w.path, sizeof(w.path), "bundle");
	while (r == 0) {
		ssize_t n = recv(fd, packet, sizeof(packet), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || n == sizeof(packet))
			return fail(&w, n < 0 ? -errno : -EPROTO, "the stream ended early");
		if (packet[0] != FRAME_DATA)
			r = file_end(&w);
		if (r == 0 && packet[0] == FRAME_COMMIT)
			return 0;
		if (r == 0)
			r = packet[0] == FRAME_FILE ? file_begin(&w, packet + 1, (size_t)n - 1)
						    : file_data(&w, packet + 1, (size_t)n - 1);
	}
	if (w.fd >= 0)
		close(w.fd);
	return r;
}
