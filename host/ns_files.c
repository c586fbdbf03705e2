/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs in the init, as root of the sandbox only, with the new root as the current folder.  Everything here is a constant of
 * ours: nothing that a world or a workflow says gets in. */
#include "host/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *text;
} files[] = {
	{ "passwd", "root:x:0:0:root:/root:/bin/sh\n"
		    "agenttwin:x:991:991:AgentTwin services:/:/usr/sbin/nologin\n"
		    "postgres:x:992:992:PostgreSQL:/:/usr/sbin/nologin\n"
		    "node:x:1000:1000:workflow:/home/node:/bin/sh\n"
		    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "group", "root:x:0:\nagenttwin:x:991:\npostgres:x:992:\nnode:x:1000:\nnogroup:x:65534:\n" },
	{ "hosts", "127.0.0.1 localhost agenttwin\n::1 localhost ip6-localhost ip6-loopback\n" },
	{ "hostname", "agenttwin\n" },
	/* Nobody listens there: a lookup of an outside name fails at once instead of after a timeout. */
	{ "resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n" },
	{ "nsswitch.conf",
	  "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\n"
	  "services: files\nethers: files\nrpc: files\n" },
	{ "os-release", "NAME=AgentTwin\nID=agenttwin\nPRETTY_NAME=\"AgentTwin sandbox\"\n" },
	{ "shells", "/bin/sh\n" },
};

/* see ns.h */
int
ns_files_etc(const char *etc, struct ns_report *fail)
{
	char path[64];
	ssize_t len;
	size_t i;
	int fd, r;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", etc, files[i].name);
		len = (ssize_t)strlen(files[i].text);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd < 0)
			return ns_fail(fail, "etc", path, errno);
		r = write(fd, files[i].text, (size_t)len) == len ? 0 : ns_fail(fail, "etc", path, errno ? errno : EIO);
		close(fd);
		if (r < 0)
			return r;
	}
	return 0;
}
