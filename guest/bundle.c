/* SPDX-License-Identifier: GPL-2.0-or-later
 * bundle.c - the monitor's side of bundle.h: starts the writer, hands bodies on.
 *
 * Runs as: root; the child until drop_identity.  Input: bodies of FILE and DATA, and the writer's one answer.
 * A hostile sender gains nothing: bodies are copied whole and never read here; the answer is a code and text of bounded length
 * whose bytes are made printable. */
#include "guest/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/drop.h"
#include "guest/spawn.h"

#define WRITER_FD 3
#define STALL_S 60 /* a disk that takes nothing for so long has failed */

static _Noreturn void
writer_main(int fd, const char *folder, bool sandbox, uint32_t uid, uint32_t gid)
{
	char answer[256] = "";
	int r = 0, dir = -1, err;
	struct iovec parts[2] = { { &err, sizeof(err) }, { answer, 0 } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	spawn_signals_reset();
	if (fd != WRITER_FD && dup2(fd, WRITER_FD) < 0)
		_exit(1);
	(void)syscall(SYS_close_range, WRITER_FD + 1u, ~0u, 0u);
	umask(022);
	if (sandbox)
		r = drop_identity(uid, gid);
	if (r == 0)
		r = drop_die_with_parent(WRITER_FD);
	if (r == 0)
		r = drop_no_new_privs();
	if (r < 0)
		snprintf(answer, sizeof(answer), "the writer could not become the workflow's user");
	if (r == 0 && (dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
		r = -errno;
		snprintf(answer, sizeof(answer), "the application's folder cannot be opened");
	}
	if (r == 0)
		r = bundle_write(WRITER_FD, dir, answer, sizeof(answer));
	err = -r;
	parts[1].iov_len = strlen(answer);
	(void)sendmsg(WRITER_FD, &message, MSG_NOSIGNAL);
	_exit(r < 0 ? 1 : 0);
}

int
bundle_start(struct bundle *b, const char *folder, bool sandbox, uint32_t uid, uint32_t gid)
{
	const struct timeval stall = { .tv_sec = STALL_S };
	int pair[2], r;

	*b = (struct bundle){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	b->pid = fork();
	if (b->pid < 0) {
		r = -errno;
		b->pid = 0;
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	if (b->pid == 0) {
		close(pair[0]);
		writer_main(pair[1], folder, sandbox, uid, gid);
	}
	close(pair[1]);
	b->fd = pair[0];
	(void)setsockopt(b->fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
	(void)setsockopt(b->fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
	return 0;
}

/* The writer's answer.  0 all is well, else -errno with b->problem. */
static int
answer_read(struct bundle *b)
{
	int err = 0;
	struct iovec parts[2] = { { &err, sizeof(err) }, { b->problem, sizeof(b->problem) - 1 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;
	int tries = 0;

	/* A writer that left packets unread resets the pair: that error comes first, then its answer. */
	do
		n = recvmsg(b->fd, &message, 0);
	while (n < 0 && (errno == EINTR || (errno == ECONNRESET && tries++ < 2)));
	if (n < (ssize_t)sizeof(err) || err < 0 || err > 4095) {
		snprintf(b->problem, sizeof(b->problem), "the writer of the bundle ended without an answer");
		return n < 0 ? -errno : -EPROTO;
	}
	b->problem[(size_t)n - sizeof(err)] = '\0';
	for (char *c = b->problem; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return -err;
}

int
bundle_put(struct bundle *b, uint8_t type, const void *body, size_t len)
{
	/* sendmsg does not write to the body; the type of iov_base is older than const. */
	union {
		const void *in;
		void *out;
	} bytes = { body };
	struct iovec parts[2] = { { &type, 1 }, { bytes.out, len } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	do
		n = sendmsg(b->fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	if (errno == EPIPE || errno == ECONNRESET) {
		int r = answer_read(b);

		return r < 0 ? r : -EPROTO;
	}
	snprintf(b->problem, sizeof(b->problem), "the writer of the bundle takes nothing more");
	return -errno;
}

int
bundle_finish(struct bundle *b)
{
	int r = bundle_put(b, FRAME_COMMIT, "", 0);

	if (r == 0)
		r = answer_read(b);
	if (r < 0)
		return r;
	close(b->fd);
	b->fd = -1;
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
	return 0;
}

void
bundle_stop(struct bundle *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
	if (b->pid > 0) {
		(void)kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	b->pid = 0;
}
