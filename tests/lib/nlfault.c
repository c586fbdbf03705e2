/* SPDX-License-Identifier: GPL-2.0-or-later
 * nlfault.c - makes a guest for tests: its netlink fails as /app/fail.txt, a file of the world, says.  Words of that file:
 *   call N ERRNO    the Nth netlink call of the process fails with this number
 *   hide NAME,...   the kernel seems to lack these: see nlfault.h
 * The bundle is on disk before the firewall is installed, so the file is there at the first call. */
#include "tests/lib/nlfault.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void
load(void)
{
	static char text[256], names[128];
	static bool loaded;
	ssize_t len;
	int fd;

	if (loaded)
		return;
	loaded = true;
	fd = open("/app/fail.txt", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return;
	if (sscanf(text, "hide %127s", names) == 1)
		nlfault.hidden = names;
	else if (sscanf(text, "call %d %d", &nlfault.fail_at, &nlfault.error) != 2)
		nlfault.fail_at = -1;
}

ssize_t
__wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	if (!to || to->sa_family != AF_NETLINK)
		return __real_sendto(fd, data, len, flags, to, to_len);
	load();
	return nlfault_sendto(fd, data, len, flags, to, to_len);
}

ssize_t
__wrap_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	/* Only netlink asks who it was. */
	if (!from)
		return __real_recvfrom(fd, buf, len, flags, from, from_len);
	load();
	return nlfault_recvfrom(fd, buf, len, flags, from, from_len);
}
